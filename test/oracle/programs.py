# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs: what people write in JAX that wastes memory, or must not be made worse.

    python test/oracle/programs.py target/programs [NAME ...]

writes NAME.mlir per program, at the size of real runs; `--small` at one that runs on a CPU in about a second. Nothing is
executed here, only lowered. Each program says what its memory is to come down to (`cargo xtask bench memory`).
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import sys
from collections.abc import Callable

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
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


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a compiled program is to need at most; what is None is not asked for."""

    ratio: float | None = None
    """(arguments + results + temporaries - aliases) over the same without temporaries."""
    temporaries: float | None = None
    """MiB per device."""
    all_gathers: int | None = None
    permuted: int | None = None
    """Bytes that the largest collective permute hands on."""
    broadcasts: int | None = None
    """Broadcasts of a scalar into a buffer, outside of fusions."""


@dataclasses.dataclass(frozen=True)
class Program:
    """How to lower a program, at full size or at another one."""

    make: Callable[..., Lowered]
    goal: Goal | None
    """None where XLA alone is to be equalled."""
    below: int
    """Integer inputs are indices: at least 0 and less than this."""
    small: dict[str, int]
    """Parameters of `make` at which the program runs in about a second."""

    def __call__(self) -> Lowered:
        return self.make()

    def lower_small(self) -> Lowered:
        return self.make(**self.small)


PROGRAMS: dict[str, Program] = {}


def program(goal: Goal | None = None, below: int = 1, **small: int) -> Callable[[Callable[..., Lowered]], Program]:
    """Registers a program under its function's name."""

    def register(make: Callable[..., Lowered]) -> Program:
        PROGRAMS[make.__name__] = Program(make, goal, below, small)
        return PROGRAMS[make.__name__]

    return register


