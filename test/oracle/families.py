# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that nobody picked by hand: every family of ops that the passes rewrite, one after another at random.

    python test/oracle/families.py --opt target/debug/slimhlo-opt --count 2000 --seed 1

Pads, slices, updates, concatenates, gathers, scatters, reductions, dots, loops, selects, converts and what moves elements
are applied to arguments and to one another's results. A third of the programs goes through the default pipeline, a third
through the same with small chunks, and a third through all passes in a row, whether they save memory or not. Each program
that changes is executed before and after, in XLA for CPU, and all results must be the same bit by bit, but for which NaN
a NaN is. A second run of the pipeline must change nothing, and some programs are compiled to see that they do not need more memory.

Floats are whole numbers so small that no sum or product rounds, with NaN, infinities and -0 among them in half of the
programs: so not even another order of accumulation may change a bit. Integers are of all sizes, and wrap around. Indices are negative,
out of range and repeated; some arrays are empty.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import math
import pathlib
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import slices
from opt import PIPELINE, Driver, needs_more, with_values
from slices import Shape, tensor
from workers import Lost, map_items

SPAN = 25
SECONDS_PER_SPAN = 240.0
CHANGED_SHARE = 0.2

# Whole numbers up to here are exact.
EXACT = {"f64": 2**53, "f32": 2**24, "f16": 2**11, "bf16": 2**8}
INTEGERS = ("i8", "i16", "i32", "i64", "ui8", "ui16", "ui32")
ELEMENTS = ("f32", "f32", "f32", "f64", "f64", "bf16", "f16", "i32", "i64", "i8", "ui8", "ui32", "i1")
INDICES = ("i32", "i32", "i64", "i8", "i16", "ui8", "ui32")
MOST_ELEMENTS = 40_000
SPECIAL = (math.nan, math.inf, -math.inf, -0.0)

# The last of the ways to run are not run on what they leave, nor judged by XLA for CPU.
ONCE = 2

