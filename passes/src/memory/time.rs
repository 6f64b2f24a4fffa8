// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How long a planned program takes: for each kernel what it takes to start it, and the longer of moving its bytes and of its arithmetic; a
//! loop as often as it turns, a branch as its longest arm.
//!
//! Rates are the target's (`target/`). What is gathered more than once comes from the cache if the table fits there. What is left out:
//! other uses of caches, overlap of collectives and kernels, libraries' choice of algorithms.
//! A loop whose turns are not known at compile time counts as one turn, as in XLA's own sums.

use super::Spent;
use super::assign::Plan;
use super::blocks::{in_columns, shared_mask};
use super::fuse::{Kernel, Kernels, Read};
use super::graph::{Class, Graph, Id, Node, placement};
use super::near::{Runs, is_own, near_bytes};
use super::stages::{
    comparing, in_library, left_by_first, passes, places, stages, transformed, transforming,
};
use crate::counted::Counter;
use crate::ir::{self, constant_attribute, i64_array};
use crate::ops::class::is_collective;
use crate::ops::products::{contracted, dot_numbers, makes_filter};
use crate::target::{Rates, Storage};
use melior::ir::attribute::ArrayAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, TypeLike, ValueLike};
use slimhlo_dialect::ffi::{attribute_of, op_name, type_of};
use slimhlo_dialect::quant::complex_part;
use slimhlo_dialect::stablehlo::attrs::{ConvDimensionNumbers, Precision};
use slimhlo_dialect::types::Tensor;
use smallvec::SmallVec;

/// What running something takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Time {
    pub seconds: f64,
    /// Kernels that are started.
    pub launches: f64,
}

impl Time {
    fn and(self, other: Self) -> Self {
        Self { seconds: self.seconds + other.seconds, launches: self.launches + other.launches }
    }

    fn times(self, turns: f64) -> Self {
        Self { seconds: self.seconds * turns, launches: self.launches * turns }
    }
}

/// What a turn takes beside what its convolutions do, as a share of these: around them XLA for an H100 has more
/// reductions, of more stages, than the model. The training steps `resnet_step`, `unet_step` and one of ConvNeXt, in
/// slices of the batch, took 1.08 to 1.14 times as long as estimated by `cargo xtask bench memory` and `bench
/// corpus`, and networks without convolutions 0.95 to 1.01; by the rates of before they were measured on a GPU.
const BESIDE_CONVOLUTIONS: f64 = 0.25;

/// Seconds that a turn takes around what a library convolves.
fn around_convolutions(turn: &Graph<'_, '_>, storage: &Storage, rates: &Rates) -> f64 {
    let seconds = |node: &Node| {
        let op = node.op.filter(|op| op_name(*op) == "stablehlo.convolution" && node.class != Class::Move)?;
        Some(BESIDE_CONVOLUTIONS * product(op, turn.values[node.first as usize].elements, rates))
    };
    if storage.library_convolves { turn.nodes.iter().filter_map(seconds).sum() } else { 0.0 }
}

/// What running a graph takes, once or as a turn of a loop among many.
pub(super) fn time(graph: &Graph<'_, '_>, plan: &Plan, storage: &Storage, rates: &Rates) -> Time {
    once(graph, plan, (storage, rates), Runs::Once)
}

