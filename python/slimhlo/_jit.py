"""`slimhlo.jit`: `jax.jit` with slimhlo between JAX and the compiler, on every back end, by JAX's public interfaces.

JAX keeps what it has lowered: a `jax.jit` whose `lower` has been called with some arguments compiles that same module when it is called with
them. So a function is traced and lowered once, as ever, and the module that `Lowered.compiler_ir` hands out is made smaller where it is,
before anybody else has seen it. All else is `jax.jit`'s: what is static and what donated, shardings, caches, dispatch, callbacks.

There is one `jax.jit` for each kind of arguments, with a function of its own in it, which knows when it is traced again: for something that
arguments do not tell, such as another precision of products, or because JAX has dropped its caches.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import io
import logging
import types
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import jax
from jax.extend.core import get_opaque_trace_state
from jax.extend.mlir import ir
from jax.sharding import Mesh, Sharding

from slimhlo import _slimhlo
from slimhlo._options import Options

_log = logging.getLogger("slimhlo")

THRESHOLD = 16 << 20
"""Bytes of peak below which programs are left alone."""


class NotOptimizedWarning(UserWarning):
    """A function is compiled as `jax.jit` would compile it, and the message says why."""


class MemoryLimitWarning(UserWarning):
    """A function needs more than `memory_limit`, even as small as it gets: by the compiler's count, or by slimhlo's model where it is made
    for another target than JAX compiles for."""


with jax.core.eval_context():
    _UNTRACED = get_opaque_trace_state()
"""What JAX is in when no function is being traced, batched or differentiated."""

_KEPT = 4
"""Of `jax.jit`s for the same kind of arguments in other surroundings (x64 or not, precisions, meshes): as many as are kept."""


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


def _positions(fun: Callable, words: dict[str, Any]) -> tuple[set[int], set[str]]:
    """Where static arguments of a function are, by number and by name, each of which tells the other, as for `jax.jit`."""
    as_set = lambda value: {value} if isinstance(value, int | str) else set(value or ())
    numbers, names = as_set(words.get("static_argnums")), as_set(words.get("static_argnames"))
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError):
        return numbers, names
    by_place = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    numbers = {number % len(by_place) if number < 0 < len(by_place) else number for number in numbers}
    if names and not numbers:
        numbers = {number for number, name in enumerate(by_place) if name in names}
    elif numbers and not names:
        names = {name for number, name in enumerate(by_place) if number in numbers}
    return numbers, names


def _kind(leaf: Any) -> Any:
    """What JAX compiles anew for, of a leaf of the arguments."""
    if isinstance(leaf, jax.Array):
        return leaf.aval, leaf.sharding if leaf.committed else None
    if isinstance(leaf, jax.ShapeDtypeStruct):
        return leaf.shape, leaf.dtype, leaf.weak_type, leaf.sharding
    return type(leaf), getattr(leaf, "shape", None), getattr(leaf, "dtype", None)


class _TracedAgain(Exception):
    """What has been made smaller does not serve here."""


class _Smaller:
    """A `jax.jit` that serves one kind of arguments once it is closed."""

    def __init__(self, fun: Callable, words: dict[str, Any]):
        self.closed = False

        @functools.wraps(fun)
        def traced(*args: Any, **kwargs: Any) -> Any:
            if self.closed:
                raise _TracedAgain
            return fun(*args, **kwargs)

        self.jit = jax.jit(traced, **words)


class Jit:
    """A function that is compiled with slimhlo when it is called. It has what `jax.jit` returns has: `lower`, `trace`, `eval_shape`,
    `clear_cache`, and is one for `jax.export.export`."""

    def __init__(self, fun: Callable, options: Options, words: dict[str, Any]):
        functools.update_wrapper(self, fun)
        self._fun = fun
        self._options = options
        self._words = words
        self._statics = _positions(fun, words)
        self._plain = jax.jit(fun, **words)
        self._smaller: dict[Any, tuple[_Smaller, ...]] = {}

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._use(lambda jit: jit(*args, **kwargs), args, kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """As `jax.jit`'s: the module is the one that slimhlo has made smaller."""
        return self._use(lambda jit: jit.lower(*args, **kwargs), args, kwargs)

    def trace(self, *args: Any, **kwargs: Any) -> jax.stages.Traced:
        """As `jax.jit`'s; what `lower` makes of it for the platform of the arguments is smaller."""
        return self._use(lambda jit: jit.trace(*args, **kwargs), args, kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """As `jax.jit`'s."""
        return self._plain.eval_shape(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forgets what has been compiled."""
        made, self._smaller = self._smaller, {}
        for each in (self._plain, *(smaller.jit for all in made.values() for smaller in all)):
            each.clear_cache()

    def __repr__(self) -> str:
        return f"<slimhlo.jit of {self._fun!r}>"

    def platform(self, *args: Any, **kwargs: Any) -> str:
        """What a call with these arguments is compiled for."""
        stated = [self._words.get(name) for name in ("in_shardings", "out_shardings")]
        is_sharding = lambda value: isinstance(value, Sharding)
        settled_ones = map(settled, jax.tree.leaves((args, kwargs)))
        for sharding in (*settled_ones, *jax.tree.leaves(stated, is_leaf=is_sharding)):
            if is_sharding(sharding) and isinstance(getattr(sharding, "mesh", None), Mesh | None):
                return platform_of(sharding)
        if backend := self._words.get("backend"):
            return {"gpu": "cuda"}.get(backend, backend)
        return default_platform()

    def _key(self, args: Any, kwargs: Any) -> Any:
        numbers, names = self._statics
        if numbers or names:
            static = (
                tuple((type(each), each) for number, each in enumerate(args) if number in numbers),
                tuple((name, type(each), each) for name, each in kwargs.items() if name in names),
            )
            args = [None if number in numbers else each for number, each in enumerate(args)]
            kwargs = {name: each for name, each in kwargs.items() if name not in names}
        else:
            static = ()
        leaves, tree = jax.tree.flatten((args, kwargs))
        return tree, static, tuple(map(_kind, leaves)), jax.config.jax_default_device

    def _use(self, use: Callable[[Any], Any], args: Any, kwargs: Any) -> Any:
        """Does something with the `jax.jit` for these arguments."""
        # Whatever asks for a derivative, a batch or a part of a larger program asks for the function itself.
        if get_opaque_trace_state() != _UNTRACED or jax.config.jax_disable_jit:
            return use(self._plain)
        try:
            key = self._key(args, kwargs)
            known = self._smaller.get(key, ())
        except TypeError:
            # What is static has to have a hash, and JAX says so in its own words.
            return use(self._plain)
        for smaller in known:
            try:
                return use(smaller.jit)
            except _TracedAgain:
                pass
        smaller = self._make(args, kwargs)
        # Two threads may make one each, and both are right.
        self._smaller[key] = (smaller, *self._smaller.get(key, ())[: _KEPT - 1])
        return use(smaller.jit)

    def _make(self, args: Any, kwargs: Any) -> _Smaller:
        options = self._options.on(self.platform(*args, **kwargs))
        if jax.process_count() > 1:
            # All have to compile the same program, and what one of them is late with another may not be.
            options = dataclasses.replace(options, time_limit=None)
        # What is made for another chip than the one it is compiled for is counted by nobody.
        counts = options.memory_limit is not None and options.target is None and jax.process_count() == 1
        options = dataclasses.replace(options, counted=counts)
        smaller, report, why = self._made(args, kwargs, options)
        if why:
            self._warn(f"is compiled as it came: {why}", NotOptimizedWarning)
            return smaller
        need = f"{report.after} bytes by slimhlo's model" if report.fits is False else None
        if counts and report.limit is not None:
            smaller, total = self._fitting(args, kwargs, options, smaller, report)
            if total is not None:
                need = f"{total} bytes by the compiler's count" if total > report.limit else None
        if need:
            self._warn(f"needs {need}, more than memory_limit={report.limit}", MemoryLimitWarning)
        return smaller

    def _made(self, args: Any, kwargs: Any, options: Options) -> tuple[_Smaller, Any, str | None]:
        """A `jax.jit` of what slimhlo makes of the function, and how that went, or why JAX compiles it as it came."""
        smaller = _Smaller(self._fun, self._words)
        module = smaller.jit.lower(*args, **kwargs).compiler_ir()
        smaller.closed = True
        try:
            report = shrink(module, options)
        except (_slimhlo.Error, ir.MLIRError) as error:
            return smaller, None, str(error)
        if smaller.jit.lower(*args, **kwargs).compiler_ir() is not module:
            return smaller, None, f"JAX {jax.__version__} lowers a function anew when it is called"
        return smaller, report, None

    def _fitting(
        self, args: Any, kwargs: Any, options: Options, smaller: _Smaller, report: _slimhlo.Report
    ) -> tuple[_Smaller, int | None]:
        """The first that fits by the compiler's own count, which has what the model does not see, or else the smallest; and its bytes, if that
        says. Where one does not fit, less is asked for in proportion, half as much where nothing else came of that, and in the end the
        least; in proportion to what the model has for it, if that is less than was asked for. JAX keeps what is compiled for it, and runs that."""
        kept, least, before, limit = smaller, None, None, report.limit
        asked: int = limit
        attempts = _slimhlo.attempts()
        for attempt in range(attempts):
            taken = _taken(smaller.jit.lower(*args, **kwargs))
            if taken is None:
                break
            total, temporaries = taken
            if least is None or total < least:
                kept, least = smaller, total
            # The model says that there is nothing smaller, or the least was asked for.
            if total <= limit or report.is_least or attempt + 1 == attempts:
                break
            floor = total - temporaries
            may, took = (1, 2) if total == before else (max(0, limit - floor), temporaries)
            modelled = min(asked, asked if report.after is None else report.after)
            asked = floor + max(0, modelled - floor) * may // max(1, took)
            before = total
            wanted = 1 if attempt + 2 == attempts else max(1, asked)
            smaller, report, why = self._made(args, kwargs, dataclasses.replace(options, memory_limit=wanted))
            if why:
                break
        return kept, least

    def _warn(self, message: str, category: type[Warning]) -> None:
        name = getattr(self._fun, "__name__", repr(self._fun))
        message = next(iter(message.strip().splitlines()), "")
        warnings.warn(f"{name} {message}", category, stacklevel=5)


def _taken(lowered: jax.stages.Lowered) -> tuple[int, int] | None:
    """Bytes that a program takes on a device by its compiler's count, and those of them that are temporaries; none if it does not say, or
    does not compile it: whoever calls it hears of that."""
    try:
        stats = lowered.compile().memory_analysis()
    except jax.errors.JaxRuntimeError:
        return None
    if stats is None:
        return None
    around = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    return around + stats.temp_size_in_bytes, stats.temp_size_in_bytes


def shrink(module: Any, options: Options) -> _slimhlo.Report:
    """Makes a module of JAX's need less memory, in its place.

    Raises:
      Error: slimhlo cannot read it or takes too long for it, with the reason.
    """
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    smaller, report = _slimhlo.optimize(bytecode.getvalue(), options)
    _log.info(
        "%s for %s: peak by the model %s -> %s bytes, in %.3f s%s",
        *(report.name, options.platform, report.before, report.after, report.seconds),
        "" if smaller else ", unchanged",
    )
    if smaller is None:
        return report
    parsed = ir.Module.parse(smaller, module.context)
    for op in list(module.body.operations):
        op.operation.erase()
    for op in list(parsed.body.operations):
        module.body.append(op)
    old, new = module.operation.attributes, parsed.operation.attributes
    for name in set(old) - set(new):
        del old[name]
    for name in new:
        old[name] = new[name]
    return report


def jit(
    fun: Callable | None = None,
    /,
    *,
    target: str | None = None,
    max_slowdown: float | None = None,
    memory_limit: int | float | str | None = None,
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
    another `jit`, it is `jax.jit`; put it around these, and all they compute is made smaller. A function that slimhlo cannot read or takes too long
    for is compiled as `jax.jit` would, with a `NotOptimizedWarning`.

    Args:
      fun: the function; without one, `jit` returns a decorator.
      target: what compiles it, as `slimhlo optimize --target` has it (`h100`, `v5p`, `xla-cpu`); by default what the arguments' devices say.
      max_slowdown: how many times the time it takes as it came it may take at most, by slimhlo's estimate; by default 1.25 where temporaries
        at least halve, and else 1.05.
      memory_limit: what it may need on a device: bytes, as a number or as in "12GiB", or a share of the chip's memory, 0.9 say. It is made the
        fastest program that fits, by the model; where none does, the smallest, with a `MemoryLimitWarning`.
      threshold: bytes; a program whose peak, by slimhlo's model, is less is left alone.
      time_limit: seconds that slimhlo may take for it; by default, and where JAX runs in several processes, as long as it takes.
      in_shardings, out_shardings, static_argnums, static_argnames, donate_argnums, donate_argnames, words: as of `jax.jit`.

    Raises:
      ValueError: target, max_slowdown or memory_limit make no sense; the first two when it is called.
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
    options = Options(
        target=target, max_slowdown=max_slowdown, memory_limit=memory_limit, threshold=threshold, time_limit=time_limit
    )
    if fun is None:
        return lambda fun: Jit(fun, options, words)
    return Jit(fun, options, words)
