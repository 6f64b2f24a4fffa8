// Complex numbers go in chunks as others do: amplitudes of a wave function, of which sums over hidden units are used.
// RUN: slimhlo-opt %s --slimhlo-stream="target=h100" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @amplitudes
// CHECK: stablehlo.while
// CHECK: stablehlo.dot_general {{.*}} -> tensor<[[ROWS:[0-9]+]]x576xcomplex<f64>>
// CHECK: stablehlo.reduce{{.*}} : (tensor<[[ROWS]]x576xcomplex<f64>>, tensor<complex<f64>>) -> tensor<[[ROWS]]xcomplex<f64>>
// CHECK-NOT: tensor<65536x576xcomplex<f64>>
// CHECK: return
func.func @amplitudes(%x: tensor<65536x144xf64>, %w: tensor<144x576xcomplex<f64>>) -> tensor<65536xcomplex<f64>> {
  %zero = stablehlo.constant dense<(0.0, 0.0)> : tensor<complex<f64>>
  %c = stablehlo.convert %x : (tensor<65536x144xf64>) -> tensor<65536x144xcomplex<f64>>
  %h = stablehlo.dot_general %c, %w, contracting_dims = [1] x [0] : (tensor<65536x144xcomplex<f64>>, tensor<144x576xcomplex<f64>>) -> tensor<65536x576xcomplex<f64>>
  %e = stablehlo.exponential %h : tensor<65536x576xcomplex<f64>>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<65536x576xcomplex<f64>>, tensor<complex<f64>>) -> tensor<65536xcomplex<f64>>
  return %s : tensor<65536xcomplex<f64>>
}

// -----

// A sum along what goes in chunks takes its initial value once; each chunk starts from what changes no sum, the zero with both signs.
// CHECK-LABEL: func.func @sums
// CHECK: stablehlo.while
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<(-0.000000e+00,-0.000000e+00)> : tensor<complex<f32>>
// CHECK: stablehlo.reduce(%{{.*}} init: %[[ZERO]]) applies stablehlo.add across dimensions = [0]
// CHECK-NOT: tensor<65536x576xcomplex<f32>>
// CHECK: return
func.func @sums(%x: tensor<65536x144xcomplex<f32>>, %w: tensor<144x576xcomplex<f32>>, %start: tensor<complex<f32>>) -> tensor<576xcomplex<f32>> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<65536x144xcomplex<f32>>, tensor<144x576xcomplex<f32>>) -> tensor<65536x576xcomplex<f32>>
  %e = stablehlo.exponential %h : tensor<65536x576xcomplex<f32>>
  %s = stablehlo.reduce(%e init: %start) applies stablehlo.add across dimensions = [0] : (tensor<65536x576xcomplex<f32>>, tensor<complex<f32>>) -> tensor<576xcomplex<f32>>
  return %s : tensor<576xcomplex<f32>>
}

// -----

// A product of them has all rows at once, in chunks of columns: times one is no identity where a part is infinite.
// CHECK-LABEL: func.func @products
// CHECK: stablehlo.reduce{{.*}} applies stablehlo.multiply across dimensions = [0] : (tensor<65536x
func.func @products(%x: tensor<65536x144xcomplex<f32>>, %w: tensor<144x576xcomplex<f32>>, %start: tensor<complex<f32>>) -> tensor<576xcomplex<f32>> {
  %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<65536x144xcomplex<f32>>, tensor<144x576xcomplex<f32>>) -> tensor<65536x576xcomplex<f32>>
  %e = stablehlo.exponential %h : tensor<65536x576xcomplex<f32>>
  %s = stablehlo.reduce(%e init: %start) applies stablehlo.multiply across dimensions = [0] : (tensor<65536x576xcomplex<f32>>, tensor<complex<f32>>) -> tensor<576xcomplex<f32>>
  return %s : tensor<576xcomplex<f32>>
}
