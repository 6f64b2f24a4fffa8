# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test of --slimhlo-inplace-updates: programs that fill halos, before and after, in XLA for CPU.

    python test/oracle/halos.py --opt target/debug/slimhlo-opt --count 300 --seed 1

Arrays of 1 to 4 dimensions and most element types, with periodic, mirrored, sign-flipped, constant and copied edges, filled in
any order, in one field or several, from the newest version of the array or an older one, donated or not, in a loop or not,
followed by a stencil or not. Small ones are executed and must give the same bits; the same programs with large arrays are
compiled, and must not need more memory than they did.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import sys
import time
from collections.abc import Callable

import xla_cpu  # first: it sets the flags with which JAX starts

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from opt import Driver, needs_more

jax.config.update("jax_enable_x64", True)

PASSES = ("--inline", "--canonicalize", "--cse", "--slimhlo-scatter-to-update", "--slimhlo-inplace-updates=target=xla-cpu")
DTYPES = ("float64", "float32", "float64", "float32", "bfloat16", "int32", "int8", "uint16", "complex64", "float16", "bool")
KINDS = ("periodic", "copy", "copy", "mirror", "flip", "constant")
STENCILS = ("none", "none", "none", "own", "swap", "flux", "shift")
FORMS = ("at", "dus", "dynamic")
CHANGED_SHARE = 0.1


@dataclasses.dataclass(frozen=True)
class Fill:
    """One side of one dimension is filled."""

    dim: int
    high: bool
    width: int
    kind: str
    newest: bool
    form: str


@dataclasses.dataclass(frozen=True)
class Spec:
    """A program, but for the size of its arrays."""

    name: str
    dtype: str
    extents: tuple[int, ...]
    growth: tuple[int, ...]
    fields: int
    fills: tuple[Fill, ...]
    stencil: str
    steps: int
    loop: str
    donated: tuple[bool, ...]

    def shape(self, large: bool) -> tuple[int, ...]:
        return tuple(size * (grown if large else 1) for size, grown in zip(self.extents, self.growth, strict=True))


def one(random: np.random.Generator, of: tuple) -> object:
    return of[random.integers(len(of))]


def make_spec(seed: int, number: int) -> Spec:
    random = np.random.default_rng((seed, number))
    rank = int(one(random, (1, 2, 2, 3, 3, 3, 4)))
    widths = [int(one(random, (1, 1, 2, 3))) for _ in range(rank)]
    halos = [bool(random.integers(4)) for _ in range(rank)]
    extents = [4 * width + int(random.integers(1, 5)) if halo else (int(random.integers(2, 8)) if random.integers(2) else 16) for width, halo in zip(widths, halos, strict=True)]
    dtype = str(one(random, DTYPES))
    bytes_each = np.dtype(jnp.dtype(dtype)).itemsize
    elements = int(np.prod(extents))
    growth = [1] * rank
    while elements * int(np.prod(growth)) * bytes_each < 24 << 20:
        at = int(random.integers(rank))
        growth[at] *= 2
    kind = {dim: str(one(random, KINDS)) for dim in range(rank)}
    fills = []
    for dim in random.permutation([dim for dim in range(rank) if halos[dim]]):
        sides = [False, True] if random.integers(4) else [True, False]
        for high in sides[: 1 if random.integers(8) == 0 else 2]:
            mixed = str(one(random, KINDS)) if random.integers(5) == 0 else kind[int(dim)]
            newest = bool(random.integers(4))
            fills.append(Fill(int(dim), high, widths[dim], mixed, newest, str(one(random, FORMS))))
    fields = int(one(random, (1, 1, 2, 3)))
    stencil = str(one(random, STENCILS))
    loop = str(one(random, ("none", "none", "none", "fori", "scan")))
    donated = tuple(bool(random.integers(6)) for _ in range(fields))
    return Spec(f"halo {seed}/{number}", dtype, tuple(extents), tuple(growth), fields, tuple(fills), stencil, int(random.integers(1, 3)), loop, donated)


def negated(value: jax.Array) -> jax.Array:
    return ~value if value.dtype == jnp.bool_ else -value


