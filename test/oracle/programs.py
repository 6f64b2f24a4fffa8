# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs: what people write in JAX that wastes memory, or must not be made worse.

    python test/oracle/programs.py target/programs [NAME ...]

writes NAME.mlir per program. Sizes are those of real runs; nothing is executed here, only lowered.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import sys
from collections.abc import Callable

os.environ.setdefault("JAX_PLATFORMS", "cpu")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax.config.update("jax_enable_x64", True)

Array = jax.Array
Lowered = jax.stages.Lowered
PROGRAMS: dict[str, Callable[[], Lowered]] = {}


def program(make: Callable[[], Lowered]) -> Callable[[], Lowered]:
    """Registers a program under its function's name."""
    PROGRAMS[make.__name__] = make
    return make


def spec(shape: tuple[int, ...], dtype: object = jnp.float32, sharding: object = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


# --- gathers and their gradients ----------------------------------------------------------------------------------

VOLUME = (96, 96, 96)
POINTS = 1 << 26


def sample(volume: Array, points: Array) -> Array:
    """Sum of the volume's values at integer points."""
    i, j, k = points[:, 0], points[:, 1], points[:, 2]
    return 3.0 * jnp.sum(volume[i, j, k])


@program
def gather_forward_i32() -> Lowered:
    return jax.jit(sample).lower(spec(VOLUME), spec((POINTS, 3), jnp.int32))


@program
def gather_gradient_i32() -> Lowered:
    return jax.jit(jax.grad(sample)).lower(spec(VOLUME), spec((POINTS, 3), jnp.int32))


@program
def gather_gradient_i16() -> Lowered:
    return jax.jit(jax.grad(sample)).lower(spec(VOLUME), spec((POINTS, 3), jnp.int16))


@program
def gather_value_and_gradient() -> Lowered:
    def energy(volume: Array, points: Array) -> Array:
        values = volume[points[:, 0], points[:, 1], points[:, 2]]
        return jnp.sum(jnp.cos(values) * values)

    return jax.jit(jax.value_and_grad(energy)).lower(spec(VOLUME), spec((POINTS, 3), jnp.int32))


@program
def embedding_gradient() -> Lowered:
    def loss(table: Array, tokens: Array, weights: Array) -> Array:
        return jnp.vdot(table[tokens].astype(jnp.float32), weights)

    table, tokens = spec((50_000, 768), jnp.bfloat16), spec((32, 1024), jnp.int32)
    return jax.jit(jax.grad(loss)).lower(table, tokens, spec((32, 1024, 768)))


@program
def message_passing() -> Lowered:
    """One layer of a graph network: gather along edges, transform, add up by receiver; with its gradient."""

    def layer(nodes: Array, senders: Array, receivers: Array, weight: Array) -> Array:
        messages = jax.nn.relu(nodes[senders] @ weight)
        return jax.ops.segment_sum(messages, receivers, num_segments=nodes.shape[0])

    def loss(nodes: Array, senders: Array, receivers: Array, weight: Array) -> Array:
        return jnp.mean(layer(nodes, senders, receivers, weight) ** 2)

    edges = spec((2_000_000,), jnp.int32)
    return jax.jit(jax.grad(loss, argnums=(0, 3))).lower(spec((100_000, 128)), edges, edges, spec((128, 128)))


@program
def histogram() -> Lowered:
    def count(values: Array) -> Array:
        bins = jnp.clip(jnp.floor(values * 256.0), 0, 255).astype(jnp.int32)
        return jnp.zeros(256, jnp.int32).at[bins].add(1)

    return jax.jit(count).lower(spec((1 << 28,)))


# --- pads and updates of zeros ------------------------------------------------------------------------------------


@program
def update_of_zeros() -> Lowered:
    """The transpose of a slice, written as an update of zeros."""
    return jax.jit(lambda x: lax.dynamic_update_slice(jnp.zeros((4096, 8192)), 2.0 * x, (8, 16))).lower(
        spec((4080, 8160), jnp.float64)
    )


@program
def chain_of_updates() -> Lowered:
    """Blocks written one after another into zeros."""

    def assemble(*blocks: Array) -> Array:
        out = jnp.zeros((8 * 512, 4096), jnp.float32)
        for i, block in enumerate(blocks):
            out = lax.dynamic_update_slice(out, block, (i * 512, 0))
        return jnp.tanh(out)

    return jax.jit(assemble).lower(*[spec((512, 4096))] * 8)


@program
def sum_of_pads() -> Lowered:
    def assemble(*blocks: Array) -> Array:
        height = 512 * len(blocks)
        total = jnp.zeros((height, 4096), jnp.float32)
        for i, block in enumerate(blocks):
            total += jnp.pad(block, ((i * 512, height - (i + 1) * 512), (0, 0)))
        return total

    return jax.jit(assemble).lower(*[spec((512, 4096))] * 6)


@program
def gradient_of_slices() -> Lowered:
    """Reverse mode turns each slice into a pad, and sums them."""

    def roughness(x: Array) -> Array:
        return jnp.sum((x[1:, :] - x[:-1, :]) ** 2) + jnp.sum((x[:, 1:] - x[:, :-1]) ** 2)

    return jax.jit(jax.grad(roughness)).lower(spec((8192, 8192)))


# --- halos --------------------------------------------------------------------------------------------------------

HALO = 4


def fill_periodic(field: Array) -> Array:
    """East and west halos from the other side."""
    field = field.at[..., :HALO].set(field[..., -2 * HALO : -HALO])
    return field.at[..., -HALO:].set(field[..., HALO : 2 * HALO])


def fill_walls(field: Array) -> Array:
    """North and south halos repeat the last row inside."""
    south, north = field[:, HALO : HALO + 1, :], field[:, -HALO - 1 : -HALO, :]
    shape = (field.shape[0], HALO, field.shape[2])
    field = field.at[:, :HALO, :].set(jnp.broadcast_to(south, shape))
    return field.at[:, -HALO:, :].set(jnp.broadcast_to(north, shape))


@program
def halo_fill() -> Lowered:
    fields = [spec((64, 520, 1032), jnp.float64)] * 3
    return jax.jit(lambda fs: [fill_walls(fill_periodic(f)) for f in fs], donate_argnums=0).lower(fields)


@program
def halo_step() -> Lowered:
    """A step of the linear shallow-water equations with halos filled first."""

    def step(u: Array, v: Array, eta: Array) -> tuple[Array, Array, Array]:
        u, v, eta = (fill_walls(fill_periodic(f)) for f in (u, v, eta))
        east = lambda f: 0.5 * (jnp.roll(f, -1, axis=2) - jnp.roll(f, 1, axis=2))
        north = lambda f: 0.5 * (jnp.roll(f, -1, axis=1) - jnp.roll(f, 1, axis=1))
        return u - 0.05 * east(eta), v - 0.05 * north(eta), eta - 0.05 * (east(u) + north(v))

    field = spec((64, 520, 1032), jnp.float64)
    return jax.jit(step, donate_argnums=(0, 1, 2)).lower(field, field, field)


def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))


