// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which values share memory, where copies are needed, and where everything lies.

use super::model::{FOREVER, Id, Item, Kind, Model};
use super::pack::{Fixed, Request, pack};
use crate::gpu::form_kernels::Counts;

/// Where a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Argument(usize),
    Result(usize),
    Arena(u64),
    Constant(u64),
    Counter(usize),
}

/// A copy that has to be made.
#[derive(Clone, Copy, Debug)]
pub struct Copy {
    pub from: Id,
    pub to: Id,
    /// Before which item.
    pub item: usize,
    /// As which operand the item then uses it; none if the copy is only the source of another.
    pub operand: Option<usize>,
}

/// The memory of all values.
pub struct Plan {
    /// By value.
    pub places: Vec<Place>,
    pub copies: Vec<Copy>,
    pub arena: u64,
    pub constants: u64,
}

/// Values that lie at one place.
#[derive(Clone, Debug)]
struct Class {
    members: Vec<Id>,
    /// When it is in use, in order, none touching another.
    busy: Vec<(i64, i64)>,
    place: Option<Place>,
    bytes: u64,
}

/// What a value of so many bytes begins at a multiple of. Kernels count on 16 bytes, for vectors of elements; those that are as long
/// as a warp's loads begin where these do. Numbers that loops carry would take many times their size by that.
pub fn alignment(bytes: u64) -> u64 {
    const VECTOR: u64 = 16;
    const LINES: u64 = 256;
    if bytes < LINES { VECTOR } else { LINES }
}

pub struct Assign<'m, 'c, 'a> {
    model: &'m mut Model<'c, 'a>,
    classes: Vec<Class>,
    /// By value.
    class: Vec<usize>,
    copies: Vec<Copy>,
    constants: u64,
    /// Counters that there are: their bytes, where they start, by how much they grow, and in how
    /// many loops the loop that counts is.
    counters: Vec<(u64, i64, i64, usize)>,
}

