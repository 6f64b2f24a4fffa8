// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Parts of a block of each of which nothing but one op's results is used.

use crate::body::Body;
use crate::ir;
use crate::ops::class::is_repeatable;
use crate::rewrite::uses;
use crate::tables::Table;
use melior::ir::Value;
use melior::ir::operation::OperationLike;

/// An op, and all that nothing else needs.
pub struct Strand {
    /// The op's place.
    pub end: usize,
    /// Places of what is needed for nothing else, in order.
    pub before: Vec<usize>,
    /// Bytes of that which are alive at the peak.
    pub alive: u64,
}

/// The strands of a block, of each of which at least `least` of the bytes that are `alive`, by the keys of ops, in
/// the order of
/// their ends: as many as there are, but none within another. Fewer than two are none.
pub fn strands(body: &Body<'_, '_>, alive: &Table<usize, u64>, least: u64) -> Vec<Strand> {
    let tree = Tree::of(body, alive);
    let mut ends = tree.ends(body.ops.len(), least.max(1));
    ends.sort_unstable();
    ends.into_iter()
        .map(|end| Strand { end, before: tree.all_before(end), alive: tree.inside[end] })
        .collect()
}

/// For each place of a block, and for that of the op that ends it, what is needed for nothing else: immediate
/// dominators
/// against the direction in which values flow.
struct Tree {
    /// The places for which nothing but the given one needs what is made there, at once.
    before: Vec<Vec<usize>>,
    /// Bytes that are alive at the peak of what is needed for nothing else.
    inside: Vec<u64>,
}

impl Tree {
    /// Users come later: one walk from the end tells them.
    fn of(body: &Body<'_, '_>, alive: &Table<usize, u64>) -> Self {
        let end = body.ops.len();
        let mut paths = Paths::to(end);
        for (place, op) in body.ops.iter().enumerate().rev() {
            let users = op.results().flat_map(|result| uses(Value::from(result)));
            let users = users.map(|used| body.place(used.user).unwrap_or(end));
            // What has to stay where it is, or is not to be done at another time on one device than on others, is in
            // no strand.
            let common = users.reduce(|one, other| paths.common(one, other)).filter(|_| is_repeatable(*op));
            paths.lead(place, common.unwrap_or(end));
        }
        let mut tree = Self { before: vec![Vec::new(); end + 1], inside: vec![0; end + 1] };
        for (place, op) in body.ops.iter().enumerate() {
            let own = alive.get(&ir::op_key(*op)).copied().unwrap_or_default();
            let next = paths.next[place];
            tree.before[next].push(place);
            tree.inside[next] += tree.inside[place] + own;
        }
        tree
    }

    /// Where strands before a place end.
    fn ends(&self, mut place: usize, least: u64) -> Vec<usize> {
        loop {
            let large = |place: &usize| self.inside[*place] >= least;
            let parts: Vec<usize> = self.before[place].iter().copied().filter(large).collect();
            match parts[..] {
                [] => return Vec::new(),
                // What comes before one op alone is in one strand, or in several that this op takes.
                [only] => place = only,
                _ => {
                    let finer = |part: usize| Some(self.ends(part, least)).filter(|finer| finer.len() > 1);
                    return parts.into_iter().flat_map(|part| finer(part).unwrap_or(vec![part])).collect();
                }
            }
        }
    }

    /// All that is needed for nothing but a place, in order.
    fn all_before(&self, place: usize) -> Vec<usize> {
        let mut all = self.before[place].clone();
        let mut done = 0;
        while let Some(&next) = all.get(done) {
            all.extend(&self.before[next]);
            done += 1;
        }
        all.sort_unstable();
        all
    }
}

/// A way from each place to the end, through all places that are on every way there, with short cuts: which of those
/// are
/// first on both of two ways takes a logarithm of their lengths.
struct Paths {
    next: Vec<usize>,
    depth: Vec<usize>,
    /// A place further on, as far as the depth alone says.
    jump: Vec<usize>,
}

impl Paths {
    fn to(end: usize) -> Self {
        Self { next: vec![end; end + 1], depth: vec![0; end + 1], jump: vec![end; end + 1] }
    }

    fn lead(&mut self, place: usize, next: usize) {
        let far = self.jump[next];
        let as_far = self.depth[next] - self.depth[far] == self.depth[far] - self.depth[self.jump[far]];
        self.next[place] = next;
        self.depth[place] = self.depth[next] + 1;
        self.jump[place] = if as_far { self.jump[far] } else { next };
    }

    fn common(&self, one: usize, other: usize) -> usize {
        let (mut deep, mut high) =
            if self.depth[one] > self.depth[other] { (one, other) } else { (other, one) };
        while self.depth[deep] > self.depth[high] {
            let far = self.jump[deep];
            deep = if self.depth[far] >= self.depth[high] { far } else { self.next[deep] };
        }
        while deep != high {
            // Places that are as deep have short cuts of the same length.
            let both = if self.jump[deep] == self.jump[high] { &self.next } else { &self.jump };
            (deep, high) = (both[deep], both[high]);
        }
        deep
    }
}
