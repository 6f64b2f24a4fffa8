// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The loop over slabs, and the rows at both ends.

use super::cone::{Cone, Member, operand_dims};
use super::rows::{Inside, Needs, Rows, all_of, joined, part, unpadded, updated};
use crate::counted::Open;
use crate::hold::{self, Way};
use crate::ir::{self, Builder, element_of};
use crate::ops::access::iota_dimension;
use crate::ops::reducers::combiner;
use crate::rewrite::{defining_op, is_unused, location_of, uses};
use crate::target::Storage;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

/// Makes the loop of `count` slabs of `slab` rows from row `low` on, and what is around it; its results take the place of the
/// cone's.
pub fn run<'c: 'a, 'a>(
    cone: &Cone<'c, 'a>,
    slab: i64,
    (low, count): (i64, i64),
    storage: &Storage,
    build: &Builder<'c, 'a>,
) {
    let anchor = cone.anchor();
    let ops: Vec<_> = cone.targets.iter().map(|target| target.op).collect();
    let location = location_of(&ops).unwrap_or(anchor.location());
    let high = low + count * slab;
    // Whatever needs a result comes after the loop.
    let after = anchor.next_in_block().expect("a terminator comes last");
    for user in cone.users_before_anchor().unwrap_or_default() {
        build.move_before(user, after);
    }
    build.set_insertion_point_before(anchor);

    let mut needs = Needs::of(cone, |_| Rows { from: 0, to: slab }, Some(&mut Inside::new(slab)));
    let windows = windows(cone, slab, &mut needs);
    let mut operands = Vec::new();
    for (target, (old, window)) in cone.targets.iter().zip(cone.olds.iter().zip(&windows)) {
        // Where nothing reads an old field, nothing has to be held of it.
        let old = old.filter(|old| window.is_some() || uses(*old).next().is_none());
        operands.push(old.unwrap_or_else(|| build.zeros(target.value.r#type(), location)));
    }
    // What is read around the loop of fields that it overwrites, and of those that are added up.
    let overwrites = windows.iter().any(Option::is_some);
    let first = (overwrites || !cone.totals.is_empty()).then(|| Ends::of(cone, (low, high), build));
    operands.extend(first.iter().flat_map(|ends| &ends.totals));
    let held = first.as_ref().and_then(|ends| Held::of(cone, &windows, low, ends, build, location));
    operands.extend(held.as_ref().map(|held| held.all));
    let captured = captured(cone, &needs);
    operands.extend(&captured);
    let turn = Open::new(build, (low..high, slab), &operands, location);
    let (results, rest) = turn.carried.split_at(cone.targets.len());
    let (sums, rest) = rest.split_at(cone.totals.len());
    let (kept, outside) = rest.split_at(usize::from(held.is_some()));
    let names = captured.iter().map(|value| ir::key(*value)).zip(outside.iter().copied()).collect();
    let way = Way::of(storage, || {
        let end = build.i64_constant(high, location);
        build.compare(ComparisonDirection::Lt, turn.at, end, location)
    });
    let (made, at) = (FxHashMap::default(), Some(turn.at));
    let mut maker = Maker { build, cone, needs, made, slab, at, way: Some(way), names };
    let kept = held
        .as_ref()
        .zip(kept.first())
        .map(|(held, kept)| maker.read_windows(&windows, results, (held, *kept), way, location));
    maker.make_all();
    let mut next = Vec::new();
    for (target, result) in cone.targets.iter().zip(results) {
        let rows = maker.take(target.value, target.dim, Rows { from: 0, to: slab });
        next.push(put(build, *result, rows, target.dim, turn.at, location));
    }
    for (total, sum) in cone.totals.iter().zip(sums) {
        let part = maker.total(total, Rows { from: 0, to: slab });
        next.push(combined(total, *sum, part, build));
    }
    next.extend(kept);
    next.extend(outside);
    let op = turn.close(&next);
    build.set_insertion_point_before(anchor);

    let around = |all: Option<Value<'c, 'a>>| match (held, first) {
        (Some(held), _) => held.around(all.expect("a result per operand"), build, location),
        (None, Some(ends)) => ends.around,
        (None, None) => Ends::of(cone, (low, high), build).around,
    };
    leave(cone, op, around, build, location);
}

/// Has the loop's results take the place of what it computes; `around` says what was computed around it, where that is held of the value
/// that comes after sums, if anything is.
fn leave<'c: 'a, 'a>(
    cone: &Cone<'c, 'a>,
    op: OperationRef<'c, 'a>,
    around: impl FnOnce(Option<Value<'c, 'a>>) -> Vec<Around<'c, 'a>>,
    build: &Builder<'c, 'a>,
    location: Location<'c>,
) {
    let result = |index: usize| -> Value<'c, 'a> { op.result(index).expect("a result per operand").into() };
    let mut results: Vec<Value<'c, 'a>> = (1..=cone.targets.len()).map(result).collect();
    let sums = 1 + results.len()..1 + results.len() + cone.totals.len();
    let all = op.result(sums.end).ok().map(Value::from);
    for Around { target, from, rows } in around(all) {
        let start = build.i64_constant(from, location);
        results[target] = put(build, results[target], rows, cone.targets[target].dim, start, location);
    }
    for (target, result) in cone.targets.iter().zip(results) {
        build.replace_all_uses_with(target.value, result);
    }
    for (total, sum) in cone.totals.iter().zip(sums.map(result)) {
        build.replace_all_uses_with(total.op.result(0).expect("reductions have one").into(), sum);
        build.erase(total.op);
    }
    for member in cone.members.iter().rev() {
        if is_unused(member.op) {
            build.erase(member.op);
        }
    }
}

/// What a turn reads of a field that it overwrites: the rows that turns before have overwritten, as they were, and the others from
/// the slab's first one on.
#[derive(Clone, Copy)]
struct Window<'c, 'a> {
    old: Value<'c, 'a>,
    /// All of them.
    rows: Rows,
    /// Of these, those before the slab: one at least, since that is what the loop carries along.
    before: i64,
}

/// The windows of the targets' olds, each in one piece.
fn windows<'c: 'a, 'a>(cone: &Cone<'c, 'a>, slab: i64, needs: &mut Needs) -> Vec<Option<Window<'c, 'a>>> {
    let window = |old: Option<Value<'c, 'a>>, needs: &mut Needs| {
        let old = old?;
        // The last rows of the slab are among those before the next one.
        let rows = needs.join(old, |rows| Rows { from: rows.from.min(-1), to: rows.to.max(slab) })?;
        Some(Window { old, rows, before: -rows.from })
    };
    cone.olds.iter().map(|old| window(*old, needs)).collect()
}

/// Rows of a target beside the loop's.
struct Around<'c, 'a> {
    target: usize,
    from: i64,
    rows: Value<'c, 'a>,
}

/// What the rows before the loop's and after come to.
struct Ends<'c, 'a> {
    /// The targets' rows there.
    around: Vec<Around<'c, 'a>>,
    /// The totals of both ends.
    totals: Vec<Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Ends<'c, 'a> {
    fn of(cone: &Cone<'c, 'a>, (low, high): (i64, i64), build: &Builder<'c, 'a>) -> Self {
        let before = |_: &Member<'c, 'a>| Rows { from: 0, to: low };
        let after = |member: &Member<'c, 'a>| Rows { from: high, to: all_of(member.value, member.dim).to };
        let mut around = Vec::new();
        let mut parts: Vec<Vec<Value<'c, 'a>>> = vec![Vec::new(); cone.totals.len()];
        for wanted in [&before as &dyn Fn(&Member<'c, 'a>) -> Rows, &after] {
            let needs = Needs::of(cone, wanted, None);
            let (made, names) = (FxHashMap::default(), FxHashMap::default());
            let mut maker = Maker { build, cone, needs, made, slab: 0, at: None, way: None, names };
            maker.make_all();
            for (number, target) in cone.targets.iter().enumerate() {
                let rows = wanted(target);
                if rows.count() > 0 {
                    let made = maker.take(target.value, target.dim, rows);
                    around.push(Around { target: number, from: rows.from, rows: made });
                }
            }
            for (total, parts) in cone.totals.iter().zip(&mut parts) {
                let rows = wanted(total);
                parts.extend((rows.count() > 0).then(|| maker.total(total, rows)));
            }
        }
        let totals = cone.totals.iter().zip(parts).map(|(total, parts)| {
            let all = parts.into_iter().reduce(|left, right| combined(total, left, right, build));
            all.expect("there is a row before the loop's")
        });
        Self { around, totals: totals.collect() }
    }
}

/// Both parts of a total.
fn combined<'c: 'a, 'a>(
    total: &Member<'c, 'a>,
    left: Value<'c, 'a>,
    right: Value<'c, 'a>,
    build: &Builder<'c, 'a>,
) -> Value<'c, 'a> {
    build.binary(combiner(total.op).expect("totals combine"), left, right, total.op.location())
}

/// What is read around the loop of fields that it overwrites, in one value that the loop carries: so it is there before the loop begins. First
/// the rows of each that the next turn will find overwritten, then the targets' rows around the loop's.
struct Held<'c, 'a> {
    all: Value<'c, 'a>,
    joined: hold::Joined<'c>,
    /// How many of the parts are rows before a slab.
    before: usize,
    /// Whose the others are, and where they belong.
    around: Vec<(usize, i64)>,
}

impl<'c: 'a, 'a> Held<'c, 'a> {
    fn of(
        cone: &Cone<'c, 'a>,
        windows: &[Option<Window<'c, 'a>>],
        low: i64,
        ends: &Ends<'c, 'a>,
        build: &Builder<'c, 'a>,
        location: Location<'c>,
    ) -> Option<Self> {
        let mut parts = Vec::new();
        for (target, window) in cone.targets.iter().zip(windows) {
            let Some(window) = window else { continue };
            let ty = sized(window.old.r#type(), target.dim, window.before);
            let mut starts = vec![0; rank_of(ty)];
            starts[target.dim] = low - window.before;
            parts.push(build.slice(window.old, &starts, ty, location));
        }
        let before = parts.len();
        if before == 0 {
            return None;
        }
        parts.extend(ends.around.iter().map(|part| part.rows));
        let joined = hold::Joined::of(&parts);
        let all = joined.join(&parts, build, location);
        Some(Self {
            all,
            joined,
            before,
            around: ends.around.iter().map(|part| (part.target, part.from)).collect(),
        })
    }

    /// The rows around the loop's, as `kept` holds them after it.
    fn around(
        &self,
        kept: Value<'c, 'a>,
        build: &Builder<'c, 'a>,
        location: Location<'c>,
    ) -> Vec<Around<'c, 'a>> {
        let parts = self.around.iter().enumerate();
        parts
            .map(|(index, &(target, from))| {
                let rows = self.joined.part(kept, self.before + index, build, location);
                Around { target, from, rows }
            })
            .collect()
    }
}

/// What turns of the loop need from outside.
fn captured<'c: 'a, 'a>(cone: &Cone<'c, 'a>, needs: &Needs) -> Vec<Value<'c, 'a>> {
    let members = cone.members.iter().map(|member| member.value);
    let mut known: FxHashMap<usize, ()> =
        members.chain(cone.olds.iter().copied().flatten()).map(|value| (ir::key(value), ())).collect();
    let mut captured = Vec::new();
    for member in cone.members.iter().filter(|member| !needs.rows(member.value).is_empty()) {
        for (operand, dim) in
            member.op.operands().zip(operand_dims(member.op, member.dim).unwrap_or_default())
        {
            let unneeded = dim.is_some() && needs.rows(operand).is_empty();
            if !unneeded
                && ir::splat_constant(operand).is_none()
                && known.insert(ir::key(operand), ()).is_none()
            {
                captured.push(operand);
            }
        }
    }
    for total in &cone.totals {
        captured.extend(known.insert(ir::key(total.value), ()).is_none().then_some(total.value));
    }
    captured
}

