// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! slimhlo's own kernels (`gpu/`): what they compute on the fly is decided where they are formed; this is what passes that run before need to
//! know.

use super::{Rates, Reductions, Schedule, Storage, xla_gpu};

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    reductions: Reductions::Kernels { few: 32 },
    fuses_into_scatters: true,
    longest_row: 0,
    weighs_copies: true,
    most_places: 15,
    orders_products: false,
    copies_rows: false,
    stages_running_sums: false,
    barriers_hold: false,
    host_memory: false,
    divides_work: false,
    schedule: Schedule::LeastAlive,
    tile: (1, 1),
};

/// No tensor cores, and each loop's condition is read back by the host.
pub(super) const RATES: Rates = Rates { narrow_products: 30e12, iteration: 10e-6, ..xla_gpu::H100 };
