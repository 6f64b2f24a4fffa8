# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The folding test: what canonicalization computes is what the program would have computed, bit by bit.

    python test/oracle/folds.py --opt target/debug/slimhlo-opt --count 2000 --seed 1

Generates small programs of ops on constants and arguments, runs the driver's --canonicalize over them, and executes each
before and after, in XLA for CPU and in the StableHLO interpreter. Constants are drawn from the values at which arithmetic
goes wrong: the ends of integer types, zero and minus one, signed zeros, infinities and NaNs with a payload. How many ops
folded is counted, as a test of folding in which nothing folds says nothing.
"""

from __future__ import annotations

import argparse
import collections
import random
import re
import sys
import time
from collections.abc import Callable, Sequence

import ml_dtypes
import numpy as np

import execute
import jaxlib_ir
from opt import Driver

INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
FLOATS = ("f32", "f64", "f16", "bf16")
DTYPES = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "ui8": np.uint8,
    "ui16": np.uint16,
    "ui32": np.uint32,
    "ui64": np.uint64,
    "f16": np.float16,
    "f32": np.float32,
    "f64": np.float64,
    "bf16": ml_dtypes.bfloat16,
}
BITCAST_TO_BF16 = re.compile(r"bitcast_convert.*-> tensor<(\d+x)*bf16>")
# Bits of 1.5, -2, 100, 0, -0, infinity, -infinity and a NaN, which has a payload but for bf16: XLA for CPU computes those
# as f32 and drops it.
FLOAT_BITS = {
    "f16": (0x3E00, 0xC000, 0x5640, 0, 0x8000, 0x7C00, 0xFC00, 0x7E01),
    "bf16": (0x3FC0, 0xC000, 0x42C8, 0, 0x8000, 0x7F80, 0xFF80, 0x7FC0),
    "f32": (0x3FC00000, 0xC0000000, 0x42C80000, 0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00001),
    "f64": (
        0x3FF8000000000000,
        0xC000000000000000,
        0x4059000000000000,
        0,
        0x8000000000000000,
        0x7FF0000000000000,
        0xFFF0000000000000,
        0x7FF8000000000001,
    ),
}
SPAN = 40
FOLDED_SHARE = 0.4

Shape = tuple[int, ...]
Value = tuple[str, Shape, str]


def kind_of(shape: Shape, element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def width_of(element: str) -> int:
    return 16 if element == "bf16" else int(re.sub(r"\D", "", element))


def random_bits(rng: random.Random, element: str) -> int:
    """The bits of one element, often of a value that is special."""
    if element in FLOAT_BITS:
        return rng.choice(FLOAT_BITS[element])
    width = width_of(element)
    top = 1 << width
    special = (0, 0, 1, 1, 2, top - 1, top - 1, top // 2, top // 2 - 1, 5)
    return rng.choice(special) % top if rng.random() < 0.8 else rng.randrange(top)


def array_of(rng: random.Random, shape: Shape, element: str) -> np.ndarray:
    count = int(np.prod(shape, dtype=np.int64))
    one = random_bits(rng, element)
    splat = rng.random() < 0.5
    bits = [one if splat else random_bits(rng, element) for _ in range(count)]
    if element == "i1":
        return np.array([bool(bit) for bit in bits], np.bool_).reshape(shape)
    return np.array(bits, f"uint{width_of(element)}").view(DTYPES[element]).reshape(shape)


class Builder:
    """One program under construction."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.values: list[Value] = []
        self.arguments: list[np.ndarray] = []
        self.parameters: list[str] = []

    def emit(self, text: str, shape: Shape, element: str) -> Value:
        value = (f"%v{len(self.lines)}", shape, element)
        self.lines.append(f"{value[0]} = {text}")
        self.values.append(value)
        return value

    def constant(self, shape: Shape, element: str) -> Value:
        array = array_of(self.rng, shape, element)
        return self.emit(f"stablehlo.constant {execute._attribute(array, kind_of(shape, element))}", shape, element)

    def argument(self, shape: Shape, element: str) -> Value:
        name = f"%a{len(self.arguments)}"
        self.arguments.append(array_of(self.rng, shape, element))
        self.parameters.append(f"{name}: {kind_of(shape, element)}")
        self.values.append((name, shape, element))
        return self.values[-1]

    def value(self, shape: Shape, element: str) -> Value:
        """A value of this type: one that is there, else a constant, now and then an argument."""
        there = [value for value in self.values if value[1:] == (shape, element)]
        if there and self.rng.random() < 0.5:
            return self.rng.choice(there)
        return (self.argument if self.rng.random() < 0.3 else self.constant)(shape, element)

    def shape(self) -> Shape:
        return self.rng.choice(((), (1,), (4,), (2, 3), (3, 1), (0, 2), (5,)))

    def any(self, elements: Sequence[str]) -> Value:
        there = [value for value in self.values if value[2] in elements]
        if there and self.rng.random() < 0.7:
            return self.rng.choice(there)
        return self.value(self.shape(), self.rng.choice(elements))

    def text(self) -> str:
        # Everything is a result, so that nothing is dead.
        kinds = ", ".join(kind_of(*value[1:]) for value in self.values)
        body = "\n  ".join(self.lines)
        names = ", ".join(value[0] for value in self.values)
        return (
            f"func.func @main({', '.join(self.parameters)}) -> ({kinds}) {{\n  {body}\n  return {names} : {kinds}\n}}\n"
        )


