# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Evolution strategies and reinforcement learning: evosax, mctx, rlax; and training on several devices."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

from corpus_program import Traced, cross_entropy, key, mesh, program, shapes_of, spec, trace, train_step

POPULATIONS = "a population of parameters"
SEARCH = "trees of searches, and sequences of a recurrent agent"
CONVOLUTIONS = "activations of convolutions and pooling"


def policy():
    """A convolutional policy of some 800,000 parameters."""
    import flax.linen as nn

    class Policy(nn.Module):
        @nn.compact
        def __call__(self, x):
            for channels, stride in ((32, 4), (64, 2), (64, 1)):
                x = nn.relu(nn.Conv(channels, (3, 3), (stride, stride), padding="SAME")(x))
            return nn.Dense(10)(nn.relu(nn.Dense(96)(x.reshape((x.shape[0], -1)))))

    return Policy()


def strategy_step(name: str, population: int, images: int) -> Traced:
    """A generation: members drawn, each judged on the same images, the strategy told."""
    import evosax.algorithms as algorithms

    model = policy()
    parameters = shapes_of(model.init, key(), spec((1, 64, 64, 3)))
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), parameters)
    strategy = getattr(algorithms, name)(population, zeros)
    settings = strategy.default_params
    state = shapes_of(lambda key: strategy.init(key, zeros, settings), key())

    def generation(key, state, images, labels):
        ask, tell = jax.random.split(key)
        members, state = strategy.ask(ask, state, settings)
        loss = lambda parameters: cross_entropy(model.apply(parameters, images), labels)
        fitness = jax.vmap(loss)(members)
        state, _ = strategy.tell(tell, members, fitness, state, settings)
        return state, fitness

    return trace(generation, key(), state, spec((images, 64, 64, 3)), spec((images,), jnp.int32), donate=(1,))


@program(POPULATIONS, "evosax", "flax", small={"population": 4, "images": 2})
def open_es_evosax(population: int = 256, images: int = 64) -> Traced:
    """OpenAI's evolution strategy with antithetic noise."""
    return strategy_step("Open_ES", population, images)


@program(POPULATIONS, "evosax", "flax", small={"population": 4, "images": 2})
def gradientless_pgpe_evosax(population: int = 512, images: int = 16) -> Traced:
    """Policy gradients with parameter-based exploration."""
    return strategy_step("PGPE", population, images)


@program(SEARCH, "mctx", "haiku", small={"batch": 4, "simulations": 4})
def gumbel_muzero_mctx(batch: int = 1024, simulations: int = 64) -> Traced:
    """Gumbel MuZero's search with networks for dynamics and values: trees of embeddings of all simulations."""
    import haiku as hk
    import mctx

    actions, size = 18, 512
    inner = hk.without_apply_rng(hk.transform(
        lambda x: (hk.nets.MLP([1024, size])(x), hk.Linear(actions)(x), hk.Linear(1)(x)[:, 0], hk.Linear(1)(x)[:, 0])
    ))  # fmt: skip
    parameters = shapes_of(inner.init, key(), spec((1, size + actions)))

    def search(parameters, key, embedding, logits, value):
        def step(parameters, key, action, embedding):
            told = jnp.concatenate([embedding, jax.nn.one_hot(action, actions)], -1)
            embedding, logits, value, reward = inner.apply(parameters, told)
            discount = jnp.full_like(reward, 0.99)
            return mctx.RecurrentFnOutput(reward=reward, discount=discount, prior_logits=logits, value=value), embedding

        root = mctx.RootFnOutput(prior_logits=logits, value=value, embedding=embedding)
        found = mctx.gumbel_muzero_policy(parameters, key, root, step, num_simulations=simulations)
        return found.action, found.action_weights

    shapes = spec((batch, size)), spec((batch, actions)), spec((batch,))
    return trace(search, parameters, key(), *shapes)


@program(SEARCH, "haiku", "optax", "rlax", small={"batch": 2, "steps": 6})
def recurrent_replay_rlax(batch: int = 64, steps: int = 80) -> Traced:
    """R2D2: frames through convolutions and an LSTM over sequences, n-step double Q-learning with transformed targets."""
    import haiku as hk
    import optax
    import rlax

    actions = 18

    def network(frames, state):
        x = frames.reshape((-1, 84, 84, 4)).astype(jnp.float32) / 255
        for channels, kernel, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
            x = jax.nn.relu(hk.Conv2D(channels, kernel, stride, padding="VALID")(x))
        x = jax.nn.relu(hk.Linear(512)(hk.Flatten()(x))).reshape((*frames.shape[:2], 512))
        x, _ = hk.dynamic_unroll(hk.LSTM(512), x, state)
        return hk.Linear(actions)(x) + hk.Linear(1)(x)

    model = hk.without_apply_rng(hk.transform(network))
    frames = spec((steps, batch, 84, 84, 4), jnp.uint8)
    state = hk.LSTMState(spec((batch, 512)), spec((batch, 512)))
    parameters = shapes_of(model.init, key(), frames, state)

    def loss(parameters, older, frames, state, taken, rewards, discounts):
        values, targets = model.apply(parameters, frames, state), model.apply(older, frames, state)

        def one(values, targets, taken, rewards, discounts):
            errors = rlax.transformed_n_step_q_learning(
                values[:-1], taken[:-1], targets[1:], jnp.argmax(values[1:], -1), rewards[:-1], discounts[:-1], 5,
            )  # fmt: skip
            return jnp.mean(errors**2)

        return jnp.mean(jax.vmap(one, 1)(values, targets, taken, rewards, discounts))

    flat = lambda dtype=jnp.float32: spec((steps, batch), dtype)
    return train_step(loss, optax.adam(1e-4), parameters, parameters, frames, state, flat(jnp.int32), flat(), flat())


@program(CONVOLUTIONS, "flax", "optax", devices=4, small={"batch": 16, "size": 64})
def data_parallel_linen(batch: int = 512, size: int = 128) -> Traced:
    """A deep residual network without normalization over batches, its batch on four devices: gradients are reduced."""
    import flax.linen as nn
    import optax

    class Network(nn.Module):
        @nn.compact
        def __call__(self, x):
            for width in (64, 128, 256, 512):
                x = nn.Conv(width, (3, 3), (2, 2))(x)
                for _ in range(2):
                    y = nn.Conv(width, (3, 3))(nn.relu(nn.GroupNorm(16)(x)))
                    x = x + nn.Conv(width, (3, 3))(nn.relu(nn.GroupNorm(16)(y)))
            return nn.Dense(1000)(jnp.mean(x, (1, 2)))

    model = Network()
    cut = jax.NamedSharding(mesh(data=4), P("data"))
    images, labels = spec((batch, size, size, 3), sharding=cut), spec((batch,), jnp.int32, cut)
    parameters = shapes_of(model.init, key(), spec((1, size, size, 3)))
    loss = lambda parameters, images, labels: cross_entropy(model.apply(parameters, images), labels)
    return train_step(loss, optax.adamw(1e-3), parameters, images, labels)
