// An update reads what it writes over in the same kernel; XLA for an H100 (`referee.py --target h100`) stores other slices of the array before.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// 63.94 MiB, 2 kernels.
// CHECK: temporaries 67043344{{$}}
// CHECK: 2 launches
func.func public @main(%u: tensor<4096x4096xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4096x4096xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %m = stablehlo.slice %u [1:4095, 1:4095] : (tensor<4096x4096xf32>) -> tensor<4094x4094xf32>
  %w = stablehlo.slice %u [1:4095, 0:4094] : (tensor<4096x4096xf32>) -> tensor<4094x4094xf32>
  %d = stablehlo.subtract %w, %m : tensor<4094x4094xf32>
  %n = stablehlo.multiply %d, %m : tensor<4094x4094xf32>
  %r = stablehlo.dynamic_update_slice %u, %n, %one, %one : (tensor<4096x4096xf32>, tensor<4094x4094xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}

// -----

// 127.88 MiB, 3 kernels.
// CHECK: temporaries 134086688{{$}}
// CHECK: 3 launches
func.func public @main(%u: tensor<4096x4096xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4096x4096xf32> {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %m = stablehlo.slice %u [1:4095, 2:4096] : (tensor<4096x4096xf32>) -> tensor<4094x4094xf32>
  %w = stablehlo.slice %u [1:4095, 0:4094] : (tensor<4096x4096xf32>) -> tensor<4094x4094xf32>
  %d = stablehlo.subtract %w, %m : tensor<4094x4094xf32>
  %n = stablehlo.multiply %d, %m : tensor<4094x4094xf32>
  %r = stablehlo.dynamic_update_slice %u, %n, %one, %one : (tensor<4096x4096xf32>, tensor<4094x4094xf32>, tensor<i32>, tensor<i32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}
