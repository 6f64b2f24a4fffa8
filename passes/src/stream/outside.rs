// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What happens to planned values outside of the plan: who else uses them, what is there anyway, and what is worth computing
//! again.
//!
//! A value that something outside needs is there, and is sliced, unless it can go for good: it is *fleeting* if all that
//! uses it outside ends, through ops that can be done in chunks, in reductions, scatters and dots with small results, which
//! will be streamed in their turn. A fleeting value is computed again if it is much larger than what it is computed from, or
//! computed from nothing but what such values need anyway, or, besides arguments, from sums no larger than itself; dots only as long as those computed again take no more
//! multiplications than those that are computed once: scores and logits in a forward pass and again in its gradient, say.

mod fleeting;

use super::consumer::{Consumer, Role, SMALL};
use super::held::Held;
use super::plan::Plan;
use crate::ir::{self, bytes, is_narrow};
use crate::ops::access::Source;
use crate::ops::class;
use crate::ops::class::is_arithmetic;
use crate::ops::loops;
use crate::ops::products::multiplications;
use crate::rewrite::{defining_op, users};
use crate::simplify::site::is_kept_argument;
use crate::tables::{Bits, Keys, Table};
use crate::target::Storage;
use crate::ties::{self, Ties};
use fleeting::{Fleeting, is_computed_on_the_way};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

/// How many values are looked at to see whether one is fleeting.
const LONGEST: usize = 256;
/// How many times larger than its sources a value has to be to be computed again.
pub const EXPANDS: i64 = 2;
/// How much smaller than what it is computed from a value has to be to be handed out.
const EXPORTED: i64 = 8;
/// Elements up to which a reduction is done on the fly.
const FEW: i64 = 8;

/// Ops on each element that all turns of a loop take for it to be done again: random bits take some 200.
const LIGHT_TURNS: i64 = 512;

/// Who uses planned values besides the plan.
pub struct Outside<'c, 'a> {
    /// Those of all chunks of the plan, and where each chunk's end.
    users: Vec<OperationRef<'c, 'a>>,
    ends: Vec<u32>,
    /// For each chunk, whether something outside is computed from it: what is done again inside goes on being done outside.
    pub needed: Vec<bool>,
    /// Ops that the loop takes in.
    inside: Keys,
}

