// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a partitioner would send for the ops that a computation of ours takes the place of, so that what it does better is left to it.
//!
//! GSPMD takes each op by itself. It makes
//! * of a slice or a pad along a dimension that is cut a window per device, and sends for each distance between devices the widest part
//!   of a window that is so far away, whether the array reaches as far or not;
//! * of `concatenate(x[k:], x[:k])` the same around the ends, twice if parts do not come out even;
//! * of any other concatenation along such a dimension an all-to-all per operand, to another dimension, and one back;
//! * of a reversal an exchange of tiles, and a shift where they do not come out even;
//! * of an update within one shard by a splat, or by what each device has whole, nothing; by anything else it has the
//!   update gathered, and of one across a border the array, one dimension after the other: 2 all-gathers each along
//!   two (those of one axis may be combined into one later).
//!
//! So XLA of jaxlib 0.10.2 answered for single ops on 4 and 8 devices, for CPUs; `test/oracle/partitioner_ops.py` asks
//! again.

use super::layout::{Known, is_entry, is_manual_throughout, partitions};
use super::mesh::Layout;
use super::moves::{is_bare, is_elementwise, is_move, is_update, plain, starts_of, update_of};
use super::{Rewrite, Target, uneven};
use crate::counted::Counter;
use crate::functions::{callee, functions, name_of};
use crate::ir;
use crate::rewrite::{defining_op, ops_in, users};
use crate::splat::Splat;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, OperationRef, RegionLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};

/// How many ops are looked at for one computation, and how many calls.
const OPS: usize = 512;
/// How deep functions may call each other.
const DEPTH: usize = 16;

/// What is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// How many collectives there are.
    pub collectives: i64,
    /// Elements that a device gets by them.
    pub elements: i64,
    /// Elements that are sent or received for one op: all that is known to be stored at once.
    pub stored: i64,
}

impl Sent {
    /// Whether so many exchanges of so many elements are no more. Where neither sends anything nothing is won, and
    /// back ends know better what to do in place of an op of the program than of one that devices do differently.
    pub fn is_no_less_than(self, exchanges: u64, elements: i64) -> bool {
        self.collectives > 0 && exchanges as i64 <= self.collectives && elements <= self.elements
    }

    /// Whether so many exchanges of so many elements are no more, and one of the two is less.
    pub fn is_more_than(self, exchanges: u64, elements: i64) -> bool {
        self.is_no_less_than(exchanges, elements)
            && ((exchanges as i64) < self.collectives || elements < self.elements)
    }

    /// Whether what exchanges of so many elements have to have stored, what is sent and what is received, is no more
    /// than a partitioner has, or next to nothing beside the `tile` that is made.
    pub fn stores_no_less_than(self, elements: i64, tile: i64) -> bool {
        elements <= self.most_at_once(tile)
    }

    /// How many elements exchanges may bring at once for that.
    pub fn most_at_once(self, tile: i64) -> i64 {
        /// Strips of less than this share of a tile decide nothing: whether a tile more is stored for them does.
        const LITTLE: i64 = 4;
        self.stored.max(tile / LITTLE) / 2
    }

    /// Adds collectives for one op: parts are cut out and sent, as many as are received.
    fn add(&mut self, collectives: i64, elements: i64) {
        self.collectives += collectives;
        self.elements = self.elements.saturating_add(elements);
        self.stored = self.stored.max(elements.saturating_mul(2));
    }

    /// Adds collectives by which a device has all of what it has a part of: so many elements besides.
    fn add_gathered(&mut self, collectives: i64, elements: i64, own: i64) {
        let stored = self.stored;
        self.add(collectives, elements);
        self.stored = stored.max(elements.saturating_add(2 * own));
    }
}

/// An array in tiles along one dimension: the size of that, and how many devices have a tile.
#[derive(Clone, Copy)]
struct Row {
    size: i64,
    parts: i64,
}

