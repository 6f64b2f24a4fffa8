# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Kernels whose threads work together, on the CPU in blocks of one, 64 and 256 threads, against XLA.

    python test/oracle/kernels.py --slimhlo target/debug/slimhlo [--only TEXT] [--all]
    python test/oracle/kernels.py --slimhlo target/release/slimhlo --gpu      the GPU of this machine, in its own blocks
    python test/oracle/kernels.py --slimhlo target/release/slimhlo --prepare JOBS   for another machine: there, `on_device.py JOBS OUT
    python test/oracle/kernels.py --report OUT                                      --runner slimhlo-run`; and here again what is wrong

JAX's functions for each kind of kernel that is more than one element computed for itself: reductions, scatters, sorts, running sums,
products of matrices, convolutions, windows, random bits, Fourier transforms, Cholesky decompositions and triangular systems; and modules
of ops that JAX does not use. Each is
run by `slimhlo run --device cpu` with blocks of each size by turns, or of all sizes; more than one thread take turns in ever other orders, and meet at
the kernels' barriers and hand each other values as the kernels say. Results are compared as in backend.py. Where several
updates set one element, any of them may win on a GPU; such programs run with one thread only, and not on a GPU.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import io
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax

import bench_gpu
import execute  # noqa: F401 - it has JAX keep 64 bits
import jaxlib_ir
import xla_cpu
from backend import block_order, difference

Array = jax.Array
SECONDS = 120.0
BLOCKS = (1, 64, 256)
BF16 = ml_dtypes.bfloat16
DTYPES = (np.float32, np.float64, np.int32, np.uint8, np.int16, BF16, np.float16, np.complex64, np.complex128, np.bool_)


@dataclasses.dataclass(frozen=True)
class Case:
    """A function, its arguments, the sizes of blocks, and the platform whose lowering has the op that is meant."""

    name: str
    function: Callable
    arguments: tuple[np.ndarray, ...]
    blocks: tuple[int, ...] = BLOCKS
    platform: str = "cpu"


