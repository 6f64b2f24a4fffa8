# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The estimates of hlo_time.py against what programs take on a device that is here.

    python test/oracle/calibrate.py --opt BIN                          the NVIDIA GPU of this machine; says so where there is none
    python test/oracle/calibrate.py --opt BIN --target cpu heat_steps  the CPU, on programs at their small sizes
    python test/oracle/calibrate.py --opt BIN prepare JOBS             for another machine: there, `on_device.py JOBS OUT`, which needs
    python test/oracle/calibrate.py report JOBS OUT                    nothing but JAX for CUDA; and here again what it found
    python test/oracle/calibrate.py --opt BIN --corpus FOLDER prepare JOBS [NAME ...]  the programs of libraries that are in a folder,
                                                                       with `--kernels` there: estimates are of what XLA compiled there
    python test/oracle/calibrate.py --slimhlo BIN prepare JOBS         packages of our own kernels, with `--runner` there

The reference programs for one device, before and after slimhlo, and the probes of probes.py. First the constants of targets.py, each from
the probe that shows it. Then each program: measured and estimated microseconds, the second over the first, and temporaries; a call of less than
HOST is of the host's making and does not count. At the end the mean error, how many lie within 1.5 times, and what slimhlo does to time and
temporaries as measured, beside what was estimated.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import bench_gpu
import targets

CHIPS = {"sm_80": "a100", "sm_90": "h100", "sm_100": "b200"}
HERE = pathlib.Path(__file__).parent
SPREAD = 1.5
HOST = 90e-6
"""Seconds of a call that a host needs two thirds of to ask for it (40 to 60 us on the machine with an H100)."""
MIB = 2**20
LARGE = {
    "attention_full_bhqd_f32_gradient": {"length": 16384},
    "attention_causal_bqhd_bf16_gradient": {"length": 24576},
    "cross_entropy_f32": {"rows": 81920},
}
"""Sizes at which programs do not fit into 80 GB by themselves."""
SECONDS_PER_PIPELINE = 300.0
BELOW_OF_LIBRARIES = 8
"""Integers that programs of libraries are given are less than this: labels, tokens, species, neighbours. Gradients of embeddings then add to
so few rows, one update after another: what takes long for that does so before slimhlo and after."""
CONSTANTS = {
    "bandwidth": ("add one to f32 268435456", lambda seconds: 2 * (1 << 30) / seconds),
    "products bf16": ("product bfloat16 8192 8192 8192", lambda seconds: 2 * 8192**3 / seconds),
    "products f32": ("product float32 8192 8192 8192", lambda seconds: 2 * 8192**3 / seconds),
    "products f64": ("product float64 4096 4096 4096", lambda seconds: 2 * 4096**3 / seconds),
    "launch": ("known turns of one kernel", lambda seconds: seconds / 4000),
    "launch_in_graph": ("eighty kernels", lambda seconds: seconds / 160),
    "scalar": ("256 additions and products", lambda seconds: 260 * (1 << 24) / seconds),
}
"""From the seconds of a probe, what a field of Rates is."""


@dataclasses.dataclass
class Jobs:
    """Modules and packages for on_device.py, written as they come."""

    folder: pathlib.Path
    target: targets.Target
    driver: str
    slimhlo: str | None
    listed: list[dict] = dataclasses.field(default_factory=list)

    def add(self, name: str, text: str, below: int, estimated: bool = True) -> None:
        """A module; without an estimate where what XLA compiles on the device is to be estimated."""
        import referee

        job = {"name": name, "module": f"{len(self.listed)}.mlir.gz", "below": below}
        if estimated:
            estimate = referee.measure(name, text, self.target)
            if estimate.unknown.get("loops of unknown length"):
                return
            job |= {"estimate": estimate.microseconds, "temporaries": estimate.temporaries}
        (self.folder / job["module"]).write_bytes(gzip.compress(text.encode(), 6))
        self.listed.append(job)

    def add_both(self, name: str, text: str, below: int, estimated: bool = True) -> None:
        """A module before and after slimhlo, if it is for one device."""
        import opt

        if "mhlo.num_partitions = 1 " not in text:
            return
        try:
            self.add(f"{name} before", text, below, estimated)
            driver = opt.Driver(self.driver, seconds_alone=SECONDS_PER_PIPELINE)
            (outcome,) = driver.run([text], [opt.pipeline_for(self.driver, self.target.name)])
            if outcome.output is None:
                print(f"{name}: {outcome.crash or outcome.message}"[:150])
            elif outcome.output != text:
                self.add(f"{name} after", outcome.output, below, estimated)
        except Exception as error:  # of what XLA refuses there is nothing to compare
            print(f"{name}: {str(error)[:120]}")

    def add_package(self, name: str, text: str, below: int, small: str) -> None:
        """A program's own kernels: to be compared at a small size, and timed."""
        for title, module in ((f"{name} small", small), (name, text)):
            package = f"{len(self.listed)}.package"
            chip = next(chip for chip, name in CHIPS.items() if name == self.target.name)
            if failure := bench_gpu.compile_package(self.slimhlo, module, chip, self.folder / package):
                print(f"{title}: {failure}")
                return
            job = {"name": f"{title} package", "package": package, "below": below}
            if module is small:
                job["module"] = f"{len(self.listed)}.mlir.gz"
                (self.folder / job["module"]).write_bytes(gzip.compress(small.encode(), 6))
            self.listed.append(job)

    def write(self) -> None:
        (self.folder / "jobs.json").write_text(json.dumps(self.listed))


