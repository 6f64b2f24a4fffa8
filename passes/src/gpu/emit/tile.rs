// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! "map" kernels that read transposed operands: by tiles in workgroup memory, so that threads that follow each other
//! both read and write elements that do.
//!
//! # What it matches
//!
//! Results of many elements that are computed, elementwise and by reshapes, from a value whose neighbours in memory are
//! neighbours along another than its last dimension: a transposed argument, or slices, pads and elementwise ops
//! around one. Dimensions that stay side by side count as one. Both the dimension that is last in memory and that of
//! the value have to have elements for a good part of a tile; others are gone over by tiles.
//!
//! # What it makes
//!
//! A block takes a tile of 32 x 32 elements at a time. Its threads first compute the elements of such values in the
//! order of memory, and put them into the tile; then, in the order of the results, they compute those, for which they
//! find such elements in the tile. Rows of the tile have one element more than they need, so that columns are spread
//! over memory's banks. At the edge, places beyond the last are computed as the last once more, and not stored.
//!
//! # When it must not fire
//!
//! Small results, whose operands caches hold; values that are dear, for which memory is not what takes the time;
//! values of which an element is read often (broadcasts).

use super::code::{Int, Scalar};
use super::cost::LIGHT;
use super::element::{BLOCK, GRID, Kernel, count_of, tensor};
use super::roots::group::{Group, Size, load, store};
use super::{numbers, shape};
use crate::framework::PassError;
use crate::ir;
use crate::rewrite::defining_op;
use melior::ir::operation::OperationLike;
use melior::ir::{Type, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

type Result<'c, T> = std::result::Result<T, PassError<'c>>;

/// The number of a tile's element, and where it is along the dimension that threads follow each other along and along
/// the other.
type Place<'c, 'a> = (Value<'c, 'a>, [Value<'c, 'a>; 2]);

/// Rows and columns of a tile.
const TILE: i64 = 32;
/// Elements from one row of a tile to the next.
const STRIDE: i64 = TILE + 1;
/// Elements of a thread whose loads are in flight together.
const TOGETHER: i64 = 4;
/// Elements of results from which on this pays.
const MANY: i64 = 1 << 15;
/// Elements along each of the two dimensions.
const LEAST: i64 = 16;
/// Bytes of all tiles of a block.
const MOST_BYTES: i64 = 32 << 10;
/// Values within each other that are looked through.
const DEEPEST: usize = 200;

/// How results are computed by tiles.
pub struct Tiling<'c, 'a> {
    /// The values that are put into tiles; of one shape.
    staged: Vec<Value<'c, 'a>>,
    geometry: Geometry,
}

/// The dimensions of a value that is put into tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Geometry {
    shape: Vec<i64>,
    /// The dimensions along which neighbours are neighbours in memory,
    down: Range<usize>,
    /// and those along which neighbours are neighbours among results.
    across: Range<usize>,
}

/// How a "map" kernel is computed by tiles; `None` if it is not.
pub fn plan<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>) -> Result<'c, Option<Tiling<'c, 'a>>> {
    let Some(&first) = kernel.returned().first() else { return Ok(None) };
    let count = count_of(tensor(first)?.shape);
    let costs = kernel.returned().iter().map(|value| kernel.cost(*value));
    let cost = costs.fold(0, u64::saturating_add).saturating_mul(TOGETHER as u64);
    if count < MANY || cost > LIGHT {
        return Ok(None);
    }
    let mut orders = HashMap::new();
    let mut pending = kernel.returned().to_vec();
    let mut seen = HashSet::new();
    let mut found: Option<Tiling<'c, 'a>> = None;
    let mut bytes = 0;
    while let Some(value) = pending.pop() {
        let ty = tensor(value)?;
        if count_of(ty.shape) != count || !seen.insert(ir::key(value)) {
            continue;
        }
        let Some(op) = defining_op(value) else { continue };
        if !shape::handles(op)
            || matches!(op_name(op), "stablehlo.reshape" | "stablehlo.optimization_barrier")
        {
            pending.extend(op.operands());
            continue;
        }
        let Some(geometry) = geometry(value, &mut orders) else { continue };
        bytes += numbers::storage_bytes(ty.element).unwrap_or(16) as i64 * TILE * STRIDE;
        if bytes > MOST_BYTES {
            break;
        }
        match &mut found {
            Some(found) if found.geometry == geometry => found.staged.push(value),
            Some(_) => {}
            None => found = Some(Tiling { staged: vec![value], geometry }),
        }
    }
    Ok(found)
}

