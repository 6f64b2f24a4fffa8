// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Makes the loop over slices: what comes in is sliced, what leaves is put in its place or added up.

use super::region::{Member, Output, Region};
use super::rules::{Results, Sum};
use crate::counted::Open;
use crate::ir::{self, Builder};
use crate::ops::access::{self, Along, start_of_one};
use crate::rewrite::{defining_op, location_of, users};
use crate::stream::emit::{is_made_again, retype_region};
use crate::tables::{Keys, Table};
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// A loop in the making.
struct Loop<'r, 'c, 'a> {
    region: &'r Region<'c, 'a>,
    build: &'r Builder<'c, 'a>,
    /// Units of a slice.
    slice: i64,
    location: Location<'c>,
    /// What members of the loop's body stand for, and values from outside that it has whole, by key.
    inside: Table<usize, Value<'c, 'a>>,
    /// Slices of values from outside.
    leaves: Table<(usize, usize), Value<'c, 'a>>,
}

/// Replaces the ops of a region by a loop of so many turns; the loop.
pub fn run<'c: 'a, 'a>(region: &Region<'c, 'a>, turns: i64, build: &Builder<'c, 'a>) -> OperationRef<'c, 'a> {
    region.make_room(build);
    build.set_insertion_point_before(region.anchor);
    let ops: Vec<_> = region.outputs.iter().map(|output| region.members[output.member].op).collect();
    let location = location_of(&ops).unwrap_or(region.anchor.location());
    let slice = region.units / turns;
    let mut this =
        Loop { region, build, slice, location, inside: Table::default(), leaves: Table::default() };
    let captured = this.captured();
    let mut operands: Vec<Value> = region.outputs.iter().map(|output| this.initial(output)).collect();
    operands.extend(&captured);
    let turn = Open::new(build, (0..region.units, slice), &operands, location);
    let (sums, whole) = turn.carried.split_at(region.outputs.len());
    this.inside.extend(captured.iter().map(|value| ir::key(*value)).zip(whole.iter().copied()));
    let mut next = this.turn(turn.at, sums);
    next.extend(whole);
    let made = turn.close(&next);

    build.set_insertion_point_before(region.anchor);
    for (output, result) in region.outputs.iter().zip(made.results().skip(1)) {
        let (ty, result) = (output.value.r#type(), Value::from(result));
        let result = if result.r#type() == ty { result } else { build.convert(result, ty, location) };
        build.replace_all_uses_with(output.value, result);
    }
    let (mut copies, members) = (Table::default(), region.keys());
    region.again.iter().for_each(|&value| cut_out(region, value, &members, build));
    // Before all that reads them, wherever the last of what had its own part was.
    build.set_insertion_point_after(made);
    for &value in &region.again {
        if users(value).any(|user| !members.contains(&ir::op_key(user))) {
            let copy = again(region, value, &mut copies, build);
            build.replace_all_uses_with(value, copy);
        }
    }
    region.members.iter().rev().filter(|member| !member.again).for_each(|member| build.erase(member.op));
    made
}

