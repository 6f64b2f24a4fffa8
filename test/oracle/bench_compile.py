# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long compiling takes: from StableHLO to PTX, against IREE's compiler for CUDA and XLA's for the CPU, on the same modules.

    python test/oracle/bench_compile.py --slimhlo target/release/slimhlo

Of `slimhlo compile --emit ptx --chip sm_80` and `iree-compile --iree-hal-target-device=cuda --iree-cuda-target=sm_80`, the wall time of
the whole process; of XLA, which runs in this one, that of compiling the parsed module. Medians of several runs. A program that
a compiler refuses, or does not finish in time, has no number there. The others' times are also shown as multiples of ours.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import programs  # first: it sets the flags with which JAX starts

import jaxlib_ir
import xla_cpu

RUNS = 3
SECONDS = 120
LEFT_OUT = re.compile(r"spmd|shard_map|train16")


def median(work: object) -> float | None:
    """The median time of some runs, in seconds; None if one of them fails."""
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        try:
            work()
        except Exception:  # whatever it is, there is no number
            return None
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def command(words: list[str]) -> object:
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    return lambda: subprocess.run(words, check=True, capture_output=True, timeout=SECONDS, env=environment)


def shown(seconds: float | None, ours: float | None) -> str:
    if seconds is None:
        return "-"
    ratio = f" ({seconds / ours:.1f}x)" if ours else ""
    return f"{seconds * 1e3:.0f} ms{ratio}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command, built in release mode")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose name contains this")
    args = parser.parse_args()
    iree = pathlib.Path(sys.prefix, "bin/iree-compile")
    if not iree.exists():
        print("iree-compile is missing (test/oracle/bench-requirements.txt): its column stays empty")
    ratios: dict[str, list[float]] = {"iree-compile": [], "XLA CPU": []}
    print(f"{'program':26} {'slimhlo':>10} {'iree-compile':>20} {'XLA CPU':>20}")
    with tempfile.TemporaryDirectory(prefix="slimhlo-bench-") as folder:
        module, out = str(pathlib.Path(folder, "in.mlir")), str(pathlib.Path(folder, "out"))
        for name, program in programs.PROGRAMS.items():
            if LEFT_OUT.search(name) or args.only not in name:
                continue
            text = program().as_text()
            pathlib.Path(module).write_text(text)
            ours = median(command([args.slimhlo, "compile", module, "--emit", "ptx", "--chip", "sm_80", "-q", "-o", out]))
            flags = ["--iree-hal-target-device=cuda", "--iree-cuda-target=sm_80", "--iree-input-type=stablehlo"]
            theirs = median(command([str(iree), module, *flags, "-o", out])) if iree.exists() else None
            parsed = jaxlib_ir.parse(text, jaxlib_ir.make_context())
            xla = median(lambda parsed=parsed: xla_cpu.compile_module(parsed))
            for column, seconds in (("iree-compile", theirs), ("XLA CPU", xla)):
                if ours and seconds:
                    ratios[column].append(seconds / ours)
            columns = [shown(ours, None), shown(theirs, ours), shown(xla, ours)]
            print(f"{name:26} {columns[0]:>10} {columns[1]:>20} {columns[2]:>20}", flush=True)
    for column, all_of_them in ratios.items():
        if all_of_them:
            mean = math.exp(statistics.fmean(map(math.log, all_of_them)))
            print(f"{column} takes {mean:.1f} times as long as slimhlo (geometric mean of {len(all_of_them)} programs)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
