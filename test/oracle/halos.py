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
from opt import Driver

jax.config.update("jax_enable_x64", True)

PASSES = ("--inline", "--canonicalize", "--cse", "--slimhlo-scatter-to-update", "--slimhlo-inplace-updates")
DTYPES = ("float64", "float32", "float64", "float32", "bfloat16", "int32", "int8", "uint16", "complex64", "float16", "bool")
KINDS = ("periodic", "copy", "copy", "mirror", "flip", "constant")
STENCILS = ("none", "none", "none", "own", "swap", "flux", "shift")
FORMS = ("at", "dus", "mixed")
CHANGED_SHARE = 0.4
# What small arrays and the growth of others may cost, and what a loop's own scalars take.
SLACK_BYTES = 4096


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
    extents = [4 * width + int(random.integers(1, 5)) if halo else int(random.integers(2, 8)) for width, halo in zip(widths, halos, strict=True)]
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
            fills.append(Fill(int(dim), high, widths[dim], mixed, newest, str(one(random, FORMS[:2]))))
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