def values(rng: np.random.Generator, *shape: int, dtype: type = np.float32) -> np.ndarray:
    """Ordinary values of any type."""
    kind = np.dtype(dtype).kind
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -50, 50, shape).astype(dtype)
    if kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if kind == "c":
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def rows_cases() -> Iterator[Case]:
    """What is made of rows and of reductions of each: by warps, by blocks of several sizes, whole and in part."""
    rng = np.random.default_rng(4)

    def some(*shape: int, dtype: type = np.float32) -> np.ndarray:
        return values(rng, *shape, dtype=dtype)

    def normalized(x: Array, scale: Array) -> Array:
        off = x - x.mean(-1, keepdims=True)
        return off * lax.rsqrt((off * off).mean(-1, keepdims=True) + np.float32(1e-5)).astype(x.dtype) * scale

    def of_greatest(x: Array) -> Array:
        return jnp.where(jnp.arange(x.shape[1]) == x.argmax(1)[:, None], x, 0)

    for rows, length in ((70, 32), (70, 33), (41, 100), (13, 256), (9, 300), (7, 510), (5, 2500), (3, 4096), (2, 30001)):
        yield Case(f"rows of {length}, softmax", jax.nn.softmax, (some(rows, length),))
        yield Case(f"rows of {length}, normalized", normalized, (some(rows, length), some(length)))
    for dtype in (BF16, np.float16, np.float64):
        name = np.dtype(dtype).name
        yield Case(f"rows of {name}, softmax", jax.nn.softmax, (some(6, 2304, dtype=dtype),))
        yield Case(f"rows of {name}, normalized", normalized, (some(40, 72, dtype=dtype), some(72, dtype=dtype)))
    yield Case("rows of integers", lambda x: x - x.max(1, keepdims=True) + x.sum(1, keepdims=True), (some(9, 2050, dtype=np.int32),))
    yield Case("rows of complex", lambda x: x / x.sum(1, keepdims=True), (some(30, 70, dtype=np.complex64) + 1,))
    yield Case("rows by their greatest", of_greatest, (some(20, 2100),))
    yield Case("rows to logarithms of sums", lambda x: jax.nn.logsumexp(x, 1), (some(50, 200),))
    yield Case("rows to one number, all kept", lambda x: (jax.nn.softmax(x), x.max(1)), (some(50, 2200),))
    yield Case("rows of two dimensions", lambda x: x / jnp.sum(x * x, (1, 2), keepdims=True), (some(30, 7, 12),))
    yield Case("rows in a reshape", lambda x: jax.nn.softmax(x.reshape(40, 96)).reshape(5, 8, 96), (some(20, 2, 96),))
    yield Case("one row", jax.nn.log_softmax, (some(4000),))
    weigh = lambda x, y: jnp.sum(jax.nn.softmax(x * 2) * y)
    yield Case("rows, gradient of softmax", jax.grad(weigh), (some(30, 90), some(30, 90)))
    weigh = lambda x, y, scale: jnp.sum(normalized(x, scale) * y)
    yield Case("rows, gradient of a normalization", jax.grad(weigh, (0, 2)), (some(30, 64), some(30, 64), some(64)))
    yield Case("rows in the place of others", lambda x: jax.nn.softmax(jnp.sort(x, 1)), (some(40, 100),))
    # Sums over what is not the end of rows, or of other rows: kernels of their own.
    yield Case("not rows, softmax of columns", lambda x: jax.nn.softmax(x, 0), (some(64, 64),))
    yield Case("not rows, by other rows", lambda x: x - x.sum(1)[::-1][:, None], (some(64, 64),))
    yield Case("not rows, by columns' sums", lambda x: x - x.sum(1), (some(64, 64),))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def some(*shape: int, dtype: type = np.float32) -> np.ndarray:
        return values(rng, *shape, dtype=dtype)

    def indices(below: int, *shape: int) -> np.ndarray:
        return rng.integers(-3, below + 3, shape).astype(np.int32)

    yield Case("reduce whole", lambda x: x.sum(), (some(300, 1000),))
    yield Case("reduce first and last", lambda x: x.sum((0, 2)), (some(30, 40, 50),))
    yield Case("reduce rows", lambda x: jnp.exp(x * 2).sum(1) * 3 + 1, (some(300, 100),))
    yield Case("reduce long rows", lambda x: x.sum(1), (some(3, 50000),))
    yield Case("reduce columns", lambda x: x.max(0), (some(1000, 100),))
    for dtype in (BF16, np.uint8):
        for width in (36, 37):
            columns = values(np.random.default_rng(width), 600, width, dtype=dtype)
            name = f"reduce {width} columns {np.dtype(dtype).name}"
            yield Case(name, lambda x: jnp.sum(x, 0, dtype=x.dtype), (columns,))
            yield Case(f"{name} to places", lambda x: x.argmax(0), (columns,))
    yield Case("reduce few columns", lambda x: x.sum(0), (some(5000, 4),))
    yield Case("reduce integers", lambda x: x.sum(), (some(3, 50000, dtype=np.int32),))
    yield Case("reduce booleans", lambda x: x.all(0), (some(1000, 10, dtype=np.bool_),))
    yield Case("reduce complex", lambda x: x.sum(), (some(100, 100, dtype=np.complex64),))
    yield Case("reduce two operands", lambda x: x.argmax(1), (some(100, 1000),))
    yield Case("reduce two operands whole", lambda x: x.argmin(), (some(100, 1000),))
    yield Case("reduce from 5", lambda x: lax.reduce(x, np.float32(5), lax.add, (0,)), (some(30000, 2),))
    # Several neighbours at a time, and what is left over of them.
    for length in (12, 30, 260, 2049, 4100, 50008):
        rows = some(max(3, 20000 // length), length)
        yield Case(f"reduce rows of {length}", lambda x: (x * 2).sum(1), (rows,))
        yield Case(f"reduce rows of {length} bfloat16", lambda x: x.max(1), (rows.astype(BF16),))
        yield Case(f"reduce rows of {length} complex", lambda x: x.sum(1), (rows.astype(np.complex64),))
        yield Case(f"reduce rows of {length} to places", lambda x: x.argmax(1), (rows,))
    yield Case("reduce several dimensions", lambda x: x.sum((1, 2, 3)), (some(5, 6, 70, 8),))
    yield Case("reduce first and last of many", lambda x: x.sum((0, 3)), (some(40, 5, 6, 36),))
    yield Case("reduce slices", lambda x: x[3:, 1:-2].sum(1), (some(50, 1003),))
    yield Case("reduce the transposed", lambda x: jnp.abs(x.T).max(1), (some(504, 50),))
    yield Case("softmax", jax.nn.softmax, (some(100, 1000),))
    yield from rows_cases()
    # Reductions of what takes more memory than all that it is made of. Points of their own, so that others stay as they are.
    points = tuple(values(np.random.default_rng(3), count, 3) for count in (1100, 1000))
    squares = lambda a, b: jnp.sum((a[:, None] - b) ** 2, -1)
    yield Case("reduce distances", lambda a, b: jnp.mean(jnp.sqrt(squares(a, b))), points)
    yield Case("reduce distances to the least", lambda a, b: jnp.min(squares(a, b), 1), points)
    yield Case("reduce distances to the nearest", lambda a, b: jnp.argmin(squares(a, b), 0), points)
    yield Case("reduce extremes by columns", lambda a, b: jnp.sum(jnp.max(a[:, None] * b, -1), 0), points)
    for dtype in DTYPES:
        name, target, updates = np.dtype(dtype).name, some(1000, dtype=dtype), some(5000, dtype=dtype)
        where = indices(1000, 5000)
        yield Case(f"scatter set {name}", lambda x, i, u: x.at[i].set(u), (target, where, updates), (1,))
        if dtype is not np.bool_:
            yield Case(f"scatter add {name}", lambda x, i, u: x.at[i].add(u), (target, where[:500], updates[:500]))
        if np.dtype(dtype).kind != "c":
            yield Case(f"scatter max {name}", lambda x, i, u: x.at[i].max(u), (target, where, updates))
        # Many updates of few places: blocks have copies of the target.
        target, updates, where = some(9, dtype=dtype), some(40000, dtype=dtype), indices(9, 40000)
        if np.dtype(dtype).kind in "iufc":
            # Sums that are exact in any order where those of narrow types would tell orders apart.
            exact = rng.choice(np.array([-1, 1], np.float32), 40000).astype(dtype)
            sums = exact if dtype in (BF16, np.float16) else updates
            yield Case(f"histogram {name}", lambda x, i, u: x.at[i].add(u), (target * 0, where, sums))
        if np.dtype(dtype).kind != "c":
            yield Case(f"histogram max {name}", lambda x, i, u: x.at[i].max(u), (target, where, updates))
            yield Case(f"histogram min {name}", lambda x, i, u: x.at[i].min(u), (target, where, updates))
    special = rng.choice(np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5], np.float32), 40000)
    where, nothing = rng.integers(0, 20000, 40000).astype(np.int32), np.full(999, -0.0, np.float32)
    yield Case("histogram max of special values", lambda x, i, u: x.at[i].max(u), (nothing, where, special))
    yield Case("histogram min of special values", lambda x, i, u: x.at[i].min(u), (nothing, where, special))
    yield Case(
        "histogram of signed zeros",
        lambda x, i, u: x.at[i].add(u),
        (nothing, where, np.copysign(np.float32(0), special)),
    )
    yield Case("histogram of rows", lambda x, i, u: x.at[i].add(u), (some(5, 7), indices(5, 9000), some(9000, 7)))
    yield Case(
        "histogram of columns", lambda x, i, u: x.at[:, i].add(u), (some(3, 5), indices(5, 20000), some(3, 20000))
    )
    counts = lambda i: jnp.zeros(1000, jnp.int32).at[i // 2].add(1)
    yield Case("histogram of integers", counts, (indices(1990, 200000),))
    segments = lambda x, i: jax.ops.segment_sum(jnp.sin(x), i, 40)
    yield Case("segment sum", segments, (some(3000, 20), indices(40, 3000)))
    table = jax.grad(lambda x, i: (x[i] ** 2).sum())
    yield Case("gradient of a short table", table, (some(30, 16), rng.integers(0, 30, 4000).astype(np.int32)))
    # So many that a thread takes several which follow each other, and a few that are left over.
    many = 1_100_003
    points, numbers = indices(40, many, 3).astype(np.int16), some(many, dtype=np.int32)
    grid, line = some(40, 40, 40), some(70_000, dtype=np.int32)
    yield Case("scatter add many", lambda x, i, u: x.at[i].add(u), (line, indices(70_000, many), numbers), (1, 64))
    yield Case(
        "gather many, value and gradient",
        jax.value_and_grad(lambda x, i: jnp.sum(jnp.sin(x[i[:, 0], i[:, 1], i[:, 2]]))),
        (grid, points),
        (1, 64),
    )
    yield Case("scatter rows", lambda x, i, u: x.at[i].add(u), (some(100, 16), indices(100, 50), some(50, 16)))
    # So many that a thread takes four of them at a time, some of them beyond the end.
    wide = some(17_001, 64)
    yield Case(
        "scatter many rows",
        lambda x, i, u: x.at[i].add(u, mode="drop"),
        (some(3000, 64), indices(3010, len(wide)), wide),
        (1, 64),
    )
    yield Case("scatter columns", lambda x, i, u: x.at[:, i].add(u), (some(20, 100), indices(100, 50), some(20, 50)))
    yield Case("gradient of a gather", jax.grad(lambda x, i: jnp.sin(x[i]).sum()), (some(100, 4), indices(100, 50)))
    yield Case("sort integers", jnp.sort, (some(7, 1000, dtype=np.int32),))
    yield Case("sort floats", jnp.sort, (some(7, 1000),))
    yield Case("sort columns", lambda x: jnp.sort(x, 0), (some(1001, 3),))
    yield Case("sort with places", lambda x: jnp.argsort(x, 0), (some(1000, 3, dtype=np.int32),))
    bytes_ = some(300, dtype=np.int8), some(300, dtype=np.int8), some(300)
    yield Case("sort by two keys", lambda x, y, z: lax.sort((x, y, z), num_keys=2), bytes_)
    yield Case("product", jnp.matmul, (some(100, 70), some(70, 50)))
    yield Case("product of tiles", jnp.matmul, (some(128, 64), some(64, 64)))
    yield Case("product transposed", lambda x, y: x.T @ y.T, (some(70, 100), some(50, 70)))
    yield Case("product batched", lambda x, y: jnp.einsum("bij,bkj->bki", x, y), (some(3, 33, 20), some(3, 17, 20)))
    yield Case("product with a vector", jnp.matmul, (some(100, 700), some(700)))
    yield Case("product with a vector transposed", lambda x, y: x.T @ y, (some(700, 100), some(700)))
    for dtype in (BF16, np.int32, np.complex64, np.float64):
        name, pair = np.dtype(dtype).name, (some(40, 70, dtype=dtype), some(70, 50, dtype=dtype))
        yield Case(f"product {name}", jnp.matmul, pair)
    yield from thin_products()
    pair = some(40, 70, dtype=np.int8), some(70, 50, dtype=np.int8)
    yield Case("product i8 to i32", lambda x, y: lax.dot(x, y, preferred_element_type=np.int32), pair)
    yield Case("convolution", lambda x, w: lax.conv(x, w, (1, 1), "SAME"), (some(2, 3, 16, 16), some(4, 3, 3, 3)))
    yield Case(
        "convolution dilated",
        lambda x, w: lax.conv_general_dilated(
            x, w, (2, 1), ((1, 2), (0, 3)), lhs_dilation=(2, 3), rhs_dilation=(1, 2), feature_group_count=2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
        ),
        (some(2, 9, 8, 4), some(3, 2, 2, 6)),
    )  # fmt: skip
    # Enough features for tiles.
    images, weights = some(2, 20, 17, 15), some(24, 20, 3, 3)
    plain = lambda x, w: lax.conv(x, w, (1, 1), "SAME")
    last = ("NHWC", "HWIO", "NHWC")
    strange = dict(window_strides=(2, 1), padding=((1, 2), (0, 3)), lhs_dilation=(2, 3), rhs_dilation=(1, 2))
    yield Case("convolution by tiles", plain, (images, weights))
    yield Case("convolution by tiles, strided", lambda x, w: lax.conv(x, w, (2, 3), "VALID"), (images, weights))
    yield Case(
        "convolution by tiles, features last",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 2), "SAME", dimension_numbers=last),
        (some(2, 17, 15, 20), some(3, 3, 20, 24)),
    )
    yield Case(
        "convolution by tiles, mixed",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "OIHW", "NCHW")),
        (some(2, 17, 15, 20), weights),
    )
    yield Case(
        "convolution by tiles, dilated groups",
        lambda x, w: lax.conv_general_dilated(x, w, **strange, feature_group_count=2, dimension_numbers=last),
        (some(2, 9, 8, 6), some(3, 2, 3, 36)),
    )
    yield Case(
        "convolution by tiles, groups of batches",
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", batch_group_count=3),
        (some(6, 5, 10, 10), some(54, 5, 3, 3)),
    )
    yield Case(
        "convolution by tiles, gradient", jax.grad(lambda x, w: (plain(x, w) ** 2).sum(), (0, 1)), (images, weights)
    )
    yield Case(
        "convolution by tiles, along", lambda x, w: lax.conv(x, w, (2,), "SAME"), (some(3, 16, 90), some(17, 16, 5))
    )
    cube = lambda x, w: lax.conv(x, w, (1, 1, 1), "SAME")
    yield Case("convolution by tiles, of cubes", cube, (some(1, 4, 6, 7, 8), some(16, 4, 3, 2, 3)))
    pair = images.astype(BF16), weights.astype(BF16)
    yield Case("convolution by tiles, bfloat16", plain, pair)
    pair = some(2, 20, 17, 15, dtype=np.int32), some(24, 20, 3, 3, dtype=np.int32)
    yield Case("convolution by tiles, integers", plain, pair)
    bias = lambda x, w, b: jax.nn.relu(plain(jnp.tanh(x), w) + b[:, None, None])
    yield Case("convolution by tiles, with a bias", bias, (images, weights, some(24)))
    pooled = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (3, 3), (2, 2), "SAME")
    yield Case("largest of windows", pooled, (some(16, 16),))
    yield Case("gradient of largest of windows", jax.grad(lambda x: (pooled(x) ** 2).sum()), (some(17, 16),))
    for function in (lax.cumsum, lax.cumprod, lax.cummax):
        yield Case(f"running {function.__name__}", function, (some(200, 3),))
    yield Case("running sum of a long row", lambda x: lax.cumsum(x, 1, reverse=True), (some(3, 5000),))
    yield Case("running sum of integers", lambda x: lax.cumsum(x, 0), (some(5000, 3, dtype=np.int32),))
    # Rows in chunks, scanned by blocks: aligned and not, of several types, from the end, next to others; and by threads alone.
    own = np.random.default_rng(5)
    for shape, axis, dtype in (
        ((2, 9000), 1, np.float32), ((9001,), 0, np.float32), ((5, 700), 1, BF16), ((5000,), 0, np.float64),
        ((7000, 2), 0, np.int32), ((3, 300), 1, np.complex64), ((700, 40), 0, np.float32),
    ):  # fmt: skip
        row = values(own, *shape, dtype=dtype)
        name = f"{'x'.join(map(str, shape))} {np.dtype(dtype).name}"
        # Threads meet often; those of several warps on short rows.
        blocks = (64, 256) if row.size < 4000 else (1, 4)
        yield Case(f"running sum of {name}", lambda x, a=axis: lax.cumsum(x, a), (row,), blocks)
        yield Case(f"running sum of {name} from the end", lambda x, a=axis: lax.cumsum(x, a, True), (row,), blocks)
    row = values(own, 3, 4000)
    yield Case("running maximum of long rows", lambda x: lax.cummax(jnp.sin(x), 1) * 2, (row,), (1, 4))
    yield Case("running log of sums", lambda x: lax.cumlogsumexp(x, 1), (row[:, :2500],), (1, 4))
    # Addresses are chosen, of aligned neighbours and of others.
    for width in (64, 63):
        parts = tuple(some(rows, width) for rows in (300, 1, 500, 223))
        yield Case(f"concatenate {width}", lambda *x: jnp.concatenate(x), parts)
        yield Case(
            f"concatenate {width} and pad", lambda *x: jnp.pad(2 * jnp.concatenate(x) + 1, ((3, 2), (4, 0))), parts
        )
    parts = tuple(some(700, width) for width in (64, 32, 4))
    yield Case("concatenate columns", lambda *x: jnp.concatenate(x, 1), parts)
    yield Case("concatenate columns and slice", lambda *x: jnp.concatenate(x, 1)[5:, 60:], parts)
    parts = tuple(some(700, width, dtype=np.complex64) for width in (64, 31, 4))
    yield Case("concatenate complex columns", lambda *x: jnp.concatenate(x, 1), parts)
    # Read and written by tiles.
    for dtype in DTYPES:
        yield Case(f"transpose {np.dtype(dtype).name}", jnp.transpose, (some(150, 260, dtype=dtype),))
    square = some(256, 256)
    yield Case("transpose of whole tiles", lambda x: x.T, (square,))
    yield Case("sum with the transposed", lambda x: x + x.T, (square,))
    # Not their sum, in which what a GPU's sine has in its last bit can be all that is left.
    yield Case("larger of transposed", lambda x, y: jnp.maximum(jnp.sin(x).T * 2, y.T), (some(200, 301), some(200, 301)))
    yield Case("transposed or not", lambda x, y: jnp.where(y < x.T, x.T, y), (some(200, 301), some(301, 200)))
    yield Case("transpose batched", lambda x: x.swapaxes(1, 2), (some(5, 100, 130),))
    yield Case("transpose first to last", lambda x: x.transpose(1, 2, 0), (some(70, 5, 150),))
    yield Case("transpose last to first", lambda x: x.transpose(2, 0, 1), (some(3, 150, 100),))
    yield Case("transpose around a dimension", lambda x: x.transpose(2, 1, 0), (some(60, 11, 70),))
    yield Case("transpose of five dimensions", lambda x: x.transpose(0, 4, 2, 1, 3), (some(2, 3, 40, 1, 170),))
    yield Case("transpose and merge", lambda x: x.transpose(0, 2, 1).reshape(3, -1) * 2, (some(3, 110, 120),))
    yield Case("slice of the transposed", lambda x: x.T[3:, :-5] - 1, (some(220, 230),))
    yield Case("transposed and padded", lambda x: jnp.pad(x.T, ((1, 2), (3, 0)), constant_values=7), (some(220, 230),))
    yield Case(
        "transposes of two shapes", lambda x, y: (x.T, y.swapaxes(1, 2) + 1), (some(300, 200), some(3, 200, 100))
    )
    yield Case("transpose twice", lambda x, y: (x.T + y, x.T * y), (some(300, 200), some(200, 300)))
    state = np.array([0x123456789ABCDEF0, 0xFFFFFFFFFFFFFFFE], np.uint64)
    for algorithm in (lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_THREE_FRY):
        for dtype in (np.uint32, np.uint64, np.uint8):
            yield Case(
                f"random bits {algorithm.name} {np.dtype(dtype).name}",
                lambda k, a=algorithm, d=dtype: lax.rng_bit_generator(k, (7, 6), dtype=d, algorithm=a),
                (state,),
            )
    # Padding is zeros, which times an infinity are not zero: for a thread per result, and by tiles.
    for size, features, outputs in ((4, 1, 1), (6, 3, 2), (32, 16, 64)):
        weights = some(3, 3, features, outputs)
        weights[0, 1, 0, 0], weights[2, 2, -1, -1] = np.inf, -np.inf
        yield Case(
            f"convolution with infinite weights {size}",
            lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
            (some(2, size, size, features), weights),
        )
    yield from ragged_products(rng)
    yield from transforms(some)
    for dtype in (np.float32, np.complex64):
        name = np.dtype(dtype).name
        matrix = some(2, 7, 7, dtype=dtype)
        definite = (matrix @ matrix.conj().swapaxes(1, 2) + 5 * np.eye(7)).astype(dtype)
        yield Case(
            f"Cholesky {name}", lambda a: lax.linalg.cholesky(a, symmetrize_input=False), (definite,), platform="tpu"
        )
        for left in (False, True):
            for lower in (False, True):
                yield Case(
                    f"triangular {name} {left} {lower}",
                    lambda a, b, x=left, y=lower: lax.linalg.triangular_solve(a, b, left_side=x, lower=y),
                    ((matrix + 5 * np.eye(7)).astype(dtype), some(*((2, 7, 3) if left else (2, 3, 7)), dtype=dtype)),
                    platform="tpu",
                )