def fill(array: jax.Array, fills: tuple[Fill, ...]) -> jax.Array:
    """The array with its edges filled."""
    first = array
    for side in fills:
        size, width, dim = array.shape[side.dim], side.width, side.dim
        source = array if side.newest else first

        def part(start: int, count: int) -> jax.Array:
            if side.form == "dynamic":
                return lax.dynamic_slice_in_dim(source, start, count, dim)
            return lax.slice_in_dim(source, start, start + count, axis=dim)

        if side.kind == "constant":
            shape = list(array.shape)
            shape[dim] = width
            update = jnp.full(shape, 1, array.dtype)
        elif side.kind == "periodic":
            update = part(width, width) if side.high else part(size - 2 * width, width)
        elif side.kind == "copy":
            edge = part(size - width - 1, 1) if side.high else part(width, 1)
            update = jnp.broadcast_to(edge, [width if d == dim else n for d, n in enumerate(array.shape)])
        else:
            update = jnp.flip(part(size - 2 * width, width) if side.high else part(width, width), dim)
            if side.kind == "flip":
                update = negated(update)
        start = size - width if side.high else 0
        if side.form == "at":
            at = [slice(None)] * array.ndim
            at[dim] = slice(start, start + width)
            array = array.at[tuple(at)].set(update)
        else:
            array = lax.dynamic_update_slice_in_dim(array, update, start, dim)
    return array


def combine(a: jax.Array, b: jax.Array) -> jax.Array:
    return a ^ b if a.dtype == jnp.bool_ else a - b


def stencil(kind: str, fields: list[jax.Array]) -> list[jax.Array]:
    last = fields[0].ndim - 1
    around = [fields[(index + 1) % len(fields)] for index in range(len(fields))]
    match kind:
        case "own":
            return [combine(x, combine(jnp.roll(x, 1, last), jnp.roll(x, -1, last))) for x in fields]
        case "swap":
            return [combine(x, y) for x, y in zip(fields, around, strict=True)]
        case "flux":
            return [combine(x, combine(jnp.roll(y, -1, last), jnp.roll(y, 1, max(last - 1, 0)))) for x, y in zip(fields, around, strict=True)]
        case "shift":
            return [jnp.concatenate([lax.slice_in_dim(x, 1, None, axis=last), lax.slice_in_dim(y, 0, 1, axis=last)], last) for x, y in zip(fields, around, strict=True)]
        case _:
            return fields


