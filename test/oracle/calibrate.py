# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The estimates of hlo_time.py against what programs take on a device that is here.

    python test/oracle/calibrate.py                          the NVIDIA GPU of this machine; says so where there is none
    python test/oracle/calibrate.py --target cpu heat_steps  the CPU, on programs at their small sizes

First the constants of targets.py: bandwidth of a copy, what a kernel after another takes, rates of products, a turn of a loop whose
length nobody knows. Then the reference programs for one device: measured and estimated microseconds, and the second over the first. At
the end their geometric mean, and how many lie within 1.5 times of it: a constant factor for all moves no decision, a spread does.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Callable

import bench_gpu
import targets

CHIPS = {"sm_80": "a100", "sm_90": "h100", "sm_100": "b200"}
SPREAD = 1.5
RUNS = 5


# --- constants, in a process of its own that JAX starts on the device in ----------------------------------------------


def seconds_of(function: Callable, *given: object) -> float:
    """The least of some runs, after one that compiles."""
    import jax

    jax.block_until_ready(function(*given))
    taken = []
    for _ in range(RUNS):
        started = time.perf_counter()
        jax.block_until_ready(function(*given))
        taken.append(time.perf_counter() - started)
    return min(taken)


def constants(job: dict) -> dict[str, float]:
    """The rates that a target's constants stand for, as JAX reaches them."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_enable_x64", True)
    small = job["platform"] == "cpu"
    found: dict[str, float] = {}
    x = jnp.zeros((1 << 24 if small else 1 << 28,), jnp.float32)
    found["bandwidth"] = 2 * x.nbytes / seconds_of(jax.jit(lambda x: x + 1), x)
    del x
    size = 1024 if small else 8192
    for kind, dtype in (("bf16", jnp.bfloat16), ("f16", jnp.float16), ("f32", jnp.float32), ("f64", jnp.float64)):
        a = jnp.ones((size, size), dtype)
        found[f"products {kind}"] = 2 * size**3 / seconds_of(jax.jit(lambda a: a @ a), a)
    # A loop of a known number of turns, each of them one kernel over next to nothing.
    turns = 20_000
    tiny = jnp.zeros((1024,), jnp.float32)
    chain = jax.jit(lambda x: lax.fori_loop(0, turns, lambda _, x: jnp.sin(x), x))
    found["launch"] = seconds_of(chain, tiny) / turns
    asked = jax.jit(lambda x: lax.while_loop(lambda x: x[0] < turns / 10, lambda x: x + 1, x))
    found["wait"] = max(0.0, seconds_of(asked, tiny) / (turns / 10) - 2 * found["launch"])
    return found


def in_jax(job: dict) -> dict[str, float] | str:
    environment = os.environ | {"JAX_PLATFORMS": job["platform"], "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    command = [sys.executable, __file__, "--constants", json.dumps(job)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, cwd=pathlib.Path(__file__).parent
    )
    return bench_gpu.last_line(done.stderr) if done.returncode else json.loads(done.stdout.splitlines()[-1])


def stated(target: targets.Target, name: str) -> float | None:
    if name.startswith("products "):
        return target.rates.products.get(name.removeprefix("products "))
    return getattr(target.rates, name)


def print_constants(target: targets.Target) -> bool:
    found = in_jax({"platform": target.platform})
    if isinstance(found, str):
        print(f"JAX cannot measure on this device: {found}")
        return False
    print(f"{'constant':16s} {'measured':>12s} {'targets.py':>12s}")
    for name, value in found.items():
        known = stated(target, name)
        print(f"{name:16s} {value:12.4g} {'-' if known is None else f'{known:12.4g}'}")
    return True


# --- programs -------------------------------------------------------------------------------------------------------


def estimated(name: str, sizes: dict[str, int], target: targets.Target) -> float | None:
    """Seconds by the estimate; None of a program for several devices."""
    import programs
    import referee

    program = (programs.PROGRAMS | programs.VARIANTS)[name]
    text = program.lower(target.platform, **sizes).as_text()
    if "mhlo.num_partitions = 1 " not in text:
        return None
    return referee.measure(name, text, target).microseconds * 1e-6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--target", choices=targets.NAMES, metavar="NAME", help="the device that is here (default: its GPU)"
    )
    parser.add_argument("--constants", metavar="JOB", help=argparse.SUPPRESS)
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default: all)")
    args = parser.parse_args()
    if args.constants:
        print(json.dumps(constants(json.loads(args.constants))))
        return 0
    name = args.target
    if name is None:
        here = bench_gpu.gpu()
        if here is None:
            print("There is no NVIDIA GPU on this machine (nvidia-smi finds none): nothing is measured.")
            return 0
        name = CHIPS.get(here[1], "h100")
        print(f"{here[0]}, {here[1]}: against the estimates for {name}")
    target = targets.find(name)
    if reason := targets.missing(target):
        print(f"{reason}: nothing is measured.")
        return 0
    import programs

    known = programs.PROGRAMS | programs.VARIANTS
    if unknown := set(args.names).difference(known):
        parser.error(f"no program {min(unknown)}")
    if not print_constants(target):
        return 1
    whole = True
    print(f"{'program':44s} {'measured us':>12s} {'estimated':>12s} {'share':>6s}")
    shares = []
    for each in args.names or known:
        sizes = known[each].small if target.kind == "cpu" else bench_gpu.PROGRAMS.get(each, {})
        guess = estimated(each, sizes, target)
        if guess is None:
            continue
        ran = bench_gpu.in_jax({"name": each, "runner": None, "sizes": sizes, "platform": target.platform})
        if "error" in ran:
            whole = False
            print(f"{each:44s} {ran['error']}")
            continue
        shares.append(guess / ran["seconds"])
        print(f"{each:44s} {ran['seconds'] * 1e6:12.1f} {guess * 1e6:12.1f} {shares[-1]:6.2f}", flush=True)
    if shares:
        middle = math.exp(sum(math.log(share) for share in shares) / len(shares))
        close = sum(1 for share in shares if 1 / SPREAD <= share / middle <= SPREAD)
        print(
            f"estimates are {middle:.2f} of what is measured, in the geometric mean; {close} of {len(shares)} within {SPREAD} times of it"
        )
    return 0 if whole else 1


if __name__ == "__main__":
    sys.exit(main())
