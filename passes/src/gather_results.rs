// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-gather-results`: what a manual computation gives in tiles, and the program gives in larger parts, devices gather themselves.
//!
//! # What it matches
//!
//! A result of a manual computation along all axes of a mesh, with exchanges in it, that the program returns, as it is or without what
//! is beyond its ends, cut along fewer axes: parts have to come out even at a program's boundary, and 131 rows on 3 devices do not.
//!
//! ```mlir
//! // 3 devices
//! %tiles = sdy.manual_computation(%x) out_shardings=[<@mesh, [{"x"}, {}]>] ... {
//!   ...
//!   sdy.return %tile : tensor<44x36xf64>
//! } : ... -> tensor<132x36xf64>
//! %all = stablehlo.slice %tiles [0:131, 0:36]
//! return %all                               // whole on each device
//! ```
//!
//! becomes
//!
//! ```mlir
//! %all = sdy.manual_computation(%x) out_shardings=[<@mesh, [{}, {}]>] ... {
//!   ...
//!   %row = stablehlo.reshape %tile : (tensor<44x36xf64>) -> tensor<1584xf64>
//!   %one_more = stablehlo.pad %row, %zero, low = [0], high = [1], interior = [0]
//!   %rows = stablehlo.all_gather %one_more : (tensor<1585xf64>) -> tensor<4755xf64>
//!   ... of these the first 131 rows
//!   sdy.return %kept : tensor<131x36xf64>
//! } : ... -> tensor<131x36xf64>
//! ```
//!
//! Where parts at the boundary end elsewhere than tiles do (two parts of 283 rows, each in 8 tiles of 36), rows are first sent on to
//! the device in whose tile they are, counted from where the part begins.
//!
//! # Why it is right
//!
//! A partitioner does the same with the result, by the same number of collectives or more: several for several dimensions. Elements
//! beyond the ends are cut off as they were.
//!
//! # Why it pays
//!
//! XLA gives memory to values by their size, the largest first, and to those of one size in their order. What is gathered, the gathered
//! array and the result are there one after the other, and the first can be where the result will be, if nothing that it is
//! made of is there already: whether it is depends on how many tiles were made before it. By one element more it is first. Else a tile more
//! is stored: 152 KB for 114 (`test/oracle/sharded_fields.py --seed 207 --number 34`).
//!
//! # What it costs
//!
//! An element per device that is sent for nothing.
//!
//! # When it must not fire
//!
//! * Something else reads the result, or what is returned of it.
//! * Nothing is exchanged in the computation: it is somebody's own, or needs none of this.
//! * No array as large is stored on the way to the tile: nothing is in its place.
//! * Rows would have to be sent on along two dimensions, or further than to the next device.
//! * Elements of less than a byte.
//! * For other back ends than XLA for CPU: how these give out memory is another matter.

use crate::framework::{Anchor, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, has_one_use, ops_named, set_attribute, users, walk};
use crate::shards::{
    Known, Layout, all_gather, collective_permute, is_entry, is_manual_throughout, is_trim, looked_up,
    next_channel, only_returned, partitions,
};
use crate::splat::Splat;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{Attribute, Location, OperationRef, RegionLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::sdy::attrs::{TensorShardingPerValue, View};
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Gather what manual computations give in tiles, and the program returns in larger parts, in the computations.
    ///
    /// What a program returns has to come out even, so XLA gathers tiles that do not. Whether a tile is stored for that beside the
    /// gathered array is a matter of what else is as large; what is larger by an element is not.
    ///
    /// ```mlir
    /// %tiles = sdy.manual_computation(%x) out_shardings=[<@mesh, [{"x"}]>] ... { ... sdy.return %tile }
    /// %all = stablehlo.slice %tiles [0:131]
    /// // becomes
    /// %all = sdy.manual_computation(%x) out_shardings=[<@mesh, [{}]>] ... {
    ///   ...
    ///   %rows = stablehlo.all_gather %one_more
    ///   sdy.return %kept
    /// }
    /// ```
    pub struct GatherResults;
}

const GATHERED: Statistic = Statistic::new(c"num-gathered", c"results that devices gather themselves");

impl Pass for GatherResults {
    const ARGUMENT: &'static str = "slimhlo-gather-results";
    const ANCHOR: Anchor = Anchor::Module;
    const STATISTICS: &'static [Statistic] = &[GATHERED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let mut computations = Vec::new();
        walk(root, |op| {
            if is_manual_throughout(op) {
                let is_outermost = op.parent_operation().is_some_and(is_entry);
                computations.extend(Some(op).filter(|op| is_outermost && has_exchanges(*op)));
                return WalkResult::Skip;
            }
            WalkResult::Advance
        });
        let known = partitions(root).filter(|&partitions| partitions > 1 && !computations.is_empty());
        let Some(known) = known.and_then(|partitions| Known::new(root, partitions)) else {
            return Ok(Changed::No);
        };
        let mut gather = Gather { build: Builder::new(root), channel: next_channel(root), known: &known };
        let mut gathered = 0;
        for computation in computations {
            for number in 0..computation.result_count() {
                gathered += u64::from(gather.result(computation, number).is_some());
            }
        }
        context.count(&GATHERED, gathered);
        Ok(Changed::from(gathered > 0))
    }
}

