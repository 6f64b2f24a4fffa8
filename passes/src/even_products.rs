// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-even-products`: a product that a back end computes in parts, after filling up what it reads, is written in parts that come
//! out even.
//!
//! # What it matches
//!
//! A `dot_general` of few results that contracts so many elements that the target computes it in parts, of a number of parts that does
//! not divide them:
//!
//! ```mlir
//! %r = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0]
//!     : (tensor<8x500000xf32>, tensor<500000x54xf32>) -> tensor<8x54xf32>
//! ```
//!
//! becomes, with 250 parts of 2,000 elements,
//!
//! ```mlir
//! %as = stablehlo.reshape %a : (tensor<8x500000xf32>) -> tensor<8x250x2000xf32>
//! %xs = stablehlo.reshape %x : (tensor<500000x54xf32>) -> tensor<250x2000x54xf32>
//! %sums = stablehlo.dot_general %as, %xs, batching_dims = [1] x [0], contracting_dims = [2] x [1]
//!     : (tensor<8x250x2000xf32>, tensor<250x2000x54xf32>) -> tensor<250x8x54xf32>
//! %r = stablehlo.reduce(%sums init: %zero) applies stablehlo.add across dimensions = [0]
//! ```
//!
//! # Why it is right
//!
//! The same products are added up in another order, which StableHLO leaves open. Parts are summed in f32, as the target would have done.
//! Products of the same shapes are written in the same parts: what is computed twice has the same bits twice.
//!
//! # Why it pays
//!
//! XLA for GPUs keeps its chip busy with a power of two of parts, and puts zeros behind both operands where that does not divide what is
//! contracted: it writes a copy of each, the data of a regression among them, and reads that (`test/oracle/products.py`). Parts that come
//! out even are views of what is there.
//!
//! # What it costs
//!
//! The sums of parts, about as many as the target would have stored. One walk, and divisors of one number per product.
//!
//! # When it must not fire
//!
//! * The target does not compute products in parts, or not this one, or its own parts come out even.
//! * No number of parts near the target's divides what is contracted into parts that begin where 16 bytes do, or the target would
//!   split such parts once more.
//! * Several contracted dimensions; products of integers, of f64, or that name their algorithm.
//! * Annotations, and programs for more than one partition.

use crate::framework::{Changed, Pass, PassContext, PassError, PassResult, Statistic};
use crate::ir::{self, Builder, element_bytes, plain};
use crate::ops::products::dot_numbers;
use crate::rewrite::walk;
use crate::shards::is_partitioned;
use crate::target::{Splits, Target};
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::{self, op_name};
use slimhlo_dialect::stablehlo::attrs::DotDimensionNumbers;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Write products that a back end would fill up with zeros in parts that come out even.
    ///
    /// XLA for GPUs computes a product of few results in parts, a power of two of them. Where that does not divide what is contracted, it
    /// copies both operands with zeros behind them. Parts whose number divides it are views.
    ///
    /// ```mlir
    /// %r = stablehlo.dot_general %a, %x, contracting_dims = [1] x [0]
    ///     : (tensor<8x500000xf32>, tensor<500000x54xf32>) -> tensor<8x54xf32>
    /// // becomes
    /// %sums = stablehlo.dot_general %as, %xs, batching_dims = [1] x [0], contracting_dims = [2] x [1]
    ///     : (tensor<8x250x2000xf32>, tensor<250x2000x54xf32>) -> tensor<250x8x54xf32>
    /// %r = stablehlo.reduce(%sums init: %zero) applies stablehlo.add across dimensions = [0]
    /// ```
    pub struct EvenProducts {
        /// What compiles the module.
        pub target: Target = Target::default(),
    }
}

const MADE: Statistic = Statistic::new(c"num-products", c"products that were written in parts");

/// Where parts have to begin for a back end to read them as they lie: so many bytes.
const ALIGNMENT: i64 = 16;
/// How many times as many parts as the target would make, or as few, are tried.
const RANGE: i64 = 2;

impl Pass for EvenProducts {
    const ARGUMENT: &'static str = "slimhlo-even-products";
    const STATISTICS: &'static [Statistic] = &[MADE];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let Some(splits) = self.target.storage().splits_products else { return Ok(Changed::No) };
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let mut found = Vec::new();
        walk(root, |op| {
            if op_name(op) == "stablehlo.dot_general"
                && let Some(product) = Product::of(op)
                && let Some(parts) = product.even_parts(splits)
            {
                found.push((product, parts));
            }
            WalkResult::Advance
        });
        let build = Builder::new(root);
        for (product, parts) in &found {
            product.write_in(*parts, &build)?;
            context.count(&MADE, 1);
        }
        Ok(Changed::from(!found.is_empty()))
    }
}

