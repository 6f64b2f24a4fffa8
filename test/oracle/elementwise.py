# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Elementwise ops of kernels against XLA for CPU: each op on each type, over special values, dense samples and random ones.

    python test/oracle/elementwise.py --slimhlo target/debug/slimhlo [--only TEXT] [--table]

One program per element type holds all ops on it. Integers, booleans, narrow floats and everything exact must have the same bits;
functions of floats must be within their bound in units of the last place of the result's type. `--table` prints the worst found.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import pathlib
import re
import subprocess
import sys
import tempfile

import execute  # noqa: F401 - it has JAX keep 64 bits
import ml_dtypes
import numpy as np
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

import jaxlib_ir
import xla_cpu
from backend import dtype_of

COUNT = 4096
FLOATS = ("f64", "f32", "f16", "bf16")
NARROW = (
    *("f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E3M4", "f8E4M3", "f8E8M0FNU"),
    "f4E2M1FN",
)
# XLA does not know them; ml_dtypes does, through f32.
SIX_BITS = ("f6E2M3FN", "f6E3M2FN")
SIGNED = ("i64", "i32", "i16", "i8", "i4", "i2")
UNSIGNED = ("ui64", "ui32", "ui16", "ui8", "ui4", "ui2")
COMPLEX = ("complex<f32>", "complex<f64>")
# What conversions are from where not all are asked for.
CONVERTED = ("f64", "f32", "bf16", "f8E4M3FN", "f8E5M2FNUZ", "i1", "i64", "i32", "i4", "ui64", "ui8", "complex<f32>")
# Of zeros of either sign XLA takes any.
EXTREMA = ("maximum", "minimum", "clamp")
# Whose zeros are not where XLA computes them with many digits.
ABSOLUTE = ("lgamma", "digamma")
# On narrow floats, which XLA computes as f16 and rounds twice.
APPROXIMATE = ("exponential", "tanh", "sqrt", "log", "divide")
COMPARED = {"EQ": "equal", "NE": "not_equal", "LT": "less", "LE": "less_equal", "GT": "greater", "GE": "greater_equal"}
COMPARISONS = tuple(COMPARED)


@dataclasses.dataclass(frozen=True)
class Op:
    """An op on some arguments: text with `{0}`, `{1}`, ... for operands, and the types it needs."""

    name: str
    text: str
    operands: tuple[str, ...]
    result: str
    # Units in the last place that it may differ by; 0: the same bits.
    ulps: float = 0.0


def generic(name: str, operands: tuple[str, ...], result: str, attributes: str = "", ulps: float = 0.0) -> Op:
    """An op in MLIR's generic form; `N` elements each."""
    places = ", ".join(f"{{{i}}}" for i in range(len(operands)))
    types = ", ".join(f"tensor<{COUNT}x{operand}>" for operand in operands)
    attributes = attributes.replace("{", "{{").replace("}", "}}")
    text = f'"{name}"({places}) {attributes} : ({types}) -> tensor<{COUNT}x{result}>'
    return Op(name.partition(".")[2], text, operands, result, ulps)


# Units in the last place, by op: XLA's functions and those of libm are different approximations. Functions of 16 bits and fewer
# are rounded from f32, so that they differ by at most one unit.
ULPS = {
    "acos": 4, "acosh": 4, "asin": 4, "asinh": 4, "atan": 4, "atan2": 4, "atanh": 256, "cbrt": 4, "cosine": 4, "sine": 4, "tan": 6,
    "exponential": 4, "exponential_minus_one": 6, "log": 4, "log_plus_one": 256, "logistic": 6, "power": 16, "rsqrt": 4, "sqrt": 1,
    "tanh": 8, "sinh": 512, "cosh": 512, "erf": 8, "erfc": 512, "erf_inv": 32, "lgamma": 32, "digamma": 64, "bessel_i1e": 16,
    "zeta": 64, "polygamma": 128, "divide": 1,
}  # fmt: skip
UNARY = (
    *("abs", "negate", "sign", "cbrt", "ceil", "floor", "cosine", "sine", "tan", "tanh", "exponential", "exponential_minus_one"),
    *("log", "log_plus_one", "logistic", "round_nearest_afz", "round_nearest_even", "sqrt", "rsqrt"),
)
CHLO = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "sinh", "digamma", "erf", "erfc", "erf_inv"),
    *("lgamma",),
)
BINARY = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "atan2", "power")


