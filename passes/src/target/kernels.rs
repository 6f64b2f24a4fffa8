// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! slimhlo's own kernels (`gpu/`): what they compute on the fly is decided where they are formed; this is what passes
//! that run before need to know.

use super::{Beside, Description, Rates, Reductions, Schedule, Selects, Storage, xla_gpu};
use crate::gpu::emit::roots::slowness_of_product;

/// Elements of the longest row that one kernel keeps from one of its reductions to the next (`gpu/emit/roots/rows.rs`):
/// the largest block has 1024 threads, and of the 64 registers that each then has, 32 hold elements.
pub const LONGEST_ROW: i64 = 1024 * 32;

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    reductions: Reductions::Kernels { few: 32, together: false },
    fuses_into_scatters: true,
    chooses_single: false,
    scatters_into_sums: false,
    beside_products: Beside::Nothing,
    // Kernels have rows of up to LONGEST_ROW; but a model that sees them so plans worse: what the default pipeline may
    // cost is then held against a plain program that is faster. Of the reference programs (`bench_plan.py`) 16 change
    // and none is better: bytes by -6 to +24 %, time (the estimate's) by +3 to +35 %; causal attention with its
    // gradient takes 156 MiB for 130, vit_step 669 for 650.
    longest_row: 0,
    goes_on_after_sums: true,
    longest_column: u64::MAX,
    weighs_copies: true,
    // They do; but again a model that knows it plans no better: of the reference programs causal attention with its
    // gradient takes 156 MiB for 130, train16_scan 343 for 365 (`slimhlo compile --chip sm_90`), and no other changes.
    computes_stored_once: false,
    launch_bytes: 3 << 20,
    work_per_byte: 20.0,
    reckoned: None,
    priorities: None,
    rereads: None,
    most_places: 15,
    orders_products: false,
    batches_first: false,
    library_convolves: false,
    fewest_images: 0,
    library_workspace: 0,
    stores_updates: false,
    narrows_products: false,
    numbers_free: false,
    pads_alone: false,
    gathers_alone: false,
    copied_rows: i64::MAX,
    most_joined: usize::MAX,
    stages_running_sums: false,
    // They are gone before kernels are made; but a branch would be a read-back.
    barriers_hold: true,
    host_memory: false,
    joins_kernels: None,
    shares_splats: false,
    takes_joined_apart: false,
    puts_off_updates: false,
    hides_collectives: false,
    orders_for_collectives: false,
    operations: Some(xla_gpu::operations),
    counts_steps: true,
    divides_work: false,
    splits_products: None,
    slowness: Some(|op| slowness_of_product(op).unwrap_or(1.0)),
    selects: Selects::Numbers,
    one_waits: false,
    sorts_places: false,
    column_blocks: None,
    schedule: Schedule::OwnOrWalk,
    near_memory: 0,
    tile: (1, 1),
};

/// What stands before a chip's name where kernels are for that one.
pub(super) const PREFIX: &str = "kernels-";

/// What an H100 was measured to do under XLA, but for products: no tensor cores, and half of what it multiplies without
/// them, 67 TFLOP/s of f32 and 34 of f64 by NVIDIA's data sheet. That half is assumed, not measured. What products of
/// few tiles take longer is known of each (`slowness`); until its first tiles are there and its last ones stored, a product
/// takes as long as XLA's. All launches are in graphs. Updates of one place are counted in the memory of each block
/// first (`emit/roots/private.rs`).
pub(super) const H100: Rates = Rates {
    narrow_products: 30e12,
    products: 30e12,
    exact_products: 30e12,
    wide_products: 15e12,
    product_overlap: 1.0,
    across: (1.0, 1.0),
    columns: None,
    launch: xla_gpu::H100.launch_in_graph,
    place: f64::INFINITY,
    ..xla_gpu::H100
};

/// Those of the usual chip: one place, by which it is told from others.
pub(super) static USUAL: Rates = H100;

/// The share of its multiplications and additions without tensor cores that a chip is assumed to reach, as [`H100`] has
/// it.
const REACHED: f64 = 0.45;

/// The share of its data sheet's bandwidth that a chip reaches, as an H100 does of 3.35 TB/s.
const MOVED: f64 = H100.bytes / 3.35e12;

/// Figures of a chip by NVIDIA's data sheet or white paper, that of the board that most of its kind are on.
struct Sheet {
    /// Bytes of memory, bytes per second from it, and bytes of the second cache.
    memory: u64,
    bytes: f64,
    cache: u64,
    multiprocessors: i64,
    /// Operations per second of f32 and f64, each of a multiplication and an addition counted.
    single: f64,
    double: f64,
    /// Bytes per second to the host.
    host_link: f64,
}

