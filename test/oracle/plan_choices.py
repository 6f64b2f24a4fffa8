# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the constants of `slimhlo compile`'s planning choose, and what other values of them would.

    python test/oracle/plan_choices.py --opt target/release/slimhlo-opt [NAME ...]

Each reference program of one device is planned at full size with each value of each constant, all others as they are: bytes of the
arena, and microseconds by the estimate that the planning itself goes by. For each value the geometric means over the programs, as
multiples of what the value in use gives, of programs that have an arena (of less than LEAST bytes none counts). Nothing is executed.

A value in use that another one beats in both by more than a hundredth is a failure; one that trades bytes for time is a choice, and
the table says at which price. Slabs are tried in all their sizes by the compiler, which keeps the best of each program: their rows
say what one size alone would give, against the first.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence

import programs  # first: it sets the flags with which JAX starts

LEAST = 1 << 20
MARGIN = 0.01
SECONDS = 300
COUNTED = re.compile(r"^\s*\(S\)\s+(\d+) (arena-bytes|estimated-us)", re.MULTILINE)
CLEAN = "canonicalize,cse"
PREPARE = (
    f"inline,func.func({CLEAN}),symbol-dce,func.func(slimhlo-simplify,{CLEAN},slimhlo-scatter-to-update,{CLEAN},slimhlo-dus-to-pad,"
    f"{CLEAN},slimhlo-coalesce-pads,{CLEAN},slimhlo-recompute-residuals{{target=kernels}},{CLEAN})"
)
PLAN = "slimhlo-plan-buffers"


@dataclasses.dataclass(frozen=True)
class Choice:
    """A constant: where it is, the value in use, others, and the pipeline that a value stands for."""

    name: str
    place: str
    used: str
    others: tuple[str, ...]
    pipeline: str
    is_tried: bool = False
    """The compiler tries all of them."""


CHOICES = [
    Choice("stored-byte", "form_kernels.rs", "4", ("1", "2", "8", "16", "64"), "slimhlo-form-kernels{{stored-byte={}}}"),
    Choice("most-places", "form_kernels.rs", "128", ("16", "64", "256", "1024"), "slimhlo-form-kernels{{most-places={}}}"),
    Choice(
        "SLABS",
        "to_kernels.rs",
        "4MiB",
        ("1MiB", "16MiB", "64MiB", "256MiB"),
        f"func.func(slimhlo-inplace-updates{{{{target=kernels chunk-bytes={{}}}}}},{CLEAN}),slimhlo-form-kernels",
        is_tried=True,
    ),
]


@dataclasses.dataclass(frozen=True)
class Cost:
    """Of a planned program."""

    arena: int
    microseconds: int


def cost(driver: str, text: str, pipeline: str) -> Cost | None:
    """What a program costs that is planned by a pipeline; None where that fails, which others see to."""
    words = [driver, "-", f"--pass-pipeline=builtin.module({PREPARE},{pipeline},{PLAN})", "-o", "/dev/null"]
    words += ["--mlir-pass-statistics", "--mlir-pass-statistics-display=list"]
    try:
        done = subprocess.run(words, input=text, capture_output=True, text=True, timeout=SECONDS, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        return None
    found = {name: int(count) for count, name in COUNTED.findall(done.stderr)}
    return Cost(found.get("arena-bytes", 0), found.get("estimated-us", 0))


def mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0


@dataclasses.dataclass(frozen=True)
class Row:
    """A value of a constant: means over programs, as multiples of what the value in use gives."""

    value: str
    bytes: float
    time: float
    programs: int
    """Of which either differs."""

    def beats_the_one_in_use(self) -> bool:
        return self.bytes < 1 - MARGIN and self.time < 1 - MARGIN


def rows(driver: str, choice: Choice, texts: dict[str, str]) -> Iterator[Row]:
    costs = {
        value: {name: cost(driver, text, choice.pipeline.format(value)) for name, text in texts.items()}
        for value in (choice.used, *choice.others)
    }
    used = costs[choice.used]
    for value, found in costs.items():
        pairs = [(used[name], found[name]) for name in texts if used[name] and found[name]]
        large = [(old, new) for old, new in pairs if old.arena >= LEAST and new.arena >= LEAST]
        yield Row(
            value,
            mean([new.arena / old.arena for old, new in large]),
            mean([new.microseconds / old.microseconds for old, new in pairs if old.microseconds and new.microseconds]),
            sum(1 for old, new in pairs if old != new),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("names", nargs="*", metavar="NAME", help="reference programs (default: all)")
    args = parser.parse_args()
    known = programs.PROGRAMS | programs.VARIANTS
    if unknown := [name for name in args.names if name not in known]:
        parser.error(f"no program {unknown[0]}")
    texts = {name: known[name]("cuda").as_text() for name in args.names or known}
    texts = {name: text for name, text in texts.items() if "mhlo.num_partitions = 1 " in text}
    beaten = []
    planned = 0
    print(f"{'constant':12} {'value':>8} {'arena':>8} {'time':>8} {'differ':>8}")
    for choice in CHOICES:
        for row in rows(args.opt, choice, texts):
            mark = "in use" if row.value == choice.used and not choice.is_tried else ""
            print(f"{choice.name:12} {row.value:>8} {row.bytes:8.3f} {row.time:8.3f} {row.programs:8} {mark}", flush=True)
            planned += row.programs
            if row.beats_the_one_in_use() and not choice.is_tried:
                beaten.append(f"{choice.name} ({choice.place}): {row.value} is better than {choice.used} in both")
    print("\n".join(beaten) or f"{len(CHOICES)} constants, {len(texts)} programs: none of the values in use is beaten in both")
    if texts and not planned and not args.names:
        print("no value changes any plan: nothing was measured")
        return 1
    return 1 if beaten else 0


if __name__ == "__main__":
    sys.exit(main())
