// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What is computed before what follows it, whatever order a back end would choose.

use crate::body::Body;
use crate::hold::barriers;
use crate::ir::{self, Builder};
use crate::rewrite::defining_op;
use crate::tables::Table;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;

/// Barriers between what comes early and what comes after it.
pub struct Barriers<'b, 'c, 'a> {
    body: &'b Body<'c, 'a>,
    build: &'b Builder<'c, 'a>,
    /// At which place a value came out of one.
    came: Table<usize, usize>,
    /// Which ops have been moved before others.
    early: Vec<bool>,
}

impl<'b, 'c: 'a, 'a> Barriers<'b, 'c, 'a> {
    /// For the ops of a body, none yet.
    pub fn new(body: &'b Body<'c, 'a>, build: &'b Builder<'c, 'a>) -> Self {
        Self { body, build, came: Table::default(), early: vec![false; body.ops.len()] }
    }

    /// What a product takes that was computed last: all that comes after waits for it.
    fn chain(&self, product: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
        let made = |value: Value<'c, 'a>| {
            let op = defining_op(value).filter(|op| op_name(*op) != "stablehlo.constant")?;
            self.body.own(op).or_else(|| self.came.get(&ir::key(value)).copied())
        };
        let made = |value| Some((made(value)?, value));
        let operands = product.operands().filter(|operand| !ir::is_rank_zero(*operand));
        operands.filter_map(made).max_by_key(|(place, _)| *place).map(|(_, value)| value)
    }

    /// Has `values` be there before the product at a place: `ops`, which make them, come before it if they do not yet, and it takes what it
    /// takes from a barrier that waits for them. Users that are `later` take them from the barrier, too. False if the product takes nothing
    /// to wait for them with.
    pub fn insert(
        &mut self,
        place: usize,
        ops: impl Iterator<Item = usize>,
        values: &[Value<'c, 'a>],
        later: impl Fn(OperationRef<'c, 'a>) -> bool,
    ) -> bool {
        let Self { body, build, .. } = *self;
        let product = body.ops[place];
        let Some(chain) = self.chain(product) else { return false };
        let mut moved: Vec<usize> = ops.collect();
        moved.retain(|&other| other > place && !std::mem::replace(&mut self.early[other], true));
        moved.sort_unstable();
        moved.into_iter().for_each(|other| build.move_before(body.ops[other], product));
        let values: Vec<Value> = [chain].into_iter().chain(values.iter().copied()).collect();
        build.set_insertion_point_before(product);
        let held = barriers(&values, build, product.location());
        build.replace_uses(chain, held[0], |user| {
            body.place(user).is_some_and(|at| at >= place && !self.early[at])
        });
        for (value, held) in values.iter().zip(&held).skip(1) {
            build.replace_uses(*value, *held, &later);
        }
        self.came.insert(ir::key(held[0]), place);
        true
    }
}
