# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test of --slimhlo-stream: JAX programs that gather, scatter and reduce, before and after, in XLA for CPU.

    python test/oracle/stream.py --opt target/debug/slimhlo-opt --count 300 --seed 1

Sizes are small and chunks smaller, so that loops really turn, most with a remainder. Integers, maxima, minima and what is set
must be the same bit by bit; where a float sum or product is in another order it may differ by 2 ulp times the square root of
the number of terms. Values are positive there, so that nothing cancels.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import itertools
import pathlib
import sys
import time
from collections.abc import Callable, Iterable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xla_cpu  # first: it sets the flags with which JAX starts
from execute import same_bits
from opt import Driver, Outcome

jax.config.update("jax_enable_x64", True)

# What loops are made for, and of how many programs one each: what they compute is the same wherever they run.
TARGETS = {"xla-cpu": 1, "xla-gpu": 3}
CHUNK_BYTES = (48, 256, 1500)
CHANGED_SHARE = 0.6
INDICES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
TABLES = ("float32", "float64", "bfloat16", "float16", "int32", "int64", "int8", "uint8")
MODES = ("wrap", "clip", "fill", "promise_in_bounds")
SCATTER_MODES = MODES[1:]


@dataclasses.dataclass(frozen=True)
class Program:
    """A lowered program with its inputs."""

    name: str
    text: str
    reference: str
    inputs: list[np.ndarray]
    terms: int
    exact: bool
    cancels: bool
    chunk_bytes: int
    # What the results' own type may hide: values on the way to them are rounded to this.
    rounds: np.dtype | None = None


