# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random loops that add up what is summed in the end, as XLA computes them before and after --slimhlo-early-sums.

    python test/oracle/early_sums.py --opt target/debug/slimhlo-opt --count 200 --seed 1

Each program is a `lax.fori_loop` or a `while_loop` that carries, for each member of a batch, something that it adds to: products of vectors, values, what an
inner loop adds up or makes, in branches, subtracted, behind barriers, of zeros or of what is given, in one order or the other; and states besides that addends are
made of. What is carried is summed over one dimension or more after the loop, or something else needs it: all of it, sums over other dimensions, or its
next turn. Integers wrap around, so that their sums have the same bits in any order; f64 sums may differ by rounding. A second run must change nothing. Three
in ten have to change.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import xla_cpu  # noqa: F401  # first: it sets the flags with which JAX starts

# isort: split
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from stream import PassTest, Program, Source


Array = jax.Array
Addend = Callable[[Array, Array, Array], Array]


def addend(source: Source, *, outer: bool) -> Addend:
    """What a turn adds, of the states `x` and `y`, [batch, n] and [batch, m], and its number: [batch, n, m] of both or [batch, n]."""
    form = int(source.random.integers(6))

    def make(x: Array, y: Array, i: Array) -> Array:
        number = i.astype(x.dtype)
        if outer:
            if form == 0:
                return jnp.einsum("bi,bj->bij", x * number, y)
            if form == 1:
                return jnp.einsum("bki,bkj->bij", jnp.stack([x, x + 1], 1), jnp.stack([y, y - number], 1))
            if form == 2:
                return lax.fori_loop(
                    0, 2, lambda _, z: z + jnp.einsum("bi,bj->bij", x, y), jnp.zeros((*x.shape, y.shape[1]), x.dtype)
                )
            return x[:, :, None] * y[:, None, :] - number
        if form == 0:
            return lax.fori_loop(0, 3, lambda _, z: z * 3 + x, x)
        if form == 1:
            return lax.fori_loop(0, 3, lambda j, z: z - x * j.astype(x.dtype), jnp.zeros_like(x))
        if form == 2:
            return jnp.cumsum(x, axis=1) + number
        return x * number + y[:, :1]

    return make


def program(source: Source) -> tuple[Callable, list[np.ndarray], bool]:
    dtype = source.one(("int32", "int64", "uint32", "int16", "float64"))
    batch, rows, columns = (int(source.random.integers(2, 6)) for _ in range(3))
    turns = int(source.random.integers(1, 5))
    outer = bool(source.random.integers(2))
    what = addend(source, outer=outer)
    how, start, kind, end = (int(source.random.integers(bound)) for bound in (6, 3, 2, 8))
    dims = source.one(((0,), (0,), (0,), (0, 1), (1,)))
    shape = (batch, rows, columns) if outer else (batch, rows)

    def f(x: Array, y: Array, given: Array, flag: Array) -> object:
        zero = given if start == 0 else jnp.zeros(shape, given.dtype)

        def turn(i: Array, state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            sums, x, y = state
            more = what(x, y, i)
            if how == 0:
                sums = sums + more
            elif how == 1:
                sums = more + sums
            elif how == 2:
                sums = lax.cond(flag, lambda: sums + more, lambda: sums)
            elif how == 3:
                sums = jnp.where(flag, sums + more, sums) - more
            elif how == 4:
                sums, more = lax.optimization_barrier((sums + more, more))
            else:
                sums = lax.cond(i % 2 == 0, lambda: sums, lambda: lax.fori_loop(0, 2, lambda _, z: z + more, sums))
            # At times the next turn needs all of it.
            return (
                sums * 3 if end == 0 else sums,
                x + sums.reshape(shape[0], rows, -1)[:, :, 0] if end == 1 else x * 3,
                y + 1,
            )

        if kind == 0:
            sums, x, y = lax.fori_loop(0, turns, turn, (zero, x, y))
        else:
            _, (sums, x, y) = lax.while_loop(
                lambda s: s[0] < turns, lambda s: (s[0] + 1, turn(s[0], s[1])), (0, (zero, x, y))
            )
        found = [jnp.sum(sums, axis=dims, dtype=sums.dtype), x]
        if end == 2:
            found.append(sums[:, 0])
        if end == 3:
            found.append(
                jnp.sum(sums, axis=tuple(dim for dim in range(len(shape)) if dim not in dims), dtype=sums.dtype)
            )
        if end == 4:
            found.append(jnp.sum(sums, axis=dims, dtype=sums.dtype) * 2)
        return found

    inputs = [source.values((batch, rows), dtype), source.values((batch, columns), dtype), source.values(shape, dtype)]
    return f, [*inputs, np.asarray(bool(source.random.integers(2)))], dtype != "float64"


def generate(count: int, seed: int) -> list[Program]:
    programs = []
    for number in range(count):
        function, inputs, exact = program(Source(seed * 1_000_003 + number))
        text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
        programs.append(Program(f"sums {seed}/{number}", text, text, inputs, 0 if exact else 4096, exact, True, 0))
    return programs


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    test = PassTest("--slimhlo-early-sums", generate, 0.3, ("--inline", "--symbol-dce", "--canonicalize", "--cse"))
    sys.exit(test.main(__doc__, 200))
