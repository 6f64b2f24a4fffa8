# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the memory model with XLA's buffer assignment for a target, and its time with the referee's estimate.

    python test/oracle/memory_model.py --opt target/debug/slimhlo-opt --corpus target/oracle
    python test/oracle/memory_model.py --opt target/debug/slimhlo-opt --target h100 --harnesses 500 --families 60

Sets of modules: the corpora of `corpus.py` (most are tiny), JAX's own test programs lowered for the target's platform, the reference
programs of `programs.py` (before and after each --pipeline), the larger ones of `memory_programs.py`, and generated ones of all families.
For each set: how many modules are modelled within 25% or 1 MiB of XLA's temporaries, and within 10% + 1 MiB of XLA's peak; each miss,
the largest first; of the modules whose need a pipeline changes by more than 5% under XLA, how many the model saw changing in the
same direction; and how many times are within 1.5 times the estimate's. None may need more by XLA's word. Nothing is executed; XLA's
answers are kept in --cache by the text of the module, so that a second run compiles nothing.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence

import jax_start
import targets
from opt import knows_target, needs_more, pipeline_for, with_values
from workers import Lost, map_items

os.environ.setdefault("JAX_ENABLE_X64", "1")

MIB = 2**20
SECONDS_PER_MODULE = 300.0
TIME_SPREAD = 1.5
LEAST_TIME = 20.0
"""Microseconds below which a time says nothing: some launches."""
FAMILY_FACTOR = 4096
"""Of the long dimensions of generated programs."""
TIME = re.compile(r"time ([0-9.]+) us")
NUMBERS = re.compile(r"memory: peak (\d+) = arguments (\d+) \+ results (\d+) - aliased (\d+) \+ temporaries (\d+)")


@dataclasses.dataclass(frozen=True)
class Module:
    """A module to compare: which set it is of, what it is called, and its text."""

    kind: str
    name: str
    text: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:32]


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Bytes on one device."""

    arguments: int
    results: int
    aliased: int
    temporaries: int
    microseconds: float | None = None

    @property
    def total(self) -> int:
        return self.arguments + self.results - self.aliased + self.temporaries

    def close_to(self, truth: Sizes) -> bool:
        """Whether temporaries are within 25% or 1 MiB."""
        return abs(self.temporaries - truth.temporaries) <= max(truth.temporaries / 4, MIB)

    def near(self, truth: Sizes) -> bool:
        """Whether the peak is within 10% and 1 MiB."""
        return abs(self.total - truth.total) <= truth.total / 10 + MIB

    def in_time(self, truth: Sizes) -> bool | None:
        """Whether the time is within 1.5 times the estimate's; None where either says none, or both next to nothing."""
        if (
            self.microseconds is None
            or truth.microseconds is None
            or max(self.microseconds, truth.microseconds) < LEAST_TIME
        ):
            return None
        most, least = max(self.microseconds, truth.microseconds), min(self.microseconds, truth.microseconds)
        return most <= TIME_SPREAD * least


def compile_one(item: tuple[str, str]) -> list[float] | str:
    """XLA's sizes of a module for a target, or why there are none."""
    import referee

    text, name = item
    try:
        memory = referee.measure("", text, targets.find(name))
    except Exception as error:  # XLA's errors have no common base
        return f"{type(error).__name__}: {str(error)[:200]}"
    return [memory.arguments, memory.results, memory.alias, memory.temporaries, memory.microseconds]


