// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What XLA reckons with of each chip when it merges kernels: the chip as its description has it (`test/oracle/targets.py` has the same),
//! 32 bytes a cycle for a block of threads, and a table of cycles by op and type, as `test/oracle/cycles.py --target h100|a100|b200`
//! prints it. XLA has measured each chip once: what is missing in its table counts 3 cycles, on an A100 most of it.

use super::super::Reckoning;
use melior::ir::r#type::IntegerType;
use melior::ir::{Type, TypeLike};
use slimhlo_dialect::quant::complex_part;

pub(super) static H100: Reckoning = Reckoning {
    cycles: |name, element| cycles(name, element, &HOPPER),
    bytes: 3352.32,
    block_bytes: 32.0 * 1.98,
    cache: 52_428_800.0,
    near: 132.0 * NEAR,
    multiprocessors: 132.0,
    lanes: 128.0,
    cycles_per_ns: 2.0 * 1.98,
};

pub(super) static A100: Reckoning = Reckoning {
    cycles: |name, element| cycles(name, element, &AMPERE),
    bytes: 2039.04,
    block_bytes: 32.0 * 1.41,
    cache: 41_943_040.0,
    near: 108.0 * NEAR,
    multiprocessors: 108.0,
    lanes: 64.0,
    cycles_per_ns: 2.0 * 1.41,
};

pub(super) static B200: Reckoning = Reckoning {
    cycles: |name, element| cycles(name, element, &BLACKWELL),
    bytes: 7672.32,
    block_bytes: 32.0 * 1.965,
    cache: 132_644_864.0,
    near: 148.0 * NEAR,
    multiprocessors: 148.0,
    lanes: 128.0,
    cycles_per_ns: 2.0 * 1.965,
};

/// Bytes that XLA reckons with for the first cache of a multiprocessor: the last line of `cycles.py`, the first row that is not near, divided by
/// their number: 264 KiB of an H100 by 132.
const NEAR: f32 = 2048.0;

/// Cycles of what the table does not have.
const UNKNOWN: f64 = 3.0;

/// Cycles of ops on f16, f32 and f64, and on integers of 8, 32 and 64 bits.
struct Table {
    floats: &'static [(&'static str, [f64; 3])],
    integers: &'static [(&'static str, [f64; 3])],
}

static HOPPER: Table = Table {
    floats: &[
        ("add", [7.0, 7.0, 15.0]),
        ("subtract", [7.0, 7.0, 15.0]),
        ("multiply", [7.0, 3.0, 15.0]),
        ("divide", [43.0, 19.0, 526.0]),
        ("exponential", [102.0, 79.0, 376.0]),
        ("exponential_minus_one", [217.0, 190.0, 712.0]),
        ("log", [182.0, 166.0, 815.0]),
        ("log_plus_one", [245.0, 229.0, 1259.0]),
        ("tanh", [502.0, 467.0, 431.0]),
        ("sqrt", [95.0, 75.0, 332.0]),
        ("rsqrt", [95.0, 75.0, 277.0]),
        ("cbrt", [201.0, 178.0, 586.0]),
        ("sine", [993.0, 958.0, 554.0]),
        ("cosine", [997.0, 978.0, 558.0]),
        ("power", [526.0, 510.0, 2205.0]),
        ("atan2", [451.0, 431.0, 930.0]),
    ],
    integers: &[
        ("multiply", [7.0, 3.0, 11.0]),
        ("divide", [356.0, 297.0, 685.0]),
        ("power", [122.0, 71.0, 253.0]),
    ],
};

static AMPERE: Table = Table {
    floats: &[
        ("divide", [3.0, 3.0, 831.0]),
        ("exponential_minus_one", [3.0, 3.0, 572.0]),
        ("log", [321.0, 259.0, 699.0]),
        ("log_plus_one", [346.0, 3.0, 1223.0]),
        ("tanh", [499.0, 504.0, 733.0]),
        ("sqrt", [124.0, 3.0, 397.0]),
        ("rsqrt", [3.0, 3.0, 329.0]),
        ("cbrt", [1195.0, 3.0, 1638.0]),
        ("sine", [3.0, 3.0, 597.0]),
        ("power", [3.0, 1221.0, 1861.0]),
        ("atan2", [3.0, 3.0, 1080.0]),
    ],
    integers: &[("divide", [417.0, 3.0, 1094.0])],
};

static BLACKWELL: Table = Table {
    floats: &[
        ("add", [7.0, 7.0, 15.0]),
        ("subtract", [7.0, 7.0, 15.0]),
        ("multiply", [7.0, 7.0, 15.0]),
        ("divide", [43.0, 23.0, 483.0]),
        ("exponential", [106.0, 82.0, 314.0]),
        ("exponential_minus_one", [216.0, 196.0, 385.0]),
        ("log", [102.0, 165.0, 844.0]),
        ("log_plus_one", [216.0, 200.0, 793.0]),
        ("tanh", [141.0, 137.0, 459.0]),
        ("sqrt", [98.0, 74.0, 294.0]),
        ("rsqrt", [98.0, 74.0, 231.0]),
        ("cbrt", [200.0, 180.0, 569.0]),
        ("sine", [1006.0, 990.0, 534.0]),
        ("cosine", [1017.0, 1002.0, 538.0]),
        ("power", [451.0, 463.0, 1796.0]),
        ("atan2", [400.0, 373.0, 829.0]),
    ],
    integers: &[
        ("multiply", [7.0, 3.0, 11.0]),
        ("divide", [373.0, 306.0, 730.0]),
        ("power", [153.0, 172.0, 298.0]),
    ],
};

/// Cycles for an element of an op. Most of what is of bf16 is computed in f32, but what chips have an instruction for counts as unknown.
fn cycles(name: &str, element: Type<'_>, table: &Table) -> f64 {
    let element = complex_part(element).unwrap_or(element);
    // Which XLA writes in others.
    if name == "logistic" {
        let parts = ["negate", "exponential", "add", "divide"];
        return parts.iter().map(|part| cycles(part, element, table)).sum();
    }
    let (rows, column) = if element.is_f64() {
        (table.floats, 2)
    } else if element.is_f16() {
        (table.floats, 0)
    } else if element.is_bf16() {
        const NATIVE: [&str; 5] = ["add", "subtract", "multiply", "exponential", "log"];
        if NATIVE.contains(&name) {
            return UNKNOWN;
        }
        (table.floats, 1)
    } else if element.is_f32() {
        (table.floats, 1)
    } else if element.is_integer() {
        // A conversion that fails prints the type into its error.
        match IntegerType::try_from(element).map_or(0, |integer| integer.width()) {
            0..=1 => return UNKNOWN,
            2..=16 => (table.integers, 0),
            17..=32 => (table.integers, 1),
            _ => (table.integers, 2),
        }
    } else {
        return UNKNOWN;
    };
    rows.iter().find(|(known, _)| *known == name).map_or(UNKNOWN, |(_, cycles)| cycles[column])
}
