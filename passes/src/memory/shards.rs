// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How each value is cut in a program for several devices, and what these exchange for that.
//!
//! Arguments, results, constraints and annotated ops say how they are cut; from there it is carried along dimensions that
//! ops keep ([`related`]), first to users, then to producers, dimension by dimension: what one says of a dimension stands,
//! and an axis cuts one dimension of a value. Inside of manual computations values are what one device has already.
//!
//! Once that is settled, each op tells what it needs of other devices ([`Exchange`]):
//!
//! * an operand that is cut otherwise than the result is gathered;
//! * what is summed along a cut dimension is a part of the sum on each device, and these are added up. Where the axis
//!   cuts a dimension that the result keeps as well (a batch and, for FSDP, the weights it meets), the batch stays cut and
//!   the weights are gathered.

use super::ffi;
use super::graph::{body, bytes_of};
use crate::ir::{first_result, key, op_key};
use crate::ops::class;
use crate::ops::reducers::{combiner, scatter_dims};
use crate::ops::related::{Dim, Related, related};
use crate::rewrite::{arguments_of, defining_op, walk};
use crate::tables::Table;
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, IntegerAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, BlockRef, OperationRef, Type, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{attribute_in, attribute_of, integer_value, op_name, string_value};
use slimhlo_dialect::sdy::attrs::{TensorSharding, TensorShardingPerValue};
use slimhlo_dialect::sdy::mesh::{Axes, Part, piece_count};
use slimhlo_dialect::sdy::sharding::mesh_of;
use slimhlo_dialect::types::{Tensor, is_static};
use smallvec::SmallVec;

/// How many of a dimension's elements a device has at most, if it is cut into `count` pieces; what is not known stays so.
pub(super) fn share(size: i64, count: i64) -> i64 {
    if is_static(size) { size.saturating_add(count - 1) / count } else { size }
}

/// The type of what one device has of a value that is cut into so many pieces along each dimension.
pub(super) fn local_type<'c>(ty: Type<'c>, pieces: &[i64]) -> Type<'c> {
    let Some(tensor) = Tensor::new(ty).filter(|tensor| tensor.rank() == pieces.len()) else { return ty };
    let shape: Vec<i64> = tensor.shape.iter().zip(pieces).map(|(&size, &count)| share(size, count)).collect();
    Tensor::get(&shape, tensor.element, None)
}

/// The parts of a mesh's axes that a dimension is cut along, major to minor.
type Cut = SmallVec<[Part; 1]>;

fn pieces_of(cuts: &[Cut]) -> Vec<i64> {
    cuts.iter().map(|cut| piece_count(cut)).collect()
}

/// Whether two dimensions are cut along steps of the same devices.
fn clash(one: &[Part], other: &[Part]) -> bool {
    one.iter().any(|part| other.iter().any(|own| part.overlaps(*own)))
}

/// How a value is cut.
struct Layout {
    cuts: Vec<Cut>,
    /// Into how many pieces each dimension.
    pieces: Vec<i64>,
    /// Dimensions that are whole because somebody says so.
    whole: Vec<bool>,
}

impl Layout {
    fn nothing(rank: usize) -> Self {
        Self { cuts: vec![Cut::new(); rank], pieces: vec![1; rank], whole: vec![false; rank] }
    }

    /// Cuts a dimension that nothing is known of, along axes that cut no other. Whether it has been.
    fn cut(&mut self, dim: usize, cut: &Cut) -> bool {
        let is_free = self.cuts.get(dim).is_some_and(|own| own.is_empty() && !self.whole[dim]);
        let fits = is_free && !cut.is_empty() && !self.cuts.iter().any(|own| clash(own, cut));
        if fits {
            self.cuts[dim].clone_from(cut);
            self.pieces[dim] = piece_count(cut);
        }
        fits
    }
}

/// What devices exchange for an op.
#[derive(Default)]
pub(super) struct Exchange {
    /// Operands of which they need more than they have: each with the pieces that it is in then.
    pub gathered: SmallVec<[(usize, Vec<i64>); 2]>,
    /// How many devices have a part each of the sums that it makes.
    pub summands: i64,
    /// The pieces that its result is in before the sums are added up.
    pub before: Vec<i64>,
}

/// When an op hands on how what it takes is cut. What elements keep their places in comes first: a batch is cut as the
/// batch that it is added to, not as the few elements that are repeated for it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Turn {
    /// Ops that leave elements where they are.
    Kept,
    /// All others.
    Related,
    /// What repeats elements, to what is made of them.
    Repeated,
}