def prepare(jobs: Jobs, names: list[str], corpus: pathlib.Path | None) -> None:
    """Writes modules, and jobs.json with the estimate for each; with a command, packages and no modules."""
    import probes
    import programs

    jobs.folder.mkdir(parents=True, exist_ok=True)
    target = jobs.target
    small = target.kind == "cpu"
    known = programs.PROGRAMS | programs.VARIANTS

    def text(name: str, sizes: dict[str, int]) -> str:
        return known[name].lower(target.platform, **sizes).as_text()

    if corpus:
        for path in sorted(corpus.glob("*.mlir")) if not names else [corpus / f"{name}.mlir" for name in names]:
            jobs.add_both(path.stem, path.read_text(), BELOW_OF_LIBRARIES, estimated=False)
    elif jobs.slimhlo:
        for name in names or known:
            full = text(name, bench_gpu.PROGRAMS.get(name, {}))
            if "mhlo.num_partitions = 1 " in full:
                jobs.add_package(name, full, known[name].below, text(name, known[name].small))
    else:
        for name, sizes in LARGE.items() if not small and not names else ():
            jobs.add_both(f"{name} of {next(iter(sizes.values()))}", text(name, sizes), known[name].below)
        for name in names or known:
            sizes = known[name].small if small else bench_gpu.PROGRAMS.get(name, {})
            jobs.add_both(name, text(name, sizes), known[name].below)
        if not small and not names:
            for name, probe in probes.probes(target.platform):
                jobs.add(f"probe {name}", probe, probes.BELOW.get(name, 1 << 24))
    jobs.write()


def jobs_of(jobs: pathlib.Path, out: pathlib.Path, target: targets.Target) -> dict[str, dict]:
    """Modules that are timed, by name. What has no estimate gets that of what XLA compiled there."""
    listed = json.loads((jobs / "jobs.json").read_text())
    timed = {job["name"]: job for job in listed if "module" in job and "package" not in job}
    compiled = {}
    if (out / "hlo.json.gz").exists():
        compiled = json.loads(gzip.decompress((out / "hlo.json.gz").read_bytes()))
    for name, job in timed.items():
        if "estimate" not in job and name in compiled:
            import hlo_time

            job["estimate"] = hlo_time.estimate(compiled[name], target).microseconds
    return timed


def results(out: pathlib.Path) -> tuple[dict, dict[str, dict]]:
    """What was measured on, and what of each job."""
    head, *lines = (json.loads(line) for line in (out / "results.jsonl").read_text().splitlines())
    return head, {found["name"]: found for found in lines}


def pairs(asked: dict[str, dict], measured: dict[str, dict]) -> Iterator[tuple[str, dict, dict, float | None]]:
    """Programs that were asked for before and after slimhlo: what was measured of either, and their estimates' share."""
    for name, job in asked.items():
        title, after = name.removesuffix(" before"), name.replace(" before", " after")
        if title != name and after in measured and name in measured:
            known = after in asked and "estimate" in asked[after] and job.get("estimate")
            told = asked[after]["estimate"] / job["estimate"] if known else None
            yield title, measured[name], measured[after], told


def print_constants(target: targets.Target, measured: dict[str, dict]) -> None:
    print(f"{'constant':16s} {'measured':>12s} {'targets.py':>12s}")
    for field, (probe, value) in CONSTANTS.items():
        seconds = measured.get(f"probe {probe}", {}).get("seconds")
        kind = field.removeprefix("products ")
        stated = target.rates.products.get(kind) if kind != field else getattr(target.rates, field)
        if seconds and stated:
            print(f"{field:16s} {value(seconds):12.4g} {stated:12.4g}")


