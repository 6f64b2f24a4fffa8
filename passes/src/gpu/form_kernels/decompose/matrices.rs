// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Ops on batches of matrices, and of their rows and columns, for the factorizations that become loops.
//!
//! A shape is what follows the dimensions of the batch: `[m, n]` is a matrix for each, `[]` a number for each.

use crate::framework::PassError;
use crate::ir::{self, Builder};
use melior::ir::attribute::{BoolAttribute, IntegerAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{BlockRef, Location, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::dense;
use slimhlo_dialect::ffi;
use slimhlo_dialect::quant::Number;
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};
use slimhlo_dialect::types::Tensor;

/// Makes ops on batches of matrices of one element type.
pub struct Matrices<'b, 'c, 'a> {
    pub builder: &'b Builder<'c, 'a>,
    pub location: Location<'c>,
    batch: Vec<i64>,
    element: Type<'c>,
    /// What a complex element has two of, else the element.
    part: Type<'c>,
    pub is_complex: bool,
    /// Numbers of rows and columns.
    pub index: Type<'c>,
}

impl<'b, 'c: 'a, 'a> Matrices<'b, 'c, 'a> {
    /// For the matrices in a value, and how many rows and columns each has; `None` if they are not of plain floats or complex numbers.
    pub fn of(
        builder: &'b Builder<'c, 'a>,
        value: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Option<(Self, i64, i64)> {
        let tensor = Tensor::new(value.r#type())?;
        let (batch, &[rows, columns]) = tensor.shape.split_at_checked(tensor.rank().checked_sub(2)?)? else {
            return None;
        };
        let (part, is_complex) = match Number::of(tensor.element) {
            Number::Complex { part } => (part, true),
            _ if tensor.element.is_float() => (tensor.element, false),
            _ => return None,
        };
        let width = if rows.max(columns) < i64::from(i32::MAX) { 32 } else { 64 };
        let index: Type<'c> = IntegerType::new(builder.context(), width).into();
        let batch = batch.to_vec();
        let this = Self { builder, location, batch, element: tensor.element, part, is_complex, index };
        Some((this, rows, columns))
    }

    /// For lists of integers in place of matrices.
    pub fn of_integers(
        builder: &'b Builder<'c, 'a>,
        batch: &[i64],
        element: Type<'c>,
        location: Location<'c>,
    ) -> Self {
        let batch = batch.to_vec();
        Self { builder, location, batch, element, part: element, is_complex: false, index: element }
    }

    /// How many rows a matrix has.
    pub fn rows(&self, matrix: Value<'c, 'a>) -> i64 {
        self.shape(matrix)[0]
    }

    /// How many columns a matrix has.
    pub fn columns(&self, matrix: Value<'c, 'a>) -> i64 {
        self.shape(matrix)[1]
    }

    /// The type of such a value for each of the batch.
    pub fn ty(&self, shape: &[i64], element: Type<'c>) -> Type<'c> {
        Tensor::get(&[&self.batch[..], shape].concat(), element, None)
    }

    /// The type of one such value for each of the batch, of the matrices' elements.
    pub fn of_elements(&self, shape: &[i64]) -> Type<'c> {
        self.ty(shape, self.element)
    }

    /// The shape of a value, the batch left out.
    fn shape(&self, value: Value<'c, 'a>) -> Vec<i64> {
        ffi::shape(value.r#type()).map_or_else(Vec::new, |shape| shape[self.batch.len()..].to_vec())
    }

    /// Operands of one type.
    pub fn op(&self, name: &str, operands: &[Value<'c, 'a>]) -> Value<'c, 'a> {
        self.builder.insert(name, operands, &[], operands[0].r#type(), self.location)
    }

    /// A number of an index's type.
    pub fn count(&self, value: i64) -> Value<'c, 'a> {
        self.builder.number(value as f64, self.index, self.location)
    }

    /// As many of a number as `like` has elements, in its type; for complex ones it is the real part.
    pub fn fill(&self, value: f64, like: Value<'c, 'a>) -> Value<'c, 'a> {
        let element = ir::element_of(like.r#type());
        let of = |element: Type<'c>, ty: Type<'c>| {
            let scalar = self.builder.number(value, element, self.location);
            self.builder.broadcast_scalar(scalar, ty, self.location)
        };
        match Number::of(element) {
            Number::Complex { part } => {
                let shape = ffi::shape(like.r#type()).unwrap_or_default();
                let real = of(part, Tensor::get(shape, part, None));
                self.complex(real, None)
            }
            _ => of(element, like.r#type()),
        }
    }

    /// A constant without a bit set.
    ///
    /// # Errors
    /// Elements of the type are not numbers.
    pub fn zeros(&self, ty: Type<'c>) -> Result<Value<'c, 'a>, PassError<'c>> {
        dense::element_bytes(ir::element_of(ty))
            .and_then(|bytes| self.builder.splat_of_bytes(&vec![0; bytes], ty, self.location))
            .ok_or_else(|| PassError::new(format!("there is no zero in {ty}")))
    }

    /// The number of the row (0) or column (1) of each element.
    pub fn numbers(&self, along: usize, shape: &[i64]) -> Value<'c, 'a> {
        self.builder.iota(self.ty(shape, self.index), self.batch.len() + along, self.location)
    }

    /// Whether each element of a shape is in the row and column of one number.
    pub fn on_diagonal(&self, shape: &[i64]) -> Value<'c, 'a> {
        self.compare(ComparisonDirection::Eq, self.numbers(0, shape), self.numbers(1, shape))
    }

    /// One value for all of the batch, in each element of a shape.
    pub fn everywhere(&self, scalar: Value<'c, 'a>, shape: &[i64]) -> Value<'c, 'a> {
        let ty = self.ty(shape, ir::element_of(scalar.r#type()));
        self.builder.broadcast_scalar(scalar, ty, self.location)
    }

    /// A value for each of the batch that lies along some dimensions of a shape, repeated along the others.
    pub fn spread(&self, value: Value<'c, 'a>, along: &[usize], shape: &[i64]) -> Value<'c, 'a> {
        let count = self.batch.len();
        let dimensions: Vec<usize> = (0..count).chain(along.iter().map(|dim| count + dim)).collect();
        let ty = self.ty(shape, ir::element_of(value.r#type()));
        self.builder.broadcast(value, &dimensions, ty, self.location)
    }

    pub fn compare(
        &self,
        direction: ComparisonDirection,
        left: Value<'c, 'a>,
        right: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let is_float = ir::element_of(left.r#type()).is_float();
        let kind = if is_float { ComparisonType::Float } else { ComparisonType::Signed };
        self.builder.compare_as(direction, kind, left, right, self.location)
    }

    pub fn select(&self, condition: Value<'c, 'a>, yes: Value<'c, 'a>, no: Value<'c, 'a>) -> Value<'c, 'a> {
        self.builder.select(condition, yes, no, self.location)
    }

    /// Real parts, and imaginary ones where there are such.
    pub fn parts(&self, value: Value<'c, 'a>) -> (Value<'c, 'a>, Option<Value<'c, 'a>>) {
        if !self.is_complex {
            return (value, None);
        }
        let ty = self.ty(&self.shape(value), self.part);
        let part = |name: &str| self.builder.insert(name, &[value], &[], ty, self.location);
        (part("stablehlo.real"), Some(part("stablehlo.imag")))
    }

    /// Elements of their real parts, and imaginary ones, by default zeros.
    pub fn complex(&self, real: Value<'c, 'a>, imaginary: Option<Value<'c, 'a>>) -> Value<'c, 'a> {
        if !self.is_complex {
            return real;
        }
        let imaginary = imaginary.unwrap_or_else(|| self.fill(0.0, real));
        let shape = ffi::shape(real.r#type()).unwrap_or_default();
        let ty = Tensor::get(shape, self.element, None);
        self.builder.insert("stablehlo.complex", &[real, imaginary], &[], ty, self.location)
    }

    pub fn conjugate(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        match self.parts(value) {
            (real, Some(imaginary)) => {
                let negative = self.op("stablehlo.negate", &[imaginary]);
                self.complex(real, Some(negative))
            }
            _ => value,
        }
    }

    /// What `name` makes of all elements along a dimension, beginning with `start`.
    ///
    /// # Errors
    /// Never, as the op made has a region.
    pub fn reduce(
        &self,
        name: &str,
        value: Value<'c, 'a>,
        along: usize,
        start: f64,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (builder, location) = (self.builder, self.location);
        let element = ir::element_of(value.r#type());
        let start = match Number::of(element) {
            Number::Complex { part } => self.complex(builder.number(start, part, location), None),
            _ => builder.number(start, element, location),
        };
        let mut shape = self.shape(value);
        shape.remove(along);
        let dim = (self.batch.len() + along) as i64;
        Ok(builder.reduce(name, [value, start], &[dim], self.ty(&shape, element), location))
    }

    /// What the elements of a matrix have as type, or their parts where they are complex.
    pub fn part(&self) -> Type<'c> {
        self.part
    }

    /// The size of each element.
    pub fn size(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let ty = self.ty(&self.shape(value), self.part);
        self.builder.insert("stablehlo.abs", &[value], &[], ty, self.location)
    }

    /// Elements along a dimension the other way round.
    pub fn reverse(&self, value: Value<'c, 'a>, along: usize) -> Value<'c, 'a> {
        let dimensions = self.builder.i64_array(&[(self.batch.len() + along) as i64]);
        self.builder.insert(
            "stablehlo.reverse",
            &[value],
            &[("dimensions", dimensions)],
            value.r#type(),
            self.location,
        )
    }

    /// So many rows (0) or columns (1) from one on.
    pub fn part_along(&self, value: Value<'c, 'a>, along: usize, first: i64, size: i64) -> Value<'c, 'a> {
        let mut shape = self.shape(value);
        if shape[along] == size {
            return value;
        }
        shape[along] = size;
        let mut starts = vec![0; self.batch.len() + shape.len()];
        starts[self.batch.len() + along] = first;
        let ty = self.ty(&shape, ir::element_of(value.r#type()));
        self.builder.slice(value, &starts, ty, self.location)
    }

    /// Values side by side.
    pub fn joined(&self, values: &[Value<'c, 'a>], along: usize) -> Value<'c, 'a> {
        self.builder.concatenate(values, self.batch.len() + along, self.location)
    }

    /// With zeros behind the last row and column, as many as there have to be.
    ///
    /// # Errors
    /// Elements are not numbers.
    pub fn widened(&self, value: Value<'c, 'a>, shape: &[i64]) -> Result<Value<'c, 'a>, PassError<'c>> {
        let old = self.shape(value);
        if old == shape {
            return Ok(value);
        }
        let batch = vec![0; self.batch.len()];
        let more = shape.iter().zip(&old).map(|(new, old)| new - old);
        let high: Vec<i64> = batch.iter().copied().chain(more).collect();
        let none = vec![0; high.len()];
        let zero = self.zeros(Tensor::get(&[], self.element, None))?;
        let ty = self.of_elements(shape);
        Ok(self.builder.pad(value, zero, [&none, &high, &none], ty, self.location))
    }

    /// Columns as rows, of the complex conjugates.
    pub fn adjoint(&self, matrix: Value<'c, 'a>) -> Value<'c, 'a> {
        let count = self.batch.len() as i64;
        let order: Vec<i64> = (0..count).chain([count + 1, count]).collect();
        let ty = self.of_elements(&[self.columns(matrix), self.rows(matrix)]);
        self.conjugate(self.builder.transpose(matrix, &order, ty, self.location))
    }

    /// Whether something holds for any of the batch.
    ///
    /// # Errors
    /// Never, as the op made has a region.
    pub fn any(&self, value: Value<'c, 'a>) -> Result<Value<'c, 'a>, PassError<'c>> {
        let scalar = Tensor::get(&[], ir::element_of(value.r#type()), None);
        if self.batch.is_empty() {
            return Ok(value);
        }
        let dims: Vec<i64> = (0..self.batch.len() as i64).collect();
        let operands = [value, self.builder.zeros(scalar, self.location)];
        Ok(self.builder.reduce("stablehlo.or", operands, &dims, scalar, self.location))
    }

    /// Values along the last dimension in the order of their keys, or the keys themselves; equals stay in theirs.
    ///
    /// # Errors
    /// Never, as the op made has a region.
    pub fn sorted(
        &self,
        keys: Value<'c, 'a>,
        values: Option<Value<'c, 'a>>,
        direction: ComparisonDirection,
    ) -> Result<Value<'c, 'a>, PassError<'c>> {
        let (builder, location) = (self.builder, self.location);
        let operands: Vec<_> = [Some(keys), values].into_iter().flatten().collect();
        let types: Vec<_> = operands.iter().map(|value| value.r#type()).collect();
        let last = ffi::shape(types[0]).map_or(0, <[i64]>::len) as i64 - 1;
        let attributes = [
            ("dimension", IntegerAttribute::new(builder.i64_type(), last).into()),
            ("is_stable", BoolAttribute::new(builder.context(), true).into()),
        ];
        let scalars: Vec<_> =
            types.iter().flat_map(|ty| [Tensor::get(&[], ir::element_of(*ty), None); 2]).collect();
        let regions: [&[Type<'c>]; 1] = [&scalars];
        let sort =
            builder.op_with_regions("stablehlo.sort", &operands, &attributes, &types, &regions, location);
        let block = block_of(sort, 0)?;
        builder.set_insertion_point_to_end(block);
        let (left, right) = (block.argument(0)?.into(), block.argument(1)?.into());
        let comes_first = self.compare(direction, left, right);
        builder.terminator("stablehlo.return", &[comes_first], location);
        builder.set_insertion_point_after(sort);
        Ok(sort.result(operands.len() - 1)?.into())
    }

    fn starts(&self, starts: &[Value<'c, 'a>]) -> Vec<Value<'c, 'a>> {
        let zero = self.count(0);
        self.batch.iter().map(|_| zero).chain(starts.iter().copied()).collect()
    }

    /// A column (1) or row (0) of each matrix.
    pub fn line(&self, value: Value<'c, 'a>, along: usize, at: Value<'c, 'a>) -> Value<'c, 'a> {
        let mut sizes = self.shape(value);
        let element = ir::element_of(value.r#type());
        let zero = self.count(0);
        let starts: Vec<_> = (0..sizes.len()).map(|dim| if dim == along { at } else { zero }).collect();
        sizes[along] = 1;
        let ty = self.ty(&sizes, element);
        let slice = self.builder.dynamic_slice(value, &self.starts(&starts), ty, self.location);
        sizes.remove(along);
        self.builder.reshape(slice, self.ty(&sizes, element), self.location)
    }

    /// Writes a number for each of the batch at a place of each list.
    pub fn put(&self, list: Value<'c, 'a>, value: Value<'c, 'a>, at: Value<'c, 'a>) -> Value<'c, 'a> {
        let ty = self.ty(&[1], ir::element_of(value.r#type()));
        let update = self.builder.reshape(value, ty, self.location);
        self.builder.dynamic_update_slice(list, update, &self.starts(&[at]), self.location)
    }

    /// A loop of so many steps over a state.
    ///
    /// # Errors
    /// What `body` returns.
    pub fn steps(
        &self,
        steps: i64,
        state: &[Value<'c, 'a>],
        body: impl FnOnce(Value<'c, 'a>, &[Value<'c, 'a>]) -> Result<Vec<Value<'c, 'a>>, PassError<'c>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let is_before = |state: &[Value<'c, 'a>]| {
            self.builder.compare(ComparisonDirection::Lt, state[0], self.count(steps), self.location)
        };
        let state = [&[self.count(0)], state].concat();
        let results = self.looped(&state, is_before, |state| {
            let next = self.op("stablehlo.add", &[state[0], self.count(1)]);
            Ok([vec![next], body(state[0], &state[1..])?].concat())
        })?;
        Ok(results[1..].to_vec())
    }

    /// A loop of at most so many rounds over a state, as long as the body says, and only if `goes_on` does.
    ///
    /// # Errors
    /// What `body` returns.
    pub fn rounds(
        &self,
        most: i64,
        goes_on: Value<'c, 'a>,
        state: &[Value<'c, 'a>],
        body: impl FnOnce(&[Value<'c, 'a>]) -> Result<(Value<'c, 'a>, Vec<Value<'c, 'a>>), PassError<'c>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let may_go_on = |state: &[Value<'c, 'a>]| {
            let is_before =
                self.builder.compare(ComparisonDirection::Lt, state[0], self.count(most), self.location);
            self.op("stablehlo.and", &[state[1], is_before])
        };
        let state = [&[self.count(0), goes_on], state].concat();
        let results = self.looped(&state, may_go_on, |state| {
            let next = self.op("stablehlo.add", &[state[0], self.count(1)]);
            let (goes_on, results) = body(&state[2..])?;
            Ok([vec![next, goes_on], results].concat())
        })?;
        Ok(results[2..].to_vec())
    }

    /// A loop over a state.
    fn looped(
        &self,
        state: &[Value<'c, 'a>],
        condition: impl FnOnce(&[Value<'c, 'a>]) -> Value<'c, 'a>,
        body: impl FnOnce(&[Value<'c, 'a>]) -> Result<Vec<Value<'c, 'a>>, PassError<'c>>,
    ) -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
        let (builder, location) = (self.builder, self.location);
        let types: Vec<Type<'c>> = state.iter().map(|value| value.r#type()).collect();
        let name = "stablehlo.while";
        let looped = builder.op_with_regions(name, state, &[], &types, &[&types, &types], location);
        let enter = |region: usize| -> Result<Vec<Value<'c, 'a>>, PassError<'c>> {
            let block = block_of(looped, region)?;
            builder.set_insertion_point_to_end(block);
            Ok((0..types.len())
                .map(|index| block.argument(index).map(Value::from))
                .collect::<Result<_, _>>()?)
        };
        let goes_on = condition(&enter(0)?);
        builder.terminator("stablehlo.return", &[goes_on], location);
        let results = body(&enter(1)?)?;
        builder.terminator("stablehlo.return", &results, location);
        builder.set_insertion_point_after(looped);
        Ok(looped.results().map(Value::from).collect())
    }
}

fn block_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>, region: usize) -> Result<BlockRef<'c, 'a>, PassError<'c>> {
    let block = op.region(region).ok().and_then(|region| region.first_block());
    block.ok_or_else(|| PassError::at(op, "was made without a block"))
}
