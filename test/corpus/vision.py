# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutional networks and vision transformers: flax, haiku, equinox, keras, diffusers."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from corpus_program import Traced, cross_entropy, key, program, shapes_of, spec, trace, train_step

CONVOLUTIONS = "activations of convolutions and pooling"
LAYERS = "activations of unrolled layers"
DRAW = {"params": key(), "dropout": key()}


@program(CONVOLUTIONS, "flax", "optax", small={"batch": 4, "size": 64, "depth": 1})
def resnet50_linen(batch: int = 128, size: int = 224, depth: int = 3) -> Traced:
    """ResNet-50 as Flax's ImageNet example writes it, in bf16, with momentum."""
    import flax.linen as nn
    import optax

    convolution = partial(nn.Conv, use_bias=False, dtype=jnp.bfloat16)
    normalize = partial(nn.BatchNorm, use_running_average=False, momentum=0.9, dtype=jnp.bfloat16)

    class Block(nn.Module):
        filters: int
        strides: int

        @nn.compact
        def __call__(self, x):
            y = nn.relu(normalize()(convolution(self.filters, (1, 1))(x)))
            y = nn.relu(normalize()(convolution(self.filters, (3, 3), (self.strides, self.strides))(y)))
            y = normalize(scale_init=nn.initializers.zeros)(convolution(4 * self.filters, (1, 1))(y))
            if x.shape != y.shape:
                x = normalize()(convolution(4 * self.filters, (1, 1), (self.strides, self.strides))(x))
            return nn.relu(x + y)

    class ResNet(nn.Module):
        @nn.compact
        def __call__(self, x):
            x = nn.relu(normalize()(convolution(64, (7, 7), (2, 2))(x.astype(jnp.bfloat16))))
            x = nn.max_pool(x, (3, 3), strides=(2, 2), padding="SAME")
            for stage, blocks in enumerate((depth, depth + 1, depth + 3, depth)):
                for block in range(blocks):
                    x = Block(64 * 2**stage, 2 if stage and not block else 1)(x)
            return nn.Dense(1000, dtype=jnp.float32)(jnp.mean(x, (1, 2)))

    model = ResNet()
    images, labels = spec((batch, size, size, 3)), spec((batch,), jnp.int32)
    variables = shapes_of(model.init, key(), images)
    optimizer = optax.sgd(0.1, momentum=0.9, nesterov=True)

    def step(parameters, statistics, state, images, labels):
        def loss(parameters):
            logits, changed = model.apply(
                {"params": parameters, "batch_stats": statistics}, images, mutable=["batch_stats"]
            )
            decay = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(parameters) if leaf.ndim > 1)
            return cross_entropy(logits, labels) + 5e-5 * decay, changed["batch_stats"]

        (value, statistics), gradient = jax.value_and_grad(loss, has_aux=True)(parameters)
        updates, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), statistics, state, value

    parameters = variables["params"]
    state = shapes_of(optimizer.init, parameters)
    return trace(step, parameters, variables["batch_stats"], state, images, labels, donate=(0, 1, 2))


