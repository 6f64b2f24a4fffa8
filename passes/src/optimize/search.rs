// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a stage is tried with, and in which order.

use crate::framework::Bytes;
use std::ops::Range;

/// What a stage's pipeline is run with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// Bytes of a chunk.
    pub chunk: Bytes,
    /// How many times a value's bytes may be moved in the time that it takes to compute it again.
    pub moves: u64,
    /// Of the parts that what comes after the peak falls into so many in a hundred, those nearest to it, have `near_moves`.
    pub near: u64,
    /// Moves that take the place of `moves` there.
    pub near_moves: u64,
    /// How many parts what comes after the peak falls into, about.
    pub windows: u64,
    /// Whether values are also looked for behind what is computed of them on the fly.
    pub through: bool,
    /// Of what two loops have in common so many in a hundred are computed again.
    pub share: u64,
    /// Which of the stage's pipelines runs.
    pub pipeline: usize,
}

impl Form {
    /// XLA for CPU has hardly a cost of a turn; what was measured for it (`stream.rs`) is for this size.
    pub const USUAL: Self = Self {
        chunk: Bytes(4 << 20),
        moves: 8,
        near: 0,
        near_moves: 8,
        windows: 8,
        through: false,
        share: 100,
        pipeline: 0,
    };

    /// Shares of what is done again at a price that nobody can choose: all of it, or less, in steps of a tenth. Not measured against
    /// others but quarters: half of neural_sde_diffrax's temporaries fits at 1.28 of the time, not 1.33 (`cargo xtask bench corpus`).
    const SHARES: [u64; 10] = [100, 90, 80, 70, 60, 50, 40, 30, 20, 10];

    /// Chunks of shares of what temporaries there are.
    fn chunks(temporaries: u64) -> Vec<Self> {
        // The largest leaves just enough to halve temporaries; smaller ones mean more turns, each of which starts kernels;
        // where the times of turns begin to count no command measures by itself.
        const SHARES: [u64; 6] = [2, 4, 8, 16, 32, 64];
        const LEAST: u64 = 1 << 20;
        let chunk = |share: u64| Bytes((temporaries / share).next_power_of_two().max(LEAST));
        let mut forms: Vec<Self> =
            SHARES.iter().map(|share| Self { chunk: chunk(*share), ..Self::USUAL }).collect();
        forms.dedup();
        forms
    }
}

/// What came of a form that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The stage did nothing.
    Unchanged,
    /// It did nothing worth keeping.
    Useless,
    /// It saves something, but too little for its time.
    Slow,
    /// What it made is kept, and may take its time.
    Allowed,
    /// It takes more time than what saves most may take, or saves more than anybody asks for.
    TooDear,
}

/// Which forms of a stage are tried.
#[derive(Clone, Debug)]
pub enum Search {
    /// This, or none.
    Only(Option<Form>),
    /// The smallest chunks that the time allows.
    Chunks(Chunks),
    /// The most computed again that the time allows.
    Ladder(Ladder),
    /// The largest share that the time allows, by how many have been tried.
    Shares(usize),
}

impl Search {
    /// The one form that there is.
    pub fn only(form: Form) -> Self {
        Self::Only(Some(form))
    }

    /// Chunks of several sizes, for a function with so many bytes of temporaries.
    pub fn chunks(temporaries: u64) -> Self {
        let forms = Form::chunks(temporaries);
        let open = 0..forms.len();
        Self::Chunks(Chunks { forms, open, tried: None, larger: 0..0, downwards: false })
    }

    /// The same, and none that is larger than the first that changed nothing.
    pub fn downwards(mut self) -> Self {
        if let Self::Chunks(chunks) = &mut self {
            chunks.downwards = true;
        }
        self
    }

    /// Values computed again, from those that cost hardly anything on.
    pub fn ladder() -> Self {
        Self::Ladder(Ladder::new(false))
    }

    /// All, and smaller shares as long as that takes too long.
    pub fn shares() -> Self {
        Self::Shares(0)
    }

    /// The form, if no other is tried.
    pub fn single(&self) -> Option<Form> {
        match self {
            Self::Only(form) => *form,
            Self::Chunks(_) | Self::Ladder(_) | Self::Shares(_) => None,
        }
    }

    /// The next form, by what came of the last one.
    pub fn next(&mut self, last: Option<Outcome>) -> Option<Form> {
        match self {
            Self::Only(form) => form.take(),
            Self::Chunks(chunks) => chunks.next(last),
            Self::Ladder(ladder) => ladder.next(last),
            Self::Shares(tried) => {
                let goes_on = last.is_none_or(|last| last == Outcome::TooDear);
                let share = *Form::SHARES.get(*tried).filter(|_| goes_on)?;
                *tried += 1;
                Some(Form { share, ..Form::USUAL })
            }
        }
    }
}

/// Sizes of chunks by halves: smaller ones take less and, as a rule, longer.
///
/// What a size leaves as it is a smaller one mostly does, too. Where none of these is of use, larger ones are tried, one by one: a unit of
/// what could be computed in chunks may not fit into less, or what is saved may not be worth the time of so many turns.
#[derive(Clone, Debug)]
pub struct Chunks {
    /// From the largest on.
    forms: Vec<Form>,
    /// Those that may be the smallest which the time allows.
    open: Range<usize>,
    /// The last that was tried.
    tried: Option<usize>,
    /// Those that were passed over for smaller ones, none of which has been of use yet.
    larger: Range<usize>,
    /// Whether these are none of them to be tried.
    downwards: bool,
}

