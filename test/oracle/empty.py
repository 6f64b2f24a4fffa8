# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every op that kernels are made of, with each dimension 0 in turn, on the CPU against XLA.

    python test/oracle/empty.py --slimhlo target/debug/slimhlo [--only TEXT]

Each case is a function of JAX or a module, whose shapes are letters; each letter is a dimension and is 0 once, the others being as they
are in SIZES; a digit is a size of its own. Where JAX itself refuses a size of 0, or jaxlib a module, there is nothing to compare with;
that is counted. At the end every op of docs/dialects that the back end claims has to have been in a program with a dimension of 0.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import execute  # noqa: F401 - it has JAX keep 64 bits
import jaxlib_ir
import xla_cpu
from kernels import run, values

SIZES = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}
# What the back end says that it does not take, and what has no operands or results to be empty.
CLAIMED_NOT = frozenset(
    """after_all all_gather all_reduce all_to_all async_done async_start collective_broadcast collective_permute create_token
    cross-replica-sum custom_call dynamic_broadcast_in_dim dynamic_conv dynamic_gather dynamic_iota dynamic_pad dynamic_reshape einsum
    get_dimension_size get_tuple_element infeed outfeed partition_id real_dynamic_slice recv reduce_scatter replica_id rng send
    set_dimension_size torch_index_select tuple unary_einsum uniform_dequantize uniform_quantize return""".split()
)
Shapes = tuple[str, ...]


