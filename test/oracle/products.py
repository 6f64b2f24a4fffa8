# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Into how many parts XLA for GPUs splits products, and whether the memory model says so, too.

    python test/oracle/products.py --opt target/debug/slimhlo-opt
    python test/oracle/products.py --opt target/debug/slimhlo-opt --target h100 --all

A product whose result is small is computed in parts along what it contracts: the sums of each are stored in f32, and added up by another
kernel. Each product here is a module of its own, so its temporaries under XLA are those sums, and operands that are filled up with zeros
where parts do not come out even. Printed are all that the model has other temporaries for; more than a share of `MISSES` fail. Without
--all a part of the products, spread over them.
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

MISSES = 0.1
"""Of the products, for which the model may be wrong: the rule behind it is fitted to what XLA does, not XLA's own."""
LEAVE_OUT = 5
"""Without --all every so many-th product is tried."""

SHAPES = (
    (64, 64), (128, 128), (256, 256), (512, 512), (1024, 512), (1024, 1024), (2048, 1024), (2048, 2048), (4096, 64), (4096, 128),
    (4096, 256), (8192, 64), (512, 20000),
)  # fmt: skip
CONTRACTED = (256, 512, 1024, 2048, 4096, 16384, 65536)
BATCHED = (
    (2, 4096, 64, 4096), (4, 4096, 64, 4096), (8, 4096, 64, 4096), (32, 128, 128, 4096), (8, 64, 64, 4096), (64, 64, 64, 4096),
    (256, 64, 64, 4096), (64, 8, 64, 65536), (16, 8, 64, 65536), (128, 16, 16, 8192), (250, 8, 54, 2000),
)  # fmt: skip
UNEVEN = ((1, 512, 256, 20000), (1, 2048, 256, 20000), (1, 64, 64, 5000))


def products() -> Iterator[tuple[int, int, int, int, str]]:
    """Batch, rows, columns, what is contracted, and the type."""
    for element, ((rows, columns), contracted) in itertools.product(
        ("bf16", "f32"), itertools.product(SHAPES, CONTRACTED)
    ):
        if rows * contracted < 1 << 28:
            yield 1, rows, columns, contracted, element
    for shape, element in itertools.product(BATCHED + UNEVEN, ("bf16", "f32")):
        yield *shape, element


def module(batch: int, rows: int, columns: int, contracted: int, element: str) -> str:
    kind = lambda *dims: f"tensor<{'x'.join(map(str, dims if batch == 1 else (batch, *dims)))}x{element}>"
    numbers = "contracting_dims = [1] x [0]"
    if batch > 1:
        numbers = "batching_dims = [0] x [0], contracting_dims = [2] x [1]"
    left, right, result = kind(rows, contracted), kind(contracted, columns), kind(rows, columns)
    return (
        f"func.func public @main(%a: {left}, %b: {right}) -> {result} {{\n"
        f"  %0 = stablehlo.dot_general %a, %b, {numbers} : ({left}, {right}) -> {result}\n"
        f"  return %0 : {result}\n}}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--target", default="h100", choices=targets.NAMES, metavar="NAME", help="default: %(default)s")
    parser.add_argument("--all", action="store_true", help="all products")
    args = parser.parse_args()
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(f"{reason}: nothing is compared.")
        return 0
    chosen = list(products())[:: 1 if args.all else LEAVE_OUT]
    missed = 0
    for product in chosen:
        text = module(*product)
        truth = targets.compile_text(text, target).get_compiled_memory_stats().temp_size_in_bytes
        said = memory_model.model(args.opt, text, f" target={target.name}")
        if said is None or said.temporaries != truth:
            missed += 1
            print(f"{product}: XLA has {truth} bytes of temporaries, the model {said.temporaries if said else 'nothing'}")
    print(f"{len(chosen) - missed} passed, {missed} missed")
    return 1 if missed > MISSES * len(chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
