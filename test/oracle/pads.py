# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Passes that merge and simplify pads, concatenates, slices and the like keep every bit and take no more memory.

    python test/oracle/pads.py --opt target/debug/slimhlo-opt --count 3000 --seed 1

Generates programs around pads, concatenates, slices, selects by masks, elementwise ops, reductions and dots of all
element types, some with empty tensors, runs the pipeline over them, and executes each changed program before and after:
in XLA for CPU and, where it can, in the StableHLO interpreter. What the pipeline makes is compared with what MLIR's own
canonicalization makes, so that it is the passes that are tested. Results must be the same bit by bit (see differential.py
for NaN payloads). Sums whose order may change are of numbers whose sums are exact in any order. The same programs with
a long last dimension are compiled before and after, and may not need more than 1% + 4 KiB more memory. The last line
counts checks passed and failed; a second run of the pipeline over its own output that changes anything fails as well.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import math
import multiprocessing
import pathlib
import re
import sys
import time
from collections.abc import Callable

import numpy as np

import differential
import slices
from opt import Driver, needs_more, with_values
from slices import Shape, is_complex, is_float

# Folding and the order of operands are not what is tested; XLA makes x of x + 0.0 once it sees the zero.
BASELINE = "--canonicalize"
PIPELINE = "--slimhlo-simplify --slimhlo-coalesce-pads"
TAIL = 2048
CHANGED_SHARE = 0.3
EXECUTED_SHARE = 0.9
NARROW = ("bf16", "f16", "f8E4M3FN", "f8E5M2")
MOVES_PAYLOADS = differential.keeps_payloads
LEAVES = ("argument", "argument", "splat", "iota")


