// RUN: slimhlo-opt %s --slimhlo-batch-slices=chunk-bytes=64MiB | FileCheck %s

// A layer in slices, whose gradient has to wait for all of what is made of it: what is above zero leaves the loop, and the mask is made
// of that.
// CHECK-LABEL: func.func @step
// CHECK: %[[LOOP:.*]]:{{[0-9]+}} = stablehlo.while
// CHECK-NOT: dynamic_update_slice {{.*}}xi1>
// CHECK: stablehlo.compare GT, %[[LOOP]]#{{[0-9]}}, %{{.*}} -> tensor<8192x1024xi1>
// CHECK: stablehlo.custom_call @all
func.func @step(%x: tensor<8192x64xf32>, %u: tensor<64x16384xf32>, %t: tensor<16384x64xf32>, %w: tensor<64x1024xf32>, %v: tensor<1024x64xf32>) -> (tensor<64x1024xf32>, tensor<1024x64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8192x1024xf32>
  %wide = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x16384xf32>) -> tensor<8192x16384xf32>
  %s = stablehlo.sine %wide : tensor<8192x16384xf32>
  %narrow = stablehlo.dot_general %s, %t, contracting_dims = [1] x [0] : (tensor<8192x16384xf32>, tensor<16384x64xf32>) -> tensor<8192x64xf32>
  %h = stablehlo.dot_general %narrow, %w, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x1024xf32>) -> tensor<8192x1024xf32>
  %b = stablehlo.tanh %h : tensor<8192x1024xf32>
  %a = stablehlo.maximum %b, %zero : tensor<8192x1024xf32>
  %mask = stablehlo.compare GT, %a, %zero, FLOAT : (tensor<8192x1024xf32>, tensor<8192x1024xf32>) -> tensor<8192x1024xi1>
  %y = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<8192x1024xf32>, tensor<1024x64xf32>) -> tensor<8192x64xf32>
  %c = stablehlo.custom_call @all(%y) : (tensor<8192x64xf32>) -> tensor<8192x64xf32>
  %da = stablehlo.dot_general %c, %v, contracting_dims = [1] x [1] : (tensor<8192x64xf32>, tensor<1024x64xf32>) -> tensor<8192x1024xf32>
  %dh = stablehlo.select %mask, %da, %zero : tensor<8192x1024xi1>, tensor<8192x1024xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<8192x64xf32>, tensor<8192x1024xf32>) -> tensor<64x1024xf32>
  %dv = stablehlo.dot_general %a, %c, contracting_dims = [0] x [0] : (tensor<8192x1024xf32>, tensor<8192x64xf32>) -> tensor<1024x64xf32>
  return %dw, %dv : tensor<64x1024xf32>, tensor<1024x64xf32>
}

// A row of the mask is wanted, too, after all of it is: that is made by itself, and the mask before what reads it.
// CHECK-LABEL: func.func @and_a_row
// CHECK: %[[LOOP:.*]]:{{[0-9]+}} = stablehlo.while
// CHECK: stablehlo.compare GT, %[[LOOP]]#{{[0-9]}}, %{{.*}} -> tensor<8192x1024xi1>
// CHECK: stablehlo.custom_call @all
// CHECK: stablehlo.compare GT, {{.*}} -> tensor<1x1024xi1>
func.func @and_a_row(%x: tensor<8192x64xf32>, %u: tensor<64x16384xf32>, %t: tensor<16384x64xf32>, %w: tensor<64x1024xf32>, %v: tensor<1024x64xf32>, %at: tensor<i32>) -> (tensor<64x1024xf32>, tensor<1024x64xf32>, tensor<1x1024xi1>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8192x1024xf32>
  %wide = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x16384xf32>) -> tensor<8192x16384xf32>
  %s = stablehlo.sine %wide : tensor<8192x16384xf32>
  %narrow = stablehlo.dot_general %s, %t, contracting_dims = [1] x [0] : (tensor<8192x16384xf32>, tensor<16384x64xf32>) -> tensor<8192x64xf32>
  %h = stablehlo.dot_general %narrow, %w, contracting_dims = [1] x [0] : (tensor<8192x64xf32>, tensor<64x1024xf32>) -> tensor<8192x1024xf32>
  %b = stablehlo.tanh %h : tensor<8192x1024xf32>
  %a = stablehlo.maximum %b, %zero : tensor<8192x1024xf32>
  %mask = stablehlo.compare GT, %a, %zero, FLOAT : (tensor<8192x1024xf32>, tensor<8192x1024xf32>) -> tensor<8192x1024xi1>
  %y = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<8192x1024xf32>, tensor<1024x64xf32>) -> tensor<8192x64xf32>
  %c = stablehlo.custom_call @all(%y) : (tensor<8192x64xf32>) -> tensor<8192x64xf32>
  %da = stablehlo.dot_general %c, %v, contracting_dims = [1] x [1] : (tensor<8192x64xf32>, tensor<1024x64xf32>) -> tensor<8192x1024xf32>
  %dh = stablehlo.select %mask, %da, %zero : tensor<8192x1024xi1>, tensor<8192x1024xf32>
  %dw = stablehlo.dot_general %x, %dh, contracting_dims = [0] x [0] : (tensor<8192x64xf32>, tensor<8192x1024xf32>) -> tensor<64x1024xf32>
  %dv = stablehlo.dot_general %a, %c, contracting_dims = [0] x [0] : (tensor<8192x1024xf32>, tensor<8192x64xf32>) -> tensor<1024x64xf32>
  %first = stablehlo.constant dense<0> : tensor<i32>
  %row = stablehlo.dynamic_slice %mask, %at, %first, sizes = [1, 1024] : (tensor<8192x1024xi1>, tensor<i32>, tensor<i32>) -> tensor<1x1024xi1>
  return %dw, %dv, %row : tensor<64x1024xf32>, tensor<1024x64xf32>, tensor<1x1024xi1>
}