def spec(shape: tuple[int, ...], dtype: object = jnp.float32, sharding: object = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


# --- gathers and their gradients ----------------------------------------------------------------------------------

VOLUME = (128, 128, 128)
STREAMED = Goal(ratio=1.01)


def sample(volume: Array, points: Array) -> Array:
    """Sum of the volume's values at integer points, whose coordinates are columns of one array."""
    columns = tuple(jnp.split(points, points.shape[-1], axis=-1))
    return jnp.sum(volume[columns][..., 0] * jnp.float32(2.5))


def sampled(function: Callable, index: object, points: int) -> Lowered:
    return jax.jit(function).lower(spec(VOLUME), spec((points, 3), index))


@program(STREAMED, below=128, points=1 << 24)
def gather_fwd_i32(points: int = 1 << 33) -> Lowered:
    return sampled(sample, jnp.int32, points)


@program(STREAMED, below=128, points=1 << 24)
def gather_vjp_i32(points: int = 1 << 33) -> Lowered:
    return sampled(jax.grad(sample), jnp.int32, points)


@program(STREAMED, below=128, points=1 << 24)
def gather_vjp_i16(points: int = 1 << 33) -> Lowered:
    return sampled(jax.grad(sample), jnp.int16, points)


@program(STREAMED, below=128, points=1 << 24)
def gather_vag_sin_i32(points: int = 1 << 30) -> Lowered:
    """Value and gradient, which need the same indices."""

    def energy(volume: Array, points: Array) -> Array:
        i, j, k = (points[:, column] for column in range(3))
        return jnp.sum(jnp.sin(volume[i, j, k]))

    return sampled(jax.value_and_grad(energy), jnp.int32, points)


@program(Goal(ratio=1.25), below=32_000, rows=16)
def embedding_vjp(rows: int = 64) -> Lowered:
    def loss(table: Array, tokens: Array, weights: Array) -> Array:
        return jnp.sum(weights * table[tokens].astype(jnp.float32))

    table, tokens = spec((32_000, 1024), jnp.bfloat16), spec((rows, 2048), jnp.int32)
    return jax.jit(jax.grad(loss)).lower(table, tokens, spec((rows, 2048, 1024)))


def propagate(nodes: Array, senders: Array, receivers: Array, weight: Array) -> Array:
    """One layer of a graph network: gather along edges, transform, add up by receiver."""
    messages = jax.nn.relu(nodes[senders] @ weight)
    return jax.ops.segment_sum(messages, receivers, num_segments=nodes.shape[0])


@program(Goal(ratio=1.5), below=100_000, edges=1 << 18)
def message_passing(edges: int = 2_000_000) -> Lowered:
    ends = spec((edges,), jnp.int32)
    return jax.jit(propagate).lower(spec((100_000, 128)), ends, ends, spec((128, 128)))


@program(Goal(ratio=1.5), below=100_000, edges=1 << 18)
def message_passing_gradient(edges: int = 2_000_000) -> Lowered:
    def loss(nodes: Array, senders: Array, receivers: Array, weight: Array) -> Array:
        return jnp.mean(propagate(nodes, senders, receivers, weight) ** 2)

    ends = spec((edges,), jnp.int32)
    return jax.jit(jax.grad(loss, argnums=(0, 3))).lower(spec((100_000, 128)), ends, ends, spec((128, 128)))


@program(Goal(ratio=1.1), values=1 << 24)
def histogram(values: int = 1 << 28) -> Lowered:
    def count(values: Array) -> Array:
        bins = jnp.clip(jnp.floor(values * 256.0), 0, 255).astype(jnp.int32)
        return jnp.zeros(256, jnp.int32).at[bins].add(1)

    return jax.jit(count).lower(spec((values,)))


@program(Goal(ratio=1.1), size=1 << 12)
def log_sum_exp(size: int = 1 << 14) -> Lowered:
    """Of all sums of two vectors' elements."""

    def pair(x: Array, y: Array) -> Array:
        return jax.nn.logsumexp(x[:, None] + y[None, :], axis=1)

    return jax.jit(pair).lower(spec((size,)), spec((size,)))


# --- pads and updates of zeros ------------------------------------------------------------------------------------

AT_FLOOR = Goal(ratio=1.0005)


@program()
def update_of_zeros(rows: int = 4080) -> Lowered:
    """The transpose of a slice, written as an update of zeros."""
    shape = (rows + 16, 8192)
    return jax.jit(lambda x: lax.dynamic_update_slice(jnp.zeros(shape), 2.0 * x, (8, 16))).lower(
        spec((rows, 8160), jnp.float64)
    )


@program(AT_FLOOR)
def zeros_dus_chain(height: int = 400) -> Lowered:
    """Blocks written one after another into zeros."""

    def assemble(*blocks: Array) -> Array:
        out = jnp.zeros((4096, 4096), jnp.float32)
        for number, block in enumerate(blocks):
            out = lax.dynamic_update_slice(out, block, (number * height, 0))
        return 2 * out + 1

    return jax.jit(assemble).lower(*[spec((height, 4096))] * 8)


@program(AT_FLOOR)
def pads_sum(height: int = 400) -> Lowered:
    """Blocks padded to the full height, over one another in part, and added up."""

    def assemble(*blocks: Array) -> Array:
        room = 4096 - height
        return sum(jnp.pad(block, ((100 * i, room - 100 * i), (0, 0))) for i, block in enumerate(blocks))

    return jax.jit(assemble).lower(*[spec((height, 4096))] * 8)


@program(size=4096)
def gradient_of_slices(size: int = 8192) -> Lowered:
    """Reverse mode turns each slice into a pad, and sums them."""

    def roughness(x: Array) -> Array:
        return jnp.sum((x[1:, :] - x[:-1, :]) ** 2) + jnp.sum((x[:, 1:] - x[:, :-1]) ** 2)

    return jax.jit(jax.grad(roughness)).lower(spec((size, size)))


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


def halos(fill: Callable[[Array], Array], layers: int) -> Lowered:
    return jax.jit(lambda fields: [fill(field) for field in fields], donate_argnums=0).lower([grid(layers)] * 4)


@program(Goal(ratio=1.01), layers=24)
def halo_ew(layers: int = LAYERS) -> Lowered:
    return halos(fill_periodic, layers)


@program(Goal(ratio=1.01), layers=24)
def halo_ns(layers: int = LAYERS) -> Lowered:
    return halos(fill_walls, layers)


@program(Goal(ratio=1.01), layers=24)
def halo_all(layers: int = LAYERS) -> Lowered:
    return halos(lambda field: fill_walls(fill_periodic(field)), layers)


@program(Goal(ratio=1.34), layers=24)
def halo_step(layers: int = LAYERS) -> Lowered:
    """A step of the linear shallow-water equations with halos filled first."""

    def step(u: Array, v: Array, eta: Array) -> tuple[Array, Array, Array]:
        u, v, eta = (fill_walls(fill_periodic(field)) for field in (u, v, eta))
        east = lambda f: 0.5 * (jnp.roll(f, -1, axis=2) - jnp.roll(f, 1, axis=2))
        north = lambda f: 0.5 * (jnp.roll(f, -1, axis=1) - jnp.roll(f, 1, axis=1))
        return u - 0.1 * east(eta), v - 0.1 * north(eta), eta - 0.1 * (east(u) + north(v))

    return jax.jit(step, donate_argnums=(0, 1, 2)).lower(*[grid(layers)] * 3)


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


def pad_last_column(rows: int, width: int) -> Lowered:
    def widen(field: Array) -> Array:
        return keep(jnp.pad(keep(field[:, -1:]), ((0, 0), (0, width - 1))))

    return jax.jit(widen).lower(sharded_field(rows))


@program(Goal(ratio=1.02, all_gathers=0, broadcasts=1), rows=764)
def pad_spmd(rows: int = ROWS) -> Lowered:
    return pad_last_column(rows, 123)


@program(Goal(ratio=1.01, all_gathers=0, broadcasts=1), rows=764)
def pad_spmd_full(rows: int = ROWS) -> Lowered:
    return pad_last_column(rows, COLUMNS)


@program(Goal(ratio=1.01, all_gathers=0), rows=764)
def dus_zero_spmd(rows: int = ROWS) -> Lowered:
    def place(field: Array) -> Array:
        return keep(lax.dynamic_update_slice(keep(jnp.zeros_like(field)), 2 * field[:, :6000], (0, 100)))

    return jax.jit(place).lower(sharded_field(rows))


@program(Goal(ratio=1.01, all_gathers=0, permuted=ROWS // 2 * 8 * 8), rows=764)
def halo_ew_spmd(rows: int = ROWS) -> Lowered:
    def fill(field: Array) -> Array:
        field = keep(lax.dynamic_update_slice(field, field[:, -2 * HALO : -HALO], (0, 0)))
        return keep(lax.dynamic_update_slice(field, field[:, HALO : 2 * HALO], (0, COLUMNS - HALO)))

    return jax.jit(fill, donate_argnums=0, out_shardings=sharding()).lower(sharded_field(rows))


@program(Goal(ratio=1.2, all_gathers=0), rows=764)
def steps_spmd(rows: int = ROWS) -> Lowered:
    """Ten steps of diffusion: halos, then all but the edges from the four neighbours of each."""

    def step(_: int, field: Array) -> Array:
        field = keep(lax.dynamic_update_slice(field, field[:, -2 * HALO : -HALO], (0, 0)))
        field = keep(lax.dynamic_update_slice(field, field[:, HALO : 2 * HALO], (0, COLUMNS - HALO)))
        around = field[:-2, 1:-1] + field[2:, 1:-1] + field[1:-1, :-2] + field[1:-1, 2:]
        inner = field[1:-1, 1:-1] + 0.1 * (around - 4 * field[1:-1, 1:-1])
        return keep(lax.dynamic_update_slice(field, inner, (1, 1)))

    steps = jax.jit(lambda field: lax.fori_loop(0, 10, step, field), donate_argnums=0, out_shardings=sharding())
    return steps.lower(sharded_field(rows))


@program()
def halo_exchange_by_shard_map(rows: int = 2048) -> Lowered:
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
    return jax.jit(exchanged).lower(spec((rows, 8192), jnp.float64, NamedSharding(devices, shard)))


@program()
def matmul_by_shard_map(rows: int = 1024) -> Lowered:
    """A product whose contraction is spread over devices: all-gather, reduce-scatter, all-to-all."""
    devices = mesh()

    def local(a: Array, b: Array) -> Array:
        a = lax.all_gather(a, "x", axis=0, tiled=True)
        partial = lax.psum_scatter(a @ b, "y", scatter_dimension=0, tiled=True)
        return lax.all_to_all(partial, "x", split_axis=0, concat_axis=1, tiled=True)

    product = jax.shard_map(
        local, mesh=devices, in_specs=(P("x", "y"), P("y", None)), out_specs=P("y", "x"), check_vma=False
    )
    return jax.jit(product).lower(spec((rows, 2048)), spec((2048, 512)))


# --- attention, losses and training -------------------------------------------------------------------------------


@program(Goal(ratio=1.5), length=1024)
def attention(length: int = 4096) -> Lowered:
    def attend(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / jnp.sqrt(
            jnp.float32(q.shape[-1])
        )
        mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(v.dtype), v)

    x = spec((2, length, 16, 64), jnp.bfloat16)
    return jax.jit(attend).lower(x, x, x)


@program(Goal(ratio=1.5), length=512)
def attention_gradient(length: int = 2048) -> Lowered:
    def loss(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
        out = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)
        return jnp.mean(out**2)

    x = spec((4, length, 8, 64))
    return jax.jit(jax.grad(loss, argnums=(0, 1, 2))).lower(x, x, x)


@program(Goal(ratio=1.5), below=1000, length=512)
def attention_with_dropout_gradient(length: int = 2048) -> Lowered:
    def loss(q: Array, k: Array, v: Array, key: Array) -> Array:
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8, axis=-1)
        kept = jnp.where(jax.random.bernoulli(key, 0.9, weights.shape), weights / 0.9, 0)
        return jnp.mean(jnp.einsum("bhqk,bkhd->bqhd", kept, v) ** 2)

    x = spec((4, length, 8, 64))
    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2))).lower(x, x, x, spec((2,), jnp.uint32))