def report(jobs: pathlib.Path, out: pathlib.Path, target: targets.Target) -> bool:
    head, measured = results(out)
    print(f"{head['device']}, JAX {head['jax']}")
    print_constants(target, measured)
    asked = jobs_of(jobs, out, target)
    print(f"{'program':52s} {'measured us':>12s} {'estimated':>12s} {'share':>6s} {'MiB':>9s} {'estimated':>9s}")
    shares, whole = [], True
    for name, job in asked.items():
        found = measured.get(name, {"error": "did not run"})
        if "error" in found:
            whole = False
            print(f"{name:52s} {found['error'][:100]}")
            continue
        if "estimate" not in job:
            print(f"{name:52s} {found['seconds'] * 1e6:12.1f}")
            continue
        share = job["estimate"] * 1e-6 / found["seconds"]
        if found["seconds"] > HOST:
            shares.append(share)
        told = f"{job['temporaries'] / MIB:9.1f}" if "temporaries" in job else f"{'-':>9s}"
        sizes = f"{found['temporaries'] / MIB:9.1f} {told}"
        print(f"{name:52s} {found['seconds'] * 1e6:12.1f} {job['estimate']:12.1f} {share:6.2f} {sizes}")
    if shares:
        error = sum(abs(math.log(share)) for share in shares) / len(shares)
        close = sum(1 for share in shares if 1 / SPREAD <= share <= SPREAD)
        print(f"mean error {error:.3f} (absolute logarithm); {close} of {len(shares)} within {SPREAD} times of what is measured")
    print_pairs(asked, measured)
    return print_packages(jobs, measured) and whole


def print_packages(jobs: pathlib.Path, measured: dict[str, dict]) -> bool:
    """Our own kernels, whose results are right or not; False if any is wrong."""
    listed = [job for job in json.loads((jobs / "jobs.json").read_text()) if "package" in job]
    whole = True
    compared = [job["name"] for job in listed if "module" in job]
    for name in compared:
        if wrong := measured.get(name, {"wrong": "did not run"})["wrong"]:
            whole = False
            print(f"{name:52s} {wrong[:100]}")
    if compared:
        right = sum(1 for name in compared if measured.get(name, {}).get("wrong", "") is None)
        print(f"{right} of {len(compared)} packages compute what XLA does")
    timed = [job["name"] for job in listed if "module" not in job and "inputs" not in job]
    if timed:
        print(f"{'own kernels':52s} {'us':>10s} {'MiB':>9s} {'planned':>9s} {'GB/s':>7s} {'of a copy':>9s}")
    for name in timed:
        found = measured.get(name, {}).get("own", {"error": "did not run"})
        if "error" in found:
            whole = False
            print(f"{name:52s} {found['error'][:100]}")
            continue
        moved, copy = found.get("bandwidth"), found.get("copy_bandwidth")
        share = f"{moved / copy:9.0%}" if moved and copy else f"{'-':>9s}"
        memory = found["memory"]
        sizes = f"{(memory['allocated'] or 0) / MIB:9.1f} {memory['planned']['total'] / MIB:9.1f}"
        print(f"{name:52s} {found['seconds'] * 1e6:10.1f} {sizes} {(moved or 0) / 1e9:7.0f} {share}")
    return whole


