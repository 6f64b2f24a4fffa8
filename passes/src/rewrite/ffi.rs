// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The calls into MLIR that [`rewrite`](super) is made of: its `unsafe` lives here.

use super::{Applied, Callback, Greedy, Pattern, Rewriter};
use crate::framework::{PassError, apply_greedily, panic_message};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{
    Attribute, AttributeLike, BlockRef, Location, Operation, OperationRef, RegionLike, RegionRef, Value,
    ValueLike,
};
use melior::{Context, RewritePatternSet, RewriterBase, StringRef, create_op_rewrite_pattern};
use mlir_sys::{
    MlirAttribute, MlirContext, MlirOpOperand, MlirOperation, MlirPatternRewriter, MlirRewritePattern,
    mlirBlockAppendOwnedOperation, mlirBlockEraseArgument, mlirBlockGetFirstOperation,
    mlirBlockGetNumArguments, mlirBlockInsertOwnedOperationBefore, mlirLocationFusedGet,
    mlirOpOperandGetNextUse, mlirOpOperandGetOperandNumber, mlirOpOperandGetOwner, mlirOpOperandIsNull,
    mlirOpResultGetOwner, mlirOperationClone, mlirOperationDestroy, mlirOperationGetBlock,
    mlirOperationGetContext, mlirOperationGetNumRegions, mlirOperationGetRegion,
    mlirOperationRemoveAttributeByName, mlirOperationRemoveFromParent, mlirOperationSetAttributeByName,
    mlirOperationSetDiscardableAttributeByName, mlirPatternRewriterAsBase, mlirRegionGetFirstBlock,
    mlirRegionTakeBody, mlirValueGetFirstUse,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::marker::PhantomData;
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The context of `op`, as building types and attributes takes it.
///
/// melior's own way from an op to a `&Context` points into a temporary. Here it points to a word that holds the context
/// and is kept for ever: one per context there has been, less where an address is used again.
pub fn context_of<'c>(op: OperationRef<'c, '_>) -> &'c Context {
    static WORDS: LazyLock<Mutex<HashMap<usize, &'static ContextWord>>> = LazyLock::new(Mutex::default);

    #[repr(transparent)]
    struct ContextWord(MlirContext);
    // SAFETY: the word is only copied out of, and MLIR's contexts are made for many threads.
    unsafe impl Send for ContextWord {}
    // SAFETY: as above.
    unsafe impl Sync for ContextWord {}

    // SAFETY: the op is alive.
    let raw = unsafe { mlirOperationGetContext(op.to_raw()) };
    let mut words = WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let word = *words.entry(raw.ptr as usize).or_insert_with(|| Box::leak(Box::new(ContextWord(raw))));
    // SAFETY: a melior context is the one raw field, behind a shared reference it is never dropped, and the context
    // itself outlives `'c`.
    unsafe { &*ptr::from_ref(word).cast::<Context>() }
}

/// A use of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Use<'c, 'a> {
    /// The op that uses it.
    pub user: OperationRef<'c, 'a>,
    /// As which operand.
    pub operand: usize,
}

/// All uses of `value`, in no order to rely on. The IR must not change meanwhile: collect them to change it.
pub fn uses<'c: 'a, 'a>(value: Value<'c, 'a>) -> impl Iterator<Item = Use<'c, 'a>> {
    struct Uses<'c, 'a>(MlirOpOperand, PhantomData<OperationRef<'c, 'a>>);

    impl<'c, 'a> Iterator for Uses<'c, 'a> {
        type Item = Use<'c, 'a>;

        fn next(&mut self) -> Option<Self::Item> {
            // SAFETY: the operand is null or belongs to a live op.
            unsafe {
                if mlirOpOperandIsNull(self.0) {
                    return None;
                }
                let found = Use {
                    user: OperationRef::from_raw(mlirOpOperandGetOwner(self.0)),
                    operand: mlirOpOperandGetOperandNumber(self.0) as usize,
                };
                self.0 = mlirOpOperandGetNextUse(self.0);
                Some(found)
            }
        }
    }

    // SAFETY: the value is alive.
    Uses(unsafe { mlirValueGetFirstUse(value.to_raw()) }, PhantomData)
}

