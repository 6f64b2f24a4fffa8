// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Where the parts of arrays live: meshes as grids of devices, layouts of arrays over them, and which value has which.

use super::moves::{is_elementwise, is_update};
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

/// Devices in row-major order along the axes of a mesh.
#[derive(Clone, Debug)]
pub struct Grid {
    sizes: Vec<i64>,
    strides: Vec<i64>,
}

impl Grid {
    /// The grid of axes of these sizes, major to minor; `None` if it has more than `most` devices.
    pub fn new(sizes: Vec<i64>, most: i64) -> Option<Self> {
        let mut strides = vec![1; sizes.len()];
        let mut devices: i64 = 1;
        for axis in (0..sizes.len()).rev() {
            strides[axis] = devices;
            devices = devices.checked_mul(sizes[axis]).filter(|&devices| devices > 0 && devices <= most)?;
        }
        Some(Self { sizes, strides })
    }

    /// How many devices there are.
    pub fn devices(&self) -> usize {
        self.sizes.iter().product::<i64>() as usize
    }

    /// How many parts these axes cut a dimension into.
    pub fn parts(&self, axes: &[usize]) -> i64 {
        axes.iter().map(|&axis| self.sizes[axis]).product()
    }

    /// Which of these parts a device holds.
    pub fn part_of(&self, device: usize, axes: &[usize]) -> i64 {
        axes.iter().fold(0, |part, &axis| {
            part * self.sizes[axis] + device as i64 / self.strides[axis] % self.sizes[axis]
        })
    }

    /// The device in the place of `device` that holds another part.
    pub fn with_part(&self, device: usize, axes: &[usize], mut part: i64) -> usize {
        let mut device = device as i64;
        for &axis in axes.iter().rev() {
            let here = device / self.strides[axis] % self.sizes[axis];
            device += (part % self.sizes[axis] - here) * self.strides[axis];
            part /= self.sizes[axis];
        }
        device as usize
    }
}

/// Along which axes of the mesh each dimension of an array is cut, major to minor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout(pub Vec<Vec<usize>>);

impl Layout {
    /// Every device holds all of it.
    pub fn whole(rank: usize) -> Self {
        Self(vec![Vec::new(); rank])
    }

    /// Sizes of the part that one device holds; `None` if the parts do not come out even.
    pub fn local_shape(&self, shape: &[i64], grid: &Grid) -> Option<Vec<i64>> {
        if shape.len() != self.0.len() {
            return None;
        }
        shape
            .iter()
            .zip(&self.0)
            .map(|(size, axes)| {
                let parts = grid.parts(axes);
                (size % parts == 0).then_some(size / parts)
            })
            .collect()
    }

    /// Sizes of the part that one device holds, where the last ones may be short, or hold nothing: parts are as large as they have to be
    /// for all to fit in, which is how partitioners pad. `None` if the rank is another.
    pub fn tile_shape(&self, shape: &[i64], grid: &Grid) -> Option<Vec<i64>> {
        (shape.len() == self.0.len()).then(|| {
            shape
                .iter()
                .zip(&self.0)
                .map(|(size, axes)| {
                    size.div_euclid(grid.parts(axes)) + i64::from(size % grid.parts(axes) != 0)
                })
                .collect()
        })
    }

    /// Sizes of an array padded at its ends until parts come out even.
    pub fn even_shape(&self, shape: &[i64], grid: &Grid) -> Option<Vec<i64>> {
        let tile = self.tile_shape(shape, grid)?;
        Some(tile.iter().zip(&self.0).map(|(size, axes)| size * grid.parts(axes)).collect())
    }

    /// How much of its tile each device has something in, per dimension: less than all of it, or nothing, at the ends of uneven ones.
    pub fn extents(&self, shape: &[i64], grid: &Grid) -> Option<Vec<Vec<i64>>> {
        let tile = self.tile_shape(shape, grid)?;
        let of = |device: usize| {
            let along = |dim: usize| {
                (shape[dim] - grid.part_of(device, &self.0[dim]) * tile[dim]).clamp(0, tile[dim])
            };
            (0..tile.len()).map(along).collect()
        };
        Some((0..grid.devices()).map(of).collect())
    }

    /// What is left of it at the boundary of the program, where parts must come out even: axes of which nothing is left
    /// because they do not divide the dimension. `None` if some of an axis might be.
    pub fn at_boundary(&self, shape: &[i64], grid: &Grid) -> Option<Self> {
        let mut kept = Vec::with_capacity(self.0.len());
        for (size, axes) in shape.iter().zip(&self.0) {
            let mut left = *size;
            let mut divides = true;
            let mut dim = Vec::new();
            for &axis in axes {
                let parts = grid.sizes[axis];
                if divides && left % parts == 0 {
                    left /= parts;
                    dim.push(axis);
                } else {
                    if gcd(left, parts) != 1 {
                        return None;
                    }
                    divides = false;
                }
            }
            kept.push(dim);
        }
        Some(Self(kept))
    }
}

fn gcd(mut left: i64, mut right: i64) -> i64 {
    while right != 0 {
        (left, right) = (right, left % right);
    }
    left
}

/// The one mesh that a program's shardings are on.
pub struct Mesh<'c> {
    /// What shardings refer to it by.
    pub reference: Attribute<'c>,
    /// Names of the axes.
    pub names: Vec<&'c str>,
    /// Its devices.
    pub grid: Grid,
}

