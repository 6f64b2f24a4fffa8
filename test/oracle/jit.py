# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`slimhlo.jit` against `jax.jit` on the CPU: results of JAX's own test harnesses and of the reference programs, and what it costs.

    python test/oracle/jit.py [--count COUNT] [--time]

in an environment that has slimhlo installed. Harnesses are drawn from all of JAX's. Results have to be the same bits, or, where sums were done
in another order, as close as `optimize.py` asks: within 2 ulp of the largest result times the square root of the number of terms.

`--time` compiles reference programs of some size both ways, in turns, and prints what `slimhlo.jit` takes beyond `jax.jit`'s tracing and lowering, as a share
of all that a compile takes with `jax.jit`; what XLA takes more or less for the program that it is handed is in a column of its own.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import re
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax_start

jax_start.start()

import jax
import jax.numpy as jnp
import slimhlo
from jax.extend.core import jaxpr_as_fun
from jax_cases import Case, differ, fresh, harnesses, reference

jax.config.update("jax_enable_x64", True)

TIMED = (
    "gather_vag_sin_i32",
    "embedding_vjp",
    "message_passing_gradient",
    "log_sum_exp",
    "halo_step",
    "zeros_dus_chain",
    "gradient_of_slices",
)

MOST = 0.10
"""Of a compile by `jax.jit` that `slimhlo.jit` may add, over all."""


def compare(case: Case, said: collections.Counter) -> str | None:
    """What is wrong with a program, or None."""
    _, function, args, donated = case
    pair = [slimhlo.jit(function, threshold=0, donate_argnums=donated), jax.jit(function)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = differ(pair, lambda: fresh(args) if donated else args)
    for each in caught:
        if issubclass(each.category, slimhlo.NotOptimizedWarning):
            said[str(each.message).split(": ", 1)[1][:100]] += 1
    return found


def results(count: int, references: bool, only: str) -> int:
    cases = harnesses(count)
    if references:
        import programs

        small = [name for name, program in programs.PROGRAMS.items() if program.small]
        cases += [(name, lambda name=name: reference(name)) for name in small]
    cases = [(name, make) for name, make in cases if re.search(only, name)]
    passed, skipped, wrong = 0, 0, []
    said: collections.Counter = collections.Counter()
    for number, (name, make) in enumerate(cases):
        if number % 50 == 49:
            jax.clear_caches()
        try:
            case = make()
            jax.jit(case[1]).trace(*case[2])
        except Exception as error:  # what JAX cannot do is not ours to do
            skipped += 1
            print(f"skip {name}: {type(error).__name__}: {str(error)[:100]}")
            continue
        try:
            why = compare(case, said)
        except Exception as error:  # each is a failure of its own
            why = f"{type(error).__name__}: {str(error)[:300]}"
        passed += why is None
        if why is not None:
            wrong.append(name)
            print(f"FAIL {name}: {why}", flush=True)
    for why, times in said.most_common():
        print(f"as it came, {times} times: {why}")
    as_it_came = sum(said.values())
    print(f"{passed} passed, {len(wrong)} failed: {skipped} that JAX refuses, {as_it_came} compiled as they came")
    return 1 if wrong else 0


@dataclasses.dataclass(frozen=True)
class Took:
    """Seconds of the processor, which others on the machine do not change: from the function to a module for XLA, and XLA's own."""

    module: float
    xla: float

    @property
    def all(self) -> float:
        return self.module + self.xla


def took(make: Callable[[], Any], args: tuple[Any, ...]) -> Took:
    jax.clear_caches()
    jitted = make()
    started = time.process_time()
    lowered = jitted.lower(*args)
    between = time.process_time()
    lowered.compile()
    return Took(between - started, time.process_time() - between)


def median(all_of_them: list[Took]) -> Took:
    return Took(
        statistics.median(each.module for each in all_of_them), statistics.median(each.xla for each in all_of_them)
    )


def overhead(turns: int) -> int:
    import programs

    makers = {
        "jax.jit": jax.jit,
        "slimhlo.jit": slimhlo.jit,
        "small": functools.partial(slimhlo.jit, threshold=1 << 60),
    }
    head = ("jax.jit", "XLA", "slimhlo.jit", "XLA", "added", "with XLA's", "if small")
    print(f"{'milliseconds of the processor':28}" + "".join(f"{each:>12}" for each in head))
    rows = []
    for name in TIMED:
        traced = programs.PROGRAMS[name].make()
        function = jaxpr_as_fun(traced.jaxpr)
        args = tuple(jax.ShapeDtypeStruct(each.shape, each.dtype) for each in jax.tree.leaves(traced.args_info))
        took(lambda: jax.jit(function), args)  # what JAX does once, for the first that is compiled  # noqa: B023
        # In turns, so that all three see the same machine.
        tries = [[took(lambda: make(function), args) for make in makers.values()] for _ in range(turns)]  # noqa: B023
        theirs, ours, small = map(median, zip(*tries, strict=True))
        shares = [(ours.module - theirs.module), (ours.all - theirs.all), (small.module - theirs.module)]
        rows.append([share / theirs.all for share in shares])
        times = "".join(f"{each * 1e3:12.1f}" for each in (theirs.module, theirs.xla, ours.module, ours.xla))
        print(f"{name:28}{times}" + "".join(f"{share:+12.1%}" for share in rows[-1]), flush=True)
    means = [statistics.mean(column) for column in zip(*rows, strict=True)]
    print(f"{'mean':76}" + "".join(f"{each:+12.1%}" for each in means))
    print(
        f"slimhlo.jit adds {means[0]:.1%} to the time of a compile by jax.jit (goal: {MOST:.0%}), {means[2]:.1%} where the program is "
        f"small; XLA takes {means[1] - means[0]:+.1%} more for what it is handed"
    )
    per_call()
    return 1 if means[0] > MOST else 0


def per_call() -> None:
    """What a call takes that compiles nothing."""
    for count in (2, 20, 200):
        args = [jnp.ones(8)] * count
        times = []
        for make in (jax.jit, slimhlo.jit):
            function = make(lambda *args: args[0] + 1)
            function(*args)
            tries = []
            for _ in range(5):
                started = time.process_time()
                for _ in range(300):
                    function(*args)
                tries.append((time.process_time() - started) / 300)
            times.append(min(tries) * 1e6)
        print(f"a call with {count} arguments: jax.jit {times[0]:.1f} us, slimhlo.jit {times[1]:.1f} us")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="how many harnesses")
    parser.add_argument("--no-references", action="store_true", help="harnesses only")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only programs whose names match")
    parser.add_argument("--time", action="store_true", help="what a compile costs")
    parser.add_argument("--turns", type=int, default=5, help="how often each is timed")
    args = parser.parse_args()
    return overhead(args.turns) if args.time else results(args.count, not args.no_references, args.only)


if __name__ == "__main__":
    sys.exit(main())
