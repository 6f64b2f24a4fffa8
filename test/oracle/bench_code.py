# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of kernels, read instruction by instruction: whether what only moves bytes can do so as fast as memory allows.

    python test/oracle/bench_code.py --slimhlo target/release/slimhlo [NAME ...]
    python test/oracle/bench_code.py --slimhlo target/release/slimhlo --chip sm_80 halo_ew

Each reference program of one device is compiled for an H100 (sm_90) or an A100 (sm_80); ptxas says what registers and local memory its kernels take, nvdisasm
which machine instructions their loops are of (both from assembler-requirements.txt), and a few warps of each kernel are executed
as PTX (ptx.py) for the addresses that they access and for how often they execute what. Nothing is run on a GPU. A line per
function of a kernel that moves more than 1% of a program's bytes (the manifest's, a loop's body counted once):

    kernel    the function, how often a program launches it
    share     of the program's bytes that these launches move
    regs      registers per thread
    shared    bytes of shared memory per block
    blocks    of the grid, per SM
    local     bytes of local memory per thread: spilled registers and arrays; * if warps accessed it (libdevice keeps the product of
              2/pi with a huge argument there)
    warps     per SM at a time: as many as registers, shared memory and the grid allow, 64 at most
    16 B      share of the bytes accessed in loads and stores of 16 bytes per thread
    line      share of the bytes accessed such that next threads access next addresses
    used      bytes accessed over those of the 32-byte sectors that they are in
    /16 B     machine instructions per thread for 16 bytes that the kernel has to move
    issue     share of the slots for instructions that moving these bytes at full bandwidth takes: instructions of a warp per
              byte x bandwidth / instructions issued per second
    in flight KiB per SM that loads ask for before the first of them is used, of what has to be read from device memory; and
              what latency x bandwidth come to for the share of bytes that is read

Then a line for each kernel that has fewer than two blocks per SM, with the reason: it is small (so many KiB would be left to a block), or its
tiles are fewer, but more than one per SM, and cutting what is contracted would take more memory than it may. Without a reason it is a miss.

Then a line for the program: kernels and copies that a run launches, and how often the host waits to learn whether a loop goes on (see
bench_plan.py); how many of the kernels above have fewer than two blocks per SM, and their share of the bytes; the estimated time, and what
hlo_time.py estimates for what XLA compiles for the same chip. XLA's word for fusions, which it takes, may have memory read at more than its
bandwidth; where ours seems slower, XLA's time is at least its launches, and all that it moves at full bandwidth. Ours is, for each launch, the
bytes it has to move at full bandwidth, times the share of slots for instructions, or over the share of latency x bandwidth that it keeps in
flight, whichever is longer (what issues for longer asks for less at a time), or its atomics, whichever is longer, and its start; kernels
without a line count by their bytes. Rates are those that the referee has, as a GPU was measured to reach (targets.py).

How it is counted: instructions executed are those of PTX that warps executed, times machine instructions per one of PTX in the
innermost loop that accesses memory (that of most instructions executed; a loop within it that the assembler has written out counts as
often as warps went through it), assembled without what no warp executed of it. How many such warps a kernel comes to follows from what it writes (or reads, if it writes little),
over what a warp did of it. Of loads, only as much counts as in flight as the buffers read hold, over what is accessed of them:
what several threads read comes from a cache.

Kernels of the programs in MEMORY_BOUND have to need fewer slots than there are, to spill nothing and access no local memory, and
to keep enough in flight, and the programs to take at most SLOWEST times as long as XLA's; the exit status is 1 if one does not.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import programs  # first: it sets the flags with which JAX starts
import hlo_time
import ptx
import targets
from bench_plan import GOALS, Schedule, schedule
from ptxas import find_tool
from workers import Lost, map_items

KIB = 2**10
# The same on both chips: four schedulers of one warp instruction per clock each in an SM, 65,536 registers, 2,048 threads and 32 blocks at
# most; 1 KiB of shared memory per block is the system's. Device memory answers after about 600 ns.
LATENCY = 600e-9
REGISTERS = 65_536
THREADS = 2048
BLOCKS = 32
SECTOR = 32
ISSUED = 0.75
"""Of the slots for instructions, as an H100 was measured to use: 0.87 by products, 0.66 by stencils of stencils, whose indices go to half of the units."""
ATOMIC_BYTES = 4 * hlo_time.ATOMIC_RUN
"""What atomics add to at a time: neighbours go together."""


