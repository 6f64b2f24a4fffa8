// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Chains of updates of an array, done in place on each device.

use super::classes::{Class, Made, classes};
use super::emit::{self, Body, Outside};
use super::mesh::Layout;
use super::moves::{
    self, Box_, Index, Moves, Piece, Source, is_bare, is_move, is_update, plain, starts_of, unconstrained,
    update_of,
};
use super::uneven::trimmed_from;
use super::{CLASSES, Inputs, Link, Rewrite, Target, Update};
use crate::ir;
use crate::rewrite::{defining_op, location_of, users};
use melior::ir::operation::OperationLike;
use melior::ir::{BlockLike, OperationRef, TypeLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// Updates an array that is there in place.
    pub(super) fn chain(&mut self, target: &Target<'c, 'a>) -> Option<(Value<'c, 'a>, u64)> {
        let (mut ops, free) = self.links(target);
        // Whatever becomes of them, they are not looked at again, but for those that may yet be without the pad behind them.
        if target.beyond.is_none() {
            self.done.extend(ops.iter().take(free.max(1)).map(|(op, _)| ir::op_key(*op)));
        }
        let mut moves = Moves::new(&self.known, &mut self.splats);
        let count = ops.len();
        ops.reverse();
        number_versions(&mut moves, &ops)?;
        let mut updates: Vec<Update<'c, 'a>> = Vec::with_capacity(free);
        for (op, starts) in ops.iter().rev().take(free) {
            moves.rest();
            let Some(pieces) = pieces_of(&mut moves, *op, starts) else { break };
            updates.push(Update { op: *op, pieces });
        }
        updates.reverse();
        let beyond = beyond(&mut moves, target);
        let Moves { mut inputs, fills, .. } = moves;
        // What could not be taken apart together may be by itself.
        for (op, _) in ops.iter().rev().take(free).skip(updates.len().max(1)) {
            self.done.remove(&ir::op_key(*op));
        }
        let skipped = count - updates.len();
        let base = self.base_of(&updates, target)?;
        read_from_outside(&mut updates, &mut inputs, &ops, skipped, &target.layout)?;
        let base_input = inputs.len();
        inputs.push((base, target.layout.clone()));
        let locals = self.locals(&inputs)?;
        let mut steps = Vec::with_capacity(updates.len());
        for update in &updates {
            steps.push(self.classes(&update.pieces, target, CLASSES, |source| match source {
                Source::Input(input) => (&inputs[input].1, &locals[input]),
                Source::Version(_) => (&target.layout, &target.local),
            })?);
        }
        if !self.is_chain_worth_it(target, &updates, &steps, &inputs) {
            return None;
        }
        // Back ends that widen bfloat16 update it in place only where they select, which devices that differ do.
        let devices = self.known.mesh.grid.devices();
        let ty = base.r#type();
        let is_kept =
            free < count || skipped > 0 || [target.root, target.op].into_iter().any(do_several_read);
        let alike = || steps.iter().flatten().any(|class| class.devices.count() == devices);
        if ir::element_of(ty).is_bf16() && (is_kept || alike()) {
            return None;
        }
        let location = location_of(&[target.op, target.root]).unwrap_or(target.op.location());
        let mut exprs = Vec::new();
        for (update, classes) in updates.iter().zip(&mut steps) {
            // Pieces of all updates are in one list.
            let offset = exprs.len();
            exprs.extend(update.pieces.iter().map(|(_, expr)| expr));
            classes.iter_mut().for_each(|class| class.piece += offset);
        }
        for piece in &beyond {
            let offset = exprs.len();
            exprs.push(&piece.1);
            let mut classes = self.classes_beyond(piece, target)?;
            classes.iter_mut().for_each(|class| class.piece += offset);
            steps.push(classes);
        }
        let others = self.sent_by_partitioner(target);
        self.build.set_insertion_point_before(target.op);
        let scalars: Vec<_> = fills.iter().map(|fill| fill.materialize(&self.build, location)).collect();
        let (inputs, made) = self.even(&inputs, &scalars, location)?;
        let outside = Outside {
            anchor: target.op,
            location,
            inputs: &inputs,
            fills: &scalars,
            result: (ty, &target.layout),
            exprs,
        };
        let mut body = Body::open(&self.build, &self.known.mesh, &mut self.channel, outside)?;
        body.update(base_input);
        body.is_stored =
            steps.len() > 1 || !is_only_computed_on(target.root) || is_carried_and_cut(target, base);
        let held: i64 = target.local.iter().product();
        body.most_at_once = others.map(|sent| sent.most_at_once(held));
        let mut value = None;
        for classes in &emit::merged(steps, ty, devices) {
            value = Some(body.write(classes));
        }
        let exchanges = body.exchanges;
        let is_less = others.is_none_or(|sent| {
            sent.is_no_less_than(exchanges, body.received) && sent.stores_no_less_than(body.widest, held)
                || exchanges == 0 && is_written_anew(target, base)
        });
        let Some(value) = value.filter(|_| is_less) else {
            body.abandon();
            self.sweep(&made);
            return None;
        };
        let whole = body.close(value);
        let result = self.trimmed(whole, target, location);
        self.sweep(&made);
        Some((result, exchanges))
    }

    /// Where devices put what is beyond the ends of an array, into the tiles that all of them have.
    fn classes_beyond(&self, piece: &Piece<'c, 'a>, target: &Target<'c, 'a>) -> Option<Vec<Class>> {
        let grid = &self.known.mesh.grid;
        let even = target.layout.even_shape(target.shape, grid)?;
        let made = Made { shape: &even, layout: &target.layout, tile: &target.local };
        classes(std::slice::from_ref(piece), made, grid, |_| (&target.layout, &target.local), CLASSES)
    }

    /// Whether some update of a chain is better than a partitioner's, and none is one of those that partitioners know better.
    fn is_chain_worth_it(
        &self,
        target: &Target<'c, 'a>,
        updates: &[Update<'c, 'a>],
        steps: &[Vec<Class>],
        inputs: &[(Value<'c, 'a>, Layout)],
    ) -> bool {
        let all = || updates.iter().zip(steps);
        all().any(|(update, classes)| self.is_worth_it(classes, &update.pieces, inputs, target))
            && !(is_read_on(target.root)
                && all().any(|(update, classes)| self.is_row_of_few(update, classes)))
    }

    /// The updates that lead to a target, last to first, with their starts, each laid out like the target; and how many of
    /// them are of no use to anything but the next and what that is made of.
    fn links(&mut self, target: &Target<'c, 'a>) -> (Vec<Link<'c, 'a>>, usize) {
        // How far it is looked beyond those that can be made, for what they read.
        const FURTHER: usize = 16;
        const LONGEST: usize = 512;
        let mut links: Vec<Link<'c, 'a>> = Vec::new();
        let mut free: Option<usize> = None;
        let mut inside: FxHashSet<usize> = FxHashSet::default();
        let mut next = Some(target.op);
        while let Some(op) =
            next.filter(|op| links.len() < LONGEST && is_bare(*op) && op.block() == target.op.block())
        {
            let (Some(starts), Ok(base)) = (starts_of(op), op.operand(0)) else { break };
            if !self.is_laid_out(base, target) || free.is_some_and(|free| links.len() >= free + FURTHER) {
                break;
            }
            if free.is_none() {
                let mut moves = Moves::new(&self.known, &mut self.splats);
                if pieces_of(&mut moves, op, &starts).is_none() {
                    free = Some(links.len());
                }
            }
            links.push((op, starts));
            inside.insert(ir::op_key(op));
            // Through constraints that ask for nothing new.
            let mut value = base;
            next = loop {
                let Some(op) = defining_op(value) else { break None };
                match op_name(op) {
                    _ if is_update(op) => break Some(op),
                    "sdy.sharding_constraint" if self.is_laid_out(value, target) => {
                        inside.insert(ir::op_key(op));
                        match op.operand(0) {
                            Ok(operand) => value = operand,
                            Err(_) => break None,
                        }
                    }
                    _ => break None,
                }
            };
            // A version that is needed for something else has to stay.
            let last = links.len();
            if free.is_none() && !self.is_internal(base, value, &mut inside) {
                free = Some(last);
            }
        }
        let free = free.unwrap_or(links.len());
        (links, free)
    }

    /// What the first update puts something into: what is made of it may say of its layout what it likes, but this would be
    /// resharded.
    fn base_of(&self, updates: &[Update<'c, 'a>], target: &Target<'c, 'a>) -> Option<Value<'c, 'a>> {
        let base = updates.first()?.op.operands().next()?;
        (self.known.layout(base) == Some(&target.layout)).then_some(base)
    }

    /// Whether a value is laid out like a target, or is one of a chain of updates that is laid out as the target's op says: where
    /// the target is made as the program's boundary wants it, so are all that lead to it.
    fn is_laid_out(&self, value: Value<'c, 'a>, target: &Target<'c, 'a>) -> bool {
        let layout = self.known.layout(value);
        let said = || ir::first_result(target.op).and_then(|result| self.known.layout(result));
        let is_version = || defining_op(unconstrained(value)).is_some_and(is_update);
        layout == Some(&target.layout) || target.at_boundary && layout == said() && is_version()
    }

    /// Whether all that `top`, `bottom` and the constraints between them are used for goes into ops that are `inside`.
    /// Finds out by following moves and elementwise ops for a fixed number of steps.
    fn is_internal(&self, top: Value<'c, 'a>, bottom: Value<'c, 'a>, inside: &mut FxHashSet<usize>) -> bool {
        const STEPS: usize = 64;
        let mut found: Vec<OperationRef<'c, 'a>> = Vec::new();
        let mut value = top;
        let mut pending = vec![top];
        while value != bottom {
            let Some(Ok(operand)) = defining_op(value).map(|op| op.operand(0)) else { return false };
            value = operand;
            pending.push(value);
        }
        for _ in 0..STEPS {
            let Some(value) = pending.pop() else {
                inside.extend(found.iter().map(|op| ir::op_key(*op)));
                return true;
            };
            for user in users(value).take(STEPS) {
                if inside.contains(&ir::op_key(user)) || found.contains(&user) {
                    continue;
                }
                if !self.is_seen_through(user) || found.len() >= STEPS {
                    return false;
                }
                found.push(user);
                pending.extend(user.results().map(Value::from));
            }
            if users(value).nth(STEPS).is_some() {
                return false;
            }
        }
        false
    }

    /// Whether reading what `user` makes is reading what it is made of.
    fn is_seen_through(&self, user: OperationRef<'c, 'a>) -> bool {
        let name = op_name(user);
        if !is_bare(user) || is_update(user) {
            return false;
        }
        // Anything else whose layout is known is read as it is.
        is_move(user)
            || (matches!(name, "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.transpose")
                || moves::is_elementwise(user))
                && user.results().all(|result| self.known.layout(result.into()).is_none())
    }
}

