# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients of random loops, as XLA computes them before and after --slimhlo-recompute-residuals, --slimhlo-segment-loops and
--slimhlo-merge-branches.

    python test/oracle/residuals.py --opt target/release/slimhlo-opt --count 200 --seed 1

Each program is a `lax.scan` or `lax.fori_loop` whose turn is a random graph of arithmetic, stencils, reductions, products and small attention
over what it carries, what is sliced for it and what all turns share; forwards or backwards, some with an output of each turn; and its gradient.
What is done again is done by the same ops on the same operands, so that results are the same bits, but for what XLA makes of that:
it contracts and vectorises an expression by what stands around it. So floats may differ by some ulp of the largest of all results; programs
of integers alone, of whose loops one reads what another stored, may not differ. A second run must change nothing.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import xla_cpu  # noqa: F401  # first: it sets the flags with which JAX starts

# isort: split
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from opt import Driver
from stream import Changed, Program, Source, arguments

CHANGED_SHARE = 0.5
SIMPLE = ["--inline", "--canonicalize", "--cse", "--slimhlo-simplify", "--canonicalize", "--cse"]
MERGED = "--slimhlo-merge-branches"
PASSES = (
    (MERGED, "--slimhlo-recompute-residuals=target=xla-cpu transforms=true"),
    # However long it takes: these programs are small, and a product's launch alone takes longer than moving what it makes.
    (MERGED, "--slimhlo-recompute-residuals=target=h100 transforms=true moves=1000000000"),
    (MERGED, "--slimhlo-segment-loops"),
    (MERGED, "--slimhlo-recompute-residuals=target=h100 transforms=true share=50"),
    # And segments of segments.
    (
        MERGED,
        "--slimhlo-recompute-residuals=target=h100 transforms=true",
        "--slimhlo-segment-loops=share=70",
        "--slimhlo-simplify",
        "--slimhlo-segment-loops",
    ),
)
"""Eight programs, one of which is of integers and two of branches, have the first, the next eight the second, and so on."""
SETTLES = PASSES[:2]
"""Of what a share has left a second run takes a share again, and of segments segments."""

Array = jax.Array


def shifted(source: Source) -> Callable[[Array], Array]:
    """A neighbour of each element: around the end, or the last one again at a wall."""
    by, axis = source.one((-1, 1, 2)), int(source.random.integers(2))
    if source.random.integers(2):
        return lambda x: jnp.roll(x, by, axis)
    widths = [(0, 0), (0, 0)]
    widths[axis] = (1, 1)
    return lambda x: lax.slice_in_dim(jnp.pad(x, widths, mode="edge"), 2, None, axis=axis) - x


def unary(source: Source) -> Callable[[Array], Array]:
    return source.one(
        (
            jnp.tanh,
            jnp.sin,
            lambda x: jnp.exp(-x * x),
            jax.nn.gelu,
            jax.nn.sigmoid,
            lambda x: x - x.mean(-1, keepdims=True),
            lambda x: x / jnp.sqrt(1 + jnp.sum(x * x, -1, keepdims=True)),
            lambda x: jax.nn.softmax(x, axis=0),
            lambda x: x.T.reshape(x.shape),
            lambda x: jnp.where(x > 0.9, x, 0.5 * x),
            lambda x: jnp.sort(x, axis=-1),
            lambda x: jnp.cumsum(x, axis=0) * 0.1,
            shifted(source),
            shifted(source),
            derivative,
        )
    )


def derivative(x: Array) -> Array:
    """By Fourier transforms, as spectral solvers have it."""
    waves = jnp.fft.rfft(x.astype(jnp.promote_types(x.dtype, jnp.float32)))
    return jnp.fft.irfft(1j * jnp.arange(waves.shape[-1]) * waves, n=x.shape[-1]).astype(x.dtype)


def binary(source: Source) -> Callable[[Array, Array], Array]:
    return source.one(
        (
            jnp.multiply,
            jnp.add,
            jnp.subtract,
            jnp.maximum,
            lambda x, y: x / (1 + y * y),
            lambda x, y: jnp.where(x > y, x * y, y),
            lambda x, y: jnp.tanh(x @ y.T) @ y * 0.1,
            lambda x, y: jax.nn.softmax(x @ y.T) @ x,
        )
    )


def step_of(source: Source, states: int) -> Callable[..., tuple[tuple[Array, ...], Array]]:
    """A turn: what is carried, what is sliced for it, and what all turns share are made into what is carried on, and an output."""
    plan = []
    count = states + 2
    for _ in range(int(source.random.integers(3, 12))):
        if source.random.integers(3):
            left, right = (int(source.random.integers(count)) for _ in range(2))
            plan.append((binary(source), (left, right)))
        else:
            plan.append((unary(source), (int(source.random.integers(count)),)))
        count += 1
    ends = [int(source.random.integers(max(0, count - 4), count)) for _ in range(states)]

    def step(state: tuple[Array, ...], given: Array, shared: Array) -> tuple[tuple[Array, ...], Array]:
        values = [*state, given, shared]
        for op, operands in plan:
            values.append(op(*(values[number] for number in operands)))
        made = tuple(0.5 * old + 0.3 * values[end].astype(old.dtype) for old, end in zip(state, ends, strict=True))
        return made, values[-1]

    return step


