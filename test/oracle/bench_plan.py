# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The buffer plans of `slimhlo compile` for the reference programs, against their floors and XLA's for CPU.

    python test/oracle/bench_plan.py --slimhlo target/release/slimhlo [NAME ...]

Each program of one device is compiled at full size into a package; what its plan allocates (arguments, results that are in none
of them, and the arena) is held against the floor, the program's goal for the back end where it has one, and what XLA's buffer
assignment needs for the same module, which it must not exceed. Nothing is executed.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import programs  # first: it sets the flags with which JAX starts
from workers import Lost, map_items

MIB = 2**20
SECONDS_PER_MODULE = 600.0
GOALS = {
    **dict.fromkeys(("gather_fwd_i32", "gather_vjp_i32", "gather_vjp_i16", "gather_vag_sin_i32"), 1.01),
    **dict.fromkeys(("halo_ew", "halo_ns", "halo_all", "pads_sum", "zeros_dus_chain"), 1.01),
    "halo_step": 1.34,
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a package allocates, in bytes, and the seconds it took to make."""

    floor: int
    total: int
    kernels: int
    seconds: float


def plan(command: str, text: str) -> Plan | str:
    """The plan of a module, or why there is none."""
    with tempfile.TemporaryDirectory(prefix="slimhlo-plan-") as folder:
        source, package = pathlib.Path(folder, "in.mlir"), pathlib.Path(folder, "package")
        source.write_text(text)
        started = time.monotonic()
        done = subprocess.run([command, "compile", "-q", str(source), "-o", str(package)], capture_output=True, text=True)
        seconds = time.monotonic() - started
        if done.returncode:
            return next((line for line in done.stderr.splitlines() if "error" in line), f"exit status {done.returncode}")
        manifest = json.loads((package / "manifest.json").read_text())
    donated = [result for result in manifest["results"] if result.get("argument") is not None]
    floor = sum(each["bytes"] for each in manifest["arguments"] + manifest["results"]) - sum(r["bytes"] for r in donated)
    total = floor + manifest["arena_bytes"] + manifest["constants_bytes"]
    return Plan(floor, total, len(manifest["kernels"]), seconds)


def xla_total(text: str) -> int:
    import referee

    return referee.measure("", text).total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all of one device)")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in programs.PROGRAMS]:
        parser.error(f"no program {unknown[0]}")
    texts = {name: programs.PROGRAMS[name]().as_text() for name in args.names or programs.PROGRAMS}
    texts = {name: text for name, text in texts.items() if "mhlo.num_partitions = 1 " in text}
    theirs = map_items(xla_total, list(texts.values()), seconds=SECONDS_PER_MODULE, jobs=1)

    missed = []
    head = ("program", "floor MiB", "plan MiB", "ratio", "XLA MiB", "ratio", "kernels", "s", "goal")
    print(f"{head[0]:26}{head[1]:>14}{head[2]:>14}{head[3]:>8}{head[4]:>14}{head[5]:>9}{head[6]:>9}{head[7]:>7}  {head[8]}")
    for (name, text), xla in zip(texts.items(), theirs, strict=True):
        found = plan(args.slimhlo, text)
        if isinstance(found, str):
            missed.append(name)
            print(f"{name:26}{found}")
            continue
        ratio = found.total / found.floor
        wrong = []
        if name in GOALS and ratio > GOALS[name]:
            wrong.append(f"above {GOALS[name]}")
        if not isinstance(xla, Lost) and found.total > xla:
            wrong.append("above XLA")
        missed += [name] if wrong else []
        needs = ("-", "-") if isinstance(xla, Lost) else (f"{xla / MIB:,.2f}", f"{xla / found.floor:.3f}")
        goal = f"{GOALS[name]:.2f} " if name in GOALS else ""
        print(
            f"{name:26}{found.floor / MIB:14,.2f}{found.total / MIB:14,.2f}{ratio:8.3f}{needs[0]:>14}{needs[1]:>9}"
            f"{found.kernels:9}{found.seconds:7.2f}  {goal}{', '.join(wrong) or 'met'}",
            flush=True,
        )
    print(f"{len(texts) - len(missed)} of {len(texts)} goals met" + (f"; not: {', '.join(missed)}" if missed else ""))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