def functions() -> Iterator[tuple[str, Callable, Shapes]]:
    """Name, function, and for each argument its dimensions, with the element type behind a colon if it is not f32."""
    window = lambda op, init: lambda x: lax.reduce_window(x, init, op, (2, 2), (1, 1), ((1, 1), (1, 1)))
    numbers = lax.ConvDimensionNumbers((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))
    conv = lambda x, y: lax.conv_general_dilated(x, y, (1, 1), "SAME", dimension_numbers=numbers)
    rows = lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))
    read = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    short = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0,))
    yield "reduce", lambda x: lax.reduce(x, np.float32(2), lax.add, (1,)), ("abc",)
    yield "reduce two", lambda x: lax.reduce(x, np.float32(2), lax.max, (0, 2)), ("abc",)
    yield "reduce all", lambda x: x.sum(), ("ab",)
    yield "reduce complex", lambda x: x.sum(1), ("ab:complex64",)
    yield "reduce integers", lambda x: x.prod(0), ("ab:int32",)
    yield "reduce booleans", lambda x: x.any(1), ("ab:bool",)
    yield "arg-max", lambda x: x.argmax(1), ("ab",)
    yield "softmax", lambda x: jax.nn.softmax(x, -1), ("ab",)
    yield "log-sum-exp", lambda x: jax.nn.logsumexp(x, 0), ("ab",)
    yield "running sum", lambda x: jnp.cumsum(x, 1), ("ab",)
    yield "running maximum", lambda x: lax.cummax(x, 0), ("ab",)
    yield "sort", lambda x: lax.sort(x, dimension=0), ("ab",)
    yield "sort two", lambda x, y: lax.sort((x, y), dimension=1, num_keys=1), ("ab", "ab:int32")
    yield "top 2", lambda x: lax.top_k(x, 2), ("ab",)
    yield "top 0", lambda x: lax.top_k(x, 0), ("ab",)
    yield "dot", lambda x, y: lax.dot(x, y), ("ab", "bc")
    yield "batched dot", lambda x, y: jnp.einsum("abc,acd->abd", x, y), ("abc", "acd")
    yield "integer dot", lambda x, y: lax.dot(x, y), ("ab:int32", "bc:int32")
    yield "dot and reduction", lambda x, y: (x @ y).sum(1), ("ab", "bc")
    yield "convolution", conv, ("abde", "cbde")
    yield "pooling", window(lax.add, np.float32(0)), ("ab",)
    yield "maxima in windows", window(lax.max, np.float32(-np.inf)), ("ab",)
    yield "gradient of pooling", jax.grad(lambda x: jnp.sin(window(lax.max, np.float32(-np.inf))(x)).sum()), ("de",)
    yield "gather rows", lambda x, i: jnp.take(x, i, axis=0, mode="clip"), ("ab", "c:int32")
    yield "gather", lambda x, i: lax.gather(x, i, read, (1, x.shape[1])), ("ab", "c1:int32")
    yield "gather nothing", lambda x, i: lax.gather(x, i, short, (0, x.shape[1])), ("ab", "c1:int32")
    yield "gather columns", lambda x, i: x[:, i], ("ab", "c:int32")
    for name, scatter in {"set": lax.scatter, "add": lax.scatter_add, "max": lax.scatter_max}.items():
        yield f"scatter {name}", lambda x, i, u, f=scatter: f(x, i, u, rows), ("ab", "c1:int32", "cb")
    yield "scatter rows", lambda x, i, u: x.at[i].add(u), ("ab", "c:int32", "cb")
    yield "gradient of a gather", jax.grad(lambda x, i: jnp.sin(x[i]).sum()), ("ab", "c:int32")
    yield "update", lambda x, u: lax.dynamic_update_slice(x, u, (1, 0)), ("ab", "ab")
    yield "update of nothing", lambda x, u: lax.dynamic_update_slice(x, u, (0, 0)), ("de", "ce")
    yield "slice at", lambda x, i: lax.dynamic_slice(x, (i, i), (0, 2)), ("ab", ":int32")
    yield "slice", lambda x: x[:1, 1:], ("ab",)
    yield "pad", lambda x: lax.pad(x, np.float32(1), ((1, 2, 1), (0, 1, 0))), ("ab",)
    yield "pad less", lambda x: lax.pad(x, np.float32(1), ((-1, 0, 0), (0, 1, 0))), ("db",)
    yield "join", lambda x, y: lax.concatenate((x, y), 0), ("ab", "cb")
    yield "move", lambda x: jnp.flip(x.T, 0).reshape(-1), ("ab",)
    yield "spread", lambda x: lax.broadcast_in_dim(x, (x.shape[0], 3, x.shape[1]), (0, 2)), ("ab",)
    yield "iota", lambda x: x + lax.iota(np.float32, x.shape[0])[:, None], ("ab",)
    yield "cholesky", lambda x: lax.linalg.cholesky(x), ("abb",)
    yield "triangular system", lambda x, y: lax.linalg.triangular_solve(x, y, lower=True, left_side=True), ("abb", "abc")
    for name in ("fft", "ifft", "rfft"):
        yield name, getattr(jnp.fft, name), ("ab:" + ("float32" if name == "rfft" else "complex64"),)
    yield "while", lambda x: lax.fori_loop(0, 3, lambda i, x: x * 2 + i, x), ("ab",)
    yield "while of no turns", lambda x: lax.scan(lambda s, y: (s + y, s * y), jnp.ones(x.shape[1]), x), ("ab",)
    yield "case", lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, lambda x: x * 2], x), (":int32", "ab")
    yield "if", lambda p, x: lax.cond(p, lambda x: x.sum(0), lambda x: x.max(0, initial=0), x), (":bool", "ab")
    yield "barrier", lambda x: lax.optimization_barrier(x) + 1, ("ab",)
    yield "random bits", lambda x: lax.rng_bit_generator(np.arange(4, dtype=np.uint32), x.shape, np.uint32), ("ab",)
    yield "random numbers", lambda x: jax.random.normal(jax.random.key(1), x.shape) + x, ("ab",)
    yield "select", lambda p, x, y: jnp.where(p, x, y), ("ab:bool", "ab", "ab")
    yield "clamp", lambda x: lax.clamp(np.float32(0), x, np.float32(1)), ("ab",)
    yield "convert", lambda x: (x.astype(np.int8), x.astype(np.complex64), lax.bitcast_convert_type(x, np.uint8)), ("ab",)
    yield "precision", lambda x: lax.reduce_precision(x, 5, 10), ("ab",)
    yield "complex", lambda x, y: (lax.complex(x, y) * 2, lax.real(lax.complex(x, y)), lax.imag(lax.complex(x, y))), ("ab", "ab")
    yield "compare", lambda x, y: (x < y, x == y), ("ab", "ab")
    yield "attention", lambda q, k, v: jax.nn.softmax(q @ k.T, -1) @ v, ("ac", "bc", "bd")
    yield "gradient of attention", jax.grad(lambda q, k, v: (jax.nn.softmax(q @ k.T, -1) @ v).sum(), (0, 1, 2)), ("ac", "bc", "bd")


