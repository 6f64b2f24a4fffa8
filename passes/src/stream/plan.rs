// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values can be computed a chunk at a time, and from what.
//!
//! A value is *streamed* along a dimension when that dimension falls into `n` equal runs, the units, and a chunk of
//! units of the value can be had from the same units of other values. What cannot be taken apart like that is either a
//! value that is there and is sliced, or one that each chunk needs as a whole.

use super::cuts::Cuts;
use super::fast::{self, Keys};
use super::outside::multiplications;
use super::{is_costly, is_free, turns};
use crate::addresses::AddressMap;
use crate::ir::{self, discardable_attributes};
use crate::rewrite::{defining_op, users};
use melior::ir::attribute::DenseElementsAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, RegionLike, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashSet;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::{
    ConvDimensionNumbers, GatherDimensionNumbers, ScatterDimensionNumbers,
};
use slimhlo_dialect::types::Tensor;
use std::cell::RefCell;
use std::rc::Rc;

/// Values in one plan: past this, what is further up is taken as a value that is there. It keeps the pass linear.
const LONGEST: usize = 128;
/// The same where no dots are among them: without layers there is no better place to end at.
const LONGEST_WITHOUT_DOTS: usize = 512;
/// Ops in a row that a plan follows upwards: what is above is taken as a value that is there, too.
const DEEPEST: usize = 256;

/// Values that a search for those of a plan goes over at most: where they are in several blocks, nothing else ends it before a module's
/// beginning.
const FARTHEST: usize = 2 * LONGEST_WITHOUT_DOTS;

/// Ways that are kept for plans to come.
const MOST_WAYS: usize = 1 << 15;

/// What a chunk of a value is: unit `i` holds the elements from `from + i * run` of a dimension, `run` of them. Where that
/// is beyond the dimension's ends, a chunk holds whatever: only a pad that replaces it asks for such.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Along {
    /// The dimension.
    pub dim: usize,
    /// Elements of a unit.
    pub run: i64,
    /// Where the first unit begins.
    pub from: i64,
}

impl Along {
    /// The same units of another dimension.
    fn of(self, dim: usize) -> Self {
        Self { dim, ..self }
    }
}

/// Where a chunk of a value comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The value is there: a chunk is a slice of it.
    Slice,
    /// A constant that repeats one element.
    Splat,
    /// An iota that counts along the streamed dimension.
    Iota,
    /// The value's own op on chunks: for each operand how it is streamed, or none if it is used whole.
    Op(Rc<[Option<Along>]>),
    /// The same for a pad along the streamed dimension: what is not from its operand is the padding.
    Pad(Rc<[Option<Along>]>),
}

impl Source {
    /// How the operands are streamed.
    pub fn operands(&self) -> &[Option<Along>] {
        match self {
            Self::Op(operands) | Self::Pad(operands) => operands,
            _ => &[],
        }
    }

    /// Whether it is the value's own op that computes a chunk.
    pub fn is_op(&self) -> bool {
        matches!(self, Self::Op(_) | Self::Pad(_))
    }
}

/// A value that is had chunk by chunk.
pub struct Chunk<'c, 'a> {
    /// The value.
    pub value: Value<'c, 'a>,
    /// How it is streamed.
    pub along: Along,
    /// Where its chunks come from.
    pub source: Source,
    /// The op that defines the value.
    pub op: Option<OperationRef<'c, 'a>>,
    /// Its name.
    pub name: &'c str,
    /// What its name says.
    pub kind: Kind,
    /// Bytes of the value.
    pub size: i64,
    /// Elements along its dimension.
    extent: i64,
    /// Multiplications if it is a dot, see [`multiplications`].
    pub work: i64,
}

/// What is asked again and again of an op by its name.
#[derive(Clone, Copy, Default)]
pub struct Kind {
    /// Whether back ends fuse it, see [`ir::is_fusible`].
    pub fusible: bool,
    /// Whether it costs nothing to do again.
    pub free: bool,
    /// Whether it is too costly to do twice.
    pub costly: bool,
    /// Whether it is a dot.
    pub dot: bool,
}

impl Kind {
    fn of(name: &str) -> Self {
        Self {
            fusible: ir::is_fusible(name),
            free: is_free(name),
            costly: is_costly(name),
            dot: name == "stablehlo.dot_general",
        }
    }
}

/// Why there is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// With this many units there may be one.
    Retry(i64),
    /// There is none.
    No,
}

/// What was found out about values, for one plan after another. What is erased has to be forgotten, and told what is replaced.
#[derive(Default)]
pub struct Facts<'c, 'a>(RefCell<Graph<'c, 'a>>);

