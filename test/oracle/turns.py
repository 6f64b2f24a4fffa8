# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run times of two executables that do the same, on a machine that is never quite still: by turns, until they hold."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Sequence

import xla_cpu  # first: it sets the flags with which JAX starts

# isort: split
import jax
import numpy as np

LIMIT = 1.1
LEAST_RUNS, MOST_RUNS = 5, 60


@dataclasses.dataclass(frozen=True)
class Times:
    """Medians of wall time in seconds, and between which ratios half of all turns are."""

    before: float
    after: float
    low: float
    high: float
    runs: int

    @property
    def ratio(self) -> float:
        return self.after / self.before


def by_turns(executables: Sequence[object], host: Sequence[np.ndarray], seconds: float, donates: bool = True) -> Times:
    """Runs two executables by turns on the same inputs, which are copied for each run if it may take them over."""
    kept: list[object] = []
    if not donates:
        kept = [xla_cpu.place(executable, host) for executable in executables]

    def once(which: int) -> float:
        executable = executables[which]
        given = kept[which] if kept else xla_cpu.place(executable, host)
        started = time.perf_counter()
        done = executable.execute_sharded(given).disassemble_into_single_device_arrays()
        jax.block_until_ready(done)
        return time.perf_counter() - started

    for which in (0, 1):
        once(which)
    taken: list[tuple[float, float]] = []
    spent = 0.0
    started = time.monotonic()
    while len(taken) < LEAST_RUNS or (
        len(taken) < MOST_RUNS and spent < seconds and time.monotonic() - started < 3 * seconds
    ):
        # Whoever runs second finds warm caches, so they change places.
        order = (0, 1) if len(taken) % 2 else (1, 0)
        pair = {which: once(which) for which in order}
        taken.append((pair[0], pair[1]))
        spent += sum(taken[-1])
    before, after = (statistics.median(times) for times in zip(*taken, strict=True))
    shares = sorted(new / old for old, new in taken)
    quarter = len(shares) // 4
    return Times(before, after, shares[quarter], shares[-1 - quarter], len(taken))


def settled(executables: Sequence[object], host: Sequence[np.ndarray], seconds: float, donates: bool = True) -> Times:
    """Measured again, and longer, while it looks slower than the limit: a machine is never quite still."""
    found = by_turns(executables, host, seconds, donates)
    for longer in (2, 4):
        if found.ratio <= LIMIT:
            break
        again = by_turns(executables, host, longer * seconds, donates)
        found = min(found, again, key=lambda times: times.ratio) if again.ratio <= LIMIT else again
    return found