impl Turn {
    fn of(op: OperationRef<'_, '_>) -> Self {
        let elements =
            |value: Value<'_, '_>| Tensor::new(value.r#type()).and_then(|tensor| tensor.element_count());
        let repeats = || op.operands().next().and_then(elements) != first_result(op).and_then(elements);
        match op_name(op) {
            "stablehlo.broadcast_in_dim" if repeats() => Self::Repeated,
            "stablehlo.broadcast_in_dim" => Self::Kept,
            "stablehlo.transpose" | "stablehlo.reshape" | "sdy.sharding_constraint" => Self::Kept,
            name if class::is_elementwise(name) => Self::Kept,
            _ => Self::Related,
        }
    }
}

/// How values are cut; those that are not are missing.
#[derive(Default)]
pub(super) struct Shards {
    layouts: Table<usize, Layout>,
    exchanges: Table<usize, Exchange>,
}

impl Shards {
    /// Of all functions of a module that is for more than one device.
    pub fn new<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> Self {
        let mut shards = Self::default();
        let devices = attribute_of(module, "mhlo.num_partitions")
            .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
            .map_or(1, integer_value);
        if devices <= 1 {
            return shards;
        }
        let mut ops = Vec::new();
        walk(module, |op| {
            ops.push(op);
            // Values in there are local.
            if op_name(op) == "sdy.manual_computation" { WalkResult::Skip } else { WalkResult::Advance }
        });
        for &op in &ops {
            shards.given(op);
        }
        if !shards.layouts.is_empty() {
            shards.carry(&ops);
        }
        shards
    }

    /// Pieces of each dimension of a value, if it is cut at all.
    pub fn of(&self, value: Value<'_, '_>) -> Option<&[i64]> {
        let layout = self.layouts.get(&key(value))?;
        layout.pieces.iter().any(|&count| count > 1).then_some(&layout.pieces)
    }

    /// What devices exchange for an op, if anything.
    pub fn exchange(&self, op: OperationRef<'_, '_>) -> Option<&Exchange> {
        if self.exchanges.is_empty() { None } else { self.exchanges.get(&op_key(op)) }
    }

    /// Whether a dimension is cut into pieces that do not divide it.
    pub fn is_uneven(&self, value: Value<'_, '_>, dim: usize) -> bool {
        let size = Tensor::new(value.r#type()).and_then(|tensor| tensor.shape.get(dim).copied());
        let count = self.of(value).and_then(|pieces| pieces.get(dim).copied());
        matches!((size, count), (Some(size), Some(count)) if count > 1 && size % count != 0)
    }

    /// Carries what is given to all other values, and asks what that takes.
    fn carry<'c: 'a, 'a>(&mut self, ops: &[OperationRef<'c, 'a>]) {
        let functions: FxHashMap<&str, OperationRef<'c, 'a>> = ops
            .iter()
            .filter(|op| op_name(**op) == "func.func")
            .filter_map(|&op| {
                Some((string_value(StringAttribute::try_from(attribute_of(op, "sym_name")?).ok()?), op))
            })
            .collect();
        let callee = |op: OperationRef<'c, 'a>| {
            if op_name(op) != "func.call" {
                return None;
            }
            functions.get(crate::functions::callee(op)?).and_then(|callee| body(*callee, 0))
        };
        let relations: Vec<_> = ops.iter().map(|&op| relations(op)).collect();
        for first in [Turn::Kept, Turn::Related, Turn::Repeated] {
            self.settle(ops, &relations, &callee, first);
        }
        for (&op, related) in ops.iter().zip(&relations) {
            if let Some(exchange) = self.exchanged(op, related) {
                self.exchanges.insert(op_key(op), exchange);
            }
        }
    }