/// Values and the ways to stream them, with what each is computed from: plans are walks over it.
#[derive(Default)]
struct Graph<'c, 'a> {
    by_value: AddressMap<u32>,
    facts: Vec<Fact<'c, 'a>>,
    ways: Vec<Way<'c, 'a>>,
    /// The plan whose chunks know their places, and the number of the last one that did.
    current: u32,
    /// The number of the last search.
    searches: u32,
    /// What a partitioner may cut.
    cuts: Rc<Cuts<'c>>,
    // What walks need, kept for the next.
    frames: Vec<Frame>,
    places: Vec<u32>,
}

struct Fact<'c, 'a> {
    value: Value<'c, 'a>,
    tensor: Option<Tensor<'c>>,
    size: i64,
    op: Option<OperationRef<'c, 'a>>,
    name: &'c str,
    kind: Kind,
    work: i64,
    annotated: bool,
    /// Whether its op would have devices talk to each other in each turn of a loop.
    foreign: bool,
    /// The last plan that needs it whole.
    whole_in: u32,
    /// The ways it was asked for.
    ways: Vec<(Along, i64, u32)>,
}

/// A value in units of a size.
struct Way<'c, 'a> {
    fact: u32,
    along: Along,
    units: i64,
    hash: u64,
    /// Where its chunks come from, unless they are sliced, once that was asked.
    source: Option<Result<Rc<Chunk<'c, 'a>>, Stop>>,
    /// Chunks that are sliced, once there were some.
    sliced: Option<Rc<Chunk<'c, 'a>>>,
    /// Whether a plan asked for that.
    planned: bool,
    /// Whether chunks of it were found to be no larger than what they are computed from, see [`Plan::condense`].
    condensed: bool,
    /// What it is computed from, once that was asked.
    from: Option<Rc<[Input]>>,
    /// The last plan that it is in, and where.
    plan: u32,
    place: u32,
    /// The last search that it was looked for in, and the last that found it to be computed from nothing that was.
    sought: u32,
    passed: u32,
}

/// Chunks that are looked for among what others are computed from.
#[derive(Clone, Copy)]
pub struct Sought<'c, 'a> {
    number: u32,
    units: i64,
    /// The first of their ops in a block: what is before it is computed from none of them. None if they are in several blocks.
    first: Option<OperationRef<'c, 'a>>,
}

/// An operand.
#[derive(Clone, Copy)]
enum Input {
    /// A way of another value.
    Way(u32),
    /// All of a value.
    Whole(u32),
}

impl<'c: 'a, 'a> Facts<'c, 'a> {
    /// Forgets a value that goes.
    pub fn forget(&self, value: Value<'c, 'a>) {
        self.0.borrow_mut().by_value.remove(&ir::key(value));
    }

    /// Forgets all.
    pub fn clear(&self) {
        let graph = &mut *self.0.borrow_mut();
        graph.by_value.clear();
        graph.facts.clear();
        graph.ways.clear();
        // No plan's chunks know their places any more.
        graph.current += 1;
    }

    /// Forgets all if that is much more than a few plans: of a large program most of it is about what is never asked for again, and
    /// what is looked up all the time is to stay in a processor's caches.
    pub fn trim(&self) {
        if self.0.borrow().ways.len() > MOST_WAYS {
            self.clear();
        }
    }

    /// Notes what a partitioner may cut.
    pub fn set_cuts(&self, cuts: &Rc<Cuts<'c>>) {
        self.0.borrow_mut().cuts = Rc::clone(cuts);
    }

    /// Forgets what the users of a value are computed from: they are about to get another one for it.
    pub fn replaced(&self, value: Value<'c, 'a>) {
        let Graph { by_value, facts, ways, .. } = &mut *self.0.borrow_mut();
        for user in users(value) {
            for fact in user.results().filter_map(|result| by_value.get(&ir::key(result.into()))) {
                facts[*fact as usize].ways.iter().for_each(|(.., way)| ways[*way as usize].from = None);
            }
        }
    }

    /// Gets ready to look for some chunks of a plan.
    pub fn seek(&self, plan: &Plan<'c, 'a>, chunks: impl Iterator<Item = usize>) -> Sought<'c, 'a> {
        let graph = &mut *self.0.borrow_mut();
        graph.searches += 1;
        let mut sought = Sought { number: graph.searches, units: plan.units, first: None };
        let mut apart = false;
        for chunk in chunks.map(|at| &plan.chunks[at]) {
            let way = graph.way(chunk.value, chunk.along, plan.units);
            graph.ways[way as usize].sought = sought.number;
            let Some(op) = chunk.op else { continue };
            match sought.first {
                Some(first) if first.block() != op.block() => apart = true,
                Some(first) if first == op || ir::is_before(first, op) => {}
                _ => sought.first = Some(op),
            }
        }
        sought.first = sought.first.filter(|_| !apart);
        sought
    }

    /// Whether chunks of a value may be computed from one of those that are looked for. They are if a plan of theirs reaches so far.
    pub fn leads_to(&self, value: Value<'c, 'a>, along: Along, sought: &Sought<'c, 'a>) -> bool {
        let graph = &mut *self.0.borrow_mut();
        let way = graph.way(value, along, sought.units);
        graph.leads_to(way, sought)
    }

    /// Forgets what one round of plans told the next of its own.
    pub fn next_round(&self) {
        self.0.borrow_mut().ways.iter_mut().for_each(|way| way.condensed = false);
    }
}