impl Row {
    fn tile(self) -> i64 {
        (self.size + self.parts - 1) / self.parts
    }
}

/// What is sent along a dimension if each device makes a tile of `to` of what begins at `start` in `from`: collectives, and how wide they
/// are. Ends of the array make no difference, but that nothing comes to the first device from before it, and to the last from behind.
fn windows(from: Row, to: Row, start: i64) -> (i64, i64) {
    let (parts, last) = (from.parts, to.parts - 1);
    let widest = |distance: i64| {
        let receivers = if distance < 0 { 1..=last } else { 0..=last - 1 };
        let width = |device: i64| {
            let low = device * to.tile() + start;
            let tile = (device + distance) * from.tile();
            (low + to.tile()).min(tile + from.tile()) - low.max(tile)
        };
        receivers.map(width).max().unwrap_or(0).max(0)
    };
    let widths = (-parts..=parts).filter(|&distance| distance != 0).map(widest);
    widths.filter(|&width| width > 0).fold((0, 0), |(count, sum), width| (count + 1, sum + width))
}

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// What a partitioner sends for what a target is made of, as far as that is of no use to anything else; `None` if that is not known,
    /// as where ops do not say how they are laid out.
    pub(super) fn sent_by_partitioner(&self, target: &Target<'c, 'a>) -> Option<Sent> {
        self.known.by_op.then_some(())?;
        // Slices of one array: what their computations exchange is one in the end (`share.rs`).
        if op_name(target.op) == "stablehlo.slice" && is_read_elsewhere(target.op) {
            return None;
        }
        let mut sent = Sent::default();
        // Slices that are part of a rotation.
        let mut free: FxHashSet<usize> = FxHashSet::default();
        let mut inside: FxHashSet<usize> = FxHashSet::from_iter([ir::op_key(target.root)]);
        let mut ops = vec![target.root];
        let mut next = 0;
        while let Some(&op) = ops.get(next) {
            next += 1;
            if !free.contains(&ir::op_key(op)) {
                self.known.add_sent(op, &mut sent)?;
            }
            if self.known.is_rotation(op) {
                free.extend(op.operands().filter_map(defining_op).map(ir::op_key));
            }
            for producer in op.operands().filter_map(defining_op) {
                let known = is_bare(producer)
                    && (is_move(producer) || is_elementwise(producer) || keeps_elements(op_name(producer)));
                let goes = || {
                    producer
                        .results()
                        .all(|result| users(result.into()).all(|user| inside.contains(&ir::op_key(user))))
                };
                if known && !inside.contains(&ir::op_key(producer)) && goes() {
                    (ops.len() < OPS).then_some(())?;
                    inside.insert(ir::op_key(producer));
                    ops.push(producer);
                }
            }
        }
        let own = self.known.layout(ir::first_result(target.root)?)?;
        self.known.add_reshard(target.shape, own, &target.layout, &mut sent);
        Some(sent)
    }
}

impl<'c> Known<'c> {
    /// Whether an op rotates an array along a dimension that is cut.
    fn is_rotation<'a>(&self, op: OperationRef<'c, 'a>) -> bool
    where
        'c: 'a,
    {
        let dim = ir::constant_attribute(op, "dimension").and_then(|dim| usize::try_from(dim).ok());
        op_name(op) == "stablehlo.concatenate" && dim.is_some_and(|dim| self.rotated(op, dim).is_some())
    }

    /// By how many elements a concatenation rotates an array to its beginning; partitioners know one where the array is laid out as the result
    /// is (`FindRotateRightPattern` in openxla/xla), which one that does not come out even is not at the program's boundary.
    fn rotated<'a>(&self, op: OperationRef<'c, 'a>, dim: usize) -> Option<i64>
    where
        'c: 'a,
    {
        let by = rotation(op, dim)?;
        let array = op.operands().next().and_then(defining_op)?.operands().next()?;
        let is_given = defining_op(array).is_none() && op.parent_operation().is_some_and(is_entry);
        (!is_given || self.layout(array) == self.layout(ir::first_result(op)?)).then_some(by)
    }

