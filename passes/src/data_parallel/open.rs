// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Making a function one device's program.

use super::WHOLE;
use super::step::{CONSTRAINT, Part, Step, is_end};
use crate::batch_slices::rules::{Results, Role, Sum};
use crate::ir::{self, Builder};
use crate::ops::access::{self, Along};
use crate::ops::reducers::{combiner, fresh_identity};
use crate::rewrite::{arguments_of, context_of, defining_op, ops_in, set_attribute, uses};
use crate::shards::{all_reduce, constant_on_shards, counted, looked_up, next_channel, partition_id};
use crate::tables::Table;
use melior::Context;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, IntegerAttribute, TypeAttribute};
use melior::ir::block::{BlockArgument, BlockLike};
use melior::ir::operation::OperationLike;
use melior::ir::r#type::FunctionType;
use melior::ir::{Attribute, BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{TensorShardingPerValue, View};
use slimhlo_dialect::types::Tensor;

/// What functions say of their arguments and results; under which names an open one keeps that, and how they are laid out.
pub(super) const BOUNDARY: [(&str, &str, &str); 2] = [
    ("arg_attrs", "slimhlo.arg_attrs", "slimhlo.in_shardings"),
    ("res_attrs", "slimhlo.res_attrs", "slimhlo.out_shardings"),
];

/// A step under construction.
struct Open<'c, 'a, 'r> {
    step: &'r Step<'c, 'a>,
    build: &'r Builder<'c, 'a>,
    channel: i64,
    /// The device's number, once something has asked for it.
    partition: Option<Value<'c, 'a>>,
    /// Parts of values that all devices have, by key and dimension.
    parts: Table<(usize, usize), Value<'c, 'a>>,
    /// Ops of which nothing is needed any more.
    dead: Vec<OperationRef<'c, 'a>>,
}

/// Makes the function of a step one device's program; none, and nothing done, if shardings cannot be written down.
pub(super) fn run<'c: 'a, 'a>(step: &Step<'c, 'a>, build: &Builder<'c, 'a>) -> Option<()> {
    let channel = next_channel(step.function.parent_operation()?);
    write_down(step)?;
    let mut open = Open { step, build, channel, partition: None, parts: Table::default(), dead: Vec::new() };
    open.enter_all(step.block);
    let dead = std::mem::take(&mut open.dead);
    dead.into_iter().rev().for_each(|op| build.erase(op));
    let types = |values: Vec<Value<'c, 'a>>| -> Vec<Type<'c>> {
        values.into_iter().map(|value| value.r#type()).collect()
    };
    let ty = FunctionType::new(context_of(step.function), &types(step.arguments()), &types(step.returned()));
    set_attribute(step.function, "function_type", TypeAttribute::new(ty.into()).into());
    Some(())
}

/// Writes down what the function says of all devices together, and has it say no more of how values are cut.
fn write_down(step: &Step<'_, '_>) -> Option<()> {
    let context = context_of(step.function);
    let mut noted = vec![(WHOLE, ffi::attribute_of(step.function, "function_type")?)];
    for ((name, kept, laid_out), values) in BOUNDARY.into_iter().zip([step.arguments(), step.returned()]) {
        let all = values.into_iter().map(|value| step.mesh.sharding(context, &step.layout(value)?));
        let shardings = TensorShardingPerValue::new(context, &all.collect::<Option<Vec<_>>>()?)?;
        noted.push((laid_out, shardings.attribute()));
        if let Some(said) = ffi::attribute_of(step.function, name) {
            noted.extend([(kept, said), (name, without_shardings(context, said)?)]);
        }
    }
    noted.into_iter().for_each(|(name, attribute)| set_attribute(step.function, name, attribute));
    Some(())
}

