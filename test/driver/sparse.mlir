// Encodings of sparse tensors are read and kept: passes leave alone what is of such a type. In artifacts there are none.

// RUN: slimhlo-opt %s --slimhlo-optimize | FileCheck %s
// RUN: slimhlo-opt %s --slimhlo-optimize=target=xla-cpu | FileCheck %s
// RUN: slimhlo-opt %s --emit-bytecode -o %t.mlirbc
// RUN: slimhlo-opt %t.mlirbc --slimhlo-optimize | FileCheck %s

#csr = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>

// CHECK: #[[E:.*]] = #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>
// CHECK: func.func @main(%arg0: tensor<1024x64xf32, #[[E]]>, %arg1: tensor<1024x64xf32, #[[E]]>)
func.func @main(%x: tensor<1024x64xf32, #csr>, %y: tensor<1024x64xf32, #csr>) -> (tensor<4096x64xf32, #csr>, tensor<64xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<4096x64xf32, #csr>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %j = stablehlo.constant dense<1024> : tensor<i32>
  // Dense ones become pads.
  // CHECK: %[[A:.*]] = stablehlo.dynamic_update_slice %{{.*}}, %arg0, {{.*}} -> tensor<4096x64xf32, #[[E]]>
  %a = stablehlo.dynamic_update_slice %zeros, %x, %i, %i : (tensor<4096x64xf32, #csr>, tensor<1024x64xf32, #csr>, tensor<i32>, tensor<i32>) -> tensor<4096x64xf32, #csr>
  // CHECK-NEXT: %[[B:.*]] = stablehlo.dynamic_update_slice %{{.*}}, %arg1, {{.*}} -> tensor<4096x64xf32, #[[E]]>
  %b = stablehlo.dynamic_update_slice %zeros, %y, %j, %i : (tensor<4096x64xf32, #csr>, tensor<1024x64xf32, #csr>, tensor<i32>, tensor<i32>) -> tensor<4096x64xf32, #csr>
  // CHECK-NEXT: %[[R:.*]] = stablehlo.add %[[A]], %[[B]] : tensor<4096x64xf32, #[[E]]>
  %r = stablehlo.add %a, %b : tensor<4096x64xf32, #csr>
  // CHECK-NEXT: %[[SUM:.*]] = stablehlo.reduce(%[[R]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<4096x64xf32, #[[E]]>, tensor<f32>) -> tensor<64xf32>
  %sum = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x64xf32, #csr>, tensor<f32>) -> tensor<64xf32>
  // CHECK-NEXT: return %[[R]], %[[SUM]]
  return %r, %sum : tensor<4096x64xf32, #csr>, tensor<64xf32>
}