/// Makes rows of values, in a turn of the loop or at an end.
struct Maker<'c, 'a, 'r> {
    build: &'r Builder<'c, 'a>,
    cone: &'r Cone<'c, 'a>,
    needs: Needs,
    made: FxHashMap<(usize, Rows), Value<'c, 'a>>,
    /// Rows of a slab.
    slab: i64,
    /// Where the slab of this turn begins.
    at: Option<Value<'c, 'a>>,
    /// In the loop, how values are held.
    way: Option<Way<'c, 'a>>,
    /// What values from outside are called in the loop.
    names: FxHashMap<usize, Value<'c, 'a>>,
}

impl<'c: 'a, 'a> Maker<'c, 'a, '_> {
    fn make_all(&mut self) {
        let stored = self.cone.stored(&self.needs);
        for member in &self.cone.members {
            for rows in self.needs.rows(member.value).to_vec() {
                let mut made = self.make(*member, rows);
                if let Some(way) = self.way.filter(|_| stored.contains(&ir::key(member.value))) {
                    // It has to be there before anything is made of it.
                    let types = [made.r#type()];
                    made = way.hold(self.build, &types, member.op.location(), || vec![made])[0];
                }
                self.made.insert((ir::key(member.value), rows), made);
            }
        }
    }

    /// Rows of a value that has been made, or is there.
    fn take(&self, value: Value<'c, 'a>, dim: usize, rows: Rows) -> Value<'c, 'a> {
        let build = self.build;
        let location =
            defining_op(value).map_or_else(|| Location::unknown(build.context()), |op| op.location());
        let ty = sized(value.r#type(), dim, rows.count());
        let mut starts = vec![0; rank_of(ty)];
        if let Some((piece, made)) = self.piece(value, rows) {
            if piece == rows {
                return made;
            }
            starts[dim] = rows.from - piece.from;
            return build.slice(made, &starts, ty, location);
        }
        if let Some(op) = defining_op(value).filter(|_| ir::splat_constant(value).is_some()) {
            return self.splat(op, ty);
        }
        let there = self.named(value);
        match self.at {
            Some(at) => {
                let mut starts = vec![build.i64_constant(0, location); rank_of(ty)];
                starts[dim] = self.further(at, rows.from, location);
                build.dynamic_slice(there, &starts, ty, location)
            }
            None if rows == all_of(value, dim) => there,
            None => {
                starts[dim] = rows.from;
                build.slice(there, &starts, ty, location)
            }
        }
    }

    /// Reads the rows of each old that this turn needs, before any is overwritten; gives what the next turn is to hold.
    fn read_windows(
        &mut self,
        windows: &[Option<Window<'c, 'a>>],
        fields: &[Value<'c, 'a>],
        (held, kept): (&Held<'c, 'a>, Value<'c, 'a>),
        way: Way<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let build = self.build;
        let reads: Vec<(usize, Window<'c, 'a>, Value<'c, 'a>)> = self
            .cone
            .targets
            .iter()
            .zip(windows.iter().zip(fields))
            .filter_map(|(target, (window, field))| Some((target.dim, (*window)?, *field)))
            .collect();
        let types: Vec<Type> = reads
            .iter()
            .map(|(dim, window, field)| sized(field.r#type(), *dim, window.rows.count()))
            .collect();
        let at = self.at.expect("this is in the loop");
        let read = || {
            let rows = reads.iter().enumerate().map(|(index, (dim, window, field))| {
                let ty = sized(field.r#type(), *dim, window.rows.to);
                let mut starts = vec![build.i64_constant(0, location); rank_of(ty)];
                starts[*dim] = at;
                let before = held.joined.part(kept, index, build, location);
                let rows = build.dynamic_slice(*field, &starts, ty, location);
                build.concatenate(&[before, rows], *dim, location)
            });
            rows.collect()
        };
        let read = way.hold(build, &types, location, read);
        let mut next = Vec::new();
        for ((dim, window, field), rows) in reads.into_iter().zip(read) {
            self.made.insert((ir::key(window.old), window.rows), rows);
            let ty = sized(field.r#type(), dim, window.before);
            let mut starts = vec![0; rank_of(ty)];
            starts[dim] = self.slab;
            next.push(build.slice(rows, &starts, ty, location));
        }
        held.joined.with_first(kept, &next, build, location)
    }

    /// What has been made of a value that has these rows.
    fn piece(&self, value: Value<'c, 'a>, rows: Rows) -> Option<(Rows, Value<'c, 'a>)> {
        let piece = *self.needs.rows(value).iter().find(|piece| piece.contains(rows))?;
        Some((piece, *self.made.get(&(ir::key(value), piece))?))
    }

    /// The constant's scalar, in this shape.
    fn splat(&self, constant: OperationRef<'c, 'a>, ty: Type<'c>) -> Value<'c, 'a> {
        let dense = constant.attribute("value").ok().and_then(|value| value.try_into().ok());
        let (build, location) = (self.build, constant.location());
        let scalar = build.scalar_constant(dense.expect("splats are dense"), element_of(ty), location);
        build.broadcast_scalar(scalar, ty, location)
    }

    /// A value that is used whole.
    fn whole(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        match defining_op(value).filter(|_| self.at.is_some() && ir::splat_constant(value).is_some()) {
            // Back ends see through constants better than through what a loop carries.
            Some(op) => self
                .build
                .copy_with(op, &[], &[], &[value.r#type()])
                .result(0)
                .expect("constants have a result")
                .into(),
            None => self.named(value),
        }
    }

    fn named(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.names.get(&ir::key(value)).copied().unwrap_or(value)
    }

    fn further(&self, at: Value<'c, 'a>, by: i64, location: Location<'c>) -> Value<'c, 'a> {
        if by == 0 {
            return at;
        }
        self.build.binary("stablehlo.add", at, self.build.i64_constant(by, location), location)
    }

    fn make(&self, member: Member<'c, 'a>, rows: Rows) -> Value<'c, 'a> {
        let Member { op, value, dim } = member;
        let (build, location, inside) = (self.build, op.location(), self.at.is_some());
        let operand =
            |index: usize| -> Value<'c, 'a> { op.operand(index).expect("the op has been looked at") };
        let ty = sized(value.r#type(), dim, rows.count());
        let numbers = |name: &str| ir::i64_array(op, name).expect("the op has been looked at").to_vec();
        if let Some(segments) = joined(op, dim) {
            let parts: Vec<Value<'c, 'a>> = segments
                .into_iter()
                .enumerate()
                .filter_map(|(at, segment)| {
                    let of = part(op, dim, at, segment, rows, inside)?;
                    Some(self.take(operand(at), dim, of.after(segment.from)))
                })
                .collect();
            return if parts.len() == 1 { parts[0] } else { build.concatenate(&parts, dim, location) };
        }
        if let Some(segment) = unpadded(op, dim) {
            let padding = self.whole(operand(1));
            let Some(inner) = part(op, dim, 0, segment, rows, inside) else {
                return build.broadcast_scalar(padding, ty, location);
            };
            let (mut low, mut high) = (numbers("edge_padding_low"), numbers("edge_padding_high"));
            let interior = numbers("interior_padding");
            (low[dim], high[dim]) = (inner.from - rows.from, rows.to - inner.to);
            let inner = self.take(operand(0), dim, inner.after(segment.from));
            if low.iter().chain(&high).chain(&interior).all(|&padding| padding == 0) {
                return inner;
            }
            return build.pad(inner, padding, [&low, &high, &interior], ty, location);
        }
        match op_name(op) {
            "stablehlo.slice" => {
                let (mut start, mut limit) = (numbers("start_indices"), numbers("limit_indices"));
                let inner = rows.after(-start[dim]);
                // Straight from what has been made: whoever knows what reads a field that is updated in place looks at slices of it.
                let (from, taken) = match self.piece(operand(0), inner) {
                    Some((piece, made)) => (inner.from - piece.from, made),
                    None => (0, self.take(operand(0), dim, inner)),
                };
                if taken.r#type() == ty {
                    return taken;
                }
                (start[dim], limit[dim]) = (from, from + rows.count());
                build.strided_slice(taken, &start, &limit, &numbers("strides"), ty, location)
            }
            // A field that is handed on as it is.
            "stablehlo.reshape" if operand(0).r#type() == value.r#type() => self.take(operand(0), dim, rows),
            "stablehlo.dynamic_update_slice" => self.update(member, rows),
            "stablehlo.constant" => self.splat(op, ty),
            "stablehlo.iota" if iota_dimension(op) == Some(dim) => {
                // Counted in i64, then converted, as the whole iota is: a float would round the sum, not the number.
                let wide = Tensor::get(Tensor::new(ty).expect("it is one").shape, build.i64_type(), None);
                let first = match self.at {
                    Some(at) => self.further(at, rows.from, location),
                    None => build.i64_constant(rows.from, location),
                };
                let counted = build.iota(wide, dim, location);
                let counted = build.binary(
                    "stablehlo.add",
                    counted,
                    build.broadcast_scalar(first, wide, location),
                    location,
                );
                if wide == ty { counted } else { build.convert(counted, ty, location) }
            }
            _ => {
                let dims = operand_dims(op, dim).expect("the op has been looked at");
                let operands: Vec<_> = op
                    .operands()
                    .zip(dims)
                    .map(|(operand, dim)| match dim {
                        Some(dim) => self.take(operand, dim, rows),
                        None => self.whole(operand),
                    })
                    .collect();
                build.copy_with(op, &operands, &[], &[ty]).result(0).expect("members have one result").into()
            }
        }
    }

    /// What these rows come to.
    fn total(&self, total: &Member<'c, 'a>, rows: Rows) -> Value<'c, 'a> {
        let taken = self.take(total.value, total.dim, rows);
        let result = total.op.result(0).expect("reductions have one");
        let initial = self.whole(total.op.operand(1).expect("reductions start from something"));
        let made = self.build.copy_with(total.op, &[taken, initial], &[], &[Value::from(result).r#type()]);
        made.result(0).expect("it is a copy").into()
    }

    /// Rows of what a `dynamic_update_slice` makes.
    fn update(&self, member: Member<'c, 'a>, rows: Rows) -> Value<'c, 'a> {
        let Member { op, dim, .. } = member;
        let (build, location) = (self.build, op.location());
        let (segment, whole) = updated(op, dim).expect("the op has been looked at");
        let operand =
            |index: usize| -> Value<'c, 'a> { op.operand(index).expect("the op has been looked at") };
        let Some(inner) = part(op, dim, 1, segment, rows, self.at.is_some()) else {
            return self.take(operand(0), dim, rows);
        };
        let new = self.take(operand(1), dim, inner.after(segment.from));
        if whole {
            let around = |rows: Rows| (rows.count() > 0).then(|| self.take(operand(0), dim, rows));
            let before = around(Rows { to: inner.from, ..rows });
            let parts: Vec<_> =
                before.into_iter().chain([new]).chain(around(Rows { from: inner.to, ..rows })).collect();
            return if parts.len() == 1 { new } else { build.concatenate(&parts, dim, location) };
        }
        let mut operands = vec![self.take(operand(0), dim, rows), new];
        operands.extend((2..op.operand_count()).map(|index| {
            let start = operand(index);
            match index == 2 + dim {
                true => build.number((inner.from - rows.from) as f64, element_of(start.r#type()), location),
                false => self.whole(start),
            }
        }));
        let ty = operands[0].r#type();
        build.copy_with(op, &operands, &[], &[ty]).result(0).expect("updates have one result").into()
    }
}

/// A field with some rows put into it.
fn put<'c: 'a, 'a>(
    build: &Builder<'c, 'a>,
    field: Value<'c, 'a>,
    rows: Value<'c, 'a>,
    dim: usize,
    at: Value<'c, 'a>,
    location: Location<'c>,
) -> Value<'c, 'a> {
    let mut starts = vec![build.i64_constant(0, location); rank_of(field.r#type())];
    starts[dim] = at;
    build.dynamic_update_slice(field, rows, &starts, location)
}

/// The same type with another extent.
fn sized<'c>(ty: Type<'c>, dim: usize, extent: i64) -> Type<'c> {
    let tensor = Tensor::new(ty).expect("members are tensors");
    let mut shape = tensor.shape.to_vec();
    shape[dim] = extent;
    Tensor::get(&shape, tensor.element, None)
}

fn rank_of(ty: Type<'_>) -> usize {
    Tensor::new(ty).map_or(0, |tensor| tensor.rank())
}
