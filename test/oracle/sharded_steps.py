# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Steps of models on sharded grids: halos are filled, then stencils read the fields.

What test/oracle/shards.py draws its larger programs from. A step fills the halos of one to three fields (east and west, north
and south, or both with their corners; periodic, repeated, mirrored or zero; by `dynamic_update_slice`, `.at[].set`,
`concatenate` or `jnp.pad`), then has several readers: central differences by shifted slices that are padded, put back or
added, by rolls, products of fields, gradients, stencils in both directions; with fields that are returned or only read,
donated or not, constrained or not; once, or in a loop.

All values are small whole numbers, and all constants powers of two: sums and products are exact, in whatever order they
are contracted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

MESHES = ((1, 4), (4, 1), (2, 2), (2, 4), (4, 2), (1, 8))
FILLS = ("dus", "at", "concat")
READERS = ("pad", "add", "dus", "set", "concat", "roll", "product", "grad", "zeros", "kept", "interior")
# What gives back as many fields as it takes, and can be done again and again.
REPEATED = ("pad", "add", "dus", "set", "concat", "roll", "zeros", "five", "five")
TURNS = 3


@dataclasses.dataclass(frozen=True)
class Step:
    """What a step is like. Fields are `shape`, cut by `mesh` along the last two dimensions."""

    mesh: tuple[int, int]
    shape: tuple[int, ...]
    sides: str  # "e": the last dimension; "n": the one before it
    halo: int
    kind: str  # periodic, edge, mirror, zero
    fill: str
    reader: str
    fields: int = 3
    donated: bool = True
    constrained: bool = False
    out: bool = True
    dtype: str = "float32"
    turns: int = 1

    def __str__(self) -> str:
        flags = "".join(letter for letter, on in (("d", self.donated), ("c", self.constrained), ("o", self.out)) if on)
        mesh = "x".join(map(str, self.mesh))
        shape = "x".join(map(str, self.shape))
        return f"{mesh}-{shape}-{self.sides}{self.halo}-{self.kind}-{self.fill}-{self.reader}-{self.fields}{flags}-{self.dtype}-{self.turns}"


def draw(random: np.random.Generator) -> Step:
    """A step of any kind."""

    def one(of: tuple) -> object:
        return of[random.integers(len(of))]

    mesh = one(MESHES)
    halo = int(random.integers(1, 5))
    # Shards are large against XLA's own slack, and against halos.
    local = [int(random.integers(5, 10)) * 4, int(random.integers(5, 12)) * 8]
    shape = tuple(part * size for part, size in zip(mesh, local, strict=True))
    if random.integers(3) == 0:
        shape = (int(random.integers(2, 6)), *shape)
    reader = one(READERS)
    dtypes = ("float32", "float64", "float32", "float64", "bfloat16") + (() if reader == "grad" else ("int32",))
    return Step(
        mesh,
        shape,
        one(("e", "n", "en", "ne")),
        halo,
        one(("periodic", "periodic", "edge", "mirror", "zero")),
        one(FILLS),
        reader,
        int(random.integers(1, 4)),
        bool(random.integers(4)),
        bool(random.integers(2)),
        bool(random.integers(4)),
        one(dtypes),
    )


def draw_gradient(random: np.random.Generator) -> Step:
    """The gradient of what differences of filled fields sum to: back through the fills. Rows that are kept for a while are many."""
    step = draw(random)
    shape = (*step.shape[:-2], *(4 * size for size in step.shape[-2:]))
    return dataclasses.replace(step, shape=shape, reader="grad", dtype="float32" if step.dtype == "int32" else step.dtype)


def draw_repeated(random: np.random.Generator) -> Step:
    """A step that may be in a loop, of donated fields."""

    def one(of: tuple) -> object:
        return of[random.integers(len(of))]

    step = draw(random)
    # What is rounded in a turn depends on how ops are fused; sums of bfloat16 are exact just once.
    dtype = step.dtype if step.dtype != "bfloat16" else "float32"
    return dataclasses.replace(
        step,
        fill=one((*FILLS, "pad")),
        reader=one(REPEATED),
        donated=True,
        dtype=dtype,
        turns=one((1, TURNS)),
    )


def _along(rank: int, dim: int, low: int | None, high: int | None) -> tuple[slice, ...]:
    return tuple(slice(low, high) if at == dim else slice(None) for at in range(rank))


def _fill(step: Step, x: jax.Array) -> jax.Array:
    """`x` with its halos filled."""
    rank, width = x.ndim, step.halo
    for side in step.sides:
        dim = rank - 1 if side == "e" else rank - 2
        size = x.shape[dim]

        def part(low: int, high: int, dim: int = dim, x: jax.Array = x) -> jax.Array:
            return x[_along(rank, dim, low, high)]

        def end(x: jax.Array, high: bool, dim: int = dim, size: int = size) -> jax.Array:
            if step.kind == "periodic":
                low = width if high else size - 2 * width
                return x[_along(rank, dim, low, low + width)]
            if step.kind == "mirror":
                low = size - 2 * width if high else width
                return jnp.flip(x[_along(rank, dim, low, low + width)], dim)
            like = x[_along(rank, dim, 0, width)]
            if step.kind == "zero":
                return jnp.zeros_like(like)
            at = size - 1 - width if high else width
            return jnp.broadcast_to(x[_along(rank, dim, at, at + 1)], like.shape)

        if step.fill == "pad" and step.kind in ("periodic", "edge", "zero"):
            widths = [(width, width) if at == dim else (0, 0) for at in range(rank)]
            mode = {"periodic": "wrap", "edge": "edge", "zero": "constant"}[step.kind]
            x = jnp.pad(part(width, size - width), widths, mode=mode)
            continue
        if step.fill in ("concat", "pad"):
            x = lax.concatenate([end(x, False), part(width, size - width), end(x, True)], dim)
            continue
        for high in (False, True):
            start = size - width if high else 0
            if step.fill == "at":
                x = x.at[_along(rank, dim, start, start + width)].set(end(x, high))
            else:
                x = lax.dynamic_update_slice(x, end(x, high), [start if at == dim else 0 for at in range(rank)])
    return x


