// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! How many blocks, of how many threads, a chip is busy with.

use crate::gpu::target_around;
use melior::ir::OperationRef;

/// Threads of a block, unless a kernel says otherwise.
pub const BLOCK: i64 = 256;
/// Most blocks of a grid whose threads go on to further elements: at least eleven for each multiprocessor of the largest
/// chip, sixteen for those of an H100. Fewer than eight would leave threads of a small kernel without a place.
pub const GRID: i64 = 132 * 16;

/// How many blocks it takes to busy a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grids {
    multiprocessors: i64,
}

impl Grids {
    /// Those of the chip that the kernels of the module around an op are for.
    pub fn around<'c: 'a, 'a>(op: OperationRef<'c, 'a>) -> Self {
        Self { multiprocessors: target_around(op).rates().map_or(1, |rates| rates.multiprocessors) }
    }

    /// Blocks that fill all multiprocessors with threads, where a thread takes few registers: eight of [`BLOCK`] are 2048, as
    /// many as a multiprocessor of most chips has.
    pub fn busy(self) -> i64 {
        self.multiprocessors * 8
    }

    /// Threads of that many blocks.
    pub fn threads(self) -> i64 {
        self.busy() * BLOCK
    }

    /// Blocks with which no multiprocessor waits for one block's threads alone.
    pub fn full(self) -> i64 {
        self.multiprocessors * 2
    }
}
