// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The ops of bytecode: one walk, in which every count leaves room for what it counts, every index is of
//! something that is there, and orders of uses are of uses that there are.

use super::cursor::{Cursor, within};
use super::entries::Entries;
use super::sections::{ELIDED, File, LAZY, ORDERED, id};
use super::{Damage, MAX_DEPTH, Result};

/// Parts that an op may have, as its mask says.
const ATTRIBUTES: u8 = 1;
const RESULTS: u8 = 2;
const OPERANDS: u8 = 4;
const SUCCESSORS: u8 = 8;
const REGIONS: u8 = 16;
const USE_LISTS: u8 = 32;
const PROPERTIES: u8 = 64;

/// Regions of modules and functions around those that are nested deeply.
const OUTER: usize = 50;

/// Checks the ops of a file.
pub fn check<'a>(file: &File<'a>, entries: &Entries<'a>) -> Result<()> {
    Walk { file, entries, todo: Vec::new(), scopes: vec![Scope::default()], regions: Vec::new() }.ops()
}

/// What is still to be read, innermost last.
enum Task<'a> {
    Ops(u64),
    Blocks(u64),
    Regions(u64),
    EndRegion,
    EndScope,
    /// Back to what a section is in.
    Return(Cursor<'a>),
}

/// The values of an op that is isolated from what is around it: how often each is used, by its number.
#[derive(Default)]
struct Scope {
    uses: Vec<u64>,
}

/// A region that is being read.
#[derive(Default)]
struct Region {
    /// The number of its first value, and of the next that is defined.
    first: usize,
    next: usize,
    values: usize,
    blocks: usize,
    /// Orders of uses, by values.
    orders: Vec<Order>,
}

/// The largest place in the order of the uses of a value, if the order lists places one by one, in pairs.
struct Order {
    value: usize,
    largest: u64,
}

struct Walk<'f, 'a> {
    file: &'f File<'a>,
    entries: &'f Entries<'a>,
    todo: Vec<Task<'a>>,
    scopes: Vec<Scope>,
    regions: Vec<Region>,
}

