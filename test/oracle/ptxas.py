# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""NVIDIA's assembler on the code of kernels: the reference programs at full size, and a program for each kind of kernel.

    python test/oracle/ptxas.py --slimhlo target/debug/slimhlo

Each program is compiled for sm_80, sm_90 and sm_100 (`slimhlo compile --emit ptx`), and what comes of it is assembled by ptxas,
from PyPI (assembler-requirements.txt) or the PATH. Of the reference programs, no variable may be in local memory,
and loads and stores of 16 bytes have to be among those of the programs that say so. Nothing is run: no GPU is needed.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable

import programs  # first: it sets the flags with which JAX starts
from workers import Lost, map_items

import jax
import jax.numpy as jnp
from jax import lax

CHIPS = ("sm_80", "sm_90", "sm_100")
SECONDS = 240.0
# Several devices, or so large that compiling them shows nothing more.
LEFT_OUT = re.compile(r"spmd|shard_map|train16|train4|transformer|decoder")
TRIGONOMETRIC = re.compile(r"stablehlo\.(sine|cosine|tan) ")
VECTORS = ("halo_ew", "pads_sum", "zeros_dus_chain", "elementwise", "reduce all", "reduce rows")


def f32(*shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def of(dtype: object, *shape: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def max_pool(x: jax.Array) -> jax.Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


KINDS: dict[str, tuple[Callable, tuple]] = {
    "elementwise": (lambda x, y: jnp.sin(x) * y + 1, (f32(1 << 22), f32(1 << 22))),
    "bf16": (lambda x, y: jnp.exp(x) / y, (of(jnp.bfloat16, 1 << 20), of(jnp.bfloat16, 1 << 20))),
    "f16": (lambda x: jnp.tanh(x), (of(jnp.float16, 1 << 20),)),
    "f64": (lambda x: jnp.log1p(x), (of(jnp.float64, 1 << 20),)),
    "complex": (lambda x: jnp.exp(x) * x, (of(jnp.complex64, 4096),)),
    "f8": (lambda x: x.astype(jnp.float8_e4m3fn).astype(jnp.float32), (f32(4096),)),
    "transpose": (lambda x: x.T + 1, (f32(512, 1024),)),
    "transpose bf16": (
        lambda x, y: x.swapaxes(1, 2) * y,
        (of(jnp.bfloat16, 8, 300, 500), of(jnp.bfloat16, 8, 500, 300)),
    ),
    "transpose complex": (jnp.transpose, (of(jnp.complex128, 300, 500),)),
    "reduce all": (jnp.sum, (f32(1 << 24),)),
    "reduce rows": (lambda x: jnp.max(x, axis=1), (f32(4096, 1024),)),
    "reduce columns": (lambda x: jnp.sum(x, axis=0), (f32(4096, 1024),)),
    "reduce bf16": (lambda x: jnp.sum(x, axis=1), (of(jnp.bfloat16, 4096, 1024),)),
    "argmax": (lambda x: jnp.argmax(x, axis=1), (f32(128, 1000),)),
    "softmax": (lambda x: jax.nn.softmax(x, axis=1), (f32(128, 1000),)),
    "sort": (lambda x: jnp.sort(x), (f32(100_000),)),
    "sort pairs": (lambda k, v: lax.sort((k, v), num_keys=1), (of(jnp.int32, 8, 1000), f32(8, 1000))),
    "cumsum": (lambda x: jnp.cumsum(x), (f32(10_000),)),
    "gather": (lambda x, i: x[i], (f32(1000, 64), of(jnp.int32, 5000))),
    "scatter add": (lambda x, i, u: x.at[i].add(u), (f32(1000, 64), of(jnp.int32, 5000), f32(5000, 64))),
    "histogram": (lambda x, i, u: x.at[i].add(u), (f32(100), of(jnp.int32, 1 << 20), f32(1 << 20))),
    "histogram max f64": (
        lambda x, i, u: x.at[i].max(u),
        (of(jnp.float64, 100), of(jnp.int32, 1 << 20), of(jnp.float64, 1 << 20)),
    ),
    "histogram of rows bf16": (
        lambda x, i, u: x.at[i].add(u),
        (of(jnp.bfloat16, 16, 128), of(jnp.int32, 5000), of(jnp.bfloat16, 5000, 128)),
    ),
    "histogram complex": (
        lambda x, i, u: x.at[i].add(u),
        (of(jnp.complex64, 100), of(jnp.int32, 1 << 20), of(jnp.complex64, 1 << 20)),
    ),
    "scatter max bf16": (
        lambda x, i, u: x.at[i].max(u),
        (of(jnp.bfloat16, 1000), of(jnp.int32, 5000), of(jnp.bfloat16, 5000)),
    ),
    "dot": (lambda x, y: x @ y, (f32(256, 512), f32(512, 128))),
    "dot bf16": (lambda x, y: x @ y, (of(jnp.bfloat16, 256, 512), of(jnp.bfloat16, 512, 128))),
    "convolution by tiles": (
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
        (of(jnp.bfloat16, 4, 32, 32, 16), of(jnp.bfloat16, 3, 3, 16, 64)),
    ),
    "convolution": (
        lambda x, w: lax.conv_general_dilated(x, w, (1, 1), "SAME"),
        (f32(4, 16, 32, 32), f32(8, 16, 3, 3)),
    ),
    "reduce_window": (max_pool, (f32(4, 64, 64, 8),)),
    "select_and_scatter": (jax.grad(lambda x: jnp.sum(max_pool(x))), (f32(4, 64, 64, 8),)),
    "rng": (lambda: jax.random.normal(jax.random.key(0), (1000,)), ()),
    "fft": (lambda x: jnp.fft.fft(x), (of(jnp.complex64, 16, 256),)),
    "while": (lambda x: lax.while_loop(lambda s: jnp.sum(s) < 1e6, lambda s: s * 2 + 1, x), (f32(1000),)),
    "case": (lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.tan], x), (of(jnp.int32), f32(1000))),
    "special functions": (lambda x: lax.lgamma(x) + lax.digamma(x) + lax.erf_inv(x), (f32(1000),)),
}

