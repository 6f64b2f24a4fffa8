# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The GPU back end against XLA, kernel by kernel on the CPU: how many of JAX's own programs compile, and how many agree.

    python test/oracle/backend.py --slimhlo target/debug/slimhlo --corpus target/oracle [--sample N | --all] [--block-threads N]

Each program is compiled by `slimhlo run --device cpu`, which runs the very kernels that would go to a GPU, and by XLA for CPU; both
get the same inputs. Left out, and counted, are programs with collectives, custom calls whose meaning is not known here and dynamic
shapes, which the back end does not claim, and those that XLA for CPU does not run. Equal programs are run once.

A block is one thread unless --block-threads says otherwise; then its threads are real ones that meet at barriers and hand each other values,
as on a GPU. Each kernel's buffers end where memory does (--guard), so that one that reads or writes beyond them crashes;
and blocks run from the last to the first, so that one that needs those before it to be done disagrees.

What "agree" means:

* integers, booleans, and whatever is only moved, chosen or compared: the same bits (NaNs: where the other has one);
* floats: NaNs and infinities where the other has them, and otherwise within ULPS units in the last place of the result's type, by
  the larger of the two values. XLA's functions and ours are different approximations, each within a few units;
* programs that accumulate floats (reductions, products, convolutions, loops, decompositions, triangular systems): within 2 units
  times the square root of the most terms there can be, of the largest magnitude among results and inputs, since the order of a sum
  is free;
* where a triangular system or a factorization has one that is not finite, the other is not, either: XLA calls a library that works
  in blocks, as the processor suggests, and whether an infinity meets another or a zero depends on those;
* functions that XLA itself computes by cancelling sums (LOOSE): as far as single precision goes, so many units of 1.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import math
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import store
from optimize import ACCUMULATES, shape_of
from workers import Lost, map_items

