# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How many cycles XLA for GPUs reckons with for an element of each elementwise op when it weighs which kernels to merge.

    python test/oracle/cycles.py
    python test/oracle/cycles.py --target b200 --elements f64

The tables in passes/src/target/xla_gpu/reckoning.rs are from here. Per type of elements a line for each op: the op as XLA has it before it
merges kernels (in a wider type, or written in others, whose last it then is), and cycles. They follow from the log that `PriorityFusion` writes when it is
asked to: what an op and the one that reads it are reckoned to take, each by itself and merged, as `GpuPerformanceModel` says. The last line is `NEAR` there: the
largest row, of some, that is reckoned to be read again out of the first caches when it is broadcast. Nothing is executed.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import sys
import tempfile

DUMP = tempfile.TemporaryDirectory()
os.environ["XLA_FLAGS"] = (
    f"{os.environ.get('XLA_FLAGS', '')} --xla_dump_to={DUMP.name} --xla_dump_hlo_pass_re=priority-fusion --xla_dump_hlo_as_text"
)

import jax_start  # noqa: E402

jax_start.start()

import targets  # noqa: E402

SIZE = 1 << 22
ROWS = 512
OVERLAP = 0.95
"""Of the shorter of operations and bytes."""
THREADS = 128
UNARY = (
    "abs", "negate", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "tanh", "sqrt", "rsqrt", "cbrt", "sine", "cosine",
    "tan", "floor", "is_finite", "convert",
)  # fmt: skip
UNARY_OF_INTEGERS = ("abs", "negate", "not", "popcnt", "convert")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "power", "remainder", "compare")
BINARY_OF_FLOATS = ("atan2",)
BINARY_OF_INTEGERS = ("and", "xor", "shift_left")
BYTES = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8, "i8": 1, "i32": 4, "i64": 8}
HLO_BYTES = {"bf16": 2, "f16": 2, "f32": 4, "f64": 8, "s8": 1, "s32": 4, "s64": 8, "pred": 1}
INSTRUCTION = re.compile(r'^\s+(?:ROOT )?%?(\S+) = (\w+)\[([\d,]*)\]\S* ([\w\-]+)\((.*?)\).*?(?:op_name="(\w+)")?\}?$', re.MULTILINE)
STEP = re.compile(
    r'update_priority \{\s*producer_name: "([^"]+)"\s*consumer_names: "[^"]+"\s*us_fused: \S+\s*us_unfused: (\S+)'
)


def module(ops: list[str], unary: set[str], element: str) -> str:
    """Each op on arrays of its own, read by another one."""
    array, flags = f"tensor<{SIZE}x{element}>", f"tensor<{SIZE}xi1>"
    other = f"tensor<{SIZE}x{'f64' if element == 'f32' else 'f32'}>"
    arguments, lines, results, types = [], [], [], []
    for at, op in enumerate(ops):
        x, y = f"%x{at}", f"%y{at}"
        made = {"compare": flags, "is_finite": flags, "convert": other}.get(op, array)
        arguments += [f"{x}: {array}", f"{y}: {other if op == 'convert' else array}"]
        operands = x if op in unary else f"{x}, {y}"
        if op == "compare":
            lines.append(f'%f{at} = stablehlo.compare LT, {operands} : ({array}, {array}) -> {made} loc("{op}")')
        elif made != array:
            lines.append(f'%f{at} = stablehlo.{op} {operands} : ({array}) -> {made} loc("{op}")')
        else:
            lines.append(f'%f{at} = stablehlo.{op} {operands} : {array} loc("{op}")')
        kind = made if op == "convert" else array
        if made == flags:
            lines.append(f"%g{at} = stablehlo.select %f{at}, {x}, {y} : {flags}, {array}")
        else:
            lines.append(f"%g{at} = stablehlo.multiply %f{at}, {y} : {kind}")
        results.append(f"%g{at}")
        types.append(kind)
    body, all_types = "\n  ".join(lines), ", ".join(types)
    handed = f"return {', '.join(results)} : {all_types}"
    return f"func.func public @main({', '.join(arguments)}) -> ({all_types}) {{\n  {body}\n  {handed}\n}}\n"


class Chip:
    """What XLA makes of operations and bytes."""

    def __init__(self, chip: targets.Gpu) -> None:
        self.bytes = chip.memory_bandwidth / 1e9
        lanes = chip.core_count * min(THREADS, chip.fpus_per_core)
        self.cycles = lanes * chip.clock_rate_ghz * 2 / SIZE

    def time(self, cycles: float, moved: float) -> float:
        """Nanoseconds."""
        computes, moves = cycles / self.cycles, moved / self.bytes
        return computes + moves - OVERLAP * min(computes, moves)

    def cycles_of(self, time: float, moved: float) -> float:
        moves = moved / self.bytes
        computes = (time - moves) / (1 - OVERLAP)
        return self.cycles * (computes if computes <= moves else time - (1 - OVERLAP) * moves)