class Source:
    """Random choices, and arrays to go with them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)

    def one(self, of: tuple) -> object:
        return of[self.random.integers(len(of))]

    def values(self, shape: tuple[int, ...], dtype: str, exact: bool = False) -> np.ndarray:
        kind = jnp.dtype(dtype)
        if jnp.issubdtype(kind, jnp.integer):
            info = jnp.iinfo(kind)
            return self.random.integers(int(info.min), int(info.max), shape, endpoint=True, dtype=kind)
        values = self.random.uniform(0.5, 1.5, shape).astype(kind)
        if exact and values.size and self.random.integers(2):
            flat = values.reshape(-1)
            for special in (np.nan, np.inf, -np.inf, -0.0, 0.0):
                flat[self.random.integers(flat.size)] = special
        return values

    def indices(self, shape: tuple[int, ...], dtype: str, size: int, mode: str) -> np.ndarray:
        """In bounds where they must be, else some of them far out, and negative; many the same."""
        info = np.iinfo(dtype)
        low, high = (0, size - 1) if mode == "promise_in_bounds" else (-2 * size, 2 * size)
        found = self.random.integers(max(low, info.min), min(high, info.max), shape, endpoint=True).astype(dtype)
        if mode != "promise_in_bounds" and found.size:
            found.reshape(-1)[self.random.integers(found.size)] = self.one((info.min, info.max))
        return found


Made = tuple[Callable, list[np.ndarray], int, bool]


def sizes(source: Source) -> int:
    return int(source.random.integers(60, 900))


def reduce_of(source: Source, dtype: str, exact_only: bool = False) -> tuple[Callable, bool]:
    kinds = [(jnp.max, True), (jnp.min, True)]
    if not exact_only:
        integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
        kinds += [(lambda v, axis=None: jnp.sum(v, axis=axis, dtype=v.dtype), integer)] * 3
        if integer:
            kinds.append((lambda v, axis=None: jnp.prod(v, axis=axis, dtype=v.dtype), True))
    return kinds[source.random.integers(len(kinds))]


def gather_forward(source: Source) -> Made:
    columns = int(source.random.integers(1, 4))
    rest = (int(source.random.integers(2, 6)),) if source.random.integers(2) else ()
    shape = tuple(int(size) for size in source.random.integers(3, 12, columns))
    dtype, index, mode = source.one(TABLES), source.one(INDICES), source.one(MODES)
    reduce, exact = reduce_of(source, dtype)
    batch = (sizes(source),) if source.random.integers(3) else (int(source.random.integers(2, 9)), sizes(source) // 4)
    table = source.values(shape + rest, dtype, exact)
    indices = source.indices((*batch, columns), index, min(shape), mode)
    axis = None if source.random.integers(2) else tuple(range(len(batch)))
    scale = bool(source.random.integers(2))

    def f(table, indices):
        at = [indices[..., column] for column in range(columns)]
        if mode == "wrap":
            at = [column.astype(jnp.int64) % size for column, size in zip(at, shape, strict=True)]
        rows = table.at[tuple(at)].get(mode="clip" if mode == "wrap" else mode, fill_value=1)
        return reduce(rows * rows.dtype.type(2) if scale else rows, axis=axis)

    return f, [table, indices], int(np.prod(batch)), exact


def scatter(source: Source) -> Made:
    columns = int(source.random.integers(1, 3))
    rest = (int(source.random.integers(2, 6)),) if source.random.integers(2) else ()
    shape = tuple(int(size) for size in source.random.integers(3, 12, columns))
    dtype, index, mode = source.one(TABLES), source.one(INDICES), source.one(SCATTER_MODES)
    kind = source.one(("add", "add", "add", "min", "max", "mul", "set"))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    exact = integer or kind in ("min", "max", "set")
    batch = (sizes(source),) if source.random.integers(3) else (int(source.random.integers(2, 9)), sizes(source) // 4)
    table = source.values(shape + rest, dtype, exact)
    indices = source.indices((*batch, columns), index, min(shape), mode)
    updates = source.values(batch + rest, dtype, exact)
    if kind == "mul" and not integer:
        updates = (updates * 0 + 1 + (updates > 1) * updates.dtype.type(0.0078125)).astype(updates.dtype)
    form = source.random.integers(4)

    def f(table, indices, updates):
        given = (updates * 2, updates, jnp.full(updates.shape, 1, updates.dtype), jnp.abs(updates) + 1)[form]
        at = table.at[tuple(indices[..., column] for column in range(columns))]
        return getattr(at, {"mul": "multiply"}.get(kind, kind))(given, mode=mode)

    return f, [table, indices, updates], int(np.prod(batch)), exact


def value_and_grad(source: Source) -> Made:
    columns = int(source.random.integers(1, 4))
    shape = tuple(int(size) for size in source.random.integers(3, 12, columns))
    dtype, index = source.one(("float32", "float64", "bfloat16", "float16")), source.one(INDICES)
    mode = source.one(SCATTER_MODES)
    count = sizes(source)
    table = source.values(shape, dtype)
    indices = source.indices((count, columns), index, min(shape), mode)
    inner = source.one((jnp.sin, jnp.sqrt, lambda v: v * v.dtype.type(2.5), jnp.exp))

    def loss(table, indices):
        rows = table.at[tuple(indices[:, column] for column in range(columns))].get(mode=mode, fill_value=1)
        return jnp.sum(inner(rows.astype(dtype)))

    of = source.one((jax.value_and_grad, jax.grad))

    def made(table, indices):
        return of(loss)(table, indices)

    def reference(table, indices):
        # XLA adds up float16 in float16, and bfloat16 in some scatters, whose rounding goes one way where all terms are alike.
        found = of(loss)(table.astype(jnp.float32), indices)
        return jax.tree.map(lambda value: value.astype(dtype), found)

    if dtype in ("float16", "bfloat16"):
        made.reference = reference
    return made, [table, indices], count, False


def histogram(source: Source) -> Made:
    count, bins = sizes(source), int(source.random.integers(3, 40))
    values = source.random.uniform(-0.5, 1.5, count).astype(source.one(("float32", "float64")))
    weights = source.values((count,), source.one(("int32", "int64")))
    weighted = bool(source.random.integers(2))

    def f(values, weights):
        bin = jnp.clip((values * bins).astype(jnp.int32), 0, bins - 1)
        return jnp.zeros(bins, weights.dtype).at[bin].add(weights if weighted else 1)

    return f, [values, weights], count, True


def log_sum_exp(source: Source) -> Made:
    dtype = source.one(("float32", "float64"))
    rows, columns = sizes(source) // 8 + 2, sizes(source) // 8 + 2
    axis = source.one((None, 0, 1))

    def f(x, y):
        return jax.nn.logsumexp(x[:, None] + y[None, :], axis=axis)

    if source.random.integers(2):
        f = jax.value_and_grad(lambda x, y, f=f: jnp.sum(f(x, y)), (0, 1))
    return f, [source.values((rows,), dtype), source.values((columns,), dtype)], rows * columns, False


def embedding(source: Source) -> Made:
    rows, columns, width = int(source.random.integers(2, 7)), sizes(source) // 8 + 2, int(source.random.integers(2, 9))
    words = int(source.random.integers(5, 30))
    dtype = source.one(("bfloat16", "float16", "float32"))
    indices = source.indices((rows, columns), source.one(INDICES), words, "promise_in_bounds")

    def f(table, indices, given):
        return jnp.sum(table[indices].astype(jnp.float32) * given)

    inputs = [source.values((words, width), dtype), indices, source.values((rows, columns, width), "float32")]
    return source.one((jax.grad(f), jax.value_and_grad(f))), inputs, rows * columns * width, False


def initial_value(source: Source) -> Made:
    """A reduction whose initial value is not the identity counts it once."""
    dtype = source.one(("float32", "int32", "int64", "bfloat16", "int8"))
    kind = source.one(("add", "mul", "max", "min", "and"))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    if kind in ("mul", "and") and not integer:
        kind = "add"
    joins = {"add": lax.add, "mul": lax.mul, "max": lax.max, "min": lax.min, "and": lax.bitwise_and}
    count, size = sizes(source), int(source.random.integers(3, 20))
    width = int(source.random.integers(1, 5))
    given = bool(source.random.integers(2))

    def f(table, indices, start):
        rows = table[indices]
        return lax.reduce(rows, start if given else rows.dtype.type(5), joins[kind], (0,))

    def reference(table, indices, start):
        rows = table[indices]
        first = start if given else rows.dtype.type(5)
        identity = rows.dtype.type({"add": 0, "mul": 1}[kind])
        return joins[kind](first, lax.reduce(rows, identity, joins[kind], (0,)))

    if kind in ("add", "mul"):
        # XLA for CPU splits long reductions and counts an initial value that is no identity once per part.
        f.reference = reference

    inputs = [source.values((size, width), dtype), source.indices((count,), "int32", size, "promise_in_bounds")]
    return f, [*inputs, source.values((), dtype)], count, integer or kind in ("max", "min")


def positions(source: Source) -> Made:
    """Iota, and an iota cast to small types, offset by the chunk."""
    count, bins = sizes(source), int(source.random.integers(3, 20))
    dtype = source.one(("int32", "int64", "float32", "float64", "int8", "uint16"))
    values = source.values((count,), "int32")

    def f(values):
        at = lax.iota(jnp.dtype(dtype), count)
        bin = (values + lax.iota(jnp.int32, count)) % bins
        return jnp.zeros(bins, at.dtype).at[bin].max(at), jnp.full(bins, 100, at.dtype).at[bin].min(at)

    return f, [values], count, True


def attention(source: Source) -> Made:
    heads, queries, keys = int(source.random.integers(1, 4)), sizes(source) // 10 + 2, sizes(source) // 10 + 2
    width = int(source.random.integers(2, 9))
    dtype = source.one(("float32", "float64"))

    causal = bool(source.random.integers(2))

    def f(q, k, v):
        scores = q @ k.swapaxes(-1, -2) / 8
        if causal:
            scores = jnp.where(jnp.arange(queries)[:, None] >= jnp.arange(keys) - keys // 2, scores, -1e9)
        return jax.nn.softmax(scores, -1) @ v

    inputs = [source.values((heads, count, width), dtype) for count in (queries, keys, keys)]
    gradient = jax.grad(lambda *inputs: jnp.sum(f(*inputs) ** 2), (0, 1, 2))
    made = gradient if source.random.integers(2) else f
    made.cancels = True
    return made, inputs, keys * queries, False


def nearest(source: Source) -> Made:
    """A reduction of several operands per row: which of some points is nearest."""
    rows, points, width = sizes(source) // 4 + 2, int(source.random.integers(3, 40)), int(source.random.integers(2, 5))

    def f(x, centers):
        distances = jnp.abs(x[:, None, 0] - centers[None, :, 0]) * 2 + jnp.abs(x[:, None, 1] - centers[None, :, 1])
        found = jnp.argmin(distances, axis=1)
        return found, jnp.zeros(points, jnp.int32).at[found].add(1)

    inputs = [source.values((rows, width), "int32") % 100, source.values((points, width), "int32") % 100]
    return f, inputs, rows, True


def next_token(source: Source) -> Made:
    """A loss over all rows but the last: slices and pads along the streamed dimension."""
    batch, rows, width = int(source.random.integers(1, 4)), sizes(source) // 16 + 3, int(source.random.integers(2, 9))
    words = int(source.random.integers(3, 40))

    def loss(x, w, tokens):
        likely = jax.nn.log_softmax((x @ w)[:, :-1])
        return -jnp.mean(jnp.take_along_axis(likely, tokens[:, 1:, None], -1))

    dtype = source.one(("float32", "float64"))
    inputs = [source.values((batch, rows, width), dtype), source.values((width, words), dtype)]
    made = source.one((loss, jax.grad(loss, (0, 1)), jax.value_and_grad(loss, (0, 1))))
    made.cancels = True
    return made, [*inputs, source.indices((batch, rows), "int32", words, "promise_in_bounds")], batch * rows * words, False


def cross_entropy(source: Source) -> Made:
    rows, width, words = sizes(source) // 8 + 2, int(source.random.integers(2, 9)), int(source.random.integers(3, 40))
    dtype = source.one(("float32", "float64", "bfloat16"))

    def loss(x, w, targets):
        likely = jax.nn.log_softmax(x @ w)
        return -jnp.mean(jnp.take_along_axis(likely, targets[:, None], -1))

    inputs = [source.values((rows, width), dtype), source.values((width, words), dtype)]
    made = source.one((loss, jax.grad(loss, (0, 1)), jax.value_and_grad(loss, (0, 1)), jax.grad(loss, 1)))
    made.cancels = True
    return made, [*inputs, source.indices((rows,), "int32", words, "promise_in_bounds")], rows * words, False


def message_passing(source: Source) -> Made:
    nodes, width, edges = int(source.random.integers(3, 30)), int(source.random.integers(2, 9)), sizes(source)
    dtype = source.one(("float32", "float64"))

    def f(state, weights, senders, receivers):
        sent = jnp.concatenate([state[senders], state[receivers]], -1) @ weights
        return jnp.zeros_like(state).at[receivers].add(jnp.tanh(sent / (4 * width)))

    made = f if source.random.integers(2) else jax.grad(lambda *inputs: jnp.sum(f(*inputs) ** 2), (0, 1))
    made.cancels = True
    inputs = [source.values((nodes, width), dtype), source.values((2 * width, width), dtype)]
    ends = [source.indices((edges,), "int32", nodes, "promise_in_bounds") for _ in range(2)]
    return made, [*inputs, *ends], edges, False


def attention_layer(source: Source) -> Made:
    """A projection before JAX's own attention, whose dots name the type they accumulate in."""
    batch, rows, heads = int(source.random.integers(1, 3)), sizes(source) // 16 + 4, int(source.random.integers(1, 3))
    width = 4 * heads
    causal = bool(source.random.integers(2))
    dtype = source.one(("float32", "bfloat16"))

    def loss(x, w):
        q, k, v = jnp.split(x @ w, 3, axis=-1)
        apart = [part.reshape(batch, rows, heads, 4) for part in (q, k, v)]
        return jnp.mean(jax.nn.dot_product_attention(*apart, is_causal=causal).astype(jnp.float32) ** 2)

    inputs = [source.values((batch, rows, width), dtype) - 1, source.values((width, 3 * width), dtype) - 1]
    made = source.one((jax.grad(loss, 1), jax.value_and_grad(loss, (0, 1))))
    made.cancels = True
    # Of bf16 the weights and what is averaged are, too.
    made.rounds = inputs[0].dtype
    return made, inputs, batch * rows * rows * width, False


