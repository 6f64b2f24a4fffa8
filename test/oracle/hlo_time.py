# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How long a compiled module takes on its target, estimated from its HLO.

    estimate(executable.hlo_modules()[0].to_string(), targets.find("h100"))

adds up, over the entry and over bodies of loops as often as they run: launches, bytes moved, operations of products, and what
goes to other devices and to the host. Rates are the target's (targets.py). What is known of a kernel decides, in this order:

 1. Products of matrices and convolutions, in fusions, libraries or alone: their operations over the rate of their type, or their
    bytes over the bandwidth, whichever is more. XLA's own figure (`--xla_gpu_collect_cost_model_stats`) is replaced: without tuning it
    is of tiles of 16 by 8, and 15 times what the same product takes on an H100 (2,008 microseconds for 67e9 operations in bf16).
 2. Other fusions on a GPU: the longer of memory and arithmetic, as an H100 was seen to take (`cargo xtask bench calibrate`). Memory: bytes,
    of operands of which a fusion reads slices only these; what is gathered comes from the cache, a sector at a time, or from memory if the
    table does not fit there. Arithmetic: arithmetic.py, as often as a value is asked for at other places. XLA's first model is not
    taken: it counts the arithmetic of indices as if nothing were shared, and says 451 microseconds of a stencil that takes 97, and 5,058 of one
    that takes 1,787; nor its second, "indexing-cost-model", which says 1,027 of a softmax of bf16 that takes 714, memory's time. Of a fusion
    that ends in a scatter in place the bytes of the updates count, and how fast atomics are (a histogram of 2^28 numbers in 256 bins: 61 ms,
    where XLA says 0.3). By Triton: how its tiles fall, which XLA notes.
 3. All else, and all on other targets: the larger of bytes over bandwidth and operations over rate (a roofline). Operands of which a
    fusion reads slices count by these, results that are updated in place by the update. TPU: bytes are those of whole tiles; what
    lies in vector memory costs nothing.

On a GPU bytes that lie in the second cache (hlo_cache.py) take less time than others, and starting a kernel is hidden behind those before it
as far as these last.
What cannot be known is counted by name in `unknown`: loops whose length XLA does not know (taken once), libraries without a rule.
Not seen: work side by side on several streams, tails of small grids.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import re
from collections.abc import Iterable, Sequence

import arithmetic
import hlo
import hlo_cache
import hlo_loops
from targets import Rates, Target

GRAPH = 5
"""XLA makes a CUDA graph of so many kernels and more (`--xla_gpu_graph_min_graph_size`), of a loop's body or of what is between loops."""
# Take no time: names for what is there, or ends of what has been counted at its start.
FREE = frozenset(
    [
        "parameter",
        "constant",
        "tuple",
        "get-tuple-element",
        "bitcast",
        "after-all",
        "add-dependency",
        "partition-id",
        "replica-id",
        "opt-barrier",
        "domain",
        "copy-done",
        "slice-done",
        "fusion-done",
        "call-done",
        "custom-call-done",
        "async-done",
        "async-update",
        "all-gather-done",
        "all-reduce-done",
        "collective-permute-done",
        "send",
        "send-done",
        "recv",
        "recv-done",
        "get-dimension-size",
    ]
)
COLLECTIVES = frozenset(
    [
        "all-gather",
        "all-reduce",
        "all-to-all",
        "collective-permute",
        "collective-broadcast",
        "reduce-scatter",
        "ragged-all-to-all",
    ]
)
CONTROL = frozenset(("while", "conditional", "call", "async", "custom-call"))
# Read of their first operand only as much as they make.
SLICES = frozenset(("slice", "dynamic-slice", "gather"))
# Change their first operand.
IN_PLACE = frozenset(("dynamic-update-slice", "scatter"))
# Values are moved, not made; broadcasts and iotas are, in registers.
MOVES = frozenset(
    [
        "bitcast",
        "bitcast-convert",
        "broadcast",
        "concatenate",
        "copy",
        "dynamic-slice",
        "dynamic-update-slice",
        "gather",
        "get-tuple-element",
        "iota",
        "pad",
        "reshape",
        "reverse",
        "slice",
        "transpose",
        "tuple",
        "constant",
        "parameter",
        "fusion",
        "call",
    ]
)
# Library calls that are placement or notes.
NOTES = re.compile(
    r"annotate_device_placement|AllocateBuffer|PrepareAsyncCall|Sharding|SPMD|AssumeGatherIndicesInBound|xla\.sdy",
    re.IGNORECASE,
)

# Operations over the cube of the size, by LAPACK's working note 41; of a solution, over the size squared and the right-hand sides. And the
# seconds that a column takes on an H100, one after another, whatever its length (probes.py: 8 of 1,024 take 1.6 ms, one of 4,096 takes 1.7).
FACTORIZATIONS = {
    "potrf": (1 / 3, 0.2e-6),
    "getrf": (2 / 3, 2.5e-6),
    "geqrf": (4 / 3, 30e-6),
    "orgqr": (4 / 3, 30e-6),
    "ungqr": (4 / 3, 30e-6),
    "triangularSolve": (1.0, 0.1e-6),
}
TOGETHER, TOGETHER_COLUMN = 256, 1e-6
"""Matrices of so many columns are factorized all at once, and a column takes so long: 64 of 256 take 0.3 ms."""
TOP_K = 31e9
"""Elements per second of which the largest are found: 4,096 rows of 4,096 take 535 microseconds."""
PANEL, PANEL_KERNELS = 64, 3
"""Columns that a factorization handles at once, and its kernels for each: panel, solution, update. An assumption."""
EXACT = hlo.Instruction("", (), "custom-call", (), "", "operand_precision={highest,highest}", False)
"""Libraries compute f32 as such."""