@program(Goal(ratio=1.1), below=1000, size=4096)
def noise(size: int = 8192) -> Lowered:
    def f(x: Array, key: Array) -> Array:
        return x + 0.1 * jax.random.normal(key, x.shape)

    return jax.jit(f).lower(spec((size, size)), spec((2,), jnp.uint32))


@program(length=256)
def attention_layer_gradient(length: int = 1024) -> Lowered:
    """Of the projection before a causal attention of JAX's own."""

    def loss(x: Array, w: Array) -> Array:
        q, k, v = jnp.split(x @ w, 3, axis=-1)
        out = jax.nn.dot_product_attention(*(t.reshape(*t.shape[:2], 8, 64) for t in (q, k, v)), is_causal=True)
        return jnp.mean(out.astype(jnp.float32) ** 2)

    x, w = spec((4, length, 512), jnp.bfloat16), spec((512, 1536), jnp.bfloat16)
    return jax.jit(jax.grad(loss, argnums=1)).lower(x, w)


def cross_entropy(dtype: object, rows: int, words: int) -> Lowered:
    """Both gradients of the mean loss of a large vocabulary."""

    def loss(hidden: Array, table: Array, labels: Array) -> Array:
        logits = (hidden @ table.T).astype(jnp.float32)
        picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)

    hidden, table = spec((rows, 1024), dtype), spec((words, 1024), dtype)
    return jax.jit(jax.grad(loss, argnums=(0, 1))).lower(hidden, table, spec((rows,), jnp.int32))


