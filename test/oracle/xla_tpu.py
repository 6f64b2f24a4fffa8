# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""XLA for TPUs as a compiler of StableHLO modules, on a machine without one.

libtpu (xla-tpu-requirements.txt) makes code for a topology by its name. Nothing can be run.
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
from targets import MOST_DEVICES

# Chips in each direction, and how many that makes.
SHAPES = {4: "2x2x1", 8: "2x2x2"}


@functools.cache
def missing() -> str | None:
    """Why there is no XLA for TPUs here, or None."""
    if importlib.util.find_spec("libtpu") is None:
        return "XLA for TPUs is not installed (`cargo xtask setup` does, where there is a release for this machine)"
    try:
        devices("v5p", 1)
    except Exception as error:  # the library may fail to load in any way
        return f"XLA for TPUs cannot be loaded: {type(error).__name__}: {str(error)[:200]}"
    return None


@functools.cache
def devices(chip: str, count: int) -> tuple[object, ...]:
    """The first `count` devices of the smallest slice that has them."""
    shape = next(shape for size, shape in SHAPES.items() if size >= count)
    return tuple(topologies.get_topology_desc(f"{chip}:{shape}", platform="tpu").devices[:count])


def compile_module(module: ir.Module, flags: dict[str, str] | None = None, chip: str = "v5p") -> xla_client.Executable:
    """The module compiled for as many chips of a slice as it says it wants; `flags` are XLA's, for this module only."""
    replicas, partitions = xla_options.device_count(module)
    count = replicas * partitions
    if count > MOST_DEVICES:
        raise ValueError(f"the module wants {count} devices; the largest slice here has {MOST_DEVICES}")
    chosen = devices(chip, count)
    with module.context:
        options = xla_options.options(module, flags)
        return chosen[0].client.compile(
            module, executable_devices=xla_client.DeviceList(chosen), compile_options=options
        )
