// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which dimensions a partitioner may cut, in programs for several devices: loops run along others.
//!
//! Shardings of the `sdy` dialect hang on arguments, results, constraints and manual computations. From there partitioners
//! propagate them along dimensions that ops keep. So dimensions that ops relate are put into classes, whichever way
//! propagation would go: of a class that no sharding cuts all dimensions are whole on each device, and a slice of one is local.
//!
//! A loop's body must not need a device to talk to others, as each turn would do so again. An op is *foreign* to a loop if it
//! reduces, contracts, moves along or looks things up in a dimension that is cut, if shardings of one class differ, or
//! if two of its dimensions are cut along one axis of the mesh. What such an op computes is there before the loop, and is sliced.
//!
//! Inside of manual computations over all axes of their mesh values are what one device has: nothing is cut there.

use crate::ir;
use crate::ops::access;
use crate::ops::class;
use crate::ops::products;
use crate::rewrite::walk;
use crate::shards::{Layout, Mesh, is_manual_throughout, partitions};
use crate::tables::{Keys, Table};
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, OperationRef, RegionLike, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{DimensionSharding, TensorSharding, TensorShardingPerValue, View};
use slimhlo_dialect::sdy::sharding::mesh_of;
use slimhlo_dialect::stablehlo::attrs::{GatherDimensionNumbers, ScatterDimensionNumbers};

/// The name under which shardings hang on functions' arguments and results, and on ops.
const SHARDING: &str = "sdy.sharding";
/// The name of shardings in another form, which are not looked into.
const OTHER_SHARDING: &str = "mhlo.sharding";

/// What is known about the dimensions of values in a program for several devices.
#[derive(Default)]
pub struct Cuts<'c> {
    /// The number of a value's first dimension; the others follow.
    first: Table<usize, u32>,
    /// For each whether it may be cut.
    cut: Vec<bool>,
    /// The axes of the mesh along which it is, if all that is said agrees.
    axes: Vec<Vec<usize>>,
    foreign: Keys,
    /// Ops on what is cut that devices do each with its own shards: the axes along which what comes of it is to be summed up.
    own: Table<usize, Vec<usize>>,
    /// The one mesh of all shardings, if there is just one.
    pub mesh: Option<Mesh<'c>>,
    /// Bytes of the arguments and results of the largest function on one device.
    pub floor: i64,
}

/// What shardings say about a class of dimensions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Said<'c> {
    /// Nothing.
    #[default]
    Nothing,
    /// To leave it whole.
    Whole,
    /// To cut it along these axes, major to minor.
    Along(Vec<&'c str>),
    /// Different things, or something that is not understood.
    Mixed,
}

impl<'c> Said<'c> {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, said) | (said, Self::Nothing) => said,
            (said, other) if said == other => said,
            _ => Self::Mixed,
        }
    }

    fn cuts(&self) -> bool {
        matches!(self, Self::Along(_) | Self::Mixed)
    }
}

/// What an op does to dimensions, besides keeping some.
struct Seen<'c, 'a> {
    op: OperationRef<'c, 'a>,
    /// Dimensions along which it needs all there is.
    along: Vec<u32>,
    /// Those among them along which it only sums up.
    sums: usize,
    /// Whether it can be done on shards, as far as the op itself tells.
    simple: bool,
}

/// Classes of dimensions in the making.
struct Classes<'c, 'a> {
    first: Table<usize, u32>,
    parent: Vec<u32>,
    said: Vec<(u32, Said<'c>)>,
    seen: Vec<Seen<'c, 'a>>,
    /// Whether there is a sharding that is not looked into.
    opaque: bool,
    mesh: Option<Mesh<'c>>,
    /// Whether there are several.
    meshes: bool,
    partitions: i64,
    floor: i64,
}

impl<'c> Cuts<'c> {
    /// Of what is in `root`; nothing is known of what is not.
    pub fn new<'a>(root: OperationRef<'c, 'a>) -> Self
    where
        'c: 'a,
    {
        let mut classes = Classes {
            first: Table::default(),
            parent: Vec::new(),
            said: Vec::new(),
            seen: Vec::new(),
            opaque: false,
            mesh: None,
            meshes: false,
            partitions: partitions(root).unwrap_or(1),
            floor: 0,
        };
        walk(root, |op| {
            let name = op_name(op);
            classes.op(op, name);
            if is_manual_throughout(op) { WalkResult::Skip } else { WalkResult::Advance }
        });
        classes.close()
    }

