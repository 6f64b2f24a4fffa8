// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What becomes of reductions and products that are cut into parts, so that they busy the whole device: the parts of
//! each result, which lie in scratch memory (part by part, results in row-major order), in one.

use super::Result;
use super::group::{Group, Merge, Size};
use super::serial::{flat, unflat};
use crate::gpu::emit::code::{Int, Scalar};
use crate::gpu::emit::element::Kernel;
use melior::ir::{Type, Value};

/// Parts that a thread has in flight together.
pub const TOGETHER: i64 = 4;

/// The elements of some numbers.
pub type Inputs<'f, 'c, 'a> = dyn Fn(&[Value<'c, 'a>]) -> Result<'c, Vec<Vec<Scalar<'c, 'a>>>> + 'f;

/// Stores what a result, at its row-major position, comes to.
pub type Finish<'f, 'c, 'a> = dyn Fn(Value<'c, 'a>, &[Scalar<'c, 'a>]) -> Result<'c, ()> + 'f;

/// Parts of results in scratch memory.
pub struct Parts<'c> {
    /// Of each result.
    pub count: i64,
    /// How many results there are.
    pub results: i64,
    /// Element type of each scratch buffer.
    pub types: Vec<Type<'c>>,
}

/// Who combines the parts of a result.
pub fn size(results: i64) -> Size {
    if results == 1 { Size::Block } else { Size::columns(results) }
}

impl<'c> Parts<'c> {
    /// Writes the launch that combines all parts of each result, in no order.
    pub fn combine<'a>(
        &self,
        kernel: &Kernel<'c, 'a>,
        merge: &Merge<'_, 'c, 'a>,
        finish: &Finish<'_, 'c, 'a>,
    ) -> Result<'c, ()>
    where
        'c: 'a,
    {
        let code = &kernel.code;
        let size = size(self.results);
        let group = Group::new(code, size);
        let together = if self.count >= 2 * TOGETHER * size.threads() { TOGETHER } else { 1 };
        group.tasks(code, self.results, |result| {
            let input = |part: Value<'c, 'a>| -> Result<'c, Vec<Scalar<'c, 'a>>> {
                let place = code.add(code.mul(part, code.index(self.results)), result);
                let buffers = self.types.iter().enumerate();
                buffers.map(|(number, ty)| kernel.load(kernel.scratch_pointer(number), *ty, place)).collect()
            };
            let inputs = |parts: &[Value<'c, 'a>]| parts.iter().map(|part| input(*part)).collect();
            let to = code.index(self.count);
            // Threads for which there is no part have the last one, which nobody takes from them.
            let first = code.binary("arith.minui", group.lane, code.index(self.count - 1));
            let start = input(first)?;
            let from = code.add(group.lane, group.threads);
            let sums = thread_loop(kernel, merge, start, [from, to, group.threads], together, &inputs)?;
            let live = code.binary("arith.minui", group.threads, to);
            let sums = group.combine(kernel, sums, live, Some(kernel.shared(0)), merge)?;
            group.leader(code, || finish(result, &sums))
        })
    }
}

/// Adds the elements `[from, to, step]` to `start`, in their order, with the loads of several of them in flight
/// together.
///
/// # Errors
/// What `merge` or `inputs` fails with.
pub fn thread_loop<'c: 'a, 'a>(
    kernel: &Kernel<'c, 'a>,
    merge: &Merge<'_, 'c, 'a>,
    start: Vec<Scalar<'c, 'a>>,
    [mut from, to, step]: [Value<'c, 'a>; 3],
    together: i64,
    inputs: &Inputs<'_, 'c, 'a>,
) -> Result<'c, Vec<Scalar<'c, 'a>>> {
    let code = &kernel.code;
    let mut sums = flat(&start);
    if together > 1 {
        let beyond = code.mul(step, code.index(together - 1));
        let carried = [vec![from], sums].concat();
        let rest = code.while_loop(
            &carried,
            |carried| Ok(code.compare(Int::Slt, code.add(carried[0], beyond), to)),
            |carried| {
                let numbers: Vec<_> = (0..together)
                    .map(|number| code.add(carried[0], code.mul(step, code.index(number))))
                    .collect();
                let sums = inputs(&numbers)?
                    .into_iter()
                    .try_fold(unflat(&start, &carried[1..]), |sums, element| merge(&sums, &element))?;
                let next = code.add(carried[0], code.mul(step, code.index(together)));
                Ok([vec![next], flat(&sums)].concat())
            },
        )?;
        from = rest[0];
        sums = rest[1..].to_vec();
    }
    let parts = code.for_loop(from, to, step, &sums, |at, parts| {
        let sums = unflat(&start, parts);
        Ok(flat(&merge(&sums, &inputs(&[at])?.concat())?))
    })?;
    Ok(unflat(&start, &parts))
}
