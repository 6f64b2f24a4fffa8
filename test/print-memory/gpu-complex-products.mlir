// Products of complex numbers are a library's on GPUs: it reads its operands from memory, and takes 32 MiB on an H100. XLA's own figures
// of both modules are these, to the byte (by its compiled modules).
// RUN: slimhlo-opt %s --split-input-file --slimhlo-print-memory="target=h100 plain=true top=0" -o /dev/null 2>&1 | FileCheck %s

// Its operand is stored, 8 MiB.
// CHECK: temporaries 41943040
func.func public @main(%x: tensor<1024x1024xf64>, %w: tensor<1024x1024xcomplex<f32>>) -> tensor<1024x1024xcomplex<f32>> {
  %a = stablehlo.convert %x : (tensor<1024x1024xf64>) -> tensor<1024x1024xcomplex<f32>>
  %d = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xcomplex<f32>>, tensor<1024x1024xcomplex<f32>>) -> tensor<1024x1024xcomplex<f32>>
  %s = stablehlo.add %d, %w : tensor<1024x1024xcomplex<f32>>
  return %s : tensor<1024x1024xcomplex<f32>>
}

// -----

// CHECK: temporaries 50331648
func.func public @main(%x: tensor<1024x1024xf64>, %w: tensor<1024x1024xcomplex<f64>>) -> tensor<1024x1024xcomplex<f64>> {
  %a = stablehlo.convert %x : (tensor<1024x1024xf64>) -> tensor<1024x1024xcomplex<f64>>
  %d = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0] : (tensor<1024x1024xcomplex<f64>>, tensor<1024x1024xcomplex<f64>>) -> tensor<1024x1024xcomplex<f64>>
  %s = stablehlo.add %d, %w : tensor<1024x1024xcomplex<f64>>
  return %s : tensor<1024x1024xcomplex<f64>>
}