def gathered_arithmetic(source: Source) -> Made:
    """What is gathered from is computed from one table and scalars, or needed besides."""
    size, width, count = int(source.random.integers(3, 30)), int(source.random.integers(1, 6)), sizes(source)
    dtype = source.one(("float32", "float64", "int32", "int8", "uint16"))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    steps = [int(step) for step in source.random.integers(0, 7, source.random.integers(1, 5))]
    mode = source.one(SCATTER_MODES)
    besides = source.random.integers(4) == 0

    def f(table, scalar, indices, weights):
        value = table
        for step in steps:
            two = value.dtype.type(2)
            value = (
                lambda v, two=two: v * two,
                lambda v: v + scalar.astype(v.dtype),
                lambda v: jnp.where(v > scalar.astype(v.dtype), v, scalar.astype(v.dtype)),
                lambda v: v * v,
                lambda v: lax.clamp(scalar.astype(v.dtype), v, v.dtype.type(100)),
                lambda v: (v > 1).astype(jnp.int32),
                lambda v: jnp.maximum(v, scalar.astype(v.dtype)),
            )[step](value)
        rows = value.at[indices].get(mode=mode, fill_value=1)
        out = jnp.sum(rows.astype(weights.dtype) * weights, axis=0, dtype=weights.dtype), jnp.max(rows, axis=0)
        return (*out, value) if besides else out

    table, scalar = source.values((size, width), dtype), source.values((), dtype)
    weights = source.values((count, width), dtype)
    f.cancels = True
    return f, [table, scalar, source.indices((count,), "int32", size, mode), weights], count * width, integer


