// What XLA for an H100 (`referee.py --target h100`) makes of sorts that keep the order of what is equal: each element takes its place along.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// 16.00 MiB and 67.6 us, 3 kernels.
// CHECK: temporaries 16777216{{$}}
// CHECK: 3 launches
func.func public @main(%a: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> {
  %s = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  return %s : tensor<1024x4096xf32>
}

// -----

// One that may change that order needs no places: 0 MiB and 37.5 us, 3 kernels.
// CHECK: temporaries 0{{$}}
// CHECK: 3 launches
func.func public @main(%a: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> {
  %s = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = false}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<1024x4096xf32>) -> tensor<1024x4096xf32>
  return %s : tensor<1024x4096xf32>
}

// -----

// Numbers that are sorted along do not stand for them: 16.00 MiB.
// CHECK: temporaries 16777216{{$}}
func.func public @main(%a: tensor<1024x4096xf32>) -> (tensor<1024x4096xf32>, tensor<1024x4096xi32>) {
  %i = stablehlo.iota dim = 1 : tensor<1024x4096xi32>
  %s:2 = "stablehlo.sort"(%a, %i) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %k: tensor<i32>, %l: tensor<i32>):
    %c = stablehlo.compare LT, %x, %y, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<1024x4096xf32>, tensor<1024x4096xi32>) -> (tensor<1024x4096xf32>, tensor<1024x4096xi32>)
  return %s#0, %s#1 : tensor<1024x4096xf32>, tensor<1024x4096xi32>
}
