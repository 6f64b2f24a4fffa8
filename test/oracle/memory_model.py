# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the memory model with XLA's buffer assignment for CPU.

    python test/oracle/memory_model.py --opt target/debug/slimhlo-opt --corpus target/oracle

Three sets of modules: the corpora of `corpus.py` (most are tiny), the reference programs of `programs.py` (before and
after each --pipeline), and the larger ones of `memory_programs.py`. For each set: how many modules have their
temporaries modelled within 25% or 1 MiB of XLA's; and of the modules whose need a pipeline changes by more than 5%
under XLA, how many the model saw changing in the same direction. None may need more by XLA's word. Nothing is executed;
XLA's answers are kept in --cache by the text of the module, so that a second run compiles nothing.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence

from opt import needs_more

os.environ.setdefault("JAX_ENABLE_X64", "1")

MIB = 2**20
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

    @property
    def total(self) -> int:
        return self.arguments + self.results - self.aliased + self.temporaries

    def close_to(self, truth: Sizes) -> bool:
        """Whether temporaries are within 25% or 1 MiB."""
        return abs(self.temporaries - truth.temporaries) <= max(truth.temporaries / 4, MIB)


def compile_one(text: str) -> list[int] | str:
    """XLA's sizes, or why there are none."""
    import xla_cpu

    try:
        stats = xla_cpu.compile_text(text).get_compiled_memory_stats()
    except Exception as error:  # XLA's errors have no common base
        return f"{type(error).__name__}: {str(error)[:200]}"
    return [
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.alias_size_in_bytes,
        stats.temp_size_in_bytes,
    ]


class Xla:
    """XLA's answers, remembered in a file."""

    def __init__(self, cache: pathlib.Path | None, jobs: int) -> None:
        self.cache = cache
        self.jobs = jobs
        self.known: dict[str, list[int] | str] = {}
        if cache and cache.exists():
            for line in cache.read_text().splitlines():
                digest, answer = json.loads(line)
                self.known[digest] = answer

    def ask(self, modules: Iterable[Module]) -> None:
        """Compiles what is not known yet."""
        new = {module.digest: module.text for module in modules if module.digest not in self.known}
        if not new:
            return
        out = self.cache.open("a") if self.cache else None
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(self.jobs, context, max_tasks_per_child=500) as pool:
            futures = {pool.submit(compile_one, text): digest for digest, text in new.items()}
            for future in concurrent.futures.as_completed(futures):
                try:
                    answer: list[int] | str = future.result()
                except concurrent.futures.process.BrokenProcessPool as error:
                    answer = f"the compiler died: {error}"
                self.known[futures[future]] = answer
                if out:
                    out.write(json.dumps([futures[future], answer]) + "\n")
        if out:
            out.close()

    def sizes(self, module: Module) -> Sizes | None:
        answer = self.known.get(module.digest, "")
        return None if isinstance(answer, str) else Sizes(*answer)


def model(binary: str, text: str) -> Sizes | None:
    """What the model says."""
    command = [binary, "-", "--slimhlo-print-memory=target=xla-cpu top=0 plain=true", "-o", os.devnull]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)
    found = NUMBERS.search(done.stderr)
    if not found:
        return None
    _, arguments, results, aliased, temporaries = map(int, found.groups())
    return Sizes(arguments, results, aliased, temporaries)


def transform(binary: str, text: str, pipeline: Sequence[str]) -> str | None:
    done = subprocess.run([binary, "-", *pipeline], input=text, capture_output=True, text=True, timeout=300, check=False)
    return done.stdout if done.returncode == 0 else None


