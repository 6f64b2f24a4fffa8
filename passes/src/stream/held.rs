// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a back end is taken to store when a program needs most.
//!
//! Back ends that weigh copies compute cheap arithmetic again for each kernel that reads it, or store it: which of the two hangs on
//! all that a kernel would read then. A plan does not know; the memory model does, and only what is there at the peak is worth
//! a loop.

use crate::ir;
use crate::memory;
use crate::rewrite::walk;
use crate::target::Target;
use melior::ir::OperationRef;
use melior::ir::operation::WalkResult;
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::op_name;
use std::cell::RefCell;

/// Ops by their keys, asked for once somebody wants to know.
pub struct Held<'c, 'a> {
    /// What is modelled: a function, or a module of some.
    root: OperationRef<'c, 'a>,
    target: Target,
    ops: RefCell<Option<FxHashSet<usize>>>,
}

impl<'c: 'a, 'a> Held<'c, 'a> {
    /// Of a function or a module as it is when it is first asked about; nothing where plans know themselves what is stored.
    pub fn of(root: OperationRef<'c, 'a>, target: Target) -> Self {
        let knows = !target.storage().weighs_copies || target.rates().is_none();
        Self { root, target, ops: RefCell::new(knows.then(FxHashSet::default)) }
    }

    /// Whether an op's results were temporaries at the peak. Costs a model of the program when first asked.
    pub fn contains(&self, op: OperationRef<'c, 'a>) -> bool {
        self.ops.borrow_mut().get_or_insert_with(|| self.find()).contains(&ir::op_key(op))
    }

    /// Forgets an op that goes: another one may come to be at its address.
    pub fn forget(&self, key: usize) {
        if let Some(ops) = self.ops.borrow_mut().as_mut() {
            ops.remove(&key);
        }
    }

    /// Forgets all ops: some have gone together with what they were in.
    pub fn forget_all(&self) {
        *self.ops.borrow_mut() = Some(FxHashSet::default());
    }

    fn find(&self) -> FxHashSet<usize> {
        let mut alive = FxHashSet::default();
        walk(self.root, |op| {
            if op_name(op) != "func.func" {
                return WalkResult::Advance;
            }
            for (_, profile) in memory::profiles(op, self.target) {
                alive.extend(profile.alive.into_keys());
            }
            WalkResult::Skip
        });
        alive
    }
}
