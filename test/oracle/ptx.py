# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Warps of PTX kernels, executed instruction by instruction to see what they execute and which addresses they access.

Nothing is computed for its own sake: memory holds random elements of the types that the buffers have, below a bound that indices
keep to, and what has no effect on addresses and branches (carries, approximations) may come out as zero. Lanes that diverge meet
again at the first instruction that the ones furthest behind come to. Barriers and shuffles do nothing.
"""

from __future__ import annotations

import dataclasses
import re
import warnings
from collections.abc import Iterator

import numpy as np

Lanes = np.ndarray
LANES = 32
REGION = 44
"""Each buffer has 2^44 addresses for itself."""
ELSEWHERE = 250
"""The region of variables that are no parameters."""

ENTRY = re.compile(r"\.entry ([\w$]+)\(([^)]*)\)[^{]*\{(.*?)\n\}", re.DOTALL)
INSTRUCTION = re.compile(r"(?:@(!?)(%p\d+)\s+)?([a-z][\w.:]*)\s*(.*)")
OPERAND = re.compile(r"\{[^}]*\}|\[[^\]]*\]|[^,\s|]+")
DTYPES = {
    "b8": np.uint8, "u8": np.uint8, "s8": np.int8, "b16": np.uint16, "u16": np.uint16, "s16": np.int16, "f16": np.float16,
    "b32": np.uint32, "u32": np.uint32, "s32": np.int32, "f32": np.float32,
    "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f64": np.float64, "pred": np.bool_,
    "bf16": np.uint16, "f16x2": np.uint32, "bf16x2": np.uint32,
}  # fmt: skip
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
WIDER = {1: 2, 2: 4, 4: 8}
COMPARISONS = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "lo": np.less, "ls": np.less_equal, "hi": np.greater, "hs": np.greater_equal,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Instruction:
    """One of a kernel's: its guard, its name in parts and its operands."""

    guard: str
    negated: bool
    parts: tuple[str, ...]
    operands: tuple[str, ...]
    line: int
    """Of the text, from 0."""

    @property
    def dtype(self) -> type | None:
        return next((DTYPES[part] for part in reversed(self.parts) if part in DTYPES), None)

    @property
    def is_access(self) -> bool:
        """Whether it accesses global memory."""
        return self.parts[0] in ("ld", "st", "atom", "red") and "global" in self.parts

    @property
    def width(self) -> int:
        """Bytes that a thread accesses."""
        vector = next((int(part[1:]) for part in self.parts if part in ("v2", "v4", "v8")), 1)
        return vector * np.dtype(self.dtype or np.uint8).itemsize


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A kernel's instructions, and at which of them its labels are."""

    name: str
    parameters: tuple[str, ...]
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]

    def successors(self, number: int) -> list[int]:
        """The instructions that may follow on one."""
        instruction = self.instructions[number]
        jumps, ends = instruction.parts[0] == "bra", instruction.parts[0] in ("ret", "exit")
        follows = [number + 1] if instruction.guard or not (jumps or ends) else []
        targets = [self.labels[instruction.operands[0]]] if jumps else []
        return [each for each in follows + targets if each < len(self.instructions)]


@dataclasses.dataclass(frozen=True)
class Access:
    """What the lanes of a warp access at once: the instruction's number, and addresses of those lanes that take part."""

    at: int
    kind: str
    width: int
    addresses: Lanes
    is_moved: bool = False
    """They follow from a number in memory, as those of a slice do."""

    @property
    def is_in_line(self) -> bool:
        """Whether next threads access next addresses."""
        return bool(np.all(np.diff(self.addresses.astype(np.int64)) == self.width))


@dataclasses.dataclass
class Run:
    """What a warp did: how often it executed each instruction, and its accesses to global memory."""

    counts: np.ndarray
    taken: np.ndarray
    """How often some lane executed it, where a guard keeps others from it."""
    passed: np.ndarray
    """How often a guard kept some lane from it."""
    accesses: list[Access]
    ended: bool


def kernels(text: str) -> Iterator[Kernel]:
    """The kernels in a text of PTX."""
    for found in ENTRY.finditer(text):
        name, parameters, body = found.groups()
        first = text.count("\n", 0, found.start(3))
        names = tuple(line.split()[-1].rstrip(",") for line in parameters.strip().splitlines())
        instructions: list[Instruction] = []
        labels: dict[str, int] = {}
        for number, line in enumerate(re.sub(r"//[^\n]*", "", body).split("\n"), first):
            line = line.strip().rstrip(";")
            if line.startswith("$") and line.endswith(":"):
                labels[line[:-1]] = len(instructions)
            elif line and line[0] not in ".{}" and (matched := INSTRUCTION.fullmatch(line)):
                negated, guard, code, operands = matched.groups()
                parts = tuple(part for part in re.split(r"[.:]+", code) if part)
                words = tuple(OPERAND.findall(operands))
                instructions.append(Instruction(guard or "", bool(negated), parts, words, number))
        yield Kernel(name, names, tuple(instructions), labels)


