# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The differential test of sharded fields as Reactant writes them: modules of field_modules.py, before and after, on virtual CPU devices.

    python test/oracle/sharded_fields.py --opt target/debug/slimhlo-opt --count 100 --seed 1
    python test/oracle/sharded_fields.py --opt target/release/slimhlo-opt --count 2000 --figures
    python test/oracle/sharded_fields.py --opt target/release/slimhlo-opt --count 400 --seed 401 --no-execute
    python test/oracle/sharded_fields.py --target h100 --most 8 --count 100
    python test/oracle/sharded_fields.py --kinds strided --count 100

Each module goes through the default pipeline. Its results must be NumPy's, bit by bit, and a second run changes nothing. Three figures of the
compiled program are held against those of XLA alone: collectives, bytes that they bring to a device, and memory per device. No module may be
above them in any. Modules that XLA alone ends its process on are counted, and say nothing.
With --no-execute, and for an H100, which need not be there, nothing is executed, and the same figures are counted. The last line is what the
project's test runner reads.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable

import jax_start

DEVICES = 16
if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_force_host_platform_device_count={DEVICES}"

jax_start.start()

import jax
import numpy as np
from jax._src.sharding_impls import GSPMDSharding

import field_kinds
import field_modules
import hlo
import targets
import xla_cpu
from opt import SLACK, Driver, needs_more, pipeline_for
from workers import Lost, map_items

jax.config.update("jax_enable_x64", True)

COLLECTIVES = ("all-gather", "all-reduce", "all-to-all", "collective-permute", "collective-broadcast", "reduce-scatter")
# How many of all modules have to be changed for the test to be one.
CHANGED_SHARE = 0.5
SECONDS_PER_MODULE = 300


@dataclasses.dataclass(frozen=True)
class Figures:
    """What a compiled program takes, per device."""

    collectives: int
    kinds: collections.Counter[str]
    moved: int
    """Bytes that collectives bring."""
    total: int
    """Bytes of arguments, results and temporaries, less results in arguments' places."""
    temporaries: int


def groups_of(each: hlo.Instruction, devices: int) -> int:
    """How many devices a collective is between."""
    if found := hlo.re.search(r"replica_groups=\{\{([\d,]*)\}", each.attributes):
        return found[1].count(",") + 1
    if found := hlo.re.search(r"replica_groups=\[(\d+),(\d+)\]", each.attributes):
        return int(found[2])
    if found := hlo.re.search(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}", each.attributes):
        sizes = dict(hlo.re.findall(r"'(\w+)'=(\d+)", found[1]))
        names = hlo.re.findall(r"'(\w+)'(?::\((\d+)\)(\d+))?", found[2])
        return int(np.prod([int(size or sizes[name]) for name, _, size in names], dtype=int))
    return devices


def brought(each: hlo.Instruction, kind: str, devices: int) -> int:
    """Bytes that a collective brings to a device from others."""
    count = groups_of(each, devices)
    arrays = each.arrays
    taken = len(each.operands)
    if each.opcode.endswith("-start") and len(arrays) >= 2 * taken:
        # All operands, all results (several of each where collectives were combined), and what the back end needs besides;
        # all-reduce-start names its results only.
        arrays = arrays[taken : 2 * taken]
    size = sum(array.size for array in arrays)
    match kind:
        case "all-gather" | "all-to-all":
            return size * (count - 1) // count
        case "all-reduce":
            return 2 * size * (count - 1) // count
        case "reduce-scatter":
            return size * (count - 1)
        case _:
            return size


