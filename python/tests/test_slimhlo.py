# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The installed package, with JAX on this machine's CPU and for devices that are not here."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
import slimhlo


def gathered(table, index):
    """Sums what is gathered: XLA for CPU builds the gathered array, and slimhlo does it in tiles."""
    return jnp.sum(jnp.sin(table[index[:, 0], index[:, 1]]) * 0.5)


def shapes(points: int):
    return jax.ShapeDtypeStruct((128, 128), jnp.float32), jax.ShapeDtypeStruct((points, 2), jnp.int32)


LARGE = 1 << 24


def test_a_lowered_program_comes_back_as_text():
    lowered = jax.jit(jax.grad(gathered)).lower(*shapes(LARGE))
    done = slimhlo.optimize(lowered, platform="cpu")
    assert done.changed and isinstance(done.program, str)
    assert done.report.name == "jit_gathered"
    assert done.report.after < done.report.before
    assert sum(saved for _, saved in done.report.stages) == done.report.before - done.report.after
    again = slimhlo.optimize(done.program, platform="cpu")
    assert not again.changed and again.report.before == done.report.after
    assert again.program is done.program


ALONE = """
import pathlib, slimhlo
text = pathlib.Path({module!r}).read_text()
done = slimhlo.optimize(text, platform="cpu")
assert done.report.after < done.report.before, done.report
loaded = {{line.split()[-1] for line in open("/proc/self/maps") if "/" in line}}
shared = [path for path in loaded if "llvm" in path.lower() or "mlir" in path.lower()]
print("alone" if not [path for path in shared if "jaxlib" not in path] else shared)
"""


def test_it_needs_nothing_of_llvm(tmp_path):
    """Where LLVM's packages are not there: hidden by a mount that only this process has, if it may make one."""
    module = tmp_path / "module.mlir"
    module.write_text(jax.jit(jax.grad(gathered)).lower(*shapes(LARGE)).as_text())
    run = [sys.executable, "-c", ALONE.format(module=str(module))]
    hiding = ["unshare", "--mount", "sh", "-c", 'for d in /usr/lib/llvm-*; do mount -t tmpfs none "$d" || exit 1; done; exec "$@"', "sh"]
    may_hide = subprocess.run([*hiding, "true"], capture_output=True).returncode == 0
    done = subprocess.run([*hiding, *run] if may_hide else run, capture_output=True, text=True)
    assert done.stdout.strip() == "alone", done.stdout + done.stderr


def test_an_exported_program_runs_as_before_with_less_memory():
    exported = jax.export.export(jax.jit(jax.value_and_grad(gathered)))(*shapes(1 << 20))
    done = slimhlo.optimize(exported)
    assert done.changed and isinstance(done.program, jax.export.Exported)
    random = np.random.default_rng(0)
    arguments = (random.standard_normal((128, 128), np.float32), random.integers(0, 128, (1 << 20, 2), np.int32))
    was, now = jax.jit(exported.call), jax.jit(done.program.call)
    for one, other in zip(jax.tree.leaves(was(*arguments)), jax.tree.leaves(now(*arguments)), strict=True):
        # Sums in another order.
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-3)
    temporaries = [call.lower(*arguments).compile().memory_analysis().temp_size_in_bytes for call in (was, now)]
    assert temporaries[1] < temporaries[0] / 2


def test_a_file_of_an_exported_program_is_bytes():
    exported = jax.export.export(jax.jit(gathered))(*shapes(LARGE))
    done = slimhlo.optimize(bytes(exported.mlir_module_serialized), platform="cpu")
    assert done.changed and isinstance(done.program, bytes)


def test_what_cannot_be_read_raises_the_diagnostic():
    with pytest.raises(ValueError, match=r"cannot be read: .*nope"):
        slimhlo.optimize("module { nope }")
    with pytest.raises(ValueError, match="cannot be read"):
        slimhlo.optimize(b"\x00\x01")
    with pytest.raises(TypeError, match="not int"):
        slimhlo.optimize(3)


def test_a_limit_of_time_is_one():
    with pytest.raises(ValueError, match="long"):
        slimhlo.optimize(jax.jit(gathered).lower(*shapes(LARGE)), time_limit=0.0)
    with pytest.raises(ValueError, match="time_limit: -1 is no number of seconds"):
        slimhlo.optimize(jax.jit(gathered).lower(*shapes(LARGE)), time_limit=-1.0)


def attention(q, k, v):
    return (jax.nn.softmax(q @ k.swapaxes(-1, -2) / 8) @ v).sum()


