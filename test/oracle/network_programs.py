# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs whose batch goes through convolutions and layers one after another; and a Jacobian direction by direction."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from program import VARIANTS, Array, Goal, Program, Traced, spec

LAYOUT = ("NHWC", "HWIO", "NHWC")
GROUPS = 8


def convolve(x: Array, w: Array, stride: int = 1) -> Array:
    return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=LAYOUT)


def group_norm(x: Array, scale: Array) -> Array:
    folded = x.reshape(*x.shape[:-1], GROUPS, -1)
    mean = folded.mean((1, 2, 4), keepdims=True)
    spread = jnp.square(folded - mean).mean((1, 2, 4), keepdims=True)
    return ((folded - mean) * lax.rsqrt(spread + 1e-5)).reshape(x.shape) * scale


def layer_norm(x: Array, scale: Array) -> Array:
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.square(x - mean).mean(-1, keepdims=True) + 1e-5) * scale


def cross_entropy(logits: Array, labels: Array) -> Array:
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1))


def descent(loss: object, params: object, *given: object) -> Traced:
    """A plain descent step, its parameters donated."""

    def step(params: object, *given: object) -> tuple[Array, object]:
        value, gradient = jax.value_and_grad(loss)(params, *given)
        return value, jax.tree.map(lambda p, g: p - 0.01 * g, params, gradient)

    return jax.jit(step, donate_argnums=0).trace(params, *given)


def resnet_step(batch: int = 256, size: int = 224, width: int = 64) -> Traced:
    """A residual network with group norms, 3 by 2 blocks, its maxima pooled."""
    widths = [width, width, 2 * width, 2 * width, 4 * width, 4 * width]

    def loss(params: dict, x: Array, labels: Array) -> Array:
        x = jax.nn.relu(convolve(x, params["stem"], 2))
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        for number, w in enumerate(params["blocks"]):
            stride = 2 if number in (2, 4) else 1
            y = jax.nn.relu(group_norm(convolve(x, w["first"], stride), w["scales"][0]))
            y = group_norm(convolve(y, w["second"]), w["scales"][1])
            x = jax.nn.relu(y + convolve(x, w["skip"], stride))
        return cross_entropy(x.mean((1, 2)) @ params["head"], labels)

    blocks = [
        {"first": spec((3, 3, a, b)), "second": spec((3, 3, b, b)), "skip": spec((1, 1, a, b)), "scales": spec((2, b))}
        for a, b in zip([width, *widths], widths, strict=False)
    ]
    params = {"stem": spec((7, 7, 3, width)), "blocks": blocks, "head": spec((widths[-1], 1000))}
    return descent(loss, params, spec((batch, size, size, 3)), spec((batch,), jnp.int32))


def vit_step(batch: int = 256, size: int = 224, layers: int = 6, width: int = 512) -> Traced:
    """A vision transformer: patches of 16 by 16, unrolled layers, 8 heads."""
    heads, tokens = 8, (size // 16) ** 2

    def loss(params: dict, x: Array, labels: Array) -> Array:
        x = convolve(x, params["patches"], 16).reshape(batch, tokens, width) + params["places"]
        for w in params["layers"]:
            y = layer_norm(x, w["scales"][0])
            q, k, v = ((y @ w[name]).reshape(batch, tokens, heads, -1) for name in "qkv")
            scores = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k) / (width // heads) ** 0.5)
            x = x + jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape) @ w["o"]
            x = x + jax.nn.gelu(layer_norm(x, w["scales"][1]) @ w["up"]) @ w["down"]
        return cross_entropy(x.mean(1) @ params["head"], labels)

    square = spec((width, width))
    layer = {name: square for name in "qkvo"}
    layer |= {"up": spec((width, 4 * width)), "down": spec((4 * width, width)), "scales": spec((2, width))}
    params = {
        "patches": spec((16, 16, 3, width)),
        "places": spec((tokens, width)),
        "layers": [layer] * layers,
        "head": spec((width, 1000)),
    }
    return descent(loss, params, spec((batch, size, size, 3)), spec((batch,), jnp.int32))


