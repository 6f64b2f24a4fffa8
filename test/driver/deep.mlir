// Ten thousand regions in each other: no stack is too short.
// UNSUPPORTED: plugin
// RUN: awk 'BEGIN {n = 10000; print "func.func @f(%a: tensor<f32>, %c: tensor<i1>) -> tensor<f32> {"; for (i = 0; i < n; i++) print "%r" i " = \042stablehlo.if\042(%c) ({"; print "stablehlo.return %a : tensor<f32>"; for (i = n - 1; i >= 0; i--) {print "}, {\nstablehlo.return %a : tensor<f32>\n}) : (tensor<i1>) -> tensor<f32>"; if (i) print "stablehlo.return %r" i " : tensor<f32>"}; print "return %r0 : tensor<f32>\n}"}' > %t.mlir
// RUN: slimhlo-opt %t.mlir --emit-bytecode -o %t.mlirbc
