# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What every back end of XLA is told of a module: how many devices it is for, and that Shardy partitions it, or GSPMD alone."""

from __future__ import annotations

import numpy as np
from jax._src import compiler
from jax._src.lib import xla_client
from jaxlib.mlir import ir


def integer_attribute(module: ir.Module, name: str, default: int) -> int:
    attributes = module.operation.attributes
    return ir.IntegerAttr(attributes[name]).value if name in attributes else default


def device_count(module: ir.Module) -> tuple[int, int]:
    """Replicas and partitions that a module is for."""
    return integer_attribute(module, "mhlo.num_replicas", 1), integer_attribute(module, "mhlo.num_partitions", 1)


def is_of_gspmd(module: ir.Module) -> bool:
    """Whether a module says its shardings as producers did before Shardy."""
    if any(op.operation.name == "sdy.mesh" for op in module.body.operations):
        return False
    text = module.operation.get_asm(large_elements_limit=8)
    return "mhlo.sharding" in text and "sdy." not in text


def options(module: ir.Module, flags: dict[str, str] | None) -> xla_client.CompileOptions:
    """Compile options for a module on its first devices; `flags` are XLA's."""
    replicas, partitions = device_count(module)
    made = compiler.get_compile_options(
        num_replicas=replicas,
        num_partitions=partitions,
        device_assignment=np.arange(replicas * partitions).reshape(replicas, partitions),
        env_options_overrides=flags,
    )
    build = made.executable_build_options
    build.use_spmd_partitioning = partitions > 1
    build.use_shardy_partitioner = partitions > 1 and not is_of_gspmd(module)
    return made
