# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random programs around dynamic_update_slice: what a pass that rewrites updates of splats has to get right."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Sequence

import ml_dtypes
import numpy as np

DTYPES: dict[str, type] = {
    "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16, "f16": np.float16,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn, "f8E5M2": ml_dtypes.float8_e5m2,
    "complex<f32>": np.complex64, "complex<f64>": np.complex128,
    "i1": np.bool_, "i4": ml_dtypes.int4, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64,
    "ui4": ml_dtypes.uint4, "ui8": np.uint8, "ui16": np.uint16, "ui32": np.uint32, "ui64": np.uint64,
}  # fmt: skip
WEIGHTS = {"f32": 5.0, "f64": 3.0, "bf16": 2.0}
STARTS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64")
SPECIAL_BITS = {  # NaNs with payloads, infinities, negative zero
    np.float32: (0x7FC00001, 0xFFC12345, 0x7F800000, 0xFF800000, 0x80000000),
    np.float64: (0x7FF8000000000001, 0xFFF8000012345678, 0x7FF << 52, 0xFFF << 52, 1 << 63),
    ml_dtypes.bfloat16: (0x7FC1, 0xFFD5, 0x7F80, 0xFF80, 0x8000),
    np.float16: (0x7E01, 0xFE15, 0x7C00, 0xFC00, 0x8000),
    ml_dtypes.float8_e4m3fn: (0x7F, 0xFF, 0x7E, 0x80),
    ml_dtypes.float8_e5m2: (0x7E, 0xFF, 0x7C, 0xFC, 0x80),
}
Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Program:
    """A module with one function @main, and arguments for it."""

    name: str
    element: str
    text: str
    arguments: tuple[np.ndarray, ...]
    huge_start: bool
    """A start index is unsigned and so large that the StableHLO interpreter takes it for a negative one."""


