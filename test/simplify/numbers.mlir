// RUN: slimhlo-opt %s --slimhlo-simplify | FileCheck %s

// CHECK-LABEL: func @neutral
func.func @neutral(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK-NEXT: return %arg0
  %one = stablehlo.constant dense<1.0> : tensor<3xf32>
  %negative = stablehlo.constant dense<-0.0> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0 = stablehlo.multiply %one, %x : tensor<3xf32>
  %1 = stablehlo.add %0, %negative : tensor<3xf32>
  %2 = stablehlo.subtract %1, %zero : tensor<3xf32>
  %3 = stablehlo.divide %2, %one : tensor<3xf32>
  return %3 : tensor<3xf32>
}

// -0.0 + 0.0 and -0.0 - -0.0 are 0.0, and times 0.0 a NaN is one.
// CHECK-LABEL: func @not_neutral
func.func @not_neutral(%x: tensor<3xf32>) -> tensor<3xf32> {
  // CHECK: stablehlo.add
  // CHECK: stablehlo.subtract
  // CHECK: stablehlo.multiply
  %negative = stablehlo.constant dense<-0.0> : tensor<3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<3xf32>
  %0 = stablehlo.add %x, %zero : tensor<3xf32>
  %1 = stablehlo.subtract %0, %negative : tensor<3xf32>
  %2 = stablehlo.multiply %1, %zero : tensor<3xf32>
  return %2 : tensor<3xf32>
}

// An index that counts up is never negative, nor beyond the end: what makes it valid goes.
// CHECK-LABEL: func @sign_fix
func.func @sign_fix() -> tensor<80xi32> {
  // CHECK-NEXT: %[[I:.*]] = stablehlo.iota dim = 0
  // CHECK-NEXT: return %[[I]]
  %i = stablehlo.iota dim = 0 : tensor<80xi32>
  %zero = stablehlo.constant dense<0> : tensor<80xi32>
  %size = stablehlo.constant dense<80> : tensor<80xi32>
  %low = stablehlo.constant dense<0> : tensor<i32>
  %high = stablehlo.constant dense<79> : tensor<i32>
  %0 = stablehlo.compare LT, %i, %zero, SIGNED : (tensor<80xi32>, tensor<80xi32>) -> tensor<80xi1>
  %1 = stablehlo.add %i, %size : tensor<80xi32>
  %2 = stablehlo.select %0, %1, %i : tensor<80xi1>, tensor<80xi32>
  %3 = stablehlo.clamp %low, %2, %high : (tensor<i32>, tensor<80xi32>, tensor<i32>) -> tensor<80xi32>
  return %3 : tensor<80xi32>
}

// 250 + iota wraps around.
// CHECK-LABEL: func @wraps
func.func @wraps() -> tensor<80xi1> {
  // CHECK: stablehlo.compare
  %i = stablehlo.iota dim = 0 : tensor<80xui8>
  %c = stablehlo.constant dense<250> : tensor<80xui8>
  %0 = stablehlo.add %i, %c : tensor<80xui8>
  %1 = stablehlo.compare GE, %0, %c, UNSIGNED : (tensor<80xui8>, tensor<80xui8>) -> tensor<80xi1>
  return %1 : tensor<80xi1>
}

// CHECK-LABEL: func @sum_of_single_elements
func.func @sum_of_single_elements(%x: tensor<4x1xi32>, %y: tensor<4x1xf32>) -> (tensor<4xi32>, tensor<4xf32>) {
  // CHECK: stablehlo.reshape %arg0
  // CHECK: stablehlo.reduce(%arg1
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %fzero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x1xi32>, tensor<i32>) -> tensor<4xi32>
  %1 = stablehlo.reduce(%y init: %fzero) applies stablehlo.add across dimensions = [1] : (tensor<4x1xf32>, tensor<f32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xi32>, tensor<4xf32>
}