impl<'c: 'a, 'a> Outside<'c, 'a> {
    pub fn of(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> Self {
        let mut inside = Keys::with_capacity_and_hasher(group.len() + plan.chunks.len(), Default::default());
        inside.extend(group.iter().map(|(_, consumer)| ir::op_key(consumer.op)));
        inside.extend(group.iter().flat_map(|(_, consumer)| consumer.scatters().map(ir::op_key)));
        for chunk in plan.chunks.iter().filter(|chunk| chunk.source != Source::Slice) {
            inside.extend(chunk.op.map(ir::op_key));
        }
        let placed = |value| {
            group.iter().any(|(_, member)| matches!(member.role, Role::Place) && member.result() == value)
        };
        let count = plan.chunks.len();
        let mut outside = Self {
            users: Vec::with_capacity(count),
            ends: Vec::with_capacity(count),
            needed: Vec::new(),
            inside,
        };
        for chunk in &plan.chunks {
            if chunk.source != Source::Slice && !placed(chunk.value) {
                let inside = &outside.inside;
                let left = |user: &OperationRef<'c, 'a>| !inside.contains(&ir::op_key(*user));
                outside.users.extend(users(chunk.value).filter(left));
                // What it is done again for might be another of its results.
                if let Some(op) = chunk.op.filter(|_| chunk.name == "stablehlo.while") {
                    let others = op.results().map(Value::from).filter(|value| *value != chunk.value);
                    outside.users.extend(others.filter(|other| !placed(*other)).flat_map(users).filter(left));
                }
            }
            outside.ends.push(outside.users.len() as u32);
        }
        let mut needed: Vec<bool> = (0..count).map(|at| !outside.users_of(at).is_empty()).collect();
        for at in (0..count).rev().filter(|&at| plan.chunks[at].source != Source::Slice) {
            if needed[at] && !placed(plan.chunks[at].value) {
                plan.operands(at).for_each(|from| needed[from] = true);
            }
        }
        outside.needed = needed;
        outside
    }

    fn users_of(&self, at: usize) -> &[OperationRef<'c, 'a>] {
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.users[from as usize..self.ends[at] as usize]
    }

    /// Ops that nothing outside needs anything of.
    pub fn dying(&self, plan: &Plan<'c, 'a>) -> Keys {
        dying(plan, &self.needed)
    }

    /// The same if some values, by their keys, came out of the loop.
    pub fn only_inside(&self, plan: &Plan<'c, 'a>, cut: &Keys) -> Keys {
        let mut needed: Vec<bool> = plan
            .chunks
            .iter()
            .enumerate()
            .map(|(at, chunk)| !cut.contains(&ir::key(chunk.value)) && !self.users_of(at).is_empty())
            .collect();
        for at in (0..plan.chunks.len()).rev().filter(|&at| needed_from(plan, at)) {
            if needed[at] && !cut.contains(&ir::key(plan.chunks[at].value)) {
                plan.operands(at).for_each(|from| needed[from] = true);
            }
        }
        dying(plan, &needed)
    }

    /// The values that stay whatever the loop does, so that it may as well slice them; and whether one is a small result of
    /// something large that the loop could hand out instead. Besides, for each chunk, bytes of the largest value it is computed
    /// from in the loop.
    pub fn needed_whole(
        &self,
        plan: &Plan<'c, 'a>,
        group: &[(usize, Consumer<'c, 'a>)],
        spare: i64,
        ties: &Ties<'c, 'a>,
    ) -> (Vec<(Value<'c, 'a>, bool)>, Vec<i64>) {
        let mut whole = Vec::new();
        let mut made = Made { largest: Vec::with_capacity(plan.chunks.len()), ..Made::default() };
        let mut fleeting = Fleeting { inside: &self.inside, known: Table::default(), left: LONGEST };
        let mut once = self.multiplications_done_once(plan, group);
        let chained = group.iter().any(|(_, member)| !member.links.is_empty());
        let places = group.iter().filter(|(_, member)| matches!(member.role, Role::Place));
        let places: Keys = places.map(|(_, member)| ir::key(member.value)).collect();
        let wholes: Keys = plan.wholes.iter().map(|whole| ir::key(*whole)).collect();
        // For each chunk what it is computed from: the places of those that are there.
        let mut leaves: Vec<Bits> = Vec::with_capacity(plan.chunks.len());
        // Those that are sliced anyway, for values that are computed again.
        let mut accepted = Bits::default();
        for (at, chunk) in plan.chunks.iter().enumerate() {
            let users = self.users_of(at);
            let mut from = Bits::default();
            plan.operands(at).for_each(|at| from.extend(&leaves[at]));
            let of_gathered = made.note(plan, at);
            if !chunk.source.is_op() || chunk.kind.free {
                if chunk.source == Source::Slice {
                    from.insert(at);
                }
                leaves.push(from);
                continue;
            }
            let name = chunk.name;
            let stored_for = |user: &OperationRef<'c, 'a>| {
                !class::is_fusible(op_name(*user)) && op_name(*user) != "stablehlo.reduce"
            };
            let handed_out = places.contains(&ir::key(chunk.value));
            let again = chained
                && !chunk.kind.costly
                && users.iter().all(|user| is_computed_on_the_way(*user, chunk.value));
            let wanted = !handed_out
                && !again
                && ((self.needed[at] && chunk.kind.costly)
                    || users.len() > 1
                    || users.iter().any(stored_for));
            let is_whole = wholes.contains(&ir::key(chunk.value));
            let mut stays = is_whole;
            // Computed once more, or along another dimension besides, a sum has other bits than what it is compared with.
            let several = || {
                plan.chunks.iter().any(|other| {
                    other.value == chunk.value && other.along != chunk.along && other.source.is_op()
                })
            };
            if ties.any && !stays && !handed_out && chunk.op.is_some_and(ties::rounds) {
                stays = (self.needed[at] || several()) && ties.is_compared_with_itself(chunk.value);
            }
            // Random bits are there as what they are made into.
            let root = if wanted { made_of_turns(plan, at) } else { None };
            if wanted && !stays {
                let work = chunk.work;
                let cheap = match name {
                    "stablehlo.sort" | "stablehlo.convolution" => false,
                    // To gather rows again takes longer than to read one element for each, where there is room for those; and much
                    // longer where all rows are widened first.
                    "stablehlo.reduce"
                        if of_gathered
                            && (is_narrow(chunk.value) || chunk.size <= spare)
                            && is_exported(chunk.size, made.largest[at]) =>
                    {
                        false
                    }
                    // Where there is room for what comes of it, once is enough.
                    "stablehlo.while" => {
                        bytes(root.unwrap_or(chunk.value)) > spare
                            && chunk
                                .op
                                .and_then(loops::operations)
                                .is_some_and(|operations| operations <= LIGHT_TURNS)
                    }
                    _ => work <= once,
                };
                let known = from.is_subset(&accepted);
                if cheap
                    && (known || made.is_made_of_little(plan, at, &from, spare))
                    && fleeting.is(chunk.value)
                {
                    once -= work;
                    accepted.extend(&from);
                } else {
                    stays = true;
                }
            }
            if stays {
                let exported = !is_whole && is_exported(chunk.size, made.largest[at]);
                whole.push(root.map_or((chunk.value, exported), |root| (root, false)));
                from = Bits::only(at);
                made.light.insert(at);
            }
            leaves.push(from);
        }
        (whole, made.largest)
    }

    /// Bytes that the stored values of a plan take at most at one time, were they whole.
    pub fn most_at_once(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)], stored: &[bool]) -> i64 {
        let count = plan.chunks.len();
        let mut last: Vec<usize> = (0..count).collect();
        for (_, member) in group {
            for (value, dim) in member.inputs() {
                if let Some(at) = plan.position_of_all(value, dim) {
                    last[at] = count;
                }
            }
        }
        for at in (0..count).rev() {
            // What is computed on the fly reads its operands when it is read itself.
            let read = if stored[at] { at } else { last[at] };
            plan.operands(at).for_each(|from| last[from] = last[from].max(read));
        }
        let mut ends: Vec<Vec<usize>> = vec![Vec::new(); count + 1];
        (0..count).filter(|&at| stored[at]).for_each(|at| ends[last[at]].push(at));
        let (mut live, mut most) = (0i64, 0i64);
        for at in 0..count {
            let size = plan.chunks[at].size;
            let ending = ends[at].iter().map(|&at| plan.chunks[at].size).fold(0, i64::saturating_add);
            if stored[at] {
                // An elementwise result takes the place of an operand read for the last time.
                let fusible = plan.chunks[at].kind.fusible;
                let reused = if fusible { ending.min(size) } else { 0 };
                live = live.saturating_add(size);
                most = most.max(live.saturating_sub(reused));
            }
            live = live.saturating_sub(ending);
        }
        most.max(live)
    }

    /// Results of dots in a plan, on the way to its consumers, that are no larger than what they are computed from: nothing is
    /// gained by computing those in chunks, and all that is further up, unless that is computed for something else, too.
    pub fn condensed(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> Vec<Value<'c, 'a>> {
        let mut condensed = Vec::new();
        let mut leaves: Vec<Bits> = Vec::with_capacity(plan.chunks.len());
        for (at, chunk) in plan.chunks.iter().enumerate() {
            let mut from = slices_of(plan, at, &leaves);
            let dot = chunk.op.filter(|_| chunk.source.is_op() && chunk.kind.dot);
            if let Some(op) = dot
                && group.iter().all(|(_, member)| member.source != op && member.value != chunk.value)
                && !expands(plan, &from, chunk.size)
                && !shares_dots(plan, group, at)
            {
                plan.condense(chunk.value);
                condensed.push(chunk.value);
                from = Bits::only(at);
            } else if chunk.source.is_op() && !chunk.kind.free && size_of(plan, &from) > chunk.size {
                // A sum of many layers' results, say: what is made of it is made of the sum.
                from = Bits::only(at);
            }
            leaves.push(from);
        }
        condensed
    }

    /// What dots of a plan are computed from, where that is small beside the largest value of the plan: a plan with no room for all
    /// that is further up loses least there.
    pub fn narrows(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> Vec<Value<'c, 'a>> {
        let computed = || plan.chunks.iter().filter(|chunk| chunk.source.is_op());
        let largest = computed().map(|chunk| chunk.size).max().unwrap_or(0);
        let dots =
            (0..plan.chunks.len()).filter(|&at| plan.chunks[at].source.is_op() && plan.chunks[at].kind.dot);
        let contracted = group.iter().filter(|(_, member)| matches!(member.role, Role::Contract));
        let inputs = contracted.flat_map(|(_, member)| member.inputs());
        let inputs = inputs.filter_map(|(value, dim)| plan.position_of_all(value, dim));
        let mut pending: Vec<usize> = dots.flat_map(|at| plan.operands(at)).chain(inputs).collect();
        let mut narrows = Vec::new();
        while let Some(at) = pending.pop() {
            let chunk = &plan.chunks[at];
            if !chunk.source.is_op() || !is_exported(chunk.size, largest) {
                continue;
            }
            if chunk.kind.free {
                pending.extend(plan.operands(at));
            } else {
                narrows.push(chunk.value);
            }
        }
        narrows
    }

    /// Multiplications of the dots that only the loop needs.
    fn multiplications_done_once(&self, plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)]) -> i64 {
        let consumed = group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Contract));
        let planned = plan.chunks.iter().zip(&self.needed);
        let planned = planned.filter(|(chunk, needed)| chunk.source.is_op() && !**needed);
        consumed
            .map(|(_, consumer)| multiplications(consumer.op))
            .chain(planned.map(|(chunk, _)| chunk.work))
            .fold(0, i64::saturating_add)
    }

    /// For each chunk whether its value takes memory of its own. `sources` are bytes of what is there that each is computed
    /// from; `recomputes` says whether kernels are taken to do cheap arithmetic on positions each for itself.
    pub fn stored(
        &self,
        plan: &Plan<'c, 'a>,
        group: &[(usize, Consumer<'c, 'a>)],
        sources: &[i64],
        recomputes: bool,
        (storage, held): (&Storage, &Held<'c, 'a>),
    ) -> Vec<bool> {
        let count = plan.chunks.len();
        let mut stored = vec![false; count];
        // Which kernels a value is needed in: numbered by the chunk, or the consumer after them, that each computes.
        let mut kernels: Vec<Bits> = vec![Bits::default(); count];
        let products = plan.chunks.iter().any(|chunk| chunk.kind.dot);
        for (number, (_, consumer)) in group.iter().enumerate() {
            let scatter = matches!(consumer.role, Role::Contract)
                || matches!(consumer.role, Role::Scatter) && !storage.fuses_into_scatters;
            for (value, dim) in consumer.inputs() {
                if let Some(at) = plan.position_of_all(value, dim) {
                    stored[at] |= scatter;
                    kernels[at].insert(count + number);
                }
            }
        }
        // Where there are products, what is stored for them is what a chunk's size is to follow.
        let no_product = !products && group.iter().all(|(_, consumer)| !consumer.is_dot);
        let read_by = |op| if no_product && storage.is_library() { reads_stored(op) } else { Reads::All };
        // What a library computes on its way to a reduction.
        let mut reduced: Vec<bool> = vec![false; count];
        // What is made of much less: only that is worth a loop.
        let grown = |at: usize| {
            let chunk = &plan.chunks[at];
            chunk.source.is_op() && chunk.kind.fusible && !chunk.kind.free && sources[at] <= chunk.size / 4
        };
        for (_, consumer) in group.iter().filter(|(_, consumer)| matches!(consumer.role, Role::Reduce { .. }))
        {
            if let Some((value, dim)) = consumer.inputs().first()
                && let Some(at) = plan.position_of_all(*value, *dim)
            {
                match read_by(consumer.op) {
                    Reads::Stored => stored[at] |= grown(at),
                    Reads::Arithmetic => reduced[at] = true,
                    Reads::All => {}
                }
            }
        }
        let light = if recomputes { light(plan) } else { Bits::default() };
        let placed: Vec<usize> = group
            .iter()
            .filter(|(_, consumer)| matches!(consumer.role, Role::Place))
            .filter_map(|(_, consumer)| plan.position_of_all(consumer.result(), consumer.dim))
            .collect();
        for at in (0..count).rev() {
            let chunk = &plan.chunks[at];
            let Some(op) = chunk.op else { continue };
            // A small reduction is done where its result is needed, unless it is stored anyway.
            let gathers = storage.fuses_into_scatters && chunk.name == "stablehlo.gather";
            let kernel = !chunk.kind.fusible && !gathers && (placed.contains(&at) || !is_small_reduction(op));
            // What is computed from values of its size takes the place of one of them: nothing is gained there.
            let needed_outside = !self.users_of(at).is_empty() && sources[at] <= chunk.size / 4;
            if chunk.source == Source::Slice {
                continue;
            }
            let shared =
                || !chunk.kind.free && !light.contains(at) && (kernels[at].len() > 1 || needed_outside);
            if kernel || shared() && (!storage.weighs_copies || held.contains(op)) {
                stored[at] = true;
            }
            if reduced[at] && grown(at) && !is_arithmetic(op) {
                stored[at] = true;
            }
            let inside = reduced[at] && !kernel && is_arithmetic(op);
            let own = if kernel { read_by(op) } else { Reads::All };
            let inherited = if kernel { Bits::only(at) } else { std::mem::take(&mut kernels[at]) };
            for (index, from) in plan.numbered_operands(at) {
                stored[from] |= reads_from_memory(op, index, products, storage);
                match own {
                    Reads::Stored => stored[from] |= grown(from),
                    Reads::Arithmetic => reduced[from] = true,
                    Reads::All => reduced[from] |= inside,
                }
                kernels[from].extend(&inherited);
            }
        }
        // These take their memory in the loop's result as before.
        placed.into_iter().for_each(|at| stored[at] = false);
        stored
    }
}

