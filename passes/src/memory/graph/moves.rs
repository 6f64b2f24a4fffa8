// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What partitioners make of ops that change the size of a dimension that is cut, whose elements so change devices.

use super::super::lists::Ids;
use super::super::shards::share;
use super::{Class, Scope, is_splat, op_name};
use crate::ir::{self, constant_attribute, i64_array, window_start};
use crate::rewrite::defining_op;
use crate::shards;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::types::Tensor;
use smallvec::{SmallVec, smallvec as ids};

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// Moves between devices: what changes the size of a dimension that is cut.
    pub(super) fn moves_between_devices(&mut self, op: OperationRef<'c, 'a>, name: &str) -> bool {
        let Ok(result) = op.result(0) else { return false };
        let result: Value<'c, 'a> = result.into();
        let at = usize::from(name == "dynamic_update_slice");
        let Ok(operand) = op.operand(at) else { return false };
        let (Some(from), Some(to)) = (Tensor::new(operand.r#type()), Tensor::new(result.r#type())) else {
            return false;
        };
        let Some(pieces) = self.shards.of(result).map(<[i64]>::to_vec) else { return false };
        if from.rank() != pieces.len() {
            return false;
        }
        let moved: Vec<bool> = pieces
            .iter()
            .zip(from.shape.iter().zip(to.shape))
            .map(|(&count, (from, to))| count > 1 && from != to)
            .collect();
        if !moved.contains(&true) {
            return false;
        }
        let mut operands = self.operands(op);
        let ty = self.local(result);
        // Along what is moved all of it, else what one device has.
        let gathered = |whole: &Tensor<'c>, own: Type<'c>| {
            let own = Tensor::new(own)?;
            let size = |dim: usize| if moved[dim] { whole.shape.get(dim) } else { own.shape.get(dim) };
            let shape: Option<Vec<i64>> = (0..whole.rank()).map(|dim| size(dim).copied()).collect();
            Some(Tensor::get(&shape?, whole.element, None))
        };
        match name {
            "dynamic_update_slice" => {
                // Its own type counts: its memory may be that of an array of another rank, which was reshaped.
                let Some(whole) = gathered(&from, self.local(operand)) else { return false };
                // Every device gets all of the update along the dimensions that are cut.
                operands[1] = self.one(Class::Opaque, op, ids![operands[1]], whole);
                if crosses_border(op, &from, &pieces, &moved) {
                    // And all of what is updated, of which it keeps its part.
                    let Some(whole) = gathered(&to, ty) else { return false };
                    operands[0] = self.one(Class::Opaque, op, ids![operands[0]], whole);
                    let updated = self.one(Class::Update, op, operands, whole);
                    self.add(Class::Move, op, ids![updated], false);
                    return true;
                }
                // Where the pieces go depends on the device: what is updated has to be there.
                if is_splat(&self.graph, self.node_of(operands[0])) {
                    operands[0] = self.one(Class::Opaque, op, Ids::new(), ty);
                }
                self.add(Class::Update, op, operands, false);
            }
            "slice" | "pad" if let Some(halos) = halos(op, &from, &to, &pieces, &moved) => {
                // Shards are nearly where they were: a device's own part and what its neighbours send are joined.
                if !is_splat(&self.graph, self.node_of(operands[0])) {
                    let own = self.local(operand);
                    operands = self.joined_with_halos(op, operands, own, &halos);
                }
                self.add(Class::Move, op, operands, false);
            }
            "slice" => {
                // What is cut out is elsewhere: it is brought together, and cut anew.
                let Some(whole) = gathered(&to, ty) else { return false };
                let whole = self.one(Class::Opaque, op, operands, whole);
                self.add(Class::Move, op, ids![whole], false);
            }
            "concatenate" if let Some((rotated, halo)) = rotation(op, &pieces) => {
                let (whole, own) = (self.operand(rotated), self.local(rotated));
                let operands = self.joined_with_halos(op, ids![whole], own, &[halo]);
                self.add(Class::Move, op, operands, false);
            }
            "concatenate" => {
                // All of it is cut along another dimension, joined, and cut back.
                let pieces = self.one(Class::Opaque, op, operands, ty);
                let joined = self.one(Class::Opaque, op, ids![pieces], ty);
                self.add(Class::Move, op, ids![joined], false);
            }
            _ => {
                // Pieces come from other devices and are put together.
                let pieces = self.one(Class::Opaque, op, operands, ty);
                self.add(Class::Move, op, ids![pieces], false);
            }
        }
        true
    }

    /// The first of `operands`, of which a device has `own`, with what neighbours send along each dimension: dimension by dimension, each
    /// with those before. They are joined where they are needed, unless the target copies what is joined along that dimension.
    fn joined_with_halos(
        &mut self,
        op: OperationRef<'c, 'a>,
        mut operands: Ids,
        own: Type<'c>,
        halos: &[Halo],
    ) -> Ids {
        let Some(own) = Tensor::new(own) else { return operands };
        let mut shape = own.shape.to_vec();
        let mut known: SmallVec<[i64; 8]> = ids![i64::from(operands[0])];
        for halo in halos {
            let whole = std::mem::replace(&mut shape[halo.dim], halo.made);
            // Several slices a step to one side are sent the same.
            let before = known.clone();
            known.extend([halo.dim as i64, halo.start, halo.made]);
            let widths: SmallVec<[(bool, i64); 2]> =
                [(true, halo.low), (false, halo.high)].into_iter().filter(|(_, width)| *width > 0).collect();
            if widths.is_empty() {
                continue;
            }
            let sends = operands.clone();
            let alone = self.storage.copies_halos_of(&shape, halo.dim);
            if alone {
                // What a device keeps is copied before, too.
                let mut kept = shape.clone();
                kept[halo.dim] = whole.min(halo.made);
                operands = ids![self.one(Class::Move, op, operands, Tensor::get(&kept, own.element, None))];
            }
            for (is_low, width) in widths {
                let mut sent = shape.clone();
                sent[halo.dim] = width;
                let mut name = before.clone();
                name.extend([halo.dim as i64, i64::from(is_low), width]);
                let strip = match self.halos.get(&name) {
                    Some(&strip) => strip,
                    None => {
                        let ty = Tensor::get(&sent, own.element, None);
                        let strip = self.one(Class::Move, op, sends.clone(), ty);
                        let strip = self.one(Class::Opaque, op, ids![strip], ty);
                        self.halos.insert(name, strip);
                        strip
                    }
                };
                operands.push(strip);
            }
            if alone {
                let ty = Tensor::get(&shape, own.element, None);
                operands = ids![self.one(Class::Join { alone }, op, operands, ty)];
            }
        }
        operands
    }
}

