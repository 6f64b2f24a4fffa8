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
//! # Why it is right
//!
//! Each element is computed by the same op of the same elements.
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
//! * Something takes a stacked value as a whole: a result of the function, a sum over the parts.
//! * Parts would be thin products of matrices: only ops that back ends fuse are taken apart.
//! * Programs for more than one partition.

use crate::batch_slices::region::Region;
use crate::batch_slices::rules::{Results, Role, Rules};
use crate::body::Body;
use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::ops::class;
use crate::rewrite::{context_of, defining_op, is_unused, ops_named, users};
use crate::shards::is_partitioned;
use crate::simplify::shape::concatenated;
use crate::simplify::site::Slice;
use crate::tables::{Keys, Table};
use crate::target::Target;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
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
    pub struct Unstack {}
}

const UNSTACKED: Statistic = Statistic::new(c"num-unstacked", c"concatenates that went");

/// Parts of a concatenate at most, and ops that are made of one.
const MOST_PARTS: usize = 64;
/// See [`MOST_PARTS`].
const MOST_OPS: usize = 4096;
/// Concatenates of a function that are looked at.
const MOST_TRIED: usize = 256;

impl Pass for Unstack {
    const ARGUMENT: &'static str = "slimhlo-unstack";
    const STATISTICS: &'static [Statistic] = &[UNSTACKED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let (mut count, mut tried) = (0, 0);
        // What was looked at last: its ops go with what is taken apart.
        let mut body: Option<Body> = None;
        let all = ops_named(root, "stablehlo.concatenate");
        for concatenate in all.into_iter().filter(|op| Ends::of(*op).is_some_and(|ends| ends.may_go(*op))) {
            if tried == MOST_TRIED {
                break;
            }
            tried += 1;
            if body.as_ref().is_none_or(|body| !body.has(concatenate)) {
                body = concatenate.block().and_then(Body::of);
            }
            let Some(stack) = body.as_ref().and_then(|body| Stack::of(concatenate, root, body)) else {
                continue;
            };
            stack.run(&Builder::new(root));
            body = None;
            count += 1;
        }
        context.count(&UNSTACKED, count);
        Ok((count > 0).into())
    }
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

/// What is made of a concatenate.
struct Stack<'c, 'a> {
    region: Region<'c, 'a>,
    ends: Ends,
}

impl<'c: 'a, 'a> Stack<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>, root: OperationRef<'c, 'a>, body: &Body<'c, 'a>) -> Option<Self> {
        let all = ir::first_result(op)?;
        let (dim, _) = concatenated(op)?;
        let ends = Ends::of(op)?;
        let rules = Rules {
            units: *ends.0.last()?,
            // What is never added up asks neither of these.
            storage: Target::default().storage(),
            ties: Rc::default(),
            f32: Type::float32(context_of(root)),
        };
        // Most concatenates of a large program are joined to all of it, and end at the first op that takes them whole.
        let admits = |op: OperationRef<'c, 'a>, asked: Result<&Role<'c>, usize>| match asked {
            Ok(role) => is_simple(op, role),
            Err(dim) => ends.part(op, dim).is_some(),
        };
        let region = Region::apart(body, &rules, all, dim, &admits)?;
        let this = Self { region, ends };
        this.is_worth_it(all, dim).then_some(this)
    }

    /// Whether all goes that is stacked, and no more is made than that.
    fn is_worth_it(&self, all: Value<'c, 'a>, dim: usize) -> bool {
        let members: Keys = self.region.members.iter().map(|member| ir::op_key(member.op)).collect();
        let only_parts = |value: Value<'c, 'a>, dim: usize| {
            users(value)
                .all(|user| members.contains(&ir::op_key(user)) || self.ends.part(user, dim).is_some())
        };
        let simple = self.region.members.iter().all(|member| is_simple(member.op, &member.role));
        !members.is_empty()
            && members.len() * self.ends.0.len() <= MOST_OPS
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
            let Results::Kept(along) = &member.role.results else { continue };
            build.set_insertion_point_before(member.op);
            let operands: Vec<_> = member
                .op
                .operands()
                .zip(&member.role.operands)
                .map(|(operand, along)| (operand, along.map(|along| along.dim)))
                .collect();
            for (operand, dim) in &operands {
                if let Some(dim) = *dim {
                    let key = (ir::key(*operand), dim);
                    parts.entry(key).or_insert_with(|| self.leaves(*operand, dim, build));
                }
            }
            let mut made: Vec<Vec<Value<'c, 'a>>> = vec![Vec::new(); along.len()];
            for part in self.ends.parts() {
                let of = |(operand, dim): &(Value<'c, 'a>, Option<usize>)| match dim {
                    Some(dim) => parts[&(ir::key(*operand), *dim)][part],
                    None => *operand,
                };
                let operands: Vec<Value> = operands.iter().map(of).collect();
                let types: Vec<Type> = member
                    .op
                    .results()
                    .zip(along)
                    .map(|(result, along)| self.ty(result.r#type(), along.dim, part))
                    .collect();
                let attributes = self.attributes(member.op, along[0].dim, part, build);
                let copy = build.copy_with(member.op, &operands, &attributes, &types);
                made.iter_mut().zip(copy.results()).for_each(|(made, result)| made.push(result.into()));
            }
            for ((result, along), made) in member.op.results().zip(along).zip(made) {
                self.take(result.into(), along.dim, &made, build);
                parts.insert((ir::key(result.into()), along.dim), made);
            }
        }
        for member in self.region.members.iter().rev() {
            if is_unused(member.op) {
                build.erase(member.op);
            }
        }
    }

    /// The sizes that an op states of its result.
    fn attributes(
        &self,
        op: OperationRef<'c, 'a>,
        dim: usize,
        part: usize,
        build: &Builder<'c, 'a>,
    ) -> Vec<(&'static str, melior::ir::Attribute<'c>)> {
        let name = match op_name(op) {
            "stablehlo.slice" => "limit_indices",
            "stablehlo.dynamic_slice" => "slice_sizes",
            _ => return Vec::new(),
        };
        let mut sizes = ir::i64_array(op, name).unwrap_or_default().to_vec();
        sizes[dim] = self.ends.size(part);
        vec![(name, build.i64_array(&sizes))]
    }

    fn ty(&self, ty: Type<'c>, dim: usize, part: usize) -> Type<'c> {
        let tensor = Tensor::new(ty).expect("what is sliced is a tensor");
        let mut shape = tensor.shape.to_vec();
        shape[dim] = self.ends.size(part);
        Tensor::get(&shape, tensor.element, None)
    }

    /// The parts of a value that is there: what a concatenate of the same parts is of, or slices.
    fn leaves(&self, value: Value<'c, 'a>, dim: usize, build: &Builder<'c, 'a>) -> Vec<Value<'c, 'a>> {
        let same = defining_op(value).filter(|op| op_name(*op) == "stablehlo.concatenate").filter(|op| {
            let sizes = concatenated(*op).filter(|(along, _)| *along == dim).map(|(_, sizes)| sizes);
            let own = self.ends.parts().map(|part| self.ends.size(part));
            sizes.is_some_and(|sizes| sizes.into_iter().eq(own))
        });
        if let Some(same) = same {
            return same.operands().collect();
        }
        let location = defining_op(value).map_or(self.region.anchor.location(), |op| op.location());
        self.ends
            .parts()
            .map(|part| {
                let ty = self.ty(value.r#type(), dim, part);
                let mut start = vec![0; Tensor::new(ty).map_or(0, |tensor| tensor.rank())];
                start[dim] = self.ends.start(part);
                build.slice(value, &start, ty, location)
            })
            .collect()
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