# For the CPU, JAX calls LAPACK.
CHOLESKY = """func.func @main(%a: tensor<32x32xf32>, %b: tensor<32x4xf32>) -> tensor<32x4xf32> {
  %l = stablehlo.cholesky %a, lower = true : tensor<32x32xf32>
  %x = "stablehlo.triangular_solve"(%l, %b) {left_side = true, lower = true, unit_diagonal = false,
      transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<32x32xf32>, tensor<32x4xf32>) -> tensor<32x4xf32>
  return %x : tensor<32x4xf32>
}
"""


@dataclasses.dataclass(frozen=True)
class Case:
    """A module, the commands, and what its code is to have."""

    name: str
    text: str
    slimhlo: str
    ptxas: str


def cases(slimhlo: str, ptxas: str) -> list[Case]:
    """All programs, lowered."""
    texts = {name: jax.jit(f).lower(*arguments).as_text() for name, (f, arguments) in KINDS.items()}
    texts["cholesky"] = CHOLESKY
    for name, program in programs.PROGRAMS.items():
        if not LEFT_OUT.search(name):
            texts[name] = program().as_text()
    return [Case(name, text, slimhlo, ptxas) for name, text in texts.items()]


def judge(case: Case) -> str:
    """What is wrong with a program's code; empty if nothing is."""
    with tempfile.TemporaryDirectory(prefix="slimhlo-ptxas-") as folder:
        module, ptx = pathlib.Path(folder, "in.mlir"), pathlib.Path(folder, "out.ptx")
        module.write_text(case.text)
        for chip in CHIPS:
            command = [case.slimhlo, "compile", str(module), "--emit", "ptx", "--quiet", "--chip", chip, "-o", str(ptx)]
            # libdevice is here, too.
            environment = {**os.environ, "VIRTUAL_ENV": sys.prefix}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if done.returncode:
                return f"{chip}: " + next((line for line in done.stderr.splitlines() if "error" in line), "no code")
            command = [case.ptxas, f"--gpu-name={chip}", str(ptx), "-o", str(ptx.with_suffix(".cubin"))]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"{chip}: {done.stderr.splitlines()[0]}"
            text = ptx.read_text()
            vectors = re.search(r"(ld|st)\.global(\.nc)?\.v(4\.[bf]32|2\.[bf]64)", text)
            if case.name in VECTORS and not vectors:
                return f"{chip}: nothing is loaded or stored 16 bytes at a time"
            # Of the sine of a huge argument, libdevice keeps the product with 2/pi in local memory.
            if case.name in programs.PROGRAMS and "__local_depot" in text and not TRIGONOMETRIC.search(case.text):
                return f"{chip}: there are variables in local memory"
    return ""


def find_tool(name: str) -> str | None:
    """One of NVIDIA's programs: on the PATH, or in this Python environment."""
    if found := shutil.which(name):
        return found
    places = pathlib.Path(sys.prefix).glob(f"lib/python*/site-packages/nvidia/*/bin/{name}")
    return next((str(place) for place in places), None)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose name contains this")
    args = parser.parse_args()
    ptxas = find_tool("ptxas")
    if ptxas is None:
        print("ptxas is missing: install test/oracle/assembler-requirements.txt", file=sys.stderr)
        return 1
    all_cases = [case for case in cases(args.slimhlo, ptxas) if args.only in case.name]
    failed = 0
    for case, verdict in zip(all_cases, map_items(judge, all_cases, seconds=SECONDS), strict=True):
        reason = verdict.reason if isinstance(verdict, Lost) else verdict
        if reason:
            failed += 1
            print(f"{case.name}: {reason}")
    chips = ", ".join(CHIPS)
    print(f"{len(all_cases) - failed} passed, {failed} failed: code of {len(all_cases)} programs for {chips}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
