# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Memory that large constants take on their way through the driver, the command and the Python package, in copies of
the constant.

    python test/oracle/large_constants.py --opt target/debug/slimhlo-opt --mib 1024 [--python PYTHON]

A module of one constant, and an update that becomes a pad, goes through in each form: text, bytecode, a portable
artifact. The most memory that a process has of its own (not the file that it maps, whose pages are the system's), less
what it has for a small module, must be less than three constants: MLIR keeps one, and its parser of text reads into
another. What comes out is the constant that went in. Of the Python package (PYTHON has slimhlo installed) it is the
memory beyond the bytes that are handed to it and the one copy that it makes of them, which goes away before it writes.
"""

from __future__ import annotations

import argparse
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile
import time

COPIES = 3.0
SMALL = 2
"""Bytes of the constant in the module whose memory counts for nothing."""

PYTHON = """import sys, slimhlo
done = slimhlo.optimize(open(sys.argv[1], "rb").read(), target="h100")
assert done.changed
with open(sys.argv[3], "wb") as out:
    out.write(done.program)
"""
"""What a user would write; called as `INPUT -o OUTPUT`."""


def write_text(path: pathlib.Path, data: bytes, count: int) -> None:
    """A constant of i8, `data` so often, and an update."""
    ty = f"tensor<{count * len(data)}xi8>"
    with path.open("wb") as out:
        out.write(f"func.func @main(%x: tensor<4xf32>) -> ({ty}, tensor<9xf32>) {{\n".encode())
        out.write(b'  %0 = stablehlo.constant dense<"0x')
        for _ in range(count):
            out.write(data.hex().upper().encode())
        out.write(
            f""""> : {ty}
  %zeros = stablehlo.constant dense<0.0> : tensor<9xf32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %1 = stablehlo.dynamic_update_slice %zeros, %x, %three : (tensor<9xf32>, tensor<4xf32>, tensor<i32>) -> tensor<9xf32>
  return %0, %1 : {ty}, tensor<9xf32>
}}
""".encode()
        )


def peak(command: list[str]) -> int:
    """Bytes that a command has had of its own at most, as far as a look every few milliseconds tells; it must succeed."""
    process = subprocess.Popen(command)
    most = 0
    while process.poll() is None:
        most = max(most, own(process.pid))
        time.sleep(0.003)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return most


def own(pid: int) -> int:
    """Bytes of memory that no file is behind, of a process that may have ended."""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon:", "RssShmem:")))


def occurrences(path: pathlib.Path, pattern: bytes, most: int) -> int:
    """How often a pattern is in a file, one after the other."""
    count = at = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        at = whole.find(pattern)
        while at >= 0 and count < most and whole[at : at + len(pattern)] == pattern:
            count, at = count + 1, at + len(pattern)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, type=pathlib.Path, metavar="BIN", help="the driver, beside the command")
    parser.add_argument("--mib", type=int, default=64, metavar="N", help="size of the constant")
    parser.add_argument("--python", metavar="PYTHON", help="an interpreter that has slimhlo installed")
    args = parser.parse_args()

    started = time.monotonic()
    opt, command = str(args.opt), str(args.opt.with_name("slimhlo"))
    data = os.urandom(1 << 20)
    passed = failed = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text, bytecode, artifact, made, out = (
            folder / f"a.{end}" for end in ("mlir", "mlirbc", "artifact", "made", "out")
        )
        small = folder / "small.mlir"
        write_text(small, bytes(SMALL), 1)
        write_text(text, data, args.mib)
        ways = [
            ("slimhlo-opt, text to bytecode", text, bytecode, [opt, "--emit-bytecode"]),
            ("slimhlo-opt, text to text", text, out, [opt]),
            ("slimhlo-opt, text to an artifact", text, artifact, [opt, "--emit-portable-artifact"]),
            ("slimhlo-opt, bytecode to text", bytecode, out, [opt]),
            ("slimhlo-opt, an artifact to text", artifact, out, [opt]),
            ("slimhlo, text to text", text, out, [command, "optimize", "-q"]),
            ("slimhlo, text to an artifact", text, made, [command, "optimize", "-q", "--emit-portable-artifact"]),
            ("slimhlo, an artifact to text", artifact, out, [command, "optimize", "-q"]),
        ]
        if args.python:
            # What the driver and the command take is asked without; here it makes what Python reads.
            ways = [way for way in ways if way[2] in (bytecode, artifact)]
            forms = {"text": text, "bytecode": bytecode, "an artifact": artifact}
            ways += [
                (f"slimhlo.optimize, {form}", path, out, [args.python, "-c", PYTHON]) for form, path in forms.items()
            ]
        for what, source, target, words in ways:
            in_python = words[0] == args.python
            base = peak([*words, str(small), "-o", str(folder / "small.out")])
            if in_python:
                base += 2 * source.stat().st_size
            taken = peak([*words, str(source), "-o", str(target)]) - base
            copies = taken / (args.mib << 20)
            worst = max(worst, copies)
            as_text = source == text if in_python else target == out
            pattern = data.hex().upper().encode() if as_text else data
            same = occurrences(target, pattern, args.mib) == args.mib
            good = copies < COPIES and same
            passed, failed = passed + good, failed + (not good)
            other = "" if same else ", and another constant"
            print(f"{'ok  ' if good else 'FAIL'} {what}: {copies:.2f} copies{other}", flush=True)
    print(
        f"{passed} passed, {failed} failed: a constant of {args.mib} MiB, at most {worst:.2f} copies, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
