# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The corpus (test/corpus) under XLA for a device that need not be here: alone, after slimhlo, and after slimhlo with
memory limits, asked for as the layer around XLA does (docs/pjrt.md): again, and for less, where XLA counts more.

    python test/oracle/bench_corpus.py target/corpus/cuda --opt target/release/slimhlo-opt --cache target/bench-corpus.jsonl
    python test/oracle/bench_corpus.py target/corpus/cuda --opt target/release/slimhlo-opt vit_linen ocean_step_jax

Per program: the ratio and the MiB of temporaries by XLA's buffer assignment, the estimated time (hlo_time.py), over
XLA's alone, and the same for limits of the floor and a half, a quarter and a tenth of XLA's temporaries. Then the
pipeline's processor time over XLA's, without a limit. Below, by family and over all, what the corpus is to come down
to (GOALS), and what is missed.

Answers are kept in --cache, each as soon as it is there, so that a run that was cut goes on where it was. They are
asked for again when the driver, a module, or what judges it has changed. --seconds stops asking after so long; what
is known by then is printed."""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import pathlib
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence

import jax_start

jax_start.start()

import targets
from bench_target import (
    MIB,
    SECONDS_PER_MODULE,
    Answers,
    Figures,
    Job,
    answer,
    mean,
    slowdown_limit,
    time_share,
    write_docs,
)  # fmt: skip
from opt import needs_more
from workers import Lost, Worker

SHARES = (2, 4, 10)
"""Of XLA's temporaries, what the limits leave: a half, a quarter, a tenth."""
ATTEMPTS = 4
"""How often a program is made to fit, the last time as small as it gets: as often as the layer does."""
MATTERS = 0.01
"""Limits are asked for where temporaries are at least so much of the floor."""
RATIOS = (1.2, 30.0)
"""Programs whose ratio is in between under XLA alone are those that the mean is over."""
SECONDS_PER_PIPELINE = 900.0


@dataclasses.dataclass(frozen=True)
class Goal:
    """For a limit: the share of programs that fit, at how many times XLA's time each, and their geometric mean's."""

    fit: float
    time: float
    mean: float | None = None


GOALS = {2: Goal(0.95, 1.25, 1.08), 4: Goal(0.8, 1.5), 10: Goal(0.5, 3.0)}
MEAN_RATIO = 2.5
FAMILY_EXCESS = 0.5
PIPELINE_SHARE = 0.2


@dataclasses.dataclass(frozen=True)
class Made:
    """What the driver made of a module."""

    text: str | None
    seconds: float
    """Processor time, reading and printing included."""
    problem: str = ""


@dataclasses.dataclass(frozen=True)
class Row:
    """A program's answers; None where nobody has asked."""

    name: str
    family: str
    alone: Figures | Lost | None
    ours: Figures | Lost | None = None
    pipeline: float | None = None
    limited: dict[int, Figures | Lost] = dataclasses.field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return isinstance(self.alone, Figures) and isinstance(self.ours, Figures)

    @property
    def has_limits(self) -> bool:
        return isinstance(self.alone, Figures) and self.alone.temporaries >= MATTERS * self.alone.floor

    def limit(self, share: int) -> int:
        return self.alone.floor + self.alone.temporaries // share

    def fits(self, share: int, time_limit: float) -> bool:
        found = self.limited.get(share)
        if not isinstance(found, Figures) or needs_more(self.limit(share), found.total):
            return False
        return (time_share(self.alone, found) or 1.0) <= time_limit


# --- asking ---------------------------------------------------------------------------------------------------------


