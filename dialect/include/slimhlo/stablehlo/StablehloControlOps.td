// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Control flow, tuples, calls out of the program, and random numbers.

#ifndef SLIMHLO_STABLEHLO_CONTROLOPS_TD
#define SLIMHLO_STABLEHLO_CONTROLOPS_TD

include "slimhlo/stablehlo/StablehloBase.td"

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

class StableHLO_ControlOp<string mnemonic, list<Trait> traits = []> : StableHLO_Op<mnemonic, !listconcat(
    [RecursiveMemoryEffects, RecursivelySpeculatable, RustInferTypes, StableHLO_ReturnTerminator], traits)>;

def StableHLO_IfOp : StableHLO_ControlOp<"if"> {
  let summary = "one of two regions";
  let description = [{
    What `true_branch` returns if `pred` holds, else what `false_branch` returns.

    Example:
    ```mlir
    %r = "stablehlo.if"(%p) ({
      stablehlo.return %x : tensor<2xi64>
    }, {
      stablehlo.return %y : tensor<2xi64>
    }) : (tensor<i1>) -> tensor<2xi64>
    ```
  }];
  let arguments = (ins StableHLO_PredTensor:$pred);
  let regions = (region SizedRegion<1>:$true_branch, SizedRegion<1>:$false_branch);
  let results = (outs Variadic<StableHLO_BranchValue>:$result);
}

def StableHLO_CaseOp : StableHLO_ControlOp<"case"> {
  let summary = "one of several regions";
  let description = [{
    What the branch of number `index` returns; the last branch if there is none of that number.

    Example:
    ```mlir
    %r = "stablehlo.case"(%i) ({
      stablehlo.return %x : tensor<2xi64>
    }, {
      stablehlo.return %y : tensor<2xi64>
    }) : (tensor<i32>) -> tensor<2xi64>
    ```
  }];
  let arguments = (ins StableHLO_Int32Tensor:$index);
  let regions = (region VariadicRegion<SizedRegion<1>>:$branches);
  let results = (outs Variadic<StableHLO_BranchValue>:$result);
}

def StableHLO_WhileOp : StableHLO_ControlOp<"while", [
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "loop while a condition holds";
  let description = [{
    `body` applied to the operands, then to what it returned, as long as `cond` of the same values returns true. The
    results are the last values.

    Example:
    ```mlir
    %r:2 = stablehlo.while(%iterArg = %i, %iterArg_0 = %sum) : tensor<i64>, tensor<i64>
    cond {
      %p = stablehlo.compare LT, %iterArg, %ten : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %s = stablehlo.add %iterArg_0, %one : tensor<i64>
      %j = stablehlo.add %iterArg, %one : tensor<i64>
      stablehlo.return %j, %s : tensor<i64>, tensor<i64>
    }
    ```
  }];
  let arguments = (ins Variadic<StableHLO_LoopValue>:$operand);
  let regions = (region SizedRegion<1>:$cond, SizedRegion<1>:$body);
  let results = (outs Variadic<StableHLO_LoopValue>:$result);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Prints the generic form where what is carried is of other types inside: short forms have one type for each.
    static ::mlir::OperationName::PrintAssemblyFn getPrintAssemblyFn();
  }];
}

