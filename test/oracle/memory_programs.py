# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs of from one to some hundred MiB, of the kinds that people run, for checking the memory model. None is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array
Traced = jax.stages.Traced
F32, BF16, F16, F64, I32 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.float64, jnp.int32


def spec(*shape: int, dtype: jnp.dtype = F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def trace(function: Callable, *specs: object, donate: tuple[int, ...] = ()) -> Traced:
    return jax.jit(function, donate_argnums=donate).trace(*specs)


def products() -> Iterator[tuple[str, Traced]]:
    """Dense layers and what follows them."""
    for dtype in (F32, BF16, F64):
        name = jnp.dtype(dtype).name
        x, w = spec(2048, 1024, dtype=dtype), spec(1024, 4096, dtype=dtype)
        back = spec(4096, 1024, dtype=dtype)
        yield f"dense_{name}", trace(lambda x, w: jax.nn.relu(x @ w), x, w)
        yield f"mlp_{name}", trace(lambda x, w, v: jax.nn.gelu(x @ w) @ v, x, w, back)
        yield (
            f"mlp_grad_{name}",
            trace(jax.grad(lambda p, x: jnp.sum((jnp.tanh(x @ p[0]) @ p[1]) ** 2)), (w, back), x),
        )
        yield f"bias_{name}", trace(lambda x, w, b: x @ w + b, x, w, spec(4096, dtype=dtype))
        yield f"chain_{name}", trace(lambda x, w, v: ((x @ w) @ v) @ w, x, w, back)
    x, w = spec(1024, 1024), spec(1024, 1024)
    yield "transposed", trace(lambda x, w: (x.T @ w).T + x, x, w)
    yield "batched", trace(lambda a, b: jnp.einsum("bij,bkj->bik", a, b), spec(16, 512, 256), spec(16, 512, 256))
    yield "einsum", trace(lambda a, b: jnp.einsum("bihd,bjhd->bhij", a, b), spec(4, 512, 8, 64), spec(4, 512, 8, 64))
    yield "outer", trace(lambda a, b: jnp.sum(a[:, None] * b[None, :], axis=1), spec(8192), spec(8192))
    yield "matvec", trace(lambda a, x: jnp.sin(a @ x), spec(4096, 4096), spec(4096))
    yield "residual", trace(lambda x, w: lax.fori_loop(0, 8, lambda _, y: y + jnp.tanh(y @ w), x), x, w)
    for depth in (4, 12):

        def deep(ws: list[Array], x: Array) -> Array:
            for w in ws:
                x = jax.nn.silu(x @ w)
            return jnp.mean(x**2)

        yield f"deep_{depth}", trace(deep, [w] * depth, x)
        yield f"deep_grad_{depth}", trace(jax.value_and_grad(deep), [w] * depth, x)
        sgd = lambda ws, x: jax.tree.map(lambda w, g: w - 0.1 * g, ws, jax.grad(deep)(ws, x))
        yield f"deep_sgd_{depth}", trace(sgd, [w] * depth, x, donate=(0,))

    def adam(w: Array, m: Array, v: Array, x: Array, y: Array) -> tuple[Array, ...]:
        loss = lambda w: jnp.mean((jnp.tanh(x @ w) - y) ** 2)
        g = jax.grad(loss)(w)
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        return w - 1e-3 * m / (jnp.sqrt(v) + 1e-8), m, v

    yield "adam", trace(adam, w, w, w, x, x, donate=(0, 1, 2))
    yield "adam_kept", trace(adam, w, w, w, x, x)


def attention() -> Iterator[tuple[str, Traced]]:
    """Scores that are large, and what is made of them."""

    def attend(q: Array, k: Array, v: Array, *, causal: bool) -> Array:
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1]).astype(q.dtype)
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, axis=-1), v)

    for dtype in (F32, BF16, F16):
        name = jnp.dtype(dtype).name
        x = spec(2, 1024, 8, 64, dtype=dtype)
        for causal in (False, True):
            kind = "causal" if causal else "full"
            forward = lambda q, k, v, causal=causal: attend(q, k, v, causal=causal)
            yield f"attention_{kind}_{name}", trace(forward, x, x, x)
            loss = lambda q, k, v, causal=causal: jnp.sum(attend(q, k, v, causal=causal).astype(F32) ** 2)
            yield f"attention_{kind}_grad_{name}", trace(jax.grad(loss, argnums=(0, 1, 2)), x, x, x)

    def layer(x: Array, w: dict[str, Array]) -> Array:
        q, k, v = jnp.split(x @ w["qkv"], 3, axis=-1)
        heads = lambda t: t.reshape(*t.shape[:2], 8, -1)
        out = attend(heads(q), heads(k), heads(v), causal=True).reshape(x.shape)
        x = x + out @ w["out"]
        x = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        return x + jax.nn.gelu(x @ w["up"]) @ w["down"]

    width = 512
    shapes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, 4 * width), "down": (4 * width, width)}
    weights = {key: spec(*shape) for key, shape in shapes.items()}
    x = spec(4, 512, width)
    yield "block", trace(layer, x, weights)
    yield "block_grad", trace(jax.grad(lambda w, x: jnp.sum(layer(x, w) ** 2)), weights, x)
    half = jax.tree.map(lambda s: spec(*s.shape, dtype=BF16), weights)
    yield (
        "block_grad_bf16",
        trace(jax.grad(lambda w, x: jnp.sum(layer(x, w).astype(F32) ** 2)), half, spec(4, 512, width, dtype=BF16)),
    )
    for layers, remat in ((4, False), (4, True), (8, True)):
        stacked = {key: spec(layers, *shape) for key, shape in shapes.items()}

        def network(w: dict[str, Array], x: Array, remat: bool = remat) -> Array:
            step = jax.checkpoint(layer) if remat else layer
            x, _ = lax.scan(lambda x, w: (step(x, w), None), x, w)
            return jnp.sum(x**2)

        name = f"scan_{layers}{'_remat' if remat else ''}"
        yield name, trace(network, stacked, x)
        yield f"{name}_grad", trace(jax.grad(network), stacked, x)


