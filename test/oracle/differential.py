# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test: a pass changes programs but no bit of their results.

    python test/oracle/differential.py --opt target/debug/slimhlo-opt --pipeline '--slimhlo-dus-to-pad' --count 2000 --seed 1

Generates programs around dynamic_update_slice (see slices.py), runs the driver's pipeline over them, and executes each
changed program before and after: in XLA for CPU and, where it can, in the StableHLO interpreter. Results must be the
same bit by bit; only which payload a NaN has is not asked of XLA where XLA does not keep it (see keeps_payloads). The changed programs, and those executed, have to be a large share, else the test says nothing and fails.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import pathlib
import re
import sys
import time

import slices
from opt import Driver, with_values

JOBS = 2
SPAN = 40
CHANGED_SHARE = 0.4
EXECUTED_SHARE = {"xla": 0.95, "interpreter": 0.6}


@dataclasses.dataclass(frozen=True)
class Case:
    """A program and what the pipeline makes of it."""

    program: slices.Program
    after: str


@dataclasses.dataclass(frozen=True)
class Finding:
    """A program for which before and after are not the same."""

    case: Case
    where: str
    detail: str


@dataclasses.dataclass(frozen=True)
class Report:
    """What came of some cases: differences, what could not be run where, and how many were run where."""

    findings: list[Finding]
    not_run: list[tuple[str, str]]
    executed: dict[str, int]


def reason_of(error: Exception) -> str:
    """The first words of an error, without the values it may quote."""
    return str(error).partition("\n")[0].partition("(")[0][:160]


def keeps_payloads(program: slices.Program) -> bool:
    """Whether XLA keeps the payloads of a program's NaNs, which then count.

    It moves wide floats as they are. Narrow ones it may take through f32 and back, and of two NaNs that meet in an
    operation the one that its code happens to name first goes on. (The interpreter, which does neither, is compared
    with every payload.)
    """
    narrow = program.element.startswith(("bf16", "f16", "f8"))
    return not narrow and not re.search(r"stablehlo\.(add|subtract|multiply|maximum|minimum)\b", program.text)


def compare(cases: list[Case]) -> Report:
    """Runs the cases, all of one element type, before and after."""
    import execute
    import jaxlib_ir

    findings: list[Finding] = []
    not_run: list[tuple[str, str]] = []
    executed: collections.Counter[str] = collections.Counter()
    context = jaxlib_ir.make_context()
    execute.stablehlo.register_interpreter_dialect(context)
    for case in list(cases):
        if refusal := jaxlib_ir.refusal(case.after, context):
            findings.append(Finding(case, "jaxlib", f"it refuses what the pass made: {refusal}"))
            cases.remove(case)
            continue
        if case.program.huge_start:
            not_run.append(("interpreter", "it takes a large unsigned start index for a negative one"))
            continue
        if slices.is_complex(case.program.element):
            not_run.append(("interpreter", "its results of complex type cannot be read from Python"))
            continue
        try:
            wants, haves = (
                execute.run_interpreter(text, case.program.arguments, context)
                for text in (case.program.text, case.after)
            )
        except Exception as error:  # the interpreter lacks some types; counted and printed
            not_run.append((f"interpreter {case.program.element}", reason_of(error)))
            continue
        executed["interpreter"] += 1
        for number, (want, have) in enumerate(zip(wants, haves, strict=True)):
            if want != have:
                detail = f"result {number}\n    before: {want[:400]}\n    after:  {have[:400]}"
                findings.append(Finding(case, "interpreter", detail))
    arguments = [case.program.arguments for case in cases]
    try:
        payloads = [keeps_payloads(case.program) for case in cases]
        all_before = execute.run_xla([case.program.text for case in cases], arguments, payloads)
        all_after = execute.run_xla([case.after for case in cases], arguments, payloads)
    except Exception as error:  # XLA lacks some types; counted and printed
        not_run.extend((f"xla {case.program.element}", reason_of(error)) for case in cases)
        return Report(findings, not_run, dict(executed))
    executed["xla"] += len(cases)
    for case, before, after in zip(cases, all_before, all_after, strict=True):
        for number, (expected, found) in enumerate(zip(before, after, strict=True)):
            if expected != found:
                detail = f"result {number}\n    before: {expected[:200]!r}\n    after:  {found[:200]!r}"
                findings.append(Finding(case, "xla", detail))
    return Report(findings, not_run, dict(executed))


def shape_of(text: str) -> str:
    """A program's text without what printing may change on its own."""
    return re.sub(r"%\w+|\s+", " ", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--pipeline", required=True, help="the driver's flags for the passes under test")
    parser.add_argument("--count", type=int, default=2000, metavar="N", help="programs in all (default: 2000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write the programs that differ there")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))

    started = time.monotonic()
    programs = slices.generate(args.count, args.seed)
    driver = Driver(args.opt).ready()
    texts = [program.text for program in programs]
    before = driver.run(texts)
    after = driver.run(texts, args.pipeline.split())
    failures: list[str] = []
    changed: list[Case] = []
    for program, plain, made in zip(programs, before, after, strict=True):
        if plain.output is None or made.output is None:
            outcome = plain if plain.output is None else made
            failures.append(f"{program.name}: {outcome.crash or outcome.message}\n{program.text}")
        elif shape_of(plain.output) != shape_of(made.output):
            changed.append(Case(program, made.output))

    by_element: dict[str, list[Case]] = collections.defaultdict(list)
    for case in changed:
        by_element[case.program.element].append(case)
    batches = [cases[i : i + SPAN] for cases in by_element.values() for i in range(0, len(cases), SPAN)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(JOBS, mp_context=context) as pool:
        reports = list(pool.map(compare, batches))
    findings = [finding for report in reports for finding in report.findings]
    not_run = collections.Counter(missing for report in reports for missing in report.not_run)
    executed = sum((collections.Counter(report.executed) for report in reports), collections.Counter())

    for failure in failures:
        print(f"the driver fails on {failure}")
    for finding in findings:
        case = finding.case
        print(f"{case.program.name} ({case.program.element}) differs in {finding.where}: {finding.detail}")
    if args.dump:
        args.dump.mkdir(parents=True, exist_ok=True)
        for finding in findings:
            name = args.dump / finding.case.program.name.replace(" ", "_")
            name.with_suffix(".before.mlir").write_text(finding.case.program.text)
            name.with_suffix(".after.mlir").write_text(finding.case.after)
    for (where, reason), count in sorted(not_run.items()):
        print(f"{count} programs not run in {where}: {reason}")
    left = sum(made.output.count("dynamic_update_slice") for made in after if made.output)
    had = sum(text.count("dynamic_update_slice") for text in texts)
    wrong = len({finding.case.program.name for finding in findings})
    share = len(changed) / len(programs)
    print(
        f"{len(programs) - wrong - len(failures)} passed, {wrong + len(failures)} failed: {len(changed)} changed ({share:.1%}), dynamic_update_slice {had} before and {left} after; "
        f"executed before and after: {executed['xla']} in XLA, {executed['interpreter']} in the interpreter; "
        f"{wrong} programs differ, {len(failures)} failures of the driver; {time.monotonic() - started:.0f} s"
    )
    # A test in which too little changes or runs says nothing; the exit status tells.
    ran = all(executed[where] >= share_run * len(changed) for where, share_run in EXECUTED_SHARE.items())
    return 0 if share >= CHANGED_SHARE and ran and not wrong and not failures else 1


if __name__ == "__main__":
    sys.exit(main())
