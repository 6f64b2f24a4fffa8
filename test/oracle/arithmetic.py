# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What elementwise operations take on a GPU: by XLA's table, and as an H100 was seen to take.

XLA's table of an H100's instructions, as it shows in `compute_time_us` of compiled modules of one op
(--xla_gpu_collect_cost_model_stats), counts 958 operations for a sine of an f32 where the GPU takes 29 steps: XLA multiplies the
instructions of one element by what one of them waits. Eight sines in a row over 64 MiB take 117 microseconds where it says 1,926. `steps` are from such
chains (probes.py, "eight of ..."; `cargo xtask bench calibrate` runs them): each step is an instruction of a lane,
132 * 128 * 1.98e9 of them a second. What memory hid (exp, divide, sqrt of f32) has the most that it can be. Ops without a probe are
taken to be as far from XLA's count as others of their kind.
"""

from __future__ import annotations

import hlo

OTHER = 3.0
"""Operations that XLA counts of what its table does not have; it does two in the time of a step."""

# XLA's counts of f32 and f64; steps of f32 and f64.
TABLE: dict[str, tuple[float, float, float, float]] = {
    "add": (7, 15, 1, 2),
    "subtract": (7, 15, 1, 2),
    "multiply": (3, 15, 1, 2),
    "divide": (19, 526, 8, 27),
    "exponential": (79, 376, 8, 43),
    "exponential-minus-one": (190, 712, 16, 80),
    "log": (166, 815, 20, 70),
    "log-plus-one": (229, 1259, 31, 74),
    "logistic": (108, 920, 16, 75),
    "tanh": (467, 431, 26, 54),
    "sqrt": (75, 332, 8, 30),
    "rsqrt": (75, 277, 8, 30),
    "cbrt": (178, 586, 20, 60),
    "power": (510, 2205, 58, 214),
    "sine": (958, 554, 29, 76),
    "cosine": (958, 554, 29, 76),
    "tan": (OTHER, OTHER, 35, 90),
    "atan2": (431, 930, 45, 130),
    "erf": (OTHER, OTHER, 28, 118),
}
INTEGER_STEPS = 0.75
"""Of additions, shifts and logic: ptxas makes one instruction of two or three. A threefry of 2^26 words takes 98 steps for 200 of them."""
INTEGER_QUOTIENT = (297.0, 685.0, 60.0, 140.0)
LOOP_STEPS = 4.0
"""Of an element that is stored or reduced, besides what computes it: where it lies. 256 additions and products take 260 steps."""


def row(each: hlo.Instruction) -> tuple[float, float]:
    """XLA's count for an element of this instruction, and steps."""
    element = each.arrays[0].element if each.arrays else "f32"
    wide = element in ("f64", "c128")
    if element[0] in "su" and element[1:].isdigit() or element == "pred":
        if each.opcode in ("divide", "remainder"):
            is_long = hlo.bits_of(element) > 32
            return INTEGER_QUOTIENT[is_long], INTEGER_QUOTIENT[2 + is_long]
        return OTHER, INTEGER_STEPS
    found = TABLE.get(each.opcode)
    if found is None:
        return OTHER, 2.0 if wide else 1.0
    return found[wide], found[2 + wide]


def steps(each: hlo.Instruction) -> float:
    """Of an element of this instruction, on an H100."""
    return row(each)[1]