def losses() -> Iterator[tuple[str, Traced]]:
    """Reductions of what is large."""

    def entropy(hidden: Array, table: Array, labels: Array) -> Array:
        logits = (hidden @ table.T).astype(F32)
        picked = jnp.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
        return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - picked)

    for dtype in (F32, BF16):
        name = jnp.dtype(dtype).name
        specs = spec(1024, 256, dtype=dtype), spec(16000, 256, dtype=dtype), spec(1024, dtype=I32)
        yield f"entropy_{name}", trace(entropy, *specs)
        yield f"entropy_grad_{name}", trace(jax.grad(entropy, argnums=(0, 1)), *specs)
    x = spec(4096, 4096)
    for axis in (0, 1, None):
        yield f"logsumexp_{axis}", trace(lambda x, axis=axis: jax.nn.logsumexp(x, axis=axis), x)
        yield f"softmax_{axis}", trace(lambda x, axis=axis: jax.nn.softmax(x, axis=axis), x)
        yield f"variance_{axis}", trace(lambda x, axis=axis: jnp.var(x, axis=axis), x)
        yield f"argmax_{axis}", trace(lambda x, axis=axis: jnp.argmax(jnp.sin(x), axis=axis), x)
        yield f"norm_{axis}", trace(lambda x, axis=axis: x / (jnp.sum(x * x, axis=axis, keepdims=True) + 1), x)
    for dtype in (F64, I32, BF16):
        name = jnp.dtype(dtype).name
        yield f"sum_{name}", trace(lambda x: (jnp.sum(x * 3, 0), jnp.sum(x + 1, 1)), spec(4096, 2048, dtype=dtype))
    yield "layernorm", trace(
        lambda x, g, b: (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5) * g + b,
        x,
        spec(4096),
        spec(4096),
    )
    yield "layernorm_grad", trace(
        jax.grad(
            lambda x, g: jnp.sum(jnp.sin((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True)) * g)),
            argnums=(0, 1),
        ),
        x,
        spec(4096),
    )
    yield "batchnorm", trace(lambda x: (x - x.mean((0, 1, 2))) * lax.rsqrt(x.var((0, 1, 2)) + 1e-5), spec(32, 64, 64, 64))
    yield "distances", trace(lambda a, b: jnp.min(jnp.sum((a[:, None] - b[None]) ** 2, -1), 1), spec(4096, 16), spec(2048, 16))
    yield "cumsum", trace(lambda x: jnp.cumsum(x, axis=0) * 2, spec(2048, 1024))
    yield "cumsum_last", trace(lambda x: jnp.cumsum(x, axis=1) * 2, spec(2048, 1024))
    yield "histogram", trace(
        lambda x: jnp.zeros(256, I32).at[jnp.clip(x * 256, 0, 255).astype(I32)].add(1), spec(1 << 22)
    )


