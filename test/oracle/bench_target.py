# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs under XLA for a device that need not be here: alone, after slimhlo, and after Enzyme-JAX's pipeline.

    python test/oracle/bench_target.py --opt target/release/slimhlo-opt
    python test/oracle/bench_target.py --opt target/release/slimhlo-opt --target v5p halo_all train4
    python test/oracle/bench_target.py --opt target/release/slimhlo-opt --write-docs docs/benchmarks.md

Programs are lowered for the target's platform, at full size. Memory is XLA's buffer assignment, per device; kernels and time are
estimates from the compiled HLO (hlo_time.py); compile is what XLA compiled for, in seconds of processor time. A program's verdict:

 - never more bytes than under XLA alone, within 1% and 4 KiB;
 - estimated time at most `max-slowdown` times XLA's: 1.25 where temporaries at least halve, else 1.05;
 - XLA compiles for at most 1.25 times as long, and a second;
 - the program's own goals for this kind of target (programs.py), and those of its group below.

Answers for modules that have been seen are taken from --cache; they are made again when the estimate changes.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import importlib.metadata
import json
import math
import pathlib
import re
import sys
from collections.abc import Iterable, Sequence

import programs  # first: it sets the flags with which JAX starts
import referee
import targets
from opt import Driver, needs_more, pipeline_for, with_values
from program import Goal, Program
from workers import Lost, map_items

MIB = 2**20
SECONDS_PER_MODULE = 600.0
COMPILE_FACTOR, COMPILE_SLACK = 1.25, 1.0
HERE = pathlib.Path(__file__).parent
JUDGES = (
    "referee.py",
    "hlo.py",
    "hlo_loops.py",
    "hlo_time.py",
    "targets.py",
    "xla_options.py",
    "xla_gpu.py",
    "xla_tpu.py",
)

Figures = referee.Memory
Answer = Figures | Lost


@dataclasses.dataclass(frozen=True)
class Group:
    """Goals for the geometric means over some programs: of ratios, and of times over XLA's alone."""

    name: str
    members: tuple[str, ...]
    ratio: float | None = None
    time: float | None = None
    excess: float | None = None
    """Of the mean ratio's excess over 1, as a share of what it is under XLA alone."""


MOVES = (
    "gather_fwd_i32", "gather_vjp_i32", "gather_vjp_i16", "gather_vag_sin_i32", "embedding_vjp", "halo_ew", "halo_ns", "halo_all",
    "halo_step", "pads_sum", "zeros_dus_chain", "pad_spmd", "pad_spmd_full", "dus_zero_spmd", "halo_ew_spmd",
)  # fmt: skip
GROUPS = {
    "gpu": (Group("gathers, embedding, halos, pads", MOVES, ratio=1.01, time=0.85),),
    "tpu": (Group("all programs", tuple(programs.PROGRAMS), excess=0.5),),
    "cpu": (),
}


# --- asking ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Job:
    """A module to measure for a target, after Enzyme-JAX's pipeline if asked."""

    text: str
    target: str
    enzyme: bool = False


def answer(job: Job) -> Figures:
    import enzyme

    text = enzyme.for_xla(enzyme.run(job.text)[0]) if job.enzyme else job.text
    return referee.measure("", text, targets.find(job.target))


