// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Makes the ops of a kernel's body, at the end of the block that is being written.

use crate::framework::PassError;
use crate::ir::{self, Builder};
use crate::rewrite::arguments_of;
use melior::ir::attribute::{FloatAttribute, IntegerAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{
    Attribute, AttributeLike, BlockRef, Location, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike,
};
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
    /// Indices known to be another index and a number.
    sums: RefCell<HashMap<usize, (Value<'c, 'a>, i64)>>,
    /// Numbers that indices are known to be multiples of.
    multiples: RefCell<HashMap<usize, i64>>,
    /// The blocks around the one that is being written, and it: from the outside in.
    scopes: RefCell<Vec<usize>>,
    /// Results of ops without effects, by block and op: what has been computed is not computed again.
    computed: RefCell<HashMap<(usize, Computation), Value<'c, 'a>>>,
}

/// Name, operands, attributes and result type of an op without effects.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Computation {
    name: String,
    operands: Vec<usize>,
    attributes: Vec<(String, usize)>,
    result: usize,
}

/// Whether an op comes to the same result each time and does nothing else.
fn is_pure(name: &str) -> bool {
    name.starts_with("arith.")
        || name.starts_with("math.")
        || matches!(
            name,
            "llvm.getelementptr"
                | "llvm.mlir.addressof"
                | "gpu.thread_id"
                | "gpu.block_id"
                | "gpu.block_dim"
                | "gpu.grid_dim"
        )
}