@program
def halo_fill_on_four_devices() -> Lowered:
    sharding = NamedSharding(mesh(), P("x", "y"))

    def fill(field: Array) -> Array:
        keep = lambda f: lax.with_sharding_constraint(f, sharding)
        field = keep(lax.dynamic_update_slice(field, field[:, -16:-8], (0, 0)))
        return keep(lax.dynamic_update_slice(field, field[:, 8:16], (0, field.shape[1] - 8)))

    field = spec((2048, 8192), jnp.float64, sharding)
    return jax.jit(fill, donate_argnums=0, out_shardings=sharding).lower(field)


@program
def update_of_zeros_on_four_devices() -> Lowered:
    sharding = NamedSharding(mesh(), P("x", "y"))

    def place(field: Array) -> Array:
        zeros = lax.with_sharding_constraint(jnp.zeros_like(field), sharding)
        return lax.with_sharding_constraint(lax.dynamic_update_slice(zeros, field[:, :4000] * 2, (0, 64)), sharding)

    return jax.jit(place).lower(spec((2048, 8192), jnp.float64, sharding))


@program
def pad_on_four_devices() -> Lowered:
    sharding = NamedSharding(mesh(), P("x", "y"))

    def widen(field: Array) -> Array:
        column = lax.with_sharding_constraint(field[:, -1:], NamedSharding(mesh(), P("x", None)))
        return lax.with_sharding_constraint(jnp.pad(column, ((0, 0), (0, 127))), sharding)

    return jax.jit(widen).lower(spec((2048, 8192), jnp.float64, sharding))


@program
def halo_exchange_by_shard_map() -> Lowered:
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
    return jax.jit(exchanged).lower(spec((2048, 8192), jnp.float64, NamedSharding(devices, shard)))


@program
def matmul_by_shard_map() -> Lowered:
    """A product whose contraction is spread over devices: all-gather, reduce-scatter, all-to-all."""
    devices = mesh()

    def local(a: Array, b: Array) -> Array:
        a = lax.all_gather(a, "x", axis=0, tiled=True)
        partial = lax.psum_scatter(a @ b, "y", scatter_dimension=0, tiled=True)
        return lax.all_to_all(partial, "x", split_axis=0, concat_axis=1, tiled=True)

    product = jax.shard_map(
        local, mesh=devices, in_specs=(P("x", "y"), P("y", None)), out_specs=P("y", "x"), check_vma=False
    )
    return jax.jit(product).lower(spec((1024, 2048)), spec((2048, 512)))