def _differences(step: Step, x: jax.Array, dim: int) -> tuple[jax.Array, Callable]:
    """Central differences along `dim`, and how they are put back into an array as large as `x`."""
    rank, size = x.ndim, x.shape[dim]
    half = x.dtype.type(2 if step.dtype == "int32" else 0.5)
    inner = (x[_along(rank, dim, 2, None)] - x[_along(rank, dim, None, -2)]) * half
    widths = [(1, 1) if at == dim else (0, 0) for at in range(rank)]
    edge = jnp.zeros_like(x[_along(rank, dim, 0, 1)])
    window = _along(rank, dim, 1, size - 1)

    def back(a: jax.Array) -> jax.Array:
        """`a` less the differences."""
        match step.reader:
            case "add":
                return a.at[window].add(-inner)
            case "set":
                return a.at[window].set(a[window] - inner)
            case "dus":
                return lax.dynamic_update_slice(a, a[window] - inner, [1 if at == dim else 0 for at in range(rank)])
            case "concat":
                return a - lax.concatenate([edge, inner, edge], dim)
            case "zeros":
                return a - jnp.zeros_like(a).at[window].set(inner)
            case "roll":
                return a - (jnp.roll(x, -1, dim) - jnp.roll(x, 1, dim)) * half
            case "interior":
                return a[window] - inner
            case _:
                return a - jnp.pad(inner, widths)

    return inner, back


def _five(step: Step, x: jax.Array) -> jax.Array:
    """`x` with all but its edges from the four neighbours of each."""
    rank = x.ndim
    window = [slice(None)] * (rank - 2)

    def moved(down: int, right: int) -> jax.Array:
        return x[(*window, *(slice(1 + by, size - 1 + by) for by, size in zip((down, right), x.shape[-2:], strict=True)))]

    half = x.dtype.type(2 if step.dtype == "int32" else 0.5)
    inner = (moved(0, 1) - moved(0, -1) + moved(1, 0) - moved(-1, 0)) * half + moved(0, 0)
    return lax.dynamic_update_slice(x, inner, [0] * (rank - 2) + [1, 1])


def _grown(x: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """`x` with zeros after it, up to `shape`."""
    edges = [(0, to - size, 0) for size, to in zip(x.shape, shape, strict=True)]
    return lax.pad(x, x.dtype.type(0), edges)


def program(step: Step) -> tuple[Callable, NamedSharding, dict]:
    """The step as a function of its fields, how each is laid out, and how it is to be compiled."""
    count = step.mesh[0] * step.mesh[1]
    mesh = Mesh(np.array(jax.devices()[:count]).reshape(step.mesh), ("x", "y"))
    rank = len(step.shape)
    sharding = NamedSharding(mesh, PartitionSpec(*[None] * (rank - 2), "x", "y"))
    dims = (rank - 1, rank - 2)

    def filled(*fields: jax.Array) -> list[jax.Array]:
        done = [_fill(step, x) for x in fields]
        return [lax.with_sharding_constraint(x, sharding) for x in done] if step.constrained else done

    def f(*fields: jax.Array) -> tuple[jax.Array, ...]:
        if step.turns == 1:
            return once(*fields)
        return lax.fori_loop(0, step.turns, lambda _, fields: once(*fields), fields)

    def once(*fields: jax.Array) -> tuple[jax.Array, ...]:
        done = filled(*fields)
        others = done[1:] + done[:1]
        match step.reader:
            case "five":
                return tuple(_five(step, a) for a in done)
            case "product":
                return tuple(a * b for a, b in zip(done, others, strict=True))
            case "kept":
                changed = [_differences(step, b, dims[0])[1](a) for a, b in zip(done, others, strict=True)]
                return tuple(done) + (changed[0],)
            case "interior":
                sums = [_differences(step, b, dim)[1](a) for a, b in zip(done, others, strict=True) for dim in dims]
                return tuple(_grown(s, step.shape) for s in sums[::2])
            case "grad":
                return jax.grad(loss, argnums=tuple(range(len(fields))))(*fields)
        changed = []
        for number, (a, b) in enumerate(zip(done, others, strict=True)):
            changed.append(_differences(step, b, dims[number % 2])[1](a))
        if len(changed) == 3:
            changed[2] = _differences(step, done[1], dims[1])[1](changed[2])
        return tuple(changed)

    def loss(*fields: jax.Array) -> jax.Array:
        done = filled(*fields)
        one, two = done[0], done[-1]
        terms = jnp.sum(_differences(step, one, dims[0])[0] * 2) + jnp.sum(_differences(step, two, dims[1])[0])
        return terms + sum(jnp.sum(x * x) for x in done) / 2

    results = step.fields + (step.reader == "kept")
    extra: dict = {}
    if step.donated:
        extra["donate_argnums"] = tuple(range(step.fields))
    if step.out:
        extra["out_shardings"] = (sharding,) * results
    return f, sharding, extra


def values(step: Step, random: np.random.Generator) -> np.ndarray:
    """A field of small whole numbers, some zeros negative, some infinite."""
    field = random.integers(-4, 5, step.shape).astype(step.dtype)
    if step.dtype != "int32":
        flat = field.reshape(-1)
        for special in (np.inf, -np.inf, -0.0, -0.0):
            flat[random.integers(flat.size)] = special
    return field