// A sum of a sum's elements each for itself, as JAX differentiates what it broadcasts.
// CHECK-LABEL: func @sum_of_sum
func.func @sum_of_sum(%x: tensor<4x5xbf16>) -> tensor<5xbf16> {
  // CHECK: stablehlo.reduce(
  // CHECK-NOT: stablehlo.reduce(
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %narrow = stablehlo.constant dense<0.0> : tensor<bf16>
  %0 = stablehlo.convert %x : (tensor<4x5xbf16>) -> tensor<4x5xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = stablehlo.convert %1 : (tensor<5xf32>) -> tensor<5xbf16>
  %3 = stablehlo.reshape %2 : (tensor<5xbf16>) -> tensor<1x5xbf16>
  %4 = stablehlo.reduce(%3 init: %narrow) applies stablehlo.add across dimensions = [0] : (tensor<1x5xbf16>, tensor<bf16>) -> tensor<5xbf16>
  return %4 : tensor<5xbf16>
}

// The largest of each column may be -0.0, which a sum that starts from 0.0 is not.
// CHECK-LABEL: func @sum_of_largest
func.func @sum_of_largest(%x: tensor<4x5xf32>) -> tensor<5xf32> {
  // CHECK: stablehlo.reduce({{.*}}maximum
  // CHECK: stablehlo.reduce({{.*}}add
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %1 = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  %2 = stablehlo.reshape %1 : (tensor<5xf32>) -> tensor<1x5xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<1x5xf32>, tensor<f32>) -> tensor<5xf32>
  return %3 : tensor<5xf32>
}

// A mask that lets everything through is one in fewer dimensions, too; a sum of ones is not one.
// CHECK-LABEL: func @reduced_splat
// CHECK-NOT: applies stablehlo.and
// CHECK: applies stablehlo.add
// CHECK: return
func.func @reduced_splat() -> (tensor<9xi1>, tensor<9xi32>) {
  %true = stablehlo.constant dense<true> : tensor<i1>
  %mask = stablehlo.broadcast_in_dim %true, dims = [] : (tensor<i1>) -> tensor<9x2xi1>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<i32>) -> tensor<9x2xi32>
  %all = stablehlo.reduce(%mask init: %true) applies stablehlo.and across dimensions = [1] : (tensor<9x2xi1>, tensor<i1>) -> tensor<9xi1>
  %sum = stablehlo.reduce(%ones init: %one) applies stablehlo.add across dimensions = [1] : (tensor<9x2xi32>, tensor<i32>) -> tensor<9xi32>
  return %all, %sum : tensor<9xi1>, tensor<9xi32>
}

// Floats that are the same everywhere, where rounding leaves no choice.
// CHECK-LABEL: func @splat_arithmetic
// CHECK-NEXT: %[[R:.*]] = stablehlo.constant dense<-1.500000e+00> : tensor<4x8xf32>
// CHECK-NEXT: return %[[R]]
func.func @splat_arithmetic() -> tensor<4x8xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %twos = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
  %half = stablehlo.constant dense<0.5> : tensor<4x8xf32>
  %0 = stablehlo.multiply %twos, %half : tensor<4x8xf32>
  %1 = stablehlo.add %0, %half : tensor<4x8xf32>
  %2 = stablehlo.negate %1 : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// Not NaNs, whose bits are nobody's, nor what is not the same everywhere, nor narrow floats.
// CHECK-LABEL: func @other_arithmetic
// CHECK: stablehlo.subtract
// CHECK: stablehlo.add
// CHECK: stablehlo.multiply
func.func @other_arithmetic() -> (tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>) {
  %inf = stablehlo.constant dense<0x7F800000> : tensor<2xf32>
  %list = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %narrow = stablehlo.constant dense<1.5> : tensor<2xbf16>
  %0 = stablehlo.subtract %inf, %inf : tensor<2xf32>
  %1 = stablehlo.add %list, %list : tensor<2xf32>
  %2 = stablehlo.multiply %narrow, %narrow : tensor<2xbf16>
  return %0, %1, %2 : tensor<2xf32>, tensor<2xf32>, tensor<2xbf16>
}