@dataclasses.dataclass(frozen=True)
class Chip:
    """A GPU that code is for, and what XLA is asked for it by: what it can do in a second is what the referee has of it (targets.py)."""

    name: str
    target: str

    @property
    def rates(self) -> targets.Rates:
        return targets.find(self.target).rates

    @property
    def gpu(self) -> targets.Gpu:
        chip = targets.find(self.target).chip
        assert isinstance(chip, targets.Gpu)
        return chip

    @property
    def bandwidth(self) -> float:
        return self.rates.bandwidth

    @property
    def launch(self) -> float:
        """From one kernel to the next: the runner puts them into graphs."""
        return self.rates.launch_in_graph

    @property
    def sms(self) -> int:
        return self.gpu.core_count

    @property
    def shared(self) -> int:
        """Bytes of shared memory of an SM."""
        return self.gpu.shared_memory_per_core

    @property
    def issued(self) -> float:
        """Warp instructions per second, as kernels reach."""
        return ISSUED * self.sms * 4 * self.gpu.clock_rate_ghz * 1e9


CHIPS = {"sm_90": Chip("sm_90", "h100"), "sm_80": Chip("sm_80", "a100")}

MEMORY_BOUND = frozenset(GOALS)
SLOWEST = 1.1
# What a block of 256 threads has in flight of a row of memory, four times 16 bytes each: with less to do it is started for nothing.
LEAST_OF_A_BLOCK = 16 * KIB
# Tiles of products by the workgroup memory that they take, of f32 and f64, for what is in it at a time (in small ones it is the
# sums of two groups at least): passes/src/gpu/emit/roots/dot/tile.rs.
TILES = {
    **{2 * stage * (64 + 4) * width: 64 for stage in (8, 16) for width in (4, 8)},
    **{2 * max(stage * (32 + 4), 2 * 32 * 32) * width: 32 for stage in (32, 64) for width in (4, 8)},
}
NUMBER = 8
"""Bytes of one element, such as where a slice begins."""
WORTH_A_LINE = 0.01
MOST_INSTRUCTIONS = 6000
MOST_OF_LONG = 200_000
"""Instructions of a warp that has stored nothing by then."""
WARPS = 3
SECONDS_PER_MODULE = 1200.0

ASSEMBLED = re.compile(
    r"Compiling entry function '([\w$]+)'.*?(\d+) bytes stack frame, (\d+) bytes spill.*?Used (\d+) registers",
    re.DOTALL,
)
SHARED_BYTES = re.compile(r"(\d+) bytes smem")
SECTION = re.compile(r"^\.text\.([\w$]+):$(.*?)(?=^//-|\Z)", re.DOTALL | re.MULTILINE)
MACHINE = re.compile(r"/\*[0-9a-f]+\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")
LABEL = re.compile(r"^(\.L_x_\d+):", re.MULTILINE)
REGISTER = re.compile(r"\bR(\d+)(\.64)?\b")


@dataclasses.dataclass(frozen=True)
class Case:
    """A program, the bound of integers that are its arguments, and the commands."""

    name: str
    text: str
    below: int
    slimhlo: str
    ptxas: str
    nvdisasm: str
    chip: Chip


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Machine code that is repeated, or all of a function's."""

    instructions: int
    widths: tuple[int, ...]
    """Bytes of each access to global memory, in order of size."""
    in_flight: int
    """Bytes that a thread's loads ask for before the first of them is used."""
    repeats: bool
    """Some of it is repeated within."""

    @property
    def accessed(self) -> int:
        """Bytes of global memory that a thread accesses, were all of it executed."""
        return sum(self.widths)


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a kernel's machine code has."""

    whole: Stretch
    loops: tuple[Stretch, ...]