def gather(args: argparse.Namespace) -> list[Module]:
    modules: list[Module] = []
    if args.corpus:
        import store

        entries = [entry for _, entry in store.read_all(args.corpus)]
        if args.sample and args.sample < len(entries):
            entries = random.Random(args.seed).sample(entries, args.sample)
        modules += [Module("corpus", entry.name, entry.text) for entry in entries]
    if args.programs:
        import xla_cpu  # noqa: F401  devices before jax

        import memory_programs
        import programs

        modules += [Module("reference", name, make().as_text()) for name, make in programs.PROGRAMS.items()]
        modules += [Module("large", name, text) for name, text in memory_programs.programs()]
    modules += [Module("file", path.stem, path.read_text()) for path in args.files]
    return modules


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path, metavar="FILE.mlir", help="further modules")
    parser.add_argument("--opt", required=True, metavar="BIN", help="slimhlo-opt")
    parser.add_argument("--corpus", type=pathlib.Path, metavar="DIR", help="corpora written by corpus.py")
    parser.add_argument("--sample", type=int, metavar="N", help="of the corpora, only N modules")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--no-programs", dest="programs", action="store_false", help="only corpora and files")
    parser.add_argument(
        "--pipeline",
        action="append",
        default=[],
        metavar="FLAGS",
        help="flags of slimhlo-opt; reference programs and files are compared after them, too (may be repeated)",
    )
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="where XLA's answers are kept")
    parser.add_argument("--jobs", type=int, default=2, help="processes that compile")
    parser.add_argument("--show", type=int, default=20, metavar="N", help="how many of the largest misses are printed")
    parser.add_argument("--at-least", type=float, default=90.0, metavar="PERCENT", help="of each set that must be close")
    args = parser.parse_args()

    modules = gather(args)
    pairs: list[tuple[Module, Module]] = []
    for before in [module for module in modules if module.kind in ("reference", "file")]:
        for flags in args.pipeline:
            text = transform(args.opt, before.text, flags.split())
            if text is not None and text != before.text:
                pairs.append((before, Module(f"{before.kind} after", f"{before.name} {flags}", text)))
    modules += [after for _, after in pairs]

    xla = Xla(args.cache, args.jobs)
    xla.ask(modules)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        modelled = dict(zip(modules, pool.map(lambda module: model(args.opt, module.text), modules), strict=True))

    failed = passed = 0
    for kind in dict.fromkeys(module.kind for module in modules):
        compared = [(module, xla.sizes(module)) for module in modules if module.kind == kind]
        rows = [(module, truth, modelled[module]) for module, truth in compared if truth is not None]
        misses = [row for row in rows if row[2] is None or not row[2].close_to(row[1])]
        wrong = [row for row in rows if row[2] is not None and (row[2].arguments, row[2].aliased) != (row[1].arguments, row[1].aliased)]
        close = len(rows) - len(misses)
        percent = 100 * close / max(1, len(rows))
        large = [row for row in rows if row[1].temporaries > MIB or (row[2] and row[2].temporaries > MIB)]
        large_close = sum(1 for _, truth, guess in large if guess and guess.close_to(truth))
        enough = percent >= args.at_least
        passed, failed = (passed + 1, failed) if enough else (passed, failed + 1)
        print(
            f"{kind}: {close} of {len(rows)} within 25% or 1 MiB ({percent:.1f}%); of those with more than 1 MiB of "
            f"temporaries {large_close} of {len(large)} ({100 * large_close / max(1, len(large)):.1f}%); arguments or "
            f"aliased differ in {len(wrong)}; XLA refuses {len(compared) - len(rows)}"
        )
        off = lambda row: abs((row[2].temporaries if row[2] else 0) - row[1].temporaries)
        for module, truth, guess in sorted(misses, key=off, reverse=True)[: args.show]:
            guessed = f"{guess.temporaries / MIB:12.2f}" if guess else "        none"
            print(f"  {module.name[:70]:70s} model {guessed} XLA {truth.temporaries / MIB:12.2f} MiB")
        for module, truth, guess in wrong[: args.show]:
            print(f"  {module.name[:70]:70s} model {guess} XLA {truth}")

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
    if pairs:
        print(f"changes of more than 5%: {right} of {changed} seen in the right direction")
        passed, failed = (passed + 1, failed) if right == changed else (passed, failed + 1)
        print(f"{len(pairs) - len(grown)} of {len(pairs)} need no more than before{''.join(f', not {name}' for name in grown)}")
        passed, failed = (passed + 1, failed) if not grown else (passed, failed + 1)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
