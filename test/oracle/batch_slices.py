# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks and their gradients, as XLA computes them before and after --slimhlo-batch-slices.

    python test/oracle/batch_slices.py --opt target/debug/slimhlo-opt --count 60 --seed 1

Each program is a small network of layers that keep a batch apart (products, convolutions of several layouts, with groups and strides, pooling, attention,
normalizations, gathers, sorts, running sums, reshapes that merge the batch with tokens) or that do not (statistics over the batch), with a
loss: outputs, gradients of parameters, of inputs, of each sample by itself, or of each member of an ensemble. f32 and f64, bf16 in part.
A third of them have a layer in their middle that is made of sums of
the whole batch; what has to wait for these is taken there. A sixth are natural gradients, whose parts of joined gradients are; another
sixth are evolution strategies, whose populations are random numbers and their opposites. Sums over the batch are added up in another order, so
results may differ by some ulp of the largest of all; what is left alone must be the same text. The networks are smooth but for maxima, whose
operands are far apart. Sizes of slices are drawn, too.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time
from collections.abc import Callable

import xla_cpu  # noqa: F401  # first: it sets the flags with which JAX starts

# isort: split
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from stream import Changed, Program, Source, arguments

from opt import Driver

CHANGED_SHARE = 0.6
SIMPLE = ["--inline", "--canonicalize", "--cse", "--slimhlo-simplify", "--canonicalize", "--cse"]
CHUNKS = (1, 1, 1024, 16384)
BATCHES = (4, 6, 8, 12)

Array = jax.Array
Layer = Callable[[Array, "Weights"], Array]


class Weights:
    """Parameters, drawn as layers ask for them when a network is first built, and handed out in order after that."""

    def __init__(self, source: Source, dtype: str, given: list[Array] | None = None) -> None:
        self.source, self.dtype, self.given = source, dtype, given
        self.made: list[np.ndarray] = []
        self.at = 0

    def __call__(self, *shape: int) -> Array:
        if self.given is not None:
            self.at += 1
            return self.given[self.at - 1]
        scale = 1 / np.sqrt(max(1, np.prod(shape[:-1])))
        self.made.append((self.source.random.standard_normal(shape) * scale).astype(jnp.dtype(self.dtype)))
        return jnp.asarray(self.made[-1])


def dense(x: Array, w: Weights) -> Array:
    return jnp.tanh(x @ w(x.shape[-1], 6) + w(6))


def mixed(x: Array, w: Weights) -> Array:
    """The batch and all but the last dimension are one for a while."""
    rows = x.reshape(-1, x.shape[-1])
    return jax.nn.gelu(rows @ w(x.shape[-1], 8)).reshape(*x.shape[:-1], 8)


def normalized(x: Array, w: Weights) -> Array:
    mean = x.mean(-1, keepdims=True)
    spread = jnp.mean((x - mean) ** 2, -1, keepdims=True)
    return (x - mean) * lax.rsqrt(spread + 0.1) * w(x.shape[-1])


def of_batch(x: Array, w: Weights) -> Array:
    """Statistics of the batch: what slices must end at."""
    axes = tuple(range(x.ndim - 1))
    return (x - x.mean(axes)) * lax.rsqrt(x.var(axes) + 0.1) * w(x.shape[-1])


def running(x: Array, w: Weights) -> Array:
    return jnp.cumsum(x * w(x.shape[-1]), axis=1) / 4


def sorted_rows(x: Array, w: Weights) -> Array:
    return jnp.sort(x, axis=-1) * w(x.shape[-1])


def attention(x: Array, w: Weights) -> Array:
    q, k, v = (x @ w(x.shape[-1], 6) for _ in range(3))
    scores = jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), -1)
    return jnp.einsum("bqk,bkd->bqd", scores, v)


def turned(x: Array, w: Weights) -> Array:
    return jnp.swapaxes(x, 0, 1)[::-1].swapaxes(0, 1) + w(x.shape[-1])


def shifted(x: Array, w: Weights) -> Array:
    return jnp.concatenate([x[:, 1:], x[:, :1]], 1) + jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1] * w(x.shape[-1])


def picked(x: Array, w: Weights) -> Array:
    index = jnp.argmax(lax.stop_gradient(x), axis=1)[:, None]
    return x + jnp.take_along_axis(x, index, axis=1) * w(x.shape[-1])