/// Whether an op reads an operand from memory, in a plan with products or without.
fn reads_from_memory(op: OperationRef<'_, '_>, operand: usize, products: bool, storage: &Storage) -> bool {
    match op_name(op) {
        "stablehlo.scatter" | "stablehlo.gather" if storage.fuses_into_scatters => false,
        "stablehlo.scatter" => operand > 0,
        // Of arithmetic that a gather picks few elements of, no more is done.
        "stablehlo.gather" if operand == 0 && products => {
            let taken = op.operand(0).map_or(0, bytes);
            let picked = op.result(0).map_or(0, |result| bytes(result.into()));
            let fusible =
                ir::operand(op, 0).and_then(defining_op).is_some_and(|op| class::is_fusible(op_name(op)));
            !fusible || picked > taken / EXPORTED
        }
        "stablehlo.gather" | "stablehlo.dot_general" | "chlo.top_k" => true,
        _ => false,
    }
}

/// What a plan makes of the result of a loop's turns, random bits mostly.
fn made_of_turns<'c: 'a, 'a>(plan: &Plan<'c, 'a>, at: usize) -> Option<Value<'c, 'a>> {
    let chunk = &plan.chunks[at];
    let op = chunk.op.filter(|_| chunk.name == "stablehlo.while")?;
    let root = super::consumer::root_of_turns(op, chunk.value);
    let mut after = plan.chunks[at + 1..].iter();
    after.any(|other| other.value == root && other.source.is_op()).then_some(root)
}

