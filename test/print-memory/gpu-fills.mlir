// RUN: slimhlo-opt %s --slimhlo-print-memory="target=xla-gpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A halo that is filled and then only read by a stencil is filled within the stencil's kernel: the field is stored nowhere else. As the
// result takes the place of the donated field, which the kernel reads at other places, it is made elsewhere first.
// CHECK: temporaries 4194304{{$}}
func.func @main(%x: tensor<1024x1024xf32> {tf.aliasing_output = 0 : i32}) -> tensor<1024x1024xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %row = stablehlo.slice %x [1022:1023, 0:1024] : (tensor<1024x1024xf32>) -> tensor<1x1024xf32>
  %filled = stablehlo.dynamic_update_slice %x, %row, %c0, %c0 : (tensor<1024x1024xf32>, tensor<1x1024xf32>, tensor<i32>, tensor<i32>) -> tensor<1024x1024xf32>
  %head = stablehlo.slice %filled [0:1, 0:1024] : (tensor<1024x1024xf32>) -> tensor<1x1024xf32>
  %tail = stablehlo.slice %filled [1:1024, 0:1024] : (tensor<1024x1024xf32>) -> tensor<1023x1024xf32>
  %rolled = stablehlo.concatenate %tail, %head, dim = 0 : (tensor<1023x1024xf32>, tensor<1x1024xf32>) -> tensor<1024x1024xf32>
  %r = stablehlo.subtract %rolled, %filled : tensor<1024x1024xf32>
  return %r : tensor<1024x1024xf32>
}
