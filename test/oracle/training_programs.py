# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs that train: steps of language models, and gradients of loops."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from program import Array, Goal, Traced, program, spec

# --- steps of language models -------------------------------------------------------------------------------------


def decoder(layers: int, batch: int, length: int, *, scan: bool) -> Traced:
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
    return jax.jit(step, donate_argnums=0).trace(params, spec((batch, length), jnp.int32))


@program(Goal(temporaries=400), gpu=Goal(temporaries=200), below=32_000, layers=1, batch=1, length=128)
def train4(layers: int = 4, batch: int = 4, length: int = 512) -> Traced:
    return decoder(layers, batch, length, scan=False)


@program(gpu=Goal(temporaries=500), below=32_000, layers=2, batch=1, length=128)
def train16(layers: int = 16, batch: int = 4, length: int = 512) -> Traced:
    return decoder(layers, batch, length, scan=False)


@program(Goal(temporaries=450), gpu=Goal(temporaries=200), below=32_000, layers=2, batch=1, length=128)
def train16_scan(layers: int = 16, batch: int = 4, length: int = 512) -> Traced:
    return decoder(layers, batch, length, scan=True)


def transformer(layers: int, length: int, *, scan: bool, remat: bool) -> Traced:
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
    return jax.jit(step, donate_argnums=(0, 1)).trace(params, moments, spec((batch, length), jnp.int32))


@program(below=32_000, layers=1, length=64)
def transformer_step(layers: int = 2, length: int = 512) -> Traced:
    return transformer(layers, length, scan=False, remat=False)


@program(below=32_000, layers=2, length=64)
def transformer_step_scanned(layers: int = 12, length: int = 512) -> Traced:
    return transformer(layers, length, scan=True, remat=True)


# --- gradients of loops -------------------------------------------------------------------------------------------


@program(Goal(temporaries=170), gpu=Goal(temporaries=178, time=1.1), steps=20)
def time_steps_gradient(steps: int = 50, size: int = 512) -> Traced:
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

    return jax.jit(jax.grad(energy)).trace((spec((size, size)),) * 3)


@program(Goal(temporaries=300), layers=2)
def layers_gradient(layers: int = 8, batch: int = 4, length: int = 512) -> Traced:
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
    return jax.jit(jax.value_and_grad(loss)).trace(weights, spec((batch, length, width)))