/// Has what is cut out of a value one by one, after the loop, be made by itself, and all that it is made of.
fn cut_out<'c: 'a, 'a>(
    region: &Region<'c, 'a>,
    value: Value<'c, 'a>,
    members: &Keys,
    build: &Builder<'c, 'a>,
) {
    let along = region.slices[&ir::key(value)];
    let cuts: Vec<_> = users(value)
        .filter(|user| along.run == 1 && !members.contains(&ir::op_key(*user)))
        .filter_map(|user| Some((user, start_of_one(user, value, along.dim)?)))
        .filter(|(user, _)| {
            let sizes = ir::i64_array(*user, "slice_sizes").unwrap_or_default();
            let all = Tensor::new(value.r#type()).map(|tensor| tensor.shape).unwrap_or_default();
            sizes.iter().zip(all).enumerate().all(|(dim, (size, all))| dim == along.dim || size == all)
        })
        .collect();
    for (user, start) in cuts {
        build.set_insertion_point_before(user);
        let location = user.location();
        let (inside, leaves) = (Table::default(), Table::default());
        let mut this = Loop { region, build, slice: 1, location, inside, leaves };
        let element = ir::element_of(start.r#type());
        let (zero, last) = (build.number(0.0, element, location), region.units - 1);
        let last = build.number(last as f64, element, location);
        let at = build.insert("stablehlo.clamp", &[zero, start, last], &[], start.r#type(), location);
        let i64 = Tensor::get(&[], build.i64_type(), None);
        let at = if at.r#type() == i64 { at } else { build.convert(at, i64, location) };
        let one = this.alone(value, at);
        build.replace_all_uses_with(user.result(0).expect("slices have a result").into(), one);
        build.erase(user);
    }
}

/// A copy of a value that members make, and of all that they make it of.
fn again<'c: 'a, 'a>(
    region: &Region<'c, 'a>,
    value: Value<'c, 'a>,
    copies: &mut Table<usize, Value<'c, 'a>>,
    build: &Builder<'c, 'a>,
) -> Value<'c, 'a> {
    let Some(op) = defining_op(value).filter(|_| region.slices.contains_key(&ir::key(value))) else {
        return value;
    };
    if let Some(&copy) = copies.get(&ir::key(value)) {
        return copy;
    }
    let operands: Vec<Value> = op.operands().map(|operand| again(region, operand, copies, build)).collect();
    let copy = build.copy_with(op, &operands, &[], &[value.r#type()]);
    let copy = copy.result(0).expect("what is computed element by element is one result").into();
    copies.insert(ir::key(value), copy);
    copy
}

/// What a convolution reads from its other end: libraries for GPUs do so themselves where both ops are side by side, and
/// take more time for what has been turned before.
fn turned_filter<'c: 'a, 'a>(op: OperationRef<'c, 'a>, operand: usize) -> Option<Value<'c, 'a>> {
    let is_filter = op_name(op) == "stablehlo.convolution" && operand == 1;
    let reverse = defining_op(ir::operand(op, operand).filter(|_| is_filter)?)?;
    (op_name(reverse) == "stablehlo.reverse").then(|| ir::operand(reverse, 0)).flatten()
}

/// Whether slices of a value from outside are made of nothing.
fn is_made_of_nothing(value: Value<'_, '_>) -> bool {
    ir::splat_constant(value).is_some()
        || defining_op(value).is_some_and(|op| op_name(op) == "stablehlo.iota")
}

impl<'c: 'a, 'a> Loop<'_, 'c, 'a> {
    /// What the body takes from outside.
    fn captured(&self) -> Vec<Value<'c, 'a>> {
        let (mut known, mut captured) = (Keys::default(), Vec::new());
        for Member { op, role, .. } in &self.region.members {
            let into = matches!(role.results, Results::Added(Sum::Scatter));
            for (index, (operand, along)) in op.operands().zip(&role.operands).enumerate() {
                let made = match along {
                    Some(_) => {
                        self.region.slices.contains_key(&ir::key(operand)) || is_made_of_nothing(operand)
                    }
                    // What is scattered into is what the loop carries.
                    None => is_made_again(operand) || into && index == 0,
                };
                let turned = along.is_none().then(|| turned_filter(*op, index)).flatten();
                let operand = turned.unwrap_or(operand);
                if !made && known.insert(ir::key(operand)) {
                    captured.push(operand);
                }
            }
        }
        captured
    }

    /// What is carried at first.
    fn initial(&self, output: &Output<'c, 'a>) -> Value<'c, 'a> {
        let (build, location) = (self.build, self.location);
        let member = &self.region.members[output.member];
        let ty = output.value.r#type();
        let with = |element: Type<'c>| {
            Tensor::get(Tensor::new(ty).map(|tensor| tensor.shape).unwrap_or_default(), element, None)
        };
        match &member.role.results {
            Results::Kept(_) => build.zeros(ty, location),
            Results::Added(Sum::Contract(element)) => build.zeros(with(*element), location),
            Results::Added(Sum::Scatter) => member.op.operand(0).expect("scatters have an input"),
            Results::Added(Sum::Reduce { element, .. }) => {
                let init = member.op.operand(1).expect("reductions have an initial value");
                let init = self.widened(init, *element);
                let ty = with(*element);
                if init.r#type() == ty { init } else { build.broadcast_scalar(init, ty, location) }
            }
        }
    }

    fn widened(&self, value: Value<'c, 'a>, element: Type<'c>) -> Value<'c, 'a> {
        if ir::element_of(value.r#type()) == element {
            return value;
        }
        let shape = Tensor::new(value.r#type()).map(|tensor| tensor.shape).unwrap_or_default();
        self.build.convert(value, Tensor::get(shape, element, None), self.location)
    }

    /// One slice; what is carried on.
    fn turn(&mut self, at: Value<'c, 'a>, sums: &[Value<'c, 'a>]) -> Vec<Value<'c, 'a>> {
        let mut next = sums.to_vec();
        let mut outputs = self.region.outputs.iter().enumerate().peekable();
        for (place, member) in self.region.members.iter().enumerate() {
            let operands = self.operands(member, at);
            if let Results::Added(sum) = &member.role.results {
                let (number, _) = outputs.next().expect("what is added up leaves");
                next[number] = self.add(member.op, sum, operands, next[number]);
                continue;
            }
            self.make(member, &operands);
            while let Some((number, output)) = outputs.next_if(|(_, output)| output.member == place) {
                let along = self.region.slices[&ir::key(output.value)];
                let rows = self.inside[&ir::key(output.value)];
                let starts = self.starts(rows, along, at);
                next[number] = self.build.dynamic_update_slice(next[number], rows, &starts, self.location);
            }
        }
        next
    }

    /// A slice of a value that members make on the fly, and of all that they make it of.
    fn alone(&mut self, value: Value<'c, 'a>, at: Value<'c, 'a>) -> Value<'c, 'a> {
        let (mut needed, mut pending) = (Keys::default(), vec![value]);
        while let Some(value) = pending.pop() {
            let made = defining_op(value).filter(|_| self.region.slices.contains_key(&ir::key(value)));
            if let Some(op) = made.filter(|op| needed.insert(ir::op_key(*op))) {
                pending.extend(op.operands());
            }
        }
        for member in self.region.members.iter().filter(|member| needed.contains(&ir::op_key(member.op))) {
            let operands = self.operands(member, at);
            self.make(member, &operands);
        }
        self.inside[&ir::key(value)]
    }

    /// What a member takes of one slice.
    fn operands(&mut self, member: &Member<'c, 'a>, at: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let all = member.op.operands().zip(&member.role.operands);
        all.map(|(operand, along)| match along {
            Some(along) => self.part(operand, *along, at),
            None => self.whole(operand),
        })
        .collect()
    }

    /// The type of a slice.
    fn ty(&self, ty: Type<'c>, along: Along) -> Type<'c> {
        let tensor = Tensor::new(ty).expect("what is sliced is a tensor");
        let mut shape = tensor.shape.to_vec();
        shape[along.dim] = along.run * self.slice;
        Tensor::get(&shape, tensor.element, None)
    }

    /// Where a slice begins.
    fn starts(&self, of: Value<'c, 'a>, along: Along, at: Value<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let (build, location) = (self.build, self.location);
        let rank = Tensor::new(of.r#type()).map_or(0, |tensor| tensor.rank());
        let mut starts = vec![build.i64_constant(0, location); rank];
        starts[along.dim] = self.position(at, along);
        starts
    }

    fn position(&self, at: Value<'c, 'a>, along: Along) -> Value<'c, 'a> {
        if along.run == 1 {
            return at;
        }
        let run = self.build.i64_constant(along.run, self.location);
        self.build.binary("stablehlo.multiply", at, run, self.location)
    }

    /// A value that the loop has whole.
    fn whole(&mut self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        if let Some(known) = self.inside.get(&ir::key(value)) {
            return *known;
        }
        let is_here = |op: &OperationRef<'c, 'a>| is_made_again(value) || op_name(*op) == "stablehlo.reverse";
        let Some(op) = defining_op(value).filter(is_here) else { return value };
        let operands: Vec<Value> = op.operands().map(|operand| self.whole(operand)).collect();
        let copy = self.build.copy_with(op, &operands, &[], &[value.r#type()]);
        let copy = copy.result(0).expect("it has one result").into();
        self.inside.insert(ir::key(value), copy);
        copy
    }

    /// A slice of a value: what the body has made of it, or of what comes from outside.
    fn part(&mut self, value: Value<'c, 'a>, along: Along, at: Value<'c, 'a>) -> Value<'c, 'a> {
        let (build, location, key) = (self.build, self.location, ir::key(value));
        if self.region.slices.contains_key(&key) {
            return self.inside[&key];
        }
        if let Some(known) = self.leaves.get(&(key, along.dim)) {
            return *known;
        }
        let ty = self.ty(value.r#type(), along);
        let op = defining_op(value);
        let made = if ir::splat_constant(value).is_some() {
            let dense = op.and_then(|op| op.attribute("value").ok()).and_then(|of| of.try_into().ok());
            let scalar =
                build.scalar_constant(dense.expect("splats are dense"), ir::element_of(ty), location);
            build.broadcast_scalar(scalar, ty, location)
        } else if let Some(op) = op.filter(|op| op_name(*op) == "stablehlo.iota") {
            let counts = access::iota_dimension(op).unwrap_or_default();
            if counts == along.dim { self.counted(ty, along, at) } else { build.iota(ty, counts, location) }
        } else {
            let whole = self.inside.get(&key).copied().unwrap_or(value);
            let starts = self.starts(value, along, at);
            build.dynamic_slice(whole, &starts, ty, location)
        };
        self.leaves.insert((key, along.dim), made);
        made
    }

    /// A slice of an iota along what it counts: counted in i64, then converted, as the whole iota is.
    fn counted(&self, ty: Type<'c>, along: Along, at: Value<'c, 'a>) -> Value<'c, 'a> {
        let (build, location) = (self.build, self.location);
        let shape = Tensor::new(ty).map(|tensor| tensor.shape).unwrap_or_default();
        let wide = Tensor::get(shape, build.i64_type(), None);
        let from = build.broadcast_scalar(self.position(at, along), wide, location);
        let counted = build.binary("stablehlo.add", build.iota(wide, along.dim, location), from, location);
        if wide == ty { counted } else { build.convert(counted, ty, location) }
    }

    /// Does a member on slices.
    fn make(&mut self, member: &Member<'c, 'a>, operands: &[Value<'c, 'a>]) {
        let Results::Kept(along) = &member.role.results else { unreachable!("sums are added up") };
        let op = member.op;
        let types: Vec<Type> =
            op.results().zip(along).map(|(result, along)| self.ty(result.r#type(), *along)).collect();
        let resized = member.role.resized(op, (self.slice, self.region.units), self.build);
        let copy = self.build.copy_with(op, operands, resized.as_slice(), &types);
        let made = op.results().zip(copy.results());
        self.inside.extend(made.map(|(from, to)| (ir::key(from.into()), to.into())));
    }

    /// What is carried, and what an op makes of one slice.
    fn add(
        &self,
        op: OperationRef<'c, 'a>,
        sum: &Sum<'c>,
        mut operands: Vec<Value<'c, 'a>>,
        before: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let (build, location, ty) = (self.build, op.location(), before.r#type());
        let result = |op: OperationRef<'c, 'a>| Value::from(op.result(0).expect("it has one result"));
        match sum {
            Sum::Scatter => {
                operands[0] = before;
                result(build.copy_with(op, &operands, &[], &[ty]))
            }
            Sum::Contract(_) => {
                let part = result(build.copy_with(op, &operands, &[], &[ty]));
                build.binary("stablehlo.add", before, part, location)
            }
            Sum::Reduce { combine, identity, element } => {
                operands[0] = self.widened(operands[0], *element);
                if let Some(identity) = identity {
                    operands[1] = build.number(*identity, *element, location);
                }
                let copy = build.copy_with(op, &operands, &[], &[ty]);
                if ir::element_of(op.operands().next().map_or(ty, |operand| operand.r#type())) != *element {
                    retype_region(build, copy, *element);
                }
                build.binary(combine, before, result(copy), location)
            }
        }
    }
}