class Xla:
    """XLA's answers for a target, remembered in a file."""

    def __init__(self, cache: pathlib.Path | None, jobs: int, target: str) -> None:
        self.cache = cache
        self.jobs = jobs
        self.target = target
        self.known: dict[str, list[float] | str] = {}
        if cache and cache.exists():
            for line in cache.read_text().splitlines():
                digest, answer = json.loads(line)
                self.known[digest] = answer

    def key(self, module: Module) -> str:
        return f"{self.target} {module.digest}"

    def ask(self, modules: Iterable[Module]) -> None:
        """Compiles what is not known yet."""
        new = list({self.key(module): module.text for module in modules if self.key(module) not in self.known}.items())
        # A span at a time, so that a run that is cut short leaves its answers.
        span = 100
        for first in range(0, len(new), span):
            part = new[first : first + span]
            found = map_items(
                compile_one, [(text, self.target) for _, text in part], seconds=SECONDS_PER_MODULE, jobs=self.jobs
            )
            answers = [
                (key, each.reason if isinstance(each, Lost) else each)
                for (key, _), each in zip(part, found, strict=True)
            ]
            self.known.update(answers)
            if self.cache:
                with self.cache.open("a") as out:
                    out.writelines(json.dumps(answer) + "\n" for answer in answers)

    def sizes(self, module: Module) -> Sizes | None:
        answer = self.known.get(self.key(module), "")
        return None if isinstance(answer, str) else Sizes(*map(int, answer[:4]), answer[4])


def model(binary: str, text: str, options: str) -> Sizes | None:
    """What the model says."""
    command = [binary, "-", f"--slimhlo-print-memory=top=0 plain=true{options}", "-o", os.devnull]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)
    found = NUMBERS.search(done.stderr)
    if not found:
        return None
    _, arguments, results, aliased, temporaries = map(int, found.groups())
    time = TIME.search(done.stderr)
    return Sizes(arguments, results, aliased, temporaries, float(time[1]) if time else None)


def transform(binary: str, text: str, pipeline: Sequence[str]) -> str | None:
    done = subprocess.run(
        [binary, "-", *pipeline], input=text, capture_output=True, text=True, timeout=300, check=False
    )
    return done.stdout if done.returncode == 0 else None


def harnesses(count: int, seed: int, platform: str) -> list[Module]:
    """Some of JAX's own test programs, as JAX lowers them for a platform."""
    import corpus

    numbers = random.Random(seed).sample(range(corpus.harness_count()), count)
    entries = [entry for number in numbers for entry in corpus.lower_harnesses((number, number + 1), platform)]
    return [Module("harness", entry.name, entry.text) for entry in entries if hasattr(entry, "text")]


def generated(count: int, seed: int) -> list[Module]:
    """Programs of the generators, at sizes where a MiB is little."""
    import bench_run_time

    modules = []
    sources = list(bench_run_time.SOURCES)
    for number in range(count):
        source = sources[number % len(sources)]
        _, make = bench_run_time.SOURCES[source](seed, number // len(sources))
        modules.append(Module("family", f"{source} {seed}/{number // len(sources)}", make(FAMILY_FACTOR).text))
    return modules


def gather(args: argparse.Namespace, target: targets.Target) -> list[Module]:
    modules: list[Module] = []
    if args.corpus:
        import store

        entries = [entry for _, entry in store.read_all(args.corpus)]
        if args.sample and args.sample < len(entries):
            entries = random.Random(args.seed).sample(entries, args.sample)
        modules += [Module("corpus", entry.name, entry.text) for entry in entries]
    if args.harnesses:
        modules += harnesses(args.harnesses, args.seed, target.platform)
    if args.families:
        modules += generated(args.families, args.seed)
    if args.programs:
        import memory_programs
        import programs

        known = programs.PROGRAMS | (programs.VARIANTS if target.kind != "cpu" else {})
        modules += [Module("reference", name, make(target.platform).as_text()) for name, make in known.items()]
        modules += [Module("large", name, text) for name, text in memory_programs.programs(target.platform)]
    modules += [Module("file", path.stem, path.read_text()) for path in args.files]
    return modules


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.mlir", help="further modules")
    parser.add_argument("--opt", required=True, metavar="BIN", help="slimhlo-opt")
    parser.add_argument("--target", default="xla-cpu", choices=targets.NAMES, metavar="NAME",
                        help="what XLA compiles for, one of %(choices)s (default: %(default)s)")  # fmt: skip
    parser.add_argument(
        "--corpus", type=pathlib.Path, metavar="DIR", help="corpora written by corpus.py, lowered for CPU"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="of the corpora, only N modules")
    parser.add_argument(
        "--harnesses", type=int, default=0, metavar="N", help="of JAX's test programs, N lowered for the target"
    )
    parser.add_argument("--families", type=int, default=0, metavar="N", help="generated programs")
    parser.add_argument("--seed", type=int, default=0, help="of samples and generated programs")
    parser.add_argument("--no-programs", dest="programs", action="store_false", help="only corpora and files")
    parser.add_argument(
        "--pipeline",
        action="append",
        default=[],
        metavar="FLAGS",
        help="flags of slimhlo-opt, or `default` for the target's pipeline; reference programs, families and files are compared "
        "after them, too (may be repeated)",
    )
    parser.add_argument("--by-priority", action="store_true", help="kernels are merged as XLA for GPUs merges them")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="where XLA's answers are kept")
    parser.add_argument("--jobs", type=int, default=2, help="processes that compile")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="how many of the largest misses are printed")
    parser.add_argument(
        "--within", type=int, default=25, choices=(10, 25), help="percent, as above (default: %(default)s)"
    )
    parser.add_argument(
        "--at-least", type=float, default=90.0, metavar="PERCENT", help="of each set that must be close"
    )
    parser.add_argument(
        "--directions", type=float, default=100.0, metavar="PERCENT", help="of changes that must be seen right"
    )
    parser.add_argument(
        "--times", type=float, default=0.0, metavar="PERCENT", help="of all times that must be within 1.5 times"
    )
    return parser.parse_args(with_values(sys.argv[1:], "--pipeline"))


