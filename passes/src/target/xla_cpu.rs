// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! XLA for CPU, of jaxlib 0.10.2: it hands reductions and products to libraries, has no arithmetic of 16-bit floats, and takes hardly any
//! time for a turn of a loop.
//!
//! Nobody has calibrated what it takes time for, so only bytes are judged, by the thresholds of the passes themselves.

use super::{Beside, Reductions, Schedule, Selects, Storage};

pub(super) static STORAGE: Storage = Storage {
    widens: true,
    reductions: Reductions::Library { tile: 32 },
    fuses_into_scatters: false,
    chooses_single: false,
    scatters_into_sums: false,
    beside_products: Beside::Nothing,
    longest_row: 0,
    goes_on_after_sums: true,
    longest_column: u64::MAX,
    weighs_copies: false,
    computes_stored_once: false,
    launch_bytes: 0,
    work_per_byte: 0.0,
    reckoned: None,
    priorities: None,
    rereads: None,
    most_places: 15,
    orders_products: true,
    batches_first: true,
    library_convolves: false,
    fewest_images: 0,
    library_workspace: 0,
    stores_updates: false,
    narrows_products: false,
    numbers_free: false,
    pads_alone: false,
    // Single concatenates of computed operands, of 2 to 16 operands and of rows of 16 to 512 elements, f64, f32 and i8: the compiled program has
    // one fusion up to 8 operands and 127 elements (test/oracle/joins.py).
    gathers_alone: false,
    copied_rows: 128,
    most_joined: 8,
    stages_running_sums: true,
    barriers_hold: false,
    host_memory: false,
    joins_kernels: None,
    shares_splats: false,
    takes_joined_apart: false,
    puts_off_updates: false,
    hides_collectives: false,
    orders_for_collectives: false,
    operations: None,
    counts_steps: false,
    divides_work: true,
    splits_products: None,
    slowness: None,
    selects: Selects::Numbers,
    one_waits: false,
    sorts_places: false,
    column_blocks: None,
    schedule: Schedule::FirstReady,
    near_memory: 0,
    tile: (1, 1),
};
