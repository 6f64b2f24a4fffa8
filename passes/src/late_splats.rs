// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-late-splats`: a large splat that is written into comes into being when it is first written, not when the program
//! begins.
//!
//! # What it matches
//!
//! A `while` that starts an accumulator from a splat constant, or a `scatter` into one, of which another operand is there only
//! late:
//!
//! ```mlir
//! %zeros = stablehlo.constant dense<0.0> : tensor<32000x512xf32>
//! %updates = ...                                        // the end of a long computation
//! %sum = "stablehlo.scatter"(%zeros, %indices, %updates) ...
//! ```
//!
//! becomes
//!
//! ```mlir
//! %one = stablehlo.slice %updates [0:1, 0:1]            // then reshaped and bitcast: some integer
//! %zero = stablehlo.constant dense<0> : tensor<i32>
//! %late = stablehlo.clamp %zero, %one, %zero            // 0, whatever the integer
//! %zeros = stablehlo.broadcast_in_dim %late             // bitcast to f32 first
//! %sum = "stablehlo.scatter"(%zeros, %indices, %updates) ...
//! ```
//!
//! # Why it is right
//!
//! What is between two equal integers is that integer. The splat's bits are taken as an integer of their width and bitcast back,
//! so that they are kept whatever they mean, and so are NaNs in what is looked at.
//!
//! # Why it pays
//!
//! A splat follows from nothing, so that a back end may fill its buffer at any time before it is written. XLA for CPU schedules
//! breadth first: all that follows from nothing comes first, and the gradients' accumulators of a training step are held through the
//! forward pass. It also keeps one buffer per splat, and copies that for all but one of its writers, at the beginning,
//! too. What follows from a value that comes late cannot come before it. A back end that schedules for memory has it so anyway, and
//! gains nothing but a few scalar ops.
//!
//! # What it costs
//!
//! A few ops on scalars per accumulator. One walk, constant time per operand.
//!
//! # When it must not fire
//!
//! * No other operand comes late: fewer than [`LATE`] ops that make memory (dots, loops, reductions, ...) are on any way to them.
//! * Operands that a loop hands on as they are: these are read, and may be shared.
//! * Splats of fewer than `least-bytes` bytes, and of other elements than integers and floats of 8 to 64 bits.
//! * Programs for more than one partition: one element of a sharded value is on one device, and all would have to be sent it.

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::ir::{self, Builder, element_of};
use crate::ops::class;
use crate::ops::written::written;
use crate::rewrite::{defining_op, walk};
use crate::shards::is_partitioned;
use crate::splat::Splat;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::r#type::IntegerType;
use melior::ir::{OperationRef, Type, TypeLike, Value, ValueLike};
use rustc_hash::FxHashMap;
use slimhlo_dialect::ffi::op_name;
use slimhlo_dialect::types::Tensor;

crate::pass_options! {
    /// Let large splats that are written into come into being when they are first written.
    ///
    /// A `while` that starts an accumulator from a splat constant, or a `scatter` into one, gets a broadcast of a scalar instead
    /// that has the constant's bits and is computed from an operand which is there only late. Back ends that
    /// schedule breadth first then do not hold it from the program's beginning.
    ///
    /// ```mlir
    /// %sum = "stablehlo.scatter"(%zeros, %indices, %updates) ...
    /// // becomes
    /// %late = stablehlo.clamp %zero, %integer_of_updates, %zero : tensor<i32>
    /// %zeros = stablehlo.broadcast_in_dim %late ...
    /// %sum = "stablehlo.scatter"(%zeros, %indices, %updates) ...
    /// ```
    pub struct LateSplats {
        /// How large a splat has to be.
        pub least_bytes: Bytes = Bytes(1 << 20),
    }
}

const MOVED: Statistic = Statistic::new(c"num-splats", c"splats that were made to come later");

/// How many ops that make memory a value has to be away from the program's beginning to be late.
const LATE: u32 = 3;

impl Pass for LateSplats {
    const ARGUMENT: &'static str = "slimhlo-late-splats";
    const STATISTICS: &'static [Statistic] = &[MOVED];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        if is_partitioned(root) {
            return Ok(Changed::No);
        }
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let mut depths = Depths::default();
        let mut writes = Vec::new();
        walk(root, |op| {
            depths.note(op);
            for index in written(op) {
                let splat = op.operands().nth(index).filter(|value| ir::bytes(*value) >= least);
                if let Some(found) = splat.and_then(|splat| Write::of(op, index, splat, &depths)) {
                    writes.push(found);
                }
            }
            WalkResult::Advance
        });
        let build = Builder::new(root);
        for write in &writes {
            write.rewrite(&build);
            context.count(&MOVED, 1);
        }
        Ok(Changed::from(!writes.is_empty()))
    }
}

