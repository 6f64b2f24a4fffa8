// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! `--slimhlo-hold-halos`: a field that gets halos is there with them before its neighbours are read.
//!
//! # What it matches
//!
//! A `concatenate` (a field between its halos, mostly, itself joined along another dimension), of which slices take some
//! parts, but neither all nor just one, and others other parts:
//!
//! ```mlir
//! %halo = stablehlo.concatenate %last, %field, %first, dim = 1      // [180, 366] of [180, 3], [180, 360] and [180, 3]
//! %west = stablehlo.slice %halo [0:180, 2:362]
//! %east = stablehlo.slice %halo [0:180, 4:364]
//! ```
//!
//! becomes
//!
//! ```mlir
//! %halo = stablehlo.concatenate %last, %field, %first, dim = 1
//! %held = stablehlo.optimization_barrier %halo
//! %west = stablehlo.slice %held [0:180, 2:362]
//! %east = stablehlo.slice %held [0:180, 4:364]
//! ```
//!
//! # Why it is right
//!
//! A barrier hands on what it is given.
//!
//! # Why it pays
//!
//! XLA joins for each slice the parts that it takes, and no others: `%west` is a slice of `%last` and `%field` joined,
//! `%east` one of `%field` and `%first`. Where several kernels read these XLA for GPUs stores them all: of a field with halos
//! along two dimensions as many as five, each about as large as the field. Behind the barrier it is stored once, and each reader
//! slices it on the fly. The corpus's ocean step goes from 360 MiB of temporaries to 155 at 0.85 of the time (`cargo xtask bench
//! corpus`).
//!
//! # What it costs
//!
//! What might have been computed within its readers is stored. One walk over the concatenates; each slice is followed through
//! those that are nested in each other.
//!
//! # When it must not fire
//!
//! * All readers take the same parts, or one part each: XLA stores no more than one array then.
//! * Concatenates all of whose slices lie in one part: that part is what they read, and is asked in its place.
//! * Fewer than `least-bytes`; strided slices; what a partitioner has to cut.
//! * Targets that store what is joined as it stands.

use crate::framework::{Bytes, Changed, Pass, PassContext, PassResult, Statistic};
use crate::hold;
use crate::ir::{self, Builder};
use crate::rewrite::{defining_op, ops_named, users};
use crate::shards::is_partitioned;
use crate::simplify::shape::concatenated;
use crate::simplify::site::Slice;
use crate::tables::Table;
use crate::target::Target;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value};
use slimhlo_dialect::ffi::op_name;
use std::collections::BTreeSet;
use std::ops::Range;

crate::pass_options! {
    /// Store a field with its halos once, before its neighbours are read.
    ///
    /// Back ends that join for each slice of a concatenate just the parts that it takes store several arrays in place of
    /// one. Where slices take several parts each, and not all of them the same, the concatenate goes behind a barrier.
    ///
    /// ```mlir
    /// %west = stablehlo.slice %halo [0:180, 2:362]
    /// %east = stablehlo.slice %halo [0:180, 4:364]
    /// // becomes
    /// %held = stablehlo.optimization_barrier %halo
    /// %west = stablehlo.slice %held [0:180, 2:362]
    /// %east = stablehlo.slice %held [0:180, 4:364]
    /// ```
    pub struct HoldHalos {
        /// What compiles the module.
        pub target: Target = Target::default(),
        /// How large a concatenate has to be. Not measured against other sizes.
        pub least_bytes: Bytes = Bytes(1 << 20),
    }
}

const HELD: Statistic = Statistic::new(c"num-held", c"concatenates that are stored once");

impl Pass for HoldHalos {
    const ARGUMENT: &'static str = "slimhlo-hold-halos";
    const STATISTICS: &'static [Statistic] = &[HELD];

    fn run<'c>(&self, root: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        let storage = self.target.storage();
        if !storage.takes_joined_apart || !storage.barriers_hold {
            return Ok(Changed::No);
        }
        let least = i64::try_from(self.least_bytes.0).unwrap_or(i64::MAX);
        let mut all = Joins::of(root, least);
        let held = all.held();
        let build = Builder::new(root);
        for value in &held {
            let Some(op) = defining_op(*value) else { continue };
            build.set_insertion_point_after(op);
            let behind = hold::barrier(*value, &build, op.location());
            let barrier = defining_op(behind);
            build.replace_uses(*value, behind, |user| Some(user) != barrier);
        }
        context.count(&HELD, held.len() as u64);
        Ok((!held.is_empty()).into())
    }
}

/// What is taken of an array along each dimension.
type Window = Vec<Range<i64>>;
/// A concatenate, by its number, and the parts of it that something reads, from the first to the last.
type Parts = (usize, usize, usize);

/// A concatenate, and what is read of it.
struct Join<'c, 'a> {
    op: OperationRef<'c, 'a>,
    value: Value<'c, 'a>,
    dim: usize,
    /// Where parts begin along it, and where the last ends.
    starts: Vec<i64>,
    windows: Vec<Window>,
    /// Whether something reads all of it.
    whole: bool,
}