    /// Carries what is known along ops whose turn it is, up and down until nothing changes.
    fn settle<'c: 'a, 'a>(
        &mut self,
        ops: &[OperationRef<'c, 'a>],
        relations: &[Related<'c, 'a>],
        callee: &impl Fn(OperationRef<'c, 'a>) -> Option<BlockRef<'c, 'a>>,
        turn: Turn,
    ) {
        // What a callee is given is known when its caller has been seen, and what becomes of its results, too; what a loop
        // carries, when its body has been.
        const ROUNDS: usize = 4;
        let given = |op: OperationRef<'c, 'a>, block: BlockRef<'c, 'a>| {
            op.operands().zip(arguments_of(block)).collect::<Vec<_>>()
        };
        let returned = |op: OperationRef<'c, 'a>, block: BlockRef<'c, 'a>| {
            let values = block.terminator().into_iter().flat_map(|last| last.operands().collect::<Vec<_>>());
            values.zip(op.results().map(Value::from)).collect::<Vec<_>>()
        };
        for _ in 0..ROUNDS {
            let mut changed = false;
            for (&op, related) in ops.iter().zip(relations) {
                if let Some(block) = callee(op) {
                    for (from, to) in given(op, block).into_iter().chain(returned(op, block)) {
                        changed |= self.same(from, to);
                    }
                }
                if Turn::of(op) <= turn {
                    changed |= self.forwards(op, related);
                }
            }
            for (&op, related) in ops.iter().zip(relations).rev() {
                if let Some(block) = callee(op) {
                    for (value, result) in returned(op, block) {
                        changed |= self.same(result, value);
                    }
                }
                if Turn::of(op).min(Turn::Related) <= turn {
                    changed |= self.backwards(op, related);
                }
            }
            if !changed {
                break;
            }
        }
    }

    fn cut_of(&self, (value, dim): Dim<'_, '_>) -> Option<&Cut> {
        self.layouts.get(&key(value))?.cuts.get(dim).filter(|cut| !cut.is_empty())
    }

    /// `to` is cut as `from` is, if nothing else is known of it.
    fn same_dim(&mut self, from: Dim<'_, '_>, (value, dim): Dim<'_, '_>) -> bool {
        let Some(cut) = self.cut_of(from).cloned() else { return false };
        let Some(tensor) = Tensor::new(value.r#type()).filter(|tensor| dim < tensor.rank()) else {
            return false;
        };
        self.layouts.entry(key(value)).or_insert_with(|| Layout::nothing(tensor.rank())).cut(dim, &cut)
    }

    /// The same of all dimensions.
    fn same(&mut self, from: Value<'_, '_>, to: Value<'_, '_>) -> bool {
        let rank = self.layouts.get(&key(from)).map_or(0, |layout| layout.cuts.len());
        (0..rank).fold(false, |changed, dim| self.same_dim((from, dim), (to, dim)) | changed)
    }

    /// What is written down. Dimensions that are closed stay as they are.
    fn set(&mut self, value: Value<'_, '_>, given: Option<Given>) {
        let (Some(given), Some(tensor)) = (given, Tensor::new(value.r#type())) else { return };
        if given.len() != tensor.rank() {
            return;
        }
        let mut layout = Layout::nothing(tensor.rank());
        for (dim, (cut, is_closed)) in given.into_iter().enumerate() {
            layout.cut(dim, &cut);
            layout.whole[dim] = is_closed && cut.is_empty();
        }
        self.layouts.insert(key(value), layout);
    }

    /// What is written down.
    fn given(&mut self, op: OperationRef<'_, '_>) {
        match op_name(op) {
            "func.func" => {
                let Some(block) = body(op, 0) else { return };
                for at in 0..block.argument_count() {
                    let given =
                        ffi::argument_attributes(op, at).and_then(|attributes| in_dictionary(op, attributes));
                    if let Ok(argument) = block.argument(at) {
                        self.set(argument.into(), given);
                    }
                }
                let all = attribute_of(op, "res_attrs").and_then(|all| ArrayAttribute::try_from(all).ok());
                if let (Some(all), Some(last)) = (all, block.terminator()) {
                    for (at, value) in last.operands().enumerate().take(all.len()) {
                        let attributes =
                            all.element(at).ok().and_then(|all| DictionaryAttribute::try_from(all).ok());
                        let given = attributes.and_then(|attributes| in_dictionary(op, attributes));
                        // An argument that is handed out as it came is cut as that.
                        if !self.layouts.contains_key(&key(value)) || defining_op(value).is_some() {
                            self.set(value, given);
                        }
                    }
                }
            }
            "sdy.sharding_constraint" | "sdy.reshard" => {
                let given = attribute_of(op, "sharding").and_then(|sharding| of_sharding(op, sharding));
                if let Ok(result) = op.result(0) {
                    self.set(result.into(), given);
                }
            }
            name => {
                let list = if name == "sdy.manual_computation" { "out_shardings" } else { "sdy.sharding" };
                let Some(list) = attribute_of(op, list) else {
                    let text = attribute_of(op, "mhlo.sharding");
                    if let (Some(text), Some(result)) = (text, first_result(op)) {
                        self.set(result, of_text(text));
                    }
                    return;
                };
                let given = attribute_of(op, "in_shardings")
                    .filter(|_| name == "sdy.manual_computation")
                    .and_then(|list| TensorShardingPerValue::try_from(list).ok());
                if let Some(given) = given {
                    for (operand, sharding) in op.operands().zip(given.shardings().iter()) {
                        if !self.layouts.contains_key(&key(operand)) {
                            self.set(operand, of_sharding(op, sharding.into()));
                        }
                    }
                }
                if let Ok(list) = TensorShardingPerValue::try_from(list) {
                    for (result, sharding) in op.results().zip(list.shardings().iter()) {
                        self.set(result.into(), of_sharding(op, sharding.into()));
                    }
                }
            }
        }
    }

    /// What a loop carries is cut alike all along.
    fn carried_by_loop<'c: 'a, 'a>(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let blocks = [body(op, 0), body(op, 1)];
        let mut changed = false;
        for (at, (operand, result)) in op.operands().zip(op.results()).enumerate() {
            let mut all: Vec<Value<'c, 'a>> = vec![operand];
            for block in blocks.iter().flatten() {
                all.extend(block.argument(at).ok().map(Value::from));
            }
            let end = blocks[1].and_then(|block| block.terminator());
            all.extend(end.and_then(|end| end.operands().nth(at)));
            all.push(result.into());
            let Some(from) = all.iter().copied().find(|value| self.of(*value).is_some()) else { continue };
            for to in all {
                changed |= self.same(from, to);
            }
        }
        changed
    }

    fn forwards<'c: 'a, 'a>(&mut self, op: OperationRef<'c, 'a>, related: &Related<'c, 'a>) -> bool {
        if op_name(op) == "stablehlo.while" {
            return self.carried_by_loop(op);
        }
        let mut changed = false;
        for &(one, other) in &related.pairs {
            changed |= match (is_of(op, one.0), is_of(op, other.0)) {
                (false, true) => self.same_dim(one, other),
                (true, false) => self.same_dim(other, one),
                // Of two operands neither is changed by the other's user.
                _ => false,
            };
        }
        for (from, to) in &related.regrouped {
            changed |= self.regroup(from, to);
        }
        changed
    }

