// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What inlining would lose: functions and calls with annotations, and entry functions that are private.

use crate::functions::{callee, functions, is_public, name_of, says_only};
use crate::rewrite::{context_of, remove_attribute, set_attribute, walk};
use crate::shards::laid_out_alike;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, OperationRef, RegionLike};
use slimhlo_dialect::ffi::{self, op_name};

const NO_INLINE: &str = "no_inline";
/// Says that [`NO_INLINE`] was set here.
const MARK: &str = "slimhlo.annotated";
const VISIBILITY: &str = "sym_visibility";
/// Says that a function was private, and what else its visibility was.
const PRIVATE: &str = "slimhlo.private";

/// While the stages run, keeps functions and calls that carry annotations which inlining would lose from the inliner, and
/// an entry function from removal: to MLIR a private `@main` that nobody calls is dead, and some producers write it so. Where
/// nothing is public, nothing is known to be dead. What a function says only of how its arguments and results are laid
/// out is not lost where all that is handed to it and all that it hands on says the same. False if nothing had to be marked.
pub(super) fn mark(module: OperationRef<'_, '_>) -> bool {
    let mut marked = false;
    let unit = Attribute::unit(context_of(module));
    let none_public = !functions(module).any(is_public);
    for function in functions(module) {
        // What is only declared may not be public.
        let has_body = function.region(0).ok().and_then(|region| region.first_block()).is_some();
        if has_body
            && (none_public || name_of(function) == "main")
            && let Some(visibility) = ffi::attribute_of(function, VISIBILITY)
        {
            set_attribute(function, PRIVATE, visibility);
            remove_attribute(function, VISIBILITY);
            marked = true;
        }
    }
    let laid_out_alike = laid_out_alike(module);
    walk(module, |op| {
        let lost = match op_name(op) {
            "func.func" => {
                (has_annotations(op, "arg_attrs") || has_annotations(op, "res_attrs"))
                    && !laid_out_alike.contains(&name_of(op))
            }
            "func.call" => {
                op.discardable_attribute_count() > 0
                    && !callee(op).is_some_and(|name| laid_out_alike.contains(name))
            }
            _ => false,
        };
        if lost && ffi::attribute_of(op, NO_INLINE).is_none() {
            set_attribute(op, NO_INLINE, unit);
            set_attribute(op, MARK, unit);
            marked = true;
        }
        WalkResult::Advance
    });
    marked
}

/// Undoes [`mark`]; false if nothing was marked.
pub(super) fn unmark(module: OperationRef<'_, '_>) -> bool {
    let mut unmarked = false;
    walk(module, |op| {
        if remove_attribute(op, MARK) {
            remove_attribute(op, NO_INLINE);
            unmarked = true;
        }
        if let Some(visibility) = ffi::attribute_of(op, PRIVATE) {
            set_attribute(op, VISIBILITY, visibility);
            remove_attribute(op, PRIVATE);
            unmarked = true;
        }
        WalkResult::Advance
    });
    unmarked
}

/// Whether an argument or result of a function says more than where it came from.
fn has_annotations(function: OperationRef<'_, '_>, name: &str) -> bool {
    let Some(all) = ffi::attribute_of(function, name).and_then(|all| ArrayAttribute::try_from(all).ok())
    else {
        return false;
    };
    let mut said =
        (0..all.len()).filter_map(|index| DictionaryAttribute::try_from(all.element(index).ok()?).ok());
    said.any(|attributes| !says_only(attributes, &[]))
}
