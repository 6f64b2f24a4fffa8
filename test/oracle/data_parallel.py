# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random training steps whose batch is cut among four devices, before and after --slimhlo-data-parallel.

    python test/oracle/data_parallel.py --opt target/debug/slimhlo-opt --count 60 --seed 1

The networks are batch_slices.py's, with layers that are scanned or computed again, dropout, and constraints, on a mesh of
two by two virtual CPU devices: the batch is cut along one axis or both, parameters are whole, and results as the pass has
them. Each device has its part of what one device computes of it all. (Not of what XLA's partitioner makes of the program: of a
convolution in groups, whose gradient has `batch_group_count`, that of jaxlib 0.10.2 adds up too little where the batch is cut.)
"""

from __future__ import annotations

import dataclasses
import sys

import xla_cpu  # noqa: F401  # first: it sets the flags with which JAX starts

# isort: split
import jax
import jax.numpy as jnp
import numpy as np
from batch_slices import SIMPLE, Array, Layer, Weights, draw, program
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sharded_streams import run
from stream import PassTest, Program, Source, difference, largest_of
from stream import run as run_alone

CHANGED_SHARE = 0.5
PASS = "--slimhlo-data-parallel=target=h100"
AXES = (("x", "y"), "x")


def scanned(x: Array, w: Weights) -> Array:
    def layer(h: Array, weight: Array) -> tuple[Array, Array]:
        h = jnp.tanh(h @ weight)
        return h, h.mean(-1)

    last, means = lax.scan(layer, x, w(3, x.shape[-1], x.shape[-1]))
    return last + means.sum(0)[..., None]


def again(x: Array, w: Weights) -> Array:
    def layer(h: Array, one: Array, other: Array) -> Array:
        return jnp.tanh(h @ one) @ other

    return jax.checkpoint(layer)(x, w(x.shape[-1], 8), w(8, x.shape[-1]))


def dropped(x: Array, w: Weights) -> Array:
    kept = jax.random.bernoulli(jax.random.key(3), 0.8, x.shape)
    return jnp.where(kept, x * w(x.shape[-1]), 0)


def turned_often(x: Array, w: Weights) -> Array:
    scale = w(x.shape[-1])
    return lax.fori_loop(0, 3, lambda _, h: jnp.tanh(h * scale), x)


def constrained(cut: NamedSharding) -> Layer:
    def layer(x: Array, w: Weights) -> Array:
        x = x * w(x.shape[-1])
        # Not where parameters are drawn, of a batch that may not fall into as many parts.
        return lax.with_sharding_constraint(x, cut) if isinstance(x, jax.core.Tracer) else x

    return layer


def as_they_are(x: Array, w: Weights) -> Array:
    return x * w(x.shape[-1])


LAYERS = (scanned, again, dropped, turned_often)


def generate(count: int, seed: int) -> list[Program]:
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    programs = []
    for number in range(count):
        source = Source(seed * 100_003 + number)
        axes = AXES[number % len(AXES)]
        batch, none = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in ((axes,), ()))
        step = draw(source, number, (*LAYERS, constrained(batch)))
        if step.batch % (4 if axes == ("x", "y") else 2):
            continue
        alone = draw(Source(seed * 100_003 + number), number, (*LAYERS, as_they_are))
        parameters = none if source.random.integers(2) == 0 else None
        # Parameters, then data, table, rows, labels, mask.
        cuts = (*(parameters for _ in range(step.weights)), batch, parameters, batch, batch, batch)
        made = program(step, 1, in_shardings=cuts)
        programs.append(dataclasses.replace(made, reference=program(alone, 1).text))
    return programs


def on_devices(each: Program, _: str, after: str) -> tuple[list[str], bool]:
    """What is not as on one device, and whether all bits are."""
    try:
        alone, found = run_alone(each.reference, each.inputs), run(after, each.inputs).results
    except Exception as error:  # XLA's errors have no common base
        return [f"it does not run: {error}"], False
    largest = largest_of(alone)
    pairs = []
    for whole, shards in zip(alone, found, strict=True):
        for device, shard in enumerate(shards):
            parts = whole.shape[0] // shard.shape[0] if whole.ndim and whole.shape != shard.shape else 1
            # Devices count up along the second axis first.
            pairs.append((np.split(whole, parts)[device * parts // 4] if parts > 1 else whole, shard))
    same = all(one.tobytes() == two.tobytes() for one, two in pairs)
    return [text for one, two in pairs if (text := difference(each, one, two, largest))], same


def main() -> int:
    jax.config.update("jax_enable_x64", True)
    return PassTest(PASS, generate, CHANGED_SHARE, SIMPLE, on_devices, " on 4 devices, or one").main(__doc__, 60)


if __name__ == "__main__":
    sys.exit(main())