def unet_step(batch: int = 64, size: int = 256, width: int = 32) -> Traced:
    """A network that goes down twice and up again beside what it was made of, and denoises."""

    def block(x: Array, w: dict) -> Array:
        x = jax.nn.silu(group_norm(convolve(x, w["first"]), w["scales"][0]))
        return jax.nn.silu(group_norm(convolve(x, w["second"]), w["scales"][1]))

    def loss(params: dict, x: Array, wanted: Array) -> Array:
        kept = []
        for w in params["down"]:
            x = block(x, w)
            kept.append(x)
            x = lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "SAME") / 4
        x = block(x, params["middle"])
        for w, beside in zip(params["up"], reversed(kept), strict=True):
            x = jnp.repeat(jnp.repeat(x, 2, axis=1), 2, axis=2)
            x = block(jnp.concatenate([x, beside], axis=-1), w)
        return jnp.mean(jnp.square(convolve(x, params["out"]) - wanted))

    def weights(given: int, made: int) -> dict:
        return {"first": spec((3, 3, given, made)), "second": spec((3, 3, made, made)), "scales": spec((2, made))}

    params = {
        "down": [weights(3, width), weights(width, 2 * width)],
        "middle": weights(2 * width, 4 * width),
        "up": [weights(6 * width, 2 * width), weights(3 * width, width)],
        "out": spec((3, 3, width, 3)),
    }
    images = spec((batch, size, size, 3))
    return descent(loss, params, images, images)


def jacobian_by_directions(size: int = 1024, directions: int = 8) -> Traced:
    """How two fields that react and diffuse on a torus depend on directions that are given one by one, put side by side for it and taken apart
    again, as vectorizers of Reactant's kind leave it."""
    count = size * size

    def neighbours(f: Array) -> Array:
        each = [f[number] for number in range(directions)]
        sums = []
        for axis in (0, 1):
            ends = jnp.stack([lax.slice_in_dim(g, size - 1, size, axis=axis) for g in each])
            rest = jnp.stack([lax.slice_in_dim(g, 0, size - 1, axis=axis) for g in each])
            before = [jnp.concatenate([ends[n], rest[n]], axis=axis) for n in range(directions)]
            ends = jnp.stack([lax.slice_in_dim(g, 0, 1, axis=axis) for g in each])
            rest = jnp.stack([lax.slice_in_dim(g, 1, size, axis=axis) for g in each])
            after = [jnp.concatenate([rest[n], ends[n]], axis=axis) for n in range(directions)]
            sums.append(jnp.stack(before) + jnp.stack(after))
        return sums[0] + sums[1] - 4.0 * f

    def product(made: Array, u: Array, v: Array, *given: Array) -> Array:
        del made
        a, b = jnp.stack(given[::2]), jnp.stack(given[1::2])
        reacts = 2.0 * u * v * a + u * u * b
        first = 1e3 * neighbours(a) + reacts - 4.4 * a
        second = 1e3 * neighbours(b) + 3.4 * a - reacts
        rows = [
            jnp.concatenate([first[n].reshape(1, count), second[n].reshape(1, count)], axis=1)
            for n in range(directions)
        ]
        return jnp.concatenate(rows, axis=0)

    field = spec((size, size), jnp.float64)
    made = spec((directions, 2 * count), jnp.float64)
    traced = jax.jit(product, donate_argnums=0, keep_unused=True)
    return traced.trace(made, field, field, *[field] * (2 * directions))


VARIANTS.update(
    {
        "resnet_step": Program(resnet_step, {}, 1000, {"batch": 4, "size": 32, "width": 8}),
        "vit_step": Program(vit_step, {}, 1000, {"batch": 2, "size": 32, "layers": 1, "width": 48}),
        "unet_step": Program(unet_step, {}, 1, {"batch": 2, "size": 16, "width": 8}),
        "jacobian_by_directions": Program(jacobian_by_directions, {"gpu": Goal(ratio=1.01)}, 1, {"size": 16}),
    }
)