def tensor(shape: Shape, element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def is_float(element: str) -> bool:
    return element.startswith(("f", "bf"))


def is_complex(element: str) -> bool:
    return element.startswith("complex")


def random_array(rng: np.random.Generator, shape: Shape, element: str) -> np.ndarray:
    """Ordinary values, mixed with the special ones of the type."""
    dtype = DTYPES[element]
    if element == "i1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    if is_complex(element):
        part = np.float32 if dtype is np.complex64 else np.float64
        name = "f32" if part is np.float32 else "f64"
        pair = random_array(rng, (*shape, 2), name)
        return np.ascontiguousarray(pair).view(dtype).reshape(shape)
    if not is_float(element):
        low, high = (0, 14) if element.startswith("u") else (-7, 7)
        return rng.integers(low, high, shape).astype(dtype)
    values: np.ndarray = (rng.standard_normal(shape) * 4).astype(dtype)
    bits = SPECIAL_BITS[dtype]
    flat = np.ascontiguousarray(values).reshape(-1).view(f"u{np.dtype(dtype).itemsize}")
    for i in range(flat.size):
        if rng.random() < 0.3:
            flat[i] = bits[rng.integers(len(bits))]
    return flat.view(dtype).reshape(shape)


class Builder:
    """Writes one program, op by op."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.data = np.random.default_rng(self.rng.randrange(1 << 32))
        names = list(DTYPES)
        self.element = self.rng.choices(names, [WEIGHTS.get(name, 1.0) for name in names])[0]
        self.lines: list[str] = []
        self.arguments: list[tuple[str, str, np.ndarray]] = []
        self.count = 0
        self.huge_start = False

    # --- small steps ---

    def op(self, text: str) -> str:
        name = f"%{self.count}"
        self.count += 1
        self.lines.append(f"    {name} = {text}")
        return name

    def argument(self, shape: Shape, element: str | None = None, value: np.ndarray | None = None) -> str:
        element = element or self.element
        name = f"%arg{len(self.arguments)}"
        data = random_array(self.data, shape, element) if value is None else value
        self.arguments.append((name, tensor(shape, element), data))
        return name

    def literal(self, element: str) -> str:
        """The text of one value; padding values of every kind, zeros of both signs included."""
        if element == "i1":
            return self.rng.choice(("true", "false", "false"))
        if is_complex(element):
            return f"({self.rng.choice(('0.0', '-0.0', '1.5'))}, {self.rng.choice(('0.0', '-2.0'))})"
        if is_float(element):
            bits = np.dtype(DTYPES[element]).itemsize * 8
            nan = SPECIAL_BITS[DTYPES[element]][0]
            return self.rng.choice(("0.0", "0.0", "0.0", "-0.0", "1.0", "-2.5", f"0x{nan:0{bits // 4}X}"))
        return self.rng.choice(("0", "0", "1", "5") if element.startswith("u") else ("0", "0", "1", "-3"))

    def scalar(self) -> str:
        """A scalar of the program's type: a constant, reached directly or through other ops, or an argument."""
        kind = self.rng.choices(("constant", "reshape", "convert", "argument", "slice"), (8, 2, 2, 2, 1))[0]
        element = self.element
        if kind == "constant":
            return self.op(f"stablehlo.constant dense<{self.literal(element)}> : {tensor((), element)}")
        if kind == "reshape":
            one = self.op(f"stablehlo.constant dense<{self.literal(element)}> : {tensor((1, 1), element)}")
            return self.op(f"stablehlo.reshape {one} : ({tensor((1, 1), element)}) -> {tensor((), element)}")
        if kind == "convert":
            source = self.rng.choice(("i32", "f32", "i1"))
            value = self.op(f"stablehlo.constant dense<{self.literal(source)}> : {tensor((), source)}")
            return self.op(f"stablehlo.convert {value} : ({tensor((), source)}) -> {tensor((), element)}")
        if kind == "slice":
            row = self.op(f"stablehlo.constant dense<{self.literal(element)}> : {tensor((3,), element)}")
            one = self.op(f"stablehlo.slice {row} [1:2] : ({tensor((3,), element)}) -> {tensor((1,), element)}")
            return self.op(f"stablehlo.reshape {one} : ({tensor((1,), element)}) -> {tensor((), element)}")
        return self.argument(())

    def splat(self, shape: Shape, scalar: str | None = None) -> str:
        """One value everywhere, in every form in which programs write it."""
        element, want = self.element, tensor(shape, self.element)
        forms = ["broadcast_in_dim", "broadcast_in_dim", "broadcast", "ones", "chain"]
        if scalar is None:
            forms += ["constant", "constant", "convert"]
        form = self.rng.choice(forms)
        if form == "constant":
            return self.op(f"stablehlo.constant dense<{self.literal(element)}> : {want}")
        if form == "convert":
            source = self.rng.choice(("i32", "f32"))
            value = self.op(f"stablehlo.constant dense<{self.literal(source)}> : {tensor(shape, source)}")
            return self.op(f"stablehlo.convert {value} : ({tensor(shape, source)}) -> {want}")
        scalar = scalar or self.scalar()
        of_scalar = tensor((), element)
        if form == "broadcast":
            sizes = list(shape)
            return self.op(f"stablehlo.broadcast {scalar}, sizes = {sizes} : ({of_scalar}) -> {want}")
        if form == "ones":
            ones: Shape = (1,) * len(shape)
            value = self.op(f"stablehlo.reshape {scalar} : ({of_scalar}) -> {tensor(ones, element)}")
            dims = list(range(len(shape)))
            return self.op(f"stablehlo.broadcast_in_dim {value}, dims = {dims} : ({tensor(ones, element)}) -> {want}")
        if form == "chain" and shape:
            last = shape[-1:]
            row = self.op(f"stablehlo.broadcast_in_dim {scalar}, dims = [] : ({of_scalar}) -> {tensor(last, element)}")
            dims = [len(shape) - 1]
            return self.op(f"stablehlo.broadcast_in_dim {row}, dims = {dims} : ({tensor(last, element)}) -> {want}")
        return self.op(f"stablehlo.broadcast_in_dim {scalar}, dims = [] : ({of_scalar}) -> {want}")

    def starts(self, shape: Shape, update: Shape, wanted: Sequence[int] | None) -> tuple[list[str], str]:
        """One start index per dimension, constant or not, inside, negative or past the end."""
        element = self.rng.choice(STARTS)
        unsigned = element.startswith("u")
        limits = np.iinfo(DTYPES[element])
        names = []
        for d, (full, part) in enumerate(zip(shape, update, strict=True)):
            inside = self.rng.randint(0, full - part) if wanted is None else wanted[d]
            value = inside
            if wanted is None and self.rng.random() < 0.2:
                value = self.rng.choice((-1, -2, full, full + 3, full - part + 1, int(limits.max), int(limits.min)))
                value = int(limits.max) + 1 + value if unsigned and value < 0 else value
            # Above the range of i64, XLA itself takes a ui64 start for a negative one where it turns updates to pads.
            value = max(int(limits.min), min(int(limits.max), np.iinfo(np.int64).max, value))
            self.huge_start |= unsigned and value > limits.max // 2
            if self.rng.random() < 0.04:
                names.append(self.argument((), element, np.array(value).astype(DTYPES[element])))
            elif self.rng.random() < 0.1:
                one = self.op(f"stablehlo.constant dense<{value}> : {tensor((1,), element)}")
                names.append(self.op(f"stablehlo.reshape {one} : ({tensor((1,), element)}) -> {tensor((), element)}"))
            else:
                names.append(self.op(f"stablehlo.constant dense<{value}> : {tensor((), element)}"))
        return names, tensor((), element)

    def elementwise(self, value: str, shape: Shape) -> str:
        """An op whose result has the same bits however XLA fuses it."""
        kind = tensor(shape, self.element)
        unary: tuple[str, ...]
        binary: tuple[str, ...]
        if self.element == "i1":
            unary, binary = ("not",), ("and", "or", "xor")
        elif is_complex(self.element):
            unary, binary = ("negate",), ("add", "subtract")
        elif is_float(self.element):
            unary, binary = ("negate", "abs"), ("add", "subtract")
        else:
            unary, binary = ("negate", "not"), ("add", "subtract", "multiply", "maximum", "xor")
        if self.rng.random() < 0.4:
            return self.op(f"stablehlo.{self.rng.choice(unary)} {value} : {kind}")
        other = self.argument(shape) if self.rng.random() < 0.5 else self.splat(shape)
        return self.op(f"stablehlo.{self.rng.choice(binary)} {value}, {other} : {kind}")

    # --- larger ones ---

    def shape(self) -> Shape:
        rank = self.rng.choices((0, 1, 2, 3, 4), (1, 4, 7, 4, 1))[0]
        return tuple(self.rng.choices((0, 1, 2, 3, 4, 5, 7), (0.2, 1, 3, 4, 4, 3, 2))[0] for _ in range(rank))

    def part_of(self, shape: Shape) -> Shape:
        """The shape of an update: often smaller, now and then empty or the whole."""
        if self.rng.random() < 0.08:
            return shape
        return tuple(self.rng.randint(1, size) if size and self.rng.random() > 0.03 else 0 for size in shape)

    def update(self, shape: Shape) -> str:
        """What is written: an argument, part of a larger one, something computed, or another splat."""
        kinds = {"argument": 6, "slice": 2, "elementwise": 3, "splat": 1, "concatenate": 1, "pad": 1, "dus": 1}
        kind = self.rng.choices(list(kinds), list(kinds.values()))[0]
        want = tensor(shape, self.element)
        if kind == "slice":
            full = tuple(size + self.rng.randint(0, 2) for size in shape)
            offsets = [self.rng.randint(0, f - s) for f, s in zip(full, shape, strict=True)]
            spans = ", ".join(f"{o}:{o + s}" for o, s in zip(offsets, shape, strict=True))
            source = self.argument(full)
            return self.op(f"stablehlo.slice {source} [{spans}] : ({tensor(full, self.element)}) -> {want}")
        if kind == "elementwise":
            return self.elementwise(self.argument(shape), shape)
        if kind == "splat":
            return self.splat(shape)
        if kind == "concatenate" and shape and shape[0] > 1:
            first = (self.rng.randint(1, shape[0] - 1), *shape[1:])
            second = (shape[0] - first[0], *shape[1:])
            one, two = self.argument(first), self.argument(second)
            types = f"{tensor(first, self.element)}, {tensor(second, self.element)}"
            return self.op(f"stablehlo.concatenate {one}, {two}, dim = 0 : ({types}) -> {want}")
        if kind == "pad":
            return self.pad(shape)
        if kind == "dus":
            return self.assign(self.splat(shape), shape)
        return self.argument(shape)

    def pad(self, shape: Shape, scalar: str | None = None) -> str:
        """A pad with this result shape; edges may be negative, the inside may be spread out."""
        low, high, interior, source = [], [], [], []
        for size in shape:
            inner = self.rng.choice((0, 0, 0, 1)) if size else 0
            part = self.rng.randint(0, size + 1)
            spread = part + max(0, part - 1) * inner
            before = self.rng.randint(-1 if spread else 0, max(0, size - spread))
            after = size - spread - before
            low.append(before)
            high.append(after)
            interior.append(inner)
            source.append(part)
        operand = self.argument(tuple(source))
        scalar = scalar or self.scalar()
        types = f"{tensor(tuple(source), self.element)}, {tensor((), self.element)}"
        return self.op(
            f"stablehlo.pad {operand}, {scalar}, low = {low}, high = {high}, interior = {interior} : "
            f"({types}) -> {tensor(shape, self.element)}"
        )

    def assign(self, operand: str, shape: Shape, update: str | None = None, part: Shape | None = None,
               at: Sequence[int] | None = None) -> str:  # fmt: skip
        """One dynamic_update_slice."""
        part = self.part_of(shape) if part is None else part
        update = update or self.update(part)
        names, index = self.starts(shape, part, at)
        types = ", ".join([tensor(shape, self.element), tensor(part, self.element), *[index] * len(shape)])
        operands = ", ".join([operand, update, *names])
        return self.op(f"stablehlo.dynamic_update_slice {operands} : ({types}) -> {tensor(shape, self.element)}")

    # --- whole programs ---

    def one_update(self, shape: Shape) -> str:
        return self.assign(self.splat(shape), shape)

    def sum_of_updates(self, shape: Shape) -> str:
        """Terms with interiors of their own, each in zeros, added up."""
        total = self.one_update(shape)
        combine = "or" if self.element == "i1" else "add"
        for _ in range(self.rng.randint(1, 3)):
            term = self.rng.choice((self.one_update, self.one_update, self.pad))(shape)
            total = self.op(f"stablehlo.{combine} {total}, {term} : {tensor(shape, self.element)}")
        return total

    def chain(self, shape: Shape) -> str:
        """Several updates of one splat, side by side, apart, or over one another."""
        value = self.splat(shape)
        rows = shape[0] if shape else 0
        if rows >= 2 and self.rng.random() < 0.5:
            cuts = sorted({0, rows, *(self.rng.randint(0, rows) for _ in range(3))})
            spans = list(itertools.pairwise(cuts))
            if self.rng.random() < 0.3:
                self.rng.shuffle(spans)
            if self.rng.random() < 0.3:
                spans.pop()
            for start, stop in spans:
                part = (stop - start, *shape[1:])
                value = self.assign(value, shape, part=part, at=[start] + [0] * (len(shape) - 1))
            return value
        for _ in range(self.rng.randint(2, 4)):
            value = self.assign(value, shape)
        return value

    def update_of_pad(self, shape: Shape) -> str:
        """An update of what was padded, with the value of the padding or of another, or the other way around."""
        scalar = self.scalar()
        if self.rng.random() < 0.5:
            return self.assign(self.pad(shape, scalar), shape)
        inner = tuple(max(0, size - self.rng.randint(0, 2)) for size in shape)
        update = self.pad(inner, scalar)
        same = scalar if self.rng.random() < 0.6 else None
        return self.assign(self.splat(shape, same), shape, update=update, part=inner)

    def padded_result(self, shape: Shape) -> str:
        """A pad of an update of a splat, with the same value or another."""
        scalar = self.scalar()
        value = self.assign(self.splat(shape, scalar), shape)
        padding = scalar if self.rng.random() < 0.6 else self.scalar()
        low, high = ([self.rng.randint(0, 2) for _ in shape] for _ in range(2))
        out = tuple(sum(sizes) for sizes in zip(low, shape, high, strict=True))
        return (
            self.op(
                f"stablehlo.pad {value}, {padding}, low = {low}, high = {high}, interior = {[0] * len(shape)} : "
                f"({tensor(shape, self.element)}, {tensor((), self.element)}) -> {tensor(out, self.element)}"
            )
            + f" {out}"
        )

    def not_a_splat(self, shape: Shape) -> str:
        """An update of something that varies, which has to stay as it is."""
        return self.assign(self.argument(shape), shape)

    def shared(self, shape: Shape) -> str:
        """The splat, or the update, is used again."""
        splat = self.splat(shape)
        first = self.assign(splat, shape)
        second = self.assign(self.rng.choice((splat, first)), shape)
        combine = "xor" if self.element == "i1" else "subtract"
        return self.op(f"stablehlo.{combine} {first}, {second} : {tensor(shape, self.element)}")

    def build(self, name: str) -> Program:
        kinds = {
            self.one_update: 4, self.sum_of_updates: 3, self.chain: 4, self.update_of_pad: 3, self.padded_result: 2,
            self.not_a_splat: 0.5, self.shared: 2,
        }  # fmt: skip
        results: list[tuple[str, Shape]] = []
        for _ in range(self.rng.choice((1, 1, 2))):
            shape = self.shape()
            value, _, other = self.rng.choices(list(kinds), list(kinds.values()))[0](shape).partition(" ")
            if other:
                shape = tuple(int(size) for size in other.strip("()").split(",") if size.strip())
            if self.rng.random() < 0.4:
                value = self.elementwise(value, shape)
            results.append((value, shape))
        types = [tensor(shape, self.element) for _, shape in results]
        inputs = ", ".join(f"{argument}: {kind}" for argument, kind, _ in self.arguments)
        text = (
            f"module {{\n  func.func @main({inputs}) -> ({', '.join(types)}) {{\n" + "\n".join(self.lines) + "\n"
            f"    return {', '.join(value for value, _ in results)} : {', '.join(types)}\n  }}\n}}\n"
        )
        return Program(name, self.element, text, tuple(data for *_, data in self.arguments), self.huge_start)


def generate(count: int, seed: int) -> list[Program]:
    """`count` programs, the same ones for the same seed."""
    return [Builder(f"{seed} {number}").build(f"program {number}") for number in range(count)]
