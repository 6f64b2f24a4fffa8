# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What slimhlo is asked for, in all ways in."""

from __future__ import annotations

import dataclasses
from typing import Any


def memory_text(limit: int | float | str | None) -> str | None:
    """A memory limit as slimhlo's tools have it: bytes (`1024`, `12GiB`), or a share of the chip's memory (`0.9`).

    Raises:
      TypeError, ValueError: it is neither.
    """
    if limit is None or isinstance(limit, str):
        return limit
    if isinstance(limit, bool) or not isinstance(limit, int | float):
        raise TypeError(f"memory_limit is a number or a text, not {type(limit).__name__}")
    if limit < 0 or (isinstance(limit, float) and not 0 < limit <= 1):
        raise ValueError(f"memory_limit={limit} is neither bytes nor a share of the chip's memory")
    return str(limit)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """All of it; the Rust half takes it as it is."""

    platform: str = ""
    target: str | None = None
    max_slowdown: float | None = None
    memory_limit: Any = None
    threshold: int = 0
    time_limit: float | None = None
    counted: bool = False
    """Whether what a program needs is counted, and asked for anew where it is too much."""
    without: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "memory_limit", memory_text(self.memory_limit))
        if not isinstance(self.without, str):
            object.__setattr__(self, "without", ",".join(self.without))

    def on(self, platform: str) -> Options:
        """The same for a platform, unless one is stated."""
        return self if self.platform else dataclasses.replace(self, platform=platform)