@program(Goal(ratio=2.0), below=8000, rows=1024, words=8000)
def cross_entropy_f32(rows: int = 8192, words: int = 128_000) -> Lowered:
    return cross_entropy(jnp.float32, rows, words)


@program(Goal(ratio=2.0), below=8000, rows=1024, words=8000)
def cross_entropy_bf16(rows: int = 8192, words: int = 128_000) -> Lowered:
    return cross_entropy(jnp.bfloat16, rows, words)


def decoder(layers: int, batch: int, length: int, *, scan: bool) -> Lowered:
    """A plain descent step of a decoder that ties its embeddings; its parameters are donated.

    With `scan`, the layers are a scan over stacked weights which keeps only their inputs, under sharding constraints on
    a mesh of one device.
    """
    width, heads, depth, words = 512, 8, 64, 32_000
    single = Mesh(np.array(jax.devices()[:1]).reshape(1, 1), ("data", "model"))

    def placed(x: Array) -> Array:
        return lax.with_sharding_constraint(x, NamedSharding(single, P("data", None, "model"))) if scan else x

    def layer(w: dict[str, Array], x: Array) -> Array:
        q, k, v = (jnp.einsum("bsd,dhe->bshe", x, w[name]) for name in "qkv")
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / 8.0
        past = jnp.tril(jnp.ones((length, length), bool))
        scores = jnp.where(past, scores, -1e9).astype(x.dtype)
        weights = jax.nn.softmax(scores.astype(jnp.float32), axis=-1).astype(x.dtype)
        seen = jnp.einsum("bhqk,bkhe->bqhe", weights, v)
        x = placed(x + jnp.einsum("bshe,hed->bsd", seen, w["o"]))
        return placed(x + jax.nn.gelu(x @ w["up"]) @ w["down"])

    def loss(params: dict, tokens: Array) -> Array:
        x = params["embedding"][tokens]
        if scan:
            x, _ = lax.scan(lambda x, w: (jax.checkpoint(layer)(w, x), None), x, params["layers"])
        else:
            for number in range(layers):
                x = layer(jax.tree.map(lambda w, number=number: w[number], params["layers"]), x)
        logits = (x @ params["embedding"].T).astype(jnp.float32)
        likely = jax.nn.log_softmax(logits[:, :-1])
        return -jnp.mean(jnp.take_along_axis(likely, tokens[:, 1:, None], axis=-1))

    def step(params: dict, tokens: Array) -> tuple[Array, dict]:
        value, gradient = jax.value_and_grad(loss)(params, tokens)
        gradient = jax.tree.map(jnp.nan_to_num, gradient)
        return value, jax.tree.map(lambda p, g: (p - 0.01 * g).astype(p.dtype), params, gradient)

    weight = lambda *shape: spec(shape, jnp.bfloat16)
    params = {
        "embedding": weight(words, width),
        "layers": {name: weight(layers, width, heads, depth) for name in "qkv"}
        | {
            "o": weight(layers, heads, depth, width),
            "up": weight(layers, width, 4 * width),
            "down": weight(layers, 4 * width, width),
        },
    }
    return jax.jit(step, donate_argnums=0).lower(params, spec((batch, length), jnp.int32))


