# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Broken bytecode, artifacts and files of jax.export: an answer each, whatever it is, and never a crash, a hang or too much memory.

    python test/oracle/fuzz_forms.py --convert target/debug/convert-forms --corpus target/oracle --count 100000 --seed 0

Modules of the corpora, as jaxlib's bytecode, as ours and as portable artifacts of many versions, are damaged: bytes are flipped, set or taken
out, ends are cut off, pieces of one are put into another. Each is given to the reader in a process that may take no more than a few GiB; one that dies, or takes
more than ten seconds, is a failure, and is kept in the folder that --keep names.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import io
import multiprocessing
import pathlib
import random
import resource
import subprocess
import sys
import threading
import time

import forms
import jaxlib_ir
import roundtrip

JOBS = 2
SECONDS = 10.0
MEMORY = 6 << 30  # of addresses; the stack alone is one GiB
SEEDS = 150
LONGEST = 20_000  # bytes of a seed: most damage to a large one is to its constants


@dataclasses.dataclass(frozen=True)
class Job:
    """Some broken modules to make and to try."""

    binary: str
    seeds: tuple[bytes, ...]
    count: int
    seed: int


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Limited(forms.Converter):
    """A converter that is ended when it takes too long."""

    def start(self) -> None:
        self.process = subprocess.Popen(
            [self.binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=limited
        )

    def __call__(self, data: bytes, form: str) -> bytes:
        if self.process is None or self.process.poll() is not None:
            self.start()
        assert self.process
        timer = threading.Timer(SECONDS, self.process.kill)
        timer.start()
        try:
            return super().__call__(data, form)
        finally:
            timer.cancel()


def damaged(rng: random.Random, seeds: tuple[bytes, ...]) -> bytes:
    """One of the seeds with one to four things wrong with it."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data)) if data else 0
        match rng.randrange(6):
            case 0 if data:
                data[at] ^= 1 << rng.randrange(8)
            case 1 if data:
                data[at] = rng.choice((0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, rng.randrange(256)))
            case 2:
                del data[at:]
            case 3:
                del data[at : at + rng.randrange(1, 9)]
            case 4:
                data[at:at] = rng.randbytes(rng.randrange(1, 9))
            case _:
                other = rng.choice(seeds)
                start = rng.randrange(len(other))
                piece = other[start : start + rng.randrange(1, 65)]
                data[at : at + rng.choice((0, len(piece)))] = piece
    return bytes(data)


def jaxlib_bytecode(text: str) -> bytes:
    """The module as jaxlib writes it, with its encodings of stablehlo, chlo and sdy."""
    bytecode = io.BytesIO()
    jaxlib_ir.parse(text, jaxlib_ir.make_context()).operation.write_bytecode(bytecode)
    return bytecode.getvalue()


def attack(job: Job) -> tuple[int, list[tuple[bytes, str]]]:
    """How many were read in spite of all, and which ended the reader."""
    rng = random.Random(job.seed)
    convert = Limited(job.binary)
    read, fatal = 0, []
    for _ in range(job.count):
        data = damaged(rng, job.seeds)
        try:
            convert(data, rng.choice(("text", "bytecode", "artifact:1.17.0", "artifact:0.9.0")))
            read += 1
        except forms.Refused as error:
            if str(error).startswith(("died with status", "panicked")):
                fatal.append((data, str(error)))
    return read, fatal


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--convert", required=True, metavar="BIN", help="convert-forms")
    parser.add_argument("--corpus", required=True, type=pathlib.Path, metavar="DIR", help="where corpus.py wrote")
    parser.add_argument("--count", type=int, default=3000, metavar="N", help="how many broken modules")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the random numbers")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="where to put what ended the reader")
    args = parser.parse_args()

    started = time.monotonic()
    rng = random.Random(args.seed)
    convert = forms.Converter(args.convert)
    texts = [text for _, text in roundtrip.modules(args.corpus)]
    seeds = []
    for text in rng.sample(texts, min(SEEDS, len(texts))):
        form = rng.choice(("bytecode", "jaxlib", *(f"artifact:{version}" for version in forms.VERSIONS)))
        try:
            seeds.append(jaxlib_bytecode(text) if form == "jaxlib" else convert(text.encode(), form))
        except forms.Refused:
            continue  # a version that lacks something of it
        convert(seeds[-1], "text")  # what is whole is read
    seeds = [seed for seed in seeds if len(seed) <= LONGEST]
    each = -(-args.count // (4 * JOBS))
    jobs = [Job(args.convert, tuple(seeds), each, args.seed * 1000 + number) for number in range(4 * JOBS)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(JOBS, mp_context=context) as pool:
        results = list(pool.map(attack, jobs))
    fatal = [one for _, some in results for one in some]
    for number, (data, why) in enumerate(fatal):
        print(f"{why}: {len(data)} bytes that begin with {data[:24]!r}")
        if args.keep:
            args.keep.mkdir(parents=True, exist_ok=True)
            (args.keep / f"{number:04d}.bin").write_bytes(data)
    total = each * len(jobs)
    read = sum(some for some, _ in results)
    print(
        f"{total - len(fatal)} passed, {len(fatal)} failed: {len(seeds)} modules damaged, {read} read nevertheless, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if fatal or not seeds else 0


if __name__ == "__main__":
    sys.exit(main())
