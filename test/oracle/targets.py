# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What modules can be compiled for, by name, and how fast each is: the one place of these figures.

`find("h100")` is a target, `compile_text(text, target)` a compiled module for it, `missing(target)` why that cannot be here.
No device is needed: XLA for NVIDIA GPUs compiles from a description, XLA for TPUs from the name of a topology.
Rates are what hlo_time.py adds up; `cargo xtask bench calibrate` holds them against a GPU.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax._src.lib import xla_client

MOST_DEVICES = 8
"""A module may be partitioned over this many: a board of GPUs, and the virtual devices of a CPU."""


@dataclasses.dataclass(frozen=True)
class Rates:
    """What a device does in a second, and what it takes besides."""

    bandwidth: float
    """Bytes per second between memory and cores, as kernels reach."""
    scalar: float
    """Elementwise operations on f32 per second."""
    products: dict[str, float]
    """Operations of products of matrices per second, by the elements' type: what large ones reach."""
    link: float
    """Bytes per second to other devices, in one direction."""
    host_link: float
    """Bytes per second to the host's memory, in one direction."""
    launch: float = 0.0
    """Seconds that a kernel takes beyond its work, launched after another,"""
    launch_in_graph: float = 0.0
    """and in a graph of several."""
    product: float = 0.0
    """Seconds that a product takes besides, until its first tiles are there and its last ones stored."""
    atomics: float = math.inf
    """Additions to memory per second, of several threads to any place."""
    cache: float = math.inf
    """Bytes of the cache that all cores share."""
    wait: float = 0.0
    """Seconds in which the host learns of a value on the device: of a predicate, between turns of a loop of unknown length."""
    exchange: float = 0.0
    """Seconds that a collective takes beyond its bytes."""


@dataclasses.dataclass(frozen=True)
class Gpu:
    """A chip as XLA's device description states it; names and units are those of stream_executor's DeviceDescriptionProto."""

    name: str
    capability: tuple[int, int]
    core_count: int
    fpus_per_core: int
    clock_rate_ghz: float
    memory_bandwidth: int
    device_memory_size: int
    l2_cache_size: int
    shared_memory_per_core: int
    shared_memory_per_block_optin: int


@dataclasses.dataclass(frozen=True)
class Target:
    """Something that XLA compiles for."""

    name: str
    backend: str
    """The module of this folder that compiles for it."""
    platform: str
    """What JAX lowers for."""
    rates: Rates
    chip: Gpu | str | None = None
    """What the back end is told: a GPU's description, a TPU's generation."""

    @property
    def kind(self) -> str:
        return self.backend.removeprefix("xla_")


# --- NVIDIA GPUs --------------------------------------------------------------------------------------------------

# Descriptions: XLA's own, in xla/backends/gpu/target_config/specs: h100_sxm.txtpb, a100_sxm_80.txtpb and b200.txtpb.
H100 = Gpu(
    name="NVIDIA H100 80GB HBM3",
    capability=(9, 0),
    core_count=132,
    fpus_per_core=128,
    clock_rate_ghz=1.98,
    memory_bandwidth=3_352_320_000_000,
    device_memory_size=84_942_979_072,
    l2_cache_size=52_428_800,
    shared_memory_per_core=233_472,
    shared_memory_per_block_optin=232_448,
)
A100 = Gpu(
    name="NVIDIA A100-SXM4-80GB",
    capability=(8, 0),
    core_count=108,
    fpus_per_core=64,
    clock_rate_ghz=1.41,
    memory_bandwidth=2_039_040_000_000,
    device_memory_size=85_100_068_864,
    l2_cache_size=41_943_040,
    shared_memory_per_core=167_936,
    shared_memory_per_block_optin=166_912,
)
B200 = Gpu(
    name="NVIDIA B200",
    capability=(10, 0),
    core_count=148,
    fpus_per_core=128,
    clock_rate_ghz=1.965,
    memory_bandwidth=7_672_320_000_000,
    device_memory_size=191_514_411_008,
    l2_cache_size=132_644_864,
    shared_memory_per_core=233_472,
    shared_memory_per_block_optin=232_448,
)

# Peak operations per second on dense matrices, NVIDIA's data sheets (which for tensor cores name those with sparsity, twice as
# many): H100 SXM, A100 80GB SXM, and a GPU of HGX B200. f32 is TF32, which XLA's products of f32 use unless their precision is
# raised (the PTX that XLA makes of one has mma.sync...tf32, and at the highest precision fma.rn.f32); "f32 exact" is for the latter.
PEAK = {
    "h100": {
        "f8": 1979e12,
        "s8": 1979e12,
        "bf16": 989e12,
        "f16": 989e12,
        "f32": 494e12,
        "f32 exact": 67e12,
        "f64": 67e12,
    },
    "a100": {
        "f8": 312e12,
        "s8": 624e12,
        "bf16": 312e12,
        "f16": 312e12,
        "f32": 156e12,
        "f32 exact": 19.5e12,
        "f64": 19.5e12,
    },
    "b200": {
        "f8": 4500e12,
        "s8": 4500e12,
        "bf16": 2250e12,
        "f16": 2250e12,
        "f32": 1100e12,
        "f32 exact": 75e12,
        "f64": 37e12,
    },
}
# NVLink of the same data sheets: 900, 600 and 1,800 GB/s, both directions together; PCIe 5, 4 and 5 with 16 lanes, one direction.
LINK = {"h100": 450e9, "a100": 300e9, "b200": 900e9}
HOST_LINK = {"h100": 64e9, "a100": 32e9, "b200": 64e9}