impl<'c: 'a, 'a> Graph<'c, 'a> {
    fn fact(&mut self, value: Value<'c, 'a>) -> u32 {
        let Self { by_value, facts, cuts, .. } = self;
        *by_value.entry(ir::key(value)).or_insert_with(|| {
            let op = defining_op(value);
            let tensor = plain(value);
            let name = op.map_or("", |op| op_name(op));
            let kind = Kind::of(name);
            facts.push(Fact {
                value,
                tensor,
                size: tensor.map_or_else(|| bytes(value), tensor_bytes),
                op,
                name,
                kind,
                work: op.filter(|_| kind.dot).map_or(0, multiplications),
                annotated: op.is_some_and(|op| !discardable_attributes(op).is_empty()),
                foreign: op.is_some_and(|op| cuts.is_foreign(op)),
                whole_in: 0,
                ways: Vec::new(),
            });
            facts.len() as u32 - 1
        })
    }

    fn way(&mut self, value: Value<'c, 'a>, along: Along, units: i64) -> u32 {
        let number = self.fact(value);
        let fact = &mut self.facts[number as usize];
        let known = fact.ways.iter().find(|(known, of, _)| *known == along && *of == units);
        if let Some(&(.., way)) = known {
            return way;
        }
        let way = self.ways.len() as u32;
        fact.ways.push((along, units, way));
        self.ways.push(Way {
            fact: number,
            along,
            units,
            hash: hash(value, along),
            source: None,
            sliced: None,
            planned: false,
            condensed: false,
            from: None,
            plan: 0,
            place: 0,
            sought: 0,
            passed: 0,
        });
        way
    }

    fn chunk(&self, way: u32, source: Source) -> Rc<Chunk<'c, 'a>> {
        let way = &self.ways[way as usize];
        let &Fact { value, tensor, op, name, kind, size, work, .. } = &self.facts[way.fact as usize];
        let extent = tensor.map_or(0, |tensor| tensor.shape[way.along.dim]);
        Rc::new(Chunk { value, along: way.along, source, op, name, kind, size, extent, work })
    }

    /// Chunks of a way that are sliced.
    fn sliced(&mut self, way: u32) -> Rc<Chunk<'c, 'a>> {
        if let Some(chunk) = &self.ways[way as usize].sliced {
            return Rc::clone(chunk);
        }
        let chunk = self.chunk(way, Source::Slice);
        self.ways[way as usize].sliced = Some(Rc::clone(&chunk));
        chunk
    }

    /// Chunks of a way of an op's result that is not sliced for the plan's sake.
    fn made(
        &mut self,
        way: u32,
        op: OperationRef<'c, 'a>,
        tensor: &Tensor<'c>,
    ) -> Result<Rc<Chunk<'c, 'a>>, Stop> {
        if let Some(source) = &self.ways[way as usize].source {
            return source.clone();
        }
        let of = &self.ways[way as usize];
        let value = self.facts[of.fact as usize].value;
        let result = op.results().position(|result| Value::from(result) == value).ok_or(Stop::No)?;
        let made = source_of(op, result, tensor, of.along, of.units).map(|source| self.chunk(way, source));
        self.ways[way as usize].source = Some(made.clone());
        made
    }

    /// What the chunks of a way are computed from.
    fn from(&mut self, way: u32, op: OperationRef<'c, 'a>, source: &Source) -> Rc<[Input]> {
        let Way { units, from: known, .. } = &self.ways[way as usize];
        if let Some(known) = known {
            return Rc::clone(known);
        }
        let units = *units;
        let from: Rc<[Input]> = op
            .operands()
            .zip(source.operands())
            .map(|(operand, along)| match along {
                Some(along) => Input::Way(self.way(operand, *along, units)),
                None => Input::Whole(self.fact(operand)),
            })
            .collect();
        self.ways[way as usize].from = Some(Rc::clone(&from));
        from
    }

    fn leads_to(&mut self, way: u32, sought: &Sought<'c, 'a>) -> bool {
        let mut pending = vec![way];
        let mut passed = Vec::new();
        while let Some(number) = pending.pop() {
            let way = &mut self.ways[number as usize];
            // Plans do not reach so far: it is for them to tell.
            if way.sought == sought.number || passed.len() == FARTHEST {
                // What was passed on the way here leads to it, or was not gone through.
                passed.into_iter().for_each(|number: u32| self.ways[number as usize].passed = 0);
                return true;
            }
            if std::mem::replace(&mut way.passed, sought.number) == sought.number {
                continue;
            }
            passed.push(number);
            let Fact { op, tensor, .. } = &self.facts[way.fact as usize];
            let (Some(op), Some(tensor)) = (*op, *tensor) else { continue };
            let is_earlier =
                |first: OperationRef<'c, 'a>| first.block() == op.block() && ir::is_before(op, first);
            if sought.first.is_some_and(is_earlier) {
                continue;
            }
            let Ok(chunk) = self.made(number, op, &tensor) else { continue };
            if chunk.source.is_op() {
                let from = self.from(number, op, &chunk.source);
                pending.extend(from.iter().filter_map(|input| match input {
                    Input::Way(way) => Some(*way),
                    Input::Whole(_) => None,
                }));
            }
        }
        false
    }

    /// Notes which chunks and values a plan has, unless that is known.
    fn enter(&mut self, plan: &Plan<'c, 'a>) -> u32 {
        if plan.ticket.0 != 0 && plan.ticket.0 == self.current {
            return self.current;
        }
        self.current += 1;
        let current = self.current;
        for (place, chunk) in plan.chunks.iter().enumerate() {
            let way = self.way(chunk.value, chunk.along, plan.units);
            let way = &mut self.ways[way as usize];
            (way.plan, way.place) = (current, place as u32);
        }
        for &whole in &plan.wholes {
            let fact = self.fact(whole);
            self.facts[fact as usize].whole_in = current;
        }
        current
    }
}