class Builder(slices.Builder):
    """Writes one program, from its results to its arguments."""

    def __init__(self, seed: str, tail: int = 0) -> None:
        super().__init__(seed)
        self.tail = tail
        self.exact_sums = self.rng.random() < 0.5
        # Which of two NaNs an op returns is not for programs to say: with several kinds of NaN numbers only move.
        self.payloads = self.rng.random() < 0.25
        self.shared = [self.scalar(), self.scalar()]
        if not is_complex(self.element) and self.rng.random() < 0.6:
            zero = "false" if self.element == "i1" else "0.0" if is_float(self.element) else "0"
            self.shared[0] = self.op(f"stablehlo.constant dense<{zero}> : {self.scalar_type()}")
            self.shared[1] = self.shared[0] if self.rng.random() < 0.7 else self.shared[1]

    def literal(self, element: str) -> str:
        text = super().literal(element)
        if not text.startswith("0x") or getattr(self, "payloads", False):
            return text
        return self.nan(element)

    def nan(self, element: str) -> str:
        array = np.array([np.nan]).astype(slices.DTYPES[element])
        return "0x" + array.tobytes()[::-1].hex().upper()

    # --- types ---

    def scalar_type(self, element: str | None = None) -> str:
        return f"tensor<{element or self.element}>"

    def type(self, shape: Shape, element: str | None = None) -> str:
        return slices.tensor((*shape, self.tail) if self.tail else shape, element or self.element)

    def list(self, values: list[int], last: int = 0) -> str:
        return str([*values, last] if self.tail else values)

    def spans(self, spans: list[tuple[int, int, int]]) -> str:
        whole = [*spans, (0, self.tail, 1)] if self.tail else spans
        return ", ".join(f"{start}:{stop}:{step}" for start, stop, step in whole)

    def array(self, shape: Shape, element: str | None = None) -> str:
        element = element or self.element
        full = (*shape, self.tail) if self.tail else shape
        if self.tail:  # compiled only
            return self.argument(full, element, np.zeros((), slices.DTYPES[element]))
        data = slices.random_array(self.data, full, element)
        if self.exact_sums and is_float(element):
            whole = self.data.integers(-3, 4, full).astype(data.dtype)
            odd = np.array([np.nan, np.inf, -0.0, -0.0, -0.0]).astype(data.dtype)[self.data.integers(0, 5, full)]
            data = np.where(self.data.random(full) < 0.15, odd, whole).astype(data.dtype)
        if is_float(element) and not self.payloads:
            data[np.isnan(data.astype(np.float64))] = np.nan
        return self.argument(full, element, data)

    def pick_scalar(self) -> str:
        return self.rng.choice(self.shared) if self.rng.random() < 0.85 else self.scalar()

    # --- values of a shape ---

    def value(self, shape: Shape, depth: int) -> str:
        one_nan = not (self.payloads and is_float(self.element))
        kinds: dict[Callable[[Shape, int], str], float] = {
            self.concatenated: 4 if shape else 0,
            self.padded: 5 if shape else 0,
            self.sliced: 3 if shape else 0,
            self.selected: 2,
            self.mapped: 2,
            self.combined: 4 if one_nan else 0,
            self.pads_combined: 3 if shape and one_nan else 0,
            self.halves_combined: 2 if shape and one_nan else 0,
            self.moved: 1.5,
            self.converted: 1,
            self.indexed: 1,
            self.reduced: 2 if self.can_sum() else 0,
            self.multiplied: 2 if len(shape) == 2 and self.can_sum() and self.element != "i1" else 0,
        }
        if depth <= 0:
            return self.leaf(shape)
        return self.rng.choices(list(kinds), list(kinds.values()))[0](shape, depth - 1)

    def can_sum(self) -> bool:
        if is_complex(self.element) or self.element in NARROW or self.element.endswith("i4"):
            return False
        return not is_float(self.element) or self.exact_sums and not self.payloads

    def leaf(self, shape: Shape) -> str:
        kind = self.rng.choice(LEAVES)
        if kind == "iota" and shape and (self.element.startswith(("i", "ui", "f32", "f64")) and self.element != "i1"):
            dim = self.rng.randrange(len(shape))
            return self.op(f"stablehlo.iota dim = {dim} : {self.type(shape)}")
        return self.filled(shape) if kind == "splat" else self.array(shape)

    def filled(self, shape: Shape) -> str:
        """One scalar everywhere."""
        if self.rng.random() < 0.2 and not self.tail:
            return self.splat(shape)
        scalar = self.pick_scalar()
        return self.op(
            f"stablehlo.broadcast_in_dim {scalar}, dims = [] : ({self.scalar_type()}) -> {self.type(shape)}"
        )

    def concatenated(self, shape: Shape, depth: int) -> str:
        dim = self.rng.randrange(len(shape))
        cuts = sorted(self.rng.randint(0, shape[dim]) for _ in range(self.rng.randint(1, 4)))
        sizes = np.diff([0, *cuts, shape[dim]]).tolist()
        names, types = [], []
        whole = self.value(shape, 0) if self.rng.random() < 0.2 else None
        at = 0
        for size in sizes:
            part = (*shape[:dim], size, *shape[dim + 1 :])
            if whole:
                spans = [(at, at + size, 1) if d == dim else (0, n, 1) for d, n in enumerate(shape)]
                names.append(self.slice_op(whole, shape, spans, part))
            elif self.rng.random() < 0.55:
                names.append(self.filled(part))
            else:
                names.append(self.value(part, depth))
            types.append(self.type(part))
            at += size
        return self.op(f"stablehlo.concatenate {', '.join(names)}, dim = {dim} : ({', '.join(types)}) -> {self.type(shape)}")

    def geometry(self, shape: Shape, negative: bool) -> tuple[list[int], list[int], list[int], Shape]:
        """Low, high, interior padding, and the operand's shape."""
        low, high, interior, source = [], [], [], []
        for size in shape:
            inner = self.rng.choice((0, 0, 0, 1, 2)) if size else 0
            part = self.rng.randint(1 if size and not negative else 0, size + (2 if negative else 0))
            while not negative and part + max(0, part - 1) * inner > size:
                inner, part = (inner - 1, part) if inner else (0, part - 1)
            spread = part + max(0, part - 1) * inner
            before = self.rng.randint(-2 if spread > 1 and negative else 0, max(0, size - spread))
            after = size - spread - before
            if part + before < 0 or part + after < 0:
                before, after = 0, size - spread
            low.append(before)
            high.append(after)
            interior.append(inner)
            source.append(part)
        return low, high, interior, tuple(source)

    def pad_op(self, value: str, geometry: tuple[list[int], list[int], list[int], Shape], shape: Shape, scalar: str) -> str:
        low, high, interior, source = geometry
        return self.op(
            f"stablehlo.pad {value}, {scalar}, low = {self.list(low)}, high = {self.list(high)}, "
            f"interior = {self.list(interior)} : ({self.type(source)}, {self.scalar_type()}) -> {self.type(shape)}"
        )

    def padded(self, shape: Shape, depth: int) -> str:
        geometry = self.geometry(shape, self.rng.random() < 0.3)
        return self.pad_op(self.value(geometry[3], depth), geometry, shape, self.pick_scalar())

    def slice_op(self, value: str, shape: Shape, spans: list[tuple[int, int, int]], result: Shape) -> str:
        return self.op(f"stablehlo.slice {value} [{self.spans(spans)}] : ({self.type(shape)}) -> {self.type(result)}")

    def sliced(self, shape: Shape, depth: int) -> str:
        spans, source = [], []
        for size in shape:
            step = self.rng.choice((1, 1, 1, 2, 3))
            start = self.rng.randint(0, 3)
            stop = start + (size - 1) * step + 1 if size else start
            source.append(stop + self.rng.randint(0, 3))
            spans.append((start, stop, step))
        return self.slice_op(self.value(tuple(source), depth), tuple(source), spans, shape)

    def mask(self, shape: Shape) -> str:
        """Bools that hold in a box, or anywhere."""
        kind = self.rng.choice(("iota", "iota", "pad", "argument", "two"))
        of = self.type(shape, "i1")
        if kind == "two":
            name = self.rng.choice(("and", "or", "xor"))
            return self.op(f"stablehlo.{name} {self.mask(shape)}, {self.mask(shape)} : {of}")
        if kind == "iota" and shape:
            dim = self.rng.randrange(len(shape))
            element = self.rng.choice(("i32", "ui8", "i64"))
            count = self.op(f"stablehlo.iota dim = {dim} : {self.type(shape, element)}")
            limit = self.rng.randint(0, shape[dim] + 1)
            bound = self.op(f"stablehlo.constant dense<{limit}> : {self.type(shape, element)}")
            direction = self.rng.choice(("LT", "LE", "GT", "GE", "EQ", "NE"))
            pair = (count, bound) if self.rng.random() < 0.7 else (bound, count)
            types = f"({self.type(shape, element)}, {self.type(shape, element)}) -> {of}"
            kind = "UNSIGNED" if element.startswith("u") else "SIGNED"
            mask = self.op(f"stablehlo.compare {direction}, {pair[0]}, {pair[1]}, {kind} : {types}")
            return self.op(f"stablehlo.not {mask} : {of}") if self.rng.random() < 0.2 else mask
        if kind == "pad" and shape:
            low, high, _, source = self.geometry(shape, False)
            low = [size - part - min(after, size - part) for size, part, after in zip(shape, source, high, strict=True)]
            high = [size - part - before for size, part, before in zip(shape, source, low, strict=True)]
            first, second = self.rng.choice((("true", "false"), ("false", "true"), ("true", "true")))
            inside = self.op(f"stablehlo.constant dense<{first}> : {self.type(source, 'i1')}")
            outside = self.op(f"stablehlo.constant dense<{second}> : tensor<i1>")
            return self.op(
                f"stablehlo.pad {inside}, {outside}, low = {self.list(low)}, high = {self.list(high)}, "
                f"interior = {self.list([0] * len(shape))} : ({self.type(source, 'i1')}, tensor<i1>) -> {of}"
            )
        return self.array(shape, "i1")

    def selected(self, shape: Shape, depth: int) -> str:
        choices = [self.value(shape, depth), self.filled(shape)]
        if self.rng.random() < 0.2:
            choices[1] = self.value(shape, depth)
        self.rng.shuffle(choices)
        mask = self.mask(shape)
        return self.op(
            f"stablehlo.select {mask}, {choices[0]}, {choices[1]} : {self.type(shape, 'i1')}, {self.type(shape)}"
        )

    def mapped(self, shape: Shape, depth: int) -> str:
        name = "not" if self.element == "i1" else "negate"
        if not is_complex(self.element) and self.element != "i1" and not self.element.startswith("u"):
            name = self.rng.choice(("negate", "abs"))
        return self.op(f"stablehlo.{name} {self.value(shape, depth)} : {self.type(shape)}")

    def binary_names(self) -> tuple[str, ...]:
        if self.element == "i1":
            return ("and", "or", "xor")
        if is_complex(self.element):
            return ("add", "subtract")
        if is_float(self.element):
            narrow = self.element in NARROW
            return ("maximum", "minimum") if narrow else ("add", "add", "subtract", "maximum", "minimum")
        return ("add", "add", "subtract", "multiply", "maximum", "minimum", "xor", "or", "and")

    def combine(self, left: str, right: str, shape: Shape) -> str:
        return self.op(f"stablehlo.{self.rng.choice(self.binary_names())} {left}, {right} : {self.type(shape)}")

    def combined(self, shape: Shape, depth: int) -> str:
        left = self.value(shape, depth)
        right = self.filled(shape) if self.rng.random() < 0.5 else self.value(shape, depth)
        return self.combine(*self.rng.sample((left, right), 2), shape)

    def pads_combined(self, shape: Shape, depth: int) -> str:
        """An op on pads alike."""
        geometry = self.geometry(shape, False)
        pads = [
            self.pad_op(self.value(geometry[3], depth - 1), geometry, shape, self.pick_scalar()) for _ in range(2)
        ]
        return self.combine(pads[0], pads[1], shape)

    def halves_combined(self, shape: Shape, depth: int) -> str:
        """An op on pads of neighbours."""
        dim = self.rng.randrange(len(shape))
        cuts = sorted(self.rng.randint(0, shape[dim]) for _ in range(3))
        pads = []
        zeros = [0] * len(shape)
        for low, high in ((cuts[0], cuts[1]), (cuts[1], cuts[2])):
            part = (*shape[:dim], high - low, *shape[dim + 1 :])
            edges = [[amount if d == dim else 0 for d in range(len(shape))] for amount in (low, shape[dim] - high)]
            value = self.value(part, depth - 1)
            pads.append(self.pad_op(value, (edges[0], edges[1], zeros, part), shape, self.shared[0]))
        self.rng.shuffle(pads)
        return self.combine(pads[0], pads[1], shape)

    def moved(self, shape: Shape, depth: int) -> str:
        """Reverse, transpose, reshape, broadcast."""
        kind = self.rng.choice(("reverse", "transpose", "reshape", "broadcast"))
        rank = len(shape)
        result = self.type(shape)
        if kind == "reverse" and rank:
            dims = self.rng.sample(range(rank), self.rng.randint(1, rank))
            return self.op(f"stablehlo.reverse {self.value(shape, depth)}, dims = {dims} : {result}")
        if kind == "transpose" and rank:
            permutation = self.rng.sample(range(rank), rank)
            source = [0] * rank
            for place, dim in enumerate(permutation):
                source[dim] = shape[place]
            value = self.value(tuple(source), depth)
            dims = self.list(permutation, rank)
            return self.op(f"stablehlo.transpose {value}, dims = {dims} : ({self.type(tuple(source))}) -> {result}")
        if kind == "reshape":
            flat = (math.prod(shape),) if self.rng.random() < 0.5 else (*shape, 1)
            value = self.value(flat, depth)
            return self.op(f"stablehlo.reshape {value} : ({self.type(flat)}) -> {result}")
        kept = sorted(self.rng.sample(range(rank), self.rng.randint(0, rank)))
        source = tuple(1 if self.rng.random() < 0.2 else shape[dim] for dim in kept)
        value = self.value(source, depth)
        dims = self.list(kept, rank)
        return self.op(f"stablehlo.broadcast_in_dim {value}, dims = {dims} : ({self.type(source)}) -> {result}")

    def converted(self, shape: Shape, depth: int) -> str:
        """To a type that holds all of this one, and back."""
        wider = {"f32": "f64", "bf16": "f32", "f16": "f32", "i1": "i32", "i8": "i32", "i16": "f32", "i32": "i64", "ui8": "i16",
                 "ui16": "ui32", "ui32": "i64"}.get(self.element)  # fmt: skip
        value = self.value(shape, depth)
        if wider is None:
            return value
        there = self.op(f"stablehlo.convert {value} : ({self.type(shape)}) -> {self.type(shape, wider)}")
        return self.op(f"stablehlo.convert {there} : ({self.type(shape, wider)}) -> {self.type(shape)}")

    def indexed(self, shape: Shape, depth: int) -> str:
        """dynamic_slice, dynamic_update_slice, gather, at constants in and out of bounds."""
        larger = tuple(size + self.rng.randint(0, 3) for size in shape)
        starts = [self.rng.randint(-2, large) for large in larger]
        constant = lambda value: self.op(f"stablehlo.constant dense<{value}> : tensor<i32>")
        kind = self.rng.choice(("slice", "update", "gather"))
        if kind == "gather":
            value = self.value(larger, depth)
            rank = len(shape)
            at = self.op(f"stablehlo.constant dense<{starts if starts else ''}> : tensor<{rank}xi32>")
            offsets = list(range(rank + bool(self.tail)))
            sizes = ", ".join(str(size) for size in ((*shape, self.tail) if self.tail else shape))
            numbers = f"#stablehlo.gather<offset_dims = {offsets}, start_index_map = {list(range(rank))}, index_vector_dim = 0>"
            return self.op(
                f'"stablehlo.gather"({value}, {at}) <{{dimension_numbers = {numbers}, '
                f"slice_sizes = array<i64{': ' + sizes if sizes else ''}>}}> : "
                f"({self.type(larger)}, tensor<{rank}xi32>) -> {self.type(shape)}"
            )
        if kind == "slice":
            value = self.value(larger, depth)
            names = [constant(start) for start in starts] + ([constant(0)] if self.tail else [])
            types = ", ".join([self.type(larger), *["tensor<i32>"] * len(names)])
            return self.op(
                f"stablehlo.dynamic_slice {', '.join([value, *names])}, sizes = {self.list(list(shape), self.tail)} : "
                f"({types}) -> {self.type(shape)}"
            )
        part = tuple(self.rng.randint(0 if size < 2 else 1, size) for size in shape)
        names = [self.value(shape, depth), self.value(part, depth - 1)]
        names += [constant(start) for start in starts] + ([constant(0)] if self.tail else [])
        types = ", ".join([self.type(shape), self.type(part), *["tensor<i32>"] * (len(names) - 2)])
        return self.op(f"stablehlo.dynamic_update_slice {', '.join(names)} : ({types}) -> {self.type(shape)}")

    def reduced(self, shape: Shape, depth: int) -> str:
        dim = self.rng.randint(0, len(shape))
        size = self.rng.choice((1, 1, 3, 5))
        source = (*shape[:dim], size, *shape[dim:])
        if self.element == "i1":
            name, start = self.rng.choice((("and", "true"), ("or", "false")))
        elif is_float(self.element):
            bits = np.dtype(slices.DTYPES[self.element]).itemsize * 8
            infinity = {32: "0xFF800000", 64: "0xFFF0000000000000"}[bits]
            name, start = self.rng.choice((("add", "0.0"), ("add", "-0.0"), ("maximum", infinity), ("maximum", "0.0")))
        else:
            name, start = self.rng.choice((("add", "0"), ("multiply", "1"), ("maximum", "0"), ("add", "1")))
        initial = self.op(f"stablehlo.constant dense<{start}> : {self.scalar_type()}")
        value = self.padded(source, depth) if self.rng.random() < 0.6 else self.value(source, depth)
        return self.op(
            f"stablehlo.reduce({value} init: {initial}) applies stablehlo.{name} across dimensions = [{dim}] : "
            f"({self.type(source)}, {self.scalar_type()}) -> {self.type(shape)}"
        )

    def multiplied(self, shape: Shape, depth: int) -> str:
        """A dot of two values padded alike along what is summed over, or not."""
        inner = self.rng.choice((3, 5, 6))
        part = self.rng.randint(1, inner - 1)
        low = self.rng.randint(0, inner - part)
        edges = ([low, 0], [inner - part - low, 0], [0, 0])
        sides = []
        for other, alike in ((shape[0], True), (shape[1], self.rng.random() < 0.8)):
            source: Shape = (part, other)
            whole: Shape = (inner, other)
            value = self.array(source)
            geometry = (edges[0], edges[1], edges[2], source)
            sides.append((self.pad_op(value, geometry, whole, self.shared[0]) if alike else self.array(whole), whole))
        batch = ([2], "batching_dims = [2] x [2], ") if self.tail else ([], "")
        result = self.type(shape)
        product = slices.tensor((self.tail, *shape), self.element) if self.tail else result
        value = self.op(
            f"stablehlo.dot_general {sides[0][0]}, {sides[1][0]}, {batch[1]}contracting_dims = [0] x [0] : "
            f"({self.type(sides[0][1])}, {self.type(sides[1][1])}) -> {product}"
        )
        if not self.tail:
            return value
        return self.op(f"stablehlo.transpose {value}, dims = [1, 2, 0] : ({product}) -> {result}")

    # --- whole programs ---

    def build(self, name: str) -> slices.Program:
        results = []
        for _ in range(self.rng.choice((1, 1, 2))):
            rank = self.rng.choices((0, 1, 2, 3), (1, 5, 7, 3))[0]
            shape = tuple(self.rng.choices((0, 1, 2, 3, 4, 5, 7), (0.2, 1, 3, 4, 4, 3, 2))[0] for _ in range(rank))
            results.append((self.value(shape, self.rng.randint(1, 4)), shape))
        types = [self.type(shape) for _, shape in results]
        inputs = ", ".join(f"{argument}: {kind}" for argument, kind, _ in self.arguments)
        text = (
            f"module {{\n  func.func @main({inputs}) -> ({', '.join(types)}) {{\n" + "\n".join(self.lines) + "\n"
            f"    return {', '.join(value for value, _ in results)} : {', '.join(types)}\n  }}\n}}\n"
        )
        return slices.Program(name, self.element, text, tuple(data for *_, data in self.arguments), self.huge_start)