def thin_products() -> Iterator[Case]:
    """Products of which much is contracted: cut into parts, and with few rows or columns. And the first elements of sorted rows."""
    rng = np.random.default_rng(4)
    some = lambda *shape, dtype=np.float32: values(rng, *shape, dtype=dtype)
    relu = lambda x, y, b: jax.nn.relu(x.T @ y + b)
    yield Case("product in parts", relu, (some(600, 17), some(600, 20), some(20)))
    yield Case("product in parts, float64", lambda x, y: x.T @ y, (some(530, 17, dtype=np.float64),) * 2)
    for dtype in DTYPES:
        name, pair = np.dtype(dtype).name, (some(5, 300, dtype=dtype), some(300, 40, dtype=dtype))
        yield Case(f"product of few rows {name}", jnp.matmul, pair)
        yield Case(f"product of few columns {name}", lambda x, y: x.T @ y.T, (pair[1], pair[0]))
    few, many = some(5, 3000), some(3000, 40)
    yield Case("product of few rows in parts", lambda x, y: jnp.tanh(x @ y) * 2, (few, many), (1, 4, 64))
    yield Case("product of few rows, along", lambda x, y: x @ y.T, (few, many.T.copy()), (1, 4, 64))
    yield Case("product of few rows, odd", lambda x, y: x @ y.T, (few[:, :37], some(41, 37)))
    yield Case("product of vectors", jnp.vdot, (some(20000), some(20000)), (1, 4, 64))
    batched = lambda x, y: jnp.einsum("bij,bjk->bik", x, y)
    yield Case("product of few rows, batched", batched, (some(3, 2, 300), some(3, 300, 20)))
    features = lambda x, w: lax.conv(x, w, (1, 1), "SAME")
    yield Case("convolution to few features", features, (some(2, 9, 10, 10), some(3, 9, 3, 3)))
    weights = jax.grad(lambda w, x: (features(x, w) ** 2).sum())
    yield Case("convolution, gradient of few weights", weights, (some(17, 2, 3, 3), some(3, 2, 20, 20)))
    for dtype in (np.float32, np.int32, BF16):
        rows = some(3, 7000, dtype=dtype)
        rows[0, ::9] = rows[0, 0]
        yield Case(f"largest of long rows {np.dtype(dtype).name}", lambda x: lax.top_k(x, 5), (rows,), (1, 4))
    yield Case("largest of rows", lambda x: lax.top_k(x * 2, 7), (some(5, 600),))
    yield Case("largest, values alone", lambda x: lax.top_k(x, 3)[0], (some(50, 8),))
    yield Case("smallest of long columns", lambda x: jnp.sort(x, 0)[:4], (some(5000, 3),), (1, 4))


