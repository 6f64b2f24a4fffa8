// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Scans of a line by all threads of a block, a tile of it at a time: each thread scans a few elements that follow
//! each other, all threads scan what these come to, by shuffles and then by workgroup memory, and what came before
//! the tile goes on to the next.
//!
//! Shuffles hand values down, to threads of lower numbers: so the last thread has the first elements of a tile.

use super::Result;
use super::group::{Group, Merge, from_words, load, shuffle_down, store, words};
use super::serial::{flat, only_if, unflat};
use crate::gpu::emit::code::{Code, Int, Scalar};
use crate::gpu::emit::element::Kernel;
use melior::ir::{Value, ValueLike};

/// Threads of a warp.
const WARP: i64 = 32;

/// Elements at a place.
type Input<'f, 'c, 'a> = dyn Fn(Value<'c, 'a>) -> Result<'c, Vec<Scalar<'c, 'a>>> + 'f;

/// Does something at a place with what comes before it, and with what it comes to.
type Output<'f, 'c, 'a> = dyn Fn(Value<'c, 'a>, &[Scalar<'c, 'a>], &[Scalar<'c, 'a>]) -> Result<'c, ()> + 'f;

/// A line, and who scans it how.
pub struct Line<'l, 'c, 'a> {
    /// All threads of a block.
    pub group: &'l Group<'c, 'a>,
    /// Workgroup memory of a word of each warp for each word of what is scanned.
    pub shared: Value<'c, 'a>,
    /// The place of its first element, and the one after the last.
    pub bounds: [Value<'c, 'a>; 2],
    /// Elements of a thread, which follow each other.
    pub each: i64,
    /// What came before, and what comes next, in one.
    pub merge: &'l Merge<'l, 'c, 'a>,
}

impl<'c: 'a, 'a> Line<'_, 'c, 'a> {
    /// Scans the line, after `start`.
    ///
    /// # Errors
    /// What `input`, `output` or the merging of elements fails with.
    pub fn scan(
        &self,
        kernel: &Kernel<'c, 'a>,
        start: &[Scalar<'c, 'a>],
        input: &Input<'_, 'c, 'a>,
        output: &Output<'_, 'c, 'a>,
    ) -> Result<'c, ()> {
        let code = &kernel.code;
        let [from, to] = self.bounds;
        let tile = code.mul(self.group.threads, code.index(self.each));
        let place = code.sub(code.sub(self.group.threads, code.index(1)), self.group.lane);
        let inside = code.mul(place, code.index(self.each));
        code.for_loop(from, to, tile, &flat(start), |base, carried| {
            code.assume_multiple(base, self.each);
            let before = unflat(start, carried);
            let first = code.add(base, inside);
            let is_whole = code.compare(Int::Ule, code.add(base, tile), to);
            let types: Vec<_> = carried.iter().map(|value| value.r#type()).collect();
            let tile = |whole: bool| self.tile(kernel, first, whole, &before, input, output);
            if self.each == 1 {
                return tile(false);
            }
            code.if_else(is_whole, &types, || tile(true), || tile(false))
        })?;
        Ok(())
    }

