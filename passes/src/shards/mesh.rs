// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Meshes as grids of devices, and layouts of arrays over them.

use crate::ir;
use melior::Context;
use melior::ir::{Attribute, OperationRef};
use slimhlo_dialect::sdy::attrs::{self, AxisRef, DimensionSharding, SubAxisInfo, TensorSharding};
use slimhlo_dialect::sdy::sharding::mesh_of;
use std::ops::Range;

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

    /// Whether every device holds all of it.
    pub fn is_whole(&self) -> bool {
        self.0.iter().all(Vec::is_empty)
    }

    /// Whether it is another that leaves some axes out: what is laid out like this is gathered from what is laid out
    /// like that.
    pub fn is_coarser_than(&self, other: &Self) -> bool {
        self != other
            && self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(own, other)| other.starts_with(own))
    }

    /// Whether the dimensions that are cut are cut alike, in the same order, whatever whole ones are between them.
    pub fn is_cut_like(&self, other: &Self) -> bool {
        let [own, others] = [self, other].map(|layout| layout.0.iter().filter(|axes| !axes.is_empty()));
        own.eq(others)
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

    /// What is left of it at the boundary of the program, where parts must come out even: of each dimension the most major axes, and
    /// of the last of them as much as divides what is left of the dimension. `None` if that is a part of an axis that a mesh does not have.
    pub fn at_boundary(&self, shape: &[i64], mesh: &Mesh<'_>) -> Option<Self> {
        let grid = &mesh.grid;
        let mut kept = Vec::with_capacity(self.0.len());
        for (size, axes) in shape.iter().zip(&self.0) {
            let mut left = *size;
            let mut dim = Vec::new();
            for &axis in axes {
                let parts = grid.sizes[axis];
                if left % parts != 0 {
                    // Of the rest of its axis nothing may be left either: 4 of an axis of 6 = 2 * 3.
                    let rest = axes.iter().filter(|&&other| other > axis && mesh.are_of_one(axis, other));
                    let rest: i64 = rest.map(|&other| grid.sizes[other]).product();
                    if ir::gcd(left, rest) != 1 {
                        return None;
                    }
                    break;
                }
                left /= parts;
                dim.push(axis);
            }
            kept.push(dim);
        }
        Some(Self(kept))
    }
}

/// The one mesh that a program's shardings are on. Its axes are taken apart into axes of prime sizes, of which parts of axes are made:
/// the grid's.
pub struct Mesh<'c> {
    /// What shardings refer to it by.
    pub reference: Attribute<'c>,
    /// Names of the axes, and which axes of the grid each is made of.
    axes: Vec<(&'c str, Range<usize>)>,
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
        let (axes, sizes) = taken_apart(mesh);
        let grid = Grid::new(sizes, partitions)?;
        let reference = sharding.mesh_or_ref()?;
        (grid.devices() as i64 == partitions).then_some(Self { reference, axes, grid })
    }

    /// Names of the axes.
    pub fn names(&self) -> impl Iterator<Item = &'c str> {
        self.axes.iter().map(|(name, _)| *name)
    }

    /// Whether two of the grid's axes are parts of one of the mesh's.
    fn are_of_one(&self, left: usize, right: usize) -> bool {
        self.axes.iter().any(|(_, parts)| parts.contains(&left) && parts.contains(&right))
    }

    /// The layout that `sharding` asks for, if it leaves nothing open.
    pub(crate) fn layout(&self, sharding: TensorSharding<'c>) -> Option<Layout> {
        if sharding.mesh_or_ref() != Some(self.reference) || !sharding.unreduced_axes().is_empty() {
            return None;
        }
        let dims = sharding.dims().iter().map(|dim| {
            dim.is_closed().then_some(())?;
            let axes = dim.axes().iter().map(|axis| part(&self.axes, &self.grid.sizes, axis));
            Some(axes.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
        });
        dims.collect::<Option<_>>().map(Layout)
    }

    /// Axes of the grid as a sharding refers to them: those that follow each other in one axis of the mesh as one.
    fn references(&self, context: &'c Context, axes: &[usize]) -> Option<Vec<AxisRef<'c>>> {
        let runs = axes.chunk_by(|&left, &right| right == left + 1 && self.are_of_one(left, right));
        let reference = |run: &[usize]| {
            let (name, parts) = self.axes.iter().find(|(_, parts)| parts.contains(&run[0]))?;
            let size = |parts: &[i64]| parts.iter().product::<i64>();
            let info = match run.len() == parts.len() {
                true => None,
                false => {
                    let before = size(&self.grid.sizes[parts.start..run[0]]);
                    Some(SubAxisInfo::new(context, before, self.grid.parts(run))?)
                }
            };
            AxisRef::new(context, name, info)
        };
        runs.map(reference).collect()
    }

    /// The sharding that asks for a layout, with nothing left open.
    pub(crate) fn sharding(&self, context: &'c Context, layout: &Layout) -> Option<TensorSharding<'c>> {
        let dims = layout
            .0
            .iter()
            .map(|axes| DimensionSharding::new(context, &self.references(context, axes)?, true, None));
        TensorSharding::new(context, self.reference, &dims.collect::<Option<Vec<_>>>()?, &[], &[])
    }
}

/// The axes of a mesh as ranges of axes of prime sizes, and those sizes.
fn taken_apart<'c>(mesh: attrs::Mesh<'c>) -> (Vec<(&'c str, Range<usize>)>, Vec<i64>) {
    let (mut axes, mut sizes) = (Vec::new(), Vec::new());
    for axis in mesh.axes().iter() {
        let first = sizes.len();
        let mut left = axis.size();
        let mut prime = 2;
        while left > 1 {
            if prime > left / prime {
                prime = left;
            }
            while left % prime == 0 {
                sizes.push(prime);
                left /= prime;
            }
            prime += 1;
        }
        axes.push((axis.name(), first..sizes.len()));
    }
    (axes, sizes)
}

/// Which axes of the grid an axis or a part of one is, major to minor; `None` if it is not made of whole ones.
fn part(axes: &[(&str, Range<usize>)], sizes: &[i64], axis: AxisRef<'_>) -> Option<Range<usize>> {
    let (_, all) = axes.iter().find(|(name, _)| *name == axis.name())?;
    let Some(info) = axis.sub_axis_info() else { return Some(all.clone()) };
    let at = |size: i64| -> Option<usize> {
        (all.start..=all.end).find(|&end| sizes[all.start..end].iter().product::<i64>() == size)
    };
    Some(at(info.pre_size())?..at(info.pre_size().checked_mul(info.size())?)?)
}

/// Axes of the grid that `axes` of a mesh are, major to minor, with their sizes; `None` if parts of them are not made of whole ones.
pub(crate) fn parts_in<'c>(
    mesh: attrs::Mesh<'c>,
    axes: impl Iterator<Item = AxisRef<'c>>,
) -> Option<Vec<(usize, i64)>> {
    let (all, sizes) = taken_apart(mesh);
    let parts = axes.map(|axis| part(&all, &sizes, axis)).collect::<Option<Vec<_>>>()?;
    Some(parts.into_iter().flatten().map(|axis| (axis, sizes[axis])).collect())
}
