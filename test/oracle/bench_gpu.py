# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reference programs on an NVIDIA GPU: slimhlo's kernels against JAX, on the same GPU in the same run.

    python test/oracle/bench_gpu.py prepare OUT --slimhlo target/release/slimhlo --chip sm_90 [NAME ...]
    python test/oracle/bench_gpu.py run OUT --runner target/release/slimhlo-run [NAME ...]

`prepare` compiles packages and needs no GPU; `run` needs one, JAX for CUDA and slimhlo-run, and can be on another machine. With
both --slimhlo and --runner, `run` prepares what is missing, for the GPU that is there.

Memory: planned is what either says before it runs (JAX: XLA's buffer assignment, arguments and results included, aliases once);
real is, for slimhlo, what the driver counted for its allocations, and for JAX the peak of its allocator, from before the
arguments were placed. Time: for slimhlo the median by the GPU's clock of runs asked for one after another; for JAX wall time of as many
calls as take a quarter of a second, of which only the last is waited for, by their number. So neither waits between runs. The share is
the bandwidth of the bytes that slimhlo's kernels move, by that of a copy on the device. First each program is run at a small
size by both on the same inputs, and the results are compared: integers exactly, floats within TOLERANCE of the largest.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

MIB = 2**20
TOLERANCE = 1e-5
TOLERANCE_OF_PRODUCTS = 1e-2
"""JAX rounds the factors of float32 products to fewer bits on some GPUs."""
SECONDS_PER_PROGRAM = 900.0
SECONDS_TIMED = 0.25
RUNS = 30
# By how much a time may be above JAX's before it counts as slower: two medians of the same kernel differ by as much.
NOISE = 1.03
SHARE = 0.8
"""Of a device copy's bandwidth, for the programs that only move data."""

# Full size where it fits into any data-centre GPU, else the size below.
PROGRAMS: dict[str, dict[str, int]] = {
    "gather_fwd_i32": {"points": 1 << 28},
    "gather_vjp_i32": {"points": 1 << 28},
    "gather_vjp_i16": {"points": 1 << 28},
    "gather_vag_sin_i32": {"points": 1 << 28},
    "embedding_vjp": {},
    "message_passing": {},
    "histogram": {},
    "log_sum_exp": {},
    "update_of_zeros": {},
    "zeros_dus_chain": {},
    "pads_sum": {},
    "gradient_of_slices": {},
    "halo_ew": {},
    "halo_ns": {},
    "halo_all": {},
    "halo_step": {},
}
MOVES = {"zeros_dus_chain", "pads_sum", "halo_ew", "halo_ns", "halo_all", "halo_step"}


def gpu() -> tuple[str, str] | None:
    """The first GPU's name and chip."""
    command = ["nvidia-smi", "--query-gpu=name,compute_cap", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    name, capability = done.stdout.splitlines()[0].rsplit(",", 1)
    return name.strip(), "sm_" + capability.strip().replace(".", "")


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no output")[:160]


# --- packages -----------------------------------------------------------------------------------------------------


def compile_package(
    slimhlo: str, text: str, chip: str, package: pathlib.Path, seconds: float = SECONDS_PER_PROGRAM
) -> str | None:
    """Writes a module's package for a GPU; why there is none, if so."""
    command = [slimhlo, "compile", "-", "-q", "--chip", chip, "-o", str(package)]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return f"no end in {seconds:.0f} s"
    return last_line(done.stderr) if done.returncode else None


def prepare(out: pathlib.Path, names: list[str], slimhlo: str, chip: str) -> list[str]:
    """Compiles NAME and NAME.small for each program that is not there; returns what could not be, with the reason."""
    import programs

    wrong = []
    for name in names:
        known = programs.PROGRAMS[name]
        for folder, sizes in ((out / name, PROGRAMS[name]), (out / f"{name}.small", known.small)):
            if (folder / "manifest.json").exists():
                continue
            out.mkdir(parents=True, exist_ok=True)
            if failure := compile_package(slimhlo, known.lower(**sizes).as_text(), chip, folder):
                wrong.append(f"{folder.name} does not compile: {failure}")
    return wrong


# --- JAX, in a process of its own, so that its memory is given back ------------------------------------------------


def jax_main(job: dict) -> dict:
    """What JAX needs for a program; or, given a runner, whether both compute the same at the small size."""
    import jax
    import numpy as np

    import programs  # it would have JAX start on the CPU, but the parent has said CUDA

    program = (programs.PROGRAMS | programs.VARIANTS)[job["name"]]
    sizes = program.small if job["runner"] else job.get("sizes", PROGRAMS.get(job["name"], {}))
    lowered = program.lower(job.get("platform", "cuda"), **sizes)
    compiled = lowered.compile()
    (infos, _) = lowered.args_info
    leaves, tree = jax.tree.flatten(infos)
    rng = np.random.default_rng(0)

    def draw(info: object) -> np.ndarray:
        if jax.numpy.issubdtype(info.dtype, jax.numpy.integer):
            return rng.integers(0, program.below, info.shape, dtype=info.dtype)
        return (rng.random(info.shape, np.float32) * 0.1).astype(info.dtype)

    host = [draw(info) for info in leaves]
    device = jax.devices()[0]

    def memory(key: str) -> int:
        return (device.memory_stats() or {}).get(key, 0)

    # JAX leaves arguments out of the module that nothing depends on. There is no other way to know which.
    kept = sorted(lowered._lowering.compile_args["kept_var_idx"])
    given = [None if number in kept else jax.device_put(array, device) for number, array in enumerate(host)]
    start = memory("bytes_in_use")
    for number in kept:
        given[number] = jax.device_put(host[number], device)
    results = jax.block_until_ready(compiled(*jax.tree.unflatten(tree, given)))
    if job["runner"]:
        return {
            "wrong": compare(
                job,
                lowered,
                [host[number] for number in kept],
                [np.asarray(result) for result in jax.tree.leaves(results)],
            )
        }
    real = memory("peak_bytes_in_use") - start
    planned = compiled.memory_analysis()
    donated = [number for number, info in enumerate(leaves) if info.donated]

    def calls(count: int) -> float:
        """Seconds per call; results become the arguments that were donated."""
        nonlocal given, results
        started = time.perf_counter()
        for _ in range(count):
            if donated:
                for number, result in zip(donated, jax.tree.leaves(results), strict=True):
                    given[number] = result
            results = compiled(*jax.tree.unflatten(tree, given))
        jax.block_until_ready(results)
        return (time.perf_counter() - started) / count

    count = max(3, min(1000, int(SECONDS_TIMED / min(calls(1), calls(1)))))
    return {
        "planned": planned.argument_size_in_bytes
        + planned.output_size_in_bytes
        + planned.temp_size_in_bytes
        - planned.alias_size_in_bytes,
        "real": real,
        "seconds": statistics.median(calls(count) for _ in range(5)),
    }


def compare(job: dict, lowered: object, given: list, wanted: list) -> str | None:
    """Runs the small package on the same inputs; what differs, if anything."""
    import numpy as np

    import on_device

    tolerance = TOLERANCE_OF_PRODUCTS if "dot_general" in lowered.as_text() else TOLERANCE
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for number, array in enumerate(given):
            np.save(folder / f"{number}.npy", array)
        inputs = [str(folder / f"{number}.npy") for number in range(len(given))]
        package = pathlib.Path(job["package"])
        if failure := on_device.run_package(job["runner"], package, inputs, str(folder / "out"), SECONDS_PER_PROGRAM):
            return failure
        for number, want in enumerate(wanted):
            have = np.load(folder / "out" / f"result{number}.npy")
            have = have.view(want.dtype) if have.dtype.kind == "V" else have
            if np.issubdtype(want.dtype, np.integer):
                off = np.count_nonzero(want != have)
            else:
                wide, other = want.astype(np.float64), have.astype(np.float64)
                largest = np.max(np.abs(wide), initial=0.0)
                off = np.count_nonzero(~(np.abs(wide - other) <= tolerance * largest))
            if off:
                return f"{off} of {want.size} elements of result {number} differ"
    return None


def in_jax(job: dict) -> dict:
    environment = os.environ | {"JAX_PLATFORMS": job.get("platform", "cuda"), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    command = [sys.executable, __file__, "jax", json.dumps(job)]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env=environment,
            timeout=SECONDS_PER_PROGRAM,
            cwd=pathlib.Path(__file__).parent,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {SECONDS_PER_PROGRAM:.0f} s"}
    if done.returncode:
        return {"error": last_line(done.stderr)}
    return json.loads(done.stdout.splitlines()[-1])


# --- the table ----------------------------------------------------------------------------------------------------


def measure(out: pathlib.Path, name: str, runner: str) -> dict:
    """Everything about one program."""
    import programs

    found: dict = {"name": name}
    package = out / name
    if not (package / "manifest.json").exists():
        return found | {"error": "there is no package"}
    small = out / f"{name}.small"
    checked = in_jax({"name": name, "runner": runner, "package": str(small.resolve())})
    found["wrong"] = checked.get("error") or checked["wrong"]
    below = str(max(programs.PROGRAMS[name].below, 1))
    command = [runner, str(package), "--bench", str(RUNS), "--below", below, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    found["slimhlo"] = json.loads(done.stdout) if done.returncode == 0 else {"error": last_line(done.stderr)}
    found["jax"] = in_jax({"name": name, "runner": None})
    return found


def verdict(found: dict) -> list[str]:
    """What goals are missed."""
    if "error" in found:
        return [found["error"]]
    missed = [f"results: {found['wrong']}"] if found["wrong"] else []
    ours, theirs = found["slimhlo"], found["jax"]
    if "error" in ours:
        return [*missed, ours["error"]]
    if "error" not in theirs and ours["seconds"] > NOISE * theirs["seconds"]:
        missed.append("slower than JAX")
    if found["name"] in MOVES and ours["bandwidth"] and ours["copy_bandwidth"]:
        share = ours["bandwidth"] / ours["copy_bandwidth"]
        if share < SHARE:
            missed.append(f"below {SHARE:.0%} of a copy")
    return missed


def row(found: dict) -> list[str]:
    ours, theirs = found.get("slimhlo", {}), found.get("jax", {})
    mib = lambda count: "-" if count is None else f"{count / MIB:,.1f}"
    cells = [found["name"], mib(theirs.get("planned")), mib(theirs.get("real"))]
    memory = ours.get("memory", {})
    cells += [mib(memory.get("planned", {}).get("total")), mib(memory.get("allocated"))]
    milliseconds = lambda seconds: "-" if seconds is None else f"{seconds * 1e3:.3f}"
    old, new = theirs.get("seconds"), ours.get("seconds")
    cells += [milliseconds(old), milliseconds(new), f"{new / old:.2f}" if old and new else "-"]
    bandwidth, copy = ours.get("bandwidth"), ours.get("copy_bandwidth")
    cells += [f"{bandwidth / 1e9:,.0f}" if bandwidth else "-", f"{bandwidth / copy:.0%}" if bandwidth and copy else "-"]
    return [*cells, ", ".join(verdict(found)) or "met"]


def table(rows: list[list[str]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    left = {0, len(widths) - 1}
    lines = (
        "  ".join(
            cell.ljust(w) if c in left else cell.rjust(w) for c, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def run(args: argparse.Namespace, names: list[str]) -> int:
    device = gpu()
    if device is None:
        print("There is no NVIDIA GPU on this machine (nvidia-smi finds none): nothing is measured.")
        return 0
    title, chip = device
    for line in prepare(args.out, names, args.slimhlo, chip) if args.slimhlo else []:
        print(line)
    results = []
    for name in names:
        print(f"running {name}", flush=True)
        results.append(measure(args.out, name, str(pathlib.Path(shutil.which(args.runner) or args.runner).resolve())))
    head = [
        "program",
        "JAX plan",
        "real",
        "slimhlo plan",
        "real",
        "JAX",
        "slimhlo",
        "ratio",
        "GB/s",
        "of copy",
        "goals",
    ]
    units = ["", "MiB", "MiB", "MiB", "MiB", "ms", "ms", "time", "", "", ""]
    print(f"{title}, {chip}")
    print(table([head, units, *(row(found) for found in results)]))
    copies = [found["slimhlo"]["copy_bandwidth"] for found in results if found.get("slimhlo", {}).get("copy_bandwidth")]
    if copies:
        print(f"a copy on the device: {statistics.median(copies) / 1e9:,.0f} GB/s read and written")
    for found in results:
        if "error" in found.get("jax", {}):
            print(f"{found['name']}: JAX: {found['jax']['error']}")
    if args.json:
        args.json.write_text(json.dumps({"device": title, "chip": chip, "programs": results}, indent=1))
    missed = [found["name"] for found in results if verdict(found)]
    print(
        f"{len(results) - len(missed)} of {len(results)} programs meet their goals"
        + (f"; not: {', '.join(missed)}" if missed else "")
    )
    return 1 if missed else 0


def main() -> int:
    if sys.argv[1:2] == ["jax"]:
        print(json.dumps(jax_main(json.loads(sys.argv[2]))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["prepare", "run"])
    parser.add_argument("out", type=pathlib.Path, metavar="OUT", help="folder for the packages")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"any of: {', '.join(PROGRAMS)}")
    parser.add_argument("--slimhlo", metavar="BIN", help="the command that compiles")
    parser.add_argument(
        "--runner", metavar="BIN", default="slimhlo-run", help="the command that runs (default: %(default)s)"
    )
    parser.add_argument("--chip", default="sm_90", help="for `prepare`, the GPU's chip (default: %(default)s)")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write all figures there")
    args = parser.parse_intermixed_args()
    if unknown := [name for name in args.names if name not in PROGRAMS]:
        parser.error(f"no program {unknown[0]}")
    names = args.names or list(PROGRAMS)
    if args.command == "run":
        return run(args, names)
    if not args.slimhlo:
        parser.error("`prepare` needs --slimhlo")
    wrong = prepare(args.out, names, args.slimhlo, args.chip)
    print("\n".join([*wrong, f"{len(names)} programs"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