Modelled = dict[Module, Sizes | None]


def report_set(kind: str, modules: Sequence[Module], xla: Xla, modelled: Modelled, args: argparse.Namespace) -> bool:
    """Prints how close the model is over a set, with its misses; whether it is close enough."""
    compared = [(module, xla.sizes(module)) for module in modules if module.kind == kind]
    rows = [(module, truth, modelled[module]) for module, truth in compared if truth is not None]
    close = [row for row in rows if row[2] is not None and row[2].close_to(row[1])]
    near = [row for row in rows if row[2] is not None and row[2].near(row[1])]
    wanted = close if args.within == 25 else near
    misses = [row for row in rows if row not in wanted]
    wrong = [
        row
        for row in rows
        if row[2] is not None and (row[2].arguments, row[2].aliased) != (row[1].arguments, row[1].aliased)
    ]
    share = lambda some: f"{len(some)} of {len(rows)} ({100 * len(some) / max(1, len(rows)):.1f}%)"
    large = [row for row in rows if row[1].temporaries > MIB or (row[2] and row[2].temporaries > MIB)]
    large_close = [row for row in large if row in wanted]
    print(
        f"{kind}: {share(close)} within 25% or 1 MiB, {share(near)} within 10% + 1 MiB of the peak; of those with more than 1 MiB "
        f"of temporaries {len(large_close)} of {len(large)} ({100 * len(large_close) / max(1, len(large)):.1f}%); arguments or "
        f"aliased differ in {len(wrong)}; XLA refuses {len(compared) - len(rows)}"
    )
    off = lambda row: abs((row[2].temporaries if row[2] else 0) - row[1].temporaries)
    for module, truth, guess in sorted(misses, key=off, reverse=True)[: args.show]:
        guessed = f"{guess.temporaries / MIB:12.2f}" if guess else "        none"
        print(f"  {module.name[:70]:70s} model {guessed} XLA {truth.temporaries / MIB:12.2f} MiB")
    for module, truth, guess in wrong[: args.show]:
        print(f"  {module.name[:70]:70s} model {guess} XLA {truth}")
    return 100 * len(wanted) / max(1, len(rows)) >= args.at_least