def float_ops(t: str) -> list[Op]:
    ops = [generic(f"stablehlo.{name}", (t,), t, ulps=ULPS.get(name, 0)) for name in UNARY]
    ops += [generic(f"chlo.{name}", (t,), t, ulps=ULPS.get(name, 0)) for name in CHLO]
    ops += [generic(f"stablehlo.{name}", (t, t), t, ulps=ULPS.get(name, 0)) for name in BINARY]
    ops += [generic(f"chlo.{name}", (t, t), t, ulps=ULPS.get(name, 0)) for name in ("next_after", "zeta", "polygamma")]
    ops += [generic("stablehlo.is_finite", (t,), "i1")]
    ops += [generic(f"chlo.{name}", (t,), "i1") for name in ("is_inf", "is_pos_inf", "is_neg_inf")]
    ops += reductions(t)
    return ops + compares(t) + [clamp(t), select(t)]


def reductions(t: str) -> list[Op]:
    formats = ((5, 10), (8, 7), (5, 2), (4, 3), (2, 0), (8, 23), (11, 52), (3, 30))
    return [
        generic("stablehlo.reduce_precision", (t,), t, f"{{exponent_bits = {e} : i32, mantissa_bits = {m} : i32}}")
        for e, m in formats
    ]


def compares(t: str, directions: tuple[str, ...] = COMPARISONS) -> list[Op]:
    order = "FLOAT" if "f" in t else "UNSIGNED" if t.startswith("u") or t == "i1" else "SIGNED"
    orders = [order, "TOTALORDER"] if t in FLOATS else [order]
    return [
        generic(
            "stablehlo.compare",
            (t, t),
            "i1",
            f"{{comparison_direction = #stablehlo<comparison_direction {d}>, compare_type = #stablehlo<comparison_type {o}>}}",
        )
        for d, o in itertools.product(directions, orders)
    ]


def clamp(t: str) -> Op:
    return generic("stablehlo.clamp", (t, t, t), t)


def select(t: str) -> Op:
    return generic("stablehlo.select", ("i1", t, t), t)


