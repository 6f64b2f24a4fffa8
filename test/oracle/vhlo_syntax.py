# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""VHLO as text, valid and broken: the same verdict from jaxlib and from our reader, the same StableHLO, and a place for
what is wrong.

    python test/oracle/vhlo_syntax.py --convert target/debug/convert-forms --count 4000 --seed 1

Modules of all ops (the seeds), of narrow floats and of the types and attributes that VHLO has are made portable
artifacts of an old, a middle and the newest version by jaxlib, and printed by jaxlib as what they are, VHLO. Each text
is read as it is, and then with one to three of its tokens changed as syntax.py changes them. jaxlib's verdict is what
it says when it makes StableHLO of the text. What only one of the two takes, what both take for different modules, and
what is refused without a place in the text, or with an end of the process, fails the run, unless vhlo_syntax_known.toml
has a reason for it.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import time
import tomllib

import forms
import fuzz_forms
import roundtrip
import syntax
import verdicts

KNOWN = pathlib.Path(__file__).parent / "vhlo_syntax_known.toml"
VERSIONS = ("0.9.0", "1.0.0", "1.17.0")
LONGEST = 6_000  # characters of a module: most changes to a long one are to what short ones have, too
PLACE = re.compile(r"^(\S+:\d+:\d+|\"[^\"]*\"|callsite\(|fused)")


def sources() -> list[syntax.Piece]:
    """Modules as VHLO, as jaxlib prints it, without the locations that only corpora need."""
    import jaxlib_ir
    import templates
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    found: dict[str, syntax.Piece] = {}
    context = jaxlib_ir.make_context()
    for name, text in [*templates.seed_modules(), *forms.narrow_floats()]:
        for version in VERSIONS:
            try:
                with context:
                    module = ir.Module.parse(text)
                    artifact = stablehlo.serialize_portable_artifact(module, version)
                    printed = jaxlib_ir.pretty(ir.Module.parse(artifact), locations=False)
            except (ir.MLIRError, ValueError):
                continue  # a version that lacks something, or what artifacts have no form for
            if len(printed) <= LONGEST:
                found.setdefault(printed, syntax.Piece(f"{name} {version}", printed))
    return list(found.values())


@dataclasses.dataclass(frozen=True)
class Ours:
    """What our reader makes of a text: StableHLO in generic form, or what it says instead."""

    generic: str | None
    message: str = ""


def read(converter: forms.Converter, text: str) -> Ours:
    [answer] = converter.all(text.encode(), ["generic"])
    return Ours(answer.data.decode() if answer.data is not None else None, answer.why)


def disagreement(verdict: verdicts.Verdict, ours: Ours, back: verdicts.Verdict | None) -> str | None:
    """What is wrong with an answer of ours; nothing if nothing is."""
    if ours.message.startswith("died"):
        return f"CRASH {ours.message}"
    if ours.generic is None:
        if verdict.valid:
            return f"invalid: {ours.message}"
        return None if PLACE.match(ours.message) else f"no place: {ours.message}"
    if not verdict.valid:
        return "valid"
    if back is None or not back.valid:
        return f"jaxlib does not read it: {back.message if back else ''}"
    if syntax.named_alike(back.generic) != syntax.named_alike(verdict.generic):
        return f"another module: {roundtrip.first_difference(verdict.generic, back.generic)}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convert", required=True, metavar="BIN", help="convert-forms")
    parser.add_argument("--count", type=int, default=4000, metavar="N", help="changed modules")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only modules whose origin or text matches")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write each disagreeing module there")
    if sys.argv[1:] == ["--sources"]:
        print(json.dumps([dataclasses.astuple(piece) for piece in sources()]))
        return 0
    args = parser.parse_args()

    started = time.monotonic()
    # In a process of its own, for jaxlib may end it.
    done = subprocess.run([sys.executable, __file__, "--sources"], capture_output=True, text=True, check=True)
    whole = [syntax.Piece(*piece) for piece in json.loads(done.stdout.splitlines()[-1])]
    whole = [piece for piece in whole if re.search(args.only, piece.origin) or re.search(args.only, piece.text)]
    chosen = whole + syntax.mutants(whole, args.count, args.seed)
    judged = verdicts.judge([piece.text for piece in chosen], portable=True)
    converter = fuzz_forms.Limited(args.convert)
    answers = [read(converter, piece.text) for piece in chosen]
    converter.end()
    pairs = list(zip(judged, answers, strict=True))
    taken = [at for at, (verdict, ours) in enumerate(pairs) if verdict.valid and ours.generic]
    again = dict(zip(taken, verdicts.judge([answers[at].generic or "" for at in taken]), strict=True))

    known = tomllib.loads(KNOWN.read_text()).get("known", [])
    counts: collections.Counter[str] = collections.Counter()
    wrong = 0
    for at, (piece, verdict, ours) in enumerate(zip(chosen, judged, answers, strict=True)):
        if verdict.valid is None:
            # jaxlib ends its process on some broken text; ours answers.
            counts["no answer of jaxlib's"] += 1
            wrong += ours.message.startswith("died")
            continue
        said = disagreement(verdict, ours, again.get(at))
        if said is None:
            counts["same"] += 1
            continue
        theirs = "valid" if verdict.valid else f"invalid: {verdict.message}"
        if reason := None if said.startswith("CRASH") else syntax.reason_for(known, piece, said, theirs):
            counts[f"known: {reason}"] += 1
            continue
        wrong += 1
        print(f"[{at}] {piece.origin} ({piece.op})\n  jaxlib:  {theirs[:300]}\n  slimhlo: {said[:600]}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            (args.dump / f"{at:06d}.mlir").write_text(piece.text)
    for what, number in sorted(counts.items()):
        print(f"{what}: {number}")
    valid = sum(bool(verdict.valid) for verdict in judged)
    print(
        f"{counts['same']} passed, {wrong} failed: {len(whole)} modules of VHLO as text and {args.count} changed ones, "
        f"{valid} valid by jaxlib, {time.monotonic() - started:.0f} s"
    )
    return 1 if wrong or not counts["same"] else 0


if __name__ == "__main__":
    sys.exit(main())
