// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! XLA for NVIDIA GPUs, of jaxlib 0.10.2: what elementwise ops, gathers and slices compute is fused into reductions, scatters and updates;
//! products are kernels that store their results; every kernel is a launch.

mod reckoning;

use super::{
    Beside, ColumnBlocks, Columns, Joins, Rates, Reductions, Rereads, Schedule, Selects, Splits, Storage,
};
use melior::ir::r#type::IntegerType;
use melior::ir::{Type, TypeLike};
use slimhlo_dialect::quant::complex_part;

pub(super) static STORAGE: Storage = XLA;

/// An A100's cuBLAS has less: 4 MiB for a product of 1,024 by 1,024 complex<f64>. Its order is by memory: of the two programs in
/// `test/print-memory/gpu-exchanges.mlir` it has 80 MiB for both, where an H100 has 88 for the first (`test/oracle/referee.py --target a100`).
pub(super) static AMPERE: Storage = XLA_AMPERE;
const XLA_AMPERE: Storage = Storage { library_workspace: 4 << 20, orders_for_collectives: false, ..XLA };

/// The same with kernels merged one after the other as XLA merges them (`memory/fuse/priority.rs`).
pub(super) static H100_BY_PRIORITY: Storage = Storage { priorities: Some(&reckoning::H100), ..XLA };
pub(super) static A100_BY_PRIORITY: Storage = Storage { priorities: Some(&reckoning::A100), ..XLA_AMPERE };
pub(super) static B200_BY_PRIORITY: Storage = Storage { priorities: Some(&reckoning::B200), ..XLA };

const XLA: Storage = Storage {
    widens: false,
    // A warp reduces one row, or several whose elements divide its threads evenly (`IsUnnestedReductionFasterThanElemental` in openxla/xla).
    reductions: Reductions::Kernels { few: 32, together: true },
    fuses_into_scatters: true,
    chooses_single: false,
    scatters_into_sums: true,
    beside_products: Beside::Given,
    // Softmax of rows of f32 is one kernel up to here, and five for rows of 20,000 (`test/oracle/referee.py --target h100`).
    longest_row: 1 << 14,
    goes_on_after_sums: false,
    // A warp of threads that go over 128 elements each (`ReductionIsRaceFree` in openxla/xla).
    longest_column: 4096,
    weighs_copies: true,
    computes_stored_once: true,
    // XLA's own model of a GPU's kernels has a microsecond for a start; 30e12 operations against 3.35e12 bytes a second, twice.
    launch_bytes: 3 << 20,
    work_per_byte: 20.0,
    reckoned: Some(reckoned),
    priorities: None,
    // An H100's, by the same model; see its rates.
    rereads: Some(Rereads { cache: 52_428_800, share: 0.4, sector: 64 }),
    most_places: u32::MAX,
    orders_products: true,
    batches_first: false,
    library_convolves: true,
    // cuBLAS by XLA for an H100 and a B200.
    fewest_images: 0,
    library_workspace: 32 << 20,
    stores_updates: false,
    narrows_products: false,
    numbers_free: false,
    pads_alone: false,
    gathers_alone: false,
    copied_rows: i64::MAX,
    most_joined: usize::MAX,
    stages_running_sums: false,
    barriers_hold: true,
    host_memory: true,
    joins_kernels: Some(Joins { products: false, alike: true }),
    shares_splats: true,
    takes_joined_apart: true,
    puts_off_updates: true,
    hides_collectives: true,
    orders_for_collectives: true,
    operations: Some(operations),
    counts_steps: true,
    divides_work: false,
    // As `test/oracle/products.py` finds them, but for some of 64 columns and some that contract 65,536 elements.
    splits_products: Some(Splits { most: 1 << 21, fewest: 4, small: 1 << 14 }),
    slowness: None,
    selects: Selects::Places,
    // As `referee.py --target h100` says of `test/print-memory/gpu-rings.mlir` and `gpu-sorts.mlir`.
    one_waits: true,
    sorts_places: true,
    // By `GpuPerformanceModel` in openxla/xla, of an H100: a block reads 32 bytes a cycle, memory hands over 3.35e12 in a second.
    // `test/print-memory/gpu-sums-of-few-blocks.mlir` has what XLA makes of three sums.
    column_blocks: Some(ColumnBlocks { row_bytes: 256.0, busy: 3.35e12 / (32.0 * 1.98e9) }),
    schedule: Schedule::ListOrWalk,
    near_memory: 0,
    tile: (1, 1),
};