def keeps_payloads(program: slices.Program) -> bool:
    """Whether the payloads of a program's NaNs count: where numbers only move."""
    return MOVES_PAYLOADS(program) and not re.search(
        r"stablehlo\.(reduce|dot_general|convert)\b", program.text
    )


@dataclasses.dataclass(frozen=True)
class Memory:
    """A program whose memory grew."""

    name: str
    before: int
    after: int


def measure(pairs: list[tuple[str, str, str]]) -> tuple[list[Memory], int, int, list[str]]:
    """Those of (name, before, after) that need more memory after; how many shrank, how many were compiled, and errors."""
    import referee

    grown, shrunk, compiled, errors = [], 0, 0, []
    for name, before, after in pairs:
        try:
            had, has = (referee.measure(name, text).total for text in (before, after))
        except Exception as error:  # XLA lacks some types; counted and printed
            errors.append(differential.reason_of(error))
            continue
        compiled += 1
        shrunk += has < had
        if needs_more(had, has):
            grown.append(Memory(name, had, has))
    return grown, shrunk, compiled, errors


def compare(cases: list[differential.Case]) -> differential.Report:
    differential.keeps_payloads = keeps_payloads
    return differential.compare(cases)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--pipeline", default=PIPELINE, help=f"the driver's flags (default: {PIPELINE})")
    parser.add_argument("--count", type=int, default=3000, metavar="N", help="programs executed (default: 3000)")
    parser.add_argument("--memory", type=int, metavar="N", help="programs compiled for memory (default: a sixth of those)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the programs that fail there")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))

    started = time.monotonic()
    pipeline = args.pipeline.split()
    driver = Driver(args.opt, jobs=args.jobs).ready()
    small = [Builder(f"{args.seed} {number}").build(f"program {number}") for number in range(args.count)]
    count = args.count // 6 if args.memory is None else args.memory
    large = [Builder(f"{args.seed} {number}", TAIL).build(f"program {number} long") for number in range(count)]
    failures: dict[str, str] = {}
    kept: dict[str, tuple[str, str]] = {}
    changed: list[differential.Case] = []
    texts = [program.text for program in small + large]
    plain = driver.run(texts, [BASELINE])
    made = driver.run(texts, pipeline)
    again = driver.run([outcome.output or "module {\n}\n" for outcome in made], pipeline)
    pairs: list[tuple[str, str, str]] = []
    for program, before, after, twice in zip(small + large, plain, made, again, strict=True):
        if before.output is None or after.output is None:
            outcome = before if before.output is None else after
            failures[program.name] = f"the driver fails: {outcome.crash or outcome.message}"
            kept[program.name] = (program.text, "")
            continue
        kept[program.name] = (before.output, after.output)
        if twice.output is None or differential.shape_of(twice.output) != differential.shape_of(after.output):
            failures[program.name] = "a second run changes it again"
        if differential.shape_of(before.output) != differential.shape_of(after.output):
            if program.name.endswith("long"):
                pairs.append((program.name, before.output, after.output))
            else:
                changed.append(differential.Case(dataclasses.replace(program, text=before.output), after.output))

    by_element: dict[str, list[differential.Case]] = collections.defaultdict(list)
    for case in changed:
        by_element[case.program.element].append(case)
    span = differential.SPAN
    batches = [cases[i : i + span] for cases in by_element.values() for i in range(0, len(cases), span)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        reports = list(pool.map(compare, batches))
        measured = list(pool.map(measure, [pairs[i : i + span] for i in range(0, len(pairs), span)]))
    not_run = collections.Counter(missing for report in reports for missing in report.not_run)
    executed = sum((collections.Counter(report.executed) for report in reports), collections.Counter())
    for report in reports:
        for finding in report.findings:
            program = finding.case.program
            failures[program.name] = f"({program.element}) differs in {finding.where}: {finding.detail}"
    for grown, *_, errors in measured:
        not_run.update(("memory", error) for error in errors)
        for memory in grown:
            failures[memory.name] = f"needs {memory.before} bytes before and {memory.after} after"
    shrunk, compiled = (sum(column) for column in list(zip(*measured, strict=True))[1:3]) if measured else (0, 0)

    for name, failure in failures.items():
        print(f"{name}: {failure}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            for when, text in zip(("before", "after"), kept[name], strict=True):
                (args.dump / f"{name.replace(' ', '_')}.{when}.mlir").write_text(text)
    for (where, reason), number in sorted(not_run.items()):
        print(f"{number} programs not run in {where}: {reason}")
    share = len(changed) / max(1, len(small))
    enough = share >= CHANGED_SHARE and executed["xla"] >= EXECUTED_SHARE * len(changed)
    print(
        f"{len(small)} programs, {len(changed)} changed ({share:.0%}); executed before and after: {executed['xla']} in XLA, "
        f"{executed['interpreter']} in the interpreter; {compiled} compiled for memory, {shrunk} need less; "
        f"{time.monotonic() - started:.0f} s"
    )
    if not enough:
        print("too few programs changed or executed: the test says nothing")
    total = len(small) + len(large)
    print(f"{total - len(failures)} passed, {len(failures) + (not enough)} failed of {total} programs")
    return 0 if enough and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
