// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Batch normalization in elementary ops.
//!
//! With `mean` and `var` per feature, sums over all other dimensions, `n` elements per feature, and `r = rsqrt(var + epsilon)`:
//!
//! * inference: `operand * (scale * r) + (offset - mean * scale * r)`;
//! * training: `mean = sum(x) / n`, `var = sum(x * x) / n - mean * mean`, `(x - mean) * r * scale + offset`;
//! * grad, of `g` with `d = x - mean` and `s = sum(g * d)`: `scale * r / n * (g * n - sum(g) - s * d / (var + epsilon))`, `s * r`
//!   and `sum(g)`.
//!
//! Which of several equal forms is meant, and in which order, StableHLO leaves open; it is XLA's here, so that what cancels there cancels
//! here, too. Floats of fewer than 32 bits are computed as f32 throughout and rounded once.

use crate::framework::PassError;
use crate::ir::{self, Builder};
use melior::ir::attribute::FloatAttribute;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef, Type, Value, ValueLike};
use slimhlo_dialect::dense;
use slimhlo_dialect::ffi::{attribute_of, op_name};
use slimhlo_dialect::types::{Tensor, is_static};

/// What the three ops have in common.
struct Norm<'c, 'a, 'b> {
    builder: &'b Builder<'c, 'a>,
    /// The type of `x`, and of what is per feature, in the element type that is computed with.
    whole: Type<'c>,
    features: Type<'c>,
    element: Type<'c>,
    /// The dimension of features, and all others.
    feature: i64,
    others: Vec<i64>,
    /// Elements per feature.
    count: i64,
    epsilon: f64,
    location: Location<'c>,
}

