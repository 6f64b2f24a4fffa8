// Fourier transforms hand numbers from one launch to the next in their results.
// RUN: slimhlo-opt --slimhlo-form-kernels --split-input-file %s | FileCheck %s

// Lines that no block holds, of 256 by 256 complex numbers.
// CHECK-LABEL: func.func public @long
// CHECK: func.func private @{{.*}} attributes {{.*}}slimhlo.kernel = "fft"
// CHECK-NOT: slimhlo.scratch
// CHECK: return
func.func public @long(%x: tensor<8x65536xcomplex<f32>>) -> tensor<8x65536xcomplex<f32>> {
  %r = stablehlo.fft %x, type = FFT, length = [65536] : (tensor<8x65536xcomplex<f32>>) -> tensor<8x65536xcomplex<f32>>
  return %r : tensor<8x65536xcomplex<f32>>
}

// -----

// The long dimension comes first, wherever it is.
// CHECK-LABEL: func.func public @tall
// CHECK: func.func private @{{.*}} attributes {{.*}}slimhlo.kernel = "fft"
// CHECK-NOT: slimhlo.scratch
// CHECK: return
func.func public @tall(%x: tensor<65536x8xcomplex<f32>>) -> tensor<65536x8xcomplex<f32>> {
  %r = stablehlo.fft %x, type = IFFT, length = [65536, 8] : (tensor<65536x8xcomplex<f32>>) -> tensor<65536x8xcomplex<f32>>
  return %r : tensor<65536x8xcomplex<f32>>
}

// -----

// Pairs of reals, in both directions.
// CHECK-LABEL: func.func public @reals
// CHECK: func.func private @{{.*}} attributes {{.*}}slimhlo.kernel = "fft"
// CHECK-NOT: slimhlo.scratch
// CHECK: return
func.func public @reals(%x: tensor<8x65536xf32>) -> tensor<8x65536xf32> {
  %0 = stablehlo.fft %x, type = RFFT, length = [65536] : (tensor<8x65536xf32>) -> tensor<8x32769xcomplex<f32>>
  %1 = stablehlo.fft %0, type = IRFFT, length = [65536] : (tensor<8x32769xcomplex<f32>>) -> tensor<8x65536xf32>
  return %1 : tensor<8x65536xf32>
}

// -----

// Of several dimensions of reals the last number of each row lies apart: of 128 rows, 8 bytes each.
// CHECK-LABEL: func.func public @rows
// CHECK: func.func private @{{.*}} attributes {{.*}}slimhlo.scratch = array<i64: 1024>
func.func public @rows(%x: tensor<128x513xcomplex<f32>>) -> tensor<128x1024xf32> {
  %r = stablehlo.fft %x, type = IRFFT, length = [128, 1024] : (tensor<128x513xcomplex<f32>>) -> tensor<128x1024xf32>
  return %r : tensor<128x1024xf32>
}

// -----

// A factor of 17 is held by a thread, one of 37 by none.
// CHECK-LABEL: func.func public @prime
// CHECK: func.func private @{{.*}}34x{{.*}}slimhlo.kernel = "fft"
// CHECK-NOT: slimhlo.scratch
// CHECK: func.func private @{{.*}}74x{{.*}}slimhlo.scratch = array<i64: 4736>
func.func public @prime(%x: tensor<8x34xcomplex<f32>>, %y: tensor<8x74xcomplex<f32>>) -> (tensor<8x34xcomplex<f32>>, tensor<8x74xcomplex<f32>>) {
  %0 = stablehlo.fft %x, type = FFT, length = [34] : (tensor<8x34xcomplex<f32>>) -> tensor<8x34xcomplex<f32>>
  %1 = stablehlo.fft %y, type = FFT, length = [74] : (tensor<8x74xcomplex<f32>>) -> tensor<8x74xcomplex<f32>>
  return %0, %1 : tensor<8x34xcomplex<f32>>, tensor<8x74xcomplex<f32>>
}

// -----

// Of an odd number of reals there are no pairs.
// CHECK-LABEL: func.func public @odd
// CHECK: func.func private @{{.*}}slimhlo.scratch
func.func public @odd(%x: tensor<8x10125xf32>) -> tensor<8x5063xcomplex<f32>> {
  %r = stablehlo.fft %x, type = RFFT, length = [10125] : (tensor<8x10125xf32>) -> tensor<8x5063xcomplex<f32>>
  return %r : tensor<8x5063xcomplex<f32>>
}

// -----

// The second long dimension could not be exchanged where it lies.
// CHECK-LABEL: func.func public @twice
// CHECK: func.func private @{{.*}}slimhlo.scratch
func.func public @twice(%x: tensor<8192x8192xcomplex<f32>>) -> tensor<8192x8192xcomplex<f32>> {
  %r = stablehlo.fft %x, type = FFT, length = [8192, 8192] : (tensor<8192x8192xcomplex<f32>>) -> tensor<8192x8192xcomplex<f32>>
  return %r : tensor<8192x8192xcomplex<f32>>
}
