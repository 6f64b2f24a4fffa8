# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Language models: transformers' Flax models, gemma, equinox, haiku; on one device and on four."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from corpus_program import (
    Traced,
    cross_entropy,
    in_type,
    key,
    laid_out,
    mesh,
    program,
    shapes_of,
    spec,
    trace,
    train_step,
)

LAYERS = "activations of unrolled layers"
VOCABULARY = "logits over a large vocabulary"
SHARDED = "parameters gathered by devices"


def next_token(logits: jax.Array, tokens: jax.Array) -> jax.Array:
    return cross_entropy(logits[:, :-1], tokens[:, 1:])


def flax_model(kind: str, config: object, dtype: object = jnp.bfloat16) -> tuple[object, object]:
    """A Flax model of transformers without weights, and the shapes of its parameters in f32."""
    import transformers

    model = getattr(transformers, kind)(config, dtype=dtype, _do_init=False)
    return model, shapes_of(lambda key: model.init_weights(key, model.input_shape), key())


@program(LAYERS, "transformers", "optax", small={"batch": 2, "length": 64, "layers": 2})
def bert_transformers(batch: int = 32, length: int = 512, layers: int = 12) -> Traced:
    """BERT-base on masked tokens: dropout, bf16 arithmetic, f32 parameters."""
    import optax
    from transformers import BertConfig

    model, parameters = flax_model("FlaxBertForMaskedLM", BertConfig(num_hidden_layers=layers))
    tokens = spec((batch, length), jnp.int32)

    def loss(parameters, tokens, mask, labels, key):
        logits = model(tokens, mask, params=parameters, dropout_rng=key, train=True).logits
        known = labels >= 0
        each = optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), jnp.where(known, labels, 0))
        return jnp.sum(each * known) / jnp.sum(known)

    return train_step(loss, optax.adamw(1e-4), parameters, tokens, tokens, tokens, key())


@program(LAYERS, "transformers", "optax", small={"batch": 1, "length": 128, "layers": 2})
def gpt2_transformers(batch: int = 8, length: int = 1024, layers: int = 12) -> Traced:
    """GPT-2 small, the next token, dropout."""
    import optax
    from transformers import GPT2Config

    model, parameters = flax_model("FlaxGPT2LMHeadModel", GPT2Config(n_layer=layers))

    def loss(parameters, tokens, key):
        return next_token(model(tokens, params=parameters, dropout_rng=key, train=True).logits, tokens)

    return train_step(loss, optax.adamw(1e-4), parameters, spec((batch, length), jnp.int32), key())


@program(LAYERS, "transformers", "optax")
def bart_transformers(batch: int = 16, length: int = 512, target: int = 128) -> Traced:
    """BART-base, encoder and decoder with cross attention, Adafactor."""
    import optax
    from transformers import BartConfig

    sizes = {"encoder_ffn_dim": 3072, "decoder_ffn_dim": 3072}
    config = BartConfig(d_model=768, encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
                        decoder_attention_heads=12, **sizes)  # fmt: skip
    model, parameters = flax_model("FlaxBartForConditionalGeneration", config)

    def loss(parameters, tokens, targets, key):
        shifted = jnp.pad(targets[:, :-1], ((0, 0), (1, 0)), constant_values=2)
        logits = model(tokens, decoder_input_ids=shifted, params=parameters, dropout_rng=key, train=True).logits
        return cross_entropy(logits, targets)

    tokens, targets = spec((batch, length), jnp.int32), spec((batch, target), jnp.int32)
    return train_step(loss, optax.adafactor(1e-3), parameters, tokens, targets, key())


@program(LAYERS, "transformers", "optax")
def clip_transformers(batch: int = 256) -> Traced:
    """CLIP ViT-B/32 on pairs of images and texts, contrastive."""
    import optax
    from transformers import CLIPConfig

    model, parameters = flax_model("FlaxCLIPModel", CLIPConfig())

    def loss(parameters, tokens, images):
        found = model(tokens, images, params=parameters, train=False)
        logits, truth = found.logits_per_text, jnp.arange(batch)
        return (cross_entropy(logits, truth) + cross_entropy(logits.T, truth)) / 2

    tokens, images = spec((batch, 77), jnp.int32), spec((batch, 3, 224, 224))
    return train_step(loss, optax.adamw(1e-4), parameters, tokens, images)


@program(LAYERS, "transformers")
def whisper_encode(batch: int = 16) -> Traced:
    """Whisper-small's encoder over 30 seconds of sound, inference in bf16."""
    from transformers import WhisperConfig

    config = WhisperConfig(d_model=768, encoder_layers=12, decoder_layers=12, encoder_attention_heads=12,
                           decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072)  # fmt: skip
    model, parameters = flax_model("FlaxWhisperForConditionalGeneration", config)
    encode = lambda parameters, sound: model.encode(sound, params=parameters).last_hidden_state
    return trace(encode, in_type(parameters, jnp.bfloat16), spec((batch, 80, 3000), jnp.bfloat16))