/// H100 SXM5, as one was measured (80 GB HBM3, 700 W, driver 580, XLA of jaxlib 0.11.2; `cargo xtask bench
/// calibrate`), and the referee has it (`test/oracle/targets.py`, `hlo_time.py`, which say which program shows what):
/// what a launch costs beside bytes is to be the same in both. Kernels reach 0.89 of the data sheet's 3.35 TB/s,
/// products 0.8 of 989, 494 and 67 TFLOP/s in bf16, f32 (as TF32) and f64; across what they contract those of f32 reach
/// 0.7 of that, short ones 0.45, and a fifth of the shorter of bytes and operations is done after the longer. Kernels
/// start 1 us after another in a graph and else 3.1 less what the one before lasts, and a product takes 3 more; the host
/// waits 10 us for a value. A lane does an operation a cycle: 132 times 128 at 1.98 GHz, of which all but a twentieth
/// happens while bytes move. 78e9 single f32 are added to 8 MiB in a second, four neighbours in the time of one, and 17e6
/// to one place. What is gathered, or was used last, comes from the second cache 1.8 times as fast as from memory. A
/// block that reduces columns takes 256 bytes of each row, 28e9 in a second from memory and 110e9 from the cache.
/// 16 lanes of PCIe 5 are 64 GB/s in one direction.
pub(super) const H100: Rates = Rates {
    memory: 80 << 30,
    bytes: 2.98e12,
    narrow_products: 791e12,
    products: 395e12,
    exact_products: 53.6e12,
    wide_products: 53.6e12,
    product: 3e-6,
    product_overlap: 0.8,
    across: (0.7, 0.45),
    elementwise: 33e12,
    operations: 33.4e12,
    overlap: 0.95,
    launch: 3.1e-6,
    launch_in_graph: 1.0e-6,
    iteration: 0.0,
    branch: 10e-6,
    link: 450e9,
    exchange: 10e-6,
    host_link: 54e9,
    updates: 78e9,
    run: 4,
    place: 17e6,
    cache: 52_428_800,
    multiprocessors: 132,
    cached: 1.8 * 2.98e12,
    columns: Some(Columns { far: 28e9, near: 110e9 }),
};

/// A100 SXM4, 80 GB: 2.04 TB/s, 312 TFLOP/s of bf16, PCIe 4, by NVIDIA's data sheet, in the same shares. 64 lanes at 1.41 GHz.
pub(super) const A100: Rates = Rates {
    bytes: 1.81e12,
    narrow_products: 250e12,
    products: 125e12,
    exact_products: 15.6e12,
    wide_products: 15.6e12,
    elementwise: 9.7e12,
    operations: 9.7e12,
    link: 300e9,
    host_link: 27e9,
    updates: 47e9,
    cache: 41_943_040,
    multiprocessors: 108,
    cached: 1.8 * 1.81e12,
    ..H100
};

/// B200: 7.67 TB/s, 2.25 PFLOP/s of dense bf16, by NVIDIA's data sheet, in the same shares. 128 lanes at 1.965 GHz.
pub(super) const B200: Rates = Rates {
    memory: 180_000_000_000,
    bytes: 6.83e12,
    narrow_products: 1_800e12,
    products: 880e12,
    exact_products: 60e12,
    wide_products: 30e12,
    elementwise: 37e12,
    operations: 37.2e12,
    link: 900e9,
    updates: 178e9,
    cache: 132_644_864,
    multiprocessors: 148,
    cached: 1.8 * 6.83e12,
    ..H100
};

