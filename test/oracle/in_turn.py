# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random steps of fields that share what they are made of, as XLA computes them before and after --slimhlo-in-turn.

    python test/oracle/in_turn.py --opt target/debug/slimhlo-opt --count 200 --seed 1

Each program makes two to five results of a few fields: of quotients, roots and hyperbolic functions of fields and of
what all share (faces, sums, products, gathered and updated fields, pads, masks, what a loop makes), taken from
neighbouring places, once or twice in a row. Some results are made of others, some are returned as they are, some are
added to fields that a loop carries, some update one. Integers have the same bits before and after; what is divided in
floats may be rounded differently by a back end that fuses it with something else. Half have to change.
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


def shared(source: Source, fields: list[Array], table: Array) -> list[Array]:
    """What several results are made of: as large as the fields, all but a few."""
    made = []
    for _ in range(int(source.random.integers(1, 4))):
        one, other = (fields[int(source.random.integers(len(fields)))] for _ in range(2))
        form = int(source.random.integers(9))
        if form == 0:
            made.append(one * other)
        elif form == 1:
            made.append(jnp.broadcast_to(jnp.sum(one, axis=1, keepdims=True, dtype=one.dtype), one.shape))
        elif form == 2:
            made.append(jnp.where(one > other, one, other - one))
        elif form == 3:
            made.append(jnp.pad(one[1:-1, 1:-1], 1) + 1)
        elif form == 4:
            made.append(one[table] + other)
        elif form == 5:
            made.append(one.at[:, 0].set(other[:, 1]))
        elif form == 6:
            made.append(jnp.cumsum(one, axis=0, dtype=one.dtype))
        elif form == 7:
            made.append(lax.fori_loop(0, 3, lambda _, x: x + other, one))
        else:
            made.append((one @ other.T @ one).astype(one.dtype))
    return made


def costly(source: Source, x: Array, y: Array) -> Array:
    """Made of two fields by what back ends do not do twice for nothing."""
    if jnp.issubdtype(x.dtype, jnp.integer):
        return lax.div(x, y | 1) ^ lax.rem(y, x | 1)
    form = int(source.random.integers(3))
    quotient = x / (jnp.abs(y) + 1)
    if form == 0:
        return jnp.tanh(quotient)
    return jnp.sqrt(jnp.abs(quotient)) if form == 1 else jnp.exp(-jnp.abs(quotient))


def moved(source: Source, x: Array) -> Array:
    """Made of neighbouring places of a field."""
    form, axis = int(source.random.integers(3)), int(source.random.integers(2))
    if form == 0:
        return jnp.roll(x, 1, axis) - jnp.roll(x, -1, axis)
    if form == 1:
        return x - x[::-1]
    inner = x[2:, 1:-1] + x[:-2, 1:-1] - x[1:-1, 2:] - x[1:-1, :-2]
    return jnp.pad(inner, 1)


def strand(source: Source, x: Array, common: list[Array]) -> Array:
    stages = int(source.random.integers(1, 3))
    for _ in range(stages):
        parts = [costly(source, x, common[int(source.random.integers(len(common)))]) for _ in range(2)]
        x = moved(source, parts[0]) + moved(source, parts[1])
    return x


def program(source: Source) -> tuple[Callable, list[np.ndarray], bool]:
    dtype = source.one(("int32", "int64", "uint32", "float64", "float32"))
    shape = (int(source.random.integers(8, 24)), int(source.random.integers(8, 24)))
    count = int(source.random.integers(2, 6))
    end, seed = int(source.random.integers(4)), int(source.random.integers(1 << 30))

    def step(fields: list[Array], table: Array) -> list[Array]:
        choices = Source(seed)
        common = [*shared(choices, fields, table), *fields]
        made: list[Array] = []
        for number in range(count):
            start = fields[number % len(fields)]
            if made and choices.random.integers(4) == 0:
                start = start + made[-1]
            made.append(strand(choices, start, common))
        return made

    def f(table: Array, *fields: Array) -> object:
        given = list(fields)
        if end == 0:
            return step(given, table)
        if end == 1:
            return [x + y for x, y in zip(given, step(given, table), strict=False)]
        if end == 2:
            made = step(given, table)
            return [given[0].at[1:3, :].set(made[0][1:3, :]), jnp.sum(made[1], dtype=made[1].dtype), *made[2:]]

        def turn(_: Array, state: list[Array]) -> list[Array]:
            return [x + y for x, y in zip(state, step(state, table), strict=True)]

        return lax.fori_loop(0, 2, turn, [given[number % len(given)] for number in range(count)])

    inputs = [source.values(shape, dtype) for _ in range(int(source.random.integers(2, 4)))]
    table = source.random.integers(0, shape[0], shape[0], dtype=np.int32)
    return f, [table, *inputs], not dtype.startswith("float")


def generate(count: int, seed: int) -> list[Program]:
    programs = []
    for number in range(count):
        function, inputs, exact = program(Source(seed * 1_000_003 + number))
        text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
        programs.append(Program(f"turns {seed}/{number}", text, text, inputs, 0 if exact else 4096, exact, True, 0))
    return programs


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    # What takes turns is alive at other times then, and finer parts may be found to have turns of their own.
    flag = "--slimhlo-in-turn=target=h100 share=64 moves=1000000"
    simple = ("--inline", "--symbol-dce", "--canonicalize", "--cse")
    sys.exit(PassTest(flag, generate, 0.5, simple, settles=False).main(__doc__, 200))