def integer_ops(t: str) -> list[Op]:
    if t == "i1":
        ops = [generic("stablehlo.not", (t,), t)]
        ops += [generic(f"stablehlo.{n}", (t, t), t) for n in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")]
        return ops + compares(t) + [select(t), clamp(t)]
    counts = [] if t in ("i4", "i2") else ["popcnt", "count_leading_zeros"]  # XLA counts bits of the byte
    unary = ["negate", "not", *counts] + ([] if t.startswith("u") else ["abs", "sign"])
    binary = ("add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "power")
    shifts = ("shift_left", "shift_right_logical", "shift_right_arithmetic")
    ops = [generic(f"stablehlo.{name}", (t,), t) for name in unary]
    ops += [generic(f"stablehlo.{name}", (t, t), t) for name in (*binary, *shifts)]
    return ops + compares(t) + [clamp(t), select(t)]


def complex_ops(t: str) -> list[Op]:
    part = t[8:-1]
    one = ("negate", "sign", "exponential", "exponential_minus_one", "log", "log_plus_one", "sqrt", "rsqrt", "tanh", "cosine", "sine")
    ops = [generic(f"stablehlo.{name}", (t,), t, ulps=256) for name in (*one, "logistic", "tan", "cbrt")]
    ops += [
        generic(f"chlo.{name}", (t,), t, ulps=512)
        for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "conj", "cosh", "sinh", "square")
    ]
    ops += [generic(f"stablehlo.{name}", (t, t), t, ulps=1024 if name == "power" else 16) for name in ("add", "subtract", "multiply", "divide", "power")]
    ops += [generic(f"stablehlo.{name}", (t, t), t) for name in ("maximum", "minimum")]
    ops += [generic(f"stablehlo.{name}", (t,), part) for name in ("real", "imag")]
    ops += [generic("stablehlo.abs", (t,), part, ulps=4), generic("stablehlo.complex", (part, part), t)]
    return ops + compares(t, ("EQ", "NE")) + [select(t)]


def narrow_ops(t: str) -> list[Op]:
    if t == "f8E8M0FNU":
        return compares(t) + [select(t)]
    names = ("abs", "negate", "sign", "ceil", "floor", "exponential", "tanh", "sqrt", "log")
    ops = [generic(f"stablehlo.{name}", (t,), t) for name in names]
    ops += [generic(f"stablehlo.{name}", (t, t), t) for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum")]
    return ops + compares(t) + [select(t), clamp(t)]


def conversions(t: str) -> list[Op]:
    """Conversions of one type to each other one."""
    every = [*FLOATS, *NARROW, "i1", *SIGNED, *UNSIGNED, *COMPLEX]
    if t == "f4E2M1FN":  # XLA takes the largest number for an infinity
        every = [*FLOATS, *NARROW, "i1", *COMPLEX]
    if t == "f8E8M0FNU":  # XLA takes the smallest number for zero
        every.remove("i1")
    return [generic("stablehlo.convert", (t,), to) for to in every if to != t]


def six_bits(t: str) -> list[Op]:
    """Exact ops on numbers of six bits, and conversions that round at most once."""
    ops = [generic(f"stablehlo.{name}", (t,), t) for name in ("abs", "negate")]
    ops += [generic(f"stablehlo.{name}", (t, t), t) for name in ("add", "subtract", "multiply", "maximum", "minimum")]
    ops += [generic("stablehlo.convert", (t,), to) for to in (*FLOATS, "f8E4M3FN", "f8E5M2", "i8", "i32")]
    ops += [generic("stablehlo.convert", (of,), t) for of in ("f32", "bf16", "f16", "i8")]
    return ops + compares(t) + [select(t)]


def by_numpy(op: Op, arrays: list[np.ndarray]) -> np.ndarray:
    """What an op of `six_bits` comes to."""
    to = np.bool_ if op.result == "i1" else dtype_of(op.result)
    if op.name == "convert":
        return arrays[0].astype(np.float32).astype(to)
    if op.name == "select":
        return np.where(*arrays)
    wide = [array.astype(np.float32) for array in arrays]
    functions = {"abs": np.abs, "negate": np.negative, "add": np.add, "subtract": np.subtract, "multiply": np.multiply}
    functions |= {"maximum": np.maximum, "minimum": np.minimum}
    if found := re.search(r"comparison_direction (\w\w)>", op.text):
        return getattr(np, COMPARED[found[1]])(*wide)
    return functions[op.name](*wide).astype(to)


def bitcasts() -> list[Op]:
    pairs = (("f32", "i32"), ("f32", "ui32"), ("f64", "i64"), ("f16", "bf16"), ("bf16", "i16"), ("f8E5M2", "i8"), ("i64", "ui64"))
    both = [*pairs, *((b, a) for a, b in pairs)]
    return [generic("stablehlo.bitcast_convert", (a,), b) for a, b in both]


def values(t: str, which: int) -> np.ndarray:
    """COUNT elements: special ones (in all pairs, over two arguments), then dense and random ones."""
    rng = np.random.default_rng(7 + which)
    dtype = np.dtype(np.bool_) if t == "i1" else dtype_of(t)
    if t.startswith("complex"):
        part = t[8:-1]
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 1e-8, 1e8, 3.0])
        pairs = np.array(list(itertools.product(special, special)))
        scale = 10.0 ** rng.uniform(-6, 6, COUNT)
        scale[: COUNT // 2] = 1
        numbers = (rng.standard_normal(COUNT) * scale + 1j * rng.standard_normal(COUNT) * scale).astype(dtype)
        numbers.real[: len(pairs)], numbers.imag[: len(pairs)] = pairs.T.astype(dtype_of(part))
        return numbers if which == 0 else rng.permutation(numbers)
    if t == "i1":
        return rng.integers(0, 2, COUNT).astype(np.bool_)
    if re.match(r"u?i", t):
        bits = int(t.lstrip("ui"))
        low, high = (0, 2**bits - 1) if t.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        special = [low, low + 1, high, high - 1, 0, 1, 2, 3, 5, 7, bits, bits - 1, -1, -2, -3]
        special = [v for v in special if low <= v <= high]
        numbers = np.array([int(v) for v in rng.integers(low, high, COUNT, dtype=np.uint64 if t.startswith("u") else np.int64, endpoint=True)], object)
        small = rng.integers(max(low, -20), min(high, 70), COUNT // 2, endpoint=True)
        numbers[: COUNT // 2] = small
    elif t in NARROW or t in SIX_BITS:
        codes = 1 << int(t[1])
        special = []
        grid = np.arange(COUNT)
        picked = grid % codes if which == 0 else rng.permutation(grid) % codes if codes < 256 else (grid // 16 + grid * 37) % codes
        return picked.astype(np.uint8).view(dtype)
    else:
        tiny, largest = (float(getattr(ml_dtypes.finfo(dtype), key)) for key in ("tiny", "max"))
        special = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.0, -2.0, 3.0, largest, -largest]
        special += [tiny, -tiny, 1e-3, 127.5, 128.0, -128.5, 255.5, 32767.5, 2**31, -(2**31), 2**32, 2**63, -(2.0**63), 2**64, 10.0]
        scale = 10.0 ** rng.uniform(-7, 7, COUNT)
        scale[: COUNT // 2] = 3
        with np.errstate(over="ignore"):
            numbers = (rng.standard_normal(COUNT) * scale).astype(np.float64)
            # What a narrower format has to round: halves, and their neighbours.
            ties = slice(COUNT // 2, COUNT * 5 // 8)
            numbers[ties] = np.round(numbers[ties] * 16) / 16
    with np.errstate(over="ignore"):
        special = np.array(special, numbers.dtype)
        pairs = [pair[which % 2] for pair in itertools.product(special, special)]
        numbers[: len(pairs)] = pairs
        return numbers.astype(dtype)


def uses(ops: list[Op]) -> tuple[list[str], list[list[int]]]:
    """The types of arguments that all ops share, and which of them each op takes."""
    types: list[str] = []
    taken = []
    for op in ops:
        used: list[int] = []
        for t in op.operands:
            place = next((i for i, known in enumerate(types) if known == t and i not in used), len(types))
            if place == len(types):
                types.append(t)
            used.append(place)
        taken.append(used)
    return types, taken


def program(ops: list[Op]) -> str:
    """One module that computes all ops."""
    types, taken = uses(ops)
    lines = [
        f"  %{number} = " + op.text.format(*(f"%arg{i}" for i in used))
        for number, (op, used) in enumerate(zip(ops, taken, strict=True))
    ]
    arguments = ", ".join(f"%arg{i}: tensor<{COUNT}x{t}>" for i, t in enumerate(types))
    results = ", ".join(f"tensor<{COUNT}x{op.result}>" for op in ops)
    lines.append(f"  return {', '.join(f'%{i}' for i in range(len(ops)))} : {results}")
    return f"func.func @main({arguments}) -> ({results}) {{\n" + "\n".join(lines) + "\n}\n"


class Slimhlo:
    """Runs a module's kernels on the CPU."""

    def __init__(self, binary: str) -> None:
        self.binary = binary

    def run(self, text: str, arrays: list[np.ndarray], results: list[str]) -> list[np.ndarray]:
        with tempfile.TemporaryDirectory(prefix="slimhlo-elementwise-") as name:
            folder = pathlib.Path(name)
            (folder / "in.mlir").write_text(text)
            command = [self.binary, "run", str(folder / "in.mlir"), "--device", "cpu", "--output-dir", str(folder / "out")]
            for number, array in enumerate(arrays):
                np.save(folder / f"{number}.npy", array)
                command += ["--input", str(folder / f"{number}.npy")]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            if done.returncode:
                raise RuntimeError(next((line for line in done.stderr.splitlines() if "error" in line), done.stderr[-300:]))
            files = sorted((folder / "out").glob("*.npy"), key=lambda path: int(re.findall(r"\d+", path.stem)[-1]))
            return [np.load(path).view(dtype_of(t) if t != "i1" else np.bool_) for path, t in zip(files, results, strict=True)]


def steps(array: np.ndarray) -> np.ndarray:
    """Floats as integers that count them, so that differences are units in the last place."""
    bits = {8: np.int64, 4: np.int32, 2: np.int16}[array.itemsize]
    whole = array.view(bits).astype(np.longdouble)
    return np.where(whole < 0, np.iinfo(bits).min - whole, whole)


def worst(op: Op, want: np.ndarray, have: np.ndarray, arrays: list[np.ndarray]) -> tuple[float, int]:
    """The largest difference in units of the last place (infinite for what must agree and does not), and where it is."""
    if want.dtype.kind == "c":
        with np.errstate(all="ignore"):
            part = np.maximum(np.maximum(np.abs(want.real), np.abs(want.imag)), np.finfo(want.real.dtype).tiny)
            part = np.where(np.isfinite(part), part, 1)
            if op.name in ("sine", "sinh"):
                part = np.maximum(part, 1)  # XLA has no digits of small numbers
            # What NaNs come to is no agreed matter; nor, on the way to infinity, where XLA overflows first.
            free = np.any([np.isnan(array) for array in arrays], axis=0) & bool(op.ulps)
            if op.name == "power":
                free |= np.abs(arrays[1]) > 20
            limit = float(np.finfo(want.real.dtype).max) / 1e4
            tiny = float(np.finfo(want.real.dtype).tiny)
            found = np.zeros(want.shape)
            for old, new in ((want.real, have.real), (want.imag, have.imag)):
                same = free | (old == new) | (np.isnan(old) & np.isnan(new)) | (np.abs(old) <= tiny) & (np.abs(new) <= tiny)
                same |= ~np.isfinite(want) & ((np.abs(new) > limit) | ~np.isfinite(have))
                off = np.abs(old.astype(np.float64) - new.astype(np.float64)) / part / np.finfo(old.dtype).eps
                found = np.maximum(found, np.where(same, 0, np.where(np.isfinite(off), off, np.inf)))
    elif want.dtype.name in ("float64", "float32", "float16", "bfloat16"):
        old, new = want.astype(np.float64), have.astype(np.float64)
        same = (np.isnan(old) & np.isnan(new)) | (old == new) & ((np.signbit(old) == np.signbit(new)) | bool(op.ulps) | (op.name in EXTREMA))
        # XLA for CPU takes denormal numbers for zero, of operands and of results.
        tiny = float(ml_dtypes.finfo(want.dtype).tiny)
        same |= (np.abs(old) <= tiny) & (np.abs(new) <= tiny)
        if op.name in ("zeta", "polygamma"):
            # Below zero terms cancel, and far above it XLA has none left.
            order, at = (array.astype(np.float64) for array in arrays)
            same |= ~np.isfinite(order) | ~np.isfinite(at) | (order < 1) | (order > 12) | (at < 0) | (at > 1e9)
        if op.name in ABSOLUTE:
            eps = float(ml_dtypes.finfo(want.dtype).eps)
            with np.errstate(invalid="ignore"):
                same |= np.abs(old - new) <= op.ulps * eps * np.maximum(1, np.abs(old))
        found = np.where(same, 0, np.abs(steps(want) - steps(have)).astype(np.float64))
        found = np.where(~same & ((np.isnan(old) != np.isnan(new)) | (np.isinf(old) != np.isinf(new)) | (found == 0)), np.inf, found)
    else:
        # Integers of less than a byte have bits that say nothing.
        wide = (want, have) if want.dtype.kind in "iub" else (want.astype(np.float64), have.astype(np.float64))
        same = wide[0] == wide[1]
        if op.result in NARROW:
            same &= (np.signbit(wide[0]) == np.signbit(wide[1])) | (op.name in EXTREMA)
            same |= np.isnan(wide[0]) & np.isnan(wide[1])
            if op.name in APPROXIMATE:
                same |= np.abs(want.view(np.int8).astype(int) - have.view(np.int8)) <= 1
        elif op.name == "power":
            # XLA looks at the low six bits of an exponent only, all of which the right power depends on.
            same |= (arrays[1] < 0) | (arrays[1].astype(np.float64) > 63)
        found = np.where(same, 0, np.inf)
    place = int(np.argmax(found))
    return float(found[place]), place


def groups() -> dict[str, list[Op]]:
    made = {t: float_ops(t) for t in FLOATS}
    made |= {t: integer_ops(t) for t in ("i1", *SIGNED, *UNSIGNED)}
    made |= {t: complex_ops(t) for t in COMPLEX}
    made |= {t: narrow_ops(t) for t in NARROW}
    made |= {t: six_bits(t) for t in SIX_BITS}
    made |= {f"convert {t}": conversions(t) for t in (*FLOATS, *NARROW, "i1", *SIGNED, *UNSIGNED, *COMPLEX)}
    return made | {"bitcast": bitcasts()}


def reference(ops: list[Op]) -> tuple[list[Op], list[np.ndarray], list[np.ndarray]]:
    """The ops that XLA runs, their arguments, and its results."""
    try:
        types, _ = uses(ops)
        arrays = [values(t, types[:i].count(t)) for i, t in enumerate(types)]
        executable = xla_cpu.compile_module(jaxlib_ir.parse(program(ops), jaxlib_ir.make_context()))
        return ops, arrays, [shards[0] for shards in xla_cpu.run(executable, arrays)]
    except Exception as error:  # whatever XLA does not compile
        if len(ops) == 1:
            return [], [], []
        kept = [op for op in ops if reference([op])[0]]
        if len(kept) == len(ops) or not kept:
            raise RuntimeError(f"XLA fails on {[op.name for op in ops]}: {error}") from error
        return reference(kept)


def exactly(ops: list[Op]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Arguments, all of them numbers, and what NumPy makes of them."""
    types, taken = uses(ops)
    arrays = [values(t, types[:i].count(t)) for i, t in enumerate(types)]
    for place, array in enumerate(arrays):
        if types[place] in FLOATS:
            arrays[place] = np.where(np.isfinite(array.astype(np.float64)), array, np.zeros((), array.dtype))
    return arrays, [by_numpy(op, [arrays[place] for place in used]) for op, used in zip(ops, taken, strict=True)]


PARTS = """func.func @main(%a: T, %b: T, %c: T, %d: T) -> (T, T) {{
  %x = stablehlo.complex %a, %b : C
  %y = stablehlo.complex %c, %d : C
  %z = {name} %x, %y : C
  %0 = stablehlo.real %z : (C) -> T
  %1 = stablehlo.imag %z : (C) -> T
  return %0, %1 : T, T
}}"""


def by_definition(op: Op, given: list[np.ndarray]) -> np.ndarray:
    """The larger or smaller of complex numbers by the StableHLO interpreter: XLA does not look at imaginary parts where real ones are equal."""
    part = f"tensor<{given[0].size}x{op.result[8:-1]}>"
    whole = f"tensor<{given[0].size}x{op.result}>"
    name = op.name if "." in op.name else f"stablehlo.{op.name}"
    text = PARTS.format(name=name).replace("T", part).replace("C", whole)
    context = jaxlib_ir.make_context()
    stablehlo.register_interpreter_dialect(context)
    with context, ir.Location.unknown():
        parts = [np.ascontiguousarray(part) for array in given for part in (array.real, array.imag)]
        real, imag = stablehlo.eval_module(ir.Module.parse(text), [ir.DenseElementsAttr.get(part) for part in parts])
        found = np.empty(given[0].shape, given[0].dtype)
        found.real, found.imag = np.array(real), np.array(imag)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("--only", default="", metavar="TEXT", help="only groups and ops whose name contains this")
    parser.add_argument("--table", action="store_true", help="print the worst difference of each op")
    parser.add_argument("--all", action="store_true", help="conversions from every type, not from a few")
    args = parser.parse_args()
    runner = Slimhlo(args.slimhlo)
    failures = 0
    checked = 0
    for group, ops in groups().items():
        if not args.all and not args.only and group.startswith("convert ") and group[8:] not in CONVERTED:
            continue
        ops = [op for op in ops if args.only in f"{group} {op.name}"]
        if not ops:
            continue
        ops, arrays, wanted = reference(ops) if group not in SIX_BITS else (ops, *exactly(ops))
        if not ops:
            continue
        try:
            results = runner.run(program(ops), arrays, [op.result for op in ops])
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{group}: {error}")
            failures += 1
            continue
        for op, used, want, have in zip(ops, uses(ops)[1], wanted, results, strict=True):
            checked += 1
            given = [arrays[place] for place in used]
            if op.result in COMPLEX and op.name in EXTREMA:
                want = by_definition(op, given)
            if op.name == "convert" and op.result == "f16" and given[0].dtype == np.float64:
                # XLA for CPU rounds to f32 first, unless the CPU has instructions for f16.
                want = given[0].astype(np.float16)
            ulps, place = worst(op, want, have, given)
            allowed = 2 if op.ulps and op.result in ("f16", "bf16") else op.ulps
            if args.table and op.ulps:
                print(f"{group} {op.name}: {ulps:g}")
            if ulps > allowed:
                failures += 1
                print(f"{group}: {op.name} -> {op.result}: {ulps:g} units: {have[place]} for {want[place]} at {[array[place] for array in given]}")
    print(f"{checked} ops on their types, {failures} beyond what is allowed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
