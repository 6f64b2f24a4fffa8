// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops that become others where they are: melior knows no way to change the type of a value or to move a region from one op to another.
//!
//! This is one of the few modules with `unsafe`.

use crate::locations::Places;
use crate::wire;
use melior::StringRef;
use melior::ir::operation::OperationRef;
use melior::ir::{Attribute, AttributeLike, Module, Type, TypeLike};
use mlir_sys::*;
use std::marker::PhantomData;
use std::ops::Deref;

/// How deeply regions are nested at most where MLIR may free them by itself: it goes over all that is within each of them.
const DEEP: usize = 100;

/// A module that is freed in time linear in its ops, however deeply they are nested.
#[derive(Debug)]
pub struct OwnedModule<'c>(Module<'c>);

impl<'c> From<Module<'c>> for OwnedModule<'c> {
    fn from(module: Module<'c>) -> Self {
        Self(module)
    }
}

impl<'c> Deref for OwnedModule<'c> {
    type Target = Module<'c>;

    fn deref(&self) -> &Module<'c> {
        &self.0
    }
}

impl Drop for OwnedModule<'_> {
    fn drop(&mut self) {
        Op::of(&self.0).empty_if_deep();
    }
}

/// An op of a module that is being changed. Not to be used any more once it has become another.
#[derive(Clone, Copy)]
pub struct Op<'c>(MlirOperation, PhantomData<&'c ()>);

/// A value of such a module.
#[derive(Clone, Copy)]
pub struct Value<'c>(MlirValue, PhantomData<&'c ()>);

impl<'c> Value<'c> {
    /// Its type.
    pub fn ty(self) -> Type<'c> {
        // SAFETY: the value is alive, as for all that follow.
        unsafe { Type::from_raw(mlirValueGetType(self.0)) }
    }

    /// Changes its type; users are to be changed, too.
    pub fn set_type(self, ty: Type<'c>) {
        // SAFETY: see `ty`.
        unsafe { mlirValueSetType(self.0, ty.to_raw()) }
    }

    /// Whether both are the same.
    pub fn is(self, other: Self) -> bool {
        self.0.ptr == other.0.ptr
    }

    /// Uses another value wherever this one is used.
    pub fn replace_with(self, other: Self) {
        // SAFETY: see `ty`.
        unsafe { mlirValueReplaceAllUsesOfWith(self.0, other.0) }
    }

    /// The ops that use it, each as often as it does.
    pub fn users(self) -> Vec<Op<'c>> {
        let mut users = Vec::new();
        // SAFETY: see `ty`; a use is alive as long as its op.
        unsafe {
            let mut operand = mlirValueGetFirstUse(self.0);
            while !mlirOpOperandIsNull(operand) {
                users.push(Op(mlirOpOperandGetOwner(operand), PhantomData));
                operand = mlirOpOperandGetNextUse(operand);
            }
        }
        users
    }
}

/// Another op for one: its name, attributes and the types of its results.
pub struct New<'c> {
    /// The full name.
    pub name: String,
    /// All attributes.
    pub attributes: Vec<(String, Attribute<'c>)>,
    /// One per result.
    pub types: Vec<Type<'c>>,
}

impl<'c> Op<'c> {
    /// The op of a module.
    pub fn of(module: &Module<'c>) -> Self {
        Self(module.as_operation().to_raw(), PhantomData)
    }