    /// Adds what is sent for one op.
    fn add_sent<'a>(&self, op: OperationRef<'c, 'a>, sent: &mut Sent) -> Option<()>
    where
        'c: 'a,
    {
        let result = ir::first_result(op)?;
        let Some(layout) = self.layout(result) else {
            // Nothing that is worth a word, or all that is known.
            return (!is_move(op)).then_some(());
        };
        let name = op_name(op);
        if is_move(op) || is_elementwise(op) || name == "sdy.sharding_constraint" {
            let arrays = if is_update(op) { 1 } else { op.operand_count() };
            for operand in op.operands().take(arrays).filter(|operand| !ir::is_rank_zero(*operand)) {
                if let Some(other) = self.layout(operand).filter(|other| other.0.len() == layout.0.len()) {
                    self.add_reshard(plain(operand)?.shape, other, layout, sent);
                }
            }
        }
        if is_update(op) {
            return self.add_update(op, layout, sent);
        }
        for dim in (0..layout.0.len()).filter(|&dim| !layout.0[dim].is_empty()) {
            self.add_along(op, layout, dim, sent)?;
        }
        Some(())
    }

    /// Adds what is sent for an op along a dimension that is cut.
    fn add_along<'a>(
        &self,
        op: OperationRef<'c, 'a>,
        layout: &Layout,
        dim: usize,
        sent: &mut Sent,
    ) -> Option<()>
    where
        'c: 'a,
    {
        let to = self.row(ir::first_result(op)?, layout, dim)?;
        let slab = self.slab(ir::first_result(op)?, layout, dim)?;
        let from = || self.row(op.operands().next()?, layout, dim);
        let moved = |name: &str| ir::i64_array(op, name)?.get(dim).copied();
        match op_name(op) {
            "stablehlo.slice" if moved("strides")? == 1 => {
                let (count, width) = windows(from()?, to, moved("start_indices")?);
                sent.add(count, width * slab);
            }
            "stablehlo.pad" if moved("interior_padding")? == 0 => {
                let (count, width) = windows(from()?, to, -moved("edge_padding_low")?);
                sent.add(count, width * slab);
            }
            "stablehlo.reverse" if ir::i64_array(op, "dimensions")?.contains(&(dim as i64)) => {
                let beyond = to.tile() * to.parts - to.size;
                sent.add(1 + i64::from(beyond > 0), (to.tile() + beyond) * slab);
            }
            "stablehlo.concatenate" if ir::constant_attribute(op, "dimension")? == dim as i64 => {
                self.add_concatenation(op, layout, (to, slab), sent)?;
            }
            _ => {}
        }
        Some(())
    }

    fn add_concatenation<'a>(
        &self,
        op: OperationRef<'c, 'a>,
        layout: &Layout,
        (to, slab): (Row, i64),
        sent: &mut Sent,
    ) -> Option<()>
    where
        'c: 'a,
    {
        let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
        if let Some(by) = self.rotated(op, dim) {
            let (by, tile) = (by.min(to.size - by), to.tile());
            let (whole, rest) = (i64::from(by >= tile), i64::from(by % tile != 0));
            let width = if by >= tile { tile } else { by };
            let beyond = tile * to.parts - to.size;
            let times = 1 + i64::from(beyond > 0);
            sent.add(times * (whole + rest), (times * width + beyond) * slab);
            return Some(());
        }
        let of_all_but_one = |row: Row| row.tile() * (row.parts - 1) / row.parts;
        let mut seen: Vec<Value<'c, 'a>> = Vec::new();
        for operand in op.operands() {
            if !seen.contains(&operand) && !is_splat(operand) {
                seen.push(operand);
                sent.add(1, of_all_but_one(self.row(operand, layout, dim)?) * slab);
            }
        }
        sent.add(1, of_all_but_one(to) * slab);
        Some(())
    }

    fn add_update<'a>(&self, op: OperationRef<'c, 'a>, layout: &Layout, sent: &mut Sent) -> Option<()>
    where
        'c: 'a,
    {
        let (array, update) = (op.operands().next()?, update_of(op)?);
        let starts = starts_of(op).or_else(|| starts_said(op))?;
        let (shape, window) = (plain(array)?.shape, plain(update)?.shape);
        let tile = layout.tile_shape(shape, &self.mesh.grid)?;
        let is_moved = |&dim: &usize| !layout.0[dim].is_empty() && window[dim] < shape[dim];
        let moved: Vec<usize> = (0..shape.len()).filter(is_moved).collect();
        if moved.is_empty() {
            return Some(());
        }
        // One dimension after the other is gathered, only those that it is moved in: a collective for each.
        let dims = moved.len() as i64;
        let parts: i64 = moved.iter().map(|&dim| self.mesh.grid.parts(&layout.0[dim])).product();
        let crosses = |&dim: &usize| starts[dim] / tile[dim] != (starts[dim] + window[dim] - 1) / tile[dim];
        let mut gather = |local: &[i64]| {
            let own: i64 = local.iter().product();
            sent.add_gathered(dims, (parts - 1) * own, own);
        };
        if moved.iter().any(crosses) {
            gather(&tile);
        }
        // What each device has whole, it has.
        let own = self.layout(update);
        let is_cut = |&dim: &usize| own.is_none_or(|own| own.0.get(dim).is_none_or(|axes| !axes.is_empty()));
        if !is_splat(update) && moved.iter().any(is_cut) {
            gather(&layout.tile_shape(window, &self.mesh.grid)?);
        }
        Some(())
    }

    /// Adds what it takes to hand out what a function returns as the program's boundary has it.
    fn add_returned<'a>(&self, op: OperationRef<'c, 'a>, sent: &mut Sent)
    where
        'c: 'a,
    {
        for value in op.operands() {
            if let (Some(own), Some(given), Some(tensor)) =
                (self.layout(value), self.returned_as(value), plain(value))
            {
                let grid = &self.mesh.grid;
                match own.tile_shape(tensor.shape, grid).filter(|_| given.is_coarser_than(own)) {
                    // Whole tiles are gathered, with what is beyond their ends.
                    Some(tile) => {
                        let tiles = |dim: usize| grid.parts(&own.0[dim]) / grid.parts(&given.0[dim]);
                        let others = (0..tile.len()).map(tiles).product::<i64>() - 1;
                        let elements: i64 = tile.iter().product();
                        sent.add_gathered(1, others * elements, elements);
                        // Where larger parts do not end where tiles do, rows are sent on to where they are counted from there.
                        for (dim, &size) in tile.iter().enumerate() {
                            let parts = grid.parts(&given.0[dim]);
                            let less = size * tiles(dim) - tensor.shape[dim] / parts;
                            let width = less.saturating_mul(parts - 1).min(size);
                            sent.add(i64::from(width > 0), width * elements / size.max(1));
                        }
                    }
                    None => self.add_reshard(tensor.shape, own, given, sent),
                }
            }
        }
    }

    /// Whether it is known what a partitioner makes of an op, as far as it is cut.
    fn is_told<'a>(&self, op: OperationRef<'c, 'a>) -> bool
    where
        'c: 'a,
    {
        let name = op_name(op);
        let is_whole = |value: Value<'c, 'a>| {
            ir::is_rank_zero(value) || self.layout(value).is_some_and(Layout::is_whole)
        };
        let is_free = matches!(
            name,
            "stablehlo.constant" | "sdy.constant" | "stablehlo.iota" | "sdy.manual_computation"
        );
        let is_ours = is_move(op) || is_elementwise(op) || keeps_elements(name);
        // Programs as they came have constants as Reactant writes them. Held against what is counted for their updates, 5 of 800
        // modules that send less by XLA for CPU would go back (`test/oracle/sharded_fields.py`, seeds 401 and 412).
        let is_placed = !is_update(op) || starts_of(op).is_some();
        is_free
            || self.by_op && is_ours && is_placed && !is_strided(op)
            || op.operands().chain(op.results().map(Value::from)).all(is_whole)
    }

    /// Adds what it takes to have an array laid out in another way.
    fn add_reshard(&self, shape: &[i64], from: &Layout, to: &Layout, sent: &mut Sent) {
        let grid = &self.mesh.grid;
        let volume =
            |layout: &Layout| layout.tile_shape(shape, grid).map_or(0, |tile| tile.iter().product::<i64>());
        if from == to {
            return;
        }
        // Devices that hold a part of what they are to hold only keep less of it.
        if from.0.iter().zip(&to.0).all(|(from, to)| to.starts_with(from)) {
            return;
        }
        sent.add(1, (volume(to) - volume(from)).max(volume(from).min(volume(to))));
    }

    fn row<'a>(&self, value: Value<'c, 'a>, layout: &Layout, dim: usize) -> Option<Row>
    where
        'c: 'a,
    {
        let size = *plain(value)?.shape.get(dim)?;
        Some(Row { size, parts: self.mesh.grid.parts(&layout.0[dim]) })
    }

    /// Elements of a tile for each along a dimension.
    fn slab<'a>(&self, value: Value<'c, 'a>, layout: &Layout, dim: usize) -> Option<i64>
    where
        'c: 'a,
    {
        let tile = layout.tile_shape(plain(value)?.shape, &self.mesh.grid)?;
        Some(tile.iter().enumerate().filter(|(other, _)| *other != dim).map(|(_, size)| size).product())
    }
}

