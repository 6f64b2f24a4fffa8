// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which calls may be made part of their callers, layouts considered.

use super::layout::{self, Known, SHARDING, is_entry};
use super::moves::is_bare;
use super::partitions;
use crate::functions::{callee, functions, name_of};
use crate::rewrite::ops_named;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike, Value};
use rustc_hash::{FxHashMap, FxHashSet};

/// Functions that say nothing of their arguments and results but how they are laid out, and that nobody but their callers could miss: what
/// is handed to them in all calls is laid out like that, and so is what they return, by what ops say of themselves. Where
/// ops do not, partitioners go by what functions say.
pub(crate) fn laid_out_alike(module: OperationRef<'_, '_>) -> FxHashSet<String> {
    let calls = ops_named(module, "func.call");
    if calls.is_empty() {
        return FxHashSet::default();
    }
    let known = partitions(module).filter(|&partitions| partitions > 1);
    let Some(known) = known.and_then(|partitions| Known::new(module, partitions)).filter(|known| known.by_op)
    else {
        return FxHashSet::default();
    };
    let mut by_callee: FxHashMap<&str, Vec<_>> = FxHashMap::default();
    for call in calls {
        by_callee.entry(callee(call).unwrap_or_default()).or_default().push(call);
    }
    functions(module)
        .filter(|function| !is_entry(*function))
        .map(|function| (function, name_of(function)))
        .filter(|(function, name)| {
            let calls = by_callee.get(name.as_str());
            calls.is_some_and(|calls| is_laid_out_alike(&known, *function, calls).unwrap_or(false))
        })
        .map(|(_, name)| name)
        .collect()
}

fn is_laid_out_alike<'c: 'a, 'a>(
    known: &Known<'c>,
    function: OperationRef<'c, 'a>,
    calls: &[OperationRef<'c, 'a>],
) -> Option<bool> {
    let end = function.regions().next()?.first_block()?.terminator()?;
    let (taken, given) = (layout::said_of(function, "arg_attrs")?, layout::said_of(function, "res_attrs")?);
    let is_like = |value: Value<'c, 'a>, said: Option<_>| match said {
        None => true,
        Some(sharding) => known.mesh.layout(sharding).is_some_and(|said| known.layout(value) == Some(&said)),
    };
    let all_like = |values: &mut dyn Iterator<Item = Value<'c, 'a>>, said: &[_]| {
        values.zip(said).all(|(value, said)| is_like(value, *said))
    };
    let agrees = |call: &OperationRef<'c, 'a>| {
        is_bare(*call)
            && all_like(&mut call.operands(), &taken)
            && call.results().zip(end.operands()).all(|(result, value)| {
                call.discardable_attribute(SHARDING).is_err()
                    || known.layout(result.into()) == known.layout(value)
            })
    };
    Some(all_like(&mut end.operands(), &given) && calls.iter().all(agrees))
}
