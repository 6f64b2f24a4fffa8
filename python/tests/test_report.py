# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`slimhlo.report`, and what installing slimhlo does to those who do not ask for it."""

from __future__ import annotations

import html
import inspect
import os
import pathlib

import jax
import jax.export
import jax.numpy as jnp
import pytest
import slimhlo
from test_slimhlo import LARGE, child, gathered, shapes


def test_figures_by_line_of_source():
    memory = slimhlo.report(jax.value_and_grad(gathered), *shapes(LARGE))
    assert memory.name == "jit_gathered" and memory.after < memory.before and memory.floor <= memory.after
    assert sum(saved for _, saved in memory.stages) == memory.before - memory.after
    lines, first = inspect.getsourcelines(gathered)
    ours = [line for line in memory.lines if line.file == __file__.replace("test_report", "test_slimhlo")]
    largest = max(ours, key=lambda line: line.before)
    assert first <= largest.line < first + len(lines) and largest.before > largest.after
    assert sum(line.before for line in memory.lines) == memory.before


def test_a_table_and_a_page():
    memory = slimhlo.report(gathered, *shapes(LARGE), platform="cpu")
    assert str(memory).startswith("jit_gathered\n") and "What each pass saves" in str(memory)
    assert "test_slimhlo.py" in str(memory)
    frame = memory._repr_html_()
    assert frame.startswith("<iframe") and html.escape("<!doctype html>", quote=False) in frame.lower()
    assert memory.html.lower().startswith("<!doctype html>") and "jit_gathered" in memory.html


def test_all_kinds_of_programs():
    function = jax.value_and_grad(gathered)
    lowered = jax.jit(function).lower(*shapes(LARGE))
    exported = jax.export.export(jax.jit(function))(*shapes(LARGE))
    figures = {
        slimhlo.report(program, *args, platform="cpu").before
        for program, args in (
            (function, shapes(LARGE)),
            (jax.jit(function), shapes(LARGE)),
            (slimhlo.jit(function), shapes(LARGE)),
            (lowered, ()),
            (lowered.as_text(), ()),
        )
    }
    assert len(figures) == 1
    # JAX lowers for a file with other constants than for itself.
    exports = {slimhlo.report(each, platform="cpu").before for each in (exported, bytes(exported.serialize()))}
    assert len(exports) == 1
    # By default a program is for what its arguments say, and targets differ.
    assert slimhlo.report(function, *shapes(LARGE)).before in figures
    assert slimhlo.report(lowered, target="v5p").before not in figures


def test_what_cannot_be_reported_raises():
    with pytest.raises(slimhlo.Error, match="cannot be read"):
        slimhlo.report("module { nope }")
    with pytest.raises(TypeError, match="arguments are for functions"):
        slimhlo.report("module {}", 3)
    with pytest.raises(TypeError, match="not int"):
        slimhlo.report(3)
    with pytest.raises(ValueError, match="target"):
        slimhlo.report(jnp.sin, jnp.ones(3), target="abacus")


CUDA = """
    import jax_start
    jax_start.start()
    import jax, jax.numpy as jnp, targets, xla_gpu
    from jax.sharding import SingleDeviceSharding
    shape = jax.ShapeDtypeStruct((1 << 20,), jnp.float32, sharding=SingleDeviceSharding(xla_gpu.devices(targets.H100, 1)[0]))
    jax.jit(lambda x: jnp.sort(x)).lower(shape).compile()
    import sys
    print("layer", any(name.startswith("slimhlo") for name in sys.modules))
"""


# JAX goes through plugins in an order that follows from this.
@pytest.mark.parametrize("seed", ["0", "1", "2", "3"])
def test_the_environment_alone_enables_the_layer(seed, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", seed)
    summary = tmp_path / "summary.jsonl"
    monkeypatch.setenv("SLIMHLO_SUMMARY", str(summary))
    assert "layer False" in child(CUDA)
    assert not summary.exists()
    monkeypatch.setenv("SLIMHLO", "verify")
    assert "layer True" in child(CUDA)
    assert '"platform":"cuda"' in summary.read_text() and '"mode":"verify"' in summary.read_text()


def test_type_stubs_say_what_there_is():
    folder = pathlib.Path(slimhlo.__file__).parent
    assert (folder / "py.typed").exists()
    stubs = (folder / "_slimhlo.pyi").read_text()
    from slimhlo import _slimhlo

    for name in dir(_slimhlo):
        if not name.startswith("_"):
            assert f"class {name}" in stubs or f"def {name}" in stubs, name
    for name in slimhlo.__all__:
        assert getattr(slimhlo, name) is not None
    assert os.path.exists(slimhlo.library_path())
