# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What modules can be compiled for, by name, and how fast each is: the one place of these figures.

`find("h100")` is a target, `compile_text(text, target)` a compiled module for it, `missing(target)` why that cannot be here.
No device is needed: XLA for NVIDIA GPUs compiles from a description, XLA for TPUs from the name of a topology.
Rates are what hlo_time.py adds up; `cargo xtask bench calibrate` holds them against a GPU.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jax._src.lib import xla_client

MOST_DEVICES = 8
"""A module may be partitioned over this many: a board of GPUs, and the virtual devices of a CPU."""


@dataclasses.dataclass(frozen=True)
class Rates:
    """What a device does in a second, and what it takes besides."""

    bandwidth: float
    """Bytes per second between memory and cores."""
    scalar: float
    """Elementwise operations on f32 per second."""
    products: dict[str, float]
    """Operations of products of matrices per second, by the elements' type: what large ones reach."""
    link: float
    """Bytes per second to other devices, in one direction."""
    host_link: float
    """Bytes per second to the host's memory, in one direction."""
    launch: float = 0.0
    """Seconds that a kernel takes beyond its work, launched after another."""
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
    costs: bool = True
    """Whether XLA can say what kernels take: its tables for products have no entry for some chips, and compiling then fails."""


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
    costs=False,
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
# raised; "f32 exact" is what they then use.
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

SHARE_OF_PEAK = 0.5
"""Of the peak, what products of a few thousand rows reach under power limits. An assumption between what Triton's and cuBLAS's
products are reported to reach on an H100 (450 to 700 of 989e12 in bf16); calibrate says what a chip does."""
LAUNCH = 2.5e-6
"""A kernel after another on an H100: 2 to 3 microseconds, as seen with kernels launched one by one on a stream."""
WAIT = 10e-6
"""Copying a byte to the host and waiting for it. An assumption, from the latency of a small transfer over PCIe; see calibrate."""
EXCHANGE = 10e-6
"""Start of an NCCL collective between GPUs of a board. An assumption, from latencies that nccl-tests print for 8 bytes."""


def gpu(name: str, chip: Gpu) -> Target:
    products = {kind: SHARE_OF_PEAK * rate for kind, rate in PEAK[name].items()}
    rates = Rates(
        bandwidth=float(chip.memory_bandwidth),
        scalar=chip.core_count * chip.fpus_per_core * chip.clock_rate_ghz * 1e9,
        products=products,
        link=LINK[name],
        host_link=HOST_LINK[name],
        launch=LAUNCH,
        wait=WAIT,
        exchange=EXCHANGE,
    )
    return Target(name, "xla_gpu", "cuda", rates, chip)


# --- TPUs and CPUs ------------------------------------------------------------------------------------------------

# A v5p chip, from Google's page of TPU v5p: 459e12 operations on bf16 and 918e12 on s8 a second, 2,765 GB/s of HBM, 4,800 Gbit/s
# to its neighbours, in both directions. A product of f32 takes three passes of bf16 or more. Elementwise: 8 times 128 lanes, two
# cores of 4 units each at 1.75 GHz. Programs run as one: a step has no cost of launching but that of filling its pipeline.
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
    exchange=2e-6,
)

# Two cores of a server at 3 GHz with vectors of 8 f32 and two multiply-adds a cycle (AVX2), and two channels of DDR4-3200
# (JEDEC JESD79-4: 25.6 GB/s each). Collectives are copies in memory.
CPU = Rates(
    bandwidth=51.2e9,
    scalar=2 * 8 * 3e9,
    products={"f64": 96e9, "f32": 192e9, "f32 exact": 192e9, "bf16": 96e9, "f16": 96e9, "s8": 96e9, "f8": 48e9},
    link=25.6e9,
    host_link=51.2e9,
    launch=1e-7,
    exchange=1e-6,
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
