# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random networks and their gradients on four devices, before and after --slimhlo-rematerialize.

    python test/oracle/sharded_networks.py --opt target/debug/slimhlo-opt --count 60 --seed 1

The networks are batch_slices.py's, on a mesh of two by two virtual CPU devices: the batch is cut along one axis or both,
parameters and results along any of their dimensions, or not at all. The pass is asked to spare no time, for XLA for GPUs, and what it
makes runs under XLA for CPU: each device has the same shards of the same results, but that partitioners may add up in
another order what they cut otherwise.
"""

from __future__ import annotations

import sys

import xla_cpu  # noqa: F401  # first: it sets the flags with which JAX starts

# isort: split
import jax
import numpy as np
from batch_slices import SIMPLE, Step, draw, program
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from sharded_streams import run, sharding
from stream import PassTest, Program, Source, difference, largest_of

CHANGED_SHARE = 0.3
PASS = "--slimhlo-rematerialize=target=h100 moves=1000000000 windows=3"


def cuts_of(source: Source, step: Step, mesh: Mesh) -> tuple[NamedSharding, ...]:
    """Parameters and the table of rows as it comes, what has a batch along that."""
    whole = step.batch % 4 == 0 and source.random.integers(3) == 0
    batch = NamedSharding(mesh, PartitionSpec(("x", "y") if whole else "x"))
    none = NamedSharding(mesh, PartitionSpec())
    # Data, table, rows, labels, mask.
    rest = (batch, none, batch, batch, batch)
    weights = step.inputs[: step.weights]
    return (*(sharding(source, value.shape, mesh) for value in weights), *rest)


def generate(count: int, seed: int) -> list[Program]:
    mesh = Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("x", "y"))
    programs = []
    for number in range(count):
        source = Source(seed * 100_003 + number)
        step = draw(source, number)
        made = jax.eval_shape(step.function, *step.inputs)
        out = jax.tree.map(lambda result, source=source: sharding(source, result.shape, mesh), made)
        programs.append(program(step, 1, in_shardings=cuts_of(source, step, mesh), out_shardings=out))
    return programs


def on_devices(each: Program, before: str, after: str) -> tuple[list[str], bool]:
    """What is not as it was on some device, and whether all bits are."""
    try:
        old, new = run(before, each.inputs).results, run(after, each.inputs).results
    except Exception as error:  # XLA's errors have no common base
        return [f"it does not run: {error}"], False
    largest = largest_of(shard for shards in old for shard in shards)
    pairs = [pair for one, two in zip(old, new, strict=True) for pair in zip(one, two, strict=True)]
    same = all(one.tobytes() == two.tobytes() for one, two in pairs)
    return [text for one, two in pairs if (text := difference(each, one, two, largest))], same


def main() -> int:
    jax.config.update("jax_enable_x64", True)
    # Asked to spare no time, the pass finds more to compute again in what it made.
    test = PassTest(PASS, generate, CHANGED_SHARE, SIMPLE, on_devices, " on 4 devices", settles=False)
    return test.main(__doc__, 60)


if __name__ == "__main__":
    sys.exit(main())