/// How a result is handed out.
struct Handed<'c, 'a> {
    /// What cuts off what is beyond its ends, if there is something.
    trim: Option<OperationRef<'c, 'a>>,
    shape: &'c [i64],
    /// How it is laid out in tiles, and in larger parts.
    own: Layout,
    kept: Layout,
    tile: Vec<i64>,
    location: Location<'c>,
    /// Along which dimension larger parts end elsewhere than tiles, and by how much less than they are together in.
    shift: Option<(usize, i64)>,
}

struct Gather<'c, 'a, 'r> {
    build: Builder<'c, 'a>,
    channel: i64,
    known: &'r Known<'c>,
}

impl<'c: 'a, 'a> Gather<'c, 'a, '_> {
    /// Gathers a result of a computation in it; `None` if that is not to be done.
    fn result(&mut self, computation: OperationRef<'c, 'a>, number: usize) -> Option<()> {
        let end = computation.regions().next()?.first_block()?.terminator()?;
        let tile = end.operands().nth(number)?;
        are_tiles_before(tile).then_some(())?;
        let handed = self.handed(computation.results().nth(number)?.into(), tile)?;
        let list = ffi::attribute_of(computation, "out_shardings").and_then(TensorShardingPerValue::view)?;
        let context = self.build.context();
        let mut shardings: Vec<_> = list.shardings().iter().collect();
        *shardings.get_mut(number)? = self.known.mesh.sharding(context, &handed.kept)?;
        let shardings = TensorShardingPerValue::new(context, &shardings)?;
        self.build.set_insertion_point_before(end);
        let aligned = match handed.shift {
            Some((dim, less)) => self.aligned(tile, &handed, (dim, less)),
            None => tile,
        };
        let part = self.gathered(aligned, &handed);
        self.build.set_operand(end, number, part);
        set_attribute(computation, "out_shardings", shardings.attribute());
        let result: Value<'c, 'a> = computation.results().nth(number)?.into();
        let element = ir::element_of(tile.r#type());
        self.build.set_type(result, Tensor::get(handed.shape, element, None));
        if let Some(trim) = handed.trim {
            self.build.replace_all_uses_with(ir::first_result(trim)?, result);
            self.build.erase(trim);
        }
        Some(())
    }

    fn handed(&self, whole: Value<'c, 'a>, tile: Value<'c, 'a>) -> Option<Handed<'c, 'a>> {
        let user = users(whole).next().filter(|_| has_one_use(whole))?;
        let trim = is_trim(user).then_some(user);
        let given = match trim {
            Some(trim) => ir::first_result(trim).filter(|left| has_one_use(*left))?,
            None => whole,
        };
        let (own, kept) = (self.known.layout(whole)?.clone(), self.known.returned_as(given)?.clone());
        (only_returned(given) && kept.is_coarser_than(&own)).then_some(())?;
        let tensor = ir::real(given)?;
        let grid = &self.known.mesh.grid;
        let tile = ir::real(tile)?.shape.to_vec();
        (own.tile_shape(tensor.shape, grid)? == tile).then_some(())?;
        let parts = kept.local_shape(tensor.shape, grid)?;
        let mut shift = None;
        for dim in 0..tile.len() {
            let tiles = grid.parts(&own.0[dim]) / grid.parts(&kept.0[dim]);
            let less = tile[dim] * tiles - parts[dim];
            let last = grid.parts(&kept.0[dim]) - 1;
            if less * last > 0 {
                (tiles > 1 && shift.is_none() && less * last <= tile[dim]).then_some(())?;
                shift = Some((dim, less));
            }
        }
        Some(Handed { trim, shape: tensor.shape, own, kept, tile, location: user.location(), shift })
    }

    /// A tile of as many rows as before, from where it begins if they are counted within larger parts: the first ones of some
    /// devices come from the device before.
    fn aligned(
        &mut self,
        tile: Value<'c, 'a>,
        handed: &Handed<'c, 'a>,
        (dim, less): (usize, i64),
    ) -> Value<'c, 'a> {
        let location = handed.location;
        let grid = &self.known.mesh.grid;
        let (own, kept) = (&handed.own.0[dim], &handed.kept.0[dim]);
        let (parts, last) = (grid.parts(own), grid.parts(kept) - 1);
        let (width, devices) = (less * last, grid.devices());
        let element = ir::element_of(tile.r#type());
        let i64_type = self.build.i64_type();
        let mut partition = None;
        let mut strip = handed.tile.clone();
        strip[dim] = width;
        let mut starts = |build: &Builder<'c, 'a>, numbers: Vec<i64>| -> Vec<Value<'c, 'a>> {
            let table: Vec<Attribute> =
                numbers.into_iter().map(|at| IntegerAttribute::new(i64_type, at).into()).collect();
            let at = looked_up(build, &mut partition, &table, i64_type, location);
            let zero = build.i64_constant(0, location);
            (0..handed.tile.len()).map(|other| if other == dim { at } else { zero }).collect()
        };
        // The last number is that of no device: a back end that knew the place would compute an update again for it.
        let mut from = vec![handed.tile[dim] - width; devices];
        from.push(0);
        let at = starts(&self.build, from);
        let sent = self.build.dynamic_slice(tile, &at, Tensor::get(&strip, element, None), location);
        let pairs: Vec<(usize, usize)> = (0..devices)
            .map(|device| (device, grid.part_of(device, own)))
            .filter(|(_, part)| part + 1 < parts)
            .map(|(device, part)| (device, grid.with_part(device, own, part + 1)))
            .collect();
        let got = collective_permute(&self.build, &mut self.channel, (sent, &pairs), location);
        let joined = self.build.concatenate(&[got, tile], dim, location);
        let at = starts(
            &self.build,
            (0..devices).map(|device| width - grid.part_of(device, kept) * less).collect(),
        );
        self.build.dynamic_slice(joined, &at, tile.r#type(), location)
    }

    /// The larger part that a device has of tiles of several.
    fn gathered(&mut self, tile: Value<'c, 'a>, handed: &Handed<'c, 'a>) -> Value<'c, 'a> {
        let build = &self.build;
        let location = handed.location;
        let element = ir::element_of(tile.r#type());
        let of = |shape: &[i64]| Tensor::get(shape, element, None);
        let grid = &self.known.mesh.grid;
        let rest = |dim: usize| &handed.own.0[dim][handed.kept.0[dim].len()..];
        let rank = handed.tile.len();
        let axes: Vec<usize> = (0..rank).flat_map(rest).copied().collect();
        let tiles = grid.parts(&axes);
        let size: i64 = handed.tile.iter().product();
        // In one dimension it is what it was in any.
        let is_reshape = |op: &OperationRef<'c, 'a>| op_name(*op) == "stablehlo.reshape";
        let mut tile = tile;
        while let Some(from) = defining_op(tile).filter(is_reshape).and_then(|op| op.operands().next()) {
            tile = from;
        }
        let row = build.reshape(tile, of(&[size]), location);
        let zero = build.zeros(of(&[]), location);
        let more = build.pad(row, zero, [&[0], &[1], &[0]], of(&[size + 1]), location);
        let all = all_gather(build, grid, &mut self.channel, (more, &axes), location);
        let rows = build.reshape(all, of(&[tiles, size + 1]), location);
        let rows = build.slice(rows, &[0, 0], of(&[tiles, size]), location);
        // Which tile, dimension by dimension, then where in it.
        let counts: Vec<i64> = (0..rank).map(|dim| grid.parts(rest(dim))).collect();
        let apart: Vec<i64> = counts.iter().chain(&handed.tile).copied().collect();
        let apart = build.reshape(rows, of(&apart), location);
        let order: Vec<i64> = (0..rank as i64).flat_map(|dim| [dim, rank as i64 + dim]).collect();
        let beside: Vec<i64> = (0..rank).flat_map(|dim| [counts[dim], handed.tile[dim]]).collect();
        let beside = build.transpose(apart, &order, of(&beside), location);
        let wide: Vec<i64> = counts.iter().zip(&handed.tile).map(|(count, size)| count * size).collect();
        let wide = build.reshape(beside, of(&wide), location);
        let part = handed.kept.local_shape(handed.shape, grid).expect("it was looked at");
        if ffi::shape(wide.r#type()) == Some(&part) {
            return wide;
        }
        build.slice(wide, &vec![0; rank], of(&part), location)
    }
}

/// Whether what is computed to a tile is stored in arrays as large on the way: updates, branches and loops, and what several ops read.
fn are_tiles_before<'c: 'a, 'a>(tile: Value<'c, 'a>) -> bool {
    /// How many ops are looked at.
    const NEAR: usize = 64;
    let bytes = ir::bytes(tile);
    let mut seen = Vec::new();
    let mut pending = vec![tile];
    while let Some(value) = pending.pop() {
        let Some(op) = defining_op(value).filter(|op| !seen.contains(op)) else { continue };
        if seen.len() >= NEAR {
            return true;
        }
        seen.push(op);
        let is_kept = op_name(op) == "stablehlo.dynamic_update_slice" || op.regions().next().is_some();
        let is_shared = users(value).any(|user| Some(user) != users(value).next());
        let is_splat = Splat::of(value).is_some();
        if (is_kept || is_shared && !is_splat) && ir::bytes(value) >= bytes {
            return true;
        }
        if !is_splat {
            pending.extend(op.operands());
        }
    }
    false
}

/// Whether devices send each other something in a computation.
fn has_exchanges<'c: 'a, 'a>(computation: OperationRef<'c, 'a>) -> bool {
    !ops_named(computation, "stablehlo.collective_permute").is_empty()
}
