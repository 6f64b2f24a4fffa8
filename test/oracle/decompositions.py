# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Eigenvalues of Hermitian matrices and singular values as kernels on the CPU, by what the results have to satisfy.

    python test/oracle/decompositions.py --slimhlo target/debug/slimhlo [--only TEXT]

Vectors are free by a factor, and where values are equal by more, so that they cannot be held against XLA's. Instead, as LAPACK's own
tests do: the vectors of a side are orthogonal, they and the values make the matrix again, and values are those that XLA for CPU
finds, each within BOUND units in the last place, times the matrix's size and norm. The modules are those that JAX lowers for CPUs and
for GPUs; matrices of each type are random, of low rank, with equal and with very large or small values, diagonal, in batches; NaNs
come out as NaNs.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

import jax
import numpy as np
from jax import lax

import execute  # noqa: F401 - it has JAX keep 64 bits

BOUND = 30.0
"""That of LAPACK's tests (THRESH in the inputs of its testers)."""
SECONDS = 300.0
TYPES = (np.float32, np.float64, np.complex64, np.complex128)


@dataclasses.dataclass(frozen=True)
class Case:
    """A decomposition of a matrix, as JAX lowers it for a platform."""

    name: str
    kind: str
    matrix: np.ndarray
    platform: str
    threads: int = 1
    full: bool = True


def adjoint(matrix: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(matrix, -1, -2))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(5)

    def some(*shape: int, dtype: type) -> np.ndarray:
        values = rng.standard_normal(shape)
        if np.issubdtype(dtype, np.complexfloating):
            values = values + 1j * rng.standard_normal(shape)
        return values.astype(dtype)

    for dtype in TYPES:
        name = np.dtype(dtype).name
        for shape in ((1, 1), (2, 2), (7, 7), (3, 6, 6), (2, 2, 17, 17), (40, 40), (0, 3, 3)):
            matrix = some(*shape, dtype=dtype)
            matrix = matrix + adjoint(matrix)
            for platform in ("cpu", "cuda") if shape in ((7, 7), (3, 6, 6)) else ("cpu",):
                yield Case(f"eigh of {shape} {name} for {platform}", "eigh", matrix, platform)
        low = some(12, 3, dtype=dtype)
        yield Case(f"eigh of low rank {name}", "eigh", low @ adjoint(low), "cpu")
        yield Case(f"eigh of equal values {name}", "eigh", np.eye(5).astype(dtype) * 3, "cpu")
        ones = np.ones((8, 8), dtype)
        yield Case(f"eigh of ones {name}", "eigh", ones, "cuda")
        yield Case(f"eigh in blocks {name}", "eigh", low @ adjoint(low), "cpu", 64)
        for factor in (1e-30, 1e30):
            matrix = some(6, 6, dtype=dtype) * np.asarray(factor, dtype)
            yield Case(f"eigh of {factor} {name}", "eigh", matrix + adjoint(matrix), "cpu")
            yield Case(f"svd of {factor} {name}", "svd", matrix, "cpu")
        for shape in ((1, 1), (5, 5), (9, 4), (4, 9), (3, 8, 5), (2, 2, 5, 8), (40, 40), (50, 33)):
            matrix = some(*shape, dtype=dtype)
            for full in (True, False):
                for platform in ("cpu", "cuda") if shape in ((9, 4), (4, 9), (3, 8, 5), (40, 40)) else ("cpu",):
                    yield Case(f"svd of {shape} {name} full {full} for {platform}", "svd", matrix, platform, 1, full)
            yield Case(f"singular values of {shape} {name}", "values", matrix, "cuda")
        yield Case(f"svd of low rank {name}", "svd", some(9, 2, dtype=dtype) @ some(2, 6, dtype=dtype), "cpu")
        yield Case(f"svd of zeros {name}", "svd", np.zeros((4, 3), dtype), "cuda")
        yield Case(f"svd in blocks {name}", "svd", some(6, 9, dtype=dtype), "cpu", 64)
        wrong = some(5, 5, dtype=dtype)
        wrong[2, 2] = np.nan
        yield Case(f"eigh with a NaN {name}", "eigh", wrong + adjoint(wrong), "cpu")
        yield Case(f"svd with a NaN {name}", "svd", wrong, "cpu")
    # Of longer ones JAX asks another function of the library, and for the one as for the other side.
    for shape in ((1100, 3), (3, 1100)):
        yield Case(f"svd of {shape}", "svd", some(*shape, dtype=np.float32), "cuda", 1, False)