impl Join<'_, '_> {
    /// The parts that a window lies in, from the first to the last.
    fn parts(&self, window: &Window) -> Option<(usize, usize)> {
        let range = &window[self.dim];
        let part = |at: i64| self.starts[1..].iter().position(|&end| at < end);
        (range.start < range.end).then_some(())?;
        part(range.start).zip(part(range.end - 1))
    }

    fn last(&self) -> usize {
        self.starts.len() - 2
    }
}

/// The concatenates of a function, in order.
struct Joins<'c, 'a> {
    all: Vec<Join<'c, 'a>>,
    /// Their numbers, by what they make.
    numbers: Table<usize, usize>,
}

impl<'c: 'a, 'a> Joins<'c, 'a> {
    fn of(root: OperationRef<'c, 'a>, least: i64) -> Self {
        let known = ops_named(root, "stablehlo.concatenate").into_iter().filter_map(|op| {
            let value = ir::first_result(op).filter(|value| ir::bytes(*value) >= least)?;
            ir::real(value)?;
            let (dim, sizes) = concatenated(op).filter(|_| op.operand_count() > 1 && !is_partitioned(op))?;
            let mut starts = vec![0];
            starts.extend(sizes.iter().scan(0, |end, size| {
                *end += size;
                Some(*end)
            }));
            Some(Join { op, value, dim, starts, windows: Vec::new(), whole: false })
        });
        let all: Vec<_> = known.collect();
        let numbers = all.iter().enumerate().map(|(number, join)| (ir::key(join.value), number)).collect();
        Self { all, numbers }
    }

    /// The number of a part that is a concatenate itself.
    fn nested(&self, number: usize, part: usize) -> Option<usize> {
        let value = self.all[number].op.operands().nth(part)?;
        self.numbers.get(&ir::key(value)).copied()
    }

    /// Those that are to be stored once. What is made of others is looked at first: what is read of one part of it is
    /// read of that part.
    fn held(&mut self) -> Vec<Value<'c, 'a>> {
        let mut held = Vec::new();
        for number in (0..self.all.len()).rev() {
            self.read(number);
            let join = &self.all[number];
            let mut wanted = BTreeSet::new();
            if join.whole {
                wanted.insert((number, 0, join.last()));
            }
            join.windows.iter().for_each(|window| self.parts_of(number, window, &mut wanted));
            let is_apart = |&(of, first, last): &Parts| of == number && (first > 0 || last < join.last());
            if wanted.len() > 1 && wanted.iter().any(is_apart) {
                held.push(join.value);
            } else {
                self.hand_on(number);
            }
        }
        held
    }

    /// Notes what is read of a concatenate, but for what others that it is part of have been asked for.
    fn read(&mut self, number: usize) {
        let (mut windows, mut whole) = (Vec::new(), false);
        for user in users(self.all[number].value) {
            let window = || -> Option<Window> {
                let slice = Slice::new(user).filter(|_| op_name(user) == "stablehlo.slice")?;
                let ranges = slice.start.iter().zip(slice.limit).map(|(&start, &limit)| start..limit);
                slice.has_unit_strides().then(|| ranges.collect())
            };
            let is_known =
                || ir::first_result(user).is_some_and(|value| self.numbers.contains_key(&ir::key(value)));
            match window() {
                Some(window) => windows.push(window),
                None => whole |= !is_known(),
            }
        }
        let join = &mut self.all[number];
        join.windows.extend(windows);
        join.whole |= whole;
    }

    /// Which parts are joined for a window, of this concatenate or of one that is the only part that it lies in.
    fn parts_of(&self, number: usize, window: &Window, wanted: &mut BTreeSet<Parts>) {
        let join = &self.all[number];
        match join.parts(window) {
            Some((first, last)) if first < last => _ = wanted.insert((number, first, last)),
            Some((part, _)) => {
                if let Some(nested) = self.nested(number, part) {
                    self.parts_of(nested, &within(window, join, part), wanted);
                }
            }
            None => {}
        }
    }

    /// What is read of one part is read of what that is; what takes several takes them whole.
    fn hand_on(&mut self, number: usize) {
        let windows = std::mem::take(&mut self.all[number].windows);
        let last = self.all[number].last();
        let mut whole: Vec<usize> = if self.all[number].whole { (0..=last).collect() } else { Vec::new() };
        for window in &windows {
            match self.all[number].parts(window) {
                Some((first, last)) if first < last => whole.extend(first..=last),
                Some((part, _)) => {
                    let own = within(window, &self.all[number], part);
                    if let Some(nested) = self.nested(number, part) {
                        self.all[nested].windows.push(own);
                    }
                }
                None => {}
            }
        }
        for part in whole {
            if let Some(nested) = self.nested(number, part) {
                self.all[nested].whole = true;
            }
        }
    }
}

/// A window of a concatenate that lies in one part, as one of that part.
fn within(window: &Window, join: &Join<'_, '_>, part: usize) -> Window {
    let mut own = window.clone();
    let start = join.starts[part];
    own[join.dim] = own[join.dim].start - start..own[join.dim].end - start;
    own
}
