// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that make tensors from nothing, or whose result holds elements of the operands in other places.

#ifndef SLIMHLO_STABLEHLO_SHAPEOPS_TD
#define SLIMHLO_STABLEHLO_SHAPEOPS_TD

include "slimhlo/stablehlo/StablehloBase.td"

//===----------------------------------------------------------------------===//
// Constants and counters
//===----------------------------------------------------------------------===//

def StableHLO_ConstantOp : StableHLO_Op<"constant", [
    Pure, ConstantLike, RustInferTypes, DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "constant";
  let description = [{
    A tensor whose elements are written in the program. The type is that of `value`, except that integers may stand for
    the stored values of a quantized type.

    Example: `%c = stablehlo.constant dense<[[0, 1], [2, 3]]> : tensor<2x2xi32>`
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs StableHLO_StaticTensorOrPerAxis:$output);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_IotaOp : StableHLO_Op<"iota", [Pure]> {
  let summary = "indices along a dimension";
  let description = [{
    Each element is its own index along `iota_dimension`.

    Example: `%r = stablehlo.iota dim = 0 : tensor<4x5xi32>`
  }];
  let arguments = (ins StableHLO_NonNegativeI64:$iota_dimension);
  let results = (outs StableHLO_StaticNumberTensor:$output);
  let assemblyFormat = "`dim` `=` $iota_dimension attr-dict `:` type($output)";
}

def StableHLO_DynamicIotaOp : StableHLO_PartialOp<"dynamic_iota"> {
  let summary = "indices along a dimension, of a computed shape";
  let description = [{
    `iota` whose shape is the operand.

    Example: `%r = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<2xi64>) -> tensor<?x?xi64>`
  }];
  let arguments = (ins StableHLO_StaticDimensionVector:$output_shape, StableHLO_NonNegativeI64:$iota_dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $output_shape `,` `dim` `=` $iota_dimension attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Broadcasts
//===----------------------------------------------------------------------===//

def StableHLO_BroadcastInDimOp : StableHLO_PureOp<"broadcast_in_dim"> {
  let summary = "repeat along dimensions";
  let description = [{
    Dimension i of the operand becomes dimension `broadcast_dimensions[i]` of the result; along the others, and where the
    operand has size 1, elements repeat.

    Example: `%r = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<1x3xi32>) -> tensor<2x3x2xi32>`
  }];
  let arguments = (ins StableHLO_TensorOrPerAxis:$operand, DenseI64ArrayAttr:$broadcast_dimensions);
  let results = (outs StableHLO_StaticOrBoundedTensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $broadcast_dimensions attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_BroadcastOp : StableHLO_PureOp<"broadcast", [RustInferTypes]> {
  let summary = "repeat along new leading dimensions";
  let description = [{
    The operand, repeated along dimensions of `broadcast_sizes` put before its own. Written by older producers only; it
    is a `broadcast_in_dim`.

    Example: `%r = stablehlo.broadcast %x, sizes = [1, 2] : (tensor<3xi32>) -> tensor<1x2x3xi32>`
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$broadcast_sizes);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = [{
    $operand `,` `sizes` `=` $broadcast_sizes attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_DynamicBroadcastInDimOp : StableHLO_PartialOp<"dynamic_broadcast_in_dim"> {
  let summary = "repeat along dimensions, to a computed shape";
  let description = [{
    `broadcast_in_dim` to the shape `output_dimensions`. The two optional lists name operand dimensions that are known to
    grow and not to grow.

    Example:
    ```mlir
    %r = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [2, 1]
        : (tensor<1x3xi64>, tensor<3xi64>) -> tensor<2x3x2xi64>
    ```
  }];
  let arguments = (ins StableHLO_TensorOrPerAxis:$operand, StableHLO_StaticDimensionVector:$output_dimensions,
                       DenseI64ArrayAttr:$broadcast_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_expanding_dimensions,
                       OptionalAttr<DenseI64ArrayAttr>:$known_nonexpanding_dimensions);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = [{
    $operand `,` $output_dimensions `,` `dims` `=` $broadcast_dimensions attr-dict `:`
    functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Same elements, other shape
//===----------------------------------------------------------------------===//

def StableHLO_BitcastConvertOp : StableHLO_PureOp<"bitcast_convert"> {
  let summary = "same bits, other element type";
  let description = [{
    The bits of the operand read as elements of another type. If the widths differ, a last dimension holds the narrow
    elements that make up a wide one.

    Example: `%r = stablehlo.bitcast_convert %x : (tensor<f64>) -> tensor<4xf16>`
  }];
  let arguments = (ins StableHLO_TensorOrPerAxis:$operand);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_ReshapeOp : StableHLO_PureOp<"reshape"> {
  let summary = "same elements, other shape";
  let description = [{
    The elements of the operand, in row-major order, in a tensor of another shape.

    Example: `%r = stablehlo.reshape %x : (tensor<2xf32>) -> tensor<1x2xf32>`
  }];
  let arguments = (ins StableHLO_TensorOrPerAxis:$operand);
  let results = (outs StableHLO_StaticOrBoundedTensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_DynamicReshapeOp : StableHLO_PartialOp<"dynamic_reshape"> {
  let summary = "same elements, a computed shape";
  let description = [{
    `reshape` to the shape `output_shape`.

    Example: `%r = stablehlo.dynamic_reshape %x, %shape : (tensor<2x3xi64>, tensor<2xi64>) -> tensor<?x?xi64>`
  }];
  let arguments = (ins StableHLO_TensorOrPerAxis:$operand, StableHLO_StaticDimensionVector:$output_shape);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_TransposeOp : StableHLO_PureOp<"transpose", [RustInferTypes]> {
  let summary = "permute dimensions";
  let description = [{
    Dimension i of the result is dimension `permutation[i]` of the operand.

    Example: `%r = stablehlo.transpose %x, dims = [2, 1, 0] : (tensor<1x2x3xi32>) -> tensor<3x2x1xi32>`
  }];
  let arguments = (ins StableHLO_TensorOrPerAxis:$operand, DenseI64ArrayAttr:$permutation);
  let results = (outs StableHLO_TensorOrPerAxis:$result);
  let assemblyFormat = "$operand `,` `dims` `=` $permutation attr-dict `:` functional-type(operands, results)";
}

def StableHLO_ReverseOp : StableHLO_PureOp<"reverse", [RustInferTypes]> {
  let summary = "reverse along dimensions";
  let description = [{
    The operand with the order of elements reversed along each of `dimensions`.

    Example: `%r = stablehlo.reverse %x, dims = [1] : tensor<3x2xi32>`
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$dimensions);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `dims` `=` $dimensions attr-dict `:`
    custom<SameOperandsAndResultType>(type($operand), type($result))
  }];
}

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

def StableHLO_SliceOp : StableHLO_PureOp<"slice", [RustInferTypes]> {
  let summary = "part of a tensor";
  let description = [{
    Along each dimension the elements at `start_indices`, `start_indices + strides`, ... below `limit_indices`, written
    `start:limit:stride` (a stride of 1 is left out).

    Example: `%r = stablehlo.slice %x [1:3, 4:8:2] : (tensor<3x8xi64>) -> tensor<2x2xi64>`
  }];
  let arguments = (ins StableHLO_Tensor:$operand, DenseI64ArrayAttr:$start_indices,
                       DenseI64ArrayAttr:$limit_indices, DenseI64ArrayAttr:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand custom<SliceRanges>($start_indices, $limit_indices, $strides) attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_DynamicSliceOp : StableHLO_PureOp<"dynamic_slice", [RustInferTypes]> {
  let summary = "part of a tensor at a computed place";
  let description = [{
    `slice_sizes` elements along each dimension, from the place that the scalars `start_indices` give, moved so that the
    slice lies within the operand.

    Example:
    ```mlir
    %r = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2]
        : (tensor<4x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x2xi32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, Variadic<StableHLO_IntScalar>:$start_indices,
                       DenseI64ArrayAttr:$slice_sizes);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` `` custom<OperandsBeforeAttribute>($start_indices) `sizes` `=` $slice_sizes attr-dict `:`
    functional-type(operands, results)
  }];
}

def StableHLO_RealDynamicSliceOp : StableHLO_PartialOp<"real_dynamic_slice"> {
  let summary = "part of a tensor with computed bounds";
  let description = [{
    `slice` whose three lists are operands.

    Example:
    ```mlir
    %r = stablehlo.real_dynamic_slice %x, %start, %limit, %strides
        : (tensor<256x?xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<256x?xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_DimensionVector:$start_indices,
                       StableHLO_DimensionVector:$limit_indices, StableHLO_DimensionVector:$strides);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_DynamicUpdateSliceOp : StableHLO_PureOp<"dynamic_update_slice", [RustInferTypes]> {
  let summary = "replace a part at a computed place";
  let description = [{
    The operand with `update` in the place that the scalars `start_indices` give, moved so that the update lies within
    the operand.

    Example:
    ```mlir
    %r = stablehlo.dynamic_update_slice %x, %u, %i, %j
        : (tensor<4x4xi32>, tensor<2x2xi32>, tensor<i64>, tensor<i64>) -> tensor<4x4xi32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$update,
                       Variadic<StableHLO_IntScalar>:$start_indices);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

//===----------------------------------------------------------------------===//
// Padding and concatenation
//===----------------------------------------------------------------------===//

def StableHLO_PadOp : StableHLO_PureOp<"pad", [RustInferTypes]> {
  let summary = "surround with a value";
  let description = [{
    Along each dimension `edge_padding_low` copies of `padding_value` before the operand, `edge_padding_high` after it and
    `interior_padding` between any two of its elements. Negative numbers at the edges remove elements.

    Example:
    ```mlir
    %r = stablehlo.pad %x, %zero, low = [0, 1], high = [2, 1], interior = [1, 2]
        : (tensor<2x3xi32>, tensor<i32>) -> tensor<5x9xi32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Scalar:$padding_value,
                       DenseI64ArrayAttr:$edge_padding_low, DenseI64ArrayAttr:$edge_padding_high,
                       DenseI64ArrayAttr:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` `high` `=` $edge_padding_high `,`
    `interior` `=` $interior_padding attr-dict `:` functional-type(operands, results)
  }];
}

def StableHLO_DynamicPadOp : StableHLO_PartialOp<"dynamic_pad"> {
  let summary = "surround with a value, by computed amounts";
  let description = [{
    `pad` whose three lists are operands.

    Example:
    ```mlir
    %r = stablehlo.dynamic_pad %x, %zero, %low, %high, %interior
        : (tensor<2x3xi64>, tensor<i64>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xi64>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Scalar:$padding_value,
                       StableHLO_StaticDimensionVector:$edge_padding_low,
                       StableHLO_StaticDimensionVector:$edge_padding_high,
                       StableHLO_StaticDimensionVector:$interior_padding);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def StableHLO_ConcatenateOp : StableHLO_PureOp<"concatenate", [RustInferTypes]> {
  let summary = "one after the other along a dimension";
  let description = [{
    The inputs, which agree in all other dimensions, one after the other along `dimension`.

    Example: `%r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x2xi64>, tensor<1x2xi64>) -> tensor<4x2xi64>`
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_NonNegativeI64:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    `` custom<OperandsBeforeAttribute>($inputs) `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Gather and scatter
//===----------------------------------------------------------------------===//

def StableHLO_GatherOp : StableHLO_PureOp<"gather", [RustInferTypes]> {
  let summary = "slices at many computed places";
  let description = [{
    For each index vector in `start_indices` a slice of `slice_sizes` from the operand, arranged in the result as
    `dimension_numbers` says. Indices are moved so that the slice lies within the operand.

    Example:
    ```mlir
    %r = "stablehlo.gather"(%x, %i) <{
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                            index_vector_dim = 1>,
      indices_are_sorted = false, slice_sizes = array<i64: 1, 6>
    }> : (tensor<5x6xf32>, tensor<4x1xi32>) -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$start_indices,
                       StableHLO_GatherDimensionNumbers:$dimension_numbers, DenseI64ArrayAttr:$slice_sizes,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_DynamicGatherOp : StableHLO_PartialOp<"dynamic_gather", [RustInferTypes]> {
  let summary = "slices of a computed size at many computed places";
  let description = [{
    `gather` whose slice sizes are an operand.

    Example:
    ```mlir
    %r = "stablehlo.dynamic_gather"(%x, %i, %sizes) <{
      dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0],
                                            index_vector_dim = 1>
    }> : (tensor<5x6xf32>, tensor<4x1xi32>, tensor<2xi32>) -> tensor<4x?xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_IntTensor:$start_indices,
                       StableHLO_StaticIntVector:$slice_sizes, StableHLO_GatherDimensionNumbers:$dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_TorchIndexSelectOp : StableHLO_PureOp<"torch_index_select"> {
  let summary = "slices along one dimension";
  let description = [{
    The slices of `operand` along `dim` that `index` lists; the first `batch_dims` dimensions of both run together.
    Written by older producers only; it is a `gather`.

    Example:
    ```mlir
    %r = "stablehlo.torch_index_select"(%x, %i) <{batch_dims = 0 : i64, dim = 1 : i64}>
        : (tensor<8x128x3x2xf32>, tensor<8x128xi32>) -> tensor<8x8x128x3x2xf32>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Tensor:$index, I64Attr:$dim, I64Attr:$batch_dims);
  let results = (outs StableHLO_Tensor:$result);
}

def StableHLO_ScatterOp : StableHLO_Op<"scatter", [
    RecursiveMemoryEffects, RustSpeculatable, RustInferTypes, SameVariadicOperandSize]> {
  let summary = "combine updates into many computed places";
  let description = [{
    The inputs, in which each element that an update falls on is combined with it by `update_computation`. Where updates
    fall is given by `scatter_indices` and `scatter_dimension_numbers`; those that fall outside have no effect. The order
    in which updates of one element are combined is open.

    Example:
    ```mlir
    %r = "stablehlo.scatter"(%x, %i, %u) <{
      scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
                                                     scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
    }> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<5x6xf32>, tensor<4x1xi32>, tensor<4x6xf32>) -> tensor<5x6xf32>
    ```
  }];
  let arguments = (ins Variadic<StableHLO_Tensor>:$inputs, StableHLO_AnyIndexTensor:$scatter_indices,
                       Variadic<StableHLO_Tensor>:$updates,
                       StableHLO_ScatterDimensionNumbers:$scatter_dimension_numbers,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$indices_are_sorted,
                       DefaultValuedOptionalAttr<BoolAttr, "false">:$unique_indices);
  let regions = (region SizedRegion<1>:$update_computation);
  let results = (outs Variadic<StableHLO_Tensor>:$result);
}

//===----------------------------------------------------------------------===//
// Dimension sizes
//===----------------------------------------------------------------------===//

def StableHLO_GetDimensionSizeOp : StableHLO_PureOp<"get_dimension_size", [RustInferTypes]> {
  let summary = "size of a dimension";
  let description = [{
    The size of `dimension` of the operand.

    Example: `%r = stablehlo.get_dimension_size %x, dim = 1 : (tensor<2x3xi64>) -> tensor<i32>`
  }];
  let arguments = (ins StableHLO_TensorOrPerAxis:$operand, StableHLO_NonNegativeI64:$dimension);
  let results = (outs StableHLO_Int32Tensor:$result);
  let assemblyFormat = "$operand `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)";
}

def StableHLO_SetDimensionSizeOp : StableHLO_PartialOp<"set_dimension_size", [RustInferTypes]> {
  let summary = "declare the size of a dimension";
  let description = [{
    The operand, of which only the first `size` elements along `dimension` count. The result's type bounds that size by
    the operand's.

    Example:
    ```mlir
    %r = stablehlo.set_dimension_size %x, %n, dim = 0
        : (tensor<4xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<4>>
    ```
  }];
  let arguments = (ins StableHLO_Tensor:$operand, StableHLO_Int32Tensor:$size, StableHLO_NonNegativeI64:$dimension);
  let results = (outs StableHLO_Tensor:$result);
  let assemblyFormat = [{
    $operand `,` $size `,` `dim` `=` $dimension attr-dict `:` functional-type(operands, results)
  }];
}

#endif // SLIMHLO_STABLEHLO_SHAPEOPS_TD