def function(case: Case) -> Callable:
    if case.kind == "eigh":
        return lambda x: lax.linalg.eigh(x, symmetrize_input=False)
    if case.kind == "values":
        return lambda x: lax.linalg.svd(x, compute_uv=False)
    return lambda x: lax.linalg.svd(x, full_matrices=case.full)


def worst(error: np.ndarray) -> float:
    return float(np.max(np.abs(error), initial=0.0))


def errors(case: Case, results: list[np.ndarray]) -> Iterator[tuple[str, float]]:
    """What is wrong with results, in units of what may be."""
    matrix = case.matrix
    unit = float(np.finfo(matrix.dtype).eps)
    size = max(matrix.shape[-2:])
    norm = max(float(np.max(np.abs(matrix), initial=0.0)), float(np.finfo(matrix.dtype).tiny))
    scale = unit * size * norm
    wide = np.complex128 if np.issubdtype(matrix.dtype, np.complexfloating) else np.float64
    found = [each.astype(wide if np.iscomplexobj(each) else np.float64) for each in results]
    matrix = matrix.astype(wide)
    # Of what XLA for CPU decomposes by LAPACK, values alone can be compared.
    wanted = jax.jit(function(case))(case.matrix)
    if case.kind == "eigh":
        vectors, values = found
        yield "the matrix", worst(matrix @ vectors - vectors * values[..., None, :]) / scale / max(1, size) ** 0.5
        yield "vectors", worst(adjoint(vectors) @ vectors - np.eye(size)) / unit / size
        yield "values", worst(values - np.asarray(wanted[1])) / scale
        yield "the order of values", float(np.any(np.diff(values) < 0)) * 2 * BOUND
        return
    values, wanted_values = (found[0], wanted) if case.kind == "values" else (found[1], wanted[1])
    yield "values", worst(values - np.asarray(wanted_values)) / scale
    yield "the order of values", float(np.any(np.diff(values) > 0)) * 2 * BOUND
    if case.kind == "svd":
        left, _, right = found
        count = values.shape[-1]
        made = (left[..., :count] * values[..., None, :]) @ right[..., :count, :]
        yield "the matrix", worst(made - matrix) / scale / size**0.5
        yield "left vectors", worst(adjoint(left) @ left - np.eye(left.shape[-1])) / unit / size
        yield "right vectors", worst(right @ adjoint(right) - np.eye(right.shape[-2])) / unit / size
        for number, each in ((0, left), (2, right)):
            yield "shapes", float(np.shape(wanted[number]) != each.shape) * 2 * BOUND


def judge(slimhlo: str, case: Case) -> str | None:
    """What is wrong with a case; None if nothing is."""
    traced = jax.jit(function(case)).trace(jax.ShapeDtypeStruct(case.matrix.shape, case.matrix.dtype))
    text = traced.lower(lowering_platforms=(case.platform,)).as_text()
    with tempfile.TemporaryDirectory(prefix="slimhlo-decompositions-") as name:
        folder = pathlib.Path(name)
        (folder / "in.mlir").write_text(text)
        np.save(folder / "x.npy", case.matrix)
        command = [slimhlo, "run", str(folder / "in.mlir"), "--device", "cpu", "--input", str(folder / "x.npy")]
        command += ["--guard", "--block-order", "reverse", "--block-threads", str(case.threads)]
        command += ["--output-dir", str(folder / "out")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return "no end in sight"
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            return lines[0]
        count = len(list((folder / "out").glob("*.npy")))
        results = [np.load(folder / "out" / f"result{number}.npy") for number in range(count)]
    if np.isnan(case.matrix).any():
        return None if all(np.isnan(each).all() for each in results) else "a NaN is lost"
    wrong = [f"{what} {error:.1f}" for what, error in errors(case, results) if not error <= BOUND]
    return f"off by more than {BOUND:.0f}: {', '.join(wrong)}" if wrong else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases whose names have this in them")
    args = parser.parse_args()
    chosen = [case for case in cases() if args.only in case.name]
    if not chosen:
        parser.error(f"no case has {args.only} in its name")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, wrong in zip(chosen, pool.map(lambda case: judge(args.slimhlo, case), chosen), strict=True):
            if wrong:
                failed += 1
                print(f"{case.name}: {wrong}", flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
