// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-unstack`: what is put side by side and taken apart again is computed part by part.
//!
//! # What it matches
//!
//! A concatenate, and all that is made of it by ops that keep its parts apart, of which nothing is ever wanted but
//! slices that lie within one part: what vectorizers leave that batch a loop's turns or a Jacobian's directions
//! (Reactant's Jacobians, `vmap` over lists of fields).
//!
//! ```mlir
//! %all = stablehlo.concatenate %a, %b, dim = 0                   // [2, 4096, 4096] of two of [1, 4096, 4096]
//! %twice = stablehlo.add %all, %all
//! %0 = stablehlo.slice %twice [0:1, 0:4096, 0:4096]
//! %1 = stablehlo.slice %twice [1:2, 0:4096, 0:2048]
//! // becomes
//! %0 = stablehlo.add %a, %a
//! %twice_b = stablehlo.add %b, %b
//! %1 = stablehlo.slice %twice_b [0:1, 0:4096, 0:2048]
//! ```
//!
//! With `sums`, also a concatenate of what is made of much less, large beside all that comes of it: products that contract its dimension and
//! sums over it are added up part by part, and what is small and wanted as a whole is put together again. Samples' gradients of all
//! parameters, side by side (natural gradients, neural tangent kernels), are such a one:
//!
//! ```mlir
//! %all = stablehlo.concatenate %a, %b, dim = 1                   // [2048, 80800] of [2048, 800] and an outer product
//! %k = stablehlo.dot_general %all, %all, contracting_dims = [1] x [1]
//! // becomes
//! %k_a = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1]
//! %k_b = stablehlo.dot_general %b, %b, contracting_dims = [1] x [1]
//! %k = stablehlo.add %k_a, %k_b
//! ```
//!
//! So it is where nothing is added up, if each part is made of the first one for little: the random members of a population and their
//! opposites (evolution strategies), of which the losses are wanted, slices of one half, and single members, wherever they are:
//!
//! ```mlir
//! %best = stablehlo.dynamic_slice %members, %at, %c0, sizes = [1, 4096]      // members: 128 and 128
//! // becomes
//! %first = stablehlo.dynamic_slice %members_a, %at, %c0, ...
//! %second = stablehlo.dynamic_slice %members_b, (%at - 128), %c0, ...       // beyond its ends it is cut out at them
//! %best = stablehlo.select (%at >= 128), %second, %first
//! ```
//!
//! # Why it is right
//!
//! Each element is computed by the same op of the same elements; a member's place is within one part, whichever. With `sums` they are
//! added up in another order; not those of narrow floats, which would be rounded in between, nor what is compared with its own sum ([`crate::ties`]).
//!
//! # Why it pays, and what it costs
//!
//! The stacked value is stored where two kernels read it, and all of it is there until the last part has been read;
//! parts come and go, and are computed within what reads them. An op becomes as many as there are parts, of as many
//! elements together. At most [`MOST_OPS`] ops are made of one concatenate. Growing is linear in what is made of it, and ends at
//! the first op that takes a stacked value as a whole.
//!
//! # When it must not fire
//!
//! * Something takes a stacked value as a whole: a result of the function, a sum over the parts. With `sums`: something large does, more
//!   than a [`LITTLE`]th of the concatenate; or nothing is added up, and the parts have nothing to do with one another.
//! * Parts would be thin products of matrices: only ops that back ends fuse are taken apart, but with `sums`. That saves nothing by
//!   itself, as products read their operands from memory; what is made of little can then be computed in chunks
//!   (`--slimhlo-batch-slices`). Where parts are stored anyway, XLA for an H100 took as much for a graph network's features
//!   in parts as joined (7,879 MiB for 7,390, by hand, with a pass that was not kept).
//! * Programs for more than one partition.

use crate::batch_slices::region::{Admits, Region};
use crate::batch_slices::rules::{Results, Role, Rules, Sum};
use crate::body::Body;
use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::ops::access::{Along, start_of_one};
use crate::ops::class;
use crate::rewrite::{context_of, defining_op, is_unused, ops_named, users};
use crate::shards::is_partitioned;
use crate::simplify::shape::concatenated;
use crate::simplify::site::Slice;
use crate::tables::{Keys, Table};
use crate::target::Target;
use crate::ties::Ties;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;
use std::ops::Range;
use std::rc::Rc;

