// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The parts that what comes after a peak falls into.

use super::{Kept, Span};

/// Consecutive ranges of places of a block's ops.
pub struct Windows {
    /// Where each begins, the first right after the peak.
    starts: Vec<usize>,
}

impl Windows {
    /// About `count` windows that need as many bytes each, with as few bytes as possible that two of them need.
    pub fn of(kept: &Kept<'_, '_>, count: u64) -> Self {
        let spans = &kept.spans;
        let budget = spans.iter().map(|span| span.bytes).sum::<u64>() / count.max(1);
        let mut starts = vec![kept.after];
        let mut from = 0;
        while from < spans.len() {
            let to = end_of_window(&spans[from..], budget) + from;
            if let Some(next) = spans.get(to).filter(|next| Some(&next.first) != starts.last()) {
                starts.push(next.first);
            }
            from = to;
        }
        Self { starts }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Where the window before one begins; before the first there is the op at the peak.
    pub fn start_before(&self, window: usize) -> usize {
        match window.checked_sub(1) {
            Some(before) => self.starts[before],
            None => self.starts[0].saturating_sub(1),
        }
    }

    /// The window that a place after the peak is in.
    pub fn at(&self, place: usize) -> usize {
        self.starts.partition_point(|&start| start <= place).saturating_sub(1)
    }
}

/// How many spans the first window has: between half of the budget and all of it, where the fewest bytes are needed on both sides.
fn end_of_window(spans: &[Span<'_, '_>], budget: u64) -> usize {
    let mut taken = 0u64;
    let mut best: Option<(u64, usize)> = None;
    for (index, span) in spans.iter().enumerate() {
        taken = taken.saturating_add(span.bytes);
        if taken > budget && best.is_some() {
            break;
        }
        let Some(next) = spans.get(index + 1) else { return spans.len() };
        if taken < budget / 2 {
            continue;
        }
        let both: u64 =
            spans[..=index].iter().filter(|span| span.last >= next.first).map(|span| span.bytes).sum();
        if best.is_none_or(|(least, _)| both < least) {
            best = Some((both, index + 1));
        }
        if taken > budget {
            break;
        }
    }
    best.map_or(spans.len(), |(_, end)| end)
}