def read_twice(source: Source) -> Made:
    """Cheap arithmetic on what is much smaller, read by several reductions, one of which may need another's result."""
    dtype = source.one(("float32", "float64", "int32", "int16"))
    rows, columns = sizes(source) // 8 + 2, sizes(source) // 8 + 2
    axis, other = source.one((None, 0, 1)), source.one((None, 0, 1))
    form = source.random.integers(4)
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)

    def f(x, y):
        value = (
            lambda: x[:, None] + y[None, :],
            lambda: jnp.maximum(x[:, None], y[None, :]) - x[:, None],
            lambda: jnp.where(jnp.arange(rows)[:, None] > jnp.arange(columns), x[:, None], y[None, :]),
            lambda: x[:, None] * 3 - y[None, :] * x[:, None],
        )[form]()
        most, sums = jnp.max(value, axis=axis, keepdims=True), jnp.sum(value, axis=other, dtype=value.dtype)
        least = jnp.min(value - most, axis=axis)
        return most, sums, least, jnp.sum(value * value, axis=other, dtype=value.dtype)

    f.cancels = True
    return f, [source.values((rows,), dtype), source.values((columns,), dtype)], rows * columns, integer


def ranks(source: Source) -> Made:
    """Counts and masked sums over pairs: comparisons and selects, which no library of sums knows."""
    dtype = source.one(("float32", "float64", "int32"))
    rows, columns = sizes(source) // 8 + 2, sizes(source) // 8 + 2
    axis = source.one((None, 0, 1))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)

    def f(x, y):
        above = x[:, None] > y[None, :]
        masked = jnp.where(above, x[:, None], x.dtype.type(0))
        return jnp.sum(above, axis=axis), jnp.sum(masked, axis=axis, dtype=x.dtype), jnp.max(masked, axis=axis)

    return f, [source.values((rows,), dtype), source.values((columns,), dtype)], rows * columns, integer


def largest(source: Source) -> Made:
    """The largest of each row of scores, and where they are."""
    rows, points, width = sizes(source) // 4 + 2, int(source.random.integers(9, 60)), int(source.random.integers(2, 5))
    count = int(source.random.integers(1, 6))

    def f(x, y):
        values, places = lax.top_k(jnp.sum((x[:, None] - y[None]) ** 2, -1, dtype=x.dtype), count)
        return (values, places) if width % 2 else (places, jnp.sum(values, 0, dtype=x.dtype))

    inputs = [source.values((rows, width), "int32") % 100, source.values((points, width), "int32") % 100]
    return f, inputs, rows, True


def pairs(source: Source) -> Made:
    """A contrastive loss: which column belongs to which row is said by indices that count, from some row on."""
    rows, width = sizes(source) // 12 + 6, int(source.random.integers(2, 9))
    first = source.one((0, 0, int(source.random.integers(0, rows))))
    turned = bool(source.random.integers(2))
    dtype = source.one(("float32", "float64"))

    def loss(x, y, targets):
        likely = jax.nn.log_softmax(x @ y.T, 0 if turned else 1)
        at = (jnp.arange(first, rows), targets[first:])
        return -jnp.mean(likely[at[::-1] if turned else at])

    made = source.one((loss, jax.grad(loss, (0, 1)), jax.value_and_grad(loss, (0, 1))))
    made.cancels = True
    inputs = [source.values((rows, width), dtype), source.values((rows, width), dtype)]
    return made, [*inputs, source.indices((rows,), "int32", rows, "clip")], rows * rows, False