SORT_STEPS = 28.0
"""Of two elements that a sort compares: 16,384 rows of 1,024 take 771 microseconds for 55 comparisons of each."""
SORT_TILE = 2048
"""Elements that one block of XLA's bitonic sort on a GPU holds: steps within run as one kernel, those beyond each alone."""
RADIX_BITS = 8
"""Of a key, that a pass of CUB's radix sort handles."""
RADIX, RADIX_START = 0.7, 40e-6
"""Of the bandwidth, that its passes reach, and the seconds until it begins: 2^20 f32 with as many take 100 microseconds, 2^24 688."""

BESIDE = 0.05
"""Of the shorter of a kernel's memory and arithmetic, that does not happen during the longer."""
CACHED = 1.8
"""Bytes from the second cache in the time of one from memory: rows of 512 bytes of 51 MB, and of 4 bytes of 8 MiB, at some 5e12 a second."""
SECTOR = 64
"""Bytes that memory hands over at least: rows of one f32, taken by chance from 64 MiB, take as long as rows of 16."""
BESIDE_PRODUCT = 0.2
"""The same of a product: 8,192 rows and columns of f32 that contract 256 take 137 microseconds, of which memory takes 93 and arithmetic 87."""
TRANSPOSED, TRANSPOSED_SHORT, SHORT = 0.7, 0.45, 1024
"""Of the rate of f32 as TF32, if neither operand lies along what is contracted, which is in the order in which tensor cores want TF32; less if that
is short. A gradient of 32,000 words takes 5,150 microseconds along 8,192 rows and 7,785 across, and 1.75 times as long across 512 at a time."""
SHARED_MASK, SHARED_MASK_ROWS = 1.9, 4
"""A fusion by Triton takes so many times as long if its tile has one row of a mask that it computes, for so many rows and more: causal softmax of
tiles of [1, 4, 1, 4096] 1.9 times, its gradient with [4, 8, 1, 512] up to 2.4; with [2, 2, 4096] 1.0."""
BLOCKS = 1.6e9
"""Blocks of threads that a GPU goes through in a second: a transpose of 2^21 elements in 2^16 tiles takes 41 microseconds, in 2^17 80."""
LOAD_STEPS = 3.0
"""Of an element that a reduction's fusion reads: a lane loads once in the time of four operations. A triplet loss reads two and three arrays for
three operations, and takes 9 to 20 steps for an element."""
GIVEN = {"parameter", "constant", "broadcast", "iota"}
"""What a kernel is given, or makes of a few elements that it is given."""
COLUMN_BYTES, COLUMN_FAR, COLUMN_NEAR = 256, 28e9, 110e9
"""A block of a reduction of columns takes so many bytes of each row, 8 for a lane, and so many per second from memory and from the cache: 4,096
rows of 1,024 bf16 eight times, 64 blocks in all, take 38 microseconds, and 512 as long; of 128, from the cache, 11."""
ATOMIC_RUN = 4
"""Neighbours that one atomic operation adds to: rows of 64 and 128 f32 take a quarter of the time of as many single ones."""
ATOMICS_OF_PLACE = 17e6
"""Additions to one place per second: the histogram above, 2^28 over 256 places and 61 ms."""


@dataclasses.dataclass
class Estimate:
    """What running something once takes."""

    seconds: float = 0.0
    kernels: int = 0
    bytes: float = 0.0
    """Moved between memory and cores."""
    operations: float = 0.0
    """Of products of matrices and convolutions."""
    unknown: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """What could not be told, and in how many places."""
    kinds: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    """Seconds by what they go to: launches, products, triton, fusions, other, sorts, libraries, collectives, host, waits."""

    @property
    def microseconds(self) -> float:
        return self.seconds * 1e6

    def spend(self, kind: str, seconds: float) -> None:
        self.seconds += seconds
        self.kinds[kind] += seconds

    def add(self, other: Estimate, times: int = 1) -> None:
        """Takes in something that runs `times` times."""
        self.seconds += times * other.seconds
        self.kernels += times * other.kernels
        self.bytes += times * other.bytes
        self.operations += times * other.operations
        self.unknown.update(other.unknown)
        for kind, seconds in other.kinds.items():
            self.kinds[kind] += times * seconds


@dataclasses.dataclass(frozen=True)
class Traffic:
    """What a fusion reads and writes, and the steps of its elementwise operations."""

    read: float
    written: float
    steps: float
    of: dict[int, float]
    """Of what is read, by parameter."""
    whole: bool
    """Whether what is written is a whole array, not part of one that is changed in place."""


def estimate(text: str, target: Target) -> Estimate:
    """What a compiled module takes on one device of its target; raises ValueError if the text is no HLO module."""
    return of_module(hlo.parse(text), target)


def of_module(module: hlo.Module, target: Target) -> Estimate:
    """The same, of a module that has been read."""
    return Reader(module, target.rates, gpu=target.kind == "gpu").computation(module.entry.name)


# --- products ------------------------------------------------------------------------------------------------------


def lies_across(instruction: hlo.Instruction, left: hlo.Array, right: hlo.Array) -> bool:
    """Whether neither operand of a product lies along what is contracted."""
    for array, side in ((left, "lhs"), (right, "rhs")):
        over = instruction.numbers(f"{side}_contracting_dims") or instruction.numbers(f"{side}_contracting_dimensions")
        order = [int(each) for each in array.layout.partition(":")[0].split(",") if each.strip()]
        if not over or (order[0] if order else len(array.dims) - 1) in over:
            return False
    return True