def report_times(modules: Sequence[Module], xla: Xla, modelled: Modelled, args: argparse.Namespace) -> bool:
    """Prints how many times are close to the referee's estimates, and those that are furthest off; whether they are enough."""
    rows = []
    for module in modules:
        truth, guess = xla.sizes(module), modelled[module]
        if truth is not None and guess is not None and guess.in_time(truth) is not None:
            rows.append((module, truth.microseconds, guess.microseconds, guess.in_time(truth)))
    if not rows:
        return True
    right = [row for row in rows if row[3]]
    percent = 100 * len(right) / len(rows)
    errors = [abs(math.log(max(guess, 1e-3) / max(truth, 1e-3))) for _, truth, guess, _ in rows]
    print(
        f"times above {LEAST_TIME:.0f} us: {len(right)} of {len(rows)} ({percent:.1f}%) within {TIME_SPREAD} times the estimate; "
        f"mean of the absolute logarithms of what they are off by {sum(errors) / len(errors):.3f}"
    )
    off = lambda row: max(row[1], row[2]) / max(1e-3, min(row[1], row[2]))
    for module, truth, guess, _ in sorted((row for row in rows if not row[3]), key=off, reverse=True)[: args.show]:
        print(f"  {module.name[:70]:70s} model {guess:12.1f} estimate {truth:12.1f} us")
    return percent >= args.times


def report_changes(
    pairs: Sequence[tuple[Module, Module]], xla: Xla, modelled: Modelled, args: argparse.Namespace
) -> list[bool]:
    """Prints what pipelines change, as XLA and the model see it; whether directions are right, and nothing needs more."""
    right = changed = 0
    grown: list[str] = []
    for before, after in pairs:
        truth, guess = (xla.sizes(before), xla.sizes(after)), (modelled[before], modelled[after])
        if None in truth or None in guess:
            continue
        change = truth[1].total - truth[0].total
        if needs_more(truth[0].total, truth[1].total):
            grown.append(after.name)
        if abs(change) > 0.05 * truth[0].total:
            changed += 1
            guessed = guess[1].total - guess[0].total
            if change * guessed > 0:
                right += 1
            else:
                print(f"  {after.name}: XLA {change / MIB:+.2f} MiB, model {guessed / MIB:+.2f} MiB")
    print(f"changes of more than 5%: {right} of {changed} seen in the right direction")
    print(
        f"{len(pairs) - len(grown)} of {len(pairs)} need no more than before{''.join(f', not {name}' for name in grown)}"
    )
    return [100 * right >= args.directions * changed, not grown]


def main() -> int:
    jax_start.start()
    args = arguments()
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(f"{reason}: nothing is compared")
        return 0
    modules = gather(args, target)
    default = pipeline_for(args.opt, target.name)
    pipelines = [default if flags == "default" else flags for flags in args.pipeline]
    pairs: list[tuple[Module, Module]] = []
    for before in [module for module in modules if module.kind in ("reference", "file", "family")]:
        for flags in pipelines:
            text = transform(args.opt, before.text, flags.split())
            if text is not None and text != before.text:
                pairs.append((before, Module(f"{before.kind} after", f"{before.name} {flags}", text)))
    modules += [after for _, after in pairs]

    xla = Xla(args.cache, args.jobs, target.name)
    xla.ask(modules)
    options = f" target={target.name}" if knows_target(args.opt, "--slimhlo-print-memory") else ""
    options += " by-priority=true" if args.by_priority else ""
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        said = pool.map(lambda module: model(args.opt, module.text, options), modules)
        modelled = dict(zip(modules, said, strict=True))

    verdicts = [
        report_set(kind, modules, xla, modelled, args) for kind in dict.fromkeys(module.kind for module in modules)
    ]
    verdicts.append(report_times(modules, xla, modelled, args))
    if pairs:
        verdicts += report_changes(pairs, xla, modelled, args)
    print(f"{verdicts.count(True)} passed, {verdicts.count(False)} failed")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
