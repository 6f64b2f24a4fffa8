// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What ends a plan: reductions, scatters, products and loops whose operands need not be there as a whole, and what each does with chunks.

use super::cuts::Cuts;
use super::plan::Plan;
use crate::ir::{self, bytes, discardable_attributes, element_bytes, element_of, plain};
use crate::ops::access::{Stop, is_closed, keeps_shape};
use crate::ops::class::is_elementwise;
use crate::ops::loops;
use crate::ops::products::{accumulates_in, dot_numbers};
use crate::ops::reducers::{combiner, fresh_identity, indices_dim, keeps_one, scatter_dims, scatter_numbers};
use crate::rewrite::{defining_op, users, uses};
use crate::tables::Keys;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;
use std::rc::Rc;

/// How much smaller than what is reduced a result has to be to be no matter.
pub(super) const SMALL: i64 = 4;

/// How many scatters into one accumulator share a loop at most.
const MOST_LINKS: usize = 64;

/// What a consumer does with its chunks.
#[derive(Clone, Copy)]
pub(super) enum Role {
    Reduce {
        /// The op that joins two partial results.
        combine: &'static str,
        /// What each chunk starts from, if not from the op's own initial value.
        identity: Option<f64>,
    },
    Scatter,
    /// A dot, streamed along contracted dimensions: the number is the left operand's.
    Contract,
    /// An op each chunk of whose result is computed by itself, and put in its place.
    Place,
}

/// A reduce, scatter or dot, to be streamed along a dimension; or what small results of theirs are made into.
#[derive(Clone)]
pub(crate) struct Consumer<'c, 'a> {
    /// The reduce, scatter or dot.
    pub(super) source: OperationRef<'c, 'a>,
    /// The op whose result is wanted: the same, or the last of the elementwise ops that follow it.
    pub(super) op: OperationRef<'c, 'a>,
    /// The result.
    pub(super) value: Value<'c, 'a>,
    pub(super) role: Role,
    /// The element type to accumulate in, if not the op's own.
    pub(super) widen: Option<Type<'c>>,
    /// Dimensions it may be streamed along: of a reduction's operand, of a scatter's updates, of a dot's left operand or,
    /// where chunks of a result are put in their place, of the result.
    pub(super) dims: Vec<usize>,
    /// The one it is.
    pub(super) dim: usize,
    /// Bytes of the largest of its source's operands.
    pub(super) takes: i64,
    /// Whether its source is a dot.
    pub(super) is_dot: bool,
    /// Scatters before it, first to last, each into the result of the one before.
    pub(super) links: Rc<[Link<'c, 'a>]>,
}

/// A scatter into whose result another one scatters.
pub(super) struct Link<'c, 'a> {
    pub(super) op: OperationRef<'c, 'a>,
    /// Dimensions its updates may be streamed along.
    pub(super) dims: Vec<usize>,
}