crate::pass_options! {
    /// Compute what is concatenated and sliced again part by part.
    ///
    /// Where all that is made of a concatenate is taken apart again along the same parts, each part is computed by
    /// itself, and neither the concatenate nor what is made of it is there. The same ops are done on the same
    /// elements.
    ///
    /// ```mlir
    /// %all = stablehlo.concatenate %a, %b, dim = 0
    /// %twice = stablehlo.add %all, %all
    /// %0 = stablehlo.slice %twice [0:1, 0:4096]
    /// // becomes
    /// %0 = stablehlo.add %a, %a
    /// ```
    pub struct Unstack {
        /// Takes products and sums over a concatenate of what is made of much less apart as well, and adds up what comes of its parts; so
        /// it does with all that keeps parts apart which are made of one another.
        pub sums: bool = false,
    }
}

const UNSTACKED: Statistic = Statistic::new(c"num-unstacked", c"concatenates that went");

/// Parts of a concatenate at most, and ops that are made of one.
const MOST_PARTS: usize = 64;
/// See [`MOST_PARTS`].
const MOST_OPS: usize = 4096;
/// What part of a concatenate is little beside it: what it is made of, with `sums`, and what is made of it. Not measured against others.
const LITTLE: i64 = 8;
/// Of how many ops a part may be made, with `sums`: normally distributed random numbers are some 150.
const FEW: usize = 256;
/// Concatenates of a function that are looked at.
const MOST_TRIED: usize = 256;

impl Pass for Unstack {
    const ARGUMENT: &'static str = "slimhlo-unstack";
    const STATISTICS: &'static [Statistic] = &[UNSTACKED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let count = unstack(root, self.sums);
        context.count(&UNSTACKED, count);
        Ok((count > 0).into())
    }
}

/// Takes sums over concatenates of what is made of little apart; whether there were any.
pub(crate) fn with_sums(root: OperationRef<'_, '_>) -> bool {
    !is_partitioned(root) && unstack(root, true) > 0
}

/// How many concatenates went.
fn unstack<'c>(root: OperationRef<'c, '_>, sums: bool) -> u64 {
    let (mut count, mut tried) = (0, 0);
    // What was looked at last: its ops go with what is taken apart.
    let mut body: Option<Body> = None;
    let all = ops_named(root, "stablehlo.concatenate");
    let ties = sums.then(|| Rc::new(Ties::new(root)));
    let may_go = |op: &OperationRef<'c, '_>| match sums {
        true => is_made_of_little(*op),
        false => Ends::of(*op).is_some_and(|ends| ends.may_go(*op)),
    };
    for concatenate in all.into_iter().filter(may_go) {
        if tried == MOST_TRIED {
            break;
        }
        tried += 1;
        if body.as_ref().is_none_or(|body| !body.has(concatenate)) {
            body = concatenate.block().and_then(Body::of);
        }
        let stack = body.as_ref().and_then(|body| match &ties {
            Some(ties) => Stack::with_sums(concatenate, root, body, Rc::clone(ties)),
            None => Stack::of(concatenate, root, body),
        });
        let Some(stack) = stack else { continue };
        stack.run(&Builder::new(root));
        body = None;
        count += 1;
    }
    count
}

/// Where the parts of a concatenate end along its dimension.
struct Ends(Vec<i64>);

impl Ends {
    fn of(op: OperationRef<'_, '_>) -> Option<Self> {
        let (_, sizes) = concatenated(op)?;
        if !(2..=MOST_PARTS).contains(&sizes.len()) || sizes.contains(&0) {
            return None;
        }
        let sum = |end: &mut i64, size: i64| {
            *end += size;
            Some(*end)
        };
        Some(Self(sizes.into_iter().scan(0, sum).collect()))
    }

    fn parts(&self) -> Range<usize> {
        0..self.0.len()
    }

    fn start(&self, part: usize) -> i64 {
        part.checked_sub(1).map_or(0, |before| self.0[before])
    }

    fn size(&self, part: usize) -> i64 {
        self.0[part] - self.start(part)
    }