def StableHLO_ReturnOp : StableHLO_Op<"return", [Pure, Terminator]> {
  let summary = "end of a region";
  let description = [{
    Ends a region of an op of this dialect and gives the values that the region returns.

    Example: `stablehlo.return %x, %y : tensor<f32>, tensor<i32>`
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "$values attr-dict (`:` type($values)^)?";
}

def StableHLO_OptimizationBarrierOp : StableHLO_Op<"optimization_barrier", [Pure, RustInferTypes]> {
  let summary = "keep computations apart";
  let description = [{
    The operands, unchanged. What computes them is done before anything that uses the results, and compilers do not
    transform across.

    Example: `%r:2 = stablehlo.optimization_barrier %x, %y : tensor<f32>, tensor<i32>`
  }];
  let arguments = (ins Variadic<StableHLO_TensorOrToken>:$operand);
  let results = (outs Variadic<StableHLO_TensorOrToken>:$result);
  let assemblyFormat = [{
    attr-dict ($operand^ `:` custom<PairwiseTypes>(type($operand), type($result))) : (`(` `)`)?
  }];
}

//===----------------------------------------------------------------------===//
// Tuples
//===----------------------------------------------------------------------===//

def StableHLO_TupleOp : StableHLO_Op<"tuple", [Pure, RustInferTypes]> {
  let summary = "values as one tuple";
  let description = [{
    A tuple of the operands.

    Example: `%t = stablehlo.tuple %x, %y : tuple<tensor<2xf64>, tuple<tensor<i64>>>`
  }];
  let arguments = (ins Variadic<StableHLO_TupleElement>:$val);
  let results = (outs StableHLO_Tuple:$result);
  let assemblyFormat = "$val attr-dict `:` custom<TupleTypes>(type($val), type($result))";
}

def StableHLO_GetTupleElementOp : StableHLO_Op<"get_tuple_element", [Pure, RustInferTypes]> {
  let summary = "one value of a tuple";
  let description = [{
    The value of number `index` of the operand.

    Example: `%x = stablehlo.get_tuple_element %t[0] : (tuple<tensor<2xf64>, tensor<i64>>) -> tensor<2xf64>`
  }];
  let arguments = (ins StableHLO_Tuple:$operand, StableHLO_NonNegativeI32:$index);
  let results = (outs StableHLO_TupleElement:$result);
  let assemblyFormat = "$operand `[` $index `]` attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

def StableHLO_CustomCallOp : StableHLO_Op<"custom_call", [RustMemoryEffects]> {
  let summary = "call out of the program";
  let description = [{
    What the function registered as `call_target_name` makes of the inputs. `api_version` says how it is called and
    `backend_config` is passed to it; `has_side_effect` keeps the call where it is. Layouts list dimensions from the
    fastest to the slowest varying; aliases name results that lie in the memory of an operand.

    Example:
    ```mlir
    %r = stablehlo.custom_call @foo(%x) {api_version = 4 : i32, backend_config = {bar = 42 : i32}}
        : (tensor<f64>) -> tensor<f64>
    ```
  }];
  let arguments = (ins
    Variadic<StableHLO_CustomCallValue>:$inputs,
    StrAttr:$call_target_name,
    DefaultValuedOptionalAttr<BoolAttr, "false">:$has_side_effect,
    OptionalAttr<AnyAttrOf<[StrAttr, DictionaryAttr], "a string or a dictionary">>:$backend_config,
    DefaultValuedOptionalAttr<StableHLO_CustomCallApiVersionAttr,
        "::slimhlo::stablehlo::CustomCallApiVersion::API_VERSION_ORIGINAL">:$api_version,
    DefaultValuedOptionalAttr<StableHLO_FlatSymbolRefArray, "{}">:$called_computations,
    OptionalAttr<StableHLO_Layouts>:$operand_layouts,
    OptionalAttr<StableHLO_Layouts>:$result_layouts,
    DefaultValuedOptionalAttr<StableHLO_OutputOperandAliases, "{}">:$output_operand_aliases);
  let results = (outs Variadic<StableHLO_CustomCallValue>:$result);
  let assemblyFormat = [{
    custom<CustomCallTarget>($call_target_name) `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_CompositeOp : StableHLO_Op<"composite", [RustSymbolUser]> {
  let summary = "an operation made of others";
  let description = [{
    The operation `name` on the inputs, with `composite_attributes`. The function `decomposition` computes the same; who
    does not know the operation calls that.

    Example:
    ```mlir
    %r = stablehlo.composite "my.op" %x, %y {
      composite_attributes = {my_attribute = "my_value"}, decomposition = @my_op, version = 1 : i32
    } : (tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
  }];
  let arguments = (ins
    Variadic<StableHLO_CompositeValue>:$inputs,
    StrAttr:$name,
    DefaultValuedOptionalAttr<DictionaryAttr, "{}">:$composite_attributes,
    FlatSymbolRefAttr:$decomposition,
    DefaultValuedOptionalAttr<I32Attr, "0">:$version);
  let regions = (region VariadicRegion<AnyRegion>:$composite_regions);
  let results = (outs Variadic<StableHLO_CompositeValue>:$result);
  let assemblyFormat = [{
    $name $inputs `` custom<OptionalRegions>($composite_regions) attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

def StableHLO_RngOp : StableHLO_Op<"rng", [RustInferTypes]> {
  let summary = "random numbers";
  let description = [{
    Numbers of the distribution `rng_distribution` with the parameters `a` and `b`, different each time it runs.

    Example:
    ```mlir
    %r = stablehlo.rng %a, %b, %shape, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<3x3xf32>
    ```
  }];
  let arguments = (ins StableHLO_PredIntOrFloatScalar:$a, StableHLO_PredIntOrFloatScalar:$b,
                       StableHLO_StaticDimensionVector:$shape, StableHLO_RngDistributionAttr:$rng_distribution);
  let results = (outs StableHLO_PredIntOrFloatTensor:$result);
  let assemblyFormat = [{
    $a `,` $b `,` $shape `,` `distribution` `=` `` $rng_distribution attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_RngBitGeneratorOp : StableHLO_PureOp<"rng_bit_generator"> {
  let summary = "random bits from a state";
  let description = [{
    Uniformly random bits and the state that follows `initial_state`. The same state gives the same bits.

    Example:
    ```mlir
    %output_state, %output = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY
        : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2x2xui64>)
    ```
  }];
  let arguments = (ins StableHLO_RngAlgorithmAttr:$rng_algorithm, StableHLO_IntOrFloatTensor:$initial_state);
  let results = (outs StableHLO_IntOrFloatTensor:$output_state, StableHLO_StaticIntOrFloatTensor:$output);
  let assemblyFormat = [{
    $initial_state `,` `algorithm` `=` `` $rng_algorithm attr-dict `:` functional-type(operands, results)
  }];
}

#endif // SLIMHLO_STABLEHLO_CONTROLOPS_TD