impl Sheet {
    /// Rates in the shares that an H100 is assumed to reach.
    const fn rates(self) -> Rates {
        Rates {
            memory: self.memory,
            bytes: self.bytes * MOVED,
            narrow_products: self.single * REACHED,
            products: self.single * REACHED,
            exact_products: self.single * REACHED,
            wide_products: self.double * REACHED,
            // A step is half of a multiplication and addition.
            elementwise: self.single / 2.0,
            operations: self.single / 2.0,
            // Atomics are made in the second cache, and that is as fast as memory is to it.
            updates: H100.updates * self.bytes * MOVED / H100.bytes,
            cached: H100.cached * self.bytes * MOVED / H100.bytes,
            host_link: self.host_link,
            cache: self.cache,
            multiprocessors: self.multiprocessors,
            ..H100
        }
    }
}

/// V100 SXM2, 32 GB.
const SM_70: Rates = Sheet {
    memory: 32 << 30,
    bytes: 0.9e12,
    cache: 6 << 20,
    multiprocessors: 80,
    single: 15.7e12,
    double: 7.8e12,
    host_link: 13e9,
}
.rates();
/// Jetson AGX Xavier, whose memory is the host's.
const SM_72: Rates = Sheet {
    memory: 32 << 30,
    bytes: 0.137e12,
    cache: 512 << 10,
    multiprocessors: 8,
    single: 1.4e12,
    double: 0.7e12,
    host_link: 100e9,
}
.rates();
/// T4.
const SM_75: Rates = Sheet {
    memory: 16 << 30,
    bytes: 0.32e12,
    cache: 4 << 20,
    multiprocessors: 40,
    single: 8.1e12,
    double: 0.25e12,
    host_link: 13e9,
}
.rates();
/// A100 SXM4, 80 GB.
const SM_80: Rates = Sheet {
    memory: 80 << 30,
    bytes: 2.04e12,
    cache: xla_gpu::A100.cache,
    multiprocessors: xla_gpu::A100.multiprocessors,
    single: 19.5e12,
    double: 9.7e12,
    host_link: 27e9,
}
.rates();
/// A10.
const SM_86: Rates = Sheet {
    memory: 24 << 30,
    bytes: 0.6e12,
    cache: 6 << 20,
    multiprocessors: 72,
    single: 31.2e12,
    double: 0.49e12,
    host_link: 27e9,
}
.rates();
/// Jetson AGX Orin, whose memory is the host's.
const SM_87: Rates = Sheet {
    memory: 64 << 30,
    bytes: 0.205e12,
    cache: 4 << 20,
    multiprocessors: 16,
    single: 5.3e12,
    double: 0.08e12,
    host_link: 150e9,
}
.rates();
/// L40S.
const SM_89: Rates = Sheet {
    memory: 48 << 30,
    bytes: 0.864e12,
    cache: 96 << 20,
    multiprocessors: 142,
    single: 91.6e12,
    double: 1.4e12,
    host_link: 27e9,
}
.rates();
/// B200.
const SM_100: Rates = Sheet {
    memory: xla_gpu::B200.memory,
    bytes: xla_gpu::B200.bytes / MOVED,
    cache: xla_gpu::B200.cache,
    multiprocessors: xla_gpu::B200.multiprocessors,
    single: 75e12,
    double: 37e12,
    host_link: xla_gpu::B200.host_link,
}
.rates();
/// Jetson AGX Thor, whose memory is the host's.
const SM_101: Rates = Sheet {
    memory: 128 << 30,
    bytes: 0.273e12,
    cache: 32 << 20,
    multiprocessors: 20,
    single: 8.1e12,
    double: 0.13e12,
    host_link: 200e9,
}
.rates();
/// B300: as a B200, with more memory and hardly any f64.
const SM_103: Rates = Rates { memory: 288_000_000_000, wide_products: 0.54e12, ..SM_100 };
/// RTX PRO 6000 Blackwell.
const SM_120: Rates = Sheet {
    memory: 96 << 30,
    bytes: 1.792e12,
    cache: 128 << 20,
    multiprocessors: 188,
    single: 125e12,
    double: 1.95e12,
    host_link: 54e9,
}
.rates();

/// A row for each architecture that code is made for (`tools/nvptx`).
pub static CHIPS: [Description; 12] = [
    Description { name: "kernels-sm_70", storage: &STORAGE, rates: Some(&SM_70) },
    Description { name: "kernels-sm_72", storage: &STORAGE, rates: Some(&SM_72) },
    Description { name: "kernels-sm_75", storage: &STORAGE, rates: Some(&SM_75) },
    Description { name: "kernels-sm_80", storage: &STORAGE, rates: Some(&SM_80) },
    Description { name: "kernels-sm_86", storage: &STORAGE, rates: Some(&SM_86) },
    Description { name: "kernels-sm_87", storage: &STORAGE, rates: Some(&SM_87) },
    Description { name: "kernels-sm_89", storage: &STORAGE, rates: Some(&SM_89) },
    Description { name: "kernels-sm_90", storage: &STORAGE, rates: Some(&USUAL) },
    Description { name: "kernels-sm_100", storage: &STORAGE, rates: Some(&SM_100) },
    Description { name: "kernels-sm_101", storage: &STORAGE, rates: Some(&SM_101) },
    Description { name: "kernels-sm_103", storage: &STORAGE, rates: Some(&SM_103) },
    Description { name: "kernels-sm_120", storage: &STORAGE, rates: Some(&SM_120) },
];
