// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values are laid out how, and which parts of a program are for one device.

use super::mesh::{Layout, Mesh};
use super::moves::{is_elementwise, is_shared, is_update, plain};
use crate::data_parallel::is_open;
use crate::functions::{callee, says_only};
use crate::ir;
use crate::rewrite::{defining_op, uses, walk};
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, OperationRef, RegionLike, Value, ValueLike};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{TensorSharding, TensorShardingPerValue, View};
use slimhlo_dialect::sdy::sharding::{manual_axes_of, mesh_of};
use slimhlo_dialect::types::Tensor;

/// The name under which shardings hang on functions' arguments and results, and on ops.
pub const SHARDING: &str = "sdy.sharding";

/// Which values are known to be laid out how: those that say so, and those that partitioners give the layout of a
/// neighbour of the same shape.
pub struct Known<'c> {
    /// The mesh of all layouts.
    pub mesh: Mesh<'c>,
    /// Whether ops say how they are laid out, each by itself, as Reactant has it.
    pub by_op: bool,
    layouts: FxHashMap<usize, Layout>,
    /// How functions hand out what they return.
    returned: FxHashMap<usize, Layout>,
    /// Values of which devices have sums that are still to be added up: how they are laid out says nothing of what is there.
    partial: FxHashSet<usize>,
    /// Values of which, where ops do not say it, only what takes them tells how they are laid out.
    inferred: FxHashSet<usize>,
}

