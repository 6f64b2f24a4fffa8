// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the `sdy` dialect. Inside another attribute or an op each prints without its name, so that a sharding
// reads `<@mesh, [{"x"}, {}]>`; by itself it is `#sdy.name<...>`, or `#sdy<name...>` where it has no angle brackets.

#ifndef SLIMHLO_SDY_ATTRS_TD
#define SLIMHLO_SDY_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "slimhlo/sdy/SdyDialect.td"
include "slimhlo/sdy/SdyEnums.td"

class Sdy_AttrDef<string name, string attrMnemonic> : AttrDef<Sdy_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
}

class Sdy_Ints<string description> : ArrayRefParameter<"int64_t", description>;
class Sdy_List<string element, string description>
    : ArrayRefParameter<"::slimhlo::sdy::" # element, description>;

//===----------------------------------------------------------------------===//
// Meshes
//===----------------------------------------------------------------------===//

def Sdy_MeshAxis : Sdy_AttrDef<"MeshAxis", "mesh_axis"> {
  let summary = "one axis of a mesh";
  let description = [{
    A name and the number of devices along the axis, at least 1.

    Example: `#sdy<mesh_axis"x"=2>`
  }];
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size);
  let genVerifyDecl = 1;
}

def Sdy_Mesh : Sdy_AttrDef<"Mesh", "mesh"> {
  let summary = "an arrangement of devices along named axes";
  let description = [{
    Axes are major to minor and have different names; device ids count up along them unless `device_ids` lists them in
    another order. A mesh without axes and with one device id is *maximal*: everything is on that device. One without
    either is empty, for shardings of tensors that are not sharded at all.

    Example: `#sdy.mesh<["x"=2, "y"=2], device_ids=[3, 2, 1, 0]>`
  }];
  let parameters = (ins
    Sdy_List<"MeshAxisAttr", "axes, major to minor">:$axes,
    Sdy_Ints<"devices in row-major order; empty if they count up">:$device_ids);
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Axes
//===----------------------------------------------------------------------===//

def Sdy_SubAxisInfo : Sdy_AttrDef<"SubAxisInfo", "sub_axis_info"> {
  let summary = "which part of an axis is meant";
  let description = [{
    An axis of size n can be read as three nested ones, of sizes `pre_size`, `size` and n / (`pre_size` * `size`), major
    to minor; this is the middle one.

    Example: `#sdy<sub_axis_info(2)4>`
  }];
  let parameters = (ins "int64_t":$pre_size, "int64_t":$size);
}

def Sdy_AxisRef : Sdy_AttrDef<"AxisRef", "axis_ref"> {
  let summary = "an axis of a mesh, or a part of one";
  let description = [{
    Names an axis; with a sub-axis info only that part of it.

    Example: `#sdy<axis_ref"x":(2)4>`
  }];
  let parameters = (ins
    StringRefParameter<"name of the axis">:$name,
    OptionalParameter<"::slimhlo::sdy::SubAxisInfoAttr", "part of the axis">:$sub_axis_info);
}

def Sdy_AxisRefList : Sdy_AttrDef<"AxisRefList", "axis_ref_list"> {
  let summary = "axes, major to minor";
  let description = [{
    What an all-reduce sums over, or one entry of a list of such lists.

    Example: `#sdy<axis_ref_list{"x", "y":(1)2}>`
  }];
  let parameters = (ins Sdy_List<"AxisRefAttr", "axes">:$value);
}

def Sdy_ListOfAxisRefLists : Sdy_AttrDef<"ListOfAxisRefLists", "list_of_axis_ref_lists"> {
  let summary = "axes for each dimension of a tensor";
  let description = [{
    Entry i holds the axes along which a collective gathers or slices dimension i.

    Example: `#sdy<list_of_axis_ref_lists[{"x"}, {} ]>`
  }];
  let parameters = (ins Sdy_List<"AxisRefListAttr", "one list per dimension">:$value);
}

def Sdy_ManualAxes : Sdy_AttrDef<"ManualAxes", "manual_axes"> {
  let summary = "axes along which a computation is written per device";
  let description = [{
    Names of whole axes; parts of an axis cannot be manual.

    Example: `#sdy<manual_axes{"x", "y"}>`
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr", "names of axes">:$value);
}

//===----------------------------------------------------------------------===//
// Shardings
//===----------------------------------------------------------------------===//

def Sdy_DimensionSharding : Sdy_AttrDef<"DimensionSharding", "dimension_sharding"> {
  let summary = "how one dimension of a tensor is cut";
  let description = [{
    The axes along which the dimension is cut, major to minor. An open dimension, marked `?`, may get more of them from
    propagation. `p` and a number are its priority in propagation, 0 first; without one it is 0.

    Example: `#sdy<dimension_sharding{"x", ?}p1>`
  }];
  let parameters = (ins
    Sdy_List<"AxisRefAttr", "axes, major to minor">:$axes,
    "bool":$is_closed,
    OptionalParameter<"::std::optional<int64_t>", "priority in propagation">:$priority);
}

def Sdy_TensorSharding : Sdy_AttrDef<"TensorSharding", "sharding"> {
  let summary = "how a tensor is spread over a mesh";
  let description = [{
    One dimension sharding per dimension. Along `replicated` axes the tensor is the same on all devices, and propagation
    must leave it so; along `unreduced` axes each device holds one summand of the value. The mesh is named, or written in
    place.

    Examples:
    ```mlir
    #sdy.sharding<@mesh, [{"x"}, {?} ], replicated={"y"}, unreduced={"z"}>
    #sdy.sharding<mesh<["x"=2]>, [{"x"}, {} ]>
    ```
  }];
  let parameters = (ins
    AttrParameter<"::mlir::Attribute", "mesh, or the name of one">:$mesh_or_ref,
    Sdy_List<"DimensionShardingAttr", "one sharding per dimension">:$dim_shardings,
    Sdy_List<"AxisRefAttr", "axes along which the tensor stays replicated">:$replicated_axes,
    Sdy_List<"AxisRefAttr", "axes along which the tensor is a sum still to be taken">:$unreduced_axes);
}

def Sdy_TensorShardingPerValue : Sdy_AttrDef<"TensorShardingPerValue", "sharding_per_value"> {
  let summary = "one sharding for each operand or result";
  let description = [{
    Used where an op has any number of values to shard.

    Example: `#sdy.sharding_per_value<[<@mesh, [{"x"} ]>, <@mesh, []>]>`
  }];
  let parameters = (ins Sdy_List<"TensorShardingAttr", "one sharding per value">:$shardings);
}

//===----------------------------------------------------------------------===//
// Sharding rules
//===----------------------------------------------------------------------===//

def Sdy_DimMapping : Sdy_AttrDef<"DimMapping", "dim_mapping"> {
  let summary = "the factors that one dimension is made of";
  let description = [{
    Indices of factors, major to minor. Printed as letters: factor 0 is `i`, 1 is `j` and so on to 17, which is `z`; from
    there on `z_1`, `z_2` and so on.

    Example: `#sdy<dim_mapping ij>`
  }];
  let parameters = (ins Sdy_Ints<"indices of factors">:$factor_indices);
}

def Sdy_TensorMapping : Sdy_AttrDef<"TensorMapping", "tensor_mapping"> {
  let summary = "the factors that the dimensions of a tensor are made of";
  let description = [{
    One dimension mapping per dimension.

    Example: `#sdy<tensor_mapping[i, jk]>`
  }];
  let parameters = (ins Sdy_List<"DimMappingAttr", "one mapping per dimension">:$dim_mappings);
}

def Sdy_OpShardingRule : Sdy_AttrDef<"OpShardingRule", "op_sharding_rule"> {
  let summary = "which dimensions of operands and results must be cut alike";
  let description = [{
    Dimensions that share a factor are cut along the same axes. The sizes of the factors follow in braces, then the
    factors that are special: `reduction` ones are summed over, `need_replication` ones must not be cut, `permutation`
    ones need communication where they are, and `blocked_propagation` ones pass no sharding on. `custom` marks a rule
    given by the user.

    Example:
    ```mlir
    #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}, custom>
    ```
  }];
  let parameters = (ins
    Sdy_Ints<"size of each factor">:$factor_sizes,
    Sdy_List<"TensorMappingAttr", "one mapping per operand">:$operand_mappings,
    Sdy_List<"TensorMappingAttr", "one mapping per result">:$result_mappings,
    Sdy_Ints<"factors that are summed over">:$reduction_factors,
    Sdy_Ints<"factors that must not be cut">:$need_replication_factors,
    Sdy_Ints<"factors that need communication where they are cut">:$permutation_factors,
    Sdy_Ints<"factors that pass no sharding on">:$blocked_propagation_factors,
    "bool":$is_custom);
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def Sdy_AllToAllParam : Sdy_AttrDef<"AllToAllParam", "all_to_all_param"> {
  let summary = "one move of an all-to-all";
  let description = [{
    The axes that leave dimension `src_dim` and come to dimension `tgt_dim`.

    Example: `#sdy<all_to_all_param{"x"}: 0->1>`
  }];
  let parameters = (ins
    Sdy_List<"AxisRefAttr", "axes that move">:$axes, "int64_t":$src_dim, "int64_t":$tgt_dim);
}

def Sdy_AllToAllParamList : Sdy_AttrDef<"AllToAllParamList", "all_to_all_param_list"> {
  let summary = "all moves of an all-to-all";
  let description = [{
    Sorted by source dimension; no dimension is in two of them.

    Example: `#sdy<all_to_all_param_list[{"x"}: 0->1, {"y"}: 2->3]>`
  }];
  let parameters = (ins Sdy_List<"AllToAllParamAttr", "moves">:$value);
}

//===----------------------------------------------------------------------===//
// Where shardings came from
//===----------------------------------------------------------------------===//

def Sdy_EdgeValueRef : Sdy_AttrDef<"EdgeValueRef", "edge_value_ref"> {
  let summary = "an operand or result of an op, by number";
  let description = [{
    One end of an edge along which propagation carried a sharding.

    Example: `#sdy<edge_value_ref operand-0>`
  }];
  let parameters = (ins "::slimhlo::sdy::EdgeNodeType":$type, "int64_t":$index);
}

def Sdy_AxisToPropagationDetails : Sdy_AttrDef<"AxisToPropagationDetails", "axis_to_propagation_details"> {
  let summary = "from where to where one axis was propagated";
  let description = [{
    The value that had the axis, and those that got it.

    Example: `#sdy<axis_to_propagation_details{"x" = operand-0 -> [operand-1, result-0]}>`
  }];
  let parameters = (ins
    AttrParameter<"::slimhlo::sdy::AxisRefAttr", "axis that was propagated">:$axis_name,
    AttrParameter<"::slimhlo::sdy::EdgeValueRefAttr", "value that had it">:$source,
    Sdy_List<"EdgeValueRefAttr", "values that got it">:$targets);
}

def Sdy_PropagationOneStep : Sdy_AttrDef<"PropagationOneStep", "propagation_one_step"> {
  let summary = "what one step of propagation did at an op";
  let description = [{
    Steps count up over the whole propagation.

    Example: `#sdy<propagation_one_step{step-0 = [{"x" = operand-0 -> [result-0]} ]}>`
  }];
  let parameters = (ins
    "int64_t":$step_index,
    Sdy_List<"AxisToPropagationDetailsAttr", "one entry per axis">:$axis_entries);
}

def Sdy_PropagationEdges : Sdy_AttrDef<"PropagationEdges", "propagation_edges"> {
  let summary = "what each step of propagation did at an op";
  let description = [{
    Left by propagation where its user asked how shardings came about.

    Example: `#sdy.propagation_edges<[{step-0 = [{"x" = operand-0 -> [result-0]} ]} ]>`
  }];
  let parameters = (ins Sdy_List<"PropagationOneStepAttr", "steps">:$value);
  let genVerifyDecl = 1;
}

#endif // SLIMHLO_SDY_ATTRS_TD
