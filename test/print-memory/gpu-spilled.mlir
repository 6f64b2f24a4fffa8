// A stencil of a stencil: XLA for an H100 (`referee.py --target h100`) stores the inner one, since each of its elements is asked for four times.
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// 16.03 MiB and 22.1 us, 2 kernels.
// CHECK: temporaries 16810000{{$}}
// CHECK: time 22.1 us, 2 launches
func.func public @main(%u: tensor<2052x2052xf32>) -> tensor<2048x2048xf32> {
  %xw = stablehlo.slice %u [0:2050, 1:2051] : (tensor<2052x2052xf32>) -> tensor<2050x2050xf32>
  %xe = stablehlo.slice %u [2:2052, 1:2051] : (tensor<2052x2052xf32>) -> tensor<2050x2050xf32>
  %xs = stablehlo.slice %u [1:2051, 0:2050] : (tensor<2052x2052xf32>) -> tensor<2050x2050xf32>
  %xn = stablehlo.slice %u [1:2051, 2:2052] : (tensor<2052x2052xf32>) -> tensor<2050x2050xf32>
  %xa = stablehlo.add %xw, %xe : tensor<2050x2050xf32>
  %xb = stablehlo.add %xa, %xs : tensor<2050x2050xf32>
  %x = stablehlo.add %xb, %xn : tensor<2050x2050xf32>
  %yw = stablehlo.slice %x [0:2048, 1:2049] : (tensor<2050x2050xf32>) -> tensor<2048x2048xf32>
  %ye = stablehlo.slice %x [2:2050, 1:2049] : (tensor<2050x2050xf32>) -> tensor<2048x2048xf32>
  %ys = stablehlo.slice %x [1:2049, 0:2048] : (tensor<2050x2050xf32>) -> tensor<2048x2048xf32>
  %yn = stablehlo.slice %x [1:2049, 2:2050] : (tensor<2050x2050xf32>) -> tensor<2048x2048xf32>
  %ya = stablehlo.add %yw, %ye : tensor<2048x2048xf32>
  %yb = stablehlo.add %ya, %ys : tensor<2048x2048xf32>
  %y = stablehlo.add %yb, %yn : tensor<2048x2048xf32>
  return %y : tensor<2048x2048xf32>
}

// -----

// Of a few elements it stores none: another kernel would take longer. 3.1 us, 1 kernel.
// CHECK: temporaries 0{{$}}
// CHECK: time 3.1 us, 1 launches
func.func public @main(%u: tensor<66x66xf32>) -> tensor<62x62xf32> {
  %xw = stablehlo.slice %u [0:64, 1:65] : (tensor<66x66xf32>) -> tensor<64x64xf32>
  %xe = stablehlo.slice %u [2:66, 1:65] : (tensor<66x66xf32>) -> tensor<64x64xf32>
  %xs = stablehlo.slice %u [1:65, 0:64] : (tensor<66x66xf32>) -> tensor<64x64xf32>
  %xn = stablehlo.slice %u [1:65, 2:66] : (tensor<66x66xf32>) -> tensor<64x64xf32>
  %xa = stablehlo.add %xw, %xe : tensor<64x64xf32>
  %xb = stablehlo.add %xa, %xs : tensor<64x64xf32>
  %x = stablehlo.add %xb, %xn : tensor<64x64xf32>
  %yw = stablehlo.slice %x [0:62, 1:63] : (tensor<64x64xf32>) -> tensor<62x62xf32>
  %ye = stablehlo.slice %x [2:64, 1:63] : (tensor<64x64xf32>) -> tensor<62x62xf32>
  %ys = stablehlo.slice %x [1:63, 0:62] : (tensor<64x64xf32>) -> tensor<62x62xf32>
  %yn = stablehlo.slice %x [1:63, 2:64] : (tensor<64x64xf32>) -> tensor<62x62xf32>
  %ya = stablehlo.add %yw, %ye : tensor<62x62xf32>
  %yb = stablehlo.add %ya, %ys : tensor<62x62xf32>
  %y = stablehlo.add %yb, %yn : tensor<62x62xf32>
  return %y : tensor<62x62xf32>
}
