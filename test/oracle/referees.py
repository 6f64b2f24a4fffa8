# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The referees at work: XLA for GPUs and TPUs compiles small programs without a device, and the estimate reads what comes out.

    python test/oracle/referees.py

First the reader and the estimate, on HLO whose cost is plain: expected numbers are worked out from shapes, or by counting. Then each
target compiles programs whose bytes and operations are known beforehand, and the answers must have the properties that they
must have. A target without a release for this machine is named and left out.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import random
import re
import sys
from collections.abc import Callable

import jax_start

jax_start.start()

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import hlo
import hlo_loops
import hlo_time
import referee
import targets

MIB = 2**20
H100, V5P = targets.find("h100"), targets.find("v5p")


class Wrong(Exception):
    """A check failed."""


def same(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise Wrong(f"{what}: {found}, not {wanted}")


def near(what: str, found: float, wanted: float, by: float = 1e-6) -> None:
    if not math.isclose(found, wanted, rel_tol=by):
        raise Wrong(f"{what}: {found:.6g}, not {wanted:.6g}")


def between(what: str, low: float, found: float, high: float) -> None:
    if not low <= found <= high:
        raise Wrong(f"{what}: {found:.6g} is not between {low:.6g} and {high:.6g}")


# --- HLO whose cost is plain ------------------------------------------------------------------------------------------

BODY = """
%turn (arg.1: (s32[], f32[1024,1024])) -> (s32[], f32[1024,1024]) {
  %arg.1 = (s32[], f32[1024,1024]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%arg.1), index=0
  %one = s32[] constant(3)
  %next = s32[] add(%i, %one)
  %x = f32[1024,1024]{1,0} get-tuple-element(%arg.1), index=1
  %y = f32[1024,1024]{1,0} negate(%x)
  ROOT %both = (s32[], f32[1024,1024]{1,0}) tuple(%next, %y)
}

%more (arg.2: (s32[], f32[1024,1024])) -> pred[] {
  %arg.2 = (s32[], f32[1024,1024]{1,0}) parameter(0)
  %j = s32[] get-tuple-element(%arg.2), index=0
  %most = s32[] constant(20)
  ROOT %less = pred[] compare(%j, %most), direction=LT
}

ENTRY %main (x.1: f32[1024,1024]) -> f32[1024,1024] {
  %x.1 = f32[1024,1024]{1,0} parameter(0)
  %zero = s32[] constant(0)
  %start = (s32[], f32[1024,1024]{1,0}) tuple(%zero, %x.1)
  %loop = (s32[], f32[1024,1024]{1,0}) while(%start), condition=%more, body=%turn BACKEND
  ROOT %out = f32[1024,1024]{1,0} get-tuple-element(%loop), index=1
}
"""
MOVED = 2 * 4 * 1024 * 1024
"""Bytes that negating the array moves."""


def check_loops() -> None:
    """A loop that XLA has not noted the length of is run: 0, 3, .. 18 are 7 turns, and each asks the condition."""
    found = hlo_time.estimate(BODY.replace("BACKEND", ""), V5P)
    near("bytes of 7 turns", found.bytes, 7 * MOVED)
    same("unknown", dict(found.unknown), {})
    noted = hlo_time.estimate(BODY.replace("BACKEND", ', backend_config={"known_trip_count":{"n":"5"}}'), H100)
    same("kernels of 5 turns of two", noted.kernels, 10)
    asked = hlo_time.estimate(BODY.replace("BACKEND", ""), H100)
    same("kernels of 7 turns of two and 8 conditions", asked.kernels, 22)
    near("waits for conditions", asked.kinds["waits"], 8 * H100.rates.wait)
    endless = hlo_time.estimate(BODY.replace("BACKEND", "").replace("constant(3)", "constant(0)"), H100)
    same("a loop that does not end", dict(endless.unknown), {"loops of unknown length": 1})


def entry(lines: str, before: str = "") -> str:
    return f"{before}\nENTRY %main (a: f32[8]) -> f32[8] {{\n{lines}\n}}\n"


def check_products() -> None:
    text = entry("""  %a = bf16[4,256,512]{2,1,0} parameter(0)
  %b = bf16[4,512,128]{2,1,0} parameter(1)
  ROOT %c = bf16[4,256,128]{2,1,0} dot(%a, %b), lhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_batch_dims={0}""")
    near("operations of a batched product", hlo_time.estimate(text, H100).operations, 2 * 4 * 256 * 128 * 512)
    text = entry("""  %a = f32[2,16,16,8]{3,2,1,0} parameter(0)
  %b = f32[3,3,8,32]{3,2,1,0} parameter(1)
  ROOT %c = f32[2,14,14,32]{3,2,1,0} convolution(%a, %b), window={size=3x3}, dim_labels=b01f_01io->b01f""")
    near("operations of a convolution", hlo_time.estimate(text, H100).operations, 2 * 2 * 14 * 14 * 32 * 8 * 9)


def check_taps() -> None:
    """How often a window meets an element, against counting."""
    drawn = random.Random(0)
    for _ in range(500):
        size, window = drawn.randint(1, 9), drawn.randint(1, 5)
        stride, pad, holes, spread = (drawn.randint(low, 4) for low in (1, -2, 1, 1))
        out = ((size - 1) * holes + 1 + 2 * pad - (window - 1) * spread - 1) // stride + 1
        if out < 1:
            continue
        places = (o * stride + tap * spread - pad for o, tap in itertools.product(range(out), range(window)))
        counted = sum(1 for at in places if at >= 0 and at % holes == 0 and at // holes < size)
        words = f", window={{size={window} stride={stride} pad={pad}_{pad} lhs_dilate={holes} rhs_dilate={spread}}}"
        made = hlo.Instruction("c", (), "convolution", (), "", words, False)
        same(f"taps of {size} under{words}", hlo_time.taps(made, [size], [out]), float(counted))


def check_fusions() -> None:
    """Slices of operands count by what they read, results in place by what they write, and nothing by XLA's models."""
    fused = """%fused (p: f32[1000,1000], q: f32[1,1000], k: s32[]) -> f32[1000,1000] {
  %p = f32[1000,1000]{1,0} parameter(0)
  %q = f32[1,1000]{1,0} parameter(1)
  %k = s32[] parameter(2)
  %zero = s32[] constant(0)
  %row = f32[1,1000]{1,0} dynamic-slice(%p, %k, %zero), dynamic_slice_sizes={1,1000}
  %sum = f32[1,1000]{1,0} add(%row, %q)
  ROOT %u = f32[1000,1000]{1,0} dynamic-update-slice(%p, %sum, %k, %zero)
}
"""
    lines = """  %a = f32[1000,1000]{1,0} parameter(0)
  %b = f32[1,1000]{1,0} parameter(1)
  %c = s32[] parameter(2)
  ROOT %f = f32[1000,1000]{1,0} fusion(%a, %b, %c), kind=kLoop, calls=%fused BACKEND"""
    plain = hlo_time.estimate(entry(lines.replace("BACKEND", ""), fused), H100)
    near("bytes of a row updated in place", plain.bytes, 3 * 4 * 1000 + 4, by=1e-3)
    costs = '"reification_cost":[{"exec_time_us":7.5,"name":""},{"exec_time_us":0.5,"name":"indexing-cost-model"}]'
    said = hlo_time.estimate(entry(lines.replace("BACKEND", f", backend_config={{{costs}}}"), fused), H100)
    between("XLA's figure for a loop, which is not taken", H100.rates.launch, said.seconds, 1e-6 + H100.rates.launch)
    triton = f', backend_config={{"fusion_backend_config":{{"kind":"__triton"}},{costs.replace("0.5,", "9000,")}}}'
    said = hlo_time.estimate(entry(lines.replace("BACKEND", triton), fused), H100)
    between("nor one of Triton's", H100.rates.launch, said.seconds, 1e-6 + H100.rates.launch)


def check_tiles() -> None:
    """Fusions by Triton by their tiles, as an H100 took them: causal softmax of bf16, and a transpose in tiles of 32 elements (microseconds)."""

    def tiled(shape: str, tile: str, body: str) -> float:
        sizes = ",".join(f'"{size}"' for size in tile.split())
        noted = f'{{"fusion_backend_config":{{"kind":"__triton","block_level_fusion_config":{{"num_warps":"8","output_tiles":[{{"sizes":[{sizes}]}}]}}}}}}'
        larger = "%larger (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n  ROOT %m = f32[] maximum(%x, %y)\n}\n"
        lines = f"  %a = {shape} parameter(0)\n  ROOT %f = {shape} fusion(%a), kind=kCustom, calls=%fused, backend_config={noted}"
        return hlo_time.estimate(entry(lines, f"{larger}%fused (p: {shape}) -> {shape} {{\n{body}\n}}\n"), H100).microseconds

    scores = "bf16[2,16,4096,4096]{3,2,1,0}"
    softmax = """  %i = s64[4096,4096]{1,0} iota(), iota_dimension=0
  %j = s64[4096,4096]{1,0} iota(), iota_dimension=1
  %c = pred[4096,4096]{1,0} compare(%i, %j), direction=GE
  %b = pred[2,16,4096,4096]{3,2,1,0} broadcast(%c), dimensions={2,3}
  %p = bf16[2,16,4096,4096]{3,2,1,0} parameter(0)
  %w = f32[2,16,4096,4096]{3,2,1,0} convert(%p)
  %low = f32[] constant(-inf)
  %lows = f32[2,16,4096,4096]{3,2,1,0} broadcast(%low), dimensions={}
  %s = f32[2,16,4096,4096]{3,2,1,0} select(%b, %w, %lows)
  %m = f32[2,16,4096]{2,1,0} reduce(%s, %low), dimensions={3}, to_apply=%larger
  %ms = f32[2,16,4096,4096]{3,2,1,0} broadcast(%m), dimensions={0,1,2}
  %d = f32[2,16,4096,4096]{3,2,1,0} subtract(%s, %ms)
  %e = f32[2,16,4096,4096]{3,2,1,0} exponential(%d)
  ROOT %r = bf16[2,16,4096,4096]{3,2,1,0} convert(%e)"""
    between("softmax whose tiles share no mask", 650, tiled(scores, "1 2 2 4096", softmax), 900)
    between("one whose tiles share a row of it", 1200, tiled(scores, "1 4 1 4096", softmax), 1750)
    small = "  %p = bf16[2,4,4096,64]{3,2,1,0} parameter(0)\n  ROOT %n = bf16[2,4,4096,64]{3,2,1,0} negate(%p)"
    between("2^16 tiles", 36, tiled("bf16[2,4,4096,64]{3,2,1,0}", "1 1 1 32", small), 46)


def check_cache() -> None:
    """Turns over what the second cache holds, and over what it does not: 8.2 and 48 microseconds a turn of two kernels on an H100."""
    fused = """%fused (p: f32[N]) -> f32[N] {
  %p = f32[N]{0} parameter(0)
  ROOT %n = f32[N]{0} negate(%p)
}
"""
    for mib, low, high in ((16, 7.5, 9.5), (24, 10.5, 13), (40, 28, 33), (64, 45, 52)):
        text = BODY.replace("BACKEND", ', backend_config={"known_trip_count":{"n":"100"}}').replace("f32[1024,1024]{1,0}", "f32[N]{0}")
        text = text.replace("f32[1024,1024]", "f32[N]").replace("negate(%x)", "fusion(%x), kind=kLoop, calls=%fused")
        text = (fused + text).replace("[N]", f"[{mib << 18}]")
        between(f"a turn over {mib} MiB", low, hlo_time.estimate(text, H100).microseconds / 100, high)


def check_transposed() -> None:
    """TF32 wants operands along what is contracted: 8,192 rows and columns that contract 512 take 204 microseconds, and 363 across."""
    text = """  %a = f32[LEFT]{1,0} parameter(0)
  %b = f32[RIGHT]{1,0} parameter(1)
  ROOT %c = f32[8192,8192]{1,0} dot(%a, %b), lhs_contracting_dims={L}, rhs_contracting_dims={R}"""
    along = text.replace("LEFT", "8192,512").replace("RIGHT", "8192,512").replace("{L}", "{1}").replace("{R}", "{1}")
    across = text.replace("LEFT", "512,8192").replace("RIGHT", "512,8192").replace("{L}", "{0}").replace("{R}", "{0}")
    between("along", 180, hlo_time.estimate(entry(along), H100).microseconds, 230)
    between("across", 320, hlo_time.estimate(entry(across), H100).microseconds, 420)


def check_figures() -> None:
    """Kernels as an H100 took them: memory, arithmetic, atomics and rows by chance (`cargo xtask bench calibrate`, microseconds)."""

    def fusion(parameters: str, body: str, kind: str = "kLoop") -> float:
        given = parameters.split("; ")
        numbered = "\n".join(f"  %p{n} = {kind} parameter({n})" for n, kind in enumerate(given))
        made = re.search(r"ROOT \S+ = (\S+)", body)[1]
        operands = ", ".join(f"%p{n}" for n in range(len(given)))
        sum_of_two = "%sum (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n  ROOT %s = f32[] add(%x, %y)\n}\n"
        fused = f"{sum_of_two}%fused (p: f32[]) -> f32[] {{\n{numbered}\n{body}\n}}\n"
        return hlo_time.estimate(entry(f"{numbered}\n  ROOT %f = {made} fusion({operands}), kind={kind}, calls=%fused", fused), H100).microseconds

    many = "f32[16777216]{0}"
    between("one is added to 1 GiB", 680, fusion("f32[268435456]{0}", "  ROOT %s = f32[268435456]{0} negate(%p0)"), 750)
    sines = "\n".join(f"  %s{n + 1} = {many} sine(%{'p' if n == 0 else 's'}{n})" for n in range(7))
    between("eight sines", 105, fusion(many, f"{sines}\n  ROOT %s8 = {many} sine(%s7)"), 130)
    gathered = "slice_sizes={1}, offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1"
    by_chance = fusion(f"{many}; s32[16777216,1]{{1,0}}", f"  ROOT %g = {many} gather(%p0, %p1), {gathered}")
    between("single elements of 64 MiB by chance", 370, by_chance, 450)
    added = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%sum"
    counted = fusion(
        "f32[256]{0}; s32[268435456,1]{1,0}; f32[268435456]{0}", f"  ROOT %a = f32[256]{{0}} scatter(%p0, %p1, %p2), {added}", "kInput"
    )
    between("2^28 numbers in 256 bins", 55_000, counted, 68_000)
    rows = """%sum (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
%fused (p: f32[100000,128], i: s32[10,1], q: f32[10,128]) -> f32[100000,128] {
  %p = f32[100000,128]{1,0} parameter(0)
  %i = s32[10,1]{1,0} parameter(1)
  %q = f32[10,128]{1,0} parameter(2)
  ROOT %all = f32[100000,128]{1,0} scatter(%p, %i, %q), update_window_dims={1}, inserted_window_dims={0}, \
scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=%sum
}
"""
    lines = """  %a = f32[100000,128]{1,0} parameter(0)
  %b = s32[10,1]{1,0} parameter(1)
  %c = f32[10,128]{1,0} parameter(2)
  ROOT %f = f32[100000,128]{1,0} fusion(%a, %b, %c), kind=kInput, calls=%fused, \
backend_config={"reification_cost":[{"exec_time_us":SAID,"name":""}]}"""
    few = hlo_time.estimate(entry(lines.replace("SAID", "96"), rows), H100)
    near("ten rows, read, and added to what is read and written", few.bytes, 3 * 10 * 512 + 40)
    between("microseconds of ten rows", 3.1, few.microseconds, 3.3)


def check_columns() -> None:
    """A reduction of columns with too few blocks of threads: 4,096 rows of 1,024 bf16 eight times take 38 microseconds, of which memory 23."""
    rows = "%sum (x: f32[], y: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n  %y = f32[] parameter(1)\n  ROOT %s = f32[] add(%x, %y)\n}\n"
    fused = rows + """%fused (p: bf16[8,4096,COLUMNS]) -> f32[8,COLUMNS] {
  %p = bf16[8,4096,COLUMNS]{2,1,0} parameter(0)
  %w = f32[8,4096,COLUMNS]{2,1,0} convert(%p)
  %zero = f32[] constant(0)
  ROOT %r = f32[8,COLUMNS]{1,0} reduce(%w, %zero), dimensions={1}, to_apply=%sum
}
"""
    lines = "  %a = bf16[8,4096,COLUMNS]{2,1,0} parameter(0)\n  ROOT %f = f32[8,COLUMNS]{1,0} fusion(%a), kind=kInput, calls=%fused"
    for columns, low, high in ((1024, 34, 44), (512, 34, 44), (16384, 350, 410)):
        text = entry(lines, fused).replace("COLUMNS", str(columns))
        between(f"eight times {columns} columns", low, hlo_time.estimate(text, H100).microseconds, high)
        # What else is stored is made by the same blocks, and what is made of the sum by whoever has it.
        beside = text.replace("ROOT %r = f32", "%r = f32").replace(
            "to_apply=%sum\n",
            f"to_apply=%sum\n  %n = f32[8,{columns}]{{1,0}} negate(%r)\n  %h = bf16[8,4096,{columns}]{{2,1,0}} negate(%p)\n"
            f"  ROOT %t = (bf16[8,4096,{columns}]{{2,1,0}}, f32[8,{columns}]{{1,0}}) tuple(%h, %n)\n",
        )
        beside = beside.replace(f"-> f32[8,{columns}] {{", f"-> (bf16[8,4096,{columns}], f32[8,{columns}]) {{")
        beside = beside.replace(
            f"ROOT %f = f32[8,{columns}]{{1,0}}", f"ROOT %f = (bf16[8,4096,{columns}]{{2,1,0}}, f32[8,{columns}]{{1,0}})"
        )
        between(f"{columns} columns and what they are sums of", low, hlo_time.estimate(beside, H100).microseconds, 2 * high)


def check_others() -> None:
    """Collectives by a ring's bytes, sorts by their passes, calls that nobody knows by name."""
    text = entry("""  %a = f32[1048576]{0} parameter(0)
  ROOT %r = f32[1048576]{0} all-reduce(%a), replica_groups=[2,4]<=[8], to_apply=%add""")
    found = hlo_time.estimate(text, H100)
    near("all-reduce of 4 MiB among 4", found.kinds["collectives"], 2 * 4 * MIB * 3 / 4 / 450e9 + H100.rates.exchange)
    for groups, size in (
        ("{{0,1,2},{3,4,5}}", 3),
        ("mesh['a'=2,'b'=4] {'b'}", 4),
        ("mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'a','b'}", 8),
        ("mesh['a'=2,'b'=4] {'b':(1)2}", 2),
    ):
        same(f"devices of {groups}", hlo_time.group_size(f"replica_groups={groups}, to_apply=%add"), size)
    text = entry("""  %a = f32[65536]{0} parameter(0)
  ROOT %s = f32[65536]{0} sort(%a), dimensions={0}, is_stable=true, to_apply=%less""")
    same("passes of a sort of 32 tiles", hlo_time.estimate(text, H100).kernels, 1 + 2 + 3 + 4 + 5 + 6)
    text = entry("""  %a = f32[64]{0} parameter(0)
  ROOT %s = f32[64]{0} custom-call(%a), custom_call_target="their_kernel" """)
    same("a strange call", dict(hlo_time.estimate(text, H100).unknown), {"library call their_kernel": 1})
    same("tiles of a TPU", hlo.arrays_of("f32[3,130]{1,0:T(8,128)}")[0].size, 8 * 256 * 4)
    text = entry("""  %a = f32[1024,1024]{1,0:T(8,128)} parameter(0)
  %s = (f32[1024,1024]{1,0:T(8,128)S(1)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%a)
  ROOT %d = f32[1024,1024]{1,0:T(8,128)S(1)} copy-done(%s)""")
    fetched = hlo_time.estimate(text, V5P)
    same("kernels of what is fetched ahead", fetched.kernels, 0)
    same("microseconds of its 4 MiB", round(fetched.microseconds, 2), round(2**22 / 2765e9 * 1e6, 2))
    same("its vector memory", hlo.arrays_of("bf16[8,128]{1,0:T(8,128)(2,1)S(1)}")[0].space, 1)


def check_refusals() -> None:
    for text in ("", "func.func @main() { return }"):
        try:
            hlo.parse(text)
        except ValueError:
            continue
        raise Wrong(f"{text!r} was read as HLO")
    module = hlo.parse(BODY.replace("BACKEND", "").replace("s32[] constant(0)", "s32[] custom-call()"))
    loop = module.entry.instructions["loop"]
    same("a loop from a place unknown", hlo_loops.trips(module, module.entry, loop), None)


PLAIN = (
    check_loops,
    check_products,
    check_transposed,
    check_taps,
    check_fusions,
    check_figures,
    check_tiles,
    check_cache,
    check_columns,
    check_others,
    check_refusals,
)


# --- XLA for devices that are not here --------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a target says of some function."""

    target: targets.Target

    def of(
        self, function: Callable, *given: object, donate: tuple[int, ...] = (), out: object = None
    ) -> referee.Memory:
        extra = {} if out is None else {"out_shardings": out}
        traced = jax.jit(function, donate_argnums=donate, **extra).trace(*given)
        text = traced.lower(lowering_platforms=(self.target.platform,)).as_text()
        return referee.measure(function.__name__, text, self.target)


def spec(*shape: int, dtype: object = jnp.float32, sharding: object = None) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)


def check_bytes(asked: Asked) -> None:
    """A sum of two arrays: its bytes, nothing beside them, at no more than the bandwidth."""
    size = 4096 * 4096 * 4
    found = asked.of(lambda x, y: x + y, spec(4096, 4096), spec(4096, 4096))
    same("arguments", found.arguments, 2 * size)
    same("results", found.results, size)
    between("temporaries", 0, found.temporaries, MIB)
    least = 3 * size / asked.target.rates.bandwidth * 1e6
    between("microseconds", 0.95 * least, found.microseconds, 1.3 * least + 10)
    between("kernels", 1, found.kernels, 3)
    given = asked.of(lambda x, y: x + y, spec(4096, 4096), spec(4096, 4096), donate=(0,))
    same("bytes of a donated argument", given.alias, size)


def check_product(asked: Asked) -> None:
    size = 2048
    found = asked.of(lambda a, b: a @ b, spec(size, size, dtype=jnp.bfloat16), spec(size, size, dtype=jnp.bfloat16))
    least = 2 * size**3 / asked.target.rates.products["bf16"] * 1e6
    between("microseconds", 0.99 * least, found.microseconds, 2 * least + 20)


def check_turns(asked: Asked) -> None:
    """Twenty turns take ten times what two do."""

    def steps(count: int) -> referee.Memory:
        turn = lambda _, x: jnp.sin(x @ x)
        return asked.of(lambda x: lax.fori_loop(0, count, turn, x), spec(1024, 1024))

    few, many = steps(2), steps(20)
    between("share", 5, many.microseconds / few.microseconds, 12)
    same("unknown", many.unknown, {})
    limit = lambda x: lax.while_loop(lambda x: jnp.sum(x) < 100, lambda x: jnp.sin(x @ x), x)
    same("unknown length", asked.of(limit, spec(1024, 1024)).unknown, {"loops of unknown length": 1})


def check_softmax(asked: Asked) -> None:
    """XLA's first model says half a second of it."""
    size = 4 * 8 * 512 * 512
    softmax = lambda x: jax.nn.softmax(x.astype(jnp.float32) * 2, axis=-1).astype(x.dtype)
    found = asked.of(softmax, spec(4, 8, 512, 512, dtype=jnp.bfloat16))
    least = 4 * size / asked.target.rates.bandwidth * 1e6
    between("microseconds", 0.9 * least, found.microseconds, 40 * least + 20)


def check_devices(asked: Asked) -> None:
    """Rows over eight devices and a sum over all: one all-reduce, an eighth of the bytes on each."""
    mesh = Mesh(np.array(jax.devices()[:8]), ("x",))
    rows = NamedSharding(mesh, P("x", None))
    found = asked.of(lambda x: x - jnp.sum(x, axis=0), spec(4096, 1024, sharding=rows), out=rows)
    same("collectives", found.collectives, {"all-reduce": 1})
    same("arguments", found.arguments, 4096 * 1024 * 4 // 8)


def check_platform(asked: Asked) -> None:
    """JAX lowers random numbers for this platform in its own way, and that compiles."""
    draw = lambda key: jax.random.normal(key, (1024, 1024))
    found = asked.of(draw, spec(2, dtype=jnp.uint32))
    same("results", found.results, 1024 * 1024 * 4)
    same("unknown", found.unknown, {})


CHECKS = (check_bytes, check_product, check_turns, check_softmax, check_devices, check_platform)


def check_order() -> None:
    """What bytes decide is faster on an H100 than on an A100, and faster still on a B200."""
    times = [Asked(targets.find(name)).of(lambda x: x + 1, spec(8192, 8192)).microseconds for name in ("a100", "h100", "b200")]
    if times != sorted(times, reverse=True):
        raise Wrong(f"a100, h100 and b200 take {times}")


def main() -> int:
    passed, failed, absent = 0, 0, []

    def run(name: str, check: Callable, *given: object) -> None:
        nonlocal passed, failed
        try:
            check(*given)
            passed += 1
        except Exception as error:  # of XLA and of the checks; each is shown
            failed += 1
            print(f"{name}: {type(error).__name__}: {str(error)[:400]}", flush=True)

    for check in PLAIN:
        run(check.__name__, check)
    for name in ("h100", "v5p", "xla-cpu"):
        target = targets.find(name)
        if reason := targets.missing(target):
            absent.append(name)
            print(reason)
            continue
        for check in CHECKS:
            run(f"{name} {check.__name__}", check, Asked(target))
    if "h100" not in absent:
        run("order", check_order)
    print(f"{passed} passed, {failed} failed" + (f"; not here: {', '.join(absent)}" if absent else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
