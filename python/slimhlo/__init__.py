# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes what JAX compiles need less of the device's memory.

Before JAX is used for the first time:

    import slimhlo

    slimhlo.enable()

From then on all that JAX compiles for a GPU or a TPU goes through slimhlo: a program that fits goes on as it came, and one that
does not is rewritten until it needs less. `slimhlo.optimize` does it to one program, on any machine.
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
from typing import Any, Literal, TypeVar

from slimhlo import _slimhlo
from slimhlo._slimhlo import Report, __version__

__all__ = ["Optimized", "Report", "__version__", "enable", "library_path", "optimize"]

Mode = Literal["needed", "always", "never", "verify"]

_MODES = ("needed", "always", "never", "verify")


def library_path() -> str:
    """The PJRT plugin that slimhlo is: a shared library with the function GetPjrtApi."""
    return str(pathlib.Path(_slimhlo.__file__).resolve())


def enable(
    *,
    mode: Mode = "needed",
    memory_limit: int | str | None = None,
    time_limit: float | None = None,
    summary: bool | str | os.PathLike[str] | None = None,
    dump: str | os.PathLike[str] | None = None,
) -> None:
    """Puts slimhlo around the plugins through which JAX compiles for GPUs and TPUs. More than once does no harm.

    Args:
      mode: `needed` rewrites programs that do not fit the device, `always` all, `never` none; `verify` compiles each program as it came and
        rewritten, and keeps what takes less.
      memory_limit: the bytes that a program may take on a device, as a number or as in "12GiB"; by default what the device has.
      time_limit: seconds that slimhlo may take for a program; one that takes longer goes on as it came.
      summary: True says on standard error what was done to each program; a path is of a file for it, with a line of JSON each.
      dump: a folder to keep modules in, before and after.

    What is not given is taken from the environment, where docs/pjrt.md has all there is.

    Raises:
      RuntimeError: JAX has loaded a plugin already. Call this before JAX is used for the first time.
      ValueError: an argument makes no sense.
    """
    from jaxlib import xla_client

    if mode not in _MODES:
        raise ValueError(f"mode is {mode!r}, not one of {', '.join(_MODES)}")
    loaded = [name for name in _PLUGINS if xla_client.pjrt_plugin_loaded(name) and name not in _around]
    if loaded:
        raise RuntimeError(
            f"JAX has loaded its plugin for {loaded[0]} already; call slimhlo.enable() before JAX is used"
        )
    variables = {
        "SLIMHLO_PJRT_MODE": mode,
        "SLIMHLO_MEMORY_LIMIT": None if memory_limit is None else str(memory_limit),
        "SLIMHLO_TIME_LIMIT": None if time_limit is None else str(float(time_limit)),
        "SLIMHLO_SUMMARY": {None: None, True: "1", False: "0"}.get(summary, summary)
        if isinstance(summary, bool | None)
        else os.fspath(summary),
        "SLIMHLO_DUMP": None if dump is None else os.fspath(dump),
    }
    os.environ.update({name: value for name, value in variables.items() if value is not None})
    if xla_client.load_pjrt_plugin_dynamically is not _load_around:
        global _load
        _load = xla_client.load_pjrt_plugin_dynamically
        xla_client.load_pjrt_plugin_dynamically = _load_around


_PLUGINS = ("cuda", "rocm", "oneapi", "tpu")
"""What JAX calls the plugins that slimhlo goes around; it knows nothing of others."""

_around: dict[str, str] = {}
"""Plugins that have slimhlo around them, and their files."""

_load: Any = None
"""How JAX loads a plugin without slimhlo."""


def _load_around(name: str, path: str) -> Any:
    if name not in _PLUGINS:
        return _load(name, path)
    # The library asks for it when it is loaded, each time.
    os.environ["SLIMHLO_PJRT_PLUGIN"] = os.fspath(path)
    _around[name] = os.fspath(path)
    return _load(name, library_path())


P = TypeVar("P")


@dataclasses.dataclass(frozen=True)
class Optimized:
    """A program that has been made smaller, and what was done to it."""

    program: Any
    """Of the kind that was given: text for `jax.stages.Lowered`."""
    report: Report
    """Bytes and stages, by slimhlo's model of a device."""
    changed: bool
    """Whether it is another program than the one that was given."""


def optimize(program: Any, *, platform: str = "", time_limit: float | None = None) -> Optimized:
    """Makes a program need less memory.

    Args:
      program: what `jax.jit(f).lower(...)` or `jax.export.export(...)(...)` returns, or a module: text, or the bytes of a file.
      platform: what it is to run on, as JAX calls it: `cuda`, `tpu`, `cpu`; `cuda` unless an exported program says.
      time_limit: seconds that it may take.

    Returns:
      The program, of the kind that was given; of a lowered one its text.

    Raises:
      ValueError: the module cannot be read, with the diagnostic, or took too long.
    """
    if isinstance(program, bytes):
        module, report = _slimhlo.optimize(program, platform=platform, time_limit=time_limit)
        return Optimized(program if module is None else module, report, module is not None)
    if isinstance(program, str):
        module, report = _slimhlo.optimize(program.encode(), platform=platform, time_limit=time_limit)
        return Optimized(program if module is None else module.decode(), report, module is not None)
    if hasattr(program, "mlir_module_serialized"):
        module, report = _slimhlo.optimize(
            bytes(program.mlir_module_serialized), platform=platform or program.platforms[0], time_limit=time_limit
        )
        if module is None:
            return Optimized(program, report, False)
        return Optimized(dataclasses.replace(program, mlir_module_serialized=module), report, True)
    if hasattr(program, "as_text"):
        return optimize(program.as_text(debug_info=True), platform=platform, time_limit=time_limit)
    raise TypeError(f"a program is text, bytes, or what JAX has lowered or exported, not {type(program).__name__}")
