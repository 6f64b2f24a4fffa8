// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Parts of tiles at places that each device looks up.

use super::super::classes::Devices;
use super::super::moves::Box_;
use super::{Body, corners, shape_of};
use crate::ir::{self, element_of};
use crate::rewrite::defining_op;
use melior::ir::operation::OperationLike;
use melior::ir::{Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::stablehlo::attrs::ComparisonDirection;
use slimhlo_dialect::types::Tensor;

/// Where in its tile each device finds where a value begins.
pub(super) type Places = FxHashMap<usize, Vec<i64>>;

impl<'c: 'a, 'a> Body<'c, 'a, '_> {
    /// A part of this size of an array, at a place that depends on the device. What is sent is not cut out at a place
    /// that back ends know: see `part`.
    pub(super) fn cut_out(
        &mut self,
        array: Value<'c, 'a>,
        places: &FxHashMap<usize, Box_>,
        size: &[i64],
        is_sent: bool,
    ) -> Value<'c, 'a> {
        let tile = shape_of(array);
        if tile == size {
            return array;
        }
        let Some(first) = places.keys().min().map(|device| corners(&places[device]).0) else { return array };
        let alike = places.values().all(|place| corners(place).0 == first);
        if alike && !is_sent {
            return self.slice(array, &first, size);
        }
        let starts = self.starts_at(tile, places, size);
        let ty = Tensor::get(size, element_of(array.r#type()), None);
        self.build.dynamic_slice(array, &starts, ty, self.location)
    }

    /// Where a part of this size of a tile starts on each device, looked up, also where all are alike; on devices
    /// without a place anywhere.
    pub(super) fn starts_at(
        &mut self,
        tile: &[i64],
        places: &FxHashMap<usize, Box_>,
        size: &[i64],
    ) -> Vec<Value<'c, 'a>> {
        let devices = self.extents.len();
        let first =
            places.keys().min().map_or_else(|| vec![0; tile.len()], |first| corners(&places[first]).0);
        let of = |device: usize, dim: usize| places.get(&device).map_or(first[dim], |place| place[dim].0);
        let alike = (0..devices).all(|device| (0..tile.len()).all(|dim| of(device, dim) == first[dim]));
        let moving = (0..tile.len()).find(|&dim| tile[dim] > size[dim]);
        (0..tile.len())
            .map(|dim| {
                let mut numbers: Vec<i64> = (0..devices).map(|device| of(device, dim)).collect();
                if alike && moving == Some(dim) {
                    // The last number would be that of no device: a table of one number would be seen through.
                    numbers.push(if first[dim] == 0 { tile[dim] - size[dim] } else { 0 });
                }
                match numbers.iter().all(|at| *at == numbers[0]) {
                    true => self.start(numbers[0]),
                    false => self.tabled(numbers),
                }
            })
            .collect()
    }

    /// An array as large as the tile in which `value` begins where these devices need it, and on others anywhere. If
    /// it `is_one_of_several` of a value, places are looked up also where they are alike: each would be made of what
    /// it is made of otherwise, and stored.
    pub(super) fn placed(
        &mut self,
        value: Value<'c, 'a>,
        lows: &Places,
        shape: &[i64],
        is_one_of_several: bool,
    ) -> Option<Value<'c, 'a>> {
        if let Some((narrow, dims)) = self.repeated(value, lows, shape) {
            let one = |values: &[i64], number: i64| -> Vec<i64> {
                values.iter().zip(&dims).map(|(&value, &is)| if is { number } else { value }).collect()
            };
            let lows = lows.iter().map(|(device, low)| (*device, one(low, 0))).collect();
            let placed = self.placed(narrow, &lows, &one(shape, 1), is_one_of_several)?;
            let all: Vec<i64> = (0..shape.len() as i64).collect();
            return Some(self.broadcast(placed, &all, shape));
        }
        let size = shape_of(value);
        let first = lows.keys().min().map(|device| lows[device].clone())?;
        let rank = shape.len();
        let mut low = vec![0; rank];
        let mut high = vec![0; rank];
        let is_known = |dim: usize| {
            let is_alike = lows.values().all(|low| low[dim] == first[dim]);
            is_alike && (!is_one_of_several || size[dim] <= shape[dim])
        };
        let alike: Vec<bool> = (0..rank).map(is_known).collect();
        for dim in 0..rank {
            if alike[dim] {
                low[dim] = first[dim];
                high[dim] = shape[dim] - first[dim] - size[dim];
            } else {
                low[dim] = lows.values().map(|low| low[dim]).max()?.max(0);
                high[dim] = lows.values().map(|low| shape[dim] - low[dim] - size[dim]).max()?.max(0);
            }
        }
        let value = self.widened(value, &low, &high)?;
        if alike.iter().all(|&alike| alike) {
            return Some(value);
        }
        let devices = self.extents.len();
        let starts: Vec<Value<'c, 'a>> = (0..rank)
            .map(|dim| {
                if alike[dim] {
                    return self.start(0);
                }
                let of = |device: usize| low[dim] - lows.get(&device).unwrap_or(&first)[dim];
                let mut numbers: Vec<i64> = (0..devices).map(of).collect();
                if numbers.iter().all(|at| *at == numbers[0]) {
                    // The last number would be that of no device: a table of one number would be seen through.
                    numbers.push(if numbers[0] == 0 { 1 } else { 0 });
                }
                self.tabled(numbers)
            })
            .collect();
        let ty = Tensor::get(shape, element_of(value.r#type()), None);
        Some(self.build.dynamic_slice(value, &starts, ty, self.location))
    }

    /// `value` with so many zeros before and behind it, or as much less of it where that is less than nothing: cut off
    /// first, for back ends pad first, and store more than either has.
    fn widened(&mut self, value: Value<'c, 'a>, low: &[i64], high: &[i64]) -> Option<Value<'c, 'a>> {
        let ends = || shape_of(value).iter().zip(low.iter().zip(high));
        let start: Vec<i64> = low.iter().map(|low| (-low).max(0)).collect();
        let kept: Vec<i64> = ends().map(|(size, (low, high))| size + low.min(&0) + high.min(&0)).collect();
        let wide: Vec<i64> = ends().map(|(size, (low, high))| size + low + high).collect();
        let value = self.slice(value, &start, &kept);
        if wide == kept {
            return Some(value);
        }
        let [low, high] = [low, high].map(|edge| edge.iter().map(|edge| *edge.max(&0)).collect::<Vec<_>>());
        let element = element_of(value.r#type());
        let zero = self.zero(element)?;
        let (ty, none) = (Tensor::get(&wide, element, None), vec![0; wide.len()]);
        Some(self.build.pad(value, zero, [&low, &high, &none], ty, self.location))
    }

    /// What a value repeats along some dimensions, over all of the tile, and which these are, if it has to be moved along
    /// others: what is repeated later is moved in less memory.
    fn repeated(
        &self,
        value: Value<'c, 'a>,
        lows: &Places,
        shape: &[i64],
    ) -> Option<(Value<'c, 'a>, Vec<bool>)> {
        let op = defining_op(value).filter(|op| op_name(*op) == "stablehlo.broadcast_in_dim")?;
        let narrow = op.operands().next()?;
        let (size, wide) = (shape_of(narrow), shape_of(value));
        let dims = ir::i64_array(op, "broadcast_dimensions")?;
        dims.iter().copied().eq(0..wide.len() as i64).then_some(())?;
        let is_over_all = |dim: usize| {
            lows.values().all(|low| low[dim] <= 0 && low[dim] + wide[dim] >= shape[dim])
                && size[dim] == 1
                && wide[dim] > 1
        };
        let repeated: Vec<bool> = (0..wide.len()).map(is_over_all).collect();
        let is_rest_narrow = (0..wide.len()).all(|dim| repeated[dim] || size[dim] == wide[dim]);
        let first = lows.values().next()?;
        let is_moved =
            (0..wide.len()).any(|dim| !repeated[dim] && lows.values().any(|low| low[dim] != first[dim]));
        (is_rest_narrow && is_moved && repeated.contains(&true)).then_some((narrow, repeated))
    }

    /// Where in the tile an element is in its device's box; nothing where all are, on all devices.
    pub(super) fn mask_by_device(
        &mut self,
        windows: &FxHashMap<usize, Box_>,
        shape: &[i64],
    ) -> Option<Value<'c, 'a>> {
        let devices = self.extents.len();
        let (build, location) = (self.build, self.location);
        let needs = |device: usize| self.extents[device].iter().all(|&extent| extent > 0);
        let idle: Vec<bool> =
            (0..devices).map(|device| !windows.contains_key(&device) && !needs(device)).collect();
        let mut members = Devices::none(devices);
        (0..devices)
            .filter(|device| windows.contains_key(device) || idle[*device])
            .for_each(|d| members.insert(d));
        let mut is_told = members.count() == devices;
        let mut conditions = Vec::new();
        let integers = Tensor::get(shape, build.i64_type(), None);
        for (dim, &tile) in shape.iter().enumerate() {
            let bounds = [(ComparisonDirection::Ge, 0), (ComparisonDirection::Lt, tile)];
            for (side, (direction, end)) in bounds.into_iter().enumerate() {
                let bound = |window: &Box_| if side == 0 { window[dim].0 } else { window[dim].1 };
                let Some(first) = windows.keys().min().map(|device| bound(&windows[device])) else {
                    continue;
                };
                let alike = windows.values().all(|window| bound(window) == first);
                if alike && first == end {
                    continue;
                }
                let bound = if alike {
                    self.start(first)
                } else {
                    // On devices that have no box there is none.
                    is_told = true;
                    let none = tile - end;
                    let of = |device: usize| windows.get(&device).map_or(none, bound);
                    self.tabled((0..devices).map(of).collect())
                };
                let place = build.iota(integers, dim, location);
                let bound = build.broadcast_scalar(bound, integers, location);
                conditions.push(build.compare(direction, place, bound, location));
            }
        }
        if !is_told {
            let boolean = melior::ir::r#type::IntegerType::new(self.context, 1).into();
            let booleans = Tensor::get(shape, boolean, None);
            conditions.push(build.broadcast_scalar(self.predicate(&members), booleans, location));
        }
        conditions.into_iter().reduce(|left, right| build.binary("stablehlo.and", left, right, location))
    }
}

/// A part of this size that holds another and lies in the tile.
pub(super) fn fitted(part: &Box_, size: &[i64], tile: &[i64]) -> Box_ {
    let dims = part.iter().zip(size).zip(tile);
    dims.map(|(((low, _), size), tile)| {
        let low = (*low).min(tile - size);
        (low, low + size)
    })
    .collect()
}