    /// A copy of a module, which is the caller's.
    pub fn clone_module(module: &Module<'c>) -> Option<OwnedModule<'c>> {
        // SAFETY: the module is alive; the copy of a module is one.
        let copy = unsafe { mlirModuleFromOperation(mlirOperationClone(module.as_operation().to_raw())) };
        // SAFETY: as above; nobody else has it.
        unsafe { Module::from_option_raw(copy) }.map(OwnedModule)
    }

    /// Takes out all ops within if some are in more regions than [`DEEP`].
    fn empty_if_deep(self) {
        let (mut todo, mut all, mut deepest) = (vec![(self, 0)], Vec::new(), 0);
        while let Some((op, depth)) = todo.pop() {
            deepest = deepest.max(depth);
            todo.extend(op.children().into_iter().map(|child| (child, depth + 1)));
            all.push(op);
        }
        if deepest <= DEEP {
            return;
        }
        for op in &all {
            // SAFETY: the op is alive; without operands it does not matter what goes first.
            unsafe { mlirOperationSetOperands(op.0, 0, std::ptr::null()) };
        }
        // Each comes before those in it, so that those in it are gone before it goes.
        for op in all.into_iter().skip(1).rev() {
            op.erase();
        }
    }

    /// Whether the op is valid where it is now; says at its location what is wrong.
    pub fn is_valid(self) -> bool {
        // SAFETY: the op is alive, and in a module.
        unsafe { mlirOperationVerify(self.0) }
    }

    /// Leaves of ranges in the location of the op and of its blocks' arguments where they begin.
    pub fn set_places(self, places: &mut Places) {
        // SAFETY: op, arguments and their locations are alive.
        unsafe {
            mlirOperationSetLocation(self.0, places.of(mlirOperationGetLocation(self.0)));
            for argument in self.block_arguments() {
                mlirBlockArgumentSetLocation(argument.0, places.of(mlirValueGetLocation(argument.0)));
            }
        }
    }

    /// All ops within, those in regions before the op that has them.
    pub fn inside(self) -> Vec<Self> {
        // Not recursive: what is nested may be nested deeply.
        let (mut todo, mut all) = (vec![self], Vec::new());
        while let Some(op) = todo.pop() {
            for region in op.regions() {
                for block in blocks(region) {
                    let before = todo.len();
                    todo.extend(ops(block).map(|op| Self(op, PhantomData)));
                    todo[before..].reverse();
                }
            }
            all.push(op);
        }
        // So far each op comes before those in it.
        all.reverse();
        all.pop();
        all
    }

    /// The ops in its regions, not in theirs.
    pub fn children(self) -> Vec<Self> {
        let blocks = self.regions().into_iter().flat_map(blocks);
        blocks.flat_map(ops).map(|op| Self(op, PhantomData)).collect()
    }

    /// Its full name.
    pub fn name(self) -> &'c str {
        // SAFETY: the op is alive, as for all that follow, and lives no shorter than its context's names.
        slimhlo_dialect::ffi::op_name(unsafe { OperationRef::from_raw(self.0) })
    }

    /// The op that has it in a region.
    pub fn parent(self) -> Option<Self> {
        // SAFETY: see `name`; null if there is none.
        let parent = unsafe { mlirOperationGetParentOperation(self.0) };
        (!parent.ptr.is_null()).then_some(Self(parent, PhantomData))
    }

    /// Reports an error.
    pub fn error(self, message: &str) {
        // SAFETY: see `name`.
        slimhlo_dialect::ffi::emit_op_error(unsafe { OperationRef::from_raw(self.0) }, message);
    }

    /// All its attributes.
    pub fn attributes(self) -> Vec<(String, Attribute<'c>)> {
        // SAFETY: see `name`; all indices are of attributes that there are.
        (0..unsafe { mlirOperationGetNumAttributes(self.0) })
            .map(|index| unsafe {
                let named = mlirOperationGetAttribute(self.0, index);
                // Broken modules have names of any bytes, or none.
                let name = String::from_utf8_lossy(wire::bytes(mlirIdentifierStr(named.name)));
                (name.into_owned(), Attribute::from_raw(named.attribute))
            })
            .collect()
    }

