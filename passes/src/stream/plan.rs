// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values can be computed a chunk at a time, and from what.
//!
//! A value is *streamed* along a dimension when that dimension falls into `n` equal runs, the units, and a chunk of
//! units of the value can be had from the same units of other values. What cannot be taken apart like that is either a
//! value that is there and is sliced, or one that each chunk needs as a whole.

use super::cuts::Cuts;
use crate::addresses::AddressMap;
use crate::ir::{self, bytes, discardable_attributes, plain};
use crate::ops::access::{Along, Source, Stop, source_of};
use crate::ops::class::Class;
use crate::ops::products::multiplications;
use crate::rewrite::{defining_op, users};
use crate::tables::{self, Keys};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value};
use slimhlo_dialect::ffi::op_name;
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
    pub kind: Class,
    /// Bytes of the value.
    pub size: i64,
    /// Elements along its dimension.
    extent: i64,
    /// Multiplications if it is a dot, see [`multiplications`].
    pub work: i64,
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
    kind: Class,
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
            let kind = Class::of(name);
            facts.push(Fact {
                value,
                tensor,
                size: tensor.map_or_else(|| bytes(value), ir::tensor_bytes),
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
    tables::hash(&[ir::key(value) as u64, dim as u64, run.cast_unsigned(), from.cast_unsigned()])
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
