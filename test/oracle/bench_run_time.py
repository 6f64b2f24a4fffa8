# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Run time under XLA for CPU of generated programs, before and after the default pipeline.

    python test/oracle/bench_run_time.py --opt target/release/slimhlo-opt --count 200 --seed 1

The generators of the differential tests (stream.py, gathers.py, families.py, pads.py, halos.py) write the programs, at sizes
at which they run for some 10 to 200 ms. Each that the pipeline changes runs before and after it, by turns: the ratio is that of the
medians of wall time, and what is above the limit is measured again, longer. The spread is that of the middle half of
the ratios of runs next to each other. The last lines give geometric means; what is slower than the limit is listed.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import math
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

import stream  # first of those that import JAX: it sets XLA's flags

# isort: split
import families
import gathers
import halos
import pads
import slices
import turns
import xla_cpu
from opt import PIPELINE, Driver, with_values
from workers import Lost, map_items

SLOW = 1.15
SECONDS_PER_PROGRAM = 120.0
LEAST_SECONDS, WANTED_SECONDS, MOST_SECONDS = 0.010, 0.040, 0.400
TOO_FAST = 0.001
MOST_BYTES = 1 << 30
MOST_FACTOR = 1 << 17


# --- programs -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Sized:
    """A program, at some size."""

    text: str
    inputs: list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class Task:
    """One of a generator's programs."""

    source: str
    seed: int
    number: int
    opt: str
    flags: tuple[str, ...]
    seconds: float
    dump: pathlib.Path | None


@dataclasses.dataclass(frozen=True)
class Row:
    """What was measured of one."""

    name: str
    times: turns.Times | None
    note: str = ""


def of_functions(module: object, seed: int, number: int) -> tuple[str, Callable[[int], Sized]]:
    """A program of stream.py or gathers.py, whose long dimensions have all the same factor."""
    family = module.FAMILIES[number % len(module.FAMILIES)]

    def make(factor: int) -> Sized:
        import jax

        source = stream.Source(seed * 1_000_003 + number)
        plain = stream.sizes
        stream.sizes = lambda source: plain(source) * factor
        try:
            function, inputs, *_ = family(source)
        finally:
            stream.sizes = plain
        return Sized(jax.jit(function, keep_unused=True).lower(*inputs).as_text(), list(inputs))

    return family.__name__, make


class Large(families.Builder):
    """Programs of families.py with one long dimension each."""

    def __init__(self, seed: str, factor: int) -> None:
        super().__init__(seed)
        self.factor = factor
        self.special = False

    def shape(self) -> slices.Shape:
        shape = list(super().shape())
        if shape:
            at = max(range(len(shape)), key=lambda dim: (shape[dim], dim))
            shape[at] *= self.factor
        return tuple(shape)


def of_families(seed: int, number: int) -> tuple[str, Callable[[int], Sized]]:
    def make(factor: int) -> Sized:
        most, families.MOST_ELEMENTS = families.MOST_ELEMENTS, 1 << 26
        try:
            made = Large(f"{seed} {number}", factor).build("", 0)
        finally:
            families.MOST_ELEMENTS = most
        return Sized(made.text, list(made.arguments))

    return "ops", make


def of_pads(seed: int, number: int) -> tuple[str, Callable[[int], Sized]]:
    def make(factor: int) -> Sized:
        made = pads.Builder(f"{seed} {number}", 16 * factor).build("")
        inputs = [
            np.broadcast_to(value, shape).copy()
            for value, shape in zip(made.arguments, shapes_of(made.text), strict=True)
        ]
        return Sized(made.text, inputs)

    return "pads", make


def shapes_of(text: str) -> list[slices.Shape]:
    """Of @main's arguments."""
    from jaxlib.mlir import ir

    import jaxlib_ir

    module = jaxlib_ir.parse(text)
    with module.context:
        main = next(op for op in module.body.operations if op.operation.name == "func.func")
        return [tuple(ir.RankedTensorType(kind).shape) for kind in main.type.inputs]


def of_halos(seed: int, number: int) -> tuple[str, Callable[[int], Sized]]:
    spec = halos.make_spec(seed, number)

    def make(factor: int) -> Sized:
        shape = spec.shape(large=True)
        dtype = np.dtype(halos.jnp.dtype(spec.dtype))
        values = np.arange(math.prod(shape), dtype=np.int64).reshape(shape) % 251
        return Sized(halos.lower(spec, large=True), [values.astype(dtype)] * spec.fields)

    return "halos", make


SOURCES: dict[str, Callable[[int, int], tuple[str, Callable[[int], Sized]]]] = {
    "stream": functools.partial(of_functions, stream),
    "gathers": functools.partial(of_functions, gathers),
    "families": of_families,
    "pads": of_pads,
    "halos": of_halos,
}


# --- running them -------------------------------------------------------------------------------------------------


def once(executable: object, host: Sequence[np.ndarray]) -> float:
    """Seconds of a run."""
    import jax

    given = xla_cpu.place(executable, host)
    started = time.perf_counter()
    jax.block_until_ready(executable.execute_sharded(given).disassemble_into_single_device_arrays())
    return time.perf_counter() - started