ANY = ("i1", *INTEGERS, *FLOATS)


def binary(build: Builder) -> None:
    op = build.rng.choice(
        (
            "add",
            "subtract",
            "multiply",
            "divide",
            "remainder",
            "minimum",
            "maximum",
            "and",
            "or",
            "xor",
            "shift_left",
            "shift_right_logical",
            "shift_right_arithmetic",
        )
    )
    bools = ("i1",) if op in ("add", "multiply", "minimum", "maximum", "and", "or", "xor") else ()
    # Not of floats: XLA itself gives the NaN of inf - inf another sign when it folds constants.
    left = build.any((*INTEGERS, *bools))
    if op in ("divide", "remainder"):
        # XLA and the interpreter end the process when they divide by zero or the least number by -1.
        divisor = np.full(left[1], build.rng.choice((1, 2, 3, 100)), DTYPES[left[2]])
        right = build.emit(f"stablehlo.constant {execute._attribute(divisor, kind_of(*left[1:]))}", *left[1:])
    else:
        right = build.value(*left[1:])
        if build.rng.random() < 0.5:
            left, right = right, left
    build.emit(f"stablehlo.{op} {left[0]}, {right[0]} : {kind_of(*left[1:])}", *left[1:])


def unary(build: Builder) -> None:
    op = build.rng.choice(("negate", "not", "abs", "sign", "popcnt", "count_leading_zeros"))
    elements = {
        "negate": INTEGERS + FLOATS,
        "not": ("i1", *INTEGERS),
        "abs": INTEGERS[:4] + FLOATS,
        "sign": INTEGERS[:4],
        # XLA counts the zeros of a negative number as if it had 64 bits when it folds constants.
        "count_leading_zeros": INTEGERS[4:],
    }.get(op, INTEGERS)
    x = build.any(elements)
    build.emit(f"stablehlo.{op} {x[0]} : {kind_of(*x[1:])}", *x[1:])


def compare(build: Builder) -> None:
    x = build.any(ANY)
    y = build.value(*x[1:])
    direction = build.rng.choice(("EQ", "NE", "LT", "LE", "GT", "GE"))
    kind = "FLOAT" if x[2] in FLOATS else "UNSIGNED" if x[2][0] == "u" or x[2] == "i1" else "SIGNED"
    suffix = f", {kind}" if build.rng.random() < 0.7 else ""
    operands = f"({kind_of(*x[1:])}, {kind_of(*y[1:])})"
    build.emit(
        f"stablehlo.compare {direction}, {x[0]}, {y[0]}{suffix} : {operands} -> {kind_of(x[1], 'i1')}", x[1], "i1"
    )