/// Whether a value is one scalar everywhere, which each device has.
fn is_splat<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    said_splat(value).is_some() || Splat::of(value).is_some()
}

/// The scalar that a constant repeats as Reactant writes it, which is an ordinary one for passes (`settle.rs`), but not yet
/// in a program as it came.
fn said_splat<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<Attribute<'c>> {
    ir::splat_of(value, "sdy.constant")
}

/// Where an update begins, of which constants say it like that.
fn starts_said<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Vec<i64>> {
    (op_name(op) == "stablehlo.dynamic_update_slice").then_some(())?;
    let start = |value: Value<'c, 'a>| match said_splat(value) {
        Some(said) => Some(ffi::integer_value(IntegerAttribute::try_from(said).ok()?)),
        None => ir::constant_integer(value).and_then(|at| i64::try_from(at).ok()),
    };
    op.operands().skip(2).map(start).collect()
}

/// What a program for several devices sends, on one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Collectives, those in loops as often as they happen.
    pub collectives: u64,
    /// Bytes that they bring to a device.
    pub bytes: u64,
    /// Of these the bytes that a partitioner brings, or collectives that it would make: all but parts that are exchanged as they are
    /// written down.
    pub left: u64,
    /// Bytes that a partitioner has stored at once for collectives that are not written down: those of one op, the most; or those of all
    /// arrays that are joined of parts that do not wait for another such array. Back ends start to send each as soon as it is there, and what
    /// makes several of them in one kernel has all of them stored, as in `ocean_sharded_jax` of the corpus.
    pub stored: u64,
    /// Whether that is all: ops say how they are laid out, and it is known of each what a partitioner makes of it.
    pub is_known: bool,
    /// Whether it is all at least of what loops send in each turn.
    pub is_known_of_loops: bool,
}