/// What an update puts somewhere is made of.
fn pieces_of<'c: 'a, 'a>(
    moves: &mut Moves<'c, 'a, '_>,
    op: OperationRef<'c, 'a>,
    starts: &[i64],
) -> Option<Vec<Piece<'c, 'a>>> {
    /// Of how many parts it may be made: each is a class or more.
    const PARTS: usize = CLASSES / 2;
    moves.of_update(update_of(op)?, starts, PARTS)
}

/// What is beyond the ends of an array that is padded, along one dimension after the other.
fn beyond<'c: 'a, 'a>(moves: &mut Moves<'c, 'a, '_>, target: &Target<'c, 'a>) -> Vec<Piece<'c, 'a>> {
    let Some(splat) = target.beyond.clone() else { return Vec::new() };
    let Some(padded) = ir::first_result(target.root).and_then(plain) else { return Vec::new() };
    let fill = moves.fill(splat);
    let short = (0..target.shape.len()).filter(|&dim| target.shape[dim] < padded.shape[dim]);
    let window = |end: usize| {
        let along =
            |(dim, &size): (usize, &i64)| if dim == end { (target.shape[dim], size) } else { (0, size) };
        padded.shape.iter().enumerate().map(along).collect()
    };
    short.map(|dim| (window(dim), fill.clone())).collect()
}