def select(build: Builder) -> None:
    x = build.any(ANY)
    y = build.value(*x[1:])
    p = build.value(x[1] if build.rng.random() < 0.5 else (), "i1")
    build.emit(f"stablehlo.select {p[0]}, {x[0]}, {y[0]} : {kind_of(*p[1:])}, {kind_of(*x[1:])}", *x[1:])


def clamp(build: Builder) -> None:
    x = build.any(INTEGERS)
    low, high = (build.value(build.rng.choice(((), x[1])), x[2]) for _ in range(2))
    kinds = ", ".join(kind_of(*value[1:]) for value in (low, x, high))
    build.emit(f"stablehlo.clamp {low[0]}, {x[0]}, {high[0]} : ({kinds}) -> {kind_of(*x[1:])}", *x[1:])


def convert(build: Builder) -> None:
    x = build.any(ANY)
    element = build.rng.choice(ANY)
    build.emit(f"stablehlo.convert {x[0]} : ({kind_of(*x[1:])}) -> {kind_of(x[1], element)}", x[1], element)


def bitcast(build: Builder) -> None:
    x = build.any((*INTEGERS, *FLOATS))
    if any("bitcast_convert" in line for line in build.lines):
        return  # XLA merges two of them into one of the wrong shape.
    wide = width_of(x[2])
    element = build.rng.choice((*INTEGERS, *FLOATS))
    narrow = width_of(element)
    if narrow == wide:
        shape = x[1]
    elif narrow < wide:
        shape = (*x[1], wide // narrow)
    elif x[1] and x[1][-1] * wide == narrow:
        shape = x[1][:-1]
    else:
        return
    build.emit(f"stablehlo.bitcast_convert {x[0]} : ({kind_of(*x[1:])}) -> {kind_of(shape, element)}", shape, element)


def reshape(build: Builder) -> None:
    x = build.any(ANY)
    count = int(np.prod(x[1], dtype=np.int64))
    shapes = [
        s
        for s in ((), (1,), (1, 1), (4,), (2, 2), (2, 3), (3, 2), (6,), (0, 2), (2, 0), (3,), (5, 1), (5,))
        if int(np.prod(s, dtype=np.int64)) == count
    ]
    if shapes:
        shape = build.rng.choice(shapes)
        build.emit(f"stablehlo.reshape {x[0]} : ({kind_of(*x[1:])}) -> {kind_of(shape, x[2])}", shape, x[2])


def transpose(build: Builder) -> None:
    x = build.any(ANY)
    dims = build.rng.sample(range(len(x[1])), len(x[1]))
    shape = tuple(x[1][dim] for dim in dims)
    build.emit(
        f"stablehlo.transpose {x[0]}, dims = {dims} : ({kind_of(*x[1:])}) -> {kind_of(shape, x[2])}", shape, x[2]
    )


def reverse(build: Builder) -> None:
    x = build.any(ANY)
    dims = [dim for dim in range(len(x[1])) if build.rng.random() < 0.6]
    build.emit(f"stablehlo.reverse {x[0]}, dims = {dims} : {kind_of(*x[1:])}", *x[1:])


def broadcast(build: Builder) -> None:
    x = build.any(ANY)
    shape = tuple(size if size != 1 else build.rng.choice((1, 3)) for size in x[1])
    new = build.rng.choice(((), (2,)))
    dims = list(range(len(new), len(new) + len(shape)))
    result = kind_of((*new, *shape), x[2])
    build.emit(
        f"stablehlo.broadcast_in_dim {x[0]}, dims = {dims} : ({kind_of(*x[1:])}) -> {result}", (*new, *shape), x[2]
    )


def cut(build: Builder) -> None:
    x = build.any(ANY)
    ranges: list[str] = []
    shape: list[int] = []
    for size in x[1]:
        start = build.rng.randint(0, size) if build.rng.random() < 0.5 else 0
        limit = build.rng.randint(start, size) if build.rng.random() < 0.5 else size
        stride = build.rng.choice((1, 1, 2))
        ranges.append(f"{start}:{limit}:{stride}")
        shape.append(-(-(limit - start) // stride))
    result = kind_of(tuple(shape), x[2])
    build.emit(f"stablehlo.slice {x[0]} [{', '.join(ranges)}] : ({kind_of(*x[1:])}) -> {result}", tuple(shape), x[2])


def pad(build: Builder) -> None:
    x = build.any(ANY)
    value = build.value((), x[2])
    zero = build.rng.random() < 0.2
    low, high = ([0 if zero else build.rng.choice((0, 1, -1)) for _ in x[1]] for _ in range(2))
    interior = [0 if zero else build.rng.choice((0, 0, 1, 2)) for _ in x[1]]
    shape = tuple(size + a + b + max(size - 1, 0) * i for size, a, b, i in zip(x[1], low, high, interior, strict=True))
    if all(size >= 0 for size in shape):
        kinds = f"({kind_of(*x[1:])}, {kind_of(*value[1:])}) -> {kind_of(shape, x[2])}"
        build.emit(
            f"stablehlo.pad {x[0]}, {value[0]}, low = {low}, high = {high}, interior = {interior} : {kinds}",
            shape,
            x[2],
        )


def concatenate(build: Builder) -> None:
    x = build.any(ANY)
    if not x[1]:
        return
    dim = build.rng.randrange(len(x[1]))
    parts = [x]
    for _ in range(build.rng.choice((0, 1, 1, 2))):
        size = build.rng.choice((0, 1, 2, x[1][dim]))
        parts.append(build.value((*x[1][:dim], size, *x[1][dim + 1 :]), x[2]))
    build.rng.shuffle(parts)
    shape = (*x[1][:dim], sum(part[1][dim] for part in parts), *x[1][dim + 1 :])
    kinds = ", ".join(kind_of(*part[1:]) for part in parts)
    names = ", ".join(part[0] for part in parts)
    build.emit(f"stablehlo.concatenate {names}, dim = {dim} : ({kinds}) -> {kind_of(shape, x[2])}", shape, x[2])


def iota(build: Builder) -> None:
    shape = build.shape()
    if shape:
        element = build.rng.choice((*INTEGERS, "f32"))
        build.emit(
            f"stablehlo.iota dim = {build.rng.randrange(len(shape))} : {kind_of(shape, element)}", shape, element
        )


def size(build: Builder) -> None:
    x = build.any(ANY)
    if x[1]:
        dim = build.rng.randrange(len(x[1]))
        build.emit(f"stablehlo.get_dimension_size {x[0]}, dim = {dim} : ({kind_of(*x[1:])}) -> tensor<i32>", (), "i32")


def update(build: Builder) -> None:
    x = build.any(ANY)
    y = build.value(x[1] if build.rng.random() < 0.7 else tuple(min(1, size) for size in x[1]), x[2])
    starts = [build.value((), "i32") for _ in x[1]]
    kinds = ", ".join(kind_of(*value[1:]) for value in (x, y, *starts))
    names = ", ".join(value[0] for value in (x, y, *starts))
    build.emit(f"stablehlo.dynamic_update_slice {names} : ({kinds}) -> {kind_of(*x[1:])}", *x[1:])


OPS: tuple[Callable[[Builder], None], ...] = (
    binary,
    binary,
    binary,
    binary,
    unary,
    compare,
    select,
    clamp,
    convert,
    convert,
    bitcast,
    reshape,
    transpose,
    reverse,
    broadcast,
    cut,
    pad,
    concatenate,
    iota,
    size,
    update,
)


def generate(rng: random.Random) -> Builder:
    build = Builder(rng)
    for _ in range(rng.randint(2, 8)):
        rng.choice(OPS)(build)
    if not build.values:
        build.constant((), "i32")
    return build


def ops_in(text: str) -> collections.Counter[str]:
    return collections.Counter(re.findall(r"stablehlo\.(\w+)", text))


def different(before: Sequence[object], after: Sequence[object]) -> list[int]:
    return [number for number, (want, have) in enumerate(zip(before, after, strict=True)) if want != have]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--count", type=int, default=1000, metavar="N", help="programs in all (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    arguments = parser.parse_args()

    started = time.monotonic()
    rng = random.Random(arguments.seed)
    programs = [generate(rng) for _ in range(arguments.count)]
    texts = [program.text() for program in programs]
    outcomes = Driver(arguments.opt).run(texts, ["--canonicalize"])
    context = jaxlib_ir.make_context()
    execute.stablehlo.register_interpreter_dialect(context)
    failures = 0
    left: collections.Counter[str] = collections.Counter()
    there: collections.Counter[str] = collections.Counter()
    executed: collections.Counter[str] = collections.Counter()
    not_run: collections.Counter[str] = collections.Counter()

    def report(where: str, text: str, after: str, detail: str) -> None:
        nonlocal failures
        failures += 1
        print(f"--- {where}: {detail}\n{text}=== became\n{after}")

    pairs: list[tuple[str, str, list[np.ndarray]]] = []
    for program, text, outcome in zip(programs, texts, outcomes, strict=True):
        if outcome.output is None:
            report("driver", text, "", outcome.message or outcome.crash)
            continue
        there += ops_in(text)
        left += ops_in(outcome.output)
        pairs.append((text, outcome.output, program.arguments))
    for start in range(0, len(pairs), SPAN):
        span = pairs[start : start + SPAN]
        inputs = [given for *_, given in span]
        # What integers are as bf16 may be NaNs with payloads, which XLA for CPU keeps or drops as the processor has it.
        payloads = [not BITCAST_TO_BF16.search(text) for text, *_ in span]
        before = execute.run_xla([text for text, *_ in span], inputs, payloads)
        after = execute.run_xla([text for _, text, _ in span], inputs, payloads)
        executed["xla"] += len(span)
        for (text, folded, given), want, have in zip(span, before, after, strict=True):
            if numbers := different(want, have):
                first = numbers[0]
                report("xla", text, folded, f"result {first}: {want[first]!r} became {have[first]!r}")
            try:
                want_text, have_text = (execute.run_interpreter(which, given, context) for which in (text, folded))
            except Exception as error:
                not_run[str(error).partition("\n")[0].partition("(")[0][:80]] += 1
                continue
            executed["interpreter"] += 1
            if numbers := different(want_text, have_text):
                first = numbers[0]
                report("interpreter", text, folded, f"result {first}: {want_text[first]} became {have_text[first]}")

    for name in sorted(there):
        print(f"{name:26} {there[name]:6} ops, {left[name]:6} left")
    for reason, count in not_run.most_common():
        print(f"interpreter: {count} programs not run: {reason}")
    foldable = sum(count for name, count in there.items() if name != "constant")
    folded = foldable - sum(count for name, count in left.items() if name != "constant")
    share = folded / max(foldable, 1)
    if share < FOLDED_SHARE:
        print(f"too few ops folded: {share:.0%}, at least {FOLDED_SHARE:.0%} expected")
    print(
        f"{len(texts) - failures} passed, {failures} failed: {foldable} ops of which {folded} ({share:.0%}) folded; executed {dict(executed)}; "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if failures or share < FOLDED_SHARE else 0


if __name__ == "__main__":
    sys.exit(main())
