# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs under XLA for CPU (bench_target.py: for devices): alone, after Enzyme-JAX's pipeline, and after slimhlo's.

    python test/oracle/bench_memory.py --opt target/release/slimhlo-opt
    python test/oracle/bench_memory.py --opt target/release/slimhlo-opt --no-times halo_all train4

Memory is XLA's buffer assignment at full size, per device (see referee.py): ratio, MiB of temporaries, collectives. The
verdict holds it against the program's goal; a program without one must not need more than under XLA alone, within 1% and
4 KiB. Run time is that of a smaller size of the same program, as it is and after slimhlo, by turns; medians of wall time, measured
again where they are above the limit (see turns.py).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys

import programs  # first: it sets the flags with which JAX starts
import turns
from opt import Driver, needs_more, pipeline_for, with_values
from program import Goal
from workers import Lost, map_items

MIB = 2**20
SECONDS_PER_MODULE = 600.0

SHORT = {"all-gather": "ag", "collective-permute": "cp", "all-to-all": "a2a", "all-reduce": "ar", "reduce-scatter": "rs",
         "collective-broadcast": "cb"}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a module needs under XLA."""

    ratio: float
    temporaries: float
    total: int
    collectives: dict[str, int]
    permuted: int
    broadcasts: int


def figures(text: str) -> Figures:
    import referee

    memory = referee.measure("", text)
    return Figures(
        memory.ratio, memory.temporaries / MIB, memory.total, memory.collectives, memory.permuted, memory.broadcasts
    )


def figures_after_enzyme(text: str) -> Figures:
    import enzyme

    made, _ = enzyme.run(text)
    return figures(enzyme.for_xla(made))


def misses(goal: Goal | None, alone: Figures | Lost, found: Figures) -> list[str]:
    """What of a goal is not reached; "" for a goal that asks only not to be worse."""
    if goal is None:
        if isinstance(alone, Lost):
            return []
        return ["more than XLA alone"] if needs_more(alone.total, found.total) else []
    wrong = []
    if goal.ratio is not None and found.ratio > goal.ratio:
        wrong.append(f"ratio {found.ratio:.3f} > {goal.ratio}")
    if goal.temporaries is not None and found.temporaries > goal.temporaries:
        wrong.append(f"{found.temporaries:.0f} MiB > {goal.temporaries:.0f}")
    if goal.all_gathers is not None and found.collectives.get("all-gather", 0) > goal.all_gathers:
        wrong.append("all-gathers")
    if goal.permuted is not None and found.permuted > goal.permuted:
        wrong.append(f"permutes {found.permuted} bytes > {goal.permuted}")
    if goal.broadcasts is not None and found.broadcasts > goal.broadcasts:
        wrong.append(f"{found.broadcasts} broadcasts > {goal.broadcasts}")
    return wrong


def goal_text(goal: Goal | None) -> str:
    if goal is None:
        return "as XLA"
    if goal.temporaries is not None:
        return f"{goal.temporaries:.0f} MiB"
    digits = 3 if goal.ratio < 1.005 else 2
    return f"{goal.ratio:.{digits}f}" + (", no ag" if goal.all_gathers == 0 else "")


# --- run time -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Race:
    """Two versions of a module, with what its integer inputs stay below, and the seconds to run them for."""

    before: str
    after: str
    below: int
    seconds: float


def race(job: Race) -> turns.Times:
    """Runs both versions by turns, on the same inputs."""
    import jax
    import numpy as np
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func

    import jaxlib_ir
    import xla_cpu

    context = jaxlib_ir.make_context()
    modules = [jaxlib_ir.parse(text, context) for text in (job.before, job.after)]
    executables = [xla_cpu.compile_module(module) for module in modules]
    functions = (op for op in modules[0].body.operations if isinstance(op, func.FuncOp))
    main = next(op for op in functions if op.name.value == "main")
    rng = np.random.default_rng(0)
    host = []
    with context:
        for kind in main.type.inputs:
            array = ir.RankedTensorType(kind)
            dtype = jax.numpy.dtype({"i32": "int32", "i16": "int16", "i64": "int64", "ui32": "uint32", "bf16": "bfloat16"}.get(
                str(array.element_type), str(array.element_type).replace("f", "float")))  # fmt: skip
            if jax.numpy.issubdtype(dtype, jax.numpy.integer):
                host.append(rng.integers(0, job.below, array.shape).astype(dtype))
            else:
                host.append((rng.random(array.shape, np.float32) * 0.1).astype(dtype))

    return turns.settled(executables, host, job.seconds)


# --- the table ----------------------------------------------------------------------------------------------------


def cells(found: Figures | Lost | None) -> list[str]:
    if found is None:
        return ["-", "-", ""]
    if isinstance(found, Lost):
        return ["failed", "-", ""]
    counts = " ".join(f"{count} {SHORT.get(name, name)}" for name, count in found.collectives.items())
    return [f"{found.ratio:.3f}", f"{found.temporaries:,.1f}", counts]


def table(rows: list[list[str]]) -> str:
    """Columns of text that start with a letter in their header's row are set left, all others right."""
    left = {0, 3, 6, 9, 11}
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--pipeline", help="flags of slimhlo's pipeline (default: all of it, for XLA for CPU)")
    parser.add_argument("--no-times", action="store_true", help="measure memory only")
    parser.add_argument("--seconds", type=float, default=6.0, help="for the runs of one program (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))
    import enzyme

    if unknown := [name for name in args.names if name not in programs.PROGRAMS]:
        parser.error(f"no program {unknown[0]}")
    chosen = {name: programs.PROGRAMS[name] for name in args.names or programs.PROGRAMS}
    driver = Driver(args.opt, batch=1, seconds_alone=SECONDS_PER_MODULE, jobs=1).ready()
    flags = (args.pipeline or pipeline_for(args.opt, "xla-cpu")).split()

    print(f"lowering {len(chosen)} programs", flush=True)
    texts = [program().as_text() for program in chosen.values()]
    made = driver.run(texts, flags)
    after = [outcome.output or "" for outcome in made]
    print("compiling them with XLA", flush=True)
    limit = {"seconds": SECONDS_PER_MODULE, "jobs": 1}
    alone = map_items(figures, texts, **limit)
    reason = enzyme.missing()
    theirs = map_items(figures_after_enzyme, texts, **limit) if reason is None else [None] * len(texts)
    ours = map_items(figures, after, **limit)
    times: list[turns.Times | Lost | None] = [None] * len(texts)
    if not args.no_times:
        print("running smaller ones", flush=True)
        small = [program.lower_small().as_text() for program in chosen.values()]
        races = [
            Race(text, outcome.output or "", program.below, args.seconds)
            for text, outcome, program in zip(small, driver.run(small, flags), chosen.values(), strict=True)
        ]
        times = map_items(race, races, **limit, fresh=True)

    head = ["program", "ratio", "temp", "", "ratio", "temp", "", "ratio", "temp", "", "goal", "verdict", "run time", ""]
    titles = ["", "XLA", "MiB", "", "Enzyme", "MiB", "", "slimhlo", "MiB", "", "", "", "before s", "ratio"]
    rows = [head, titles]
    missed, slow, broken = [], [], []
    for number, (name, program) in enumerate(chosen.items()):
        found = ours[number]
        if isinstance(found, Lost):
            verdict = [made[number].crash or made[number].message or found.reason]
        else:
            verdict = misses(program.goals.get("cpu"), alone[number], found)
        if verdict:
            missed.append(name)
        taken = times[number]
        clock = ["-", ""]
        if isinstance(taken, turns.Times):
            share = taken.ratio
            clock = [f"{taken.before:.4f}", f"{share:.2f}" + ("!" if share > turns.LIMIT else "")]
            if share > turns.LIMIT:
                slow.append(name)
        elif isinstance(taken, Lost):
            broken.append(f"{name}: not run: {taken.reason}")
        rows.append([name, *cells(alone[number]), *cells(theirs[number]), *cells(found), goal_text(program.goals.get("cpu")),
                     ", ".join(verdict)[:60] or "met", *clock])  # fmt: skip
    print(table(rows))
    print("collectives: " + ", ".join(f"{short} {name}" for name, short in SHORT.items()))
    if reason:
        print(f"{reason}; its columns are empty")
    for name, found in zip(chosen, theirs, strict=True):
        if isinstance(found, Lost):
            print(f"{name}: after Enzyme-JAX: {found.reason}")
    for line in broken:
        print(line)
    if slow:
        print(f"slower than {turns.LIMIT} times XLA alone: {', '.join(slow)}")
    if args.json:
        record = [
            {"name": name}
            | {
                key: vars(value) if value else None
                for key, value in (("xla", xla), ("enzyme", other), ("slimhlo", our), ("times", clock))
            }
            for name, xla, other, our, clock in zip(chosen, alone, theirs, ours, times, strict=True)
        ]
        args.json.write_text(json.dumps(record, indent=1))
    print(f"{len(chosen) - len(missed)} of {len(chosen)} goals met" + (f"; not: {', '.join(missed)}" if missed else ""))
    return 1 if missed or slow or broken else 0


if __name__ == "__main__":
    sys.exit(main())