def convolutions() -> Iterator[tuple[str, Traced]]:
    def conv(x: Array, w: Array, stride: int = 1, layout: str = "NHWC") -> Array:
        kernel = "HWIO" if layout == "NHWC" else "OIHW"
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=(layout, kernel, layout))

    x, w = spec(16, 64, 64, 32), spec(3, 3, 32, 64)
    v = spec(3, 3, 64, 64)
    yield "conv", trace(lambda x, w: jax.nn.relu(conv(x, w)), x, w)
    yield "conv_nchw", trace(lambda x, w: jax.nn.relu(conv(x, w, layout="NCHW")), spec(16, 32, 64, 64), spec(64, 32, 3, 3))
    yield "conv_stride", trace(lambda x, w: conv(x, w, 2), x, w)
    yield "conv_bf16", trace(conv, spec(16, 64, 64, 32, dtype=BF16), spec(3, 3, 32, 64, dtype=BF16))
    net = lambda ws, x: jnp.mean(jax.nn.relu(conv(jax.nn.relu(conv(x, ws[0])), ws[1])) ** 2)
    yield "conv_net", trace(net, (w, v), x)
    yield "conv_net_grad", trace(jax.grad(net), (w, v), x)
    pool = lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    yield "pool", trace(lambda x, w: pool(jax.nn.relu(conv(x, w))), x, w)
    yield "pool_grad", trace(jax.grad(lambda x: jnp.sum(pool(x * 2) ** 2)), x)
    yield "depthwise", trace(
        lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=32
        ),
        x,
        spec(3, 3, 1, 32),
    )

    def res(x: Array, w: Array) -> Array:
        return x + jax.nn.relu(conv(x, w))

    def resnet(ws: list[Array], x: Array) -> Array:
        for w in ws:
            x = res(x, w)
        return jnp.mean(x)

    square = spec(3, 3, 32, 32)
    yield "resnet", trace(resnet, [square] * 6, x)
    yield "resnet_grad", trace(jax.grad(resnet), [square] * 6, x)


def fields() -> Iterator[tuple[str, Traced]]:
    """Stencils, halos, time steps."""
    for dtype in (F32, F64):
        name = jnp.dtype(dtype).name
        u = spec(2048, 1024, dtype=dtype)
        laplace = lambda u: sum(jnp.roll(u, s, a) for s in (-1, 1) for a in (0, 1)) - 4 * u
        yield f"heat_{name}", trace(lambda u: u + 0.1 * laplace(u), u)
        yield f"heat_donated_{name}", trace(lambda u: u + 0.1 * laplace(u), u, donate=(0,))
        yield f"heat_loop_{name}", trace(lambda u: lax.fori_loop(0, 10, lambda _, u: u + 0.1 * laplace(u), u), u)
        heat_twice = lambda u: (lambda v: v + 0.1 * laplace(v))(u + 0.1 * laplace(u))
        yield f"heat_twice_{name}", trace(heat_twice, u)

        def wave(u: Array, v: Array) -> tuple[Array, Array]:
            v = v + 0.1 * laplace(u)
            return u + 0.1 * v, v

        yield f"wave_{name}", trace(wave, u, u, donate=(0, 1))
        yield f"wave_scan_{name}", trace(
            lambda u, v: lax.scan(lambda c, _: (wave(*c), jnp.sum(c[0])), (u, v), None, length=20), u, u
        )
        inner = lambda u: u.at[1:-1, 1:-1].set(0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]))
        yield f"inner_{name}", trace(inner, u)
        yield f"inner_donated_{name}", trace(inner, u, donate=(0,))
        fill = lambda u: u.at[:, :4].set(u[:, -8:-4]).at[:, -4:].set(u[:, 4:8])
        yield f"fill_{name}", trace(fill, u)
        yield f"fill_donated_{name}", trace(fill, u, donate=(0,))
        yield f"fill_step_donated_{name}", trace(lambda u: (lambda u: u + 0.1 * laplace(u))(fill(u)), u, donate=(0,))
        rows = lambda u: lax.dynamic_update_slice(lax.dynamic_update_slice(u, u[4:8], (0, 0)), u[-8:-4], (2044, 0))
        yield f"rows_donated_{name}", trace(rows, u, donate=(0,))
        set_row = lambda u, r, i: lax.dynamic_update_slice(u, r, (i, jnp.zeros_like(i)))
        yield f"set_row_{name}", trace(set_row, u, spec(1, 1024, dtype=dtype), spec(dtype=I32))
        yield f"set_row_donated_{name}", trace(set_row, u, spec(1, 1024, dtype=dtype), spec(dtype=I32), donate=(0,))
        yield f"gradient_{name}", trace(
            jax.grad(lambda u: jnp.sum((u[1:] - u[:-1]) ** 2) + jnp.sum((u[:, 1:] - u[:, :-1]) ** 2)), u
        )
    x = spec(1024, 1024)
    yield "pad_concat", trace(lambda x: jnp.concatenate([jnp.pad(x, 1), jnp.pad(x * 2, 1)], 0), x)
    yield "stack", trace(lambda xs: jnp.sin(jnp.stack(xs)), [x] * 4)
    yield "transposes", trace(lambda x: (x.T * 2, jnp.sin(x).T, x + x.T), x)
    yield "reverse", trace(lambda x: jnp.flip(x @ x, 0) + x, x)
    yield "fft", trace(lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 2), x)
    yield "fft_complex", trace(lambda x: jnp.abs(jnp.fft.fft(x)), spec(256, 4096, dtype=jnp.complex64))
    yield "poisson", trace(
        lambda f: jnp.fft.ifftn(jnp.fft.fftn(f) / (1 + jnp.arange(128.0)[:, None, None] ** 2)).real, spec(128, 128, 128)
    )
    yield "cholesky", trace(lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(1024)), x)
    yield "solve", trace(lambda a, b: jax.scipy.linalg.solve_triangular(a, b, lower=True), x, x)
    yield "power_iteration", trace(
        lambda a, x: lax.fori_loop(0, 20, lambda _, x: (lambda y: y / jnp.linalg.norm(y))(a @ x), x), x, spec(1024)
    )


