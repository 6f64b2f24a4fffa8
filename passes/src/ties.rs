// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What must be computed once, because its very bits are looked for again.
//!
//! ```mlir
//! %scores = stablehlo.dot_general %a, %b, ... -> tensor<4096x4096xf32>
//! %most = stablehlo.reduce(%scores init: %lowest) applies stablehlo.maximum across dimensions = [0] : ...
//! %there = stablehlo.broadcast_in_dim %most, dims = [1] : ...
//! %is_most = stablehlo.compare EQ, %scores, %there, FLOAT : ...
//! ```
//!
//! is how JAX differentiates a maximum: who attained it gets the gradient. A sum of floats has other bits when a back end adds it up
//! in another order, as it may for another shape. Where the maximum is of one such sum and what is compared with it another, nobody
//! attains it, and the gradient is not a little off but gone. The same goes for what is at least its own k-th largest.
//!
//! So a pass that would compute a sum a second time asks here first. A value is compared with itself if both operands of a
//! comparison, or of a difference that is compared, can be followed back to it through ops that hand elements on or compute
//! each from few: no further than to the next sum, because what both sides take from that is the same.

use crate::ir;
use crate::ops::products::is_product;
use crate::rewrite::{defining_op, users, walk};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, RegionLike, TypeLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;
use std::cell::RefCell;
use std::marker::PhantomData;

/// Ops that are followed at most: what leads further is taken to be compared with itself.
const MOST: usize = 4096;

/// What is compared with itself, as far as it was asked.
#[derive(Default)]
pub struct Ties<'c, 'a> {
    /// Whether there is anything.
    pub any: bool,
    known: RefCell<FxHashMap<usize, bool>>,
    of: PhantomData<OperationRef<'c, 'a>>,
}

impl<'c: 'a, 'a> Ties<'c, 'a> {
    /// For all that is in an op.
    pub fn new(root: OperationRef<'c, 'a>) -> Self {
        Self { any: compares(root), ..Default::default() }
    }

    /// See [`is_compared_with_itself`].
    pub fn is_compared_with_itself(&self, value: Value<'c, 'a>) -> bool {
        self.any
            && *self
                .known
                .borrow_mut()
                .entry(ir::key(value))
                .or_insert_with(|| is_compared_with_itself(value))
    }

    /// Forgets what was asked: ops have gone.
    pub fn forget(&self) {
        self.known.borrow_mut().clear();
    }
}

/// Whether some floats in `root` are compared with others that are not all alike: without that nothing has to be computed once.
/// Regions of reductions and sorts, which compare one element with another, do not count.
fn compares(root: OperationRef<'_, '_>) -> bool {
    let found = walk(root, |op| {
        let several = |value: Value<'_, '_>| {
            Tensor::new(value.r#type()).is_some_and(|tensor| {
                (tensor.element.is_float() || tensor.element.is_complex()) && tensor.rank() > 0
            }) && ir::splat_constant(value).is_none()
                && !is_splat(value)
        };
        match op_name(op) == "stablehlo.compare" && op.operands().all(several) {
            true => WalkResult::Interrupt,
            false => WalkResult::Advance,
        }
    });
    found == WalkResult::Interrupt
}

/// Whether `op` adds floats up, so that its results depend on the order in which that is done.
pub fn rounds(op: OperationRef<'_, '_>) -> bool {
    let float = || {
        op.results().any(|result| {
            Tensor::new(result.r#type())
                .is_some_and(|tensor| !tensor.element.is_integer() && !tensor.element.is_index())
        })
    };
    match op_name(op) {
        "stablehlo.dot_general"
        | "stablehlo.dot"
        | "stablehlo.convolution"
        | "stablehlo.fft"
        | "stablehlo.cholesky"
        | "stablehlo.triangular_solve"
        | "stablehlo.batch_norm_training"
        | "stablehlo.batch_norm_grad"
        | "stablehlo.custom_call"
        | "stablehlo.while" => float(),
        "stablehlo.reduce"
        | "stablehlo.reduce_window"
        | "stablehlo.scatter"
        | "stablehlo.select_and_scatter"
        | "stablehlo.all_reduce"
        | "stablehlo.reduce_scatter" => float() && adds_up(op),
        _ => false,
    }
}

/// Whether the bits of what `op` makes may be looked for again, and may be others a second time.
pub fn may_be_tied(op: OperationRef<'_, '_>) -> bool {
    is_product(op) || op_name(op) == "stablehlo.reduce"
}

/// Whether a region of `op` does arithmetic other than to choose one of its arguments.
fn adds_up(op: OperationRef<'_, '_>) -> bool {
    const CHOOSES: [&str; 9] = [
        "stablehlo.maximum",
        "stablehlo.minimum",
        "stablehlo.and",
        "stablehlo.or",
        "stablehlo.compare",
        "stablehlo.select",
        "stablehlo.convert",
        "stablehlo.constant",
        "stablehlo.return",
    ];
    op.regions().filter_map(|region| region.first_block()).any(|block| {
        let mut next = block.first_operation();
        while let Some(op) = next {
            if !CHOOSES.contains(&op_name(op)) {
                return true;
            }
            next = op.next_in_block();
        }
        false
    })
}

/// Whether both sides of a comparison are made of `value`.
pub fn is_compared_with_itself<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let mut walk = Walk::from(value);
    let mut is_met = false;
    let ended = walk.run(MOST, |_| {
        is_met = true;
        false
    });
    is_met || !ended
}

