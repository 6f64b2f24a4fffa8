// RUN: slimhlo-opt %s --split-input-file --verify-diagnostics

// What one of several types does not know may come from another.
func.func @sizes_known_to_some(%a: tensor<2x?xf32>, %b: tensor<?x3xf32>) -> tensor<2x3xf32> {
  %0 = stablehlo.multiply %a, %b : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// Scales and zero points may differ between operands and result.
func.func @scales(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i8:f32, 2.0:7>>) {
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 2.0:7>>)
      -> tensor<2x!quant.uniform<i8:f32, 4.0>>
  return
}

func.func @per_axis(%a: tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>, %b: tensor<2x!quant.uniform<i8:f32, 2.0>>) {
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>, tensor<2x!quant.uniform<i8:f32, 2.0>>)
      -> tensor<2x!quant.uniform<i8:f32:0, {0.25, 0.5}>>
  return
}

func.func @parts(%a: tensor<2xcomplex<f64>>, %b: tensor<2xf32>) {
  %0 = stablehlo.abs %a : (tensor<2xcomplex<f64>>) -> tensor<2xf64>
  %1 = stablehlo.imag %b : tensor<2xf32>
  %2 = stablehlo.complex %b, %1 : tensor<2xcomplex<f32>>
  return
}

func.func @scalar_limits(%low: tensor<i32>, %x: tensor<2xi32>, %p: tensor<i1>) {
  %0 = stablehlo.clamp %low, %x, %x : (tensor<i32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
  %1 = stablehlo.select %p, %x, %0 : tensor<i1>, tensor<2xi32>
  return
}

// -----

func.func @sizes_differ(%a: tensor<2xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{operand #1 has size 3 in dimension 0, but operand #0 has size 2}}
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @third_size_differs(%a: tensor<?xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{result #0 has size 4 in dimension 0, but operand #1 has size 3}}
  %0 = "stablehlo.maximum"(%a, %b) : (tensor<?xf32>, tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @ranks_differ(%a: tensor<2xf32>) {
  // expected-error@+1 {{result #0 has rank 2, but operand #0 has rank 1}}
  %0 = "stablehlo.tanh"(%a) : (tensor<2xf32>) -> tensor<2x1xf32>
  return
}

// -----

func.func @elements_differ(%a: tensor<2xf32>, %b: tensor<2xf64>) {
  // expected-error@+1 {{operand #1 has element type f64, but operand #0 has f32}}
  %0 = "stablehlo.subtract"(%a, %b) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
  return
}

// -----

func.func @size_exceeds_bound(%a: tensor<?xf32, #stablehlo.bounds<3>>, %b: tensor<?xf32>) {
  // expected-error@+2 {{inferred type(s) 'tensor<?xf32, #stablehlo.bounds<3>>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.multiply"(%a, %b) : (tensor<?xf32, #stablehlo.bounds<3>>, tensor<?xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @storage_differs(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2x!quant.uniform<i16:f32, 0.5>>) {
  // expected-error@+1 {{rhs is stored as i16, but the result as i8}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i16:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @axis_differs(%a: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) {
  // expected-error@+1 {{lhs is quantized along dimension 0, but the result along 1}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 1.0}>>
  return
}

// -----

func.func @quantized_and_not(%a: tensor<2x!quant.uniform<i8:f32, 0.5>>, %b: tensor<2xf32>) {
  // expected-error@+1 {{operands and result must be all quantized or none: they are !quant.uniform<i8:f32, 5.000000e-01>, f32 and !quant.uniform<i8:f32, 5.000000e-01>}}
  %0 = "stablehlo.add"(%a, %b) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @too_few_scales(%a: tensor<3x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) {
  // expected-error@+1 {{operand #0 tensor<3x!quant.uniform<i8:f32:0, {5.000000e-01,1.000000e+00}>> has 2 scales for dimension 0 of size 3}}
  %0 = "stablehlo.add"(%a, %a) : (tensor<3x!quant.uniform<i8:f32:0, {0.5, 1.0}>>, tensor<3x!quant.uniform<i8:f32:0, {0.5, 1.0}>>) -> tensor<3x!quant.uniform<i8:f32:0, {0.5, 1.0}>>
  return
}

// -----

func.func @zero_point_cannot_be_stored(%a: tensor<3x!quant.uniform<i8<-10:10>:f32, 0.5:11>>) {
  // expected-error@+1 {{operand #0 tensor<3x!quant.uniform<i8<-10:10>:f32, 5.000000e-01:11>> has zero point 11, which is not in the storage range -10 to 10}}
  %0 = "stablehlo.abs"(%a) : (tensor<3x!quant.uniform<i8<-10:10>:f32, 0.5:11>>) -> tensor<3x!quant.uniform<i8<-10:10>:f32, 0.5:11>>
  return
}

// -----

func.func @expressed_differs(%a: tensor<2xf64>) {
  // expected-error@+1 {{result !quant.uniform<i8:f32, 5.000000e-01> does not express the type of operand f64}}
  %0 = "stablehlo.uniform_quantize"(%a) : (tensor<2xf64>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @compared_elements(%a: tensor<2xf32>, %b: tensor<2xi32>) {
  // expected-error@+1 {{lhs has element type f32, but rhs has i32}}
  %0 = "stablehlo.compare"(%a, %b) <{comparison_direction = #stablehlo<comparison_direction EQ>}> : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi1>
  return
}

// -----

func.func @pred_shape(%p: tensor<3xi1>, %a: tensor<2xf32>) {
  // expected-error@+2 {{pred has shape [3], but on_true has [2]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.select"(%p, %a, %a) : (tensor<3xi1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @limit_shape(%low: tensor<3xf32>, %a: tensor<2xf32>) {
  // expected-error@+2 {{min has shape [3], but operand has [2]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.clamp"(%low, %a, %a) : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @part_of_complex(%a: tensor<2xcomplex<f32>>) {
  // expected-error@+2 {{inferred type(s) 'tensor<2xf32>' are incompatible with return type(s) of operation 'tensor<2xf64>'}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "stablehlo.real"(%a) : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
  return
}

// -----

func.func @chlo_shape(%x: tensor<2xf32>) {
  // expected-error@+1 {{result is of type tensor<3xf32>, but operand #0 of type tensor<2xf32>}}
  %0 = chlo.erfc %x : tensor<2xf32> -> tensor<3xf32>
  return
}

// -----

func.func @chlo_rank(%x: tensor<*xf32>) {
  // expected-error@+1 {{result is of type tensor<3xf32>, but operand #0 of type tensor<*xf32>: either both have a rank or none has}}
  %0 = chlo.erfc %x : tensor<*xf32> -> tensor<3xf32>
  return
}
