# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`slimhlo.jit`: `jax.jit` with slimhlo between JAX and the compiler, on every back end, by JAX's public interfaces.

A `jax.jit` around it does what `jax.jit` does: finds out what is static and what donated, caches, dispatches. What that one traces is not the
user's function but a call of what `jax.export` makes of it, with a smaller module inside. `jax.export` has to be told where arguments are, which
the one that traces does not know; so there is one `jax.jit` for each way in which arguments have been spread over devices.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
from jax.extend.core import get_opaque_trace_state, jaxprs_in_params
from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding

from slimhlo import _slimhlo

_log = logging.getLogger("slimhlo")

THRESHOLD = 16 << 20
"""Bytes of peak below which programs are left alone."""


class NotOptimizedWarning(UserWarning):
    """A function is compiled as `jax.jit` would compile it, and the message says why."""


with jax.core.eval_context():
    _UNTRACED = get_opaque_trace_state()
"""What JAX is in when no function is being traced, batched or differentiated."""

# What is exported is called here and now, and never kept: it may call whatever this machine has.
_ANY_CALL = jax.export.DisabledSafetyCheck.custom_call("ALL")

_SHARED = ("in_shardings", "out_shardings", "static_argnums", "static_argnames", "keep_unused")
"""Arguments of jax.jit that say what a function is handed and hands back."""

Where = tuple[str, tuple[Sharding | None, ...]]
"""The platform, and for each leaf of the arguments where it is, if that is settled."""


def platform_of(sharding: Sharding) -> str:
    """What JAX lowers for to compile for these devices: `cuda`, `rocm`, `tpu`, `cpu`."""
    device = next(iter(sharding.device_set))
    if device.platform != "gpu":
        return device.platform
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def default_platform() -> str:
    """The same for arguments of which nobody says where they are to be."""
    default = jax.config.jax_default_device
    if isinstance(default, str):
        return default
    return platform_of(jax.sharding.SingleDeviceSharding(default or jax.local_devices()[0]))


def settled(leaf: Any) -> Sharding | None:
    """Where a leaf of the arguments is, or will be, if that is not JAX's to choose."""
    if isinstance(leaf, jax.Array):
        return leaf.sharding if leaf.committed else None
    return leaf.sharding if isinstance(leaf, jax.ShapeDtypeStruct) else None


def _mesh_in(jaxpr: Any) -> Mesh | None:
    """The devices that a function names inside of it."""
    for equation in jaxpr.eqns:
        for value in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda x: isinstance(x, Sharding | Mesh)):
            mesh = value.mesh if isinstance(value, NamedSharding) else value
            if isinstance(mesh, Mesh) and not mesh.empty:
                return mesh
        for inner in jaxprs_in_params(equation.params):
            if mesh := _mesh_in(getattr(inner, "jaxpr", inner)):
                return mesh
    return None


@dataclasses.dataclass(frozen=True)
class Options:
    """What slimhlo is asked for."""

    target: str | None
    max_slowdown: float | None
    threshold: int
    time_limit: float | None


