# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what JAX compiles need less of the device's memory.

Before JAX is used for the first time:

    import slimhlo

    slimhlo.enable()

From then on all that JAX compiles for a GPU or a TPU goes through slimhlo: a program that fits goes on as it came, and one that
does not is rewritten until it needs less.

On any back end, CPUs included, `slimhlo.jit` is `jax.jit` for one function, `slimhlo.report` shows where its memory goes and what can be saved,
and `slimhlo.optimize` makes a smaller program of one that JAX has lowered or exported. docs/python.md has recipes.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from slimhlo import _slimhlo
from slimhlo._layer import Mode, enable, library_path
from slimhlo._options import Options
from slimhlo._slimhlo import Error, Line, Memory, Report, __version__

if TYPE_CHECKING:
    from slimhlo._jit import Jit, MemoryLimitWarning, NotOptimizedWarning, jit

__all__ = [
    "Error",
    "Jit",
    "Line",
    "Memory",
    "MemoryLimitWarning",
    "Mode",
    "NotOptimizedWarning",
    "Optimized",
    "Report",
    "__version__",
    "enable",
    "jit",
    "library_path",
    "optimize",
    "report",
]


def __getattr__(name: str) -> Any:
    # What needs JAX waits until it is asked for: `enable` comes before JAX is imported.
    if name in ("Jit", "MemoryLimitWarning", "NotOptimizedWarning", "jit"):
        from slimhlo import _jit

        return getattr(_jit, name)
    raise AttributeError(f"module 'slimhlo' has no attribute {name!r}")


@dataclasses.dataclass(frozen=True)
class Optimized:
    """A program that has been made smaller, and what was done to it."""

    program: Any
    """Of the kind that was given: text for `jax.stages.Lowered`."""
    report: Report
    """Bytes and stages, by slimhlo's model of a device."""
    changed: bool
    """Whether it is another program than the one that was given."""


def optimize(
    program: Any,
    *,
    platform: str = "",
    target: str | None = None,
    max_slowdown: float | None = None,
    memory_limit: int | float | str | None = None,
    time_limit: float | None = None,
    without: tuple[str, ...] | list[str] = (),
) -> Optimized:
    """Makes a program need less memory.

    Args:
      program: what `jax.jit(f).lower(...)` or `jax.export.export(...)(...)` returns, or a module: text, or the bytes of a file.
      platform: what it is to run on, as JAX calls it: `cuda`, `tpu`, `cpu`; `cuda` unless an exported program says.
      target: what compiles it, as `slimhlo optimize --target` has it (`h100`, `v5p`, `xla-cpu`); by default what the platform says.
      max_slowdown: how many times the time it takes as it came it may take at most, by slimhlo's estimate; by default 1.25 where temporaries
        at least halve, and else 1.05.
      memory_limit: what it may need on a device: bytes, as a number or as in "12GiB", or a share of the chip's memory, 0.9 say. It is made the
        fastest program that fits, by the model, or else the smallest; the report's `fits` says which.
      time_limit: seconds that slimhlo may take for it.
      without: levers that are left alone, by the passes that pull them: `("rematerialize", "offload")`, say.

    Returns:
      The program, of the kind that was given; of a lowered one its text.

    Raises:
      Error: the module cannot be read, with the diagnostic, or took too long.
      ValueError: an argument makes no sense.
    """
    options = Options(
        platform=platform,
        target=target,
        max_slowdown=max_slowdown,
        memory_limit=memory_limit,
        time_limit=time_limit,
        without=without,
    )
    if isinstance(program, bytes):
        module, report = _slimhlo.optimize(program, options)
        return Optimized(program if module is None else module, report, module is not None)
    if isinstance(program, str):
        module, report = _slimhlo.optimize(program.encode(), options)
        return Optimized(program if module is None else module.decode(), report, module is not None)
    if hasattr(program, "mlir_module_serialized"):
        module, report = _slimhlo.optimize(bytes(program.mlir_module_serialized), options.on(program.platforms[0]))
        if module is None:
            return Optimized(program, report, False)
        return Optimized(dataclasses.replace(program, mlir_module_serialized=module), report, True)
    if hasattr(program, "as_text"):
        text = program.as_text(debug_info=True)
        module, report = _slimhlo.optimize(text.encode(), options)
        return Optimized(text if module is None else module.decode(), report, module is not None)
    raise TypeError(f"a program is text, bytes, or what JAX has lowered or exported, not {type(program).__name__}")


def report(
    program: Any,
    *args: Any,
    platform: str = "",
    target: str | None = None,
    max_slowdown: float | None = None,
    memory_limit: int | float | str | None = None,
    top: int = 12,
    **kwargs: Any,
) -> Memory:
    """Shows where a program's memory goes, by line of source, and what slimhlo would save. Nothing is compiled or run.

    Args:
      program: a function (as it is, or of `jax.jit` or `slimhlo.jit`) to be called with `args` and `kwargs`, arrays or shapes; or what
        `optimize` takes.
      platform: what it is to run on, as JAX calls it; by default what the arguments, or an exported program, say, and else `cuda`.
      target, max_slowdown, memory_limit: as of `optimize`.
      top: how many values the text lists.

    Returns:
      The figures, by slimhlo's model of the target. `print` shows a table, and a notebook a page to explore.

    Raises:
      Error: the module cannot be read, or has dynamic sizes, with the diagnostic.
      ValueError: an argument makes no sense.
    """
    options = Options(platform=platform, target=target, max_slowdown=max_slowdown, memory_limit=memory_limit)
    if callable(program) and not hasattr(program, "mlir_module_serialized"):
        from slimhlo import _jit

        function = program if isinstance(program, _jit.Jit) else _jit.Jit(program, options, {})
        options = options.on(function.platform(*args, **kwargs))
        plain = program if hasattr(program, "lower") else function
        # Of slimhlo.jit the program as it came.
        program = getattr(plain, "_plain", plain).lower(*args, **kwargs)
    elif args or kwargs:
        raise TypeError(f"arguments are for functions, not for a program that is {type(program).__name__}")
    if hasattr(program, "mlir_module_serialized"):
        options = options.on(program.platforms[0])
        module = bytes(program.mlir_module_serialized)
    elif hasattr(program, "as_text"):
        module = program.as_text(debug_info=True).encode()
    elif isinstance(program, str | bytes):
        module = program.encode() if isinstance(program, str) else program
    else:
        raise TypeError(
            f"a program is a function, text, bytes, or what JAX has lowered or exported, not {type(program).__name__}"
        )
    return _slimhlo.report(module, options, top)