/// For each op, the most ops that make memory on a way to it, itself included, in its block.
#[derive(Default)]
struct Depths(FxHashMap<usize, u32>);

impl Depths {
    /// Ops come in order: what an op is computed from has been noted.
    fn note(&mut self, op: OperationRef<'_, '_>) {
        let name = op_name(op);
        let free = class::is_fusible(name) || name == "stablehlo.optimization_barrier";
        let before = op.operands().map(|operand| self.of(operand)).max().unwrap_or(0);
        self.0.insert(ir::op_key(op), before + u32::from(!free));
    }

    fn of(&self, value: Value<'_, '_>) -> u32 {
        defining_op(value).and_then(|op| self.0.get(&ir::op_key(op)).copied()).unwrap_or(0)
    }
}

/// A splat that an op writes into, and an operand of the op that comes late.
struct Write<'c, 'a> {
    op: OperationRef<'c, 'a>,
    index: usize,
    /// The splat's element.
    bytes: Vec<u8>,
    late: Value<'c, 'a>,
}

impl<'c: 'a, 'a> Write<'c, 'a> {
    fn of(op: OperationRef<'c, 'a>, index: usize, splat: Value<'c, 'a>, depths: &Depths) -> Option<Self> {
        let tensor = ir::plain(splat).filter(|tensor| tensor.rank() > 0)?;
        width(tensor.element)?;
        let bytes = Splat::of(splat)?.bytes()?;
        // The first of the latest, as long as the program is the same.
        let mut late: Option<(u32, Value<'c, 'a>)> = None;
        for operand in op.operands() {
            let depth = depths.of(operand);
            let tells = ir::plain(operand).is_some_and(|tensor| {
                width(tensor.element).is_some() && tensor.element_count().is_some_and(|count| count > 0)
            });
            if tells && depth >= late.map_or(LATE, |(most, _)| most + 1) {
                late = Some((depth, operand));
            }
        }
        Some(Self { op, index, bytes, late: late?.1 })
    }

    fn rewrite(&self, build: &Builder<'c, 'a>) {
        let location = self.op.location();
        build.set_insertion_point_before(self.op);
        let scalar = |element: Type<'c>| Tensor::get(&[], element, None);
        let integer = |width: u32| Type::from(IntegerType::new(build.context(), width));
        let Some((given, splat)) =
            ir::plain(self.late).zip(self.op.operands().nth(self.index).and_then(ir::plain))
        else {
            return;
        };
        let (Some(from), Some(to)) = (width(given.element), width(splat.element)) else { return };
        let Some(bits) = build.splat_of_bytes(&self.bytes, scalar(integer(to)), location) else { return };
        let rank = given.rank();
        let mut one = self.late;
        if rank > 0 {
            let ty = Tensor::get(&vec![1; rank], given.element, None);
            one = build.slice(one, &vec![0; rank], ty, location);
            one = build.reshape(one, scalar(given.element), location);
        }
        if given.element != integer(from) {
            one = build.insert("stablehlo.bitcast_convert", &[one], &[], scalar(integer(from)), location);
        }
        if from != to {
            one = build.convert(one, scalar(integer(to)), location);
        }
        let operands = [bits, one, bits];
        let mut late = build.insert("stablehlo.clamp", &operands, &[], scalar(integer(to)), location);
        if splat.element != integer(to) {
            late = build.insert("stablehlo.bitcast_convert", &[late], &[], scalar(splat.element), location);
        }
        debug_assert_eq!(element_of(late.r#type()), splat.element);
        let ty = Tensor::get(splat.shape, splat.element, None);
        build.set_operand(self.op, self.index, build.broadcast_scalar(late, ty, location));
    }
}

/// Bits of an element that can be told by an integer.
fn width(element: Type<'_>) -> Option<u32> {
    if element.is_integer()
        && let Ok(integer) = IntegerType::try_from(element)
    {
        return Some(integer.width()).filter(|width| matches!(width, 8 | 16 | 32 | 64));
    }
    let float = element.is_bf16() || element.is_f16() || element.is_f32() || element.is_f64();
    float.then(|| element.float_width())
}
