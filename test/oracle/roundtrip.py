# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The round trip: what the driver prints means, to jaxlib, what it was given; and reads as jaxlib would print it.

    python test/oracle/roundtrip.py --opt target/debug/slimhlo-opt --corpus target/oracle --list

Each module of the corpora and of the seeds is read three times by the driver: its text printed back in pretty form and
in generic form, and jaxlib's generic form printed back in pretty form. Each output is parsed by jaxlib and compared with
the original in generic form, locations included: 100% is expected. The pretty output is also compared, as text with
locations, with jaxlib's own: 99% is expected. A few ops are printed by jaxlib in a way that jaxlib cannot read back;
there the same text is all that can be asked, and the summary says how many such modules there are.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import itertools
import multiprocessing
import pathlib
import re
import sys
import time
from collections.abc import Iterator

import store
from opt import Driver, with_values

JOBS = 2
SPAN = 250
SAME_TEXT = 0.99
EXPLAINED = 10  # refusals per job for which the driver is asked again, alone


@dataclasses.dataclass(frozen=True)
class Way:
    """One way through the driver."""

    name: str
    generic_input: bool
    flags: tuple[str, ...]


WAYS = (
    Way("pretty", False, ("--mlir-print-debuginfo",)),
    Way("generic", False, ("--mlir-print-debuginfo", "--mlir-print-op-generic")),
    Way("from generic", True, ("--mlir-print-debuginfo",)),
)
TEXT = "text"


@dataclasses.dataclass(frozen=True)
class Miss:
    """One check that one module fails."""

    module: str
    check: str
    detail: str


@dataclasses.dataclass(frozen=True)
class Job:
    """Some modules, and the driver to read them with."""

    binary: str
    flags: tuple[str, ...]
    modules: tuple[tuple[str, str], ...]


# The arguments of a while's regions are printed without locations, and get those of the text that is read.
_PLACE_IN_TEXT = re.compile(r'loc\("(?:-|<stdin>)":\d+:\d+\)')


def comparable(generic: str) -> str:
    """Generic form without locations that depend on where in a file a module stands."""
    return _PLACE_IN_TEXT.sub('loc("place in text")', generic)


def first_difference(expected: str, found: str) -> str:
    """The first line at which two texts differ, from both."""
    for number, (want, have) in enumerate(
        itertools.zip_longest(expected.splitlines(), found.splitlines(), fillvalue="<end of text>"), 1
    ):
        if want != have:
            return f"line {number}\n    jaxlib:  {want.strip()[:300]}\n    slimhlo: {have.strip()[:300]}"
    return "line ends or blank lines differ"


@dataclasses.dataclass(frozen=True)
class Report:
    """What came of a job: how many modules, what failed, and where jaxlib's own text does not come back to itself."""

    count: int
    misses: list[Miss]
    one_way: list[str]


def check(job: Job) -> Report:
    """Every check on every module of the job."""
    from jaxlib.mlir import ir

    import jaxlib_ir

    context = jaxlib_ir.make_context()
    generics: list[str] = []
    pretties: list[str] = []
    for _, text in job.modules:
        module = jaxlib_ir.parse(text, context)
        generics.append(jaxlib_ir.generic(module))
        pretties.append(jaxlib_ir.pretty(module))

    driver = Driver(job.binary, job.flags, batch=SPAN, jobs=1)
    misses: list[Miss] = []
    one_way: list[str] = []
    explained = 0
    for way in WAYS:
        sources = generics if way.generic_input else [text for _, text in job.modules]
        outcomes = driver.run(sources, way.flags)
        for (name, _), source, generic, pretty, outcome in zip(
            job.modules, sources, generics, pretties, outcomes, strict=True
        ):
            is_text = way.name == "pretty"
            if outcome.output is None:
                explained += 1
                known = outcome.crash or explained > EXPLAINED
                detail = f"refused; {outcome.crash}" if known else driver.reason(source, way.flags)
                misses.append(Miss(name, way.name, detail))
                if is_text:
                    misses.append(Miss(name, TEXT, detail))
                continue
            same_text = outcome.output.strip() == pretty.strip()
            if is_text and not same_text:
                misses.append(Miss(name, TEXT, first_difference(pretty.strip(), outcome.output.strip())))
            try:
                again = comparable(jaxlib_ir.generic(jaxlib_ir.parse(outcome.output, context)))
            except ir.MLIRError as error:
                if same_text:
                    one_way.append(name)
                    continue
                diagnostic = next(iter(error.error_diagnostics), None)
                where = f"{diagnostic.location}: {diagnostic.message}" if diagnostic else error.message
                misses.append(Miss(name, way.name, f"jaxlib cannot read the output: {where}"))
                continue
            original = comparable(generic)
            if again != original and same_text:
                one_way.append(name)
            elif again != original:
                misses.append(Miss(name, way.name, first_difference(original, again)))
    return Report(len(job.modules), misses, one_way)


def modules(corpus: pathlib.Path) -> Iterator[tuple[str, str]]:
    """(name, text with locations) of every module of the corpora and of the seeds."""
    import jaxlib_ir
    import templates

    for name, text in templates.seed_modules():
        module = jaxlib_ir.parse(text)
        printed = jaxlib_ir.pretty(module)
        if jaxlib_ir.refusal(printed, jaxlib_ir.make_context()):
            printed = jaxlib_ir.generic(module)
        yield f"seeds {name}", printed
    for kind, entry in store.read_all(corpus):
        yield f"{kind} {entry.name}", entry.text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--opt-flags", default="", help="more flags for the driver, separated by spaces")
    parser.add_argument("--corpus", required=True, type=pathlib.Path, metavar="DIR", help="where corpus.py wrote")
    parser.add_argument("--list", action="store_true", help="list every miss, not only one of each kind")
    parser.add_argument("--only", default="", metavar="TEXT", help="only modules whose name contains this")
    args = parser.parse_args(with_values(sys.argv[1:], "--opt-flags"))

    started = time.monotonic()
    chosen = [module for module in modules(args.corpus) if args.only in module[0]]
    flags = tuple(args.opt_flags.split())
    Driver(args.opt, flags).ready()
    jobs = [Job(args.opt, flags, tuple(chosen[i : i + SPAN])) for i in range(0, len(chosen), SPAN)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(JOBS, mp_context=context) as pool:
        reports = list(pool.map(check, jobs))
    total = sum(report.count for report in reports)
    misses = [miss for report in reports for miss in report.misses]
    one_way = sorted({name for report in reports for name in report.one_way})

    kinds: dict[tuple[str, str], list[Miss]] = collections.defaultdict(list)
    for miss in misses:
        kinds[miss.check, miss.detail].append(miss)
    for (name, detail), found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(found)} x {name}: {detail}")
        for miss in found if args.list else found[:1]:
            print(f"    in {miss.module}")
    failed = collections.Counter(miss.check for miss in misses)
    for way in (*(way.name for way in WAYS), TEXT):
        good = total - failed[way]
        print(f"{way:14s} {good:6d} of {total} ({good / max(total, 1):.3%})")
    for name in one_way:
        print(f"same text as jaxlib's, which jaxlib does not read back as it was: {name}")
    round_trips = total - len({miss.module for miss in misses if miss.check != TEXT})
    same_text = total - failed[TEXT]
    print(
        f"round trip {round_trips} of {total} ({round_trips / max(total, 1):.3%}), "
        f"same text {same_text} of {total} ({same_text / max(total, 1):.3%}), {time.monotonic() - started:.0f} s"
    )
    return 0 if total and round_trips == total and same_text >= SAME_TEXT * total else 1


if __name__ == "__main__":
    sys.exit(main())
