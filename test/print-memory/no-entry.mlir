// RUN: slimhlo-opt %s --slimhlo-print-memory=target=xla-cpu 2>&1 >/dev/null | FileCheck %s

// Which of the two is meant?
// CHECK: memory: not modelled: there is no function @main, nor a single public one
func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
