// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Whether a program for several devices is better for the exchanges that were written down in it.

use super::rule::with_slack;
use crate::shards::{Traffic, traffic};
use melior::ir::OperationRef;

/// Less than this share of the bytes that are sent is little.
const LITTLE: u64 = 8;

/// What a program sent as it came, and what it sends now, where exchanges were written down in it.
#[derive(Default)]
pub(super) struct Exchanged {
    came: Option<Traffic>,
    now: Option<Traffic>,
}

impl Exchanged {
    /// Of a program as it came, and as it is.
    pub(super) fn of(came: OperationRef<'_, '_>, now: OperationRef<'_, '_>) -> Self {
        Self { came: traffic(came), now: traffic(now) }
    }

    /// Whether a program is better as it came, given what its functions needed and what they need: because one of them needs more,
    /// more is sent, nothing was gained, or little where a partitioner still brings most of what there is: what that takes is not known.
    /// Where next to as many bytes are sent as before, what a partitioner stores for them is there as it was, and nothing is allowed for it: of 1,600
    /// modules (`test/oracle/sharded_fields.py`, seeds 401, 402, 411 and 412) 15 go back for that, 7 of which took more than by XLA for CPU alone.
    /// Of 11 modules in which a partitioner goes on gathering, and that send more than four fifths of what they did, 3 took more memory, all
    /// of which send more than seven eighths (`test/oracle/sharded_fields.py`, seeds 1, 200, 205, 206 and 300).
    pub(super) fn is_back(&self, peaks: &[(u64, u64)]) -> bool {
        let little = |came: Traffic| came.bytes - came.bytes / LITTLE;
        let sends_on = |(came, now): (Traffic, Traffic)| came.is_known_of_loops && now.bytes > little(came);
        let sends_on = self.came.zip(self.now).is_some_and(sends_on);
        // What a partitioner would store for collectives is in no function as it came.
        let stored = self.came.map_or(0, |came| if sends_on { 0 } else { came.stored });
        let grew = peaks.iter().any(|&(before, after)| after > with_slack(before.saturating_add(stored)));
        let shrank = peaks.iter().any(|(before, after)| after < before);
        // Only where it is known what a device sent and sends.
        let (Some(came), Some(now)) = (self.came, self.now) else { return grew };
        let are_known = came.is_known && now.is_known;
        let sends_more = now.collectives > came.collectives || now.bytes > came.bytes;
        let sends_less = now.collectives < came.collectives || now.bytes < came.bytes;
        let is_left = 2 * now.left > now.bytes && now.bytes > little(came);
        grew || are_known && (sends_more || is_left || !sends_less && !shrank)
    }
}