/// Cycles that XLA reckons with for an element when it weighs what to fuse: those of its table for an H100 (`hlo_op_profiles_data.h` in
/// openxla/xla), but where `test/oracle/reckoned.py` says otherwise of jaxlib 0.10.2: what XLA writes in other ops before it fuses (`cbrt`,
/// `exponential_minus_one`, `log_plus_one` and `logistic` of f32), quotients and roots of f64, and functions of bf16. Of f64
/// `exponential`, `sine`, `cosine` and `tanh` are stored later than the table says if nothing comes after them, as it says else. `tan` of
/// either, and `logistic` of f64, are made of others here, and not measured. Chips other than an H100 have its table, too: nobody has asked XLA for them.
fn reckoned(name: &str, element: Type<'_>) -> f64 {
    let element = complex_part(element).unwrap_or(element);
    let wide = element.is_f64();
    if !(wide || element.is_bf16() || element.is_f32() || element.is_f16()) {
        return 3.0;
    }
    let pick = |single: f64, double: f64| if wide { double } else { single };
    match name {
        // Instructions of their own, which the table does not have.
        "exponential" | "log" if element.is_bf16() => 3.0,
        "logistic" if element.is_bf16() => 42.0,
        "add" | "subtract" => pick(7.0, 15.0),
        "multiply" => pick(3.0, 15.0),
        "divide" => pick(19.0, 290.0),
        "exponential" => pick(79.0, 376.0),
        "log" => pick(166.0, 815.0),
        "sqrt" | "rsqrt" => pick(75.0, 340.0),
        "cbrt" => pick(150.0, 586.0),
        "sine" | "cosine" => pick(960.0, 556.0),
        "tanh" => pick(467.0, 431.0),
        "power" => pick(510.0, 2205.0),
        "atan2" => pick(431.0, 930.0),
        "tan" => pick(1900.0, 1640.0),
        "exponential_minus_one" => pick(108.0, 712.0),
        "log_plus_one" => pick(105.0, 1259.0),
        "logistic" => pick(135.0, 930.0),
        _ => 3.0,
    }
}

/// Steps for an element, each an instruction of a lane, as an H100 was measured to take (`test/oracle/arithmetic.py` has the table and
/// where it is from); moves are free.
pub(super) fn operations(name: &str, element: Type<'_>) -> f64 {
    let element = complex_part(element).unwrap_or(element);
    let wide = element.is_f64();
    let is_float = wide || element.is_bf16() || element.is_f32() || element.is_f16();
    // A conversion that fails prints the type into its error.
    let is_integer = element.is_integer();
    let is_long = is_integer && IntegerType::try_from(element).is_ok_and(|integer| integer.width() > 32);
    let pick = |single: f64, double: f64| if wide { double } else { single };
    match name {
        "divide" | "remainder" if is_long => 140.0,
        "divide" | "remainder" if is_integer => 60.0,
        _ if !is_float => 0.75,
        "divide" => pick(8.0, 27.0),
        "exponential" => pick(8.0, 43.0),
        "exponential_minus_one" => pick(16.0, 80.0),
        "log" => pick(20.0, 70.0),
        "log_plus_one" => pick(31.0, 74.0),
        "logistic" => pick(16.0, 75.0),
        "tanh" => pick(26.0, 54.0),
        "sqrt" | "rsqrt" => pick(8.0, 30.0),
        "cbrt" => pick(20.0, 60.0),
        "power" => pick(58.0, 214.0),
        "sine" | "cosine" => pick(29.0, 76.0),
        "tan" => pick(35.0, 90.0),
        "atan2" => pick(45.0, 130.0),
        "erf" => pick(28.0, 118.0),
        "erf_inv" => pick(75.0, 400.0),
        "erfc" => pick(60.0, 400.0),
        "lgamma" => pick(300.0, 1000.0),
        "digamma" => pick(400.0, 1600.0),
        _ => pick(1.0, 2.0),
    }
}