class Answers:
    """What modules take, remembered in a file by their texts and by what judges them."""

    def __init__(self, path: pathlib.Path | None, jobs: int) -> None:
        self.path = path
        self.jobs = jobs
        judges = b"".join((HERE / name).read_bytes() for name in JUDGES)
        self.stamp = hashlib.sha256(judges + importlib.metadata.version("jaxlib").encode()).hexdigest()
        self.known: dict[str, Answer] = {}
        for line in path.read_text().splitlines() if path and path.exists() else ():
            key, found = json.loads(line)
            self.known[key] = Lost(found) if isinstance(found, str) else Figures(**found)

    def key(self, job: Job) -> str:
        words = (self.stamp, job.target, str(job.enzyme), job.text)
        return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]

    def ask(self, jobs: Sequence[Job]) -> list[Answer]:
        """One answer per job, in order; of what XLA refuses, why."""
        new = list({self.key(job): job for job in jobs if self.key(job) not in self.known}.items())
        made = map_items(answer, [job for _, job in new], seconds=SECONDS_PER_MODULE, jobs=self.jobs)
        for (key, _), found in zip(new, made, strict=True):
            self.keep(key, found)
        return [self.known[self.key(job)] for job in jobs]

    def keep(self, key: str, found: Answer) -> None:
        """Remembers an answer, in the file as well."""
        self.known[key] = found
        # One that died for want of time or memory may live in the next run.
        if self.path and not isinstance(found, Lost):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a") as out:
                out.write(json.dumps([key, dataclasses.asdict(found)]) + "\n")


# --- judging --------------------------------------------------------------------------------------------------------


def slowdown_limit(alone: Figures, found: Figures) -> float:
    """What a program may take of XLA's time: more where its temporaries at least halve."""
    return 1.25 if 2 * found.temporaries <= alone.temporaries and alone.temporaries > 0 else 1.05


def time_share(alone: Answer, found: Answer) -> float | None:
    if isinstance(alone, Lost) or isinstance(found, Lost) or not alone.microseconds:
        return None
    return found.microseconds / alone.microseconds


def misses(goal: Goal | None, alone: Answer, found: Figures) -> list[str]:
    """What a program falls short of."""
    wrong = []
    share = time_share(alone, found)
    if isinstance(alone, Figures):
        if needs_more(alone.total, found.total):
            wrong.append(f"{(found.total - alone.total) / MIB:.1f} MiB more than XLA alone")
        if share is not None and share > slowdown_limit(alone, found):
            wrong.append(f"time {share:.2f} > {slowdown_limit(alone, found)}")
        if found.seconds > COMPILE_FACTOR * alone.seconds + COMPILE_SLACK:
            wrong.append(f"compiles {found.seconds / alone.seconds:.1f} times as long")
    if goal is None:
        return wrong
    if goal.ratio is not None and found.ratio > goal.ratio:
        wrong.append(f"ratio {found.ratio:.3f} > {goal.ratio}")
    if goal.temporaries is not None and found.temporaries > goal.temporaries * MIB:
        wrong.append(f"{found.temporaries / MIB:.0f} MiB > {goal.temporaries:.0f}")
    if goal.all_gathers is not None and found.collectives.get("all-gather", 0) > goal.all_gathers:
        wrong.append("all-gathers")
    if goal.permuted is not None and found.permuted > goal.permuted:
        wrong.append(f"permutes {found.permuted} bytes > {goal.permuted}")
    if goal.broadcasts is not None and found.broadcasts > goal.broadcasts:
        wrong.append(f"{found.broadcasts} broadcasts > {goal.broadcasts}")
    if goal.time is not None and share is not None and share > goal.time:
        wrong.append(f"time {share:.2f} > {goal.time}")
    return wrong


def mean(values: Iterable[float]) -> float | None:
    """The geometric mean, of what is above zero."""
    logs = [math.log(value) for value in values if value > 0]
    return math.exp(sum(logs) / len(logs)) if logs else None


@dataclasses.dataclass(frozen=True)
class Row:
    """A program's answers, and its verdict."""

    name: str
    goal: Goal | None
    alone: Answer
    enzyme: Answer | None
    ours: Answer
    wrong: list[str]

    def both(self) -> tuple[Figures, Figures] | None:
        """Before and after, if XLA compiles both."""
        whole = isinstance(self.alone, Figures) and isinstance(self.ours, Figures)
        return (self.alone, self.ours) if whole else None


def needed(found: Answer) -> str | None:
    """What XLA says that temporaries would take, where it refuses a module because they do not fit (XLA for TPUs does)."""
    said = (
        re.search(r"RESOURCE_EXHAUSTED.*HLO temporaries \(([^)]*)\)", found.reason) if isinstance(found, Lost) else None
    )
    return said[1] if said else None


