// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes of the `chlo` dialect that are more than one enum case.

#ifndef SLIMHLO_CHLO_ATTRS_TD
#define SLIMHLO_CHLO_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "slimhlo/chlo/ChloDialect.td"
include "slimhlo/chlo/ChloEnums.td"

class CHLO_Dims<string description> : ArrayRefParameter<"int64_t", description>;

def CHLO_RaggedDotDimensionNumbers : AttrDef<Chlo_Dialect, "RaggedDotDimensionNumbers"> {
  let mnemonic = "ragged_dot";
  let summary = "what each dimension of the operands of `ragged_dot` is for";
  let description = [{
    Batching and contracting dimensions pair up as in a general dot product. The ragged dimension of the left operand is
    the one that the group sizes cut into pieces; the group dimension of the right operand says which piece each of its
    slices is multiplied with. Empty lists are not printed; keys may be given in any order.

    Example:
    ```mlir
    #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1],
                     lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>
    ```
  }];
  let parameters = (ins
    CHLO_Dims<"left batching dimensions">:$lhsBatchingDimensions,
    CHLO_Dims<"right batching dimensions">:$rhsBatchingDimensions,
    CHLO_Dims<"left dimensions summed over">:$lhsContractingDimensions,
    CHLO_Dims<"right dimensions summed over">:$rhsContractingDimensions,
    CHLO_Dims<"left dimension that is cut into groups">:$lhsRaggedDimensions,
    CHLO_Dims<"right dimension that runs over the groups">:$rhsGroupDimensions);
  let hasCustomAssemblyFormat = 1;
}

#endif // SLIMHLO_CHLO_ATTRS_TD