class Bench:
    """The driver, the referee, and what both have said before."""

    def __init__(self, opt: str, target: targets.Target, cache: pathlib.Path | None, seconds: float | None) -> None:
        self.opt = opt
        self.target = target
        self.driver = hashlib.sha256(pathlib.Path(opt).read_bytes()).hexdigest()[:16]
        self.answers = Answers(cache, 1)
        self.worker: Worker | None = None
        self.made_path = cache.with_suffix(".pipeline") if cache else None
        self.ends = time.monotonic() + seconds if seconds else None

    @property
    def over(self) -> bool:
        return self.ends is not None and time.monotonic() > self.ends

    def xla(self, text: str) -> Figures | Lost | None:
        job = Job(text, self.target.name)
        key = self.answers.key(job)
        if key not in self.answers.known:
            if self.over:
                return None
            # One process for as long as it lives: starting XLA takes longer than a small program.
            self.worker = self.worker or Worker(answer)
            self.answers.keep(key, self.worker.ask(job, SECONDS_PER_MODULE))
            if self.worker.dead:
                self.worker = None
        return self.answers.known[key]

    def pipeline(self, text: str, limit: int | None) -> Made | None:
        """The default pipeline's output. That is kept, too: for large programs it takes as long as XLA."""
        options = f"target={self.target.name}" + (f" memory-limit={limit} counted" if limit is not None else "")
        words = (self.driver, options, text)
        key = hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]
        kept = self.made_path / key if self.made_path else None
        if kept and kept.with_suffix(".json").exists():
            return Made(kept.with_suffix(".mlir").read_text(), **json.loads(kept.with_suffix(".json").read_text()))
        if self.over:
            return None
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [self.opt, "-", f"--slimhlo-optimize={options}"]
        try:
            done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=SECONDS_PER_PIPELINE)
        except subprocess.TimeoutExpired:
            return Made(None, SECONDS_PER_PIPELINE, f"no answer in {SECONDS_PER_PIPELINE:.0f} s")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if done.returncode:
            told = done.stderr.decode(errors="replace").strip().splitlines() or [""]
            return Made(None, seconds, f"exit status {done.returncode}: {told[0][:200]}")
        made = Made(done.stdout.decode(), seconds)
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.with_suffix(".mlir").write_text(made.text)
            kept.with_suffix(".json").write_text(json.dumps({"seconds": seconds}))
        return made

    def modelled(self, text: str, limit: int) -> int:
        """Bytes that the pipeline's output for a limit takes by the model."""
        made = self.pipeline(text, limit)
        options = f"target={self.target.name} plain=true top=0"
        command = [self.opt, "-", f"--slimhlo-print-memory={options}", "-o", "/dev/null"]
        assert made and made.text is not None, "it has been asked for"
        done = subprocess.run(command, input=made.text.encode(), capture_output=True, check=True)
        return max(int(peak) for peak in re.findall(r"peak (\d+)", done.stderr.decode()))

    def ours(self, text: str, limit: int | None) -> tuple[Figures | Lost | None, float | None]:
        made = self.pipeline(text, limit)
        if made is None:
            return None, None
        return (self.xla(made.text) if made.text is not None else Lost(made.problem)), made.seconds

    def row(self, name: str, family: str, text: str, shares: Sequence[int]) -> Row:
        row = Row(name, family, self.xla(text))
        if row.alone is None or isinstance(row.alone, Lost):
            return row
        found, seconds = self.ours(text, None)
        row = dataclasses.replace(row, ours=found, pipeline=seconds)
        for share in shares if row.has_limits else ():
            limited = self.fitted(text, row.limit(share), row.alone.floor)
            if limited is not None:
                row.limited[share] = limited
        return row

    def fitted(self, text: str, limit: int, floor: int) -> Figures | Lost | None:
        """What the layer (tools/pjrt/src/decide.rs) would keep: where what was to fit does not by XLA's count, less is asked for in
        proportion than the model has for it, or half as much where that came out the same, and in the end the least."""
        kept: Figures | None = None
        asked, before = limit, None
        for attempt in range(ATTEMPTS):
            found, _ = self.ours(text, 0 if attempt + 1 == ATTEMPTS else asked)
            if not isinstance(found, Figures):
                return kept or found
            if kept is None or found.total < kept.total:
                kept = found
            if not needs_more(limit, found.total):
                break
            modelled = max(0, min(asked, self.modelled(text, asked)) - floor)
            if found == before:
                asked = floor + modelled // 2
            else:
                asked = floor + modelled * (limit - floor) // max(1, found.total - floor)
            before = found
        return kept


# --- printing -------------------------------------------------------------------------------------------------------

