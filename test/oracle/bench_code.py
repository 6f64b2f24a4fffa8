# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The code of kernels, read instruction by instruction: whether what only moves bytes can do so as fast as memory allows.

    python test/oracle/bench_code.py --slimhlo target/release/slimhlo [NAME ...]

Each reference program of one device is compiled for sm_90; ptxas says what registers and local memory its kernels take, nvdisasm
which machine instructions their loops are of (both from assembler-requirements.txt), and a few warps of each kernel are executed
as PTX (ptx.py) for the addresses that they access and for how often they execute what. Nothing is run on a GPU. A line per
function of a kernel that moves more than 1% of a program's bytes (the manifest's, a loop's body counted once):

    kernel    the function, how often a program launches it
    share     of the program's bytes that these launches move
    regs      registers per thread
    shared    bytes of shared memory per block
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

How it is counted: instructions executed are those of PTX that warps executed, times machine instructions per one of PTX in the
innermost loop that accesses memory (that of most instructions executed), assembled without what no warp executed of it. How many such warps a kernel comes to follows from what it writes (or reads, if it writes little),
over what a warp did of it. Of loads, only as much counts as in flight as the buffers read hold, over what is accessed of them:
what several threads read comes from a cache.

Kernels of the programs in MEMORY_BOUND have to need fewer slots than there are, to spill nothing and access no local memory, and
to keep enough in flight; the exit status is 1 if one does not.
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
import ptx
from bench_plan import GOALS
from ptxas import find_tool
from workers import Lost, map_items

CHIP = "sm_90"
# NVIDIA's data sheet of the H100 SXM5: 3.35 TB/s, 132 SMs; its architecture's white paper: four schedulers of one warp instruction
# per clock each in an SM, 65,536 registers, 2,048 threads and 32 blocks at most, 228 KiB of shared memory of which 1 KiB per block
# is the system's. Under load it clocks at about 1.7 GHz; device memory answers after about 600 ns.
BANDWIDTH = 3.35e12
SMS = 132
ISSUED = SMS * 4 * 1.7e9
LATENCY = 600e-9
REGISTERS = 65_536
THREADS = 2048
BLOCKS = 32
SHARED = 228 * 1024
SECTOR = 32

MEMORY_BOUND = frozenset(GOALS)
WORTH_A_LINE = 0.01
MOST_INSTRUCTIONS = 6000
WARPS = 3
KIB = 2**10
SECONDS_PER_MODULE = 600.0

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


@dataclasses.dataclass(frozen=True)
class Stretch:
    """Machine code that is repeated, or all of a function's."""

    instructions: int
    accessed: int
    """Bytes of global memory that a thread accesses, were all of it executed."""
    in_flight: int
    """Bytes that a thread's loads ask for before the first of them is used."""


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
    warps: float = 0.0
    wide: float = 0.0
    in_line: float = 0.0
    used: float = 0.0
    per_16: float = 0.0
    issue: float = 0.0
    in_flight: float = 0.0
    needed: float = 0.0

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

    def loop(places: Sequence[int]) -> Stretch:
        accessed = sum(access_of(codes[at][0])[1] for at in places if access_of(codes[at][0])[0])
        return Stretch(len(places), accessed, in_flight([codes[at] for at in places]))

    return Machine(loop(range(len(codes))), tuple(loop(places) for places in all_loops(successors)))


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
    accessed = sum(kernel.instructions[at].width for at in loop if kernel.instructions[at].is_access)
    # The assembler unrolls loops whole times.
    same = [each for each in code.loops if accessed and each.accessed and each.accessed % accessed == 0]
    if not same:
        in_flight = max(each.in_flight for each in (*code.loops, code.whole))
        return code.whole.instructions / len(kernel.instructions), in_flight
    found = min(same, key=lambda each: (each.accessed, each.instructions))
    return found.instructions / (found.accessed / accessed) / len(loop), found.in_flight


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


def elements_of(manifest: dict, slots: list[str], below: int) -> list[tuple[str, int]]:
    """The element type of each buffer that a kernel is launched with, and a bound of its integers."""
    types = {each["slot"]: each["type"]["element"] for each in manifest["buffers"] if each.get("type")}
    for kind, short in (("arguments", "arg"), ("results", "result")):
        types |= {f"{short}{number}": each["type"]["element"] for number, each in enumerate(manifest[kind])}
    return [(types.get(slot, "f32"), below) for slot in slots]


