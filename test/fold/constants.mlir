// RUN: slimhlo-opt %s --canonicalize | FileCheck %s

// What ops make of constants. Each function is one fold, so that its constant is the only one.

// CHECK-LABEL: func @wraps
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[-128, -127]> : tensor<2xi8>
// CHECK-NEXT: return %[[C]]
func.func @wraps() -> tensor<2xi8> {
  %x = stablehlo.constant dense<[127, -128]> : tensor<2xi8>
  %one = stablehlo.constant dense<1> : tensor<2xi8>
  %0 = stablehlo.add %x, %one : tensor<2xi8>
  return %0 : tensor<2xi8>
}

// CHECK-LABEL: func @unsigned
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[127, 1]> : tensor<2xui8>
// CHECK-NEXT: return %[[C]]
func.func @unsigned() -> tensor<2xui8> {
  %x = stablehlo.constant dense<[255, 3]> : tensor<2xui8>
  %two = stablehlo.constant dense<2> : tensor<2xui8>
  %0 = stablehlo.divide %x, %two : tensor<2xui8>
  return %0 : tensor<2xui8>
}

// CHECK-LABEL: func @signed_shift
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<-2> : tensor<i8>
// CHECK-NEXT: return %[[C]]
func.func @signed_shift() -> tensor<i8> {
  %x = stablehlo.constant dense<-8> : tensor<i8>
  %two = stablehlo.constant dense<2> : tensor<i8>
  %0 = stablehlo.shift_right_arithmetic %x, %two : tensor<i8>
  return %0 : tensor<i8>
}

// CHECK-LABEL: func @narrow
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[1, -8]> : tensor<2xi4>
// CHECK-NEXT: return %[[C]]
func.func @narrow() -> tensor<2xi4> {
  %x = stablehlo.constant dense<[-1, -8]> : tensor<2xi4>
  %0 = stablehlo.abs %x : tensor<2xi4>
  return %0 : tensor<2xi4>
}

// CHECK-LABEL: func @bools
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[true, false]> : tensor<2xi1>
// CHECK-NEXT: return %[[C]]
func.func @bools() -> tensor<2xi1> {
  %x = stablehlo.constant dense<[false, true]> : tensor<2xi1>
  %0 = stablehlo.not %x : tensor<2xi1>
  return %0 : tensor<2xi1>
}

// CHECK-LABEL: func @equal_to_itself
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<true> : tensor<4xi1>
// CHECK-NEXT: return %[[C]]
func.func @equal_to_itself(%x: tensor<4xi32>) -> tensor<4xi1> {
  %0 = stablehlo.compare LE, %x, %x : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
  return %0 : tensor<4xi1>
}

// Every bit of a float goes where it belongs.
// CHECK-LABEL: func @float_bits
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[0xFF800000, -0.000000e+00, 0x7FC00001]> : tensor<3xf32>
// CHECK-NEXT: return %[[C]]
func.func @float_bits() -> tensor<3xf32> {
  %x = stablehlo.constant dense<[0x7FC00001, -0.0, 0xFF800000]> : tensor<3xf32>
  %0 = stablehlo.reverse %x, dims = [0] : tensor<3xf32>
  return %0 : tensor<3xf32>
}

// CHECK-LABEL: func @transposed
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<{{\[\[}}0, 3], [1, 4], [2, 5]]> : tensor<3x2xi32>
// CHECK-NEXT: return %[[C]]
func.func @transposed() -> tensor<3x2xi32> {
  %x = stablehlo.constant dense<[[0, 1, 2], [3, 4, 5]]> : tensor<2x3xi32>
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %0 : tensor<3x2xi32>
}

// CHECK-LABEL: func @cut_and_joined
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[1, 3, 7]> : tensor<3xi32>
// CHECK-NEXT: return %[[C]]
func.func @cut_and_joined() -> tensor<3xi32> {
  %x = stablehlo.iota dim = 0 : tensor<5xi32>
  %y = stablehlo.constant dense<7> : tensor<1xi32>
  %0 = stablehlo.slice %x [1:5:2] : (tensor<5xi32>) -> tensor<2xi32>
  %1 = stablehlo.concatenate %0, %y, dim = 0 : (tensor<2xi32>, tensor<1xi32>) -> tensor<3xi32>
  return %1 : tensor<3xi32>
}

// CHECK-LABEL: func @padded
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[9, 1, 9, 2, 9, 3]> : tensor<6xi32>
// CHECK-NEXT: return %[[C]]
func.func @padded() -> tensor<6xi32> {
  %x = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi32>
  %v = stablehlo.constant dense<9> : tensor<i32>
  %0 = stablehlo.pad %x, %v, low = [1], high = [-2], interior = [1] : (tensor<4xi32>, tensor<i32>) -> tensor<6xi32>
  return %0 : tensor<6xi32>
}

// A splat stays one, however large.
// CHECK-LABEL: func @splat
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<1000x1000xf32>
// CHECK-NEXT: return %[[C]]
func.func @splat() -> tensor<1000x1000xf32> {
  %x = stablehlo.constant dense<-0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<1000x1000xf32>
  return %0 : tensor<1000x1000xf32>
}

// CHECK-LABEL: func @converted
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[-3, 0, 2]> : tensor<3xi8>
// CHECK-NEXT: return %[[C]]
func.func @converted() -> tensor<3xi8> {
  %x = stablehlo.constant dense<[-3.75, -0.0, 2.5]> : tensor<3xf16>
  %0 = stablehlo.convert %x : (tensor<3xf16>) -> tensor<3xi8>
  return %0 : tensor<3xi8>
}

// CHECK-LABEL: func @zero_extended
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<[255, 1]> : tensor<2xi32>
// CHECK-NEXT: return %[[C]]
func.func @zero_extended() -> tensor<2xi32> {
  %x = stablehlo.constant dense<[255, 1]> : tensor<2xui8>
  %0 = stablehlo.convert %x : (tensor<2xui8>) -> tensor<2xi32>
  return %0 : tensor<2xi32>
}

// CHECK-LABEL: func @reinterpreted
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<{{\[\[}}1, 0], [-1, -1]]> : tensor<2x2xi16>
// CHECK-NEXT: return %[[C]]
func.func @reinterpreted() -> tensor<2x2xi16> {
  %x = stablehlo.constant dense<[1, -1]> : tensor<2xi32>
  %0 = stablehlo.bitcast_convert %x : (tensor<2xi32>) -> tensor<2x2xi16>
  return %0 : tensor<2x2xi16>
}

// CHECK-LABEL: func @size
// CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<7> : tensor<i32>
// CHECK-NEXT: return %[[C]]
func.func @size(%x: tensor<?x7xf32>) -> tensor<i32> {
  %0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x7xf32>) -> tensor<i32>
  return %0 : tensor<i32>
}
