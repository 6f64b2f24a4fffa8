# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random loops whose values change places, as XLA computes them before and after --slimhlo-unroll-rotations.

    python test/oracle/rotations.py --opt target/debug/slimhlo-opt --count 200 --seed 1

Each program is a `lax.fori_loop` over integers, which wrap around: of what it carries some is handed on at other places, in chains,
rings or as it comes, and some is made of it, of the number of the turn and of what an inner loop or a branch makes of it. The same turns happen in the
same order, so that no bit may differ. A second run must change nothing. A third of the programs has to change.
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


def made(source: Source, states: int) -> Callable[[tuple[Array, ...], Array], Array]:
    """Something made of what is carried, and of the number of the turn."""
    left, right = (int(source.random.integers(states)) for _ in range(2))
    by, form = source.one((-1, 1, 2)), int(source.random.integers(6))

    def make(state: tuple[Array, ...], i: Array) -> Array:
        x, y = state[left], state[right]
        number = i.astype(x.dtype)
        if form == 0:
            return 3 * jnp.roll(x, by, 0) - y
        if form == 1:
            return x * number + y
        if form == 2:
            return jnp.where(x > y, x, y - number)
        if form == 3:
            return x + lax.fori_loop(0, 3, lambda j, z: z * 5 + y, x)
        if form == 4:
            return lax.cond(i % 2 == 0, lambda: x - y, lambda: x ^ y)
        return jnp.cumsum(x, axis=0) + y[::-1]

    return make


def program(source: Source) -> tuple[Callable, list[np.ndarray]]:
    states = int(source.random.integers(2, 6))
    first, turns = int(source.random.integers(-3, 4)), int(source.random.integers(2, 16))
    dtype = source.one(("int32", "int64", "uint32", "int16"))
    size = int(source.random.integers(2, 20))
    # Mostly in a chain, whose last value is made; else each place gets something of its own.
    chain = bool(source.random.integers(4))
    plan: list[int | Callable] = []
    for place in range(states):
        handed = place + 1 if chain and place + 1 < states else int(source.random.integers(states))
        is_made = source.random.integers(8) == 0 if chain and place + 1 < states else source.random.integers(3) > 0
        plan.append(made(source, states) if is_made else handed)

    def f(*inputs: Array) -> object:
        def turn(i: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
            return tuple(what(state, i) if callable(what) else state[what] for what in plan)

        return lax.fori_loop(first, first + turns, turn, inputs)

    return f, [source.values((size,), dtype) for _ in range(states)]


def generate(count: int, seed: int) -> list[Program]:
    programs = []
    for number in range(count):
        function, inputs = program(Source(seed * 1_000_003 + number))
        text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
        programs.append(Program(f"rotation {seed}/{number}", text, text, inputs, 0, True, True, 0))
    return programs


if __name__ == "__main__":
    sys.exit(PassTest("--slimhlo-unroll-rotations=least-bytes=1", generate, 0.3, ("--inline", "--symbol-dce", "--canonicalize", "--cse")).main(__doc__, 200))
