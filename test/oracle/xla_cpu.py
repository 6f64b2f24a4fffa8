# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA for CPU as a compiler of StableHLO modules, with virtual devices for partitioned ones."""

from __future__ import annotations

import collections
import math
import re
from collections.abc import Sequence

import jax_start

jax_start.start()

import jax
import numpy as np
from jax._src import sharding_impls, xla_bridge
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import lapack, xla_client
from jaxlib.mlir import ir

import jaxlib_ir
import xla_options

# JAX does so when it lowers a decomposition; a module that comes as text calls into nothing without it.
lapack._lapack.initialize()


def missing() -> str | None:
    """None: jaxlib has it built in."""
    return None


def compile_module(
    module: ir.Module, flags: dict[str, str] | None = None, _chip: None = None
) -> xla_client.LoadedExecutable:
    """The module compiled for as many virtual CPU devices as it says it wants; `flags` are XLA's, for this module only."""
    replicas, partitions = xla_options.device_count(module)
    backend = xla_bridge.get_backend("cpu")
    devices = backend.local_devices()
    if replicas * partitions > len(devices):
        raise ValueError(f"the module wants {replicas * partitions} devices; XLA_FLAGS gives {len(devices)}")
    chosen = xla_client.DeviceList(tuple(devices[: replicas * partitions]))
    with module.context:
        options = xla_options.options(module, flags)
        return backend.compile_and_load(jax_mlir.module_to_bytecode(module), chosen, options)


def compile_text(text: str) -> xla_client.LoadedExecutable:
    return compile_module(jaxlib_ir.parse(text))


# What a collective makes, one array or several that XLA's combiners have put together, and its name.
COLLECTIVE = re.compile(r"= (\([^()]*\)|\S+) (all-[a-z-]+?|collective-[a-z]+|reduce-scatter)(?:-start)?\(")
ARRAY = re.compile(r"[a-z]\w*\[([0-9,]*)\]")


def collectives(executable: xla_client.LoadedExecutable) -> tuple[collections.Counter[str], collections.Counter[str]]:
    """For each kind of collective how many arrays, and how many elements, those of a compiled module make. Ops would not tell: XLA
    puts some of them into one."""
    arrays: collections.Counter[str] = collections.Counter()
    elements: collections.Counter[str] = collections.Counter()
    for made, name in COLLECTIVE.findall(executable.hlo_modules()[0].to_string()):
        for shape in ARRAY.findall(made):
            arrays[name] += 1
            elements[name] += math.prod(int(size) for size in shape.split(",") if size)
    return arrays, elements


def place(executable: xla_client.LoadedExecutable, arrays: Sequence[np.ndarray]) -> list[jax.Array]:
    """Arguments of a compiled module on its devices, each a copy that may be donated."""
    devices = executable.local_devices()
    if len(devices) == 1:
        shardings = [jax.sharding.SingleDeviceSharding(devices[0])] * len(arrays)
    else:
        shardings = [sharding_impls.GSPMDSharding(devices, each) for each in executable.get_parameter_shardings()]
    placed = [
        jax.device_put(array, sharding, may_alias=False) for array, sharding in zip(arrays, shardings, strict=True)
    ]
    return jax.block_until_ready(placed)


def run(executable: xla_client.LoadedExecutable, arrays: Sequence[np.ndarray]) -> list[list[np.ndarray]]:
    """Results of a compiled module, each as the shards that its devices hold."""
    done = executable.execute_sharded(place(executable, arrays)).disassemble_into_single_device_arrays()
    return [[np.asarray(shard) for shard in shards] for shards in done]