def transforms(some: Callable[..., np.ndarray]) -> Iterator[Case]:
    """Fourier transforms: of lines that a block holds, of longer ones (of 6,000 numbers and of 8,192 in single precision, of 4,096 in
    double), and of prime sizes that no thread holds. Frequencies are of the size of one, which errors are then held against."""

    def line(*shape: int, dtype: type = np.float32) -> np.ndarray:
        return (some(*shape, dtype=dtype) / np.sqrt(shape[-1])).astype(dtype)

    for size in (1, 8, 60, 97, 527, 1024, 6000, 8192):
        yield Case(f"Fourier {size}", jnp.fft.fft, (line(3, size, dtype=np.complex64),), platform="tpu")
    for size in (9, 30, 12000):
        yield Case(f"Fourier of reals {size}", jnp.fft.rfft, (line(3, size),), platform="tpu")
    cube = some(2, 6, 5, 8, dtype=np.complex64)
    yield Case("Fourier of three dimensions", lambda x: jnp.fft.ifftn(x, axes=(1, 2, 3)), (cube,), platform="tpu")
    for sizes in ((9,), (16384,), (4, 10), (4, 9), (4, 2), (3, 12000), (3, 4, 10)):
        shape = "x".join(map(str, sizes))
        axes = tuple(range(1, len(sizes) + 1))
        yield Case(
            f"Fourier of reals, {shape}", lambda x, a=axes: jnp.fft.rfftn(x, axes=a), (line(2, *sizes),), platform="tpu"
        )
        half = some(2, *sizes[:-1], sizes[-1] // 2 + 1, dtype=np.complex64)
        yield Case(
            f"Fourier to reals, {shape}",
            lambda x, s=sizes, a=axes: jnp.fft.irfftn(x, s=s, axes=a),
            (half,),
            platform="tpu",
        )
    tall = line(3, 8192, dtype=np.complex64).T
    yield Case("Fourier of tall", lambda x: jnp.fft.fftn(x, axes=(0, 1)), (tall,), platform="tpu")
    yield Case("Fourier of doubles", jnp.fft.rfft, (line(2, 4096, dtype=np.float64),), platform="tpu")


def ragged_products(rng: np.random.Generator) -> Iterator[Case]:
    """Dot products of groups of rows, of groups of what is contracted, and of groups of a batch; GPUs and TPUs have an op for them."""
    # Dimensions that are contracted and batched, the ragged one and those of groups; shapes; common groups, and ones of their own.
    kinds = {
        "rows": ((((1,), (1,)), ((), ())), [0], [0], (70, 20), (4, 20, 30), [(9, 0, 41, 15), (30, 40, 0, 0)]),
        "last rows": ((((0,), (2,)), ((), ())), [1], [1], (20, 70), (30, 4, 20), [(0, 0, 70, 0)]),
        "rows of a batch": (
            (((2,), (3,)), ((1,), (2,))),
            [0],
            [1],
            (10, 3, 5),
            (7, 2, 3, 5),
            [(4, 6), ((0, 9), (10, 0), (2, 3))],
        ),
        "rows behind others": ((((2,), (1,)), ((), ())), [1], [0], (3, 8, 5), (2, 5, 4), [((5, 3), (1, 2), (0, 8))]),
        "contracted": ((((0,), (0,)), ((), ())), [0], [], (70, 20), (70, 30), [(9, 0, 41, 15), (70, 0, 0, 0)]),
        "contracted of a batch": (
            (((2, 1), (0, 2)), ((0,), (1,))),
            [2],
            [],
            (3, 4, 9),
            (9, 3, 4, 6),
            [(5, 4), ((9, 0), (2, 3), (0, 9))],
        ),
        "contracted behind others": (
            (((1, 2), (0, 1)), ((0,), (2,))),
            [2],
            [],
            (2, 3, 8),
            (3, 8, 2, 5),
            [rng.multinomial(8, [0.3, 0.7], (2, 3))],
        ),
        "contracted, large": ((((0,), (0,)), ((), ())), [0], [], (3000, 90), (3000, 110), [(900, 0, 1500, 7, 500)]),
        "contracted of a batch, large": (
            (((1, 2), (1, 0)), ((0,), (2,))),
            [2],
            [],
            (3, 4, 1500),
            (1500, 4, 3, 60),
            [rng.multinomial(1400, [0.3, 0.6, 0.1], (3, 4))],
        ),
        "batch": ((((2,), (1,)), ((0,), (0,))), [0], [], (6, 4, 5), (6, 5, 3), [(2, 4)]),
    }
    for name, (dims, ragged, groups, left, right, sizes) in kinds.items():
        numbers = lax.RaggedDotDimensionNumbers(dims, ragged, groups)
        for dtype in (np.float32, BF16, np.complex64, np.int32) if name in ("rows", "contracted") else (np.float32,):
            for size in sizes:
                yield Case(
                    f"ragged product, {name}, {np.dtype(dtype).name}, groups of {np.asarray(size).tolist()}",
                    lambda a, b, g, n=numbers: lax.ragged_dot_general(a, b, g, n),
                    (values(rng, *left, dtype=dtype), values(rng, *right, dtype=dtype), np.array(size, np.int32)),
                    platform="tpu",
                )


SCAN = """
func.func @main(%x: tensor<2x50x3xf32>, %i: tensor<4x2x50xi32>, %z: tensor<2x3xf32>, %s: tensor<f32>)
    -> (tensor<2x50x3xf32>, tensor<2x50xf32>, tensor<2x3xf32>, tensor<f32>, tensor<50x2xi32>) {
  %0:4 = "chlo.scan"(%x, %z, %s) <{dimension = 1 : i64, is_reverse = REVERSE, operandSegmentSizes = array<i32: 1, 2>,
      resultSegmentSizes = array<i32: 2, 2>}> ({
  ^bb0(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %count: tensor<f32>):
    %half = stablehlo.constant dense<0.5> : tensor<2x3xf32>
    %1 = stablehlo.multiply %half, %b : tensor<2x3xf32>
    %2 = stablehlo.add %1, %a : tensor<2x3xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %4 = stablehlo.add %count, %one : tensor<f32>
    stablehlo.return %2, %3, %2, %4 : tensor<2x3xf32>, tensor<2xf32>, tensor<2x3xf32>, tensor<f32>
  }) : (tensor<2x50x3xf32>, tensor<2x3xf32>, tensor<f32>) -> (tensor<2x50x3xf32>, tensor<2x50xf32>, tensor<2x3xf32>, tensor<f32>)
  %first = stablehlo.constant dense<7> : tensor<i32>
  %5:2 = "chlo.scan"(%first) <{dimension = 0 : i64, scan_dim_size = 50 : i64, is_reverse = REVERSE, operandSegmentSizes = array<i32: 0, 1>,
      resultSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%n: tensor<i32>):
    %6 = stablehlo.add %n, %n : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %n, dims = [] : (tensor<i32>) -> tensor<2xi32>
    stablehlo.return %7, %6 : tensor<2xi32>, tensor<i32>
  }) : (tensor<i32>) -> (tensor<50x2xi32>, tensor<i32>)
  // Sums of sums: each row of a slice by itself.
  %8 = "chlo.scan"(%i, %first) <{dimension = 0 : i64, is_reverse = false, operandSegmentSizes = array<i32: 1, 1>,
      resultSegmentSizes = array<i32: 0, 1>}> ({
  ^bb0(%slice: tensor<2x50xi32>, %sum: tensor<i32>):
    %9 = "chlo.scan"(%slice, %sum) <{dimension = 1 : i64, is_reverse = REVERSE, operandSegmentSizes = array<i32: 1, 1>,
        resultSegmentSizes = array<i32: 0, 1>}> ({
    ^bb0(%row: tensor<2xi32>, %old: tensor<i32>):
      %none = stablehlo.constant dense<0> : tensor<i32>
      %10 = stablehlo.reduce(%row init: %none) applies stablehlo.add across dimensions = [0] : (tensor<2xi32>, tensor<i32>) -> tensor<i32>
      %three = stablehlo.constant dense<3> : tensor<i32>
      %11 = stablehlo.multiply %old, %three : tensor<i32>
      %12 = stablehlo.add %10, %11 : tensor<i32>
      stablehlo.return %12 : tensor<i32>
    }) : (tensor<2x50xi32>, tensor<i32>) -> tensor<i32>
    stablehlo.return %9 : tensor<i32>
  }) : (tensor<4x2x50xi32>, tensor<i32>) -> tensor<i32>
  %13 = stablehlo.broadcast_in_dim %8, dims = [] : (tensor<i32>) -> tensor<50x2xi32>
  %14 = stablehlo.xor %13, %5#0 : tensor<50x2xi32>
  return %0#0, %0#1, %0#2, %0#3, %14 : tensor<2x50x3xf32>, tensor<2x50xf32>, tensor<2x3xf32>, tensor<f32>, tensor<50x2xi32>
}
"""

BATCH_NORM = """
func.func @main(%x: WHOLE, %scale: EACH, %offset: EACH, %mean: EACH, %deviation: EACH, %grad: WHOLE)
    -> (WHOLE, WHOLE, EACH, EACH, WHOLE, EACH, EACH) {
  %variance = stablehlo.multiply %deviation, %deviation : EACH
  %0 = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) {epsilon = 0.001 : f32, feature_index = INDEX : i64} :
      (WHOLE, EACH, EACH, EACH, EACH) -> WHOLE
  %1:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) {epsilon = 0.001 : f32, feature_index = INDEX : i64} :
      (WHOLE, EACH, EACH) -> (WHOLE, EACH, EACH)
  %2:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %grad) {epsilon = 0.001 : f32, feature_index = INDEX : i64} :
      (WHOLE, EACH, EACH, EACH, WHOLE) -> (WHOLE, EACH, EACH)
  return %0, %1#0, %1#1, %1#2, %2#0, %2#1, %2#2 : WHOLE, WHOLE, EACH, EACH, WHOLE, EACH, EACH
}
"""

INDEX_SELECT = """
func.func @main(%x: tensor<4x5xf32>, %i: tensor<3xi64>, %j: tensor<2x3xi32>, %k: tensor<4x2xi64>)
    -> (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<4x2xf32>) {
  %0 = "stablehlo.torch_index_select"(%x, %i) {dim = 1 : i64, batch_dims = 0 : i64} : (tensor<4x5xf32>, tensor<3xi64>) -> tensor<4x3xf32>
  %1 = "stablehlo.torch_index_select"(%x, %j) {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<4x5xf32>, tensor<2x3xi32>) -> tensor<2x3x5xf32>
  %2 = "stablehlo.torch_index_select"(%x, %k) {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<4x5xf32>, tensor<4x2xi64>) -> tensor<4x2xf32>
  return %0, %1, %2 : tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<4x2xf32>
}
"""


def modules() -> Iterator[tuple[str, str, tuple[np.ndarray, ...]]]:
    """Programs with ops that JAX has no function for: name, text, arguments."""
    rng = np.random.default_rng(1)
    for reverse in ("false", "true"):
        some = (values(rng, 2, 50, 3), values(rng, 4, 2, 50, dtype=np.int32), values(rng, 2, 3), values(rng))
        yield f"scan, reverse = {reverse}", SCAN.replace("REVERSE", reverse), some
    for element, dtype in {"f32": np.float32, "f64": np.float64, "bf16": BF16, "f16": np.float16}.items():
        for index, shape in enumerate([(3, 40, 7), (40, 3, 7), (4, 7, 30)]):
            each, sizes = f"tensor<{shape[index]}x{element}>", "x".join(map(str, shape))
            text = BATCH_NORM.replace("INDEX", str(index)).replace("EACH", each)
            text = text.replace("WHOLE", f"tensor<{sizes}x{element}>")
            some = [
                values(rng, *(shape if whole else shape[index : index + 1]), dtype=dtype)
                for whole in (1, 0, 0, 0, 0, 1)
            ]
            yield f"batch normalization {element} of dimension {index}", text, tuple(some)
    # Indices beyond both ends: of 64 bits they are read as unsigned ones.
    kinds = ((3, np.int64), ((2, 3), np.int32), ((4, 2), np.int64))
    chosen = [rng.integers(-3, 8, shape).astype(dtype) for shape, dtype in kinds]
    yield "torch_index_select", INDEX_SELECT, (values(rng, 4, 5), *chosen)


def run(command: str, text: str, arguments: tuple[np.ndarray, ...], wanted: list[np.ndarray], block: int) -> str | None:
    """What is wrong with the results of a program in blocks of that many threads."""
    with tempfile.TemporaryDirectory(prefix="slimhlo-kernels-") as name:
        folder = pathlib.Path(name)
        (folder / "in.mlir").write_text(text)
        words = [command, "run", str(folder / "in.mlir"), "--guard", "--block-order", block_order(text)]
        return results_differ([*words, "--block-threads", str(block)], folder, text, arguments, wanted)


def results_differ(
    command: list[str], folder: pathlib.Path, text: str, arguments: tuple[np.ndarray, ...], wanted: list[np.ndarray]
) -> str | None:
    """What is wrong with the results that a command writes into `folder`/out, given the arguments."""
    words = [*command, "--output-dir", str(folder / "out")]
    for path in save(arguments, folder):
        words += ["--input", str(path)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"no end in {SECONDS:.0f} s"
    if done.returncode:
        return (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[0][:200]
    return arrays_differ([np.load(folder / "out" / f"result{number}.npy") for number in range(len(wanted))], text, arguments, wanted)


def save(arrays: tuple[np.ndarray, ...], folder: pathlib.Path) -> list[pathlib.Path]:
    paths = [folder / f"{number}.npy" for number in range(len(arrays))]
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, array)
    return paths


def arrays_differ(found: list[np.ndarray], text: str, arguments: tuple[np.ndarray, ...], wanted: list[np.ndarray]) -> str | None:
    for number, (want, have) in enumerate(zip(wanted, found, strict=True)):
        have = have.view(want.dtype) if have.dtype.kind == "V" else have
        if wrong := difference(want, have, text, list(arguments)):
            return f"result {number}: {wrong}"
    return None


Check = Callable[[int, str, tuple[np.ndarray, ...], list[np.ndarray]], str | None]
"""What is wrong with a program that has a number, a text, arguments, and results that it must have."""


def on_gpu(command: str, chip: str) -> Check:
    """Runs packages on the GPU that is here."""

    def check(_: int, text: str, arguments: tuple[np.ndarray, ...], wanted: list[np.ndarray]) -> str | None:
        with tempfile.TemporaryDirectory(prefix="slimhlo-kernels-") as name:
            folder = pathlib.Path(name)
            if failure := bench_gpu.compile_package(command, text, chip, folder / "package", SECONDS):
                return failure
            return results_differ([command, "run", str(folder / "package")], folder, text, arguments, wanted)

    return check


def for_elsewhere(command: str, chip: str, jobs: pathlib.Path) -> Check:
    """Writes packages and their arguments, and runs nothing."""
    jobs.mkdir(parents=True, exist_ok=True)

    def check(number: int, text: str, arguments: tuple[np.ndarray, ...], _: list[np.ndarray]) -> str | None:
        folder = jobs / f"{number}.arguments"
        folder.mkdir(exist_ok=True)
        save(arguments, folder)
        return bench_gpu.compile_package(command, text, chip, jobs / str(number), SECONDS)

    return check


def write_jobs(jobs: pathlib.Path, made: dict[int, str]) -> None:
    """Says what on_device.py is to run: the packages that were made, by number, and what their programs are called."""
    listed = []
    for number, title in made.items():
        count = len(list((jobs / f"{number}.arguments").glob("*.npy")))
        inputs = [f"{number}.arguments/{each}.npy" for each in range(count)]
        listed.append({"name": str(number), "title": title, "package": str(number), "inputs": inputs})
    (jobs / "jobs.json").write_text(json.dumps(listed))


def from_elsewhere(out: pathlib.Path) -> Check:
    """Reads what on_device.py kept of the packages' results."""
    lines = [json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()]
    failures = {line["name"]: line["wrong"] for line in lines if "wrong" in line}
    archive = zipfile.ZipFile(out / "kept.zip")
    names = set(archive.namelist())
    turn = threading.Lock()

    def check(number: int, text: str, arguments: tuple[np.ndarray, ...], wanted: list[np.ndarray]) -> str | None:
        if failure := failures.get(str(number)):
            return failure
        if f"{number}/result0.npy" not in names:
            return "did not run"
        with turn:
            found = [np.load(io.BytesIO(archive.read(f"{number}/result{each}.npy"))) for each in range(len(wanted))]
        return arrays_differ(found, text, arguments, wanted)

    return check


def checker(args: argparse.Namespace, parser: argparse.ArgumentParser) -> Check | None:
    """How programs are run on a GPU, if they are."""
    if args.report:
        return from_elsewhere(args.report)
    if not args.slimhlo:
        parser.error("--slimhlo is needed: programs are compiled")
    if args.prepare:
        return for_elsewhere(args.slimhlo, args.chip, args.prepare)
    if not args.gpu:
        return None
    here = bench_gpu.gpu()
    if here is None:
        parser.error("there is no NVIDIA GPU on this machine (nvidia-smi finds none)")
    return on_gpu(args.slimhlo, here[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", metavar="BIN", help="the command")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    parser.add_argument("--all", action="store_true", help="each program in blocks of all sizes, not of one by turns")
    parser.add_argument("--gpu", action="store_true", help="run on the GPU that is here")
    parser.add_argument("--prepare", type=pathlib.Path, metavar="JOBS", help="write packages for a GPU that is elsewhere")
    parser.add_argument("--chip", default="sm_90", help="of that GPU (default: %(default)s)")
    parser.add_argument("--report", type=pathlib.Path, metavar="OUT", help="compare what it made of them")
    args = parser.parse_args()
    check = checker(args, parser)
    started = time.monotonic()
    programs = itertools.count()
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    pending: list[tuple[str, concurrent.futures.Future[str | None]]] = []

    def compare(
        name: str, text: str, arguments: tuple[np.ndarray, ...], wanted: list[np.ndarray], blocks: tuple[int, ...]
    ) -> None:
        if check:
            if blocks != (1,):
                pending.append((name, pool.submit(check, len(pending), text, arguments, wanted)))
            return
        if not args.all:
            blocks = (blocks[next(programs) % len(blocks)],)
        for block in blocks:
            found = pool.submit(run, args.slimhlo, text, arguments, wanted, block)
            pending.append((f"{name}, {block} threads", found))

    for case in cases():
        if args.only not in case.name:
            continue
        function = jax.jit(case.function)
        wanted = [np.asarray(each) for each in jax.tree.leaves(function(*case.arguments))]
        text = function.trace(*case.arguments).lower(lowering_platforms=(case.platform,)).as_text()
        compare(case.name, text, case.arguments, wanted, case.blocks)
    for name, text, arguments in modules():
        if args.only not in name:
            continue
        executable = xla_cpu.compile_module(jaxlib_ir.parse(text, jaxlib_ir.make_context()))
        wanted = [np.asarray(shards[0]) for shards in xla_cpu.run(executable, list(arguments))]
        compare(name, text, arguments, wanted, BLOCKS[:2])
    passed = failed = 0
    made: dict[int, str] = {}
    for number, (name, future) in enumerate(pending):
        found = future.result()
        if found is None:
            made[number] = name
        passed, failed = passed + (found is None), failed + (found is not None)
        if found:
            print(f"{name}: {found}", flush=True)
    if args.prepare:
        write_jobs(args.prepare, made)
    where = "compiled for a GPU" if args.prepare else "on a GPU" if check else "in blocks of several sizes"
    print(f"{passed} passed, {failed} failed: programs {where}; {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