impl<'c> Known<'c> {
    /// Looks through `root`; `None` if nothing in it is sharded in a way that is understood.
    pub fn new<'a>(root: OperationRef<'c, 'a>, partitions: i64) -> Option<Self>
    where
        'c: 'a,
    {
        // Where results' types are values' own (constraints), or ops say so, or functions.
        let mut said: Vec<(Value<'c, 'a>, TensorSharding<'c>)> = Vec::new();
        let mut returned: Vec<(Value<'c, 'a>, TensorSharding<'c>)> = Vec::new();
        // What manual computations take a value as, if it says nothing itself.
        let mut asked: Vec<(Value<'c, 'a>, TensorSharding<'c>)> = Vec::new();
        let mut by_op = false;
        let mut entered: FxHashSet<usize> = FxHashSet::default();
        let mut ops = Vec::new();
        let mut mesh: Option<Mesh<'c>> = None;
        // What functions say of what they give, by name.
        let mut given: FxHashMap<&'c str, Vec<Option<TensorSharding<'c>>>> = FxHashMap::default();
        walk(root, |op| {
            let found = said.len();
            let before = returned.len();
            let name = op_name(op);
            if name == "func.func" {
                if let Some(symbol) = ir::string_attribute(op, "sym_name") {
                    given.insert(symbol, shardings_at(op, "res_attrs"));
                }
                boundary(op, &mut said, &mut returned);
                if is_entry(op) {
                    entered.extend(said[found..].iter().map(|(value, _)| ir::key(*value)));
                }
            }
            for (index, result) in op.results().enumerate() {
                if let Some(sharding) = sharding_of_result(op, name, index) {
                    by_op |= name.starts_with("stablehlo.");
                    said.push((result.into(), sharding));
                }
            }
            let first = said.get(found).or(returned.get(before));
            if let (None, Some((_, sharding))) = (&mesh, first) {
                mesh = Mesh::of(*sharding, op, partitions);
            }
            if name == "sdy.manual_computation" {
                let taken = ffi::attribute_of(op, "in_shardings").and_then(TensorShardingPerValue::view);
                for (operand, sharding) in
                    op.operands().zip(taken.iter().flat_map(|taken| taken.shardings().iter()))
                {
                    asked.push((operand, sharding));
                }
                return WalkResult::Skip;
            }
            ops.push(op);
            WalkResult::Advance
        });
        let mut known = Self {
            mesh: mesh?,
            by_op,
            layouts: FxHashMap::default(),
            returned: FxHashMap::default(),
            partial: FxHashSet::default(),
            inferred: FxHashSet::default(),
        };
        for (value, sharding) in said {
            if !sharding.unreduced_axes().is_empty() {
                known.partial.insert(ir::key(value));
            }
            let Some(layout) = known.mesh.layout(sharding) else { continue };
            // What comes from outside comes in even parts.
            let layout = match (entered.contains(&ir::key(value)), ffi::shape(value.r#type())) {
                (true, Some(shape)) if by_op => layout.at_boundary(shape, &known.mesh),
                _ => Some(layout),
            };
            if let Some(layout) = layout {
                known.set(value, layout);
            }
        }
        if by_op {
            ops.iter().for_each(|op| known.called(*op, &given));
        }
        ops.iter().for_each(|op| known.forward(*op, false));
        for (value, sharding) in &returned {
            let layout = known.mesh.layout(*sharding);
            if let (Some(layout), Some(shape)) = (layout, ffi::shape(value.r#type()))
                && let Some(layout) = layout.at_boundary(shape, &known.mesh)
            {
                known.returned.insert(ir::key(*value), layout);
            }
        }
        if by_op {
            known.carry(&ops, returned.into_iter().chain(asked), false);
            return Some(known);
        }
        known.carry(&ops, returned, false);
        let said: FxHashSet<usize> = known.layouts.keys().copied().collect();
        known.carry(&ops, asked, true);
        known.inferred = known.layouts.keys().filter(|value| !said.contains(value)).copied().collect();
        Some(known)
    }

    /// Lays values out as somebody asks for them, and others like these; with `inside` also what is most of a larger array like that, where
    /// it comes out even.
    fn carry<'a>(
        &mut self,
        ops: &[OperationRef<'c, 'a>],
        asked: impl IntoIterator<Item = (Value<'c, 'a>, TensorSharding<'c>)>,
        inside: bool,
    ) where
        'c: 'a,
    {
        for (value, sharding) in asked {
            if let Some(layout) = self.mesh.layout(sharding) {
                self.add(value, &layout);
            }
        }
        ops.iter().rev().for_each(|op| self.backward(*op, inside));
        ops.iter().for_each(|op| self.forward(*op, true));
    }

    /// Whether a value's layout is that of a computation that takes it, or of what it is most of, and nothing else says it.
    pub fn is_inferred(&self, value: Value<'c, '_>) -> bool {
        self.inferred.contains(&ir::key(value))
    }

    /// The layout of a value, if it is known.
    pub fn layout(&self, value: Value<'c, '_>) -> Option<&Layout> {
        self.layouts.get(&ir::key(value))
    }

    /// Whether devices have sums of a value that are still to be added up.
    pub fn is_partial(&self, value: Value<'c, '_>) -> bool {
        self.partial.contains(&ir::key(value))
    }

    /// Whether `user` returns a value from its function, in this layout.
    pub fn is_returned_as(&self, user: OperationRef<'c, '_>, value: Value<'c, '_>, layout: &Layout) -> bool {
        op_name(user) == "func.return" && self.returned_as(value) == Some(layout)
    }

    /// The layout in which a value is returned from its function, if it is.
    pub fn returned_as(&self, value: Value<'c, '_>) -> Option<&Layout> {
        self.returned.get(&ir::key(value))
    }

    /// Sizes of the tiles of an array, if arrays laid out like that are understood: parts that do not come out even are where each op says
    /// how it is laid out. Elsewhere partitioners decide for themselves where to pad.
    pub fn tile(&self, layout: &Layout, shape: &[i64]) -> Option<Vec<i64>> {
        match self.by_op {
            true => layout.tile_shape(shape, &self.mesh.grid),
            false => layout.local_shape(shape, &self.mesh.grid),
        }
    }

    /// Forgets a value that is about to be erased.
    pub fn forget(&mut self, value: Value<'c, '_>) {
        self.layouts.remove(&ir::key(value));
    }

    /// Notes a value's layout.
    pub fn set(&mut self, value: Value<'c, '_>, layout: Layout) {
        self.layouts.insert(ir::key(value), layout);
    }

    fn add(&mut self, value: Value<'c, '_>, layout: &Layout) {
        let rank = Tensor::new(value.r#type()).map(|tensor| tensor.rank());
        if rank == Some(layout.0.len()) && !self.is_partial(value) {
            self.layouts.entry(ir::key(value)).or_insert_with(|| layout.clone());
        }
    }

    /// Lays what a call gives out as the function says, if the call says nothing.
    fn called<'a>(
        &mut self,
        op: OperationRef<'c, 'a>,
        given: &FxHashMap<&'c str, Vec<Option<TensorSharding<'c>>>>,
    ) where
        'c: 'a,
    {
        let called = Some(op).filter(|op| op_name(*op) == "func.call").and_then(callee);
        let Some(shardings) = called.and_then(|name| given.get(name)) else { return };
        for (result, sharding) in op.results().zip(shardings) {
            if let Some(layout) = sharding.and_then(|sharding| self.mesh.layout(sharding)) {
                self.add(result.into(), &layout);
            }
        }
    }

    /// Gives an op that says nothing the layout of what it is made of. Where ops say theirs, one that says nothing is
    /// not whole on each device for being made of what is, as long as something else may cut it: that is left for the
    /// `last` round.
    fn forward<'a>(&mut self, op: OperationRef<'c, 'a>, last: bool)
    where
        'c: 'a,
    {
        let name = op_name(op);
        if name == "stablehlo.while" {
            for (index, operand) in op.operands().enumerate() {
                // What the loop says of itself goes before what it is begun with.
                let said = op.results().nth(index).and_then(|result| self.layout(result.into()));
                let Some(layout) = said.or_else(|| self.layout(operand)).cloned() else { continue };
                for region in 0..op.region_count() {
                    let block = op.region(region).ok().and_then(|region| region.first_block());
                    if let Some(argument) = block.and_then(|block| block.argument(index).ok()) {
                        self.add(argument.into(), &layout);
                    }
                }
                if let Some(result) = op.results().nth(index) {
                    self.add(result.into(), &layout);
                }
            }
            return;
        }
        let Some(result) = op.results().next().map(Value::from) else { return };
        if op.result_count() != 1 || self.layout(result).is_some() {
            return;
        }
        let layout = match name {
            _ if is_update(op) => op.operands().next().and_then(|operand| self.layout(operand)).cloned(),
            _ if is_elementwise(op) => {
                let of_shape = op.operands().filter(|operand| same_shape(*operand, result));
                let layouts: Vec<_> = of_shape.filter_map(|operand| self.layout(operand)).collect();
                let whole = |layout: &&Layout| self.by_op && layout.is_whole();
                layouts
                    .iter()
                    .find(|layout| !whole(layout))
                    .or(layouts.first())
                    .map(|layout| (*layout).clone())
            }
            "stablehlo.concatenate" => op
                .operands()
                .map(part_of)
                .filter(|whole| same_shape(*whole, result))
                .find_map(|whole| self.layout(whole))
                .cloned()
                .or_else(|| self.like_operand(op)),
            _ => self.like_operand(op),
        };
        if let Some(layout) = layout.filter(|layout| last || !self.by_op || !layout.is_whole()) {
            self.add(result, &layout);
        }
    }

    /// The layout that a partitioner gives a move or a change of dimensions that says nothing, among ops that do: that of what it is made of.
    fn like_operand<'a>(&self, op: OperationRef<'c, 'a>) -> Option<Layout>
    where
        'c: 'a,
    {
        self.by_op.then_some(())?;
        match op_name(op) {
            "stablehlo.slice" | "stablehlo.pad" | "stablehlo.reverse" => {
                self.layout(op.operands().next()?).cloned()
            }
            "stablehlo.concatenate" => op.operands().find_map(|operand| self.layout(operand)).cloned(),
            name => reordered(op, name, self.layout(op.operands().next()?)?),
        }
    }

    fn backward<'a>(&mut self, op: OperationRef<'c, 'a>, inside: bool)
    where
        'c: 'a,
    {
        let Some(result) = op.results().next().map(Value::from) else { return };
        if op.result_count() != 1 {
            return;
        }
        let Some(layout) = self.layout(result).cloned() else { return };
        match op_name(op) {
            name if name == "sdy.sharding_constraint" || is_update(op) => {
                if let Ok(operand) = op.operand(0) {
                    self.add(operand, &layout);
                }
            }
            _ if is_elementwise(op) => {
                for operand in op.operands().filter(|operand| same_shape(*operand, result)) {
                    self.add(operand, &layout);
                }
            }
            "stablehlo.concatenate" => {
                for whole in op.operands().map(part_of).filter(|whole| same_shape(*whole, result)) {
                    self.add(whole, &layout);
                }
                let is_understood = |value: &Value<'c, 'a>| {
                    plain(*value).and_then(|all| self.tile(&layout, all.shape)).is_some()
                };
                if let Some(most) = Some(op).filter(|_| inside).and_then(most_of).filter(is_understood) {
                    self.add(most, &layout);
                }
            }
            _ => {}
        }
    }
}

/// The layout of what `op` makes of an array laid out like that by giving its dimensions another order, or adding some of one element.
pub fn reordered(op: OperationRef<'_, '_>, name: &str, layout: &Layout) -> Option<Layout> {
    match name {
        "stablehlo.transpose" => {
            let order = ir::i64_array(op, "permutation")?;
            order
                .iter()
                .map(|&dim| layout.0.get(usize::try_from(dim).ok()?).cloned())
                .collect::<Option<_>>()
                .map(Layout)
        }
        "stablehlo.reshape" => {
            let (from, to) = (plain(op.operands().next()?)?.shape, plain(op.results().next()?.into())?.shape);
            let is_one = |(dim, axes): (usize, &Vec<usize>)| from[dim] != 1 || axes.is_empty();
            layout.0.iter().enumerate().all(is_one).then_some(())?;
            let mut dims = from.iter().zip(&layout.0).filter(|(size, _)| **size != 1);
            let mut axes = Vec::with_capacity(to.len());
            for &size in to {
                axes.push(match size {
                    1 => Vec::new(),
                    _ => dims.next().filter(|(other, _)| **other == size)?.1.clone(),
                });
            }
            dims.next().is_none().then_some(Layout(axes))
        }
        _ => None,
    }
}

/// The array that `value` is a part of: what is joined to one as large again is laid out like it.
fn part_of<'c: 'a, 'a>(value: Value<'c, 'a>) -> Value<'c, 'a> {
    let mut value = value;
    for _ in 0..4 {
        let Some(op) = defining_op(value) else { break };
        match op_name(op) {
            "stablehlo.slice" | "stablehlo.reverse" => match op.operand(0) {
                Ok(operand) => value = operand,
                Err(_) => break,
            },
            _ => break,
        }
    }
    value
}

/// What is most of what a concatenation joins, if parts of it are joined to it, or others read it: the inside of a field whose halos
/// are filled. Its parts are nearly where those of the field are. One that is joined itself has such an inside, too.
fn most_of<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Option<Value<'c, 'a>> {
    /// Halos are filled along one dimension after the other.
    const DIMENSIONS: usize = 8;
    let elements =
        |value: Value<'c, 'a>| Tensor::new(value.r#type()).and_then(|tensor| tensor.element_count());
    let most = |op: OperationRef<'c, 'a>| {
        let all = op.results().next().map(Value::from).and_then(elements)?;
        let is_most = |value: &Value<'c, 'a>| elements(*value).is_some_and(|some| 2 * some > all);
        op.operands().find(|operand| is_shared(*operand) && is_most(operand))
    };
    let is_join = |op: &OperationRef<'c, 'a>| op_name(*op) == "stablehlo.concatenate";
    let found = most(op)?;
    let mut inside = found;
    for _ in 0..DIMENSIONS {
        let Some(join) = defining_op(inside).filter(is_join) else { return Some(found) };
        inside = most(join)?;
    }
    None
}

fn same_shape(left: Value<'_, '_>, right: Value<'_, '_>) -> bool {
    ffi::shape(left.r#type()) == ffi::shape(right.r#type())
}

/// What a function says of its arguments or results, by the name of the attribute that says it.
pub(crate) fn shardings_at<'c>(
    function: OperationRef<'c, '_>,
    name: &str,
) -> Vec<Option<TensorSharding<'c>>> {
    let Some(list) = ffi::attribute_of(function, name).and_then(|list| ArrayAttribute::try_from(list).ok())
    else {
        return Vec::new();
    };
    (0..list.len())
        .map(|index| {
            let dictionary = DictionaryAttribute::try_from(list.element(index).ok()?).ok()?;
            TensorSharding::view(ffi::attribute_in(dictionary, SHARDING)?)
        })
        .collect()
}

/// What a function says of its arguments or results, by the name of the attribute that says it; `None` if it says
/// something else, too, but for where they come from.
pub(super) fn said_of<'c>(
    function: OperationRef<'c, '_>,
    name: &str,
) -> Option<Vec<Option<TensorSharding<'c>>>> {
    let list = ffi::attribute_of(function, name).and_then(|list| ArrayAttribute::try_from(list).ok());
    for index in 0..list.map_or(0, |list| list.len()) {
        let dictionary = DictionaryAttribute::try_from(list?.element(index).ok()?).ok()?;
        says_only(dictionary, &[SHARDING]).then_some(())?;
    }
    Some(shardings_at(function, name))
}

/// What a function says about its arguments and results.
fn boundary<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    said: &mut Vec<(Value<'c, 'a>, TensorSharding<'c>)>,
    returned: &mut Vec<(Value<'c, 'a>, TensorSharding<'c>)>,
) {
    let Some(block) = function.region(0).ok().and_then(|region| region.first_block()) else { return };
    for (index, sharding) in shardings_at(function, "arg_attrs").into_iter().enumerate() {
        if let (Some(sharding), Ok(argument)) = (sharding, block.argument(index)) {
            said.push((argument.into(), sharding));
        }
    }
    let Some(end) = block.terminator() else { return };
    for (index, sharding) in shardings_at(function, "res_attrs").into_iter().enumerate() {
        if let (Some(sharding), Some(value)) = (sharding, end.operands().nth(index)) {
            returned.push((value, sharding));
        }
    }
}

/// The arguments of the program's entry function, and how they come, if that is known: in even parts.
pub(crate) fn taken<'c: 'a, 'a>(root: OperationRef<'c, 'a>, mesh: &Mesh<'c>) -> Vec<(Value<'c, 'a>, Layout)> {
    let (mut said, mut returned) = (Vec::new(), Vec::new());
    walk(root, |op| {
        if op_name(op) != "func.func" {
            return WalkResult::Advance;
        }
        if is_entry(op) {
            boundary(op, &mut said, &mut returned);
        }
        WalkResult::Skip
    });
    let even = |(value, sharding): (Value<'c, 'a>, TensorSharding<'c>)| {
        let layout = mesh.layout(sharding)?.at_boundary(ffi::shape(value.r#type())?, mesh)?;
        Some((value, layout))
    };
    said.into_iter().filter_map(even).collect()
}

fn sharding_of_result<'c>(op: OperationRef<'c, '_>, name: &str, index: usize) -> Option<TensorSharding<'c>> {
    let per_value = |name: &str| -> Option<TensorSharding<'c>> {
        TensorShardingPerValue::view(ffi::attribute_of(op, name)?)?.shardings().get(index)
    };
    match name {
        "sdy.sharding_constraint" | "sdy.reshard" => TensorSharding::view(ffi::attribute_of(op, "sharding")?),
        "sdy.manual_computation" => per_value("out_shardings"),
        _ => op
            .discardable_attribute(SHARDING)
            .ok()
            .and_then(|attribute| TensorShardingPerValue::view(attribute)?.shardings().get(index)),
    }
}

/// Whether this is the program's entry function.
pub(crate) fn is_entry(function: OperationRef<'_, '_>) -> bool {
    op_name(function) == "func.func"
        && ffi::attribute_of(function, "sym_name")
            .and_then(|name| StringAttribute::try_from(name).ok())
            .is_some_and(|name| ffi::string_value(name) == "main")
}

/// Whether `value` goes nowhere but out of the program's entry function.
pub fn only_returned<'c: 'a, 'a>(value: Value<'c, 'a>) -> bool {
    let mut any = false;
    uses(value).all(|used| {
        any = true;
        op_name(used.user) == "func.return" && used.user.parent_operation().is_some_and(is_entry)
    }) && any
}

/// The number of partitions that the module around `op` is for.
pub fn partitions(op: OperationRef<'_, '_>) -> Option<i64> {
    fn climb<'c>(op: OperationRef<'c, '_>) -> Option<i64> {
        if op_name(op) == "builtin.module"
            && let Some(partitions) = ir::constant_attribute(op, "mhlo.num_partitions")
        {
            return Some(partitions);
        }
        climb(op.parent_operation()?)
    }
    climb(op)
}

/// Whether what is in `root` is for several partitions. What is in a manual computation over all axes of its mesh is for one,
/// and what has been made one device's program.
pub(crate) fn is_partitioned<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> bool {
    let mut op = Some(root);
    while let Some(current) = op {
        if is_manual_throughout(current) || is_open(current) {
            return false;
        }
        if ir::constant_attribute(current, "mhlo.num_partitions").is_some_and(|count| count > 1) {
            return true;
        }
        op = current.parent_operation();
    }
    false
}

/// The parts of `root` that are for one partition: all of it, or its manual computations over all axes of their mesh.
pub(crate) fn of_one_partition<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> Vec<OperationRef<'c, 'a>> {
    if !is_partitioned(root) {
        return vec![root];
    }
    let mut found = Vec::new();
    walk(root, |op| {
        if is_manual_throughout(op) {
            found.push(op);
            return WalkResult::Skip;
        }
        WalkResult::Advance
    });
    found
}

/// Whether `op` is a manual computation along all axes of its mesh, so that values in it are one device's.
pub(crate) fn is_manual_throughout<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> bool {
    if op_name(op) != "sdy.manual_computation" {
        return false;
    }
    let first = |name: &str| TensorShardingPerValue::view(ffi::attribute_of(op, name)?)?.shardings().get(0);
    let Some(sharding) = first("in_shardings").or_else(|| first("out_shardings")) else { return false };
    let Ok(mesh) = mesh_of(op, sharding) else { return false };
    let manual = manual_axes_of(op);
    mesh.axes().iter().all(|axis| axis.size() == 1 || manual.contains(&axis.name()))
}

/// Whether an attribute is the number zero with no bit set.
pub fn is_zero_bits(attribute: Attribute<'_>) -> bool {
    use melior::ir::attribute::{BoolAttribute, FloatAttribute, IntegerAttribute};
    if let Ok(float) = FloatAttribute::try_from(attribute) {
        return float.value().to_bits() == 0;
    }
    if let Ok(boolean) = BoolAttribute::try_from(attribute) {
        return !boolean.value();
    }
    IntegerAttribute::try_from(attribute).is_ok_and(|integer| ffi::integer_value(integer) == 0)
}