def figures(executable: object, devices: int) -> Figures:
    module = hlo.parse(executable.hlo_modules()[0].to_string())
    times = {module.entry.name: 1}
    order = list(module.computations.values())
    # What a computation calls stands before it.
    for computation in reversed(order):
        for each in computation:
            trips = (each.trips or 1) if each.opcode == "while" else 1
            for name in each.called(
                "body", "condition", "calls", "to_apply", "branch_computations", "true_computation"
            ):
                times[name] = times.get(name, 0) + times.get(computation.name, 0) * trips
    kinds: collections.Counter[str] = collections.Counter()
    moved = 0
    for computation in order:
        for each in computation:
            kind = each.opcode.removesuffix("-start")
            if kind in COLLECTIVES:
                kinds[kind] += times.get(computation.name, 1)
                moved += brought(each, kind, devices) * times.get(computation.name, 1)
    stats = executable.get_compiled_memory_stats()
    floor = stats.argument_size_in_bytes + stats.output_size_in_bytes - stats.alias_size_in_bytes
    return Figures(kinds.total(), kinds, moved, floor + stats.temp_size_in_bytes, stats.temp_size_in_bytes)


def is_right(executable: object, inputs: list[np.ndarray], expected: list[np.ndarray]) -> bool:
    """Whether each device's part of each result is NumPy's."""
    results = xla_cpu.run(executable, inputs)
    devices = tuple(executable.local_devices())
    for shards, whole, layout in zip(results, expected, executable.get_output_shardings(), strict=True):
        where = GSPMDSharding(devices, layout).devices_indices_map(whole.shape)
        for shard, device in zip(shards, devices, strict=True):
            if shard.tobytes() != np.ascontiguousarray(whole[where[device]]).tobytes():
                return False
    return True


@dataclasses.dataclass(frozen=True)
class Item:
    """A module, as it came or as it was made."""

    text: str
    case: field_modules.Case
    target: str
    executed: bool


@dataclasses.dataclass(frozen=True)
class Found:
    """What XLA makes of a module, and whether that computes what NumPy does."""

    figures: Figures
    right: bool


def examine(item: Item) -> Found:
    target = targets.find(item.target)
    executable = targets.compile_text(item.text, target)
    right = not item.executed or is_right(executable, item.case.inputs, item.case.expected)
    return Found(figures(executable, item.case.devices), right)