fn once(graph: &Graph<'_, '_>, plan: &Plan, (storage, rates): (&Storage, &Rates), runs: Runs) -> Time {
    let own = Own::new(graph, plan, (storage, rates), runs);
    let in_place = &own.in_place;
    let each = |(index, kernel): (usize, &Kernel)| {
        let node = &graph.nodes[kernel.node as usize];
        let inside = |region: usize, runs| match (node.regions.get(region), plan.inner[index].get(region)) {
            (Some(graph), Some(plan)) => once(graph, plan, (storage, rates), runs),
            _ => Time::default(),
        };
        let alone = |seconds| Time { seconds, launches: 0.0 };
        match node.class {
            Class::Parameter | Class::Constant => Time::default(),
            Class::Loop => {
                let counter = node.op.and_then(Counter::of);
                let turns = counter.map_or(1, |counter| counter.turns());
                // Who starts kernels counts turns for himself, or else asks the condition.
                let asked = if counter.is_some() {
                    Time::default()
                } else {
                    inside(0, Runs::Once).and(alone(rates.branch))
                };
                let turn = asked.and(inside(1, Runs::Again)).and(alone(rates.iteration));
                let around =
                    node.regions.get(1).map_or(0.0, |body| around_convolutions(body, storage, rates));
                let turn = turn.and(alone(around));
                turn.times(turns as f64).and(in_place.copies(kernel.node).time(rates, own.launch))
            }
            Class::Branch => {
                let arms = (0..node.regions.len()).map(|arm| inside(arm, Runs::Once));
                let longest = arms.max_by(|one, other| one.seconds.total_cmp(&other.seconds));
                longest.unwrap_or_default().and(alone(rates.branch))
            }
            _ => own.kernel(index),
        }
    };
    let copies = Copies::of(plan.copied.iter().copied()).time(rates, own.launch);
    plan.kernels.kernels.iter().enumerate().map(each).fold(copies, Time::and)
}

/// What the kernels of a graph take that are neither loops nor branches.
struct Own<'g, 'c, 'a> {
    in_place: InPlace<'g, 'c, 'a>,
    /// For each kernel how many it falls into, and the seconds of its work; nothing for loops and branches.
    each: Vec<(f64, f64)>,
    /// Seconds that starting one of them takes.
    launch: f64,
}

impl<'g, 'c, 'a> Own<'g, 'c, 'a> {
    fn new(graph: &'g Graph<'c, 'a>, plan: &Plan, (storage, rates): (&Storage, &Rates), runs: Runs) -> Self {
        let in_place = InPlace::new(graph, plan);
        let near = near_bytes(graph, plan, &in_place.memory, rates, runs);
        let one = |(index, kernel): (usize, &Kernel)| {
            if !is_own(graph.nodes[kernel.node as usize].class) {
                return (0.0, 0.0);
            }
            if storage.numbers_free && is_of_numbers(graph, plan, *kernel) {
                return (0.0, 0.0);
            }
            let work = work(graph, plan, *kernel, &in_place, near[index], (storage, rates));
            (launches(graph, plan, *kernel, storage), work)
        };
        let each: Vec<_> = plan.kernels.kernels.iter().enumerate().map(one).collect();
        let sum = |(count, seconds), &(kernels, work): &(f64, f64)| (count + kernels, seconds + work);
        let (count, seconds) = each.iter().fold((0.0, 0.0), sum);
        let copies = Copies::of(plan.copied.iter().copied());
        let launch = rates.launch_of(count + copies.count, seconds + copies.moved / rates.bytes);
        Self { in_place, each, launch }
    }

    /// One run of a kernel.
    fn kernel(&self, index: usize) -> Time {
        let (launches, work) = self.each[index];
        Time { seconds: launches * self.launch + work, launches }
    }
}

/// Whether a kernel makes single numbers of such.
fn is_of_numbers(graph: &Graph<'_, '_>, plan: &Plan, kernel: Kernel) -> bool {
    let is_number = |id: Id| graph.values[id as usize].elements <= 1;
    plan.kernels.made(graph, kernel).all(is_number)
        && plan.kernels.reads(kernel).iter().all(|read| is_number(read.value))
}

/// Kernels that a kernel falls into.
fn launches(graph: &Graph<'_, '_>, plan: &Plan, kernel: Kernel, storage: &Storage) -> f64 {
    plan.kernels.computed(kernel).map(|node| stages(graph, node, storage)).fold(1.0, f64::max)
}