def decoder_haiku(width: int, layers: int, heads: int, vocabulary: int):
    """A decoder in Haiku: rotary attention with a causal mask, gated MLPs, RMS norms."""
    import haiku as hk

    def rotate(x):
        half = x.shape[-1] // 2
        angles = jnp.arange(x.shape[1])[:, None] / 10_000 ** (jnp.arange(half) / half)
        sine, cosine = (f(angles)[None, :, None].astype(x.dtype) for f in (jnp.sin, jnp.cos))
        one, other = x[..., :half], x[..., half:]
        return jnp.concatenate([one * cosine - other * sine, one * sine + other * cosine], -1)

    def attend(x):
        batch, length, _ = x.shape
        linear = lambda name: hk.Linear(width, with_bias=False, name=name)
        split = lambda name: linear(name)(x).reshape((batch, length, heads, width // heads))
        query, keys, values = rotate(split("query")), rotate(split("key")), split("value")
        scores = jnp.einsum("bqhd,bkhd->bhqk", query, keys).astype(jnp.float32) / (width // heads) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e30)
        found = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores).astype(x.dtype), values)
        return linear("out")(found.reshape(x.shape))

    def network(tokens):
        x = hk.Embed(vocabulary, width)(tokens).astype(jnp.bfloat16)
        for _ in range(layers):
            x = x + attend(hk.RMSNorm(-1)(x))
            y = hk.RMSNorm(-1)(x)
            gate, up = hk.Linear(4 * width, with_bias=False)(y), hk.Linear(4 * width, with_bias=False)(y)
            x = x + hk.Linear(width, with_bias=False)(jax.nn.silu(gate) * up)
        return hk.Linear(vocabulary, with_bias=False)(hk.RMSNorm(-1)(x))

    return hk.without_apply_rng(hk.transform(network))


@program(LAYERS, "haiku", "optax", small={"batch": 1, "length": 128, "layers": 2})
def llama_haiku(batch: int = 4, length: int = 2048, layers: int = 16) -> Traced:
    """A decoder of 0.5 billion parameters in bf16, Adam."""
    import optax

    model = decoder_haiku(1024, layers, 16, 32_000)
    tokens = spec((batch, length), jnp.int32)
    parameters = in_type(shapes_of(model.init, key(), tokens), jnp.bfloat16)
    loss = lambda parameters, tokens: next_token(model.apply(parameters, tokens), tokens)
    return train_step(loss, optax.adam(3e-4), parameters, tokens)


@program(SHARDED, "haiku", "optax", devices=4, small={"batch": 4, "length": 128, "layers": 3})
def fsdp_haiku(batch: int = 16, length: int = 1024, layers: int = 12) -> Traced:
    """The same on four devices: parameters and optimizer's state cut along their largest dimension (FSDP), the batch as
    well."""
    import optax

    devices = mesh(data=4)
    model = decoder_haiku(2048, layers, 16, 32_000)
    tokens = spec((batch, length), jnp.int32, jax.NamedSharding(devices, P("data")))
    plain = in_type(shapes_of(model.init, key(), spec((batch, length), jnp.int32)), jnp.bfloat16)

    def layout(leaf):
        if leaf.ndim < 1 or max(leaf.shape) % 4:
            return P()
        largest = leaf.shape.index(max(leaf.shape))
        return P(*("data" if number == largest else None for number in range(leaf.ndim)))

    optimizer = optax.adam(3e-4)
    parameters = laid_out(plain, devices, layout)
    state = laid_out(shapes_of(optimizer.init, plain), devices, layout)

    def step(parameters, state, tokens):
        loss = lambda parameters: next_token(model.apply(parameters, tokens), tokens)
        value, gradient = jax.value_and_grad(loss)(parameters)
        updates, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    as_given = lambda tree: jax.tree.map(lambda leaf: leaf.sharding, tree)
    out = (as_given(parameters), as_given(state), jax.NamedSharding(devices, P()))
    return jax.jit(step, donate_argnums=(0, 1), out_shardings=out).trace(parameters, state, tokens)


@program(SHARDED, "equinox", "optax", devices=4, small={"batch": 4, "length": 128, "layers": 3})
def tensor_parallel_equinox(batch: int = 8, length: int = 1024, layers: int = 8) -> Traced:
    """Equinox's attention and MLPs on two by two devices: heads and hidden units cut along one axis, the batch along the
    other."""
    import equinox as eqx

    devices = mesh(data=2, model=2)
    width, vocabulary = 1024, 32_000

    class Layer(eqx.Module):
        attention: eqx.nn.MultiheadAttention
        norms: list
        wide: eqx.nn.Linear
        narrow: eqx.nn.Linear

        def __init__(self, key):
            one, two, three = jax.random.split(key, 3)
            self.attention = eqx.nn.MultiheadAttention(16, width, key=one)
            self.norms = [eqx.nn.LayerNorm(width), eqx.nn.LayerNorm(width)]
            self.wide = eqx.nn.Linear(width, 4 * width, key=two)
            self.narrow = eqx.nn.Linear(4 * width, width, key=three)

        def __call__(self, x, mask):
            y = jax.vmap(self.norms[0])(x)
            x = x + self.attention(y, y, y, mask)
            return x + jax.vmap(lambda y: self.narrow(jax.nn.gelu(self.wide(y))))(jax.vmap(self.norms[1])(x))

    def make(key):
        first, last, *others = jax.random.split(key, layers + 2)
        table = eqx.nn.Embedding(vocabulary, width, key=first)
        return table, [Layer(each) for each in others], eqx.nn.Linear(width, vocabulary, key=last)

    model = eqx.filter_eval_shape(make, jax.random.PRNGKey(0))
    parameters, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    rows = lambda leaf: P("model") if leaf.ndim == 2 and leaf.shape[0] >= leaf.shape[1] else P(None, "model")
    layout = lambda leaf: rows(leaf) if leaf.ndim == 2 else P()
    parameters = laid_out(parameters, devices, layout)
    tokens = spec((batch, length), jnp.int32, jax.NamedSharding(devices, P("data")))

    def loss(parameters, tokens):
        table, blocks, head = eqx.combine(parameters, static)
        mask = jnp.tril(jnp.ones((length, length), bool))

        def one(tokens):
            x = jax.vmap(table)(tokens)
            for block in blocks:
                x = block(x, mask)
            return jax.vmap(head)(x)

        return next_token(jax.vmap(one)(tokens), tokens)

    def step(parameters, tokens):
        value, gradient = jax.value_and_grad(loss)(parameters, tokens)
        return jax.tree.map(lambda p, g: p - 1e-3 * g, parameters, gradient), value

    out = (jax.tree.map(lambda leaf: leaf.sharding, parameters), jax.NamedSharding(devices, P()))
    return jax.jit(step, donate_argnums=0, out_shardings=out).trace(parameters, tokens)


@program(VOCABULARY, "flax", "optax", small={"batch": 1, "length": 64, "layers": 1})
def gemma_kind_linen(batch: int = 2, length: int = 512, layers: int = 18) -> Traced:
    """What a train step of Gemma 2B does, in Flax: one head of keys and values, gated MLPs, soft-capped logits of 256,128
    words by the embedding's transpose, in f32; SGD, as for fine-tuning on one device."""
    import flax.linen as nn
    import optax

    width, hidden, heads, size, vocabulary = 2048, 16_384, 8, 256, 256_128

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.RMSNorm(dtype=x.dtype)(x)
            query = nn.DenseGeneral((heads, size), use_bias=False, dtype=x.dtype)(y)
            keys, values = (nn.Dense(size, use_bias=False, dtype=x.dtype)(y) for _ in range(2))
            scores = jnp.einsum("bqhd,bkd->bhqk", query, keys).astype(jnp.float32) * size**-0.5
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -2.4e38)
            found = jnp.einsum("bhqk,bkd->bqhd", jax.nn.softmax(scores).astype(x.dtype), values)
            x = x + nn.DenseGeneral(width, axis=(-2, -1), use_bias=False, dtype=x.dtype)(found)
            y = nn.RMSNorm(dtype=x.dtype)(x)
            gate, up = (nn.Dense(hidden, use_bias=False, dtype=x.dtype)(y) for _ in range(2))
            return x + nn.Dense(width, use_bias=False, dtype=x.dtype)(nn.gelu(gate) * up)

    class Model(nn.Module):
        @nn.compact
        def __call__(self, tokens):
            table = nn.Embed(vocabulary, width, dtype=jnp.bfloat16)
            x = table(tokens) * jnp.asarray(width**0.5, jnp.bfloat16)
            for _ in range(layers):
                x = Layer()(x)
            logits = table.attend(nn.RMSNorm(dtype=jnp.bfloat16)(x)).astype(jnp.float32)
            return 30.0 * jnp.tanh(logits / 30.0)

    model = Model()
    tokens = spec((batch, length), jnp.int32)
    parameters = in_type(shapes_of(model.init, key(), tokens), jnp.bfloat16)
    loss = lambda parameters, tokens: next_token(model.apply(parameters, tokens), tokens)
    return train_step(loss, optax.sgd(1e-4), parameters, tokens)