    /// Its operands.
    pub fn operands(self) -> Vec<Value<'c>> {
        // SAFETY: see `attributes`.
        (0..unsafe { mlirOperationGetNumOperands(self.0) })
            .map(|index| Value(unsafe { mlirOperationGetOperand(self.0, index) }, PhantomData))
            .collect()
    }

    /// Its results.
    pub fn results(self) -> Vec<Value<'c>> {
        // SAFETY: see `attributes`.
        (0..unsafe { mlirOperationGetNumResults(self.0) })
            .map(|index| Value(unsafe { mlirOperationGetResult(self.0, index) }, PhantomData))
            .collect()
    }

    fn regions(self) -> Vec<MlirRegion> {
        // SAFETY: see `attributes`.
        (0..unsafe { mlirOperationGetNumRegions(self.0) })
            .map(|index| unsafe { mlirOperationGetRegion(self.0, index) })
            .collect()
    }

    /// How many regions it has.
    pub fn region_count(self) -> usize {
        self.regions().len()
    }

    /// The arguments of all blocks of its regions.
    pub fn block_arguments(self) -> Vec<Value<'c>> {
        let mut all = Vec::new();
        for block in self.regions().into_iter().flat_map(blocks) {
            // SAFETY: the block is alive; all indices are of arguments that there are.
            let count = unsafe { mlirBlockGetNumArguments(block) };
            // SAFETY: see above.
            let argument = |index| unsafe { mlirBlockGetArgument(block, index) };
            all.extend((0..count).map(|index| Value(argument(index), PhantomData)));
        }
        all
    }

    /// Sets an operand.
    pub fn set_operand(self, index: usize, value: Value<'c>) {
        // SAFETY: see `name`; the caller has the index from `operands`.
        unsafe { mlirOperationSetOperand(self.0, index as isize, value.0) }
    }

    /// Puts another op in its place, with its operands, its regions and its location.
    pub fn become_(self, new: &New<'c>) -> Option<Self> {
        let operands: Vec<_> = self.operands().iter().map(|value| value.0).collect();
        let made = self.make(new, &operands, self.regions().len())?;
        // SAFETY: both ops are alive and have as many regions; nothing is left of the old one that is used when it goes.
        unsafe {
            mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(self.0), self.0, made);
            for (index, region) in self.regions().into_iter().enumerate() {
                mlirRegionTakeBody(mlirOperationGetRegion(made, index as isize), region);
            }
        }
        let made = Self(made, PhantomData);
        for (old, new) in self.results().into_iter().zip(made.results()) {
            old.replace_with(new);
        }
        self.erase();
        Some(made)
    }

    /// Puts a cast of a value in front of it.
    pub fn cast_before(self, value: Value<'c>, ty: Type<'c>) -> Option<Value<'c>> {
        let made = self.make(&cast(ty), &[value.0], 0)?;
        // SAFETY: both ops are alive, and the new one is nowhere yet.
        unsafe { mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(self.0), self.0, made) };
        Self(made, PhantomData).results().first().copied()
    }

    /// Puts a cast of a value behind it.
    pub fn cast_after(self, value: Value<'c>, ty: Type<'c>) -> Option<Value<'c>> {
        let made = self.make(&cast(ty), &[value.0], 0)?;
        // SAFETY: see `cast_before`.
        unsafe { mlirBlockInsertOwnedOperationAfter(mlirOperationGetBlock(self.0), self.0, made) };
        Self(made, PhantomData).results().first().copied()
    }

    /// Puts a cast of a block's argument at the beginning of the block.
    pub fn cast_argument(argument: Value<'c>, ty: Type<'c>) -> Option<Value<'c>> {
        // SAFETY: the caller has the argument from `block_arguments`; a block that uses it has an op.
        let first = unsafe { mlirBlockGetFirstOperation(mlirBlockArgumentGetOwner(argument.0)) };
        if first.ptr.is_null() {
            return None;
        }
        Self(first, PhantomData).cast_before(argument, ty)
    }

    /// Takes it out. Its results must not be used any more.
    pub fn erase(self) {
        // SAFETY: the op is alive, and not afterwards.
        unsafe { mlirOperationDestroy(self.0) }
    }

    fn make(self, new: &New<'c>, operands: &[MlirValue], regions: usize) -> Option<MlirOperation> {
        // SAFETY: everything that the state is made of is alive, and it copies names; the op that is made has what it says.
        unsafe {
            let context = mlirOperationGetContext(self.0);
            let mut state =
                mlirOperationStateGet(StringRef::new(&new.name).to_raw(), mlirOperationGetLocation(self.0));
            let types: Vec<_> = new.types.iter().map(|ty| ty.to_raw()).collect();
            mlirOperationStateAddResults(&mut state, types.len() as isize, types.as_ptr());
            mlirOperationStateAddOperands(&mut state, operands.len() as isize, operands.as_ptr());
            let named = |(name, attribute): &(String, Attribute<'c>)| MlirNamedAttribute {
                name: mlirIdentifierGet(context, StringRef::new(name).to_raw()),
                attribute: attribute.to_raw(),
            };
            let attributes: Vec<_> = new.attributes.iter().map(named).collect();
            mlirOperationStateAddAttributes(&mut state, attributes.len() as isize, attributes.as_ptr());
            let regions: Vec<_> = (0..regions).map(|_| mlirRegionCreate()).collect();
            mlirOperationStateAddOwnedRegions(&mut state, regions.len() as isize, regions.as_ptr());
            let made = mlirOperationCreate(&mut state);
            (!made.ptr.is_null()).then_some(made)
        }
    }
}

fn cast(ty: Type<'_>) -> New<'_> {
    New { name: CAST.into(), attributes: Vec::new(), types: vec![ty] }
}

/// What stands between values of VHLO and ops of other dialects.
pub const CAST: &str = "builtin.unrealized_conversion_cast";

fn blocks(region: MlirRegion) -> impl Iterator<Item = MlirBlock> {
    let some = |block: MlirBlock| (!block.ptr.is_null()).then_some(block);
    // SAFETY: region and blocks are alive; null is the end.
    let first = unsafe { mlirRegionGetFirstBlock(region) };
    // SAFETY: see above.
    std::iter::successors(some(first), move |&block| some(unsafe { mlirBlockGetNextInRegion(block) }))
}

fn ops(block: MlirBlock) -> impl Iterator<Item = MlirOperation> {
    let some = |op: MlirOperation| (!op.ptr.is_null()).then_some(op);
    // SAFETY: block and ops are alive; null is the end.
    let first = unsafe { mlirBlockGetFirstOperation(block) };
    // SAFETY: see above.
    std::iter::successors(some(first), move |&op| some(unsafe { mlirOperationGetNextInBlock(op) }))
}