# Measured on an H100 (80 GB HBM3, 700 W, driver 580), by `cargo xtask bench calibrate`; taken to be the same share on others.
SHARE_OF_PEAK = 0.8
"""Of the peak, what products of a few thousand rows reach: 796 of 989e12 in bf16 and 413 of 494e12 in f32, of 8192 rows and columns."""
REACHED = 0.89
"""Of the bandwidth: 3.0e12 of 3.35e12, of f32, to which one is added; sums, transposes and softmax reach from 2.7 to 2.9e12."""
LAUNCH = 3.1e-6
"""A kernel after another, launched one by one: a turn of a loop of two takes 6.2 microseconds."""
LAUNCH_IN_GRAPH = 1.0e-6
"""In a CUDA graph: 160 kernels over next to nothing take 156 microseconds, and 4,250 in a loop of graphs 4,470."""
PRODUCT = 3e-6
"""Besides. Of products by Triton that take less than 60 us: the median of 110 is 4 if all that they read is taken to be in memory, and those in tiles
that the second cache holds take 2 (traces of attention in tiles of 4 to 64 MiB); between them both are estimated best."""
ATOMICS = 78e9
"""Single f32 added by chance to 8 MiB, per second (gather_vjp_i32)."""
WAIT = 10e-6
"""Copying a byte to the host and waiting for it: a turn of a loop whose length nobody knows takes 10 microseconds besides three kernels."""
EXCHANGE = 10e-6
"""Start of an NCCL collective between GPUs of a board. An assumption, from latencies that nccl-tests print for 8 bytes."""


def gpu(name: str, chip: Gpu) -> Target:
    products = {kind: SHARE_OF_PEAK * rate for kind, rate in PEAK[name].items()}
    rates = Rates(
        bandwidth=REACHED * chip.memory_bandwidth,
        scalar=chip.core_count * chip.fpus_per_core * chip.clock_rate_ghz * 1e9,
        products=products,
        link=LINK[name],
        host_link=HOST_LINK[name],
        launch=LAUNCH,
        launch_in_graph=LAUNCH_IN_GRAPH,
        product=PRODUCT,
        atomics=ATOMICS * chip.memory_bandwidth / H100.memory_bandwidth,
        cache=chip.l2_cache_size,
        wait=WAIT,
        exchange=EXCHANGE,
    )
    return Target(name, "xla_gpu", "cuda", rates, chip)


# --- TPUs and CPUs ------------------------------------------------------------------------------------------------

# A v5p chip, from Google's page of TPU v5p: 459e12 operations on bf16 and 918e12 on s8 a second, 2,765 GB/s of HBM, 4,800 Gbit/s
# to its neighbours, in both directions. A product of f32 is one pass of bf16 by default, six at the highest precision. Elementwise:
# 8 times 128 lanes, two cores of 4 units each at 1.75 GHz. A program runs as one: a step costs no launch, but filling its pipeline;
# half a microsecond for that is an assumption. XLA for TPUs notes `estimated_cycles` of most fusions; they are not taken, since
# nothing says whether they are of one core or both, and copies and loops have none.
V5P = Rates(
    bandwidth=2765e9,
    scalar=2 * 4 * 8 * 128 * 1.75e9,
    products={
        "s8": 0.5 * 918e12,
        "f8": 0.5 * 459e12,
        "bf16": 0.5 * 459e12,
        "f32": 0.5 * 459e12,
        "f32 exact": 0.5 * 459e12 / 6,
    },
    link=300e9,
    host_link=32e9,
    launch=0.5e-6,
    launch_in_graph=0.5e-6,
    exchange=2e-6,
)

# Two shared cores of a server with AVX-512, as `calibrate.py --target cpu` measured them: results lie in pages that are made anew,
# which is why so few bytes move; elementwise code is what XLA's CPU back end makes, with special functions and scatters at one element
# after another. Collectives are copies in memory.
CPU = Rates(
    bandwidth=6e9,
    scalar=3e9,
    products={"f64": 100e9, "f32": 180e9, "f32 exact": 180e9, "bf16": 180e9, "f16": 150e9, "s8": 50e9, "f8": 50e9},
    link=6e9,
    host_link=6e9,
    launch=1.3e-6,
    launch_in_graph=1.3e-6,
    exchange=1e-5,
)

TARGETS = {
    target.name: target
    for target in (
        gpu("h100", H100),
        gpu("a100", A100),
        gpu("b200", B200),
        Target("v5p", "xla_tpu", "tpu", V5P, "v5p"),
        Target("xla-cpu", "xla_cpu", "cpu", CPU),
    )
}
ALIASES = {"gpu": "h100", "xla-gpu": "h100", "tpu": "v5p", "xla-tpu": "v5p", "cpu": "xla-cpu"}
NAMES = (*ALIASES, *TARGETS)


def find(name: str) -> Target:
    """The target of this name; raises ValueError if there is none. What is no chip's name means its first: gpu is an H100."""
    known = TARGETS.get(ALIASES.get(name, name))
    if known is None:
        raise ValueError(f"no target {name}; there are {', '.join(NAMES)}")
    return known


def missing(target: Target) -> str | None:
    """Why nothing can be compiled for it here, or None."""
    return importlib.import_module(target.backend).missing()


def compile_text(text: str, target: Target, flags: dict[str, str] | None = None) -> xla_client.Executable:
    """A module compiled for as many devices as it says it wants; `flags` are XLA's, for this module only."""
    import jaxlib_ir

    back_end = importlib.import_module(target.backend)
    return back_end.compile_module(jaxlib_ir.parse(text), flags, target.chip)
