// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Tensors that are stored otherwise than element by element: `tensor<8x8xf32, #sparse_tensor.encoding<...>>`. Modules
//! with such types are read, and passes keep the types; but how many bytes they take is not known, and kernels that
//! index them as if they were dense would read what is not there.

use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkOrder, WalkResult};
use melior::ir::{OperationRef, RegionLike, Type, ValueLike};
use slimhlo_dialect::ffi::as_tuple;
use slimhlo_dialect::types::Tensor;

/// Whether a type is of such a tensor, or of a tuple with one.
pub fn is_sparse(ty: Type<'_>) -> bool {
    match as_tuple(ty) {
        Some(tuple) => {
            (0..tuple.type_count()).filter_map(|index| tuple.r#type(index).ok()).any(|ty| is_sparse(ty))
        }
        None => Tensor::new(ty).is_some_and(|tensor| tensor.is_sparse()),
    }
}

/// Asks `look` of the first op with a result or an argument of a region that is sparse, and its type.
pub fn first<T>(
    module: OperationRef<'_, '_>,
    mut look: impl FnMut(OperationRef<'_, '_>, Type<'_>) -> T,
) -> Option<T> {
    let mut found = None;
    module.walk(WalkOrder::PreOrder, |op| {
        let results = op.results().map(|result| result.r#type());
        let arguments = op.regions().filter_map(|region| region.first_block()).flat_map(|block| {
            let arguments = 0..block.argument_count();
            arguments
                .filter_map(|index| block.argument(index).ok())
                .map(|value| value.r#type())
                .collect::<Vec<_>>()
        });
        match results.chain(arguments).find(|ty| is_sparse(*ty)) {
            Some(ty) => {
                found = Some(look(op, ty));
                WalkResult::Interrupt
            }
            None => WalkResult::Advance,
        }
    });
    found
}
