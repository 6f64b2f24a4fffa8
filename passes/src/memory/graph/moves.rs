// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What partitioners make of ops that change the size of a dimension that is cut, whose elements so change devices.

use super::super::lists::Ids;
use super::super::shards::share;
use super::{Class, Scope, is_splat, op_name};
use crate::ir::{i64_array, window_start};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::types::Tensor;
use smallvec::smallvec as ids;

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
            "slice" | "pad" if let Some(halo) = halo(op, &from, &to, &pieces, &moved) => {
                // Shards are nearly where they were: a device's own part and what its neighbours send are joined.
                let is_computed = is_splat(&self.graph, self.node_of(operands[0]));
                if halo > 0 && !is_computed {
                    operands[0] = self.one(Class::Opaque, op, ids![operands[0]], ty);
                    operands[0] = self.one(Class::Opaque, op, ids![operands[0]], ty);
                }
                self.add(Class::Move, op, operands, false);
            }
            "slice" => {
                // What is cut out is elsewhere: it is brought together, and cut anew.
                let Some(whole) = gathered(&to, ty) else { return false };
                let whole = self.one(Class::Opaque, op, operands, whole);
                self.add(Class::Move, op, ids![whole], false);
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
}

/// How many elements along the dimensions that are cut a device gets from its neighbours for its part of a `slice` or `pad`, if that is
/// less than it has: partitioners exchange those. `None` if it is not, or what is done to the array is something else.
fn halo(
    op: OperationRef<'_, '_>,
    from: &Tensor<'_>,
    to: &Tensor<'_>,
    pieces: &[i64],
    moved: &[bool],
) -> Option<i64> {
    let (list, sign) = match op_name(op) {
        "stablehlo.slice" => ("start_indices", 1),
        _ => ("edge_padding_low", -1),
    };
    let plain =
        |name: &str, usual: i64| i64_array(op, name).is_none_or(|all| all.iter().all(|&one| one == usual));
    if !plain("strides", 1) || !plain("interior_padding", 0) || !from.is_static() || !to.is_static() {
        return None;
    }
    let starts = i64_array(op, list)?;
    let mut most = 0;
    for dim in (0..moved.len()).filter(|&dim| moved[dim]) {
        let (count, start) = (pieces[dim], sign * starts.get(dim)?);
        let (own, made) = (share(from.shape[dim], count), share(to.shape[dim], count));
        // The first and the last device are the farthest from where they were.
        let left = (-start).max((count - 1) * (own - made) - start);
        let right = (start + made - own).max(start + count * (made - own));
        let halo = left.max(0) + right.max(0);
        if halo >= own {
            return None;
        }
        most = most.max(halo);
    }
    Some(most)
}

/// Whether an update is known to go to more than one shard, or nothing is known of where it goes.
fn crosses_border(op: OperationRef<'_, '_>, update: &Tensor<'_>, pieces: &[i64], moved: &[bool]) -> bool {
    let array = op.operands().next().and_then(|array| Tensor::new(array.r#type()));
    let Some(array) = array else { return true };
    (0..moved.len()).filter(|&dim| moved[dim]).any(|dim| {
        let share = share(array.shape[dim], pieces[dim]).max(1);
        let size = update.shape[dim];
        let start = window_start(op.operand(2 + dim).ok(), size, array.shape[dim]);
        size > 1 && start.is_none_or(|start| start / share != (start + size - 1) / share)
    })
}