impl<'m, 'c: 'a, 'a> Assign<'m, 'c, 'a> {
    /// Plans a function that has been numbered; `aliases` has for each result the argument it must lie in.
    pub fn run(model: &'m mut Model<'c, 'a>, aliases: &[Option<usize>]) -> Plan {
        let count = model.values.len();
        let classes = model
            .values
            .iter()
            .enumerate()
            .map(|(id, value)| Class {
                members: vec![id],
                busy: vec![(value.from, value.to)],
                place: None,
                bytes: value.bytes,
            })
            .collect();
        let mut this = Self {
            model,
            classes,
            class: (0..count).collect(),
            copies: Vec::new(),
            constants: 0,
            counters: Vec::new(),
        };
        this.fix();
        this.update_in_place();
        for item in (0..this.model.items.len()).rev() {
            match this.model.items[item].kind {
                Kind::While => this.place_loop(item),
                Kind::Branch => this.place_branch(item),
                _ => {}
            }
        }
        this.place_results(aliases);
        this.share();
        this.finish()
    }

    /// What lies where whatever happens: arguments, constants, views, the state of loops.
    fn fix(&mut self) {
        let parameters = self.model.blocks[0].parameters.clone();
        for (index, parameter) in parameters.into_iter().enumerate() {
            let donated = self.model.donated[index];
            let class = &mut self.classes[parameter];
            class.place = Some(Place::Argument(index));
            if donated {
                class.busy[0].0 = 0;
            } else {
                class.busy = vec![(0, FOREVER)];
            }
        }
        for item in 0..self.model.items.len() {
            let (kind, operands, results, blocks) = {
                let item = &self.model.items[item];
                (item.kind, item.operands.clone(), item.results.clone(), item.blocks.clone())
            };
            match kind {
                Kind::Table => {
                    let class = &mut self.classes[results[0]];
                    let start = self.constants.next_multiple_of(alignment(class.bytes));
                    class.place = Some(Place::Constant(start));
                    class.busy = vec![(0, FOREVER)];
                    self.constants = start + class.bytes;
                }
                Kind::View => self.unite(operands[0], results[0]),
                Kind::While if blocks.len() == 2 => {
                    let returned = self.returned(blocks[1]);
                    for (index, &result) in results.iter().enumerate() {
                        let (before, body) = (
                            self.model.blocks[blocks[0]].parameters[index],
                            self.model.blocks[blocks[1]].parameters[index],
                        );
                        let (from, to) = (self.model.items[item].from, self.model.items[item].to);
                        // The condition hands it on to the body.
                        let checked = self.model.blocks[blocks[0]].to;
                        let state = self.class[result];
                        self.busy(state, from, checked);
                        self.unite(result, before);
                        self.unite(result, body);
                        let read = self.model.values[body].to;
                        let state = self.class[result];
                        self.busy(state, from, read);
                        if returned.get(index) == Some(&body) {
                            // It never changes: whatever it starts as can stay where it is.
                            self.busy(state, from, to);
                            self.unite(result, operands[index]);
                        }
                    }
                    self.count(item, &returned);
                }
                _ => {}
            }
        }
    }

    /// Leaves what a loop counts to the schedule, as it is before it and in each turn. Loops of which none is inside of the other share
    /// a counter if they count the same.
    fn count(&mut self, item: usize, returned: &[Id]) {
        let Some(counts) = Counts::of(self.model.items[item].op) else { return };
        let Item { operands, results, .. } = &self.model.items[item];
        let ids = [operands, results, returned].map(|all| all.get(counts.number).copied());
        let [Some(first), Some(counter), Some(next)] = ids else { return };
        // Nothing else is made along with it.
        let is_alone = |id: Id| {
            self.model.values[id].item.is_some_and(|item| {
                let item = &self.model.items[item];
                item.kind == Kind::Call && item.results.len() == 1 && item.scratch.is_empty()
            })
        };
        if !is_alone(first) || !is_alone(next) {
            return;
        }
        let wanted = (self.model.values[counter].bytes, counts.start, counts.step, self.depth(item));
        let number = self.counters.iter().position(|known| *known == wanted).unwrap_or(self.counters.len());
        if number == self.counters.len() {
            self.counters.push(wanted);
        }
        self.unite(counter, first);
        self.unite(counter, next);
        let class = &mut self.classes[self.class[counter]];
        class.place = Some(Place::Counter(number));
        class.busy = vec![(0, FOREVER)];
    }

    /// In how many loops an item is.
    fn depth(&self, item: usize) -> usize {
        let parents =
            std::iter::successors(Some(item), |&item| self.model.blocks[self.model.items[item].block].parent);
        parents.skip(1).filter(|&parent| self.model.items[parent].kind == Kind::While).count()
    }

    fn returned(&self, block: usize) -> Vec<Id> {
        let end = self.model.blocks[block].items.last();
        end.map_or_else(Vec::new, |&end| self.model.items[end].operands.clone())
    }

    /// Puts two values into one place, come what may.
    fn unite(&mut self, left: Id, right: Id) {
        let (left, right) = (self.class[left], self.class[right]);
        if left == right {
            return;
        }
        let (to, from) = if self.classes[left].members.len() >= self.classes[right].members.len() {
            (left, right)
        } else {
            (right, left)
        };
        let gone = std::mem::replace(
            &mut self.classes[from],
            Class { members: Vec::new(), busy: Vec::new(), place: None, bytes: 0 },
        );
        for &member in &gone.members {
            self.class[member] = to;
        }
        let class = &mut self.classes[to];
        class.members.extend(gone.members);
        class.place = class.place.or(gone.place);
        class.busy.extend(gone.busy);
        normalize(&mut class.busy);
    }

    fn busy(&mut self, class: usize, from: i64, to: i64) {
        let busy = &mut self.classes[class].busy;
        busy.push((from, to.max(from)));
        normalize(busy);
    }

    /// Puts two values into one place if neither is in use while the other is, but at the moments in `at`.
    fn try_unite(&mut self, left: Id, right: Id, at: &[i64]) -> bool {
        let (a, b) = (self.class[left], self.class[right]);
        if a == b {
            return true;
        }
        let (first, second) = (&self.classes[a], &self.classes[b]);
        if first.place.is_some() && second.place.is_some() || first.bytes != second.bytes {
            return false;
        }
        if overlaps(&first.busy, &second.busy, at) {
            return false;
        }
        self.unite(left, right);
        true
    }

    /// Moments at which a kernel may write a value over what it reads, one of each class.
    fn shared_moments(&self, left: Id, right: Id) -> Vec<i64> {
        let (a, b) = (self.class[left], self.class[right]);
        let mut moments = Vec::new();
        for (class, other) in [(a, b), (b, a)] {
            for &member in &self.classes[class].members {
                let Some(item) = self.model.values[member].item else { continue };
                let item = &self.model.items[item];
                let Some(index) = item.results.iter().position(|&result| result == member) else { continue };
                if item.may_share.get(index).is_some_and(|all| {
                    all.iter().any(|&operand| {
                        self.class[item.operands[operand]] == other
                            && !self.is_read_twice(item.operands.as_slice(), operand)
                    })
                }) {
                    moments.push(item.from);
                }
            }
        }
        moments
    }

    /// Whether what an operand lies in is given to the kernel as another operand, too.
    fn is_read_twice(&self, operands: &[Id], operand: usize) -> bool {
        let class = self.class[operands[operand]];
        operands.iter().enumerate().any(|(index, &other)| index != operand && self.class[other] == class)
    }

    fn update_in_place(&mut self) {
        for item in 0..self.model.items.len() {
            for index in 0..self.model.items[item].in_place.len() {
                let Some(operand) = self.model.items[item].in_place[index] else { continue };
                let (given, result, at) = {
                    let item = &self.model.items[item];
                    (item.operands[operand], item.results[index], item.from)
                };
                let alone = !self.is_read_twice(&self.model.items[item].operands, operand);
                if alone && self.try_unite(given, result, &[at]) {
                    continue;
                }
                let copy = self.copy(given, item, Some(operand), at - 4, at);
                self.unite(copy, result);
            }
        }
    }

    /// Copies a value before an item runs.
    fn copy(&mut self, from: Id, item: usize, operand: Option<usize>, at: i64, to: i64) -> Id {
        let block = self.model.items[item].block;
        let copy = self.model.add_copy(from, block, at, to);
        self.class.push(self.classes.len());
        self.classes.push(Class {
            members: vec![copy],
            busy: vec![(at, to)],
            place: None,
            bytes: self.model.values[copy].bytes,
        });
        let class = self.class[from];
        self.busy(class, at, at);
        self.copies.push(Copy { from, to: copy, item, operand });
        if let Some(operand) = operand {
            self.model.items[item].operands[operand] = copy;
        }
        copy
    }

    /// Gets the operands of a block's end to where they are wanted. `wanted` are values that lie there; after the end they are in
    /// use until `after`.
    fn deliver(&mut self, end: usize, wanted: &[Option<Id>], after: i64) {
        let at = self.model.items[end].from;
        let given = self.model.items[end].operands.clone();
        let mut late = Vec::new();
        for (index, (&source, &target)) in given.iter().zip(wanted).enumerate() {
            let Some(target) = target else { continue };
            // What two are wanted to be can only lie in one place.
            let earlier = given[..index].iter().zip(wanted).any(|(&other, target)| {
                target.is_some() && self.class[other] == self.class[source] && !late_has(&late, other)
            });
            let moments = self.shared_moments(source, target);
            if !earlier && self.try_unite(source, target, &moments) {
                let class = self.class[target];
                self.busy(class, at, after);
            } else {
                late.push((index, source, target));
            }
        }
        // Sources that earlier copies are written over are saved first.
        let targets: Vec<usize> = late.iter().map(|&(_, _, target)| self.class[target]).collect();
        let saved: Vec<bool> = late
            .iter()
            .enumerate()
            .map(|(at, &(_, source, _))| targets[..at].contains(&self.class[source]))
            .collect();
        for ((index, source, target), saved) in late.into_iter().zip(saved) {
            let mut source = source;
            if saved {
                source = self.copy(source, end, None, at - 8, at - 4);
            }
            let copy = self.copy(source, end, Some(index), at - 4, at);
            self.unite(copy, target);
            let class = self.class[target];
            self.busy(class, at - 4, after);
        }
    }

    fn place_loop(&mut self, item: usize) {
        let (operands, results, blocks, from, to) = {
            let item = &self.model.items[item];
            (item.operands.clone(), item.results.clone(), item.blocks.clone(), item.from, item.to)
        };
        let Some(&end) = blocks.get(1).and_then(|&body| self.model.blocks[body].items.last()) else { return };
        let parameters = self.model.blocks[blocks[1]].parameters.clone();
        let returned = self.model.items[end].operands.clone();
        let wanted: Vec<Option<Id>> = results
            .iter()
            .enumerate()
            .map(|(index, &result)| (returned[index] != parameters[index]).then_some(result))
            .collect();
        self.deliver(end, &wanted, to);
        for (index, &operand) in operands.iter().enumerate() {
            if wanted[index].is_none() {
                continue;
            }
            if !self.try_unite(operand, results[index], &[from]) {
                let copy = self.copy(operand, item, Some(index), from - 4, from);
                self.unite(copy, results[index]);
            }
        }
    }

    fn place_branch(&mut self, item: usize) {
        let (results, blocks) =
            (self.model.items[item].results.clone(), self.model.items[item].blocks.clone());
        for block in blocks {
            let Some(&end) = self.model.blocks[block].items.last() else { continue };
            let wanted: Vec<Option<Id>> = results.iter().copied().map(Some).collect();
            let at = self.model.items[end].from;
            self.deliver(end, &wanted, at);
        }
    }

    fn place_results(&mut self, aliases: &[Option<usize>]) {
        let Some(&end) = self.model.blocks[0].items.last() else { return };
        let (at, after) = (self.model.items[end].from, self.model.end + 1);
        let wanted: Vec<Option<Id>> = self.model.items[end]
            .operands
            .clone()
            .into_iter()
            .enumerate()
            .map(|(index, operand)| match aliases.get(index).copied().flatten() {
                Some(argument) => Some(self.model.blocks[0].parameters[argument]),
                None => {
                    // A place that is there from the start, and in use from the end on.
                    let id = self.model.add_copy(operand, 0, at, after);
                    self.class.push(self.classes.len());
                    self.classes.push(Class {
                        members: vec![id],
                        busy: vec![(after, after)],
                        place: Some(Place::Result(index)),
                        bytes: self.model.values[id].bytes,
                    });
                    Some(id)
                }
            })
            .collect();
        self.deliver(end, &wanted, after);
    }

    /// Lets kernels write over what they read for the last time.
    fn share(&mut self) {
        for item in 0..self.model.items.len() {
            for index in 0..self.model.items[item].may_share.len() {
                let entry = &self.model.items[item];
                let (result, at) = (entry.results[index], entry.from);
                for operand in entry.may_share[index].clone() {
                    let given = self.model.items[item].operands[operand];
                    if self.classes[self.class[given]].bytes == self.classes[self.class[result]].bytes
                        && !self.is_read_twice(&self.model.items[item].operands, operand)
                        && self.try_unite(given, result, &[at])
                    {
                        break;
                    }
                }
            }
        }
    }

    fn finish(self) -> Plan {
        let mut requests = Vec::new();
        let mut fixed: Vec<Fixed> = Vec::new();
        for (index, class) in self.classes.iter().enumerate() {
            if class.bytes == 0 || class.members.is_empty() {
                continue;
            }
            match class.place {
                None => requests.push(Request {
                    class: index,
                    bytes: class.bytes.next_multiple_of(alignment(class.bytes)),
                    exact: class.bytes,
                    busy: class.busy.clone(),
                }),
                Some(place @ (Place::Argument(_) | Place::Result(_))) => {
                    fixed.push((place, class.bytes, class.busy.clone()));
                }
                Some(_) => {}
            }
        }
        let (found, arena) = pack(requests, fixed);
        let mut places = vec![Place::Arena(0); self.class.len()];
        for (id, place) in places.iter_mut().enumerate() {
            let class = self.class[id];
            if let Some(known) = self.classes[class].place.or_else(|| found.get(&class).copied()) {
                *place = known;
            }
        }
        Plan { places, copies: self.copies, arena, constants: self.constants }
    }
}

fn late_has(late: &[(usize, Id, Id)], source: Id) -> bool {
    late.iter().any(|&(_, other, _)| other == source)
}

/// Sorts intervals and joins those that overlap.
fn normalize(busy: &mut Vec<(i64, i64)>) {
    busy.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::with_capacity(busy.len());
    for &(from, to) in busy.iter() {
        match joined.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => joined.push((from, to)),
        }
    }
    *busy = joined;
}

/// Whether two sorted lists of intervals meet at any moment that is not in `but`.
pub fn overlaps(left: &[(i64, i64)], right: &[(i64, i64)], but: &[i64]) -> bool {
    let (mut i, mut j) = (0, 0);
    while i < left.len() && j < right.len() {
        let (from, to) = (left[i].0.max(right[j].0), left[i].1.min(right[j].1));
        if from < to || from == to && !but.contains(&from) {
            return true;
        }
        if left[i].1 < right[j].1 { i += 1 } else { j += 1 }
    }
    false
}
