// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How many segments there are, and of how many turns.

/// Every length of a segment is tried: nobody stores more turns than this.
const MOST_TURNS: i64 = 1 << 20;

/// How turns are cut into segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Segments whose forward turns are done again.
    pub segments: i64,
    /// Turns of each, at least 2.
    pub length: i64,
    /// Turns behind them, whose slots are stored at once.
    pub rest: i64,
    /// Bytes stored at most.
    pub bytes: u64,
}

/// What is stored.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// How often the loop turns.
    pub turns: i64,
    /// Bytes of a slot of all stacks.
    pub slot: u64,
    /// Bytes of what a turn starts from.
    pub state: u64,
    /// Whether what the first turn starts from is there in any case.
    pub starts_free: bool,
}

impl Plan {
    /// The one that stores least and does no more than `share` in a hundred turns again; of several the one with fewest such turns.
    pub fn of(sizes: Sizes, share: u64) -> Option<Self> {
        let Sizes { turns, slot, state, starts_free } = sizes;
        if turns > MOST_TURNS {
            return None;
        }
        let most = (turns - 1).min((i128::from(turns) * i128::from(share.min(100)) / 100) as i64);
        let plan = |segments: i64, length: i64| {
            let rest = turns - segments * length;
            let starts = if segments == 1 && starts_free { 0 } else { segments.cast_unsigned() };
            let slots = length.max(rest).cast_unsigned();
            let bytes = state.saturating_mul(starts).saturating_add(slot.saturating_mul(slots));
            Self { segments, length, rest, bytes }
        };
        // More segments of a length take less as long as what is behind them is longer than one, if they take less at all.
        let of_length = |length: i64| {
            let last = (turns - length) / length;
            [1, last, last + 1].into_iter().filter_map(move |segments| {
                let segments = segments.min(most / length);
                (segments >= 1).then(|| plan(segments, length))
            })
        };
        (2..=most).flat_map(of_length).min_by_key(|plan| (plan.bytes, plan.segments * plan.length))
    }
}