/// Adds what each kernel of a graph takes that runs so often, those of loops and of all arms of branches too.
pub(super) fn spent<'c>(
    graph: &Graph<'c, '_>,
    plan: &Plan,
    (storage, rates): (&Storage, &Rates),
    (turns, runs): (f64, Runs),
    into: &mut Vec<Spent<'c>>,
) {
    let own = Own::new(graph, plan, (storage, rates), runs);
    for (index, kernel) in plan.kernels.kernels.iter().enumerate() {
        let node = &graph.nodes[kernel.node as usize];
        let (inner, runs) = match node.class {
            Class::Loop => {
                (node.op.and_then(Counter::of).map_or(1, |counter| counter.turns()) as f64, Runs::Again)
            }
            _ => (1.0, Runs::Once),
        };
        for (region, inner_plan) in node.regions.iter().zip(&plan.inner[index]) {
            spent(region, inner_plan, (storage, rates), (turns * inner, runs), into);
        }
        if is_own(node.class) {
            into.push(Spent {
                seconds: turns * own.kernel(index).seconds,
                runs: turns,
                op: node.op.map_or("", |op| op_name(op)).to_owned(),
                ty: graph.values.get(node.first as usize).map_or(String::new(), |value| value.ty.to_string()),
                location: node.op.map(|op| op.location()),
            });
        }
    }
}

/// Copies of whole arrays.
#[derive(Clone, Copy, Default)]
struct Copies {
    /// Bytes that are read and written.
    moved: f64,
    count: f64,
}

impl Copies {
    fn of(arrays: impl Iterator<Item = u64>) -> Self {
        // Numbers, a loop's counter say, are put in their place by what computes them, which waits for their readers.
        const NUMBERS: u64 = 16;
        arrays.filter(|&bytes| bytes > NUMBERS).fold(Self::default(), |Self { moved, count }, bytes| Self {
            moved: moved + 2.0 * bytes as f64,
            count: count + 1.0,
        })
    }

    /// What they take as kernels of their own.
    fn time(self, rates: &Rates, launch: f64) -> Time {
        let Self { moved, count } = self;
        Time { seconds: moved / rates.bytes + count * launch, launches: count }
    }
}

/// Where results lie in the memory of what they are made of.
struct InPlace<'g, 'c, 'a> {
    graph: &'g Graph<'c, 'a>,
    /// The memory of each value, by its place in the plan.
    memory: Vec<u32>,
}

impl<'g, 'c, 'a> InPlace<'g, 'c, 'a> {
    fn new(graph: &'g Graph<'c, 'a>, plan: &Plan) -> Self {
        let mut memory = vec![u32::MAX; graph.values.len()];
        for (index, held) in plan.memory.iter().enumerate() {
            held.values.iter().for_each(|&value| memory[value as usize] = index as u32);
        }
        Self { graph, memory }
    }

    /// What is copied so that a node may change it.
    fn copies(&self, node: Id) -> Copies {
        let node = &self.graph.nodes[node as usize];
        let changed = (node.first..node.first + node.count).zip(&node.operands);
        let copied = changed.filter(|&(result, &operand)| {
            let (own, other) = (self.memory[result as usize], self.memory[operand as usize]);
            self.graph.values[result as usize].bytes > 0 && (own != other || own == u32::MAX)
        });
        Copies::of(copied.map(|(result, _)| self.graph.values[result as usize].bytes))
    }
}