def gradient(source: Source) -> tuple[Callable, list[np.ndarray], int]:
    """The gradient of a loop of random turns."""
    rows, columns = int(source.random.integers(2, 9)), int(source.random.integers(2, 9))
    dtype = source.one(("float32", "float32", "float64", "bfloat16"))
    states, turns = int(source.random.integers(1, 4)), int(source.random.integers(1, 14))
    step = step_of(source, states)
    form, output, value = int(source.random.integers(3)), bool(source.random.integers(2)), bool(source.random.integers(2))

    def loss(state: tuple[Array, ...], xs: Array, shared: Array) -> Array:
        if form == 0:

            def turn(i: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
                return step(state, lax.dynamic_index_in_dim(xs, i, keepdims=False), shared)[0]

            state, ys = lax.fori_loop(0, turns, turn, state), jnp.zeros((), xs.dtype)
        else:
            state, ys = lax.scan(lambda state, x: step(state, x, shared), state, xs, reverse=form == 1)
        total = sum(jnp.sum(part * part) for part in state)
        return total + jnp.sum(jnp.sin(ys)) if output else total

    def f(*inputs: Array) -> object:
        differentiate = jax.value_and_grad if value else jax.grad
        return differentiate(loss, argnums=(0, 1, 2))(tuple(inputs[:states]), *inputs[states:])

    inputs = [source.values((rows, columns), dtype) for _ in range(states)]
    inputs += [source.values((turns, rows, columns), dtype), source.values((rows, columns), dtype)]
    return f, inputs, turns * rows * columns


def integers(source: Source) -> tuple[Callable, list[np.ndarray], int]:
    """One loop keeps what it computes of integers, the other reads it backwards."""
    size, turns = int(source.random.integers(2, 40)), int(source.random.integers(1, 16))
    dtype = source.one(("int32", "uint8", "int64", "int16"))
    factor, by = int(source.random.integers(2, 9)), int(source.random.integers(1, size))
    reverse = bool(source.random.integers(2))

    def f(x: Array, xs: Array) -> object:
        def forward(x: Array, given: Array) -> tuple[Array, tuple[Array, ...]]:
            a = x * jnp.asarray(factor, x.dtype) + given
            b = jnp.roll(a, by) ^ x
            c = jnp.where(a > b, a, b - given)
            return c + x, (a, b, c, jnp.sort(c))

        def backward(y: Array, kept: tuple[Array, ...]) -> tuple[Array, Array]:
            a, b, c, d = kept
            y = y * a + (b ^ c) - d
            return y, jnp.max(y)

        x, kept = lax.scan(forward, x, xs, reverse=reverse)
        return lax.scan(backward, x, kept, reverse=not reverse)

    return f, [source.values((size,), dtype), source.values((turns, size), dtype)], turns * size


def branches(source: Source) -> tuple[Callable, list[np.ndarray], int]:
    """The gradient of a choice between loops, or between arithmetic, by what is there at run time; what is differentiated is chosen once more."""
    rows, columns = int(source.random.integers(2, 9)), int(source.random.integers(2, 9))
    dtype = source.one(("float32", "float64"))
    turns = [int(source.random.integers(1, 14)) for _ in range(2)]
    steps = [step_of(source, 1) for _ in range(3)]
    loops, several = [bool(source.random.integers(4)) for _ in range(2)], bool(source.random.integers(2))
    # What comes of a branch is mostly no part of the gradient.
    linear = bool(source.random.integers(4))

    def branch(number: int) -> Callable[..., Array]:
        def run(state: Array, xs: Array, shared: Array) -> Array:
            if not loops[number]:
                return steps[number]((state,), xs[0], shared)[0][0]
            turn = lambda state, x: (steps[number](state, x, shared)[0], None)  # noqa: E731
            return lax.scan(turn, (state,), xs[: turns[number]])[0][0]

        return run

    def loss(state: Array, xs: Array, shared: Array) -> Array:
        if several:
            third = lambda state, xs, shared: steps[2]((state,), shared, xs[-1])[1]  # noqa: E731
            chosen = lax.switch(jnp.sum(state > 1).astype("int32") % 3, [branch(0), branch(1), third], state, xs, shared)
        else:
            chosen = lax.cond(jnp.sum(state) > jnp.sum(shared), branch(0), branch(1), state, xs, shared)
        return jnp.sum(chosen) if linear else jnp.sum(chosen * jnp.sin(state))

    inputs = [source.values((rows, columns), dtype), source.values((max(turns), rows, columns), dtype)]
    return jax.grad(loss, argnums=(0, 1, 2)), [*inputs, source.values((rows, columns), dtype)], max(turns) * rows * columns


def generate(count: int, seed: int) -> list[Program]:
    programs = []
    for number in range(count):
        source = Source(seed * 1_000_003 + number)
        exact = number % 8 == 7
        family = {7: integers, 3: branches, 5: branches}.get(number % 8, gradient)
        function, inputs, terms = family(source)
        text = jax.jit(function, keep_unused=True).lower(*inputs).as_text()
        name = f"{family.__name__} {seed}/{number}"
        programs.append(Program(name, text, text, inputs, 64 * terms, exact, True, 0))
    return programs


def main() -> int:
    args = arguments(__doc__, 200)
    started = time.monotonic()
    programs = generate(args.count, args.seed)
    driver = Driver(args.opt).ready()
    texts = [program.text for program in programs]
    plain = driver.run(texts, SIMPLE)
    once, twice = list(plain), list(plain)
    for turn, options in enumerate(PASSES):
        numbers = [number for number in range(len(programs)) if number // 8 % len(PASSES) == turn]
        made = driver.run([texts[number] for number in numbers], [*SIMPLE, *options])
        settles = options in SETTLES
        again = driver.run([outcome.output or "" for outcome in made], [*options]) if settles else made
        for number, first, second in zip(numbers, made, again, strict=True):
            once[number], twice[number] = first, second
    changed = Changed()
    changed.compare(programs, plain, once)
    changed.settle(programs, once, twice)
    return changed.verdict(programs, CHANGED_SHARE, args.dump, started)


if __name__ == "__main__":
    sys.exit(main())
