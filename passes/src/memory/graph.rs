// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A function as a graph of what it computes: calls inlined, reshapes looked through, equal ops merged, dead ones left
//! out, ops that a compiler has to rewrite (dots of 16-bit floats, say) in the form they are rewritten to.

use super::ffi;
use super::lists::Ids;
use super::shards::Shards;
use crate::addresses::AddressMap;
use crate::ir::key;
use crate::ops::{columns, joined};
use crate::rewrite::walk;
use crate::target::{Rates, Storage, Target};
use melior::ir::attribute::{DenseElementsAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{AttributeLike, BlockRef, OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{attribute_of, attributes_of, op_name, string_value};
use slimhlo_dialect::quant::Quantized;
use slimhlo_dialect::types::{Tensor, is_static};
use smallvec::{SmallVec, smallvec, smallvec as ids};
use std::cell::OnceCell;
use std::rc::Rc;

mod aliases;
mod classes;
mod control;
mod cuts;
mod exchanges;
mod host;
mod lying;
mod moves;
mod products;
mod sums;
mod wide;

use aliases::added_to_nothing;
use classes::{class_of, has_effects, is_folded};
use cuts::Cut;
use host::is_annotation;
pub(super) use host::placement;

pub(super) type Id = u32;
/// Types of an op's results.
type Types<'c> = SmallVec<[Type<'c>; 2]>;

/// What an op is to a compiler that fuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Given from outside: by the caller, or by the op whose region this is.
    Parameter,
    /// Part of the program.
    Constant,
    /// Result elements are functions of the operands' elements at the same place.
    Map(Map),
    /// Elements are repeated.
    Broadcast,
    /// Made of nothing.
    Iota,
    /// Elements are moved or dropped.
    Move,
    /// `pad`: is kept rather than computed twice.
    Pad,
    /// `concatenate`; alone, if it is done by copying rows.
    Join { alone: bool },
    /// `dynamic_slice`
    Read,
    /// `gather`: is kept rather than computed twice.
    Gather,
    /// `dynamic_update_slice`
    Update,
    /// A sum, maximum, ... over dimensions.
    Reduce(Reduce),
    /// Writes into its first operands.
    Scatter,
    /// A product or convolution. The library of reductions takes one of matrices, or of what lies as matrices do, together with
    /// what it is a product of.
    Dot { joins: bool },
    /// Anything that is computed from whole operands to whole results.
    Opaque,
    /// What devices hand to each other: parts of a value, or what so many of them have added up by themselves.
    Exchange { summands: u32 },
    /// `while`
    Loop,
    /// `if`, `case`
    Branch,
}

/// What a mapped function costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Map {
    /// It is better kept than computed twice.
    pub expensive: bool,
    /// The library of reductions knows it.
    pub library: bool,
}

/// Who computes a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduce {
    /// A library, which takes arithmetic only.
    Library,
    /// Whoever reads it, from the sums of tiles.
    Tiles,
    /// A kernel of its own.
    Kernel,
    /// Whoever reads it: it is of few elements.
    Reader,
}

pub(super) struct Node<'c, 'a> {
    pub class: Class,
    pub op: Option<OperationRef<'c, 'a>>,
    /// Values.
    pub operands: Ids,
    /// Values: the first, and how many.
    pub first: Id,
    pub count: u32,
    pub regions: Vec<Graph<'c, 'a>>,
    /// It must stay, whether it is used or not.
    pub effects: bool,
    pub live: bool,
    /// The last barrier, among the graph's, that an operand comes out of.
    pub after: Option<u32>,
    /// Parts that it is going to be written in, of a reduction of columns; 1 of all else.
    pub parts: u32,
}

#[derive(Clone, Copy)]
pub(super) struct Content<'c> {
    pub node: Id,
    pub bytes: u64,
    /// As many if it were not made narrower than the program says, by which it is decided what is stored.
    pub full: u64,
    pub elements: u64,
    pub ty: Type<'c>,
}