def judge(name: str, program: Program, kind: str, answers: tuple[Answer, Answer | None, Answer], failure: str) -> Row:
    alone, enzyme, ours = answers
    goal = program.goals.get(kind)
    if isinstance(ours, Figures):
        wrong = misses(goal, alone, ours)
    elif needed(ours):
        wrong = [f"does not fit: temporaries of {needed(alone) or '?'} alone, {needed(ours)} after slimhlo"]
    elif isinstance(alone, Lost) and not failure:
        wrong = []  # XLA compiles neither: the program is not for this target
    else:
        wrong = [failure or ours.reason]
    return Row(name, goal, alone, enzyme, ours, wrong)


def group_misses(group: Group, rows: Sequence[Row]) -> list[str]:
    """What a group's means fall short of."""
    pairs = [pair for row in rows if row.name in group.members and (pair := row.both())]
    ratio, before = (mean(pair[number].ratio for pair in pairs) for number in (1, 0))
    share = mean(share for pair in pairs if (share := time_share(*pair)) is not None)
    wrong = []
    if group.ratio is not None and ratio is not None and ratio > group.ratio:
        wrong.append(f"mean ratio {ratio:.3f} > {group.ratio}")
    if group.time is not None and share is not None and share > group.time:
        wrong.append(f"mean time {share:.2f} > {group.time}")
    if group.excess is not None and ratio is not None and ratio - 1 > group.excess * (before - 1):
        wrong.append(f"mean ratio {ratio:.3f} > 1 + {group.excess} * {before - 1:.3f}")
    return wrong


# --- printing -------------------------------------------------------------------------------------------------------

HEAD = ["program", "XLA", "MiB", "kernels", "us", "Enzyme", "MiB", "kernels", "time", "slimhlo", "MiB", "kernels", "time", "compile s",
        "goal", "verdict"]  # fmt: skip
LEFT = {0, 14, 15}


def cells(found: Answer | None, alone: Answer) -> list[str]:
    if found is None:
        return ["-", "-", "-", "-"]
    if isinstance(found, Lost):
        return ["refused", "-", "-", "-"]
    share = time_share(alone, found)
    counted = [f"{found.ratio:.3f}", f"{found.temporaries / MIB:,.1f}", f"{found.kernels:,}"]
    return [*counted, "-" if share is None else f"{share:.2f}"]


def goal_text(goal: Goal | None) -> str:
    if goal is None:
        return "as XLA"
    parts = [f"{goal.ratio:g}"] if goal.ratio is not None else []
    parts += [f"{goal.temporaries:.0f} MiB"] if goal.temporaries is not None else []
    parts += ["no ag"] if goal.all_gathers == 0 else []
    parts += [f"time {goal.time:g}"] if goal.time is not None else []
    return ", ".join(parts)


def row_cells(row: Row) -> list[str]:
    first = cells(row.alone, row.alone)
    if isinstance(row.alone, Figures):
        first[3] = f"{row.alone.microseconds:,.0f}"
    pair = row.both()
    seconds = f"{pair[0].seconds:.1f} {pair[1].seconds:.1f}" if pair else "-"
    verdict = ", ".join(row.wrong) or ("met" if isinstance(row.ours, Figures) else "not for this target")
    return [
        row.name,
        *first,
        *cells(row.enzyme, row.alone),
        *cells(row.ours, row.alone),
        seconds,
        goal_text(row.goal),
        verdict,
    ]


def plain_table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    put = lambda cell, column: cell.ljust(widths[column]) if column in LEFT else cell.rjust(widths[column])
    return "\n".join("  ".join(put(cell, column) for column, cell in enumerate(row)).rstrip() for row in rows)


