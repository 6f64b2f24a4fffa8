// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which rows of the batch each op of a step takes and makes.

use super::is_open;
use crate::batch_slices::rules::{Results, Role, Rules, Sum};
use crate::ir;
use crate::ops::access::Along;
use crate::ops::class::is_collective;
use crate::ops::reducers::combiner;
use crate::ops::related::counts_once;
use crate::rewrite::{arguments_of, context_of, ops_in, uses, walk};
use crate::shards::{Layout, Mesh, is_entry, partitions, shardings_at};
use crate::tables::{Keys, Table};
use crate::target::Target;
use crate::ties::Ties;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{BlockRef, OperationRef, RegionLike, Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{TensorSharding, View};
use std::rc::Rc;

pub(super) const CONSTRAINT: &str = "sdy.sharding_constraint";
const LOOP: &str = "stablehlo.while";

/// How an op takes shards.
#[derive(Clone, Debug)]
pub(super) enum Part<'c> {
    /// By a rule for slices.
    Rule(Role<'c>),
    /// A loop, a barrier or a constraint: each result is cut as what it is handed.
    Handed,
}

/// An entry function that is cut by its batch alone.
pub(super) struct Step<'c, 'a> {
    pub(super) function: OperationRef<'c, 'a>,
    pub(super) block: BlockRef<'c, 'a>,
    pub(super) mesh: Mesh<'c>,
    /// The axes of the mesh that the batch is cut along.
    pub(super) axes: Vec<usize>,
    /// How ops take shards, by key; none of those that take what all devices have.
    pub(super) parts: Table<usize, Part<'c>>,
    /// Values of which each device has a part, by key.
    cut: Table<usize, Along>,
    /// Arguments of which nobody says how they come, by key.
    open: Keys,
}

impl<'c: 'a, 'a> Step<'c, 'a> {
    /// None if a partitioner had better say what each device does.
    pub(super) fn of(function: OperationRef<'c, 'a>, target: Target) -> Option<Self> {
        let devices = partitions(function).filter(|&devices| devices > 1)?;
        let is_asked = target.rates().is_some() && is_entry(function) && !is_open(function);
        let block = is_asked.then(|| function.region(0).ok()?.first_block()).flatten()?;
        block.next_in_region().is_none().then_some(())?;
        let shardings = shardings_at(function, "arg_attrs");
        let said = shardings.iter().flatten().find(|sharding| is_cut(**sharding))?;
        let mesh = Mesh::of(*said, function, devices)?;
        let Batch { axes, cut, open } = Batch::of(block, &mesh, &shardings)?;
        let rules = Rules {
            units: mesh.grid.parts(&axes),
            storage: target.storage(),
            ties: Rc::new(Ties::new(function)),
            f32: Type::float32(context_of(function)),
        };
        let mut step = Self { function, block, mesh, axes, parts: Table::default(), cut, open };
        step.follow(block, &rules)?;
        step.spread(block, &rules);
        (step.is_whole_program(block) && step.is_as_said()).then_some(step)
    }

    /// How many parts the batch is cut into.
    pub(super) fn units(&self) -> i64 {
        self.mesh.grid.parts(&self.axes)
    }

    /// Follows the batch from what is known of a block's arguments on; none if an op takes some of it otherwise than by rows.
    fn follow(&mut self, block: BlockRef<'c, 'a>, rules: &Rules<'c, 'a>) -> Option<()> {
        for op in ops_in(block).filter(|op| !is_end(*op)) {
            match op_name(op) {
                LOOP => self.follow_loop(op, rules)?,
                CONSTRAINT | "stablehlo.optimization_barrier" => {
                    for (from, to) in op.operands().zip(op.results()) {
                        self.hand(op, self.along(from), &[to.into()])?;
                    }
                }
                _ => {
                    let taken = op.operands().enumerate();
                    let mut own = taken.filter_map(|(at, value)| Some((at, self.along(value)?)));
                    if let Some((index, along)) = own.next() {
                        let role = rules.of_operand(op, index, along)?;
                        self.join(op, role);
                    }
                }
            }
        }
        Some(())
    }

    /// The same of a loop: what is carried is cut if what is handed over or returned is.
    fn follow_loop(&mut self, op: OperationRef<'c, 'a>, rules: &Rules<'c, 'a>) -> Option<()> {
        let blocks: Vec<_> = op.regions().filter_map(|region| region.first_block()).collect();
        let &[condition, body] = &blocks[..] else { return None };
        let end = body.terminator()?;
        loop {
            let mut changed = false;
            for (index, (from, to)) in op.operands().zip(op.results()).enumerate() {
                let (from, to) = (self.along(from), Value::from(to));
                let returned = end.operands().nth(index).and_then(|value| self.along(value));
                let own = [condition, body].map(|block| block.argument(index).map(Value::from));
                let [Ok(asked), Ok(carried)] = own else { return None };
                for along in [from, returned].into_iter().flatten() {
                    changed |= self.along(to).is_none();
                    self.hand(op, Some(along), &[to, asked, carried])?;
                }
            }
            self.follow(condition, rules)?;
            self.follow(body, rules)?;
            // Once more for what the body returns of what it is now known to be given.
            let settled = op.results().zip(end.operands()).all(|(to, returned)| {
                self.along(returned).is_none() || self.along(to.into()) == self.along(returned)
            });
            if settled && !changed {
                return Some(());
            }
        }
    }

    /// An op hands on something that is cut like this, if it is, as these values; none if they are cut otherwise.
    fn hand(
        &mut self,
        op: OperationRef<'c, 'a>,
        along: Option<Along>,
        values: &[Value<'c, 'a>],
    ) -> Option<()> {
        let Some(along) = along else { return Some(()) };
        self.parts.insert(ir::op_key(op), Part::Handed);
        values.iter().all(|value| *self.cut.entry(ir::key(*value)).or_insert(along) == along).then_some(())
    }

    /// What nobody wants but by the same rows each device makes for itself.
    fn spread(&mut self, block: BlockRef<'c, 'a>, rules: &Rules<'c, 'a>) {
        let mut ops: Vec<_> = ops_in(block).collect();
        while let Some(op) = ops.pop() {
            match self.parts.get(&ir::op_key(op)) {
                Some(Part::Handed) => {
                    op.regions()
                        .filter_map(|region| region.first_block())
                        .for_each(|block| self.spread(block, rules));
                    continue;
                }
                Some(Part::Rule(_)) => continue,
                None => {}
            }
            let wanted = |number: usize| {
                let mut readers = uses(op.results().nth(number)?.into());
                let first = readers.next()?;
                let along = self.taken(first.user, first.operand)?;
                readers.all(|used| self.taken(used.user, used.operand) == Some(along)).then_some(along)
            };
            if let (CONSTRAINT, Some(along), Some(result)) = (op_name(op), wanted(0), ir::first_result(op)) {
                self.hand(op, Some(along), &[result]).expect("nothing was known of it");
                continue;
            }
            let role = wanted(0).and_then(|along| rules.of_result(op, 0, along));
            let fits = |role: &Role<'c>| match &role.results {
                Results::Kept(all) => (1..all.len()).all(|number| wanted(number) == Some(all[number])),
                Results::Added(_) => false,
            };
            if let Some(role) = role.filter(fits) {
                self.join(op, role);
            }
        }
    }

    fn join(&mut self, op: OperationRef<'c, 'a>, role: Role<'c>) {
        if let Results::Kept(along) = &role.results {
            let made = op.results().zip(along);
            self.cut.extend(made.map(|(value, along)| (ir::key(value.into()), *along)));
        }
        self.parts.insert(ir::op_key(op), Part::Rule(role));
    }

    /// How a value is cut, if each device has a part of it.
    pub(super) fn along(&self, value: Value<'c, 'a>) -> Option<Along> {
        self.cut.get(&ir::key(value)).copied()
    }

    /// How an op wants an operand. What the function returns is as it is.
    pub(super) fn taken(&self, user: OperationRef<'c, 'a>, operand: usize) -> Option<Along> {
        if is_end(user) {
            let around = user.parent_operation()?;
            return match op_name(around) {
                "func.func" => user.operands().nth(operand).and_then(|value| self.along(value)),
                LOOP if is_of_body(around, user) => self.handed(around, operand),
                _ => None,
            };
        }
        match self.parts.get(&ir::op_key(user))? {
            Part::Rule(role) => role.operands.get(operand).copied().flatten(),
            Part::Handed => self.handed(user, operand),
        }
    }

    /// How a loop or a barrier hands an operand on.
    fn handed(&self, op: OperationRef<'c, 'a>, index: usize) -> Option<Along> {
        op.results().nth(index).and_then(|result| self.along(result.into()))
    }

    /// Whether all ops are done on one device's rows, or on what all devices have. Nobody asks for a part of an argument of
    /// which it is not said how it comes: a partitioner might have it come in parts.
    fn is_whole_program(&self, block: BlockRef<'c, 'a>) -> bool {
        ops_in(block).all(|op| {
            let fits = |(index, value): (usize, Value<'c, 'a>)| match self.along(value) {
                Some(own) => self.taken(op, index) == Some(own),
                None => self.taken(op, index).is_none() || !self.open.contains(&ir::key(value)),
            };
            let mut blocks = op.regions().filter_map(|region| region.first_block());
            match self.parts.get(&ir::op_key(op)) {
                _ if is_end(op) => op.operands().enumerate().all(fits),
                Some(Part::Rule(role)) => op.operands().enumerate().all(fits) && is_summed(op, role),
                Some(Part::Handed) => {
                    ffi::attribute_of(op, "sdy.sharding").is_none()
                        && op.operands().enumerate().all(fits)
                        && blocks.all(|block| self.is_whole_program(block))
                }
                None => self.is_done_by_all(op),
            }
        })
    }

    /// Whether an op takes nothing that is cut, and is none of those by which devices differ.
    fn is_done_by_all(&self, op: OperationRef<'c, 'a>) -> bool {
        let mut fits = true;
        walk(op, |inner| {
            let name = op_name(inner);
            let known = match name.split_once('.') {
                Some(("stablehlo", name)) => !is_of_device(name),
                Some(("chlo", _)) => true,
                _ => name == CONSTRAINT,
            };
            fits &= known && inner.operands().all(|value| self.along(value).is_none());
            fits &= ffi::attribute_of(inner, "sdy.sharding").is_none();
            if fits { WalkResult::Advance } else { WalkResult::Interrupt }
        });
        fits
    }

    /// Whether constraints and results are cut as is said of them.
    fn is_as_said(&self) -> bool {
        let agrees = |value: Value<'c, 'a>, sharding: TensorSharding<'c>| {
            let Some(layout) = self.layout(value) else { return false };
            let dims = sharding.dims();
            let leaves_open = || {
                let mut both = dims.iter().zip(&layout.0);
                both.all(|(dim, axes)| dim.axes().is_empty() && (axes.is_empty() || !dim.is_closed()))
            };
            sharding.unreduced_axes().is_empty()
                && dims.len() == layout.0.len()
                && (self.mesh.layout(sharding).is_some_and(|said| said == layout) || leaves_open())
        };
        let mut constraints = true;
        walk(self.function, |op| {
            if op_name(op) == CONSTRAINT {
                let said = ffi::attribute_of(op, "sharding").and_then(TensorSharding::view);
                let pair = said.zip(ir::first_result(op));
                constraints &= pair.is_some_and(|(said, value)| agrees(value, said));
            }
            WalkResult::Advance
        });
        let results = shardings_at(self.function, "res_attrs");
        let mut results = self.returned().into_iter().zip(results);
        constraints && results.all(|(value, said)| said.is_none_or(|said| agrees(value, said)))
    }

    /// How a value is laid out, if it is a tensor.
    pub(super) fn layout(&self, value: Value<'c, 'a>) -> Option<Layout> {
        ffi::shape(value.r#type()).map(|_| self.laid_out(value, self.along(value)))
    }

    /// How a tensor is laid out that is cut like this.
    pub(super) fn laid_out(&self, value: Value<'c, 'a>, along: Option<Along>) -> Layout {
        let mut layout = Layout::whole(ffi::shape(value.r#type()).map_or(0, <[i64]>::len));
        if let Some(along) = along {
            layout.0[along.dim].clone_from(&self.axes);
        }
        layout
    }

    /// The function's arguments.
    pub(super) fn arguments(&self) -> Vec<Value<'c, 'a>> {
        arguments_of(self.block).collect()
    }

    /// What it returns.
    pub(super) fn returned(&self) -> Vec<Value<'c, 'a>> {
        self.block.terminator().map(|end| end.operands().collect()).unwrap_or_default()
    }

    /// How many sums over devices there are.
    pub(super) fn sums(&self) -> usize {
        let is_sum = |part: &&Part<'c>| match part {
            Part::Rule(role) => matches!(role.results, Results::Added(_)),
            Part::Handed => false,
        };
        self.parts.values().filter(is_sum).count()
    }
}

/// What comes cut, and how.
struct Batch {
    axes: Vec<usize>,
    /// Batch dimensions of arguments that are cut, by key.
    cut: Table<usize, Along>,
    /// Arguments of which it is not said that they are whole, by key.
    open: Keys,
}

impl Batch {
    /// None if arguments are cut along several dimensions or axes, or in uneven parts.
    fn of<'c: 'a, 'a>(
        block: BlockRef<'c, 'a>,
        mesh: &Mesh<'c>,
        shardings: &[Option<TensorSharding<'c>>],
    ) -> Option<Self> {
        let (mut cut, mut open) = (Table::default(), Keys::default());
        let mut of_all: Option<Vec<usize>> = None;
        for (index, value) in arguments_of(block).enumerate() {
            let said = shardings.get(index).copied().flatten();
            let Some(sharding) = said.filter(|said| is_cut(*said)) else {
                said.is_none_or(|said| said.unreduced_axes().is_empty()).then_some(())?;
                let is_closed = said.is_some_and(|said| said.dims().iter().all(|dim| dim.is_closed()));
                open.extend((!is_closed).then_some(ir::key(value)));
                continue;
            };
            let layout = mesh.layout(sharding)?;
            let local = layout.local_shape(ir::real(value)?.shape, &mesh.grid)?;
            let mut dims = layout.0.iter().enumerate().filter(|(_, axes)| !axes.is_empty());
            let (dim, axes) = dims.next()?;
            let is_alike = of_all.get_or_insert_with(|| axes.clone()) == axes;
            (dims.next().is_none() && is_alike).then_some(())?;
            cut.insert(ir::key(value), Along { dim, run: local[dim], from: 0 });
        }
        Some(Self { axes: of_all?, cut, open })
    }
}

/// Whether an op ends a block.
pub(super) fn is_end(op: OperationRef<'_, '_>) -> bool {
    matches!(op_name(op), "func.return" | "stablehlo.return")
}

/// Whether an op ends a loop's body, and not its condition.
fn is_of_body(of: OperationRef<'_, '_>, end: OperationRef<'_, '_>) -> bool {
    of.regions().nth(1).and_then(|region| region.first_block()) == end.block()
}

/// Whether what is added up is no more than that: what is scattered into counts once.
fn is_summed(op: OperationRef<'_, '_>, role: &Role<'_>) -> bool {
    let Results::Added(Sum::Scatter) = role.results else { return true };
    matches!(combiner(op), Some("stablehlo.add" | "stablehlo.multiply")) && counts_once(op, 0)
}

/// Whether a sharding cuts anything.
fn is_cut(sharding: TensorSharding<'_>) -> bool {
    sharding.dims().iter().any(|dim| !dim.axes().is_empty())
}

/// Whether what an op of StableHLO does is not the same on each device.
fn is_of_device(name: &str) -> bool {
    is_collective(name)
        || matches!(name, "infeed" | "outfeed" | "partition_id" | "recv" | "replica_id" | "rng" | "send")
}
