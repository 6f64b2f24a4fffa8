# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA for CPU as a compiler of StableHLO modules, with virtual devices for partitioned ones."""

from __future__ import annotations

import os

DEVICES = 8
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}"

import numpy as np
from jax._src import compiler, xla_bridge
from jax._src.interpreters import mlir as jax_mlir
from jax._src.lib import xla_client
from jaxlib.mlir import ir

import jaxlib_ir


def integer_attribute(module: ir.Module, name: str, default: int) -> int:
    attributes = module.operation.attributes
    return ir.IntegerAttr(attributes[name]).value if name in attributes else default


def compile_module(module: ir.Module) -> xla_client.LoadedExecutable:
    """The module compiled for as many virtual CPU devices as it says it wants."""
    replicas = integer_attribute(module, "mhlo.num_replicas", 1)
    partitions = integer_attribute(module, "mhlo.num_partitions", 1)
    backend = xla_bridge.get_backend("cpu")
    devices = backend.local_devices()
    if replicas * partitions > len(devices):
        raise ValueError(f"the module wants {replicas * partitions} devices; XLA_FLAGS gives {len(devices)}")
    options = compiler.get_compile_options(
        num_replicas=replicas,
        num_partitions=partitions,
        device_assignment=np.arange(replicas * partitions).reshape(replicas, partitions),
    )
    build = options.executable_build_options
    build.use_spmd_partitioning = partitions > 1
    build.use_shardy_partitioner = partitions > 1
    chosen = xla_client.DeviceList(tuple(devices[: replicas * partitions]))
    with module.context:
        return backend.compile_and_load(jax_mlir.module_to_bytecode(module), chosen, options)


def compile_text(text: str) -> xla_client.LoadedExecutable:
    return compile_module(jaxlib_ir.parse(text))