HEAD = [
    "program",
    "XLA",
    "MiB",
    "us",
    "slimhlo",
    "MiB",
    "time",
    *(f"1/{share}: MiB, time" for share in SHARES),
    "pipeline",
]


def memory_of(found: Figures | Lost | None) -> list[str]:
    if isinstance(found, Figures):
        return [f"{found.ratio:.3f}", f"{found.temporaries / MIB:,.1f}"]
    return ["-" if found is None else "refused", "-"]


def limited_cell(row: Row, share: int) -> str:
    found = row.limited.get(share)
    if found is None:
        return "-"
    if isinstance(found, Lost):
        return "refused"
    sign = "" if row.fits(share, float("inf")) else "> "
    return f"{sign}{found.temporaries / MIB:,.1f}, {time_share(row.alone, found) or 1:.2f}"


def cells(row: Row) -> list[str]:
    before, after = memory_of(row.alone), memory_of(row.ours)
    known = isinstance(row.alone, Figures)
    share = time_share(row.alone, row.ours) if row.whole else None
    return [
        row.name,
        *before,
        f"{row.alone.microseconds:,.0f}" if known else "-",
        *after,
        f"{share:.2f}" if share is not None else "-",
        *(limited_cell(row, each) for each in SHARES),
        f"{row.pipeline / max(1e-3, row.alone.seconds):.2f}" if known and row.pipeline is not None else "-",
    ]


def percent(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / max(1, whole):.0f} %)"


