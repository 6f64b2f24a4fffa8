// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! XLA for NVIDIA GPUs, of jaxlib 0.10.2: what elementwise ops, gathers and slices compute is fused into reductions, scatters and updates;
//! products are kernels that store their results; every kernel is a launch.

use super::{Beside, Rates, Reductions, Rereads, Schedule, Splits, Storage};
use melior::ir::r#type::IntegerType;
use melior::ir::{Type, TypeLike};

pub(super) static STORAGE: Storage = Storage {
    widens: false,
    // A warp reduces one row, or several whose elements divide its threads evenly (`IsUnnestedReductionFasterThanElemental` in openxla/xla).
    reductions: Reductions::Kernels { few: 32, together: true },
    fuses_into_scatters: true,
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
    // An H100's, by the same model; see its rates.
    rereads: Some(Rereads { cache: 52_428_800, share: 0.4, sector: 64 }),
    most_places: u32::MAX,
    orders_products: true,
    batches_first: false,
    library_convolves: true,
    pads_alone: false,
    copied_rows: i64::MAX,
    most_joined: usize::MAX,
    stages_running_sums: false,
    barriers_hold: true,
    host_memory: true,
    joins_kernels: true,
    shares_splats: true,
    operations: Some(operations),
    divides_work: false,
    // As `test/oracle/products.py` finds them, but for some of 64 columns and some that contract 65,536 elements.
    splits_products: Some(Splits { most: 1 << 21, fewest: 4, small: 1 << 14 }),
    // As `referee.py --target h100` says of `test/print-memory/gpu-rings.mlir` and `gpu-sorts.mlir`.
    one_waits: true,
    sorts_places: true,
    schedule: Schedule::ListOrWalk,
    tile: (1, 1),
};

/// H100 SXM5: 3.35 TB/s, 989 TFLOP/s of bf16 and half of that of f32 by NVIDIA's data sheet; products reach half, bytes are XLA's own figure
/// for the chip, and the referee's (`test/oracle/targets.py`): what a launch costs beside them is to be the same in both.
/// XLA multiplies f32 as TF32 unless it is asked for more, which lanes do: half of 67 TFLOP/s. 2.5 us from one kernel to the next of a stream. `cargo xtask bench calibrate` holds
/// such figures against a GPU. Two operations a cycle for each of 132 multiprocessors' 128 lanes at 1.98 GHz, of which all but a twentieth
/// happens while bytes move: XLA's reckoning, as that of [`operations`] is. 16 lanes of PCIe 5 are 64 GB/s in one direction.
/// A column's rate is what `referee.py` says of 64 to 8,192 columns of up to 4,096 elements; for an A100 it says nothing of the kind.
/// Caches are those of XLA's descriptions of the chips, two and a half times as fast as memory, and scatters take what their bytes take: so XLA reckons, and the referee with it.
pub(super) const H100: Rates = Rates {
    memory: 80 << 30,
    bytes: 3.35e12,
    narrow_products: 500e12,
    products: 247e12,
    exact_products: 33.5e12,
    wide_products: 40e12,
    elementwise: 30e12,
    operations: 66.9e12,
    overlap: 0.95,
    launch: 2.5e-6,
    iteration: 0.0,
    branch: 10e-6,
    link: 300e9,
    host_link: 54e9,
    column: 0.245e9,
    updates: f64::INFINITY,
    cache: 52_428_800,
    multiprocessors: 132,
    cached: 2.5 * 3.35e12,
};

/// A100 SXM4, 80 GB: 2.04 TB/s, 312 TFLOP/s of bf16, PCIe 4, by NVIDIA's data sheet, in the same shares. 64 lanes at 1.41 GHz.
pub(super) const A100: Rates = Rates {
    bytes: 2.04e12,
    narrow_products: 160e12,
    products: 78e12,
    exact_products: 9.75e12,
    wide_products: 12e12,
    elementwise: 10e12,
    operations: 19.5e12,
    link: 200e9,
    host_link: 27e9,
    cache: 41_943_040,
    multiprocessors: 108,
    cached: 2.5 * 2.04e12,
    column: f64::INFINITY,
    ..H100
};

/// B200: 8 TB/s, 2.25 PFLOP/s of dense bf16, by NVIDIA's data sheet, in the same shares. 128 lanes at 1.965 GHz.
pub(super) const B200: Rates = Rates {
    memory: 180_000_000_000,
    bytes: 7.67e12,
    narrow_products: 1_100e12,
    products: 550e12,
    exact_products: 37.5e12,
    wide_products: 30e12,
    elementwise: 35e12,
    operations: 74.5e12,
    link: 600e9,
    cache: 132_644_864,
    multiprocessors: 148,
    cached: 2.5 * 7.67e12,
    column: 0.243e9,
    ..H100
};

/// What XLA counts for an element, by its table of an H100's instructions: `compute_time_us` of compiled modules of one op
/// (`--xla_gpu_collect_cost_model_stats`), on which the referee's estimate rests, over what [`H100`] does in that time. The table has no
/// figure for what is not here, and counts three; moves are free.
fn operations(name: &str, element: Type<'_>) -> f64 {
    const OTHER: f64 = 3.0;
    let (wide, half) = (element.is_f64(), element.is_bf16());
    let is_float = wide || half || element.is_f32() || element.is_f16();
    let is_long = IntegerType::try_from(element).is_ok_and(|integer| integer.width() > 32);
    let pick = |single: f64, double: f64| if wide { double } else { single };
    match name {
        "multiply" if is_long => 11.0,
        "divide" if is_long => 685.0,
        "divide" if element.is_integer() => 297.0,
        _ if !is_float => OTHER,
        // There is arithmetic of bf16, and what else there is goes by way of f32.
        "add" | "subtract" | "multiply" | "exponential" | "log" if half => OTHER,
        "add" | "subtract" => pick(7.0, 15.0),
        "multiply" => pick(OTHER, 15.0),
        "divide" => pick(19.0, 526.0),
        "exponential" => pick(79.0, 376.0),
        "exponential_minus_one" => pick(190.0, 712.0),
        "log" => pick(166.0, 815.0),
        "log_plus_one" => pick(229.0, 1259.0),
        "logistic" => pick(108.0, 920.0),
        "tanh" => pick(467.0, 431.0),
        "sqrt" => pick(75.0, 332.0),
        "rsqrt" => pick(75.0, 277.0),
        "cbrt" => pick(178.0, 586.0),
        "power" => pick(510.0, 2205.0),
        "sine" | "cosine" => pick(958.0, 554.0),
        "atan2" => pick(431.0, 930.0),
        "erf_inv" => pick(455.0, 2479.0),
        "erfc" => pick(383.0, 3109.0),
        "lgamma" => pick(1927.0, 8665.0),
        "digamma" => pick(2816.0, 13_042.0),
        _ => OTHER,
    }
}