def means(rows: Sequence[Row]) -> list[str]:
    """Geometric means over the programs that all of a column's versions compile for."""
    lines = []
    for title, pick in (("slimhlo", lambda row: row.ours), ("Enzyme-JAX", lambda row: row.enzyme)):
        pairs = [
            (row.alone, pick(row)) for row in rows if isinstance(row.alone, Figures) and isinstance(pick(row), Figures)
        ]
        if not pairs:
            continue
        ratios = [mean(pair[number].ratio for pair in pairs) for number in (0, 1)]
        parts = [f"ratio {ratios[0]:.3f} -> {ratios[1]:.3f}"]
        times = [share for pair in pairs if (share := time_share(*pair)) is not None]
        parts += [f"time {mean(times):.3f} of XLA's"] if times else []
        parts += [f"kernels {mean(pair[1].kernels / max(1, pair[0].kernels) for pair in pairs):.2f} times as many"]
        parts += [
            f"XLA compiles {mean(pair[1].seconds / max(1e-3, pair[0].seconds) for pair in pairs):.2f} times as long"
        ]
        lines.append(f"{title}, geometric means over {len(pairs)} programs: {', '.join(parts)}")
    return lines


def group_lines(groups: Iterable[Group], rows: Sequence[Row]) -> tuple[list[str], bool]:
    lines, failed = [], False
    names = {row.name for row in rows}
    for group in groups:
        if not names.issuperset(group.members):
            continue  # a mean of some says nothing of all
        wrong = group_misses(group, rows)
        failed |= bool(wrong)
        lines.append(
            f"{group.name} ({len(group.members)} programs): {', '.join(wrong) or 'goals for the means are met'}"
        )
    return lines, failed


def unknown_lines(rows: Sequence[Row]) -> list[str]:
    lines = []
    for row in rows:
        for title, found in (("alone", row.alone), ("after slimhlo", row.ours), ("after Enzyme-JAX", row.enzyme)):
            if isinstance(found, Figures) and found.unknown:
                parts = ", ".join(f"{count} {name}" for name, count in found.unknown.items())
                lines.append(f"{row.name} {title}: the estimate does not know {parts}")
            elif isinstance(found, Lost):
                lines.append(f"{row.name} {title}: {found.reason[:160]}")
    return lines


def markdown(target: targets.Target, rows: Sequence[Row], notes: Sequence[str]) -> str:
    """The table as a section of docs/benchmarks.md."""
    head = [
        "program",
        "XLA",
        "MiB",
        "kernels",
        "us",
        "Enzyme-JAX",
        "time",
        "slimhlo",
        "MiB",
        "kernels",
        "time",
        "verdict",
    ]
    keep = [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 15]
    lines = [
        f"## Memory and estimated time under XLA for {target.name}",
        "",
        "| " + " | ".join(head) + " |",
        "|---" * len(head) + "|",
    ]
    for row in rows:
        found = row_cells(row)
        lines.append("| " + " | ".join(found[column] for column in keep) + " |")
    return "\n".join([*lines, "", *(f"* {note}" for note in notes), ""])


PREFACE = """# Benchmarks

Tables that `cargo xtask bench memory --target NAME --write-docs` writes. Per program: the ratio of arguments, results and temporaries
to what arguments and results take by themselves, by XLA's buffer assignment; MiB of temporaries; kernels launched, loops with all
their turns; and the estimated time, in microseconds for XLA alone and over that for the others (test/oracle/hlo_time.py says from what).
"""


def write_docs(path: pathlib.Path, name: str, section: str) -> None:
    """Puts what a benchmark prints in its place, or at the end, and leaves all others."""
    begin, end = f"<!-- bench {name} -->", f"<!-- end of bench {name} -->"
    text = path.read_text() if path.exists() else PREFACE
    whole = f"{begin}\n{section}{end}"
    if begin in text and end in text:
        before, rest = text.split(begin, 1)
        text = before + whole + rest.split(end, 1)[1]
    else:
        text = f"{text.rstrip()}\n\n{whole}\n"
    scratch = path.with_suffix(".new")
    scratch.write_text(text)
    scratch.replace(path)


