// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a rule sees of the op it may rewrite, and the questions that rules ask.

use crate::PassError;
use crate::ir::{self, Builder, discardable_attributes};
use crate::rewrite::{Patterns, Rewriter, carry_attributes, defining_op, has_one_use};
use melior::ir::attribute::{ArrayAttribute, DictionaryAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, Location, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::dense::element_bytes;
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::types::Tensor;

/// An op that a rule looks at: of one result, a static tensor of plain numbers.
pub struct Site<'c: 'a, 'a> {
    /// The op.
    pub op: OperationRef<'c, 'a>,
    /// Builds what replaces it; new ops go before it unless a rule says otherwise.
    pub build: Builder<'c, 'a>,
    /// Where the op comes from.
    pub location: Location<'c>,
    /// The op's result.
    pub result: Tensor<'c>,
}

/// What replaces the result of an op: an op just made, which takes the discardable attributes over, or what
/// [`Site::forward`] let through. `None` leaves everything as it was.
pub type Rule = for<'c, 'a> fn(&Site<'c, 'a>) -> Option<Value<'c, 'a>>;

/// The rules for each op, in the order in which they are tried.
pub type Rules = &'static [(&'static str, &'static [Rule])];

/// A static tensor of numbers, without encoding.
pub fn plain<'c>(value: Value<'c, '_>) -> Option<Tensor<'c>> {
    plain_type(value.r#type())
}

fn plain_type(ty: Type<'_>) -> Option<Tensor<'_>> {
    let tensor = Tensor::new(ty)?;
    (tensor.is_static() && tensor.encoding().is_none() && element_bytes(tensor.element).is_some())
        .then_some(tensor)
}

impl<'c, 'a> Site<'c, 'a> {
    fn new(op: OperationRef<'c, 'a>, rewriter: &Rewriter<'c, 'a>) -> Option<Self> {
        let result = (op.result_count() == 1).then(|| op.result(0).ok())??;
        let result = plain(result.into())?;
        op.operands().all(|operand| plain(operand).is_some()).then_some(())?;
        Some(Self { op, build: Builder::within(rewriter, op), location: op.location(), result })
    }

    /// Operand `index`.
    pub fn operand(&self, index: usize) -> Option<Value<'c, 'a>> {
        (index < self.op.operand_count()).then(|| self.op.operands().nth(index))?
    }

    /// An existing value in place of the result, if it is of its type and the op has no attributes that would be lost.
    pub fn forward(&self, value: Value<'c, 'a>) -> Option<Value<'c, 'a>> {
        let result: Value<'c, 'a> = self.op.result(0).ok()?.into();
        (value.r#type() == result.r#type() && value != result && self.is_bare()).then_some(value)
    }

    /// Whether the op carries no discardable attributes.
    pub fn is_bare(&self) -> bool {
        discardable_attributes(self.op).is_empty()
    }

    /// The op that makes operand `index`, if it is a `name` that can be looked through.
    pub fn producer(&self, index: usize, name: &str) -> Option<OperationRef<'c, 'a>> {
        let op = producer(self.operand(index)?, name)?;
        // In dead code an op may be its own operand.
        (ir::op_key(op) != ir::op_key(self.op)).then_some(op)
    }

    /// Whether it costs nothing that the result is had from `source` rather than from what `inner` makes of it.
    pub fn may_skip(&self, inner: OperationRef<'c, 'a>, source: Value<'c, 'a>) -> bool {
        let result = inner.result(0).ok().map(Value::from);
        inner.block() == self.op.block() && result.is_some_and(has_one_use) || is_always_there(source)
    }

    /// A value of one scalar everywhere.
    pub fn splat(&self, scalar: &crate::splat::Splat<'c, 'a>, shape: &[i64]) -> Value<'c, 'a> {
        let scalar = scalar.materialize(&self.build, self.location);
        let ty = Tensor::get(shape, self.result.element, None);
        if shape.is_empty() { scalar } else { self.build.broadcast_scalar(scalar, ty, self.location) }
    }
}

/// The op that makes `value`, if it is a `name` on plain tensors without attributes to lose.
pub fn producer<'c: 'a, 'a>(value: Value<'c, 'a>, name: &str) -> Option<OperationRef<'c, 'a>> {
    let op = defining_op(value).filter(|op| op_name(*op) == name && op.result_count() == 1)?;
    // Only a concatenate has more operands, of one type but for a size; looking at all of them once for each of its users
    // would take too long.
    const LOOKED_AT: usize = 8;
    (discardable_attributes(op).is_empty()
        && op.operands().take(LOOKED_AT).all(|operand| plain(operand).is_some()))
    .then_some(op)
}

/// Whether a value takes memory for the whole of the program anyway, or none: an argument of the program that is not
/// given away, a constant, or an iota.
pub fn is_always_there(value: Value<'_, '_>) -> bool {
    match defining_op(value) {
        Some(op) => matches!(op_name(op), "stablehlo.constant" | "stablehlo.iota"),
        None => is_kept_argument(value),
    }
}

/// Whether `value` is an argument of a public function whose memory is not for reuse.
pub fn is_kept_argument(value: Value<'_, '_>) -> bool {
    let Some(argument) = ffi::as_block_argument(value) else { return false };
    // A result that belongs in an argument's memory is named by either of these.
    const GIVEN_AWAY: [&str; 2] = ["tf.aliasing_output", "jax.buffer_donor"];
    let owner: BlockRef = argument.owner();
    let Some(function) = owner.parent_operation() else { return false };
    if op_name(function) != "func.func" {
        return false;
    }
    if function.attribute("sym_visibility").is_ok_and(|visibility| visibility.to_string() != "\"public\"") {
        return false;
    }
    let Ok(attributes) = function.attribute("arg_attrs") else { return true };
    let Ok(attributes) = ArrayAttribute::try_from(attributes) else { return false };
    let own = attributes.element(argument.argument_number()).ok();
    own.and_then(|own| DictionaryAttribute::try_from(own).ok())
        .is_some_and(|own| GIVEN_AWAY.iter().all(|name| ffi::attribute_in(own, name).is_none()))
}

/// Places and sizes beyond this, and steps beyond the next, are left alone: what is computed of them cannot overflow.
const LARGEST: i64 = 1 << 40;
const LONGEST_STEP: i64 = 1 << 20;

/// The parts of a `slice`.
pub struct Slice<'c, 'a> {
    pub operand: Value<'c, 'a>,
    pub start: &'c [i64],
    pub limit: &'c [i64],
    pub stride: &'c [i64],
}

impl<'c: 'a, 'a> Slice<'c, 'a> {
    pub fn new(op: OperationRef<'c, 'a>) -> Option<Self> {
        let slice = Self {
            operand: op.operands().next()?,
            start: ir::i64_array(op, "start_indices")?,
            limit: ir::i64_array(op, "limit_indices")?,
            stride: ir::i64_array(op, "strides")?,
        };
        let small = slice.limit.iter().all(|&limit| limit <= LARGEST);
        (small && slice.stride.iter().all(|&stride| stride <= LONGEST_STEP)).then_some(slice)
    }

    pub fn has_unit_strides(&self) -> bool {
        self.stride.iter().all(|&stride| stride == 1)
    }
}

/// The parts of a `pad`.
pub struct Pad<'c, 'a> {
    pub operand: Value<'c, 'a>,
    pub padding: Value<'c, 'a>,
    pub low: &'c [i64],
    pub high: &'c [i64],
    pub interior: &'c [i64],
    /// Sizes of the operand.
    pub shape: &'c [i64],
}

impl<'c: 'a, 'a> Pad<'c, 'a> {
    pub fn new(op: OperationRef<'c, 'a>) -> Option<Self> {
        let operand = op.operands().next()?;
        let pad = Self {
            operand,
            padding: op.operands().nth(1)?,
            low: ir::i64_array(op, "edge_padding_low")?,
            high: ir::i64_array(op, "edge_padding_high")?,
            interior: ir::i64_array(op, "interior_padding")?,
            shape: plain(operand)?.shape,
        };
        let small = pad
            .low
            .iter()
            .chain(pad.high)
            .chain(pad.shape)
            .all(|&size| size.unsigned_abs() <= LARGEST as u64);
        (small && pad.interior.iter().all(|&interior| interior <= LONGEST_STEP)).then_some(pad)
    }

    /// Whether nothing of the operand is cut off.
    pub fn only_adds(&self) -> bool {
        self.low.iter().chain(self.high).all(|&edge| edge >= 0)
    }

    /// Whether the operand stays in one piece.
    pub fn has_no_interior(&self) -> bool {
        self.interior.iter().zip(self.shape).all(|(&interior, &size)| interior == 0 || size <= 1)
    }

    /// Whether `other` puts an operand of the same shape in the same places.
    pub fn is_like(&self, other: &Self) -> bool {
        (self.shape, self.low, self.high, self.interior)
            == (other.shape, other.low, other.high, other.interior)
    }
}

