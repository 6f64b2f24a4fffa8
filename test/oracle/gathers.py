# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test of --slimhlo-reuse-gather-indices, alone and before --slimhlo-stream, in XLA for CPU.

    python test/oracle/gathers.py --opt target/debug/slimhlo-opt --count 1500 --seed 1

Programs gather and scatter by indices that are put together in every way JAX knows and some that it does not: columns of one
array or several, in any order and layout, with numbers and counters among them; signs corrected in several spellings, clamped,
shifted, converted through types that hold the numbers and through types that do not. Indices are negative, far out of
bounds and repeated, tables hold NaN, infinities and -0, and some arrays are empty. What must be the same bit by bit, and by
how much a float sum may differ, is as in stream.py.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import time
from collections.abc import Callable

import stream  # first: it has XLA's flags set before JAX starts

# isort: split
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from opt import Driver

SIGNED = ("int8", "int16", "int32", "int64")
INDICES = (*SIGNED, *SIGNED, "uint8", "uint16", "uint32", "uint64")
TABLES = ("float32", "float64", "bfloat16", "float16", "int32", "int64", "int8", "uint8")
FLOATS = ("float32", "float64", "bfloat16")
CHUNK_BYTES = (48, 400)
PREPARE = ["--inline", "--canonicalize", "--cse"]
REUSE = "--slimhlo-reuse-gather-indices"
REWRITTEN_SHARE = 0.5
MODES = ("clip", "fill", "promise_in_bounds")
LAX_MODES = {
    "clip": lax.GatherScatterMode.CLIP,
    "fill": lax.GatherScatterMode.FILL_OR_DROP,
    "promise_in_bounds": lax.GatherScatterMode.PROMISE_IN_BOUNDS,
}

Columns = Callable[[list[jax.Array], tuple[int, ...]], list[jax.Array]]


