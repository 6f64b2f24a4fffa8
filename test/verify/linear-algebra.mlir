// Matrices of cholesky and triangular_solve, sizes and numbers of fft.
// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

func.func @cholesky(%a: tensor<2x4x4xf32>) {
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @cholesky_not_square(%a: tensor<4x5xf32>) {
  // expected-error@+2 {{a has matrices of 4 rows and 5 columns, not square ones}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<4x5xf32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @cholesky_of_vector(%a: tensor<4xf32>) {
  // expected-error@+2 {{a has rank 1, less than 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @solve(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>) {
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @solve_from_the_right(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>) {
  // expected-error@+2 {{a has matrices of order 4, but those of b have 3 columns}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @solve_batch(%a: tensor<2x4x4xf32>, %b: tensor<3x4x3xf32>) {
  // expected-error@+2 {{a has batch dimensions [2], but b has [3]}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x4x4xf32>, tensor<3x4x3xf32>) -> tensor<3x4x3xf32>
  return
}

// -----

func.func @solve_transposed(%a: tensor<2x4x4xf32>, %b: tensor<2x4x3xf32>) {
  // expected-error@+2 {{transpose_a = TRANSPOSE_INVALID is not a way to solve}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>, unit_diagonal = false}> : (tensor<2x4x4xf32>, tensor<2x4x3xf32>) -> tensor<2x4x3xf32>
  return
}

// -----

func.func @fft(%a: tensor<2x9xcomplex<f32>>) {
  %r = "stablehlo.fft"(%a) <{fft_length = array<i64: 9>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<2x9xcomplex<f32>>) -> tensor<2x9xcomplex<f32>>
  return
}

// -----

func.func @rfft(%a: tensor<2x9xf32>) {
  %r = "stablehlo.fft"(%a) <{fft_length = array<i64: 9>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<2x9xf32>) -> tensor<2x5xcomplex<f32>>
  return
}

// -----

func.func @irfft(%a: tensor<2x?xcomplex<f64>>) {
  %r = "stablehlo.fft"(%a) <{fft_length = array<i64: 9>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<2x?xcomplex<f64>>) -> tensor<2x9xf64>
  return
}

// -----

func.func @fft_of_reals(%a: tensor<2x9xf32>) {
  // expected-error@+2 {{operand of FFT has element type f32, which is not complex}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.fft"(%a) <{fft_length = array<i64: 9>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<2x9xf32>) -> tensor<2x9xf32>
  return
}

// -----

func.func @rfft_length(%a: tensor<2x9xf32>) {
  // expected-error@+2 {{fft_length[0] = 8 does not go with size 9 of dimension 1 of operand}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.fft"(%a) <{fft_length = array<i64: 8>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<2x9xf32>) -> tensor<2x5xcomplex<f32>>
  return
}

// -----

func.func @four_dimensions(%a: tensor<1x1x1x1xcomplex<f32>>) {
  // expected-error@+2 {{fft_length has 4 entries, not 1 to 3}}
  // expected-error@+1 {{failed to infer returned types}}
  %r = "stablehlo.fft"(%a) <{fft_length = array<i64: 1, 1, 1, 1>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<1x1x1x1xcomplex<f32>>) -> tensor<1x1x1x1xcomplex<f32>>
  return
}