def test_a_memory_limit_is_what_the_fastest_program_has_to_fit():
    shape = jax.ShapeDtypeStruct((4, 8, 1024, 64), jnp.float32)
    lowered = jax.jit(jax.grad(attention, (0, 1, 2))).lower(shape, shape, shape)
    limited = lambda limit: slimhlo.optimize(lowered, platform="cuda", memory_limit=limit).report
    least = limited("1KiB")
    assert least.fits is False and least.limit == 1024 and least.after < least.before / 2
    half = (least.before + least.after) // 2
    fitting = limited(half)
    assert fitting.fits is True and fitting.limit == half and least.after <= fitting.after <= half
    # A share of the chip's memory, in which it fits as it is.
    assert limited(0.9).fits is True and limited("0.9").limit > 60 << 30
    assert limited(None).limit is None and limited(None).fits is None
    memory = slimhlo.report(jax.grad(attention, (0, 1, 2)), shape, shape, shape, platform="cuda", memory_limit=half)
    assert (memory.fits, memory.limit, memory.after) == (True, half, fitting.after)


@pytest.mark.parametrize(
    ("limit", "error", "said"),
    [
        ("much", ValueError, "memory_limit: 'much'"),
        (-1, ValueError, "memory_limit=-1"),
        (1.5, ValueError, "memory_limit=1.5"),
        (True, TypeError, "not bool"),
        # How much memory a machine has is not known.
        (0.5, ValueError, "memory_limit: .*xla-cpu"),
    ],
)
def test_memory_limits_that_make_no_sense(limit, error, said):
    with pytest.raises(error, match=said):
        slimhlo.optimize(jax.jit(gathered).lower(*shapes(64)), platform="cpu", memory_limit=limit)


def test_other_threads_run_meanwhile():
    def layers(x):
        for _ in range(60):
            x = jnp.tanh(x @ x) + x
        return x

    text = jax.jit(jax.grad(lambda x: layers(x).sum())).lower(jax.ShapeDtypeStruct((512, 512), jnp.float32)).as_text()
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.monotonic()
    slimhlo.optimize(text)
    ended = time.monotonic()
    done.set()
    thread.join()
    assert sum(started < at < ended for at in ticks) >= 3


TOPOLOGY = {
    "cuda": "get_topology_desc(platform='cuda', target_config=xla_gpu.description(targets.H100), topology='1x1x1')",
    "tpu": "get_topology_desc('v5p:2x2x1', platform='tpu')",
}


def child(code: str) -> str:
    """What a program prints that starts JAX anew. It finds test/oracle's modules."""
    oracle = pathlib.Path(os.environ["SLIMHLO_ORACLE"])
    # Other tests may have libtpu loaded at the same time, on which it insists to be alone where there is a TPU.
    path = os.pathsep.join([str(oracle), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"PYTHONPATH": path, "ALLOW_MULTIPLE_LIBTPU_LOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.parametrize("platform", ["cuda", "tpu"])
def test_one_line_makes_what_jax_compiles_smaller(platform, tmp_path):
    summary = tmp_path / "summary.jsonl"
    code = f"""
        import json
        import jax_start
        jax_start.start()
        if {{line!r}}:
            import slimhlo
            slimhlo.enable(mode="verify", summary={str(summary)!r})
        import jax, jax.numpy as jnp, targets, xla_gpu
        from jax.experimental import topologies
        from jax.sharding import SingleDeviceSharding
        topology = topologies.{TOPOLOGY[platform]}
        sharding = SingleDeviceSharding(topology.devices[0])
        def f(table, index):
            return jnp.sum(jnp.sin(table[index[:, 0], index[:, 1]]) * 0.5)
        shapes = (jax.ShapeDtypeStruct((128, 128), jnp.float32, sharding=sharding),
                  jax.ShapeDtypeStruct(({LARGE}, 2), jnp.int32, sharding=sharding))
        stats = jax.jit(jax.value_and_grad(f)).lower(*shapes).compile().memory_analysis()
        print(json.dumps([stats.argument_size_in_bytes, stats.output_size_in_bytes, stats.temp_size_in_bytes]))
    """
    without, around = (json.loads(child(code.format(line=line)).splitlines()[-1]) for line in (False, True))
    assert around[:2] == without[:2]
    assert around[2] < without[2] / 2
    line = json.loads(summary.read_text())
    assert (line["platform"], line["program"], line["outcome"]) == (platform, "jit_f", "optimized")
    assert (line["before"]["temporaries"], line["after"]["temporaries"]) == (without[2], around[2])


def test_enable_comes_before_jax_is_used():
    said = child("""
        import jax_start
        jax_start.start()
        import jax, slimhlo, targets, xla_gpu
        xla_gpu.devices(targets.H100, 1)
        try:
            slimhlo.enable()
        except RuntimeError as error:
            print(error)
    """)
    assert "already" in said


def test_enable_refuses_nonsense():
    with pytest.raises(ValueError, match="mode is 'sometimes'"):
        slimhlo.enable(mode="sometimes")