fn hash(value: Value<'_, '_>, along: Along) -> u64 {
    let Along { dim, run, from } = along;
    fast::hash(&[ir::key(value) as u64, dim as u64, run.cast_unsigned(), from.cast_unsigned()])
}

/// A value whose operands are being planned.
struct Frame {
    way: u32,
    /// The operand that is next.
    next: u32,
    /// Where the places of its operands begin.
    places: u32,
    from: Rc<[Input]>,
}

/// How chunks of some values are computed.
#[derive(Clone, Default)]
pub struct Plan<'c, 'a> {
    /// Units along the streamed dimension.
    pub units: i64,
    /// All chunks, what they are computed from first.
    pub chunks: Vec<Rc<Chunk<'c, 'a>>>,
    /// For each chunk what its value and how it is streamed hash to.
    hashes: Vec<u64>,
    /// Whether there was more to plan than a plan holds.
    pub cut_short: bool,
    /// Whether there are dots in it that contract more than next to nothing.
    has_dots: bool,
    /// Values that each chunk needs whole.
    pub wholes: Vec<Value<'c, 'a>>,
    /// For each chunk where in `operands` the places end of those that it is computed from.
    ends: Vec<u32>,
    operands: Vec<u32>,
    facts: Rc<Facts<'c, 'a>>,
    ticket: Ticket,
    /// Ops whose results are computed in chunks even where they were found condensed.
    kept: Vec<usize>,
    /// Values that are sliced because they were found condensed in an earlier plan.
    pub condensed: Vec<Value<'c, 'a>>,
}

/// What tells a plan from others while it is made: a copy is another one.
#[derive(Default)]
struct Ticket(u32);

impl Clone for Ticket {
    fn clone(&self) -> Self {
        Self(0)
    }
}

/// The tensor a value is, if chunks of it can be spoken of: static, no encoding, plain numbers.
pub fn plain<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    let tensor = Tensor::new(value.r#type())?;
    (tensor.is_static() && tensor.encoding().is_none() && element_bytes(tensor.element).is_some())
        .then_some(tensor)
}

/// Bytes of one element; `None` for what is no plain number.
pub fn element_bytes(element: Type<'_>) -> Option<i64> {
    // Asked first, because a conversion that fails prints the type into its error.
    if element.is_integer()
        && let Ok(integer) = IntegerType::try_from(element)
    {
        return Some(i64::from(integer.width().div_ceil(8)));
    }
    if !element.is_float() {
        return None;
    }
    // It has neither a zero nor a sign.
    if element.is_float8e8m0fnu() {
        return None;
    }
    match element.float_width() {
        width @ (8 | 16 | 32 | 64) => Some(i64::from(width / 8)),
        _ => None,
    }
}

