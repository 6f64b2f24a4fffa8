// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-hold-biases`: what is added to a product of heads is not taken into the product's kernel, repeated.
//!
//! # What it matches
//!
//! A value that is given (to the function, to a loop) and repeated for some dimensions that a product batches over, but not for all of
//! them: a bias of attention's scores for each sample, which all heads share, where elementwise ops bring it together with
//! the product:
//!
//! ```mlir
//! %scores = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], ...       // [8, 4, 1024, 1024]
//! %all = stablehlo.broadcast_in_dim %bias, dims = [0, 1, 2, 3]                       // of [8, 1, 1024, 1024]
//! %sum = stablehlo.add %scores, %all
//! ```
//!
//! becomes
//!
//! ```mlir
//! %scores = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], ...
//! %held = stablehlo.optimization_barrier %bias
//! %all = stablehlo.broadcast_in_dim %held, dims = [0, 1, 2, 3]
//! %sum = stablehlo.add %scores, %all
//! ```
//!
//! # Why it is right
//!
//! A barrier hands on what it is given.
//!
//! # Why it pays
//!
//! XLA for GPUs takes elementwise ops after a product into the product's kernel if all else that they read is given. It makes one dimension
//! of all that is batched over first, and cannot say in its kernel that a value is repeated along a part of that: so it stores the
//! value as large as the scores are, and reads that. What comes through a barrier is not given: it is added where the
//! softmax reads the scores, and repeated there. Scores of [8, 4, 1024, 1024] and their softmax with a bias for each sample take 129
//! microseconds without, and 83 with (`test/oracle/referee.py --target h100` on `test/hold-biases/softmax.mlir`, before and after).
//! Chunks of attention come like this: a bias that was computed on the fly is given to their loops.
//!
//! # What it costs
//!
//! The product's kernel ends with the product. One walk over the broadcasts, each of which looks at a few ops.
//!
//! # When it must not fire
//!
//! * What is repeated for all that is batched over, or for nothing of it, and products that batch over one dimension: the kernel can say that.
//! * A product, or what is made of it on the way, that something else reads: it is stored, and nothing is taken along.
//! * What a partitioner has to cut.
//! * Targets that take nothing along, or anything.

use crate::framework::{Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold;
use crate::ir::{self, Builder};
use crate::ops::class::is_elementwise;
use crate::ops::products;
use crate::rewrite::{defining_op, has_one_use, ops_named, users};
use crate::shards::is_partitioned;
use crate::target::{Beside, Target};
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, TypeLike, Value, ValueLike};
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Keep what is given and repeated for some of a product's batch out of the product's kernel.
    ///
    /// XLA for GPUs would store it as large as the product is, for that kernel to read. Behind a barrier it is added, and repeated,
    /// by what reads the product.
    ///
    /// ```mlir
    /// %all = stablehlo.broadcast_in_dim %bias, dims = [0, 1, 2, 3]
    /// %sum = stablehlo.add %scores, %all
    /// // becomes
    /// %held = stablehlo.optimization_barrier %bias
    /// %all = stablehlo.broadcast_in_dim %held, dims = [0, 1, 2, 3]
    /// %sum = stablehlo.add %scores, %all
    /// ```
    pub struct HoldBiases {
        /// What compiles the module.
        pub target: Target = Target::default(),
    }
}

const HELD: Statistic = Statistic::new(c"num-held", c"values that are repeated by what reads a product");

/// Elementwise ops between a product and what is repeated.
const NEAR: usize = 8;

impl Pass for HoldBiases {
    const ARGUMENT: &'static str = "slimhlo-hold-biases";
    const STATISTICS: &'static [Statistic] = &[HELD];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let storage = self.target.storage();
        if storage.beside_products != Beside::Given || !storage.barriers_hold {
            return Ok(Changed::No);
        }
        let repeated = ops_named(root, "stablehlo.broadcast_in_dim");
        let held: Vec<_> = repeated.into_iter().filter(|op| is_stored_for_product(*op)).collect();
        let build = Builder::new(root);
        for &op in &held {
            let Ok(given) = op.operand(0) else { continue };
            build.set_insertion_point_before(op);
            build.set_operand(op, 0, hold::barrier(given, &build, op.location()));
        }
        context.count(&HELD, held.len() as u64);
        Ok((!held.is_empty()).into())
    }
}

/// Whether a broadcast is one that a product's kernel would read, and could not make.
fn is_stored_for_product(op: OperationRef<'_, '_>) -> bool {
    let (Ok(given), Some(value)) = (op.operand(0), ir::first_result(op)) else { return false };
    if !is_given(given) || is_partitioned(op) || ir::plain(value).is_none() {
        return false;
    }
    users(value).filter(|user| is_elementwise(op_name(*user))).any(|user| {
        let others = user.operands().filter(|operand| *operand != value);
        others.filter_map(product_before).any(|product| repeats_part(op, given, product))
    })
}

/// Whether a value is given to the block, or part of the program.
fn is_given(value: Value<'_, '_>) -> bool {
    match defining_op(value) {
        None => true,
        Some(op) => match op_name(op) {
            "stablehlo.constant" => true,
            "stablehlo.reshape" => op.operands().next().is_some_and(|of| defining_op(of).is_none()),
            _ => false,
        },
    }
}

/// The product of floats whose kernel goes on to a value, by elementwise ops that alone read what is before them.
fn product_before<'c: 'a, 'a>(value: Value<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let mut value = value;
    for _ in 0..NEAR {
        let op = defining_op(value).filter(|_| has_one_use(value))?;
        match op_name(op) {
            "stablehlo.dot_general" => return ir::element_of(value.r#type()).is_float().then_some(op),
            name if is_elementwise(name) => {
                let mut computed = op.operands().filter(|operand| !is_repeated(*operand));
                value = computed.next()?;
                if computed.next().is_some() {
                    return None;
                }
            }
            _ => return None,
        }
    }
    None
}

/// Whether a value is given, or repeats what is.
fn is_repeated(value: Value<'_, '_>) -> bool {
    is_given(value)
        || defining_op(value).is_some_and(|op| {
            op_name(op) == "stablehlo.broadcast_in_dim" && op.operands().next().is_some_and(is_given)
        })
}

/// Whether a broadcast repeats what it is given for some of the dimensions that a product batches over, and not for others.
fn repeats_part(op: OperationRef<'_, '_>, given: Value<'_, '_>, product: OperationRef<'_, '_>) -> bool {
    let numbers = products::dot_numbers(product);
    let (Some(numbers), Some(dims)) = (numbers, ir::i64_array(op, "broadcast_dimensions")) else {
        return false;
    };
    let made = ir::first_result(product).and_then(|made| Tensor::new(made.r#type()));
    let (Some(made), Some(given)) = (made, Tensor::new(given.r#type())) else { return false };
    let has = |place: i64| {
        let at = dims.iter().position(|&dim| dim == place);
        at.is_some_and(|at| given.shape[at] == made.shape[place as usize])
    };
    let batch = numbers.lhs_batching_dimensions().len() as i64;
    let mut batch = (0..batch).filter(|&place| made.shape[place as usize] > 1).map(has);
    batch.next().is_some_and(|first| batch.any(|other| other != first))
}
