// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The ops that passes make.
//!
//! `unsafe` here is one call of MLIR's C API at a time, on ops that are alive.

use super::{element_bytes, element_of, key, op_key};
use crate::ops::class::is_fusible;
use crate::rewrite::{Rewriter, context_of, defining_op, is_unused, set_attribute, uses, walk};
use crate::tables::Table;
use melior::ir::attribute::{
    DenseElementsAttribute, DenseI64ArrayAttribute, FloatAttribute, IntegerAttribute,
};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationBuilder, OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{
    Attribute, AttributeLike, Block, BlockRef, Identifier, Location, OperationRef, Region, RegionLike, Type,
    TypeLike, Value, ValueLike,
};
use melior::{IrRewriter, RewriterBase};
use mlir_sys::{mlirOperationSetOperand, mlirValueSetType};
use slimhlo_dialect::dense::Dense;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{ComparisonDirection, ComparisonType};
use slimhlo_dialect::types::Tensor;

/// MLIR's IR rewriter, with the ops that passes make.
pub struct Builder<'c, 'a> {
    rewriter: Driver<'c, 'a>,
    root: OperationRef<'c, 'a>,
}

/// Who is told of changes.
enum Driver<'c, 'a> {
    Nobody(IrRewriter<'c>),
    Patterns(RewriterBase<'c, 'a>),
}

impl<'c: 'a, 'a> Builder<'c, 'a> {
    /// A rewriter for what is inside `root`.
    pub fn new(root: OperationRef<'c, 'a>) -> Self {
        Self { rewriter: Driver::Nobody(IrRewriter::from_op(root)), root }
    }

    /// The rewriter of a pattern that has matched `op`: new ops go before it, and the pattern driver hears of them.
    pub fn within(rewriter: &Rewriter<'c, 'a>, op: OperationRef<'c, 'a>) -> Self {
        Self { rewriter: Driver::Patterns(rewriter.before(op).base()), root: op }
    }

    fn base(&self) -> RewriterBase<'c, '_> {
        match &self.rewriter {
            Driver::Nobody(rewriter) => rewriter.as_rewriter_base(),
            Driver::Patterns(base) => *base,
        }
    }

    /// New ops go before `op` from now on.
    pub fn set_insertion_point_before(&self, op: OperationRef<'c, 'a>) {
        self.base().set_insertion_point_before(op);
    }

    /// New ops go to the end of `block` from now on.
    pub fn set_insertion_point_to_end(&self, block: BlockRef<'c, 'a>) {
        self.base().set_insertion_point_to_end(block);
    }

    /// New ops go right behind `op` from now on.
    pub fn set_insertion_point_after(&self, op: OperationRef<'c, 'a>) {
        match (op.next_in_block(), op.block()) {
            (Some(next), _) => self.set_insertion_point_before(next),
            (None, Some(block)) => self.set_insertion_point_to_end(block),
            (None, None) => {}
        }
    }