impl<'c: 'a, 'a> Consumer<'c, 'a> {
    /// The ways in which an op can be one.
    pub(super) fn all(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Vec<Self> {
        let ways = match op_name(op) {
            "stablehlo.dot_general" => Self::dot(op, f32_type),
            "stablehlo.reduce" => Self::reduce(op, f32_type),
            "stablehlo.scatter" => Self::scatter(op, f32_type),
            "chlo.top_k" => Self::top_k(op),
            "stablehlo.while" => Self::turns(op),
            _ => None,
        };
        ways.unwrap_or_default()
    }

    /// A scatter; and with those before it, each of which the next goes on with, if it is the last of several that combine alike:
    /// which update comes first is then no matter, and all can go into one accumulator a chunk at a time.
    pub(super) fn scatter(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Vec<Self>> {
        let last = Self::new(op, f32_type)?;
        if link_after(op).is_some() {
            return Some(vec![last]);
        }
        let sizes = |value: Option<Value<'c, 'a>>, dims: &[usize]| -> Vec<i64> {
            let shape = value.and_then(plain).map(|tensor| tensor.shape);
            shape.map_or_else(Vec::new, |shape| dims.iter().map(|&dim| shape[dim]).collect())
        };
        let mut dims = last.dims.clone();
        let mut links = Vec::new();
        let mut takes = last.takes;
        let mut from = link_before(op);
        while let Some(link) = from.filter(|_| links.len() < MOST_LINKS) {
            let Some(way) = Self::new(link, f32_type) else { break };
            let known = sizes(way.streamed(), &way.dims);
            let both: Vec<usize> = dims
                .iter()
                .copied()
                .filter(|&dim| sizes(last.streamed(), &[dim]).iter().all(|size| known.contains(size)))
                .collect();
            if both.is_empty() {
                break;
            }
            dims = both;
            takes = takes.max(way.takes);
            links.push(Link { op: link, dims: way.dims });
            from = link_before(link);
        }
        if links.is_empty() {
            return Some(vec![last]);
        }
        links.reverse();
        let chain = Self { dims, takes, links: links.into(), ..last.clone() };
        Some(vec![last, chain])
    }

    pub(super) fn dot(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() {
            return None;
        }
        let left = plain(op.operands().next()?)?;
        plain(op.operands().nth(1)?)?;
        let value: Value = op.result(0).ok()?.into();
        let result = plain(value)?;
        let numbers = dot_numbers(op)?;
        let narrow = result.element.is_float() && element_bytes(result.element)? < 4;
        let mut ways = Vec::new();
        // An algorithm names the type it accumulates in: parts are added up in no other.
        let accumulated = if narrow { f32_type } else { result.element };
        if ffi::attribute_of(op, "algorithm").is_none_or(|algorithm| accumulates_in(algorithm, accumulated)) {
            let dims = numbers.lhs_contracting_dimensions().iter().map(|&dim| dim as usize);
            let dims: Vec<usize> = dims.filter(|&dim| left.shape[dim] > 1).collect();
            let widen = narrow.then_some(f32_type);
            ways.push(Self::of(op, op, value, Role::Contract, widen, dims));
        }
        // A result larger than what it is made of is not what the memory goes into.
        if bytes(value) <= bytes(op.operands().next()?).max(bytes(op.operands().nth(1)?)) {
            ways.extend(Self::place(op, root_of_dot(value)));
        }
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    pub(super) fn reduce(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() || !is_closed(op) {
            return None;
        }
        for operand in op.operands() {
            plain(operand)?;
        }
        let mut ways: Vec<Self> = Self::new(op, f32_type).into_iter().collect();
        let takes = bytes(op.operands().next()?);
        for result in op.results() {
            let value: Value = result.into();
            if uses(value).next().is_none() {
                continue;
            }
            let root = root_of_reduce(value, takes / SMALL);
            if bytes(root) <= takes / SMALL {
                ways.extend(Self::place(op, root));
            }
        }
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    /// The largest of each row: rows in chunks.
    pub(super) fn top_k(op: OperationRef<'c, 'a>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() {
            return None;
        }
        let operand = op.operands().next()?;
        plain(operand)?;
        let most = bytes(operand) / SMALL;
        let values = op.results().map(Value::from).filter(|value| uses(*value).next().is_some());
        let roots = values.filter(|value| bytes(*value) <= most).map(|value| root_of_reduce(value, most));
        let mut ways: Vec<Self> = roots.filter_map(|root| Self::place(op, root)).collect();
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    /// What a loop makes of little, such as random numbers, or what is made of that.
    pub(super) fn turns(op: OperationRef<'c, 'a>) -> Option<Vec<Self>> {
        if !discardable_attributes(op).is_empty() || !loops::is_of_little(op) {
            return None;
        }
        let mut roots: Vec<Value<'c, 'a>> = Vec::new();
        for value in large_results(op) {
            let root = root_of_turns(op, value);
            if !roots.contains(&root) {
                roots.push(root);
            }
        }
        let mut ways: Vec<Self> = roots.into_iter().filter_map(|root| Self::place(op, root)).collect();
        ways.retain(|way| !way.dims.is_empty());
        Some(ways)
    }

    /// For back ends that scatter narrow floats as they are: each update rounds what it adds to, in chunks as in the whole.
    pub(super) fn scatter_as_it_is(&mut self) {
        if matches!(self.role, Role::Scatter) {
            self.widen = None;
        }
    }

    /// Chunks of a value, put in their places.
    pub(super) fn place(source: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Option<Self> {
        let result = plain(value)?;
        let op = defining_op(value)?;
        let dims = (0..result.rank()).filter(|&dim| result.shape[dim] > 1).collect();
        discardable_attributes(op).is_empty().then(|| Self::of(source, op, value, Role::Place, None, dims))
    }

    /// The same source's own result instead of what is made of it, along what no partitioner cuts.
    pub(super) fn at_source(&self, cuts: &Cuts<'_>) -> Option<Self> {
        let value: Value<'c, 'a> = self.source.result(0).ok()?.into();
        let place = matches!(self.role, Role::Place) && self.source.result_count() == 1;
        if !place || !(self.is_dot || bytes(value) <= self.takes / SMALL) {
            return None;
        }
        let mut way = Self::place(self.source, value)?;
        way.is_local(cuts).then_some(way)
    }

    pub(super) fn of(
        source: OperationRef<'c, 'a>,
        op: OperationRef<'c, 'a>,
        value: Value<'c, 'a>,
        role: Role,
        widen: Option<Type<'c>>,
        dims: Vec<usize>,
    ) -> Self {
        let takes = source.operands().map(bytes).max().unwrap_or(0);
        let is_dot = op_name(source) == "stablehlo.dot_general";
        Self { source, op, value, role, widen, dims, dim: 0, takes, is_dot, links: Rc::new([]) }
    }

    pub(super) fn new(op: OperationRef<'c, 'a>, f32_type: Type<'c>) -> Option<Self> {
        let name = op_name(op);
        if op.result_count() != 1 || !discardable_attributes(op).is_empty() || !is_closed(op) {
            return None;
        }
        for operand in op.operands() {
            plain(operand)?;
        }
        let element = element_of(op.result(0).ok()?.r#type());
        let combiner = combiner(op);
        let adds = matches!(combiner, Some("stablehlo.add" | "stablehlo.multiply"));
        let narrow = element.is_float() && element_bytes(element)? < 4;
        // Back ends without moves of narrow floats would widen and narrow all of what is scattered into, in each turn.
        let moves = name == "stablehlo.scatter" && element.to_string() != "f16" && keeps_one(op, combiner);
        let widen = (narrow && (adds || moves)).then_some(f32_type);
        let (role, dims) = if name == "stablehlo.reduce" {
            let combine = combiner?;
            let dims = ir::i64_array(op, "dimensions")?.iter().map(|&dim| dim as usize).collect();
            (Role::Reduce { combine, identity: fresh_identity(op, combine, element)? }, dims)
        } else {
            (Role::Scatter, scatter_dims(op, combiner.is_some())?)
        };
        let value = op.result(0).ok()?.into();
        let mut consumer = Self::of(op, op, value, role, widen, dims);
        if widen.is_some()
            && let Role::Reduce { identity, combine } = &mut consumer.role
        {
            // The op's own initial value has the narrow type.
            *identity = Some(if *combine == "stablehlo.add" { -0.0 } else { 1.0 });
        }
        let shape = plain(consumer.streamed()?)?.shape;
        consumer.dims.retain(|&dim| shape[dim] > 1);
        consumer.dims.sort_unstable();
        (!consumer.dims.is_empty()).then_some(consumer)
    }

    /// What is taken apart: the reduction's operand, the scatter's updates.
    pub(super) fn streamed(&self) -> Option<Value<'c, 'a>> {
        match self.role {
            Role::Reduce { .. } | Role::Contract => self.op.operands().next(),
            Role::Scatter => self.op.operands().nth(2),
            Role::Place => Some(self.result()),
        }
    }

    /// Whether there can be something worth a loop on the way to it: a dot takes large values itself if so.
    pub(super) fn may_pay(&self, chunk_bytes: i64) -> bool {
        self.takes.saturating_mul(if self.is_dot { 2 } else { 1 << 16 }) > chunk_bytes
    }

    /// Keeps the dimensions that no partitioner cuts; whether there are any, and no device has to talk to others for it. How a
    /// product is cut that loops add up one in another, partitioners do not find out from what it is added up of: a result of the
    /// program would be whole where it was in shards.
    pub(super) fn is_local(&mut self, cuts: &Cuts<'_>) -> bool {
        let Some(value) = self.streamed() else { return false };
        self.dims.retain(|&dim| !cuts.is_cut(value, dim));
        let rank = plain(self.result()).map_or(0, |tensor| tensor.rank());
        if matches!(self.role, Role::Contract) && (0..rank).any(|dim| cuts.is_cut(self.result(), dim)) {
            return false;
        }
        !self.dims.is_empty() && !cuts.is_foreign(self.source) && !cuts.is_foreign(self.op)
    }

    /// Whether two are ways of one op to the same result.
    pub(super) fn is_the_same(&self, other: &Self) -> bool {
        let places = |consumer: &Self| matches!(consumer.role, Role::Place);
        self.value == other.value || (self.source == other.source && !(places(self) && places(other)))
    }

    /// Whether it is what another was, found by an earlier walk.
    pub(super) fn is_unchanged(&self, other: &Self) -> bool {
        self.source == other.source
            && self.value == other.value
            && std::mem::discriminant(&self.role) == std::mem::discriminant(&other.role)
            && self.dims == other.dims
            && self.links.len() == other.links.len()
    }

    /// Along `dim`.
    pub(super) fn along(&self, dim: usize) -> Self {
        Self { dim, ..self.clone() }
    }

    pub(super) fn result(&self) -> Value<'c, 'a> {
        self.value
    }

    /// The scatters it is, in order.
    pub(super) fn scatters(&self) -> impl Iterator<Item = OperationRef<'c, 'a>> + '_ {
        self.links.iter().map(|link| link.op).chain([self.op])
    }

    /// The first of them.
    pub(super) fn first_scatter(&self) -> OperationRef<'c, 'a> {
        self.links.first().map_or(self.op, |link| link.op)
    }

    pub(super) fn accumulator_type(&self) -> Type<'c> {
        let ty = self.result().r#type();
        match self.widen {
            Some(element) => Tensor::get(ffi::shape(ty).unwrap_or_default(), element, None),
            None => ty,
        }
    }

    /// The values it takes a chunk of, and along which dimension.
    pub(super) fn inputs(&self) -> Vec<(Value<'c, 'a>, usize)> {
        let operand = |index| self.op.operand(index).expect("checked when the consumer was found");
        match self.role {
            Role::Reduce { .. } => vec![(operand(0), self.dim)],
            Role::Scatter => {
                let units = self.units();
                let chunked = |op: OperationRef<'c, 'a>, dim: usize| {
                    let numbers = scatter_numbers(op).expect("checked when the consumer was found");
                    let operand = |index| op.operand(index).expect("checked when the consumer was found");
                    [(operand(1), indices_dim(numbers, dim)), (operand(2), dim)]
                };
                let along = |link: &Link<'c, 'a>| {
                    let shape = ir::operand(link.op, 2).and_then(plain).map(|tensor| tensor.shape);
                    let mut dims = link.dims.iter().copied();
                    shape.and_then(|shape| dims.find(|&dim| shape[dim] == units))
                };
                let links = self.links.iter().flat_map(|link| {
                    chunked(link.op, along(link).expect("checked when the consumer was found"))
                });
                links.chain(chunked(self.op, self.dim)).collect()
            }
            Role::Contract => {
                let right = dot_numbers(self.op)
                    .and_then(|numbers| {
                        let dims = numbers.lhs_contracting_dimensions();
                        let pair = dims.iter().position(|&dim| dim == self.dim as i64)?;
                        Some(numbers.rhs_contracting_dimensions()[pair] as usize)
                    })
                    .expect("checked when the consumer was found");
                vec![(operand(0), self.dim), (operand(1), right)]
            }
            Role::Place => vec![(self.result(), self.dim)],
        }
    }

    /// Units along its dimension.
    pub(super) fn units(&self) -> i64 {
        self.streamed().and_then(plain).map_or(0, |tensor| tensor.shape[self.dim])
    }

    pub(super) fn plan(&self, plan: &mut Plan<'c, 'a>, there: &Keys) -> Result<(), Stop> {
        for (value, dim) in self.inputs() {
            plan.add(value, plan.all_of(value, dim)?, there)?;
        }
        if matches!(self.role, Role::Reduce { identity: None, .. }) {
            plan.add_whole(self.op.operand(1).map_err(|_| Stop::No)?)?;
        }
        Ok(())
    }
}

/// The scatter whose result this one goes on with, if nothing else needs that and both combine alike.
fn link_before<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let before = defining_op(ir::operand(op, 0)?).filter(|before| op_name(*before) == "stablehlo.scatter")?;
    (link_after(before)? == op).then_some(before)
}

/// The scatter that goes on with this one's result, likewise.
fn link_after<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    if op.result_count() != 1 {
        return None;
    }
    let result: Value = op.result(0).ok()?.into();
    let mut uses = uses(result);
    let used = uses.next().filter(|used| used.operand == 0 && op_name(used.user) == "stablehlo.scatter")?;
    let alike = uses.next().is_none()
        && used.user.operand_count() == 3
        && used.user.block() == op.block()
        && discardable_attributes(used.user).is_empty()
        && discardable_attributes(op).is_empty()
        && combiner(op)? == combiner(used.user)?;
    alike.then_some(used.user)
}

/// What a dot's result is made into by nothing but converts and ops with splats, as long as that grows no larger.
fn root_of_dot<'c: 'a, 'a>(value: Value<'c, 'a>) -> Value<'c, 'a> {
    root_of(value, bytes(value), 16, |operand| {
        ir::splat_constant(operand).is_some() || is_splat_broadcast(operand)
    })
}

/// What a reduction's result is made into by elementwise ops alone, as long as that takes no more than `most` bytes.
fn root_of_reduce<'c: 'a, 'a>(value: Value<'c, 'a>, most: i64) -> Value<'c, 'a> {
    root_of(value, most.max(bytes(value)), 16, |_| true)
}

