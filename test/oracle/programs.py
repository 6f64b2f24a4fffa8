# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs: what people write in JAX that wastes memory, or must not be made worse.

    python test/oracle/programs.py target/programs [NAME ...]

writes NAME.mlir per program, at the size of real runs; `--small` at one that runs on a CPU in about a second; `--platform cuda` or
`tpu` as JAX lowers it for these. Nothing is executed here, only lowered. Each program says what its memory is to come down to
(`cargo xtask bench memory`).
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable

import jax_start

jax_start.start()

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import attention_programs  # noqa: F401  registers its own
import network_programs  # noqa: F401
import training_programs  # noqa: F401
from program import PROGRAMS, VARIANTS, Array, Goal, Traced, program, spec

# --- gathers and their gradients ----------------------------------------------------------------------------------

VOLUME = (128, 128, 128)
STREAMED = Goal(ratio=1.01)
SHARDED = Goal(ratio=1.01, all_gathers=0)


def sample(volume: Array, points: Array) -> Array:
    """Sum of the volume's values at integer points, whose coordinates are columns of one array."""
    columns = tuple(jnp.split(points, points.shape[-1], axis=-1))
    return jnp.sum(volume[columns][..., 0] * jnp.float32(2.5))


def sampled(function: Callable, index: object, points: int) -> Traced:
    return jax.jit(function).trace(spec(VOLUME), spec((points, 3), index))


@program(STREAMED, gpu=STREAMED, below=128, points=1 << 24)
def gather_fwd_i32(points: int = 1 << 33) -> Traced:
    return sampled(sample, jnp.int32, points)


@program(STREAMED, gpu=STREAMED, below=128, points=1 << 24)
def gather_vjp_i32(points: int = 1 << 33) -> Traced:
    return sampled(jax.grad(sample), jnp.int32, points)


@program(STREAMED, gpu=STREAMED, below=128, points=1 << 24)
def gather_vjp_i16(points: int = 1 << 33) -> Traced:
    return sampled(jax.grad(sample), jnp.int16, points)


@program(STREAMED, gpu=Goal(ratio=1.0005, time=0.65), below=128, points=1 << 24)
def gather_vag_sin_i32(points: int = 1 << 30) -> Traced:
    """Value and gradient, which need the same indices."""

    def energy(volume: Array, points: Array) -> Array:
        i, j, k = (points[:, column] for column in range(3))
        return jnp.sum(jnp.sin(volume[i, j, k]))

    return sampled(jax.value_and_grad(energy), jnp.int32, points)


@program(Goal(ratio=1.25), below=32_000, rows=16)
def embedding_vjp(rows: int = 64) -> Traced:
    def loss(table: Array, tokens: Array, weights: Array) -> Array:
        return jnp.sum(weights * table[tokens].astype(jnp.float32))

    table, tokens = spec((32_000, 1024), jnp.bfloat16), spec((rows, 2048), jnp.int32)
    return jax.jit(jax.grad(loss)).trace(table, tokens, spec((rows, 2048, 1024)))


def propagate(nodes: Array, senders: Array, receivers: Array, weight: Array) -> Array:
    """One layer of a graph network: gather along edges, transform, add up by receiver."""
    messages = jax.nn.relu(nodes[senders] @ weight)
    return jax.ops.segment_sum(messages, receivers, num_segments=nodes.shape[0])


@program(Goal(ratio=1.5), below=100_000, edges=1 << 18)
def message_passing(edges: int = 2_000_000) -> Traced:
    ends = spec((edges,), jnp.int32)
    return jax.jit(propagate).trace(spec((100_000, 128)), ends, ends, spec((128, 128)))


@program(Goal(ratio=1.5), below=100_000, edges=1 << 18)
def message_passing_gradient(edges: int = 2_000_000) -> Traced:
    def loss(nodes: Array, senders: Array, receivers: Array, weight: Array) -> Array:
        return jnp.mean(propagate(nodes, senders, receivers, weight) ** 2)

    ends = spec((edges,), jnp.int32)
    return jax.jit(jax.grad(loss, argnums=(0, 3))).trace(spec((100_000, 128)), ends, ends, spec((128, 128)))


@program(Goal(ratio=1.1), values=1 << 24)
def histogram(values: int = 1 << 28) -> Traced:
    def count(values: Array) -> Array:
        bins = jnp.clip(jnp.floor(values * 256.0), 0, 255).astype(jnp.int32)
        return jnp.zeros(256, jnp.int32).at[bins].add(1)

    return jax.jit(count).trace(spec((values,)))


