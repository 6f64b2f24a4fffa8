// What is wrong with VHLO's text is said at its place: of an attribute where that stands, of an op where the op does.
// UNSUPPORTED: plugin

// RUN: slimhlo-opt %s --emit-portable-artifact=1.17.0 -o %t.artifact
// RUN: slimhlo-opt %t.artifact | FileCheck %s --check-prefix=VALID
// VALID: stablehlo.cholesky

// RUN: awk '/^func/ {exit} /^\/\/ TEXT: / {sub("// TEXT: ", ""); print}' %s > %t.mlir
// RUN: slimhlo-opt %t.mlir | FileCheck %s --check-prefix=VALID
// TEXT: vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>) {
// TEXT:   %0 = "vhlo.cholesky_v1"(%arg0) <{lower = #vhlo.bool_v1<true>}> : (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> !vhlo.tensor_v1<3x3x!vhlo.f32_v1>
// TEXT:   "vhlo.return_v1"(%0) : (!vhlo.tensor_v1<3x3x!vhlo.f32_v1>) -> ()
// TEXT: } {arg_attrs = #vhlo.array_v1<[]>, res_attrs = #vhlo.array_v1<[]>, sym_visibility = #vhlo.string_v1<"">}

// RUN: sed 's/<true>/<yes>/' %t.mlir > %t.bool.mlir
// RUN: not slimhlo-opt %t.bool.mlir 2>&1 | FileCheck %s --check-prefix=BOOL
// BOOL: :2:{{[0-9]+}}: error: expected 'true' or 'false', but found 'yes'

// RUN: sed 's/ <{lower = [^}]*}>//' %t.mlir > %t.missing.mlir
// RUN: not slimhlo-opt %t.missing.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: :2:8: error: 'vhlo.cholesky_v1' op requires attribute 'lower'

// RUN: sed 's/, sym_visibility = .*}/}/' %t.mlir > %t.function.mlir
// RUN: not slimhlo-opt %t.function.mlir 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: :1:1: error: 'vhlo.func_v1' op requires attribute 'sym_visibility'

// RUN: sed 's/3x!vhlo.f32_v1>) -> (/3xf32>) -> (/' %t.mlir > %t.type.mlir
// RUN: not slimhlo-opt %t.type.mlir 2>&1 | FileCheck %s --check-prefix=TYPE
// TYPE: :1:{{[0-9]+}}: error: 'f32' is no type of VHLO

// RUN: sed 's/tensor_v1<3x3x!vhlo.f32_v1>/tensor_v1<?x3x!vhlo.f32_v1, #vhlo.type_extensions_v1<bounds = [3]>>/g' %t.mlir > %t.bounds.mlir
// RUN: not slimhlo-opt %t.bounds.mlir 2>&1 | FileCheck %s --check-prefix=BOUNDS
// BOUNDS: :2:8: error: 'vhlo.cholesky_v1' op has a result of type {{.*}}, which StableHLO lacks: stablehlo.bounds has 1 entries, but the tensor type has rank 2

func.func @main(%a: tensor<3x3xf32>) -> tensor<3x3xf32> {
  %0 = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}