/// What a module sends: by the exchanges that are written down, and by what a partitioner makes of ops whose layouts are known. `None` for a
/// module for one device, or whose shardings are not understood.
pub fn traffic<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> Option<Traffic> {
    let partitions = partitions(module).filter(|&partitions| partitions > 1)?;
    Some(traffic_of(module, &Known::new(module, partitions)?))
}

fn traffic_of<'c: 'a, 'a>(module: OperationRef<'c, 'a>, known: &Known<'c>) -> Traffic {
    let of = |function| (name_of(function), sent_in(function, known));
    let each: FxHashMap<String, (Traffic, Calls<'c>)> = functions(module).map(of).collect();
    // How often each function runs: those that none calls once.
    let called: FxHashSet<&str> =
        each.values().flat_map(|(_, calls)| calls.iter().map(|(name, _)| *name)).collect();
    let mut pending: Vec<(&str, u64, usize)> = each
        .keys()
        .filter(|name| !called.contains(name.as_str()))
        .map(|name| (name.as_str(), 1, 0))
        .collect();
    let mut traffic = Traffic { is_known: true, is_known_of_loops: true, ..Traffic::default() };
    while let Some((name, times, depth)) = pending.pop() {
        let Some((own, calls)) = each.get(name) else { continue };
        traffic.collectives = traffic.collectives.saturating_add(own.collectives.saturating_mul(times));
        traffic.bytes = traffic.bytes.saturating_add(own.bytes.saturating_mul(times));
        traffic.left = traffic.left.saturating_add(own.left.saturating_mul(times));
        traffic.stored = traffic.stored.max(own.stored);
        traffic.is_known &= own.is_known && depth < DEPTH && pending.len() < OPS;
        traffic.is_known_of_loops &= own.is_known_of_loops && (own.is_known || times == 1);
        if depth < DEPTH && pending.len() < OPS {
            pending
                .extend(calls.iter().map(|(name, turns)| (*name, times.saturating_mul(*turns), depth + 1)));
        }
    }
    traffic
}

/// Functions that another calls, and how often.
type Calls<'c> = Vec<(&'c str, u64)>;