def logged(text: str, target: targets.Target) -> tuple[dict[str, tuple[str, ...]], dict[str, float]]:
    """Instructions before kernels are merged, by name; and for each that one other reads, nanoseconds of both without their starts."""
    for path in pathlib.Path(DUMP.name).iterdir():
        path.unlink()
    targets.compile_text(text, target)
    (before,) = pathlib.Path(DUMP.name).glob("*before_priority-fusion.txt")
    (log,) = pathlib.Path(DUMP.name).glob("*priority_fusion_dump.txt")
    entry = before.read_text().partition("\nENTRY")[2]
    steps: dict[str, float] = {}
    for name, unfused in STEP.findall(log.read_text()):
        steps.setdefault(name, float(unfused) * 1000 - 2000)
    return {found[0]: found for found in INSTRUCTION.findall(entry)}, steps


def nearest(target: targets.Target) -> str:
    """The largest row that is read again faster than out of the second cache, and the smallest that is not."""
    rows = range(64, 513, 4)

    def name(row: int) -> str:
        return f"row{row}"

    arguments, lines, types = [], [], []
    for row in rows:
        size = row * 1024 // 4
        whole = f"tensor<{ROWS}x{size}xf32>"
        arguments += [f"%r{row}: tensor<{size}xf32>", f"%w{row}: {whole}"]
        lines += [
            f'%b{row} = stablehlo.broadcast_in_dim %r{row}, dims = [1] : (tensor<{size}xf32>) -> {whole} loc("{name(row)}")',
            f"%s{row} = stablehlo.multiply %b{row}, %w{row} : {whole}",
        ]
        types.append(whole)
    kinds = ", ".join(types)
    results = ", ".join(f"%s{row}" for row in rows)
    body = "\n  ".join([*lines, f"return {results} : {kinds}"])
    known, steps = logged(f"func.func public @main({', '.join(arguments)}) -> ({kinds}) {{\n  {body}\n}}\n", target)
    # What a broadcast takes for each byte that it makes, which rises where rows are no longer near.
    each = {row: steps[found[0]] / row for row in rows for found in known.values() if found[5] == name(row) and found[0] in steps}
    near = [row for row, time in each.items() if time < 1.05 * min(each.values())]
    return f"rows are near up to {max(near)} KiB, {min(set(each) - set(near))} are not"


def table(target: targets.Target, element: str) -> list[str]:
    is_float = "f" in element
    unary = UNARY if is_float else UNARY_OF_INTEGERS
    ops = [*unary, *BINARY, *(BINARY_OF_FLOATS if is_float else BINARY_OF_INTEGERS)]
    known, steps = logged(module(ops, set(unary), element), target)

    def names(found: tuple[str, ...]) -> list[str]:
        return [name.strip().removeprefix("%") for name in found[4].split(",")]

    def moved(found: tuple[str, ...]) -> float:
        return SIZE * sum(HLO_BYTES[known[name][1]] for name in {*names(found), found[0]} if known[name][2])

    readers = {name: found for found in known.values() if found[3] != "parameter" for name in names(found)}
    chip = Chip(target.chip)
    lines = []
    products: dict[str, float] = {}
    for op in ("multiply", *(op for op in ops if op != "multiply")):
        last = [found for found in known.values() if found[5] == op and found[0] in steps and readers[found[0]][5] != op]
        if not last:
            lines.append(f"{op} of {element}: not found")
            continue
        found = last[-1]
        reader = readers[found[0]]
        if op == "multiply":
            cycles = products[found[1]] = chip.cycles_of(steps[found[0]] / 2, moved(found))
        else:
            other = products.get(reader[1], 3.0) if reader[3] == "multiply" else 3.0
            cycles = chip.cycles_of(steps[found[0]] - chip.time(other, moved(reader)), moved(found))
        lines.append(f"{op} of {element}: {found[3]} of {found[1]}, {cycles:.0f} cycles")
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", default="h100", choices=targets.NAMES, metavar="NAME", help="default: %(default)s")
    parser.add_argument("--elements", nargs="+", default=list(BYTES), choices=BYTES, metavar="TYPE")
    args = parser.parse_args()
    target = targets.find(args.target)
    if not isinstance(target.chip, targets.Gpu):
        print(f"{args.target} is no GPU.")
        return 1
    if reason := targets.missing(target):
        print(f"{reason}: nothing is measured.")
        return 0
    for element in args.elements:
        print("\n".join(table(target, element)), flush=True)
    print(nearest(target))
    return 0


if __name__ == "__main__":
    sys.exit(main())