def attained(source: Source) -> Made:
    """Gradients of maxima of products: who attained one is who equals it bit by bit, so no product may be done twice."""
    rows, columns = sizes(source) // 2 + 6, sizes(source) // 2 + 6
    width = int(source.one((3, 16, 48, 64, 100, 300)))
    dtype = source.one(("float32", "float32", "float64", "bfloat16"))
    kind = source.one(("rows", "columns", "both", "distances", "softmax", "segments"))
    places = source.indices((rows,), "int32", 7, "promise_in_bounds")

    def loss(x, y):
        scores = x @ y.T
        if kind == "distances":
            scores = jnp.sum(x * x, -1)[:, None] - 2 * scores + jnp.sum(y * y, -1)[None]
        if kind == "segments":
            return jnp.sum(jax.ops.segment_max(scores, places, 7) ** 2)
        most = [jnp.max(scores, axis) for axis in (0, 1) if kind != ("rows", "columns")[axis == 1]]
        found = sum(jnp.sum(each**2) for each in most)
        if kind == "softmax":
            found += jnp.sum(jnp.exp(scores - jnp.max(scores, 1, keepdims=True)))
        return found

    made = jax.grad(loss, (0, 1))
    made.cancels = True
    return made, [source.values((rows, width), dtype), source.values((columns, width), dtype)], rows * columns, False


def gates(source: Source) -> Made:
    """Weights between two products that need nothing of their row; the second product may be with a vector."""
    rows, columns, width = sizes(source) // 8 + 2, sizes(source) // 8 + 2, int(source.random.integers(2, 9))
    out = source.one(((), (1,), (3,)))
    dtype = source.one(("float32", "float64"))

    def f(q, k, v):
        return jax.nn.sigmoid(q @ k.T - 1) @ v

    made = f if source.random.integers(2) else jax.grad(lambda *inputs: jnp.sum(f(*inputs) ** 2), (0, 1, 2))
    made.cancels = True
    inputs = [source.values((rows, width), dtype), source.values((columns, width), dtype)]
    return made, [*inputs, source.values((columns, *out), dtype)], rows * columns, False


def random_numbers(source: Source) -> Made:
    """Random numbers: JAX makes them in a loop that is elementwise; a mask of them, what they are added to, sums of them."""
    rows, columns = sizes(source) // 8 + 2, int(source.random.integers(2, 40))
    shape = source.one(((rows * columns,), (rows, columns), (2, rows, columns)))
    dtype = source.one(("float32", "float64"))
    draw = source.one((jax.random.uniform, jax.random.normal, jax.random.gumbel))
    form = source.random.integers(6)

    def f(x, key):
        numbers = lambda: draw(key, shape, dtype)  # noqa: E731
        keep = lambda: jax.random.bernoulli(key, 0.75, shape)  # noqa: E731
        return (
            numbers,
            lambda: x + numbers(),
            lambda: jnp.max(x + numbers(), -1),
            lambda: (jnp.where(keep(), x, 0), jnp.sum(jnp.where(keep(), x * 2, 0))),
            lambda: jnp.sum(jax.nn.softmax(jnp.where(keep(), x, -jnp.inf), -1) ** 2),
            lambda: (keep(), jnp.argmax(numbers(), -1)),
        )[form]()

    f.cancels = True
    x = source.values(shape, dtype)
    return f, [x, source.values((2,), "uint32")], x.size, False


def turns(source: Source) -> Made:
    """Loops that step each element by itself, whose end is reduced or handed back, from what is there or from next to nothing."""
    rows, columns = sizes(source) // 8 + 2, int(source.random.integers(2, 40))
    dtype = source.one(("int32", "int16", "uint8", "float32"))
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    count, form, made_up = int(source.random.integers(0, 6)), source.random.integers(5), bool(source.random.integers(2))

    def f(x, scalar):
        first = lax.iota(x.dtype, rows)[:, None] * jnp.ones((1, columns), x.dtype) if made_up else x
        second = jnp.broadcast_to(scalar, first.shape)

        def turn(i, carried):
            a, b, c = carried
            return b + a, jnp.where(a > b, a, b - c), c + i.astype(x.dtype)

        a, b, c = lax.fori_loop(0, count, turn, (first, second, scalar))
        return (
            lambda: jnp.sum(a, dtype=x.dtype),
            lambda: (jnp.max(a, 0), jnp.min(b, 1)),
            lambda: (a, jnp.max(b)),
            lambda: a ^ b if integer else a - b,
            lambda: (a[1:] - a[:-1], c),
        )[form]()

    f.cancels = True
    return f, [source.values((rows, columns), dtype), source.values((), dtype)], rows * columns, integer


