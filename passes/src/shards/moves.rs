// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What each box of an array is made of: taken apart through slices, pads, updates, concatenations and the like down to
//! values with known layouts.

mod index;
mod ops;

pub use crate::ops::updates::{is_update, plain, starts_of, update_of};
pub use index::{Box_, Expr, Index, Piece, Source};
pub use ops::{
    is_bare, is_computed_on_shared, is_elementwise, is_move, is_read_by_made, is_shared, unconstrained,
};

use super::layout::Known;
use super::mesh::Layout;
use crate::ir::{self, discardable_attributes};
use crate::rewrite::{defining_op, users};
use crate::splat::{Splat, Splats};
use index::cut;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use ops::{element_bytes, is_shared_through, repeats_scalar};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::{self, op_name};

/// How many steps are taken to take one value apart.
const STEPS: usize = 512;
/// How deep they may go.
const DEPTH: usize = 64;
/// Of how many boxes a value may be made.
const BOXES: usize = 64;
/// Bytes of a constant that may be given to every device whole.
const CONSTANT: i64 = 1 << 20;

/// Takes values apart.
pub struct Moves<'c, 'a, 'r> {
    known: &'r Known<'c>,
    splats: &'r mut Splats<'c, 'a>,
    /// Versions of the array that is updated, by value.
    pub versions: FxHashMap<usize, usize>,
    /// Values read, with their layouts.
    pub inputs: Vec<(Value<'c, 'a>, Layout)>,
    /// Scalars.
    pub fills: Vec<Splat<'c, 'a>>,
    steps: usize,
}