/// A product that contracts one dimension of each operand.
struct Product<'c, 'a> {
    op: OperationRef<'c, 'a>,
    numbers: DotDimensionNumbers<'c>,
    /// The dimension of each operand that is contracted.
    dims: [i64; 2],
    /// How many products there are, results of all together, and elements that are contracted for each.
    batch: i64,
    results: i64,
    contracted: i64,
    /// Bytes of an element of the operand whose elements are narrower.
    narrower: i64,
}

impl<'c: 'a, 'a> Product<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>) -> Option<Self> {
        let numbers = dot_numbers(op)?;
        let (&[left], &[right]) =
            (numbers.lhs_contracting_dimensions(), numbers.rhs_contracting_dimensions())
        else {
            return None;
        };
        let mut operands = op.operands();
        let operands = [operands.next()?, operands.next()?];
        let [first, second] = [plain(operands[0])?, plain(operands[1])?];
        let result = plain(ir::first_result(op)?)?;
        let narrow = |tensor: &Tensor<'c>| {
            element_bytes(tensor.element).filter(|&bytes| bytes <= 4 && tensor.element.is_float())
        };
        narrow(&result)?;
        let narrower = narrow(&first)?.min(narrow(&second)?);
        let named = ffi::attribute_of(op, "algorithm").is_some();
        let count = |sizes: &mut dyn Iterator<Item = i64>| sizes.fold(1, i64::saturating_mul);
        let batch =
            count(&mut numbers.lhs_batching_dimensions().iter().map(|&dim| first.shape[dim as usize]));
        let results = count(&mut result.shape.iter().copied());
        let contracted = first.shape[left as usize];
        (!named && results > 0 && ir::discardable_attributes(op).is_empty()).then_some(Self {
            op,
            numbers,
            dims: [left, right],
            batch,
            results,
            contracted,
            narrower,
        })
    }

    /// The number of parts next to the target's own that come out even, where its own do not.
    fn even_parts(&self, splits: Splits) -> Option<i64> {
        let in_parts = |parts: i64| {
            let counts = [self.batch * parts, self.results.saturating_mul(parts), self.contracted / parts];
            let [batch, results, contracted] = counts.map(i64::unsigned_abs);
            splits.parts(batch, results, contracted)
        };
        let own = i64::try_from(in_parts(1)).ok().filter(|&own| own > 1)?;
        let is_even = |parts: i64| self.contracted % (parts * (ALIGNMENT / self.narrower)) == 0;
        if is_even(own) {
            return None;
        }
        let farther = |parts: i64| parts.max(own) * 1000 / parts.min(own);
        (own / RANGE..=own.saturating_mul(RANGE))
            .filter(|&parts| parts > 1 && is_even(parts) && in_parts(parts) < 2)
            .min_by_key(|&parts| farther(parts))
    }

    /// Writes it in so many parts.
    fn write_in(&self, parts: i64, build: &Builder<'c, 'a>) -> Result<(), PassError<'c>> {
        let (op, location) = (self.op, self.op.location());
        build.set_insertion_point_before(op);
        let mut views = Vec::new();
        for (operand, &dim) in op.operands().zip(&self.dims) {
            let Some(tensor) = plain(operand) else { return Ok(()) };
            let mut shape = tensor.shape.to_vec();
            shape.splice(dim as usize..=dim as usize, [parts, self.contracted / parts]);
            views.push(build.reshape(operand, Tensor::get(&shape, tensor.element, None), location));
        }
        let batching = [self.numbers.lhs_batching_dimensions(), self.numbers.rhs_batching_dimensions()];
        let [left, right] = [0, 1].map(|index| {
            let (batching, dim) = (batching[index], self.dims[index]);
            batching.iter().map(|&other| other + i64::from(other > dim)).chain([dim]).collect::<Vec<_>>()
        });
        let contracted = self.dims.map(|dim| [dim + 1]);
        let numbers =
            DotDimensionNumbers::new(build.context(), &left, &right, &contracted[0], &contracted[1]);
        let result: Value = op.result(0)?.into();
        let Some(tensor) = plain(result) else { return Ok(()) };
        let number = Type::float32(crate::rewrite::context_of(op));
        let at = batching[0].len();
        let mut shape = tensor.shape.to_vec();
        shape.insert(at, parts);
        let sums = Tensor::get(&shape, number, None);
        let sums = build.copy_with(op, &views, &[("dot_dimension_numbers", numbers.into())], &[sums]);
        let zero = build.zeros(Tensor::get(&[], number, None), location);
        let whole = Tensor::get(tensor.shape, number, None);
        let sums = [sums.result(0)?.into(), zero];
        let total = build.reduce("stablehlo.add", sums, &[at as i64], whole, location);
        let total =
            if tensor.element == number { total } else { build.convert(total, result.r#type(), location) };
        build.replace_all_uses_with(result, total);
        build.erase(op);
        Ok(())
    }
}