def fits(values: Lanes, dtype: type) -> Lanes:
    """The bits of values as another type; cut off or filled up with zeros where that has another size."""
    size = np.dtype(dtype).itemsize
    if values.dtype == dtype:
        return values
    if dtype is np.bool_ or values.dtype == np.bool_:
        return values.astype(dtype)
    bits = values.view(UNSIGNED[values.dtype.itemsize])
    return bits.astype(UNSIGNED[size]).view(dtype)


def noise_of(addresses: Lanes) -> Lanes:
    """64 bits that follow from an address and look random: splitmix64."""
    bits = addresses.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


GUARD = "guard"
"""In place of an element type: the byte of a guarded kernel, which says that it does what it is for."""


class Warp:
    """Lanes that execute a kernel."""

    def __init__(
        self,
        kernel: Kernel,
        grid: int,
        block: int,
        at: tuple[int, int],
        elements: list[tuple[str, int]],
        numbers: frozenset[int] = frozenset(),
    ) -> None:
        """`at`: the number of its block, and its first thread's in it; `elements`: element type and bound per parameter;
        `numbers`: parameters that are one element."""
        self.kernel, self.elements, self.numbers = kernel, elements, numbers
        self.moved: set[str] = set()
        lanes = min(LANES, block)
        self.zeros = np.zeros(lanes, np.uint32)
        self.registers: dict[str, Lanes] = {
            "%tid.x": self.zeros + np.uint32(at[1]) + np.arange(lanes, dtype=np.uint32),
            "%ntid.x": self.zeros + np.uint32(block),
            "%ctaid.x": self.zeros + np.uint32(at[0]),
            "%nctaid.x": self.zeros + np.uint32(grid),
            "%laneid": np.arange(lanes, dtype=np.uint32),
        }

    def get(self, operand: str, dtype: type) -> Lanes:
        if operand.startswith("%"):
            return fits(self.registers.get(operand, self.zeros), dtype)
        if operand.startswith(("0f", "0F")):
            return fits(np.full(len(self.zeros), int(operand[2:], 16), np.uint32), dtype)
        if operand.startswith(("0d", "0D")):
            return fits(np.full(len(self.zeros), int(operand[2:], 16), np.uint64), dtype)
        try:
            number = int(operand.rstrip("U"), 0)
        except ValueError:
            number = ELSEWHERE << REGION
        return fits(np.full(len(self.zeros), number & (2**64 - 1), np.uint64), dtype)

    def address(self, operand: str) -> Lanes:
        base, _, offset = operand.strip("[]").partition("+")
        return self.get(base, np.uint64) + np.uint64(int(offset or "0", 0) & (2**64 - 1))

    def elements_at(self, addresses: Lanes, dtype: type) -> Lanes:
        """Random elements of the type that the first address's buffer has, the same at an address whoever asks."""
        number = int(addresses[0] >> np.uint64(REGION)) - 1
        element, bound = self.elements[number] if number < len(self.elements) else ("f32", 1)
        if element == GUARD:
            return fits(np.ones(len(addresses), np.int64), dtype)
        size = np.dtype(dtype).itemsize
        noise = noise_of(addresses)
        if element.startswith(("f", "bf", "complex")):
            values = (noise >> np.uint64(11)) * 2.0**-53
            if element == "bf16" and size == 2:
                return fits((values.astype(np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16), dtype)
            floats = {2: np.float16, 4: np.float32, 8: np.float64}.get(size)
            return fits(values.astype(floats), dtype) if floats else fits(np.zeros(len(addresses), np.uint8), dtype)
        if element == "i1":
            bound = 2
        bound = max(min(bound, 127 if size == 1 else bound), 1)
        return fits((noise % np.uint64(bound)).astype(np.int64), dtype)

    def run(self, most: int) -> Run:
        """Executes until all lanes have ended, or for `most` instructions."""
        kernel = self.kernel
        counts, taken_by, passed_by = np.zeros((3, len(kernel.instructions)), np.int64)
        accesses: list[Access] = []
        places = np.zeros(len(self.zeros), np.int64)
        end = len(kernel.instructions)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for _ in range(most):
                at = int(places.min())
                if at >= end:
                    return Run(counts, taken_by, passed_by, accesses, True)
                instruction = kernel.instructions[at]
                counts[at] += 1
                active = places == at
                taken = active
                if instruction.guard:
                    taken = active & (self.get(instruction.guard, np.bool_) != instruction.negated)
                taken_by[at] += taken.any()
                passed_by[at] += (active & ~taken).any()
                places[active] = at + 1
                if instruction.parts[0] == "bra":
                    places[taken] = kernel.labels.get(instruction.operands[0], end)
                elif instruction.parts[0] in ("ret", "exit"):
                    places[taken] = end
                elif taken.any():
                    self.execute(at, instruction, taken, accesses)
        return Run(counts, taken_by, passed_by, accesses, False)

    def execute(self, at: int, instruction: Instruction, taken: Lanes, accesses: list[Access]) -> None:
        parts, operands, dtype = instruction.parts, instruction.operands, instruction.dtype or np.uint32
        kind = parts[0]
        self.follow(instruction)
        if instruction.is_access:
            where = next(operand for operand in operands if operand.startswith("["))
            addresses = self.address(where)
            is_moved = where.strip("[]").partition("+")[0] in self.moved
            accesses.append(Access(at, kind, instruction.width, addresses[taken], is_moved))
            if kind == "ld":
                size = np.dtype(dtype).itemsize
                for number, name in enumerate(operands[0].strip("{}").split(",")):
                    found = self.elements_at(addresses + np.uint64(number * size), dtype)
                    self.set(name.strip(), found, taken)
            elif kind == "atom":
                # Nobody else is there: a compare-and-swap finds what it compares with.
                swap = "cas" in parts
                found = self.get(operands[2], dtype) if swap else self.elements_at(addresses, dtype)
                self.set(operands[0], found, taken)
        elif kind in ("st", "red", "bar", "barrier", "membar", "fence", "call", "prefetch"):
            pass
        elif kind == "ld" and "param" in parts:
            number = self.kernel.parameters.index(operands[1].strip("[]"))
            self.set(operands[0], np.full(len(taken), (number + 1) << REGION, np.uint64), taken)
        elif kind == "ld":
            for name in operands[0].strip("{}").split(","):
                self.set(name.strip(), np.zeros(len(taken), dtype), taken)
        elif kind == "mov" and "{" in "".join(operands):
            self.pack(operands, dtype, taken)
        elif operands:
            result = self.compute(kind, parts, operands[1:], dtype)
            self.set(operands[0], result if result is not None else np.zeros(len(taken), dtype), taken)

    def follow(self, instruction: Instruction) -> None:
        """Notes which registers follow from a number in memory."""
        kind, operands = instruction.parts[0], instruction.operands
        if kind in ("st", "red", "setp") or not operands:
            return
        if instruction.is_access:
            number = int(self.address(next(each for each in operands if each.startswith("[")))[0] >> np.uint64(REGION)) - 1
            does = number in self.numbers
        else:
            does = any(name.strip() in self.moved for each in operands[1:] for name in each.strip("{}").split(","))
        names = {name.strip() for name in operands[0].strip("{}").split(",")}
        self.moved = self.moved | names if does else self.moved - names

    def pack(self, operands: tuple[str, ...], dtype: type, taken: Lanes) -> None:
        """Moves several registers to a larger one, or the other way round."""
        names = next(operand for operand in operands if "{" in operand).strip("{}").split(",")
        part = np.dtype(dtype).itemsize // len(names)
        unsigned = UNSIGNED[part]
        if "{" in operands[0]:
            whole = self.get(operands[1], UNSIGNED[part * len(names)])
            for number, name in enumerate(names):
                self.set(name.strip(), (whole >> whole.dtype.type(8 * part * number)).astype(unsigned), taken)
            return
        whole = np.zeros(len(taken), UNSIGNED[part * len(names)])
        for number, name in enumerate(names):
            whole |= self.get(name.strip(), unsigned).astype(whole.dtype) << whole.dtype.type(8 * part * number)
        self.set(operands[0], whole, taken)

    def set(self, name: str, values: Lanes, taken: Lanes) -> None:
        if taken.all() or name not in self.registers:
            self.registers[name] = values
        else:
            self.registers[name] = np.where(taken, values, fits(self.registers[name], values.dtype.type))

    def compute(self, kind: str, parts: tuple[str, ...], operands: tuple[str, ...], dtype: type) -> Lanes | None:
        """The result of an instruction; `None` if that has no meaning here."""
        a, b, c = (self.get(operand, dtype) if operand else None for operand in (*operands, "", "", "")[:3])
        size = np.dtype(dtype).itemsize
        match kind:
            case "mov" | "cvta" | "shfl":
                return a
            case "add" | "sub" if "cc" not in parts:
                return a + b if kind == "add" else a - b
            case "mul" | "mad" if "wide" in parts:
                wide = np.dtype(f"{np.dtype(dtype).kind}{WIDER[size]}").type
                product = a.astype(wide) * b.astype(wide)
                return product if kind == "mul" else product + self.get(operands[2], wide)
            case "mul" | "mad" if "hi" in parts:
                high = [(int(x) * int(y)) >> (8 * size) for x, y in zip(a, b, strict=True)]
                high = np.array([value & (2 ** (8 * size) - 1) for value in high], UNSIGNED[size]).view(dtype)
                return high if kind == "mul" else high + c
            case "mul" | "mad" | "fma" if "cc" not in parts:
                return a * b if kind == "mul" else a * b + c
            case "div" | "rem" if np.dtype(dtype).kind in "ui":
                divisor = np.where(b == 0, 1, b).astype(dtype)
                return a // divisor if kind == "div" else a % divisor
            case "div":
                return a / b
            case "min" | "max":
                return np.minimum(a, b) if kind == "min" else np.maximum(a, b)
            case "abs" | "neg":
                return np.abs(a) if kind == "abs" else (np.zeros_like(a) - a).astype(dtype)
            case "and" | "or" | "xor":
                return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[kind](a, b)
            case "not":
                return ~a
            case "shl" | "shr":
                by = self.get(operands[1], np.uint32)
                shift = np.minimum(by, 8 * size - 1).astype(dtype)
                result = a << shift if kind == "shl" else a >> shift
                return result if np.dtype(dtype).kind == "i" else np.where(by >= 8 * size, dtype(0), result)
            case "shf":
                by = self.get(operands[2], np.uint32) & np.uint32(31)
                both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
                left = "l" in parts
                return (both >> (np.uint64(32) - by if left else by).astype(np.uint64)).astype(np.uint32)
            case "bfe":
                from_bit, length = self.get(operands[1], np.uint32), self.get(operands[2], np.uint32)
                return (a >> from_bit.astype(dtype)) & (
                    (np.uint64(1) << length.astype(np.uint64)) - np.uint64(1)
                ).astype(dtype)
            case "prmt":
                both = a.astype(np.uint64) | (b.astype(np.uint64) << np.uint64(32))
                taken = [(both >> (((c >> np.uint32(4 * k)) & np.uint32(7)).astype(np.uint64) * np.uint64(8))) & np.uint64(255)
                         for k in range(4)]  # fmt: skip
                return sum(part << np.uint64(8 * k) for k, part in enumerate(taken)).astype(np.uint32)
            case "setp":
                return self.compare(parts[1], a, b) if parts[2] not in ("and", "or", "xor") else None
            case "selp":
                return np.where(self.get(operands[2], np.bool_), a, b)
            case "cvt":
                return self.convert(parts, operands[0])
            case "sqrt" | "rsqrt" | "rcp":
                root = a if kind == "rcp" else np.sqrt(a)
                return root if kind == "sqrt" else (1 / root).astype(dtype)
            case "ex2" | "lg2":
                return np.exp2(a) if kind == "ex2" else np.log2(a)
        return None

    def compare(self, how: str, a: Lanes, b: Lanes) -> Lanes:
        if how in ("num", "nan"):
            return np.isnan(a) | np.isnan(b) if how == "nan" else ~(np.isnan(a) | np.isnan(b))
        if how in COMPARISONS:
            return COMPARISONS[how](a, b)
        # Of floats, the ones that are true for NaN too.
        return COMPARISONS[how.removesuffix("u")](a, b) | np.isnan(a) | np.isnan(b)

    def convert(self, parts: tuple[str, ...], operand: str) -> Lanes | None:
        types = [part for part in parts if part in DTYPES]
        if len(types) != 2:
            return None
        to, source = DTYPES[types[0]], DTYPES[types[1]]
        values = self.get(operand, source)
        if np.dtype(source).kind == "f" and np.dtype(to).kind in "iu":
            rounding = {"rni": np.rint, "rmi": np.floor, "rpi": np.ceil}
            how = next((rounding[part] for part in parts if part in rounding), np.trunc)
            limits = np.iinfo(to)
            return np.clip(np.nan_to_num(how(values)).astype(np.float64), limits.min, limits.max).astype(to)
        return values.astype(to)