@program(CONVOLUTIONS, "haiku", "optax", "rlax", small={"batch": 2, "steps": 5})
def impala_haiku(batch: int = 64, steps: int = 40) -> Traced:
    """IMPALA's deep residual network over trajectories of Atari frames, with V-trace by rlax and RMSProp."""
    import haiku as hk
    import optax
    import rlax

    actions = 18

    def network(frames):
        x = frames.astype(jnp.float32) / 255.0
        for channels in (16, 32, 32):
            x = hk.Conv2D(channels, 3)(x)
            x = hk.max_pool(x, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")
            for _ in range(2):
                inner = hk.Conv2D(channels, 3)(jax.nn.relu(x))
                x = x + hk.Conv2D(channels, 3)(jax.nn.relu(inner))
        x = jax.nn.relu(hk.Linear(256)(hk.Flatten()(jax.nn.relu(x))))
        return hk.Linear(actions)(x), hk.Linear(1)(x)[:, 0]

    model = hk.without_apply_rng(hk.transform(network))
    frames = spec((steps + 1, batch, 84, 84, 4), jnp.uint8)
    parameters = shapes_of(model.init, key(), spec((1, 84, 84, 4), jnp.uint8))

    def loss(parameters, frames, taken, rewards, discounts, behaviour):
        logits, values = model.apply(parameters, frames.reshape((-1, 84, 84, 4)))
        logits, values = logits.reshape((steps + 1, batch, -1)), values.reshape((steps + 1, batch))

        def one(logits, values, taken, rewards, discounts, behaviour):
            ratios = jnp.exp(
                rlax.batched_index(jax.nn.log_softmax(logits[:-1]), taken)
                - rlax.batched_index(jax.nn.log_softmax(behaviour), taken)
            )
            traced = rlax.vtrace_td_error_and_advantage(values[:-1], values[1:], rewards, discounts, ratios)
            policy = rlax.policy_gradient_loss(logits[:-1], taken, traced.pg_advantage, jnp.ones(steps))
            entropy = rlax.entropy_loss(logits[:-1], jnp.ones(steps))
            return policy + 0.5 * jnp.mean(traced.errors**2) + 0.01 * entropy

        each = jax.vmap(one, in_axes=1)(logits, values, taken, rewards, discounts, behaviour)
        return jnp.mean(each)

    flat = lambda dtype=jnp.float32: spec((steps, batch), dtype)
    optimizer = optax.chain(optax.clip_by_global_norm(40.0), optax.rmsprop(6e-4, decay=0.99, eps=0.1))
    behaviour = spec((steps, batch, actions))
    return train_step(loss, optimizer, parameters, frames, flat(jnp.int32), flat(), flat(), behaviour)


@program(CONVOLUTIONS, "equinox", "optax")
def convnext_equinox(batch: int = 64, size: int = 224) -> Traced:
    """ConvNeXt-T: depthwise convolutions of 7 by 7, vmapped over the batch as Equinox's layers want it."""
    import equinox as eqx
    import optax

    class Block(eqx.Module):
        depthwise: eqx.nn.Conv2d
        norm: eqx.nn.LayerNorm
        wide: eqx.nn.Linear
        narrow: eqx.nn.Linear
        scale: jax.Array

        def __init__(self, width, key):
            one, two, three = jax.random.split(key, 3)
            self.depthwise = eqx.nn.Conv2d(width, width, 7, padding=3, groups=width, key=one)
            self.norm = eqx.nn.LayerNorm(width)
            self.wide = eqx.nn.Linear(width, 4 * width, key=two)
            self.narrow = eqx.nn.Linear(4 * width, width, key=three)
            self.scale = jnp.full((width,), 1e-6)

        def __call__(self, x):
            y = jnp.moveaxis(self.depthwise(x), 0, -1)
            each = lambda pixel: self.scale * self.narrow(jax.nn.gelu(self.wide(self.norm(pixel))))
            return x + jnp.moveaxis(jax.vmap(jax.vmap(each))(y), -1, 0)

    def make(key):
        layers, width = [], 3
        for depth, wider in zip((3, 3, 9, 3), (96, 192, 384, 768), strict=True):
            key, inner = jax.random.split(key)
            stride = 4 if width == 3 else 2
            layers.append(eqx.nn.Conv2d(width, wider, stride, stride, key=inner))
            width = wider
            for _ in range(depth):
                key, inner = jax.random.split(key)
                layers.append(Block(width, inner))
        return layers, eqx.nn.Linear(width, 1000, key=key)

    model = eqx.filter_eval_shape(make, jax.random.PRNGKey(0))
    parameters, static = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(parameters, images, labels):
        layers, head = eqx.combine(parameters, static)

        def one(image):
            for layer in layers:
                image = layer(image)
            return head(jnp.mean(image, (1, 2)))

        return cross_entropy(jax.vmap(one)(images), labels)

    return train_step(loss, optax.adamw(1e-3), parameters, spec((batch, 3, size, size)), spec((batch,), jnp.int32))


@program(CONVOLUTIONS, "keras", "optax")
def efficientnet_keras(batch: int = 64, size: int = 224) -> Traced:
    """EfficientNetV2-B0 of keras.applications through its stateless call."""
    import keras
    import optax

    # Variables are made for shapes alone: Keras's weights are drawn on a host, some 30 MB.
    model = keras.applications.EfficientNetV2B0(weights=None, input_shape=(size, size, 3), classes=1000)
    as_specs = lambda variables: [spec(each.shape, each.dtype) for each in variables]
    trained, others = as_specs(model.trainable_variables), as_specs(model.non_trainable_variables)
    optimizer = optax.adam(1e-3)

    def step(trained, others, state, images, labels):
        def loss(trained):
            predictions, changed = model.stateless_call(trained, others, images, training=True)
            return jnp.mean(keras.losses.sparse_categorical_crossentropy(labels, predictions)), changed

        (value, others), gradient = jax.value_and_grad(loss, has_aux=True)(trained)
        updates, state = optimizer.update(gradient, state)
        return optax.apply_updates(trained, updates), others, state, value

    state = shapes_of(optimizer.init, trained)
    images, labels = spec((batch, size, size, 3)), spec((batch,), jnp.int32)
    return trace(step, trained, others, state, images, labels, donate=(0, 1, 2))


@program(LAYERS, "flax", "optax", small={"batch": 2, "layers": 2})
def vit_linen(batch: int = 128, layers: int = 12) -> Traced:
    """ViT-B/16 in bf16 with dropout, f32 parameters, AdamW."""
    import flax.linen as nn
    import optax

    class Encoder(nn.Module):
        @nn.compact
        def __call__(self, x):
            y = nn.LayerNorm(dtype=jnp.bfloat16)(x)
            y = nn.MultiHeadDotProductAttention(12, dtype=jnp.bfloat16, dropout_rate=0.1, deterministic=False)(y)
            x = x + nn.Dropout(0.1, deterministic=False)(y)
            y = nn.Dense(3072, dtype=jnp.bfloat16)(nn.LayerNorm(dtype=jnp.bfloat16)(x))
            y = nn.Dropout(0.1, deterministic=False)(nn.gelu(y))
            return x + nn.Dense(768, dtype=jnp.bfloat16)(y)

    class Transformer(nn.Module):
        @nn.compact
        def __call__(self, images):
            x = nn.Conv(768, (16, 16), (16, 16), dtype=jnp.bfloat16)(images.astype(jnp.bfloat16))
            x = x.reshape(x.shape[0], -1, 768)
            token = self.param("token", nn.initializers.zeros, (1, 1, 768)).astype(jnp.bfloat16)
            x = jnp.concatenate([jnp.tile(token, (x.shape[0], 1, 1)), x], 1)
            x = x + self.param("places", nn.initializers.normal(0.02), (1, x.shape[1], 768)).astype(jnp.bfloat16)
            for _ in range(layers):
                x = Encoder()(x)
            return nn.Dense(1000)(nn.LayerNorm()(x)[:, 0])

    model = Transformer()
    images, labels = spec((batch, 224, 224, 3)), spec((batch,), jnp.int32)
    parameters = shapes_of(model.init, DRAW, images)

    def loss(parameters, images, labels, key):
        return cross_entropy(model.apply(parameters, images, rngs={"dropout": key}), labels)

    return train_step(loss, optax.adamw(1e-3), parameters, images, labels, key())


@program(LAYERS, "haiku", "optax", small={"batch": 2, "layers": 2})
def mixer_haiku(batch: int = 128, layers: int = 12) -> Traced:
    """MLP-Mixer B/16 in f32."""
    import haiku as hk
    import optax

    def network(images):
        x = hk.Conv2D(768, 16, 16)(images).reshape((images.shape[0], -1, 768))
        normalize = lambda: hk.LayerNorm(-1, True, True)
        mlp = lambda width, out: hk.Sequential([hk.Linear(width), jax.nn.gelu, hk.Linear(out)])
        for _ in range(layers):
            y = jnp.swapaxes(normalize()(x), 1, 2)
            x = x + jnp.swapaxes(mlp(384, y.shape[-1])(y), 1, 2)
            x = x + mlp(3072, 768)(normalize()(x))
        return hk.Linear(1000)(jnp.mean(normalize()(x), 1))

    model = hk.without_apply_rng(hk.transform(network))
    images, labels = spec((batch, 224, 224, 3)), spec((batch,), jnp.int32)
    parameters = shapes_of(model.init, key(), images)
    loss = lambda parameters, images, labels: cross_entropy(model.apply(parameters, images), labels)
    return train_step(loss, optax.adam(1e-3), parameters, images, labels)


@program(LAYERS, "diffusers", "optax")
def stable_diffusion_unet(batch: int = 4, size: int = 64) -> Traced:
    """The U-Net of Stable Diffusion 1.5 as diffusers' Flax classes write it: a denoising step of training, f32."""
    import optax
    from diffusers import FlaxUNet2DConditionModel

    model = FlaxUNet2DConditionModel(sample_size=size, cross_attention_dim=768, attention_head_dim=8)
    parameters = shapes_of(model.init_weights, key())
    latents, text = spec((batch, 4, size, size)), spec((batch, 77, 768))

    def loss(parameters, latents, noise, steps, text):
        kept = jnp.cos(steps / 1000.0 * jnp.pi / 2)[:, None, None, None]
        noisy = kept * latents + jnp.sqrt(1 - kept**2) * noise
        return jnp.mean((model.apply({"params": parameters}, noisy, steps, text).sample - noise) ** 2)

    return train_step(loss, optax.adamw(1e-4), parameters, latents, latents, spec((batch,), jnp.int32), text)


@program(CONVOLUTIONS, "flax", "optax", small={"batch": 2, "size": 64})
def unet_nnx(batch: int = 16, size: int = 512) -> Traced:
    """A U-Net for segmentation in Flax's NNX, with group normalization and skip connections."""
    import optax
    from flax import nnx

    class Double(nnx.Module):
        def __init__(self, inputs, outputs, rngs):
            self.one = nnx.Conv(inputs, outputs, (3, 3), rngs=rngs)
            self.two = nnx.Conv(outputs, outputs, (3, 3), rngs=rngs)
            self.norms = nnx.List([nnx.GroupNorm(outputs, num_groups=8, rngs=rngs) for _ in range(2)])

        def __call__(self, x):
            x = nnx.relu(self.norms[0](self.one(x)))
            return nnx.relu(self.norms[1](self.two(x)))

    class UNet(nnx.Module):
        def __init__(self, rngs):
            widths = (64, 128, 256, 512)
            self.down = nnx.List([Double(i, o, rngs) for i, o in zip((3, *widths), widths, strict=False)])
            self.middle = Double(512, 1024, rngs)
            pairs = list(zip((1024, 512, 256, 128), reversed(widths), strict=True))
            self.ups = nnx.List([nnx.ConvTranspose(i, o, (2, 2), (2, 2), rngs=rngs) for i, o in pairs])
            self.up = nnx.List([Double(i, o, rngs) for i, o in pairs])
            self.head = nnx.Conv(64, 21, (1, 1), rngs=rngs)

        def __call__(self, x):
            skips = []
            for block in self.down:
                skips.append(block(x))
                x = nnx.max_pool(skips[-1], (2, 2), (2, 2))
            x = self.middle(x)
            for widen, block in zip(self.ups, self.up, strict=True):
                x = block(jnp.concatenate([skips.pop(), widen(x)], -1))
            return self.head(x)

    graph, state = nnx.split(nnx.eval_shape(lambda: UNet(nnx.Rngs(0))))
    loss = lambda state, images, labels: cross_entropy(nnx.merge(graph, state)(images), labels)
    images, labels = spec((batch, size, size, 3)), spec((batch, size, size), jnp.int32)
    return train_step(loss, optax.adam(1e-4), state, images, labels)
