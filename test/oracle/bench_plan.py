# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The buffer plans of `slimhlo compile`, against their floors and what XLA needs for the same module.

    python test/oracle/bench_plan.py --slimhlo target/release/slimhlo [NAME ...]
    python test/oracle/bench_plan.py --slimhlo target/release/slimhlo --target cpu halo_step
    python test/oracle/bench_plan.py --slimhlo target/release/slimhlo --write-docs docs/benchmarks.md

Each program of one device is planned at full size; nothing is executed. What a plan allocates (arguments, results that are in none of
them, the arena, constants) is held against what XLA's buffer assignment needs, which it must not exceed by more than 1% and 4 KiB, and
against the program's goal where it has one. XLA's figures do not say what its constants take, so ours are left out there.

For a GPU (the default; XLA's compiler needs none) there are four sets: the reference programs, those of memory_programs.py (some MiB
each), a sample of JAX's own test programs, and the programs of JAX's libraries that --corpus names a folder of (test/corpus/lower.py writes it; --libraries-only takes no others). Of
the first and the last each program has a line, of the others each that is missed. The geometric
mean of planned bytes over XLA's must be at most MEAN for the reference programs, and for all programs. `launches` are those of one run, `waits` how often the
host reads back whether a loop goes on; what loops run that often is not known of is counted once, and marked with a +.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence

import programs  # first: it sets the flags with which JAX starts
from opt import needs_more
from workers import Lost

