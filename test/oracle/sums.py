# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random sums of columns, as XLA computes them before and after --slimhlo-split-sums.

    python test/oracle/sums.py --opt target/debug/slimhlo-opt --count 40 --seed 1

Each program is one reduction over one to three dimensions side by side, with and without dimensions before them: sums, products and extremes of floats
and integers, from an initial value that is not known: of sums and products one that changes nothing, since XLA for CPU counts another as often as it has
stages (a product of 3,136 ones that starts from -1 is 1 to it). Elements are whole numbers of which no sum rounds (for products ones and minus ones), so that no bit may differ,
whatever the order; extremes also meet NaN, infinities and zeros of both signs. A second run must change nothing. Most of the programs have to change.
"""

from __future__ import annotations

import itertools
import math
import sys

import xla_cpu  # noqa: F401  # first: it sets the flags with which JAX starts

# isort: split
import jax.numpy as jnp
import numpy as np
from stream import PassTest, Program, Source

TYPES = {"float32": "f32", "bfloat16": "bf16", "int32": "i32", "float64": "f64"}
COMBINE = ("add", "add", "add", "maximum", "minimum", "multiply")
ROWS = ((16, 196), (2, 1568), (3, 1024), (1536,), (4, 8, 96), (1, 2048), (24, 128), (2999,))
"""Of which all but the last, a prime, can be divided."""


def values(source: Source, shape: tuple[int, ...], dtype: str, combine: str) -> np.ndarray:
    """What no sum of so many rounds: of 16-bit floats mostly nothing, so that sums are less than 256."""
    if combine == "multiply":
        found = source.random.choice([-1, 1], shape)
    elif combine == "add":
        found = source.random.choice([-1, 0, 0, 0, 0, 0, 0, 0, 0, 1], shape)
    else:
        found = source.random.integers(-100, 100, shape)
    found = found.astype(jnp.dtype(dtype))
    if combine in ("maximum", "minimum") and dtype != "int32":
        flat = found.reshape(-1)
        for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            flat[source.random.integers(flat.size)] = special
    return found


def program(source: Source) -> tuple[str, list[np.ndarray]]:
    dtype, combine = source.one(tuple(TYPES)), source.one(COMBINE)
    before = (2,) if not source.random.integers(3) else ()
    rows = source.one(ROWS)
    columns = int(source.one((192, 320, 768)))
    shape = (*before, *rows, columns)
    dims = ", ".join(str(len(before) + dim) for dim in range(len(rows)))
    element = TYPES[dtype]
    operand = f"tensor<{'x'.join(map(str, shape))}x{element}>"
    result = f"tensor<{'x'.join(map(str, (*before, columns)))}x{element}>"
    text = f"""func.func @main(%x: {operand}, %start: tensor<{element}>) -> {result} {{
  %r = stablehlo.reduce(%x init: %start) applies stablehlo.{combine} across dimensions = [{dims}] : ({operand}, tensor<{element}>) -> {result}
  return %r : {result}
}}
"""
    start = {"add": 0, "multiply": 1}.get(combine, int(source.random.integers(-200, 200)))
    return text, [values(source, shape, dtype, combine), np.asarray(start, jnp.dtype(dtype))]


def generate(count: int, seed: int) -> list[Program]:
    made = (program(Source(seed * 1_000_003 + number)) for number in itertools.count())
    return [
        Program(f"sum {seed}/{number}", text, text, inputs, math.prod(inputs[0].shape), True, True, 0)
        for number, (text, inputs) in zip(range(count), made)
    ]


if __name__ == "__main__":
    sys.exit(PassTest("--slimhlo-split-sums", generate, 0.5).main(__doc__, 40))
