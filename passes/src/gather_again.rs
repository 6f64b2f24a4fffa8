// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-gather-again`: what devices gather for products before a function's peak they gather again for those after it.
//!
//! # What it matches
//!
//! A program that a partitioner has yet to cut, in which parameters are spread over the devices that a batch is spread over (fully sharded data
//! parallelism): each product with one needs all of it, once in the forward part and once or twice in the backward part.
//!
//! ```mlir
//! // %w is cut along rows, %x and %dy along the batch
//! %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]          // %w is gathered
//! ...                                                                      // other layers, the loss: the peak
//! %dx = stablehlo.dot_general %dy, %w, contracting_dims = [2] x [1]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %y = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0]
//! ...
//! %held:2 = stablehlo.optimization_barrier %w, %dy
//! %dx = stablehlo.dot_general %held#1, %held#0, contracting_dims = [2] x [1]
//! ```
//!
//! # Why it is right
//!
//! A barrier hands on what it is given.
//!
//! # Why it pays
//!
//! Partitioners gather for each op, and XLA then finds that the same is gathered twice: so what a layer has gathered stays until the layer's
//! backward part is done, of all layers at once. What comes out of a barrier is another value, and is there only with what it waits for. A language
//! model with FSDP goes from 2,601 MiB of temporaries at 1.24 of the time to 1,839 at 1.26 under XLA for four H100 (`cargo xtask bench corpus`,
//! fsdp_haiku).
//!
//! # What it costs
//!
//! One more all-gather for each parameter, which is timed as such: the pipeline keeps it where that is worth it. Linear in the ops of the function.
//!
//! # When it must not fire
//!
//! * What is gathered on one side of the peak alone, and what a layer after it would not have to wait for.
//! * Exchanges that are written out, of sharded fields, say: their number is nobody's to raise.
//! * Back ends that drop barriers before they look for what is computed twice (`Storage::barriers_hold`), or whose rates nobody knows.

use crate::body::Body;
use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold::barriers;
use crate::ir::{self, Builder};
use crate::memory::{self, OnDevice};
use crate::ops::products::is_product;
use crate::rewrite::defining_op;
use crate::shards::is_partitioned;
use crate::tables::Table;
use crate::target::Target;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::{self, op_name};

crate::pass_options! {
    /// Gather again after a function's peak what devices have gathered for products before it.
    ///
    /// Parameters that are spread over the devices are gathered for each product with them, and back ends keep what they have gathered for the
    /// forward part until the backward part is done. A barrier that waits for what the backward part multiplies them with has them gathered once more.
    ///
    /// ```mlir
    /// %y = stablehlo.dot_general %x, %w ...
    /// %dx = stablehlo.dot_general %dy, %w ...
    /// // becomes
    /// %y = stablehlo.dot_general %x, %w ...
    /// %held:2 = stablehlo.optimization_barrier %w, %dy
    /// %dx = stablehlo.dot_general %held#1, %held#0 ...
    /// ```
    pub struct GatherAgain {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How large what is gathered has to be, on each device. Not measured against others.
        pub least_bytes: Bytes = Bytes(1 << 20),
    }
}

const AGAIN: Statistic = Statistic::new(c"num-gathered", c"values that are gathered again");

impl Pass for GatherAgain {
    const ARGUMENT: &'static str = "slimhlo-gather-again";
    const STATISTICS: &'static [Statistic] = &[AGAIN];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let holds = self.target.rates().is_some() && self.target.storage().barriers_hold;
        if !holds || !is_partitioned(root) {
            return Ok(Changed::No);
        }
        // The function's own block: a loop's turn gathers its own.
        let Some((block, profile)) = memory::profiles(root, self.target).into_iter().next() else {
            return Ok(Changed::No);
        };
        let Some(body) = Body::of(block) else { return Ok(Changed::No) };
        let Some(peak) = profile.peak.and_then(|peak| body.own(peak)) else { return Ok(Changed::No) };
        let devices = OnDevice::new(root);
        let build = Builder::new(root);
        let mut count = 0;
        for uses in uses_of_gathered(&body, &devices, self.least_bytes.0) {
            count += u64::from(gather_again(&body, peak, &uses, &build));
        }
        context.count(&AGAIN, count);
        Ok(Changed::from(count > 0))
    }
}

/// A product that takes something gathered.
struct Use<'c, 'a> {
    place: usize,
    op: OperationRef<'c, 'a>,
    operand: usize,
    /// What it takes, behind whatever barrier.
    value: Value<'c, 'a>,
    /// The same before any barriers.
    origin: Value<'c, 'a>,
}

/// All products that take something gathered of so many bytes or more, in order, value by value.
fn uses_of_gathered<'c: 'a, 'a>(
    body: &Body<'c, 'a>,
    devices: &OnDevice,
    least: u64,
) -> Vec<Vec<Use<'c, 'a>>> {
    let mut numbers: Table<usize, usize> = Table::default();
    let mut all: Vec<Vec<Use<'c, 'a>>> = Vec::new();
    for (place, &op) in body.ops.iter().enumerate().filter(|(_, op)| is_product(**op)) {
        for (operand, value) in op.operands().enumerate() {
            let read = devices.read(op, operand, value);
            if read < least || read <= devices.size(value).0 {
                continue;
            }
            let origin = origin_of(value);
            let number = *numbers.entry(ir::key(origin)).or_insert_with(|| {
                all.push(Vec::new());
                all.len() - 1
            });
            all[number].push(Use { place, op, operand, value, origin });
        }
    }
    all
}

/// What a value is before it goes through barriers.
fn origin_of<'c: 'a, 'a>(mut value: Value<'c, 'a>) -> Value<'c, 'a> {
    while let Some(op) = defining_op(value).filter(|op| op_name(*op) == "stablehlo.optimization_barrier") {
        let number = ffi::as_result(value).map(|result| result.result_number());
        let Some(given) = number.and_then(|number| op.operands().nth(number)) else { break };
        value = given;
    }
    value
}

/// Has what comes after the peak wait for what it multiplies the value with; whether anything had to be done for that.
fn gather_again<'c: 'a, 'a>(
    body: &Body<'c, 'a>,
    peak: usize,
    uses: &[Use<'c, 'a>],
    build: &Builder<'c, 'a>,
) -> bool {
    let (before, after) = uses.split_at(uses.partition_point(|used| used.place <= peak));
    let Some(first) = after.first().filter(|_| !before.is_empty()) else { return false };
    let is_held = body.maker(first.value).is_some_and(|maker| maker > peak);
    if is_held && after.iter().all(|used| used.value == first.value) {
        return false;
    }
    // What it waits for has to be late itself.
    let late = first.op.operands().enumerate().find(|(number, operand)| {
        *number != first.operand && body.maker(*operand).is_some_and(|maker| maker > peak)
    });
    let Some((number, other)) = late else { return false };
    build.set_insertion_point_before(first.op);
    let held = barriers(&[first.origin, other], build, first.op.location());
    build.set_operand(first.op, number, held[1]);
    for used in after {
        build.set_operand(used.op, used.operand, held[0]);
    }
    true
}