def scatters(source: Source) -> Made:
    """Several scatters into one table, one after another: weights of a particle on the cells around it, say."""
    shape = tuple(int(size) for size in source.random.integers(4, 12, 2))
    dtype, mode = source.one(("float32", "float64", "int32", "int8", "uint16")), source.one(SCATTER_MODES)
    kinds = [source.one(("add", "add", "min", "max", "multiply"))] * int(source.random.integers(2, 6))
    if not source.random.integers(4):
        kinds[int(source.random.integers(len(kinds)))] = source.one(("add", "set", "min"))
    counts = [sizes(source)] * len(kinds)
    if not source.random.integers(4):
        counts[0] += 1
    integer = jnp.issubdtype(jnp.dtype(dtype), jnp.integer)
    exact = integer or not {"add", "multiply"} & set(kinds)
    table = source.values(shape, dtype, exact)
    indices = source.indices((max(counts), 2), source.one(INDICES), min(shape), mode)
    weights = source.values((max(counts),), dtype, exact)
    seen = None if source.random.integers(4) else int(source.random.integers(len(kinds) - 1))
    shared = bool(source.random.integers(2))

    def f(table, indices, weights):
        between = None
        for number, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
            at = indices[:count, 0], indices[:count, 1] + jnp.asarray(number, indices.dtype)
            given = weights[:count]
            if kind == "multiply" and not integer:
                given = 1 + (given - 1) * given.dtype.type(0.0078125)
            else:
                given = given * given.dtype.type(number + 2)
            table = getattr(table.at[at], kind)(given, mode=mode)
            between = table if number == seen else between
        found = [table] if between is None else [table, between]
        rows = table.at[indices[:, 0], indices[:, 1]].get(mode=mode, fill_value=1)
        return [*found, rows * weights] if shared else found

    return f, [table, indices, weights], sum(counts), exact


def clusters(source: Source) -> Made:
    """Means of the points that are nearest to each of some others."""
    count, width, centres = sizes(source), int(source.random.integers(2, 6)), int(source.random.integers(9, 30))
    dtype = source.one(("float32", "float64"))
    furthest = bool(source.random.integers(2))

    def f(points, centres_):
        distances = ((points[:, None] - centres_[None]) ** 2).sum(2)
        nearest = jax.nn.one_hot((jnp.argmax if furthest else jnp.argmin)(distances, 1), centres, dtype=dtype)
        return nearest.T @ points / jnp.maximum(nearest.sum(0), 1)[:, None]

    return f, [source.values((count, width), dtype), source.values((centres, width), dtype)], count, False


def searches(source: Source) -> Made:
    """Binary searches in small tables, and what is counted, summed or picked by what they find."""
    count, edges = sizes(source), int(source.random.integers(3, 20))
    dtype = source.one(("float32", "float64", "int32"))
    side = source.one(("left", "right"))
    form = source.random.integers(4)
    table = np.sort(source.values((edges,), dtype))
    values = source.values((count,), dtype, exact=True)
    weights = source.values((count,), source.one(("int32", "int64")))

    def f(table, values, weights):
        at = jnp.searchsorted(table, values, side=side)
        return (
            lambda: jnp.zeros(edges + 1, weights.dtype).at[at].add(weights),
            lambda: jnp.bincount(at, length=edges + 1),
            lambda: jnp.max(jnp.append(table, table[-1:])[at] * (weights > 0)),
            lambda: at,
        )[form]()

    return f, [table, values, weights], count, True


def projection(source: Source) -> Made:
    """Gradients of products over rows, heads and batches in any order, with the rows contracted."""
    size = {name: int(source.one((1, 2, 3, 8))) for name in "bhekl"} | {"r": sizes(source)}
    dtype = source.one(("float32", "bfloat16", "bfloat16", "bfloat16"))
    batch, free, summed = source.one(("", "", "b")), source.one(("e", "he", "he")), source.one(("k", "kl"))

    def in_some_order(dims: str) -> str:
        return "".join(source.random.permutation(list(dims))) if source.random.integers(4) == 0 else dims

    left, right, result = map(in_some_order, (f"{batch}r{summed}", f"{batch}{summed}{free}", f"{batch}r{free}"))

    def loss(x, w):
        return jnp.sum(jnp.cos(jnp.einsum(f"{left},{right}->{result}", x, w)).astype(jnp.float32))

    made = jax.grad(loss, source.one((1, (0, 1))))
    made.cancels = True
    inputs = [source.values(tuple(size[name] for name in dims), dtype) for dims in (left, right)]
    return made, inputs, size["r"] * 8, False


def complex_numbers(source: Source) -> Made:
    """Amplitudes of wave functions: products of complex numbers, what functions make of them, and sums of these."""
    rows, width, hidden = sizes(source), int(source.random.integers(2, 9)), int(source.random.integers(9, 40))
    dtype = source.one(("complex64", "complex128"))
    part = np.zeros((), dtype).real.dtype
    form, start = source.random.integers(7), 0
    if form == 1 and source.random.integers(2):
        # XLA for CPU takes initial values of long sums several times.
        rows, start = int(source.random.integers(8, 32)), complex(*source.random.uniform(0.5, 1.5, 2))

    def given(*shape: int) -> np.ndarray:
        return (source.values(shape, part) - 0.5 + 1j * (source.values(shape, part) - 1)).astype(dtype)

    def amplitudes(x, w, b):
        h = x.astype(dtype) @ w + b
        return jnp.sum(h + jnp.log1p(jnp.exp(-2 * h)), -1)

    def f(x, w, b, table, indices):
        h = x.astype(dtype) @ w + b
        return (
            lambda: amplitudes(x, w, b),
            lambda: lax.reduce(jnp.exp(h), jnp.asarray(start, dtype), lax.add, (0,)),
            lambda: jnp.abs(h).max(1),
            lambda: h.conj().T @ jnp.exp(h),
            lambda: jnp.sum(table[indices] * h[:, :1], 0),
            lambda: jnp.zeros_like(table).at[indices].add(h[:, : table.shape[1]]),
            lambda: jax.grad(lambda w: jnp.mean(amplitudes(x, w, b).real))(w),
        )[form]()

    f.cancels = True
    # Of real numbers as well: spins, say.
    x = source.values((rows, width), part) - 1 if source.random.integers(2) else given(rows, width)
    indices = source.indices((rows,), "int32", 8, "promise_in_bounds")
    return f, [x, given(width, hidden), given(hidden), given(8, 3), indices], rows * hidden, False


