# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs whose scores or likelihoods are large: attention and losses over vocabularies."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp

from program import VARIANTS, Array, Goal, Program, Traced, program, spec

# --- attention ----------------------------------------------------------------------------------------------------

ATTENTION = Goal(ratio=1.5)


@program(Goal(ratio=1.5), gpu=ATTENTION, length=1024)
def attention(length: int = 4096) -> Traced:
    def attend(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k, preferred_element_type=jnp.float32) / jnp.sqrt(
            jnp.float32(q.shape[-1])
        )
        mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
        weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), axis=-1)
        return jnp.einsum("bhqk,bkhd->bqhd", weights.astype(v.dtype), v)

    x = spec((2, length, 16, 64), jnp.bfloat16)
    return jax.jit(attend).trace(x, x, x)


@program(Goal(ratio=1.5), gpu=ATTENTION, length=512)
def attention_gradient(length: int = 2048) -> Traced:
    def loss(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8
        out = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)
        return jnp.mean(out**2)

    x = spec((4, length, 8, 64))
    return jax.jit(jax.grad(loss, argnums=(0, 1, 2))).trace(x, x, x)


@program(Goal(ratio=1.5), below=1000, length=512)
def attention_with_dropout_gradient(length: int = 2048) -> Traced:
    def loss(q: Array, k: Array, v: Array, key: Array) -> Array:
        weights = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8, axis=-1)
        kept = jnp.where(jax.random.bernoulli(key, 0.9, weights.shape), weights / 0.9, 0)
        return jnp.mean(jnp.einsum("bhqk,bkhd->bqhd", kept, v) ** 2)

    x = spec((4, length, 8, 64))
    return jax.jit(jax.value_and_grad(loss, argnums=(0, 1, 2))).trace(x, x, x, spec((2,), jnp.uint32))


@program(Goal(ratio=1.1), below=1000, size=4096)
def noise(size: int = 8192) -> Traced:
    def f(x: Array, key: Array) -> Array:
        return x + 0.1 * jax.random.normal(key, x.shape)

    return jax.jit(f).trace(spec((size, size)), spec((2,), jnp.uint32))


@program(length=256)
def attention_layer_gradient(length: int = 1024) -> Traced:
    """Of the projection before a causal attention of JAX's own."""

    def loss(x: Array, w: Array) -> Array:
        q, k, v = jnp.split(x @ w, 3, axis=-1)
        out = jax.nn.dot_product_attention(*(t.reshape(*t.shape[:2], 8, 64) for t in (q, k, v)), is_causal=True)
        return jnp.mean(out.astype(jnp.float32) ** 2)

    x, w = spec((4, length, 512), jnp.bfloat16), spec((512, 1536), jnp.bfloat16)
    return jax.jit(jax.grad(loss, argnums=1)).trace(x, w)


def cross_entropy(dtype: object, rows: int, words: int) -> Traced:
    """Both gradients of the mean loss of a large vocabulary."""

    def loss(hidden: Array, table: Array, labels: Array) -> Array:
        logits = (hidden @ table.T).astype(jnp.float32)
        picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)

    hidden, table = spec((rows, 1024), dtype), spec((words, 1024), dtype)
    return jax.jit(jax.grad(loss, argnums=(0, 1))).trace(hidden, table, spec((rows,), jnp.int32))


@program(Goal(ratio=2.0), below=8000, rows=1024, words=8000)
def cross_entropy_f32(rows: int = 8192, words: int = 128_000) -> Traced:
    return cross_entropy(jnp.float32, rows, words)


@program(Goal(ratio=2.0), below=8000, rows=1024, words=8000)
def cross_entropy_bf16(rows: int = 8192, words: int = 128_000) -> Traced:
    return cross_entropy(jnp.bfloat16, rows, words)


@program(Goal(ratio=1.5), gpu=ATTENTION, length=512)
def attention_f32(length: int = 4096) -> Traced:
    def attend(q: Array, k: Array, v: Array) -> Array:
        weights = jax.nn.softmax(jnp.einsum("bqhe,bkhe->bhqk", q, k) / 8, axis=-1)
        return jnp.einsum("bhqk,bkhe->bqhe", weights, v)

    x = spec((2, length, 8, 64))
    return jax.jit(attend).trace(x, x, x)


