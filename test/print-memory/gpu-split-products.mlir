// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 top=0 plain=true" 2>&1 >/dev/null | FileCheck %s
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s --check-prefix=CPU

// Temporaries are those of XLA for an H100 (`test/oracle/products.py`): a product of few results is computed in parts, whose sums are stored
// in f32 and added up by another kernel.

// Eight parts.
// CHECK: temporaries 8388608{{$}}
// CHECK: 2 launches
// CPU: temporaries 0{{$}}
func.func @main(%a: tensor<4096x4096xbf16>, %b: tensor<4096x64xbf16>) -> tensor<4096x64xbf16> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x64xbf16>) -> tensor<4096x64xbf16>
  return %0 : tensor<4096x64xbf16>
}

// -----

// A large result is computed at once.
// CHECK: temporaries 0{{$}}
// CHECK: 1 launch
func.func @main(%a: tensor<2048x4096xf32>, %b: tensor<4096x1024xf32>) -> tensor<2048x1024xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<2048x4096xf32>, tensor<4096x1024xf32>) -> tensor<2048x1024xf32>
  return %0 : tensor<2048x1024xf32>
}

// -----

// So is one that contracts little.
// CHECK: temporaries 0{{$}}
// CHECK: 1 launch
func.func @main(%a: tensor<512x256xf32>, %b: tensor<256x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<512x256xf32>, tensor<256x512xf32>) -> tensor<512x512xf32>
  return %0 : tensor<512x512xf32>
}

// -----

// What is contracted along two dimensions is one by then: 41,000 elements are filled up, not ten to a multiple of the parts'.
// CHECK: temporaries 13795328{{$}}
// CHECK: 4 launches
// CPU: temporaries
func.func @main(%a: tensor<4100x10x16xf32>, %b: tensor<4100x10x64xf32>) -> tensor<16x64xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [0, 1] x [0, 1] : (tensor<4100x10x16xf32>, tensor<4100x10x64xf32>) -> tensor<16x64xf32>
  return %0 : tensor<16x64xf32>
}