/// Whether what `op` makes is needed for something other than to be returned.
fn is_read_on<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    op.results().any(|result| users(result.into()).any(|user| !op_name(user).ends_with(".return")))
}

fn do_several_read<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    op.results().any(|result| users(result.into()).nth(1).is_some())
}

/// Whether all that reads what `op` makes computes on it, or pads it: a kernel that does could choose what it reads as
/// well.
fn is_only_computed_on<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    let computes =
        |user: OperationRef<'c, 'a>| moves::is_elementwise(user) || op_name(user) == "stablehlo.pad";
    op.results().all(|result| users(result.into()).all(computes))
}

/// Whether an array that a loop carries is updated, and manual computations take parts of what is computed of the result:
/// each part would have all of that computed again, and what it is chosen from stored, where the update is in the place
/// of what is carried.
fn is_carried_and_cut<'c: 'a, 'a>(target: &Target<'c, 'a>, base: Value<'c, 'a>) -> bool {
    let Some(argument) = ffi::as_block_argument(base) else { return false };
    argument.owner().parent_operation().is_some_and(|owner| op_name(owner) == "stablehlo.while")
        && ir::first_result(target.root).is_some_and(moves::is_read_by_made)
}

/// Whether what a program takes for it is an array that comes out even, and a constant is put beyond the ends of what is
/// updated of it: what a partitioner writes anew for that, and copies to where the program has the result, can be where it is.
fn is_written_anew<'c: 'a, 'a>(target: &Target<'c, 'a>, base: Value<'c, 'a>) -> bool {
    target.beyond.is_some() && trimmed_from(base).is_some_and(|whole| whole.is_block_argument())
}