impl Chunks {
    fn next(&mut self, last: Option<Outcome>) -> Option<Form> {
        let Self { forms, open, tried, larger, downwards } = self;
        if let Some((tried, outcome)) = tried.zip(last) {
            match outcome {
                Outcome::Allowed => *larger = 0..0,
                Outcome::Unchanged if *downwards => {}
                Outcome::Useless | Outcome::Slow | Outcome::Unchanged if *open == (0..forms.len()) => {
                    *larger = 0..tried;
                }
                Outcome::Useless | Outcome::Slow | Outcome::Unchanged | Outcome::TooDear => {}
            }
            match outcome {
                Outcome::TooDear => open.end = open.end.min(tried),
                Outcome::Allowed | Outcome::Useless | Outcome::Slow | Outcome::Unchanged => {
                    open.start = open.start.max(tried + 1);
                }
            }
        }
        let next =
            if open.start < open.end { usize::midpoint(open.start, open.end) } else { larger.next_back()? };
        *tried = Some(next);
        forms.get(next).copied()
    }
}

/// What is dearer from rung to rung: the most of it that the time allows.
///
/// What halves temporaries may take more time than what does not, so dearer rungs are tried as long as they may come to that. Where none
/// does, the most is looked for that takes so little time as anything may.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The rungs among which it is.
    rungs: Range<usize>,
    /// The last that was tried.
    tried: usize,
    /// Of the first rung that was too dear, the parts near the peak that have the one below.
    near: Option<u64>,
    /// Whether the parts have been made larger since.
    wider: bool,
    /// Whether this is the second ladder: values behind what is computed of them on the fly.
    through: bool,
    /// Whether anything was of use.
    is_of_use: bool,
    /// The first rung that saved too little for its time.
    slow: Option<usize>,
    /// Whether cheaper rungs than that are being tried.
    downwards: bool,
}

impl Ladder {
    /// How often a value may be moved in the time that it takes to compute it again. From the first on hardly anything costs too much that
    /// saves something, and the last computes nearly all again.
    const MOVES: [u64; 8] = [2, 4, 6, 8, 12, 16, 32, 96];
    /// Into how many parts what comes after the peak falls: small ones, which hold little at a time, and larger ones, which compute less twice.
    const WINDOWS: [u64; 2] = [16, 8];

    fn new(through: bool) -> Self {
        let rungs = 0..Self::MOVES.len();
        Self {
            rungs,
            tried: 0,
            near: None,
            wider: false,
            through,
            is_of_use: false,
            slow: None,
            downwards: false,
        }
    }

    fn next(&mut self, last: Option<Outcome>) -> Option<Form> {
        // What changes nothing at one price does so at all.
        let nothing = self.through && last == Some(Outcome::Unchanged);
        match self.rung(last) {
            _ if nothing => None,
            None if !self.through => {
                *self = Self::new(true);
                self.rung(None)
            }
            form => form,
        }
    }

    fn rung(&mut self, last: Option<Outcome>) -> Option<Form> {
        self.note(last);
        if let Some(form) = self.part(last) {
            return Some(form);
        }
        if self.wider {
            // Dearer ones did not come to what would have been worth their time.
            let cheaper = self.slow.filter(|&slow| slow > 0 && !self.is_of_use && !self.downwards)?;
            (self.rungs, self.wider, self.downwards) = (0..cheaper, false, true);
        }
        let [narrow, wide] = Self::WINDOWS;
        let Range { start, end } = self.rungs;
        self.wider = start >= end;
        self.tried = if self.wider { start.checked_sub(1)? } else { usize::midpoint(start, end) };
        Some(Form {
            moves: Self::MOVES[self.tried],
            windows: if self.wider { wide } else { narrow },
            through: self.through,
            ..Form::USUAL
        })
    }

    /// The first rung that was too dear, for a part of what comes after the peak: half, then more or less.
    fn part(&mut self, last: Option<Outcome>) -> Option<Form> {
        let Range { start, end } = self.rungs;
        if self.wider || self.downwards || start < end || end >= Self::MOVES.len() {
            return None;
        }
        self.near = match self.near {
            None => Some(50),
            Some(50) if last == Some(Outcome::Allowed) => Some(25),
            Some(50) => Some(75),
            Some(_) => Some(0),
        };
        let near = self.near.filter(|near| *near > 0)?;
        let near_moves = end.checked_sub(1).map_or(1, |below| Self::MOVES[below]);
        Some(Form {
            moves: Self::MOVES[end],
            near,
            near_moves,
            windows: Self::WINDOWS[0],
            through: self.through,
            ..Form::USUAL
        })
    }

    /// Takes in what came of the last rung.
    fn note(&mut self, last: Option<Outcome>) {
        let Some(last) = last else { return };
        self.is_of_use |= last == Outcome::Allowed;
        if self.wider || self.near.is_some_and(|near| near > 0) {
            return;
        }
        match last {
            Outcome::TooDear => self.rungs.end = self.tried,
            Outcome::Slow if self.downwards => self.rungs.end = self.tried,
            Outcome::Slow => {
                self.slow = Some(self.slow.map_or(self.tried, |slow| slow.min(self.tried)));
                self.rungs.start = self.tried + 1;
            }
            Outcome::Allowed | Outcome::Useless | Outcome::Unchanged => self.rungs.start = self.tried + 1,
        }
    }
}