@program(Goal(temporaries=400), below=32_000, layers=1, batch=1, length=128)
def train4(layers: int = 4, batch: int = 4, length: int = 512) -> Lowered:
    return decoder(layers, batch, length, scan=False)


@program(below=32_000, layers=2, batch=1, length=128)
def train16(layers: int = 16, batch: int = 4, length: int = 512) -> Lowered:
    return decoder(layers, batch, length, scan=False)


@program(Goal(temporaries=450), below=32_000, layers=2, batch=1, length=128)
def train16_scan(layers: int = 16, batch: int = 4, length: int = 512) -> Lowered:
    return decoder(layers, batch, length, scan=True)


def transformer(layers: int, length: int, *, scan: bool, remat: bool) -> Lowered:
    """A training step of a small language model; parameters and moments are donated."""
    width, heads, vocabulary, batch = 512, 8, 32_000, 4

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


@program(below=32_000, layers=1, length=64)
def transformer_step(layers: int = 2, length: int = 512) -> Lowered:
    return transformer(layers, length, scan=False, remat=False)


@program(below=32_000, layers=2, length=64)
def transformer_step_scanned(layers: int = 12, length: int = 512) -> Lowered:
    return transformer(layers, length, scan=True, remat=True)


# --- gradients of loops -------------------------------------------------------------------------------------------


