// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What pipelines have been seen to do, for when they would be run on the same module again, and how long its functions
//! take as they came.

use crate::cost::Cost;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// What a pipeline makes of a function that it changes: its name, and what it then costs.
pub(super) type Made = (String, Cost);

/// A stage by its number, and what it is run as, on a module by its fingerprint.
pub(super) type Trial = (usize, String, u64);

/// What came of stages, in all runs of the default pipeline on one program: within another bound of time most of them
/// meet modules that they have met.
#[derive(Default)]
pub struct Tried {
    made: RefCell<HashMap<Trial, Rc<[Made]>>>,
    /// Seconds, by name.
    as_they_came: RefCell<HashMap<String, f64>>,
    /// Whether rows are gathered to be put beside others for a product.
    joins_rows: Cell<bool>,
}

impl Tried {
    /// What comes of a trial, nothing if all stays as it is; none if that is not known.
    pub(super) fn of(&self, trial: &Trial) -> Option<Rc<[Made]>> {
        self.made.borrow().get(trial).cloned()
    }

    /// Whether a trial is known to leave all as it is.
    pub(super) fn is_idle(&self, trial: &Trial) -> bool {
        self.made.borrow().get(trial).is_some_and(|made| made.is_empty())
    }

    /// Notes how long a function takes as it came, once back ends have done what they do themselves.
    pub(super) fn note_time(&self, function: &str, seconds: f64) {
        self.as_they_came.borrow_mut().insert(function.to_owned(), seconds);
    }

    /// That, in seconds; before any run the function's own time.
    pub(super) fn time(&self, function: &str, own: f64) -> f64 {
        self.as_they_came.borrow().get(function).copied().unwrap_or(own)
    }

    /// Notes that rows are gathered to be put beside others for a product.
    pub(super) fn note_joined_rows(&self) {
        self.joins_rows.set(true);
    }

    /// Whether that has been noted.
    pub(super) fn has_joined_rows(&self) -> bool {
        self.joins_rows.get()
    }

    /// Notes what came of a trial.
    pub(super) fn note(&self, trial: Trial, made: Vec<Made>) {
        self.made.borrow_mut().insert(trial, made.into());
    }
}