/// The tiles for a value; `None` if it has no need of them.
fn geometry<'c: 'a, 'a>(
    value: Value<'c, 'a>,
    orders: &mut HashMap<usize, Option<usize>>,
) -> Option<Geometry> {
    let shape = ffi::shape(value.r#type())?;
    let (down, across) = (fastest(value, orders, 0)?, innermost(shape)?);
    if down == across {
        return None;
    }
    // Dimensions that follow each other before and after a transpose are one; such of one element do not count.
    let op = defining_op(value)?;
    let order = if op_name(op) == "stablehlo.transpose" { ir::i64_array(op, "permutation")? } else { &[] };
    let dims: Vec<usize> = (0..shape.len()).filter(|dim| shape[*dim] > 1).collect();
    let place = |dim: usize| {
        let from = order.get(dim)?;
        Some(dims.iter().filter(|other| order[**other] < *from).count())
    };
    let follows = |at: usize| place(dims[at]).is_some_and(|to| place(dims[at - 1]) == to.checked_sub(1));
    let with = |dim: usize| {
        let at = dims.iter().position(|other| *other == dim)?;
        let (mut first, mut end) = (at, at + 1);
        while first > 0 && follows(first) {
            first -= 1;
        }
        while end < dims.len() && follows(end) {
            end += 1;
        }
        let dims = dims[first]..dims[end - 1] + 1;
        (count_of(&shape[dims.clone()]) >= LEAST).then_some(dims)
    };
    let (down, across) = (with(down)?, with(across)?);
    (down != across).then(|| Geometry { shape: shape.to_vec(), down, across })
}

/// The last dimension of more than one element.
fn innermost(shape: &[i64]) -> Option<usize> {
    shape.iter().rposition(|size| *size > 1)
}

/// The dimension along which a value's neighbours are neighbours in the memory that it is computed from, if there is
/// one, and no element there is for several of the value's.
fn fastest<'c: 'a, 'a>(
    value: Value<'c, 'a>,
    orders: &mut HashMap<usize, Option<usize>>,
    depth: usize,
) -> Option<usize> {
    let key = ir::key(value);
    if let Some(known) = orders.get(&key) {
        return *known;
    }
    let shape = ffi::shape(value.r#type())?;
    let found = match defining_op(value) {
        _ if depth > DEEPEST => None,
        None => innermost(shape),
        Some(op) => {
            let mut of = |operand: Value<'c, 'a>| fastest(operand, orders, depth + 1);
            let mut first = || op.operands().next().and_then(|operand| Some((operand, of(operand)?)));
            match op_name(op) {
                "stablehlo.transpose" => first().and_then(|(_, dim)| {
                    ir::i64_array(op, "permutation")?.iter().position(|from| *from == dim as i64)
                }),
                "stablehlo.broadcast_in_dim" => first().and_then(|(operand, dim)| {
                    let same = count_of(ffi::shape(operand.r#type())?) == count_of(shape);
                    let to = *ir::i64_array(op, "broadcast_dimensions")?.get(dim)? as usize;
                    same.then_some(to)
                }),
                "stablehlo.reshape" => first().and_then(|(operand, dim)| {
                    let from = ffi::shape(operand.r#type())?;
                    let apart = count_of(&from[dim + 1..]);
                    (0..shape.len()).find(|dim| shape[*dim] > 1 && count_of(&shape[*dim + 1..]) == apart)
                }),
                "stablehlo.slice"
                | "stablehlo.reverse"
                | "stablehlo.pad"
                | "stablehlo.concatenate"
                | "stablehlo.dynamic_slice"
                | "stablehlo.dynamic_update_slice"
                | "stablehlo.optimization_barrier" => first().map(|(_, dim)| dim),
                _ if shape::handles(op) => None,
                _ => op.operands().find_map(|operand| {
                    let same = ffi::shape(operand.r#type()).is_some_and(|from| from == shape);
                    same.then(|| of(operand)).flatten()
                }),
            }
        }
    };
    orders.insert(key, found);
    found
}

/// Whether neighbours along a dimension of a value are neighbours in the memory that it is computed from, as far as
/// anything is known of it.
pub fn lies_along<'c: 'a, 'a>(value: Value<'c, 'a>, dim: usize) -> bool {
    fastest(value, &mut HashMap::new(), 0).is_none_or(|fastest| fastest == dim)
}

/// Writes a "map" kernel by tiles.
pub fn emit<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, tiling: &Tiling<'c, 'a>) -> Result<'c, ()> {
    let code = &kernel.code;
    let Geometry { shape, down, across } = &tiling.geometry;
    let batch: Vec<usize> =
        (0..shape.len()).filter(|dim| !down.contains(dim) && !across.contains(dim)).collect();
    let batch_sizes: Vec<i64> = batch.iter().map(|dim| shape[*dim]).collect();
    let sizes = [down, across].map(|dims| count_of(&shape[dims.clone()]));
    let tiles = sizes.map(|size| (size + TILE - 1) / TILE);
    let count = count_of(&batch_sizes) * tiles[0] * tiles[1];
    kernel.launch(BLOCK, count.clamp(1, GRID));
    let memory = memories(kernel, tiling)?;
    let next: usize = memory.iter().map(|memory| memory.parts.len()).sum();

    let group = Group::new(code, Size::Block);
    group.tasks(code, count, |tile| {
        let (rest, column) = (code.div(tile, tiles[1]), code.rem(tile, tiles[1]));
        let (number, row) = (code.div(rest, tiles[0]), code.rem(rest, tiles[0]));
        let first = [row, column].map(|at| code.mul(at, code.index(TILE)));
        let batch_index = kernel.indices(&batch_sizes, number);
        // Where threads are in the tile, along the dimension that they follow each other along and along the other.
        let rounds = |body: &dyn Fn(&[Place<'c, 'a>]) -> Result<'c, ()>| {
            let step = code.mul(group.threads, code.index(TOGETHER));
            code.for_loop(code.index(0), code.index(TILE * TILE), step, &[], |from, _| {
                let places: Vec<_> = (0..TOGETHER)
                    .map(|number| {
                        let own = code.add(group.lane, code.mul(group.threads, code.index(number)));
                        let place = code.add(from, own);
                        // Larger blocks go over the tile more than once.
                        let slow = code.rem(code.div(place, TILE), TILE);
                        (place, [code.rem(place, TILE), slow])
                    })
                    .collect();
                body(&places)?;
                Ok(vec![])
            })
            .map(|_| ())
        };
        // The index of an element of the tile, by its places down and across; held within the shape.
        let index = |places: [Value<'c, 'a>; 2]| {
            let mut index = vec![code.index(0); shape.len()];
            for (dim, at) in batch.iter().zip(&batch_index) {
                index[*dim] = *at;
            }
            for (side, dims) in [down, across].into_iter().enumerate() {
                let mut at = code.add(first[side], places[side]);
                if sizes[side] % TILE != 0 {
                    at = code.binary("arith.minui", at, code.index(sizes[side] - 1));
                }
                index[dims.clone()].copy_from_slice(&kernel.indices(&shape[dims.clone()], at));
            }
            index
        };
        let place_of =
            |places: [Value<'c, 'a>; 2]| code.add(code.mul(places[1], code.index(STRIDE)), places[0]);

        rounds(&|places| {
            let mut values = Vec::with_capacity(places.len() * next);
            for &(_, [fast, slow]) in places {
                let index = index([fast, slow]);
                for (&value, memory) in tiling.staged.iter().zip(&memory) {
                    let element = numbers::to_storage(code, kernel.element(value, &index)?, memory.element);
                    let parts = memory.parts.clone().zip(element.parts());
                    values.extend(parts.map(|(part, element)| (part, [fast, slow], element)));
                }
            }
            for (part, places, element) in values {
                store(code, kernel.shared(part), place_of(places), element);
            }
            Ok(())
        })?;
        code.effect("gpu.barrier", &[]);
        rounds(&|places| {
            let mut found = Vec::with_capacity(places.len());
            for &(_, [fast, slow]) in places {
                let places = [slow, fast];
                let index = index(places);
                let position = kernel.linear(shape, &index);
                // Reshapes come to it by its position.
                let other = kernel.indices(shape, position);
                take(kernel, tiling, &memory, place_of(places), &[&index, &other]);
                let results = kernel.returned().iter().map(|&result| {
                    let own = tensor(result)?.shape;
                    let index = if own == &shape[..] { index.clone() } else { kernel.indices(own, position) };
                    kernel.element(result, &index)
                });
                found.push((position, results.collect::<Result<Vec<_>>>()?));
            }
            for (&(place, [fast, slow]), (position, results)) in places.iter().zip(found) {
                let own = [slow, fast].into_iter().zip(first).map(|(at, first)| code.add(first, at));
                let inside = is_inside(kernel, place, own, sizes);
                code.if_then(inside, || put(kernel, position, results))?;
            }
            Ok(())
        })?;
        // The next tile takes the place of this one.
        code.effect("gpu.barrier", &[]);
        Ok(())
    })
}

/// Gives the kernel memory for a tile of each value.
fn memories<'c: 'a, 'a>(kernel: &Kernel<'c, 'a>, tiling: &Tiling<'c, 'a>) -> Result<'c, Vec<Memory<'c>>> {
    let mut memory: Vec<Memory<'c>> = vec![];
    let mut next = 0;
    for &value in &tiling.staged {
        let element = tensor(value)?.element;
        let ty = numbers::storage_type(&kernel.code, element);
        let ty =
            ty.ok_or_else(|| PassError::at(kernel.function, format!("has elements of type {element}")))?;
        let parts = numbers::part_count(element);
        for _ in 0..parts {
            kernel.add_shared(ty, TILE * STRIDE)?;
        }
        memory.push(Memory { element, ty, parts: next..next + parts });
        next += parts;
    }
    Ok(memory)
}

