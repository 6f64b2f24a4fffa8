// What the first stage of a reduction leaves for the second, under XLA for an H100 (`referee.py --target h100`).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Rows of 32,768 elements leave 128 each: 4.00 MiB.
// CHECK: temporaries 4194304{{$}}
// CHECK: 2 launches
func.func public @main(%a: tensor<8192x32768xf32>) -> tensor<8192xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8192x32768xf32>, tensor<f32>) -> tensor<8192xf32>
  return %r : tensor<8192xf32>
}

// -----

// Columns of 6,000 leave 75: 2.34 MiB.
// CHECK: temporaries 2457600{{$}}
// CHECK: 2 launches
func.func public @main(%a: tensor<6000x8192xf32>) -> tensor<8192xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<6000x8192xf32>, tensor<f32>) -> tensor<8192xf32>
  return %r : tensor<8192xf32>
}

// -----

// Rows go first: 8.00 MiB.
// CHECK: temporaries 8388608{{$}}
// CHECK: 2 launches
func.func public @main(%a: tensor<512x4096x64xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<512x4096x64xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// 1.00 MiB.
// CHECK: temporaries 1048576{{$}}
// CHECK: 2 launches
func.func public @main(%a: tensor<64x4096x512xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<64x4096x512xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}

// -----

// 8 times a row is one kernel: 0 MiB.
// CHECK: temporaries 0{{$}}
// CHECK: 1 launches
func.func public @main(%a: tensor<8x4096x4096xf32>) -> tensor<4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %r = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 2] : (tensor<8x4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
