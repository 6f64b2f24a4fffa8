// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Makes the ops of a kernel's body, at the end of the block that is being written.

use crate::framework::PassError;
use crate::ir::{self, Builder};
use melior::ir::attribute::{FloatAttribute, IntegerAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{Attribute, BlockRef, Location, OperationRef, RegionLike, Type, Value, ValueLike};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// One element of a tensor, in registers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'c, 'a> {
    /// An integer, a boolean (i1) or a float, of a signless type of its width.
    Real(Value<'c, 'a>),
    /// Real and imaginary part.
    Complex(Value<'c, 'a>, Value<'c, 'a>),
}

impl<'c, 'a> Scalar<'c, 'a> {
    /// The value of what is not complex; the real part of what is.
    pub fn real(self) -> Value<'c, 'a> {
        match self {
            Self::Real(value) | Self::Complex(value, _) => value,
        }
    }

    /// All values that it is made of.
    pub fn parts(self) -> Vec<Value<'c, 'a>> {
        match self {
            Self::Real(value) => vec![value],
            Self::Complex(real, imaginary) => vec![real, imaginary],
        }
    }

    /// The inverse of [`parts`](Self::parts).
    pub fn from_parts(parts: &[Value<'c, 'a>]) -> Self {
        match *parts {
            [real, imaginary] => Self::Complex(real, imaginary),
            _ => Self::Real(parts[0]),
        }
    }
}

/// Predicates of `arith.cmpi`, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum Int {
    /// Equal.
    Eq = 0,
    /// Not equal.
    Ne = 1,
    /// Signed less.
    Slt = 2,
    /// Signed less or equal.
    Sle = 3,
    /// Signed greater.
    Sgt = 4,
    /// Signed greater or equal.
    Sge = 5,
    /// Unsigned less.
    Ult = 6,
    /// Unsigned less or equal.
    Ule = 7,
    /// Unsigned greater.
    Ugt = 8,
    /// Unsigned greater or equal.
    Uge = 9,
}

/// Predicates of `arith.cmpf`, by their numbers: O for ordered (false with a NaN), U for unordered (true with one).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i64)]
pub enum Float {
    /// Equal.
    Oeq = 1,
    /// Greater.
    Ogt = 2,
    /// Greater or equal.
    Oge = 3,
    /// Less.
    Olt = 4,
    /// Less or equal.
    Ole = 5,
    /// Not a NaN among them.
    Ord = 7,
    /// Not equal, or a NaN.
    Une = 13,
    /// A NaN among them.
    Uno = 14,
}

/// Writes code: ops go to the end of one block, then of those nested in it.
pub struct Code<'c, 'a> {
    build: Builder<'c, 'a>,
    block: Cell<BlockRef<'c, 'a>>,
    location: Cell<Location<'c>>,
    /// What index arithmetic is done in: i32 where it fits, else i64.
    index: Type<'c>,
    /// Integers known while the code is being written.
    known: RefCell<HashMap<usize, i64>>,
}