def indexed() -> Iterator[tuple[str, Traced]]:
    """Gathers, scatters, sorts."""
    table, at = spec(50_000, 128), spec(65_536, dtype=I32)
    for mode in ("fill", "clip", "promise_in_bounds"):
        take = lambda t, i, mode=mode: t.at[i].get(mode=mode)
        yield f"take_{mode}", trace(take, table, at)
        yield f"take_sum_{mode}", trace(lambda t, i, take=take: jnp.sum(take(t, i)), table, at)
        yield f"take_grad_{mode}", trace(jax.grad(lambda t, i, take=take: jnp.sum(take(t, i) ** 2)), table, at)
    yield "embed_bf16", trace(lambda t, i: t[i] * 2, spec(50_000, 128, dtype=BF16), at)
    yield "embed_grad_bf16", trace(
        jax.grad(lambda t, i: jnp.sum(jnp.sin(t[i]).astype(F32))), spec(50_000, 128, dtype=BF16), at
    )
    yield "scatter_add", trace(lambda t, i, u: t.at[i].add(u), table, at, spec(65_536, 128))
    yield "scatter_add_donated", trace(lambda t, i, u: t.at[i].add(u), table, at, spec(65_536, 128), donate=(0,))
    yield "scatter_set", trace(lambda t, i, u: t.at[i].set(jnp.sin(u)), table, at, spec(65_536, 128), donate=(0,))
    yield "scatter_zeros", trace(lambda i, u: jnp.zeros((50_000, 128)).at[i].add(u), at, spec(65_536, 128))
    edges = spec(200_000, dtype=I32)

    def messages(x: Array, w: Array, src: Array, dst: Array) -> Array:
        return jax.ops.segment_sum(jax.nn.relu(x[src] @ w), dst, num_segments=x.shape[0])

    nodes, w = spec(10_000, 64), spec(64, 64)
    yield "messages", trace(messages, nodes, w, edges, edges)
    yield "messages_grad", trace(
        jax.grad(lambda x, w, s, d: jnp.sum(messages(x, w, s, d) ** 2), argnums=(0, 1)), nodes, w, edges, edges
    )
    yield "multi_index", trace(
        lambda f, i: jnp.sum(f[i[:, 0], i[:, 1], i[:, 2]]), spec(128, 128, 128), spec(1 << 20, 3, dtype=I32)
    )
    yield "multi_index_grad", trace(
        jax.grad(lambda f, i: jnp.sum(f[i[:, 0], i[:, 1], i[:, 2]] ** 2)), spec(128, 128, 128), spec(1 << 20, 3, dtype=I32)
    )
    yield "sort", trace(lambda x: jnp.sort(x, axis=-1), spec(1024, 4096))
    yield "sort_donated", trace(lambda x: jnp.sort(x, axis=-1), spec(1024, 4096), donate=(0,))
    yield "sort_first", trace(lambda x: jnp.sort(x, axis=0), spec(4096, 1024))
    yield "argsort", trace(jnp.argsort, spec(1 << 20))
    yield "sort_pairs", trace(lambda k, v: lax.sort((k * 2, v), num_keys=1), spec(1 << 20), spec(1 << 20))
    yield "top_k", trace(lambda x: lax.top_k(x * 2, 16), spec(1024, 4096))
    yield "median", trace(lambda x: jnp.median(x, axis=0), spec(1023, 1024))
    yield "unique_mask", trace(lambda x: jnp.where(jnp.diff(jnp.sort(x), prepend=0) != 0, x, 0), spec(1 << 20))
    yield "one_hot", trace(lambda i, w: jax.nn.one_hot(i, 4096) @ w, spec(2048, dtype=I32), spec(4096, 64))
    yield "along_axis", trace(lambda x, i: jnp.take_along_axis(x, i, 1), spec(2048, 1024), spec(2048, 512, dtype=I32))
    yield "uniform", trace(lambda k: jax.random.uniform(k, (1 << 21,)), spec(2, dtype=jnp.uint32))
    yield "normal", trace(lambda k, x: x + jax.random.normal(k, x.shape), spec(2, dtype=jnp.uint32), spec(2048, 1024))
    yield "dropout", trace(
        lambda k, x, w: jnp.where(jax.random.bernoulli(k, 0.5, (2048, 1024)), x @ w, 0),
        spec(2, dtype=jnp.uint32),
        spec(2048, 512),
        spec(512, 1024),
    )


