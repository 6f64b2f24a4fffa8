// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How large chunks are to be, and how often plans are made again.

/// How much more than a chunk a loop has to save.
pub const GAIN: i64 = 4;
/// How many times `chunk-bytes` a chunk may take where dots would be too thin otherwise.
pub const STRETCH: i64 = 8;
/// Which part of a program's arguments and results a chunk should not exceed, unless that is less than `LEAST_CHUNK` bytes.
const FLOOR_SHARE: i64 = 64;
const LEAST_CHUNK: i64 = 16 << 10;
/// Bytes that a turn of a loop should store for its own cost to be no matter: between these, a `TURN_SHARE`th of a program's
/// arguments and results, if `chunk-bytes` allows.
const LEAST_TURN: i64 = GAIN * LEAST_CHUNK;
const MOST_TURN: i64 = 1 << 20;
const TURN_SHARE: i64 = FLOOR_SHARE / 2;
/// The same for a turn with loops in it, which is to keep all threads busy.
const LOOP_SHARE: i64 = 16;
/// How often a plan is made again for values that turned out to be needed whole, and all consumers are gone over again.
pub const ROUNDS: usize = 12;

/// Bytes that chunks may take.
#[derive(Clone, Copy)]
pub struct Sizes {
    /// About how much a chunk may take.
    pub chunk_bytes: i64,
    /// The same where little memory does not matter.
    pub whole_chunk: i64,
    /// How much it should take if that is little beside what the loop saves.
    pub least_turn: i64,
    /// The same where a turn has dots in it.
    pub dot_turn: i64,
    /// The same where a turn has loops of its own.
    pub loop_turn: i64,
    /// How much it may take at most where dots would otherwise be too thin.
    pub stretch: i64,
    /// How much a loop has to save.
    pub least_saved: i64,
}

impl Sizes {
    /// Chunks of as many bytes as are asked for: what time a turn takes is judged by who asks.
    pub fn as_asked(asked: i64) -> Self {
        let asked = within_reason(asked);
        Self {
            chunk_bytes: asked,
            whole_chunk: asked,
            least_turn: asked,
            dot_turn: asked,
            loop_turn: asked,
            stretch: asked,
            least_saved: asked,
        }
    }

    /// Chunks of at most so many bytes for a program whose arguments and results take `floor` bytes: one of little
    /// memory gets small ones.
    pub fn of_program(asked: i64, floor: i64) -> Self {
        let asked = within_reason(asked);
        let chunk_bytes = asked.min((floor / FLOOR_SHARE).max(LEAST_CHUNK));
        Self {
            chunk_bytes,
            whole_chunk: asked,
            least_turn: (floor / TURN_SHARE).clamp(LEAST_TURN, MOST_TURN).min(asked),
            dot_turn: asked.min(floor / 4),
            loop_turn: asked.min((floor / LOOP_SHARE).max(MOST_TURN)),
            stretch: asked.saturating_mul(STRETCH).min(floor / 8).max(asked),
            least_saved: chunk_bytes.saturating_mul(GAIN),
        }
    }
}

fn within_reason(bytes: i64) -> i64 {
    bytes.clamp(1, i64::MAX / (2 * GAIN))
}