def lower(spec: Spec, large: bool) -> str:
    """The program's StableHLO."""

    def step(fields: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        return tuple(stencil(spec.stencil, [fill(field, spec.fills) for field in fields]))

    def function(*fields: jax.Array) -> tuple[jax.Array, ...]:
        match spec.loop:
            case "fori":
                return lax.fori_loop(0, spec.steps, lambda _, carry: step(carry), fields)
            case "scan":
                return lax.scan(lambda carry, _: (step(carry), None), fields, None, length=spec.steps)[0]
            case _:
                return step(fields)

    given = [jax.ShapeDtypeStruct(spec.shape(large), jnp.dtype(spec.dtype))] * spec.fields
    donated = tuple(index for index, donated in enumerate(spec.donated) if donated)
    return jax.jit(function, donate_argnums=donated, keep_unused=True).lower(*given).as_text()


def generate(count: int, seed: int) -> list[Spec]:
    return [make_spec(seed, number) for number in range(count)]


def inputs_of(spec: Spec, seed: int) -> list[np.ndarray]:
    """Every element another one, so that none can be mistaken for its neighbour; some special ones among floats."""
    random = np.random.default_rng(seed)
    dtype = np.dtype(jnp.dtype(spec.dtype))
    shape = spec.shape(large=False)
    arrays = []
    for _ in range(spec.fields):
        numbers = random.permutation(int(np.prod(shape))).reshape(shape)
        array = (numbers % 2 == 0) if dtype == np.bool_ else numbers.astype(np.float32).astype(dtype)
        if dtype.kind in "fV" or dtype == ml_dtypes.bfloat16:
            flat = array.reshape(-1)
            for special in (np.nan, np.inf, -np.inf, -0.0):
                flat[random.integers(flat.size)] = special
        arrays.append(array)
    return arrays


def run(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    executable = xla_cpu.compile_text(text)
    given = [jax.device_put(value, jax.devices("cpu")[0]) for value in inputs]
    done = executable.execute_sharded(given).disassemble_into_single_device_arrays()
    return [np.asarray(shards[0]) for shards in done]


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    if (left.dtype, left.shape) != (right.dtype, right.shape):
        return False
    if left.dtype.kind == "f" or left.dtype == ml_dtypes.bfloat16:
        # Which of two NaNs an operation hands on depends on the order in which code names them.
        nan = np.isnan(left.astype(np.float64))
        if not np.array_equal(nan, np.isnan(right.astype(np.float64))):
            return False
        return left[~nan].tobytes() == right[~nan].tobytes()
    return left.tobytes() == right.tobytes() or (left.dtype.kind == "c" and np.array_equal(left, right, equal_nan=True))


def total(text: str) -> tuple[int, int]:
    """Bytes that the module needs, and those of its temporaries."""
    stats = xla_cpu.compile_text(text).get_compiled_memory_stats()
    needed = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    return needed + stats.temp_size_in_bytes, stats.temp_size_in_bytes


def text_only(text: str | None) -> str:
    return "" if text is None else text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, help="slimhlo-opt")
    parser.add_argument("--count", type=int, default=300, metavar="N", help="programs in all (default: 300)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the programs that are wrong there")
    parser.add_argument("--verbose", action="store_true", help="print the temporaries of every program that changes")
    args = parser.parse_args()

    started = time.monotonic()
    specs = generate(args.count, args.seed)
    driver = Driver(args.opt).ready()
    findings: list[tuple[Spec, str, str, str]] = []
    kinds: collections.Counter[str] = collections.Counter()
    executed = compiled = 0
    gained = [0, 0]
    # Small arrays and chunks, so that everything that can happen to large ones happens.
    small = [lower(spec, large=False) for spec in specs]
    large = [lower(spec, large=True) for spec in specs]
    for texts, options in ((small, " min-bytes=1 chunk-bytes=64"), (large, "")):
        flags = [*PASSES[:-1], PASSES[-1] + options]
        plain = [text_only(outcome.output) for outcome in driver.run(texts, PASSES[:-1])]
        once = driver.run(texts, flags)
        twice = driver.run([text_only(outcome.output) for outcome in once], flags)
        kept = driver.run([text_only(outcome.output) for outcome in once], PASSES[:-1])
        for spec, before, text, after, again, same in zip(specs, plain, texts, once, twice, kept, strict=True):
            if after.output is None:
                findings.append((spec, f"the driver fails: {after.crash or after.message}", text, ""))
                continue
            if again.output != same.output:
                findings.append((spec, "a second run changes it", text, after.output))
            if after.output == before:
                continue
            try:
                if texts is small:
                    executed += 1
                    inputs = inputs_of(spec, args.seed)
                    pairs = zip(run(text, inputs), run(after.output, inputs), strict=True)
                    wrong = [f"result {at} differs" for at, pair in enumerate(pairs) if not same_bits(*pair)]
                else:
                    compiled += 1
                    kinds.update(f"{spec.stencil}/{spec.loop}".split())
                    (old, old_temp), (new, new_temp) = total(text), total(after.output)
                    gained[0] += old_temp
                    gained[1] += new_temp
                    wrong = [f"needs {old} bytes, then {new}"] if needs_more(old, new) else []
                    if args.verbose:
                        size = int(np.prod(spec.shape(True))) * np.dtype(jnp.dtype(spec.dtype)).itemsize
                        print(f"{spec.name}: {old_temp / size:.3f} -> {new_temp / size:.3f} arrays of temporaries; {spec}")
            except Exception as error:
                wrong = [f"it does not run: {str(error)[:300]}"]
            findings.extend((spec, found, text, after.output) for found in wrong)

    for spec, found, before, after in findings:
        print(f"{spec.name}: {found}; {spec}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            name = args.dump / spec.name.replace(" ", "_").replace("/", "_")
            name.with_suffix(".before.mlir").write_text(before)
            name.with_suffix(".after.mlir").write_text(after)
    wrong_programs = len({spec.name for spec, *_ in findings})
    share = executed / max(1, len(specs))
    print(
        f"{len(specs) - wrong_programs} passed, {wrong_programs} failed: {executed} changed ({share:.1%}) and executed before "
        f"and after, {compiled} compiled large ({dict(sorted(kinds.items()))}), temporaries {gained[0] >> 20} MiB before and "
        f"{gained[1] >> 20} MiB after; {time.monotonic() - started:.0f} s"
    )
    return 0 if share >= CHANGED_SHARE and not findings else 1


if __name__ == "__main__":
    sys.exit(main())
