// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! XLA for TPUs, of libtpu as jax 0.10.2 wants it: fuses elementwise ops like the others, but gathers and scatters are loops of their own over
//! stored operands, and the innermost two dimensions of every array are padded to tiles of 8 by 128.

use super::{Beside, Rates, Reductions, Schedule, Storage};

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    reductions: Reductions::Kernels { few: 8 },
    fuses_into_scatters: false,
    scatters_into_sums: false,
    beside_products: Beside::Anything,
    longest_row: 0,
    weighs_copies: true,
    launch_bytes: 3 << 20,
    work_per_byte: 20.0,
    most_places: u32::MAX,
    orders_products: false,
    orders_filters: false,
    copies_rows: false,
    stages_running_sums: false,
    barriers_hold: true,
    host_memory: true,
    divides_work: false,
    splits_products: None,
    schedule: Schedule::OwnOrWalk,
    tile: (8, 128),
};

/// v5p: 2.77 TB/s, 459 TFLOP/s of bf16, by Google's page on the chip, in the shares that hold for an H100.
pub(super) const V5P: Rates = Rates {
    memory: 95 << 30,
    bytes: 2.3e12,
    narrow_products: 300e12,
    products: 100e12,
    wide_products: 1e12,
    elementwise: 4e12,
    launch: 1e-6,
    iteration: 1e-6,
    branch: 2e-6,
    link: 200e9,
    // As a GPU of PCIe 4 has: an assumption, Google's page says nothing of it.
    host_link: 27e9,
    updates: 300e9,
};