    /// Scans a tile of which the thread has the elements from `first` on, all of them if it is `whole`. Comes to what
    /// is carried to the next tile; after one that is not whole there is none.
    fn tile(
        &self,
        kernel: &Kernel<'c, 'a>,
        first: Value<'c, 'a>,
        whole: bool,
        carried: &[Scalar<'c, 'a>],
        input: &Input<'_, 'c, 'a>,
        output: &Output<'_, 'c, 'a>,
    ) -> Result<'c, Vec<Value<'c, 'a>>> {
        let code = &kernel.code;
        let last = code.sub(self.bounds[1], code.index(1));
        let places: Vec<_> = (0..self.each).map(|number| code.add(first, code.index(number))).collect();
        // Elements past the end are the last one again: nothing comes after them.
        let read = |place: &Value<'c, 'a>| {
            input(if whole { *place } else { code.binary("arith.minui", *place, last) })
        };
        let elements: Vec<_> = places.iter().map(read).collect::<Result<_>>()?;
        let mut sums: Vec<Vec<Scalar<'c, 'a>>> = Vec::new();
        for element in elements {
            let next = match sums.last() {
                Some(before) => (self.merge)(before, &element)?,
                None => element,
            };
            sums.push(next);
        }
        let mine = sums.last().cloned().unwrap_or_default();
        let Before { exclusive, exists, total } = self.threads(kernel, mine)?;
        let start =
            only_if(kernel, Some(exists), carried.to_vec(), |carried| (self.merge)(&carried, &exclusive))?;
        let mut before = start.clone();
        for (place, sum) in places.into_iter().zip(&sums) {
            let after = (self.merge)(&start, sum)?;
            let within = code.compare(Int::Ult, place, self.bounds[1]);
            match whole {
                true => output(place, &before, &after)?,
                false => code.if_then(within, || output(place, &before, &after))?,
            }
            before = after;
        }
        Ok(flat(&(self.merge)(carried, &total)?))
    }

    /// Scans what the threads of a block have.
    fn threads(&self, kernel: &Kernel<'c, 'a>, mine: Vec<Scalar<'c, 'a>>) -> Result<'c, Before<'c, 'a>> {
        let code = &kernel.code;
        let parts = flat(&mine);
        let several = code.compare(Int::Ugt, self.group.threads, code.index(1));
        let truth = |value: i64| code.integer(value, code.int(1));
        let types: Vec<_> = parts.iter().map(|part| part.r#type()).collect();
        let types = [types.clone(), types, vec![code.int(1)]].concat();
        let found = code.if_else(
            several,
            &types,
            || {
                let found = self.several_threads(kernel, mine.clone())?;
                Ok([flat(&found.exclusive), flat(&found.total), vec![found.exists]].concat())
            },
            || Ok([parts.clone(), parts.clone(), vec![truth(0)]].concat()),
        )?;
        let count = parts.len();
        Ok(Before {
            exclusive: unflat(&mine, &found[..count]),
            total: unflat(&mine, &found[count..2 * count]),
            exists: found[2 * count],
        })
    }

    fn several_threads(
        &self,
        kernel: &Kernel<'c, 'a>,
        mut mine: Vec<Scalar<'c, 'a>>,
    ) -> Result<'c, Before<'c, 'a>> {
        let code = &kernel.code;
        let (lane, warp) = (code.rem(self.group.lane, WARP), code.div(self.group.lane, WARP));
        let warp_threads = code.binary("arith.minui", self.group.threads, code.index(WARP));
        let from_above = |mine: &[Scalar<'c, 'a>], distance: i64| {
            let theirs = self.shuffled(code, mine, distance);
            let there = code.add(lane, code.index(distance));
            (theirs, code.compare(Int::Ult, there, warp_threads))
        };
        let mut distance = 1;
        while distance < WARP {
            let (theirs, exists) = from_above(&mine, distance);
            mine = only_if(kernel, Some(exists), mine, |mine| (self.merge)(&theirs, &mine))?;
            distance *= 2;
        }
        // What each warp comes to is in its first thread.
        let own: Vec<_> = flat(&mine).iter().flat_map(|part| words(code, *part)).collect();
        let place = |warp: Value<'c, 'a>, number: usize| code.add(warp, code.index(number as i64 * WARP));
        code.if_then(code.compare(Int::Eq, lane, code.index(0)), || {
            for (number, word) in own.iter().enumerate() {
                store(code, self.shared, place(warp, number), *word);
            }
            Ok(())
        })?;
        code.effect("gpu.barrier", &[]);
        let of_warp = |warp: Value<'c, 'a>| {
            let read: Vec<_> = (0..own.len())
                .map(|number| load(code, self.shared, place(warp, number), code.int(32)))
                .collect();
            from_words(code, &flat(&mine), &read)
        };
        let warps = code.div(code.add(self.group.threads, code.index(WARP - 1)), WARP);
        let top = code.sub(warps, code.index(1));
        let first = of_warp(top);
        let count = first.len();
        let carried = [first.clone(), first].concat();
        let (from, to) = (code.index(1), warps);
        let found = code.for_loop(from, to, code.index(1), &carried, |number, carried| {
            let (sums, before) = carried.split_at(count);
            let number = code.sub(top, number);
            let is_mine = code.compare(Int::Eq, number, warp);
            let before = before.iter().zip(sums).map(|(before, sum)| code.select(is_mine, *sum, *before));
            let before: Vec<_> = before.collect();
            let sums = (self.merge)(&unflat(&mine, sums), &unflat(&mine, &of_warp(number)))?;
            Ok([flat(&sums), before].concat())
        })?;
        // Before the memory is written again.
        code.effect("gpu.barrier", &[]);
        let (total, before) = (unflat(&mine, &found[..count]), unflat(&mine, &found[count..]));
        let has_warps = code.compare(Int::Ult, warp, top);
        let (above, has_above) = from_above(&mine, 1);
        let picked = above.iter().zip(&before);
        let picked = picked.map(|(above, before)| code.select_scalar(has_above, *above, *before)).collect();
        let both = code.binary("arith.andi", has_above, has_warps);
        let exclusive = only_if(kernel, Some(both), picked, |above| (self.merge)(&before, &above))?;
        Ok(Before { exclusive, total, exists: code.binary("arith.ori", has_above, has_warps) })
    }

    /// What the thread `distance` above in the warp has.
    fn shuffled(&self, code: &Code<'c, 'a>, mine: &[Scalar<'c, 'a>], distance: i64) -> Vec<Scalar<'c, 'a>> {
        let parts = flat(mine);
        let received: Vec<_> = parts
            .iter()
            .flat_map(|part| words(code, *part))
            .map(|word| shuffle_down(code, word, distance))
            .collect();
        unflat(mine, &from_words(code, &parts, &received))
    }
}

/// What a thread's elements are after: `exclusive`, if there are any before it in the tile, and what all of the tile
/// comes to.
struct Before<'c, 'a> {
    exclusive: Vec<Scalar<'c, 'a>>,
    exists: Value<'c, 'a>,
    total: Vec<Scalar<'c, 'a>>,
}