    /// The part that a slice lies within.
    fn part(&self, user: OperationRef<'_, '_>, dim: usize) -> Option<usize> {
        let slice = (op_name(user) == "stablehlo.slice").then(|| Slice::new(user))??;
        let (start, limit) = (slice.start[dim], slice.limit[dim]);
        let part = self.0.partition_point(|&end| end <= start);
        (start < limit && limit <= *self.0.get(part)?).then_some(part)
    }

    /// Whether something is made of a concatenate before it is taken apart, as far as its users tell.
    fn may_go(&self, op: OperationRef<'_, '_>) -> bool {
        let Some((all, (dim, _))) = ir::first_result(op).zip(concatenated(op)) else { return false };
        let mut made = false;
        users(all).all(|user| {
            let apart = self.part(user, dim).is_some();
            made |= !apart;
            apart || class::is_fusible(op_name(user))
        }) && made
    }
}

/// Whether an op is one that back ends fuse, and keeps single elements of the dimension apart.
fn is_simple<'c>(op: OperationRef<'c, '_>, role: &Role<'c>) -> bool {
    let Results::Kept(results) = &role.results else { return false };
    let taken = role.operands.iter().flatten();
    class::is_fusible(op_name(op)) && taken.chain(results).all(|along| along.run == 1)
}