def convolved(x: Array, w: Weights, *, layout: str, groups: int, stride: int) -> Array:
    features = x.shape[-1] // groups * groups
    x = x[..., :features]
    numbers = ("NHWC", "HWIO", "NHWC") if layout == "NHWC" else ("NCHW", "OIHW", "NCHW")
    kernel = (3, 3, features // groups, 4) if layout == "NHWC" else (4, features // groups, 3, 3)
    x = x if layout == "NHWC" else jnp.moveaxis(x, -1, 1)
    x = lax.conv_general_dilated(
        x, w(*kernel), (stride, stride), "SAME", dimension_numbers=numbers, feature_group_count=groups
    )
    return jnp.tanh(x if layout == "NHWC" else jnp.moveaxis(x, 1, -1))


def largest(x: Array, w: Weights) -> Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") * w(x.shape[-1])


def mean_of_windows(x: Array, w: Weights) -> Array:
    return lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME") / 9 * w(x.shape[-1])


def grouped(x: Array, w: Weights) -> Array:
    folded = x.reshape(*x.shape[:-1], 2, -1)
    mean = folded.mean((1, 2, 4), keepdims=True)
    return ((folded - mean) * lax.rsqrt(folded.var((1, 2, 4), keepdims=True) + 0.1)).reshape(x.shape) * w(x.shape[-1])


def stepped(x: Array, w: Weights) -> Array:
    """Steps whose inside is larger than what they hand on: slices are in the body of their loop, if that is at the peak."""
    out, back = w(x.shape[-1], 24), w(24, x.shape[-1])
    return lax.fori_loop(0, 3, lambda _, h: jnp.tanh(h @ out) @ back, x)


def network(
    source: Source, more: tuple[Layer, ...] = (), between: tuple[Layer, ...] = ()
) -> tuple[str, tuple[int, ...], Callable[[Array, Weights], Array]]:
    """Layers, of those here and of `more`, which take any shape, with `between` in their middle, and the shape of one sample."""
    kind = str(source.one(("rows", "tokens", "tokens", "images", "images")))
    if kind == "rows":
        shape: tuple[int, ...] = (6,)
        choices: tuple[Layer, ...] = (dense, normalized, sorted_rows, of_batch)
    elif kind == "tokens":
        shape = (5, 6)
        choices = (dense, mixed, normalized, running, attention, turned, shifted, picked)
    else:
        shape = (8, 8, 4)

        def convolution(x: Array, w: Weights, how: tuple = ()) -> Array:
            return convolved(x, w, layout=how[0], groups=how[1], stride=how[2])

        hows = [
            (source.one(("NHWC", "NCHW")), int(source.one((1, 1, 2, 4))), int(source.one((1, 2)))) for _ in range(4)
        ]
        convolutions = tuple(lambda x, w, how=how: convolution(x, w, how) for how in hows)
        choices = (*convolutions, largest, mean_of_windows, grouped, mixed)
    choices = (*choices, *more)
    layers = [choices[source.random.integers(len(choices))] for _ in range(2 + source.random.integers(4))]
    layers[len(layers) // 2 : len(layers) // 2] = between

    def apply(x: Array, w: Weights) -> Array:
        for layer in layers:
            y = layer(x, w)
            x = x + y if y.shape == x.shape else y
        return x.reshape(x.shape[0], -1) @ w(int(np.prod(x.shape[1:])), 5)

    return kind, shape, apply


@dataclasses.dataclass(frozen=True)
class Step:
    """A function of a network, its inputs, and what is known of both."""

    name: str
    function: Callable[..., object]
    inputs: list[np.ndarray]
    weights: int
    """How many of the inputs, the first ones, are parameters; all others but the table, the one after the first of them, have a batch in front."""
    batch: int
    dtype: str


def draw(source: Source, number: int, more: tuple[Layer, ...] = (), between: tuple[Layer, ...] = ()) -> Step:
    kind, shape, apply = network(source, more, between)
    dtype = str(source.one(("float32", "float32", "float64", "bfloat16")))
    batch = int(source.one(BATCHES))
    weights = Weights(source, dtype)
    # Values that are far apart, so that the largest of them is no matter of rounding.
    count = batch * int(np.prod(shape))
    values = source.random.permutation(count).reshape(batch, *shape) / count * 4 - 2
    x = values.astype(jnp.dtype(dtype))
    embeds = bool(source.random.integers(3) == 0)
    labels = source.random.integers(0, 5, batch).astype(np.int32)
    mask = (source.random.integers(0, 4, batch) > 0).astype(np.float32)
    # It asks for its parameters; what it computes nobody wants, so that XLA need not compile op by op.
    jax.eval_shape(lambda x: apply(x, weights), x)
    table = (source.random.standard_normal((7, *shape)) / 2).astype(jnp.dtype(dtype))
    rows = source.random.integers(0, 7, batch).astype(np.int32)

    def logits(parameters: list[Array], x: Array, table: Array, rows: Array) -> Array:
        given = Weights(source, dtype, parameters)
        return apply(x + table[rows] if embeds else x, given)

    def loss(parameters: list[Array], x: Array, table: Array, rows: Array, labels: Array, mask: Array) -> Array:
        scores = jax.nn.log_softmax(logits(parameters, x, table, rows).astype(jnp.promote_types(dtype, "float32")))
        found = -jnp.take_along_axis(scores, labels[:, None], 1)[:, 0]
        return jnp.sum(found * mask) / jnp.maximum(mask.sum(), 1)

    wanted = str(source.one(("outputs", "gradients", "gradients", "gradients", "inputs", "samples", "members")))

    def step(parameters: list[Array], x: Array, table: Array, rows: Array, labels: Array, mask: Array) -> object:
        if wanted == "outputs":
            found = logits(parameters, x, table, rows)
            return found, found.max(0), jnp.mean(found, 0)
        if wanted == "inputs":
            return jax.grad(loss, argnums=1)(parameters, x, table, rows, labels, mask)
        if wanted == "samples":

            def one(x: Array, row: Array, label: Array) -> list[Array]:
                return jax.grad(loss)(parameters, x[None], table, row[None], label[None], jnp.ones(1))

            each = jax.vmap(one)(x, rows, labels)
            return [jnp.sum(jnp.clip(g, -0.5, 0.5), 0) for g in each]
        if wanted == "members":
            scales = 1 + jnp.arange(batch) / 16
            ensemble = [jax.vmap(lambda scale, p=p: (p * scale).astype(p.dtype))(scales) for p in parameters]
            return jax.vmap(lambda member: jax.value_and_grad(loss)(member, x, table, rows, labels, mask))(ensemble)
        value, (gradients, of_table) = jax.value_and_grad(loss, argnums=(0, 2))(
            parameters, x, table, rows, labels, mask
        )
        return value, [p - 0.1 * g for p, g in zip(parameters, gradients, strict=True)], of_table

    inputs = [*weights.made, x, table, rows, labels, mask]

    def flat(*given: Array) -> object:
        return step(list(given[:-5]), *given[-5:])

    return Step(f"{kind} {wanted} {number}", flat, inputs, len(weights.made), batch, dtype)


def program(step: Step, chunk_bytes: int, **shardings: object) -> Program:
    """A step as JAX writes it, its inputs and results cut or not (`in_shardings`, `out_shardings`)."""
    text = jax.jit(step.function, keep_unused=True, **shardings).lower(*step.inputs).as_text()
    return Program(
        name=step.name,
        text=text,
        reference=text,
        inputs=step.inputs,
        terms=step.batch * 64,
        exact=False,
        cancels=True,
        chunk_bytes=chunk_bytes,
        rounds=jnp.dtype(step.dtype),
    )


def whitened(x: Array, w: Weights) -> Array:
    """Made uncorrelated over the batch, by a triangular matrix that all of it has a part in."""
    rows = x.reshape(-1, x.shape[-1]).astype(jnp.promote_types(x.dtype, "float32"))
    factor = jnp.linalg.cholesky(rows.T @ rows / len(rows) + jnp.eye(rows.shape[1], dtype=rows.dtype))
    apart = lax.linalg.triangular_solve(factor, jnp.tanh(rows), transpose_a=True)
    return apart.reshape(x.shape).astype(x.dtype) * w(x.shape[-1])


def joined(source: Source, number: int) -> Step:
    """A step of a natural gradient: gradients of each sample by itself, of all parameters, side by side, and what their products
    and the mean of them have to do with one another."""
    dtype = str(source.one(("float32", "float64")))
    batch = int(source.one((24, 40)))
    widths = [int(source.one((72, 96))), *(int(source.one((16, 24))) for _ in range(1 + source.random.integers(2))), 1]
    shapes = [shape for given, made in itertools.pairwise(widths) for shape in ((given, made), (made,))]
    inputs = [(source.random.standard_normal(shape) / 4).astype(dtype) for shape in [*shapes, (batch, widths[0])]]
    centred, whole = bool(source.random.integers(2)), bool(source.random.integers(2))

    def output(parameters: tuple[Array, ...], x: Array) -> Array:
        for weights, bias in zip(parameters[::2], parameters[1::2], strict=True):
            x = jnp.tanh(x @ weights + bias)
        return x[0]

    def step(*given: Array) -> object:
        *parameters, x = given
        each = jax.vmap(jax.grad(output), (None, 0))(tuple(parameters), x)
        rows = jnp.concatenate([part.reshape(batch, -1) for part in each], 1)
        rows = (rows - rows.mean(0) if centred else rows) / float(np.sqrt(batch))
        kernel = rows @ rows.T + jnp.eye(batch, dtype=dtype)
        direction = rows.T @ jnp.linalg.solve(kernel, x[:, 0])
        if whole:
            return direction, kernel
        ends = np.cumsum([part.size for part in parameters])[:-1]
        parts = zip(parameters, jnp.split(direction, ends), strict=True)
        return [part - 0.1 * along.reshape(part.shape) for part, along in parts]

    return Step(f"joined {'whole' if whole else 'parts'} {number}", step, inputs, len(shapes), batch, dtype)


def generate_joined(count: int, seed: int) -> list[Program]:
    sources = [Source(seed * 100_003 + 50_000 + number) for number in range(count)]
    steps = [joined(source, number) for number, source in enumerate(sources)]
    return [program(step, int(source.one(CHUNKS))) for step, source in zip(steps, sources, strict=True)]


def evolution(source: Source, number: int) -> Step:
    """A generation of an evolution strategy: members are what is known and random numbers on both sides of it. What comes of each says what is
    known next; the best member is handed out."""
    dtype = str(source.one(("float32", "float64")))
    half, width, hidden = (int(source.one(sizes)) for sizes in ((16, 24), (8, 12), (24, 40)))
    layers = ((width, hidden), (hidden,), (hidden, 3))
    ends = np.cumsum([int(np.prod(shape)) for shape in layers])
    known, spread, x = ((source.random.standard_normal(n) / 4).astype(dtype) for n in (ends[-1], ends[-1], (5, width)))
    key = source.random.integers(0, 2**32, 2).astype(np.uint32)
    images, ranked = bool(source.random.integers(2)), bool(source.random.integers(2))

    def lost(member: Array, x: Array) -> Array:
        first, bias, last = (
            part.reshape(shape) for part, shape in zip(jnp.split(member, ends[:-1]), layers, strict=True)
        )
        if images:
            # One filter for each member: one convolution of as many groups.
            rows = lax.conv_general_dilated(
                x[:, None, None], first[None, None], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
            )[:, 0, 0]
        else:
            rows = x @ first
        return jnp.sum((jnp.tanh(rows + bias) @ last) ** 2)

    def step(known: Array, spread: Array, x: Array, key: Array) -> object:
        noise = jax.random.normal(jax.random.wrap_key_data(key), (half, known.size), dtype)
        population = known + spread * jnp.concatenate([noise, -noise])
        losses = jax.vmap(lost, (0, None))(population, x)
        shaped = jnp.argsort(jnp.argsort(losses)).astype(dtype) / half - 1 if ranked else losses - losses.mean()
        apart = population[:half] - known
        towards = (shaped[:half] - shaped[half:]) @ apart
        wider = (shaped[:half] + shaped[half:]) @ ((apart**2 - spread**2) / spread)
        best = jnp.argmin(losses)
        return known - towards / half, spread - wider / half, population[best], losses[best]

    return Step(f"evolution {number}", step, [known, spread, x, key], 2, 2 * half, dtype)


def generate_evolution(count: int, seed: int) -> list[Program]:
    sources = [Source(seed * 100_003 + 70_000 + number) for number in range(count)]
    steps = [evolution(source, number) for number, source in enumerate(sources)]
    return [program(step, int(source.one(CHUNKS))) for step, source in zip(steps, sources, strict=True)]


def generate(count: int, seed: int, after_sums: bool) -> list[Program]:
    sources = [Source(seed * 100_003 + number + after_sums * count) for number in range(count)]

    def between(source: Source) -> tuple[Layer, ...]:
        return (source.one((of_batch, whitened)),) if after_sums else ()

    steps = [draw(source, number, (stepped, stepped), between(source)) for number, source in enumerate(sources)]
    return [program(step, int(source.one(CHUNKS))) for step, source in zip(steps, sources, strict=True)]


def main() -> int:
    jax.config.update("jax_enable_x64", True)
    args = arguments(__doc__, 60)
    started = time.monotonic()
    # Of a third of the programs something has to wait for sums, a sixth join gradients, and a sixth populations.
    late, parts = args.count // 3, args.count // 6
    groups: list[tuple[tuple[str, ...], list[Program]]] = [
        (("",), generate(args.count - late - 2 * parts, args.seed, False)),
        (("after-sums=true",), generate(late, args.seed, True)),
        (("after-sums=true parts=true",), generate_joined(parts, args.seed)),
        (("after-sums=true parts=true", ""), generate_evolution(parts, args.seed)),
    ]
    programs = [each for _, some in groups for each in some]
    driver = Driver(args.opt).ready()
    changed = Changed()
    for (options, group), chunk_bytes in itertools.product(groups, sorted(set(CHUNKS))):
        some = [each for each in group if each.chunk_bytes == chunk_bytes]
        texts = [each.text for each in some]
        passes = [f"--slimhlo-batch-slices=chunk-bytes={chunk_bytes} {each}" for each in options]
        plain = driver.run(texts, SIMPLE)
        changed.compare(some, plain, driver.run(texts, [*SIMPLE, *passes]))
    return changed.verdict(programs, CHANGED_SHARE, args.dump, started)


if __name__ == "__main__":
    sys.exit(main())
