# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every form that a module comes and goes in: what jaxlib writes is read, and what is written jaxlib reads, as the same
module.

    python test/oracle/forms.py --convert target/debug/convert-forms --corpus target/oracle --sample 200

Each module goes in as jaxlib's text, generic text and bytecode, and out in the same forms; and for versions of
StableHLO, of which a sample takes a few per module and --all each, a portable artifact of jaxlib's is read and compared
with what jaxlib reads of it, one is written and compared with what comes back of jaxlib's own, and VHLO's text goes
there and back. Where jaxlib writes no artifact of a version, we may refuse it, too. jaxlib has two writers:
StableHLO's own, and one of XLA's that makes other ops first of what an old version lacks (tan, batching dimensions,
chlo.scan, of which it forgets that it goes backwards). Where only the latter writes, we have to refuse. All
comparisons are of generic text with locations, by jaxlib. Beside the corpora there is a module of each narrow float,
for which MLIR 23 has numbers in bytecode and MLIR 22 has none.

Artifacts of a module in versions between which nothing that it has in it changed are the same bytes behind the
version's number. Each is written and read here; jaxlib, and the way through VHLO's text, are asked about one of them.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import io
import multiprocessing
import pathlib
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import journal
import roundtrip

JOBS = 2
SPAN = 25
VERSIONS = [f"0.{minor}.0" for minor in range(9, 21)] + [f"1.{minor}.0" for minor in range(18)]
SAMPLED = 3  # versions per module of a sample, besides the oldest and the newest

NARROW = (
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ"),
    *("f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU", "tf32"),
)

LACKING = re.compile(
    r"is no op of StableHLO|, which StableHLO \S+ lacks$|has a region, for which portable artifacts have no form$"
)
"""What the converter says of what a version has not."""

_DEFAULTS = re.compile(r'(backend_config = "", )|(, precision_config = \[(#stablehlo<precision DEFAULT>(, )?)+\])')
_LOCATION = re.compile(r" loc\((?:#loc\d*|unknown|\"[^\"]*\"(?:[^()]*|\(#loc\d*\)))\)")


class Refused(Exception):
    """The converter takes no such module."""


@dataclasses.dataclass(frozen=True)
class Answer:
    """A module in some form, or why there is none."""

    data: bytes | None
    why: str = ""

    def get(self) -> bytes:
        if self.data is None:
            raise Refused(self.why)
        return self.data