/// The op that `value` is a result of, unless it is a block argument.
pub fn defining_op<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    // SAFETY: the value is alive and a result where its owner is asked for.
    value
        .is_operation_result()
        .then(|| unsafe { OperationRef::from_raw(mlirOpResultGetOwner(value.to_raw())) })
}

/// Sets an attribute, inherent or not. Inside of [`Rewriter::modify`], if a rewrite is under way.
pub fn set_attribute(op: OperationRef<'_, '_>, name: &str, attribute: Attribute<'_>) {
    // SAFETY: op and attribute are alive.
    unsafe { mlirOperationSetAttributeByName(op.to_raw(), StringRef::new(name).to_raw(), attribute.to_raw()) }
}

/// Sets a discardable attribute. Inside of [`Rewriter::modify`], if a rewrite is under way.
pub fn set_discardable_attribute(op: OperationRef<'_, '_>, name: &str, attribute: Attribute<'_>) {
    // SAFETY: op and attribute are alive.
    unsafe {
        mlirOperationSetDiscardableAttributeByName(
            op.to_raw(),
            StringRef::new(name).to_raw(),
            attribute.to_raw(),
        )
    }
}

/// A copy of `op` and all in it, in no block.
pub fn copy_of<'c>(op: OperationRef<'c, '_>) -> Operation<'c> {
    // SAFETY: the op is alive; the copy belongs to the caller.
    unsafe { Operation::from_raw(mlirOperationClone(op.to_raw())) }
}

/// An op that somebody else owns.
pub fn borrowed<'c, 'a>(op: &'a Operation<'c>) -> OperationRef<'c, 'a> {
    // SAFETY: the op is alive as long as the borrow.
    unsafe { OperationRef::from_raw(op.to_raw()) }
}

/// Puts `with` in the place of `op`, which is destroyed with all in it. Nothing outside may use results of `op`: it is a
/// function, say, which others know by its symbol.
///
/// # Panics
/// If `op` is in no block or has results.
pub fn put_in_place<'c: 'a, 'a>(op: OperationRef<'c, 'a>, with: Operation<'c>) -> OperationRef<'c, 'a> {
    assert_eq!(op.result_count(), 0, "an op with results is replaced by values");
    let (old, new) = (op.to_raw(), with.into_raw());
    // SAFETY: both ops are alive; the block takes the new one over, and no reference to what is in the old one can be
    // used again, since a pass that holds one has no way to tell it from a live one: callers start from the block anew.
    unsafe {
        let block = mlirOperationGetBlock(old);
        assert!(!block.ptr.is_null(), "an op in no block has no place");
        mlirBlockInsertOwnedOperationBefore(block, old, new);
        mlirOperationDestroy(old);
        OperationRef::from_raw(new)
    }
}

/// Erases all in the single block of `op`, and moves in what is in that of `from`.
///
/// # Panics
/// If one of them does not have just one region with one block without arguments.
pub fn move_body(op: OperationRef<'_, '_>, from: Operation<'_>) {
    // SAFETY: both ops are alive, and the ops of a block stay so until they are destroyed or have moved.
    unsafe {
        let body = |op: MlirOperation| {
            assert_eq!(mlirOperationGetNumRegions(op), 1, "one region is needed");
            let block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
            assert!(!block.ptr.is_null() && mlirBlockGetNumArguments(block) == 0, "a plain block is needed");
            block
        };
        let (to, from_body) = (body(op.to_raw()), body(from.to_raw()));
        loop {
            let first = mlirBlockGetFirstOperation(to);
            if first.ptr.is_null() {
                break;
            }
            mlirOperationDestroy(first);
        }
        loop {
            let first = mlirBlockGetFirstOperation(from_body);
            if first.ptr.is_null() {
                break;
            }
            mlirOperationRemoveFromParent(first);
            mlirBlockAppendOwnedOperation(to, first);
        }
    }
}

/// Moves all blocks of `from` into `to`, whose own are destroyed.
pub fn take_body(to: RegionRef<'_, '_>, from: RegionRef<'_, '_>) {
    // SAFETY: both regions are those of live ops.
    unsafe { mlirRegionTakeBody(to.to_raw(), from.to_raw()) }
}