/// Bytes of a value, as far as they can be counted.
pub fn bytes(value: Value<'_, '_>) -> i64 {
    type_bytes(value.r#type())
}

/// Bytes of a tensor of this type, as far as they can be counted.
pub fn type_bytes(ty: Type<'_>) -> i64 {
    Tensor::new(ty).map_or(UNKNOWN, tensor_bytes)
}

/// What stands for bytes that cannot be counted.
const UNKNOWN: i64 = i64::MAX / 4;

fn tensor_bytes(tensor: Tensor<'_>) -> i64 {
    let bytes = || tensor.element_count()?.checked_mul(element_bytes(tensor.element)?);
    bytes().unwrap_or(UNKNOWN)
}

impl<'c: 'a, 'a> Plan<'c, 'a> {
    /// No chunks yet.
    pub fn new(units: i64) -> Self {
        Self { units, ..Self::default() }
    }

    /// The place of a value's chunks in the plan.
    pub fn position(&self, value: Value<'c, 'a>, along: Along) -> Option<usize> {
        let hash = hash(value, along);
        let is = |at: &usize| self.chunks[*at].along == along && self.chunks[*at].value == value;
        self.hashes.iter().enumerate().filter(|(_, known)| **known == hash).map(|(at, _)| at).find(is)
    }

    /// All of a dimension, in as many units as the plan has.
    pub fn all_of(&self, value: Value<'c, 'a>, dim: usize) -> Result<Along, Stop> {
        let mut graph = self.facts.0.borrow_mut();
        let fact = graph.fact(value);
        let tensor = graph.facts[fact as usize].tensor.ok_or(Stop::No)?;
        let size = tensor.shape[dim];
        if self.units == 0 || size % self.units != 0 {
            return Err(Stop::No);
        }
        Ok(Along { dim, run: size / self.units, from: 0 })
    }

    /// The place of a value all of which is streamed along a dimension.
    pub fn position_of_all(&self, value: Value<'c, 'a>, dim: usize) -> Option<usize> {
        self.position(value, self.all_of(value, dim).ok()?)
    }

    /// No chunks yet, and what is known of values.
    pub fn with(units: i64, facts: &Rc<Facts<'c, 'a>>) -> Self {
        Self {
            units,
            facts: Rc::clone(facts),
            chunks: Vec::with_capacity(LONGEST / 2),
            hashes: Vec::with_capacity(LONGEST / 2),
            ends: Vec::with_capacity(LONGEST / 2),
            operands: Vec::with_capacity(LONGEST),
            ..Self::default()
        }
    }

    /// Computes the result of an op in chunks wherever it is met from now on, even if it is condensed.
    pub fn keep(&mut self, op: OperationRef<'c, 'a>) {
        self.kept.push(ir::op_key(op));
    }

    /// Notes for later plans that chunks of a value are no larger than what they are computed from: it is sliced there.
    pub fn condense(&self, value: Value<'c, 'a>) {
        let mut graph = self.facts.0.borrow_mut();
        for chunk in self.chunks.iter().filter(|chunk| chunk.value == value) {
            let way = graph.way(value, chunk.along, self.units);
            let way = &mut graph.ways[way as usize];
            way.condensed |= way.planned;
        }
    }

    /// The places of the chunks that the one at `at` is computed from, once per operand.
    pub fn operands(&self, at: usize) -> impl Iterator<Item = usize> {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.operands[from as usize..self.ends[at] as usize].iter().map(|&at| at as usize)
    }

    /// The same with the number that each has among the operands of its op.
    pub fn numbered_operands(&self, at: usize) -> impl Iterator<Item = (usize, usize)> {
        let streamed =
            self.chunks[at].source.operands().iter().enumerate().filter(|(_, along)| along.is_some());
        streamed.map(|(index, _)| index).zip(self.operands(at))
    }

    /// Plans chunks of `value`. Values in `there` are sliced, not computed again.
    pub fn add(&mut self, value: Value<'c, 'a>, along: Along, there: &Keys) -> Result<(), Stop> {
        let facts = Rc::clone(&self.facts);
        let mut graph = facts.0.borrow_mut();
        let graph = &mut *graph;
        self.ticket.0 = graph.enter(self);
        // As deep as programs are, the stack is not.
        let mut frames = std::mem::take(&mut graph.frames);
        let mut places = std::mem::take(&mut graph.places);
        let way = graph.way(value, along, self.units);
        let added = self.walk(graph, way, there, &mut frames, &mut places);
        frames.clear();
        places.clear();
        (graph.frames, graph.places) = (frames, places);
        added
    }

    fn walk(
        &mut self,
        graph: &mut Graph<'c, 'a>,
        way: u32,
        there: &Keys,
        frames: &mut Vec<Frame>,
        places: &mut Vec<u32>,
    ) -> Result<(), Stop> {
        self.enter(graph, way, there, frames, places)?;
        while let Some(frame) = frames.last_mut() {
            if let Some(&from) = frame.from.get(frame.next as usize) {
                frame.next += 1;
                match from {
                    Input::Way(way) => self.enter(graph, way, there, frames, places)?,
                    Input::Whole(whole) => {
                        let fact = &mut graph.facts[whole as usize];
                        fact.tensor.ok_or(Stop::No)?;
                        if std::mem::replace(&mut fact.whole_in, self.ticket.0) != self.ticket.0 {
                            self.wholes.push(fact.value);
                        }
                    }
                }
            } else if let Some(frame) = frames.pop() {
                let way = &graph.ways[frame.way as usize];
                let made = way.source.as_ref().and_then(|made| made.as_ref().ok()).map(Rc::clone);
                self.operands.extend(places.drain(frame.places as usize..));
                self.push(graph, frame.way, made.ok_or(Stop::No)?, places);
            }
        }
        Ok(())
    }

    fn enter(
        &mut self,
        graph: &mut Graph<'c, 'a>,
        number: u32,
        there: &Keys,
        frames: &mut Vec<Frame>,
        places: &mut Vec<u32>,
    ) -> Result<(), Stop> {
        let way = &graph.ways[number as usize];
        if way.plan == self.ticket.0 {
            places.push(way.place);
            return Ok(());
        }
        let fact = &graph.facts[way.fact as usize];
        let tensor = fact.tensor.ok_or(Stop::No)?;
        let (value, annotated) = (fact.value, fact.annotated);
        let longest = if self.has_dots { LONGEST } else { LONGEST_WITHOUT_DOTS };
        let far = self.chunks.len() >= longest || frames.len() >= DEEPEST;
        self.cut_short |= far && fact.op.is_some();
        let op = fact
            .op
            .filter(|_| !far && !fact.foreign && (there.is_empty() || !there.contains(&ir::key(value))));
        let Some(op) = op else {
            let sliced = graph.sliced(number);
            self.push(graph, number, sliced, places);
            return Ok(());
        };
        if way.condensed && !self.kept.contains(&ir::op_key(op)) {
            self.condensed.push(value);
            let sliced = graph.sliced(number);
            self.push(graph, number, sliced, places);
            return Ok(());
        }
        graph.ways[number as usize].planned = true;
        let chunk = graph.made(number, op, &tensor)?;
        if !chunk.source.is_op() {
            self.push(graph, number, chunk, places);
            return Ok(());
        }
        if annotated {
            return Err(Stop::No);
        }
        self.has_dots |= chunk.work > 0;
        let from = graph.from(number, op, &chunk.source);
        frames.push(Frame { way: number, next: 0, places: places.len() as u32, from });
        Ok(())
    }

    fn push(&mut self, graph: &mut Graph<'c, 'a>, way: u32, chunk: Rc<Chunk<'c, 'a>>, places: &mut Vec<u32>) {
        let way = &mut graph.ways[way as usize];
        (way.plan, way.place) = (self.ticket.0, self.chunks.len() as u32);
        places.push(way.place);
        self.hashes.push(way.hash);
        self.ends.push(self.operands.len() as u32);
        self.chunks.push(chunk);
    }

    /// How many elements before a value's first and after its last chunks of it reach.
    pub fn beyond(&self, chunk: &Chunk<'c, 'a>) -> (i64, i64) {
        let Along { run, from, .. } = chunk.along;
        ((-from).max(0), (from + run * self.units - chunk.extent).max(0))
    }

    /// Notes a value that each chunk needs whole.
    pub fn add_whole(&mut self, value: Value<'c, 'a>) -> Result<(), Stop> {
        let mut graph = self.facts.0.borrow_mut();
        let fact = graph.fact(value);
        graph.facts[fact as usize].tensor.ok_or(Stop::No)?;
        if graph.current == self.ticket.0 {
            graph.facts[fact as usize].whole_in = self.ticket.0;
        }
        if !self.wholes.contains(&value) {
            self.wholes.push(value);
        }
        Ok(())
    }

    /// The type of `chunk` units of a value.
    pub fn chunk_type(&self, ty: Type<'c>, along: Along, chunk: i64) -> Type<'c> {
        let tensor = Tensor::new(ty).expect("planned values are tensors");
        let mut shape = tensor.shape.to_vec();
        shape[along.dim] = along.run * chunk;
        Tensor::get(&shape, tensor.element, None)
    }
}

/// Whether an op works on each element by itself.
pub fn is_elementwise(name: &str) -> bool {
    const NOT: &[&str] = &[
        "bitcast_convert",
        "broadcast",
        "broadcast_in_dim",
        "constant",
        "dynamic_slice",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
    ];
    ir::is_fusible(name) && name.strip_prefix("stablehlo.").is_none_or(|name| !NOT.contains(&name))
}

/// Whether an op of one operand has a result of the same shape.
pub fn keeps_shape(op: OperationRef<'_, '_>) -> bool {
    let Some(operand) = op.operands().next() else { return false };
    let shape = ffi::shape(operand.r#type());
    op.results().all(|result| ffi::shape(Value::from(result).r#type()) == shape)
}

/// Whether what `op`'s regions compute follows from their arguments alone.
pub fn is_closed(op: OperationRef<'_, '_>) -> bool {
    (0..op.region_count()).all(|index| {
        let Some(block) = op.region(index).ok().and_then(|region| region.first_block()) else { return false };
        let mut known: FxHashSet<usize> = (0..block.argument_count())
            .filter_map(|i| block.argument(i).ok())
            .map(|a| ir::key(a.into()))
            .collect();
        let mut nested = block.first_operation();
        while let Some(op) = nested {
            if op.region_count() > 0 || !op.operands().all(|operand| known.contains(&ir::key(operand))) {
                return false;
            }
            known.extend(op.results().map(|result| ir::key(result.into())));
            nested = op.next_in_block();
        }
        block.next_in_region().is_none()
    })
}

/// How chunks of an op's result are computed: the result's number, and its tensor.
pub(crate) fn source_of<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    number: usize,
    result: &Tensor<'c>,
    along: Along,
    units: i64,
) -> Result<Source, Stop> {
    let dim = along.dim;
    let tensor = |index: usize| op.operands().nth(index).and_then(plain);
    let numbers = |name: &str| ir::i64_array(op, name);
    let at = |index: i64| Some(along.of(index as usize));
    let same = || Some(along);
    let streamed: Option<Vec<Option<Along>>> = match op_name(op) {
        "stablehlo.constant" => {
            let value = op.result(0).map_err(|_| Stop::No)?.into();
            return Ok(if ir::splat_constant(value).is_some() { Source::Splat } else { Source::Slice });
        }
        "stablehlo.iota" => {
            return Ok(match iota_dimension(op) {
                Some(counts) if counts == dim => Source::Iota,
                Some(_) => Source::Op(Rc::new([])),
                None => Source::Slice,
            });
        }
        "stablehlo.broadcast_in_dim" => (|| {
            let operand = tensor(0)?;
            let dims = numbers("broadcast_dimensions")?;
            let from = dims.iter().position(|&to| to == dim as i64);
            let from = from.filter(|&from| operand.shape[from] != 1 || result.shape[dim] == 1);
            Some(vec![from.map(|from| along.of(from))])
        })(),
        "stablehlo.slice" => (|| {
            let start = numbers("start_indices")?[dim];
            (numbers("strides")?[dim] == 1).then(|| vec![Some(Along { from: along.from + start, ..along })])
        })(),
        "stablehlo.pad" => {
            let number = |name: &str| numbers(name).map(|numbers| numbers[dim]);
            match (number("edge_padding_low"), number("edge_padding_high"), number("interior_padding")) {
                (Some(0), Some(0), Some(0)) => Some(vec![same(), None]),
                (Some(low), Some(_), Some(0)) => {
                    let operands = [Some(Along { from: along.from - low, ..along }), None];
                    return Ok(Source::Pad(operands.into()));
                }
                _ => None,
            }
        }
        "stablehlo.reverse" => {
            numbers("dimensions").filter(|dims| !dims.contains(&(dim as i64))).map(|_| vec![same()])
        }
        // An update that fills the dimension: where it starts along it follows.
        "stablehlo.dynamic_update_slice" => tensor(1)
            .filter(|update| update.shape[dim] == result.shape[dim])
            .map(|_| [same(), same()].into_iter().chain((0..result.rank()).map(|_| None)).collect()),
        "stablehlo.bitcast_convert" => keeps_shape(op).then(|| vec![same()]),
        "stablehlo.while" => turns::of(op, number, along, units).map(|turns| turns.carried),
        "stablehlo.transpose" => numbers("permutation").map(|permutation| vec![at(permutation[dim])]),
        "stablehlo.concatenate" => ir::constant_attribute(op, "dimension")
            .filter(|&joined| joined != dim as i64)
            .map(|_| vec![same(); op.operand_count()]),
        "stablehlo.sort" if is_closed(op) => ir::constant_attribute(op, "dimension")
            .filter(|&sorted| sorted != dim as i64)
            .map(|_| vec![same(); op.operand_count()]),
        "chlo.top_k" => (dim + 1 < result.rank()).then(|| vec![same()]),
        "stablehlo.reshape" => {
            let Some(operand) = tensor(0) else { return Ok(Source::Slice) };
            reshaped(operand.shape, result.shape, along, units)?.map(|from| vec![Some(from)])
        }
        "stablehlo.gather" => (|| {
            let numbers =
                GatherDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
            let offset = |dim: usize| numbers.offset_dims().contains(&(dim as i64));
            if offset(dim) {
                return None;
            }
            let batch = (0..dim).filter(|&dim| !offset(dim)).count();
            let from = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
            let paired = numbers.start_indices_batching_dims().iter().position(|&to| to == from as i64);
            let operand = paired.and_then(|pair| at(numbers.operand_batching_dims()[pair]));
            Some(vec![operand, Some(along.of(from))])
        })(),
        "stablehlo.scatter" if op.operand_count() % 2 == 1 && is_closed(op) => (|| {
            let count = op.operand_count() / 2;
            let numbers =
                ScatterDimensionNumbers::try_from(ffi::attribute_of(op, "scatter_dimension_numbers")?)
                    .ok()?;
            let pair = numbers.input_batching_dims().iter().position(|&to| to == dim as i64)?;
            let indices = numbers.scatter_indices_batching_dims()[pair];
            let batch = indices - i64::from(indices > numbers.index_vector_dim());
            let updates = (0..tensor(count + 1)?.rank())
                .filter(|&dim| !numbers.update_window_dims().contains(&(dim as i64)))
                .nth(usize::try_from(batch).ok()?)?;
            let mut streamed = vec![same(); count];
            streamed.push(at(indices));
            streamed.extend(vec![Some(along.of(updates)); count]);
            Some(streamed)
        })(),
        "stablehlo.reduce" if is_closed(op) => (|| {
            let reduced = numbers("dimensions")?;
            let from = (0..tensor(0)?.rank()).filter(|&dim| !reduced.contains(&(dim as i64))).nth(dim)?;
            let count = op.operand_count() / 2;
            let mut streamed = vec![Some(along.of(from)); count];
            streamed.extend(vec![None; count]);
            Some(streamed)
        })(),
        "stablehlo.reduce_window" if is_closed(op) => {
            let count = op.operand_count() / 2;
            is_apart_in_windows(op, result.rank(), dim).then(|| {
                let mut streamed = vec![same(); count];
                streamed.extend(vec![None; count]);
                streamed
            })
        }
        "stablehlo.convolution" => (|| {
            let numbers = ConvDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
            let groups = ir::constant_attribute(op, "batch_group_count")?;
            (groups == 1 && numbers.output_batch_dimension() == dim as i64)
                .then(|| vec![at(numbers.input_batch_dimension()), None])
        })(),
        "stablehlo.dot_general" => (|| {
            let numbers = ir::dot_numbers(op)?;
            let (left, right) = (tensor(0)?, tensor(1)?);
            let batch = numbers.lhs_batching_dimensions();
            if let Some(&from) = batch.get(dim) {
                return Some(vec![at(from), at(numbers.rhs_batching_dimensions()[dim])]);
            }
            let free = |rank: usize, batch: &[i64], contracted: &[i64]| -> Vec<usize> {
                (0..rank)
                    .filter(|&dim| !batch.contains(&(dim as i64)) && !contracted.contains(&(dim as i64)))
                    .collect()
            };
            let left = free(left.rank(), batch, numbers.lhs_contracting_dimensions());
            let right =
                free(right.rank(), numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions());
            let dim = dim - batch.len();
            if dim < left.len() {
                Some(vec![Some(along.of(left[dim])), None])
            } else {
                Some(vec![None, Some(along.of(*right.get(dim - left.len())?))])
            }
        })(),
        name if is_elementwise(name) => op
            .operands()
            .map(|operand| {
                let operand = plain(operand)?;
                if operand.shape == result.shape {
                    Some(same())
                } else {
                    (operand.rank() == 0).then_some(None)
                }
            })
            .collect(),
        _ => None,
    };
    Ok(streamed.map_or(Source::Slice, |operands| Source::Op(operands.into())))
}

/// Whether windows that slide over an array reach from one element of a dimension to no other.
pub(crate) fn is_apart_in_windows(op: OperationRef<'_, '_>, rank: usize, dim: usize) -> bool {
    let is = |name: &str, wanted: i64| {
        ffi::attribute_of(op, name)
            .is_none_or(|attribute| ffi::dense_i64_array(attribute).is_some_and(|of| of[dim] == wanted))
    };
    let unpadded = || {
        let Some(padding) = ffi::attribute_of(op, "padding") else { return true };
        let Ok(padding) = DenseElementsAttribute::try_from(padding) else { return false };
        padding.len() == 2 * rank
            && [2 * dim, 2 * dim + 1]
                .iter()
                .all(|&index| padding.i64_element(index).is_ok_and(|pad| pad == 0))
    };
    is("window_dimensions", 1)
        && is("window_strides", 1)
        && is("base_dilations", 1)
        && is("window_dilations", 1)
        && unpadded()
}

/// The dimension an iota counts along.
pub fn iota_dimension(op: OperationRef<'_, '_>) -> Option<usize> {
    ir::constant_attribute(op, "iota_dimension").and_then(|dim| usize::try_from(dim).ok())
}

/// How an operand is streamed whose reshape is, if that keeps units apart.
fn reshaped(from: &[i64], to: &[i64], along: Along, units: i64) -> Result<Option<Along>, Stop> {
    let dim = along.dim;
    let before: i64 = to[..dim].iter().product();
    let mut product = 1;
    for (index, &size) in from.iter().enumerate() {
        if product == before && (size > 1 || to[dim] == 1) {
            if size == to[dim] {
                return Ok(Some(along.of(index)));
            }
            if along.from != 0 || along.run * units != to[dim] {
                return Ok(None);
            }
            return match size % units {
                0 => Ok(Some(Along { dim: index, run: size / units, from: 0 })),
                // Fewer, larger units: all of the source's dimension, which the result's has merged with the next.
                _ if units % size == 0 && to[dim] % size == 0 => Err(Stop::Retry(size)),
                _ => Ok(None),
            };
        }
        product *= size;
    }
    Ok(None)
}