    fn backwards<'c: 'a, 'a>(&mut self, op: OperationRef<'c, 'a>, related: &Related<'c, 'a>) -> bool {
        if op_name(op) == "stablehlo.while" {
            return self.carried_by_loop(op);
        }
        let mut changed = false;
        // Arguments are as they are given.
        let is_made = |(value, _): Dim<'c, 'a>| defining_op(value).is_some();
        for &(one, other) in &related.pairs {
            changed |= match (is_of(op, one.0), is_of(op, other.0)) {
                (true, false) => is_made(other) && self.same_dim(one, other),
                (false, true) => is_made(one) && self.same_dim(other, one),
                // What is multiplied with what is cut is cut alike.
                (false, false) => {
                    (is_made(other) && self.same_dim(one, other))
                        | (is_made(one) && self.same_dim(other, one))
                }
                (true, true) => false,
            };
        }
        for (from, to) in
            related.regrouped.iter().filter(|(from, _)| from.first().copied().is_some_and(is_made))
        {
            changed |= self.regroup(to, from);
        }
        changed
    }

    /// The outermost of dimensions that become others takes along how it is cut, if it comes out even.
    fn regroup(&mut self, from: &[Dim<'_, '_>], to: &[Dim<'_, '_>]) -> bool {
        let (Some(&from), Some(&to)) = (from.first(), to.first()) else { return false };
        let size = Tensor::new(to.0.r#type()).and_then(|tensor| tensor.shape.get(to.1).copied());
        let is_even = self.cut_of(from).zip(size).is_some_and(|(cut, size)| size % piece_count(cut) == 0);
        is_even && self.same_dim(from, to)
    }

    /// Where each device has updates of its own for what all of them have, it scatters these, and what comes of it is
    /// added up, or combined as the scatter does. (Where it keeps one update of several, it needs all of them.)
    fn scattered(&self, op: OperationRef<'_, '_>) -> Option<Exchange> {
        combiner(op)?;
        let of_indices = scatter_dims(op, true)?;
        let result = first_result(op)?;
        let layout = self.layouts.get(&key(op.operands().last()?))?;
        let none = Cut::new();
        let rank = Tensor::new(result.r#type())?.rank();
        let made: Vec<&Cut> = (0..rank).map(|dim| self.cut_of((result, dim)).unwrap_or(&none)).collect();
        let kept: Cut = made.iter().flat_map(|cut| cut.iter().copied()).collect();
        let parts = of_indices.into_iter().flat_map(|dim| layout.cuts[dim].iter().copied());
        let summed: Cut = parts.filter(|part| !clash(&[*part], &kept)).collect();
        let summands = piece_count(&summed);
        let before = made.iter().map(|cut| piece_count(cut)).collect();
        (summands > 1).then(|| Exchange { summands, before, ..Exchange::default() })
    }

    /// What devices exchange for an op whose operands and result are cut as they are.
    fn exchanged<'c: 'a, 'a>(&self, op: OperationRef<'c, 'a>, related: &Related<'c, 'a>) -> Option<Exchange> {
        if op_name(op) == "stablehlo.scatter" {
            return self.scattered(op);
        }
        if !exchanges(op_name(op)) {
            return None;
        }
        let result = first_result(op)?;
        let none = Cut::new();
        let cut_of = |dim: Dim<'c, 'a>| self.cut_of(dim).unwrap_or(&none);
        let rank = Tensor::new(result.r#type())?.rank();
        let result_cuts: Vec<&Cut> = (0..rank).map(|dim| cut_of((result, dim))).collect();
        // Axes that an operand has where the result does, too.
        let mut kept = Cut::new();
        for (own, made) in related.pairs.iter().filter_map(|&pair| operand_and_result(op, pair)) {
            if cut_of(own) == cut_of(made) {
                kept.extend(cut_of(own).iter().copied());
            }
        }
        // What is summed along two operands' dimensions is named by the first; no result has either.
        let partner = |dim: &Dim<'c, 'a>| related.pairs.iter().find(|(one, _)| one == dim).map(|pair| pair.1);
        let sums: Vec<Dim> =
            related.summed.iter().flat_map(|dim| [Some(*dim), partner(dim)]).flatten().collect();
        let mut exchange = Exchange::default();
        let mut summed = Cut::new();
        for (number, operand) in op.operands().enumerate() {
            let Some(layout) = self.layouts.get(&key(operand)) else { continue };
            let mut cuts = layout.cuts.clone();
            for (own, made) in related.pairs.iter().filter_map(|&pair| operand_and_result(op, pair)) {
                // Axes that only change dimensions are no more than handed around; those that are summed along stay.
                let moves = || {
                    let dims = (0..layout.cuts.len()).filter(|&dim| !sums.contains(&(operand, dim)));
                    dims.map(|dim| &layout.cuts[dim]).any(|own| clash(own, cut_of(made)))
                };
                if own.0 == operand && (!cuts[own.1].is_empty() || moves()) {
                    cuts[own.1].clone_from(cut_of(made));
                }
            }
            for (_, dim) in sums.iter().filter(|(value, _)| *value == operand) {
                if clash(&cuts[*dim], &kept) {
                    cuts[*dim].clear();
                } else {
                    let more = cuts[*dim].iter().filter(|part| !clash(&[**part], &summed)).copied();
                    let more: Cut = more.collect();
                    summed.extend(more);
                }
            }
            if cuts != layout.cuts {
                exchange.gathered.push((number, pieces_of(&cuts)));
            }
        }
        exchange.summands = piece_count(&summed);
        if exchange.summands > 1 {
            let before = |cut: &&Cut| if clash(cut, &summed) { 1 } else { piece_count(cut) };
            exchange.before = result_cuts.iter().map(before).collect();
        }
        (!exchange.gathered.is_empty() || exchange.summands > 1).then_some(exchange)
    }
}

/// What one device has of the values of a function, and does for its ops.
pub(crate) struct OnDevice(Shards);

impl OnDevice {
    pub fn new<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> Self {
        Self(ffi::parent(function).map_or_else(Shards::default, Shards::new))
    }

    /// Bytes and elements of what a device has of a value.
    pub fn size(&self, value: Value<'_, '_>) -> (u64, u64) {
        bytes_of(self.0.of(value).map_or(value.r#type(), |pieces| local_type(value.r#type(), pieces)))
    }

    /// The same of what it has of an operand when it computes an op.
    pub fn read(&self, op: OperationRef<'_, '_>, number: usize, value: Value<'_, '_>) -> u64 {
        let gathered = self.0.exchange(op).map_or(&[][..], |exchange| &exchange.gathered);
        match gathered.iter().find(|(operand, _)| *operand == number) {
            Some((_, pieces)) => bytes_of(local_type(value.r#type(), pieces)).0,
            None => self.size(value).0,
        }
    }

    /// How many devices have a part each of the sums that an op makes, and the bytes and elements of such a part.
    pub fn part(&self, op: OperationRef<'_, '_>) -> Option<(u32, (u64, u64))> {
        let exchange = self.0.exchange(op).filter(|exchange| exchange.summands > 1)?;
        let part = local_type(first_result(op)?.r#type(), &exchange.before);
        Some((exchange.summands as u32, bytes_of(part)))
    }
}

/// Whether what devices exchange for an op is told by how its operands and its result are cut. What moves elements along
/// dimensions is looked at where it is (`graph/moves.rs`).
fn exchanges(name: &str) -> bool {
    const NOT: &[&str] = &[
        "slice",
        "pad",
        "concatenate",
        "reverse",
        "dynamic_slice",
        "dynamic_update_slice",
        "while",
        "if",
        "case",
        "optimization_barrier",
        "gather",
        "scatter",
        "reduce_window",
        "select_and_scatter",
        "sort",
        "constant",
        "iota",
    ];
    match name.strip_prefix("stablehlo.") {
        Some(name) => !NOT.contains(&name),
        None => name.starts_with("chlo.") || matches!(name, "sdy.sharding_constraint" | "sdy.reshard"),
    }
}

/// What an op does to dimensions. Of what is not known values of one shape are taken to be cut alike.
fn relations<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Related<'c, 'a> {
    related(op).unwrap_or_else(|| {
        let mut pairs = Vec::new();
        let shape = |value: Value<'c, 'a>| Tensor::new(value.r#type()).map(|tensor| tensor.shape);
        for result in op.results().map(Value::from) {
            for operand in op.operands().filter(|operand| shape(*operand) == shape(result)) {
                let rank = shape(result).map_or(0, <[i64]>::len);
                pairs.extend((0..rank).map(|dim| ((operand, dim), (result, dim))));
            }
        }
        Related { pairs, ..Related::default() }
    })
}

/// Whether an op makes a value.
fn is_of(op: OperationRef<'_, '_>, value: Value<'_, '_>) -> bool {
    defining_op(value) == Some(op)
}

/// A dimension of an operand and that of the first result that it becomes.
fn operand_and_result<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    (one, other): (Dim<'c, 'a>, Dim<'c, 'a>),
) -> Option<(Dim<'c, 'a>, Dim<'c, 'a>)> {
    let is_made = |dim: Dim<'c, 'a>| first_result(op) == Some(dim.0);
    match (is_made(one), is_made(other)) {
        (true, false) => Some((other, one)),
        (false, true) => Some((one, other)),
        _ => None,
    }
}

/// How each dimension is cut, and whether it stays so whatever others say.
type Given = Vec<(Cut, bool)>;

fn in_dictionary(op: OperationRef<'_, '_>, attributes: DictionaryAttribute<'_>) -> Option<Given> {
    attribute_in(attributes, "sdy.sharding")
        .and_then(|sharding| of_sharding(op, sharding))
        .or_else(|| attribute_in(attributes, "mhlo.sharding").and_then(of_text))
}

fn of_sharding(op: OperationRef<'_, '_>, sharding: Attribute<'_>) -> Option<Given> {
    let sharding = TensorSharding::try_from(sharding).ok()?;
    let axes = Axes::new(mesh_of(op, sharding).ok()?);
    let dims = sharding.dims();
    dims.iter()
        .map(|dim| {
            let parts = axes.resolve_list(dim.axes()).ok()?;
            // Axes of one device cut nothing.
            Some((parts.into_iter().filter(|part| part.size > 1).collect(), dim.is_closed()))
        })
        .collect()
}

/// `{devices=[2,1,2]<=[4] last_tile_dim_replicate}`: the first dimension that is cut is so along the first axis, and so on.
fn of_text(text: Attribute<'_>) -> Option<Given> {
    let text = string_value(StringAttribute::try_from(text).ok()?);
    let (counts, rest) = text.split_once("devices=[")?.1.split_once(']')?;
    let mut counts: Vec<i64> = counts.split(',').map(|count| count.parse().ok()).collect::<Option<_>>()?;
    if rest.contains("last_tile_dim_replicate") {
        counts.pop();
    }
    let mut axis = 0;
    let cut = |size: i64| {
        if size <= 1 {
            return (Cut::new(), true);
        }
        axis += 1;
        (Cut::from_elem(Part { axis, before: 1, size }, 1), true)
    };
    Some(counts.into_iter().map(cut).collect())
}