/// What the chunks of a plan are made of, in the loop.
#[derive(Default)]
struct Made {
    /// For each chunk the largest value it is computed from in the loop.
    largest: Vec<i64>,
    /// Those that cheap arithmetic makes of what is sliced or counted.
    simple: Bits,
    /// Those that arithmetic and gathers make of what is sliced or counted.
    light: Bits,
    /// Those that arithmetic makes of gathered rows.
    gathered: Bits,
}

impl Made {
    /// Notes what the next chunk is made of; whether that is gathered rows.
    fn note(&mut self, plan: &Plan<'_, '_>, at: usize) -> bool {
        let chunk = &plan.chunks[at];
        let computed = chunk.source.is_op();
        let through = plan.operands(at).map(|at| self.largest[at]).max().unwrap_or(0);
        self.largest.push(if computed { through.max(chunk.size) } else { 0 });
        let on_the_fly = chunk.kind.fusible && !chunk.kind.costly;
        if !computed || on_the_fly && plan.operands(at).all(|from| self.simple.contains(from)) {
            self.simple.insert(at);
        }
        let is_light = chunk.kind.fusible || chunk.kind.free || chunk.name == "stablehlo.gather";
        if !computed || is_light && plan.operands(at).all(|from| self.light.contains(from)) {
            self.light.insert(at);
        }
        let of_gathered = computed && plan.operands(at).any(|from| self.gathered.contains(from));
        if computed && (chunk.name == "stablehlo.gather" || chunk.kind.fusible && of_gathered) {
            self.gathered.insert(at);
        }
        of_gathered
    }