UNARY = """abs cbrt ceil cosine exponential exponential_minus_one floor log log_plus_one logistic negate round_nearest_afz
    round_nearest_even rsqrt sign sine sqrt tan tanh""".split()
BINARY = "add atan2 divide maximum minimum multiply power remainder subtract".split()
INTEGER = "and or xor shift_left shift_right_arithmetic shift_right_logical".split()


def modules() -> Iterator[tuple[str, str, Shapes]]:
    """Name, text with SHAPE and LAST for the sizes and the last size of each argument, and the arguments."""

    def chain(element: str, unary: list[str], binary: list[str]) -> str:
        ty = f"tensor<SHAPE0x{element}>"
        lines = [f"%u{n} = stablehlo.{op} %x : {ty}" for n, op in enumerate(unary)]
        lines += [f"%b{n} = stablehlo.{op} %x, %y : {ty}" for n, op in enumerate(binary)]
        results = [f"%u{n}" for n in range(len(unary))] + [f"%b{n}" for n in range(len(binary))]
        types = ", ".join([ty] * len(results))
        body = "\n  ".join(lines)
        return f"func.func @main(%x: {ty}, %y: {ty}) -> ({types}) {{\n  {body}\n  return {', '.join(results)} : {types}\n}}"

    yield "floats", chain("f32", UNARY, BINARY), ("ab", "ab")
    yield "integers", chain("i32", ["not", "popcnt", "count_leading_zeros"], INTEGER), ("ab:int32", "ab:int32")
    yield (
        "map",
        """func.func @main(%x: tensor<SHAPE0xf32>, %y: tensor<SHAPE0xf32>) -> tensor<SHAPE0xf32> {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %r = "stablehlo.map"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %s = stablehlo.multiply %a, %two : tensor<f32>
    %p = stablehlo.compare GT, %b, %three : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %t = stablehlo.select %p, %s, %b : tensor<i1>, tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) {dimensions = array<i64: 0, 1>} : (tensor<SHAPE0xf32>, tensor<SHAPE0xf32>) -> tensor<SHAPE0xf32>
  return %r : tensor<SHAPE0xf32>
}""",
        ("ab", "ab"),
    )
    yield (
        "older forms",
        """func.func @main(%x: tensor<SHAPE0xf32>, %y: tensor<SHAPE1xf32>, %z: tensor<SHAPE2xf32>)
    -> (tensor<SHAPE2xf32>, tensor<3xSHAPE0xf32>, tensor<SHAPE0xi1>, tensor<SHAPE0xf32>) {
  %0 = stablehlo.dot %x, %y : (tensor<SHAPE0xf32>, tensor<SHAPE1xf32>) -> tensor<SHAPE2xf32>
  %1 = stablehlo.broadcast %x, sizes = [3] : (tensor<SHAPE0xf32>) -> tensor<3xSHAPE0xf32>
  %2 = stablehlo.is_finite %x : (tensor<SHAPE0xf32>) -> tensor<SHAPE0xi1>
  %3 = stablehlo.composite "some.sine" %x {decomposition = @sine} : (tensor<SHAPE0xf32>) -> tensor<SHAPE0xf32>
  return %0, %1, %2, %3 : tensor<SHAPE2xf32>, tensor<3xSHAPE0xf32>, tensor<SHAPE0xi1>, tensor<SHAPE0xf32>
}
func.func private @sine(%x: tensor<SHAPE0xf32>) -> tensor<SHAPE0xf32> {
  %0 = stablehlo.sine %x : tensor<SHAPE0xf32>
  return %0 : tensor<SHAPE0xf32>
}""",
        ("ab", "bc", "ac"),
    )
    yield (
        "gather of rows",
        """func.func @main(%x: tensor<SHAPE0xf32>, %i: tensor<SHAPE1xi32>, %y: tensor<SHAPE2xf32>) -> tensor<SHAPE2xf32> {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, LAST0>}> :
      (tensor<SHAPE0xf32>, tensor<SHAPE1xi32>) -> tensor<SHAPE2xf32>
  %1 = stablehlo.add %0, %y : tensor<SHAPE2xf32>
  return %1 : tensor<SHAPE2xf32>
}""",
        ("ab", "c1:int32", "cb"),
    )
    yield (
        "factorization",
        """func.func @main(%x: tensor<SHAPE0xf32>, %y: tensor<SHAPE1xf32>, %p: tensor<i1>) -> tensor<SHAPE1xf32> {
  %0 = stablehlo.cholesky %x, lower = true : tensor<SHAPE0xf32>
  %1 = "stablehlo.triangular_solve"(%0, %y) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<SHAPE0xf32>, tensor<SHAPE1xf32>) -> tensor<SHAPE1xf32>
  %2 = "stablehlo.if"(%p) ({
    %3 = stablehlo.sine %1 : tensor<SHAPE1xf32>
    stablehlo.return %3 : tensor<SHAPE1xf32>
  }, {
    stablehlo.return %y : tensor<SHAPE1xf32>
  }) : (tensor<i1>) -> tensor<SHAPE1xf32>
  return %2 : tensor<SHAPE1xf32>
}""",
        ("abb", "abc", ":bool"),
    )
    yield (
        "batch normalization",
        """func.func @main(%x: tensor<SHAPE0xf32>, %s: tensor<SHAPE1xf32>, %g: tensor<SHAPE0xf32>)
    -> (tensor<SHAPE0xf32>, tensor<SHAPE0xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>, tensor<SHAPE0xf32>) {
  %v = stablehlo.multiply %s, %s : tensor<SHAPE1xf32>
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %v) {epsilon = 0.001 : f32, feature_index = 1 : i64} :
      (tensor<SHAPE0xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>) -> tensor<SHAPE0xf32>
  %1:3 = "stablehlo.batch_norm_training"(%x, %s, %s) {epsilon = 0.001 : f32, feature_index = 1 : i64} :
      (tensor<SHAPE0xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>) -> (tensor<SHAPE0xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>)
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %s, %v, %g) {epsilon = 0.001 : f32, feature_index = 1 : i64} :
      (tensor<SHAPE0xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>, tensor<SHAPE0xf32>)
      -> (tensor<SHAPE0xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>)
  return %0, %1#0, %1#1, %1#2, %2#0
      : tensor<SHAPE0xf32>, tensor<SHAPE0xf32>, tensor<SHAPE1xf32>, tensor<SHAPE1xf32>, tensor<SHAPE0xf32>
}""",
        ("abc", "b", "abc"),
    )