class Indices:
    """Index columns for a table: how they are computed, and the arrays they are computed from."""

    def __init__(self, source: stream.Source, shape: tuple[int, ...], batch: tuple[int, ...], own: bool) -> None:
        """`own` columns are what a gather takes as it is; for others JAX corrects the sign itself."""
        self.source, self.shape, self.batch = source, shape, batch
        count = len(shape)
        layout = source.one(("last", "last", "first", "middle", "wide", "several", "mixed", "outer"))
        if layout == "middle" and len(batch) < 2:
            layout = "first"
        if layout == "outer" and (count < 2 or len(batch) != 1):
            layout = "last"
        self.layout = layout
        if layout == "outer":
            self.batch = batch = (batch[0] // 20,)
        # What an array with a number per index vector is as large as.
        self.full = batch * 2 if layout == "outer" else batch
        self.order = source.random.permutation(count) if source.random.integers(4) == 0 else np.arange(count)
        self.dtype = source.one(INDICES)
        self.inputs = [self.array(dims) for dims in self.arrays(count)]
        self.spellings = [self.spelling() for _ in range(2)] if own else [[], []]
        self.same = bool(source.random.integers(3))
        self.extra = [int(source.random.integers(0, 3)) for _ in shape]

    def arrays(self, count: int) -> list[tuple[int, ...]]:
        batch = self.batch
        return {
            "last": [(*batch, count)],
            "first": [(count, *batch)],
            "middle": [(batch[0], count, *batch[1:])],
            "wide": [(*batch, 2 * count + 1)],
            "several": [batch] * count,
            "mixed": [(*batch, count)],
            "outer": [batch] * count,
        }[self.layout]

    def array(self, shape: tuple[int, ...]) -> np.ndarray:
        return self.source.indices(shape, str(self.dtype), max(self.shape), "any")

    def spelling(self) -> list[str]:
        ways = (
            "lt",
            "lt",
            "lt",
            "gt",
            "ge",
            "le",
            "clip",
            "clip",
            "min",
            "max",
            "shift",
            "wide",
            "narrow",
            "unsigned",
            "widest",
        )
        return [str(self.source.one(ways)) for _ in range(self.source.random.integers(0, 4))]

    def columns(self, given: list[jax.Array]) -> list[jax.Array]:
        count = len(self.shape)
        if self.layout in ("last", "mixed"):
            found = [given[0][..., column] for column in range(count)]
        elif self.layout == "first":
            found = [given[0][column] for column in range(count)]
        elif self.layout == "middle":
            found = [given[0][:, column] for column in range(count)]
        elif self.layout == "wide":
            found = [given[0][..., 1 + 2 * column] for column in range(count)]
        elif self.layout == "several":
            found = list(given)
        else:
            found = [
                jnp.broadcast_to(column[None] if at else column[:, None], self.full) for at, column in enumerate(given)
            ]
        found = [found[column] for column in self.order]
        if self.layout == "mixed":
            kind = self.extra[0] % 3
            place = self.extra[-1] % count
            like = found[place]
            if kind == 0:
                found[place] = jnp.full_like(like, min(3, self.shape[place] - 1))
            elif kind == 1:
                found[place] = lax.broadcasted_iota(like.dtype, like.shape, 0)
        return found

    def normal(self, given: list[jax.Array], second: bool = False) -> list[jax.Array]:
        """Columns with everything done to them that the program does itself; a second time perhaps in another way."""
        spelling = self.spellings[int(second and not self.same)]
        done = []
        for at, (column, size) in enumerate(zip(self.columns(given), self.shape, strict=True)):
            for way in spelling:
                column = self.apply(way, column, size, self.extra[at])
            done.append(column)
        return done

    @staticmethod
    def apply(way: str, i: jax.Array, size: int, extra: int) -> jax.Array:
        kind = jnp.iinfo(i.dtype)
        signed = kind.min < 0
        holds = size <= kind.max
        n = np.asarray(size).astype(i.dtype)
        zero = np.zeros((), i.dtype)
        if way in ("lt", "gt", "ge", "le") and signed:
            if way == "lt":
                return jnp.where(i < zero, i + n, i)
            if way == "gt":
                return jnp.where(zero > i, n + i, i)
            if way == "ge":
                return jnp.where(i >= zero, i, i + n)
            return jnp.where(zero <= i, i, i + n)
        if way == "clip" and holds:
            return jnp.clip(
                i, zero if extra else np.asarray(-size if signed else 1).astype(i.dtype), n - i.dtype.type(1)
            )
        if way == "min" and holds:
            return jnp.minimum(i, n - i.dtype.type(1))
        if way == "max":
            return jnp.maximum(i, zero)
        if way == "shift":
            return i + np.asarray(extra - 1 if signed else extra).astype(i.dtype)
        types = {"wide": jnp.int32, "widest": jnp.int64, "narrow": jnp.int16, "unsigned": jnp.uint32}
        return i.astype(types[way]) if way in types else i


Made = tuple[Callable, list[np.ndarray], int, bool]


def pick(source: stream.Source, dtype: str) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Indexed dimensions of a table, the rest of its dimensions, and batch dimensions of the indices."""
    if dtype in ("bfloat16", "float16"):
        # Sums of many would be nowhere near the truth in the order that they have.
        return (
            (int(source.random.integers(3, 200)), int(source.random.integers(3, 200))),
            (),
            (int(source.random.integers(20, 90)),),
        )
    high = int(source.one((12, 12, 60, 200, 300)))
    shape = tuple(int(size) for size in source.random.integers(3, high, source.random.integers(1, 4)))
    rest = tuple(int(size) for size in source.random.integers(1, 5, source.random.integers(0, 2)))
    batch = (
        (stream.sizes(source),)
        if source.random.integers(3)
        else (int(source.random.integers(1, 9)), stream.sizes(source) // 4)
    )
    if source.random.integers(25) == 0:
        batch = (0, *batch[1:])
    return shape, rest, batch


def joined(table: jax.Array, columns: list[jax.Array]) -> jax.Array:
    """An index array, of a type that holds the sizes of what it indexes: XLA compares with them in that type."""
    wide = jnp.result_type(*columns)
    wide = wide if max(table.shape) <= jnp.iinfo(wide).max else jnp.int32
    return jnp.stack([column.astype(wide) for column in columns], -1)


def taken(table: jax.Array, columns: list[jax.Array], mode: str, fill: int = 1) -> jax.Array:
    """A gather of just these indices."""
    count, rest = len(columns), table.ndim - len(columns)
    at = joined(table, columns)
    batch = at.ndim - 1
    numbers = lax.GatherDimensionNumbers(tuple(range(batch, batch + rest)), tuple(range(count)), tuple(range(count)))
    sizes = (1,) * count + table.shape[count:]
    return lax.gather(table, at, numbers, sizes, mode=LAX_MODES[mode], fill_value=fill)


def put(kind: str, table: jax.Array, columns: list[jax.Array], updates: jax.Array, mode: str) -> jax.Array:
    """A scatter to just these indices."""
    count, rest = len(columns), table.ndim - len(columns)
    at = joined(table, columns)
    batch = at.ndim - 1
    numbers = lax.ScatterDimensionNumbers(tuple(range(batch, batch + rest)), tuple(range(count)), tuple(range(count)))
    scatter = {
        "add": lax.scatter_add,
        "min": lax.scatter_min,
        "max": lax.scatter_max,
        "mul": lax.scatter_mul,
        "set": lax.scatter,
    }
    return scatter[kind](table, at, updates, numbers, mode=LAX_MODES[mode])


def forward(source: stream.Source) -> Made:
    dtype, mode = str(source.one(TABLES)), str(source.one(MODES))
    shape, rest, batch = pick(source, dtype)
    own = bool(source.random.integers(3))
    indices = Indices(source, shape, batch, own)
    reduce, exact = stream.reduce_of(source, dtype)
    whole = bool(source.random.integers(2)) or 0 in batch
    table = source.values(shape + rest, dtype, exact or whole)

    def f(table, *given):
        if own:
            rows = taken(table, indices.normal(list(given)), mode)
        else:
            rows = table.at[tuple(indices.columns(list(given)))].get(mode=mode, fill_value=1)
        return rows if whole else reduce(rows, axis=None)

    return f, [table, *indices.inputs], int(np.prod(indices.full)), exact or whole


def scatter(source: stream.Source) -> Made:
    dtype, mode = str(source.one(TABLES)), str(source.one(MODES))
    shape, rest, batch = pick(source, dtype)
    own = bool(source.random.integers(3))
    indices = Indices(source, shape, batch, own)
    kind = str(source.one(("add", "add", "min", "max", "mul", "set")))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    exact = integer or kind in ("min", "max", "set")
    table = source.values(shape + rest, dtype, exact)
    updates = source.values(indices.full + rest, dtype, exact)
    if kind == "mul" and not integer:
        updates = (updates * 0 + 1 + (updates > 1) * updates.dtype.type(0.0078125)).astype(updates.dtype)

    def f(table, updates, *given):
        if own:
            return put(kind, table, indices.normal(list(given)), updates + 0, mode)
        at = table.at[tuple(indices.columns(list(given)))]
        return getattr(at, {"mul": "multiply"}.get(kind, kind))(updates + 0, mode=mode)

    return f, [table, updates, *indices.inputs], int(np.prod(indices.full)), exact


def gradient(source: stream.Source) -> Made:
    dtype, mode = str(source.one(FLOATS)), str(source.one(MODES))
    shape, rest, batch = pick(source, dtype)
    own = bool(source.random.integers(2))
    indices = Indices(source, shape, batch, own)
    # Nothing for what is filled in: where many terms are one number, so are their errors, and those add up.
    inner = source.one((jnp.sin, jnp.sqrt, lambda v: v * v.dtype.type(2.5), jnp.expm1))

    def loss(table, *given):
        if own:
            rows = taken(table, indices.normal(list(given)), mode, 0)
        else:
            rows = table.at[tuple(indices.columns(list(given)))].get(mode=mode, fill_value=0)
        return jnp.sum(inner(rows))

    made = source.one((jax.value_and_grad(loss), jax.grad(loss), jax.grad(loss)))
    return made, [source.values(shape + rest, dtype), *indices.inputs], int(np.prod(indices.full)), False


def there_and_back(source: stream.Source) -> Made:
    """A gather and a scatter of the same indices, perhaps spelled in two ways, and several tables."""
    shape, rest, batch = pick(source, "int32")
    indices = Indices(source, shape, batch, True)
    dtype, modes = str(source.one(TABLES)), [str(source.one(MODES)) for _ in range(2)]
    kind = str(source.one(("max", "min", "set", "add")))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    kind = kind if integer or kind != "add" else "max"
    tables = [source.values(shape + rest, dtype, True) for _ in range(2)]
    more = bool(source.random.integers(2))

    def f(first, second, *given):
        rows = taken(first, indices.normal(list(given)), modes[0])
        others = taken(second, indices.normal(list(given), True), modes[1])
        result = put(kind, second, indices.normal(list(given), True), jnp.maximum(rows, others), modes[1])
        return (result, rows, indices.normal(list(given))[0]) if more else result

    return f, [*tables, *indices.inputs], int(np.prod(batch)), True


def along_axis(source: stream.Source) -> Made:
    shape = tuple(int(size) for size in source.random.integers(2, 40, source.random.integers(1, 4)))
    axis = int(source.random.integers(len(shape)))
    wanted = list(shape)
    wanted[axis] = stream.sizes(source) // 8
    dtype, mode = str(source.one(TABLES)), str(source.one(MODES))
    index = str(source.one(SIGNED))
    given = source.indices(tuple(wanted), index, shape[axis], "any")
    what = source.random.integers(3)
    if what == 2:
        dtype = str(source.one(FLOATS[:2]))
    table = source.values(shape, dtype, what != 2)

    def f(table, given):
        if what == 0:
            return jnp.take_along_axis(table, given, axis, mode=mode)
        if what == 1:
            return jnp.max(jnp.take_along_axis(table, given, axis, mode=mode), axis=axis)
        return jax.grad(lambda t: jnp.sum(jnp.sqrt(jnp.take_along_axis(t, given, axis, mode=mode))))(table)

    return f, [table, given], int(np.prod(wanted)), what != 2


def mapped(source: stream.Source) -> Made:
    """Batched by vmap: gathers and scatters with batching dimensions."""
    batch, size, count = int(source.random.integers(1, 6)), int(source.random.integers(3, 200)), stream.sizes(source)
    dtype, mode = str(source.one(TABLES)), str(source.one(MODES))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    table = source.values((batch, size), dtype, True)
    in_axes = int(source.random.integers(2))
    columns = bool(source.random.integers(2))
    shape = (2, batch, count) if columns else ((count, batch) if in_axes else (batch, count))
    given = source.indices(shape, str(source.one(SIGNED[1:])), size, "any")
    kind = source.one(("gather", "set", "max", "add") if integer else ("gather", "set", "max"))

    def one(row, at, other):
        if kind == "gather":
            return row.at[at].get(mode=mode, fill_value=1), row.at[other].get(mode=mode, fill_value=1)
        updates = jnp.full(at.shape, 2, row.dtype)
        return getattr(row.at[at], kind)(updates, mode=mode), getattr(row.at[other], kind)(updates, mode=mode)

    def f(table, given):
        first, second = (given[0], given[1]) if columns else (given, given)
        return jax.vmap(one, in_axes=(0, 0 if columns else in_axes, 0 if columns else in_axes))(table, first, second)

    return f, [table, given], batch * count, True


def rows(source: stream.Source) -> Made:
    """Embeddings, segment sums and histograms: one number to an index vector."""
    words, width = int(source.random.integers(3, 300)), int(source.random.integers(1, 6))
    batch = (
        (stream.sizes(source),)
        if source.random.integers(2)
        else (int(source.random.integers(1, 9)), stream.sizes(source) // 4)
    )
    index, mode = str(source.one(INDICES)), str(source.one(MODES))
    what = source.random.integers(4)
    dtype = str(source.one(FLOATS[:2] if what == 1 else TABLES))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    given = source.indices(batch, index, words, "any")
    if np.iinfo(index).min < 0:
        given = np.clip(given, -words, np.iinfo(index).max).astype(index)
    table = source.values((words, width), dtype, what == 0 or integer)
    values = source.values((*batch, width), "int32" if integer else "float32")

    def f(table, given, values):
        given = given if words <= jnp.iinfo(given.dtype).max else given.astype(jnp.int32)
        if what == 0:
            return jnp.take(table, given, axis=0, mode=mode if mode != "promise_in_bounds" else None)
        if what == 1:
            return jax.grad(lambda t: jnp.sum(t.at[given].get(mode=mode, fill_value=1).astype(jnp.float32) * values))(
                table
            )
        if what == 2:
            return jax.ops.segment_sum(values.reshape(-1, width), given.reshape(-1), words)
        return jnp.zeros(words, jnp.int32).at[given].add(1, mode="drop")

    return f, [table, given, values], int(np.prod(batch)) * width, what == 0 or integer or what == 3


def looped(source: stream.Source) -> Made:
    """Inside of a loop: what is computed there stays there."""
    shape, _, batch = pick(source, "int32")
    indices = Indices(source, shape, batch, True)
    mode = str(source.one(MODES))
    inside = bool(source.random.integers(2))

    def f(table, *given):
        outer = indices.normal(list(given))

        def body(i, state):
            columns = [column + (i - i).astype(column.dtype) for column in indices.columns(list(given))]
            columns = columns if inside else outer
            rows = taken(state, columns, mode)
            return put("max", state, columns, rows + 1, mode)

        return lax.fori_loop(0, 3, body, table)

    return f, [source.values(shape, "int32"), *indices.inputs], int(np.prod(batch)), True


FAMILIES = (
    forward,
    forward,
    forward,
    scatter,
    scatter,
    gradient,
    gradient,
    there_and_back,
    there_and_back,
    along_axis,
    mapped,
    rows,
    looped,
)


def generate(count: int, seed: int) -> list[stream.Program]:
    programs: list[stream.Program] = []
    number = 0
    while len(programs) < count:
        source = stream.Source(seed * 1_000_003 + number)
        family = FAMILIES[number % len(FAMILIES)]
        number += 1
        function, inputs, terms, exact = family(source)
        try:
            text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
        except OverflowError:
            # JAX has no code for a dimension larger than what its index type holds.
            continue
        name = f"{family.__name__} {seed}/{number - 1}"
        programs.append(stream.Program(name, text, text, inputs, terms, exact, False, int(source.one(CHUNK_BYTES))))
    return programs


def same_by_definition(program: stream.Program, after: str) -> bool:
    """Whether a difference is XLA's own."""
    import execute
    import jaxlib_ir

    return execute.same_by_definition(program.text, after, program.inputs, jaxlib_ir.make_context())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, help="slimhlo-opt")
    parser.add_argument("--count", type=int, default=1500, metavar="N", help="programs in all (default: 1500)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the programs that differ there")
    args = parser.parse_args()

    started = time.monotonic()
    programs = generate(args.count, args.seed)
    driver = Driver(args.opt).ready()
    findings: list[tuple[stream.Program, str, str]] = []
    xlas_own = 0
    families: collections.Counter[str] = collections.Counter()
    rewritten = looped_programs = 0
    prepared = driver.run([program.text for program in programs], PREPARE)
    reused = driver.run([program.text for program in programs], [*PREPARE, REUSE])
    again = driver.run([outcome.output or "" for outcome in reused], [REUSE])
    same = driver.run([outcome.output or "" for outcome in reused])
    streamed: dict[str, object] = {}
    for chunk_bytes in CHUNK_BYTES:
        some = [program for program in programs if program.chunk_bytes == chunk_bytes]
        done = driver.run(
            [program.text for program in some], [*PREPARE, REUSE, f"--slimhlo-stream=target=xla-cpu chunk-bytes={chunk_bytes}"]
        )
        streamed |= {program.name: outcome for program, outcome in zip(some, done, strict=True)}

    for program, before, after, twice, once in zip(programs, prepared, reused, again, same, strict=True):
        looping = streamed[program.name]
        if any(outcome.output is None for outcome in (before, after, looping)):
            failed = next(outcome for outcome in (before, after, looping) if outcome.output is None)
            findings.append((program, f"the driver fails: {failed.crash or failed.message}", ""))
            continue
        if twice.output != once.output:
            findings.append((program, "a second run changes it", after.output))
        candidates = []
        if after.output != before.output:
            rewritten += 1
            families[program.name.partition(" ")[0]] += 1
            candidates.append(after.output)
        if looping.output != after.output:
            looped_programs += 1
            candidates.append(looping.output)
        try:
            expected = stream.run(program.text, program.inputs) if candidates else []
            for text in candidates:
                found = stream.differences(program, text, expected)
                if found and same_by_definition(program, text):
                    xlas_own += 1
                    continue
                findings.extend((program, each, text) for each in found)
        except Exception as error:
            findings.append((program, f"it does not run: {error}", candidates[-1]))

    for program, text, after in findings:
        print(f"{program.name}, chunk-bytes={program.chunk_bytes}: {text}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            name = args.dump / program.name.replace(" ", "_").replace("/", "_")
            name.with_suffix(".before.mlir").write_text(program.text)
            name.with_suffix(".after.mlir").write_text(after)
    share = rewritten / max(1, len(programs))
    failed = len({found[0].name for found in findings})
    print(
        f"indices reused or narrowed in {rewritten} ({share:.1%}; {dict(sorted(families.items()))}), loops made in {looped_programs}"
    )
    enough = share >= REWRITTEN_SHARE
    print(
        f"{len(programs) - failed} passed, {failed} failed; {'' if enough else 'too few changed; '}"
        f"{xlas_own} with other bits only by XLA's own arithmetic; {time.monotonic() - started:.0f} s"
    )
    return 0 if enough and not findings else 1


if __name__ == "__main__":
    sys.exit(main())