@dataclasses.dataclass
class Line:
    """What there is to say about a function of a kernel."""

    name: str
    launches: int
    moved: float
    share: float
    registers: int
    shared: int
    local: int
    uses_local: bool
    blocks: float = 0.0
    """Per SM."""
    warps: float = 0.0
    wide: float = 0.0
    in_line: float = 0.0
    used: float = 0.0
    per_16: float = 0.0
    issue: float = 0.0
    in_flight: float = 0.0
    needed: float = 0.0
    adding: float = 0.0
    """Seconds in which memory does all the atomics."""
    own: float = 0.0
    """Bytes that this function moves, of those of its kernel."""

    def reason(self, sms: int) -> str | None:
        """Why there are fewer than two blocks per SM; empty if there is no reason, None if there are enough."""
        if self.blocks >= 2:
            return None
        share = self.own / (2 * sms)
        if share < LEAST_OF_A_BLOCK:
            return f"small, {share / KIB:.1f} KiB for each of two blocks per SM"
        tile = TILES.get(self.shared)
        return f"tiles of {tile} by {tile}, whose parts would take memory" if tile and self.blocks >= 1 else ""

    @property
    def wrong(self) -> list[str]:
        """What a kernel that is to be as fast as memory must not do."""
        found = []
        if self.issue >= 1:
            found.append("too many instructions")
        if self.uses_local:
            found.append("local memory")
        if self.in_flight < self.needed:
            found.append("too little in flight")
        return found


# --- machine code -------------------------------------------------------------------------------------------------


def access_of(code: str) -> tuple[str, int]:
    """Whether a machine instruction loads or stores global memory, and how many bytes per thread."""
    name, *parts = code.split(".")
    kind = {"LDG": "load", "STG": "store", "RED": "store", "REDG": "store", "ATOM": "store", "ATOMG": "store"}.get(
        name, ""
    )
    widths = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
    return kind, next((widths[part] for part in parts if part in widths), 4)


def cycles(successors: list[list[int]], nodes: set[int]) -> list[list[int]]:
    """The loops of a graph that are not part of others: their nodes, in order, from the one where they are entered on."""
    predecessors: dict[int, list[int]] = collections.defaultdict(list)
    for node in nodes:
        for after in successors[node]:
            predecessors[after].append(node)

    def reach(start: int, edges: Callable[[int], list[int]], within: set[int]) -> list[int]:
        """Nodes that are reached, each after those reached from it."""
        done, found, pending = {start}, [], [(start, iter(edges(start)))]
        while pending:
            node, rest = pending[-1]
            after = next((each for each in rest if each in within and each not in done), None)
            if after is None:
                found.append(node)
                pending.pop()
            else:
                done.add(after)
                pending.append((after, iter(edges(after))))
        return found

    finished: list[int] = []
    left = set(nodes)
    for node in sorted(nodes):
        if node in left:
            finished += reach(node, successors.__getitem__, left)
            left.difference_update(finished)
    loops = []
    left = set(nodes)
    for node in reversed(finished):
        if node not in left:
            continue
        members = set(reach(node, predecessors.__getitem__, left))
        left -= members
        if len(members) > 1:
            entered = [each for each in members if any(before not in members for before in predecessors[each])]
            first = min(entered or members)
            loops.append(sorted(members, key=lambda each: (each < first, each)))
    return loops


def all_loops(successors: list[list[int]]) -> list[list[int]]:
    """All loops of a graph, those within others as well."""
    found, pending = [], [set(range(len(successors)))]
    while pending:
        for loop in cycles(successors, pending.pop()):
            found.append(loop)
            pending.append(set(loop[1:]))
    return found


def machine(section: str) -> Machine:
    """A function's machine code, as nvdisasm prints it, without what it calls."""
    codes: list[tuple[str, str]] = []
    guarded: list[bool] = []
    labels: dict[str, int] = {}
    for line in section.splitlines():
        if line.startswith("$"):
            break
        if found := LABEL.match(line):
            labels[found[1]] = len(codes)
        elif (found := MACHINE.search(line)) and found[1] != "NOP":
            codes.append((found[1], found[2]))
            guarded.append("@" in line)
    successors: list[list[int]] = []
    for at, (code, operands) in enumerate(codes):
        name = code.split(".")[0]
        follows = [at + 1] if at + 1 < len(codes) and (guarded[at] or name not in ("BRA", "EXIT", "RET")) else []
        target = re.search(r"\.L_x_\d+", operands) if name == "BRA" else None
        successors.append(follows + ([labels[target[0]]] if target and labels.get(target[0], at) != at else []))

    loops = all_loops(successors)

    def loop(places: Sequence[int]) -> Stretch:
        accesses = [access_of(codes[at][0]) for at in places]
        widths = sorted(width for kind, width in accesses if kind)
        repeats = any(set(other) < set(places) for other in loops)
        return Stretch(len(places), tuple(widths), in_flight([codes[at] for at in places]), repeats)

    return Machine(loop(range(len(codes))), tuple(loop(places) for places in loops))