impl<'c: 'a, 'a> Code<'c, 'a> {
    /// Writes to the end of `block`, which is inside of `root`.
    pub fn new(
        root: OperationRef<'c, 'a>,
        block: BlockRef<'c, 'a>,
        location: Location<'c>,
        index_bits: u32,
    ) -> Self {
        let build = Builder::new(root);
        build.set_insertion_point_to_end(block);
        let index = IntegerType::new(build.context(), index_bits).into();
        Self {
            build,
            block: Cell::new(block),
            location: Cell::new(location),
            index,
            known: RefCell::default(),
        }
    }

    /// What ops are made with.
    pub fn builder(&self) -> &Builder<'c, 'a> {
        &self.build
    }

    /// The context everything is made in.
    pub fn context(&self) -> &'c melior::Context {
        self.build.context()
    }

    /// Where the ops that are made next come from.
    pub fn location(&self) -> Location<'c> {
        self.location.get()
    }

    /// The ops that are made next come from there.
    pub fn set_location(&self, location: Location<'c>) {
        self.location.set(location);
    }

    /// The type of index arithmetic.
    pub fn index_type(&self) -> Type<'c> {
        self.index
    }

    /// The signless integer type of that width.
    pub fn int(&self, bits: u32) -> Type<'c> {
        IntegerType::new(self.context(), bits).into()
    }

    /// An op with one result.
    pub fn op(&self, name: &str, operands: &[Value<'c, 'a>], result: Type<'c>) -> Value<'c, 'a> {
        self.op_with(name, operands, &[], result)
    }

    /// An op with attributes and one result.
    pub fn op_with(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        attributes: &[(&str, Attribute<'c>)],
        result: Type<'c>,
    ) -> Value<'c, 'a> {
        self.build.insert(name, operands, attributes, result, self.location())
    }

    /// An op without results.
    pub fn effect(&self, name: &str, operands: &[Value<'c, 'a>]) {
        self.build.terminator(name, operands, self.location());
    }

    /// An attribute of a 64-bit integer.
    pub fn i64_attribute(&self, value: i64) -> Attribute<'c> {
        IntegerAttribute::new(self.int(64), value).into()
    }

    /// A constant of an integer type.
    pub fn integer(&self, value: i64, ty: Type<'c>) -> Value<'c, 'a> {
        let result =
            self.op_with("arith.constant", &[], &[("value", IntegerAttribute::new(ty, value).into())], ty);
        self.known.borrow_mut().insert(ir::key(result), value);
        result
    }

    /// A constant of a float type.
    pub fn float(&self, value: f64, ty: Type<'c>) -> Value<'c, 'a> {
        let attribute = FloatAttribute::new(self.context(), ty, value).into();
        self.op_with("arith.constant", &[], &[("value", attribute)], ty)
    }

    /// A constant for index arithmetic.
    pub fn index(&self, value: i64) -> Value<'c, 'a> {
        self.integer(value, self.index)
    }

    /// The integer that a value is known to be.
    pub fn known(&self, value: Value<'c, 'a>) -> Option<i64> {
        self.known.borrow().get(&ir::key(value)).copied()
    }

    /// An op on two operands of one type, which is the result's as well: `arith.addi` and the like.
    pub fn binary(&self, name: &str, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op(name, &[left, right], left.r#type())
    }

    /// An op on one operand with a result of its type: `math.exp` and the like.
    pub fn unary(&self, name: &str, operand: Value<'c, 'a>) -> Value<'c, 'a> {
        self.op(name, &[operand], operand.r#type())
    }

    /// Sum of indices.
    pub fn add(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        match (self.known(left), self.known(right)) {
            (Some(left), Some(right)) => self.index(left + right),
            (Some(0), _) => right,
            (_, Some(0)) => left,
            _ => self.binary("arith.addi", left, right),
        }
    }

    /// Difference of indices.
    pub fn sub(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        match (self.known(left), self.known(right)) {
            (Some(left), Some(right)) => self.index(left - right),
            (_, Some(0)) => left,
            _ => self.binary("arith.subi", left, right),
        }
    }

    /// Product of indices.
    pub fn mul(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        match (self.known(left), self.known(right)) {
            (Some(left), Some(right)) => self.index(left * right),
            (Some(0), _) | (_, Some(0)) => self.index(0),
            (Some(1), _) => right,
            (_, Some(1)) => left,
            _ => self.binary("arith.muli", left, right),
        }
    }

    /// Quotient of an index by a positive number; neither is negative.
    pub fn div(&self, left: Value<'c, 'a>, right: i64) -> Value<'c, 'a> {
        match self.known(left) {
            Some(left) => self.index(left / right),
            None if right == 1 => left,
            None => self.binary("arith.divui", left, self.index(right)),
        }
    }

    /// Remainder of an index by a positive number; neither is negative.
    pub fn rem(&self, left: Value<'c, 'a>, right: i64) -> Value<'c, 'a> {
        match self.known(left) {
            Some(left) => self.index(left % right),
            None if right == 1 => self.index(0),
            None => self.binary("arith.remui", left, self.index(right)),
        }
    }

    /// Compares integers.
    pub fn compare(&self, predicate: Int, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        let attribute = self.i64_attribute(predicate as i64);
        self.op_with("arith.cmpi", &[left, right], &[("predicate", attribute)], self.int(1))
    }

    /// Compares floats.
    pub fn compare_floats(
        &self,
        predicate: Float,
        left: Value<'c, 'a>,
        right: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let attribute = self.i64_attribute(predicate as i64);
        self.op_with("arith.cmpf", &[left, right], &[("predicate", attribute)], self.int(1))
    }

    /// One of two values.
    pub fn select(
        &self,
        condition: Value<'c, 'a>,
        on_true: Value<'c, 'a>,
        on_false: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        self.op("arith.select", &[condition, on_true, on_false], on_true.r#type())
    }

    /// One of two scalars.
    pub fn select_scalar(
        &self,
        condition: Value<'c, 'a>,
        on_true: Scalar<'c, 'a>,
        on_false: Scalar<'c, 'a>,
    ) -> Scalar<'c, 'a> {
        let parts: Vec<_> = on_true
            .parts()
            .into_iter()
            .zip(on_false.parts())
            .map(|(on_true, on_false)| self.select(condition, on_true, on_false))
            .collect();
        Scalar::from_parts(&parts)
    }

    /// An integer in another width, its sign kept or not.
    pub fn resize(&self, value: Value<'c, 'a>, ty: Type<'c>, signed: bool) -> Value<'c, 'a> {
        let width = |ty: Type<'c>| IntegerType::try_from(ty).map_or(64, |ty| ty.width());
        let (from, to) = (width(value.r#type()), width(ty));
        if let (Some(known), true) = (self.known(value), from > 1 && to > from && signed) {
            return self.integer(known, ty);
        }
        match from.cmp(&to) {
            std::cmp::Ordering::Equal => value,
            std::cmp::Ordering::Greater => self.op("arith.trunci", &[value], ty),
            std::cmp::Ordering::Less if signed => self.op("arith.extsi", &[value], ty),
            std::cmp::Ordering::Less => self.op("arith.extui", &[value], ty),
        }
    }

    /// `gpu.thread_id`, `gpu.block_id`, `gpu.block_dim` or `gpu.grid_dim` along x, as an index.
    pub fn gpu(&self, name: &str) -> Value<'c, 'a> {
        let dimension = Attribute::parse(self.context(), "#gpu<dim x>").expect("the gpu dialect is loaded");
        let value = self.op_with(name, &[], &[("dimension", dimension)], Type::index(self.context()));
        self.op("arith.index_cast", &[value], self.index)
    }

    /// A branch; both sides come to as many values of the types given.
    pub fn if_else(
        &self,
        condition: Value<'c, 'a>,
        types: &[Type<'c>],
        on_true: impl FnOnce() -> Result<Vec<Value<'c, 'a>>, PassError<'c>>,
        on_false: impl FnOnce() -> Result<Vec<Value<'c, 'a>>, PassError<'c>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let op = self.build.op_with_blocks("scf.if", &[condition], types, &[&[], &[]], self.location());
        self.inside(op, 0, |_| on_true())?;
        self.inside(op, 1, |_| on_false())?;
        Ok(op.results().map(Value::from).collect())
    }

    /// A branch that has only effects.
    pub fn if_then(
        &self,
        condition: Value<'c, 'a>,
        then: impl FnOnce() -> Result<(), PassError<'c>>,
    ) -> Result<(), PassError<'c>> {
        self.if_else(condition, &[], || then().map(|()| vec![]), || Ok(vec![])).map(|_| ())
    }

    /// A loop from `from` to below `to` by `step` (indices) over carried values: `body` is handed the counter and those, and
    /// comes to the next ones.
    pub fn for_loop(
        &self,
        from: Value<'c, 'a>,
        to: Value<'c, 'a>,
        step: Value<'c, 'a>,
        carried: &[Value<'c, 'a>],
        body: impl FnOnce(Value<'c, 'a>, &[Value<'c, 'a>]) -> Result<Vec<Value<'c, 'a>>, PassError<'c>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let types: Vec<Type<'c>> = carried.iter().map(|value| value.r#type()).collect();
        let mut operands = vec![from, to, step];
        operands.extend(carried);
        let mut arguments = vec![from.r#type()];
        arguments.extend(&types);
        let op = self.build.op_with_blocks("scf.for", &operands, &types, &[&arguments], self.location());
        self.inside(op, 0, |arguments| body(arguments[0], &arguments[1..]))?;
        Ok(op.results().map(Value::from).collect())
    }

    /// A loop that goes on while `condition` comes to true (an i1) of the carried values.
    pub fn while_loop(
        &self,
        carried: &[Value<'c, 'a>],
        condition: impl FnOnce(&[Value<'c, 'a>]) -> Result<Value<'c, 'a>, PassError<'c>>,
        body: impl FnOnce(&[Value<'c, 'a>]) -> Result<Vec<Value<'c, 'a>>, PassError<'c>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let types: Vec<Type<'c>> = carried.iter().map(|value| value.r#type()).collect();
        let op = self.build.op_with_blocks("scf.while", carried, &types, &[&types, &types], self.location());
        let outer = self.block.get();
        let before = self.enter(op, 0);
        let goes_on = condition(&before);
        if let Ok(goes_on) = goes_on {
            let mut operands = vec![goes_on];
            operands.extend(&before);
            self.effect("scf.condition", &operands);
        }
        self.leave(outer);
        goes_on?;
        self.inside(op, 1, body)?;
        Ok(op.results().map(Value::from).collect())
    }

    /// Writes the one block of a region of an scf op, up to its `scf.yield`.
    fn inside(
        &self,
        op: OperationRef<'c, 'a>,
        region: usize,
        body: impl FnOnce(&[Value<'c, 'a>]) -> Result<Vec<Value<'c, 'a>>, PassError<'c>>,
    ) -> Result<(), PassError<'c>> {
        let outer = self.block.get();
        let arguments = self.enter(op, region);
        let results = body(&arguments);
        if let Ok(results) = &results {
            self.effect("scf.yield", results);
        }
        self.leave(outer);
        results.map(|_| ())
    }

    fn enter(&self, op: OperationRef<'c, 'a>, region: usize) -> Vec<Value<'c, 'a>> {
        let block = op.region(region).ok().and_then(|region| region.first_block()).expect("made with blocks");
        self.leave(block);
        (0..block.argument_count()).filter_map(|index| block.argument(index).ok()).map(Value::from).collect()
    }

    fn leave(&self, block: BlockRef<'c, 'a>) {
        self.block.set(block);
        self.build.set_insertion_point_to_end(block);
    }
}
