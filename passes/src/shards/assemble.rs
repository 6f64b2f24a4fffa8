// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A result made anew from what it is made of.

use super::classes::{Class, Made, classes};
use super::emit::{Body, Outside};
use super::mesh::Layout;
use super::moves::{Moves, Piece, Source, is_computed_on_shared, is_read_by_made, plain};
use super::worth::is_fill_of_computed;
use super::{CLASSES, Inputs, PER_DEVICE, Rewrite, Target, uneven};
use crate::ir;
use crate::rewrite::{defining_op, location_of};
use melior::ir::operation::OperationLike;
use melior::ir::{Location, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

impl<'c: 'a, 'a> Rewrite<'c, 'a, '_> {
    /// Makes a result anew from what it is made of.
    pub(super) fn assemble(&mut self, target: &Target<'c, 'a>) -> Option<(Value<'c, 'a>, u64)> {
        let mut moves = Moves::new(&self.known, &mut self.splats);
        let pieces = moves.of_op(target.op)?;
        let Moves { inputs, fills, .. } = moves;
        let locals = self.locals(&inputs)?;
        // Where every device reads at a distance of its own, places come from tables, and the program is as long for many.
        let devices = self.known.mesh.grid.devices();
        let most = if self.known.by_op { CLASSES.max(PER_DEVICE * devices) } else { CLASSES };
        let classes = self.classes(&pieces, target, most, |source| match source {
            Source::Input(input) => (&inputs[input].1, &locals[input]),
            Source::Version(_) => (&target.layout, &target.local),
        })?;
        if !self.is_worth_it(&classes, &pieces, &inputs, target)
            && !self.is_worth_filling(&classes, &pieces, target)
        {
            return None;
        }
        let location = location_of(&[target.op, target.root]).unwrap_or(target.op.location());
        let element = ir::element_of(target.root.result(0).ok()?.r#type());
        let exprs: Vec<_> = pieces.iter().map(|(_, expr)| expr).collect();
        let others = self.sent_by_partitioner(target);
        self.build.set_insertion_point_before(target.op);
        let scalars: Vec<_> = fills.iter().map(|fill| fill.materialize(&self.build, location)).collect();
        let taken = inputs;
        let (inputs, made) = self.even(&taken, &scalars, location)?;
        let ty = Tensor::get(target.shape, element, None);
        let is_filled = classes.iter().all(|class| class.reads.is_empty()) || is_fill_of_computed(target);
        let own = target.op.result(0).ok()?.into();
        let is_stored =
            !is_filled && (is_computed_on_shared(own) || self.known.by_op && is_read_by_made(own));
        let outside = Outside {
            anchor: target.op,
            location,
            inputs: &inputs,
            fills: &scalars,
            result: (ty, &target.layout),
            exprs,
        };
        let mut body = Body::open(&self.build, &self.known.mesh, &mut self.channel, outside)?;
        body.may_slide = self.known.by_op;
        body.is_uneven |= taken.iter().zip(&inputs).any(|((taken, _), (even, _))| taken != even);
        let scalars = made;
        let held: i64 = target.local.iter().product();
        let value = body.assemble(&classes, &target.local, is_stored);
        // What one exchange brings is as wide as the widest part.
        let most = if body.is_uneven { 2 * held } else { held };
        let is_less = body.received <= most
            && others.is_none_or(|sent| {
                // A slice alone is most times part of an update or a join that is left to partitioners.
                let pays = match op_name(target.op) {
                    "stablehlo.slice" => sent.is_more_than(body.exchanges, body.received),
                    _ => sent.is_no_less_than(body.exchanges, body.received),
                };
                pays && sent.stores_no_less_than(body.received, held)
            });
        let Some(value) = value.filter(|_| is_less) else {
            body.abandon();
            self.sweep(&scalars);
            return None;
        };
        let exchanges = body.exchanges;
        let whole = body.close(value);
        let result = self.trimmed(whole, target, location);
        self.sweep(&scalars);
        Some((result, exchanges))
    }

    /// What a computation takes, with parts that come out even; and all that was made for it.
    pub(super) fn even(
        &mut self,
        inputs: &[(Value<'c, 'a>, Layout)],
        scalars: &[Value<'c, 'a>],
        location: Location<'c>,
    ) -> Option<(Inputs<'c, 'a>, Vec<Value<'c, 'a>>)> {
        let mut made = scalars.to_vec();
        let mut even = Vec::with_capacity(inputs.len());
        for input in inputs {
            let value = uneven::padded(&self.build, &self.known, input, &mut made, location)?;
            self.known.set(value, input.1.clone());
            even.push((value, input.1.clone()));
        }
        self.fresh.extend(made.iter().filter_map(|value| defining_op(*value)).map(ir::op_key));
        Some((even, made))
    }

    /// The result of a computation without what is beyond its ends.
    pub(super) fn trimmed(
        &mut self,
        whole: Value<'c, 'a>,
        target: &Target<'c, 'a>,
        location: Location<'c>,
    ) -> Value<'c, 'a> {
        let Some(ty) = ir::first_result(target.root).map(|result| result.r#type()) else { return whole };
        if whole.r#type() == ty {
            return whole;
        }
        self.known.set(whole, target.layout.clone());
        self.build.set_insertion_point_before(target.op);
        let left = uneven::trimmed(&self.build, &self.known.mesh, (whole, &target.layout), ty, location);
        self.fresh.extend(defining_op(left).map(ir::op_key));
        left
    }

    pub(super) fn locals(&self, inputs: &[(Value<'c, 'a>, Layout)]) -> Option<Vec<Vec<i64>>> {
        inputs.iter().map(|(value, layout)| self.known.tile(layout, plain(*value)?.shape)).collect()
    }

    pub(super) fn classes<'l>(
        &self,
        pieces: &[Piece<'c, 'a>],
        target: &Target<'c, 'a>,
        most: usize,
        layouts: impl Fn(Source) -> (&'l Layout, &'l Vec<i64>),
    ) -> Option<Vec<Class>> {
        let layouts = |source| {
            let (layout, tile) = layouts(source);
            (layout, tile.as_slice())
        };
        let grid = &self.known.mesh.grid;
        let made = Made { shape: target.shape, layout: &target.layout, tile: &target.local };
        let classes = classes(pieces, made, grid, layouts, most)?;
        let can = classes.iter().flat_map(|class| &class.reads).all(|read| read.rounds().is_some());
        can.then_some(classes)
    }
}