// What is above a limit is above it in what is left of it there, too: a gradient reads what the next layer does.
// CHECK-LABEL: func @above_limit
// CHECK-DAG: %[[ABOVE:.*]] = stablehlo.maximum %arg0,
// CHECK-DAG: %[[BELOW:.*]] = stablehlo.minimum %arg0,
// CHECK-DAG: stablehlo.compare GT, %[[ABOVE]],
// CHECK-DAG: stablehlo.compare LT, %{{.*}}, %[[ABOVE]],
// CHECK-DAG: stablehlo.compare LT, %[[BELOW]],
func.func @above_limit(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %above = stablehlo.maximum %x, %zero : tensor<8xf32>
  %below = stablehlo.minimum %x, %zero : tensor<8xf32>
  %0 = stablehlo.compare GT, %x, %zero, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %1 = stablehlo.compare LT, %zero, %x, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %2 = stablehlo.compare LT, %x, %zero, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  return %above, %below, %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>
}

// Another limit, one that comes later, an order in which -0.0 is below 0.0, and what is at the limit.
// CHECK-LABEL: func @other_limits
// CHECK-COUNT-4: stablehlo.compare {{.*}}, %arg0, %
func.func @other_limits(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>) {
  %zero = stablehlo.constant dense<0.0> : tensor<8xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8xf32>
  %above = stablehlo.maximum %x, %zero : tensor<8xf32>
  %0 = stablehlo.compare GT, %x, %one, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %1 = stablehlo.compare GT, %x, %zero, TOTALORDER : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %2 = stablehlo.compare GE, %x, %zero, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %3 = stablehlo.compare LT, %x, %one, FLOAT : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
  %below = stablehlo.minimum %x, %one : tensor<8xf32>
  return %above, %below, %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>, tensor<8xi1>
}

// The lower triangle of a lower triangle is that; what it chose from is chosen from at once where nothing else reads the first choice.
// CHECK-LABEL: func @chosen_twice
// CHECK: %[[LOWER:.*]] = stablehlo.select %arg0, %arg1, %arg2
// CHECK: %[[AT_ONCE:.*]] = stablehlo.select %arg0, %arg2, %arg1
// CHECK: return %[[LOWER]], %[[LOWER]], %[[AT_ONCE]]
func.func @chosen_twice(%mask: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %lower = stablehlo.select %mask, %x, %y : tensor<8xi1>, tensor<8xf32>
  %again = stablehlo.select %mask, %lower, %y : tensor<8xi1>, tensor<8xf32>
  %sum = stablehlo.add %x, %y : tensor<8xf32>
  %other = stablehlo.select %mask, %sum, %x : tensor<8xi1>, tensor<8xf32>
  %last = stablehlo.select %mask, %y, %other : tensor<8xi1>, tensor<8xf32>
  return %lower, %again, %last : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Another mask, and a first choice that something else reads.
// CHECK-LABEL: func @chosen_otherwise
// CHECK-COUNT-4: stablehlo.select
// CHECK: return
func.func @chosen_otherwise(%mask: tensor<8xi1>, %more: tensor<8xi1>, %x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %lower = stablehlo.select %mask, %x, %y : tensor<8xi1>, tensor<8xf32>
  %0 = stablehlo.select %more, %lower, %y : tensor<8xi1>, tensor<8xf32>
  %sum = stablehlo.add %x, %y : tensor<8xf32>
  %product = stablehlo.multiply %x, %y : tensor<8xf32>
  %1 = stablehlo.select %mask, %sum, %product : tensor<8xi1>, tensor<8xf32>
  %2 = stablehlo.select %mask, %1, %x : tensor<8xi1>, tensor<8xf32>
  return %1, %0, %2 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
