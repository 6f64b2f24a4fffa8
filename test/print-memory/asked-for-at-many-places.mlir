// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=xla-cpu top=0 plain=true" 2>&1 >/dev/null | FileCheck %s

// A back end writes an op's code into a kernel once for each place at which its elements are asked for. Sums of neighbours of sums of
// neighbours double the places: the first sum's code would be there 8 times.
// CHECK: + temporaries 0{{$}}
func.func @four_times(%x: tensor<1000000xf32>) -> tensor<999996xf32> {
  %l1 = stablehlo.slice %x [0:999999] : (tensor<1000000xf32>) -> tensor<999999xf32>
  %r1 = stablehlo.slice %x [1:1000000] : (tensor<1000000xf32>) -> tensor<999999xf32>
  %s1 = stablehlo.add %l1, %r1 : tensor<999999xf32>
  %l2 = stablehlo.slice %s1 [0:999998] : (tensor<999999xf32>) -> tensor<999998xf32>
  %r2 = stablehlo.slice %s1 [1:999999] : (tensor<999999xf32>) -> tensor<999998xf32>
  %s2 = stablehlo.add %l2, %r2 : tensor<999998xf32>
  %l3 = stablehlo.slice %s2 [0:999997] : (tensor<999998xf32>) -> tensor<999997xf32>
  %r3 = stablehlo.slice %s2 [1:999998] : (tensor<999998xf32>) -> tensor<999997xf32>
  %s3 = stablehlo.add %l3, %r3 : tensor<999997xf32>
  %l4 = stablehlo.slice %s3 [0:999996] : (tensor<999997xf32>) -> tensor<999996xf32>
  %r4 = stablehlo.slice %s3 [1:999997] : (tensor<999997xf32>) -> tensor<999996xf32>
  %s4 = stablehlo.add %l4, %r4 : tensor<999996xf32>
  return %s4 : tensor<999996xf32>
}

// -----

// Here it would be 16 times, and is stored instead.
// CHECK: + temporaries 3999996{{$}}
func.func @five_times(%x: tensor<1000000xf32>) -> tensor<999995xf32> {
  %l1 = stablehlo.slice %x [0:999999] : (tensor<1000000xf32>) -> tensor<999999xf32>
  %r1 = stablehlo.slice %x [1:1000000] : (tensor<1000000xf32>) -> tensor<999999xf32>
  %s1 = stablehlo.add %l1, %r1 : tensor<999999xf32>
  %l2 = stablehlo.slice %s1 [0:999998] : (tensor<999999xf32>) -> tensor<999998xf32>
  %r2 = stablehlo.slice %s1 [1:999999] : (tensor<999999xf32>) -> tensor<999998xf32>
  %s2 = stablehlo.add %l2, %r2 : tensor<999998xf32>
  %l3 = stablehlo.slice %s2 [0:999997] : (tensor<999998xf32>) -> tensor<999997xf32>
  %r3 = stablehlo.slice %s2 [1:999998] : (tensor<999998xf32>) -> tensor<999997xf32>
  %s3 = stablehlo.add %l3, %r3 : tensor<999997xf32>
  %l4 = stablehlo.slice %s3 [0:999996] : (tensor<999997xf32>) -> tensor<999996xf32>
  %r4 = stablehlo.slice %s3 [1:999997] : (tensor<999997xf32>) -> tensor<999996xf32>
  %s4 = stablehlo.add %l4, %r4 : tensor<999996xf32>
  %l5 = stablehlo.slice %s4 [0:999995] : (tensor<999996xf32>) -> tensor<999995xf32>
  %r5 = stablehlo.slice %s4 [1:999996] : (tensor<999996xf32>) -> tensor<999995xf32>
  %s5 = stablehlo.add %l5, %r5 : tensor<999995xf32>
  return %s5 : tensor<999995xf32>
}

// -----

// Pads are branches: what is computed in one is not known in the next, so one that is asked for twice is stored.
// CHECK: + temporaries 4000000{{$}}
func.func @pad_twice(%x: tensor<1000000xf32>) -> tensor<1000000xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %r1 = stablehlo.slice %x [1:1000000] : (tensor<1000000xf32>) -> tensor<999999xf32>
  %p1 = stablehlo.pad %r1, %zero, low = [0], high = [1], interior = [0] : (tensor<999999xf32>, tensor<f32>) -> tensor<1000000xf32>
  %s1 = stablehlo.add %p1, %x : tensor<1000000xf32>
  %r2 = stablehlo.slice %s1 [1:1000000] : (tensor<1000000xf32>) -> tensor<999999xf32>
  %p2 = stablehlo.pad %r2, %zero, low = [0], high = [1], interior = [0] : (tensor<999999xf32>, tensor<f32>) -> tensor<1000000xf32>
  %s2 = stablehlo.add %p2, %s1 : tensor<1000000xf32>
  return %s2 : tensor<1000000xf32>
}
