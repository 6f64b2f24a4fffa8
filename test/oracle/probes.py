# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small programs that take what one constant of targets.py or one rule of hlo_time.py says: for calibrate.py, which runs them on a GPU.

Names say what is probed and at which size. Loops are long enough for their turns to be told from the start of a program.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import programs  # noqa: F401 - it sets the flags with which JAX starts

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array
F32, BF16, F64, I32 = jnp.float32, jnp.bfloat16, jnp.float64, jnp.int32


def some(*shape: int, dtype: jnp.dtype = F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


BELOW = {"turns as values say": 1000, "branches as values say": 1}
"""What integers are less than, where it is not 2^24: the length of a loop, and which branch."""

Probe = tuple[str, Callable, tuple[jax.ShapeDtypeStruct, ...]]


def moves() -> Iterator[Probe]:
    """Bandwidth, and what falls short of it."""
    for size in (1 << 16, 1 << 20, 1 << 24, 1 << 28):
        yield f"add one to f32 {size}", lambda x: x + 1, (some(size),)
    yield "add one to bf16", lambda x: x + 1, (some(1 << 28, dtype=BF16),)
    yield "add one to i8", lambda x: x + 1, (some(1 << 28, dtype=jnp.int8),)
    yield "fill", lambda: jnp.zeros((1 << 28,), F32), ()
    yield "transpose f32", lambda x: x.T + 1, (some(8192, 8192),)
    yield "transpose bf16", lambda x: x.T + 1, (some(16384, 8192, dtype=BF16),)
    yield "concatenate", lambda x, y: jnp.concatenate([x, y], 1), (some(8192, 1000), some(8192, 3096))
    yield "sum of rows", lambda x: x.sum(1), (some(65536, 1024),)
    yield "sum of columns", lambda x: x.sum(0), (some(65536, 1024),)
    for columns in (512, 1024, 16384):
        yield f"sum of {columns} columns of bf16 eight times", lambda x: x.astype(F32).sum(1), (some(8, 4096, columns, dtype=BF16),)
    yield "sum of all", lambda x: x.sum(), (some(1 << 26),)
    yield "running sum of rows", lambda x: jnp.cumsum(x, 1), (some(65536, 1024),)
    yield "running sum", lambda x: jnp.cumsum(x), (some(1 << 24),)
    for columns in (256, 4096, 32768):
        yield f"softmax of {columns}", lambda x: jax.nn.softmax(x), (some((1 << 26) // columns, columns),)
    yield "layer norm bf16", lambda x: (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5), (some(65536, 1024, dtype=BF16),)


def steps() -> Iterator[Probe]:
    """Arithmetic."""
    functions = {"exp": jnp.exp, "sin": jnp.sin, "tanh": jnp.tanh, "log": jnp.log1p, "divide": lambda x: 1.5 / (x + 2), "sqrt": jnp.sqrt,
                 "erf": jax.scipy.special.erf, "power": lambda x: x**2.5}  # fmt: skip
    for name, function in functions.items():
        for dtype in (F32, F64):
            # Eight of them in a row: of one the memory is all that is seen.
            yield f"eight of {name} {jnp.dtype(dtype).name}", functools.partial(chain, function, 8), (some(1 << 24, dtype=dtype),)
    yield "256 additions and products", functools.partial(chain, lambda x: x * 1.0001 + 0.5, 128), (some(1 << 24),)
    yield "random normal", lambda key: jax.random.normal(jax.random.wrap_key_data(key), (1 << 24,)), (some(2, dtype=jnp.uint32),)
    yield "random bits", lambda key: jax.random.bits(jax.random.wrap_key_data(key), (1 << 26,)), (some(2, dtype=jnp.uint32),)


def chain(function: Callable, count: int, x: Array) -> Array:
    for _ in range(count):
        x = function(x)
    return x


def products() -> Iterator[Probe]:
    yield "product float64 4096 4096 4096", lambda x, y: x @ y, (some(4096, 4096, dtype=F64), some(4096, 4096, dtype=F64))
    for dtype in (BF16, F32):
        name = jnp.dtype(dtype).name
        for m, k, n in ((8192, 8192, 8192), (4096, 1024, 4096), (1024, 1024, 1024), (256, 256, 256), (65536, 64, 64), (64, 65536, 64), (8192, 8192, 1)):
            yield f"product {name} {m} {k} {n}", lambda x, y: x @ y, (some(m, k, dtype=dtype), some(k, n, dtype=dtype))
        for k in (64, 128, 256, 512):
            yield f"product {name} across 8192 {k} 8192", lambda x, y: x.T @ y, (some(k, 8192, dtype=dtype), some(k, 8192, dtype=dtype))
            yield f"product {name} along 8192 {k} 8192", lambda x, y: x @ y.T, (some(8192, k, dtype=dtype), some(8192, k, dtype=dtype))
        for batch, m, k, n in ((256, 128, 64, 128), (32, 2048, 64, 2048), (32, 2048, 2048, 64), (4096, 16, 16, 16)):
            yield f"products {name} {batch} times {m} {k} {n}", lambda x, y: x @ y, (some(batch, m, k, dtype=dtype), some(batch, k, n, dtype=dtype))
    layout = ("NHWC", "HWIO", "NHWC")
    for dtype in (BF16, F32):
        convolve = lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=layout)
        for batch, size, depth, window in ((64, 56, 64, 3), (64, 28, 256, 1), (128, 14, 512, 3)):
            yield (
                f"convolution {jnp.dtype(dtype).name} {batch} {size} {depth} {window}",
                convolve,
                (some(batch, size, size, depth, dtype=dtype), some(window, window, depth, depth, dtype=dtype)),
            )


def places() -> Iterator[Probe]:
    """Gathers, scatters, sorts: what depends on values."""
    for width in (1, 4, 64, 1024):
        rows = (1 << 24) // width
        yield f"take rows of {width}", lambda x, at: x[at & (x.shape[0] - 1)], (some(rows, width), some(rows, dtype=I32))
        yield f"add rows of {width}", lambda x, at, u: x.at[at & (x.shape[0] - 1)].add(u), (some(rows, width), some(rows, dtype=I32), some(rows, width))
    yield "add rows of 64 bf16", lambda x, at, u: x.at[at & (x.shape[0] - 1)].add(u), (some(1 << 18, 64, dtype=BF16), some(1 << 18, dtype=I32), some(1 << 18, 64, dtype=BF16))
    yield "set rows of 64", lambda x, at, u: x.at[at & (x.shape[0] - 1)].set(u), (some(1 << 18, 64), some(1 << 18, dtype=I32), some(1 << 18, 64))
    for length in (1 << 10, 1 << 16, 1 << 20, 1 << 24):
        yield f"sort f32 {length}", lambda x: lax.sort(x, is_stable=False), (some(length),)
        yield f"sort pairs {length}", lambda x, y: lax.sort((x, y), num_keys=1), (some(length), some(length, dtype=I32))
    yield "sort rows of 1024", lambda x: jnp.sort(x, 1), (some(16384, 1024),)
    yield "top 8 of rows", lambda x: lax.top_k(x, 8), (some(4096, 4096),)


def control() -> Iterator[Probe]:
    """Turns of loops, launches, and waits."""
    turns = 2000
    yield "known turns of one kernel", lambda x: lax.fori_loop(0, turns, lambda _, x: jnp.sin(x), x), (some(1024),)
    for mib in (1, 8, 16, 24, 32, 40, 64, 128):
        yield (
            f"turns over {mib} MiB",
            functools.partial(repeat, max(64, min(1000, 8192 // mib)), lambda x: x * 1.01 + 0.5),
            (some(mib << 18),),
        )
    yield "known turns of eight kernels", lambda x: lax.fori_loop(0, turns // 8, lambda _, x: eight(x), x), (some(64, 64),)
    yield "turns as values say", lambda x, n: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, jnp.sin(s[1])), (0 * n, x))[1], (some(1024), some(dtype=I32))
    yield (
        "branches as values say",
        lambda x, n: lax.fori_loop(0, turns, lambda i, x: lax.cond(i % 2 == n, jnp.sin, jnp.cos, x), x),
        (some(1024), some(dtype=I32)),
    )
    yield "updates of slices", lambda x, y: lax.fori_loop(0, turns, lambda i, x: lax.dynamic_update_slice(x, y + x[i % 8], (i, 0)), x), (some(turns, 4096), some(1, 4096))
    yield "eighty kernels", lambda x: functools.reduce(lambda x, _: eight(x), range(10), x), (some(64, 64),)


def repeat(turns: int, function: Callable, x: Array) -> Array:
    return lax.fori_loop(0, turns, lambda _, x: function(x), x)


def eight(x: Array) -> Array:
    """Kernels that cannot be one: each row's sum reaches every element of the next."""
    for _ in range(8):
        x = jnp.sin(x + x.sum(0)[:, None])
    return x


def libraries() -> Iterator[Probe]:
    for size, batch in ((256, 64), (1024, 8), (4096, 1)):
        spd = lambda x: jnp.eye(x.shape[-1], dtype=x.dtype) * 100 + x
        yield f"cholesky {batch} of {size}", lambda x: lax.linalg.cholesky(spd(x), symmetrize_input=False), (some(batch, size, size),)
        yield (
            f"triangular solve {batch} of {size}",
            lambda a, b: lax.linalg.triangular_solve(spd(a), b, left_side=True, lower=True),
            (some(batch, size, size), some(batch, size, size)),
        )
    yield "qr 8 of 512", lambda x: lax.linalg.qr(x, full_matrices=False), (some(8, 512, 512),)
    yield "lu of 2048", lambda x: lax.linalg.lu(x), (some(2048, 2048),)
    for size, batch in ((1024, 4096), (1 << 20, 8)):
        yield f"fft {batch} of {size}", lambda x: jnp.fft.fft(x), (some(batch, size, dtype=jnp.complex64),)
    yield "real fft 64 of 512 by 512", lambda x: jnp.fft.rfft2(x), (some(64, 512, 512),)


def probes(platform: str) -> Iterator[tuple[str, str]]:
    """Each probe's name and module."""
    for kind in (moves, steps, products, places, control, libraries):
        for name, function, specs in kind():
            yield name, jax.jit(function).trace(*specs).lower(lowering_platforms=(platform,)).as_text()