/// Result dimensions of the operand's dimensions in a `broadcast_in_dim` or a `broadcast`.
pub fn broadcast_dims(op: OperationRef<'_, '_>) -> Option<Vec<i64>> {
    match op_name(op) {
        "stablehlo.broadcast_in_dim" => ir::i64_array(op, "broadcast_dimensions").map(<[i64]>::to_vec),
        "stablehlo.broadcast" => {
            let added = ir::i64_array(op, "broadcast_sizes")?.len() as i64;
            let rank = plain(op.operands().next()?)?.rank() as i64;
            Some((added..added + rank).collect())
        }
        _ => None,
    }
}

/// The op that broadcasts to operand `index` of a site, and where it puts each dimension.
pub fn broadcast<'c, 'a>(site: &Site<'c, 'a>, index: usize) -> Option<(OperationRef<'c, 'a>, Vec<i64>)> {
    let op = site
        .producer(index, "stablehlo.broadcast_in_dim")
        .or_else(|| site.producer(index, "stablehlo.broadcast"))?;
    Some((op, broadcast_dims(op)?))
}

/// Bytes of a plain tensor.
pub fn byte_count(tensor: &Tensor<'_>) -> Option<i64> {
    tensor.element_count()?.checked_mul(element_bytes(tensor.element)? as i64)
}

/// Adds the rules to what a driver applies; `count` hears of each that was.
pub fn add_rules<'c, 'p>(
    mut patterns: Patterns<'c, 'p>,
    rules: Rules,
    count: &'p (dyn Fn(&str) + 'p),
) -> Patterns<'c, 'p> {
    for &(name, rules) in rules {
        patterns = patterns.on(name, move |op, rewriter| {
            let Some(site) = Site::new(op, rewriter) else { return Ok(false) };
            let made = rules.iter().find_map(|rule| {
                // A rule that gave up may have meant to build elsewhere.
                site.build.set_insertion_point_before(op);
                rule(&site)
            });
            let Some(value) = made else { return Ok(false) };
            replace(&site, value, rewriter)?;
            count(name);
            Ok(true)
        });
    }
    patterns
}

fn replace<'c, 'a>(
    site: &Site<'c, 'a>,
    value: Value<'c, 'a>,
    rewriter: &Rewriter<'c, 'a>,
) -> Result<(), PassError<'c>> {
    if let Some(made) = defining_op(value).filter(|_| !site.is_bare()) {
        rewriter.modify(made, || carry_attributes(site.op, made, &[]));
    }
    rewriter.replace(site.op, &[value])
}