    /// Whether what a chunk is made of, the values at `from`, is as well kept as the chunk itself.
    fn is_made_of_little(&self, plan: &Plan<'_, '_>, at: usize, from: &Bits, spare: i64) -> bool {
        let size = plan.chunks[at].size;
        // Of arguments nothing is kept for longer.
        let is_argument = |leaf: usize| is_kept_argument(plan.chunks[leaf].value);
        let of_arguments =
            || self.simple.contains(at) && size_of(plan, from) <= size && from.iter().all(is_argument);
        // Sums that are there are as well kept as what is made of them.
        let of_sums = || {
            let mut beside = Bits::default();
            from.iter().filter(|&leaf| !is_argument(leaf)).for_each(|leaf| beside.insert(leaf));
            size <= spare
                && self.light.contains(at)
                && size_of(plan, &beside) <= size
                && beside.iter().all(|leaf| is_sum_of_many(plan.chunks[leaf].value))
        };
        expands(plan, from, size) || of_arguments() || of_sums()
    }
}

/// Where cheap arithmetic on positions, splats and rows that are repeated is: each kernel that needs it does it again.
fn light(plan: &Plan<'_, '_>) -> Bits {
    let mut light = Bits::default();
    for (at, chunk) in plan.chunks.iter().enumerate() {
        let repeats = || {
            let taken = plan.operands(at).map(|from| plan.chunks[from].size).fold(0, i64::saturating_add);
            chunk.kind.free && taken.saturating_mul(SMALL) <= chunk.size
        };
        let is = match chunk.source {
            Source::Splat | Source::Iota => true,
            Source::Slice | Source::Pad(_) => false,
            Source::Op(_) => {
                repeats()
                    || (chunk.kind.fusible
                        && !chunk.kind.costly
                        && plan.operands(at).all(|from| light.contains(from)))
            }
        };
        if is {
            light.insert(at);
        }
    }
    light
}