def measure(task: Task) -> Row:
    import jaxlib_ir

    kind, make = SOURCES[task.source](task.seed, task.number)
    name = f"{task.source} {kind} {task.seed}/{task.number}"
    driver = Driver(task.opt, batch=1, jobs=1, seconds_alone=60)
    factor = 16
    for last in (False, False, False, True):
        sized = make(factor)
        context = jaxlib_ir.make_context()
        before = xla_cpu.compile_module(jaxlib_ir.parse(sized.text, context))
        seconds = min(once(before, sized.inputs) for _ in range(3))
        needed = sum(value.nbytes for value in sized.inputs) + before.get_compiled_memory_stats().temp_size_in_bytes
        # All sizes may have the factor, or one.
        share = min(WANTED_SECONDS / max(seconds, 1e-4), MOST_BYTES / max(1, needed))
        larger = max(factor * 2, int(factor * math.sqrt(share)))
        if last or seconds >= LEAST_SECONDS or share < 2 or larger > MOST_FACTOR or task.source == "halos":
            break
        factor = larger
    if seconds < TOO_FAST:
        return Row(name, None)
    if seconds > MOST_SECONDS * 5:
        return Row(name, None, f"takes {seconds:.1f} s")
    plain, made = (
        driver.run([sized.text], ["--inline", "--canonicalize", "--cse"]),
        driver.run([sized.text], task.flags),
    )
    if made[0].output is None:
        return Row(name, None, f"the driver fails: {made[0].message or made[0].crash}")
    if families.shape_of(plain[0].output or "") == families.shape_of(made[0].output or ""):
        return Row(name, None)
    after = xla_cpu.compile_module(jaxlib_ir.parse(made[0].output or "", context))
    donates = any(word in sized.text for word in ("tf.aliasing_output", "jax.buffer_donor"))
    times = turns.settled([before, after], sized.inputs, task.seconds, donates)
    if task.dump and times.ratio > turns.LIMIT:
        path = task.dump / name.replace(" ", "_").replace("/", "_")
        path.with_suffix(".before.mlir").write_text(sized.text)
        path.with_suffix(".after.mlir").write_text(made[0].output or "")
    return Row(name, times)


def mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios))) if ratios else 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--pipeline", default=PIPELINE, help="flags of the pipeline (default: %(default)s)")
    parser.add_argument("--count", type=int, default=200, metavar="N", help="programs in all (default: 200)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--seconds", type=float, default=1.0, help="for the runs of one program (default: %(default)s)")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write what is slower there, before and after")
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help=f"generators (default: {', '.join(SOURCES)})")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))
    if unknown := [name for name in args.sources if name not in SOURCES]:
        parser.error(f"no generator {unknown[0]}")
    if args.dump:
        args.dump.mkdir(parents=True, exist_ok=True)
    Driver(args.opt).ready()
    names = args.sources or list(SOURCES)
    tasks = [
        Task(names[number % len(names)], args.seed, number // len(names), args.opt, tuple(args.pipeline.split()),
             args.seconds, args.dump)
        for number in range(args.count)
    ]  # fmt: skip
    rows: list[Row] = []
    span = 20
    for first in range(0, len(tasks), span):
        part = tasks[first : first + span]
        for task, row in zip(part, map_items(measure, part, seconds=SECONDS_PER_PROGRAM, jobs=1, fresh=True), strict=True):
            row = Row(f"{task.source} {task.seed}/{task.number}", None, row.reason) if isinstance(row, Lost) else row
            rows.append(row)
            if row.times:
                times = row.times
                print(
                    f"{row.name:40} {times.before * 1e3:9.2f} ms {times.after * 1e3:9.2f} ms  {times.ratio:6.2f}"
                    f"  ({times.low:.2f} to {times.high:.2f}, {times.runs} turns)"
                    + (" !" if times.ratio > turns.LIMIT else ""),
                    flush=True,
                )
            elif row.note:
                print(f"{row.name:40} {row.note}", flush=True)
    measured = [row for row in rows if row.times]
    by_kind: dict[str, list[float]] = collections.defaultdict(list)
    for row in measured:
        by_kind[" ".join(row.name.split()[:2])].append(row.times.ratio)
    for kind, ratios in sorted(by_kind.items()):
        print(f"{kind:32} {len(ratios):4} programs, geometric mean {mean(ratios):5.2f}, most {max(ratios):5.2f}")
    slow = sorted((row for row in measured if row.times.ratio > SLOW), key=lambda row: -row.times.ratio)
    for row in slow:
        print(f"slower: {row.name} {row.times.ratio:.2f}")
    ratios = [row.times.ratio for row in measured]
    over = sum(ratio > turns.LIMIT for ratio in ratios)
    print(
        f"{len(rows)} programs, {len(measured)} changed: geometric mean {mean(ratios):.3f}, {over} above {turns.LIMIT}, "
        f"{len(slow)} above {SLOW}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