/// A function or a region. Nodes are in an order in which they could run.
#[derive(Default)]
pub(super) struct Graph<'c, 'a> {
    pub nodes: Vec<Node<'c, 'a>>,
    pub values: Vec<Content<'c>>,
    /// Values, in order: block arguments, then what is captured from outside.
    pub parameters: Vec<Id>,
    pub results: Vec<Id>,
    /// Values of the graph around it that this one reads: the last parameters.
    pub captures: Vec<Id>,
    /// What went through barriers, each: what is made of it stays where it is.
    pub barred: Vec<Ids>,
}

impl<'c, 'a> Graph<'c, 'a> {
    pub fn results_of(&self, node: Id) -> std::ops::Range<Id> {
        let node = &self.nodes[node as usize];
        node.first..node.first + node.count
    }
}

/// Bytes and elements of a value of this type; none for tokens. A size that is not known counts as its bound, or as 1.
pub(super) fn bytes_of(ty: Type<'_>) -> (u64, u64) {
    if let Some(tuple) = slimhlo_dialect::ffi::as_tuple(ty) {
        let parts = (0..tuple.type_count()).filter_map(|index| tuple.r#type(index).ok()).map(bytes_of);
        return parts.fold((0, 0), |sum: (u64, u64), part: (u64, u64)| {
            (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1))
        });
    }
    let Some(tensor) = Tensor::new(ty) else { return (0, 0) };
    let mut count = 1u64;
    for (dim, &size) in tensor.shape.iter().enumerate() {
        let bound =
            || tensor.bounds().and_then(|bounds| bounds.get(dim).copied()).filter(|&size| is_static(size));
        let size = if is_static(size) { size } else { bound().unwrap_or(1) };
        count = count.saturating_mul(u64::try_from(size).unwrap_or(0));
    }
    (count.saturating_mul(element_bytes(tensor.element)), count)
}

pub(super) fn element_bytes(element: Type<'_>) -> u64 {
    let bits = Quantized::new(element)
        .map_or_else(|| ffi::bit_width(element), |quantized| u64::from(quantized.storage_width()));
    bits.div_ceil(8)
}

/// Ops that stand for more ops than this are not looked into any more: calls of calls can be many.
const MOST_NODES: usize = 4_000_000;
const DEEPEST_CALLS: usize = 200;

pub(super) struct Import<'c, 'a> {
    target: Target,
    shards: Rc<Shards>,
    root: OperationRef<'c, 'a>,
    /// Sums are going to be written in parts.
    splits_sums: bool,
    functions: OnceCell<FxHashMap<&'c str, OperationRef<'c, 'a>>>,
    made: usize,
    depth: usize,
}

/// A graph under construction.
struct Scope<'c, 'a> {
    storage: &'static Storage,
    /// By what it is decided into how many parts sums go, where they are going to be written in parts.
    splits_sums: Option<&'static Rates>,
    graph: Graph<'c, 'a>,
    /// What a value of the IR is here.
    known: AddressMap<Id>,
    /// The last op of each hash of all that tells ops apart.
    same: AddressMap<Id>,
    /// Bytes and elements of the types that have been seen.
    sizes: AddressMap<(u64, u64)>,
    shards: Rc<Shards>,
    /// Values that have been converted to 32 bits.
    wide: FxHashMap<Id, Id>,
    /// Filters of convolutions in the order that back ends want, by the value of the IR.
    filters: AddressMap<Id>,
    /// Which barrier, among the graph's, a value of the IR comes out of.
    held: AddressMap<u32>,
    /// The last barrier that an operand of the op at hand comes out of.
    after: Option<u32>,
    /// What devices have gathered, by the value of the IR and the type of what they have then.
    gathered: FxHashMap<(usize, usize), Id>,
    /// What neighbours have sent of a value: which, what of it along dimensions before, along which one, from which side and how much (`moves.rs`).
    halos: FxHashMap<SmallVec<[i64; 8]>, Id>,
    /// What slices take, by node; nodes that take it; and joined arrays without some of their parts, by array and first and last part.
    cuts: FxHashMap<Id, (Id, Cut)>,
    cuts_of: FxHashMap<(Id, Cut), Id>,
    narrowed: FxHashMap<(Id, u32, u32), Id>,
    /// Sizes of what these join.
    sizes_of: FxHashMap<Id, SmallVec<[i64; 8]>>,
    /// The result of the op at hand of which each device makes a part of each sum, and the type of that.
    partial: Option<(usize, Type<'c>)>,
}

impl<'c: 'a, 'a> Import<'c, 'a> {
    /// Knows the functions of `module`, or only `function` if it is one.
    pub fn new(root: OperationRef<'c, 'a>, target: Target) -> Self {
        let shards = Rc::new(Shards::new(root));
        Self { target, shards, root, splits_sums: false, functions: OnceCell::new(), made: 0, depth: 0 }
    }