FAMILIES = (
    searches,
    scatters,
    clusters,
    attention,
    attention_layer,
    gathered_arithmetic,
    read_twice,
    cross_entropy,
    message_passing,
    nearest,
    next_token,
    gather_forward,
    gather_forward,
    scatter,
    scatter,
    value_and_grad,
    value_and_grad,
    histogram,
    log_sum_exp,
    embedding,
    initial_value,
    positions,
    ranks,
    largest,
    pairs,
    attained,
    attained,
    gates,
    random_numbers,
    turns,
    projection,
    complex_numbers,
    complex_numbers,
)


def generate(count: int, seed: int) -> list[Program]:
    programs = []
    for number in range(count):
        source = Source(seed * 1_000_003 + number)
        family = FAMILIES[number % len(FAMILIES)]
        function, inputs, terms, exact = family(source)
        text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
        reference = getattr(function, "reference", function)
        expected = jax.jit(reference, keep_unused=True).lower(*inputs).as_text()
        name = f"{family.__name__} {seed}/{number}"
        chunk_bytes = int(source.one(CHUNK_BYTES))
        cancels, rounds = hasattr(function, "cancels"), getattr(function, "rounds", None)
        programs.append(Program(name, text, expected, inputs, terms, exact, cancels, chunk_bytes, rounds))
    return programs


def run(text: str, inputs: list[np.ndarray]) -> list[np.ndarray]:
    executable = xla_cpu.compile_text(text)
    given = [jax.device_put(value, jax.devices("cpu")[0]) for value in inputs]
    done = executable.execute_sharded(given).disassemble_into_single_device_arrays()
    return [np.asarray(shards[0]) for shards in done]


def difference(program: Program, before: np.ndarray, after: np.ndarray, largest: float) -> str | None:
    """What is wrong with a result, if anything."""
    if (before.dtype, before.shape) != (after.dtype, after.shape):
        return f"{before.dtype}{before.shape} became {after.dtype}{after.shape}"
    if program.exact:
        # Which of several NaNs a maximum hands on is open.
        same = same_bits(before, after)
        return None if same else f"not bit-identical: {before!r} became {after!r}"
    if not jnp.issubdtype(before.dtype, jnp.inexact):
        return None if np.array_equal(before, after) else f"{before!r} became {after!r}"
    old, new = in_parts(before), in_parts(after)
    # Where terms cancel, the error is one of the terms, which are no larger than the largest of all results by much.
    scale = np.maximum(np.abs(old), largest if program.cancels else 1e-30)
    kinds = {before.dtype, program.rounds or before.dtype}
    allowed = 2 * max(float(jnp.finfo(kind).eps) for kind in kinds) * np.sqrt(program.terms) * scale
    both_nan = np.isnan(old) & np.isnan(new)
    with np.errstate(invalid="ignore"):
        fine = both_nan | (old == new) | (np.abs(old - new) <= allowed)
    return None if fine.all() else f"{old[~fine][:4]} became {new[~fine][:4]}"


def in_parts(values: np.ndarray) -> np.ndarray:
    """In f64, of complex numbers both parts."""
    apart = np.stack([values.real, values.imag], -1) if values.dtype.kind == "c" else values
    return apart.astype(np.float64)


def differences(program: Program, text: str, expected: list[np.ndarray]) -> list[str]:
    """What is wrong with the results of a version of a program."""
    return compared(program, expected, run(text, program.inputs))


def compared(program: Program, expected: list[np.ndarray], found: list[np.ndarray]) -> list[str]:
    """What is wrong with the results found."""
    most = largest_of(expected)
    pairs = zip(expected, found, strict=True)
    return [wrong for before, after in pairs if (wrong := difference(program, before, after, most))]


def executed(program: Program, before: str, after: str) -> tuple[list[str], bool]:
    """Executes a program as it was and as it is, each once: what is wrong with the latter's results, and whether they have the same bits."""
    try:
        expected, found = run(before, program.inputs), run(after, program.inputs)
        same = all(x.tobytes() == y.tobytes() for x, y in zip(expected, found, strict=True))
        return compared(program, expected, found), same
    except Exception as error:  # XLA's errors have no common base
        return [f"it does not run: {error}"], False


def largest_of(values: Iterable[np.ndarray]) -> float:
    """The largest finite number in some arrays, by its absolute value."""
    wide = (np.abs(in_parts(value)) for value in values)
    return max((float(np.max(value, where=np.isfinite(value), initial=0)) for value in wide), default=0.0)


Execute = Callable[[Program, str, str], tuple[list[str], bool]]


