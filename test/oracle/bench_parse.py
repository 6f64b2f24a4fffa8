# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long reading, verifying and printing take, against jaxlib; and how dus-to-pad scales.

    python test/oracle/bench_parse.py --opt target/release/slimhlo-opt --corpus target/oracle [--only parse]

1. One module of 100,000 ops, made of the functions of the corpora (JAX's own mix of ops), is read, verified and printed
   by jaxlib, in this process, and by the driver, in a process of its own, turn by turn. The driver's time is given
   whole and without its start-up, which is measured on an empty module.
2. Modules of 10,000 and 100,000 ops full of dynamic_update_slice into zeros, once all in one chain and once all
   independent, go through the pass, whose time MLIR itself takes (--mlir-timing: wall time of the pass alone, the best of
the runs, since whatever else the machine does only adds to it).

All other times are processor time, user and system, of one thread: jaxlib as JAX sets it up uses no more, and the driver runs with
--mlir-disable-threading. On an idle machine that is the wall time; on a busy one it is still the work done.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func

import jaxlib_ir
import store
from opt import with_values

EMPTY = "module {\n}\n"
NO_THREADS = "--mlir-disable-threading"


def op_count(module: ir.Module) -> int:
    count = 0

    def visit(_: ir.Operation) -> ir.WalkResult:
        nonlocal count
        count += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return count


def mixed_module(corpus: pathlib.Path, wanted: int) -> str:
    """Functions of the corpora under new names, until there are enough ops; no module is used twice in a row."""
    parts: list[str] = []
    count = 0
    while count < wanted:
        context = jaxlib_ir.make_context()
        for name in ("programs", "harnesses"):
            for entry in list(store.read(corpus, name))[:: 1 if name == "programs" else 7]:
                if count >= wanted:
                    break
                module = jaxlib_ir.parse(entry.text, context)
                ops = list(module.body.operations)
                if not all(isinstance(op, func.FuncOp) for op in ops) or "sdy." in entry.text:
                    continue
                names = "|".join(re.escape(op.name.value) for op in ops)
                text = "\n".join(str(op.operation.get_asm()) for op in ops)
                parts.append(re.sub(rf'@("?)({names})\1(?![\w.$])', rf"@\1\2_{len(parts)}\1", text))
                count += op_count(module) - 1
    return "module {\n" + "\n".join(parts) + "\n}\n"


def chain_of_updates(ops: int) -> str:
    """Rows written one after another, each into what the one before made."""
    updates = (ops - 3) // 2
    kind, row = f"tensor<{updates}x8xf32>", "tensor<1x8xf32>"
    lines = [
        "    %z = stablehlo.constant dense<0.0> : tensor<f32>",
        f"    %v0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {kind}",
        "    %c = stablehlo.constant dense<0> : tensor<i32>",
    ]
    for i in range(updates):
        lines.append(f"    %i{i} = stablehlo.constant dense<{i}> : tensor<i32>")
        lines.append(
            f"    %v{i + 1} = stablehlo.dynamic_update_slice %v{i}, %row, %i{i}, %c : "
            f"({kind}, {row}, tensor<i32>, tensor<i32>) -> {kind}"
        )
    body = "\n".join(lines)
    return (
        f"module {{\n  func.func @main(%row: {row}) -> {kind} {{\n{body}\n    return %v{updates} : {kind}\n  }}\n}}\n"
    )


def independent_updates(ops: int) -> str:
    """Blocks each written into zeros of its own, and added up."""
    terms = (ops - 3) // 3
    kind, block = "tensor<64x64xf32>", "tensor<32x48xf32>"
    lines = [
        "    %z = stablehlo.constant dense<0.0> : tensor<f32>",
        f"    %s0 = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {kind}",
        *(f"    %i{i} = stablehlo.constant dense<{i}> : tensor<i32>" for i in range(17)),
    ]
    for i in range(terms):
        lines += [
            f"    %z{i} = stablehlo.broadcast_in_dim %z, dims = [] : (tensor<f32>) -> {kind}",
            f"    %v{i} = stablehlo.dynamic_update_slice %z{i}, %block, %i{i % 17}, %i{i % 11} : "
            f"({kind}, {block}, tensor<i32>, tensor<i32>) -> {kind}",
            f"    %s{i + 1} = stablehlo.add %s{i}, %v{i} : {kind}",
        ]
    body = "\n".join(lines)
    return (
        f"module {{\n  func.func @main(%block: {block}) -> {kind} {{\n{body}\n    return %s{terms} : {kind}\n  }}\n}}\n"
    )


def seconds(work: Callable[[], object]) -> float:
    """Processor time of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


@dataclasses.dataclass(frozen=True)
class Timer:
    """Times the driver on a file, as a process."""

    binary: str
    runs: int
    limit: int = 600
    """Seconds of processor time after which a run is ended."""

    def once(self, path: pathlib.Path, *flags: str) -> float:
        command = [self.binary, str(path), "-o", "/dev/null", NO_THREADS, *flags]
        with subprocess.Popen(["prlimit", f"--cpu={self.limit}", *command]) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command)
        return usage.ru_utime + usage.ru_stime

    def median(self, path: pathlib.Path, *flags: str) -> float:
        return statistics.median(self.once(path, *flags) for _ in range(self.runs))

    def passes_once(self, path: pathlib.Path, *flags: str) -> float:
        """Wall time of all passes by MLIR's own clock, without reading and printing."""
        command = ["prlimit", f"--cpu={self.limit}", self.binary, str(path), "-o", "/dev/null", NO_THREADS]
        command += ["--mlir-timing", "--mlir-timing-display=list", *flags]
        report = subprocess.run(command, check=True, capture_output=True, text=True).stderr
        times = {name: float(time) for time, name in re.findall(r"([0-9.]+) +\(.*\)  (.*)$", report, re.MULTILINE)}
        if "root" not in times:
            raise ValueError(f"no times in the report:\n{report}")
        return times["root"] - times.get("Parser", 0.0) - times.get("Output", 0.0)

    def passes(self, path: pathlib.Path, *flags: str) -> float:
        """The best of several."""
        return min(self.passes_once(path, *flags) for _ in range(self.runs))


def through_jaxlib(text: str) -> str:
    """Parse, verify, print."""
    return str(jaxlib_ir.parse(text))


def compare_with_jaxlib(timer: Timer, corpus: pathlib.Path, ops: int, work: pathlib.Path) -> float:
    """Part 1; the ratio of the driver's time without start-up to jaxlib's."""
    text = mixed_module(corpus, ops)
    count = op_count(jaxlib_ir.parse(text))
    mixed, empty = work / "mixed.mlir", work / "empty.mlir"
    mixed.write_text(text)
    empty.write_text(EMPTY)
    timer.once(mixed)  # brings files into memory
    ours, start_ups, theirs = [], [], []
    for _ in range(timer.runs):
        theirs.append(seconds(lambda: through_jaxlib(text)))
        ours.append(timer.once(mixed))
        start_ups.append(timer.once(empty))
    jaxlib_time, whole, start_up = map(statistics.median, (theirs, ours, start_ups))
    net = whole - start_up
    print(
        f"parse, verify and print {count} ops ({len(text) / 2**20:.1f} MiB), processor time, medians of {timer.runs}:"
    )
    print(f"  jaxlib, in process      {jaxlib_time:8.3f} s")
    print(f"  slimhlo-opt, whole      {whole:8.3f} s   {whole / jaxlib_time:.2f} of jaxlib")
    print(f"  slimhlo-opt, start-up   {start_up:8.3f} s   (empty module)")
    print(f"  slimhlo-opt, without it {net:8.3f} s   {net / jaxlib_time:.2f} of jaxlib")
    return net / jaxlib_time


def scale(timer: Timer, pipeline: list[str], sizes: tuple[int, int], work: pathlib.Path) -> float:
    """Part 2; the worst ratio of time per op between the two sizes."""
    worst = 0.0
    print(f"{' '.join(pipeline)}, wall time of the pass by --mlir-timing, best of {timer.runs}:")
    for name, make in (("one chain", chain_of_updates), ("independent", independent_updates)):
        per_op = []
        for size in sizes:
            path = work / f"{name.replace(' ', '_')}_{size}.mlir"
            path.write_text(make(size))
            taken = timer.passes(path, *pipeline)
            per_op.append(taken / size)
            print(f"  {name:12s} {size:7d} ops: {taken:7.4f} s, {per_op[-1] * 1e6:6.3f} us per op")
        ratio = per_op[1] / per_op[0]
        worst = max(worst, ratio)
        print(f"  {name:12s} time per op grows by {ratio:.2f} from {sizes[0]} to {sizes[1]} ops")
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver, a release build")
    parser.add_argument("--corpus", required=True, type=pathlib.Path, metavar="DIR", help="where corpus.py wrote")
    parser.add_argument("--only", choices=("parse", "dus-to-pad"), help="only one of the two parts")
    parser.add_argument("--pipeline", default="--slimhlo-dus-to-pad", help="flags of the pass (default: %(default)s)")
    parser.add_argument("--ops", type=int, default=100_000, help="ops of the module of part 1 (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=5, help="runs per measurement (default: %(default)s)")
    parser.add_argument("--limit", type=float, help="fail if the driver takes more than this times jaxlib")
    parser.add_argument("--growth-limit", type=float, help="fail if time per op grows by more than this")
    args = parser.parse_args(with_values(sys.argv[1:], "--pipeline"))
    timer = Timer(args.opt, args.runs)
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        ratio = growth = 0.0
        if args.only != "dus-to-pad":
            ratio = compare_with_jaxlib(timer, args.corpus, args.ops, work)
        if args.only != "parse":
            growth = scale(timer, args.pipeline.split(), (10_000, 100_000), work)
    too_slow = args.limit is not None and ratio > args.limit
    too_steep = args.growth_limit is not None and growth > args.growth_limit
    return 1 if too_slow or too_steep else 0


if __name__ == "__main__":
    sys.exit(main())