    /// Whether a dimension of a value may be cut.
    pub fn is_cut(&self, value: Value<'_, '_>, dim: usize) -> bool {
        self.first.get(&ir::key(value)).is_some_and(|&first| self.cut[first as usize + dim])
    }

    /// How a value is laid out where devices work each on its own shards.
    pub fn layout(&self, value: Value<'_, '_>) -> Layout {
        let rank = ffi::shape(value.r#type()).map_or(0, <[i64]>::len);
        match self.first.get(&ir::key(value)) {
            Some(&first) => Layout(self.axes[first as usize..first as usize + rank].to_vec()),
            None => Layout::whole(rank),
        }
    }

    /// Whether each device does an op on what is cut with its own shards: then the axes along which what comes of it is to be
    /// summed up.
    pub fn is_own(&self, op: OperationRef<'_, '_>) -> Option<&[usize]> {
        self.own.get(&ir::op_key(op)).map(Vec::as_slice)
    }

    /// Whether an op has no place in a loop's body.
    pub fn is_foreign(&self, op: OperationRef<'_, '_>) -> bool {
        self.foreign.contains(&ir::op_key(op))
    }
}

impl<'c: 'a, 'a> Classes<'c, 'a> {
    /// The number of a value's first dimension, and how many it has.
    fn dims(&mut self, value: Value<'c, 'a>) -> (u32, usize) {
        let rank = ffi::shape(value.r#type()).map_or(0, <[i64]>::len);
        if rank == 0 {
            return (0, 0);
        }
        let parent = &mut self.parent;
        let first = *self.first.entry(ir::key(value)).or_insert_with(|| {
            let first = parent.len() as u32;
            parent.extend(first..first + rank as u32);
            first
        });
        (first, rank)
    }

    fn dim(&mut self, value: Value<'c, 'a>, dim: usize) -> Option<u32> {
        let (first, rank) = self.dims(value);
        (dim < rank).then(|| first + dim as u32)
    }

    fn find(&mut self, mut dim: u32) -> u32 {
        while self.parent[dim as usize] != dim {
            let above = self.parent[self.parent[dim as usize] as usize];
            self.parent[dim as usize] = above;
            dim = above;
        }
        dim
    }

    fn join(&mut self, left: u32, right: u32) {
        let (left, right) = (self.find(left), self.find(right));
        self.parent[left as usize] = right;
    }

    /// A dimension of one value is one of another.
    fn same_dim(&mut self, left: (Value<'c, 'a>, usize), right: (Value<'c, 'a>, usize)) {
        if let (Some(left), Some(right)) = (self.dim(left.0, left.1), self.dim(right.0, right.1)) {
            self.join(left, right);
        }
    }

    /// All dimensions of one value are those of another, if it has as many.
    fn same(&mut self, left: Value<'c, 'a>, right: Value<'c, 'a>) {
        let ((left, rank), (right, other)) = (self.dims(left), self.dims(right));
        if rank == other {
            (0..rank as u32).for_each(|dim| self.join(left + dim, right + dim));
        }
    }

    fn say(&mut self, user: OperationRef<'c, 'a>, value: Value<'c, 'a>, sharding: TensorSharding<'c>) -> i64 {
        let (first, rank) = self.dims(value);
        match &self.mesh {
            None => self.mesh = Mesh::of(sharding, user, self.partitions),
            Some(mesh) => self.meshes |= sharding.mesh_or_ref() != Some(mesh.reference),
        }
        let mesh = mesh_of(user, sharding).ok();
        let dims = sharding.dims();
        let odd = mesh.is_none()
            || dims.len() != rank
            || !sharding.replicated_axes().is_empty()
            || !sharding.unreduced_axes().is_empty();
        let size = |name: &str| {
            let axes = mesh.iter().flat_map(|mesh| mesh.axes().iter());
            axes.filter(|axis| axis.name() == name).map(|axis| axis.size()).next()
        };
        let mut pieces = 1_i64;
        for dim in 0..rank {
            let mut of_dim = || {
                let of: DimensionSharding<'c> = dims.get(dim).filter(|_| !odd)?;
                let mut names = Vec::new();
                for axis in of.axes().iter() {
                    let size = size(axis.name()).filter(|_| axis.sub_axis_info().is_none())?;
                    if size > 1 {
                        pieces = pieces.saturating_mul(size);
                        names.push(axis.name());
                    }
                }
                Some(match (names.is_empty(), of.is_closed()) {
                    (false, _) => Said::Along(names),
                    (true, true) => Said::Whole,
                    (true, false) => Said::Nothing,
                })
            };
            let said = of_dim().unwrap_or(Said::Mixed);
            self.said.push((first + dim as u32, said));
        }
        pieces
    }

    fn all_mixed(&mut self, value: Value<'c, 'a>) {
        let (first, rank) = self.dims(value);
        self.said.extend((0..rank as u32).map(|dim| (first + dim, Said::Mixed)));
    }

    fn op(&mut self, op: OperationRef<'c, 'a>, name: &str) {
        if ffi::attribute_of(op, OTHER_SHARDING).is_some() {
            self.opaque = true;
        }
        match name {
            "func.func" => return self.function(op),
            "sdy.manual_computation" => {
                self.per_value(op, "in_shardings", op.operands());
                self.per_value(op, "out_shardings", op.results().map(Value::from));
                if !is_manual_throughout(op) {
                    // What is cut inside along the axes left over is not looked into.
                    let Some(block) = body(op, 0) else { return };
                    for index in 0..block.argument_count() {
                        if let Ok(argument) = block.argument(index) {
                            self.all_mixed(argument.into());
                        }
                    }
                    let returned = block.terminator();
                    returned.iter().flat_map(|end| end.operands()).for_each(|value| self.all_mixed(value));
                }
                return;
            }
            _ => {}
        }
        self.per_value(op, SHARDING, op.results().map(Value::from));
        for value in op.operands().chain(op.results().map(Value::from)) {
            self.dims(value);
        }
        let (mut along, known) = self.relate(op, name);
        let sums = self.split_sums(op, name, &mut along);
        let simple = known && is_simple(op, name);
        self.seen.push(Seen { op, along, sums, simple });
    }

    fn per_value(
        &mut self,
        op: OperationRef<'c, 'a>,
        name: &str,
        values: impl Iterator<Item = Value<'c, 'a>>,
    ) {
        let Some(attribute) = ffi::attribute_of(op, name) else { return };
        let shardings = TensorShardingPerValue::view(attribute);
        for (index, value) in values.enumerate() {
            match shardings.and_then(|shardings| shardings.shardings().get(index)) {
                Some(sharding) => {
                    self.say(op, value, sharding);
                }
                None => self.all_mixed(value),
            }
        }
    }

    fn function(&mut self, function: OperationRef<'c, 'a>) {
        let Some(block) = body(function, 0) else { return };
        let private = ffi::attribute_of(function, "sym_visibility")
            .and_then(|visibility| StringAttribute::try_from(visibility).ok())
            .is_some_and(|visibility| ffi::string_value(visibility) == "private");
        let given = (0..block.argument_count()).filter_map(|index| block.argument(index).ok());
        let given: Vec<Value<'c, 'a>> = given.map(Value::from).collect();
        let returned: Vec<_> = block.terminator().iter().flat_map(|end| end.operands()).collect();
        let mut floor = 0_i64;
        for (name, values) in [("arg_attrs", given), ("res_attrs", returned)] {
            let list = ffi::attribute_of(function, name).and_then(|list| ArrayAttribute::try_from(list).ok());
            let attributes = |index: usize| {
                let element = list.filter(|list| index < list.len())?.element(index).ok()?;
                DictionaryAttribute::try_from(element).ok()
            };
            for (index, value) in values.into_iter().enumerate() {
                let of =
                    |name: &str| -> Option<Attribute<'c>> { ffi::attribute_in(attributes(index)?, name) };
                self.opaque |= of(OTHER_SHARDING).is_some();
                let pieces = match of(SHARDING).map(TensorSharding::view) {
                    // Callers may do anything.
                    _ if private => {
                        self.all_mixed(value);
                        1
                    }
                    Some(Some(sharding)) => self.say(function, value, sharding),
                    Some(None) => {
                        self.all_mixed(value);
                        1
                    }
                    None => 1,
                };
                floor = floor.saturating_add(ir::bytes(value) / pieces.max(1));
            }
        }
        self.floor = self.floor.max(floor);
    }

    /// Joins the dimensions that an op keeps; gives those along which it needs all there is.
    /// And whether the op is known.
    fn relate(&mut self, op: OperationRef<'c, 'a>, name: &str) -> (Vec<u32>, bool) {
        match self.relate_known(op, name) {
            Some(along) => (along, true),
            None => {
                let values: Vec<_> = op.operands().chain(op.results().map(Value::from)).collect();
                let mut all: Vec<u32> = Vec::new();
                for value in values {
                    let (first, rank) = self.dims(value);
                    all.extend(first..first + rank as u32);
                }
                all.windows(2).for_each(|pair| self.join(pair[0], pair[1]));
                (all, false)
            }
        }
    }

    /// How many of the dimensions along which an op needs all there is it only sums up: they come first.
    fn split_sums(&mut self, op: OperationRef<'c, 'a>, name: &str, along: &mut [u32]) -> usize {
        // What is there at first counts on each device.
        let counts_once = |init: usize| {
            let element = op.results().next().map(|result| ir::element_of(result.r#type()));
            let combine = crate::ops::reducers::combiner(op).zip(element).filter(|_| op.result_count() == 1);
            combine.is_some_and(|(combine, element)| {
                crate::ops::reducers::fresh_identity_of(op, init, combine, element) == Some(None)
            })
        };
        match name {
            "stablehlo.dot_general" => along.len(),
            "stablehlo.reduce" if counts_once(1) => along.len(),
            "stablehlo.scatter" if counts_once(0) => {
                // Updates come from all devices.
                let updates = op.operands().nth(2).map_or((0, 0), |updates| self.dims(updates));
                let is_update = |dim: u32| updates.0 <= dim && dim < updates.0 + updates.1 as u32;
                along.sort_by_key(|dim| !is_update(*dim));
                along.iter().take_while(|dim| is_update(**dim)).count()
            }
            _ => 0,
        }
    }

    fn relate_known(&mut self, op: OperationRef<'c, 'a>, name: &str) -> Option<Vec<u32>> {
        let shape = |value: Value<'c, 'a>| ffi::shape(value.r#type());
        let numbers = |name: &str| ir::i64_array(op, name);
        let result = || op.results().next().map(Value::from);
        let operand = |index: usize| op.operands().nth(index);
        let mut along = Vec::new();
        match name {
            "stablehlo.constant" | "stablehlo.iota" | "func.return" | "stablehlo.return" | "sdy.return"
            | "sdy.mesh" => {}
            "stablehlo.broadcast_in_dim" => {
                let (from, to) = (operand(0)?, result()?);
                let (from_shape, to_shape) = (shape(from)?, shape(to)?);
                for (dim, &at) in numbers("broadcast_dimensions")?.iter().enumerate() {
                    let at = usize::try_from(at).ok()?;
                    if from_shape.get(dim)? == to_shape.get(at)? {
                        self.same_dim((from, dim), (to, at));
                    }
                }
            }
            "stablehlo.transpose" => {
                let (from, to) = (operand(0)?, result()?);
                for (dim, &at) in numbers("permutation")?.iter().enumerate() {
                    self.same_dim((from, usize::try_from(at).ok()?), (to, dim));
                }
            }
            "stablehlo.reshape" => {
                let (from, to) = (operand(0)?, result()?);
                let (from_shape, to_shape) = (shape(from)?, shape(to)?);
                let (mut left, mut right) = (0, 0);
                while left < from_shape.len() || right < to_shape.len() {
                    // The fewest dimensions of each that hold as many elements.
                    let (first, other) = (left, right);
                    let (mut have, mut want) = (1_i64, 1_i64);
                    loop {
                        if have <= want && left < from_shape.len() && (have < want || left == first) {
                            have = have.checked_mul(from_shape[left])?;
                            left += 1;
                        } else if have >= want && right < to_shape.len() && (want < have || right == other) {
                            want = want.checked_mul(to_shape[right])?;
                            right += 1;
                        } else {
                            break;
                        }
                    }
                    (have == want).then_some(())?;
                    let of = |classes: &mut Self, value, range: std::ops::Range<usize>, shape: &[i64]| {
                        let dims = range.filter(|&dim| shape[dim] != 1);
                        dims.filter_map(|dim| classes.dim(value, dim)).collect::<Vec<_>>()
                    };
                    let mut group = of(self, from, first..left, from_shape);
                    let others = of(self, to, other..right, to_shape);
                    let is_kept = group.len() <= 1 && others.len() <= 1;
                    group.extend(others);
                    group.windows(2).for_each(|pair| self.join(pair[0], pair[1]));
                    if !is_kept {
                        along.extend(group);
                    }
                }
            }
            "stablehlo.slice"
            | "stablehlo.pad"
            | "stablehlo.concatenate"
            | "stablehlo.reverse"
            | "stablehlo.dynamic_slice"
            | "stablehlo.dynamic_update_slice" => {
                let to = result()?;
                let to_shape = shape(to)?;
                let turned = if name == "stablehlo.reverse" { numbers("dimensions")? } else { &[] };
                for from in op.operands() {
                    let from_shape = shape(from)?;
                    if from_shape.len() != to_shape.len() {
                        continue;
                    }
                    self.same(from, to);
                    for dim in 0..to_shape.len() {
                        if from_shape[dim] != to_shape[dim] || turned.contains(&(dim as i64)) {
                            along.extend(self.dim(to, dim));
                        }
                    }
                }
            }
            "stablehlo.reduce" => {
                let reduced = numbers("dimensions")?;
                let count = op.operand_count() / 2;
                let from = operand(0)?;
                for (other, to) in op.operands().take(count).zip(op.results()) {
                    self.same(from, other);
                    let kept = (0..shape(from)?.len()).filter(|dim| !reduced.contains(&(*dim as i64)));
                    kept.enumerate().for_each(|(at, dim)| self.same_dim((from, dim), (to.into(), at)));
                }
                for &dim in reduced {
                    along.extend(self.dim(from, usize::try_from(dim).ok()?));
                }
            }
            "stablehlo.sort" => {
                let from = operand(0)?;
                let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
                op.operands().skip(1).for_each(|other| self.same(from, other));
                op.results().for_each(|to| self.same(from, to.into()));
                along.extend(self.dim(from, dim));
            }
            // Partitioners do not cut it, whatever is around it.
            "chlo.top_k" => {
                let from = operand(0)?;
                op.results().for_each(|to| self.same(from, to.into()));
                for dim in 0..shape(from)?.len() {
                    along.extend(self.dim(from, dim));
                }
            }
            "stablehlo.dot_general" => self.dot(op, &mut along)?,
            "stablehlo.gather" => self.gather(op, &mut along)?,
            "stablehlo.scatter" => self.scatter(op, &mut along)?,
            "stablehlo.while" | "stablehlo.if" | "stablehlo.case" => {
                let results: Vec<Value<'c, 'a>> = op.results().map(Value::from).collect();
                // What its body does with what is cut is not looked into.
                for value in &results {
                    let (first, rank) = self.dims(*value);
                    along.extend(first..first + rank as u32);
                }
                let is_loop = name == "stablehlo.while";
                if is_loop {
                    op.operands().zip(&results).for_each(|(from, to)| self.same(from, *to));
                }
                for region in 0..op.region_count() {
                    let block = body(op, region)?;
                    for (index, to) in results.iter().enumerate() {
                        if let Ok(argument) = block.argument(index) {
                            self.same(argument.into(), *to);
                        }
                    }
                    if !is_loop || region == 1 {
                        let end = block.terminator()?;
                        end.operands().zip(&results).for_each(|(from, to)| self.same(from, *to));
                    }
                }
            }
            "stablehlo.optimization_barrier" => {
                op.operands().zip(op.results()).for_each(|(from, to)| self.same(from, to.into()));
            }
            "sdy.sharding_constraint" | "sdy.reshard" => {
                let (from, to) = (operand(0)?, result()?);
                self.same(from, to);
                match ffi::attribute_of(op, "sharding").and_then(TensorSharding::view) {
                    Some(sharding) => {
                        self.say(op, to, sharding);
                    }
                    None => self.all_mixed(to),
                }
            }
            _ if class::is_elementwise(name) || name.starts_with("chlo.") => {
                let to = result()?;
                let own = shape(to)?;
                for from in op.operands() {
                    let shape = shape(from)?;
                    (shape == own || shape.is_empty()).then_some(())?;
                }
                (op.region_count() == 0).then_some(())?;
                op.operands().for_each(|from| self.same(from, to));
                for other in op.results().skip(1) {
                    (shape(other.into())? == own).then_some(())?;
                    self.same(other.into(), to);
                }
            }
            _ => return None,
        }
        Some(along)
    }

    fn dot(&mut self, op: OperationRef<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
        let numbers = products::dot_numbers(op)?;
        let (left, right) = (op.operands().next()?, op.operands().nth(1)?);
        let to: Value<'c, 'a> = op.results().next()?.into();
        let rank = |value: Value<'c, 'a>| ffi::shape(value.r#type()).map(<[i64]>::len);
        let batches = numbers.lhs_batching_dimensions().iter().zip(numbers.rhs_batching_dimensions());
        let mut at = 0;
        for (&own, &other) in batches {
            self.same_dim((left, usize::try_from(own).ok()?), (to, at));
            self.same_dim((right, usize::try_from(other).ok()?), (to, at));
            at += 1;
        }
        let pairs = numbers.lhs_contracting_dimensions().iter().zip(numbers.rhs_contracting_dimensions());
        for (&own, &other) in pairs {
            let own = usize::try_from(own).ok()?;
            self.same_dim((left, own), (right, usize::try_from(other).ok()?));
            along.extend(self.dim(left, own));
        }
        for (value, batch, contracted) in [
            (left, numbers.lhs_batching_dimensions(), numbers.lhs_contracting_dimensions()),
            (right, numbers.rhs_batching_dimensions(), numbers.rhs_contracting_dimensions()),
        ] {
            for dim in 0..rank(value)? {
                if !batch.contains(&(dim as i64)) && !contracted.contains(&(dim as i64)) {
                    self.same_dim((value, dim), (to, at));
                    at += 1;
                }
            }
        }
        Some(())
    }

    fn gather(&mut self, op: OperationRef<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
        let numbers = GatherDimensionNumbers::try_from(ffi::attribute_of(op, "dimension_numbers")?).ok()?;
        let (table, indices) = (op.operands().next()?, op.operands().nth(1)?);
        let to: Value<'c, 'a> = op.results().next()?.into();
        let (shape, out) = (ffi::shape(table.r#type())?, ffi::shape(to.r#type())?);
        let offset = numbers.offset_dims();
        let mut kept = (0..shape.len()).filter(|dim| {
            let dim = *dim as i64;
            !numbers.collapsed_slice_dims().contains(&dim) && !numbers.operand_batching_dims().contains(&dim)
        });
        let mut batch = 0;
        for (dim, &size) in out.iter().enumerate() {
            if offset.contains(&(dim as i64)) {
                let from = kept.next()?;
                self.same_dim((table, from), (to, dim));
                if shape[from] != size {
                    along.extend(self.dim(table, from));
                }
            } else {
                let from = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
                self.same_dim((indices, from), (to, dim));
                batch += 1;
            }
        }
        let pairs = numbers.operand_batching_dims().iter().zip(numbers.start_indices_batching_dims());
        for (&own, &other) in pairs {
            self.same_dim((table, usize::try_from(own).ok()?), (indices, usize::try_from(other).ok()?));
        }
        for &dim in numbers.start_index_map() {
            along.extend(self.dim(table, usize::try_from(dim).ok()?));
        }
        if let Ok(dim) = usize::try_from(numbers.index_vector_dim()) {
            along.extend(self.dim(indices, dim));
        }
        Some(())
    }

    fn scatter(&mut self, op: OperationRef<'c, 'a>, along: &mut Vec<u32>) -> Option<()> {
        let numbers =
            ScatterDimensionNumbers::try_from(ffi::attribute_of(op, "scatter_dimension_numbers")?).ok()?;
        let count = op.operand_count() / 2;
        let indices = op.operands().nth(count)?;
        let paired = numbers.scatter_indices_batching_dims();
        for index in 0..count {
            let (into, updates) = (op.operands().nth(index)?, op.operands().nth(count + 1 + index)?);
            self.same(into, op.results().nth(index)?.into());
            let (shape, window) = (ffi::shape(into.r#type())?, ffi::shape(updates.r#type())?);
            let mut kept = (0..shape.len()).filter(|dim| {
                let dim = *dim as i64;
                !numbers.inserted_window_dims().contains(&dim)
                    && !numbers.input_batching_dims().contains(&dim)
            });
            let mut batch = 0;
            for (dim, &size) in window.iter().enumerate() {
                if numbers.update_window_dims().contains(&(dim as i64)) {
                    let from = kept.next()?;
                    self.same_dim((into, from), (updates, dim));
                    if shape[from] != size {
                        along.extend(self.dim(into, from));
                    }
                } else {
                    let from = batch + usize::from(batch as i64 >= numbers.index_vector_dim());
                    self.same_dim((indices, from), (updates, dim));
                    if !paired.contains(&(from as i64)) {
                        along.extend(self.dim(updates, dim));
                    }
                    batch += 1;
                }
            }
            for (&own, &other) in numbers.input_batching_dims().iter().zip(paired) {
                self.same_dim((into, usize::try_from(own).ok()?), (indices, usize::try_from(other).ok()?));
            }
            for &dim in numbers.scatter_dims_to_operand_dims() {
                along.extend(self.dim(into, usize::try_from(dim).ok()?));
            }
        }
        if let Ok(dim) = usize::try_from(numbers.index_vector_dim()) {
            along.extend(self.dim(indices, dim));
        }
        Some(())
    }

    fn close(mut self) -> Cuts<'c> {
        let seen = std::mem::take(&mut self.seen);
        if self.opaque || self.said.is_empty() {
            // Anything may be cut.
            let foreign = seen.iter().map(|seen| ir::op_key(seen.op)).collect();
            let cut = vec![true; self.parent.len()];
            let axes = vec![Vec::new(); cut.len()];
            return Cuts { cut, axes, first: self.first, foreign, floor: self.floor, ..Cuts::default() };
        }
        let mut classes: Vec<Said<'c>> = vec![Said::Nothing; self.parent.len()];
        for (dim, said) in std::mem::take(&mut self.said) {
            let class = &mut classes[self.find(dim) as usize];
            *class = std::mem::take(class).and(said);
        }
        let mesh = self.mesh.take().filter(|_| !self.meshes);
        let number = |name: &&str| mesh.as_ref()?.names.iter().position(|other| other == name);
        let axes_of = |said: &Said<'c>| -> Option<Vec<usize>> {
            match said {
                Said::Along(names) => names.iter().map(number).collect(),
                _ => Some(Vec::new()),
            }
        };
        let dims = 0..self.parent.len() as u32;
        let cut: Vec<bool> = dims.clone().map(|dim| classes[self.find(dim) as usize].cuts()).collect();
        let axes: Vec<Vec<usize>> =
            dims.map(|dim| axes_of(&classes[self.find(dim) as usize]).unwrap_or_default()).collect();
        let mut foreign = Keys::default();
        let mut own: Table<usize, Vec<usize>> = Table::default();
        for Seen { op, along, sums, simple } in seen {
            let talks = self.is_foreign(op, &along, &classes);
            if talks {
                foreign.insert(ir::op_key(op));
            }
            let Some(mesh) = mesh.as_ref().filter(|_| simple) else { continue };
            if talks && (sums == 0 || self.is_foreign(op, &along[sums..], &classes)) {
                continue;
            }
            let mut any = false;
            let mut even = true;
            for value in op.operands().chain(op.results().map(Value::from)) {
                let (first, rank) = self.dims(value);
                let axes = &axes[first as usize..first as usize + rank];
                any |= axes.iter().any(|axes| !axes.is_empty());
                let shape = ffi::shape(value.r#type()).unwrap_or_default();
                even &= Layout(axes.to_vec()).local_shape(shape, &mesh.grid).is_some();
            }
            if any && even {
                let mut summed: Vec<usize> =
                    along[..sums].iter().flat_map(|&dim| axes[dim as usize].iter().copied()).collect();
                summed.sort_unstable();
                own.insert(ir::op_key(op), summed);
            }
        }
        Cuts { first: self.first, cut, axes, foreign, own, mesh, floor: self.floor }
    }

    fn is_foreign(&mut self, op: OperationRef<'c, 'a>, along: &[u32], classes: &[Said<'c>]) -> bool {
        if along.iter().any(|dim| classes[self.find(*dim) as usize].cuts()) {
            return true;
        }
        // The classes of its dimensions that are cut, and the axes that cut them.
        let mut found: Vec<u32> = Vec::new();
        let mut axes: Vec<&'c str> = Vec::new();
        for value in op.operands().chain(op.results().map(Value::from)) {
            let (first, rank) = self.dims(value);
            let mut own: Vec<u32> = Vec::with_capacity(rank);
            for dim in first..first + rank as u32 {
                let class = self.find(dim);
                match &classes[class as usize] {
                    Said::Nothing | Said::Whole => continue,
                    Said::Mixed => return true,
                    Said::Along(names) => {
                        if own.contains(&class) {
                            return true;
                        }
                        own.push(class);
                        if !found.contains(&class) {
                            found.push(class);
                            if names.iter().any(|name| axes.contains(name)) {
                                return true;
                            }
                            axes.extend(names);
                        }
                    }
                }
            }
        }
        false
    }
}

/// Whether an op can be done on shards of its operands for shards of its result, if these correspond.
pub(crate) fn is_simple(op: OperationRef<'_, '_>, name: &str) -> bool {
    const NOT: &[&str] = &["while", "if", "case", "return", "constant", "optimization_barrier"];
    let known = match name.strip_prefix("stablehlo.") {
        Some(name) => !NOT.contains(&name),
        None => name.starts_with("chlo.") || name == "sdy.sharding_constraint",
    };
    let counts = || {
        op.results().next().is_some_and(|result| ir::element_of(result.r#type()).is_integer())
            || name != "stablehlo.iota"
    };
    known
        && counts()
        && op.result_count() > 0
        && ir::discardable_attributes(op).is_empty()
        && access::is_closed(op)
        && op.operands().chain(op.results().map(Value::from)).all(|value| ir::plain(value).is_some())
}

fn body<'c: 'a, 'a>(op: OperationRef<'c, 'a>, region: usize) -> Option<melior::ir::BlockRef<'c, 'a>> {
    if region >= op.region_count() {
        return None;
    }
    op.region(region).ok().and_then(|region| region.first_block())
}
