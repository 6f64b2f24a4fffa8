# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What elementwise operations take on a GPU, as an H100 was seen to take.

XLA's own table of an H100's instructions (`compute_time_us` of compiled modules of one op, --xla_gpu_collect_cost_model_stats) counts 958
operations for a sine of an f32, of which it does two in the time of a step; the GPU takes 29 steps. Eight sines in a row over 64 MiB take
117 microseconds where it says 1,926. Steps here are from such chains (probes.py, "eight of ..."; `cargo xtask bench calibrate` runs them): each
is an instruction of a lane, 132 * 128 * 1.98e9 of them a second. What memory hid (exp, divide, sqrt of f32) has the most that it can be. Of
ops without a probe (all but add, multiply, divide, exp, log1p, tanh, sqrt, sin, erf and power) they are assumed, in the manner of those. TPUs and CPUs
are taken to need as many, at their own rates: nobody has measured it.
"""

from __future__ import annotations

import hlo

# Steps for an element of f32 and of f64.
STEPS: dict[str, tuple[float, float]] = {
    "divide": (8, 27),
    "exponential": (8, 43),
    "exponential-minus-one": (16, 80),
    "log": (20, 70),
    "log-plus-one": (31, 74),
    "logistic": (16, 75),
    "tanh": (26, 54),
    "sqrt": (8, 30),
    "rsqrt": (8, 30),
    "cbrt": (20, 60),
    "power": (58, 214),
    "sine": (29, 76),
    "cosine": (29, 76),
    "tan": (35, 90),
    "atan2": (45, 130),
    "erf": (28, 118),
}
OTHER = (1.0, 2.0)
"""Additions and products, and whatever else is no call of a function."""
INTEGER_STEPS = 0.75
"""Of additions, shifts and logic: ptxas makes one instruction of two or three. A threefry of 2^26 words takes 98 steps for 200 of them."""
INTEGER_QUOTIENT = (60.0, 140.0)
"""Of up to 32 bits, and of more. Assumed."""
LOOP_STEPS = 4.0
"""Of an element that is stored or reduced, besides what computes it: where it lies. 256 additions and products take 260 steps."""


def steps(each: hlo.Instruction) -> float:
    """Of an element of this instruction, on an H100."""
    element = each.arrays[0].element if each.arrays else "f32"
    if element[0] in "su" and element[1:].isdigit() or element == "pred":
        if each.opcode in ("divide", "remainder"):
            return INTEGER_QUOTIENT[hlo.bits_of(element) > 32]
        return INTEGER_STEPS
    return STEPS.get(each.opcode, OTHER)[element in ("f64", "c128")]
