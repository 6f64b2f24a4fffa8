# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random gradients of pooling, as XLA computes them before and after --slimhlo-pool-gradients.

    python test/oracle/pools.py --opt target/debug/slimhlo-opt --count 100 --seed 1

Each program is one select_and_scatter: windows that lie apart, overlap or leave elements out, of floats with many equals,
NaN, infinities and zeros of both signs, chosen by any comparison, and added to any initial value. XLA for CPU hands each
element what windows have for it from the first window on, as the pass does, so that no bit may differ. A second run must
change nothing. Most of the programs have to change.
"""

from __future__ import annotations

import itertools
import sys

import xla_cpu  # noqa: F401  # first: it sets the flags with which JAX starts

# isort: split
import numpy as np
from stream import PassTest, Program, Source

TYPES = {"float32": "f32", "float64": "f64", "int32": "i32", "uint8": "ui8"}


def text_of(
    shapes: tuple[str, str], element: str, window: tuple[list[int], list[int]], compare: tuple[str, bool, str]
) -> str:
    operand, source = (f"tensor<{shape}{element}>" for shape in shapes)
    scalar, (direction, in_order, kind) = f"tensor<{element}>", compare
    sides = "%a, %b" if in_order else "%b, %a"
    sizes, strides = (", ".join(map(str, each)) for each in window)
    return f"""func.func @main(%x: {operand}, %g: {source}, %start: {scalar}) -> {operand} {{
  %r = "stablehlo.select_and_scatter"(%x, %g, %start) <{{window_dimensions = array<i64: {sizes}>, window_strides = array<i64: {strides}>}}> ({{
  ^bb0(%a: {scalar}, %b: {scalar}):
    %p = stablehlo.compare {direction}, {sides}, {kind} : ({scalar}, {scalar}) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }}, {{
  ^bb0(%a: {scalar}, %b: {scalar}):
    %s = stablehlo.add %a, %b : {scalar}
    stablehlo.return %s : {scalar}
  }}) : ({operand}, {source}, {scalar}) -> {operand}
  return %r : {operand}
}}
"""


def values(source: Source, shape: list[int], dtype: str) -> np.ndarray:
    """Few different ones."""
    if not np.issubdtype(np.dtype(dtype), np.floating):
        return source.random.integers(0, 4, shape).astype(dtype)
    some = [0.0, -0.0, 1.0, 1.5, -2.0, 0.1, *([np.nan, np.inf, -np.inf] if source.random.integers(2) else [])]
    return source.random.choice(np.array(some, dtype), shape)


def program(source: Source) -> tuple[str, list[np.ndarray]]:
    rank = int(source.random.integers(1, 4))
    sizes = [int(source.random.integers(1, 5)) for _ in range(rank)]
    strides = [int(source.random.integers(1, 5)) for _ in range(rank)]
    counts = [int(source.random.integers(1, 5)) for _ in range(rank)]
    over = [int(source.random.integers(stride)) for stride in strides]
    whole = [(n - 1) * stride + size + more for n, stride, size, more in zip(counts, strides, sizes, over, strict=True)]
    dtype = source.one(tuple(TYPES))
    kind = {"float32": "FLOAT", "float64": "FLOAT", "int32": "SIGNED", "uint8": "UNSIGNED"}[dtype]
    compare = source.one(("GE", "GT", "LE", "LT")), bool(source.random.integers(2)), kind
    shapes = tuple("".join(f"{size}x" for size in shape) for shape in (whole, counts))
    text = text_of(shapes, TYPES[dtype], (sizes, strides), compare)
    start = np.zeros((), dtype) if source.random.integers(2) else values(source, [], dtype)
    return text, [values(source, whole, dtype), values(source, counts, dtype), np.asarray(start, dtype)]


def generate(count: int, seed: int) -> list[Program]:
    made = (program(Source(seed * 1_000_003 + number)) for number in itertools.count())
    return [
        Program(f"pool {seed}/{number}", text, text, inputs, 0, True, True, 0)
        for number, (text, inputs) in zip(range(count), made)
    ]


if __name__ == "__main__":
    sys.exit(PassTest("--slimhlo-pool-gradients", generate, 0.7).main(__doc__, 100))