def arguments(rng: np.random.Generator, shapes: Shapes, empty: str) -> tuple[np.ndarray, ...]:
    made = []
    for text in shapes:
        dims, _, kind = text.partition(":")
        sizes = [0 if dim == empty else SIZES[dim] if dim in SIZES else int(dim) for dim in dims]
        if kind == "int32":
            array = rng.integers(0, 2, sizes).astype(np.int32)
        else:
            array = np.abs(values(rng, *sizes)).astype(kind or np.float32)
        if dims.endswith("bb") and array.size:
            array = (array * 0.1 + 2 * np.eye(sizes[-1])).astype(np.float32)
            array = array + np.swapaxes(array, -1, -2)
        made.append(np.asarray(array))
    return tuple(made)


def programs(only: str) -> Iterator[tuple[str, str, tuple[np.ndarray, ...], list[np.ndarray] | None]]:
    """Name, module, arguments and results; no results where nobody else computes them."""
    rng = np.random.default_rng(0)
    for name, function, shapes in functions():
        for empty in sorted(set("".join(text.partition(":")[0] for text in shapes)) & set(SIZES)):
            if only not in name:
                continue
            given = arguments(rng, shapes, empty)
            title = f"{name} {', '.join(str(array.shape) for array in given)}"
            try:
                jitted = jax.jit(function, keep_unused=True)
                wanted = [np.asarray(each) for each in jax.tree.leaves(jitted(*given))]
                text = jitted.lower(*given).as_text()
            except (TypeError, ValueError, IndexError, NotImplementedError, ZeroDivisionError) as refused:
                yield f"{title}: {str(refused).splitlines()[0][:90]}", "", given, None
                continue
            yield title, text, given, wanted
    for name, template, shapes in modules():
        for empty in sorted(set("".join(text.partition(":")[0] for text in shapes)) & set(SIZES)):
            if only not in name:
                continue
            given, text = arguments(rng, shapes, empty), template
            for number, array in enumerate(given):
                text = text.replace(f"SHAPE{number}", "x".join(map(str, array.shape)))
                text = text.replace(f"LAST{number}", str(array.shape[-1] if array.shape else ""))
            title = f"{name} {', '.join(str(array.shape) for array in given)}"
            context = jaxlib_ir.make_context()
            if refused := jaxlib_ir.refusal(text, context):
                yield f"{title}: {refused.splitlines()[0][:90]}", "", given, None
                continue
            executable = xla_cpu.compile_module(jaxlib_ir.parse(text, context))
            wanted = [np.asarray(shards[0]) for shards in xla_cpu.run(executable, list(given))]
            yield title, text, given, wanted