/// Whether a place is within its tile, and where it is (down and across) within what tiles go over.
fn is_inside<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    place: Value<'c, 'a>,
    own: impl Iterator<Item = Value<'c, 'a>>,
    sizes: [i64; 2],
) -> Value<'c, 'a> {
    let code = &kernel.code;
    let mut inside = vec![code.compare(Int::Ult, place, code.index(TILE * TILE))];
    for (at, size) in own.zip(sizes).filter(|(_, size)| size % TILE != 0) {
        inside.push(code.compare(Int::Ult, at, code.index(size)));
    }
    kernel.all(&inside).unwrap_or(place)
}

/// Takes the elements at a place of the tiles as those of their values at some indices.
fn take<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    tiling: &Tiling<'c, 'a>,
    memory: &[Memory<'c>],
    place: Value<'c, 'a>,
    indices: &[&[Value<'c, 'a>]],
) {
    let code = &kernel.code;
    for (&value, memory) in tiling.staged.iter().zip(memory) {
        let parts = memory.parts.clone();
        let parts: Vec<_> = parts.map(|part| load(code, kernel.shared(part), place, memory.ty)).collect();
        let element = numbers::from_storage(code, Scalar::from_parts(&parts), memory.element);
        for index in indices {
            kernel.remember(value, index, element);
        }
    }
}

/// Stores all results at a position.
fn put<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    position: Value<'c, 'a>,
    results: Vec<Scalar<'c, 'a>>,
) -> Result<'c, ()> {
    for (number, result) in results.into_iter().enumerate() {
        let element = tensor(kernel.result_value(number))?.element;
        kernel.store(kernel.result_pointer(number), element, position, result)?;
    }
    Ok(())
}

/// The memory of a value's tile.
struct Memory<'c> {
    element: Type<'c>,
    /// As what its elements, or the parts of them, are stored, and the memory of each part.
    ty: Type<'c>,
    parts: Range<usize>,
}
