// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-fuse-concatenates`: what is joined along rows is joined along columns of one element, which XLA for CPU computes within what
//! reads it.
//!
//! # What it matches
//!
//! A `concatenate` along the last of two or more dimensions, of long rows, with something around it that is computed on the fly: a field
//! that is rotated or given halos, results that are put side by side.
//!
//! ```mlir
//! %edge = stablehlo.slice %x [0:4096, 4095:4096]
//! %rest = stablehlo.slice %x [0:4096, 0:4095]
//! %west = stablehlo.concatenate %edge, %rest, dim = 1               // tensor<4096x4096xf64>
//! ```
//!
//! becomes
//!
//! ```mlir
//! %0 = stablehlo.reshape %edge                                      // tensor<4096x1x1xf64>
//! %1 = stablehlo.reshape %rest                                      // tensor<4096x4095x1xf64>
//! %2 = stablehlo.concatenate %0, %1, dim = 1                        // tensor<4096x4096x1xf64>
//! %west = stablehlo.reshape %2
//! ```
//!
//! # Why it is right
//!
//! Elements lie in the same order in both, and none is changed.
//!
//! # Why it pays
//!
//! XLA for CPU copies what is joined along the innermost dimension, and stores what is to be copied first: two arrays for a rotated field, of
//! which one is the field but for a column. Along any other dimension it computes each element where it is read. A Jacobian of a Brusselator by
//! eight directions, 4096 by 4096 (EnzymeAD/Reactant.jl), takes 4,096 MiB of temporaries in 121 kernels without this pass, and 128 MiB in two with
//! it (`test/oracle/referee.py --target cpu`, jaxlib 0.10.2).
//!
//! # What it costs
//!
//! Which part an element is of is asked for each element that is read, once per reader. One walk.
//!
//! # When it must not fire
//!
//! * Rows of fewer elements than the target copies ([`Storage::copied_rows`](crate::target::Storage)): those are computed where they are
//!   read in any case.
//! * More operands than it ever joins on the fly.
//! * Neither a user nor an operand is computed on the fly: then a copy is all there is to do.
//! * Discardable attributes, which may say something of the dimensions.
//! * Programs for more than one partition: a partitioner would have to propagate shardings through the reshapes, and what devices join to their own
//!   parts `--slimhlo-hold-shared` has stored.

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, plain};
use crate::ops::class;
use crate::rewrite::{defining_op, ops_named, users};
use crate::shards::is_partitioned;
use crate::simplify::shape::concatenated;
use crate::target::Target;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Join long rows in a form that XLA for CPU computes within what reads it.
    ///
    /// A concatenation along the innermost dimension is done along the one before an innermost dimension of one element:
    /// XLA for CPU stores what the former is made of, copies it, and computes the latter on the fly.
    ///
    /// ```mlir
    /// %west = stablehlo.concatenate %edge, %rest, dim = 1 : (tensor<9x1xf64>, tensor<9x511xf64>) -> tensor<9x512xf64>
    /// // becomes
    /// %2 = stablehlo.concatenate %0, %1, dim = 1 : (tensor<9x1x1xf64>, tensor<9x511x1xf64>) -> tensor<9x512x1xf64>
    /// %west = stablehlo.reshape %2 : (tensor<9x512x1xf64>) -> tensor<9x512xf64>
    /// ```
    pub struct FuseConcatenates {
        /// How large a joined array has to be.
        pub least_bytes: Bytes = Bytes(16 << 10),
    }
}

const FUSED: Statistic = Statistic::new(c"num-fused", c"concatenates that are computed where they are read");

impl Pass for FuseConcatenates {
    const ARGUMENT: &'static str = "slimhlo-fuse-concatenates";
    const STATISTICS: &'static [Statistic] = &[FUSED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let build = Builder::new(root);
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let mut count = 0;
        for op in ops_named(root, "stablehlo.concatenate") {
            if is_copied(op) && is_amid_kernels(op) {
                count += u64::from(rewrite(op, least, &build).is_some());
            }
        }
        context.count(&FUSED, count);
        Ok(Changed::from(count > 0))
    }
}

/// Whether XLA for CPU copies what is joined because of its rows alone.
fn is_copied(op: OperationRef<'_, '_>) -> bool {
    let storage = Target::xla_cpu().storage();
    let joined = concatenated(op).zip(ir::first_result(op).and_then(plain));
    joined.is_some_and(|((dim, sizes), result)| {
        sizes.len() <= storage.most_joined
            && storage.copies_rows_of(result.shape, dim)
            && ir::discardable_attributes(op).is_empty()
    })
}

/// Whether something that is joined, or is made of it, is computed on the fly.
fn is_amid_kernels(op: OperationRef<'_, '_>) -> bool {
    let fusible = |other: OperationRef<'_, '_>| class::is_fusible(op_name(other));
    op.operands().any(|operand| defining_op(operand).is_some_and(fusible))
        || ir::first_result(op).is_some_and(|result| users(result).any(fusible))
}

fn rewrite<'c: 'a, 'a>(op: OperationRef<'c, 'a>, least: i64, build: &Builder<'c, 'a>) -> Option<()> {
    let result = ir::first_result(op).filter(|result| ir::bytes(*result) >= least)?;
    let (dim, _) = concatenated(op)?;
    // All or none: before the first reshape is made.
    if !op.operands().all(|operand| plain(operand).is_some()) {
        return None;
    }
    let location = op.location();
    build.set_insertion_point_before(op);
    let in_columns = |value: Value<'c, 'a>| {
        let tensor = plain(value)?;
        let shape: Vec<i64> = tensor.shape.iter().copied().chain([1]).collect();
        Some(build.reshape(value, Tensor::get(&shape, tensor.element, None), location))
    };
    let operands: Vec<Value> = op.operands().filter_map(in_columns).collect();
    let joined = build.concatenate(&operands, dim, location);
    let back = build.reshape(joined, result.r#type(), location);
    build.replace_all_uses_with(result, back);
    build.erase(op);
    Some(())
}