def worse(old: Figures, new: Figures) -> str:
    """In which figures a program is worse, in words."""
    said = []
    if new.collectives > old.collectives:
        said.append(f"{dict(new.kinds)} collectives, {dict(old.kinds)} before")
    if new.moved > old.moved:
        said.append(f"{new.moved} bytes moved, {old.moved} before")
    if needs_more(old.total, new.total):
        said.append(f"takes {new.total} bytes, {old.total} before")
    return "; ".join(said)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", default="target/debug/slimhlo-opt")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=int, default=3, help="how much larger shards are along each dimension")
    parser.add_argument("--most", type=int, default=DEVICES, help="most devices of a mesh")
    parser.add_argument("--target", default="cpu", choices=targets.NAMES, metavar="NAME")
    parser.add_argument("--kinds", default="usual", choices=field_kinds.KINDS_OF, help="what is done with fields")
    parser.add_argument("--only", help="modules whose names contain this")
    parser.add_argument("--number", type=int, action="append", help="one module, by its number; several may be named")
    parser.add_argument("--jobs", type=int, default=1, help="processes that XLA runs in at once")
    parser.add_argument("--figures", action="store_true", help="a line per module")
    parser.add_argument("--no-execute", dest="execute", action="store_false", help="only the figures are compared")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for modules that fail, before and after")
    args = parser.parse_args()
    started = time.monotonic()
    driver = Driver(args.opt, jobs=1).ready()
    target = targets.find(args.target)
    if reason := targets.missing(target):
        print(reason)
        return 1
    flags = [pipeline_for(args.opt, "xla-cpu" if args.target == "cpu" else args.target)]
    executed = args.execute and args.target == "cpu"
    most = args.most if args.target == "cpu" else min(args.most, targets.MOST_DEVICES)

    kinds = field_kinds.KINDS_OF[args.kinds]

    def draw(number: int) -> field_modules.Case:
        return field_modules.draw(np.random.default_rng(args.seed * 1_000_003 + number), most, args.scale, kinds)

    drawn = [(number, draw(number)) for number in args.number or range(args.count)]
    chosen = [(number, case) for number, case in drawn if not args.only or args.only in case.name]
    cases = [case for _, case in chosen]

    def examined(texts: list[str]) -> list[Found | Lost]:
        items = [Item(text, case, args.target, executed) for text, case in zip(texts, cases, strict=True)]
        return map_items(examine, items, seconds=SECONDS_PER_MODULE, jobs=args.jobs)

    outcomes = driver.run([case.text for case in cases], flags)
    again = driver.run([outcome.output or "" for outcome in outcomes], flags)
    plain = driver.run([case.text for case in cases])
    alone = examined([case.text for case in cases])
    made = examined([outcome.output or case.text for outcome, case in zip(outcomes, cases, strict=True)])

    failures: list[str] = []
    counts: collections.Counter[str] = collections.Counter()
    totals: collections.Counter[str] = collections.Counter()
    ratios: dict[str, list[float]] = collections.defaultdict(list)
    for index, (number, case) in enumerate(chosen):
        name = f"#{number} {case.name}"

        def keep(index: int = index, number: int = number) -> None:
            if args.keep:
                args.keep.mkdir(parents=True, exist_ok=True)
                (args.keep / f"{number}.before.mlir").write_text(cases[index].text)
                (args.keep / f"{number}.after.mlir").write_text(outcomes[index].output or "")

        def fail(why: str, name: str = name, keep: Callable[[], None] = keep) -> None:
            failures.append(f"{name}: {why}")
            keep()

        text = outcomes[index].output
        if text is None:
            fail(f"slimhlo-opt: {outcomes[index].crash or outcomes[index].message}")
            continue
        if again[index].output != text:
            fail("a second run changes it")
        before, after = alone[index], made[index]
        if isinstance(before, Lost):
            counts["not for XLA alone"] += 1
            continue
        if isinstance(after, Lost):
            fail(after.reason)
            continue
        if not after.right:
            counts["wrong without us"] += not before.right
            fail("results differ")
            continue
        old, new = before.figures, after.figures
        counts["changed"] += text != plain[index].output
        if why := worse(old, new):
            fail(why)
            counts["worse"] += 1
        elif (new.collectives, new.moved) != (old.collectives, old.moved) or needs_more(new.total, old.total):
            counts["better"] += 1
        else:
            counts["as good"] += 1
        for kind, one in (("before", old), ("after", new)):
            totals[f"collectives {kind}"] += one.collectives
            totals[f"all-gathers {kind}"] += one.kinds["all-gather"]
            totals[f"all-to-alls {kind}"] += one.kinds["all-to-all"]
            totals[f"all-reduces {kind}"] += one.kinds["all-reduce"]
            totals[f"bytes moved {kind}"] += one.moved
            totals[f"temporaries {kind}"] += one.temporaries
        if case.crossing:
            ratios["bytes moved before by those that must cross a border"].append(old.moved / case.crossing)
            ratios["bytes moved after by those that must cross a border"].append(new.moved / case.crossing)
            least = case.crossing + case.tile
            ratios["temporaries before by what must cross and one tile"].append(old.temporaries / least)
            ratios["temporaries after by what must cross and one tile"].append(new.temporaries / least)
        if args.figures:
            print(
                f"{name[:110]:110s} {dict(old.kinds)} -> {dict(new.kinds)}, moved {old.moved} -> {new.moved} "
                f"(crossing {case.crossing}), temporaries {old.temporaries} -> {new.temporaries}",
                flush=True,
            )

    for failure in failures:
        print(failure)
    for name, value in sorted(totals.items()):
        print(f"  {name:24s} {value}")
    for kind, all_ratios in ratios.items():
        print(f"  {kind}, median: {statistics.median(all_ratios):.2f}")
    print("  " + ", ".join(f"{name}: {value}" for name, value in sorted(counts.items())))
    if args.kinds == "usual" and counts["changed"] < CHANGED_SHARE * len(cases):
        failures.append("too few modules were changed")
        print(failures[-1])
    bad = len({failure.split(":")[0] for failure in failures})
    print(
        f"{len(cases) - bad} passed, {bad} failed: {counts['better']} modules better, {counts['as good']} as good, "
        f"{counts['worse']} worse, slack {SLACK} bytes, {time.monotonic() - started:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
