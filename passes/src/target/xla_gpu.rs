// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! XLA for NVIDIA GPUs, of jaxlib 0.10.2: what elementwise ops, gathers and slices compute is fused into reductions, scatters and updates;
//! products are kernels that store their results; every kernel is a launch.

use super::{Beside, Rates, Reductions, Schedule, Splits, Storage};

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    reductions: Reductions::Kernels { few: 32 },
    fuses_into_scatters: true,
    scatters_into_sums: true,
    beside_products: Beside::Given,
    // Softmax of rows of f32 is one kernel up to here, and five for rows of 20,000 (`test/oracle/referee.py --target h100`).
    longest_row: 1 << 14,
    weighs_copies: true,
    computes_stored_once: true,
    // XLA's own model of a GPU's kernels has a microsecond for a start; 30e12 operations against 3.35e12 bytes a second, twice.
    launch_bytes: 3 << 20,
    work_per_byte: 20.0,
    most_places: u32::MAX,
    orders_products: true,
    orders_filters: true,
    pads_alone: false,
    copied_rows: i64::MAX,
    most_joined: usize::MAX,
    stages_running_sums: false,
    barriers_hold: true,
    host_memory: true,
    shares_splats: true,
    divides_work: false,
    // As `test/oracle/products.py` finds them, but for some of 64 columns and some that contract 65,536 elements.
    splits_products: Some(Splits { most: 1 << 21, fewest: 4, small: 1 << 14 }),
    schedule: Schedule::ListOrWalk,
    tile: (1, 1),
};

/// H100 SXM5: 3.35 TB/s, 989 TFLOP/s of bf16 and half of that of f32 by NVIDIA's data sheet; products reach half, bytes are XLA's own figure
/// for the chip, and the referee's (`test/oracle/targets.py`): what a launch costs beside them is to be the same in both.
/// XLA multiplies f32 as TF32 unless it is asked for more. 2.5 us from one kernel to the next of a stream. `cargo xtask bench calibrate` holds
/// such figures against a GPU. 16 lanes of PCIe 5 are 64 GB/s in one direction. Caches are those of XLA's descriptions of the chips, two and a
/// half times as fast as memory, and scatters take what their bytes take: so XLA reckons, and the referee with it.
pub(super) const H100: Rates = Rates {
    memory: 80 << 30,
    bytes: 3.35e12,
    narrow_products: 500e12,
    products: 247e12,
    wide_products: 40e12,
    elementwise: 30e12,
    launch: 2.5e-6,
    iteration: 0.0,
    branch: 10e-6,
    link: 300e9,
    host_link: 54e9,
    updates: f64::INFINITY,
    cache: 52_428_800,
    multiprocessors: 132,
    cached: 2.5 * 3.35e12,
};

/// A100 SXM4, 80 GB: 2.04 TB/s, 312 TFLOP/s of bf16, PCIe 4, by NVIDIA's data sheet, in the same shares.
pub(super) const A100: Rates = Rates {
    bytes: 2.04e12,
    narrow_products: 160e12,
    products: 78e12,
    wide_products: 12e12,
    elementwise: 10e12,
    link: 200e9,
    host_link: 27e9,
    cache: 41_943_040,
    multiprocessors: 108,
    cached: 2.5 * 2.04e12,
    ..H100
};

/// B200: 8 TB/s, 2.25 PFLOP/s of dense bf16, by NVIDIA's data sheet, in the same shares.
pub(super) const B200: Rates = Rates {
    memory: 180_000_000_000,
    bytes: 7.67e12,
    narrow_products: 1_100e12,
    products: 550e12,
    wide_products: 30e12,
    elementwise: 35e12,
    link: 600e9,
    cache: 132_644_864,
    multiprocessors: 148,
    cached: 2.5 * 7.67e12,
    ..H100
};
