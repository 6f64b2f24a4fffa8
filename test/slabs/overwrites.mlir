// RUN: slimhlo-opt %s --slimhlo-slabs="target=xla-cpu min-bytes=1 slab-bytes=64" | FileCheck %s

// One stage, but its result takes the place of what it is made of: the loop starts from the old field, and carries the row before the slab as it was,
// with the rows at both ends of the new one.
// CHECK-LABEL: func @donated
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<64x4xf32>
// CHECK: %[[KEPT:[^ ]*]] = stablehlo.concatenate %{{[^ ,]*}}, %{{[^ ,]*}}, %{{[^ ,]*}}, dim = 0 : {{.*}} -> tensor<[[N:[0-9]*]]x4xf32>
// CHECK: %[[LOOP:[^:]*]]:3 = stablehlo.while(%[[I:[^ ]*]] = %{{[^ ,]*}}, %[[FIELD:[^ ]*]] = %[[X]], %[[OLD:[^ ]*]] = %[[KEPT]])
// CHECK: do {
// CHECK: %[[ROWS:[^ ]*]] = "stablehlo.if"
// CHECK: stablehlo.slice %[[OLD]] [0:1, 0:4]
// CHECK: stablehlo.dynamic_slice %[[FIELD]], %[[I]]
// CHECK: stablehlo.optimization_barrier
// CHECK-NOT: stablehlo.dynamic_slice
// CHECK: %[[LATER:[^ ]*]] = stablehlo.slice %[[OLD]] [1:[[N]], 0:4]
// CHECK: stablehlo.concatenate %{{[^ ,]*}}, %[[LATER]], dim = 0
// CHECK: stablehlo.dynamic_update_slice %[[FIELD]], %{{[^ ,]*}}, %[[I]]
// CHECK: stablehlo.slice %[[LOOP]]#2
// CHECK: %[[FIRST:[^ ]*]] = stablehlo.dynamic_update_slice %[[LOOP]]#1
// CHECK: %[[LAST:[^ ]*]] = stablehlo.dynamic_update_slice %[[FIRST]]
// CHECK: return %[[LAST]]
func.func @donated(%x: tensor<64x4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<64x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %a = stablehlo.slice %x [0:62, 0:4] : (tensor<64x4xf32>) -> tensor<62x4xf32>
  %b = stablehlo.slice %x [2:64, 0:4] : (tensor<64x4xf32>) -> tensor<62x4xf32>
  %u = stablehlo.add %a, %b : tensor<62x4xf32>
  %new = stablehlo.dynamic_update_slice %x, %u, %one, %zero : (tensor<64x4xf32>, tensor<62x4xf32>, tensor<i32>, tensor<i32>) -> tensor<64x4xf32>
  return %new : tensor<64x4xf32>
}

// Two fields that a loop carries, each made of both: all rows of a turn are read by one branch.
// CHECK-LABEL: func @carried
// CHECK: stablehlo.while
// CHECK: do {
// CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %[[U:[^ ]*]] = %{{[^ ,]*}}, %[[V:[^ ]*]] = %{{[^ ,]*}}, %{{[^ ]*}} = %{{[^ ,]*}})
// CHECK: do {
// CHECK: "stablehlo.if"
// CHECK-DAG: stablehlo.dynamic_slice %[[U]]
// CHECK-DAG: stablehlo.dynamic_slice %[[V]]
// CHECK: stablehlo.optimization_barrier %{{[^ ,]*}}, %{{[^ ,]*}} :
// CHECK-NOT: stablehlo.dynamic_slice
// CHECK-DAG: stablehlo.dynamic_update_slice %[[U]]
// CHECK-DAG: stablehlo.dynamic_update_slice %[[V]]
func.func @carried(%u0: tensor<64x4xf32>, %v0: tensor<64x4xf32>, %n: tensor<i32>) -> (tensor<64x4xf32>, tensor<64x4xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %r:3 = stablehlo.while(%i = %zero, %u = %u0, %v = %v0) : tensor<i32>, tensor<64x4xf32>, tensor<64x4xf32>
  cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %a = stablehlo.slice %u [1:64, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
    %p = stablehlo.pad %a, %f, low = [0, 0], high = [1, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
    %v1 = stablehlo.add %v, %p : tensor<64x4xf32>
    %b = stablehlo.slice %v [0:63, 0:4] : (tensor<64x4xf32>) -> tensor<63x4xf32>
    %q = stablehlo.pad %b, %f, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<63x4xf32>, tensor<f32>) -> tensor<64x4xf32>
    %u1 = stablehlo.subtract %u, %q : tensor<64x4xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %u1, %v1 : tensor<i32>, tensor<64x4xf32>, tensor<64x4xf32>
  }
  return %r#1, %r#2 : tensor<64x4xf32>, tensor<64x4xf32>
}

// Nobody gives the old field away: the new one starts from zeros. Both parts that are read would be stored, too.
// CHECK-LABEL: func @not_donated
// CHECK-SAME: %[[X:[a-z0-9]*]]: tensor<64x4xf32>
// CHECK: %[[ZEROS:[^ ]*]] = stablehlo.constant dense<0.000000e+00> : tensor<64x4xf32>
// CHECK: stablehlo.while(%{{[^ ]*}} = %{{[^ ,]*}}, %{{[^ ]*}} = %[[ZEROS]], %{{[^ ]*}} = %[[X]])
func.func @not_donated(%x: tensor<64x4xf32>) -> tensor<64x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %a = stablehlo.slice %x [0:62, 0:4] : (tensor<64x4xf32>) -> tensor<62x4xf32>
  %b = stablehlo.slice %x [2:64, 0:4] : (tensor<64x4xf32>) -> tensor<62x4xf32>
  %u = stablehlo.add %a, %b : tensor<62x4xf32>
  %new = stablehlo.dynamic_update_slice %x, %u, %one, %zero : (tensor<64x4xf32>, tensor<62x4xf32>, tensor<i32>, tensor<i32>) -> tensor<64x4xf32>
  return %new : tensor<64x4xf32>
}