def without_limit(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """What is said of programs without a limit, and whether it is as it is to be."""
    lines = []
    within = [row for row in rows if RATIOS[0] <= row.alone.ratio <= RATIOS[1]]
    if within:
        before, after = (mean(getattr(row, part).ratio for row in within) for part in ("alone", "ours"))
        text = f"{len(within)} programs with a ratio of {RATIOS[0]} to {RATIOS[1]:g}: geometric mean {before:.3f} -> {after:.3f}"
        lines.append((f"{text} (goal {MEAN_RATIO})", after <= MEAN_RATIO))
    worse = [row.name for row in rows if needs_more(row.alone.total, row.ours.total)]
    lines.append((f"more bytes than under XLA alone: {', '.join(worse) or 'none'}", not worse))
    slow = [row.name for row in rows if (time_share(row.alone, row.ours) or 1) > slowdown_limit(row.alone, row.ours)]
    lines.append((f"above max-slowdown: {', '.join(slow) or 'none'}", not slow))
    dear = [row.name for row in rows if row.pipeline > PIPELINE_SHARE * row.alone.seconds]
    text = f"pipeline above {PIPELINE_SHARE:.0%} of XLA's processor time: {percent(len(dear), len(rows))}"
    lines.append((f"{text}{': ' if dear else ''}{', '.join(dear)}", not dear))
    return lines


def with_limits(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    lines = []
    for share, goal in GOALS.items():
        asked = [row for row in rows if share in row.limited]
        fitting = [row for row in asked if row.fits(share, goal.time)]
        if not asked:
            continue
        at_all = sum(row.fits(share, float("inf")) for row in asked)
        times = mean(time_share(row.alone, row.limited[share]) or 1.0 for row in fitting)
        text = f"floor and 1/{share} of XLA's temporaries: {percent(len(fitting), len(asked))} fit at {goal.time} of the time or less"
        text += f", {at_all} at any time; mean time {times or 0:.3f} (goal {goal.fit:.0%}"
        text += f", mean {goal.mean})" if goal.mean else ")"
        met = len(fitting) >= goal.fit * len(asked) and (goal.mean is None or (times or 0) <= goal.mean)
        lines.append((text, met))
    return lines


def by_family(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    lines = []
    for family in sorted({row.family for row in rows}):
        members = [row for row in rows if row.family == family]
        before, after = (mean(getattr(row, part).ratio for row in members) for part in ("alone", "ours"))
        met = after - 1 <= FAMILY_EXCESS * (before - 1) or before <= 1 + MATTERS
        lines.append((f"{family} ({len(members)}): mean ratio {before:.3f} -> {after:.3f}", met))
    return lines


def verdicts(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    whole = [row for row in rows if row.whole]
    return [*without_limit(whole), *with_limits(whole), *by_family(whole)] if whole else []


def lines_of(rows: Iterable[Row]) -> list[str]:
    """Why something is missing."""
    found = []
    for row in rows:
        told = {"alone": row.alone, "after slimhlo": row.ours} | {f"limit 1/{s}": m for s, m in row.limited.items()}
        found += [f"{row.name} {what}: {each.reason[:160]}" for what, each in told.items() if isinstance(each, Lost)]
    return found


def plain_table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    put: Callable[[str, int], str] = lambda cell, at: cell.rjust(widths[at]) if at else cell.ljust(widths[at])
    return "\n".join("  ".join(put(cell, at) for at, cell in enumerate(row)).rstrip() for row in rows)


def markdown(target: targets.Target, rows: Sequence[Row], notes: Sequence[str]) -> str:
    lines = [
        f"## The corpus under XLA for {target.name}",
        "",
        "Programs of PyPI's libraries (test/corpus), by `cargo xtask bench corpus`. After slimhlo without a limit, and with limits of the floor and",
        "a half, a quarter and a tenth of XLA's temporaries, asked for as the layer around XLA does ([docs/pjrt.md](pjrt.md)): MiB of temporaries and",
        "time over XLA's; `>` is above the limit. Pipeline: its processor time over XLA's, without a limit.",
        "",
        "| " + " | ".join(HEAD) + " |",
        "|---" * len(HEAD) + "|",
        *("| " + " | ".join(cells(row)) + " |" for row in rows),
    ]
    return "\n".join([*lines, "", *(f"* {note}" for note in notes), ""])


# --- command --------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="what test/corpus/lower.py has written")
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--target", default="h100", choices=targets.NAMES, metavar="NAME", help="one of %(choices)s")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="where answers are kept")
    parser.add_argument("--seconds", type=float, help="ask for so long at most")
    parser.add_argument("--shares", type=int, nargs="*", default=SHARES, choices=SHARES, help="limits to ask for")
    parser.add_argument("--write-docs", type=pathlib.Path, metavar="FILE", help="put the table into this file")
    parser.add_argument("--check", action="store_true", help="fail only if a program gets worse, or is refused")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    return parser.parse_intermixed_args()


def main() -> int:
    args = arguments()
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(f"{reason}: nothing is measured.")
        return 0
    index = json.loads((args.folder / "index.json").read_text())
    if unknown := set(args.names).difference(index):
        print(f"no program {min(unknown)}", file=sys.stderr)
        return 2
    bench = Bench(args.opt, target, args.cache, args.seconds)
    rows, unmade = [], []
    for name, entry in index.items():
        if args.names and name not in args.names:
            continue
        if entry["problem"]:
            unmade.append(f"{name} is not made: {entry['problem']}")
            continue
        text = (args.folder / f"{name}.mlir").read_text()
        row = bench.row(name, entry["family"], text, args.shares)
        if row.alone is not None:
            rows.append(row)
            print("  ".join(cells(row)), flush=True)
    print(plain_table([HEAD, *(cells(row) for row in rows)]))
    print("\n".join([*unmade, *lines_of(rows)]))
    found = verdicts(rows)
    notes = [f"{text}: {'met' if met else 'MISSED'}" for text, met in found]
    print("\n".join(notes))
    if args.write_docs:
        write_docs(args.write_docs, f"memory corpus {target.name}", markdown(target, rows, [*notes, *unmade]))
    if args.check:
        return check(rows, unmade)
    return 0 if all(met for _, met in found) else 1


def check(rows: Sequence[Row], unmade: Sequence[str]) -> int:
    """For tests: each program is made, compiled before and after, and no worse. Ends with counts."""
    bad = [*unmade]
    for row in rows:
        broken = any(isinstance(each, Lost) for each in (row.ours, *row.limited.values()))
        if not row.whole or broken:
            bad.append(f"{row.name} does not compile")
        elif any(needs_more(row.alone.total, each.total) for each in (row.ours, *row.limited.values())):
            bad.append(f"{row.name} needs more than under XLA alone")
    print("\n".join(f"FAIL {each}" for each in bad))
    print(f"{len(rows) + len(unmade) - len(bad)} passed, {len(bad)} failed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