impl<'c: 'a, 'a, 'r> Moves<'c, 'a, 'r> {
    /// Nothing taken apart yet.
    pub fn new(known: &'r Known<'c>, splats: &'r mut Splats<'c, 'a>) -> Self {
        Self {
            known,
            splats,
            versions: FxHashMap::default(),
            inputs: Vec::new(),
            fills: Vec::new(),
            steps: STEPS,
        }
    }

    /// Allows as many steps for the next value as for the first.
    pub fn rest(&mut self) {
        self.steps = STEPS;
    }

    /// Whether `value` is one scalar everywhere.
    pub fn is_splat(&mut self, value: Value<'c, 'a>) -> bool {
        self.splat(value).is_some()
    }

    fn splat(&mut self, value: Value<'c, 'a>) -> Option<Splat<'c, 'a>> {
        let value = unconstrained(value);
        plain(value)?;
        self.splats.of(value).filter(|_| repeats_scalar(value))
    }

    /// One scalar everywhere.
    pub fn fill(&mut self, splat: Splat<'c, 'a>) -> Expr<'c, 'a> {
        let index = self.fills.iter().position(|fill| *fill == splat).unwrap_or_else(|| {
            self.fills.push(splat);
            self.fills.len() - 1
        });
        Expr::Fill(index)
    }

    /// What the result of `op`, a move, is made of.
    pub fn of_op(&mut self, op: OperationRef<'c, 'a>) -> Option<Vec<Piece<'c, 'a>>> {
        let shape = plain(op.result(0).ok()?.into())?.shape;
        let index: Vec<_> = (0..shape.len()).map(|dim| Index::Plus { dim, offset: 0 }).collect();
        let whole = shape.iter().map(|&size| (0, size)).collect();
        let mut pieces = Vec::new();
        self.expand(op, &index, whole, 0, &mut pieces)?;
        Some(pieces)
    }

    /// What an array put at `starts` is made of, in terms of the array that it is put into. Where that is more parts than `most`,
    /// or it cannot be taken apart, it is the array itself, if ops say their layouts: levels that are computed one after the
    /// other and joined.
    pub fn of_update(
        &mut self,
        value: Value<'c, 'a>,
        starts: &[i64],
        most: usize,
    ) -> Option<Vec<Piece<'c, 'a>>> {
        let shape = plain(value)?.shape;
        let index: Vec<_> =
            starts.iter().enumerate().map(|(dim, start)| Index::Plus { dim, offset: -start }).collect();
        let window: Box_ = starts.iter().zip(shape).map(|(start, size)| (*start, start + size)).collect();
        let (inputs, fills) = (self.inputs.len(), self.fills.len());
        let mut pieces = Vec::new();
        let made = self.value(value, &index, window.clone(), 0, &mut pieces).map(|()| pieces);
        let is_read = |(_, expr): &&Piece<'c, 'a>| {
            let mut reads = Vec::new();
            expr.reads(&mut reads);
            !reads.is_empty()
        };
        let is_few = |pieces: &Vec<Piece<'c, 'a>>| pieces.iter().filter(is_read).count() <= most;
        if made.as_ref().is_some_and(is_few) {
            return made;
        }
        let itself = self.known.by_op && !self.known.is_partial(value);
        let Some(layout) = self.layout_of(value).filter(|_| itself) else { return made };
        self.inputs.truncate(inputs);
        self.fills.truncate(fills);
        let number = self.input(value, layout);
        Some(vec![(window, Expr::Read(Source::Input(number), index))])
    }

    /// The number of a value that is read.
    fn input(&mut self, value: Value<'c, 'a>, layout: Layout) -> usize {
        self.inputs.iter().position(|(other, _)| *other == value).unwrap_or_else(|| {
            self.inputs.push((value, layout));
            self.inputs.len() - 1
        })
    }

    fn value(
        &mut self,
        value: Value<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        self.steps = self.steps.checked_sub(1)?;
        if window.iter().any(|(low, high)| low >= high) {
            return Some(());
        }
        if depth > DEPTH || into.len() >= BOXES {
            return None;
        }
        if let Some(&version) = self.versions.get(&ir::key(value)) {
            into.push((window, Expr::Read(Source::Version(version), index.to_vec())));
            return Some(());
        }
        if let Some(splat) = self.splat(value) {
            let fill = self.fill(splat);
            into.push((window, fill));
            return Some(());
        }
        plain(value).filter(|_| !self.known.is_partial(value))?;
        if let Some(op) = defining_op(value).filter(|op| is_bare(*op)) {
            if self.is_seen_through(op, value) {
                return self.expand(op, index, window, depth, into);
            }
            if self.is_for_one(op, value) && self.expand_alone(op, index, &window, depth, into) {
                return Some(());
            }
        }
        let layout = self.layout_of(value)?;
        let number = self.input(value, layout);
        into.push((window, Expr::Read(Source::Input(number), index.to_vec())));
        Some(())
    }

    /// Whether a value that could be read as it is is needed by one op only, and may be made there of what it is made of.
    fn is_for_one(&self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> bool {
        let name = op_name(op);
        (self.known.by_op || !discardable_attributes(op).is_empty())
            && (is_elementwise(op)
                || matches!(name, "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.transpose"))
            && !is_shared_through(value, |user, _| self.is_left_out(user))
    }

    /// Whether those that read what `user` makes read what it is made of.
    fn is_left_out(&self, user: OperationRef<'c, 'a>) -> bool {
        match op_name(user) {
            "sdy.sharding_constraint" | "stablehlo.reverse" => true,
            "stablehlo.slice" => ir::first_result(user).is_some_and(|part| !self.is_made_once(user, part)),
            _ => false,
        }
    }

    /// Sees through an op if all of what it makes is then of one array, or of scalars: what several are made into is sent once.
    fn expand_alone(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: &Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> bool {
        let (pieces, inputs, fills, steps) = (into.len(), self.inputs.len(), self.fills.len(), self.steps);
        let mut arrays: Vec<Source> = Vec::new();
        if self.expand(op, index, window.clone(), depth, into).is_some() {
            for (_, expr) in &into[pieces..] {
                let mut reads = Vec::new();
                expr.reads(&mut reads);
                arrays.extend(reads.into_iter().map(|(source, _)| source));
            }
            arrays.dedup();
            let is_filled = || into[pieces..].iter().all(|(_, expr)| matches!(expr, Expr::Fill(_)));
            if arrays.len() == 1 || is_filled() {
                return true;
            }
        }
        into.truncate(pieces);
        self.inputs.truncate(inputs);
        self.fills.truncate(fills);
        self.steps = steps.saturating_sub(1);
        false
    }

    /// The layout in which `value` is to be had.
    fn layout_of(&self, value: Value<'c, 'a>) -> Option<Layout> {
        let tensor = plain(value)?;
        let layout = match self.known.layout(value) {
            Some(layout) => layout.clone(),
            None => {
                let bytes = tensor.element_count()?.checked_mul(element_bytes(tensor.element))?;
                let constant = defining_op(value).is_some_and(|op| op_name(op) == "stablehlo.constant")
                    && bytes <= CONSTANT;
                (constant || tensor.rank() == 0).then(|| Layout::whole(tensor.rank()))?
            }
        };
        self.known.tile(&layout, tensor.shape)?;
        Some(layout)
    }

    /// Whether what `op` makes is better read from where it comes from.
    fn is_seen_through(&mut self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> bool {
        match op_name(op) {
            "stablehlo.dynamic_update_slice" | "stablehlo.scatter" => {
                // An update of an array that is there happens in place: what it read from is no more.
                starts_of(op).is_some()
                    && (op.operand(0).is_ok_and(|operand| self.is_splat(operand))
                        || self.layout_of(value).is_none())
            }
            "sdy.sharding_constraint" => op
                .operand(0)
                .ok()
                .and_then(|operand| defining_op(unconstrained(operand)))
                .is_some_and(|inner| is_move(inner) && self.is_seen_through(inner, value)),
            "stablehlo.slice" => ir::is_dense(op) && !self.is_made_once(op, value),
            "stablehlo.pad" => {
                ir::i64_array(op, "interior_padding").is_some_and(|interior| interior.iter().all(|&i| i == 0))
                    && op.operand(1).is_ok_and(|padding| self.is_splat(padding))
                    && !self.is_made_once(op, value)
            }
            // One that several read is exchanged once, and they read what came of it.
            "stablehlo.concatenate" => !is_shared(value) || self.layout_of(value).is_none(),
            "stablehlo.reverse" => true,
            "stablehlo.broadcast_in_dim" | "stablehlo.reshape" | "stablehlo.transpose" => {
                self.layout_of(value).is_none()
            }
            _ => is_elementwise(op) && self.layout_of(value).is_none(),
        }
    }

    /// Whether a pad, or a slice that moves borders, is made once for all that read it: it is of what is computed element by
    /// element for it alone, and each of several would compute that again, and what it is computed of in turn. Others only
    /// move it, and one result of them all is made of it.
    fn is_made_once(&self, op: OperationRef<'c, 'a>, value: Value<'c, 'a>) -> bool {
        let inner = op.operands().next().and_then(defining_op);
        self.known.by_op
            && is_shared(value)
            && self.layout_of(value).is_some()
            && !users(value).any(|user| op_name(user) == "stablehlo.pad")
            && inner.is_some_and(|inner| {
                is_elementwise(inner) && inner.results().all(|result| !is_shared(result.into()))
            })
            && (op_name(op) == "stablehlo.pad" || self.moves_borders(op, value))
    }

    /// Whether other elements are on a device of what a slice leaves than of what it is of.
    fn moves_borders(&self, slice: OperationRef<'c, 'a>, left: Value<'c, 'a>) -> bool {
        let tile = |value: Value<'c, 'a>| self.known.tile(self.known.layout(value)?, plain(value)?.shape);
        let moved = || {
            let from = slice.operands().next()?;
            let layout = self.known.layout(left).filter(|layout| self.known.layout(from) == Some(layout))?;
            let starts = ir::i64_array(slice, "start_indices")?;
            let mut each = layout.0.iter().zip(starts).zip(tile(from)?.into_iter().zip(tile(left)?));
            Some(each.any(|((axes, &start), (old, new))| !axes.is_empty() && (start != 0 || old != new)))
        };
        moved().unwrap_or(false)
    }

    /// What a box of the result of an op is made of.
    fn expand(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        let depth = depth + 1;
        match op_name(op) {
            "sdy.sharding_constraint" => self.value(op.operands().next()?, index, window, depth, into),
            "stablehlo.pad" => self.expand_pad(op, index, window, depth, into),
            "stablehlo.dynamic_update_slice" | "stablehlo.scatter" => {
                self.expand_update(op, index, window, depth, into)
            }
            "stablehlo.concatenate" => self.expand_concatenate(op, index, window, depth, into),
            _ if is_elementwise(op) => self.expand_elementwise(op, index, window, depth, into),
            name => {
                let inner = inner_index(op, name, index)?;
                self.value(op.operands().next()?, &inner, window, depth, into)
            }
        }
    }

    /// What is padded inside, a scalar outside.
    fn expand_pad(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        let operand = op.operands().next()?;
        let shape = plain(operand)?.shape;
        let low = ir::i64_array(op, "edge_padding_low")?;
        ir::i64_array(op, "interior_padding")?.iter().all(|&interior| interior == 0).then_some(())?;
        let splat = self.splat(op.operands().nth(1)?)?;
        let index: Vec<_> = index.iter().zip(low).map(|(index, low)| index.moved(-low)).collect();
        let within: Box_ = shape.iter().map(|&size| (0, size)).collect();
        let (inside, outside) = cut(window, &index, &within);
        let fill = self.fill(splat);
        into.extend(outside.into_iter().map(|window| (window, fill.clone())));
        match inside {
            Some(window) => self.value(operand, &index, window, depth, into),
            None => Some(()),
        }
    }

    /// What is put in where it is put, the array elsewhere.
    fn expand_update(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        let operand = op.operands().next()?;
        let starts = starts_of(op)?;
        let update = update_of(op)?;
        let within: Box_ =
            starts.iter().zip(plain(update)?.shape).map(|(start, size)| (*start, start + size)).collect();
        let (inside, outside) = cut(window, index, &within);
        for window in outside {
            self.value(operand, index, window, depth, into)?;
        }
        let Some(window) = inside else { return Some(()) };
        let index: Vec<_> = index.iter().zip(&starts).map(|(index, start)| index.moved(-start)).collect();
        self.value(update, &index, window, depth, into)
    }

    /// Parts one behind the other.
    fn expand_concatenate(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        let dim = usize::try_from(ir::constant_attribute(op, "dimension")?).ok()?;
        let mut start = 0;
        for operand in op.operands() {
            let size = *ffi::shape(operand.r#type())?.get(dim)?;
            if size == 0 {
                continue;
            }
            let mut within: Box_ = vec![(i64::MIN / 4, i64::MAX / 4); index.len()];
            within[dim] = (start, start + size);
            if let (Some(window), _) = cut(window.clone(), index, &within) {
                let mut index = index.to_vec();
                index[dim] = index[dim].moved(-start);
                self.value(operand, &index, window, depth, into)?;
            }
            start += size;
        }
        Some(())
    }

    /// An expression of what the operands are made of; each of them may cut the box further.
    fn expand_elementwise(
        &mut self,
        op: OperationRef<'c, 'a>,
        index: &[Index],
        window: Box_,
        depth: usize,
        into: &mut Vec<Piece<'c, 'a>>,
    ) -> Option<()> {
        let mut parts: Vec<(Box_, Vec<Expr<'c, 'a>>)> = vec![(window, Vec::new())];
        for operand in op.operands() {
            let mut next = Vec::new();
            let rank = ffi::shape(operand.r#type())?.len();
            for (window, arguments) in parts {
                let mut pieces = Vec::new();
                let index = if rank == 0 { &[] } else { index };
                self.value(operand, index, window, depth, &mut pieces)?;
                for (window, argument) in pieces {
                    let mut arguments = arguments.clone();
                    arguments.push(argument);
                    next.push((window, arguments));
                }
            }
            parts = next;
            (parts.len() <= BOXES).then_some(())?;
        }
        into.extend(parts.into_iter().map(|(window, arguments)| (window, Expr::Apply(op, arguments))));
        Some(())
    }
}

/// Where along each dimension of its operand an op that only moves or repeats elements finds what is read of its result.
fn inner_index(op: OperationRef<'_, '_>, name: &str, index: &[Index]) -> Option<Vec<Index>> {
    let shape = plain(op.operands().next()?)?.shape;
    let result = plain(op.results().next()?.into())?.shape;
    match name {
        "stablehlo.slice" => {
            let starts = ir::i64_array(op, "start_indices")?;
            ir::is_dense(op).then_some(())?;
            Some(index.iter().zip(starts).map(|(index, start)| index.moved(*start)).collect())
        }
        "stablehlo.reverse" => {
            let mut index = index.to_vec();
            for &dim in ir::i64_array(op, "dimensions")? {
                let at = index.get_mut(usize::try_from(dim).ok()?)?;
                *at = at.reversed(shape[dim as usize] - 1);
            }
            Some(index)
        }
        "stablehlo.broadcast_in_dim" => {
            let dims = ir::i64_array(op, "broadcast_dimensions")?;
            let inner = dims.iter().zip(shape).map(|(&dim, &size)| {
                let dim = usize::try_from(dim).ok()?;
                Some(if size == 1 && result[dim] != 1 { Index::At(0) } else { *index.get(dim)? })
            });
            inner.collect()
        }
        "stablehlo.transpose" => {
            let mut inner = vec![Index::At(0); index.len()];
            for (at, &dim) in index.iter().zip(ir::i64_array(op, "permutation")?) {
                *inner.get_mut(usize::try_from(dim).ok()?)? = *at;
            }
            Some(inner)
        }
        "stablehlo.reshape" => {
            // Dimensions of one element may come and go.
            let mut outer = result.iter().zip(index).filter(|(size, _)| **size != 1);
            let mut inner = Vec::with_capacity(shape.len());
            for &size in shape {
                inner.push(match size {
                    1 => Index::At(0),
                    _ => *outer.next().filter(|(other, _)| **other == size)?.1,
                });
            }
            outer.next().is_none().then_some(inner)
        }
        _ => None,
    }
}