class Jit:
    """A function that is compiled with slimhlo when it is called. It has what `jax.jit` returns has: `lower`, `trace`, `eval_shape`,
    `clear_cache`, and is one for `jax.export.export`."""

    def __init__(self, fun: Callable, options: Options, words: dict[str, Any]):
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._options = options
        self._words = words
        # Donation is in the exported module, too: slimhlo writes over what is donated.
        donated = {name: words[name] for name in ("donate_argnums", "donate_argnames") if name in words}
        shared = {name: words[name] for name in _SHARED if name in words}
        self._plain = jax.jit(fun, **words)
        self._exported = jax.jit(fun, **shared, **donated)
        self._jits: dict[Where, Any] = {}

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._for(args, kwargs)(*args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """As `jax.jit`'s: the module is the one that slimhlo has made smaller."""
        return self._for(args, kwargs).lower(*args, **kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> jax.stages.Traced:
        """As `jax.jit`'s, for the platform of the arguments."""
        return self._for(args, kwargs).trace(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """As `jax.jit`'s."""
        return self._plain.eval_shape(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forgets what has been compiled."""
        for each in (self._plain, self._exported, *self._jits.values()):
            each.clear_cache()
        self._jits.clear()

    def __repr__(self) -> str:
        return f"<slimhlo.jit of {self._fun!r}>"

    def platform(self, *args: Any, **kwargs: Any) -> str:
        """What a call with these arguments is compiled for."""
        return self._where(args, kwargs)[0]

    def _where(self, args: Any, kwargs: Any) -> Where:
        shardings = tuple(map(settled, jax.tree.leaves((args, kwargs))))
        stated = [self._words.get(name) for name in ("in_shardings", "out_shardings")]
        is_sharding = lambda value: isinstance(value, Sharding)
        for sharding in (*shardings, *jax.tree.leaves(stated, is_leaf=is_sharding)):
            if is_sharding(sharding) and isinstance(getattr(sharding, "mesh", None), Mesh | None):
                return platform_of(sharding), shardings
        if backend := self._words.get("backend"):
            return {"gpu": "cuda"}.get(backend, backend), shardings
        return default_platform(), shardings

    def _for(self, args: Any, kwargs: Any) -> Any:
        """The jax.jit for these arguments."""
        # Whatever asks for a derivative, a batch or a part of a larger program asks for the function itself.
        if get_opaque_trace_state() != _UNTRACED or jax.config.jax_disable_jit:
            return self._plain
        where = self._where(args, kwargs)
        found = self._jits.get(where)
        if found is None:
            smaller = functools.wraps(self._fun)(lambda *args, **kwargs: self._smaller(where, args, kwargs))
            # Two threads may make one each, and both are right.
            found = self._jits.setdefault(where, jax.jit(smaller, **self._words))
        return found

    def _smaller(self, where: Where, args: Any, kwargs: Any) -> Any:
        """In a trace: calls what slimhlo makes of the function."""
        platform, shardings = where
        leaves, tree = jax.tree.flatten((args, kwargs))
        specs = [
            jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding, weak_type=leaf.weak_type)
            if isinstance(leaf, jax.core.Tracer)
            else leaf
            for leaf, sharding in zip(leaves, shardings, strict=True)
        ]
        spec_args, spec_kwargs = tree.unflatten(specs)
        try:
            export = jax.export.export(self._exported, platforms=[platform], disabled_checks=[_ANY_CALL])
            exported = export(*spec_args, **spec_kwargs)
        except NotImplementedError as error:
            # Callbacks into Python, mutable arrays: jax.export has no place for them.
            return self._as_it_came(f"jax.export does not take it: {error}", args, kwargs)
        try:
            module, report = _slimhlo.optimize(
                exported.mlir_module_serialized,
                platform=platform,
                target=self._options.target,
                max_slowdown=self._options.max_slowdown,
                threshold=self._options.threshold,
                time_limit=self._options.time_limit,
            )
        except _slimhlo.Error as error:
            return self._as_it_came(str(error), args, kwargs)
        _log.info(
            "%s for %s: peak by the model %s -> %s bytes, in %.2f s%s",
            *(report.name, platform, report.before, report.after, report.seconds),
            "" if module else ", unchanged",
        )
        if module is None:
            return self._plain(*args, **kwargs)
        jaxpr = self._exported.trace(*spec_args, **spec_kwargs).jaxpr.jaxpr
        mesh = None
        if exported.nr_devices > 1:
            mesh = next((s.mesh for s in shardings if isinstance(s, NamedSharding)), None) or _mesh_in(jaxpr)
        exported = dataclasses.replace(exported, mlir_module_serialized=module)
        dynamic = [leaf for leaf in leaves if isinstance(leaf, jax.core.Tracer)]
        results = _call(exported, dynamic, mesh)
        # What is handed back as it came is nobody's to compute.
        at = {id(variable): leaf for variable, leaf in zip(jaxpr.invars, dynamic, strict=True)}
        results = [at.get(id(out), result) for out, result in zip(jaxpr.outvars, results, strict=True)]
        return exported.out_tree.unflatten(results)

    def _as_it_came(self, why: str, args: Any, kwargs: Any) -> Any:
        name = getattr(self._fun, "__name__", repr(self._fun))
        why = next(iter(why.strip().splitlines()), "")
        warnings.warn(f"{name} is compiled as it came: {why}", NotOptimizedWarning, stacklevel=2)
        return self._plain(*args, **kwargs)


def _call(exported: jax.export.Exported, leaves: list[Any], mesh: Mesh | None) -> list[Any]:
    """Calls it in a trace, so that the call needs what it needs, and runs on the devices that it was made for."""
    kept = set(exported.module_kept_var_idx)
    # What is not used is no argument of the executable, either, as with jax.jit.
    leaves = [
        leaf if index in kept or jnp.issubdtype(leaf.dtype, jax.dtypes.extended) else jnp.zeros(leaf.shape, leaf.dtype)
        for index, leaf in enumerate(leaves)
    ]
    args, kwargs = exported.in_tree.unflatten(leaves)
    results = jax.tree.leaves(exported.call(*args, **kwargs))
    if mesh is None:
        return results
    # Says which devices these are, and nothing of how values are spread over them.
    free = lambda value: NamedSharding(mesh, PartitionSpec(*[PartitionSpec.UNCONSTRAINED] * value.ndim))
    return [jax.lax.with_sharding_constraint(value, free(value)) if value.ndim else value for value in results]


def jit(
    fun: Callable | None = None,
    /,
    *,
    target: str | None = None,
    max_slowdown: float | None = None,
    threshold: int = THRESHOLD,
    time_limit: float | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    static_argnums: int | Iterable[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Iterable[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    **words: Any,
) -> Any:
    """`jax.jit`, with slimhlo between JAX and the compiler, on every back end.

    Results are those of `jax.jit`, but for sums, whose order may change. While JAX traces something else, as within `jax.grad`, `jax.vmap` or
    another `jit`, it is `jax.jit`; put it around these, and all they compute is made smaller. A function that calls back into Python, and one that
    slimhlo cannot read or takes too long for, is compiled as `jax.jit` would, with a `NotOptimizedWarning`.

    Args:
      fun: the function; without one, `jit` returns a decorator.
      target: what compiles it, as `slimhlo optimize --target` has it (`h100`, `v5p`, `xla-cpu`); by default what the arguments' devices say.
      max_slowdown: how many times the time it takes as it came it may take at most, by slimhlo's estimate; by default 1.25 where temporaries
        at least halve, and else 1.05.
      threshold: bytes; a program whose peak, by slimhlo's model, is less is left alone.
      time_limit: seconds that slimhlo may take for it; by default as long as it takes.
      in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums, donate_argnames, words: as of `jax.jit`.

    Raises:
      ValueError: target or max_slowdown make no sense, when it is called.
    """
    names = {
        "in_shardings": in_shardings,
        "out_shardings": out_shardings,
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
    }
    words |= {name: value for name, value in names.items() if value is not None}
    options = Options(target, max_slowdown, threshold, time_limit)
    if fun is None:
        return lambda fun: Jit(fun, options, words)
    return Jit(fun, options, words)