impl<'c> Mesh<'c> {
    /// The mesh that `sharding` is on, if it is one whose devices count up and of which there are `partitions`.
    pub fn of(sharding: TensorSharding<'c>, user: OperationRef<'c, '_>, partitions: i64) -> Option<Self> {
        let mesh = mesh_of(user, sharding).ok()?;
        if !mesh.device_ids().is_empty() {
            return None;
        }
        let (names, sizes) = mesh.axes().iter().map(|axis| (axis.name(), axis.size())).unzip();
        let grid = Grid::new(sizes, partitions)?;
        (grid.devices() as i64 == partitions).then_some(Self {
            reference: sharding.mesh_or_ref()?,
            names,
            grid,
        })
    }

    /// The layout that `sharding` asks for, if it leaves nothing open and cuts along whole axes only.
    pub(crate) fn layout(&self, sharding: TensorSharding<'c>) -> Option<Layout> {
        if sharding.mesh_or_ref() != Some(self.reference) || !sharding.unreduced_axes().is_empty() {
            return None;
        }
        let dims = sharding.dims().iter().map(|dim| {
            if !dim.is_closed() {
                return None;
            }
            let axes = dim.axes().iter().map(|axis| {
                let index = self.names.iter().position(|name| *name == axis.name())?;
                axis.sub_axis_info().is_none().then_some(index)
            });
            let axes: Option<Vec<usize>> = axes.collect();
            Some(axes?.into_iter().filter(|&axis| self.grid.sizes[axis] > 1).collect())
        });
        dims.collect::<Option<_>>().map(Layout)
    }
}

/// Which values are known to be laid out how: those that say so, and those that partitioners give the layout of a
/// neighbour of the same shape.
pub struct Known<'c> {
    /// The mesh of all layouts.
    pub mesh: Mesh<'c>,
    /// Whether ops say how they are laid out, each by itself, as Reactant has it.
    pub by_op: bool,
    layouts: FxHashMap<usize, Layout>,
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
        walk(root, |op| {
            let found = said.len();
            let before = returned.len();
            let name = op_name(op);
            if name == "func.func" {
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
        let mut known = Self { mesh: mesh?, by_op, layouts: FxHashMap::default() };
        for (value, sharding) in said {
            let Some(layout) = known.mesh.layout(sharding) else { continue };
            // What comes from outside comes in even parts.
            let layout = match (entered.contains(&ir::key(value)), ffi::shape(value.r#type())) {
                (true, Some(shape)) if by_op => layout.at_boundary(shape, &known.mesh.grid),
                _ => Some(layout),
            };
            if let Some(layout) = layout {
                known.set(value, layout);
            }
        }
        ops.iter().for_each(|op| known.forward(*op));
        for (value, sharding) in returned.into_iter().chain(asked) {
            if let Some(layout) = known.mesh.layout(sharding) {
                known.add(value, &layout);
            }
        }
        ops.iter().rev().for_each(|op| known.backward(*op));
        ops.iter().for_each(|op| known.forward(*op));
        Some(known)
    }

    /// The layout of a value, if it is known.
    pub fn layout(&self, value: Value<'c, '_>) -> Option<&Layout> {
        self.layouts.get(&ir::key(value))
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
        if rank == Some(layout.0.len()) {
            self.layouts.entry(ir::key(value)).or_insert_with(|| layout.clone());
        }
    }

    fn forward<'a>(&mut self, op: OperationRef<'c, 'a>)
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
            _ if is_elementwise(op) => op
                .operands()
                .filter(|operand| same_shape(*operand, result))
                .find_map(|operand| self.layout(operand))
                .cloned(),
            "stablehlo.concatenate" => op
                .operands()
                .map(part_of)
                .filter(|whole| same_shape(*whole, result))
                .find_map(|whole| self.layout(whole))
                .cloned(),
            _ => None,
        };
        if let Some(layout) = layout {
            self.add(result, &layout);
        }
    }

    fn backward<'a>(&mut self, op: OperationRef<'c, 'a>)
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
            }
            _ => {}
        }
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

fn same_shape(left: Value<'_, '_>, right: Value<'_, '_>) -> bool {
    ffi::shape(left.r#type()) == ffi::shape(right.r#type())
}

/// What a function says about its arguments and results.
fn boundary<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    said: &mut Vec<(Value<'c, 'a>, TensorSharding<'c>)>,
    returned: &mut Vec<(Value<'c, 'a>, TensorSharding<'c>)>,
) {
    let shardings = |name: &str| -> Vec<Option<TensorSharding<'c>>> {
        let Some(list) =
            ffi::attribute_of(function, name).and_then(|list| ArrayAttribute::try_from(list).ok())
        else {
            return Vec::new();
        };
        (0..list.len())
            .map(|index| {
                let dictionary = DictionaryAttribute::try_from(list.element(index).ok()?).ok()?;
                TensorSharding::view(ffi::attribute_in(dictionary, SHARDING)?)
            })
            .collect()
    };
    let Some(block) = function.region(0).ok().and_then(|region| region.first_block()) else { return };
    for (index, sharding) in shardings("arg_attrs").into_iter().enumerate() {
        if let (Some(sharding), Ok(argument)) = (sharding, block.argument(index)) {
            said.push((argument.into(), sharding));
        }
    }
    let Some(end) = block.terminator() else { return };
    for (index, sharding) in shardings("res_attrs").into_iter().enumerate() {
        if let (Some(sharding), Some(value)) = (sharding, end.operands().nth(index)) {
            returned.push((value, sharding));
        }
    }
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
fn is_entry(function: OperationRef<'_, '_>) -> bool {
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

/// Whether what is in `root` is for several partitions. What is in a manual computation over all axes of its mesh is for one.
pub(crate) fn is_partitioned<'c: 'a, 'a>(root: OperationRef<'c, 'a>) -> bool {
    let mut op = Some(root);
    while let Some(current) = op {
        if is_manual_throughout(current) {
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
