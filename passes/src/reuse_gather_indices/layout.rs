// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How an array of indices comes of the array that holds them, and what it takes to make it of that.

use super::form::{self, At, Column, Form, Kind, Range, Source, Step};
use super::signed_kinds;
use crate::ir::Builder;
use melior::ir::{Location, Value, ValueLike};
use slimhlo_dialect::types::Tensor;

/// How index vectors lie in one array.
pub struct Layout<'c, 'a> {
    pub source: Value<'c, 'a>,
    pub start: Vec<i64>,
    pub limit: Vec<i64>,
    pub stride: Vec<i64>,
    /// The dimension of the vectors, if there is more than one number to each.
    pub vectors: Option<usize>,
    /// Which number of the form's vectors each of the array's is.
    pub order: Vec<usize>,
}

impl<'c: 'a, 'a> Layout<'c, 'a> {
    pub fn of(form: &Form<'c, 'a>) -> Option<Self> {
        let first = form.columns.first()?;
        let Source::Array(source) = first.source else { return None };
        let tensor = form::plain(source)?;
        let same = |column: &Column<'c, 'a>| column.source == first.source;
        if !form.columns.iter().all(same) {
            return None;
        }
        let mut layout = Self {
            source,
            start: vec![0; tensor.rank()],
            limit: tensor.shape.to_vec(),
            stride: vec![1; tensor.rank()],
            vectors: None,
            order: (0..form.columns.len()).collect(),
        };
        let mut batch = 0;
        for dim in 0..tensor.rank() {
            let places = form.columns.iter().map(|column| column.at[dim]);
            match first.at[dim] {
                At::Batch(number) => {
                    if number != batch || places.into_iter().any(|at| at != first.at[dim]) {
                        return None;
                    }
                    batch += 1;
                }
                At::Fixed(_) => {
                    let fixed = |at| if let At::Fixed(at) = at { Some(at) } else { None };
                    let mut places: Vec<i64> = places.map(fixed).collect::<Option<_>>()?;
                    if !places.is_sorted() && layout.vectors.is_none() {
                        layout.order.sort_by_key(|&column| places[column]);
                    }
                    places = layout.order.iter().map(|&column| places[column]).collect();
                    let start = places[0];
                    let stride = places.get(1).map_or(0, |next| next - start);
                    let regular = places.windows(2).all(|pair| pair[1] - pair[0] == stride);
                    if !regular || stride < 0 || (stride > 0 && layout.vectors.is_some()) {
                        return None;
                    }
                    if stride > 0 {
                        layout.vectors = Some(dim);
                    }
                    layout.start[dim] = start;
                    layout.limit[dim] = places[places.len() - 1] + 1;
                    layout.stride[dim] = stride.max(1);
                }
            }
        }
        let complete = layout.vectors.is_some() == (form.columns.len() > 1);
        (batch == form.batch.len() && complete).then_some(layout)
    }

    /// Whether the array has the numbers of each vector in another order.
    pub fn is_permuted(&self) -> bool {
        !self.order.is_sorted()
    }

    /// The part of the array that holds them.
    pub fn part(&self, build: &Builder<'c, 'a>, location: Location<'c>) -> Value<'c, 'a> {
        let tensor = Tensor::new(self.source.r#type()).expect("sources are tensors");
        let shape: Vec<i64> = (0..tensor.rank())
            .map(|dim| (self.limit[dim] - self.start[dim] - 1) / self.stride[dim] + 1)
            .collect();
        if shape == tensor.shape {
            return self.source;
        }
        let attributes = [
            ("start_indices", build.i64_array(&self.start)),
            ("limit_indices", build.i64_array(&self.limit)),
            ("strides", build.i64_array(&self.stride)),
        ];
        let ty = Tensor::get(&shape, tensor.element, None);
        build.insert("stablehlo.slice", &[self.source], &attributes, ty, location)
    }
}

/// What is done to all columns, in one go.
pub struct Work {
    pub kind: Kind,
    pub steps: Vec<(Kind, Vec<Step>)>,
    pub result: Kind,
}

impl Work {
    /// A step each for all columns at a time, with the type to do it in. `from` is the type they begin with, `result` the
    /// one they end with.
    pub fn of(columns: &[&Column<'_, '_>], from: Kind, result: Kind) -> Option<Self> {
        let sort = |step: &Step| match step {
            Step::Fix(_) => (0, None),
            Step::Add(_) => (1, None),
            Step::Clamp(..) => (2, None),
            Step::Wrap(kind) => (3, Some(*kind)),
        };
        let longest = columns.iter().max_by_key(|column| column.steps.len())?;
        let mut done = vec![0; columns.len()];
        let mut ranges: Vec<Range> = columns.iter().map(|column| column.start).collect();
        let mut kind = from;
        let mut steps = Vec::with_capacity(longest.steps.len());
        for model in &longest.steps {
            let mut row = Vec::with_capacity(columns.len());
            for (at, column) in columns.iter().enumerate() {
                let own = column.steps.get(done[at]).filter(|step| sort(step) == sort(model));
                done[at] += usize::from(own.is_some());
                row.push(match (own, model) {
                    (Some(step), _) => *step,
                    (None, Step::Fix(_)) => Step::Fix(0),
                    (None, Step::Add(_)) => Step::Add(0),
                    (None, Step::Clamp(..)) => Step::Clamp(ranges[at].low, ranges[at].high),
                    (None, Step::Wrap(kind)) if kind.range().contains(ranges[at]) => *model,
                    (None, Step::Wrap(_)) => return None,
                });
            }
            let fits = |kind: Kind| row.iter().zip(&ranges).all(|(step, range)| step.fits(*range, kind));
            if let Step::Wrap(to) = model {
                kind = *to;
            } else if !fits(kind) {
                let holds = |kind: &Kind| ranges.iter().all(|range| kind.range().contains(*range));
                kind = signed_kinds().find(|kind| holds(kind) && fits(*kind))?;
            }
            for (range, step) in ranges.iter_mut().zip(&row) {
                *range = step.range(*range);
            }
            steps.push((kind, row));
        }
        let all_done = columns.iter().zip(&done).all(|(column, done)| *done == column.steps.len());
        let kept = ranges.iter().all(|range| result.range().contains(*range));
        (all_done && kept).then_some(Self { kind: from, steps, result })
    }
}