/// What a function sends by itself, and which others it calls how often.
fn sent_in<'c: 'a, 'a>(function: OperationRef<'c, 'a>, known: &Known<'c>) -> (Traffic, Calls<'c>) {
    let mut traffic = Traffic { is_known: true, is_known_of_loops: true, ..Traffic::default() };
    let mut calls = Vec::new();
    let mut pending: Vec<(OperationRef<'c, 'a>, u64, bool)> = vec![(function, 1, false)];
    let mut free: FxHashSet<usize> = FxHashSet::default();
    let mut joined = 0u64;
    while let Some((op, times, is_manual)) = pending.pop() {
        let mut sent = Sent::default();
        match (is_manual, op_name(op)) {
            (true, name) => sent = written(op, name).unwrap_or_default(),
            (false, "func.call") => calls.extend(callee(op).map(|name| (name, times))),
            (false, "func.return") => known.add_returned(op, &mut sent),
            (false, _) if op.result_count() == 1 && !free.contains(&ir::op_key(op)) => {
                // What is not known of an op is left out.
                let is_known = known.add_sent(op, &mut sent).is_some() && known.is_told(op);
                traffic.is_known &= is_known;
                traffic.is_known_of_loops &= is_known || times == 1;
                if known.is_rotation(op) {
                    free.extend(op.operands().filter_map(defining_op).map(ir::op_key));
                }
            }
            _ => {}
        }
        let first = op.results().next().map(Value::from).or_else(|| op.operands().next());
        let bytes = first.map_or(0, |value| ir::element_bytes(ir::element_of(value.r#type())).unwrap_or(0));
        traffic.collectives += times * sent.collectives as u64;
        let brought = times * (sent.elements as u64).saturating_mul(bytes as u64);
        traffic.bytes += brought;
        if !is_manual || op_name(op) != "stablehlo.collective_permute" {
            traffic.left += brought;
        }
        traffic.stored = traffic.stored.max((sent.stored as u64).saturating_mul(bytes as u64));
        let is_join = |op: OperationRef<'c, 'a>| op_name(op) == "stablehlo.concatenate";
        let waits = || op.operands().filter_map(defining_op).any(is_join);
        if !is_manual && is_join(op) && !known.is_rotation(op) && !waits() {
            joined = joined.saturating_add((sent.elements as u64).saturating_mul(bytes as u64));
        }
        let turns = Counter::of(op).map_or(1, |counter| counter.turns().max(0) as u64);
        let is_manual = is_manual || is_manual_throughout(op);
        for block in op.regions().filter_map(|region| region.first_block()) {
            pending.extend(ops_in(block).map(|inner| (inner, times.saturating_mul(turns), is_manual)));
        }
    }
    traffic.stored = traffic.stored.max(joined);
    (traffic, calls)
}

/// What a collective that is written down brings to a device.
fn written(op: OperationRef<'_, '_>, name: &str) -> Option<Sent> {
    let (from, to) = (plain(op.operands().next()?)?, plain(op.results().next()?.into())?);
    let (from, to) = (from.element_count()?, to.element_count()?);
    let elements = match name {
        "stablehlo.collective_permute" | "stablehlo.collective_broadcast" => to,
        "stablehlo.all_to_all" => to,
        "stablehlo.all_gather" => to - from,
        "stablehlo.all_reduce" => 2 * to,
        "stablehlo.reduce_scatter" => from - to,
        _ => return None,
    };
    Some(Sent { collectives: 1, elements, stored: 0 })
}

/// Whether another slice, or a computation that took the place of one, reads what a slice reads.
fn is_read_elsewhere<'c: 'a, 'a>(slice: OperationRef<'c, 'a>) -> bool {
    let Some(array) = slice.operands().next() else { return false };
    let is_made = |user: OperationRef<'c, 'a>| op_name(user) == "sdy.manual_computation";
    let is_slice = |user: OperationRef<'c, 'a>| op_name(user) == "stablehlo.slice";
    users(array).any(|user| user != slice && (is_slice(user) || is_made(user)))
        || uneven::trimmed_from(array).is_some_and(|whole| users(whole).any(is_made))
}

/// Whether a slice takes not every element, or a pad puts some between them.
fn is_strided(op: OperationRef<'_, '_>) -> bool {
    let any =
        |name: &str, usual: i64| ir::i64_array(op, name).is_some_and(|all| all.iter().any(|&by| by != usual));
    any("strides", 1) || any("interior_padding", 0)
}

/// Whether an op makes an array of the elements of another where devices have them.
fn keeps_elements(name: &str) -> bool {
    matches!(
        name,
        "stablehlo.broadcast_in_dim"
            | "stablehlo.reshape"
            | "stablehlo.transpose"
            | "sdy.sharding_constraint"
    )
}

/// By how many elements a concatenation rotates an array along a dimension, to its beginning: of the part behind these and the part before.
pub(crate) fn rotation(op: OperationRef<'_, '_>, dim: usize) -> Option<i64> {
    (op.operand_count() == 2).then_some(())?;
    let part = |index: usize| -> Option<(usize, i64, i64, i64)> {
        let slice = defining_op(op.operands().nth(index)?).filter(|op| op_name(*op) == "stablehlo.slice")?;
        let whole = slice.operands().next()?;
        let (shape, starts) = (plain(whole)?.shape, ir::i64_array(slice, "start_indices")?);
        let ends = ir::i64_array(slice, "limit_indices")?;
        let is_all = |other: usize| starts[other] == 0 && ends[other] == shape[other];
        ((0..shape.len()).all(|other| other == dim || is_all(other)) && ir::is_dense(slice))
            .then(|| (ir::key(whole), starts[dim], ends[dim], shape[dim]))
    };
    let ((array, from, to, size), (other, low, high, _)) = (part(0)?, part(1)?);
    (array == other && to == size && low == 0 && high == from).then_some(from)
}