@program(Goal(ratio=1.5), gpu=ATTENTION, length=512)
def causal_attention_value_and_gradient(length: int = 4096) -> Traced:
    def loss(q: Array, k: Array, v: Array) -> Array:
        scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / 8
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        return jnp.sum(jnp.einsum("bhqk,bkhe->bqhe", jax.nn.softmax(scores, axis=-1), v) ** 2)

    x = spec((2, length, 8, 64))
    return jax.jit(jax.value_and_grad(loss, (0, 1, 2))).trace(x, x, x)


@program(Goal(ratio=2.0), below=8000, rows=1024, words=8000)
def cross_entropy_of_log_softmax(rows: int = 16_384, words: int = 64_000) -> Traced:
    def loss(hidden: Array, table: Array, labels: Array) -> Array:
        likely = jax.nn.log_softmax(hidden @ table)
        return -jnp.mean(jnp.take_along_axis(likely, labels[:, None], axis=-1))

    hidden, table = spec((rows, 512)), spec((512, words))
    return jax.jit(jax.value_and_grad(loss, (0, 1))).trace(hidden, table, spec((rows,), jnp.int32))


# --- the plainest attention, in all its forms -----------------------------------------------------------------------

BATCH, HEADS, DEPTH = 2, 16, 64
SHARED_BY = 4
"""Heads of queries that share keys and values, where they are grouped."""
KINDS = ("full", "causal", "masked", "grouped")
LAYOUTS = ("bhqd", "bqhd")


def plain_attention(kind: str, layout: str, dtype: object, *, gradient: bool, length: int) -> Traced:
    """Softmax of scores, times values; `masked` is by an argument that says which keys are there."""
    shared = SHARED_BY if kind == "grouped" else 1
    sizes = {"b": BATCH, "h": HEADS // shared, "g": shared, "q": length, "k": length, "d": DEPTH}
    # g: of the heads of queries that share their keys.
    queries = layout.replace("h", "hg") if kind == "grouped" else layout
    keys = layout.replace("q", "k")
    over = "b" + "".join(letter for letter in queries if letter in "hg") + "qk"
    shape = lambda letters: tuple(sizes[letter] for letter in letters)

    def attend(q: Array, k: Array, v: Array, present: Array | None = None) -> Array:
        scores = jnp.einsum(f"{queries},{keys}->{over}", q, k).astype(jnp.float32) / DEPTH**0.5
        if kind == "causal":
            scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -jnp.inf)
        elif kind == "masked":
            scores = jnp.where(present.reshape(BATCH, *[1] * (scores.ndim - 2), length), scores, -1e9)
        weights = jax.nn.softmax(scores, axis=-1).astype(v.dtype)
        return jnp.einsum(f"{over},{keys}->{queries}", weights, v)

    q, k, present = spec(shape(queries), dtype), spec(shape(keys), dtype), spec((BATCH, length), jnp.bool_)
    given = (q, k, k, present) if kind == "masked" else (q, k, k)
    if not gradient:
        return jax.jit(attend).trace(*given)
    loss = lambda *args: jnp.sum(attend(*args).astype(jnp.float32) ** 2)
    return jax.jit(jax.grad(loss, argnums=(0, 1, 2))).trace(*given)


def variant(kind: str, layout: str, dtype: object, gradient: bool) -> tuple[str, Program]:
    name = f"attention_{kind}_{layout}_{jnp.dtype(dtype).name.replace('float', 'f')}"
    make = lambda length=4096: plain_attention(kind, layout, dtype, gradient=gradient, length=length)
    return f"{name}{'_gradient' if gradient else ''}", Program(make, {"gpu": ATTENTION}, 2, {"length": 512})


VARIANTS.update(
    variant(kind, layout, dtype, gradient)
    for dtype, gradient, kind, layout in itertools.product((jnp.bfloat16, jnp.float32), (False, True), KINDS, LAYOUTS)
)