/// What a function says of its values, but for how they are cut.
fn without_shardings<'c>(context: &'c Context, said: Attribute<'c>) -> Option<Attribute<'c>> {
    let list = ArrayAttribute::try_from(said).ok()?;
    let mut all: Vec<Attribute<'c>> = Vec::with_capacity(list.len());
    for index in 0..list.len() {
        let of = DictionaryAttribute::try_from(list.element(index).ok()?).ok()?;
        let entries = (0..of.len()).filter_map(|at| of.element(at).ok());
        let kept: Vec<_> =
            entries.filter(|(name, _)| name.as_string_ref().as_str() != Ok("sdy.sharding")).collect();
        all.push(DictionaryAttribute::new(context, &kept).into());
    }
    Some(ArrayAttribute::new(context, &all).into())
}

/// The type of one device's part.
fn part_type(ty: Type<'_>, along: Along) -> Type<'_> {
    let Some(tensor) = Tensor::new(ty) else { return ty };
    let mut shape = tensor.shape.to_vec();
    shape[along.dim] = along.run;
    Tensor::get(&shape, tensor.element, None)
}

impl<'c: 'a, 'a> Open<'c, 'a, '_> {
    /// Makes the ops of a block ones on shards, and its arguments shards.
    fn enter_all(&mut self, block: BlockRef<'c, 'a>) {
        let ops: Vec<_> = ops_in(block).collect();
        for &op in &ops {
            for (index, value) in op.operands().enumerate().collect::<Vec<_>>() {
                let along = self.step.taken(op, index);
                if let Some(along) = along.filter(|_| self.step.along(value).is_none()) {
                    let part = self.part(value, along);
                    self.build.set_operand(op, index, part);
                }
            }
            match self.step.parts.get(&ir::op_key(op)) {
                _ if is_end(op) => {}
                Some(Part::Rule(role)) => self.enter(op, role),
                Some(Part::Handed) => {
                    op.regions()
                        .filter_map(|region| region.first_block())
                        .for_each(|block| self.enter_all(block));
                    self.set_types(op.results().map(Value::from));
                }
                None => {}
            }
            if op_name(op) == CONSTRAINT
                && let (Ok(result), Ok(operand)) = (op.result(0), op.operand(0))
            {
                self.build.replace_all_uses_with(result.into(), operand);
                self.dead.push(op);
            }
        }
        self.set_types(arguments_of(block));
    }

    fn set_types(&self, values: impl Iterator<Item = Value<'c, 'a>>) {
        for value in values {
            if let Some(along) = self.step.along(value) {
                self.build.set_type(value, part_type(value.r#type(), along));
            }
        }
    }

    /// Makes an op one on shards, which it takes already.
    fn enter(&mut self, op: OperationRef<'c, 'a>, role: &Role<'c>) {
        match &role.results {
            Results::Kept(_) => {
                if let Some((name, resized)) = role.resized(op, (1, self.step.units()), self.build) {
                    set_attribute(op, name, resized);
                }
                self.set_types(op.results().map(Value::from));
            }
            Results::Added(sum) => self.add_up(op, sum),
        }
    }

    /// A device's part of what all devices have.
    fn part(&mut self, value: Value<'c, 'a>, along: Along) -> Value<'c, 'a> {
        let key = (ir::key(value), along.dim);
        if let Some(&known) = self.parts.get(&key) {
            return known;
        }
        let (build, ty) = (self.build, part_type(value.r#type(), along));
        let maker = defining_op(value);
        let is_iota = |op: &OperationRef<'c, 'a>| op_name(*op) == "stablehlo.iota";
        let is_splat = ir::splat_constant(value).is_some();
        let counts = |op: OperationRef<'c, 'a>| access::iota_dimension(op) == Some(along.dim);
        if !is_splat && maker.filter(is_iota).is_none_or(counts) {
            self.number_devices();
        }
        // Whoever else wants it finds it there, in loops as well.
        match (maker, BlockArgument::try_from(value)) {
            (Some(op), _) => build.set_insertion_point_after(op),
            (None, Ok(argument)) => self.begin(argument.owner()),
            (None, Err(_)) => {}
        }
        let made = match maker {
            Some(op) if is_splat => constant_on_shards(build, op, ty),
            Some(op) if is_iota(&op) => {
                let layout = self.step.laid_out(value, Some(along));
                counted(build, &self.step.mesh, &layout, &mut self.partition, op, ty).unwrap_or_else(|| {
                    ir::first_result(build.copy_with(op, &[], &[], &[ty])).expect("as the original")
                })
            }
            _ => self.cut_out(value, along, ty),
        };
        self.parts.insert(key, made);
        made
    }

    /// New ops go to the start of a block from now on.
    fn begin(&self, block: BlockRef<'c, 'a>) {
        // What knows the device's number comes first.
        let number = self.partition.and_then(defining_op).filter(|op| op.block() == Some(block));
        match (number, block.first_operation()) {
            (Some(number), _) => self.build.set_insertion_point_after(number),
            (None, Some(first)) => self.build.set_insertion_point_before(first),
            (None, None) => {}
        }
    }

    /// Has the device know its number wherever it is asked for.
    fn number_devices(&mut self) {
        if self.partition.is_none() {
            self.begin(self.step.block);
            self.partition = Some(partition_id(self.build, self.step.function.location()));
        }
    }

    fn cut_out(&mut self, value: Value<'c, 'a>, along: Along, ty: Type<'c>) -> Value<'c, 'a> {
        let build = self.build;
        let grid = &self.step.mesh.grid;
        let location = defining_op(value).map_or(self.step.function.location(), |op| op.location());
        let element = build.i64_type();
        let start = |device| grid.part_of(device, &self.step.axes) * along.run;
        let starts: Vec<Attribute<'c>> =
            (0..grid.devices()).map(|device| IntegerAttribute::new(element, start(device)).into()).collect();
        let start = looked_up(build, &mut self.partition, &starts, element, location);
        let rank = ffi::shape(ty).map_or(0, <[i64]>::len);
        let mut all = vec![build.i64_constant(0, location); rank];
        all[along.dim] = start;
        build.dynamic_slice(value, &all, ty, location)
    }

    /// What an op makes of its rows is added up over devices.
    fn add_up(&mut self, op: OperationRef<'c, 'a>, sum: &Sum<'c>) {
        let build = self.build;
        let result: Value<'c, 'a> = op.result(0).expect("sums have one").into();
        let location = op.location();
        let (combine, init) = match sum {
            Sum::Contract(_) => ("stablehlo.add", None),
            Sum::Scatter => (combiner(op).expect("asked before"), None),
            Sum::Reduce { combine, .. } => (*combine, self.start_anew(op, combine)),
        };
        let readers: Vec<_> = uses(result).map(|used| (used.user, used.operand)).collect();
        build.set_insertion_point_after(op);
        let what = (result, &self.step.axes[..], combine);
        let made = all_reduce(build, &self.step.mesh.grid, &mut self.channel, what, location);
        let mut all = ir::first_result(made).expect("made with one result");
        if let Some(init) = init {
            build.set_insertion_point_after(made);
            let ty = all.r#type();
            let init = if init.r#type() == ty { init } else { build.broadcast_scalar(init, ty, location) };
            all = build.binary(combine, init, all, location);
        }
        readers.into_iter().for_each(|(user, operand)| build.set_operand(user, operand, all));
    }

    /// Has a reduction start from what counts for nothing, if what it starts from counts: that, to be added once.
    fn start_anew(&self, op: OperationRef<'c, 'a>, combine: &str) -> Option<Value<'c, 'a>> {
        let own = op.operand(1).expect("reductions have an initial value");
        let element = ir::element_of(own.r#type());
        let identity = fresh_identity(op, combine, element).expect("asked before")?;
        self.build.set_insertion_point_before(op);
        let number = self.build.number(identity, element, op.location());
        self.build.set_operand(op, 1, number);
        Some(own)
    }
}