def rate_of(instruction: hlo.Instruction, left: hlo.Array, rates: Rates) -> float:
    """Operations per second of a product by what it multiplies, and by the precision that it asks for."""
    element = left.element
    if element.startswith("f8") or element.startswith("f4"):
        kind = "f8"
    elif element[0] in "su" and element[1:].isdigit() and hlo.bits_of(element) <= 8:
        kind = "s8"
    elif element in ("f64", "c128"):
        kind = "f64"
    elif element in ("bf16", "f16"):
        kind = element
    else:
        exact = re.search(r"operand_precision=\{[^}]*high|\"operand_precision\":\[[^\]]*\"HIGH", instruction.attributes)
        kind = "f32 exact" if exact else "f32"
    # What has no units for a type computes in the next wider one, or, for f64, in a fraction of f32's rate.
    return rates.products.get(kind) or rates.products.get("bf16" if kind == "f16" else "f32", 0.0) / (
        1 if kind == "f16" else 16
    )


def product_operations(instruction: hlo.Instruction, operands: list[hlo.Instruction]) -> float | None:
    """Operations of a dot, a convolution or a library's call for one; None if its shapes do not tell."""
    if len(operands) < 2 or not instruction.arrays or not all(each.arrays for each in operands[:2]):
        return None
    left, right, out = operands[0].arrays[0], operands[1].arrays[0], instruction.arrays[0]
    labels = instruction.text("dim_labels")
    if labels:
        return convolution_operations(instruction, left, right, out, labels)
    over = instruction.numbers("lhs_contracting_dims") or instruction.numbers("lhs_contracting_dimensions")
    if any(dim >= len(left.dims) for dim in over):
        return None
    complexes = 4 if left.element.startswith("c") else 1
    return complexes * 2.0 * out.elements * math.prod(left.dims[dim] for dim in over)


def window(instruction: hlo.Instruction, name: str, rank: int, otherwise: int) -> list[tuple[int, int]]:
    """What a convolution's window says under a name, by dimension: size=3x5 is (3, 3), (5, 5) and pad=0_1x2_2 is (0, 1), (2, 2)."""
    found = re.search(rf"window=\{{[^}}]*\b{name}=([-\dx_]+)", instruction.attributes)
    if not found:
        return [(otherwise, otherwise)] * rank
    pairs = [[int(each) for each in one.split("_")] for one in found[1].split("x")]
    return [(pair[0], pair[-1]) for pair in pairs]