/// What a loop's result is made into by elementwise ops, with nothing large that is there already, as long as it is no larger than
/// all that the loop makes.
pub(super) fn root_of_turns<'c: 'a, 'a>(op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> Value<'c, 'a> {
    let most = large_results(op).into_iter().map(bytes).fold(0, i64::saturating_add);
    root_of(value, most, 64, |operand| loops::is_made_of_little(operand, Some(op)))
}

/// Results of a loop that are no scalars and that something uses.
fn large_results<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Vec<Value<'c, 'a>> {
    let used = |value: &Value<'c, 'a>| uses(*value).next().is_some();
    let large = |value: &Value<'c, 'a>| plain(*value).is_some_and(|tensor| tensor.rank() > 0);
    op.results().map(Value::from).filter(|value| used(value) && large(value)).collect()
}

fn is_splat_broadcast(value: Value<'_, '_>) -> bool {
    defining_op(value).is_some_and(|op| {
        op_name(op) == "stablehlo.broadcast_in_dim" && op.operand(0).is_ok_and(ir::is_rank_zero)
    })
}

/// Follows the only user of a value, and the only user of that, up to `longest`, while they keep its elements apart and `allows`
/// holds for what they take besides.
fn root_of<'c: 'a, 'a>(
    value: Value<'c, 'a>,
    most: i64,
    longest: usize,
    allows: impl Fn(Value<'c, 'a>) -> bool,
) -> Value<'c, 'a> {
    let mut current = value;
    for _ in 0..longest {
        let mut users = users(current);
        let (Some(user), None) = (users.next(), users.next()) else { break };
        let name = op_name(user);
        let keeps = matches!(name, "stablehlo.transpose" | "stablehlo.reshape")
            || (name == "stablehlo.bitcast_convert" && keeps_shape(user))
            || (is_elementwise(name) && user.operands().all(|other| other == current || allows(other)));
        if !keeps
            || user.result_count() != 1
            || !discardable_attributes(user).is_empty()
            || defining_op(current).is_none_or(|op| op.block() != user.block())
        {
            break;
        }
        let Ok(next) = user.result(0) else { break };
        let next: Value = next.into();
        if bytes(next) > most || plain(next).is_none() {
            break;
        }
        current = next;
    }
    current
}
