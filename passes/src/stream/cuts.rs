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
use crate::ops::related::{Dim, Related, related};
use crate::rewrite::{arguments_of, walk};
use crate::shards::{Layout, Mesh, is_entry, is_manual_throughout, partitions, parts_in};
use crate::tables::{Keys, Table};
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, OperationRef, RegionLike, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{DimensionSharding, TensorSharding, TensorShardingPerValue, View};
use slimhlo_dialect::sdy::sharding::mesh_of;

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
enum Said {
    /// Nothing.
    #[default]
    Nothing,
    /// To leave it whole.
    Whole,
    /// To cut it along these axes, major to minor.
    Along(Vec<usize>),
    /// Different things, or something that is not understood.
    Mixed,
}

impl Said {
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
    said: Vec<(u32, Said)>,
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

    fn dim(&mut self, (value, dim): Dim<'c, 'a>) -> Option<u32> {
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

    /// Joins the dimensions that an op keeps; gives those along which it needs all there is, those that it only sums up
    /// first, how many these are, and whether the op is known.
    fn relate(&mut self, op: OperationRef<'c, 'a>) -> (Vec<u32>, usize, bool) {
        let Some(Related { pairs, regrouped, summed, along }) = related(op) else {
            let values: Vec<_> = op.operands().chain(op.results().map(Value::from)).collect();
            let mut all: Vec<u32> = Vec::new();
            for value in values {
                let (first, rank) = self.dims(value);
                all.extend(first..first + rank as u32);
            }
            all.windows(2).for_each(|pair| self.join(pair[0], pair[1]));
            return (all, 0, false);
        };
        for (one, other) in pairs {
            if let (Some(one), Some(other)) = (self.dim(one), self.dim(other)) {
                self.join(one, other);
            }
        }
        let sums = summed.len();
        let mut needed: Vec<u32> = summed.into_iter().chain(along).filter_map(|dim| self.dim(dim)).collect();
        for (from, to) in regrouped {
            let group: Vec<u32> = from.into_iter().chain(to).filter_map(|dim| self.dim(dim)).collect();
            group.windows(2).for_each(|pair| self.join(pair[0], pair[1]));
            needed.extend(group);
        }
        (needed, sums, true)
    }

    fn say(&mut self, user: OperationRef<'c, 'a>, value: Value<'c, 'a>, sharding: TensorSharding<'c>) -> i64 {
        let (first, rank) = self.dims(value);
        // What comes from outside comes in even parts.
        let is_taken = is_entry(user) && value.is_block_argument();
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
        let even = self
            .mesh
            .as_ref()
            .filter(|_| is_taken)
            .and_then(|mesh| mesh.layout(sharding)?.at_boundary(ffi::shape(value.r#type())?, mesh));
        let mut pieces = 1_i64;
        for dim in 0..rank {
            let mut of_dim = || {
                let of: DimensionSharding<'c> = dims.get(dim).filter(|_| !odd)?;
                let mut parts = parts_in(mesh?, of.axes().iter())?;
                let is_given = !parts.is_empty();
                if let Some(even) = &even {
                    parts.retain(|(axis, _)| even.0[dim].contains(axis));
                }
                // It comes in whole, which says nothing of what is made of it: that may be padded first.
                if is_given && parts.is_empty() {
                    return Some(Said::Nothing);
                }
                pieces = parts.iter().fold(pieces, |pieces, (_, size)| pieces.saturating_mul(*size));
                let axes: Vec<usize> = parts.into_iter().map(|(axis, _)| axis).collect();
                Some(match (axes.is_empty(), of.is_closed()) {
                    (false, _) => Said::Along(axes),
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
        let (along, sums, known) = self.relate(op);
        if let "sdy.sharding_constraint" | "sdy.reshard" = name
            && let Some(result) = op.results().next().map(Value::from)
        {
            match ffi::attribute_of(op, "sharding").and_then(TensorSharding::view) {
                Some(sharding) => _ = self.say(op, result, sharding),
                None => self.all_mixed(result),
            }
        }
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
        let given: Vec<Value<'c, 'a>> = arguments_of(block).collect();
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

    fn close(mut self) -> Cuts<'c> {
        let seen = std::mem::take(&mut self.seen);
        if self.opaque || self.said.is_empty() {
            // Anything may be cut.
            let foreign = seen.iter().map(|seen| ir::op_key(seen.op)).collect();
            let cut = vec![true; self.parent.len()];
            let axes = vec![Vec::new(); cut.len()];
            return Cuts { cut, axes, first: self.first, foreign, floor: self.floor, ..Cuts::default() };
        }
        let mut classes: Vec<Said> = vec![Said::Nothing; self.parent.len()];
        for (dim, said) in std::mem::take(&mut self.said) {
            let class = &mut classes[self.find(dim) as usize];
            *class = std::mem::take(class).and(said);
        }
        let mesh = self.mesh.take().filter(|_| !self.meshes);
        let axes_of = |said: &Said| match said {
            Said::Along(axes) if mesh.is_some() => axes.clone(),
            _ => Vec::new(),
        };
        let dims = 0..self.parent.len() as u32;
        let cut: Vec<bool> = dims.clone().map(|dim| classes[self.find(dim) as usize].cuts()).collect();
        let axes: Vec<Vec<usize>> = dims.map(|dim| axes_of(&classes[self.find(dim) as usize])).collect();
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

    fn is_foreign(&mut self, op: OperationRef<'c, 'a>, along: &[u32], classes: &[Said]) -> bool {
        if along.iter().any(|dim| classes[self.find(*dim) as usize].cuts()) {
            return true;
        }
        // The classes of its dimensions that are cut, and the axes that cut them.
        let mut found: Vec<u32> = Vec::new();
        let mut axes: Vec<usize> = Vec::new();
        for value in op.operands().chain(op.results().map(Value::from)) {
            let (first, rank) = self.dims(value);
            let mut own: Vec<u32> = Vec::with_capacity(rank);
            for dim in first..first + rank as u32 {
                let class = self.find(dim);
                match &classes[class as usize] {
                    Said::Nothing | Said::Whole => continue,
                    Said::Mixed => return true,
                    Said::Along(own_axes) => {
                        if own.contains(&class) {
                            return true;
                        }
                        own.push(class);
                        if !found.contains(&class) {
                            found.push(class);
                            if own_axes.iter().any(|axis| axes.contains(axis)) {
                                return true;
                            }
                            axes.extend(own_axes);
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
    const NOT: &[&str] = &[
        "while",
        "if",
        "case",
        "return",
        "constant",
        "optimization_barrier",
        "convolution",
        "reduce_window",
        "select_and_scatter",
    ];
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
        && says_no_more(op)
        && access::is_closed(op)
        && op.operands().chain(op.results().map(Value::from)).all(|value| ir::plain(value).is_some())
}

/// Whether all that hangs on an op is how its results are laid out: what it says is asked with what all others say.
pub(crate) fn says_no_more(op: OperationRef<'_, '_>) -> bool {
    ir::discardable_attributes(op).iter().all(|(name, _)| name.as_string_ref().as_str() == Ok(SHARDING))
}

fn body<'c: 'a, 'a>(op: OperationRef<'c, 'a>, region: usize) -> Option<melior::ir::BlockRef<'c, 'a>> {
    if region >= op.region_count() {
        return None;
    }
    op.region(region).ok().and_then(|region| region.first_block())
}