/// What a device gets from its neighbours along a dimension.
struct Halo {
    dim: usize,
    /// Where the first device's part of the result begins.
    start: i64,
    /// Elements that a device has of the result.
    made: i64,
    /// Elements from the neighbour before and from that after.
    low: i64,
    high: i64,
}

/// What a device gets from its neighbours along each of the dimensions that are cut for its part of a `slice` or `pad`, if that is
/// less than it has: partitioners exchange those. `None` if it is not, or what is done to the array is something else.
fn halos(
    op: OperationRef<'_, '_>,
    from: &Tensor<'_>,
    to: &Tensor<'_>,
    pieces: &[i64],
    moved: &[bool],
) -> Option<SmallVec<[Halo; 2]>> {
    let (list, sign) = match op_name(op) {
        "stablehlo.slice" => ("start_indices", 1),
        _ => ("edge_padding_low", -1),
    };
    let none_between = i64_array(op, "interior_padding").is_none_or(|all| all.iter().all(|&one| one == 0));
    if !none_between || !from.is_static() || !to.is_static() {
        return None;
    }
    let (starts, strides) = (i64_array(op, list)?, i64_array(op, "strides"));
    let halo = |dim: usize| {
        let (count, start) = (pieces[dim], sign * starts.get(dim)?);
        let stride = strides.map_or(Some(1), |all| all.get(dim).copied())?;
        let (own, made) = (share(from.shape[dim], count), share(to.shape[dim], count));
        // The farthest from where they were are the first and the last of those that have such a neighbour.
        let before = |device: i64| device * (own - stride * made) - start;
        let after = |device: i64| start + stride * ((device + 1) * made - 1) + 1 - (device + 1) * own;
        let low = before(1).max(before(count - 1)).max(0);
        let high = after(0).max(after(count - 2)).max(0);
        // Of a slice that is small no more is sent than a device makes of it.
        let sent = |width: i64| width.min(stride * made);
        (low + high < own).then(|| Halo { dim, start, made, low: sent(low), high: sent(high) })
    };
    (0..moved.len()).filter(|&dim| moved[dim]).map(halo).collect()
}

/// The array that a concatenation rotates along a dimension that is cut, and what each device gets for that from the one behind it:
/// partitioners know it by its slices. `None` for all else.
fn rotation<'c: 'a, 'a>(op: OperationRef<'c, 'a>, pieces: &[i64]) -> Option<(Value<'c, 'a>, Halo)> {
    let dim = constant_attribute(op, "dimension").and_then(|dim| usize::try_from(dim).ok())?;
    let width = shards::rotation(op, dim)?;
    let rotated = defining_op(op.operands().next()?)?.operands().next()?;
    let own = share(*Tensor::new(rotated.r#type())?.shape.get(dim)?, *pieces.get(dim)?);
    (width < own).then_some((rotated, Halo { dim, start: width, made: own, low: 0, high: width }))
}

/// Whether an update is known to go to more than one shard, or nothing is known of where it goes.
fn crosses_border(op: OperationRef<'_, '_>, update: &Tensor<'_>, pieces: &[i64], moved: &[bool]) -> bool {
    let array = op.operands().next().and_then(|array| Tensor::new(array.r#type()));
    let Some(array) = array else { return true };
    (0..moved.len()).filter(|&dim| moved[dim]).any(|dim| {
        let share = share(array.shape[dim], pieces[dim]).max(1);
        let size = update.shape[dim];
        let start = window_start(ir::operand(op, 2 + dim), size, array.shape[dim]);
        size > 1 && start.is_none_or(|start| start / share != (start + size - 1) / share)
    })
}