/// Ops that nothing outside needs anything of: of each chunk `needed` says whether something does.
fn dying(plan: &Plan<'_, '_>, needed: &[bool]) -> Keys {
    let ops = |wanted: bool| {
        let planned = plan.chunks.iter().zip(needed).filter(move |(_, needed)| **needed == wanted);
        planned
            .filter(|(chunk, _)| chunk.source != Source::Slice)
            .filter_map(|(chunk, _)| chunk.op.map(ir::op_key))
    };
    let mut dying = Keys::with_capacity_and_hasher(plan.chunks.len(), Default::default());
    dying.extend(ops(false));
    ops(true).for_each(|op| {
        dying.remove(&op);
    });
    dying
}

/// For each chunk, bytes of what is there that it is computed from; and the same without arguments, whose memory is not free
/// to be used again.
pub fn sources(plan: &Plan<'_, '_>) -> (Vec<i64>, Vec<i64>) {
    let count = plan.chunks.len();
    let mut sources = vec![0i64; count];
    let mut temporaries = vec![0i64; count];
    let mut leaves: Vec<Bits> = Vec::with_capacity(count);
    for at in 0..count {
        // Each slice counts once, by however many ways a value is computed from it.
        let from = slices_of(plan, at, &leaves);
        let mut more = from.clone();
        if let Some(most) = plan.operands(at).max_by_key(|&operand| sources[operand]) {
            more.remove(&leaves[most]);
            (sources[at], temporaries[at]) = (sources[most], temporaries[most]);
        }
        for leaf in more.iter().map(|leaf| &plan.chunks[leaf]) {
            sources[at] = sources[at].saturating_add(leaf.size);
            if leaf.op.is_some() {
                temporaries[at] = temporaries[at].saturating_add(leaf.size);
            }
        }
        leaves.push(from);
    }
    (sources, temporaries)
}