def taps(instruction: hlo.Instruction, inputs: list[int], outputs: list[int]) -> float:
    """How often a convolution multiplies per feature: positions of its window that meet an element, not padding nor holes."""
    rank = len(outputs)
    size, stride = window(instruction, "size", rank, 1), window(instruction, "stride", rank, 1)
    pads = window(instruction, "pad", rank, 0)
    holes, spread = window(instruction, "lhs_dilate", rank, 1), window(instruction, "rhs_dilate", rank, 1)
    count = 1.0
    for dim in range(rank):
        by = holes[dim][0]
        step, last = stride[dim][0], (inputs[dim] - 1) * by
        # Every so many outputs the window meets an element again.
        period = by // math.gcd(by, step)
        met = 0
        for tap in range(size[dim][0]):
            at = tap * spread[dim][0] - pads[dim][0]
            low, high = max(0, -(at // step)), min(outputs[dim] - 1, (last - at) // step)
            first = next(
                (out for out in range(low, min(high, low + period - 1) + 1) if (out * step + at) % by == 0), None
            )
            if first is not None:
                met += (high - first) // period + 1
        count *= met
    return count


def convolution_operations(
    instruction: hlo.Instruction, left: hlo.Array, right: hlo.Array, out: hlo.Array, labels: str
) -> float | None:
    """Two for each output feature, image, input feature and tap. A library's gradients take as many as the forward pass that they
    belong to: two for each element of the smaller image and each of the kernel, over the kernel's output features."""
    call = instruction.text("custom_call_target") or ""
    parts = re.match(r"(\w+?)_(\w+?)->(\w+)", labels)
    if parts is None or any(
        len(label) != len(array.dims) for label, array in zip(parts.groups(), (left, right, out), strict=True)
    ):
        return None
    of_left, of_kernel, of_out = parts.groups()
    if "Backward" in call:
        kernel, image = (out, right) if "Filter" in call else (right, left)
        return 2.0 * image.elements * kernel.elements / max(1, kernel.dims[of_kernel.index("o")])
    spatial = sorted(label for label in of_out if label.isdigit())
    inputs = [left.dims[of_left.index(label)] for label in spatial]
    outputs = [out.dims[of_out.index(label)] for label in spatial]
    images, features = out.dims[of_out.index("b")], out.dims[of_out.index("f")]
    return 2.0 * images * features * right.dims[of_kernel.index("i")] * taps(instruction, inputs, outputs)


# --- what fusions touch ---------------------------------------------------------------------------------------------


def in_place(computation: hlo.Computation, made: hlo.Instruction) -> hlo.Instruction | None:
    """The update in place that makes a fusion's result, if one does."""
    while made.opcode in ("bitcast", "reshape") and (operands := computation.operands(made)):
        made = operands[0]
    return made if made.opcode in IN_PLACE else None


def shares(computation: hlo.Computation) -> dict[str, float]:
    """Of each instruction of a fusion, the share of its elements that is asked for: 1 of a root, less of what is only read in slices."""
    share: dict[str, float] = collections.defaultdict(float)
    root = computation.root
    roots = computation.operands(root) if root.opcode == "tuple" else [root]
    share[root.name] = 1.0
    replaced = {found.name for made in roots if (found := in_place(computation, made))}
    for each in reversed(list(computation)):
        wanted = min(1.0, share[each.name])
        for number, operand in enumerate(computation.operands(each)):
            part = wanted
            if number == 0 and each.opcode in SLICES:
                part = wanted * each.elements / max(1, operand.elements)
            elif number == 0 and each.name in replaced:
                part = 0.0
            share[operand.name] += part
    return {name: min(1.0, each) for name, each in share.items()}


def computes(each: hlo.Instruction) -> bool:
    """Whether an instruction takes arithmetic."""
    return each.opcode not in MOVES and each.opcode not in FREE


def evaluations(computation: hlo.Computation) -> dict[str, float]:
    """Of each instruction of a fusion, how many elements are computed: once for users at the same place, and again for each that asks at
    another one, such as a slice, a broadcast or a concatenation."""
    here: dict[str, float] = collections.defaultdict(float)
    elsewhere: dict[str, float] = collections.defaultdict(float)
    root = computation.root
    for made in computation.operands(root) if root.opcode == "tuple" else [root]:
        update = in_place(computation, made)
        here[made.name] = float(made.elements if update is None else computation.operands(update)[-1].elements)
    found: dict[str, float] = {}
    for each in reversed(list(computation)):
        asked = found[each.name] = here[each.name] + elsewhere[each.name]
        operands = computation.operands(each)
        for number, operand in enumerate(operands):
            if each.opcode in ("reduce", "reduce-window", "scatter", "sort"):
                elsewhere[operand.name] += operand.elements
            elif each.opcode in ("concatenate", "pad") or (each.opcode == "dynamic-update-slice" and number == 1):
                elsewhere[operand.name] += asked * operand.elements / max(1, each.elements)
            elif each.opcode in ("broadcast", "slice", "dynamic-slice", "gather", "reverse", "dynamic-update-slice"):
                # Where a slice begins is the same for all of its elements.
                elsewhere[operand.name] += asked if number == 0 or each.opcode == "gather" else 1.0
            else:
                here[operand.name] = max(here[operand.name], asked)
    return found


class Reader:
    """Adds up a module's costs, each computation's once."""

    def __init__(self, module: hlo.Module, rates: Rates, *, gpu: bool) -> None:
        self.module = module
        self.rates = rates
        self.gpu = gpu
        self.known: dict[str, Estimate] = {}
        self.cache = hlo_cache.Cache(rates.cache) if gpu else None
        self.places: dict[str, str] = {}

    def computation(self, name: str, *, turns: bool = False) -> Estimate:
        """What a computation takes, by default once; else as a turn among many, which finds in the cache what the one before it left."""
        if name not in self.known:
            # A computation that called itself would not end; XLA makes none.
            self.known[name] = Estimate()
            computation = self.module.computations[name]
            around = self.cache, self.places
            if self.cache:
                self.cache = hlo_cache.Cache(self.rates.cache)
                self.places = hlo_cache.places(computation, self.changes)
                if turns:
                    self.once(computation)
            self.known[name] = self.once(computation)
            self.cache, self.places = around
        return self.known[name]

    def once(self, computation: hlo.Computation) -> Estimate:
        total, own = Estimate(), Estimate()
        for instruction in computation:
            if instruction.opcode in FREE:
                continue
            found = self.instruction(computation, instruction)
            if instruction.opcode in ("while", "conditional"):
                total.add(found)
                if self.cache:
                    self.cache.forget()
            else:
                own.add(found)
        if own.kernels:
            # Started one by one, a kernel waits for the host or the host for what came before.
            working = (own.seconds - own.kinds["launches"]) / own.kernels
            each = self.rates.launch_in_graph if own.kernels >= GRAPH else max(self.rates.launch - working, self.rates.launch_in_graph)
            own.spend("launches", own.kernels * (each - self.rates.launch))
        total.add(own)
        return total

    def changes(self, each: hlo.Instruction) -> str | None:
        """Which operand is changed in place, by an update or a fusion that ends in one."""
        if each.opcode in IN_PLACE:
            return each.operands[0]
        names = each.called("calls") if each.opcode == "fusion" else []
        within = self.module.computations.get(names[0]) if names else None
        into = in_place(within, within.root) if within else None
        while into and into.opcode != "parameter":
            operands = within.operands(into)
            into = operands[0] if operands and into.opcode in IN_PLACE | hlo_cache.SAME else None
        return each.operands[int(into.argument)] if into and into.argument.isdigit() else None

    def felt(self, each: hlo.Instruction, reads: Sequence[tuple[hlo.Instruction, float]], written: float, *, whole: bool = True) -> float:
        """Bytes that a kernel reads of its operands, all or part, and writes, as memory feels them: those that lie in the second cache are less."""
        cache = self.cache
        if not cache:
            return sum(size for _, size in reads) + written
        made = self.places.get(each.name, each.name)
        taken = [(self.places.get(operand.name, operand.name), size, size >= operand.size) for operand, size in reads]

        def use(place: str, size: float, *, is_whole: bool) -> float:
            found = cache.use(place if is_whole else f"part of {place} for {each.name}", size) if size else False
            return size / CACHED if found and is_whole else size

        # What is written pushes out what is not read yet, unless it takes that one's place, and is what was used last.
        in_place = any(place == made for place, _, _ in taken)
        felt = 0.0 if in_place else use(made, written, is_whole=whole)
        felt += sum(use(place, size, is_whole=is_whole) for place, size, is_whole in taken)
        last = use(made, written, is_whole=whole)
        return felt + last if in_place else felt

    def instruction(self, within: hlo.Computation, each: hlo.Instruction) -> Estimate:
        opcode = each.opcode.removesuffix("-start")
        if (
            not self.gpu
            and opcode not in CONTROL
            and each.elements <= 1
            and not any(one.elements > 1 for one in within.operands(each))
        ):
            # A counter lives in a register, or in a TPU's scalar memory. On a GPU it is a kernel's work.
            return Estimate()
        if opcode == "while":
            return self.loop(within, each)
        if opcode == "conditional":
            return self.conditional(each)
        if opcode in ("call", "async"):
            return self.calls(each.called("to_apply", "calls", "called_computations"))
        if opcode in COLLECTIVES:
            return self.collective(within, each)
        if opcode == "custom-call":
            return self.library(within, each)
        if opcode == "fusion":
            return self.fusion(within, each)
        return self.alone(within, each)

    # --- control ---

    def calls(self, names: Iterable[str], *, turns: bool = False) -> Estimate:
        total = Estimate()
        for name in names:
            if name in self.module.computations:
                total.add(self.computation(name, turns=turns))
        return total

    def loop(self, within: hlo.Computation, each: hlo.Instruction) -> Estimate:
        total = Estimate()
        body = self.calls(each.called("body"), turns=True)
        trips = hlo_loops.trips(self.module, within, each)
        if trips is None:
            total.unknown["loops of unknown length"] += 1
        total.add(body, 1 if trips is None else trips)
        # XLA for GPUs counts on the host where it has noted the length (WhileThunk), and else asks the condition each turn.
        if each.trips is None:
            turn = Estimate()
            turn.add(self.calls(each.called("condition")))
            turn.spend("waits", self.rates.wait)
            total.add(turn, 1 if trips is None else trips + 1)
        return total

    def conditional(self, each: hlo.Instruction) -> Estimate:
        """The slowest branch, and the host's wait for which it is."""
        names = each.called("branch_computations", "true_computation", "false_computation")
        branches = [self.calls([name]) for name in names]
        total = Estimate()
        if branches:
            total.add(max(branches, key=lambda branch: branch.seconds))
        total.spend("waits", self.rates.wait)
        return total

    # --- kernels ---

    def kernel(self, kind: str, seconds: float, moved: float, launches: int = 1) -> Estimate:
        made = Estimate(kernels=launches, bytes=moved)
        made.spend("launches", launches * self.rates.launch)
        made.spend(kind, seconds)
        return made

    def alone(self, within: hlo.Computation, each: hlo.Instruction) -> Estimate:
        """An instruction outside of fusions."""
        operands = within.operands(each)
        if each.opcode in ("dot", "convolution"):
            return self.product(each, operands)
        if each.opcode == "sort":
            return self.sort(each, operands)
        if self.to_host(each, operands):
            size = sum(array.size for array in each.arrays[:1])
            return self.kernel("host", size / self.rates.host_link, size)
        read = self.moved(operands)
        written = self.size(each)
        if each.opcode == "copy-start":
            written = self.arrays_size(each.arrays[:1])
        elif each.opcode == "slice-start":
            # Its results are the operand, what is cut out, and a context.
            written = self.arrays_size(each.arrays[1:2])
            read = min(read, sum(array.size for array in each.arrays[1:2]))
        elif each.opcode in SLICES:
            read = min(read, written)
        elif each.opcode in IN_PLACE:
            read = written = self.moved(operands[1:])
        steps = self.steps_of(within, each)
        if each.opcode == "fft":
            # A pass over memory for each dimension, the first of which reads what is there.
            passes = max(1, len(each.numbers("fft_length")))
            read, written = passes * read, passes * written
            steps = (
                5.0 * each.elements * math.log2(max(2, each.elements))
            )  # the usual count of a transform's operations
        elif each.opcode in ("cholesky", "triangular-solve") and each.arrays[0].dims:
            steps = float(each.elements * each.arrays[0].dims[-1])
        part = read / max(1.0, self.moved(operands))
        felt = self.felt(each, self.reads(operands, part), written, whole=each.opcode not in IN_PLACE)
        seconds = max(felt / self.rates.bandwidth, steps / self.rates.scalar)
        # What is fetched ahead, into a TPU's vector memory or out of it, takes bandwidth from the kernels beside it, and has no pipeline to fill.
        ahead = not self.gpu and each.opcode in ("copy-start", "slice-start")
        return self.kernel("other", seconds, read + written, launches=0 if ahead else 1)

    def to_host(self, each: hlo.Instruction, operands: list[hlo.Instruction]) -> bool:
        spaces = {array.space for one in (each, *operands) for array in one.arrays}
        return each.opcode in ("copy", "copy-start") and 5 in spaces

    def arrays_size(self, arrays: Iterable[hlo.Array]) -> float:
        """Bytes of those that lie in the device's memory: what a TPU holds in its vector memory moves no further."""
        return float(sum(array.size for array in arrays if array.space != 1))

    def size(self, each: hlo.Instruction) -> float:
        return self.arrays_size(each.arrays)

    def reads(self, operands: list[hlo.Instruction], part: float = 1.0) -> list[tuple[hlo.Instruction, float]]:
        """Operands, each once, and the bytes of them that are read if it is so much of each."""
        return [(operand, part * self.size(operand)) for operand in {operand.name: operand for operand in operands}.values()]

    def moved(self, operands: list[hlo.Instruction]) -> float:
        """Bytes of all of the operands, each once."""
        return sum(size for _, size in self.reads(operands))

    def product(self, each: hlo.Instruction, operands: list[hlo.Instruction]) -> Estimate:
        """One by a library, whose results but the first are workspace."""
        operations = product_operations(each, operands)
        written = self.arrays_size(each.arrays[:1])
        moving = self.felt(each, self.reads(operands), written) / self.rates.bandwidth
        multiplying = self.multiplying(each, operands, operations or 0.0)
        # What convolutions take to start was not measured.
        starting = 0.0 if each.text("dim_labels") else self.rates.product
        made = self.kernel("products", self.both(moving, multiplying) + starting, self.moved(operands) + written)
        made.operations = operations or 0.0
        if operations is None:
            made.unknown["products of unknown size"] += 1
        return made

    def multiplying(self, each: hlo.Instruction, operands: list[hlo.Instruction], operations: float) -> float:
        """Seconds of a product's operations."""
        if not operations:
            return 0.0
        left, right = (operand.arrays[0] for operand in operands[:2])
        seconds = operations / rate_of(each, left, self.rates)
        across = self.gpu and left.element == "f32" and not each.text("dim_labels") and lies_across(each, left, right)
        if not across:
            return seconds
        contracted = operations / 2 / max(1, each.arrays[0].elements)
        return seconds / (TRANSPOSED if contracted >= SHORT else TRANSPOSED_SHORT)

    def both(self, moving: float, multiplying: float) -> float:
        """A product that takes so long for either."""
        return max(moving, multiplying) + (BESIDE_PRODUCT * min(moving, multiplying) if self.gpu else 0.0)

    def sort(self, each: hlo.Instruction, operands: list[hlo.Instruction]) -> Estimate:
        along = each.numbers("dimensions")
        dims = each.arrays[0].dims
        length = dims[along[0]] if along and along[0] < len(dims) else max(dims, default=1)
        stages = math.ceil(math.log2(max(2, length)))
        moved = self.moved(operands) + self.size(each)
        # A network of stages * (stages + 1) / 2 steps, each of which looks at every element.
        # Keys are compared; what goes along is moved.
        sorted_elements = each.arrays[0].elements if self.gpu else each.elements
        steps = sorted_elements * stages * (stages + 1) / 2 * (SORT_STEPS if self.gpu else 1.0)
        passes = 1
        if self.gpu:
            within_tile = int(math.log2(SORT_TILE))
            # Of a stage beyond a tile: the steps that reach beyond it, one by one, and the rest at once.
            passes += sum(stage - within_tile + 2 for stage in range(within_tile, stages))
        seconds = passes * max(moved / self.rates.bandwidth, steps / passes / self.rates.scalar)
        return self.kernel("sorts", seconds, passes * moved, passes)

    # --- fusions ---

    def steps_of(self, within: hlo.Computation, each: hlo.Instruction) -> float:
        if not computes(each):
            return 0.0
        if each.opcode in ("reduce", "reduce-window", "scatter"):
            operands = within.operands(each)
            if each.opcode == "scatter":
                return float(operands[-1].elements) * max(1, len(operands) // 2)
            return float(max((one.elements for one in operands), default=0)) * max(1, len(operands) // 2)
        return each.elements * arithmetic.steps(each)

    def written_out(self, name: str) -> hlo.Computation:
        """A fusion's body, or what one calls, with the fusions inside it written out."""
        return hlo.inlined(self.module, self.module.computations[name])

    def traffic(self, computation: hlo.Computation) -> Traffic:
        """What a fusion touches, by what it asks of its parameters."""
        share = shares(computation)
        read = steps = 0.0
        of: dict[int, float] = {}
        for each in computation:
            part = share.get(each.name, 0.0)
            if each.opcode == "parameter":
                read += part * self.size(each)
                of[int(each.argument)] = part * self.size(each)
            elif each.opcode == "call":
                inner = [self.traffic(self.written_out(name)) for name in each.called("to_apply")]
                steps += part * sum(one.steps for one in inner)
            else:
                steps += part * self.steps_of(computation, each)
        root = computation.root
        written, whole = 0.0, True
        for made in computation.operands(root) if root.opcode == "tuple" else [root]:
            update = in_place(computation, made)
            whole = whole and update is None
            if update is None:
                written += self.size(made)
                continue
            operands = computation.operands(update)
            if update.opcode == "dynamic-update-slice":
                written += sum(one.size for one in operands[1:2])
            else:
                # A scatter reads what it adds to, which is no more than there is.
                count = max(1, len(operands) // 2)
                written += 2 * sum(min(pair[0].size, pair[1].size) for pair in zip(operands, operands[-count:]))
        return Traffic(read, written, steps, of, whole)

    def sorts_in(self, computation: hlo.Computation) -> list[hlo.Instruction]:
        return [each for each in computation if each.opcode == "sort"]

    def products_in(self, computation: hlo.Computation) -> list[tuple[hlo.Computation, hlo.Instruction]]:
        found = []
        for each in computation:
            if each.opcode in ("dot", "convolution", "scaled-dot"):
                found.append((computation, each))
            elif each.opcode == "call":
                for name in each.called("to_apply"):
                    found += self.products_in(self.written_out(name))
        return found

    def fusion(self, within: hlo.Computation, each: hlo.Instruction) -> Estimate:
        names = [name for name in each.called("calls") if name in self.module.computations]
        if not names:
            made = self.kernel(
                "other", (self.moved(within.operands(each)) + self.size(each)) / self.rates.bandwidth, 0.0
            )
            made.unknown["fusions without a body"] += 1
            return made
        computation = self.written_out(names[0])
        traffic = self.traffic(computation)
        # Vector memory is not seen from within a fusion: parameters have no space there.
        near = sum(array.size for one in within.operands(each) for array in one.arrays if array.space == 1)
        near_out = sum(array.size for array in each.arrays if array.space == 1)
        moved = max(0.0, traffic.read - near) + max(0.0, traffic.written - near_out)
        if sorts := self.sorts_in(computation):
            total = Estimate()
            for sort in sorts:
                total.add(self.sort(sort, computation.operands(sort)))
            return total
        products = self.products_in(computation)
        if not self.gpu:
            roofline = max(moved / self.rates.bandwidth, traffic.steps / self.rates.scalar)
            return self.fused_products(products, moved, roofline) if products else self.kernel("fusions", roofline, moved)
        operands = within.operands(each)
        reads = [(operands[number], size) for number, size in traffic.of.items() if number < len(operands)]
        felt = self.felt(each, reads, traffic.written, whole=traffic.whole) / self.rates.bandwidth
        if products:
            return self.fused_products(products, moved, felt)
        by_triton = '"kind":"__triton' in each.attributes
        # By Triton a tile is made of tiles, each of them once.
        asked = {one.name: float(one.elements) for one in computation} if by_triton else evaluations(computation)
        moving = max(felt + self.gathers(computation, asked), self.columns(computation, traffic, felt * self.rates.bandwidth))
        computing = self.arithmetic(computation, asked, by_triton=by_triton)
        seconds = max(moving, computing) + BESIDE * min(moving, computing)
        if by_triton:
            return self.kernel("triton", self.in_tiles(computation, each, seconds), moved)
        return self.kernel("fusions", max(seconds, self.atomics(computation)), moved)

    def in_tiles(self, computation: hlo.Computation, each: hlo.Instruction, seconds: float) -> float:
        """What a fusion by Triton takes, by its tiles: a block of threads for each."""
        noted = re.search(r'"output_tiles":\[\{"sizes":\[([^\]]*)\]', each.attributes)
        sizes = [int(size) for size in re.findall(r"\d+", noted[1])] if noted else []
        if not sizes or not each.arrays or len(sizes) != len(each.arrays[0].dims):
            return seconds
        blocks = math.prod(-(-size // tile) for size, tile in zip(each.arrays[0].dims, sizes, strict=True))
        repeated = [one for one in computation if one.opcode == "broadcast" and one.arrays[0].dims == each.arrays[0].dims]
        masks = [one for one in repeated if computation.operands(one)[0].opcode == "compare"]
        if any(self.shares_row(mask, sizes) for mask in masks):
            seconds *= SHARED_MASK
        return max(seconds, blocks / BLOCKS)

    def shares_row(self, mask: hlo.Instruction, tile: list[int]) -> bool:
        """Whether a tile has one row of what a mask is a broadcast of, for several of its own."""
        own = mask.numbers("dimensions")
        rows = math.prod(size for dim, size in enumerate(tile) if dim not in own)
        return len(own) > 1 and tile[own[-2]] == 1 and rows >= SHARED_MASK_ROWS

    def columns(self, computation: hlo.Computation, traffic: Traffic, felt: float) -> float:
        """Seconds that a reduction of columns takes with the blocks that it has: each of some columns, and all of their rows. What else a fusion
        stores is made by the same blocks."""
        root = computation.root
        made = computation.operands(root) if root.opcode == "tuple" else [root]
        blocks = [found for one in made if (found := self.column_blocks(computation, one, traffic))]
        if not blocks:
            return 0.0
        near = min(traffic.read, (traffic.read + traffic.written - felt) / (1 - 1 / CACHED))
        return (near / COLUMN_NEAR + (traffic.read - near) / COLUMN_FAR) / min(blocks)

    def column_blocks(self, computation: hlo.Computation, made: hlo.Instruction, traffic: Traffic) -> float:
        """Blocks of a reduction of columns, if that is what is made, or what that is made of, element by element."""
        while made.opcode != "reduce":
            before = [one for one in computation.operands(made) if one.elements == made.elements and one.opcode not in GIVEN]
            if len(before) != 1:
                return 0.0
            made = before[0]
        taken = computation.operands(made)[0]
        over = made.numbers("dimensions")
        rank = len(taken.arrays[0].dims)
        if rank - 1 in over or traffic.read < taken.elements:
            return 0.0
        return max(1.0, made.elements * (traffic.read / taken.elements) / COLUMN_BYTES)

    def arithmetic(self, computation: hlo.Computation, asked: dict[str, float], *, by_triton: bool) -> float:
        """Seconds of a fusion's operations, each as often as it is asked for, and of what a reduction loads, element by element but by Triton."""
        steps = 0.0
        loads = not by_triton and any(each.opcode == "reduce" for each in computation)
        for each in computation:
            if each.opcode == "parameter" and loads and each.elements > 1:
                steps += LOAD_STEPS * asked[each.name]
            elif each.opcode in ("reduce", "reduce-window"):
                taken = max((one.elements for one in computation.operands(each)), default=0)
                steps += taken * (self.reducer(each) + (0.0 if by_triton else arithmetic.LOOP_STEPS))
            elif each.opcode == "call":
                inner = (self.traffic(self.written_out(name)).steps for name in each.called("to_apply"))
                steps += sum(inner) * asked[each.name] / max(1, each.elements)
            elif computes(each):
                steps += asked[each.name] * arithmetic.steps(each)
        root = computation.root
        stored = computation.operands(root) if root.opcode == "tuple" else [root]
        steps += arithmetic.LOOP_STEPS * max((asked[one.name] for one in stored), default=0)
        return steps / self.rates.scalar

    def reducer(self, each: hlo.Instruction) -> float:
        """Steps of what joins two elements."""
        bodies = [self.module.computations[name] for name in each.called("to_apply") if name in self.module.computations]
        return sum(arithmetic.steps(one) for body in bodies for one in body if computes(one))

    def gathers(self, computation: hlo.Computation, asked: dict[str, float]) -> float:
        """Seconds of a fusion's gathers, beside what it reads of a table once: rows by chance, a sector of each at least."""
        seconds = 0.0
        for each in computation:
            if each.opcode != "gather":
                continue
            table = computation.operands(each)[0].arrays[0]
            row = math.prod(each.numbers("slice_sizes")) or 1
            rows = asked[each.name] / row
            width = row * hlo.bits_of(table.element) / 8
            if table.size <= self.rates.cache:
                seconds += rows * max(SECTOR / 2, width) / (CACHED * self.rates.bandwidth)
            else:
                # Once is read already.
                seconds += max(0.0, rows * max(SECTOR, width) - min(table.size, rows * width)) / self.rates.bandwidth
        return seconds

    def atomics(self, computation: hlo.Computation) -> float:
        """Seconds that a fusion's scatter takes to add to what it changes: each place takes one update after another, the cache so many of
        any, and of what does not fit there memory reads and writes a sector for each."""
        update = in_place(computation, computation.root)
        if update is None or update.opcode != "scatter":
            return 0.0
        operands = computation.operands(update)
        into, updates = operands[0], operands[-1]
        array = into.arrays[0]
        row = max(1, updates.elements // max(1, operands[len(operands) // 2].elements))
        width = hlo.bits_of(array.element) / 8
        runs = updates.elements / min(row, ATOMIC_RUN if width >= 4 else ATOMIC_RUN // 2)
        seconds = runs / min(self.rates.atomics, into.elements * ATOMICS_OF_PLACE)
        if array.size > self.rates.cache:
            lines = updates.elements / row * max(SECTOR, row * width)
            seconds = max(seconds, 2 * lines / self.rates.bandwidth)
        return seconds

    def fused_products(self, products: list[tuple[hlo.Computation, hlo.Instruction]], moved: float, moving: float) -> Estimate:
        made = self.kernel("products", 0.0, moved)
        seconds = 0.0
        for computation, product in products:
            operands = computation.operands(product)
            operations = product_operations(product, operands)
            if operations is None:
                made.unknown["products of unknown size"] += 1
                continue
            made.operations += operations
            seconds += self.multiplying(product, operands, operations)
        made.spend("products", self.both(moving, seconds) + self.rates.product)
        return made

    # --- libraries and other devices ---

    def library(self, within: hlo.Computation, each: hlo.Instruction) -> Estimate:
        """A custom call, by its target's name."""
        call = each.text("custom_call_target") or ""
        operands = within.operands(each)
        # Second results of libraries are workspace.
        moved = self.moved(operands) + self.arrays_size(each.arrays[:1])
        if NOTES.search(call):
            return Estimate()
        if known := next((known for name, known in FACTORIZATIONS.items() if name in call), None):
            return self.factorization(each, operands, *known)
        if "cublas" in call or "cudnn$conv" in call or "$conv" in call:
            return self.product(each, operands)
        if "RadixSort" in call or "cub_sort" in call:
            keys = operands[0].arrays[0] if operands and operands[0].arrays else None
            passes = -(-hlo.bits_of(keys.element) // RADIX_BITS) if keys else 1
            moved = self.moved(operands)
            # A pass reads and writes all; a histogram of the keys comes first.
            moved *= 2 * passes + 1
            return self.kernel("sorts", moved / (RADIX * self.rates.bandwidth) + RADIX_START, moved, passes + 1)
        if "TopK" in call and self.gpu:
            return self.kernel("libraries", operands[0].elements / TOP_K, moved)
        # X64: a TPU has the halves of 64-bit arrays apart.
        if re.search("TopK|threefry|X64", call):
            return self.kernel("libraries", moved / self.rates.bandwidth, moved)
        felt = self.felt(each, self.reads(operands), self.arrays_size(each.arrays[:1]))
        made = self.kernel("libraries", felt / self.rates.bandwidth, moved)
        made.unknown[f"library call {call}"] += 1
        return made

    def factorization(self, each: hlo.Instruction, operands: list[hlo.Instruction], factor: float, column: float) -> Estimate:
        """A factorization or solution of square matrices: its operations, and a chain of panels, each some kernels; on a GPU a chain of
        columns."""
        matrix = operands[0].arrays[0]
        size = min(matrix.dims[-2:], default=1)
        width = (
            each.arrays[0].dims[-1]
            if "triangularSolve" in (each.text("custom_call_target") or "") and each.arrays[0].dims
            else size
        )
        batch = matrix.elements / max(1, math.prod(matrix.dims[-2:]))
        operations = factor * batch * size * size * width
        moved = self.moved(operands) + self.arrays_size(each.arrays[:1])
        seconds = max(operations / rate_of(EXACT, matrix, self.rates), moved / self.rates.bandwidth)
        if self.gpu:
            seconds += TOGETHER_COLUMN * size if size <= TOGETHER else batch * size * column
        made = self.kernel("libraries", seconds, moved, PANEL_KERNELS * -(-size // PANEL))
        made.operations = operations
        return made

    def collective(self, within: hlo.Computation, each: hlo.Instruction) -> Estimate:
        """Bytes that a device receives, over its link; a ring's count."""
        opcode = each.opcode.removesuffix("-start")
        sent = self.moved(within.operands(each))
        group = group_size(each.attributes)
        others = (group - 1) / group if group > 1 else 1.0
        handed = {
            "all-gather": sent * max(1, group - 1),
            "all-reduce": 2 * sent * others,
            "collective-permute": sent,
            "collective-broadcast": sent,
        }.get(opcode, sent * others)
        made = self.kernel("collectives", handed / self.rates.link + self.rates.exchange, sent)
        return made


def group_size(attributes: str) -> int:
    """How many devices take part in each of a collective's groups: of {{0,1},{2,3}}, of [2,2]<=[4], and of
    mesh['a'=2,'b'=2] {'b'} two. A part of an axis is written 'b':(1)2."""
    listed = re.search(r"replica_groups=\{\{([\d,]*)\}", attributes)
    if listed:
        return max(1, len(listed[1].split(",")))
    counted = re.search(r"replica_groups=\[\d+,(\d+)\]", attributes)
    if counted:
        return int(counted[1])
    of_mesh = re.search(r"replica_groups=mesh\[([^\]]*)\][^{]*\{([^}]*)\}", attributes)
    if not of_mesh:
        return 1
    sizes = dict(re.findall(r"'([^']+)'=(\d+)", of_mesh[1]))
    axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", of_mesh[2])
    return math.prod(int(part or sizes[axis]) for axis, part in axes)