MIB = 2**20
MEAN = 0.70
LIBRARIES = "programs of libraries"
EVERY = "all programs"
SPAN = 20
"""Modules that XLA is asked about before its answers are written down."""
GOALS = {
    **dict.fromkeys(("gather_fwd_i32", "gather_vjp_i32", "gather_vjp_i16", "gather_vag_sin_i32"), 1.01),
    **dict.fromkeys(("halo_ew", "halo_ns", "halo_all", "pads_sum", "zeros_dus_chain"), 1.01),
    "halo_step": 1.34,
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A module, and the set that it belongs to."""

    kind: str
    name: str
    text: str


@dataclasses.dataclass(frozen=True)
class Schedule:
    """What a run launches and waits for."""

    launches: int = 0
    """Kernels and copies."""
    waits: int = 0
    known: bool = True
    """There are no loops of unknown length."""

    def __add__(self, other: Schedule) -> Schedule:
        return Schedule(self.launches + other.launches, self.waits + other.waits, self.known and other.known)

    def times(self, turns: int) -> Schedule:
        return Schedule(self.launches * turns, self.waits * turns, self.known)

    def __str__(self) -> str:
        return f"{self.launches:,}{'' if self.known else '+'}"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a package allocates, in bytes, and the seconds it took to plan."""

    floor: int
    arena: int
    constants: int
    kernels: int
    schedule: Schedule
    seconds: float

    @property
    def total(self) -> int:
        return self.floor + self.arena + self.constants


def schedule(steps: Sequence[dict], functions: dict[str, int]) -> Schedule:
    """What some steps of a manifest launch; of branches the longest."""
    total = Schedule()
    for step in steps:
        match step["do"]:
            case "launch":
                total += Schedule(functions[step["kernel"]])
            case "copy":
                total += Schedule(1)
            case "repeat":
                total += schedule(step["body"], functions).times(step["turns"])
            case "while":
                inside = schedule(step["condition"] + step["body"], functions)
                total += Schedule(inside.launches, inside.waits + 1, False)
            case "case":
                branches = [schedule(branch, functions) for branch in step["branches"]]
                longest = max(branches, key=lambda each: each.launches)
                known = all(branch.known for branch in branches)
                total += Schedule(longest.launches, longest.waits + 1, known)
    return total


def plan(command: str, text: str) -> Plan | str:
    """The plan of a module, or why there is none."""
    started = time.monotonic()
    done = subprocess.run([command, "compile", "-q", "--emit", "manifest"], input=text, capture_output=True, text=True)
    seconds = time.monotonic() - started
    if done.returncode:
        error = next((line for line in done.stderr.splitlines() if "error: " in line), None)
        # Without the place, which is of this machine.
        return error.split("error: ", 1)[1] if error else f"exit status {done.returncode}"
    manifest = json.loads(done.stdout)
    donated = [result for result in manifest["results"] if result.get("argument") is not None]
    floor = sum(each["bytes"] for each in manifest["arguments"] + manifest["results"]) - sum(
        r["bytes"] for r in donated
    )
    functions = {kernel["name"]: len(kernel["functions"]) for kernel in manifest["kernels"]}
    return Plan(
        floor,
        manifest["arena_bytes"],
        manifest["constants_bytes"],
        len(functions),
        schedule(manifest["steps"], functions),
        seconds,
    )


# --- XLA ----------------------------------------------------------------------------------------------------------


def xla_totals(cases: Sequence[Case], target: str, cache: pathlib.Path | None) -> list[int | None]:
    """Bytes that XLA needs for each module; None where it refuses it."""
    import bench_target

    answers = bench_target.Answers(cache, jobs=1)
    jobs = [bench_target.Job(case.text, target) for case in cases]
    found = []
    for first in range(0, len(jobs), SPAN):
        found += answers.ask(jobs[first : first + SPAN])
    return [None if isinstance(each, Lost) else each.total for each in found]


def harnesses(count: int, seed: int, platform: str) -> list[Case]:
    """Some of JAX's own test programs, those that are for several devices left out."""
    import memory_model

    found = memory_model.harnesses(count, seed, platform)
    return [Case("JAX's tests", module.name, module.text) for module in found]


def gather(args: argparse.Namespace, target: str) -> list[Case]:
    import targets

    platform = targets.find(target).platform
    known = programs.PROGRAMS | programs.VARIANTS if platform == "cuda" else programs.PROGRAMS
    libraries = {path.stem for path in args.corpus.glob("*.mlir")} if args.corpus else set()
    unknown = [name for name in args.names if name not in known and name not in libraries]
    if unknown:
        raise SystemExit(f"no program {unknown[0]}")
    chosen = [name for name in args.names or known if name in known and not args.libraries_only]
    cases = [Case("reference", name, known[name](platform).as_text()) for name in chosen]
    if platform == "cuda" and not args.names and not args.libraries_only:
        import memory_programs

        cases += [Case("larger", name, text) for name, text in memory_programs.programs(platform)]
        cases += harnesses(args.harnesses, args.seed, platform)
    for path in sorted(args.corpus.glob("*.mlir")) if args.corpus else []:
        if not args.names or path.stem in args.names:
            cases.append(Case(LIBRARIES, path.stem, path.read_text()))
    return [case for case in cases if "mhlo.num_partitions = 1 " in case.text]


# --- printing -----------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Row:
    """A program, its plan, and what XLA needs for it."""

    case: Case
    plan: Plan | str
    xla: int | None

    @property
    def share(self) -> float | None:
        """Planned bytes over XLA's, constants left out."""
        if isinstance(self.plan, str) or not self.xla:
            return None
        return (self.plan.total - self.plan.constants) / self.xla

    @property
    def wrong(self) -> list[str]:
        if isinstance(self.plan, str):
            # What XLA cannot compile either is no program for a GPU.
            return [] if self.xla is None else [self.plan]
        found = []
        goal = GOALS.get(self.case.name)
        if goal and self.plan.total > goal * self.plan.floor:
            found.append(f"above {goal} times the floor")
        if self.xla is not None and needs_more(self.xla, self.plan.total - self.plan.constants):
            found.append("above XLA")
        return found


HEAD = f"{'program':36}{'floor MiB':>12}{'plan MiB':>12}{'XLA MiB':>12}{'share':>8}{'kernels':>9}{'launches':>10}{'waits':>7}{'s':>7}"


def line(row: Row) -> str:
    name = row.case.name[:35]
    if isinstance(row.plan, str):
        return f"{name:36}{row.plan[:150]}"
    made = row.plan
    xla = "-" if row.xla is None else f"{row.xla / MIB:,.2f}"
    share = "-" if row.share is None else f"{row.share:.3f}"
    return (
        f"{name:36}{made.floor / MIB:12,.2f}{made.total / MIB:12,.2f}{xla:>12}{share:>8}{made.kernels:9,}"
        f"{made.schedule!s:>10}{made.schedule.waits:7,}{made.seconds:7.2f}  {', '.join(row.wrong) or 'met'}"
    )


def summary(kind: str, rows: Sequence[Row]) -> tuple[str, float]:
    """A set's means, and that of planned bytes over XLA's."""
    shares = [row.share for row in rows if row.share]
    unknown = sum(1 for row in rows if row.xla is None)
    mean = math.exp(sum(map(math.log, shares)) / len(shares)) if shares else 0.0
    met = sum(1 for row in rows if not row.wrong)
    above = sum(1 for row in rows if "above XLA" in row.wrong)
    return (
        f"{kind}: {met} of {len(rows)} goals met, {above} above XLA, {unknown} that XLA does not compile; planned bytes are {mean:.3f} of XLA's (geometric mean of {len(shares)})",
        mean,
    )


def show(rows: Sequence[Row], every: bool) -> Iterator[str]:
    """Lines of a set, the worst first if not every row has one."""
    if every:
        yield from map(line, rows)
    else:
        yield from map(line, sorted((row for row in rows if row.wrong), key=lambda row: -(row.share or math.inf)))


# --- docs ---------------------------------------------------------------------------------------------------------


def markdown(rows: Sequence[Row]) -> str:
    """The tables: each reference program, then how the sets do and what of them is missed."""
    lines = [
        "| program | floor | slimhlo | XLA | share | kernels | launches | waits |",
        "|---|---|---|---|---|---|---|---|",
    ]

    def entry(row: Row) -> str:
        if isinstance(row.plan, str):
            return f"| {row.case.name} | {row.plan} | | | | | | |"
        made = row.plan
        xla = "-" if row.xla is None else f"{row.xla / MIB:,.1f}"
        share = "-" if row.share is None else f"{row.share:.3f}"
        note = f"{share}: {', '.join(row.wrong)}" if row.wrong else share
        return (
            f"| {row.case.name} | {made.floor / MIB:,.1f} | {made.total / MIB:,.1f} | {xla} | {note} | {made.kernels:,} "
            f"| {made.schedule} | {made.schedule.waits:,} |"
        )

    lines += [entry(row) for row in rows if row.case.kind == "reference"]
    for kind in dict.fromkeys(row.case.kind for row in rows):
        chosen = [row for row in rows if row.case.kind == kind]
        lines += ["", f"{summary(kind, chosen)[0]}."]
        if kind != "reference" and (missed := [row for row in chosen if row.wrong]):
            lines += ["", *lines[:2], *map(entry, missed)]
    lines += ["", f"{summary(EVERY, rows)[0]}."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("--target", default="h100", metavar="NAME", help="whose XLA is asked (default: %(default)s)")
    parser.add_argument(
        "--harnesses", type=int, default=200, metavar="N", help="of JAX's test programs (default: %(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--corpus", type=pathlib.Path, metavar="FOLDER", help="modules of programs of libraries")
    parser.add_argument("--libraries-only", action="store_true", help="those of --corpus and no others")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="where XLA's answers are kept")
    parser.add_argument("--write-docs", type=pathlib.Path, metavar="FILE", help="put the tables into this file")
    parser.add_argument("names", nargs="*", metavar="NAME", help="reference programs (default: all sets)")
    args = parser.parse_args()
    if args.write_docs and (args.names or args.libraries_only):
        parser.error("--write-docs writes the tables of all sets; name none")
    if args.libraries_only and not args.corpus:
        parser.error("--libraries-only wants the folder that they are in, --corpus")
    import bench_target
    import targets

    target = targets.find(args.target).name
    cases = gather(args, target)
    rows = [
        Row(case, plan(args.slimhlo, case.text), xla)
        for case, xla in zip(cases, xla_totals(cases, target, args.cache), strict=True)
    ]
    failed = False
    means: dict[str, float] = {}
    print(HEAD)
    for kind in dict.fromkeys(case.kind for case in cases):
        chosen = [row for row in rows if row.case.kind == kind]
        for text in show(chosen, every=kind in ("reference", LIBRARIES)):
            print(text)
        text, mean = summary(kind, chosen)
        print(text, flush=True)
        failed |= any(row.wrong for row in chosen)
        # What is held against nothing holds nothing.
        if chosen and all(row.xla is None for row in chosen):
            failed = True
            print("XLA compiles none of them")
        # A mean of some says nothing of all.
        means[kind] = mean
    text, means[EVERY] = summary(EVERY, rows)
    print(text)
    for kind in ("reference", EVERY):
        if not args.names and means.get(kind, 0.0) > MEAN and target != "cpu":
            failed = True
            print(f"the mean of {kind} is above {MEAN}")
    if args.write_docs:
        bench_target.write_docs(args.write_docs, "plan", f"\n{markdown(rows)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