SECONDS_PER_PROGRAM = 120.0
ULPS = 16
LOOSE_ULPS = 256
LOOSE = re.compile(
    r"(chlo\.(lgamma|digamma|polygamma|zeta|bessel_i1e|erf_inv|tan|sinh|cosh|asinh|acosh|atanh|acos|asin)"
    r"|stablehlo\.(power|tan|atan2)|complex<f)"
)
# Of LAPACK's calls, what kernels can do. QR and LU choose by sizes of elements, of which NaNs have none.
CHOOSES = r"@lapack_[sdcz](geqrf|orgqr|ungqr|ormqr|unmqr|getrf)_ffi\("
LAPACK = "potrf|trsm|geqrf|orgqr|ungqr|ormqr|unmqr|getrf"
# Each element is a difference of sums of products of those before it.
SUBSTITUTES = re.compile(rf"stablehlo\.(cholesky|triangular_solve)\b|{CHOOSES}")
BY_LIBRARY = re.compile(rf"stablehlo\.(cholesky|triangular_solve)\b|@lapack_[sdcz]({LAPACK})_ffi\(")
CLAIMED_NOT = {
    "collective": re.compile(
        r"stablehlo\.(all_gather|all_reduce|all_to_all|collective_\w+|cross-replica\w*|partition_id|replica_id|reduce_scatter|send|recv"
        r"|infeed|outfeed)\b"
    ),
    "custom call": re.compile(
        rf"stablehlo\.custom_call @(?!(Sharding|annotate_device_placement|ApproxTopK|lapack_[sdcz]({LAPACK})_ffi)\()"
    ),
    "dynamic shape": re.compile(r"tensor<(\d+x)*\?"),
    "random numbers of the implementation's choice": re.compile(r"stablehlo\.rng "),
}
FLOAT_ARITHMETIC = re.compile(
    r"(stablehlo|chlo)\.(?!constant|return|broadcast|broadcast_in_dim|reshape|transpose|slice|dynamic_slice|dynamic_update_slice|pad|"
    r"concatenate|gather|select|compare|iota|reverse|bitcast_convert|and|or|not|xor|maximum|minimum|clamp|sort|negate|abs|real|imag|"
    r"complex|sign|is_finite|case|if|optimization_barrier)\w+"
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A program, how many of the corpus are equal to it, and the command that runs it."""

    name: str
    text: str
    count: int
    slimhlo: str
    threads: int = 1


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What came of a case: "agrees", "disagrees", "does not compile" or "XLA"; and the reason."""

    outcome: str
    reason: str = ""


def unclaimed(text: str) -> str | None:
    """Why the back end does not claim a program, if so."""
    return next((why for why, found in CLAIMED_NOT.items() if found.search(text)), None)


def dtype_of(element: str) -> object:
    """NumPy's type for an element type of StableHLO."""
    import ml_dtypes
    import numpy as np

    import slices

    if element in slices.DTYPES:
        return slices.DTYPES[element]
    name = {"i2": "int2", "ui2": "uint2"}.get(element)
    if name is None and (found := re.fullmatch(r"f(\d)(E\d)(M\d.*)", element)):
        name = f"float{found[1]}_{found[2]}{found[3]}".lower()
    if name is None or not hasattr(ml_dtypes, name):
        raise TypeError(f"no values of {element}")
    return np.dtype(getattr(ml_dtypes, name))


def inputs(module: object, text: str) -> list:
    """Arguments for @main: ordinary values with a few special ones among the floats, small integers."""
    import numpy as np
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import func

    functions = [op for op in module.body.operations if isinstance(op, func.FuncOp)]
    main = next(op for op in functions if op.name.value == "main")
    rng = np.random.default_rng(11)
    # A square root or a logarithm of nothing but NaNs shows little; a factorization of a matrix that has none, less.
    plain = rf"stablehlo\.(cholesky|triangular_solve|fft|convolution|dot_general|while)|{CHOOSES}"
    special = not re.search(plain, text)
    arrays = []
    for kind in main.type.inputs:
        shape, element = tuple(ir.RankedTensorType(kind).shape), str(ir.RankedTensorType(kind).element_type)
        dtype = dtype_of(element)
        if element == "i1":
            array = rng.integers(0, 2, shape).astype(np.bool_)
        elif re.match(r"u?i\d", element):
            bits = int(element.lstrip("ui"))
            low, high = (0, 14) if element.startswith("u") else (-7, 7)
            limits = (0, 2**bits) if element.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1))
            array = rng.integers(max(low, limits[0]), min(high, limits[1]), shape).astype(dtype)
        elif element.startswith("complex"):
            values = rng.standard_normal((2, *shape))
            array = (values[0] + 1j * values[1]).astype(dtype)
        elif "ApproxTopK" in text:
            # Different values: which of several equal ones comes first is open.
            unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
            places = rng.permutation(math.prod(shape)).reshape(shape).astype(unsigned)
            array = (np.ones(shape, dtype).view(unsigned) + places).view(dtype)
        else:
            array = np.asarray(rng.standard_normal(shape, np.float32) * 2).astype(dtype)
            if special and array.size >= 8 and element in ("f16", "bf16", "f32", "f64"):
                places = rng.integers(array.size, size=max(1, array.size // 50))
                array.reshape(-1)[places] = rng.choice((np.nan, np.inf, -np.inf, -0.0), places.size).astype(dtype)
        arrays.append(np.asarray(array))
    return arrays


def difference(want: object, have: object, text: str, given: list) -> str | None:
    """What differs between two results beyond what the text at the top allows."""
    import jax.numpy as jnp
    import numpy as np

    if want.dtype != have.dtype or want.shape != have.shape:
        return f"is {have.dtype}{have.shape}, not {want.dtype}{want.shape}"
    inexact = jnp.issubdtype(want.dtype, jnp.inexact)
    if not inexact:
        fine = np.asarray(want == have)
    else:
        wide = np.complex128 if jnp.issubdtype(want.dtype, jnp.complexfloating) else np.float64
        old, new = want.astype(wide), have.astype(wide)
        unit = float(jnp.finfo(want.dtype).eps)
        with np.errstate(invalid="ignore", over="ignore"):
            larger = np.maximum(np.abs(old), np.abs(new))
            allowed = np.zeros(old.shape)
            if FLOAT_ARITHMETIC.search(text):
                allowed = ULPS * unit * larger
            if LOOSE.search(text):
                allowed = np.maximum(allowed, LOOSE_ULPS * unit * np.maximum(larger, 1.0))
            if (ACCUMULATES.search(text) or SUBSTITUTES.search(text)) and FLOAT_ARITHMETIC.search(text):
                arrays = [old, *(g.astype(wide) for g in given if jnp.issubdtype(g.dtype, jnp.inexact))]
                scale = max(float(np.max(np.abs(a[np.isfinite(a)]), initial=0)) for a in arrays)
                sizes = [math.prod(int(s) for s in shape.split("x")[:-1]) for shape in re.findall(r"tensor<((?:\d+x)+)", text)]
                allowed = np.maximum(allowed, 2 * unit * max(sizes, default=1) ** 0.5 * max(scale, 1e-30))
            smallest = float(jnp.finfo(want.dtype).tiny)
            fine = (np.isnan(old) & np.isnan(new)) | (old == new) | (np.abs(old - new) <= allowed + smallest * unit)
            if BY_LIBRARY.search(text):
                fine |= ~np.isfinite(old) & ~np.isfinite(new)
            if not FLOAT_ARITHMETIC.search(text):
                fine &= np.isnan(old.real) | (np.signbit(old.real) == np.signbit(new.real))
    if fine.all():
        return None
    places = np.flatnonzero(~fine.reshape(-1))
    shown = ", ".join(f"[{p}] {have.reshape(-1)[p]} for {want.reshape(-1)[p]}" for p in places[:3])
    return f"{places.size} of {fine.size} elements of {want.dtype} differ: {shown}"


def block_order(text: str) -> str:
    """Reverse, since a GPU promises no order; but where a scatter sets one element several times, XLA keeps the last value."""
    sets = re.search(r"stablehlo\.scatter.*\n\s*\^bb0\(%\w+: [^,]+, (%\w+): [^,]+\):\s+stablehlo\.return \1 ", text)
    return "forward" if sets else "reverse"


def judge(case: Case) -> Verdict:
    """Runs a program in XLA and here."""
    import numpy as np

    import execute  # noqa: F401 - it has JAX keep 64 bits
    import jaxlib_ir
    import xla_cpu
    from jaxlib import lapack

    try:
        # Ours is stable in any case; one that need not be may come out in another order.
        stable = re.sub(r"is_stable = false", "is_stable = true", case.text)
        module = jaxlib_ir.parse(stable, jaxlib_ir.make_context())
        # XLA can call LAPACK only once somebody has looked for it.
        lapack.prepare_lapack_call("potrf_ffi", np.dtype(np.float32))
        given = inputs(module, case.text)
        executable = xla_cpu.compile_module(module)
        wanted = [shards[0] for shards in xla_cpu.run(executable, given)]
    except Exception as error:  # it is not for us to run what XLA for CPU does not
        return Verdict("XLA", f"{type(error).__name__}: {str(error).partition(chr(10))[0][:60]}")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slimhlo-backend-"))
    try:
        (folder / "in.mlir").write_text(case.text)
        command = [case.slimhlo, "run", str(folder / "in.mlir"), "--device", "cpu", "--output-dir", str(folder / "out")]
        command += ["--guard", "--block-order", block_order(case.text)]
        command += ["--block-threads", str(case.threads)]
        for number, array in enumerate(given):
            np.save(folder / f"{number}.npy", array)
            command += ["--input", str(folder / f"{number}.npy")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_PER_PROGRAM / 2)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"exit status {done.returncode}"]
            reason = re.sub(r"^.*?error: ", "", lines[0])
            crashed = done.returncode < 0 or "panicked" in done.stderr
            return Verdict("crashes" if crashed else "does not compile", reason[:150])
        files = sorted((folder / "out").glob("*.npy"), key=lambda path: int(re.findall(r"\d+", path.stem)[-1]))
        if len(files) != len(wanted):
            return Verdict("disagrees", f"{len(files)} results, not {len(wanted)}")
        for number, (path, want) in enumerate(zip(files, wanted, strict=True)):
            have = np.load(path)
            if have.dtype.kind == "V":
                have = have.view(want.dtype)
            if found := difference(want, have, case.text, given):
                return Verdict("disagrees", f"result {number}: {found}")
    except subprocess.TimeoutExpired:
        return Verdict("does not compile", "no end in sight")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return Verdict("agrees")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("--corpus", required=True, type=pathlib.Path, metavar="DIR", help="where corpus.py wrote")
    parser.add_argument("--sample", type=int, default=900, metavar="N", help="distinct programs to run (default: 900)")
    parser.add_argument("--all", action="store_true", help="run every program")
    parser.add_argument(
        "--block-threads", type=int, default=1, metavar="N", help="threads of a block, a power of two (default: 1)"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only programs whose name contains this")
    parser.add_argument("--log", type=pathlib.Path, metavar="FILE", help="write each program that misses there, with its reason")
    args = parser.parse_args()

    started = time.monotonic()
    left_out: collections.Counter[str] = collections.Counter()
    distinct: dict[str, Case] = {}
    for entry in store.read(args.corpus, "harnesses"):
        if args.only not in entry.name:
            continue
        if why := unclaimed(entry.text):
            left_out[why] += 1
            continue
        key = shape_of(re.sub(r'(?m)^#loc.*$| loc\((#loc\d*|unknown|"[^"\n]*")\)', "", entry.text))
        case = distinct.get(key, Case(entry.name, entry.text, 0, args.slimhlo, args.block_threads))
        distinct[key] = dataclasses.replace(case, count=case.count + 1)
    cases = list(distinct.values())
    claimed = sum(case.count for case in cases)
    print(f"{claimed} programs, {len(cases)} distinct; left out: {dict(left_out)}", flush=True)
    if not args.all and len(cases) > args.sample:
        cases = [cases[i * len(cases) // args.sample] for i in range(args.sample)]
    verdicts = map_items(judge, cases, seconds=SECONDS_PER_PROGRAM)

    outcomes: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    misses = []
    for case, verdict in zip(cases, verdicts, strict=True):
        if isinstance(verdict, Lost):
            verdict = Verdict("XLA", verdict.reason)
        outcomes[verdict.outcome] += case.count
        if verdict.outcome != "agrees":
            generic = re.sub(r"\d+", "N", verdict.reason) if verdict.outcome != "disagrees" else ""
            reasons[f"{verdict.outcome}: {generic}"] += case.count
            misses.append(f"{verdict.outcome}\t{case.name}\t{case.count}\t{verdict.reason}")
    if args.log:
        args.log.write_text("\n".join(misses) + "\n")
    for line in misses:
        if line.startswith(("disagrees", "crashes")):
            print(line)
    for reason, count in reasons.most_common(40):
        print(f"{count:6d} {reason}")
    total = sum(outcomes.values()) - outcomes["XLA"]
    compiled = outcomes["agrees"] + outcomes["disagrees"]
    print(
        f"{outcomes['agrees']} passed, {outcomes['disagrees'] + outcomes['crashes']} failed: of {total} programs "
        f"{100 * compiled / max(total, 1):.1f}% compile, {100 * outcomes['agrees'] / max(total, 1):.1f}% compile and agree; "
        f"XLA does not run {outcomes['XLA']}; {time.monotonic() - started:.0f} s"
    )
    return 1 if outcomes["disagrees"] + outcomes["crashes"] else 0


if __name__ == "__main__":
    sys.exit(main())