/// Whether what a box of the result reads meets a box of the array it is read from.
fn meets(window: &Box_, index: &[Index], other: &Box_) -> bool {
    index.iter().zip(other).all(|(at, (low, high))| {
        let (from, to) = at.dim().map_or((0, 1), |dim| window[dim]);
        let lowest = at.lowest(from, to);
        lowest < *high && *low < lowest + (to - from)
    })
}

/// Says which version each value of a chain is; the first one is what is under all of it.
fn number_versions<'c: 'a, 'a>(moves: &mut Moves<'c, 'a, '_>, ops: &[Link<'c, 'a>]) -> Option<()> {
    for (version, (op, _)) in ops.iter().enumerate() {
        let mut value = op.operands().next()?;
        loop {
            moves.versions.insert(ir::key(value), version);
            match defining_op(value).filter(|op| op_name(*op) == "sdy.sharding_constraint") {
                Some(op) if version > 0 => value = op.operands().next()?,
                _ => break,
            }
        }
    }
    Some(())
}

/// Versions from before the first update that is made: where the base holds the same, it is read, else they are values from outside.
fn read_from_outside<'c: 'a, 'a>(
    updates: &mut [Update<'c, 'a>],
    inputs: &mut Inputs<'c, 'a>,
    ops: &[Link<'c, 'a>],
    skipped: usize,
    layout: &Layout,
) -> Option<()> {
    let windows: Vec<Box_> = ops
        .iter()
        .map(|(op, starts)| {
            let sizes = plain(update_of(*op)?)?.shape;
            Some(starts.iter().zip(sizes).map(|(start, size)| (*start, start + size)).collect())
        })
        .collect::<Option<_>>()?;
    let mut renumbered = FxHashMap::default();
    for (window, expr) in updates.iter_mut().flat_map(|update| &mut update.pieces) {
        expr.for_each_read(&mut |source, index| {
            let Source::Version(version) = *source else { return };
            let since = windows.get(version..skipped).unwrap_or_default();
            *source = if since.iter().all(|written| !meets(window, index, written)) {
                Source::Version(version.saturating_sub(skipped))
            } else {
                let input = *renumbered.entry(version).or_insert_with(|| {
                    inputs.push((ops[version].0.operand(0).expect("an update"), layout.clone()));
                    inputs.len() - 1
                });
                Source::Input(input)
            };
        });
    }
    Some(())
}
