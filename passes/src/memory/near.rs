// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What of a program's arrays lies in a chip's second cache when a kernel reads or writes it: those that were used last, whole.
//!
//! A turn of a loop finds what the turn before it has left. Slices of an array differ from turn to turn, so they only go by and push others
//! out. `test/oracle/hlo_cache.py` is the same for compiled programs, and says what an H100 was seen to do.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Of the cache, the bytes that are found in it again (`SHARE` of `hlo_cache.py`).
const SHARE: f64 = 0.7;

/// Memory of a plan, by its place in there.
type Place = u32;

/// What was used last, up to so many bytes.
pub(super) struct Near {
    capacity: u64,
    /// Bytes of all that is held.
    size: u64,
    /// Uses in their order: of those of one place the last counts.
    uses: VecDeque<(Place, u64)>,
    /// Of what is held, when it was used last, and its bytes.
    held: FxHashMap<Place, (u64, u64)>,
    now: u64,
}

impl Near {
    /// Of a cache of so many bytes; 0 for none.
    pub(super) fn of(cache: u64) -> Self {
        let capacity = (SHARE * cache as f64) as u64;
        Self { capacity, size: 0, uses: VecDeque::new(), held: FxHashMap::default(), now: 0 }
    }

    /// Whether what lies at a place is there; from now on it is, if it fits.
    pub(super) fn uses(&mut self, place: Place, bytes: u64) -> bool {
        self.now += 1;
        let before = self.held.remove(&place);
        self.size -= before.map_or(0, |(_, bytes)| bytes);
        if bytes > self.capacity {
            self.forget();
            return false;
        }
        self.held.insert(place, (self.now, bytes));
        self.uses.push_back((place, self.now));
        self.size += bytes;
        while self.size > self.capacity {
            let Some((place, when)) = self.uses.pop_front() else { break };
            if self.held.get(&place).is_some_and(|&(last, _)| last == when) {
                self.size -= self.held.remove(&place).map_or(0, |(_, bytes)| bytes);
            }
        }
        before.is_some()
    }

    /// Something else went by, of more bytes than there are.
    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.uses.clear();
        self.size = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_found_again() {
        let mut near = Near::of(100);
        assert!(!near.uses(1, 30));
        assert!(!near.uses(2, 30));
        assert!(near.uses(1, 30));
        // Of 70 bytes the first two leave 10: what was used before the other goes.
        assert!(!near.uses(3, 40));
        assert!(near.uses(1, 30));
        assert!(!near.uses(2, 30));
    }

    #[test]
    fn what_does_not_fit_pushes_out_all() {
        let mut near = Near::of(100);
        assert!(!near.uses(1, 30));
        assert!(!near.uses(2, 80));
        assert!(!near.uses(1, 30));
        assert!(!Near::of(0).uses(1, 8));
    }
}