/// Seconds of a kernel's own work, once it runs; `near` bytes that it moves lie in the second cache.
fn work(
    graph: &Graph<'_, '_>,
    plan: &Plan,
    kernel: Kernel,
    in_place: &InPlace<'_, '_, '_>,
    near: f64,
    (storage, rates): (&Storage, &Rates),
) -> f64 {
    let node = &graph.nodes[kernel.node as usize];
    let reads = plan.kernels.reads(kernel);
    let read: f64 = reads.iter().map(|read| read.bytes as f64).sum();
    let again: f64 = reads.iter().map(|read| again(graph, read, storage, rates)).sum();
    let bytes_of = |id: Id| graph.values[id as usize].bytes as f64;
    let made: f64 = plan.kernels.made(graph, kernel).map(bytes_of).sum();
    let name = node.op.map_or("", |op| op_name(op));
    let changed = |index: usize| node.operands.get(index).map_or(0.0, |&id| bytes_of(id));
    let moved = match node.class {
        Class::Update => read + changed(1) + in_place.copies(kernel.node).moved,
        Class::Scatter => {
            let waits = updating(graph, kernel.node, storage, rates) * rates.bytes;
            (read + 2.0 * added_to(graph, kernel.node)).max(waits) + in_place.copies(kernel.node).moved
        }
        Class::Opaque if name == "stablehlo.sort" => {
            let (passes, places) = node.op.map_or((1.0, 0), |op| (passes(op, storage), places(op, storage)));
            (read + made + 2.0 * places as f64) * passes
        }
        Class::Opaque if name == "stablehlo.fft" => (read + made) * node.op.map_or(1.0, transformed),
        Class::Opaque if node.op.and_then(placement).is_some() => {
            (read + made) * rates.bytes / rates.host_link
        }
        Class::Opaque if moves_between_devices(name) => {
            let seconds = match node.op.filter(|_| name == "stablehlo.all_reduce").map(group_size) {
                Some(summands) => exchanging(read, made, summands, rates),
                None => handed(graph, node, (read, made)) / rates.link + rates.exchange,
            };
            seconds * rates.bytes
        }
        Class::Exchange { summands } => exchanging(read, made, summands, rates) * rates.bytes,
        _ => {
            // Between the stages of a reduction.
            let left = plan.kernels.nodes(kernel).map(|node| left_by_first(graph, node, storage));
            read + made + 2.0 * left.fold(0, u64::saturating_add) as f64
        }
    };
    let computing = kernel.inside.product.map_or(0.0, |id| {
        let node = &graph.nodes[id as usize];
        let Some((op, made)) = node.op.zip(graph.values.get(node.first as usize)) else { return 0.0 };
        let slowness = storage.slowness.map_or(1.0, |slowness| slowness(op));
        slowness * product(op, made.elements / parts(op, made.ty), rates) / sharing(graph, node, op)
    });
    let (counting, overlap) = match storage.operations {
        // In a product's kernel operations are done while it multiplies.
        Some(_) if kernel.inside.product.is_some() => (kernel.work / rates.operations, 1.0),
        Some(_) => {
            let sorting = node.op.map_or(0.0, |op| comparing(op, storage) + transforming(op));
            ((kernel.work + sorting) / rates.operations, rates.overlap)
        }
        None => (kernel.work / rates.elementwise, 1.0),
    };
    let product = kernel.inside.product.and_then(|id| graph.nodes[id as usize].op);
    let moved = if product.is_some_and(|op| cuts_images(op, storage)) { moved * CUT } else { moved };
    let near = near.min(moved);
    let moving = (moved - near) / rates.bytes + near / rates.cached + again;
    let moving = moving.max(in_columns(graph, plan, kernel, (read, near), (storage, rates)));
    let own = moving.max(counting) + (1.0 - overlap) * moving.min(counting);
    let is_dot =
        |id: Id| graph.nodes[id as usize].op.is_some_and(|op| op_name(op) != "stablehlo.convolution");
    let starting = if kernel.inside.product.is_some_and(is_dot) { rates.product } else { 0.0 };
    let multiplying = own.max(computing) + (1.0 - rates.product_overlap) * own.min(computing);
    multiplying * shared_mask(graph, plan, kernel)
        + starting
        + node.op.map_or(0.0, |op| in_library(op, storage))
}

/// How many times as many bytes a convolution moves that cuts its images into parts, for what is copied before and after it (see
/// `target/xla_tpu.rs`).
const CUT: f64 = 3.0;

