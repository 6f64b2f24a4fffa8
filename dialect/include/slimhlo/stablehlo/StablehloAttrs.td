// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the `stablehlo` dialect: groups of numbers that an op needs together.

#ifndef SLIMHLO_STABLEHLO_ATTRS_TD
#define SLIMHLO_STABLEHLO_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/TensorEncoding.td"
include "slimhlo/stablehlo/StablehloDialect.td"
include "slimhlo/stablehlo/StablehloEnums.td"

class StableHLO_AttrDef<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<StableHLO_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class StableHLO_Dims<string description> : ArrayRefParameter<"int64_t", description>;

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

def StableHLO_GatherDimensionNumbers : StableHLO_AttrDef<"GatherDimensionNumbers", "gather"> {
  let summary = "how `gather` maps indices to slices and slices to the result";
  let description = [{
    Lists that are empty and an `index_vector_dim` of 0 are not printed; keys may be given in any order.

    Example:
    ```mlir
    #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>
    ```
  }];
  let parameters = (ins
    StableHLO_Dims<"result dimensions that run within a slice">:$offsetDims,
    StableHLO_Dims<"operand dimensions of slice size 1 that the result does not have">:$collapsedSliceDims,
    StableHLO_Dims<"operand dimensions paired with dimensions of the start indices">:$operandBatchingDims,
    StableHLO_Dims<"start index dimensions paired with dimensions of the operand">:$startIndicesBatchingDims,
    StableHLO_Dims<"operand dimension that each number of an index vector offsets">:$startIndexMap,
    "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ScatterDimensionNumbers : StableHLO_AttrDef<"ScatterDimensionNumbers", "scatter"> {
  let summary = "how `scatter` maps indices and updates to places of the input";
  let description = [{
    The mirror image of `gather`: lists that are empty and an `index_vector_dim` of 0 are not printed; keys may be given
    in any order.

    Example:
    ```mlir
    #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0],
                       scatter_dims_to_operand_dims = [0], index_vector_dim = 1>
    ```
  }];
  let parameters = (ins
    StableHLO_Dims<"update dimensions that run within a window">:$updateWindowDims,
    StableHLO_Dims<"input dimensions of window size 1 that the updates do not have">:$insertedWindowDims,
    StableHLO_Dims<"input dimensions paired with dimensions of the scatter indices">:$inputBatchingDims,
    StableHLO_Dims<"scatter index dimensions paired with dimensions of the input">:$scatterIndicesBatchingDims,
    StableHLO_Dims<"input dimension that each number of an index vector offsets">:$scatterDimsToOperandDims,
    "int64_t":$indexVectorDim);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Contractions
//===----------------------------------------------------------------------===//

def StableHLO_DotDimensionNumbers : StableHLO_AttrDef<"DotDimensionNumbers", "dot"> {
  let summary = "which dimensions `dot_general` batches over and which it sums over";
  let description = [{
    The i-th left and right batching dimensions run together, and so do the i-th contracting ones. Empty lists are not
    printed; keys may be given in any order.

    Example: `#stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>`
  }];
  let parameters = (ins
    StableHLO_Dims<"left batching dimensions">:$lhsBatchingDimensions,
    StableHLO_Dims<"right batching dimensions">:$rhsBatchingDimensions,
    StableHLO_Dims<"left dimensions summed over">:$lhsContractingDimensions,
    StableHLO_Dims<"right dimensions summed over">:$rhsContractingDimensions);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_DotAlgorithm : StableHLO_AttrDef<"DotAlgorithm", "dot_algorithm"> {
  let summary = "in which arithmetic `dot_general` computes";
  let description = [{
    Each operand is taken as a sum of `*_component_count` numbers of its precision type (bf16 x 3 gives almost f32), and
    `num_primitive_operations` products of those are added up in the accumulation type.

    Example:
    ```mlir
    #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32,
                             lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1,
                             allow_imprecise_accumulation = false>
    ```
  }];
  let parameters = (ins
    "::mlir::Type":$lhsPrecisionType,
    "::mlir::Type":$rhsPrecisionType,
    "::mlir::Type":$accumulationType,
    "int64_t":$lhsComponentCount,
    "int64_t":$rhsComponentCount,
    "int64_t":$numPrimitiveOperations,
    "bool":$allowImpreciseAccumulation);
  let assemblyFormat = [{
    `<` `lhs_precision_type` `=` $lhsPrecisionType `,` `rhs_precision_type` `=` $rhsPrecisionType `,`
    `accumulation_type` `=` $accumulationType `,` `lhs_component_count` `=` $lhsComponentCount `,`
    `rhs_component_count` `=` $rhsComponentCount `,` `num_primitive_operations` `=` $numPrimitiveOperations `,`
    `allow_imprecise_accumulation` `=` $allowImpreciseAccumulation `>`
  }];
  let genVerifyDecl = 1;
}

def StableHLO_ConvDimensionNumbers : StableHLO_AttrDef<"ConvDimensionNumbers", "conv"> {
  let summary = "what each dimension of a convolution's input, kernel and output is";
  let description = [{
    Printed as one list of labels per tensor: `b` batch, `f` feature, `i` input feature, `o` output feature, and the number
    of a spatial dimension. Numbers that do not give each dimension exactly one label (no valid op has such) are printed
    by name after the keyword `raw`; both forms are read.

    Example: `#stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>`
  }];
  let parameters = (ins
    "int64_t":$inputBatchDimension,
    "int64_t":$inputFeatureDimension,
    StableHLO_Dims<"input dimension of each spatial dimension">:$inputSpatialDimensions,
    "int64_t":$kernelInputFeatureDimension,
    "int64_t":$kernelOutputFeatureDimension,
    StableHLO_Dims<"kernel dimension of each spatial dimension">:$kernelSpatialDimensions,
    "int64_t":$outputBatchDimension,
    "int64_t":$outputFeatureDimension,
    StableHLO_Dims<"output dimension of each spatial dimension">:$outputSpatialDimensions);
  let hasCustomAssemblyFormat = 1;
}

//===----------------------------------------------------------------------===//
// Calls and communication
//===----------------------------------------------------------------------===//

def StableHLO_ChannelHandle : StableHLO_AttrDef<"ChannelHandle", "channel_handle"> {
  let summary = "the channel that ops of different programs or partitions meet on";
  let description = [{
    `handle` is the number of the channel; `type` is 0 when none is given, 1 for device to device, 2 for device to host and
    3 for host to device.

    Example: `#stablehlo.channel_handle<handle = 1, type = 0>`
  }];
  let parameters = (ins "int64_t":$handle, "int64_t":$type);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_OutputOperandAlias : StableHLO_AttrDef<"OutputOperandAlias", "output_operand_alias"> {
  let summary = "a result of a custom call that lies in the memory of an operand";
  let description = [{
    Both sides are given by their place in the (possibly nested) tuple of results and in the operand.

    Example:
    ```mlir
    #stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>
    ```
  }];
  let parameters = (ins
    StableHLO_Dims<"path to the result">:$outputTupleIndices,
    "int64_t":$operandIndex,
    StableHLO_Dims<"path within the operand">:$operandTupleIndices);
  let assemblyFormat = [{
    `<` `output_tuple_indices` `=` custom<Dimensions>($outputTupleIndices) `,` `operand_index` `=` $operandIndex `,`
    `operand_tuple_indices` `=` custom<Dimensions>($operandTupleIndices) `>`
  }];
}

def StableHLO_SubAxisInfo : StableHLO_AttrDef<"SubAxisInfo", "sub_axis_info"> {
  let summary = "a part of a mesh axis";
  let description = [{
    An axis of size `pre_size * size * rest` seen as three axes; this is the middle one.

    Example: `(1)2`, within an `axis_ref`
  }];
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
  let assemblyFormat = "`(` $pre_size `)` `` $size";
}

def StableHLO_AxisRef : StableHLO_AttrDef<"AxisRef", "axis_ref"> {
  let summary = "a mesh axis by name, or a part of it";
  let description = [{
    Example: `#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>`
  }];
  let parameters = (ins
    StringRefParameter<"name of the axis">:$name,
    OptionalParameter<"SubAxisInfoAttr", "part of the axis">:$sub_axis_info);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_MeshAxis : StableHLO_AttrDef<"MeshAxis", "mesh_axis"> {
  let summary = "a named axis of a device mesh";
  let description = [{
    Example: `#stablehlo.mesh_axis<name = "x", size = 2>`
  }];
  let parameters = (ins StringRefParameter<"name of the axis">:$name, "int64_t":$size);
  let assemblyFormat = "`<` struct(params) `>`";
}

def StableHLO_Mesh : StableHLO_AttrDef<"Mesh", "mesh"> {
  let summary = "devices arranged in a grid with named axes";
  let description = [{
    Without `device_ids` devices are numbered row by row.

    Example: `#stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 4>]>`
  }];
  let parameters = (ins
    ArrayRefParameter<"MeshAxisAttr", "axes, outermost first">:$axes,
    OptionalParameter<"::mlir::DenseIntElementsAttr", "device at each place of the grid">:$device_ids);
  let assemblyFormat = [{
    `<` `axes` `` `=` `` `[` $axes `]` (`,` `device_ids` `` `=` `` $device_ids^)? `>`
  }];
  let genVerifyDecl = 1;
}

def StableHLO_ReplicaGroupMeshAxes : StableHLO_AttrDef<"ReplicaGroupMeshAxes", "replica_group_mesh_axes",
    [DeclareAttrInterfaceMethods<SymbolUserAttrInterface>]> {
  let summary = "replica groups given as axes of a mesh";
  let description = [{
    A collective runs among the devices that differ only along `axes`. `mesh` is a `mesh` attribute or the symbol of one.

    Example: `#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x">]>`
  }];
  let parameters = (ins "::mlir::Attribute":$mesh, "::mlir::ArrayAttr":$axes);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Types and accuracy
//===----------------------------------------------------------------------===//

def StableHLO_TypeExtensions : StableHLO_AttrDef<"TypeExtensions", "bounds",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "upper bounds of a tensor's dynamic dimensions";
  let description = [{
    The encoding of a ranked tensor type. There is one bound per dimension; `?` says that a dimension has none, which it
    must where the dimension is static. `type_extensions<bounds = [...]>` is read as well.

    Example: `tensor<?x?xf32, #stablehlo.bounds<3, ?>>`
  }];
  let parameters = (ins StableHLO_Dims<"bound of each dimension, `ShapedType::kDynamic` for none">:$bounds);
  let hasCustomAssemblyFormat = 1;
}

def StableHLO_ResultAccuracyAttr : StableHLO_AttrDef<"ResultAccuracy", "result_accuracy"> {
  let summary = "how accurate an elementwise function must be";
  let description = [{
    With mode `TOLERANCE` a result may differ from the exact one by `atol + rtol * |exact|` and by `ulps` units in the last
    place; with the other modes all three are zero. Zeros are not printed.

    Example: `#stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>`
  }];
  let parameters = (ins
    APFloatParameter<"absolute tolerance">:$atol,
    APFloatParameter<"relative tolerance">:$rtol,
    "int64_t":$ulps,
    "ResultAccuracyModeAttr":$mode);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

#endif // SLIMHLO_STABLEHLO_ATTRS_TD
