// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What has been found out about functions, for when the same is asked of the same function again.
//!
//! A pipeline asks about a function once per form that a stage is tried in, and again where all of it is tried within
//! another bound of time: always of the same IR, though of other copies. So what was found is kept by the function's
//! fingerprint, with numbers in the place of ops: the n-th op of a walk over one copy is that of every other.

use super::ffi::parent;
use super::graph::body;
use super::{BODY, Profile};
use crate::framework::fingerprint;
use crate::ir::op_key;
use crate::rewrite::{ops_in, walk};
use crate::tables::Table;
use crate::target::Target;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::operation::WalkResult;
use melior::ir::{BlockRef, OperationRef};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{attribute_of, integer_value};
use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

/// A question, and what it is about: the function's fingerprint and the target's name.
type Question = (&'static str, u64, &'static str);

thread_local! {
    /// What has been found out; none if nobody remembers.
    static KNOWN: RefCell<Option<FxHashMap<Question, Rc<dyn Any>>>> = const { RefCell::new(None) };
}

/// As long as the first of these lives, what is found out on its thread is kept.
pub(crate) struct Remember {
    is_first: bool,
    /// It is the thread's.
    of: PhantomData<*const ()>,
}

impl Remember {
    pub(crate) fn new() -> Self {
        let is_first = KNOWN.with_borrow_mut(|known| {
            let is_first = known.is_none();
            known.get_or_insert_default();
            is_first
        });
        Self { is_first, of: PhantomData }
    }
}

impl Drop for Remember {
    fn drop(&mut self) {
        if self.is_first {
            KNOWN.set(None);
        }
    }
}

/// Whether what is asked of a function is remembered: somebody does, and nothing but the function itself says what
/// becomes of it, no other that it may call, and no devices that share it.
pub(super) fn is_remembered(function: OperationRef<'_, '_>) -> bool {
    if KNOWN.with_borrow(Option::is_none) {
        return false;
    }
    let Some(module) = parent(function) else { return false };
    let devices = attribute_of(module, "mhlo.num_partitions")
        .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
        .map_or(1, integer_value);
    devices <= 1 && body(module, 0).is_some_and(|block| ops_in(block).take(2).count() == 1)
}

/// What `find` says of a function, or has said of one that was the same. It is to depend on the function and the
/// target alone, and to name ops by their [numbers](numbered).
pub(crate) fn once<T: 'static>(
    question: &'static str,
    function: OperationRef<'_, '_>,
    target: Target,
    find: impl FnOnce() -> T,
) -> Rc<T> {
    if !is_remembered(function) {
        return Rc::new(find());
    }
    let question = (question, fingerprint(function), target.name());
    let known = KNOWN.with_borrow(|known| known.as_ref()?.get(&question).cloned());
    if let Some(known) = known.and_then(|known| known.downcast().ok()) {
        return known;
    }
    let found = Rc::new(find());
    KNOWN.with_borrow_mut(|known| {
        if let Some(known) = known {
            known.insert(question, Rc::<T>::clone(&found));
        }
    });
    found
}

/// The ops of a function, itself the first, by number.
pub(crate) fn numbered<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    let mut ops = Vec::new();
    walk(function, |op| {
        ops.push(op);
        WalkResult::Advance
    });
    ops
}

/// The number of each op, by its key.
pub(crate) fn numbers(ops: &[OperationRef<'_, '_>]) -> Table<usize, u32> {
    ops.iter().zip(0..).map(|(op, number)| (op_key(*op), number)).collect()
}

/// A [profile](Profile) with numbers in the place of ops.
pub(super) struct Outline {
    /// The op whose body it is of, the function or a loop.
    of: u32,
    steps: Vec<(u32, u64)>,
    peak: Option<u32>,
    alive: Vec<(u32, u64)>,
    in_rows: Vec<u32>,
}

impl Outline {
    /// Of a profile of the body of an op.
    pub fn of(op: OperationRef<'_, '_>, profile: &Profile<'_, '_>, numbers: &Table<usize, u32>) -> Self {
        let number = |key: usize| numbers.get(&key).copied();
        let steps = profile.steps.iter().filter_map(|(op, live)| Some((number(op_key(*op))?, *live)));
        let alive = profile.alive.iter().filter_map(|(key, bytes)| Some((number(*key)?, *bytes)));
        Self {
            of: number(op_key(op)).unwrap_or_default(),
            steps: steps.collect(),
            peak: profile.peak.and_then(|peak| number(op_key(peak))),
            alive: alive.collect(),
            in_rows: profile.in_rows.iter().filter_map(|key| number(*key)).collect(),
        }
    }

    /// The body, of a function with these ops.
    pub fn block<'c: 'a, 'a>(&self, ops: &[OperationRef<'c, 'a>]) -> Option<BlockRef<'c, 'a>> {
        body(ops[self.of as usize], if self.of == 0 { 0 } else { BODY })
    }

    /// The profile, of a function with these ops.
    pub fn profile<'c, 'a>(&self, ops: &[OperationRef<'c, 'a>]) -> Profile<'c, 'a> {
        let op = |number: u32| ops[number as usize];
        Profile {
            steps: self.steps.iter().map(|&(number, live)| (op(number), live)).collect(),
            peak: self.peak.map(op),
            alive: self.alive.iter().map(|&(number, bytes)| (op_key(op(number)), bytes)).collect(),
            in_rows: self.in_rows.iter().map(|&number| op_key(op(number))).collect(),
        }
    }
}
