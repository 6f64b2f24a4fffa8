# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""After how many multiplications XLA for GPUs stores a function that several kernels need, and the memory model beside it.

    python test/oracle/reckoned.py --opt target/debug/slimhlo-opt
    python test/oracle/reckoned.py --opt target/debug/slimhlo-opt --elements f64 --readers 2 3 --functions sine divide

`reckoned` in passes/src/target/xla_gpu.rs is from here. Of each function, type of elements and number of reductions that read it, one after the other, a
line: the fewest multiplications after the function for which XLA has the array in memory (`-` if not for MOST of them), and those for which the model has. `none`
is multiplications alone. So many fewer than those are what a function counts for, each by XLA's table for 3 cycles (15 of f64). Nothing is executed.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable

import jax_start

jax_start.start()

import memory_model
import targets

SIZE = 4096
MOST = 128
FUNCTIONS = (
    "none", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "tanh", "sqrt", "rsqrt", "cbrt", "sine", "cosine", "divide", "power",
)  # fmt: skip
OF_TWO = ("divide", "power")
BYTES = {"bf16": 2, "f32": 4, "f64": 8}


def module(function: str, element: str, readers: int, products: int) -> str:
    row, array, number = f"tensor<{SIZE}x{element}>", f"tensor<{SIZE}x{SIZE}x{element}>", f"tensor<{element}>"
    lines = [
        f"%z = stablehlo.constant dense<0.0> : {number}",
        f"%p = stablehlo.broadcast_in_dim %x, dims = [0] : ({row}) -> {array}",
        f"%q = stablehlo.broadcast_in_dim %y, dims = [1] : ({row}) -> {array}",
        f"%v = stablehlo.subtract %p, %q : {array}",
    ]
    last = "%v"
    if function != "none":
        lines.append(f"%f = stablehlo.{function} %v{', %q' if function in OF_TWO else ''} : {array}")
        last = "%f"
    for at in range(products):
        lines.append(f"%c{at} = stablehlo.multiply {last}, %q : {array}")
        last = f"%c{at}"
    before = "%s"
    for at in range(readers):
        lines += [
            f"%m{at} = stablehlo.broadcast_in_dim {before}, dims = [] : ({number}) -> {array}",
            f"%n{at} = stablehlo.multiply {last}, %m{at} : {array}",
            f"%o{at} = stablehlo.add %n{at}, %p : {array}",
            f"%r{at} = stablehlo.reduce(%o{at} init: %z) applies stablehlo.add across dimensions = [0, 1] : ({array}, {number}) -> {number}",
        ]
        before = f"%r{at}"
    body = "\n  ".join(lines)
    return f"func.func public @main(%x: {row}, %y: {row}, %s: {number}) -> {number} {{\n  {body}\n  return {before} : {number}\n}}\n"


def fewest(is_stored: Callable[[int], bool]) -> int | None:
    """The fewest products with which the array is stored, none if it is not with MOST of them."""
    if is_stored(0):
        return 0
    low, high = 0, MOST
    if not is_stored(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_stored(middle) else (middle, high)
    return high


def compared(opt: str, target: targets.Target, function: str, element: str, readers: int) -> list[str]:
    """After how many products XLA stores the array, and the model."""
    whole = SIZE * SIZE * BYTES[element] // 2

    def by_xla(products: int) -> bool:
        compiled = targets.compile_text(module(function, element, readers, products), target)
        return compiled.get_compiled_memory_stats().temp_size_in_bytes > whole

    def by_model(products: int) -> bool:
        said = memory_model.model(opt, module(function, element, readers, products), f" target={target.name}")
        return said is not None and said.temporaries > whole

    return ["-" if count is None else str(count) for count in (fewest(by_xla), fewest(by_model))]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--target", default="h100", choices=targets.NAMES, metavar="NAME", help="default: %(default)s")
    parser.add_argument("--elements", nargs="+", default=list(BYTES), choices=BYTES, metavar="TYPE")
    parser.add_argument("--readers", nargs="+", type=int, default=[2, 3, 4], metavar="COUNT")
    parser.add_argument("--functions", nargs="+", default=FUNCTIONS, choices=FUNCTIONS, metavar="NAME")
    args = parser.parse_args()
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(f"{reason}: nothing is compared.")
        return 0
    for element, readers, function in itertools.product(args.elements, args.readers, args.functions):
        xla, model = compared(args.opt, target, function, element, readers)
        print(f"{function} of {element}, {readers} readers: XLA {xla}, model {model}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
