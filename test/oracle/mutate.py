# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mutation test: broken and nearly broken ops get the same verdict from jaxlib and from the driver.

    python test/oracle/mutate.py --opt target/debug/slimhlo-opt --corpus target/oracle --count 6000 --seed 1
    python test/oracle/mutate.py --opt target/debug/slimhlo-opt --ops stablehlo.pad,stablehlo.slice --dump /tmp/pad

Every op class gets an equal share of mutants: an op from a seed module or from the corpora, alone in a function, with
one or two changes. About a third of them are still valid. The same seed gives the same mutants. A disagreement is
listed with both verdicts, and fails the run unless mutate_known.toml holds a reason for it; so does a crash or a hang.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import random
import re
import sys
import time
import tomllib

import mutations
import templates
import verdicts
from opt import Driver, Outcome, with_values

KNOWN = pathlib.Path(__file__).parent / "mutate_known.toml"
VALID_SHARE = 0.35
AGREEMENT = 0.99


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A changed op and where it comes from."""

    op: str
    kind: str
    origin: str
    text: str


def draw(found: dict[str, list[templates.Template]], per_op: int, seed: int) -> list[Mutant]:
    """`per_op` different mutants of each op, fewer where an op has not that many."""
    mutants: list[Mutant] = []
    for op, choices in found.items():
        rng = random.Random(f"{seed} {op}")
        seen = {template.render() for template in choices}
        for _ in range(per_op * 8):
            if len(seen) >= per_op + len(choices):
                break
            template = rng.choice(choices)
            changed = mutations.mutate(template, rng)
            if changed is None or (text := changed[1].render()) in seen:
                continue
            seen.add(text)
            mutants.append(Mutant(op, changed[0], template.origin, text))
    return mutants


def balance(
    mutants: list[Mutant], judged: list[verdicts.Verdict], count: int, classes: int
) -> list[tuple[Mutant, verdicts.Verdict]]:
    """An equal share per op, of which about a third is valid where there are that many."""
    by_op: dict[str, list[tuple[Mutant, verdicts.Verdict]]] = collections.defaultdict(list)
    for pair in zip(mutants, judged, strict=True):
        by_op[pair[0].op].append(pair)
    share = -(-count // classes)
    kept: list[tuple[Mutant, verdicts.Verdict]] = []
    for pairs in by_op.values():
        valid = [pair for pair in pairs if pair[1].valid]
        rest = [pair for pair in pairs if not pair[1].valid]
        take = max(round(share * VALID_SHARE), share - len(rest))
        chosen = valid[:take]
        kept.extend(chosen + rest[: share - len(chosen)])
    return kept


def known_reason(known: list[dict[str, str]], mutant: Mutant, ours: str, theirs: str) -> str | None:
    """The reason recorded for this disagreement, if there is one."""
    for entry in known:
        if (
            re.search(entry.get("op", ""), mutant.op)
            and re.search(entry.get("slimhlo", ""), ours)
            and re.search(entry.get("jaxlib", ""), theirs)
            and re.search(entry.get("text", ""), mutant.text)
        ):
            return entry["reason"]
    return None


def describe(outcome: Outcome) -> str:
    if outcome.crash:
        return f"CRASH {outcome.crash}"
    return "valid" if outcome.accepted else f"invalid: {outcome.message}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--opt-flags", default="", help="more flags for the driver, separated by spaces")
    parser.add_argument(
        "--corpus", type=pathlib.Path, metavar="DIR", help="corpora to take ops from; default: seeds only"
    )
    parser.add_argument("--count", type=int, default=6000, metavar="N", help="mutants in all (default: 6000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--ops", default="", help="only these ops, by name, separated by commas")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write each disagreeing mutant there")
    parser.add_argument("--quiet", action="store_true", help="list no disagreements, only counts by op")
    args = parser.parse_args(with_values(sys.argv[1:], "--opt-flags"))

    driver = Driver(args.opt, tuple(args.opt_flags.split())).ready()
    started = time.monotonic()
    found = templates.cached(args.corpus)
    if args.ops:
        wanted = args.ops.split(",")
        missing = [op for op in wanted if op not in found]
        if missing:
            parser.error(f"no seed and no corpus module has {', '.join(missing)}")
        found = {op: found[op] for op in wanted}
    candidates = draw(found, -(-args.count * 2 // len(found)), args.seed)
    judged = verdicts.judge([mutant.text for mutant in candidates])
    pairs = balance(candidates, judged, args.count, len(found))
    unanswered = [(mutant, verdict) for mutant, verdict in pairs if verdict.valid is None]
    pairs = [pair for pair in pairs if pair[1].valid is not None]
    oracle_seconds = time.monotonic() - started

    started = time.monotonic()
    outcomes = driver.run([mutant.text for mutant, _ in pairs], ["--mlir-print-op-generic"])
    driver_seconds = time.monotonic() - started

    known = tomllib.loads(KNOWN.read_text()).get("known", [])
    agreed = crashes = accepted_disagreements = 0
    by_op: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    disagreements: list[tuple[Mutant, str, str]] = []
    for (mutant, verdict), outcome in zip(pairs, outcomes, strict=True):
        theirs = "valid" if verdict.valid else f"invalid: {verdict.message}"
        ours = describe(outcome)
        if not outcome.crash and outcome.accepted == verdict.valid:
            agreed += 1
            by_op[mutant.op]["same"] += 1
            continue
        crashes += bool(outcome.crash)
        label = "crash" if outcome.crash else "too strict" if verdict.valid else "too lax"
        by_op[mutant.op][label] += 1
        reason = None if outcome.crash else known_reason(known, mutant, ours, theirs)
        accepted_disagreements += reason is not None
        disagreements.append((mutant, theirs, ours + (f" (known: {reason})" if reason else "")))

    if not args.quiet:
        for number, (mutant, theirs, ours) in enumerate(disagreements):
            print(
                f"[{number}] {mutant.op} {mutant.kind} (from {mutant.origin})\n  jaxlib:  {theirs}\n  slimhlo: {ours}"
            )
    if args.dump:
        args.dump.mkdir(parents=True, exist_ok=True)
        for number, (mutant, theirs, ours) in enumerate(disagreements):
            header = f"// {mutant.op} {mutant.kind}\n// jaxlib: {theirs}\n// slimhlo: {ours}\n"
            name = f"{number:04d}-{mutant.op}-{mutant.kind}.mlir"
            (args.dump / name).write_text(header + mutant.text)
    for op, counts in sorted(by_op.items(), key=lambda item: item[1]["same"] / item[1].total()):
        if counts["same"] < counts.total():
            print(f"{op:45s} {dict(counts)}")
    for mutant, verdict in unanswered:
        print(f"not compared: {mutant.op} {mutant.kind}: {verdict.message}")
    total = len(pairs)
    valid = sum(bool(verdict.valid) for _, verdict in pairs)
    rate = agreed / total if total else 0.0
    print(
        f"{total} mutants of {len(by_op)} op classes, {valid} ({valid / max(total, 1):.1%}) valid by jaxlib; "
        f"same verdict {agreed} ({rate:.2%}); {len(disagreements)} disagreements, {accepted_disagreements} of them "
        f"with a recorded reason; {crashes} crashes or hangs; jaxlib {oracle_seconds:.0f} s, driver {driver_seconds:.0f} s"
    )
    return 0 if total and rate >= AGREEMENT and not crashes else 1


if __name__ == "__main__":
    sys.exit(main())