def loops() -> Iterator[tuple[str, Traced]]:
    """Scans that collect, and their gradients; loops that update."""
    w, h = spec(512, 512), spec(256, 512)
    xs = spec(64, 256, 512)

    def rnn(w: Array, h: Array, xs: Array) -> Array:
        return lax.scan(lambda h, x: ((y := jnp.tanh(h @ w + x)), y), h, xs)[1]

    yield "rnn", trace(rnn, w, h, xs)
    yield "rnn_grad", trace(jax.grad(lambda w, h, xs: jnp.sum(rnn(w, h, xs) ** 2)), w, h, xs)

    def lstm(w: Array, h: Array, c: Array, xs: Array) -> tuple[Array, Array]:
        def cell(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
            h, c = state
            i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ w, 4, axis=-1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        return lax.scan(cell, (h, c), xs)[1]

    yield "lstm", trace(lstm, spec(1024, 2048), h, h, xs)
    yield "lstm_grad", trace(
        jax.grad(lambda w, h, c, xs: jnp.sum(lstm(w, h, c, xs) ** 2)), spec(1024, 2048), h, h, xs
    )
    x = spec(2048, 1024)
    yield "loop_add", trace(lambda x: lax.fori_loop(0, 10, lambda i, x: x * 1.5 + i, x), x)
    yield "loop_add_donated", trace(lambda x: lax.fori_loop(0, 10, lambda i, x: x * 1.5 + i, x), x, donate=(0,))
    yield "loop_rows", trace(
        lambda x: lax.fori_loop(0, 2048, lambda i, x: x.at[i].set(jnp.sin(x[i])), x), x, donate=(0,)
    )
    yield "loop_rows_kept", trace(lambda x: lax.fori_loop(0, 2048, lambda i, x: x.at[i].set(jnp.sin(x[i])), x), x)
    yield "loop_swap", trace(lambda x, y: lax.fori_loop(0, 9, lambda _, c: (c[1], c[0] * 2), (x, y)), x, x)
    yield "loop_map", trace(lambda x: lax.map(lambda r: jnp.cumsum(jnp.sin(r)), x), x)
    yield "loop_acc", trace(lambda x: lax.scan(lambda s, r: (s + jnp.outer(r, r), None), jnp.zeros((1024, 1024)), x)[0], x)
    yield "chunked", trace(lambda x: jnp.sum(lax.map(lambda c: jnp.sum(jnp.exp(c @ c.T)), x)), spec(32, 512, 256))
    yield "while", trace(
        lambda x: lax.while_loop(lambda x: jnp.sum(x) < 10.0, lambda x: x + jnp.sin(x) @ jnp.cos(x), x), spec(1024, 1024)
    )
    yield "cond", trace(
        lambda p, x: lax.cond(p, lambda x: jnp.sin(x) @ x, lambda x: x * 2, x), spec(dtype=jnp.bool_), spec(1024, 1024)
    )
    yield "cond_sum", trace(
        lambda p, x: jnp.sum(lax.cond(p, lambda x: jnp.sin(x) @ x, lambda x: x * 2, x)),
        spec(dtype=jnp.bool_),
        spec(1024, 1024),
    )
    yield "checkpointed", trace(
        jax.grad(lambda x: jnp.sum(lax.scan(jax.checkpoint(lambda c, _: (jnp.sin(c @ c), None)), x, None, length=8)[0])),
        spec(512, 512),
    )
    yield "ode", trace(
        lambda y: lax.scan(
            lambda y, _: (
                (lambda k1: (lambda k2: y + 0.05 * (k1 + k2))(jnp.sin(y + 0.1 * k1)))(jnp.sin(y)),
                None,
            ),
            y,
            None,
            length=50,
        )[0],
        spec(4096, 512),
    )


def elementwise() -> Iterator[tuple[str, Traced]]:
    x = spec(2048, 2048)
    yield "map", trace(lambda x: jnp.sin(x) * 2 + 1, x)
    yield "map_donated", trace(lambda x: jnp.sin(x) * 2 + 1, x, donate=(0,))
    yield "map_two", trace(lambda x: (jnp.sin(x), jnp.sin(x) + jnp.cos(x)), x)
    yield "map_shared", trace(lambda x: (lambda s: (s * 2, s * 3, s @ s))(jnp.exp(x)), x)
    yield "map_swap", trace(lambda x, y: (y + 1, x + 2), x, x, donate=(0, 1))
    yield "map_cross", trace(lambda x, y: (x + y, x - y), x, x, donate=(0, 1))
    yield "bf16_chain", trace(lambda x: jnp.tanh(x * 2) + jnp.exp(x) * x, spec(2048, 2048, dtype=BF16))
    yield "convert", trace(lambda x: (x.astype(F32) * 2).astype(jnp.int8), spec(2048, 2048, dtype=BF16))
    yield "mask", trace(lambda x: jnp.where(x > 0, x, 0) + (x > 1), x)
    yield "complex", trace(lambda x, y: jnp.abs(x + 1j * y), x, x)
    yield "polynomial", trace(lambda x: jnp.polyval(jnp.arange(12.0), x), x)
    yield "broadcasts", trace(lambda a, b: jnp.sin(a)[:, None] * jnp.cos(b)[None, :], spec(2048), spec(2048))
    yield "meshgrid", trace(lambda a, b: jnp.hypot(*jnp.meshgrid(a, b)) @ jnp.ones((2048, 8)), spec(2048), spec(2048))
    yield "iota", trace(lambda x: x + jnp.arange(2048)[:, None] % 3, x)
    yield "quantize", trace(
        lambda x: jnp.clip(jnp.round(x / (jnp.max(jnp.abs(x), -1, keepdims=True) / 127)), -128, 127).astype(jnp.int8), x
    )
    yield "int8_dot", trace(
        lambda a, b: lax.dot(a, b, preferred_element_type=I32), spec(1024, 1024, dtype=jnp.int8), spec(1024, 1024, dtype=jnp.int8)
    )
    yield "pass_through", trace(lambda x, y: (x, y * 2), x, x)
    yield "same_twice", trace(lambda x: (lambda y: (y, y))(x @ x), x)
    yield "constants", trace(lambda x: (jnp.zeros((2048, 2048)), x + 1), x)
    yield "split", trace(lambda x: [jnp.sin(p) for p in jnp.split(x, 4, 1)], x)
    yield "jacobian", trace(jax.jacfwd(lambda x: jnp.sin(x) * jnp.sum(x)), spec(1024))
    yield "hessian_vector", trace(
        lambda x, v: jax.jvp(jax.grad(lambda x: jnp.sum(jnp.sin(x @ x))), (x,), (v,))[1], spec(512, 512), spec(512, 512)
    )


KINDS = (products, attention, losses, convolutions, fields, indexed, loops, elementwise)


def programs(platform: str = "cpu") -> Iterator[tuple[str, str]]:
    """All of them: name and module, as JAX lowers it for cpu, cuda or tpu."""
    for kind in KINDS:
        for name, traced in kind():
            yield name, traced.lower(lowering_platforms=(platform,)).as_text(debug_info=True)
