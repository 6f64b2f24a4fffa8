// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Lists of numbers without an allocation each: a module of 100,000 ops has several times as many of them.

use super::graph::Id;
use smallvec::SmallVec;

/// A list that is mostly short.
pub(super) type Ids = SmallVec<[Id; 4]>;

/// One list for each of a range of numbers, one after the other in memory.
pub(super) struct Lists {
    /// Where each list starts in `items`, and where the last one ends.
    starts: Vec<u32>,
    items: Vec<Id>,
}

impl Lists {
    /// `count` lists. `each` is called twice, and has to give the same pairs both times: of a list and what goes to its end.
    pub fn new(count: usize, each: impl Fn(&mut dyn FnMut(Id, Id))) -> Self {
        let mut starts = vec![0u32; count + 1];
        each(&mut |list, _| starts[list as usize + 1] += 1);
        let mut all = 0;
        for start in &mut starts {
            all += *start;
            *start = all;
        }
        // While a list is filled, its start is where the next item goes: in the end, where the next list starts.
        let mut items = vec![0; all as usize];
        each(&mut |list, item| {
            let place = &mut starts[list as usize];
            items[*place as usize] = item;
            *place += 1;
        });
        starts.rotate_right(1);
        starts[0] = 0;
        Self { starts, items }
    }

    pub fn of(&self, list: Id) -> &[Id] {
        &self.items[self.starts[list as usize] as usize..self.starts[list as usize + 1] as usize]
    }
}