@program(Goal(temporaries=170), steps=20)
def time_steps_gradient(steps: int = 50, size: int = 512) -> Lowered:
    """How a nonlinear shallow-water model's end depends on its start. Its state is 3 fields of a MiB."""

    def step(state: tuple[Array, ...], _: None) -> tuple[tuple[Array, ...], None]:
        h, u, v = state
        east = lambda f: 0.5 * (jnp.roll(f, -1, axis=0) - jnp.roll(f, 1, axis=0))
        north = lambda f: 0.5 * (jnp.roll(f, -1, axis=1) - jnp.roll(f, 1, axis=1))
        rise = east(h * u) + north(h * v)
        along = u * east(u) + v * north(u) - 0.01 * v + 9.81 * east(h)
        across = u * east(v) + v * north(v) + 0.01 * u + 9.81 * north(h)
        return (h - 1e-3 * rise, u - 1e-3 * along, v - 1e-3 * across), None

    def energy(state: tuple[Array, ...]) -> Array:
        (h, u, v), _ = lax.scan(step, state, None, length=steps)
        return jnp.sum(h * (u * u + v * v)) + 9.81 * jnp.sum(h * h)

    return jax.jit(jax.grad(energy)).lower((spec((size, size)),) * 3)


@program(Goal(temporaries=300), layers=2)
def layers_gradient(layers: int = 8, batch: int = 4, length: int = 512) -> Lowered:
    """Loss and gradients of layers of masked attention and perceptrons, one after another in a scan."""
    width, heads = 256, 8

    def norm(x: Array, scale: Array) -> Array:
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * scale

    def layer(x: Array, weights: tuple[Array, ...]) -> tuple[Array, None]:
        queries, keys, values, out, up, down, first, second = weights
        y = norm(x, first)
        q, k, v = ((y @ w).reshape(batch, length, heads, -1) for w in (queries, keys, values))
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / (width // heads) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores), v)
        x = x + mixed.reshape(x.shape) @ out
        return x + jax.nn.gelu(norm(x, second) @ up) @ down, None

    def loss(weights: tuple[Array, ...], x: Array) -> Array:
        return jnp.mean(lax.scan(layer, x, weights)[0] ** 2)

    square = (width, width)
    shapes = (square, square, square, square, (width, 4 * width), (4 * width, width), (width,), (width,))
    weights = tuple(spec((layers, *shape)) for shape in shapes)
    return jax.jit(jax.value_and_grad(loss)).lower(weights, spec((batch, length, width)))


# --- explicit time steps ------------------------------------------------------------------------------------------


@program(Goal(ratio=1.1), size=1024)
def heat_steps(size: int = 4096, steps: int = 10) -> Lowered:
    """The heat equation on the inside of a donated field."""

    def step(_: int, u: Array) -> Array:
        inner = u[1:-1, 1:-1]
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].set(inner + 0.1 * (around - 4 * inner))

    return jax.jit(lambda u: lax.fori_loop(0, steps, step, u), donate_argnums=0).lower(spec((size, size)))