def run_warps(kernel: ptx.Kernel, function: dict, elements: list[tuple[str, int]]) -> list[ptx.Run]:
    """Executes warps of some blocks of a kernel's function."""
    grid, block = function["grid"], function["block"]
    places = [(grid * (2 * number + 1) // (2 * WARPS), 0) for number in range(WARPS)]
    return [ptx.Warp(kernel, grid, block, place, elements).run(MOST_INSTRUCTIONS) for place in places]


def read(
    kernel: ptx.Kernel, entry: dict, block: int, runs: list[ptx.Run], per_ptx: float, in_flight: int, line: Line
) -> None:
    """Notes what warps of a kernel's function show."""
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
    times = max(large or others.values() or written.values(), default=moved / max(total, 1))
    if not large and not any(each["access"] == "read" and n in touched for n, each in enumerate(parameters)):
        times = moved / max(total, 1)
    per_byte = executed * times / moved
    line.per_16 = per_byte * 16 * min(block, ptx.LANES)
    line.issue = per_byte * BANDWIDTH / ISSUED

    # What is read from memory once, and how often threads ask for it.
    loaded = sum(access.width * len(access.addresses) for access in accesses if access.kind == "ld") * times
    stored = total * times - loaded
    fetched = min(loaded, max(moved - stored, 0) if large else moved)
    useful = min(fetched / loaded, 1.0) if loaded else 0.0
    line.in_flight = line.warps * ptx.LANES * in_flight * useful
    line.needed = BANDWIDTH * LATENCY / SMS * fetched / moved


def resident_warps(registers: int, shared: int, grid: int, block: int) -> float:
    """Warps that an SM holds at a time."""
    per_warp = math.ceil(registers / 8) * 8 * ptx.LANES
    warps = math.ceil(block / ptx.LANES)
    blocks = min(THREADS // (warps * ptx.LANES), BLOCKS, REGISTERS // per_warp // warps, SHARED // (shared + KIB))
    return min(blocks, grid / SMS) * warps


def say(*command: str) -> str:
    """What a command prints."""
    # libdevice is in this environment, too.
    environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        error = next((line for line in done.stderr.splitlines() if "error" in line), f"exit status {done.returncode}")
        raise RuntimeError(f"{command[0]}: {error}")
    return done.stdout + done.stderr


def examine(case: Case) -> list[Line] | str:
    """The lines of a program, or why there are none."""
    with tempfile.TemporaryDirectory(prefix="slimhlo-code-") as folder:
        module, package = pathlib.Path(folder, "in.mlir"), pathlib.Path(folder, "package")
        module.write_text(case.text)
        try:
            say(case.slimhlo, "compile", "-q", str(module), "--chip", CHIP, "-o", str(package))
            return lines_of(case, package)
        except RuntimeError as error:
            return str(error)


def assemble(case: Case, text: str, folder: pathlib.Path) -> tuple[str, dict[str, Machine]]:
    """What ptxas says of a text of PTX, and the machine code of its functions."""
    source, cubin = folder / "read.ptx", folder / "read.cubin"
    source.write_text(text)
    said = say(case.ptxas, "-v", f"--gpu-name={CHIP}", str(source), "-o", str(cubin))
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
    moves = lambda entry: entry.get("bytes_moved") or sum(each["bytes"] for each in entry["parameters"])
    total = sum(counts[entry["name"]] * moves(entry) for entry in manifest["kernels"])
    found = []
    for entry in manifest["kernels"]:
        share = counts[entry["name"]] * moves(entry) / max(total, 1)
        if share <= WORTH_A_LINE:
            continue
        slots = next(step["buffers"] for step in launched if step["kernel"] == entry["name"])
        for stage, function in enumerate(entry["functions"]):
            # Of small ones that put together what the others left, there is nothing to say.
            if not stage or function["grid"] >= SMS:
                runs = run_warps(kernels[function["name"]], function, elements_of(manifest, slots, case.below))
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
        line.warps = resident_warps(line.registers, line.shared, grid, block)
        executed = sum(run.counts for run in runs)
        per_ptx, in_flight = hot_code(kernels[name], executed, code[name])
        if is_trimmed:
            kept = {each.line for each in hot_kernels[name].instructions}
            left = np.array(
                [n for n, each in zip(executed, kernels[name].instructions, strict=True) if each.line in kept]
            )
            per_ptx, _ = hot_code(hot_kernels[name], left, hot_machine[name])
        read(kernels[name], entry, block, runs, per_ptx, in_flight, line)
        result.append(line)
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all of one device)")
    args = parser.parse_args()
    if unknown := [name for name in args.names if name not in programs.PROGRAMS]:
        parser.error(f"no program {unknown[0]}")
    ptxas, nvdisasm = find_tool("ptxas"), find_tool("nvdisasm")
    if ptxas is None or nvdisasm is None:
        print("ptxas or nvdisasm is missing: install test/oracle/assembler-requirements.txt", file=sys.stderr)
        return 1
    cases = []
    for name in args.names or programs.PROGRAMS:
        program = programs.PROGRAMS[name]
        text = program().as_text()
        if "mhlo.num_partitions = 1 " in text:
            cases.append(Case(name, text, program.below, args.slimhlo, ptxas, nvdisasm))

    missed = []
    print(
        f"{'program':34}{'share':>6}{'regs':>6}{'shared':>8}{'local':>7}{'warps':>7}{'16 B':>6}{'line':>6}{'used':>6}"
        f"{'/16 B':>7}{'issue':>7}  {'KiB in flight':15}"
    )
    for case, found in zip(cases, map_items(examine, cases, seconds=SECONDS_PER_MODULE), strict=True):
        name = case.name
        if isinstance(found, (str, Lost)):
            missed.append(name)
            print(f"{name}: {found if isinstance(found, str) else found.reason}")
            continue
        print(name)
        for line in found:
            wrong = line.wrong if name in MEMORY_BOUND else []
            missed += [f"{name} {line.name}"] if wrong else []
            times = f" x{line.launches}" if line.launches > 1 else ""
            local = f"{line.local}{'*' if line.uses_local else ''}"
            flight = f"{line.in_flight / KIB:.1f} of {line.needed / KIB:.1f}"
            verdict = (", ".join(wrong) or "met") if name in MEMORY_BOUND else ""
            print(
                f"  {line.name + times:32}{line.share:6.0%}{line.registers:6}{line.shared:8,}{local:>7}{line.warps:7.1f}"
                f"{line.wide:6.0%}{line.in_line:6.0%}{line.used:6.0%}{line.per_16:7.1f}{line.issue:7.2f}  {flight:15}{verdict}",
                flush=True,
            )
    judged = sum(case.name in MEMORY_BOUND for case in cases)
    print(
        f"kernels of {judged} memory-bound programs judged: "
        + (f"not met: {', '.join(missed)}" if missed else "all goals met")
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