# --- attention, losses and training -------------------------------------------------------------------------------


@program
def attention() -> Lowered:
    def attend(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / jnp.sqrt(
            jnp.float32(q.shape[-1])
        )
        mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(v.dtype), v)

    x = spec((2, 4096, 16, 64), jnp.bfloat16)
    return jax.jit(attend).lower(x, x, x)


@program
def attention_gradient() -> Lowered:
    def loss(x: Array, w: Array) -> Array:
        q, k, v = jnp.split(x @ w, 3, axis=-1)
        out = jax.nn.dot_product_attention(*(t.reshape(*t.shape[:2], 8, 64) for t in (q, k, v)), is_causal=True)
        return jnp.mean(out.astype(jnp.float32) ** 2)

    return jax.jit(jax.grad(loss, argnums=1)).lower(spec((4, 1024, 512), jnp.bfloat16), spec((512, 1536), jnp.bfloat16))


@program
def cross_entropy_gradient() -> Lowered:
    def loss(hidden: Array, table: Array, labels: Array) -> Array:
        logits = (hidden @ table.T).astype(jnp.float32)
        picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)

    hidden, table = spec((8192, 1024), jnp.bfloat16), spec((128_000, 1024), jnp.bfloat16)
    return jax.jit(jax.grad(loss, argnums=(0, 1))).lower(hidden, table, spec((8192,), jnp.int32))


def transformer(layers: int, *, scan: bool, remat: bool) -> Lowered:
    """A training step of a small language model; parameters and moments are donated."""
    width, heads, vocabulary, batch, length = 512, 8, 32_000, 4, 512

    def norm(x: Array) -> Array:
        x32 = x.astype(jnp.float32)
        return (x32 * lax.rsqrt(jnp.mean(x32**2, axis=-1, keepdims=True) + 1e-6)).astype(x.dtype)

    def block(x: Array, w: dict[str, Array]) -> Array:
        q, k, v = jnp.moveaxis((norm(x) @ w["qkv"]).reshape(batch, length, 3, heads, -1), 2, 0)
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(x.shape) @ w["out"]
        return x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]

    def loss(params: dict, tokens: Array) -> Array:
        x = params["embedding"][tokens]
        apply = jax.checkpoint(block) if remat else block
        if scan:
            x, _ = lax.scan(lambda x, w: (apply(x, w), None), x, params["blocks"])
        else:
            for i in range(layers):
                x = apply(x, jax.tree.map(lambda w, i=i: w[i], params["blocks"]))
        logits = (norm(x) @ params["embedding"].T).astype(jnp.float32)[:, :-1]
        labels = jax.nn.one_hot(tokens[:, 1:], vocabulary, dtype=jnp.bfloat16)
        return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * labels, axis=-1))

    def step(params: dict, moments: dict, tokens: Array) -> tuple[dict, dict, Array]:
        value, gradient = jax.value_and_grad(loss)(params, tokens)
        moments = jax.tree.map(lambda m, g: 0.9 * m + g.astype(jnp.float32), moments, gradient)
        params = jax.tree.map(lambda p, m: (p - 1e-3 * jnp.nan_to_num(m)).astype(p.dtype), params, moments)
        return params, moments, value

    shapes = {
        "embedding": (vocabulary, width),
        "blocks": {
            "qkv": (layers, width, 3 * width),
            "out": (layers, width, width),
            "up": (layers, width, 4 * width),
            "down": (layers, 4 * width, width),
        },
    }
    is_shape = lambda node: isinstance(node, tuple)
    params = jax.tree.map(lambda shape: spec(shape, jnp.bfloat16), shapes, is_leaf=is_shape)
    moments = jax.tree.map(lambda shape: spec(shape, jnp.float32), shapes, is_leaf=is_shape)
    return jax.jit(step, donate_argnums=(0, 1)).lower(params, moments, spec((batch, length), jnp.int32))


@program
def transformer_step() -> Lowered:
    return transformer(2, scan=False, remat=False)


@program
def transformer_step_scanned() -> Lowered:
    return transformer(12, scan=True, remat=True)


# --- command ------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="directory for the modules")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(PROGRAMS)}")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or PROGRAMS:
        if name not in PROGRAMS:
            parser.error(f"no program {name}")
        (args.out / f"{name}.mlir").write_text(PROGRAMS[name]().as_text())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