/// Replaces a batch normalization; one of dynamic shape is left for others to refuse.
pub fn batch_norm<'c: 'a, 'a>(
    builder: &Builder<'c, 'a>,
    op: OperationRef<'c, 'a>,
) -> Result<(), PassError<'c>> {
    let Some(tensor) = Tensor::new(op.operand(0)?.r#type()) else { return Ok(()) };
    let features = op.operand(1)?.r#type();
    let Some(feature) = ir::constant_attribute(op, "feature_index") else { return Ok(()) };
    let epsilon = attribute_of(op, "epsilon").and_then(|epsilon| FloatAttribute::try_from(epsilon).ok());
    let (Some(epsilon), true) = (epsilon, tensor.shape.iter().all(|&size| is_static(size))) else {
        return Ok(());
    };
    builder.set_insertion_point_before(op);
    let narrow = dense::element_bytes(tensor.element).is_some_and(|bytes| bytes < 4);
    let element = if narrow { Type::float32(builder.context()) } else { tensor.element };
    let others: Vec<i64> = (0..tensor.rank() as i64).filter(|&dim| dim != feature).collect();
    let norm = Norm {
        builder,
        whole: Tensor::get(tensor.shape, element, None),
        features: Tensor::get(
            Tensor::new(features).map_or(&[][..], |features| features.shape),
            element,
            None,
        ),
        element,
        feature,
        count: others.iter().map(|&dim| tensor.shape[dim as usize]).product(),
        others,
        epsilon: epsilon.value(),
        location: op.location(),
    };
    let operands: Vec<_> = op.operands().map(|operand| norm.widen(operand)).collect();
    let results = match (op_name(op), operands.as_slice()) {
        ("stablehlo.batch_norm_inference", &[x, scale, offset, mean, variance]) => {
            vec![norm.inference(x, scale, offset, mean, variance)]
        }
        ("stablehlo.batch_norm_training", &[x, scale, offset]) => norm.training(x, scale, offset)?,
        ("stablehlo.batch_norm_grad", &[x, scale, mean, variance, grad]) => {
            norm.grad(x, scale, mean, variance, grad)?
        }
        _ => return Ok(()),
    };
    let results: Vec<_> = results
        .into_iter()
        .zip(op.results())
        .map(
            |(value, result)| {
                if narrow { builder.convert(value, result.r#type(), norm.location) } else { value }
            },
        )
        .collect();
    super::replace(builder, op, &results);
    Ok(())
}

impl<'c: 'a, 'a> Norm<'c, 'a, '_> {
    fn widen(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let Some(tensor) = Tensor::new(value.r#type()) else { return value };
        if tensor.element == self.element {
            return value;
        }
        self.builder.convert(value, Tensor::get(tensor.shape, self.element, None), self.location)
    }

    fn binary(&self, name: &str, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        self.builder.binary(name, left, right, self.location)
    }

    fn add(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("stablehlo.add", left, right)
    }

    fn subtract(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("stablehlo.subtract", left, right)
    }

    fn multiply(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("stablehlo.multiply", left, right)
    }

    fn divide(&self, left: Value<'c, 'a>, right: Value<'c, 'a>) -> Value<'c, 'a> {
        self.binary("stablehlo.divide", left, right)
    }

    /// A number everywhere.
    fn number(&self, number: f64, ty: Type<'c>) -> Value<'c, 'a> {
        let scalar = self.builder.number(number, self.element, self.location);
        self.builder.broadcast_scalar(scalar, ty, self.location)
    }

    /// What is per feature, for each element.
    fn spread(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        self.builder.broadcast_in_dim(value, &[self.feature], self.whole, self.location)
    }

    /// `rsqrt(variance + epsilon)`
    fn scale_of(&self, variance: Value<'c, 'a>) -> Value<'c, 'a> {
        let sum = self.add(variance, self.number(self.epsilon, variance.r#type()));
        self.builder.insert("stablehlo.rsqrt", &[sum], &[], sum.r#type(), self.location)
    }

    /// The sum per feature.
    fn sum(&self, value: Value<'c, 'a>) -> Value<'c, 'a> {
        let zero = self.builder.number(0.0, self.element, self.location);
        let operands = [value, zero];
        self.builder.reduce("stablehlo.add", operands, &self.others, self.features, self.location)
    }

    fn inference(
        &self,
        x: Value<'c, 'a>,
        scale: Value<'c, 'a>,
        offset: Value<'c, 'a>,
        mean: Value<'c, 'a>,
        variance: Value<'c, 'a>,
    ) -> Value<'c, 'a> {
        let scale = self.multiply(scale, self.scale_of(variance));
        let shift = self.subtract(offset, self.multiply(mean, scale));
        self.add(self.multiply(x, self.spread(scale)), self.spread(shift))
    }

    fn training(
        &self,
        x: Value<'c, 'a>,
        scale: Value<'c, 'a>,
        offset: Value<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, melior::Error> {
        let count = self.number(self.count as f64, self.features);
        let mean = self.divide(self.sum(x), count);
        let square = self.divide(self.sum(self.multiply(x, x)), count);
        let variance = self.subtract(square, self.multiply(mean, mean));
        let normal = self.multiply(self.subtract(x, self.spread(mean)), self.spread(self.scale_of(variance)));
        let result = self.add(self.multiply(normal, self.spread(scale)), self.spread(offset));
        Ok(vec![result, mean, variance])
    }

    fn grad(
        &self,
        x: Value<'c, 'a>,
        scale: Value<'c, 'a>,
        mean: Value<'c, 'a>,
        variance: Value<'c, 'a>,
        grad: Value<'c, 'a>,
    ) -> Result<Vec<Value<'c, 'a>>, melior::Error> {
        let factor = self.scale_of(variance);
        let from_mean = self.subtract(x, self.spread(mean));
        let sum = self.sum(grad);
        let along = self.sum(self.multiply(grad, from_mean));
        let shifted = self.add(variance, self.number(self.epsilon, self.features));
        let back = self.divide(self.multiply(self.spread(along), from_mean), self.spread(shifted));
        let all = self.multiply(grad, self.number(self.count as f64, self.whole));
        let rest = self.subtract(self.subtract(all, self.spread(sum)), back);
        let weight = self.divide(self.multiply(scale, factor), self.number(self.count as f64, self.features));
        Ok(vec![self.multiply(self.spread(weight), rest), self.multiply(along, factor), sum])
    }
}
