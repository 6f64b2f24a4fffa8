# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every form that a module comes and goes in: what jaxlib writes is read, and what is written jaxlib reads, as the same module.

    python test/oracle/forms.py --convert target/debug/convert-forms --corpus target/oracle --sample 200

Each module goes in as jaxlib's text, generic text and bytecode, and out in the same forms; and for versions of StableHLO, of which a
sample takes a few per module and --all each, a portable artifact of jaxlib's is read and compared with what jaxlib reads of it, one is written
and compared with what comes back of jaxlib's own, and VHLO's text goes there and back. Where jaxlib writes no artifact of a version, we may
refuse it, too. All comparisons are of generic text with locations, by jaxlib. Beside the corpora there is a module of each narrow float, for
which MLIR 23 has numbers in bytecode and MLIR 22 has none.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import io
import multiprocessing
import pathlib
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable

import roundtrip

JOBS = 2
SPAN = 50
VERSIONS = [f"0.{minor}.0" for minor in range(9, 21)] + [f"1.{minor}.0" for minor in range(18)]
SAMPLED = 3  # versions per module of a sample, besides the oldest and the newest

NARROW = (
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ"),
    *("f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "tf32"),
)

# Misses that are accepted: the check, what is said, and why.
KNOWN = (
    (
        "artifact out",
        r"'stablehlo\.tan' op is no op of StableHLO",
        "jaxlib writes tan as other ops for versions before 1.4, we say that they lack it",
    ),
    (
        "artifact out",
        r"has attribute '(input|operand)_batching_dims', which StableHLO (0|1\.0)\..* lacks",
        "jaxlib writes batching dimensions as indices for versions before 1.1, we say that they lack them",
    ),
    (
        "artifact out",
        r"!quant\.uniform<.*:f32:0, .* which StableHLO 0\.(9|1[0-7])\..* lacks",
        "jaxlib writes a type of 0.18 for versions that do not have it",
    ),
    (
        "artifact out",
        r"'chlo\.scan' op has a region",
        "jaxlib writes what the op is made of, we say that artifacts have no form for it",
    ),
)

_DEFAULTS = re.compile(
    r'(backend_config = "", )|(, precision_config = \[(#stablehlo<precision DEFAULT>(, )?)+\])'
)
_LOCATION = re.compile(r" loc\((?:#loc\d*|unknown|\"[^\"]*\"(?:[^()]*|\(#loc\d*\)))\)")


class Refused(Exception):
    """The converter takes no such module."""


@dataclasses.dataclass
class Converter:
    """The process of forms/src/bin/convert-forms.rs; it is started again if it dies."""

    binary: str
    process: subprocess.Popen[bytes] | None = None

    def __call__(self, data: bytes, form: str) -> bytes:
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        to, back = self.process.stdin, self.process.stdout
        assert to and back
        try:
            to.write(f"{form} {len(data)}\n".encode() + data)
            to.flush()
            head = back.readline().split()
        except BrokenPipeError:
            head = []
        if len(head) != 2:
            raise Refused(f"died with status {self.process.wait()}")
        answer = back.read(int(head[1]))
        if head[0] != b"ok":
            raise Refused(answer.decode(errors="replace")[:400])
        return answer


def narrow_floats() -> list[tuple[str, str]]:
    """A module of each, with constants and attributes of it; StableHLO has no constants of tf32."""
    modules = []
    for ty in NARROW:
        array = f"tensor<3x{ty}>"
        constants = f"""
            %0 = stablehlo.constant dense<[1.0, 2.0, 4.0]> : {array}
            %1 = stablehlo.constant dense<2.0> : {array}
            %2 = stablehlo.add %0, %1 : {array}
            %3 = stablehlo.add %2, %a : {array}"""
        body = f"return %a : {array}" if ty == "tf32" else f"{constants} return %3 : {array}"
        text = f"""module attributes {{a.number = 1.0 : {ty}, a.type = {array}}} {{
            func.func @main(%a: {array}) -> {array} {{ {body} }}
        }}"""
        modules.append((f"narrow floats: {ty}", text))
    return modules


def bare(generic: str) -> str:
    """Generic text without locations."""
    lines = (line for line in generic.splitlines() if not line.startswith("#loc"))
    return "\n".join(_LOCATION.sub("", line) for line in lines)


def plain(generic: str) -> str:
    """The same without attributes that say what goes without saying, which artifacts leave out."""
    return _DEFAULTS.sub("", bare(generic))


@dataclasses.dataclass(frozen=True)
class Job:
    """Some modules, the converter, and how many versions to take for each."""

    binary: str
    modules: tuple[tuple[str, str], ...]
    versions: int


class Checker:
    """jaxlib and the converter, and what they disagree on."""

    def __init__(self, binary: str) -> None:
        import jaxlib_ir
        from jax._src.lib import _jax
        from jaxlib.mlir import ir, passmanager

        self.ir, self.lib, self.portable = ir, jaxlib_ir, _jax.mlir
        self.context = jaxlib_ir.make_context()
        with self.context:
            self.passes = passmanager.PassManager.parse("builtin.module(canonicalize,cse)")
        self.convert = Converter(binary)
        self.counts: collections.Counter[str] = collections.Counter()
        self.misses: list[tuple[str, str, str]] = []

    def living(self, module: object) -> str:
        """Generic text in canonical form: on the way to an artifact jaxlib brings modules into it, more or less."""
        with self.context:
            self.passes.run(module.operation)
            return roundtrip.comparable(self.lib.generic(module))

    def generic(self, data: str | bytes) -> str:
        return roundtrip.comparable(self.lib.generic(self.lib.parse(data, self.context)))

    def compare(
        self, name: str, check: str, expected: str, make: Callable[[], str | bytes], *, living: bool = False
    ) -> None:
        self.counts[check] += 1
        try:
            data = make()
            found = self.living(self.lib.parse(data, self.context)) if living else self.generic(data)
        except Refused as error:
            self.misses.append((name, check, f"refused: {error}"))
        except (self.ir.MLIRError, ValueError) as error:
            self.misses.append((name, check, f"jaxlib cannot read it: {str(error)[:300]}"))
        else:
            if found != expected:
                self.misses.append((name, check, roundtrip.first_difference(expected, found)))

    def artifact(self, text: str, version: str) -> bytes | None:
        """jaxlib's own portable artifact; None if there is none of this version."""
        try:
            with self.context, self.ir.Location.unknown(self.context):
                module = self.ir.Module.parse(text)
                return self.portable.serialize_portable_artifact(module, version, True)
        except (self.ir.MLIRError, ValueError, RuntimeError):
            return None

    def read(self, artifact: bytes) -> str:
        """What jaxlib makes of an artifact."""
        with self.context, self.ir.Location.unknown(self.context):
            module = self.portable.deserialize_portable_artifact(artifact)
            return self.living(module)

    def forms(self, name: str, text: str) -> None:
        module = self.lib.parse(text, self.context)
        generic = self.lib.generic(module)
        expected = roundtrip.comparable(generic)
        try:
            if self.generic(generic) != expected:
                raise ValueError("not the same")
        except (self.ir.MLIRError, ValueError):
            return  # a module that jaxlib itself does not read back
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        for form, data in (("text", text.encode()), ("generic", generic.encode()), ("bytecode", bytecode.getvalue())):
            self.compare(name, f"{form} in", expected, lambda data=data: self.convert(data, "generic").decode())
        self.compare(name, "text out", expected, lambda: self.convert(text.encode(), "text").decode())
        self.compare(name, "bytecode out", expected, lambda: self.convert(text.encode(), "bytecode"))

    def versions(self, name: str, text: str, versions: list[str]) -> None:
        original = self.living(self.lib.parse(text, self.context))
        for version in versions:
            theirs = self.artifact(text, version)
            if theirs is None:
                self.counts["refused by jaxlib"] += 1
                try:
                    ours = self.read(self.convert(text.encode(), f"artifact:{version}"))
                    if ours != original and bare(ours) != bare(original):
                        why = roundtrip.first_difference(original, ours)
                        self.misses.append((name, "refused by jaxlib", f"{version}: {why}"))
                except Refused:
                    pass
                except (self.ir.MLIRError, ValueError, RuntimeError) as error:
                    self.misses.append((name, "refused by jaxlib", f"{version}: {str(error)[:300]}"))
                continue
            try:
                expected = self.read(theirs)
            except (self.ir.MLIRError, ValueError, RuntimeError):
                continue  # jaxlib's own artifact is not read by jaxlib
            self.compare(name, "artifact in", expected, lambda: self.convert(theirs, "generic").decode(), living=True)
            self.counts["artifact out"] += 1
            try:
                ours = self.read(self.convert(text.encode(), f"artifact:{version}"))
                # jaxlib makes StableHLO of chlo first: what went in is as good. Old versions have no ranges of a file.
                if ours not in (expected, original) and plain(ours) != plain(original):
                    why = roundtrip.first_difference(expected, ours)
                    self.misses.append((name, "artifact out", f"{version}: {why}"))
            except (Refused, self.ir.MLIRError, ValueError, RuntimeError) as error:
                self.misses.append((name, "artifact out", f"{version}: {str(error)[:300]}"))
            self.compare(
                name,
                "VHLO's text",
                expected,
                lambda: self.convert(self.convert(theirs, f"vhlo:{version}"), "generic").decode(),
                living=True,
            )


def check(job: Job) -> tuple[collections.Counter[str], list[tuple[str, str, str]]]:
    """All checks on all modules of the job."""
    checker = Checker(job.binary)
    for name, text in job.modules:
        checker.forms(name, text)
        chosen = VERSIONS
        if job.versions < len(VERSIONS):
            some = random.Random(name).sample(VERSIONS[1:-1], max(job.versions - 2, 0))
            chosen = [VERSIONS[0], *some, VERSIONS[-1]]
        checker.versions(name, text, chosen)
    return checker.counts, checker.misses


def tell(miss: tuple[str, str, str]) -> str | None:
    """Prints a miss; the reason why it is accepted, if there is one."""
    name, what, detail = miss
    reason = next((why for check, said, why in KNOWN if check == what and re.search(said, detail)), None)
    print(f"{what}: {detail}\n    in {name}" + (f"\n    known: {reason}" if reason else ""))
    return reason


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convert", required=True, metavar="BIN", help="convert-forms")
    parser.add_argument("--corpus", required=True, type=pathlib.Path, metavar="DIR", help="where corpus.py wrote")
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="how many modules to take")
    parser.add_argument("--all", action="store_true", help="every module, and every version")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only modules whose names match")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="processes")
    args = parser.parse_args()

    started = time.monotonic()
    chosen = [module for module in roundtrip.modules(args.corpus) if re.search(args.only, module[0])]
    # In any order, so that what a long run has found before its end is of all kinds.
    chosen = random.Random(0).sample(chosen, len(chosen) if args.all else min(args.sample, len(chosen)))
    chosen += [module for module in narrow_floats() if re.search(args.only, module[0])]
    versions = len(VERSIONS) if args.all else SAMPLED + 2
    spans = [tuple(chosen[i : i + SPAN]) for i in range(0, len(chosen), SPAN)]
    context = multiprocessing.get_context("spawn")
    counts: collections.Counter[str] = collections.Counter()
    misses: list[tuple[str, str, str]] = []
    known: collections.Counter[str] = collections.Counter()
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        for done, (some, found) in enumerate(pool.map(check, [Job(args.convert, span, versions) for span in spans]), 1):
            counts += some
            misses += found
            known.update(reason for reason in map(tell, found) if reason)
            if done % 10 == 0:
                passed, missed = counts.total() - len(misses), len(misses) - known.total()
                print(f"{done * SPAN} of {len(chosen)} modules: {passed} checks passed, {missed} missed", flush=True)
    missed = collections.Counter(what for _, what, _ in misses)
    for what, count in sorted(counts.items()):
        print(f"{what:22s} {count - missed[what]:7d} of {count}")
    for reason, count in known.items():
        print(f"{count} known: {reason}")
    total, failed = counts.total() - known.total(), len(misses) - known.total()
    print(
        f"{total - failed} passed, {failed} failed: {known.total()} known, {len(chosen)} modules in all forms, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 0 if total and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
