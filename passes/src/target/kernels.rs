// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! slimhlo's own kernels (`gpu/`): what they compute on the fly is decided where they are formed; this is what passes
//! that run before need to know.

use super::{Beside, Rates, Reductions, Schedule, Storage, xla_gpu};

/// Multiprocessors that kernels have blocks for: those of an H100 SXM5 by NVIDIA's data sheet. Code is the same for
/// all chips; an A100 has 108, for which grids are then a fifth larger than they need be.
pub const MULTIPROCESSORS: i64 = 132;

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    reductions: Reductions::Kernels { few: 32 },
    fuses_into_scatters: true,
    scatters_into_sums: false,
    beside_products: Beside::Nothing,
    longest_row: 0,
    weighs_copies: true,
    launch_bytes: 3 << 20,
    work_per_byte: 20.0,
    most_places: 15,
    orders_products: false,
    orders_filters: false,
    pads_alone: false,
    copies_rows: false,
    stages_running_sums: false,
    // They are gone before kernels are made; but a branch would be a read-back.
    barriers_hold: true,
    host_memory: false,
    shares_splats: false,
    divides_work: false,
    splits_products: None,
    schedule: Schedule::OwnOrWalk,
    tile: (1, 1),
};

/// No tensor cores: half of what an H100 multiplies without them, 67 TFLOP/s of f32 and 34 of f64 by NVIDIA's data
/// sheet. That half is assumed, not measured. A loop that counts takes its kernels' time alone.
pub(super) const RATES: Rates = Rates {
    narrow_products: 30e12,
    products: 30e12,
    wide_products: 15e12,
    updates: 500e9,
    cached: f64::INFINITY,
    ..xla_gpu::H100
};
