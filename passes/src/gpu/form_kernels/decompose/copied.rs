// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Updates of what is a copy anyway are made with the copy.
//!
//! ```mlir
//! %slab = stablehlo.dynamic_slice %field, %i, %c0, sizes = [4, 1024] : ... -> tensor<4x1024xf32>
//! %1 = stablehlo.dynamic_update_slice %slab, %halo, %c0, %c0
//! ```
//!
//! A slice is no buffer that could be updated: it would have to be copied to one, of which the update then writes a
//! part once more. The update is marked ([`ON_THE_FLY`]), and from then on is a choice between two values, element by
//! element, like a concatenation: whoever stores or needs its elements takes each from where it is. So filling the
//! halos of a slab costs no launches.
//!
//! It must not fire where the operand could be in the very buffer: arguments, results of kernels, and what is computed
//! elementwise of them; nor where what is put there needs a kernel, since its result would have to wait for the copy.
//! In a chain at most [`MOST`] updates are marked: each may read what the ones before it have made, at a place of its
//! own.

use crate::gpu::form_kernels::ops::{Class, ON_THE_FLY};
use crate::ir::op_key;
use crate::rewrite::{context_of, defining_op, set_discardable_attribute};
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, Value};
use slimhlo_dialect::ffi::op_name;
use std::collections::{HashMap, HashSet};

/// Updates of a chain that are marked.
const MOST: usize = 4;
/// Ops that are looked at to find what is put there.
const FARTHEST: usize = 32;

/// Marks the updates among `ops`, which are in the order of the program.
pub fn mark<'c: 'a, 'a>(updates: &[OperationRef<'c, 'a>]) {
    // By update that is marked, how many of its chain are.
    let mut marked: HashMap<usize, usize> = HashMap::new();
    for &update in updates {
        let operands: Vec<_> = update.operands().take(2).collect();
        let [array, part] = operands[..] else { continue };
        let Some(made) = defining_op(array) else { continue };
        let before = marked.get(&op_key(made)).copied();
        let chain = before.unwrap_or(0) + 1;
        if (before.is_some() || is_moved(made)) && chain <= MOST && needs_no_kernel(part) {
            set_discardable_attribute(update, ON_THE_FLY, Attribute::unit(context_of(update)));
            marked.insert(op_key(update), chain);
        }
    }
}

/// Whether an op makes an array of part of another, or in another order.
fn is_moved(op: OperationRef<'_, '_>) -> bool {
    matches!(
        op_name(op),
        "stablehlo.slice"
            | "stablehlo.dynamic_slice"
            | "stablehlo.gather"
            | "stablehlo.transpose"
            | "stablehlo.reverse"
            | "stablehlo.concatenate"
    )
}

/// Whether a value is computed, on the fly, of arguments and constants alone.
fn needs_no_kernel<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let mut pending: Vec<_> = defining_op(value).into_iter().collect();
    let mut seen: HashSet<usize> = pending.iter().map(|op| op_key(*op)).collect();
    while let Some(op) = pending.pop() {
        if seen.len() > FARTHEST || !Class::of(op).is_ok_and(Class::is_on_the_fly) {
            return false;
        }
        pending.extend(op.operands().filter_map(defining_op).filter(|op| seen.insert(op_key(*op))));
    }
    true
}