/// Takes an argument that nothing uses from a block.
///
/// # Panics
/// If there is none of that number, or it is used.
pub fn erase_argument(block: BlockRef<'_, '_>, index: usize) {
    let argument = block.argument(index).expect("the block has this argument");
    assert!(uses(argument.into()).next().is_none(), "the argument is in use");
    // SAFETY: the block is alive and has the argument, which nothing refers to.
    unsafe { mlirBlockEraseArgument(block.to_raw(), index as u32) }
}

/// Removes an attribute, inherent or not; false if there was none of that name.
pub fn remove_attribute(op: OperationRef<'_, '_>, name: &str) -> bool {
    // SAFETY: the op is alive.
    unsafe { mlirOperationRemoveAttributeByName(op.to_raw(), StringRef::new(name).to_raw()) }
}

/// The location of what comes of several.
///
/// # Panics
/// If there is none.
pub fn fused_location<'c>(locations: &[Location<'c>]) -> Location<'c> {
    let context = locations[0].context();
    let raw: Vec<_> = locations.iter().map(|location| location.to_raw()).collect();
    // SAFETY: the locations are alive; no metadata is a null attribute.
    unsafe {
        Location::from_raw(mlirLocationFusedGet(
            context.to_ref().to_raw(),
            raw.len() as isize,
            raw.as_ptr(),
            MlirAttribute { ptr: ptr::null() },
        ))
    }
}

/// Inserts an op. melior binds the op's lifetime to a borrow of its rewriter; it lives as long as the rewrite.
pub(super) fn insert<'c: 'r, 'r>(rewriter: &Rewriter<'c, 'r>, op: Operation<'c>) -> OperationRef<'c, 'r> {
    let raw = rewriter.base.insert(op).to_raw();
    // SAFETY: the block the op was inserted into owns it now.
    unsafe { OperationRef::from_raw(raw) }
}

pub(super) fn apply<'c>(
    patterns: Vec<Pattern<'c, '_>>,
    op: OperationRef<'c, '_>,
    config: &Greedy,
) -> Result<Applied, PassError<'c>> {
    let context = context_of(op);
    let error = RefCell::new(None);
    let set = RewritePatternSet::new(context);
    for Pattern { op_name, benefit, mut callback } in patterns {
        let error = &error;
        type Raw<'x> = Box<dyn FnMut(MlirRewritePattern, MlirOperation, MlirPatternRewriter) -> bool + 'x>;
        let raw: Raw<'_> = Box::new(move |_, op, rewriter| {
            if error.borrow().is_some() {
                return false;
            }
            match catch_unwind(AssertUnwindSafe(|| call(&mut callback, op, rewriter))) {
                Ok(Ok(rewritten)) => rewritten,
                Ok(Err(found)) => {
                    *error.borrow_mut() = Some(found);
                    false
                }
                Err(payload) => {
                    let reason = panic_message(payload.as_ref());
                    let found = format!("met an internal error of slimhlo: {reason}; please report it");
                    *error.borrow_mut() = Some(PassError::new(found));
                    // It may have stopped half way.
                    true
                }
            }
        });
        // SAFETY: the driver destroys the patterns, and with them the closure, before `apply_greedily` returns; all
        // that the closure borrows outlives that call.
        let raw = unsafe { transmute::<Raw<'_>, Raw<'static>>(raw) };
        set.add(create_op_rewrite_pattern(&op_name, benefit.into(), context, raw, &[]));
    }
    let outcome = apply_greedily(op, set.freeze(), config);
    match error.into_inner() {
        Some(error) => Err(error),
        None => Ok(Applied { changed: outcome.changed, converged: outcome.converged }),
    }
}

fn call<'c>(
    callback: &mut Callback<'c, '_>,
    op: MlirOperation,
    rewriter: MlirPatternRewriter,
) -> Result<bool, PassError<'c>> {
    // SAFETY: the driver hands out a live op and its rewriter for the time of the call.
    let (op, base) =
        unsafe { (OperationRef::from_raw(op), RewriterBase::from_raw(mlirPatternRewriterAsBase(rewriter))) };
    callback(op, &Rewriter { base })
}