def in_flight(codes: list[tuple[str, str]]) -> int:
    """Bytes of the loads that are under way at most, when code that is repeated first uses what one of them brings."""
    waiting: dict[int, int] = {}
    total = most = 0
    for code, operands in [*codes, *codes]:
        kind, width = access_of(code)
        used = {int(number) + part for number, pair in REGISTER.findall(operands) for part in range(2 if pair else 1)}
        first = REGISTER.match(operands) if kind == "load" else None
        if first:
            used.discard(int(first[1]))
        if used & waiting.keys():
            most, total = max(most, total), 0
            waiting.clear()
        if first:
            total += width
            waiting |= dict.fromkeys(range(int(first[1]), int(first[1]) + max(width // 4, 1)), 0)
    return max(most, total)


# --- PTX ----------------------------------------------------------------------------------------------------------


def loops_of(kernel: ptx.Kernel) -> list[set[int]]:
    """The loops of a kernel: the numbers of their instructions."""
    return [set(loop) for loop in all_loops([kernel.successors(at) for at in range(len(kernel.instructions))])]


def hot_loop(kernel: ptx.Kernel, counts: np.ndarray) -> set[int]:
    """Of loops in which global memory was accessed and that hold no other such loop, the one executed most; or nothing."""
    code = kernel.instructions
    loops = [loop for loop in loops_of(kernel) if any(code[at].is_access and counts[at] for at in loop)]
    loops = [loop for loop in loops if not any(other < loop for other in loops)]
    return max(loops, key=lambda loop: sum(counts[at] for at in loop), default=set())


def hot_code(kernel: ptx.Kernel, counts: np.ndarray, code: Machine) -> tuple[float, int]:
    """Machine instructions per one of PTX where warps were most, and what a thread's loads have in flight there."""
    loop = hot_loop(kernel, counts)
    widths = sorted(kernel.instructions[at].width for at in loop if kernel.instructions[at].is_access)
    accessed = sum(widths)
    # The assembler unrolls loops whole times.
    same = [each for each in code.loops if accessed and each.accessed and each.accessed % accessed == 0]
    if not same:
        in_flight = max(each.in_flight for each in (*code.loops, code.whole))
        return code.whole.instructions / len(kernel.instructions), in_flight
    # Of those that access as much, one does so in the same pieces.
    alike = [each for each in same if sorted(widths * (each.accessed // accessed)) == list(each.widths)]
    found = min(alike or same, key=lambda each: (each.accessed, each.instructions))
    instructions = len(loop)
    if not found.repeats and any(other < loop for other in loops_of(kernel)):
        # What was repeated within is written out in machine code: as often as warps executed it in a turn.
        turns = max(counts[at] for at in loop if kernel.instructions[at].is_access)
        instructions = sum(counts[at] for at in loop) / turns
    return found.instructions / (found.accessed / accessed) / instructions, found.in_flight


def trim(lines: list[str], kernel: ptx.Kernel, runs: list[ptx.Run]) -> bool:
    """Takes out of a kernel's text what was never executed of its innermost loop, such as what is for huge arguments only.

    Whether there is any such thing."""
    counts, taken, passed = (sum(getattr(run, name) for run in runs) for name in ("counts", "taken", "passed"))
    loop = hot_loop(kernel, counts)
    for at in loop:
        instruction = kernel.instructions[at]
        if not counts[at]:
            lines[instruction.line] = ""
        elif instruction.guard and instruction.parts[0] == "bra":
            # The ways out of the loop stay.
            if not taken[at] and kernel.labels[instruction.operands[0]] in loop:
                lines[instruction.line] = ""
            elif not passed[at] and at + 1 in loop:
                lines[instruction.line] = f"bra.uni {instruction.operands[0]};"
    return not all(counts[at] for at in loop)


def distinct(accesses: list[ptx.Access]) -> tuple[int, int]:
    """Bytes accessed, each counted once, and those of the sectors that they are in."""
    unit = min(access.width for access in accesses)
    spread = [
        (access.addresses[:, None] + np.arange(0, access.width, unit, dtype=np.uint64)).ravel() for access in accesses
    ]
    addresses = np.unique(np.concatenate(spread))
    return len(addresses) * unit, len(np.unique(addresses // np.uint64(SECTOR))) * SECTOR


# --- packages -----------------------------------------------------------------------------------------------------


def launches_of(steps: list[dict]) -> Iterator[dict]:
    """All launches, those in loops and branches as well."""
    for step in steps:
        if step["do"] == "launch":
            yield step
        for name in ("condition", "body"):
            yield from launches_of(step.get(name, []))
        for branch in step.get("branches", []):
            yield from launches_of(branch)


def moves(entry: dict) -> int:
    """Bytes that a kernel has to move."""
    return entry.get("bytes_moved") or sum(each["bytes"] for each in entry["parameters"])


def seconds_of(steps: list[dict], manifest: dict, lines: Sequence[Line], chip: Chip) -> float:
    """Estimated seconds of some steps of a schedule, as the head of this file says; a loop of unknown length counts as one turn."""
    # Of loads that are in no loop nothing is told.
    waits = lambda line: max(line.needed / line.in_flight, 1.0) if line.in_flight else 1.0
    # Who issues for longer than moving takes asks for fewer bytes at a time by as much: one of the two is what takes long.
    slower = {line.name: max(line.issue, waits(line)) for line in lines}
    adding = {line.name: line.adding for line in lines}
    names = {kernel["name"]: [function["name"] for function in kernel["functions"]] for kernel in manifest["kernels"]}
    launch = {
        kernel["name"]: chip.launch * len(kernel["functions"])
        + max(
            moves(kernel) / chip.bandwidth * max(slower.get(name, 1.0) for name in names[kernel["name"]]),
            sum(adding.get(name, 0.0) for name in names[kernel["name"]]),
        )
        for kernel in manifest["kernels"]
    }

    def total(steps: list[dict]) -> float:
        seconds = 0.0
        for step in steps:
            match step["do"]:
                case "launch":
                    seconds += launch[step["kernel"]]
                case "copy":
                    seconds += chip.launch + 2 * step["bytes"] / chip.bandwidth
                case "repeat":
                    seconds += step["turns"] * total(step["body"])
                case "while":
                    seconds += total(step["condition"]) + total(step["body"])
                case "case":
                    seconds += max(total(branch) for branch in step["branches"])
        return seconds

    return total(steps)


def elements_of(manifest: dict, slots: list[str], parameters: list[dict], below: int) -> list[tuple[str, int]]:
    """The element type of each buffer that a kernel is launched with, and a bound of its integers."""
    # What a result lies in may hold something else before, of other elements and, mostly, another size.
    types = {(each["slot"], each["bytes"]): each["type"]["element"] for each in manifest["buffers"] if each.get("type")}
    for kind, short in (("arguments", "arg"), ("results", "result")):
        types |= {(f"{short}{number}", each["bytes"]): each["type"]["element"] for number, each in enumerate(manifest[kind])}
    counters = {f"counter{number}": f"i{8 * each['bytes']}" for number, each in enumerate(manifest.get("counters", []))}
    known = lambda slot, size: counters.get(slot) or types.get((slot, size), "f32")
    return [(known(slot, each["bytes"]), below) for slot, each in zip(slots, parameters, strict=False)]


def run_warps(
    kernel: ptx.Kernel, function: dict, elements: list[tuple[str, int]], numbers: frozenset[int]
) -> list[ptx.Run]:
    """Executes warps of some blocks of a kernel's function; `numbers` are parameters that are one element."""
    grid, block = function["grid"], function["block"]
    places = [(grid * (2 * number + 1) // (2 * WARPS), 0) for number in range(WARPS)]
    run = lambda place, most: ptx.Warp(kernel, grid, block, place, elements, numbers).run(most)
    runs = [run(place, MOST_INSTRUCTIONS) for place in places]
    if any(each.ended or any(access.kind != "ld" for access in each.accesses) for each in runs):
        return runs
    # Of what reads on and on and stores in the end, such as a tile of a product, nobody could tell how often it reads the same.
    return [run(places[WARPS // 2], MOST_OF_LONG)]


def read(
    kernel: ptx.Kernel, entry: dict, block: int, runs: list[ptx.Run], hot: tuple[float, int], line: Line, chip: Chip
) -> None:
    """Notes what warps of a kernel's function show. `hot`: its machine instructions per one of PTX, and bytes that a thread has in flight."""
    per_ptx, in_flight = hot
    accesses = [access for run in runs for access in run.accesses]
    counts = sum(run.counts for run in runs)
    executed = counts.sum() * per_ptx
    line.uses_local |= any(counts[at] for at, each in enumerate(kernel.instructions) if "local" in each.parts[:2])
    by_buffer: dict[int, list[ptx.Access]] = collections.defaultdict(list)
    for access in accesses:
        by_buffer[int(access.addresses[0] >> np.uint64(ptx.REGION)) - 1].append(access)
    total = sum(access.width * len(access.addresses) for access in accesses)
    share = lambda chosen: sum(a.width * len(a.addresses) for a in accesses if chosen(a)) / max(total, 1)
    line.wide = share(lambda access: access.width == 16)
    line.in_line = share(lambda access: access.is_in_line)
    touched = {number: distinct(each) for number, each in by_buffer.items()}
    sectors = sum(sector for _, sector in touched.values())
    line.used = sum(count for count, _ in touched.values()) / max(sectors, 1)

    # How many times what these warps did makes up the kernel.
    parameters = entry["parameters"]
    moved = line.moved
    of = lambda access: {
        number: min(each["bytes"], moved) / touched[number][0]
        for number, each in enumerate(parameters)
        if each["access"] in access and number in touched
    }
    written, others = of(["write"]), of(["read", "scratch"])
    large = [times for number, times in written.items() if parameters[number]["bytes"] > WORTH_A_LINE * moved]
    # Of what is larger than all that the kernel moves it reads some, nobody says how much: a slice, at a place that is known when it runs.
    # So may what is smaller be, if that place is in memory.
    slices = {int(a.addresses[0] >> np.uint64(ptx.REGION)) - 1 for a in accesses if a.is_moved}
    reads = [(n, times) for n, times in of(["read"]).items() if parameters[n]["bytes"] <= moved]
    whole = [times for n, times in reads if n not in slices] or [times for _, times in reads]
    times = max(large or whole or others.values() or written.values(), default=moved / max(total, 1))
    if not large and not any(each["access"] == "read" and n in touched for n, each in enumerate(parameters)):
        times = moved / max(total, 1)
    per_byte = executed * times / moved
    line.per_16 = per_byte * 16 * min(block, ptx.LANES)
    line.issue = per_byte * chip.bandwidth / chip.issued

    added = sum(len(np.unique(a.addresses // np.uint64(ATOMIC_BYTES))) for a in accesses if a.kind in ("atom", "red"))
    line.adding = added * times / chip.rates.atomics

    # What is read from memory once, and how often threads ask for it.
    loaded = sum(access.width * len(access.addresses) for access in accesses if access.kind == "ld") * times
    stored = total * times - loaded
    fetched = min(loaded, max(moved - stored, 0) if large else moved)
    useful = min(fetched / loaded, 1.0) if loaded else 0.0
    line.in_flight = line.warps * ptx.LANES * in_flight * useful
    line.needed = chip.bandwidth * LATENCY / chip.sms * fetched / moved


def resident_warps(registers: int, shared: int, grid: int, block: int, chip: Chip) -> float:
    """Warps that an SM holds at a time."""
    per_warp = math.ceil(registers / 8) * 8 * ptx.LANES
    warps = math.ceil(block / ptx.LANES)
    blocks = min(THREADS // (warps * ptx.LANES), BLOCKS, REGISTERS // per_warp // warps, chip.shared // (shared + KIB))
    return min(blocks, grid / chip.sms) * warps


def say(*command: str) -> str:
    """What a command prints."""
    # libdevice is in this environment, too.
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        error = next((line for line in done.stderr.splitlines() if "error" in line), f"exit status {done.returncode}")
        raise RuntimeError(f"{command[0]}: {error}")
    return done.stdout + done.stderr


@dataclasses.dataclass(frozen=True)
class Found:
    """What there is to say about a program."""

    lines: list[Line]
    run: Schedule
    seconds: float
    """Estimated."""


def examine(case: Case) -> Found | str:
    """What a program's kernels are like, or why that is not known."""
    with tempfile.TemporaryDirectory(prefix="slimhlo-code-") as folder:
        module, package = pathlib.Path(folder, "in.mlir"), pathlib.Path(folder, "package")
        module.write_text(case.text)
        try:
            say(case.slimhlo, "compile", "-q", str(module), "--chip", case.chip.name, "-o", str(package))
            lines = lines_of(case, package)
            manifest = json.loads((package / "manifest.json").read_text())
            functions = {kernel["name"]: len(kernel["functions"]) for kernel in manifest["kernels"]}
            seconds = seconds_of(manifest["steps"], manifest, lines, case.chip)
            return Found(lines, schedule(manifest["steps"], functions), seconds)
        except RuntimeError as error:
            return str(error)


def assemble(case: Case, text: str, folder: pathlib.Path) -> tuple[str, dict[str, Machine]]:
    """What ptxas says of a text of PTX, and the machine code of its functions."""
    source, cubin = folder / "read.ptx", folder / "read.cubin"
    source.write_text(text)
    said = say(case.ptxas, "-v", f"--gpu-name={case.chip.name}", str(source), "-o", str(cubin))
    code = say(case.nvdisasm, "-c", str(cubin))
    return said, {name: machine(section) for name, section in SECTION.findall(code)}


def lines_of(case: Case, package: pathlib.Path) -> list[Line]:
    """The lines of a package."""
    manifest = json.loads((package / "manifest.json").read_text())
    text = (package / "kernels.ptx").read_text()
    kernels = {kernel.name: kernel for kernel in ptx.kernels(text)}
    said, code = assemble(case, text, package)
    used = {}
    for chunk in said.split("Compiling entry function")[1:]:
        name, local, spilled, registers = ASSEMBLED.search("Compiling entry function" + chunk).groups()
        shared = SHARED_BYTES.search(chunk)
        used[name] = (int(registers), int(shared[1]) if shared else 0, int(local), int(spilled) > 0)

    launched = list(launches_of(manifest["steps"]))
    counts = collections.Counter(step["kernel"] for step in launched)
    total = sum(counts[entry["name"]] * moves(entry) for entry in manifest["kernels"])
    found = []
    for entry in manifest["kernels"]:
        share = counts[entry["name"]] * moves(entry) / max(total, 1)
        if share <= WORTH_A_LINE:
            continue
        slots = next(step["buffers"] for step in launched if step["kernel"] == entry["name"])
        for stage, function in enumerate(entry["functions"]):
            # Of small ones that put together what the others left, there is nothing to say.
            if not stage or function["grid"] >= case.chip.sms:
                elements = elements_of(manifest, slots, entry["parameters"], case.below)
                if entry.get("guarded"):
                    elements.append((ptx.GUARD, 1))
                numbers = frozenset(n for n, each in enumerate(entry["parameters"]) if each["bytes"] <= NUMBER)
                runs = run_warps(kernels[function["name"]], function, elements, numbers)
                found.append((entry, function, runs, share))

    lines = text.split("\n")
    trimmed = [trim(lines, kernels[function["name"]], runs) for _, function, runs, _ in found]
    hot_text = "\n".join(lines)
    hot_machine = assemble(case, hot_text, package)[1] if any(trimmed) else code
    hot_kernels = {kernel.name: kernel for kernel in ptx.kernels(hot_text)} if any(trimmed) else kernels

    result = []
    for (entry, function, runs, share), is_trimmed in zip(found, trimmed, strict=True):
        name, grid, block = function["name"], function["grid"], function["block"]
        line = Line(name, counts[entry["name"]], moves(entry), share, *used[name])
        line.blocks = grid / case.chip.sms
        # What puts together what the first function left reads that, and writes results.
        left = sum(each["bytes"] for each in entry["parameters"] if each["access"] in ("scratch", "write"))
        line.own = min(line.moved, left) if name != entry["functions"][0]["name"] else line.moved
        line.warps = resident_warps(line.registers, line.shared, grid, block, case.chip)
        executed = sum(run.counts for run in runs)
        per_ptx, in_flight = hot_code(kernels[name], executed, code[name])
        if is_trimmed:
            kept = {each.line for each in hot_kernels[name].instructions}
            left = np.array(
                [n for n, each in zip(executed, kernels[name].instructions, strict=True) if each.line in kept]
            )
            per_ptx, _ = hot_code(hot_kernels[name], left, hot_machine[name])
        read(kernels[name], entry, block, runs, (per_ptx, in_flight), line, case.chip)
        result.append(line)
    return result


def xla_seconds(cases: Sequence[Case], cache: pathlib.Path | None) -> list[float | None]:
    """What XLA's program takes for each module, by the referee's estimate; None where there is none."""
    import bench_target

    jobs = [bench_target.Job(case.text, case.chip.target) for case in cases]
    answers = bench_target.Answers(cache, jobs=1).ask(jobs)
    return [None if isinstance(each, Lost) else each.microseconds * 1e-6 for each in answers]


def seconds_by_bytes(case: Case) -> float:
    """What XLA's program for a module takes if it moves all its bytes at full bandwidth, with its launches."""
    import hlo

    target = targets.find(case.chip.target)
    compiled = targets.compile_text(case.text, target).hlo_modules()[0]
    found = hlo_time.of_module(hlo.parse(compiled.to_string()), target)
    return found.bytes / case.chip.bandwidth + found.kernels * case.chip.launch


def text_of(line: Line, verdict: str) -> str:
    times = f" x{line.launches}" if line.launches > 1 else ""
    local = f"{line.local}{'*' if line.uses_local else ''}"
    flight = f"{line.in_flight / KIB:.1f} of {line.needed / KIB:.1f}"
    return (
        f"  {line.name + times:32}{line.share:6.0%}{line.registers:6}{line.shared:8,}{local:>7}{line.blocks:8.1f}{line.warps:7.1f}"
        f"{line.wide:6.0%}{line.in_line:6.0%}{line.used:6.0%}{line.per_16:7.1f}{line.issue:7.2f}  {flight:15}{verdict}"
    )


def few_text(found: Found, sms: int) -> Iterator[str]:
    for line in found.lines:
        if (reason := line.reason(sms)) is not None:
            yield f"  {line.name}: {line.blocks:.2f} blocks per SM: {reason or 'NO REASON'}"


def program_text(found: Found, xla: float | None) -> str:
    few = [line for line in found.lines if line.blocks < 2]
    beside = f", XLA's {xla * 1e6:,.0f} us: {found.seconds / xla:.2f}" if xla else ""
    return (
        f"  {found.run} launches, {found.run.waits} waits; {len(few)} of {len(found.lines)} kernels have fewer than two blocks per SM, "
        f"{sum(line.share for line in few):.0%} of the bytes; {found.seconds * 1e6:,.0f} us{beside}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("--chip", default="sm_90", choices=CHIPS, help="what to compile for (default: %(default)s)")
    parser.add_argument("--cache", type=pathlib.Path, metavar="FILE", help="where XLA's answers are kept")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all of one device)")
    args = parser.parse_args()
    chip = CHIPS[args.chip]
    if unknown := [name for name in args.names if name not in programs.PROGRAMS]:
        parser.error(f"no program {unknown[0]}")
    ptxas, nvdisasm = find_tool("ptxas"), find_tool("nvdisasm")
    if ptxas is None or nvdisasm is None:
        print("ptxas or nvdisasm is missing: install test/oracle/assembler-requirements.txt", file=sys.stderr)
        return 1
    cases = []
    for name in args.names or programs.PROGRAMS:
        program = programs.PROGRAMS[name]
        text = program("cuda").as_text()
        if "mhlo.num_partitions = 1 " in text:
            cases.append(Case(name, text, program.below, args.slimhlo, ptxas, nvdisasm, chip))

    theirs = xla_seconds(cases, args.cache)
    missed = []
    print(
        f"{'program':34}{'share':>6}{'regs':>6}{'shared':>8}{'local':>7}{'blocks':>8}{'warps':>7}{'16 B':>6}{'line':>6}{'used':>6}"
        f"{'/16 B':>7}{'issue':>7}  {'KiB in flight':15}"
    )
    found = map_items(examine, cases, seconds=SECONDS_PER_MODULE)
    for case, each, xla in zip(cases, found, theirs, strict=True):
        name = case.name
        if isinstance(each, (str, Lost)):
            missed.append(name)
            print(f"{name}: {each if isinstance(each, str) else each.reason}")
            continue
        print(name)
        for line in each.lines:
            wrong = line.wrong if name in MEMORY_BOUND else []
            missed += [f"{name} {line.name}"] if wrong else []
            print(text_of(line, (", ".join(wrong) or "met") if name in MEMORY_BOUND else ""), flush=True)
        for text in few_text(each, chip.sms):
            print(text)
        missed += [f"{name} {line.name}: blocks" for line in each.lines if line.reason(chip.sms) == ""]
        if (
            xla
            and each.seconds > SLOWEST * xla
            and not isinstance(least := map_items(seconds_by_bytes, [case])[0], Lost)
        ):
            xla = max(xla, least)
        if name in MEMORY_BOUND and xla and each.seconds > SLOWEST * xla:
            missed.append(f"{name}: {each.seconds / xla:.2f} times XLA's time")
        print(program_text(each, xla), flush=True)
    judged = sum(case.name in MEMORY_BOUND for case in cases)
    print(
        f"kernels of {judged} memory-bound programs judged: "
        + (f"not met: {', '.join(missed)}" if missed else "all goals met")
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
