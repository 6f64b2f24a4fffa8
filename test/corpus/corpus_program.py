# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program of the corpus is, and what its makers share: shapes instead of arrays, and one step of training.

A program is made by a function whose parameters are sizes; it imports its library itself, so that a library that is
not there costs its own programs alone. Nothing is computed: parameters come of jax.eval_shape."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Equinox's checks call back into Python, which is lowered for the machine that lowers alone.
os.environ.setdefault("EQX_ON_ERROR", "nan")
# NetKet would make a mesh of all devices the default.
os.environ.setdefault("NETKET_SHARDING", "0")
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

Traced = jax.stages.Traced
Tree = object
"""What JAX calls a pytree."""


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of somebody's library, at the size people run it."""

    make: Callable[..., Traced]
    family: str
    """What stays at its peak, in the words of the table that docs/benchmarks.md prints."""
    packages: tuple[str, ...]
    """Modules that it imports, beyond JAX."""
    devices: int
    wide: bool
    """Whether it computes with 64 bits: jax_enable_x64."""
    small: dict[str, int] | None
    """Sizes at which XLA compiles it in some seconds; None leaves it out of the tests' sample."""

    def lower(self, platform: str, **sizes: int) -> str:
        """The module's text as JAX lowers it for cpu or cuda, with the lines it comes from."""
        with jax.enable_x64(self.wide):
            text = self.make(**sizes).lower(lowering_platforms=(platform,)).as_text(debug_info=True)
        found = PARTITIONS.search(text)
        # A library may choose a mesh for whatever comes after it.
        if found is None or int(found[1]) != self.devices:
            raise ValueError(f"lowered for {found[1] if found else 'an unknown number of'} devices, not {self.devices}")
        return text


PARTITIONS = re.compile(r"mhlo\.num_partitions = (\d+)")
PROGRAMS: dict[str, Program] = {}


def program(
    family: str, *packages: str, devices: int = 1, wide: bool = False, small: dict[str, int] | None = None
) -> Callable[[Callable[..., Traced]], Callable[..., Traced]]:
    """Registers a maker under its function's name."""

    def register(make: Callable[..., Traced]) -> Callable[..., Traced]:
        PROGRAMS[make.__name__] = Program(make, family, packages, devices, wide, small)
        return make

    return register


# --- shapes ---------------------------------------------------------------------------------------------------------


def spec(shape: tuple[int, ...], dtype: object = jnp.float32, sharding: object = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def key() -> jax.ShapeDtypeStruct:
    """The raw key of a random generator."""
    return spec((2,), jnp.uint32)


def shapes_of(function: Callable, *arguments: object, **named: object) -> Tree:
    """What a function returns, by shapes alone."""
    return jax.eval_shape(function, *arguments, **named)


def in_type(tree: Tree, dtype: object) -> Tree:
    """Floats of a tree of shapes as another type."""

    def cast(leaf: jax.ShapeDtypeStruct) -> jax.ShapeDtypeStruct:
        floating = jnp.issubdtype(leaf.dtype, jnp.floating)
        return spec(leaf.shape, dtype, getattr(leaf, "sharding", None)) if floating else leaf

    return jax.tree.map(cast, tree)


def trace(function: Callable, *arguments: object, donate: tuple[int, ...] = ()) -> Traced:
    return jax.jit(function, donate_argnums=donate).trace(*arguments)


# --- training -------------------------------------------------------------------------------------------------------


def train_step(loss: Callable, optimizer: object, parameters: Tree, *batch: object) -> Traced:
    """One step with an optax optimizer: `loss(parameters, *batch)`, its gradient, the update; parameters and state are
    donated."""
    import optax

    def step(parameters: Tree, state: Tree, *batch: object) -> tuple[Tree, Tree, jax.Array]:
        value, gradient = jax.value_and_grad(loss)(parameters, *batch)
        updates, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, updates), state, value

    return trace(step, parameters, shapes_of(optimizer.init, parameters), *batch, donate=(0, 1))


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    import optax

    return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(logits.astype(jnp.float32), labels))


# --- devices --------------------------------------------------------------------------------------------------------


def mesh(**axes: int) -> Mesh:
    """A mesh of virtual devices: names of axes, and devices along each."""
    count = int(np.prod(list(axes.values())))
    return Mesh(np.asarray(jax.devices()[:count]).reshape(tuple(axes.values())), tuple(axes))


def laid_out(tree: Tree, devices: Mesh, spec_of: Callable[[jax.ShapeDtypeStruct], PartitionSpec]) -> Tree:
    """A tree of shapes with a sharding for each leaf."""
    return jax.tree.map(lambda leaf: spec(leaf.shape, leaf.dtype, NamedSharding(devices, spec_of(leaf))), tree)