@dataclasses.dataclass
class Changed:
    """What came of the programs that a pass has changed."""

    findings: list[tuple[Program, str, str]] = dataclasses.field(default_factory=list)
    """What is wrong with which, and what the pass made of it."""
    kinds: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """How many there are, by their names without the last word, a number."""
    same: int = 0
    """How many have the same bits."""

    def compare(
        self, programs: list[Program], plain: list[Outcome], made: list[Outcome], execute: Execute = executed
    ) -> None:
        """Executes programs that the pass has changed, without it and with it."""
        for program, before, after in zip(programs, plain, made, strict=True):
            if after.output is None or before.output is None:
                self.findings.append((program, f"the driver fails: {after.crash or after.message}", ""))
                continue
            if after.output == before.output:
                continue
            self.kinds[program.name.rpartition(" ")[0]] += 1
            wrong, same_bits = execute(program, before.output, after.output)
            self.same += same_bits
            self.findings.extend((program, text, after.output) for text in wrong)

    def settle(self, programs: list[Program], once: list[Outcome], twice: list[Outcome]) -> None:
        """A second run of the pass is to change nothing."""
        for program, after, again in zip(programs, once, twice, strict=True):
            if after.output is not None and again.output != after.output:
                self.findings.append((program, "a second run changes it", after.output))

    def verdict(
        self, programs: list[Program], least: float, dump: pathlib.Path | None, started: float, where: str = ""
    ) -> int:
        """Prints all that; the exit status: nothing is to be wrong, and at least such a share changed."""
        wrong = report(self.findings, dump)
        share = self.kinds.total() / max(1, len(programs))
        print(
            f"{len(programs) - wrong} passed, {wrong} failed: {self.kinds.total()} changed ({share:.1%}; {dict(sorted(self.kinds.items()))}) "
            f"and executed before and after{where}, {self.same} of them with the same bits; {time.monotonic() - started:.0f} s"
        )
        return 0 if share >= least and not self.findings else 1


@dataclasses.dataclass(frozen=True)
class PassTest:
    """What random programs are before and after a pass."""

    flag: str
    generate: Callable[[int, int], list[Program]]
    """So many programs, from a seed."""
    changed_share: float
    """Of the programs, that it has to change."""
    simple: Sequence[str] = ()
    """What runs before it."""
    execute: Execute = executed
    """How what it changed is compared with what there was."""
    where: str = ""
    """On what that runs, if not on one device."""
    settles: bool = True
    """Whether a second run of it is to change nothing."""

    def main(self, description: str | None, count: int) -> int:
        args = arguments(description, count)
        started = time.monotonic()
        programs = self.generate(args.count, args.seed)
        driver = Driver(args.opt).ready()
        plain = driver.run([program.text for program in programs], self.simple)
        once = driver.run([outcome.output or "" for outcome in plain], [self.flag])
        changed = Changed()
        changed.compare(programs, plain, once, self.execute)
        if self.settles:
            changed.settle(programs, once, driver.run([outcome.output or "" for outcome in once], [self.flag]))
        return changed.verdict(programs, self.changed_share, args.dump, started, self.where)


def report(findings: list[tuple[Program, str, str]], dump: pathlib.Path | None) -> int:
    """Prints what is wrong with which programs, and writes those before and after to `dump`; how many they are."""
    for program, text, after in findings:
        print(f"{program.name}, chunk-bytes={program.chunk_bytes}: {text}")
        if dump:
            dump.mkdir(parents=True, exist_ok=True)
            name = dump / program.name.replace(" ", "_").replace("/", "_")
            name.with_suffix(".before.mlir").write_text(program.text)
            name.with_suffix(".after.mlir").write_text(after)
    return len({found[0].name for found in findings})


def arguments(description: str | None, count: int) -> argparse.Namespace:
    """What such a test is told on the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, help="slimhlo-opt")
    parser.add_argument("--count", type=int, default=count, metavar="N", help="programs in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the programs that differ there")
    return parser.parse_args()


def main() -> int:
    args = arguments(__doc__, 300)
    started = time.monotonic()
    programs = generate(args.count, args.seed)
    driver = Driver(args.opt).ready()
    findings: list[tuple[Program, str, str]] = []
    loops: collections.Counter[str] = collections.Counter()
    changed = 0
    for chunk_bytes, target in itertools.product(CHUNK_BYTES, TARGETS):
        some = [program for program in programs if program.chunk_bytes == chunk_bytes][:: TARGETS[target]]
        flags = [f"--slimhlo-stream=target={target} chunk-bytes={chunk_bytes}", "--slimhlo-narrow-updates=least-bytes=1"]
        once = driver.run([program.text for program in some], ["--inline", *flags])
        twice = driver.run([outcome.output or "" for outcome in once], flags)
        plain = driver.run([outcome.output or "" for outcome in once])
        for program, after, again, same in zip(some, once, twice, plain, strict=True):
            if after.output is None:
                findings.append((program, f"the driver fails: {after.crash or after.message}", ""))
                continue
            # Where time is judged, it is by who runs the pass: it takes what it finds apart as often as it is asked to.
            if again.output != same.output and target == "xla-cpu":
                findings.append((program, "a second run changes it", after.output))
            if after.output.count("stablehlo.while") == program.text.count("stablehlo.while"):
                continue
            changed += target == "xla-cpu"
            loops[program.name.partition(" ")[0]] += 1
            try:
                wrong = differences(program, after.output, run(program.reference, program.inputs))
            except Exception as error:
                wrong = [f"it does not run: {error}"]
            findings.extend((program, f"for {target}: {text}", after.output) for text in wrong)

    wrong = report(findings, args.dump)
    share = changed / max(1, len(programs))
    print(
        f"{len(programs) - wrong} passed, {wrong} failed: {changed} changed ({share:.1%}) and executed before and after "
        f"({dict(sorted(loops.items()))}); {time.monotonic() - started:.0f} s"
    )
    return 0 if share >= CHANGED_SHARE and not findings else 1


if __name__ == "__main__":
    sys.exit(main())
