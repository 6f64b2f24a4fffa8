# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA for NVIDIA GPUs as a compiler of StableHLO modules, on a machine without one.

JAX's CUDA plugin (xla-gpu-requirements.txt) makes code from a chip's description alone. Nothing can be run. Kernels are not
tuned, for that takes a GPU: which library a product goes to may differ on one, and the tiles of products do.
"""

from __future__ import annotations

import functools
import importlib.util

import jax_start

jax_start.start()

from jax._src.lib import xla_client
from jax.experimental import topologies
from jaxlib.mlir import ir

import xla_options
from targets import H100, MOST_DEVICES, Gpu

# Tuning runs candidates on the device.
FLAGS = {"xla_gpu_autotune_level": "0"}

# The same for all three chips: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability". CUDA and cuDNN
# are the releases that JAX 0.10.2 asks for (its metadata: extra with-cuda of jax-cuda12-plugin).
DESCRIPTION = """
gpu_device_info {{
  threads_per_block_limit: 1024 threads_per_warp: 32 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_core: {chip.shared_memory_per_core}
  shared_memory_per_block_optin: {chip.shared_memory_per_block_optin}
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  core_count: {chip.core_count} fpus_per_core: {chip.fpus_per_core} clock_rate_ghz: {chip.clock_rate_ghz}
  memory_bandwidth: {chip.memory_bandwidth} l2_cache_size: {chip.l2_cache_size}
  device_memory_size: {chip.device_memory_size}
  cuda_compute_capability {{ major: {chip.capability[0]} minor: {chip.capability[1]} feature_extension: {extension} }}
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 10 }}
runtime_version {{ major: 12 minor: 9 patch: 0 }}
device_description_str: "{chip.name}"
"""


def description(chip: Gpu) -> str:
    """A chip in the words of XLA's GpuTargetConfigProto."""
    # From Hopper on code is made for the very chip (sm_90a), with instructions that later ones do not have.
    return DESCRIPTION.format(chip=chip, extension="ACCELERATED_FEATURES" if chip.capability[0] >= 9 else "NONE")


@functools.cache
def missing() -> str | None:
    """Why there is no XLA for GPUs here, or None."""
    if importlib.util.find_spec("jax_cuda12_plugin") is None:
        return "XLA for GPUs is not installed (`cargo xtask setup` does, where there is a release for this machine)"
    try:
        devices(H100, 1)
    except Exception as error:  # a plugin may fail to load in any way
        return f"XLA for GPUs cannot be loaded: {type(error).__name__}: {str(error)[:200]}"
    return None


@functools.cache
def devices(chip: Gpu, count: int) -> tuple[object, ...]:
    found = topologies.get_topology_desc(
        platform="cuda", target_config=description(chip), topology=f"1x1x{count}"
    ).devices
    return tuple(found)


def compile_module(module: ir.Module, flags: dict[str, str] | None = None, chip: Gpu = H100) -> xla_client.Executable:
    """The module compiled for as many GPUs of a board as it says it wants; `flags` are XLA's, for this module only."""
    replicas, partitions = xla_options.device_count(module)
    count = replicas * partitions
    if count > MOST_DEVICES:
        raise ValueError(f"the module wants {count} devices; a board has {MOST_DEVICES}")
    chosen = devices(chip, count)
    with module.context:
        options = xla_options.options(module, FLAGS | (flags or {}))
        return chosen[0].client.compile(
            module, executable_devices=xla_client.DeviceList(chosen), compile_options=options
        )
