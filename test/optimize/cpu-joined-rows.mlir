// RUN: slimhlo-opt %s --slimhlo-optimize="target=xla-cpu" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize="target=xla-cpu" | slimhlo-opt --slimhlo-optimize="target=xla-cpu" | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize="target=h100" | FileCheck %s --check-prefix=GPU
// RUN: slimhlo-opt %s --slimhlo-optimize="target=xla-cpu without=fuse-concatenates,slabs,stream" | FileCheck %s --check-prefix=GPU

// A field on a torus and its neighbours along rows: XLA for CPU takes 16 MiB of temporaries for it as it is, and none with rows joined on the fly
// (test/oracle/referee.py --target cpu).
// CHECK-LABEL: func.func @main
// CHECK: stablehlo.concatenate {{.*}} -> tensor<1024x1024x1xf64>
// CHECK: stablehlo.concatenate {{.*}} -> tensor<1024x1024x1xf64>
// GPU-LABEL: func.func @main
// GPU: stablehlo.concatenate {{.*}} -> tensor<1024x1024xf64>
// GPU: stablehlo.concatenate {{.*}} -> tensor<1024x1024xf64>
func.func @main(%x: tensor<1024x1024xf64>) -> tensor<1024x1024xf64> {
  %0 = stablehlo.slice %x [0:1024, 1023:1024] : (tensor<1024x1024xf64>) -> tensor<1024x1xf64>
  %1 = stablehlo.slice %x [0:1024, 0:1023] : (tensor<1024x1024xf64>) -> tensor<1024x1023xf64>
  %west = stablehlo.concatenate %0, %1, dim = 1 : (tensor<1024x1xf64>, tensor<1024x1023xf64>) -> tensor<1024x1024xf64>
  %2 = stablehlo.slice %x [0:1024, 1:1024] : (tensor<1024x1024xf64>) -> tensor<1024x1023xf64>
  %3 = stablehlo.slice %x [0:1024, 0:1] : (tensor<1024x1024xf64>) -> tensor<1024x1xf64>
  %east = stablehlo.concatenate %2, %3, dim = 1 : (tensor<1024x1023xf64>, tensor<1024x1xf64>) -> tensor<1024x1024xf64>
  %4 = stablehlo.add %west, %east : tensor<1024x1024xf64>
  %5 = stablehlo.multiply %4, %x : tensor<1024x1024xf64>
  return %5 : tensor<1024x1024xf64>
}
