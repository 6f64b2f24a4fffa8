# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The memory that modules take, by XLA's own buffer assignment for a target, and the time, by an estimate.

    python test/oracle/referee.py before.mlir after.mlir
    python test/oracle/referee.py --target h100 before.mlir after.mlir
    python test/oracle/referee.py --json test/data/ocean_tendency.mlir

Per module: bytes of arguments, results and temporaries, and of results that reuse a donated argument ("alias");
total = arguments + results + temporaries - alias, floor = the same without temporaries, ratio = total / floor; the kernels that are
launched, and the estimated microseconds (see hlo_time.py), with what could not be told; the seconds that XLA compiled for; and the
collectives in the compiled program. With --json also the bytes that the largest collective permute hands on ("permuted"), and how many
buffers a broadcast of one scalar fills ("broadcasts"). A module with mhlo.num_partitions is compiled for that many devices, virtual
ones of a CPU or those of a board or slice that is not there, and the bytes are those of one of them. Nothing is executed.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import pathlib
import sys
import time

import hlo
import hlo_time
import targets

COLLECTIVES = ("all-gather", "all-reduce", "all-to-all", "collective-permute", "collective-broadcast", "reduce-scatter")


@dataclasses.dataclass(frozen=True)
class Memory:
    """What XLA needs for one module on one device, in bytes."""

    name: str
    arguments: int
    results: int
    temporaries: int
    alias: int
    collectives: dict[str, int]
    seconds: float
    permuted: int = 0
    broadcasts: int = 0
    kernels: int = 0
    microseconds: float = 0.0
    """Estimated."""
    unknown: dict[str, int] = dataclasses.field(default_factory=dict)
    """What the estimate could not tell, and in how many places."""

    @property
    def floor(self) -> int:
        return self.arguments + self.results - self.alias

    @property
    def total(self) -> int:
        return self.floor + self.temporaries

    @property
    def ratio(self) -> float:
        return self.total / max(1, self.floor)


def permuted_bytes(module: hlo.Module) -> int:
    sizes = [
        each.arrays[0].size
        for computation in module.computations.values()
        for each in computation
        if each.opcode in ("collective-permute", "collective-permute-start") and each.arrays
    ]
    return max(sizes, default=0)


def scalar_broadcasts(module: hlo.Module) -> int:
    """Buffers of more than a scalar that are filled with one value: broadcasts outside of fusions, or alone in one."""
    fused = {
        name
        for computation in module.computations.values()
        for each in computation
        if each.opcode == "fusion"
        for name in each.called("calls")
    }
    count = 0
    for name, computation in module.computations.items():
        if name in fused and any(each.opcode not in ("parameter", "constant", "broadcast") for each in computation):
            continue
        filled = [each for each in computation if each.opcode == "broadcast" and each.arrays[0].dims]
        count += sum(1 for each in filled if not each.numbers("dimensions"))
    return count


def collective_counts(module: hlo.Module) -> dict[str, int]:
    names = (each.opcode.removesuffix("-start") for one in module.computations.values() for each in one)
    return dict(sorted(collections.Counter(name for name in names if name in COLLECTIVES).items()))


def measure(name: str, text: str, target: targets.Target | None = None) -> Memory:
    """Compiles the module, for the CPU unless told otherwise, and reads its buffer assignment and its HLO."""
    target = target or targets.find("cpu")
    started = time.monotonic()
    executable = targets.compile_text(text, target)
    seconds = time.monotonic() - started
    stats = executable.get_compiled_memory_stats()
    module = hlo.parse(executable.hlo_modules()[0].to_string())
    estimate = hlo_time.of_module(module, target)
    return Memory(
        name,
        stats.argument_size_in_bytes,
        stats.output_size_in_bytes,
        stats.temp_size_in_bytes,
        stats.alias_size_in_bytes,
        collective_counts(module),
        seconds,
        permuted_bytes(module),
        scalar_broadcasts(module),
        estimate.kernels,
        estimate.microseconds,
        dict(estimate.unknown),
    )


SIZES = ("arguments", "results", "temporaries", "alias", "total", "floor")


def line(memory: Memory) -> str:
    columns = " ".join(f"{getattr(memory, size) / 2**20:11.2f}" for size in SIZES)
    counts = ", ".join(f"{count} {name}" for name, count in memory.collectives.items())
    unknown = (
        "; not told: " + ", ".join(f"{count} {name}" for name, count in memory.unknown.items())
        if memory.unknown
        else ""
    )
    return (
        f"{memory.name:32s} {columns} {memory.ratio:7.3f} {memory.kernels:8d} {memory.microseconds:12.1f} {memory.seconds:7.2f}  "
        f"{counts or '-'}{unknown}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", type=pathlib.Path, metavar="FILE.mlir", help="StableHLO modules, as text")
    parser.add_argument("--target", default="cpu", choices=targets.NAMES, metavar="NAME",
                        help=f"what to compile for (default: %(default)s), one of {', '.join(targets.NAMES)}")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="one JSON object per module, in bytes")
    args = parser.parse_args()
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(reason, file=sys.stderr)
        return 1
    failed = False
    if not args.json:
        names = " ".join(f"{name:>11s}" for name in SIZES)
        print(f"{'MiB for ' + target.name:32s} {names}   ratio  kernels microseconds compile  collectives")
    for path in args.modules:
        try:
            memory = measure(path.stem, path.read_text(), target)
        except Exception as error:  # XLA's errors have no common base; the others are still measured
            failed = True
            print(f"{path}: {type(error).__name__}: {str(error)[:500]}", file=sys.stderr)
            continue
        extra = {name: getattr(memory, name) for name in ("floor", "total", "ratio")}
        print(json.dumps(dataclasses.asdict(memory) | extra) if args.json else line(memory), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