/// Whether a dot's result is made of dots in a plan from which it makes something else, too: were the one result there, these would be
/// done twice, once to make it.
fn shares_dots<'c: 'a, 'a>(plan: &Plan<'c, 'a>, group: &[(usize, Consumer<'c, 'a>)], at: usize) -> bool {
    let mut above = vec![false; at];
    let mark =
        |from: usize, above: &mut Vec<bool>| plan.operands(from).for_each(|operand| above[operand] = true);
    mark(at, &mut above);
    (0..at).rev().for_each(|from| {
        if above[from] {
            mark(from, &mut above);
        }
    });
    let is_dot = |from: usize| plan.chunks[from].source.is_op() && plan.chunks[from].kind.dot;
    if !(0..at).any(|from| above[from] && is_dot(from)) {
        return false;
    }
    let count = plan.chunks.len();
    let mut apart = vec![false; count];
    let inputs = group.iter().flat_map(|(_, member)| member.inputs());
    inputs.filter_map(|(value, dim)| plan.position_of_all(value, dim)).for_each(|from| apart[from] = true);
    for from in (0..count).rev() {
        if apart[from] && from != at {
            plan.operands(from).for_each(|operand| apart[operand] = true);
        }
    }
    (0..at).any(|from| above[from] && apart[from] && is_dot(from))
}

/// The slices that a chunk is computed from, itself if it is one; `before` has those of the chunks before it.
fn slices_of(plan: &Plan<'_, '_>, at: usize, before: &[Bits]) -> Bits {
    let mut from = Bits::default();
    plan.operands(at).for_each(|at| from.extend(&before[at]));
    if plan.chunks[at].source == Source::Slice {
        from.insert(at);
    }
    from
}

/// Whether a value is small beside the largest it is computed from in a loop, so that the loop may hand it out.
pub fn is_exported(size: i64, largest: i64) -> bool {
    size <= largest / EXPORTED
}

/// Whether a value is a sum, or the like, of what is larger enough to be handed out instead.
fn is_sum_of_many(value: Value<'_, '_>) -> bool {
    defining_op(value)
        .filter(|op| op_name(*op) == "stablehlo.reduce")
        .is_some_and(|op| op.operand(0).is_ok_and(|input| is_exported(bytes(value), bytes(input))))
}

/// What is computed on the fly for a reduction, where a library or a tree of tiles does it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reads {
    /// Whatever there is.
    All,
    /// Arithmetic of floats; all else is stored before it.
    Arithmetic,
    /// Nothing: its operand is stored.
    Stored,
}

/// What is computed on the fly for an op's first operand, if it is a large reduction of one array. The memory model has the same
/// (`memory/graph.rs`): sums, maxima and minima of floats are a library's, which knows arithmetic; others go in tiles.
fn reads_stored(op: OperationRef<'_, '_>) -> Reads {
    if op_name(op) != "stablehlo.reduce" || op.operand_count() != 2 || is_small_reduction(op) {
        return Reads::All;
    }
    let Some(element) = op.operands().next().and_then(ir::plain).map(|tensor| tensor.element) else {
        return Reads::All;
    };
    if element.is_f32() || element.is_f64() {
        match crate::ops::reducers::combiner(op) {
            Some("stablehlo.add" | "stablehlo.maximum" | "stablehlo.minimum") => Reads::Arithmetic,
            _ => Reads::Stored,
        }
    } else if element.is_integer() {
        Reads::Stored
    } else {
        Reads::All
    }
}

/// Whether a reduction takes so few elements that it is done on the fly.
pub fn is_small_reduction(op: OperationRef<'_, '_>) -> bool {
    let taken = || {
        let shape = Tensor::new(op.operands().next()?.r#type())?.shape;
        let dims = ir::i64_array(op, "dimensions")?;
        Some(dims.iter().map(|&dim| shape[dim as usize]).fold(1i64, i64::saturating_mul))
    };
    op_name(op) == "stablehlo.reduce" && taken().is_some_and(|taken| taken <= FEW)
}

/// Whether a value of this size is much larger than the chunks it is computed from.
fn expands(plan: &Plan<'_, '_>, from: &Bits, size: i64) -> bool {
    size_of(plan, from).saturating_mul(EXPANDS) <= size
}

/// Bytes of some of a plan's values.
fn size_of(plan: &Plan<'_, '_>, values: &Bits) -> i64 {
    values.iter().fold(0, |sum, value| sum.saturating_add(plan.chunks[value].size))
}

fn needed_from(plan: &Plan<'_, '_>, at: usize) -> bool {
    plan.chunks[at].source != Source::Slice
}