@dataclasses.dataclass
class Converter:
    """The process of forms/src/bin/convert-forms.rs; it is started again if it dies."""

    binary: str
    process: subprocess.Popen[bytes] | None = None

    def __call__(self, data: bytes, form: str) -> bytes:
        """The module in a form."""
        return self.all(data, [form])[0].get()

    def all(self, data: bytes, forms: Sequence[str]) -> list[Answer]:
        """The module in each form, for which it is read once."""
        if self.process is None or self.process.poll() is not None:
            self.start()
        assert self.process and self.process.stdin and self.process.stdout
        try:
            self.process.stdin.write(f"{','.join(forms)} {len(data)}\n".encode() + data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        return [self.answer() for _ in forms]

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    def end(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def answer(self) -> Answer:
        assert self.process and self.process.stdout
        head = self.process.stdout.readline().split()
        if len(head) != 2:
            return Answer(None, f"died with status {self.process.wait()}")
        answer = self.process.stdout.read(int(head[1]))
        return Answer(answer) if head[0] == b"ok" else Answer(None, answer.decode(errors="replace")[:400])


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


def body(artifact: bytes) -> tuple[bytes, bytes]:
    """The format's version and what comes after the producer's name, in which StableHLO's version is."""
    head, _, rest = artifact.partition(b"\0")
    return head[: head.find(b"StableHLO_v")], rest


def why_not(error: Exception) -> str:
    """What is said of an error."""
    if isinstance(error, Refused):
        return f"refused: {error}"
    return f"jaxlib cannot read it: {str(error)[:300]}"


def plain_text(generic: str) -> str:
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
        from jaxlib.mlir.dialects import stablehlo

        self.ir, self.lib, self.portable, self.stablehlo = ir, jaxlib_ir, _jax.mlir, stablehlo
        self.context = jaxlib_ir.make_context()
        with self.context:
            self.passes = passmanager.PassManager.parse("builtin.module(canonicalize,cse)")
        self.convert = Converter(binary)
        self.errors = (ir.MLIRError, ValueError, RuntimeError)
        self.counts: collections.Counter[str] = collections.Counter()
        self.misses: list[tuple[str, str, str]] = []

    def living(self, module: object) -> str:
        """Generic text in canonical form: on the way to an artifact jaxlib brings modules into it, more or less."""
        with self.context:
            self.passes.run(module.operation)
            return roundtrip.comparable(self.lib.generic(module))

    def generic(self, data: str | bytes) -> str:
        return roundtrip.comparable(self.lib.generic(self.lib.parse(data, self.context)))

    def compare(self, name: str, check: str, expected: str, answer: Answer) -> None:
        self.counts[check] += 1
        try:
            found = self.generic(answer.get())
        except (Refused, *self.errors) as error:
            self.misses.append((name, check, why_not(error)))
        else:
            if found != expected:
                self.misses.append((name, check, roundtrip.first_difference(expected, found)))

    def artifact(self, module: object, version: str) -> bytes | None:
        """jaxlib's own portable artifact; None if there is none of this version."""
        try:
            with self.context, self.ir.Location.unknown(self.context):
                return self.portable.serialize_portable_artifact(module, version, True)
        except self.errors:
            return None

    def is_refused(self, module: object, version: str) -> bool:
        """Whether StableHLO's own writer has no artifact of this version."""
        handler = self.context.attach_diagnostic_handler(lambda _: True)
        try:
            self.stablehlo.serialize_portable_artifact(module, version)
        except self.errors:
            return True
        finally:
            handler.detach()
        return False

    def read(self, artifact: bytes) -> str:
        """What jaxlib makes of an artifact."""
        with self.context, self.ir.Location.unknown(self.context):
            return self.living(self.portable.deserialize_portable_artifact(artifact))

    def outcome(self, known: dict[object, str | Exception], key: object, make: Callable[[], str]) -> str:
        """What is made, once for each key; or the error that was met, again."""
        if key not in known:
            try:
                known[key] = make()
            except (Refused, *self.errors) as error:
                known[key] = error
        found = known[key]
        if isinstance(found, Exception):
            raise found
        return found

    def forms(self, name: str, text: str) -> None:
        module = self.lib.parse(text, self.context)
        generic = self.lib.generic(module)
        expected = roundtrip.comparable(generic)
        try:
            if self.generic(generic) != expected:
                raise ValueError("not the same")
        except self.errors:
            return  # a module that jaxlib itself does not read back
        bytecode = io.BytesIO()
        module.operation.write_bytecode(bytecode)
        text_in, text_out, bytecode_out = self.convert.all(text.encode(), ["generic", "text", "bytecode"])
        [generic_in] = self.convert.all(generic.encode(), ["generic"])
        [bytecode_in] = self.convert.all(bytecode.getvalue(), ["generic"])
        for check, answer in (
            ("text in", text_in),
            ("generic in", generic_in),
            ("bytecode in", bytecode_in),
            ("text out", text_out),
            ("bytecode out", bytecode_out),
        ):
            self.compare(name, check, expected, answer)

    def versions(self, name: str, text: str, versions: list[str]) -> None:
        """Artifacts of these versions."""
        module = self.lib.parse(text, self.context)
        theirs = [self.artifact(module, version) for version in versions]
        ours = self.convert.all(text.encode(), [f"artifact:{version}" for version in versions])
        asked = self.lib.parse(text, self.context)
        original = self.living(module)
        read: dict[object, str | Exception] = {}
        parsed: dict[object, str | Exception] = {}
        through: dict[object, str | Exception] = {}

        def reading(artifact: bytes) -> str:
            return self.outcome(read, body(artifact), lambda: self.read(artifact))

        def parsing(generic: bytes) -> str:
            return self.outcome(parsed, generic, lambda: self.living(self.lib.parse(generic, self.context)))

        for version, artifact, mine in zip(versions, theirs, ours, strict=True):
            if artifact is None:
                self.without_theirs(name, version, original, mine, reading)
                continue
            try:
                expected = reading(artifact)
            except self.errors:
                continue  # jaxlib's own artifact is not read by jaxlib

            def vhlo(artifact: bytes = artifact, version: str = version) -> str:
                return parsing(self.convert(self.convert(artifact, f"vhlo:{version}"), "generic"))

            def back(artifact: bytes = artifact) -> str:
                return self.outcome(through, body(artifact), functools.partial(vhlo, artifact))

            self.hold(name, "artifact in", version, (expected,), lambda: parsing(self.convert(artifact, "generic")))
            # jaxlib makes StableHLO of chlo first: what went in is as good. Old versions have no ranges of a file.
            if LACKING.search(mine.why) and self.is_refused(asked, version):
                self.counts["refused by StableHLO's writer"] += 1
            else:
                self.hold(name, "artifact out", version, (expected, original), lambda: reading(mine.get()), plain=True)
            self.hold(name, "VHLO's text", version, (expected,), back)

    def without_theirs(
        self, name: str, version: str, original: str, mine: Answer, reading: Callable[[bytes], str]
    ) -> None:
        """Where jaxlib has no artifact of a version, there is none, or it says what went in."""
        self.counts["refused by jaxlib"] += 1
        try:
            found = reading(mine.get())
        except Refused:
            return
        except self.errors as error:
            self.misses.append((name, "refused by jaxlib", f"{version}: {why_not(error)}"))
            return
        if bare(found) != bare(original):
            why = roundtrip.first_difference(original, found)
            self.misses.append((name, "refused by jaxlib", f"{version}: {why}"))

    def hold(
        self,
        name: str,
        check: str,
        version: str,
        expected: Sequence[str],
        make: Callable[[], str],
        *,
        plain: bool = False,
    ) -> None:
        """What is made is one of what is expected; `plain`, perhaps but for what goes without saying."""
        self.counts[check] += 1
        try:
            found = make()
        except (Refused, *self.errors) as error:
            self.misses.append((name, check, f"{version}: {why_not(error)}"))
            return
        if found in expected or plain and plain_text(found) == plain_text(expected[-1]):
            return
        self.misses.append((name, check, f"{version}: {roundtrip.first_difference(expected[0], found)}"))


Result = tuple[str, dict[str, int], list[tuple[str, str, str]]]
"""A module's name, how many checks of each kind were made on it, and the misses."""


def check(job: Job) -> list[Result]:
    """All checks on all modules of the job."""
    checker = Checker(job.binary)
    results: list[Result] = []
    for name, text in job.modules:
        checker.counts, checker.misses = collections.Counter(), []
        checker.forms(name, text)
        chosen = VERSIONS
        if job.versions < len(VERSIONS):
            some = random.Random(name).sample(VERSIONS[1:-1], max(job.versions - 2, 0))
            chosen = [VERSIONS[0], *some, VERSIONS[-1]]
        checker.versions(name, text, chosen)
        results.append((name, dict(checker.counts), checker.misses))
    checker.convert.end()
    return results


@dataclasses.dataclass
class Tally:
    """Checks and misses so far."""

    counts: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    missed: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    modules: int = 0

    def add(self, counts: dict[str, int], misses: Sequence[Sequence[str]]) -> None:
        self.modules += 1
        self.counts.update(counts)
        self.missed.update(what for _, what, _ in misses)
        for name, what, detail in misses:
            print(f"{what}: {detail}\n    in {name}")

    @property
    def failed(self) -> int:
        return self.missed.total()

    @property
    def passed(self) -> int:
        return self.counts.total() - self.missed.total()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convert", required=True, metavar="BIN", help="convert-forms")
    parser.add_argument("--corpus", required=True, type=pathlib.Path, metavar="DIR", help="where corpus.py wrote")
    parser.add_argument("--sample", type=int, default=200, metavar="N", help="how many modules to take")
    parser.add_argument("--all", action="store_true", help="every module, and every version")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only modules whose names match")
    parser.add_argument("--jobs", type=int, default=JOBS, metavar="N", help="processes")
    parser.add_argument("--shard", type=journal.shard, default=(1, 1), metavar="I/N", help="the I-th of N parts")
    parser.add_argument("--journal", type=pathlib.Path, metavar="FILE", help="go on where a run that wrote it ended")
    args = parser.parse_args()

    started = time.monotonic()
    chosen = [module for module in roundtrip.modules(args.corpus) if re.search(args.only, module[0])]
    # In any order, so that what a long run has found before its end is of all kinds.
    chosen = random.Random(0).sample(chosen, len(chosen) if args.all else min(args.sample, len(chosen)))
    chosen += [module for module in narrow_floats() if re.search(args.only, module[0])]
    programs = len(chosen)
    # Half of JAX's tests are the same program as another.
    chosen = journal.part([(name, text) for text, name in {text: name for name, text in chosen}.items()], args.shard)
    versions = len(VERSIONS) if args.all else SAMPLED + 2
    found = journal.Journal(args.journal, journal.stamp(args.convert, __file__, roundtrip.__file__, also=[versions]))
    tally = Tally()
    for name, _ in chosen:
        if name in found.results:
            tally.add(*found.results[name])
    waiting = [module for module in chosen if module[0] not in found.results]
    if tally.modules:
        print(f"{tally.modules} modules were checked before", flush=True)
    jobs = [Job(args.convert, tuple(waiting[i : i + SPAN]), versions) for i in range(0, len(waiting), SPAN)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        for done, results in enumerate(pool.map(check, jobs), 1):
            for name, counts, misses in results:
                tally.add(counts, misses)
                found.add(name, (counts, misses))
            if done % 10 == 0:
                part = f"{tally.modules} of {len(chosen)} modules in {time.monotonic() - started:.0f} s"
                print(f"{part}: {tally.passed} checks passed, {tally.failed} missed", flush=True)
    for what, count in sorted(tally.counts.items()):
        print(f"{what:30s} {count - tally.missed[what]:7d} of {count}")
    print(
        f"{tally.passed} passed, {tally.failed} failed: {tally.modules} modules of {programs} programs in all forms, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 0 if tally.passed and not tally.failed else 1


if __name__ == "__main__":
    sys.exit(main())