impl<'a> Walk<'_, 'a> {
    /// Not recursive: ops may be nested deeply.
    fn ops(mut self) -> Result<()> {
        let mut at = self.file.section(id::OPS)?;
        // The block that all is in: it has no values.
        let (ops, arguments) = at.flagged()?;
        if arguments {
            return Err(Damage::Broken("what is outside of all ops has arguments"));
        }
        self.regions.push(Region { blocks: 1, ..Region::default() });
        self.todo.push(Task::Ops(at.fits(ops)? as u64));
        while let Some(task) = self.todo.pop() {
            let start = at.at;
            self.task(task, &mut at).map_err(|damage| damage.at(start))?;
        }
        Ok(())
    }

    fn task(&mut self, task: Task<'a>, at: &mut Cursor<'a>) -> Result<()> {
        match task {
            Task::Return(outside) => *at = outside,
            Task::EndScope => drop(self.scopes.pop()),
            Task::EndRegion => self.end_region()?,
            Task::Ops(0) | Task::Blocks(0) | Task::Regions(0) => {}
            Task::Ops(left) => {
                self.todo.push(Task::Ops(left - 1));
                self.op(at)?;
            }
            Task::Blocks(left) => {
                self.todo.push(Task::Blocks(left - 1));
                self.block(at)?;
            }
            Task::Regions(left) => {
                self.todo.push(Task::Regions(left - 1));
                self.region(at)?;
            }
        }
        Ok(())
    }

    fn region(&mut self, at: &mut Cursor<'a>) -> Result<()> {
        let blocks = at.count()?;
        if blocks == 0 {
            return Ok(());
        }
        // Those around them are not counted.
        if self.regions.len() > MAX_DEPTH + OUTER {
            return Err(Damage::Deep { what: "regions", depth: self.regions.len() });
        }
        // Values of this region without those in regions of its ops, each of which has a type.
        let values = at.count()?;
        let uses = &mut self.current_scope()?.uses;
        let first = uses.len();
        uses.resize(first + values, 0);
        self.regions.push(Region { first, next: first, values, blocks, orders: Vec::new() });
        self.todo.push(Task::EndRegion);
        self.todo.push(Task::Blocks(blocks as u64));
        Ok(())
    }

    fn current_scope(&mut self) -> Result<&mut Scope> {
        self.scopes.last_mut().ok_or(Damage::Broken("a region is outside of all ops"))
    }

    fn current_region(&mut self) -> Result<&mut Region> {
        self.regions.last_mut().ok_or(Damage::Broken("an op is outside of all regions"))
    }

    /// All uses of its values have been read.
    fn end_region(&mut self) -> Result<()> {
        let Some(region) = self.regions.pop() else { return Ok(()) };
        let uses = &mut self.current_scope()?.uses;
        for order in region.orders {
            // MLIR looks at no order of fewer than two.
            let count = uses.get(order.value).copied().unwrap_or(0);
            if count > 1 && order.largest >= count {
                return Err(Damage::Broken("an order of uses is of more uses than there are"));
            }
        }
        uses.truncate(region.first);
        Ok(())
    }

    /// The numbers of so many more values; none in a region that says it has none.
    fn define(&mut self, count: usize) -> Result<usize> {
        let region = self.current_region()?;
        let first = region.next;
        if region.values == 0 {
            return Ok(usize::MAX);
        }
        region.next += count;
        if region.next > region.first + region.values {
            return Err(Damage::Broken("a region has more values than it says"));
        }
        Ok(first)
    }

    fn block(&mut self, at: &mut Cursor<'a>) -> Result<()> {
        let (ops, has_arguments) = at.flagged()?;
        if has_arguments {
            let arguments = at.count()?;
            for _ in 0..arguments {
                let ty = at.number()?;
                let (ty, located) =
                    if self.file.version < ELIDED { (ty, true) } else { (ty >> 1, ty & 1 == 1) };
                within(ty, self.entries.types.len())?;
                if located {
                    at.index(self.entries.attributes.len())?;
                }
            }
            if arguments > 0 && self.current_region()?.values == 0 {
                return Err(Damage::Broken("a region has more values than it says"));
            }
            let first = self.define(arguments)?;
            if self.file.version >= ORDERED && at.byte()? != 0 {
                self.orders(at, arguments, first)?;
            }
        }
        self.todo.push(Task::Ops(at.fits(ops)? as u64));
        Ok(())
    }

    fn op(&mut self, at: &mut Cursor<'a>) -> Result<()> {
        at.index(self.file.ops)?;
        let mask = at.byte()?;
        at.index(self.entries.attributes.len())?;
        if mask & ATTRIBUTES != 0 {
            at.index(self.entries.attributes.len())?;
        }
        if mask & PROPERTIES != 0 {
            at.index(self.file.properties.max(self.entries.attributes.len()))?;
        }
        let mut results = 0;
        if mask & RESULTS != 0 {
            results = at.count()?;
            for _ in 0..results {
                at.index(self.entries.types.len())?;
            }
        }
        if mask & OPERANDS != 0 {
            for _ in 0..at.count()? {
                let operand = at.number()?;
                let uses = &mut self.current_scope()?.uses;
                let operand = within(operand, uses.len())?;
                uses[operand] += 1;
            }
        }
        if mask & SUCCESSORS != 0 {
            for _ in 0..at.count()? {
                at.index(self.current_region()?.blocks)?;
            }
        }
        let first = if results > 0 { self.define(results)? } else { 0 };
        if self.file.version >= ORDERED && mask & USE_LISTS != 0 {
            self.orders(at, results, first)?;
        }
        if mask & REGIONS != 0 {
            self.regions_of(at)?;
        }
        Ok(())
    }

    fn regions_of(&mut self, at: &mut Cursor<'a>) -> Result<()> {
        let (regions, isolated) = at.flagged()?;
        // Each takes a byte or more, in a section of its own, too.
        let regions = at.fits(regions)?;
        if isolated && regions > 0 {
            self.scopes.push(Scope::default());
            self.todo.push(Task::EndScope);
            if self.file.version >= LAZY {
                let section = at.section()?;
                if section.id != id::OPS {
                    return Err(Damage::Broken("a region is in no section of ops"));
                }
                self.todo.push(Task::Return(*at));
                *at = section.inside;
                at.fits(regions as u64)?;
            }
        }
        self.todo.push(Task::Regions(regions as u64));
        Ok(())
    }

    /// The orders of the uses of some of so many values, of which this is the number of the first.
    fn orders(&mut self, at: &mut Cursor<'a>, values: usize, first: usize) -> Result<()> {
        let listed = if values > 1 { at.count()? } else { 1 };
        for _ in 0..listed {
            let value = if values > 1 { at.index(values)? } else { 0 };
            let (count, pairs) = at.flagged()?;
            let mut largest = 0;
            for place in 0..at.fits(count)? {
                let number = at.number()?;
                // Of a pair, MLIR writes at the place that the first is of, unseen.
                largest = if pairs && place % 2 == 0 { number.max(largest) } else { largest };
            }
            if pairs && first != usize::MAX {
                self.current_region()?.orders.push(Order { value: first + value, largest });
            }
        }
        Ok(())
    }
}