@program(Goal(ratio=1.1), size=1 << 12)
def log_sum_exp(size: int = 1 << 14) -> Traced:
    """Of all sums of two vectors' elements."""

    def pair(x: Array, y: Array) -> Array:
        return jax.nn.logsumexp(x[:, None] + y[None, :], axis=1)

    return jax.jit(pair).trace(spec((size,)), spec((size,)))


# --- pads and updates of zeros ------------------------------------------------------------------------------------

AT_FLOOR = Goal(ratio=1.0005)


@program()
def update_of_zeros(rows: int = 4080) -> Traced:
    """The transpose of a slice, written as an update of zeros."""
    shape = (rows + 16, 8192)
    return jax.jit(lambda x: lax.dynamic_update_slice(jnp.zeros(shape), 2.0 * x, (8, 16))).trace(
        spec((rows, 8160), jnp.float64)
    )


@program(AT_FLOOR)
def zeros_dus_chain(height: int = 400) -> Traced:
    """Blocks written one after another into zeros."""

    def assemble(*blocks: Array) -> Array:
        out = jnp.zeros((4096, 4096), jnp.float32)
        for number, block in enumerate(blocks):
            out = lax.dynamic_update_slice(out, block, (number * height, 0))
        return 2 * out + 1

    return jax.jit(assemble).trace(*[spec((height, 4096))] * 8)


@program(AT_FLOOR)
def pads_sum(height: int = 400) -> Traced:
    """Blocks padded to the full height, over one another in part, and added up."""

    def assemble(*blocks: Array) -> Array:
        room = 4096 - height
        return sum(jnp.pad(block, ((100 * i, room - 100 * i), (0, 0))) for i, block in enumerate(blocks))

    return jax.jit(assemble).trace(*[spec((height, 4096))] * 8)


@program(size=4096)
def gradient_of_slices(size: int = 8192) -> Traced:
    """Reverse mode turns each slice into a pad, and sums them."""

    def roughness(x: Array) -> Array:
        return jnp.sum((x[1:, :] - x[:-1, :]) ** 2) + jnp.sum((x[:, 1:] - x[:, :-1]) ** 2)

    return jax.jit(jax.grad(roughness)).trace(spec((size, size)))


# --- halos --------------------------------------------------------------------------------------------------------

HALO = 8
LAYERS = 80


def fill_periodic(field: Array) -> Array:
    """East and west halos from the other side."""
    field = field.at[..., :HALO].set(field[..., -2 * HALO : -HALO])
    return field.at[..., -HALO:].set(field[..., HALO : 2 * HALO])


def fill_walls(field: Array) -> Array:
    """North and south halos repeat the row next to them."""
    shape = (field.shape[0], HALO, field.shape[2])
    field = field.at[:, :HALO, :].set(jnp.broadcast_to(field[:, HALO : HALO + 1, :], shape))
    return field.at[:, -HALO:, :].set(jnp.broadcast_to(field[:, -HALO - 1 : -HALO, :], shape))


def grid(layers: int) -> jax.ShapeDtypeStruct:
    return spec((layers, 784, 1552), jnp.float64)


def halos(fill: Callable[[Array], Array], layers: int) -> Traced:
    return jax.jit(lambda fields: [fill(field) for field in fields], donate_argnums=0).trace([grid(layers)] * 4)


@program(Goal(ratio=1.01), layers=24)
def halo_ew(layers: int = LAYERS) -> Traced:
    return halos(fill_periodic, layers)


@program(Goal(ratio=1.01), layers=24)
def halo_ns(layers: int = LAYERS) -> Traced:
    return halos(fill_walls, layers)


@program(Goal(ratio=1.01), layers=24)
def halo_all(layers: int = LAYERS) -> Traced:
    return halos(lambda field: fill_walls(fill_periodic(field)), layers)


@program(Goal(ratio=1.34), gpu=Goal(ratio=1.14, time=1.1), layers=24)
def halo_step(layers: int = LAYERS) -> Traced:
    """A step of the linear shallow-water equations with halos filled first."""

    def step(u: Array, v: Array, eta: Array) -> tuple[Array, Array, Array]:
        u, v, eta = (fill_walls(fill_periodic(field)) for field in (u, v, eta))
        east = lambda f: 0.5 * (jnp.roll(f, -1, axis=2) - jnp.roll(f, 1, axis=2))
        north = lambda f: 0.5 * (jnp.roll(f, -1, axis=1) - jnp.roll(f, 1, axis=1))
        return u - 0.1 * east(eta), v - 0.1 * north(eta), eta - 0.1 * (east(u) + north(v))

    return jax.jit(step, donate_argnums=(0, 1, 2)).trace(*[grid(layers)] * 3)


