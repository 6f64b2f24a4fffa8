// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu --allow-unregistered-dialect | FileCheck %s

// What nobody here understands leaves as it came.
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<?xf32>, %y: !foreign.thing) -> (tensor<?xf32>, !foreign.thing) {
  // CHECK: %[[Y:.*]] = "foreign.op"(%{{[^ )]*}})
  %0 = "foreign.op"(%y) : (!foreign.thing) -> !foreign.thing
  // CHECK: %[[X:.*]] = stablehlo.add
  %1 = stablehlo.add %x, %x : tensor<?xf32>
  // CHECK: return %[[X]], %[[Y]]
  return %1, %0 : tensor<?xf32>, !foreign.thing
}
