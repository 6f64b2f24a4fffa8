// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Values that are needed only on the way to something small: to compute them again costs no memory.

use super::super::consumer::SMALL;
use crate::ir::{self, bytes};
use crate::ops::class;
use crate::rewrite::uses;
use crate::tables::{Keys, Table};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::GatherDimensionNumbers;

/// Whether values go for good.
pub(super) struct Fleeting<'r> {
    pub inside: &'r Keys,
    pub known: Table<usize, bool>,
    /// How many more values may be looked at.
    pub left: usize,
}

impl Fleeting<'_> {
    /// Whether all that uses `value` outside ends in something small that can be streamed.
    pub fn is<'c: 'a, 'a>(&mut self, value: Value<'c, 'a>) -> bool {
        if let Some(known) = self.known.get(&ir::key(value)) {
            return *known;
        }
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let size = bytes(value);
        let mut all = true;
        for used in uses(value) {
            let user = used.user;
            all &= self.inside.contains(&ir::op_key(user)) || self.ends(user, used.operand, size);
            if !all {
                break;
            }
        }
        self.known.insert(ir::key(value), all);
        all
    }

    /// Whether what an op makes of an operand of so many bytes is small, or goes for good itself.
    fn ends<'c: 'a, 'a>(&mut self, user: OperationRef<'c, 'a>, operand: usize, size: i64) -> bool {
        if !ir::discardable_attributes(user).is_empty() {
            return false;
        }
        let results: Vec<Value<'c, 'a>> = user.results().map(Value::from).collect();
        let small = results.iter().all(|result| bytes(*result) <= size / SMALL);
        let name = op_name(user);
        match name {
            "stablehlo.reduce" | "stablehlo.dot_general" if small => true,
            "stablehlo.scatter" if operand > 0 && small => true,
            "stablehlo.gather" if operand == 0 => {
                is_batched_gather(user) && results.iter().all(|result| self.is(*result))
            }
            "stablehlo.reduce" | "stablehlo.dot_general" | "stablehlo.gather" => {
                results.iter().all(|result| self.is(*result))
            }
            _ => class::is_fusible(name) && results.iter().all(|result| self.is(*result)),
        }
    }
}

/// Whether an op reads a value element by element, so that cheap arithmetic is computed on the way to it: a gather its indices, too.
pub(super) fn is_computed_on_the_way<'c: 'a, 'a>(op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> bool {
    let name = op_name(op);
    class::is_fusible(name) || (name == "stablehlo.gather" && op.operand(0).is_ok_and(|from| from != value))
}

/// Whether each index of a gather picks from its own part of the operand.
fn is_batched_gather(op: OperationRef<'_, '_>) -> bool {
    ffi::attribute_of(op, "dimension_numbers")
        .and_then(|numbers| GatherDimensionNumbers::try_from(numbers).ok())
        .is_some_and(|numbers| !numbers.operand_batching_dims().is_empty())
}
