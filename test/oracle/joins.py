# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Which concatenations XLA for CPU copies, and whether the memory model says so, too.

    python test/oracle/joins.py --opt target/debug/slimhlo-opt

What it copies it stores first; all else is computed where it is read. Each concatenation of computed arrays here is a module
of its own, so its temporaries under XLA are what is stored. Printed is each that the model has other temporaries for, and any
fails.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator

import jax_start

jax_start.start()

import memory_model
import targets

ROWS = (8, 16, 17, 32, 48, 60, 63, 64, 65, 128, 1000)
"""Elements of a row of each of two operands."""
OPERANDS = (2, 3, 8, 9, 16)
ELEMENTS = ("f64", "f32", "i8")
SLACK = 1024
"""Bytes that XLA keeps for its calls."""


def joins() -> Iterator[tuple[int, tuple[int, ...], int, str]]:
    """Operands, the shape of each, the dimension, and the type."""
    for row, element in itertools.product(ROWS, ELEMENTS):
        yield 2, (512, row), 1, element
        yield 2, (512, row, 1), 1, element
        yield 2, (4, 128, row), 2, element
    for count, (shape, dim) in itertools.product(
        OPERANDS, (((64, 256), 0), ((4, 64, 128), 1), ((512, 8), 1), ((512, 128, 1), 1), ((1, 4096), 1), ((4096,), 0))
    ):
        yield count, shape, dim, "f64"


def module(count: int, shape: tuple[int, ...], dim: int, element: str) -> str:
    kind = lambda dims: f"tensor<{'x'.join(map(str, dims))}x{element}>"
    part, whole = kind(shape), kind([size * count if d == dim else size for d, size in enumerate(shape)])
    numbers = range(count)
    return "\n".join([
        f"func.func public @main({', '.join(f'%a{n}: {part}' for n in numbers)}) -> {whole} {{",
        *(f"  %b{n} = stablehlo.multiply %a{n}, %a{n} : {part}" for n in numbers),
        f"  %c = stablehlo.concatenate {', '.join(f'%b{n}' for n in numbers)}, dim = {dim} : "
        f"({', '.join([part] * count)}) -> {whole}",
        f"  return %c : {whole}",
        "}",
    ])  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    args = parser.parse_args()
    target = targets.find("xla-cpu")
    tried, missed = 0, 0
    for join in joins():
        text = module(*join)
        truth = targets.compile_text(text, target).get_compiled_memory_stats().temp_size_in_bytes
        said = memory_model.model(args.opt, text, f" target={target.name}")
        tried += 1
        if said is None or abs(said.temporaries - truth) > SLACK:
            missed += 1
            count, shape, dim, element = join
            model = said.temporaries if said else "nothing"
            print(f"{count} of {shape} along {dim}, {element}: XLA stores {truth}, the model says {model}")
    print(f"{tried - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