/// Whether a convolution is of so few images that they are cut into parts.
fn cuts_images(op: OperationRef<'_, '_>, storage: &Storage) -> bool {
    if storage.fewest_images == 0 || op_name(op) != "stablehlo.convolution" {
        return false;
    }
    let image = ir::operand(op, 0).and_then(|value| Tensor::new(value.r#type()));
    let numbers = attribute_of(op, "dimension_numbers")
        .and_then(|numbers| ConvDimensionNumbers::try_from(numbers).ok());
    let (Some(image), Some(numbers)) = (image, numbers) else { return false };
    // The gradient of a filter contracts the images.
    let images = match makes_filter(&numbers) {
        true => numbers.input_feature_dimension(),
        false => numbers.input_batch_dimension(),
    };
    image.shape[images as usize].unsigned_abs() < storage.fewest_images
}

/// Seconds in which a scatter can add its updates to what it changes: a place takes one after another, the cache so many of any, and
/// memory reads and writes a sector for each row, if what is changed does not fit into the cache.
fn updating(graph: &Graph<'_, '_>, scatter: Id, storage: &Storage, rates: &Rates) -> f64 {
    let node = &graph.nodes[scatter as usize];
    let content = |id: Option<&Id>| id.map(|&id| &graph.values[id as usize]);
    let (Some(into), Some(updates)) = (content(node.operands.first()), content(node.operands.last())) else {
        return 0.0;
    };
    let indices =
        content(node.operands.get(node.count as usize)).map_or(1, |indices| indices.elements.max(1));
    let width = into.bytes / into.elements.max(1);
    let row = (updates.elements / indices).max(1);
    let run = if width >= 4 { rates.run } else { (rates.run / 2).max(1) };
    let runs = updates.elements as f64 / row.min(run) as f64;
    let waiting = runs / rates.updates.min(into.elements as f64 * rates.place);
    let Some(rereads) = storage.rereads.filter(|rereads| into.bytes > rereads.cache) else { return waiting };
    let sectors = (updates.elements / row).saturating_mul(rereads.sector.max(row.saturating_mul(width)));
    waiting.max(2.0 * sectors as f64 / rates.bytes)
}

/// Seconds that a kernel takes for what it reads more than once: for rows that it gathers, where the back end says what comes along
/// with these, and else for all.
fn again(graph: &Graph<'_, '_>, read: &Read, storage: &Storage, rates: &Rates) -> f64 {
    if storage.rereads.is_some() && graph.nodes[read.taker as usize].class != Class::Gather {
        return 0.0;
    }
    let table = graph.values[read.value as usize].bytes;
    read.again as f64
        / if table <= rates.cache || rates.cached.is_infinite() { rates.cached } else { rates.bytes }
}

/// Bytes of what a scatter writes to that it changes: as many as there are updates, and no more than there are.
fn added_to(graph: &Graph<'_, '_>, scatter: Id) -> f64 {
    let node = &graph.nodes[scatter as usize];
    let bytes = |&id: &Id| graph.values[id as usize].bytes;
    let count = node.count as usize;
    let updates = &node.operands[node.operands.len().saturating_sub(count)..];
    let changed = node.operands.iter().zip(updates).map(|(into, update)| bytes(into).min(bytes(update)));
    changed.sum::<u64>() as f64
}

/// Into how many parts a product falls that makes this: the sums of each are one of its op's results.
fn parts(op: OperationRef<'_, '_>, made: Type<'_>) -> u64 {
    let whole = op.result(0).ok().and_then(|result| Tensor::new(result.r#type()));
    let (Some(whole), Some(made)) = (whole, Tensor::new(made)) else { return 1 };
    let first = made.shape.first().filter(|_| made.rank() > whole.rank());
    first.and_then(|&parts| u64::try_from(parts).ok()).unwrap_or(1).max(1)
}

/// Bytes of exchanges of a kind that are handed over at once: XLA's `all_reduce_combine_threshold_bytes`, and those of gathers and
/// scatters.
pub(super) const TOGETHER: u64 = 30 << 20;

/// Seconds to gather what a device has not, or to add up what each of so many devices has summed up: a ring hands each of
/// its shares by all others, and where it keeps all sums the others' shares as well.
///
/// Sums are collected until there are [`TOGETHER`] of them, and handed over at once.
pub(crate) fn exchanging(read: f64, made: f64, summands: u32, rates: &Rates) -> f64 {
    let starts = if summands > 1 { f64::min(1.0, read / TOGETHER as f64) } else { 1.0 };
    moved_by_ring(read, made, summands) / rates.link + starts * rates.exchange
}

/// Bytes that each device is handed for that.
fn moved_by_ring(read: f64, made: f64, summands: u32) -> f64 {
    let others = 1.0 - 1.0 / f64::from(summands.max(1));
    match summands {
        0 | 1 if made > read => made - read,
        0 | 1 => made,
        _ if made < read => read * others,
        _ => 2.0 * read * others,
    }
}

/// Bytes that a device is handed by others for a kernel; `None` if none are.
pub(super) fn handed_over(graph: &Graph<'_, '_>, kernels: &Kernels, kernel: Kernel) -> Option<f64> {
    let node = &graph.nodes[kernel.node as usize];
    let name = node.op.map_or("", |op| op_name(op));
    let (read, made) = kernels.bytes(graph, kernel);
    let (read, made) = (read as f64, made as f64);
    match node.class {
        Class::Opaque if moves_between_devices(name) => Some(match node.op.map(group_size) {
            Some(summands) if name == "stablehlo.all_reduce" => moved_by_ring(read, made, summands),
            _ => handed(graph, node, (read, made)),
        }),
        Class::Exchange { summands } => Some(moved_by_ring(read, made, summands)),
        _ => None,
    }
}

/// How many devices a collective that is written down is between.
fn group_size(op: OperationRef<'_, '_>) -> u32 {
    let groups = attribute_of(op, "replica_groups").map(type_of).and_then(Tensor::new);
    let size = groups.and_then(|groups| groups.shape.last().copied());
    size.and_then(|size| u32::try_from(size).ok()).unwrap_or(1).max(1)
}

/// Bytes that a device is handed by a collective that is written down, or by what a partitioner makes of an op.
fn handed(graph: &Graph<'_, '_>, node: &Node<'_, '_>, (read, made): (f64, f64)) -> f64 {
    let Some(op) = node.op else { return read.max(made) };
    // Of what all have for all a device keeps its own.
    let of_others = |devices: f64| read.max(made) * (1.0 - 1.0 / devices.max(1.0));
    match op_name(op) {
        "stablehlo.all_gather" => (made - read).max(0.0),
        "stablehlo.reduce_scatter" => (read - made).max(0.0),
        "stablehlo.all_to_all" => of_others(f64::from(group_size(op))),
        // Cut along another dimension to be joined, and back.
        "stablehlo.concatenate" => of_others(parts_joined(graph, node, op).unwrap_or(f64::INFINITY)),
        _ => read.max(made),
    }
}

/// On how many devices there are parts of a concatenation along the dimension that it joins.
fn parts_joined(graph: &Graph<'_, '_>, node: &Node<'_, '_>, op: OperationRef<'_, '_>) -> Option<f64> {
    let dim = constant_attribute(op, "dimension").and_then(|dim| usize::try_from(dim).ok())?;
    let size = |ty: Type<'_>| Tensor::new(ty)?.shape.get(dim).copied();
    let all = size(op.result(0).ok()?.r#type())?;
    Some(all as f64 / size(graph.values[node.first as usize].ty)?.max(1) as f64)
}

/// Among how many devices what a product contracts is shared.
fn sharing(graph: &Graph<'_, '_>, node: &Node<'_, '_>, op: OperationRef<'_, '_>) -> f64 {
    let contracted: SmallVec<[i64; 2]> = match dot_numbers(op) {
        Some(numbers) => numbers.lhs_contracting_dimensions().iter().copied().collect(),
        None => attribute_of(op, "dimension_numbers")
            .and_then(|numbers| ConvDimensionNumbers::try_from(numbers).ok())
            .map(|numbers| numbers.input_feature_dimension())
            .into_iter()
            .collect(),
    };
    let all = ir::operand(op, 0).and_then(|value| Tensor::new(value.r#type()));
    let own = node.operands.first().and_then(|&id| Tensor::new(graph.values[id as usize].ty));
    let Some((all, own)) = all.zip(own).filter(|(all, own)| all.rank() == own.rank()) else { return 1.0 };
    let size =
        |tensor: &Tensor<'_>, dim: usize| tensor.shape.get(dim).map_or(1.0, |&size| size.max(1) as f64);
    let dims = contracted.iter().filter_map(|&dim| usize::try_from(dim).ok());
    dims.map(|dim| size(&all, dim) / size(&own, dim)).product()
}

/// Whether what an op stores comes from other devices: a collective, or what a partitioner makes of an op that has no result like it.
fn moves_between_devices(name: &str) -> bool {
    is_collective(name)
        || matches!(
            name,
            "stablehlo.slice" | "stablehlo.pad" | "stablehlo.concatenate" | "stablehlo.dynamic_update_slice"
        )
}

/// Seconds that the multiplications of a product or convolution take that makes so many elements.
pub(crate) fn product(op: OperationRef<'_, '_>, elements: u64, rates: &Rates) -> f64 {
    let (each, ty) = multiplications(op);
    let slower = if ty.is_some_and(|ty| ty.is_f32()) { rates.across(each, lies_across(op)) } else { 1.0 };
    // Each part with each.
    let (parts, ty) = ty.and_then(complex_part).map_or((1.0, ty), |part| (4.0, Some(part)));
    2.0 * parts * elements as f64 * each / (product_rate(op, ty, rates) * slower)
}

/// Multiplications for each element of a product or convolution, and the type of its operands.
fn multiplications<'c>(op: OperationRef<'c, '_>) -> (f64, Option<Type<'c>>) {
    let Some(left) = ir::operand(op, 0).and_then(|value| Tensor::new(value.r#type())) else {
        return (1.0, None);
    };
    let size = |shape: &[i64], dim: i64| {
        usize::try_from(dim).ok().and_then(|dim| shape.get(dim)).map_or(1.0, |&n| n as f64)
    };
    if let Some(contracted) = contracted(op) {
        return (contracted as f64, Some(left.element));
    }
    let kernel = ir::operand(op, 1).and_then(|value| Tensor::new(value.r#type()));
    let numbers = attribute_of(op, "dimension_numbers")
        .and_then(|numbers| ConvDimensionNumbers::try_from(numbers).ok());
    let each = match (kernel, numbers) {
        (Some(kernel), Some(numbers)) => {
            let all: f64 = kernel.shape.iter().map(|&size| size as f64).product();
            all / size(kernel.shape, numbers.kernel_output_feature_dimension()).max(1.0)
        }
        // The older product of two matrices.
        _ => left.shape.last().map_or(1.0, |&size| size as f64),
    };
    // What is dilated is zeros for the most part, which are not multiplied with.
    let dilated = i64_array(op, "lhs_dilation").map_or(1.0, |by| by.iter().map(|&by| by as f64).product());
    (each / f64::max(dilated, 1.0), Some(left.element))
}

/// Whether neither operand of a product lies along what is contracted.
fn lies_across(op: OperationRef<'_, '_>) -> bool {
    let Some(numbers) = dot_numbers(op) else { return false };
    let last = |at| {
        let operand = op.operands().nth(at).and_then(|value| Tensor::new(value.r#type()));
        operand.map_or(0, |tensor| tensor.rank() as i64 - 1)
    };
    !numbers.lhs_contracting_dimensions().contains(&last(0))
        && !numbers.rhs_contracting_dimensions().contains(&last(1))
}

fn product_rate(op: OperationRef<'_, '_>, ty: Option<Type<'_>>, rates: &Rates) -> f64 {
    match ty {
        Some(ty) if ty.is_f32() && is_exact(op) => rates.exact_products,
        Some(ty) if ty.is_f32() => rates.products,
        Some(ty) if ty.is_f64() => rates.wide_products,
        _ => rates.narrow_products,
    }
}

/// Whether a product or convolution asks for more precision than it would be given.
pub(super) fn is_exact(op: OperationRef<'_, '_>) -> bool {
    let config = attribute_of(op, "precision_config").and_then(|each| ArrayAttribute::try_from(each).ok());
    config.is_some_and(|config| {
        let mut asked =
            (0..config.len()).filter_map(|index| Precision::try_from(config.element(index).ok()?).ok());
        asked.any(|precision| precision != Precision::Default)
    })
}