/// What is made of a value, and what compares two of that.
pub struct Compared<'c, 'a> {
    /// The keys of what is made of it, no further than to the next sum.
    pub made: FxHashSet<usize>,
    /// Comparisons, and differences that are compared, of two operands that are made of it.
    pub by: Vec<OperationRef<'c, 'a>>,
}

/// All comparisons of `value` with itself; `None` if more than a few thousand ops would have to be followed for that.
pub fn comparisons<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Compared<'c, 'a>> {
    let mut walk = Walk::from(value);
    let mut by = Vec::new();
    let ended = walk.run(4 * MOST, |op| {
        by.push(op);
        true
    });
    ended.then_some(Compared { made: walk.made, by })
}

struct Walk<'c, 'a> {
    /// Values that are made of the first one, by their keys.
    made: FxHashSet<usize>,
    pending: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Walk<'c, 'a> {
    fn from(value: Value<'c, 'a>) -> Self {
        Self { made: FxHashSet::from_iter([ir::key(value)]), pending: vec![value] }
    }

    /// Goes over at most so many uses, and tells of what compares two values that are made of the first, as long as `meet` says so; whether
    /// that was all.
    fn run(&mut self, most: usize, mut meet: impl FnMut(OperationRef<'c, 'a>) -> bool) -> bool {
        let mut left = most;
        while let Some(value) = self.pending.pop() {
            for used in crate::rewrite::uses(value) {
                left -= 1;
                if left == 0 || self.meets(used.user) && !meet(used.user) {
                    return false;
                }
                self.follow(used.user, used.operand);
            }
        }
        true
    }

    /// Whether a user compares two values that are both made of the first one.
    fn meets(&self, user: OperationRef<'c, 'a>) -> bool {
        // The very same value on both sides asks for NaN, whichever bits it has.
        let both = |op: OperationRef<'c, 'a>| {
            op.operand_count() == 2
                && op.operand(0) != op.operand(1)
                && op.operands().all(|operand| self.made.contains(&ir::key(operand)))
        };
        match op_name(user) {
            "stablehlo.compare" => both(user),
            "stablehlo.subtract" if both(user) => {
                let results = user.results().map(Value::from);
                results.flat_map(users).any(|next| match op_name(next) {
                    "stablehlo.compare" | "stablehlo.sign" => true,
                    "stablehlo.abs" | "stablehlo.negate" => {
                        let results = next.results().map(Value::from);
                        results.flat_map(users).any(|last| op_name(last) == "stablehlo.compare")
                    }
                    _ => false,
                })
            }
            _ => false,
        }
    }

    /// Goes on with what a user makes of an operand.
    fn follow(&mut self, user: OperationRef<'c, 'a>, operand: usize) {
        match op_name(user) {
            "stablehlo.compare" => {}
            "stablehlo.while" => {
                for block in user.regions().filter_map(|region| region.first_block()) {
                    if let Ok(argument) = block.argument(operand) {
                        self.add(argument.into());
                    }
                }
                self.add_result(user, operand);
            }
            "stablehlo.return" => {
                let Some(parent) = user.parent_operation() else { return };
                if op_name(parent) == "stablehlo.while" {
                    // What a turn makes the next one starts from.
                    if let Some(body) = parent.region(1).ok().and_then(|region| region.first_block())
                        && user.block().is_some_and(|block| block == body)
                    {
                        if let Ok(argument) = body.argument(operand) {
                            self.add(argument.into());
                        }
                        self.add_result(parent, operand);
                    }
                } else {
                    self.add_result(parent, operand);
                }
            }
            _ if rounds(user) => {}
            _ => user.results().for_each(|result| self.add(result.into())),
        }
    }

    fn add_result(&mut self, op: OperationRef<'c, 'a>, index: usize) {
        if let Ok(result) = op.result(index) {
            self.add(result.into());
        }
    }

    fn add(&mut self, value: Value<'c, 'a>) {
        if self.made.insert(ir::key(value)) {
            self.pending.push(value);
        }
    }
}

/// Whether a value is one element broadcast.
fn is_splat(value: Value<'_, '_>) -> bool {
    defining_op(value).is_some_and(|op| {
        op_name(op) == "stablehlo.broadcast_in_dim" && op.operand(0).is_ok_and(ir::is_rank_zero)
    })
}
