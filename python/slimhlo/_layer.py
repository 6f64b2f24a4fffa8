# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""slimhlo as a layer around the plugins through which JAX compiles for GPUs and TPUs."""

from __future__ import annotations

import functools
import os
import pathlib
import sys
from typing import Any, Literal

from slimhlo import _slimhlo

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


def enable_from_environment(mode: str) -> None:
    """What JAX has slimhlo do while it looks for plugins, in no certain order: CUDA's may have been loaded."""
    if mode != "1" and mode not in _MODES:
        raise ValueError(f"SLIMHLO={mode} is none of 0, 1, {', '.join(_MODES)}")
    from jaxlib import xla_client

    # The library asks when it is loaded. SLIMHLO=1 says no more than that there is to be a layer.
    if mode != "1":
        os.environ["SLIMHLO_PJRT_MODE"] = mode
    for name in _PLUGINS:
        if xla_client.pjrt_plugin_loaded(name) and name not in _around:
            _register_again(name)
    enable(mode=os.environ.get("SLIMHLO_PJRT_MODE", "needed"))


def _register_again(name: str) -> None:
    """Has JAX make its client of a plugin that it has loaded through the layer, under a name that is only in here."""
    from jax._src import xla_bridge
    from jaxlib import xla_client

    registered = xla_bridge._backend_factories[name]
    module = next(module for key, module in sys.modules.items() if key.startswith(f"jax_plugins.xla_{name}"))
    os.environ["SLIMHLO_PJRT_PLUGIN"] = _around[name] = os.fspath(module._get_library_path())
    inside = f"slimhlo_{name}"
    table = xla_client.load_pjrt_plugin_dynamically(inside, library_path())
    factory = registered.factory
    if not isinstance(factory, functools.partial) or factory.args != (name,):
        raise RuntimeError(f"slimhlo does not know how JAX makes clients for {name}; call slimhlo.enable() instead")
    xla_bridge.register_backend_factory(
        name,
        functools.partial(factory.func, inside, **factory.keywords),
        priority=registered.priority,
        fail_quietly=registered.fail_quietly,
        experimental=registered.experimental,
        make_topology=functools.partial(xla_client.make_c_api_device_topology, table),
        c_api=table,
    )