# All passes, in an order in which each finds something; those that the driver does not have are left out.
PASSES = (
    "slimhlo-simplify", "slimhlo-scatter-to-update", "slimhlo-dus-to-pad", "slimhlo-coalesce-pads", "slimhlo-simplify",
    "slimhlo-reuse-gather-indices", "slimhlo-inplace-updates", "slimhlo-exchange-shards", "slimhlo-stream=target=xla-cpu chunk-bytes=96",
    "slimhlo-narrow-updates=least-bytes=1",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Value:
    """A value under construction."""

    name: str
    shape: Shape
    element: str
    bound: int | None = None
    """Finite values are whole numbers of at most this size; None: they are anything, and may be moved but not computed with."""

    @property
    def type(self) -> str:
        return tensor(self.shape, self.element)

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclasses.dataclass(frozen=True)
class Program:
    """A module with one function @main, its arguments, and how it is to be optimized."""

    name: str
    text: str
    arguments: tuple[np.ndarray, ...]
    way: int
    kinds: tuple[str, ...]


class Unfit(Exception):
    """This op does not fit what is there; another is tried."""


def listed(name: str, dims: list[int]) -> str:
    """One of an op's lists of dimensions, as MLIR writes it: not at all if it is empty."""
    return f"{name} = {dims}, " if dims else ""


def is_integer(element: str) -> bool:
    return element.lstrip("u").startswith("i") and element != "i1"


class Builder:
    """Writes one program, op by op."""

    def __init__(self, seed: str) -> None:
        self.rng = random.Random(seed)
        self.data = np.random.default_rng(self.rng.randrange(1 << 32))
        self.element = self.rng.choice(ELEMENTS)
        self.special = self.rng.random() < 0.5
        self.indent = "    "
        self.lines: list[str] = []
        self.inputs: list[tuple[Value, np.ndarray]] = []
        self.pool: list[Value] = []
        self.count = 0
        self.closed = False

    # --- values ---

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text: str, shape: Shape, element: str, bound: int | None) -> Value:
        value = Value(self.fresh(), shape, element, bound)
        self.lines.append(f"{self.indent}{value.name} = {text}")
        return value

    def argument(self, shape: Shape, element: str, values: np.ndarray | None = None) -> Value:
        if self.closed:
            raise Unfit
        bound: int | None = None
        if values is None:
            values, bound = self.values(shape, element)
        value = Value(f"%a{len(self.inputs)}", shape, element, bound)
        self.inputs.append((value, values))
        return value

    def values(self, shape: Shape, element: str) -> tuple[np.ndarray, int | None]:
        dtype = slices.DTYPES[element]
        if element == "i1":
            return self.data.integers(0, 2, shape).astype(np.bool_), None
        if is_integer(element):
            info = np.iinfo(dtype)
            if self.rng.random() < 0.5:
                return self.data.integers(max(info.min, -5), 6, shape).astype(dtype), None
            return self.data.integers(info.min, info.max, shape, dtype, endpoint=True), None
        values = self.data.integers(-3, 4, shape).astype(dtype)
        if self.special and values.size:
            flat = values.reshape(-1)
            for _ in range(max(1, values.size // 12)):
                flat[self.data.integers(flat.size)] = self.rng.choice(SPECIAL)
        return values, 3

    def shape(self) -> Shape:
        rank = self.rng.choice((0, 1, 1, 2, 2, 2, 3, 3, 4))
        sizes = [self.rng.choice((1, 2, 3, 4, 5, 7, 8, 12)) for _ in range(rank)]
        if sizes and self.rng.random() < 0.06:
            sizes[self.rng.randrange(rank)] = 0
        if sizes and rank < 4 and self.rng.random() < 0.5:
            sizes[self.rng.randrange(rank)] = self.rng.choice((self.rng.randint(30, 90), self.rng.randint(200, 500)))
        return tuple(sizes)

    def scalar(self, element: str) -> Value:
        """A constant: zeros of both signs, ones, infinities and NaNs."""
        bound: int | None = None
        if element == "i1":
            text = self.rng.choice(("true", "false"))
        elif is_integer(element):
            text = self.rng.choice(("0", "0", "1", "3") if element.startswith("u") else ("0", "0", "1", "-2"))
        else:
            bits = np.dtype(slices.DTYPES[element]).itemsize * 2
            nan = slices.SPECIAL_BITS[slices.DTYPES[element]]
            text = self.rng.choice(("0.0", "0.0", "0.0", "1.0", "-2.0"))
            if self.special and self.rng.random() < 0.4:
                text = self.rng.choice(("-0.0", f"0x{nan[2]:0{bits}X}", f"0x{nan[0]:0{bits}X}"))
            bound = 3
        return self.emit(f"stablehlo.constant dense<{text}> : {tensor((), element)}", (), element, bound)

    def splat(self, shape: Shape, element: str) -> Value:
        scalar = self.scalar(element)
        return self.broadcast(scalar, shape)

    def broadcast(self, scalar: Value, shape: Shape) -> Value:
        text = (
            f"stablehlo.broadcast_in_dim {scalar.name}, dims = [] : ({scalar.type}) -> {tensor(shape, scalar.element)}"
        )
        return self.emit(text, shape, scalar.element, scalar.bound)

    def any(self, least_rank: int = 0, numbers: bool = False) -> Value:
        """Something there, rather of late, or a new argument."""
        fitting = [
            value for value in self.pool if len(value.shape) >= least_rank and (not numbers or self.computes(value))
        ]
        if fitting and self.rng.random() < 0.85:
            return self.rng.choice(fitting[-4:] if self.rng.random() < 0.7 else fitting)
        if not self.closed:
            shape = self.shape()
            if len(shape) >= least_rank:
                return self.argument(shape, self.element)
        raise Unfit

    def like(self, shape: Shape, element: str) -> Value:
        """Something of this type: there already, an argument, or a constant."""
        there = [value for value in self.pool if (value.shape, value.element) == (shape, element)]
        chance = self.rng.random()
        if there and chance < 0.5:
            return self.rng.choice(there)
        if chance < 0.8 and not self.closed:
            return self.argument(shape, element)
        return self.splat(shape, element)

    @staticmethod
    def computes(value: Value) -> bool:
        return value.element not in EXACT or value.bound is not None

    def exactly(self, element: str, bound: int) -> int | None:
        """The bound of a result, which must be exact."""
        if element not in EXACT:
            return None
        if bound > EXACT[element]:
            raise Unfit
        return bound

    # --- moves ---

    def pad(self) -> Value:
        value = self.any(1)
        scalar = self.scalar(value.element)
        low, high, interior, shape = [], [], [], []
        for size in value.shape:
            low.append(self.rng.choice((0, 0, 1, 2, 5, -1)))
            high.append(self.rng.choice((0, 0, 1, 3, 40, -1)))
            interior.append(self.rng.choice((0, 0, 0, 0, 1, 2)))
            shape.append(low[-1] + high[-1] + size + max(0, size - 1) * interior[-1])
        if min(shape) < 0 or math.prod(shape) > MOST_ELEMENTS:
            raise Unfit
        text = (
            f"stablehlo.pad {value.name}, {scalar.name}, low = {low}, high = {high}, interior = {interior} : "
            f"({value.type}, {scalar.type}) -> {tensor(tuple(shape), value.element)}"
        )
        return self.emit(text, tuple(shape), value.element, self.wider(value, scalar))

    @staticmethod
    def wider(*values: Value) -> int | None:
        bounds = [value.bound for value in values]
        return None if any(bound is None for bound in bounds) else max(bounds)

    def slice_of(self, value: Value, spans: list[tuple[int, int, int]]) -> Value:
        shape = tuple(max(0, -(-(stop - start) // step)) for start, stop, step in spans)
        words = ", ".join(f"{start}:{stop}" + (f":{step}" if step > 1 else "") for start, stop, step in spans)
        text = f"stablehlo.slice {value.name} [{words}] : ({value.type}) -> {tensor(shape, value.element)}"
        return self.emit(text, shape, value.element, value.bound)

    def slice(self) -> Value:
        value = self.any(1)
        spans = []
        for size in value.shape:
            start = self.rng.choice((0, 0, self.rng.randint(0, size)))
            stop = self.rng.choice((size, self.rng.randint(start, size)))
            spans.append((start, stop, self.rng.choice((1, 1, 1, 2, 3))))
        return self.slice_of(value, spans)

    def concatenate(self) -> Value:
        first = self.any(1)
        dim = self.rng.randrange(len(first.shape))
        parts = [first]
        for _ in range(self.rng.randint(1, 3)):
            shape = list(first.shape)
            shape[dim] = self.rng.choice((0, 1, 2, first.shape[dim]))
            if self.rng.random() < 0.5:
                whole = self.like(first.shape, first.element)
                stop = self.rng.randint(0, whole.shape[dim])
                start = self.rng.randint(0, stop)
                parts.append(
                    self.slice_of(
                        whole, [(start, stop, 1) if d == dim else (0, n, 1) for d, n in enumerate(whole.shape)]
                    )
                )
            else:
                parts.append(self.rng.choice((self.splat, self.like))(tuple(shape), first.element))
        self.rng.shuffle(parts)
        shape = list(first.shape)
        shape[dim] = sum(part.shape[dim] for part in parts)
        if math.prod(shape) > MOST_ELEMENTS:
            raise Unfit
        names, kinds = ", ".join(part.name for part in parts), ", ".join(part.type for part in parts)
        text = f"stablehlo.concatenate {names}, dim = {dim} : ({kinds}) -> {tensor(tuple(shape), first.element)}"
        return self.emit(text, tuple(shape), first.element, self.wider(*parts))

    def reverse(self) -> Value:
        value = self.any(1)
        dims = sorted(self.rng.sample(range(len(value.shape)), self.rng.randint(1, len(value.shape))))
        return self.emit(
            f"stablehlo.reverse {value.name}, dims = {dims} : {value.type}", value.shape, value.element, value.bound
        )

    def transpose(self) -> Value:
        value = self.any(2)
        order = list(range(len(value.shape)))
        self.rng.shuffle(order)
        shape = tuple(value.shape[d] for d in order)
        text = f"stablehlo.transpose {value.name}, dims = {order} : ({value.type}) -> {tensor(shape, value.element)}"
        return self.emit(text, shape, value.element, value.bound)

    def reshape(self) -> Value:
        value = self.any()
        count = value.count
        choices: list[Shape] = [(count,), (1, *value.shape), (*value.shape, 1)]
        choices += [(factor, count // factor) for factor in (2, 3, 4) if count and count % factor == 0]
        if len(value.shape) >= 2:
            choices.append((value.shape[0] * value.shape[1], *value.shape[2:]))
        shape = self.rng.choice(choices)
        if len(shape) > 5:
            raise Unfit
        text = f"stablehlo.reshape {value.name} : ({value.type}) -> {tensor(shape, value.element)}"
        return self.emit(text, shape, value.element, value.bound)

    def broadcast_in_dim(self) -> Value:
        value = self.any()
        if len(value.shape) > 2:
            raise Unfit
        shape = list(value.shape)
        dims = list(range(len(shape)))
        for d, size in enumerate(shape):
            if size == 1:
                shape[d] = self.rng.choice((1, 4, 9))
        for _ in range(self.rng.randint(0 if shape else 1, 2)):
            at = self.rng.randint(0, len(shape))
            shape.insert(at, self.rng.choice((1, 2, 3, 16, 33)))
            dims = [d + (d >= at) for d in dims]
        if math.prod(shape) > MOST_ELEMENTS:
            raise Unfit
        text = f"stablehlo.broadcast_in_dim {value.name}, dims = {dims} : ({value.type}) -> {tensor(tuple(shape), value.element)}"
        return self.emit(text, tuple(shape), value.element, value.bound)

    # --- elementwise ---

    def binary(self) -> Value:
        left = self.any(numbers=True)
        right = self.like(left.shape, left.element)
        if not self.computes(right):
            raise Unfit
        if self.rng.random() < 0.5:
            left, right = right, left
        names = ["maximum", "minimum"]
        if left.element == "i1":
            names += ["and", "or", "xor"]
        else:
            names += ["add", "add", "subtract", "multiply"]
        if is_integer(left.element):
            names += ["and", "or", "xor"]
        name = self.rng.choice(names)
        bound = None
        if left.element in EXACT:
            wide = max(left.bound, right.bound)
            bound = self.exactly(left.element, {"add": left.bound + right.bound, "subtract": left.bound + right.bound,
                                                "multiply": left.bound * right.bound}.get(name, wide))  # fmt: skip
        return self.emit(f"stablehlo.{name} {left.name}, {right.name} : {left.type}", left.shape, left.element, bound)

    def unary(self) -> Value:
        value = self.any()
        if value.element == "i1":
            return self.emit(f"stablehlo.not {value.name} : {value.type}", value.shape, "i1", None)
        if value.element.startswith("u"):
            raise Unfit
        name = self.rng.choice(("negate", "abs"))
        return self.emit(f"stablehlo.{name} {value.name} : {value.type}", value.shape, value.element, value.bound)

    def iota(self, shape: Shape, element: str) -> Value:
        if not shape:
            raise Unfit
        dim = self.rng.randrange(len(shape))
        bound = self.exactly(element, max(0, shape[dim] - 1))
        return self.emit(f"stablehlo.iota dim = {dim} : {tensor(shape, element)}", shape, element, bound)

    def positions(self) -> Value:
        if self.element == "i1":
            raise Unfit
        return self.iota(self.shape(), self.element)

    def mask(self, shape: Shape) -> Value:
        """Where positions are on one side of a number, a pad of truth in falsehood, or anything."""
        chance = self.rng.random()
        if shape and chance < 0.5:
            iota = self.iota(shape, "i32")
            limit = self.emit(
                f"stablehlo.constant dense<{self.rng.randint(0, max(shape))}> : tensor<i32>", (), "i32", None
            )
            wide = self.broadcast(limit, shape)
            direction = self.rng.choice(("LT", "GE", "EQ", "NE"))
            text = f"stablehlo.compare {direction}, {iota.name}, {wide.name} : ({iota.type}, {wide.type}) -> {tensor(shape, 'i1')}"
            return self.emit(text, shape, "i1", None)
        if shape and chance < 0.7 and min(shape) >= 1:
            inner = tuple(self.rng.randint(1, size) for size in shape)
            low = [self.rng.randint(0, size - part) for size, part in zip(shape, inner, strict=True)]
            high = [size - part - at for size, part, at in zip(shape, inner, low, strict=True)]
            yes, no = (
                self.emit(f"stablehlo.constant dense<{word}> : tensor<i1>", (), "i1", None)
                for word in ("true", "false")
            )
            part = self.broadcast(yes, inner)
            text = (
                f"stablehlo.pad {part.name}, {no.name}, low = {low}, high = {high}, interior = {[0] * len(shape)} : "
                f"({part.type}, tensor<i1>) -> {tensor(shape, 'i1')}"
            )
            return self.emit(text, shape, "i1", None)
        return self.like(shape, "i1")

    def select(self) -> Value:
        yes = self.any()
        no = self.like(yes.shape, yes.element)
        mask = self.mask(yes.shape)
        if self.rng.random() < 0.5:
            yes, no = no, yes
        text = f"stablehlo.select {mask.name}, {yes.name}, {no.name} : {mask.type}, {yes.type}"
        return self.emit(text, yes.shape, yes.element, self.wider(yes, no))

    def convert(self) -> Value:
        value = self.any()
        bound: int | None = None
        if value.element in EXACT:
            element = self.rng.choice([name for name in EXACT if name != value.element])
            if value.bound is None:
                raise Unfit
            bound = self.exactly(element, value.bound)
        elif value.element == "i1" or value.element.endswith("i8"):
            element = self.rng.choice(("f32", "f64", "i32", "i64"))
            bound = 255 if element in EXACT else None
        else:
            element = self.rng.choice([name for name in INTEGERS if name != value.element])
        text = f"stablehlo.convert {value.name} : ({value.type}) -> {tensor(value.shape, element)}"
        return self.emit(text, value.shape, element, bound)

    # --- updates ---

    def starts(self, rank: int, sizes: Shape) -> list[Value]:
        """Start indices, all of one type: constants, or inputs, some of them negative or too large."""
        element = self.rng.choice(("i32", "i64", "i32", "ui32"))
        least = 0 if element.startswith("u") else -2
        numbers = [
            self.rng.choice((0, self.rng.randint(0, max(0, size)), self.rng.randint(least, size + 3))) for size in sizes
        ]
        if self.rng.random() < 0.6 or self.closed:
            return [self.emit(f"stablehlo.constant dense<{n}> : tensor<{element}>", (), element, None) for n in numbers]
        return [self.argument((), element, np.array(n, slices.DTYPES[element])) for n in numbers]

    def update_in(self, value: Value) -> Value:
        part = tuple(self.rng.choice((size, self.rng.randint(0, size), min(1, size))) for size in value.shape)
        if self.rng.random() < 0.4:
            # What is read from the array itself, as halos are filled.
            spans = []
            for size, width in zip(value.shape, part, strict=True):
                start = self.rng.randint(0, size - width)
                spans.append((start, start + width, 1))
            update = self.slice_of(value, spans)
        else:
            update = self.like(part, value.element)
        starts = self.starts(len(part), value.shape)
        operands = ", ".join(each.name for each in (value, update, *starts))
        kinds = ", ".join(each.type for each in (value, update, *starts))
        text = f"stablehlo.dynamic_update_slice {operands} : ({kinds}) -> {value.type}"
        return self.emit(text, value.shape, value.element, self.wider(value, update))

    def update(self) -> Value:
        value = self.any(1) if self.rng.random() < 0.6 else self.splat(self.any(1).shape, self.element)
        for _ in range(self.rng.randint(1, 3)):
            value = self.update_in(value)
        return value

    def dynamic_slice(self) -> Value:
        value = self.any(1)
        sizes = [self.rng.choice((size, self.rng.randint(0, size))) for size in value.shape]
        starts = self.starts(len(sizes), value.shape)
        names, kinds = (
            ", ".join(each.name for each in (value, *starts)),
            ", ".join(each.type for each in (value, *starts)),
        )
        text = f"stablehlo.dynamic_slice {names}, sizes = {sizes} : ({kinds}) -> {tensor(tuple(sizes), value.element)}"
        return self.emit(text, tuple(sizes), value.element, value.bound)

    # --- gathers and scatters ---

    def index(self, count: int, columns: int, size: int) -> Value:
        """count x columns indices, many out of range, with or without the steps that correct negative ones."""
        element = self.rng.choice(INDICES)
        info = np.iinfo(slices.DTYPES[element])
        low, high = (0, size - 1) if self.rng.random() < 0.4 else (-size - 2, 2 * size)
        low, high = max(low, info.min), min(max(high, 0), info.max)
        data = self.data.integers(low, high, (count, columns), endpoint=True).astype(slices.DTYPES[element])
        if data.size and self.rng.random() < 0.3:
            data.reshape(-1)[self.rng.randrange(data.size)] = self.rng.choice((info.min, info.max))
        given = self.argument((count, columns), element, data)
        if self.rng.random() < 0.4:
            return given
        parts = []
        for column in range(columns):
            part = self.slice_of(given, [(0, count, 1), (column, column + 1, 1)])
            if self.rng.random() < 0.7:
                zero = self.emit(f"stablehlo.constant dense<0> : {part.type}", part.shape, element, None)
                most = self.emit(
                    f"stablehlo.constant dense<{min(size, info.max)}> : {part.type}", part.shape, element, None
                )
                flags = tensor(part.shape, "i1")
                less = self.emit(f"stablehlo.compare LT, {part.name}, {zero.name} : ({part.type}, {part.type}) -> {flags}",
                                 part.shape, "i1", None)  # fmt: skip
                more = self.emit(f"stablehlo.add {part.name}, {most.name} : {part.type}", part.shape, element, None)
                part = self.emit(f"stablehlo.select {less.name}, {more.name}, {part.name} : {flags}, {part.type}",
                                 part.shape, element, None)  # fmt: skip
            parts.append(part)
        wide = self.rng.choice((element, "i64", "i32")) if element not in ("i64", "ui32") else element
        if wide != element:
            parts = [
                self.emit(f"stablehlo.convert {p.name} : ({p.type}) -> {tensor(p.shape, wide)}", p.shape, wide, None)
                for p in parts
            ]
        if columns == 1:
            return parts[0]
        names, kinds = ", ".join(part.name for part in parts), ", ".join(part.type for part in parts)
        text = f"stablehlo.concatenate {names}, dim = 1 : ({kinds}) -> {tensor((count, columns), wide)}"
        return self.emit(text, (count, columns), wide, None)

    def rows(self) -> tuple[Value, int, int]:
        """Something to index along its first dimensions: it, how many dimensions, and how many rows of indices."""
        value = self.any(1)
        columns = self.rng.randint(1, min(2, len(value.shape)))
        if 0 in value.shape:
            raise Unfit
        count = self.rng.choice((0, 1, 5, 17, 64, 150, 1000))
        if count * math.prod(value.shape[columns:]) > MOST_ELEMENTS:
            raise Unfit
        return value, columns, count

    def gather(self) -> Value:
        value, columns, count = self.rows()
        index = self.index(count, columns, min(value.shape[:columns]))
        rest = value.shape[columns:]
        shape = (count, *rest)
        indexed = list(range(columns))
        sizes = [1] * columns + list(rest)
        text = (
            f'"stablehlo.gather"({value.name}, {index.name}) <{{dimension_numbers = #stablehlo.gather<'
            + listed("offset_dims", list(range(1, len(shape))))
            + f"collapsed_slice_dims = {indexed}, start_index_map = {indexed}, index_vector_dim = 1>, "
            f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>}}> : ({value.type}, {index.type}) -> {tensor(shape, value.element)}"
        )
        return self.emit(text, shape, value.element, value.bound)

    def scatter(self) -> Value:
        value, columns, count = self.rows()
        index = self.index(count, columns, min(value.shape[:columns]))
        rest = value.shape[columns:]
        updates = self.like((count, *rest), value.element)
        names = ["maximum", "minimum", "set"]
        if value.element == "i1":
            names += ["and", "or"]
        elif self.computes(value) and self.computes(updates):
            names += ["add", "add", "add"]
        name = self.rng.choice(names)
        bound = self.wider(value, updates)
        if name == "add" and value.element in EXACT:
            bound = self.exactly(value.element, value.bound + max(1, count) * updates.bound)
        indexed = list(range(columns))
        one = tensor((), value.element)
        body = "    stablehlo.return %new : " + one
        if name != "set":
            body = f"    %both = stablehlo.{name} %old, %new : {one}\n{self.indent}    stablehlo.return %both : {one}"
        text = (
            f'"stablehlo.scatter"({value.name}, {index.name}, {updates.name}) <{{indices_are_sorted = false, '
            "scatter_dimension_numbers = #stablehlo.scatter<"
            + listed("update_window_dims", list(range(1, len(rest) + 1)))
            + f"inserted_window_dims = {indexed}, scatter_dims_to_operand_dims = {indexed}, index_vector_dim = 1>, "
            f"unique_indices = false}}> ({{\n{self.indent}  ^bb0(%old: {one}, %new: {one}):\n{self.indent}{body}\n{self.indent}}}) : "
            f"({value.type}, {index.type}, {updates.type}) -> {value.type}"
        )
        return self.emit(text, value.shape, value.element, bound)

    def window(self) -> Value:
        """A gather of one slice, or a scatter into one at places that are clamped, mostly to where it is within bounds."""
        value = self.any(1)
        rank = len(value.shape)
        if not all(value.shape):
            raise Unfit
        sizes = [self.rng.choice((1, self.rng.randint(1, size))) for size in value.shape]
        dims = self.rng.sample(range(rank), self.rng.randint(1, rank))
        collapsed = [d for d in range(rank) if sizes[d] == 1 and self.rng.random() < 0.5]
        kept = [size for d, size in enumerate(sizes) if d not in collapsed]
        index = self.index(1, len(dims), min(value.shape[d] for d in dims))
        shape = (1, *kept)
        offsets = list(range(1, len(shape)))
        if self.rng.random() < 0.5:
            numbers = listed("offset_dims", offsets) + listed("collapsed_slice_dims", collapsed)
            text = (
                f'"stablehlo.gather"({value.name}, {index.name}) <{{dimension_numbers = #stablehlo.gather<{numbers}'
                f"start_index_map = {dims}, index_vector_dim = 1>, slice_sizes = array<i64: {', '.join(map(str, sizes))}>}}> : "
                f"({value.type}, {index.type}) -> {tensor(shape, value.element)}"
            )
            return self.emit(text, shape, value.element, value.bound)
        most = np.iinfo(slices.DTYPES[index.element]).max
        high = [value.shape[d] - sizes[d] + self.rng.choice((0, 0, 0, 0, 1, -1)) for d in dims]
        limits = [[0] * len(dims), [min(max(0, limit), most) for limit in high]]
        low, up = (
            self.emit(f"stablehlo.constant dense<{[each]}> : {index.type}", index.shape, index.element, None)
            for each in limits
        )
        text = f"stablehlo.clamp {low.name}, {index.name}, {up.name} : {index.type}"
        at = self.emit(text, index.shape, index.element, None)
        updates = self.like(shape, value.element)
        one = tensor((), value.element)
        numbers = listed("update_window_dims", offsets) + listed("inserted_window_dims", collapsed)
        text = (
            f'"stablehlo.scatter"({value.name}, {at.name}, {updates.name}) <{{indices_are_sorted = true, '
            f"scatter_dimension_numbers = #stablehlo.scatter<{numbers}scatter_dims_to_operand_dims = {dims}, "
            f"index_vector_dim = 1>, unique_indices = true}}> ({{\n{self.indent}  ^bb0(%old: {one}, %new: {one}):\n"
            f"{self.indent}    stablehlo.return %new : {one}\n{self.indent}}}) : "
            f"({value.type}, {at.type}, {updates.type}) -> {value.type}"
        )
        return self.emit(text, value.shape, value.element, self.wider(value, updates))

    # --- contractions ---

    def identity(self, name: str, element: str) -> Value:
        if element == "i1":
            text = {"or": "false", "and": "true"}[name]
        elif is_integer(element):
            info = np.iinfo(slices.DTYPES[element])
            text = str({"add": 0, "or": 0, "maximum": info.min, "minimum": info.max}[name])
        else:
            bits = slices.SPECIAL_BITS[slices.DTYPES[element]]
            digits = np.dtype(slices.DTYPES[element]).itemsize * 2
            text = {"add": "0.0", "maximum": f"0x{bits[3]:0{digits}X}", "minimum": f"0x{bits[2]:0{digits}X}"}[name]
        return self.emit(f"stablehlo.constant dense<{text}> : {tensor((), element)}", (), element, 0)

    def reduce(self) -> Value:
        value = self.any(1)
        names = ["maximum", "minimum"] if value.element != "i1" else ["or", "and"]
        if value.element != "i1" and self.computes(value):
            names += ["add", "add", "add"]
        name = self.rng.choice(names)
        dims = sorted(self.rng.sample(range(len(value.shape)), self.rng.randint(1, len(value.shape))))
        shape = tuple(size for d, size in enumerate(value.shape) if d not in dims)
        bound = value.bound
        if name == "add" and value.element in EXACT:
            bound = self.exactly(value.element, value.bound * max(1, math.prod(value.shape[d] for d in dims)))
        start = self.identity(name, value.element)
        text = (
            f"stablehlo.reduce({value.name} init: {start.name}) applies stablehlo.{name} across dimensions = {dims} : "
            f"({value.type}, {start.type}) -> {tensor(shape, value.element)}"
        )
        return self.emit(text, shape, value.element, bound)

    def dot(self) -> Value:
        left = self.any(2, numbers=True)
        if left.element == "i1" or (is_integer(left.element) and left.element not in ("i32", "i64")):
            raise Unfit
        batch = len(left.shape) > 2 and self.rng.random() < 0.6
        inner = left.shape[-1]
        shape = (left.shape[0], inner, 3) if batch else (inner, self.rng.choice((1, 4, 20)))
        right = self.like(shape, left.element)
        if not self.computes(right):
            raise Unfit
        result = (*left.shape[:-1], shape[-1])
        if math.prod(result) > MOST_ELEMENTS:
            raise Unfit
        bound = None
        if left.element in EXACT:
            bound = self.exactly(left.element, left.bound * right.bound * max(1, inner))
        words = "batching_dims = [0] x [0], " if batch else ""
        contracting = f"contracting_dims = [{len(left.shape) - 1}] x [{1 if batch else 0}]"
        text = (
            f"stablehlo.dot_general {left.name}, {right.name}, {words}{contracting} : "
            f"({left.type}, {right.type}) -> {tensor(result, left.element)}"
        )
        return self.emit(text, result, left.element, bound)

    # --- loops ---

    def loop(self) -> Value:
        """A counted loop that carries an array through a few ops, and writes into it at the counter."""
        if self.closed:
            raise Unfit
        value = self.any(1)
        rounds = self.rng.randint(0, 3)
        number = lambda n: self.emit(f"stablehlo.constant dense<{n}> : tensor<i32>", (), "i32", None)
        zero, one, last = number(0), number(1), number(rounds)
        name, counter, carried = self.fresh(), self.fresh(), self.fresh()
        before, pool, indent = self.lines, self.pool, self.indent
        self.lines, self.indent, self.closed = [], indent + "  ", True
        # Only what does not grow goes on from round to round.
        current = Value(carried, value.shape, value.element, None)
        self.pool = [current]
        try:
            for _ in range(self.rng.randint(1, 3)):
                kind = self.rng.choice(("update", "select", "roll", "reverse", "write"))
                if kind == "update":
                    current = self.update_in(current)
                elif kind == "select":
                    other = self.splat(current.shape, current.element)
                    mask = self.mask(current.shape)
                    text = f"stablehlo.select {mask.name}, {current.name}, {other.name} : {mask.type}, {current.type}"
                    current = self.emit(text, current.shape, current.element, None)
                elif kind == "reverse":
                    text = f"stablehlo.reverse {current.name}, dims = [0] : {current.type}"
                    current = self.emit(text, current.shape, current.element, None)
                elif kind == "roll" and current.shape[0]:
                    cut = self.rng.randint(0, current.shape[0])
                    rest = [(0, size, 1) for size in current.shape[1:]]
                    high = self.slice_of(current, [(cut, current.shape[0], 1), *rest])
                    low = self.slice_of(current, [(0, cut, 1), *rest])
                    text = f"stablehlo.concatenate {high.name}, {low.name}, dim = 0 : ({high.type}, {low.type}) -> {current.type}"
                    current = self.emit(text, current.shape, current.element, None)
                elif kind == "write" and current.shape[0]:
                    row = self.slice_of(
                        current, [(current.shape[0] - 1, current.shape[0], 1)] + [(0, n, 1) for n in current.shape[1:]]
                    )
                    starts = [counter] + [zero.name] * (len(current.shape) - 1)
                    kinds = ", ".join([current.type, row.type] + ["tensor<i32>"] * len(starts))
                    text = f"stablehlo.dynamic_update_slice {', '.join([current.name, row.name, *starts])} : ({kinds}) -> {current.type}"
                    current = self.emit(text, current.shape, current.element, None)
            body = self.lines
        finally:
            self.lines, self.pool, self.indent, self.closed = before, pool, indent, False
        more, after = self.fresh(), self.fresh()
        self.lines += [
            f"{indent}{name}:2 = stablehlo.while({counter} = {zero.name}, {carried} = {value.name}) : tensor<i32>, {value.type}",
            f"{indent}cond {{",
            f"{indent}  {more} = stablehlo.compare LT, {counter}, {last.name} : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"{indent}  stablehlo.return {more} : tensor<i1>",
            f"{indent}}} do {{",
            *body,
            f"{indent}  {after} = stablehlo.add {counter}, {one.name} : tensor<i32>",
            f"{indent}  stablehlo.return {after}, {current.name} : tensor<i32>, {value.type}",
            f"{indent}}}",
        ]
        bound = None if value.bound is None else max(value.bound, 3)
        return Value(f"{name}#1", value.shape, value.element, bound)

    # --- whole programs ---

    def build(self, name: str, way: int) -> Program:
        kinds: dict[Callable[[], Value], float] = {
            self.pad: 4, self.slice: 4, self.concatenate: 3, self.reverse: 0.7, self.transpose: 1.5, self.reshape: 2,
            self.broadcast_in_dim: 2, self.binary: 5, self.unary: 1, self.positions: 0.5, self.select: 3, self.convert: 1.5,
            self.update: 4, self.dynamic_slice: 1, self.gather: 2.5, self.scatter: 2.5, self.reduce: 3, self.dot: 1.5,
            self.loop: 1, self.window: 2,
        }  # fmt: skip
        used: list[str] = []
        wanted = self.rng.randint(3, 14)
        for _ in range(wanted * 6):
            if len(used) == wanted:
                break
            make = self.rng.choices(list(kinds), list(kinds.values()))[0]
            lines, inputs = len(self.lines), len(self.inputs)
            try:
                value = make()
            except Unfit:
                del self.lines[lines:]
                del self.inputs[inputs:]
                continue
            if value.count > MOST_ELEMENTS:
                del self.lines[lines:]
                del self.inputs[inputs:]
                continue
            self.pool.append(value)
            used.append(make.__name__)
        some = (
            self.rng.sample(self.pool[:-1], min(len(self.pool) - 1, self.rng.choice((0, 0, 1, 2)))) if self.pool else []
        )
        results = [*self.pool[-1:], *some]
        inputs = ", ".join(f"{value.name}: {value.type}" for value, _ in self.inputs)
        kinds_text = ", ".join(value.type for value in results)
        body = "\n".join(self.lines)
        text = (
            f"module {{\n  func.func @main({inputs}) -> ({kinds_text}) {{\n{body}\n"
            f"    return {', '.join(value.name for value in results)} : {kinds_text}\n  }}\n}}\n"
        )
        return Program(name, text, tuple(data for _, data in self.inputs), way, tuple(used))


def generate(count: int, seed: int, ways: int) -> list[Program]:
    """`count` programs, the same ones for the same seed."""
    return [Builder(f"{seed} {number}").build(f"program {seed}/{number}", number % ways) for number in range(count)]


# --- running them -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and what became of it."""

    program: Program
    after: str


XLAS_OWN = "XLA's own"


def same_by_definition(case: Case) -> bool:
    """Whether a difference is XLA's own."""
    import execute
    import jaxlib_ir

    program = case.program
    return execute.same_by_definition(program.text, case.after, program.arguments, jaxlib_ir.make_context())


def execute_both(cases: list[Case]) -> list[str]:
    """Per case, what is wrong, or "", or XLAS_OWN if it is XLA whose arithmetic differs."""
    import execute
    import jaxlib_ir

    context = jaxlib_ir.make_context()
    wrong = [
        f"jaxlib refuses the result: {no}" if (no := jaxlib_ir.refusal(case.after, context)) else "" for case in cases
    ]
    good = [case for case, reason in zip(cases, wrong, strict=True) if not reason]
    arguments = [case.program.arguments for case in good]
    payloads = [False] * len(good)
    before = execute.run_xla([case.program.text for case in good], arguments, payloads)
    after = execute.run_xla([case.after for case in good], arguments, payloads)
    found = iter(zip(before, after, strict=True))
    for number, reason in enumerate(wrong):
        if reason:
            continue
        want, have = next(found)
        if differ := [place for place, (one, other) in enumerate(zip(want, have, strict=True)) if one != other]:
            first = differ[0]
            if same_by_definition(cases[number]):
                wrong[number] = XLAS_OWN
                continue
            wrong[number] = f"result {first} of {len(want)}: {want[first][:240]!r} became {have[first][:240]!r}"
    return wrong


def weigh(case: Case) -> str:
    """What is wrong with the memory that a case takes under XLA, or ""."""
    import referee

    before, after = referee.measure("", case.program.text), referee.measure("", case.after)
    worse = needs_more(before.total, after.total)
    return f"XLA needs {after.total} bytes instead of {before.total}" if worse else ""


def shape_of(text: str) -> str:
    return re.sub(r"%\w+|\s+", " ", text)


def ways_of(opt: str, pipeline: str) -> list[list[str]]:
    """The pipeline, the pipeline with small chunks; then, run once, the pipeline for a GPU with small chunks whatever time they take, and all
    passes in a row."""
    known = subprocess.run([opt, "--help"], capture_output=True, text=True, check=True).stdout
    passes = [f"--{name}" for name in PASSES if f"--{name.partition('=')[0]} " in known]
    ways = [pipeline.split()]
    if pipeline == PIPELINE:
        ways.append([f"{pipeline} chunk-bytes=200"])
    gpu = ["--slimhlo-optimize=target=xla-gpu max-slowdown=1000000 chunk-bytes=200"]
    return [*ways, gpu, ["--canonicalize", "--cse", *passes, "--canonicalize", "--cse"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--pipeline", default=PIPELINE, help="flags of the default pipeline (default: %(default)s)")
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="programs in all (default: 2000)")
    parser.add_argument("--memory", type=int, metavar="N", help="programs compiled for memory (default: a tenth)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the programs that fail there")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))

    started = time.monotonic()
    driver = Driver(args.opt).ready()
    ways = ways_of(args.opt, args.pipeline)
    programs = generate(args.count, args.seed, len(ways))
    failures: list[tuple[str, str, str, str]] = []
    changed: list[Case] = []
    kinds: collections.Counter[str] = collections.Counter()
    for way, flags in enumerate(ways):
        some = [program for program in programs if program.way == way]
        texts = [program.text for program in some]
        plain, made = driver.run(texts, ["--canonicalize", "--cse"]), driver.run(texts, flags)
        results = [outcome.output or "" for outcome in made]
        repeated = way < len(ways) - ONCE
        again, same = (driver.run(results, flags), driver.run(results)) if repeated else (made, made)
        for program, one, two, twice, printed in zip(some, plain, made, again, same, strict=True):
            if one.output is None or two.output is None:
                outcome = one if one.output is None else two
                failures.append(
                    (program.name, f"the driver fails: {outcome.crash or outcome.message}", program.text, "")
                )
                continue
            if twice.output != printed.output:
                failures.append(
                    (
                        program.name,
                        f"a second run of {' '.join(flags)} changes the result",
                        two.output,
                        twice.output or "",
                    )
                )
            if shape_of(one.output) != shape_of(two.output):
                changed.append(Case(program, two.output))
                kinds.update(set(program.kinds))
    spans = [changed[i : i + SPAN] for i in range(0, len(changed), SPAN)]
    executed = own = 0
    for span, found in zip(spans, map_items(execute_both, spans, seconds=SECONDS_PER_SPAN), strict=True):
        if isinstance(found, Lost):
            # Something in the span ends the process; each on its own says which.
            alone = map_items(execute_both, [[case] for case in span], seconds=SECONDS_PER_SPAN)
            found = [each.reason if isinstance(each, Lost) else each[0] for each in alone]
        executed += len(span)
        for case, wrong in zip(span, found, strict=True):
            if wrong == XLAS_OWN:
                own += 1
            elif wrong:
                failures.append((case.program.name, wrong, case.program.text, case.after))
    judged = [case for case in changed if case.program.way < len(ways) - ONCE]
    weighed = judged[: args.count // 10 if args.memory is None else args.memory]
    for case, wrong in zip(weighed, map_items(weigh, weighed), strict=True):
        reason = wrong.reason if isinstance(wrong, Lost) else wrong
        if reason:
            failures.append((case.program.name, reason, case.program.text, case.after))

    for name, wrong, before, after in failures:
        print(f"{name}: {wrong}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            path = args.dump / re.sub(r"\W", "_", name)
            path.with_suffix(".before.mlir").write_text(before)
            path.with_suffix(".after.mlir").write_text(after)
    print(
        "programs changed, by what is in them: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
    )
    bad = len({name for name, *_ in failures})
    share = len(changed) / max(1, len(programs))
    if share < CHANGED_SHARE:
        bad += 1
        print(f"too few programs change: {share:.0%}, at least {CHANGED_SHARE:.0%} expected")
    print(
        f"{len(programs) - bad} passed, {bad} failed: {len(changed)} changed ({share:.0%}), {executed} executed before and after, {own} "
        "of them other bits only by XLA's own arithmetic, "
        f"{len(weighed)} weighed; {time.monotonic() - started:.0f} s"
    )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
