# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs what docs/python.md tells people to do, in the order in which it does."""

from __future__ import annotations

import os
import pathlib
import re

import pytest
from test_slimhlo import child

GUIDE = pathlib.Path(__file__).parents[2] / "docs/python.md"
RECIPE = re.compile(r"<!-- test(?:: (?P<what>\w+))? -->\n```python\n(?P<code>.*?)```", re.DOTALL)
RECIPES = [(match["what"] or "cpu", match["code"]) for match in RECIPE.finditer(GUIDE.read_text())]

CUDA = """
from jax.sharding import SingleDeviceSharding
import targets, xla_gpu
device = xla_gpu.devices(targets.H100, 1)[0]
there = [jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=SingleDeviceSharding(device)) for each in shapes]
taken = [
    jit(jax.value_and_grad(energy)).lower(*there).compile({"xla_gpu_autotune_level": "0"}).memory_analysis().temp_size_in_bytes
    for jit in (jax.jit, slimhlo.jit)
]
assert taken[1] < taken[0] / 2, taken
"""


def run(parts: list[str], folder: pathlib.Path) -> str:
    return child("import jax_start; jax_start.start()\n" + f"import os; os.chdir({str(folder)!r})\n" + "".join(parts))


def test_recipes_for_a_cpu(tmp_path):
    ours = [code for what, code in RECIPES if what == "cpu"]
    assert len(ours) >= 4
    run(ours, tmp_path)
    assert {"memory.html", "energy.jax", "smaller.jax"} <= set(os.listdir(tmp_path))


@pytest.mark.parametrize("platform", ["tpu", "cuda"])
def test_recipes_for_devices_that_are_not_here(platform, tmp_path):
    before = [code for what, code in RECIPES if what == "cpu"][:2]
    ours = [code for what, code in RECIPES if what == platform] or [CUDA]
    said = run([*before, *ours], tmp_path)
    assert platform == "cuda" or "temp_size_in_bytes" in said