    /// A copy of `op`, nested ops and annotations included, with other operands and result types and with `attributes`
    /// set. There must be as many operands and types as `op` has.
    pub fn copy_with(
        &self,
        op: OperationRef<'c, 'a>,
        operands: &[Value<'c, 'a>],
        attributes: &[(&str, Attribute<'c>)],
        results: &[Type<'c>],
    ) -> OperationRef<'c, 'a> {
        assert_eq!((op.operand_count(), op.result_count()), (operands.len(), results.len()));
        let raw = self.base().clone_op(op).to_raw();
        // SAFETY: the block the copy was inserted into owns it.
        let copy: OperationRef<'c, 'a> = unsafe { OperationRef::from_raw(raw) };
        for (index, operand) in operands.iter().enumerate() {
            // SAFETY: copy and operand are alive, the index is in range.
            unsafe { mlirOperationSetOperand(raw, index as isize, operand.to_raw()) }
        }
        for (name, attribute) in attributes {
            set_attribute(copy, name, *attribute);
        }
        for (result, ty) in copy.results().zip(results) {
            self.set_type(result.into(), *ty);
        }
        copy
    }

    /// A copy of `op` that uses other values, in its regions as well, where `now` has some by the keys of those that `op` uses; what the copy makes
    /// is added there.
    pub fn copy_renamed(
        &self,
        op: OperationRef<'c, 'a>,
        now: &mut Table<usize, Value<'c, 'a>>,
    ) -> OperationRef<'c, 'a> {
        let operands: Vec<Value> = op.operands().collect();
        let types: Vec<Type> = op.results().map(|result| result.r#type()).collect();
        let copy = self.copy_with(op, &operands, &[], &types);
        walk(copy, |inner| {
            for (index, operand) in inner.operands().enumerate() {
                if let Some(value) = now.get(&key(operand)) {
                    self.set_operand(inner, index, *value);
                }
            }
            WalkResult::Advance
        });
        now.extend(op.results().zip(copy.results()).map(|(old, new)| (key(old.into()), Value::from(new))));
        copy
    }

    /// A value of the block made again at the insertion point, with all it is made of that is not in `made` under its new name and not there: each
    /// op has one result and no regions. What is made is added, and how many ops that took is returned with the value.
    pub fn make_again(
        &self,
        value: Value<'c, 'a>,
        made: &mut Table<usize, Value<'c, 'a>>,
        is_there: impl Fn(Value<'c, 'a>) -> bool,
    ) -> (Value<'c, 'a>, usize) {
        let mut pending = vec![(value, false)];
        let mut again = 0;
        while let Some((value, ready)) = pending.pop() {
            if made.contains_key(&key(value)) || is_there(value) {
                continue;
            }
            let op = defining_op(value).expect("arguments are there");
            if !ready {
                pending.push((value, true));
                pending.extend(op.operands().map(|operand| (operand, false)));
                continue;
            }
            let name = |operand| made.get(&key(operand)).copied().unwrap_or(operand);
            let operands: Vec<Value> = op.operands().map(name).collect();
            let copy = self.copy_with(op, &operands, &[], &[value.r#type()]);
            again += 1;
            made.insert(key(value), copy.result(0).expect("it has one").into());
        }
        (made.get(&key(value)).copied().unwrap_or(value), again)
    }

    /// Moves an op to just before another.
    pub fn move_before(&self, op: OperationRef<'c, 'a>, other: OperationRef<'c, 'a>) {
        self.base().move_op_before(op, other);
    }

    /// Gives a value of an op under construction another type.
    pub fn set_type(&self, value: Value<'c, 'a>, ty: Type<'c>) {
        // SAFETY: both are alive.
        unsafe { mlirValueSetType(value.to_raw(), ty.to_raw()) }
    }

    /// An op with regions of one block each, whose arguments have the types given; blocks are empty.
    pub fn op_with_blocks(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        results: &[Type<'c>],
        blocks: &[&[Type<'c>]],
        location: Location<'c>,
    ) -> OperationRef<'c, 'a> {
        self.op_with_regions(name, operands, &[], results, blocks, location)
    }

    /// An op without results.
    pub fn terminator(&self, name: &str, operands: &[Value<'c, 'a>], location: Location<'c>) {
        self.op_with(name, operands, &[], &[], location);
    }

    /// A rank-0 constant of an integer or float type that can hold `value`, or of a complex one, both of whose parts are `value`.
    pub fn number(&self, value: f64, element: Type<'c>, location: Location<'c>) -> Value<'c, 'a> {
        let context = context_of(self.root);
        let ty = Tensor::get(&[], element, None);
        if element.is_complex() {
            let part = match element_bytes(element) {
                Some(8) => (value as f32).to_ne_bytes().to_vec(),
                _ => value.to_ne_bytes().to_vec(),
            };
            return self.splat_of_bytes(&part.repeat(2), ty, location).expect("two parts of this width");
        }
        let number: Attribute = if element.is_float() {
            FloatAttribute::new(context, element, value).into()
        } else {
            IntegerAttribute::new(element, value as i64).into()
        };
        let value =
            DenseElementsAttribute::new(ty, &[number]).expect("one element for a rank-0 tensor").into();
        self.insert("stablehlo.constant", &[], &[("value", value)], ty, location)
    }

    /// A rank-0 i64 constant.
    pub fn i64_constant(&self, value: i64, location: Location<'c>) -> Value<'c, 'a> {
        let ty = Tensor::get(&[], self.i64_type(), None);
        let value = DenseElementsAttribute::i64_splat(ty, value).into();
        self.insert("stablehlo.constant", &[], &[("value", value)], ty, location)
    }

    /// The i64 type.
    pub fn i64_type(&self) -> Type<'c> {
        IntegerType::new(context_of(self.root), 64).into()
    }

    /// `stablehlo.compare` of two signed integers of the same type.
    pub fn compare(
        &self,
        direction: ComparisonDirection,
        left: Value<'c, 'a>,
        right: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        self.compare_as(direction, ComparisonType::Signed, left, right, location)
    }

    /// `stablehlo.compare` of two unsigned integers of the same type.
    pub fn compare_unsigned(
        &self,
        direction: ComparisonDirection,
        left: Value<'c, 'a>,
        right: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        self.compare_as(direction, ComparisonType::Unsigned, left, right, location)
    }

    /// `stablehlo.compare` of numbers of any kind.
    pub fn compare_as(
        &self,
        direction: ComparisonDirection,
        of: ComparisonType,
        left: Value<'c, 'a>,
        right: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let context = context_of(self.root);
        let attributes =
            [("comparison_direction", direction.attribute(context)), ("compare_type", of.attribute(context))];
        let shape = ffi::shape(left.r#type()).expect("operands of comparisons are ranked");
        let result = Tensor::get(shape, IntegerType::new(context, 1).into(), None);
        self.insert("stablehlo.compare", &[left, right], &attributes, result, location)
    }

    /// `stablehlo.broadcast_in_dim`
    pub fn broadcast(
        &self,
        operand: Value<'c, 'a>,
        dims: &[usize],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let dims: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        self.broadcast_in_dim(operand, &dims, result, location)
    }

    /// `stablehlo.select`
    pub fn select(
        &self,
        condition: Value<'c, 'a>,
        on_true: Value<'c, 'a>,
        on_false: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        self.insert("stablehlo.select", &[condition, on_true, on_false], &[], on_true.r#type(), location)
    }

    /// An op of two operands and a result of their type.
    pub fn binary(
        &self,
        name: &str,
        left: Value<'c, 'a>,
        right: Value<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        self.insert(name, &[left, right], &[], left.r#type(), location)
    }

    /// `stablehlo.iota`
    pub fn iota(&self, result: Type<'c>, dim: usize, location: Location<'c>) -> Value<'c, 'a> {
        let dim = IntegerAttribute::new(self.i64_type(), dim as i64).into();
        self.insert("stablehlo.iota", &[], &[("iota_dimension", dim)], result, location)
    }

    /// `stablehlo.dynamic_slice`
    pub fn dynamic_slice(
        &self,
        operand: Value<'c, 'a>,
        starts: &[Value<'c, 'a>],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let sizes = self.i64_array(ffi::shape(result).expect("slices are ranked"));
        let mut operands = vec![operand];
        operands.extend(starts);
        self.insert("stablehlo.dynamic_slice", &operands, &[("slice_sizes", sizes)], result, location)
    }

    /// `stablehlo.dynamic_update_slice`
    pub fn dynamic_update_slice(
        &self,
        operand: Value<'c, 'a>,
        update: Value<'c, 'a>,
        starts: &[Value<'c, 'a>],
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let mut operands = vec![operand, update];
        operands.extend(starts);
        self.insert("stablehlo.dynamic_update_slice", &operands, &[], operand.r#type(), location)
    }

    /// `stablehlo.slice` with stride 1.
    pub fn slice(
        &self,
        operand: Value<'c, 'a>,
        start: &[i64],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let sizes = ffi::shape(result).expect("slices are ranked");
        let limit: Vec<i64> = start.iter().zip(sizes).map(|(start, size)| start + size).collect();
        let attributes = [
            ("start_indices", self.i64_array(start)),
            ("limit_indices", self.i64_array(&limit)),
            ("strides", self.i64_array(&vec![1; start.len()])),
        ];
        self.insert("stablehlo.slice", &[operand], &attributes, result, location)
    }

    /// Every user of `from` uses `to` instead.
    pub fn replace_all_uses_with(&self, from: Value<'c, 'a>, to: Value<'c, 'a>) {
        self.base().replace_all_uses_with(from, to);
    }

    /// Of the users of `from` those that `which` names use `to` instead.
    pub fn replace_uses(
        &self,
        from: Value<'c, 'a>,
        to: Value<'c, 'a>,
        which: impl Fn(OperationRef<'c, 'a>) -> bool,
    ) {
        let chosen: Vec<_> = uses(from).filter(|used| which(used.user)).collect();
        chosen.into_iter().for_each(|used| self.set_operand(used.user, used.operand, to));
    }

    /// Erases an unused op, and what was computed only for it. `erasing` hears of every value that goes.
    pub fn erase_with_dead_producers(
        &self,
        op: OperationRef<'c, 'a>,
        mut erasing: impl FnMut(Value<'c, 'a>),
    ) {
        let mut pending = vec![op];
        while let Some(op) = pending.pop() {
            let mut producers: Vec<_> = op.operands().filter_map(defining_op).collect();
            producers.sort_by_key(|op| op_key(*op));
            producers.dedup_by_key(|op| op_key(*op));
            op.results().for_each(|result| erasing(result.into()));
            self.base().erase_op(op);
            pending.extend(producers.into_iter().filter(|op| is_fusible(op_name(*op)) && is_unused(*op)));
        }
    }

    /// An op of any name with one result.
    pub fn insert(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        attributes: &[(&str, Attribute<'c>)],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let op = self.op_with(name, operands, attributes, &[result], location);
        op.result(0).expect("one result was asked for").into()
    }

    /// The context everything is made in.
    pub fn context(&self) -> &'c melior::Context {
        context_of(self.root)
    }

    /// Lets an op use another value as its operand `index`, which it has to have.
    pub fn set_operand(&self, op: OperationRef<'c, 'a>, index: usize, value: Value<'c, 'a>) {
        assert!(index < op.operand_count());
        // SAFETY: both are alive and the index is in range.
        unsafe { mlirOperationSetOperand(op.to_raw(), index as isize, value.to_raw()) }
    }

    /// An `array<i64: ...>` attribute.
    pub fn i64_array(&self, values: &[i64]) -> Attribute<'c> {
        DenseI64ArrayAttribute::new(context_of(self.root), values).into()
    }

    /// A rank-0 constant with the element that `splat` repeats.
    pub fn scalar_constant(
        &self,
        splat: DenseElementsAttribute<'c>,
        element: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        // The attribute's own element type is the storage type where the result's is quantized.
        let value = splat.reshape(Tensor::get(&[], element_of(splat.r#type()), None));
        self.insert(
            "stablehlo.constant",
            &[],
            &[("value", value.into())],
            Tensor::get(&[], element, None),
            location,
        )
    }

    /// `stablehlo.reshape`
    pub fn reshape(&self, operand: Value<'c, 'a>, result: Type<'c>, location: Location<'c>) -> Value<'c, 'a> {
        self.insert("stablehlo.reshape", &[operand], &[], result, location)
    }

    /// `stablehlo.convert`
    pub fn convert(&self, operand: Value<'c, 'a>, result: Type<'c>, location: Location<'c>) -> Value<'c, 'a> {
        self.insert("stablehlo.convert", &[operand], &[], result, location)
    }

    /// `stablehlo.broadcast_in_dim` of a rank-0 operand.
    pub fn broadcast_scalar(
        &self,
        operand: Value<'c, 'a>,
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let no_dimensions = self.i64_array(&[]);
        self.insert(
            "stablehlo.broadcast_in_dim",
            &[operand],
            &[("broadcast_dimensions", no_dimensions)],
            result,
            location,
        )
    }

    /// `stablehlo.pad`
    pub fn pad(
        &self,
        operand: Value<'c, 'a>,
        padding: Value<'c, 'a>,
        [low, high, interior]: [&[i64]; 3],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let attributes = [
            ("edge_padding_low", self.i64_array(low)),
            ("edge_padding_high", self.i64_array(high)),
            ("interior_padding", self.i64_array(interior)),
        ];
        self.insert("stablehlo.pad", &[operand, padding], &attributes, result, location)
    }

    /// `stablehlo.concatenate` of static tensors along `dim`.
    pub fn concatenate(
        &self,
        operands: &[Value<'c, 'a>],
        dim: usize,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let tensors: Vec<Tensor> =
            operands.iter().filter_map(|operand| Tensor::new(operand.r#type())).collect();
        let mut shape = tensors[0].shape.to_vec();
        shape[dim] = tensors.iter().map(|tensor| tensor.shape[dim]).sum();
        let result = Tensor::get(&shape, tensors[0].element, None);
        let dimension = IntegerAttribute::new(self.i64_type(), dim as i64).into();
        self.insert("stablehlo.concatenate", operands, &[("dimension", dimension)], result, location)
    }

    /// `stablehlo.slice`; `limit` is exclusive.
    pub fn strided_slice(
        &self,
        operand: Value<'c, 'a>,
        start: &[i64],
        limit: &[i64],
        stride: &[i64],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let attributes = [
            ("start_indices", self.i64_array(start)),
            ("limit_indices", self.i64_array(limit)),
            ("strides", self.i64_array(stride)),
        ];
        self.insert("stablehlo.slice", &[operand], &attributes, result, location)
    }

    /// `stablehlo.broadcast_in_dim`
    pub fn broadcast_in_dim(
        &self,
        operand: Value<'c, 'a>,
        dimensions: &[i64],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let attributes = [("broadcast_dimensions", self.i64_array(dimensions))];
        self.insert("stablehlo.broadcast_in_dim", &[operand], &attributes, result, location)
    }

    /// `stablehlo.transpose`
    pub fn transpose(
        &self,
        operand: Value<'c, 'a>,
        permutation: &[i64],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let attributes = [("permutation", self.i64_array(permutation))];
        self.insert("stablehlo.transpose", &[operand], &attributes, result, location)
    }

    /// A constant that repeats `element`, given as the bytes of one element in the machine's order; `None` if they do
    /// not fit the type.
    pub fn splat_of_bytes(
        &self,
        element: &[u8],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Option<Value<'c, 'a>> {
        let value = Dense::from_elements(Tensor::new(result)?, element.to_vec())?.attribute()?;
        Some(self.insert("stablehlo.constant", &[], &[("value", value)], result, location))
    }

    /// A constant of a plain type without a bit set.
    pub fn zeros(&self, result: Type<'c>, location: Location<'c>) -> Value<'c, 'a> {
        let width = element_bytes(element_of(result)).unwrap_or_default() as usize;
        self.splat_of_bytes(&vec![0; width], result, location).expect("plain numbers have a zero")
    }

    /// Erases an op that nothing uses.
    pub fn erase(&self, op: OperationRef<'c, 'a>) {
        self.base().erase_op(op);
    }

    /// An op of any name.
    pub fn op_with(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        attributes: &[(&str, Attribute<'c>)],
        results: &[Type<'c>],
        location: Location<'c>,
    ) -> OperationRef<'c, 'a> {
        self.op_with_regions(name, operands, attributes, results, &[], location)
    }

    /// An op of any name with regions of one block each, whose arguments have the types given; blocks are empty.
    pub fn op_with_regions(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        attributes: &[(&str, Attribute<'c>)],
        results: &[Type<'c>],
        blocks: &[&[Type<'c>]],
        location: Location<'c>,
    ) -> OperationRef<'c, 'a> {
        let regions = blocks
            .iter()
            .map(|types| {
                let arguments: Vec<_> = types.iter().map(|ty| (*ty, location)).collect();
                let region = Region::new();
                region.append_block(Block::new(&arguments));
                region
            })
            .collect();
        self.make(name, operands, attributes, results, regions, location)
    }

    /// `stablehlo.reduce` of one operand along some dimensions, by the op `combine` of two scalars.
    pub fn reduce(
        &self,
        combine: &str,
        [operand, initial]: [Value<'c, 'a>; 2],
        dims: &[i64],
        result: Type<'c>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let scalar = initial.r#type();
        let op = self.op_with_regions(
            "stablehlo.reduce",
            &[operand, initial],
            &[("dimensions", self.i64_array(dims))],
            &[result],
            &[&[scalar, scalar]],
            location,
        );
        let block = op.region(0).ok().and_then(|region| region.first_block()).expect("made with a block");
        self.set_insertion_point_to_end(block);
        let [left, right] = [0, 1].map(|at| block.argument(at).expect("made with two").into());
        self.terminator("stablehlo.return", &[self.binary(combine, left, right, location)], location);
        self.set_insertion_point_after(op);
        op.result(0).expect("made with a result").into()
    }

    /// An op of any name with a region without blocks.
    pub fn op_with_empty_region(
        &self,
        name: &str,
        attributes: &[(&str, Attribute<'c>)],
        location: Location<'c>,
    ) -> OperationRef<'c, 'a> {
        self.make(name, &[], attributes, &[], vec![Region::new()], location)
    }

    /// What all the others make ops with.
    fn make(
        &self,
        name: &str,
        operands: &[Value<'c, 'a>],
        attributes: &[(&str, Attribute<'c>)],
        results: &[Type<'c>],
        regions: Vec<Region<'c>>,
        location: Location<'c>,
    ) -> OperationRef<'c, 'a> {
        let context = context_of(self.root);
        let attributes: Vec<_> =
            attributes.iter().map(|(name, attribute)| (Identifier::new(context, name), *attribute)).collect();
        let op = OperationBuilder::new(name, location)
            .add_operands(operands)
            .add_attributes(&attributes)
            .add_results(results)
            .add_regions_vec(regions)
            .build()
            .expect("an op with explicit result types always builds");
        let op = self.base().insert(op).to_raw();
        // SAFETY: the op now lives in the IR; the reference is only as good as the IR, like any other.
        unsafe { OperationRef::from_raw(op) }
    }
}