def claimed() -> set[str]:
    """The ops of the StableHLO dialect that kernels are made of."""
    page = (pathlib.Path(__file__).parents[2] / "docs/dialects/stablehlo.md").read_text()
    return {f"stablehlo.{name}" for name in re.findall(r"^### `stablehlo\.([\w-]+)`", page, re.M) if name not in CLAIMED_NOT}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slimhlo", required=True, metavar="BIN", help="the command")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose name contains this")
    args = parser.parse_args()
    started = time.monotonic()
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    pending, seen, refused = [], set(), []
    for name, text, given, wanted in programs(args.only):
        if wanted is None:
            refused.append(name)
            continue
        lines = text.replace("\n      ", " ").splitlines()
        seen |= {op for line in lines if re.search(r"[<x]0x", line) for op in re.findall(r"stablehlo\.[\w-]+", line)}
        # Regions are on lines of their own.
        seen |= set(re.findall(r"stablehlo\.(?:while|case|if|map|sort|scatter|reduce_window|select_and_scatter)\b", text))
        pending.append((name, pool.submit(run, args.slimhlo, text, given, wanted, 1)))
    failed = 0
    for name, future in pending:
        if found := future.result():
            failed += 1
            print(f"{name}: {found}", flush=True)
    for name in refused:
        print(f"  nothing to compare with: {name}")
    missing = sorted(claimed() - seen) if not args.only else []
    for op in missing:
        failed += 1
        print(f"{op}: in no program with a dimension of 0")
    passed = len(pending) + len(claimed()) - failed if not args.only else len(pending) - failed
    print(
        f"{passed} passed, {failed} failed: {len(pending)} programs with a dimension of 0, and {len(claimed())} ops in them; "
        f"{len(refused)} refused by JAX; {time.monotonic() - started:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
