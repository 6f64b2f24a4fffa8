# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs as JAX's users have them, functions with their arguments: of JAX's own test harnesses, and the reference
programs at their small sizes. Results of two ways to compile one are held against each other."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optimize
from jax.extend.core import jaxpr_as_fun


def plain(value: Any) -> np.ndarray:
    """A result as NumPy has it; keys as their data."""
    if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
        value = jax.random.key_data(value)
    return np.asarray(value)


def flat(results: Any) -> list[np.ndarray]:
    return [plain(each) for each in jax.tree.leaves(results)]


# Inside a fusion LLVM contracts a product and a sum, and what fuses with what changes as ops go.
UNFUSED = {"xla_disable_hlo_passes": "fusion,cpu-instruction-fusion"}


def differ(pair: list[Any], make_args: Callable[[], tuple[Any, ...]]) -> str | None:
    """How results of two jitted functions, ours and theirs, differ by more than `optimize.difference` allows, or None."""
    lowered = [each.lower(*make_args()) for each in pair]
    rule = optimize.Rule.of(lowered[1].as_text())
    ours, theirs = (each(*make_args()) for each in pair)
    if jax.tree.structure(ours) != jax.tree.structure(theirs):
        return "another structure"
    ours, theirs = flat(ours), flat(theirs)
    fine = ("same", "order")
    found = optimize.difference(theirs, ours, rule)
    if found in fine:
        return None
    if optimize.difference(theirs, flat(pair[1](*make_args())), optimize.Rule()) != "same":
        return None  # from one run to the next, too
    ours, theirs = (flat(each.compile(UNFUSED)(*make_args())) for each in lowered)
    return None if optimize.difference(theirs, ours, rule) in fine else found


Case = tuple[str, Callable, tuple[Any, ...], tuple[int, ...]]
"""A name, a function, its arguments, which of them are donated."""


def harnesses(count: int) -> list[tuple[str, Callable[[], Case]]]:
    from jax._src.internal_test_util import test_harnesses

    every = list(enumerate(test_harnesses.all_harnesses))
    chosen = every if count >= len(every) else sorted(random.Random(0).sample(every, count), key=lambda each: each[0])

    def make(number: int, harness: Any) -> Callable[[], Case]:
        def case() -> Case:
            args = harness.dyn_args_maker(np.random.RandomState(number))
            return harness.fullname, harness.dyn_fun, tuple(args), ()

        return case

    return [(f"{number:05d} {harness.fullname}", make(number, harness)) for number, harness in every_of(chosen)]


def every_of(chosen: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Those that JAX says it does on a CPU."""
    on_cpu = lambda harness: (
        not any(limit.filter(device="cpu", dtype=harness.dtype) for limit in harness.jax_unimplemented)
    )
    return [(number, harness) for number, harness in chosen if on_cpu(harness)]


def filled(spec: Any, below: int, source: np.random.Generator) -> Any:
    """An argument of a reference program; integers are indices."""
    if jnp.issubdtype(spec.dtype, jnp.integer):
        value = source.integers(0, max(below, 1), spec.shape).astype(spec.dtype)
    elif jnp.issubdtype(spec.dtype, jnp.bool_):
        value = source.integers(0, 2, spec.shape).astype(bool)
    else:
        # As `optimize.inputs` has them.
        value = source.standard_normal(spec.shape, np.float32).astype(spec.dtype)
    return jax.device_put(value, spec.sharding) if getattr(spec, "sharding", None) is not None else jnp.asarray(value)


def reference(name: str) -> Case:
    """A reference program at its small size, as a function of flat arguments."""
    import programs

    program = programs.PROGRAMS[name]
    traced = program.make(**program.small)
    info = jax.tree.leaves(traced.args_info)
    source = np.random.default_rng(0)
    args = tuple(filled(each, program.below, source) for each in info)
    return name, jaxpr_as_fun(traced.jaxpr), args, tuple(i for i, each in enumerate(info) if each.donated)


def fresh(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same again, for a call that may take them."""
    return jax.tree.map(lambda leaf: leaf + 0 if isinstance(leaf, jax.Array) and leaf.dtype != bool else leaf, args)
