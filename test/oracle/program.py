# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a reference program is: how to lower it, and what it is to come down to on each kind of target. programs.py has all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax_start

jax_start.start()

import jax
import jax.numpy as jnp

jax.config.update("jax_enable_x64", True)

Array = jax.Array
Lowered = jax.stages.Lowered
Traced = jax.stages.Traced


@dataclasses.dataclass(frozen=True)
class Goal:
    """What a compiled program is to need at most; what is None is not asked for."""

    ratio: float | None = None
    """(arguments + results + temporaries - aliases) over the same without temporaries."""
    temporaries: float | None = None
    """MiB per device."""
    all_gathers: int | None = None
    permuted: int | None = None
    """Bytes that the largest collective permute hands on."""
    broadcasts: int | None = None
    """Broadcasts of a scalar into a buffer, outside of fusions."""
    time: float | None = None
    """Of XLA's alone, by the estimate; None leaves it to the bound that holds for all programs."""


@dataclasses.dataclass(frozen=True)
class Program:
    """How to lower a program, at full size or at another one."""

    make: Callable[..., Traced]
    goals: dict[str, Goal]
    """By the kind of target: cpu, gpu, tpu. Where there is none, XLA alone is to be equalled."""
    below: int
    """Integer inputs are indices: at least 0 and less than this."""
    small: dict[str, int]
    """Parameters of `make` at which the program runs in about a second."""

    def __call__(self, platform: str = "cpu") -> Lowered:
        """As JAX lowers it for cpu, cuda or tpu, at full size."""
        return self.lower(platform)

    def lower(self, platform: str = "cpu", **sizes: int) -> Lowered:
        return self.make(**sizes).lower(lowering_platforms=(platform,))

    def lower_small(self, platform: str = "cpu") -> Lowered:
        return self.lower(platform, **self.small)


PROGRAMS: dict[str, Program] = {}
VARIANTS: dict[str, Program] = {}
"""More of a kind for targets that store what a CPU's libraries hide; tests and the table for CPUs do without them."""


def program(
    goal: Goal | None = None, below: int = 1, *, gpu: Goal | None = None, **small: int
) -> Callable[[Callable[..., Traced]], Program]:
    """Registers a program under its function's name, with its goals under XLA for CPU and for GPUs."""
    goals = {kind: each for kind, each in (("cpu", goal), ("gpu", gpu)) if each is not None}

    def register(make: Callable[..., Traced]) -> Program:
        PROGRAMS[make.__name__] = Program(make, goals, below, small)
        return PROGRAMS[make.__name__]

    return register


def spec(shape: tuple[int, ...], dtype: object = jnp.float32, sharding: object = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