ROWS, COLUMNS = 3056, 12_272


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))


def sharding() -> NamedSharding:
    return NamedSharding(mesh(), P("x", "y"))


def keep(value: Array) -> Array:
    """The value, spread over the mesh like the field."""
    return lax.with_sharding_constraint(value, sharding())


def sharded_field(rows: int) -> jax.ShapeDtypeStruct:
    return spec((rows, COLUMNS), jnp.float64, sharding())


def pad_last_column(rows: int, width: int) -> Traced:
    def widen(field: Array) -> Array:
        return keep(jnp.pad(keep(field[:, -1:]), ((0, 0), (0, width - 1))))

    return jax.jit(widen).trace(sharded_field(rows))


@program(Goal(ratio=1.02, all_gathers=0, broadcasts=1), gpu=SHARDED, rows=764)
def pad_spmd(rows: int = ROWS) -> Traced:
    return pad_last_column(rows, 123)


@program(Goal(ratio=1.01, all_gathers=0, broadcasts=1), gpu=SHARDED, rows=764)
def pad_spmd_full(rows: int = ROWS) -> Traced:
    return pad_last_column(rows, COLUMNS)


@program(Goal(ratio=1.01, all_gathers=0), gpu=SHARDED, rows=764)
def dus_zero_spmd(rows: int = ROWS) -> Traced:
    def place(field: Array) -> Array:
        return keep(lax.dynamic_update_slice(keep(jnp.zeros_like(field)), 2 * field[:, :6000], (0, 100)))

    return jax.jit(place).trace(sharded_field(rows))