    fn scope(&self) -> Scope<'c, 'a> {
        Scope {
            storage: self.target.storage(),
            splits_sums: self.target.rates().filter(|_| self.splits_sums),
            graph: Graph::default(),
            known: AddressMap::default(),
            same: AddressMap::default(),
            sizes: AddressMap::default(),
            shards: self.shards.clone(),
            wide: FxHashMap::default(),
            filters: AddressMap::default(),
            held: AddressMap::default(),
            after: None,
            gathered: FxHashMap::default(),
            halos: FxHashMap::default(),
            cuts: FxHashMap::default(),
            cuts_of: FxHashMap::default(),
            narrowed: FxHashMap::default(),
            sizes_of: FxHashMap::default(),
            partial: None,
        }
    }

    pub fn functions(&self) -> impl Iterator<Item = OperationRef<'c, 'a>> + '_ {
        self.by_name().values().copied()
    }

    /// Looked for only where one is asked for: there may be as many functions as imports.
    fn by_name(&self) -> &FxHashMap<&'c str, OperationRef<'c, 'a>> {
        self.functions.get_or_init(|| {
            let mut functions = FxHashMap::default();
            walk(self.root, |op| {
                if op_name(op) == "func.func" {
                    if let Some(name) = symbol(op) {
                        functions.insert(name, op);
                    }
                    return WalkResult::Skip;
                }
                WalkResult::Advance
            });
            functions
        })
    }

    pub fn function(&mut self, op: OperationRef<'c, 'a>) -> Option<Graph<'c, 'a>> {
        let block = body(op, 0)?;
        self.splits_sums = attribute_of(op, columns::SPLIT).is_some();
        let mut scope = self.scope();
        scope.add_parameters(block);
        scope.graph.results = self.block(&mut scope, block);
        scope.even_results(block);
        let mut graph = scope.graph;
        prune(&mut graph);
        let storage = self.target.storage();
        if storage.is_tiled() {
            lying::lay(&mut graph, storage.tile);
        }
        if storage.narrows_products {
            lying::narrow(&mut graph);
        }
        Some(graph)
    }

    /// Adds the ops of a block; gives what its terminator hands on.
    fn block(&mut self, scope: &mut Scope<'c, 'a>, block: BlockRef<'c, 'a>) -> Vec<Id> {
        let mut next = block.first_operation();
        let mut results = Vec::new();
        while let Some(op) = next {
            next = op.next_in_block();
            let name = op_name(op);
            if next.is_none() && op.result_count() == 0 && name.ends_with("return") {
                results = scope.operands(op).to_vec();
            } else {
                self.op(scope, op, name);
            }
        }
        results
    }

    /// Adds an op, or what stands for it, and what devices exchange for it.
    fn op(&mut self, scope: &mut Scope<'c, 'a>, op: OperationRef<'c, 'a>, name: &'c str) {
        let shards = self.shards.clone();
        match shards.exchange(op) {
            Some(exchange) => {
                let own = scope.gather(op, exchange);
                self.by_itself(scope, op, name);
                scope.known.extend(own);
                scope.add_up(op, exchange);
            }
            None => self.by_itself(scope, op, name),
        }
    }

    fn by_itself(&mut self, scope: &mut Scope<'c, 'a>, op: OperationRef<'c, 'a>, name: &'c str) {
        self.made += 1;
        scope.after = op.operands().filter_map(|operand| scope.held.get(&key(operand)).copied()).max();
        let local = name.strip_prefix("stablehlo.").or_else(|| name.strip_prefix("chlo.")).unwrap_or(name);
        match local {
            "constant" => return scope.constant(op),
            "reshape" | "sdy.sharding_constraint" | "optimization_barrier" | "sdy.propagation_barrier" => {
                let operands = scope.operands(op);
                if local == "optimization_barrier" {
                    scope.after = Some(scope.graph.barred.len() as u32);
                    scope.graph.barred.push(operands.clone());
                }
                if operands.len() == op.result_count() {
                    scope.hold(op);
                    return scope.forward(op, &operands);
                }
            }
            "convert" | "broadcast_in_dim" | "transpose" | "slice" | "pad" | "reduce_precision" | "copy"
                if scope.is_bitcast(op, local) =>
            {
                let operands = scope.operands(op);
                scope.hold(op);
                return scope.forward(op, &operands[..1]);
            }
            "pad" | "slice" | "concatenate" | "dynamic_update_slice"
                if scope.moves_between_devices(op, local) =>
            {
                return;
            }
            "concatenate" if scope.is_put_together(op) => return,
            "convert" if scope.undoes_convert(op) => return,
            "slice" if scope.is_part(op) || scope.cut(op) => return,
            "add" | "subtract" => {
                if let Some(kept) = added_to_nothing(op, local) {
                    let kept = scope.operand(kept);
                    return scope.forward(op, &[kept]);
                }
                if local == "add" && scope.storage.scatters_into_sums && scope.scatters_into(op) {
                    return;
                }
            }
            "transpose" if scope.is_transposed_product(op) || scope.is_order_of_scaled(op) => {
                let operands = scope.operands(op);
                return scope.forward(op, &operands);
            }
            "custom_call" if scope.changes_memory(op) => return,
            "custom_call" if is_annotation(op) => {
                let operands = scope.operands(op);
                return scope.forward(op, &operands);
            }
            "func.call" | "composite" => {
                let attribute = if local == "composite" { "decomposition" } else { "callee" };
                if self.call(scope, op, attribute) {
                    return;
                }
            }
            "sdy.manual_computation" | "sdy.named_computation" => {
                if let Some(block) = body(op, 0) {
                    let operands = scope.operands(op);
                    scope.bind(block, &operands);
                    let results = self.block(scope, block);
                    return scope.forward(op, &results);
                }
            }
            "while" | "if" | "case" => return self.control(scope, op, local),
            "dot_general" | "dot" => return scope.dot(op, local),
            "convolution" => return scope.convolution(op),
            "reduce" => return scope.reduce(op),
            "reduce_window" => return scope.reduce_window(op),
            "scatter" => return scope.scatter(op),
            "select_and_scatter" => return scope.select_and_scatter(op),
            _ => {}
        }
        scope.op(op, local);
    }
}

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Takes a value for the concatenate of all of its slices, wherever these are made; whether it is one.
    fn is_put_together(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let parts = self.operands(op);
        let slices = parts.iter().map(|&part| {
            let node = self.graph.values[part as usize].node;
            let own = &self.graph.nodes[node as usize];
            let is_slice = |op: &OperationRef<'c, 'a>| {
                op_name(*op) == "stablehlo.slice" && self.takes_as_written(node, *op)
            };
            Some((own.op.filter(is_slice)?, *own.operands.first()?))
        });
        let whole = joined::whole_of_slices(op, slices);
        let whole = whole.filter(|&whole| {
            op.result(0).is_ok_and(|result| result.r#type() == self.graph.values[whole as usize].ty)
        });
        whole.inspect(|&whole| self.forward(op, &[whole])).is_some()
    }

    fn value(&mut self, node: Id, ty: Type<'c>) -> Id {
        let tile = self.storage.tile;
        let size = || lying::tiled(ty, tile).unwrap_or_else(|| bytes_of(ty));
        let (bytes, elements) = *self.sizes.entry(ty.to_raw().ptr as usize).or_insert_with(size);
        self.graph.values.push(Content { node, bytes, full: bytes, elements, ty });
        self.graph.values.len() as Id - 1
    }

    fn push(
        &mut self,
        class: Class,
        op: Option<OperationRef<'c, 'a>>,
        operands: Ids,
        types: &[Type<'c>],
    ) -> Id {
        let node = self.graph.nodes.len() as Id;
        let first = self.graph.values.len() as Id;
        let regions = Vec::new();
        let count = types.len() as u32;
        self.graph.nodes.push(Node {
            class,
            op,
            operands,
            first,
            count,
            regions,
            parts: 1,
            effects: false,
            live: false,
            after: self.after,
        });
        for &ty in types {
            self.value(node, ty);
        }
        node
    }

    /// A node whose results are those of `op`.
    fn add(&mut self, class: Class, op: OperationRef<'c, 'a>, operands: Ids, effects: bool) -> Id {
        let types = self.local_types(op);
        let node = self.push(class, Some(op), operands, &types);
        self.graph.nodes[node as usize].effects = effects;
        let results: Ids = self.graph.results_of(node).collect();
        self.forward(op, &results);
        node
    }

    fn one(&mut self, class: Class, op: OperationRef<'c, 'a>, operands: Ids, ty: Type<'c>) -> Id {
        let node = self.push(class, Some(op), operands, &[ty]);
        self.graph.nodes[node as usize].first
    }

    /// The results of `op`, which are operands of it under other names, come out of the barrier that those come out of.
    fn hold(&mut self, op: OperationRef<'c, 'a>) {
        if let Some(barrier) = self.after {
            op.results().for_each(|result| _ = self.held.insert(key(result.into()), barrier));
        }
    }

    /// The results of `op` are these values.
    fn forward(&mut self, op: OperationRef<'c, 'a>, values: &[Id]) {
        for (result, &id) in op.results().zip(values) {
            self.known.insert(key(result.into()), id);
        }
    }

    fn bind(&mut self, block: BlockRef<'c, 'a>, values: &[Id]) {
        for (index, &id) in values.iter().enumerate().take(block.argument_count()) {
            if let Ok(argument) = block.argument(index) {
                self.known.insert(key(argument.into()), id);
            }
        }
    }

    /// An op by itself, unless it is one that is there.
    fn op(&mut self, op: OperationRef<'c, 'a>, local: &str) {
        let mut class = class_of(op, local, self.storage);
        let mut operands = self.operands(op);
        if matches!(class, Class::Map(_)) {
            self.take_filters(op, &mut operands);
        }
        let constant = |&id: &Id| self.node_of(id).class == Class::Constant;
        if !operands.is_empty() && operands.iter().all(constant) && is_folded(op, class) {
            // It is computed at compile time.
            class = Class::Constant;
        } else if let Class::Map(map) = &mut class
            && local == "divide"
            && is_splat(&self.graph, self.node_of(operands[1]))
        {
            // Multiplied by the inverse.
            map.expensive = false;
        }
        let mergeable = op.region_count() == 0 && class != Class::Opaque;
        let (hash, node) = if mergeable { self.like(op, &operands) } else { (0, None) };
        if let Some(node) = node {
            let results: Ids = self.graph.results_of(node).collect();
            return self.forward(op, &results);
        }
        let effects = class == Class::Opaque && has_effects(op, local);
        let node = self.add(class, op, operands, effects);
        if mergeable {
            self.same.insert(hash, node);
        }
    }

    /// A hash of all that tells an op apart, and a node of one that is the same. What comes out of a barrier is another value
    /// than what went in, for back ends that keep barriers.
    fn like(&self, op: OperationRef<'c, 'a>, operands: &Ids) -> (usize, Option<Id>) {
        const ODD: usize = 0x517c_c1b7_2722_0a95;
        let after = self.after.filter(|_| self.storage.barriers_hold);
        let signature = signature_of(op, operands);
        let hash = signature
            .iter()
            .chain(after.map(|after| after as usize).as_ref())
            .fold(0usize, |hash, part| (hash.rotate_left(5) ^ part).wrapping_mul(ODD));
        let node = self.same.get(&hash).copied().filter(|&node| {
            let node = &self.graph.nodes[node as usize];
            let same = node.op.is_some_and(|op| signature_of(op, &node.operands) == signature);
            same && (!self.storage.barriers_hold || node.after == after)
        });
        (hash, node)
    }

    fn operand(&mut self, value: Value<'c, 'a>) -> Id {
        if let Some(&id) = self.known.get(&key(value)) {
            return id;
        }
        // Graph regions may use before they define; whatever this is, it is not ours to size.
        let node = self.push(Class::Constant, None, Ids::new(), &[value.r#type()]);
        let id = self.graph.nodes[node as usize].first;
        self.known.insert(key(value), id);
        id
    }

    fn operands(&mut self, op: OperationRef<'c, 'a>) -> Ids {
        op.operands().map(|operand| self.operand(operand)).collect()
    }

    fn add_parameters(&mut self, block: BlockRef<'c, 'a>) {
        for index in 0..block.argument_count() {
            let Ok(argument) = block.argument(index) else { continue };
            let value: Value = argument.into();
            let ty = self.local(value);
            let node = self.push(Class::Parameter, None, Ids::new(), &[ty]);
            let id = self.graph.nodes[node as usize].first;
            self.known.insert(key(value), id);
            self.graph.parameters.push(id);
        }
    }

    /// A constant that repeats one element is made where it is needed; others lie in the program.
    fn constant(&mut self, op: OperationRef<'c, 'a>) {
        let splat = attribute_of(op, "value")
            .and_then(|value| DenseElementsAttribute::try_from(value).ok())
            .is_some_and(|dense| dense.is_splat());
        let (hash, same) = self.like(op, &Ids::new());
        let first = same.and_then(|node| self.graph.nodes[node as usize].op?.results().next());
        if let Some(&known) = first.and_then(|result| self.known.get(&key(result.into()))) {
            return self.forward(op, &[known]);
        }
        let node = self.add(Class::Constant, op, Ids::new(), false);
        self.same.insert(hash, node);
        let id = self.graph.nodes[node as usize].first;
        if splat && self.graph.values[id as usize].elements > 1 {
            self.add(Class::Broadcast, op, ids![id], false);
        }
    }

    fn node_of(&self, value: Id) -> &Node<'c, 'a> {
        &self.graph.nodes[self.graph.values[value as usize].node as usize]
    }
}

const CONVERT: Map = Map { expensive: false, library: true };

fn is_transpose(op: OperationRef<'_, '_>) -> bool {
    op_name(op) == "stablehlo.transpose"
}

/// Whether a broadcast repeats a constant.
pub(super) fn is_splat(graph: &Graph<'_, '_>, node: &Node<'_, '_>) -> bool {
    node.class == Class::Broadcast
        && node.operands.first().is_some_and(|&operand| {
            graph.nodes[graph.values[operand as usize].node as usize].class == Class::Constant
        })
}

/// Marks what is needed for results and effects.
fn prune(graph: &mut Graph<'_, '_>) {
    let mut pending: Vec<Id> = graph.results.iter().map(|&id| graph.values[id as usize].node).collect();
    pending.extend((0..graph.nodes.len() as Id).filter(|&node| graph.nodes[node as usize].effects));
    while let Some(node) = pending.pop() {
        let node = &mut graph.nodes[node as usize];
        if !std::mem::replace(&mut node.live, true) {
            pending.extend(node.operands.iter().map(|&id| graph.values[id as usize].node));
        }
    }
    for &id in &graph.parameters {
        let node = graph.values[id as usize].node;
        graph.nodes[node as usize].live = true;
    }
}

/// All that tells an op without regions from others, its operands aside those values.
fn signature_of(op: OperationRef<'_, '_>, operands: &[Id]) -> SmallVec<[usize; 16]> {
    let mut signature = smallvec![op_name(op).as_ptr() as usize];
    signature.extend(operands.iter().map(|&id| id as usize));
    signature.push(usize::MAX);
    signature.extend(op.results().map(|result| result.r#type().to_raw().ptr as usize));
    signature.push(attributes_of(op).to_raw().ptr as usize);
    signature
}

fn symbol<'c>(op: OperationRef<'c, '_>) -> Option<&'c str> {
    StringAttribute::try_from(attribute_of(op, "sym_name")?).ok().map(string_value)
}

pub(super) fn body<'c: 'a, 'a>(op: OperationRef<'c, 'a>, region: usize) -> Option<BlockRef<'c, 'a>> {
    if region >= op.region_count() {
        return None;
    }
    op.region(region).ok().and_then(|region| region.first_block())
}