@program(Goal(ratio=1.25), size=1024)
def reaction_steps(size: int = 4096, steps: int = 10) -> Lowered:
    """Two substances that react and spread on a periodic square (Gray and Scott)."""

    def step(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        u, v = state
        spread = lambda f: sum(jnp.roll(f, by, axis) for axis in (0, 1) for by in (-1, 1)) - 4 * f
        reaction = u * v * v
        return u + 0.16 * spread(u) - reaction + 0.035 * (1 - u), v + 0.08 * spread(v) + reaction - 0.095 * v

    field = spec((size, size))
    return jax.jit(lambda *state: lax.fori_loop(0, steps, step, state)).lower(field, field)


@program(Goal(ratio=1.25), size=1024)
def wave_steps(size: int = 4096, steps: int = 10) -> Lowered:
    """The wave equation on a periodic square, by a leapfrog scheme: each field is handed on as the one before."""

    def step(_: int, state: tuple[Array, Array]) -> tuple[Array, Array]:
        before, now = state
        around = sum(jnp.roll(now, by, axis) for axis in (0, 1) for by in (-1, 1))
        return now, 2 * now - before + 0.1 * (around - 4 * now)

    field = spec((size, size))
    function = lambda *state: lax.fori_loop(0, steps, step, state)
    return jax.jit(function, donate_argnums=(0, 1)).lower(field, field)


# Small enough for the StableHLO interpreter, which knows when to stop if there are NaNs.
@program(Goal(ratio=1.25), size=512)
def relaxation(size: int = 4096, steps: int = 10) -> Lowered:
    """Jacobi's method until nothing changes by much, on the inside of a donated field."""

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        u, _, turn = state
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        new = u.at[1:-1, 1:-1].set(0.25 * around)
        return new, jnp.max(jnp.abs(new - u)), turn + 1

    goes_on = lambda state: (state[1] > 1e-6) & (state[2] < steps)
    function = lambda u: lax.while_loop(goes_on, step, (u, jnp.inf, 0))
    return jax.jit(function, donate_argnums=0).lower(spec((size, size)))


@program(Goal(ratio=1.25), size=1024)
def runge_kutta_gradient(size: int = 4096) -> Lowered:
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
    return jax.jit(lambda u, back: jax.vjp(step, u)[1](back)[0]).lower(field, field)


# --- what is only reduced -----------------------------------------------------------------------------------------


def log_sum_exp_of_sums(size: int, *, gradient: bool) -> Lowered:
    """Of all sums of two vectors' elements, at once."""

    def total(x: Array, y: Array) -> Array:
        return jax.nn.logsumexp(x[:, None] + y[None, :])

    made = jax.value_and_grad(total, (0, 1)) if gradient else total
    return jax.jit(made).lower(spec((size,)), spec((size // 2,)))


@program(Goal(ratio=1.1), size=1 << 12)
def log_sum_exp_of_all(size: int = 1 << 16) -> Lowered:
    return log_sum_exp_of_sums(size, gradient=False)


@program(size=1 << 12)
def log_sum_exp_of_all_gradient(size: int = 1 << 16) -> Lowered:
    return log_sum_exp_of_sums(size, gradient=True)


@program(Goal(ratio=1.5), length=512)
def attention_f32(length: int = 4096) -> Lowered:
    def attend(q: Array, k: Array, v: Array) -> Array:
        weights = jax.nn.softmax(jnp.einsum("bqhe,bkhe->bhqk", q, k) / 8, axis=-1)
        return jnp.einsum("bhqk,bkhe->bqhe", weights, v)

    x = spec((2, length, 8, 64))
    return jax.jit(attend).lower(x, x, x)


@program(Goal(ratio=1.5), length=512)
def causal_attention_value_and_gradient(length: int = 4096) -> Lowered:
    def loss(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / 8
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        return jnp.sum(jnp.einsum("bhqk,bkhe->bqhe", jax.nn.softmax(scores, axis=-1), v) ** 2)

    x = spec((2, length, 8, 64))
    return jax.jit(jax.value_and_grad(loss, (0, 1, 2))).lower(x, x, x)


@program(Goal(ratio=2.0), below=8000, rows=1024, words=8000)
def cross_entropy_of_log_softmax(rows: int = 16_384, words: int = 64_000) -> Lowered:
    def loss(hidden: Array, table: Array, labels: Array) -> Array:
        likely = jax.nn.log_softmax(hidden @ table)
        return -jnp.mean(jnp.take_along_axis(likely, labels[:, None], axis=-1))

    hidden, table = spec((rows, 512)), spec((512, words))
    return jax.jit(jax.value_and_grad(loss, (0, 1))).lower(hidden, table, spec((rows,), jnp.int32))


@program(Goal(ratio=1.5), below=1 << 16, edges=1 << 18)
def message_passing_from_both_ends(edges: int = 1 << 24) -> Lowered:
    """Value and gradients of a layer whose messages depend on sender and receiver."""
    nodes, width = 1 << 16, 64

    def loss(state: Array, weight: Array, senders: Array, receivers: Array) -> Array:
        sent = jnp.tanh(jnp.concatenate([state[senders], state[receivers]], -1) @ weight)
        return jnp.sum(jax.ops.segment_sum(sent, receivers, nodes) ** 2)

    ends = spec((edges,), jnp.int32)
    made = jax.value_and_grad(loss, (0, 1))
    return jax.jit(made).lower(spec((nodes, width)), spec((2 * width, width)), ends, ends)


@program(Goal(ratio=3.0), below=5000, nodes=5000, edges=1 << 16)
def graph_attention_gradient(nodes: int = 20_000, edges: int = 1 << 18) -> Lowered:
    """Value and gradients of a layer that weighs messages by a softmax over the senders of each receiver, with 8 heads."""

    def loss(state: Array, source: Array, target: Array, senders: Array, receivers: Array) -> Array:
        scores = jnp.sum(state * source, -1)[senders] + jnp.sum(state * target, -1)[receivers]
        scores = jax.nn.leaky_relu(scores)
        likely = jnp.exp(scores - jax.ops.segment_max(scores, receivers, nodes)[receivers])
        weights = likely / jax.ops.segment_sum(likely, receivers, nodes)[receivers]
        return jnp.sum(jax.ops.segment_sum(weights[..., None] * state[senders], receivers, nodes) ** 2)

    ends, vector = spec((edges,), jnp.int32), spec((8, 16))
    made = jax.value_and_grad(loss, (0, 1, 2))
    return jax.jit(made).lower(spec((nodes, 8, 16)), vector, vector, ends, ends)


@program(Goal(ratio=2.1), rows=512)
def triplet_loss_gradient(rows: int = 1024) -> Lowered:
    """Value and gradient of a loss of each row's distances to the farthest of its own kind and the nearest of another."""

    def loss(x: Array) -> Array:
        distances = jnp.sum((x[:, None] - x[None]) ** 2, -1)
        kind = jnp.arange(rows) // 8
        same = kind[:, None] == kind[None]
        farthest = jnp.max(jnp.where(same, distances, 0), 1)
        nearest = jnp.min(jnp.where(same, jnp.inf, distances), 1)
        return jnp.mean(jax.nn.relu(farthest - nearest + 0.2))

    return jax.jit(jax.value_and_grad(loss)).lower(spec((rows, 128)))


@program(Goal(ratio=1.5), rows=512)
def distillation_gradient(rows: int = 2048) -> Lowered:
    """Value and gradient of how far a student's likelihoods of 20,000 words are from a teacher's."""

    def loss(student: Array, teacher: Array, table: Array) -> Array:
        own, wanted = jax.nn.log_softmax(student @ table.T), jax.nn.log_softmax(teacher @ table.T)
        return jnp.mean(jnp.sum(jnp.exp(wanted) * (wanted - own), -1))

    states = spec((rows, 256))
    return jax.jit(jax.value_and_grad(loss)).lower(states, states, spec((20_000, 256)))


# --- command ------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="directory for the modules")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(PROGRAMS)}")
    parser.add_argument("--small", action="store_true", help="at sizes that run on a CPU in about a second")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name in args.names or PROGRAMS:
        if name not in PROGRAMS:
            parser.error(f"no program {name}")
        chosen = PROGRAMS[name]
        lowered = chosen.lower_small() if args.small else chosen()
        (args.out / f"{name}.mlir").write_text(lowered.as_text())
        print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