def markdown_of_packages(jobs: pathlib.Path, out: pathlib.Path) -> str:
    """A table of our own kernels that were timed."""
    head, measured = results(out)
    rows = []
    for job in json.loads((jobs / "jobs.json").read_text()):
        own = measured.get(job["name"], {}).get("own", {"error": "did not run"})
        if "module" in job or "inputs" in job or "error" in own:
            continue
        moved, copy = own["bandwidth"] or 0, own["copy_bandwidth"]
        cells = [
            job["name"].removesuffix(" package"),
            f"{own['memory']['planned']['total'] / MIB:,.1f}",
            f"{(own['memory']['allocated'] or 0) / MIB:,.1f}",
            f"{own['seconds'] * 1e3:,.3f}",
            f"{moved / 1e9:,.0f}",
            f"{moved / copy:.0%}" if copy else "-",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    columns = ("program", "planned, MiB", "allocated", "ms", "GB/s", "of a copy")
    return (
        f"## Our own kernels on {head['device']}\n\n"
        "Packages of `slimhlo compile`, timed by `on_device.py` (`calibrate.py --slimhlo`): the median of runs asked for one after another, by the "
        "GPU's clock, and the bytes that kernels are to move, where memory knows them once. They use no tensor cores.\n\n"
        + "\n".join([f"| {' | '.join(columns)} |", "| --- | ---: | ---: | ---: | ---: | ---: |", *rows])
        + "\n"
    )


def is_out_of_memory(found: dict) -> bool:
    """Whether a program did not run for want of memory: XLA refuses it, or finds no kernel that it could tune in what there is."""
    return any(word in found.get("error", "") for word in ("RESOURCE_EXHAUSTED", "Failed to get configs"))


def print_pairs(asked: dict[str, dict], measured: dict[str, dict]) -> None:
    """What slimhlo does, as measured and as estimated."""
    print(f"{'after slimhlo':44s} {'time':>6s} {'estimated':>9s} {'MiB before':>11s} {'after':>9s}")
    for title, old, new, told in pairs(asked, measured):
        sizes = f"{old.get('temporaries', 0) / MIB:11.1f} {new.get('temporaries', 0) / MIB:9.1f}"
        if "seconds" in old and "seconds" in new:
            time = f"{new['seconds'] / old['seconds']:6.2f}"
        else:
            time = "  fits" if "seconds" in new and is_out_of_memory(old) else "     -"
        print(f"{title:44s} {time} {'-' if told is None else f'{told:.2f}':>9s} {sizes}")


def markdown(jobs: pathlib.Path, out: pathlib.Path, target: targets.Target) -> str:
    """A table of the programs that ran before and after slimhlo."""
    asked = jobs_of(jobs, out, target)
    head, measured = results(out)
    rows = []
    for title, old, new, told in pairs(asked, measured):
        fits = "seconds" in old
        if "seconds" not in new or not (fits or is_out_of_memory(old)):
            continue
        bytes_alone = old.get("temporaries") or asked[f"{title} before"].get("temporaries")
        cells = [
            title,
            f"{old['seconds'] * 1e3:,.2f}" if fits else "out of memory",
            f"{new['seconds'] * 1e3:,.2f}",
            f"{new['seconds'] / old['seconds']:.2f}" if fits else "-",
            "-" if told is None else f"{told:.2f}",
            f"{bytes_alone / MIB:,.1f}" if bytes_alone else "-",
            f"{new['temporaries'] / MIB:,.1f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    columns = ("program", "XLA alone, ms", "after slimhlo, ms", "time", "estimated", "MiB alone", "after")
    return (
        f"## On {head['device']}\n\n"
        f"Run under JAX {head['jax']} by `cargo xtask bench calibrate`: time of a call among many, and temporaries of XLA's plan, tuned on the device. "
        "What is out of memory alone was refused while XLA tuned it, with three quarters of the device's memory to itself, as JAX has it.\n\n"
        + "\n".join([f"| {' | '.join(columns)} |", "| --- | ---: | ---: | ---: | ---: | ---: | ---: |", *rows])
        + "\n"
    )


def here(args: argparse.Namespace) -> targets.Target | str:
    """The target of this machine, or why there is none."""
    name = args.target
    if name is None:
        found = bench_gpu.gpu()
        if found is None:
            return "There is no NVIDIA GPU on this machine (nvidia-smi finds none): nothing is measured."
        name = CHIPS.get(found[1], "h100")
        print(f"{found[0]}, {found[1]}: against the estimates for {name}")
    target = targets.find(name)
    reason = targets.missing(target)
    return f"{reason}: nothing is measured." if reason else target


def measured_here(args: argparse.Namespace, target: targets.Target, names: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        jobs, out = pathlib.Path(folder, "jobs"), pathlib.Path(folder, "out")
        prepare(Jobs(jobs, target, args.opt, None), names, args.corpus)
        environment = os.environ | {"JAX_PLATFORMS": target.platform}
        command = [sys.executable, str(HERE / "on_device.py"), str(jobs), str(out)]
        done = subprocess.run(command, env=environment, check=False)
        return 0 if done.returncode == 0 and report(jobs, out, target) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", metavar="BIN", help="the driver; report does without")
    parser.add_argument("--corpus", type=pathlib.Path, metavar="FOLDER", help="modules of programs of libraries, instead of the reference programs")
    parser.add_argument("--slimhlo", metavar="BIN", help="prepare: the command, whose packages are compared and timed there")
    parser.add_argument("--target", choices=targets.NAMES, metavar="NAME", help="the device (default: the GPU that is here)")
    parser.add_argument("--write-docs", type=pathlib.Path, metavar="FILE", help="report: put the table into this document")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all, and probes); or prepare, or report, as above")
    args = parser.parse_args()
    if args.names[:1] == ["report"]:
        jobs, out = map(pathlib.Path, args.names[1:3])
        target = targets.find(args.target or "h100")
        if args.write_docs:
            import bench_target

            if any("package" in job for job in json.loads((jobs / "jobs.json").read_text())):
                bench_target.write_docs(args.write_docs, "own kernels", markdown_of_packages(jobs, out))
            else:
                bench_target.write_docs(args.write_docs, "calibrate", markdown(jobs, out, target))
        return 0 if report(jobs, out, target) else 1
    preparing = args.names[:1] == ["prepare"]
    if args.opt is None and not (preparing and args.slimhlo):
        parser.error("--opt is needed: programs are measured after slimhlo, too")
    if preparing:
        jobs = Jobs(pathlib.Path(args.names[1]), targets.find(args.target or "h100"), args.opt, args.slimhlo)
        prepare(jobs, args.names[2:], args.corpus)
        return 0
    target = here(args)
    if isinstance(target, str):
        print(target)
        return 0
    return measured_here(args, target, args.names)


if __name__ == "__main__":
    sys.exit(main())