@program(Goal(ratio=1.01, all_gathers=0, permuted=ROWS // 2 * 8 * 8), gpu=SHARDED, rows=764)
def halo_ew_spmd(rows: int = ROWS) -> Traced:
    def fill(field: Array) -> Array:
        field = keep(lax.dynamic_update_slice(field, field[:, -2 * HALO : -HALO], (0, 0)))
        return keep(lax.dynamic_update_slice(field, field[:, HALO : 2 * HALO], (0, COLUMNS - HALO)))

    return jax.jit(fill, donate_argnums=0, out_shardings=sharding()).trace(sharded_field(rows))


@program(Goal(ratio=1.2, all_gathers=0), gpu=Goal(ratio=1.18, all_gathers=0, time=1.1), rows=764)
def steps_spmd(rows: int = ROWS) -> Traced:
    """Ten steps of diffusion: halos, then all but the edges from the four neighbours of each."""

    def step(_: int, field: Array) -> Array:
        field = keep(lax.dynamic_update_slice(field, field[:, -2 * HALO : -HALO], (0, 0)))
        field = keep(lax.dynamic_update_slice(field, field[:, HALO : 2 * HALO], (0, COLUMNS - HALO)))
        around = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
        inner = field[1:-1, 1:-1] + 0.1 * (around - 4 * field[1:-1, 1:-1])
        return keep(lax.dynamic_update_slice(field, inner, (1, 1)))

    steps = jax.jit(lambda field: lax.fori_loop(0, 10, step, field), donate_argnums=0, out_shardings=sharding())
    return steps.trace(sharded_field(rows))


@program()
def halo_exchange_by_shard_map(rows: int = 2048) -> Traced:
    """Neighbours exchange edges with collective permutes, each on its own shard."""
    devices = mesh()

    def exchange(field: Array) -> Array:
        n = lax.axis_size("y")
        east = [(i, (i + 1) % n) for i in range(n)]
        west = [((i + 1) % n, i) for i in range(n)]
        left = lax.ppermute(field[:, -8:], "y", east)
        right = lax.ppermute(field[:, :8], "y", west)
        wide = jnp.concatenate([left, field, right], axis=1)
        inner = wide[:, 9:-7] - wide[:, 7:-9]
        return inner / lax.pmax(jnp.max(jnp.abs(inner)), ("x", "y"))

    shard = P("x", "y")
    exchanged = jax.shard_map(exchange, mesh=devices, in_specs=shard, out_specs=shard)
    return jax.jit(exchanged).trace(spec((rows, 8192), jnp.float64, NamedSharding(devices, shard)))


@program()
def matmul_by_shard_map(rows: int = 1024) -> Traced:
    """A product whose contraction is spread over devices: all-gather, reduce-scatter, all-to-all."""
    devices = mesh()

    def local(a: Array, b: Array) -> Array:
        a = lax.all_gather(a, "x", axis=0, tiled=True)
        partial = lax.psum_scatter(a @ b, "y", scatter_dimension=0, tiled=True)
        return lax.all_to_all(partial, "x", split_axis=0, concat_axis=1, tiled=True)

    product = jax.shard_map(
        local, mesh=devices, in_specs=(P("x", "y"), P("y", None)), out_specs=P("y", "x"), check_vma=False
    )
    return jax.jit(product).trace(spec((rows, 2048)), spec((2048, 512)))


# --- explicit time steps ------------------------------------------------------------------------------------------


@program(Goal(ratio=1.1), gpu=Goal(ratio=1.18, time=1.1), size=1024)
def heat_steps(size: int = 4096, steps: int = 10) -> Traced:
    """The heat equation on the inside of a donated field."""

    def step(_: int, u: Array) -> Array:
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].set(inner + 0.1 * (around - 4 * inner))

    return jax.jit(lambda u: lax.fori_loop(0, steps, step, u), donate_argnums=0).trace(spec((size, size)))


@program(Goal(ratio=1.25), size=1024)
def reaction_steps(size: int = 4096, steps: int = 10) -> Traced:
    """Two substances that react and spread on a periodic square (Gray and Scott)."""

    def step(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        u, v = state
        spread = lambda f: sum(jnp.roll(f, by, axis) for axis in (0, 1) for by in (-1, 1)) - 4 * f
        reaction = u * v * v
        return u + 0.16 * spread(u) - reaction + 0.035 * (1 - u), v + 0.08 * spread(v) + reaction - 0.095 * v

    field = spec((size, size))
    return jax.jit(lambda *state: lax.fori_loop(0, steps, step, state)).trace(field, field)


@program(Goal(ratio=1.25), gpu=Goal(ratio=1.29, time=1.1), size=1024)
def wave_steps(size: int = 4096, steps: int = 10) -> Traced:
    """The wave equation on a periodic square, by a leapfrog scheme: each field is handed on as the one before."""

    def step(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        before, now = state
        around = sum(jnp.roll(now, by, axis) for axis in (0, 1) for by in (-1, 1))
        return now, 2 * now - before + 0.1 * (around - 4 * now)

    field = spec((size, size))
    function = lambda *state: lax.fori_loop(0, steps, step, state)
    return jax.jit(function, donate_argnums=(0, 1)).trace(field, field)


# Small enough for the StableHLO interpreter, which knows when to stop if there are NaNs.
@program(Goal(ratio=1.25), size=512)
def relaxation(size: int = 4096, steps: int = 10) -> Traced:
    """Jacobi's method until nothing changes by much, on the inside of a donated field."""

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        u, _, turn = state
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        new = u.at[1:-1, 1:-1].set(0.25 * around)
        return new, jnp.max(jnp.abs(new - u)), turn + 1

    goes_on = lambda state: (state[1] > 1e-6) & (state[2] < steps)
    function = lambda u: lax.while_loop(goes_on, step, (u, jnp.inf, 0))
    return jax.jit(function, donate_argnums=0).trace(spec((size, size)))


@program(Goal(ratio=1.25), size=1024)
def runge_kutta_gradient(size: int = 4096) -> Traced:
    """How a classic Runge-Kutta step of advection depends on the field, applied to another one."""

    def tendency(u: Array) -> Array:
        return sum(0.5 * (jnp.roll(u, 1, axis) - jnp.roll(u, -1, axis)) for axis in (0, 1))

    def step(u: Array, dt: float = 1e-3) -> Array:
        first = tendency(u)
        second = tendency(u + 0.5 * dt * first)
        third = tendency(u + 0.5 * dt * second)
        fourth = tendency(u + dt * third)
        return u + dt / 6 * (first + 2 * second + 2 * third + fourth)

    field = spec((size, size))
    return jax.jit(lambda u, back: jax.vjp(step, u)[1](back)[0]).trace(field, field)


# --- what is only reduced -----------------------------------------------------------------------------------------


def log_sum_exp_of_sums(size: int, *, gradient: bool) -> Traced:
    """Of all sums of two vectors' elements, at once."""

    def total(x: Array, y: Array) -> Array:
        return jax.nn.logsumexp(x[:, None] + y[None, :])

    made = jax.value_and_grad(total, (0, 1)) if gradient else total
    return jax.jit(made).trace(spec((size,)), spec((size // 2,)))


@program(Goal(ratio=1.1), size=1 << 12)
def log_sum_exp_of_all(size: int = 1 << 16) -> Traced:
    return log_sum_exp_of_sums(size, gradient=False)


@program(size=1 << 12)
def log_sum_exp_of_all_gradient(size: int = 1 << 16) -> Traced:
    return log_sum_exp_of_sums(size, gradient=True)


@program(Goal(ratio=1.5), below=1 << 16, edges=1 << 18)
def message_passing_from_both_ends(edges: int = 1 << 24) -> Traced:
    """Value and gradients of a layer whose messages depend on sender and receiver."""
    nodes, width = 1 << 16, 64

    def loss(state: Array, weight: Array, senders: Array, receivers: Array) -> Array:
        sent = jnp.tanh(jnp.concatenate([state[senders], state[receivers]], -1) @ weight)
        return jnp.sum(jax.ops.segment_sum(sent, receivers, nodes) ** 2)

    ends = spec((edges,), jnp.int32)
    made = jax.value_and_grad(loss, (0, 1))
    return jax.jit(made).trace(spec((nodes, width)), spec((2 * width, width)), ends, ends)


@program(Goal(ratio=3.0), below=5000, nodes=5000, edges=1 << 16)
def graph_attention_gradient(nodes: int = 20_000, edges: int = 1 << 18) -> Traced:
    """Value and gradients of a layer that weighs messages by a softmax over the senders of each receiver, with 8 heads."""

    def loss(state: Array, source: Array, target: Array, senders: Array, receivers: Array) -> Array:
        scores = jnp.sum(state * source, -1)[senders] + jnp.sum(state * target, -1)[receivers]
        scores = jax.nn.leaky_relu(scores)
        likely = jnp.exp(scores - jax.ops.segment_max(scores, receivers, nodes)[receivers])
        weights = likely / jax.ops.segment_sum(likely, receivers, nodes)[receivers]
        return jnp.sum(jax.ops.segment_sum(weights[..., None] * state[senders], receivers, nodes) ** 2)

    ends, vector = spec((edges,), jnp.int32), spec((8, 16))
    made = jax.value_and_grad(loss, (0, 1, 2))
    return jax.jit(made).trace(spec((nodes, 8, 16)), vector, vector, ends, ends)


@program(Goal(ratio=2.1), rows=512)
def triplet_loss_gradient(rows: int = 1024) -> Traced:
    """Value and gradient of a loss of each row's distances to the farthest of its own kind and the nearest of another."""

    def loss(x: Array) -> Array:
        distances = jnp.sum((x[:, None] - x[None]) ** 2, -1)
        kind = jnp.arange(rows) // 8
        same = kind[:, None] == kind[None]
        farthest = jnp.max(jnp.where(same, distances, 0), 1)
        nearest = jnp.min(jnp.where(same, jnp.inf, distances), 1)
        return jnp.mean(jax.nn.relu(farthest - nearest + 0.2))

    return jax.jit(jax.value_and_grad(loss)).trace(spec((rows, 128)))


@program(Goal(ratio=1.5), rows=512)
def distillation_gradient(rows: int = 2048) -> Traced:
    """Value and gradient of how far a student's likelihoods of 20,000 words are from a teacher's."""

    def loss(student: Array, teacher: Array, table: Array) -> Array:
        own, wanted = jax.nn.log_softmax(student @ table.T), jax.nn.log_softmax(teacher @ table.T)
        return jnp.mean(jnp.sum(jnp.exp(wanted) * (wanted - own), -1))

    states = spec((rows, 256))
    return jax.jit(jax.value_and_grad(loss)).trace(states, states, spec((20_000, 256)))


# --- command ------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = PROGRAMS | VARIANTS
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="directory for the modules")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(known)}")
    parser.add_argument("--platform", default="cpu", choices=("cpu", "cuda", "tpu"), help="what JAX lowers for")
    parser.add_argument("--small", action="store_true", help="at sizes that run on a CPU in about a second")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or PROGRAMS:
        if name not in known:
            parser.error(f"no program {name}")
        lowered = known[name].lower_small(args.platform) if args.small else known[name](args.platform)
        (args.out / f"{name}.mlir").write_text(lowered.as_text())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