/// Whether an op may be done part by part where parts are added up.
fn is_kept_or_added<'c>(op: OperationRef<'c, '_>, role: &Role<'c>) -> bool {
    let own = ir::first_result(op).map(|result| ir::element_of(result.r#type()));
    match &role.results {
        Results::Kept(_) => {
            let name = op_name(op);
            let apart =
                ["stablehlo.dot_general", "stablehlo.reduce", "stablehlo.convolution", "stablehlo.gather"];
            apart.contains(&name) || class::is_fusible(name)
        }
        Results::Added(Sum::Contract(element) | Sum::Reduce { element, .. }) => own == Some(*element),
        Results::Added(Sum::Scatter) => false,
    }
}

/// Whether a concatenate is made, in a few ops, of what is little beside it.
fn is_made_of_little(op: OperationRef<'_, '_>) -> bool {
    let Some(all) = ir::first_result(op).filter(|_| Ends::of(op).is_some()) else { return false };
    let (most, mut given) = (ir::bytes(all) / LITTLE, 0);
    let (mut seen, mut pending): (Keys, Vec<Value>) = (Keys::default(), op.operands().collect());
    while let Some(value) = pending.pop() {
        if !seen.insert(ir::key(value)) {
            continue;
        }
        if seen.len() > FEW {
            return false;
        }
        // Of products those of columns by rows, which read little.
        let reads = |op: &OperationRef<'_, '_>| op.operands().map(ir::bytes).fold(0, i64::saturating_add);
        let apart = |op: &OperationRef<'_, '_>| match op_name(*op) {
            "stablehlo.dot_general" => reads(op) <= ir::bytes(value) / LITTLE,
            name => matches!(name, "stablehlo.iota" | "stablehlo.constant") || class::is_fusible(name),
        };
        match defining_op(value) {
            Some(maker) if ir::bytes(value) > most / LITTLE && apart(&maker) => {
                pending.extend(maker.operands())
            }
            Some(_) => given += ir::bytes(value),
            // Arguments are there anyway.
            None => {}
        }
    }
    given <= most
}

/// Whether parts of a concatenate are made of the first one, element by element and for little: what an antithetic population is, `[x, -x]`.
fn are_made_of_the_first(op: OperationRef<'_, '_>) -> bool {
    /// Ops that a part may be made in.
    const CLOSE: usize = 8;
    let mut parts = op.operands();
    let Some(first) = parts.next() else { return false };
    parts.all(|part| {
        let (mut pending, mut count, mut reached) = (vec![part], 0, false);
        while let Some(value) = pending.pop().filter(|_| count <= CLOSE) {
            if value == first {
                reached = true;
                continue;
            }
            count += 1;
            let maker = defining_op(value).filter(|maker| class::is_fusible(op_name(*maker)));
            match maker.filter(|maker| !class::is_costly(op_name(*maker))) {
                Some(maker) => pending.extend(maker.operands()),
                None => return false,
            }
        }
        reached && count <= CLOSE
    })
}

/// What is made of a concatenate.
struct Stack<'c, 'a> {
    region: Region<'c, 'a>,
    ends: Ends,
}

impl<'c: 'a, 'a> Stack<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>, root: OperationRef<'c, 'a>, body: &Body<'c, 'a>) -> Option<Self> {
        let ends = Ends::of(op)?;
        // Most concatenates of a large program are joined to all of it, and end at the first op that takes them whole.
        let admits = |op: OperationRef<'c, 'a>, asked: Result<&Role<'c>, usize>| match asked {
            Ok(role) => is_simple(op, role),
            Err(dim) => ends.part(op, dim).is_some(),
        };
        // What is never added up is compared with nothing.
        let this = Self::grown(op, root, body, Rc::default(), &admits)?;
        this.is_worth_it(ir::first_result(op)?, concatenated(op)?.0).then_some(this)
    }

    /// The same where parts are added up, of a concatenate that is [made of little](is_made_of_little).
    fn with_sums(
        op: OperationRef<'c, 'a>,
        root: OperationRef<'c, 'a>,
        body: &Body<'c, 'a>,
        ties: Rc<Ties<'c, 'a>>,
    ) -> Option<Self> {
        let admits = |op: OperationRef<'c, 'a>, asked: Result<&Role<'c>, usize>| {
            asked.is_err() || asked.is_ok_and(|role| is_kept_or_added(op, role))
        };
        let this = Self::grown(op, root, body, ties, &admits)?;
        this.leaves_little(op).then_some(this)
    }

    /// All that is made of a concatenate, if `admits` says so.
    fn grown(
        op: OperationRef<'c, 'a>,
        root: OperationRef<'c, 'a>,
        body: &Body<'c, 'a>,
        ties: Rc<Ties<'c, 'a>>,
        admits: Admits<'_, 'c, 'a>,
    ) -> Option<Self> {
        let (dim, _) = concatenated(op)?;
        let ends = Ends::of(op)?;
        // Nothing is scattered, which is all that storage is asked for.
        let storage = Target::default().storage();
        let rules = Rules { units: *ends.0.last()?, storage, ties, f32: Type::float32(context_of(root)) };
        let region = Region::apart(body, &rules, ir::first_result(op)?, dim, admits)?;
        Some(Self { region, ends })
    }

    fn is_small(&self) -> bool {
        self.region.members.len() * self.ends.0.len() <= MOST_OPS
    }

    /// Whether something is added up over the parts, and all that is made of what is stacked is little beside it.
    fn leaves_little(&self, concatenate: OperationRef<'c, 'a>) -> bool {
        let Some(all) = ir::first_result(concatenate) else { return false };
        let (members, region) = (self.region.keys(), &self.region);
        let stays = users(all).any(|user| !members.contains(&ir::op_key(user)));
        let adds = region.members.iter().any(|member| matches!(member.role.results, Results::Added(_)));
        let made = region.outputs.iter().map(|output| match region.slices.get(&ir::key(output.value)) {
            // Parts of a sum are there beside each other.
            None => ir::bytes(output.value).saturating_mul(self.ends.0.len() as i64),
            Some(along) if self.is_taken_apart(output.value, *along, &members) => 0,
            Some(_) => ir::bytes(output.value),
        });
        let little = made.fold(0, i64::saturating_add) <= ir::bytes(all) / LITTLE;
        !stays && (adds || are_made_of_the_first(concatenate)) && little && self.is_small()
    }

    /// Whether nothing but ops done part by part takes more of a value than slices within one part.
    fn is_taken_apart(&self, value: Value<'c, 'a>, along: Along, members: &Keys) -> bool {
        let within = |user| along.run == 1 && self.ends.part(user, along.dim).is_some();
        let one = |user| along.run == 1 && start_of_one(user, value, along.dim).is_some();
        users(value).all(|user| members.contains(&ir::op_key(user)) || within(user) || one(user))
    }

    /// Whether all goes that is stacked, and no more is made than that.
    fn is_worth_it(&self, all: Value<'c, 'a>, dim: usize) -> bool {
        let members = self.region.keys();
        let only_parts = |value: Value<'c, 'a>, dim: usize| {
            self.is_taken_apart(value, Along { dim, run: 1, from: 0 }, &members)
        };
        let simple = self.region.members.iter().all(|member| is_simple(member.op, &member.role));
        !members.is_empty()
            && self.is_small()
            && simple
            && only_parts(all, dim)
            && self
                .region
                .outputs
                .iter()
                .all(|output| only_parts(output.value, self.region.slices[&ir::key(output.value)].dim))
    }

    fn run(&self, build: &Builder<'c, 'a>) {
        let mut parts: Table<(usize, usize), Vec<Value<'c, 'a>>> = Table::default();
        for member in &self.region.members {
            build.set_insertion_point_before(member.op);
            let operands: Vec<_> = member
                .op
                .operands()
                .zip(&member.role.operands)
                .map(|(operand, along)| (operand, *along))
                .collect();
            for (operand, along) in &operands {
                if let Some(along) = *along {
                    let key = (ir::key(*operand), along.dim);
                    parts.entry(key).or_insert_with(|| self.leaves(*operand, along, build));
                }
            }
            let along: &[Along] = match &member.role.results {
                Results::Kept(along) => along,
                Results::Added(_) => &[],
            };
            let mut made: Vec<Vec<Value<'c, 'a>>> = vec![Vec::new(); along.len()];
            let mut sum = None;
            for part in self.ends.parts() {
                let of = |(operand, along): &(Value<'c, 'a>, Option<Along>)| match along {
                    Some(along) => parts[&(ir::key(*operand), along.dim)][part],
                    None => *operand,
                };
                let operands: Vec<Value> = operands.iter().map(of).collect();
                if let Results::Added(of) = &member.role.results {
                    sum = Some(add(member.op, of, operands, sum, build));
                    continue;
                }
                let types: Vec<Type> = member
                    .op
                    .results()
                    .zip(along)
                    .map(|(result, along)| self.ty(result.r#type(), *along, part))
                    .collect();
                let taken = (self.ends.size(part), self.region.units);
                let attributes = member.role.resized(member.op, taken, build);
                let copy = build.copy_with(member.op, &operands, attributes.as_slice(), &types);
                made.iter_mut().zip(copy.results()).for_each(|(made, result)| made.push(result.into()));
            }
            if let Some((sum, result)) = sum.zip(ir::first_result(member.op)) {
                build.replace_all_uses_with(result, sum);
            }
            for ((result, along), made) in member.op.results().zip(along).zip(made) {
                if along.run == 1 {
                    self.take(result.into(), along.dim, &made, build);
                    self.take_ones(result.into(), along.dim, &made, build);
                }
                parts.insert((ir::key(result.into()), along.dim), made);
            }
        }
        self.join(&parts, build);
        for member in self.region.members.iter().rev() {
            if is_unused(member.op) {
                build.erase(member.op);
            }
        }
    }

    fn ty(&self, ty: Type<'c>, along: Along, part: usize) -> Type<'c> {
        let tensor = Tensor::new(ty).expect("what is sliced is a tensor");
        let mut shape = tensor.shape.to_vec();
        shape[along.dim] = along.run * self.ends.size(part);
        Tensor::get(&shape, tensor.element, None)
    }

    /// The parts of a value that is there: what a concatenate of the same parts is of, or slices.
    fn leaves(&self, value: Value<'c, 'a>, along: Along, build: &Builder<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let Along { dim, run, .. } = along;
        let same = defining_op(value).filter(|op| op_name(*op) == "stablehlo.concatenate").filter(|op| {
            let sizes = concatenated(*op).filter(|(joined, _)| *joined == dim).map(|(_, sizes)| sizes);
            let own = self.ends.parts().map(|part| run * self.ends.size(part));
            sizes.is_some_and(|sizes| sizes.into_iter().eq(own))
        });
        if let Some(same) = same {
            return same.operands().collect();
        }
        let location = defining_op(value).map_or(self.region.anchor.location(), |op| op.location());
        self.ends
            .parts()
            .map(|part| {
                let ty = self.ty(value.r#type(), along, part);
                let mut start = vec![0; Tensor::new(ty).map_or(0, |tensor| tensor.rank())];
                start[dim] = run * self.ends.start(part);
                build.slice(value, &start, ty, location)
            })
            .collect()
    }

    /// Puts together again what is wanted as a whole.
    fn join(&self, parts: &Table<(usize, usize), Vec<Value<'c, 'a>>>, build: &Builder<'c, 'a>) {
        let members = self.region.keys();
        for output in &self.region.outputs {
            let Some(Along { dim, .. }) = self.region.slices.get(&ir::key(output.value)) else { continue };
            let op = self.region.members[output.member].op;
            let outside = |user: OperationRef<'c, 'a>| !members.contains(&ir::op_key(user));
            let Some(parts) =
                parts.get(&(ir::key(output.value), *dim)).filter(|_| users(output.value).any(outside))
            else {
                continue;
            };
            build.set_insertion_point_after(op);
            let whole = build.concatenate(parts, *dim, op.location());
            build.replace_uses(output.value, whole, outside);
        }
    }

    /// Has single elements, wherever they are, taken of one of the parts. What begins before or beyond a part is cut out at its end.
    fn take_ones(&self, value: Value<'c, 'a>, dim: usize, made: &[Value<'c, 'a>], build: &Builder<'c, 'a>) {
        let all: Vec<_> = users(value).filter_map(|op| Some((op, start_of_one(op, value, dim)?))).collect();
        for (op, start) in all {
            let location = op.location();
            build.set_insertion_point_before(op);
            let result: Value = op.result(0).expect("slices have a result").into();
            let cut = |of, start| {
                let mut operands: Vec<Value> = op.operands().collect();
                operands[0] = of;
                operands[1 + dim] = start;
                let copy = build.copy_with(op, &operands, &[], &[result.r#type()]);
                Value::from(copy.result(0).expect("slices have a result"))
            };
            let mut one = cut(made[0], start);
            for part in self.ends.parts().skip(1) {
                let from = self.ends.start(part) as f64;
                let from = build.number(from, ir::element_of(start.r#type()), location);
                let later = cut(made[part], build.binary("stablehlo.subtract", start, from, location));
                let is_later = build.compare(ComparisonDirection::Ge, start, from, location);
                one = build.select(is_later, later, one, location);
            }
            build.replace_all_uses_with(result, one);
            build.erase(op);
        }
    }

    /// Has slices of a value taken of its parts.
    fn take(&self, value: Value<'c, 'a>, dim: usize, made: &[Value<'c, 'a>], build: &Builder<'c, 'a>) {
        let slices: Vec<OperationRef> =
            users(value).filter(|user| op_name(*user) == "stablehlo.slice").collect();
        for op in slices {
            let Some((part, slice)) = self.ends.part(op, dim).zip(Slice::new(op)) else { continue };
            build.set_insertion_point_before(op);
            let result = op.result(0).expect("slices have a result");
            let (mut start, mut limit) = (slice.start.to_vec(), slice.limit.to_vec());
            start[dim] -= self.ends.start(part);
            limit[dim] -= self.ends.start(part);
            let part = if made[part].r#type() == result.r#type() && ir::discardable_attributes(op).is_empty()
            {
                made[part]
            } else {
                let attributes =
                    [("start_indices", build.i64_array(&start)), ("limit_indices", build.i64_array(&limit))];
                let copy = build.copy_with(op, &[made[part]], &attributes, &[result.r#type()]);
                copy.result(0).expect("slices have a result").into()
            };
            build.replace_all_uses_with(result.into(), part);
            build.erase(op);
        }
    }
}

/// What an op makes of one part, with what it made of those before.
fn add<'c: 'a, 'a>(
    op: OperationRef<'c, 'a>,
    sum: &Sum<'c>,
    mut operands: Vec<Value<'c, 'a>>,
    before: Option<Value<'c, 'a>>,
    build: &Builder<'c, 'a>,
) -> Value<'c, 'a> {
    let ty = op.result(0).expect("sums have a result").r#type();
    let mut combine = "stablehlo.add";
    if let Sum::Reduce { combine: name, identity, element } = sum {
        combine = name;
        // What a sum starts from is in it once.
        if let Some(identity) = identity.filter(|_| before.is_some()) {
            operands[1] = build.number(identity, *element, op.location());
        }
    }
    let part = build.copy_with(op, &operands, &[], &[ty]).result(0).expect("sums have a result").into();
    before.map_or(part, |before| build.binary(combine, before, part, op.location()))
}