/// The greatest number that divides both; of 0 and another the other.
pub fn common_divisor(mut left: i64, mut right: i64) -> i64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left.abs()
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
            sums: RefCell::default(),
            multiples: RefCell::default(),
            scopes: RefCell::new(vec![block.to_raw().ptr as usize]),
            computed: RefCell::default(),
        }
    }

    /// What tells the blocks around the place that is being written apart, the innermost first. What was computed in one of
    /// them can be used here.
    pub fn scopes(&self) -> Vec<usize> {
        self.scopes.borrow().iter().rev().copied().collect()
    }

    /// The block that is being written.
    pub fn scope(&self) -> usize {
        self.scopes.borrow().last().copied().unwrap_or_default()
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
        if !is_pure(name) {
            return self.build.insert(name, operands, attributes, result, self.location());
        }
        let computation = Computation {
            name: name.into(),
            operands: operands.iter().map(|operand| ir::key(*operand)).collect(),
            attributes: attributes
                .iter()
                .map(|(name, attribute)| ((*name).into(), attribute.to_raw().ptr as usize))
                .collect(),
            result: result.to_raw().ptr as usize,
        };
        let mut place = (0, computation);
        for scope in self.scopes() {
            place.0 = scope;
            if let Some(value) = self.computed.borrow().get(&place) {
                return *value;
            }
        }
        place.0 = self.scope();
        let value = self.build.insert(name, operands, attributes, result, self.location());
        self.computed.borrow_mut().insert(place, value);
        value
    }

    /// An op without results.
    pub fn effect(&self, name: &str, operands: &[Value<'c, 'a>]) {
        self.build.terminator(name, operands, self.location());
    }

    /// An op with attributes and without results.
    pub fn effect_with(&self, name: &str, operands: &[Value<'c, 'a>], attributes: &[(&str, Attribute<'c>)]) {
        self.build.op_with(name, operands, attributes, &[], self.location());
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

    /// An index as the sum of one that is not known, if any of it is not, and a number.
    pub fn parts(&self, value: Value<'c, 'a>) -> (Option<Value<'c, 'a>>, i64) {
        if let Some(known) = self.known(value) {
            return (None, known);
        }
        match self.sums.borrow().get(&ir::key(value)) {
            Some(&(base, number)) => (Some(base), number),
            None => (Some(value), 0),
        }
    }

    /// The inverse of [`parts`](Self::parts).
    pub fn sum(&self, base: Option<Value<'c, 'a>>, number: i64) -> Value<'c, 'a> {
        let Some(base) = base else { return self.index(number) };
        if number == 0 {
            return base;
        }
        let sum = self.binary("arith.addi", base, self.index(number));
        self.sums.borrow_mut().insert(ir::key(sum), (base, number));
        sum
    }

    /// A number that an index is a multiple of; 0 for 0.
    pub fn multiple(&self, value: Value<'c, 'a>) -> i64 {
        match self.parts(value) {
            (None, known) => known.abs(),
            (Some(base), number) => {
                let known = self.multiples.borrow().get(&ir::key(base)).copied();
                common_divisor(known.unwrap_or(1), number)
            }
        }
    }

    /// Notes that an index is a multiple of a number.
    pub fn assume_multiple(&self, value: Value<'c, 'a>, number: i64) {
        if let (Some(base), 0) = self.parts(value) {
            let mut multiples = self.multiples.borrow_mut();
            let known = multiples.entry(ir::key(base)).or_insert(1);
            *known = (*known).max(number);
        }
    }

    /// Sum of indices.
    pub fn add(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        let ((left, left_number), (right, right_number)) = (self.parts(left), self.parts(right));
        let base = match (left, right) {
            (Some(left), Some(right)) => {
                let multiple = common_divisor(self.multiple(left), self.multiple(right));
                let sum = self.binary("arith.addi", left, right);
                self.assume_multiple(sum, multiple);
                Some(sum)
            }
            (one, other) => one.or(other),
        };
        self.sum(base, left_number.wrapping_add(right_number))
    }

    /// Difference of indices.
    pub fn sub(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        let ((left, left_number), (right, right_number)) = (self.parts(left), self.parts(right));
        let base = match (left, right) {
            (left, None) => left,
            (Some(left), Some(right)) if left == right => None,
            (left, Some(right)) => {
                let multiple =
                    common_divisor(left.map_or(0, |left| self.multiple(left)), self.multiple(right));
                let left = left.unwrap_or_else(|| self.index(0));
                let difference = self.binary("arith.subi", left, right);
                self.assume_multiple(difference, multiple);
                Some(difference)
            }
        };
        self.sum(base, left_number.wrapping_sub(right_number))
    }

    /// Product of indices.
    pub fn mul(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        let (value, number) = match (self.known(left), self.known(right)) {
            (_, Some(number)) => (left, number),
            (Some(number), _) => (right, number),
            (None, None) => return self.binary("arith.muli", left, right),
        };
        let (base, rest) = self.parts(value);
        let base = match (base, number) {
            (_, 0) => None,
            (base, 1) => base,
            (None, _) => None,
            (Some(base), number) => {
                let multiple = self.multiple(base).saturating_mul(number.abs());
                let product = self.binary("arith.muli", base, self.index(number));
                self.assume_multiple(product, multiple);
                Some(product)
            }
        };
        self.sum(base, rest.wrapping_mul(number))
    }

    /// What is left of an index when a number that it cannot reach by steps of what its other part is a multiple of is split
    /// off: `base + number` with `0 <= number < d` where `d` divides both `base` and `by`.
    fn within(&self, value: Value<'c, 'a>, by: i64) -> Option<(Value<'c, 'a>, i64, i64)> {
        let (Some(base), number) = self.parts(value) else { return None };
        let divisor = common_divisor(self.multiple(base), by);
        (divisor > 1 && (0..divisor).contains(&number)).then_some((base, number, divisor))
    }

    /// Quotient of an index by a positive number; neither is negative.
    pub fn div(&self, left: Value<'c, 'a>, right: i64) -> Value<'c, 'a> {
        if let Some(left) = self.known(left) {
            return self.index(left / right);
        }
        if right == 1 {
            return left;
        }
        let (left, multiple) = match self.within(left, right) {
            Some((base, _, _)) => (base, self.multiple(base)),
            None => (left, 1),
        };
        let quotient = self.binary("arith.divui", left, self.index(right));
        if multiple % right == 0 {
            self.assume_multiple(quotient, multiple / right);
        }
        quotient
    }

    /// Remainder of an index by a positive number; neither is negative.
    pub fn rem(&self, left: Value<'c, 'a>, right: i64) -> Value<'c, 'a> {
        if let Some(left) = self.known(left) {
            return self.index(left % right);
        }
        if right == 1 {
            return self.index(0);
        }
        let (left, number, divisor) = self.within(left, right).unwrap_or((left, 0, 1));
        if divisor == right {
            return self.index(number);
        }
        let remainder = self.binary("arith.remui", left, self.index(right));
        self.assume_multiple(remainder, divisor);
        self.sum(Some(remainder), number)
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
    ///
    /// # Errors
    /// What either side fails with.
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
    ///
    /// # Errors
    /// What `then` fails with.
    pub fn if_then(
        &self,
        condition: Value<'c, 'a>,
        then: impl FnOnce() -> Result<(), PassError<'c>>,
    ) -> Result<(), PassError<'c>> {
        self.if_else(condition, &[], || then().map(|()| vec![]), || Ok(vec![])).map(|_| ())
    }

    /// A loop from `from` to below `to` by `step` (indices) over carried values: `body` is handed the counter and those, and
    /// comes to the next ones.
    ///
    /// # Errors
    /// What `body` fails with.
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
    ///
    /// # Errors
    /// What `condition` or `body` fails with.
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
        self.scopes.borrow_mut().push(block.to_raw().ptr as usize);
        self.go_to(block);
        arguments_of(block).collect()
    }

    fn leave(&self, outer: BlockRef<'c, 'a>) {
        self.scopes.borrow_mut().pop();
        self.go_to(outer);
    }

    /// Goes on writing at the end of a block.
    pub fn go_to(&self, block: BlockRef<'c, 'a>) {
        self.block.set(block);
        self.build.set_insertion_point_to_end(block);
    }
}