# --- command --------------------------------------------------------------------------------------------------------


def arguments(known: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument(
        "--target",
        default="gpu",
        choices=targets.NAMES,
        metavar="NAME",
        help="one of %(choices)s (default: %(default)s)",
    )
    parser.add_argument("--pipeline", help="flags of slimhlo's pipeline (default: all of it, for the target)")
    parser.add_argument("--no-enzyme", action="store_true", help="leave out Enzyme-JAX's columns")
    parser.add_argument("--jobs", type=int, default=1, help="processes that compile (default: %(default)s)")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="where answers are kept")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there")
    parser.add_argument("--write-docs", type=pathlib.Path, metavar="FILE", help="put the table into this file")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))
    if unknown := set(args.names).difference(known):
        parser.error(f"no program {min(unknown)}")
    if args.write_docs and args.names:
        parser.error("--write-docs writes the table of all programs; name none")
    return args


def measure(args: argparse.Namespace, chosen: dict[str, Program], target: targets.Target) -> list[Row]:
    import enzyme

    driver = Driver(args.opt, batch=1, seconds_alone=SECONDS_PER_MODULE, jobs=1).ready()
    flags = (args.pipeline or pipeline_for(args.opt, target.name)).split()
    print(f"lowering {len(chosen)} programs for {target.platform}, then {' '.join(flags)}", flush=True)
    texts = [program(target.platform).as_text() for program in chosen.values()]
    made = driver.run(texts, flags)
    answers = Answers(args.cache, args.jobs)
    print(f"compiling them with XLA for {target.name}: alone", flush=True)
    alone = answers.ask([Job(text, target.name) for text in texts])
    print("after slimhlo", flush=True)
    ours = answers.ask([Job(outcome.output or "", target.name) for outcome in made])
    theirs: list[Answer | None] = [None] * len(texts)
    if args.no_enzyme or enzyme.missing():
        print(enzyme.missing() or "Enzyme-JAX is left out")
    else:
        print("after Enzyme-JAX", flush=True)
        theirs = answers.ask([Job(text, target.name, enzyme=True) for text in texts])
    failures = [outcome.crash or outcome.message if outcome.output is None else "" for outcome in made]
    return [
        judge(name, program, target.kind, (first, other, our), failure)
        for (name, program), first, other, our, failure in zip(
            chosen.items(), alone, theirs, ours, failures, strict=True
        )
    ]


def main() -> int:
    known = programs.PROGRAMS | programs.VARIANTS
    args = arguments(known)
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(f"{reason}: nothing is measured.")
        return 0
    rows = measure(args, {name: known[name] for name in args.names or known}, target)
    print(plain_table([HEAD, *(row_cells(row) for row in rows)]))
    for line in unknown_lines(rows):
        print(line)
    of_groups, failed = group_lines(GROUPS[target.kind], rows)
    missed = [row.name for row in rows if row.wrong]
    notes = [*means(rows), *of_groups]
    able = [row for row in rows if isinstance(row.ours, Figures) or row.wrong]
    met = f"{len(able) - len(missed)} of {len(able)} programs meet their goals"
    notes.append(met + (f"; not: {', '.join(missed)}" if missed else ""))
    if len(able) < len(rows):
        refused = ", ".join(row.name for row in rows if row not in able)
        notes.append(
            f"XLA for {target.name} compiles {len(rows) - len(able)} neither alone nor after slimhlo: {refused}"
        )
    if args.write_docs:
        write_docs(args.write_docs, f"memory {target.name}", markdown(target, rows, notes))
    if args.json:
        plain = lambda found: dataclasses.asdict(found) if found is not None else None
        record = [
            {
                "name": row.name,
                "xla": plain(row.alone),
                "enzyme": plain(row.enzyme),
                "slimhlo": plain(row.ours),
                "missed": row.wrong,
            }
            for row in rows
        ]
        args.json.write_text(json.dumps(record, indent=1))
    print("\n".join(notes))
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
