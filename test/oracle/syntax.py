# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Text that nobody's printer writes: the same verdict from jaxlib and from the driver, and the same module where it is valid.

    python test/oracle/syntax.py --opt target/debug/slimhlo-opt --count 4000 --seed 1

Modules are the pieces of syntax.mlir, of the seeds and of the lit tests of verifiers. Each is given to both as it is, and then with one to three
of its tokens changed: left out, doubled, swapped, replaced by others, numbers by nearby, huge or hexadecimal ones, entries of lists left out.
mutate.py changes ops in generic form; here it is their assembly formats, and the syntax of attributes and types. What both take is compared in
generic form, by jaxlib. A disagreement fails the run unless syntax_known.toml holds a reason for it; so does a crash or a hang.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import random
import re
import sys
import time
import tomllib

import mutate
import verdicts
from opt import Driver, with_values

HERE = pathlib.Path(__file__).parent
KNOWN = HERE / "syntax_known.toml"
SOURCES = (HERE / "syntax.mlir", *sorted((HERE / "seeds").glob("*.mlir")), *sorted((HERE.parent / "verify").glob("*.mlir")))
TOKEN = re.compile(
    r"""//[^\n]*|"(?:[^"\\\n]|\\.)*"|[%@#!^][\w.$-]+|->|::|(?<=[<x])\d+(?=x)|0x[0-9A-Fa-f]+|\d+\.\d*(?:[eE][-+]?\d+)?|\d+|[A-Za-z_][\w.$]*|\s+|.""",
    re.DOTALL,
)
OPEN, CLOSE = "([{<", ")]}>"
ELEMENTS = (
    *("i1", "i2", "i3", "i4", "i7", "i8", "i16", "i32", "i64", "i128", "ui2", "ui4", "ui8", "ui16", "ui64", "si32", "index", "none"),
    *("f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"),
    *("bf16", "f16", "tf32", "f32", "f64", "f80", "f128", "complex<f32>", "complex<f64>", "complex<bf16>", "complex<i32>", "complex<i1>"),
    *("!stablehlo.token", "!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<u4:f32:0, {0.5, 0.25:1}>", "!quant.any<i8:f32>", "tensor<2xf32>"),
)
TYPES = (
    *("!stablehlo.future<tensor<2xf32>>", "!stablehlo.future<>", "!stablehlo.token", "!stablehlo.other", "!stablehlo", "!chlo.x", "!sdy.x"),
    *("!stablehlo.future<tensor<2xf32>, !stablehlo.token>", "!stablehlo.future<f32>", "tuple<>", "tuple<f32, tuple<i1, none>>"),
    *("tensor<?x3xf32, #stablehlo.bounds<4, ?>>", "tensor<?x3xf32, #stablehlo.bounds<4>>", "tensor<2xf32, #stablehlo.bounds<2>>"),
    *("tensor<?xf32, #stablehlo.bounds<-1>>", "tensor<?xf32, #stablehlo.bounds<?>>", "tensor<?xf32, #stablehlo.type_extensions<bounds = [4]>>"),
    *("tensor<?xf32, #stablehlo.type_extensions<bounds = [?]>>", "tensor<?xf32, 1 : i32>", 'tensor<2xf32, "x">', "tensor<*xf32>"),
    *("tensor<2x3xf32, #sparse_tensor.encoding<{map = (d0, d1) -> (d0 : dense, d1 : compressed)}>>", "memref<2xf32>", "vector<[4]xf32>"),
    *("vector<f32>", "(f32) -> ()", "() -> (f32, i1)", "!llvm.ptr", "!llvm.struct<(i32)>", "tensor<0x?xf32>", "tensor<9223372036854775807xi8>"),
    *("tensor<9223372036854775808xi8>", "tensor<-1xf32>", "tensor<2xf32>>", "tensor<0x4xi1>", "tensor<0xF32>", "tensor<4 x 5 x f32>", "tensor< f32 >"),
    *("!builtin.integer", "!vhlo.f32_v1", "!vhlo.tensor_v1<2x!vhlo.f32_v1>", "!vhlo.token_v1", "!vhlo.i7_v1", "!mhlo.token", "!quant.calibrated<f32<-1.0:1.0>>"),
)
ATTRIBUTES = (
    *("unit", "true", "1", "-1 : si8", "1 : ui8", "255 : i8", "256 : i8", "128 : si8", "0x1F : i16", "1.5", "1e400", "0x7FC00000 : f32", "1.0 : f80"),
    *("1 : f32", "1.0 : i32", "1 : index", '"a\\22\\00\\n"', '"a" : f32', "@a", "@a::@b", '@"a b"', "[]", "[1, [true], {}]", "{}", "{a, b = 1}", "{a, a}"),
    *("{a.b = 1, a.a = 2}", "f32", "tensor<2xf32>", "() -> ()", "array<i8>", "array<i8: 1, -2>", "array<i1: true>", "array<f32: 1.0>", "array<index: 1>"),
    *("array<i128: 1>", "dense<1> : tensor<2xi8>", "dense<[1, 2]> : tensor<2xi8>", "dense<[1]> : tensor<2xi8>", "dense<> : tensor<0xi8>", "dense<[]> : tensor<0x2xi8>"),
    *("dense<[[]]> : tensor<1x0xf32>", 'dense<"a"> : tensor<2x!stablehlo.token>', 'dense<["a", "b"]> : tensor<2xi32>', "dense<(1, 2)> : tensor<2xcomplex<i8>>"),
    *("dense<(1.0, 0x7FC00000)> : tensor<complex<f32>>", 'dense<"0x01"> : tensor<1xi1>', 'dense<"0xFF"> : tensor<8xi1>', 'dense<"0x0102"> : tensor<2xi4>'),
    *('dense<"0x"> : tensor<0xf32>', 'dense<"0x0000803F"> : tensor<4xf32>', 'dense<"0x00"> : tensor<2xf32>', "dense<0x7F> : tensor<2xf8E4M3FN>", "dense<true> : tensor<i1>"),
    *("dense<300> : tensor<i8>", "dense<1.0> : tensor<2xi8>", "dense<1> : tensor<2xf32>", "dense<1> : vector<2xi8>", "dense<1> : memref<2xi8>", "dense<1> : tensor<?xi8>"),
    *("sparse<[[0, 1]], 2> : tensor<2x2xi8>", "sparse<[], []> : tensor<2xi8>", "sparse<0, 1.0> : tensor<4xf32>", "sparse<[[9]], 2> : tensor<2xi8>", "dense_resource<none> : tensor<2xi8>"),
    *("affine_map<(d0)[s0] -> (d0 + s0)>", "affine_set<(d0) : (d0 >= 0)>", "distinct[0]<1>", "distinct[0]<>", 'loc("a":1:2)', "loc(unknown)", "strided<[1, ?], offset: 2>"),
    *("#stablehlo<precision HIGH>", "#stablehlo<precision LOW>", "#stablehlo.precision<HIGH>", "#stablehlo<comparison_direction EQ>", "#stablehlo<fft_type FFT>"),
    *("#stablehlo<transpose ADJOINT>", "#stablehlo<rng_algorithm PHILOX>", "#stablehlo<rng_distribution UNIFORM>", "#stablehlo<custom_call_api_version API_VERSION_ORIGINAL>"),
    *("#stablehlo.channel_handle<handle = 1, type = 0>", "#stablehlo.channel_handle<handle = 1>", "#stablehlo.gather<>", "#stablehlo.gather<offset_dims = [0], offset_dims = [1]>"),
    *("#stablehlo.gather<index_vector_dim = 1, operand_batching_dims = [0], start_indices_batching_dims = [1]>", "#stablehlo.scatter<index_vector_dim = 1>", "#stablehlo.scatter<>"),
    *("#stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [1], input_batching_dims = [], scatter_indices_batching_dims = [2]>", "#stablehlo.dot<>"),
    *("#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>", "#stablehlo.bounds<1, ?>"),
    *("#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>", "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, f]>", "#stablehlo.conv<[b, b, f]x[0, i, o]->[b, 0, f]>", "#stablehlo.bounds<>"),
    *("#stablehlo.conv<raw input_batch_dimension = 0>", "#stablehlo.conv<[f, b]x[i, o]->[b, f]>", "#stablehlo.conv<[b, 1, f]x[0, i, o]->[b, 0, f]>", "#stablehlo.type_extensions<bounds = [1]>"),
    *("#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>", "#stablehlo.output_operand_alias<operand_index = 0>"),
    *("#stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = true>",),
    *("#stablehlo.result_accuracy_mode<HIGHEST>", "#stablehlo<result_accuracy_mode DEFAULT>", "#stablehlo.result_accuracy<atol = 0.5, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>"),
    *("#stablehlo.other", "#stablehlo", "#chlo<precision HIGH>", "#chlo<comparison_type FLOAT>", "#chlo.ragged_dot<lhs_ragged_dimensions = [0]>", "#chlo.other", "#unknown.x"),
    *('#sdy.mesh<["a"=2, "b"=4]>', '#sdy.mesh<["a"=2], device_ids=[1, 0]>', '#sdy.mesh<["a"=2], device_ids=[1, 1]>', '#sdy.mesh<["a"=0]>', "#sdy.mesh<[]>", '#sdy.mesh<["a"=2, "a"=2]>'),
    *('#sdy.sharding<@m, [{"a"}]>', '#sdy.sharding<@m, [{"a", ?}p3, {}]>', '#sdy.sharding<@m, [], replicated={"a"}, unreduced={"b"}>', '#sdy.sharding<@m, [{"a":(2)4}]>', "#sdy.sharding<@m, [{?}]>"),
    *('#sdy.sharding<mesh<["a"=2]>, [{"a"}]>', '#sdy.sharding<mesh<[]>, [{}]>', '#sdy.sharding<@m, [{"a":(0)4}]>', "#sdy.sharding<@m>", "#sdy.manual_axes<>", '#sdy.manual_axes<{"a"}>'),
    *("#sdy.op_sharding_rule<([i])->([i]) {i=8}>", "#sdy.op_sharding_rule<([i, j])->([ij]) {i=2, j=4}>", "#sdy.op_sharding_rule<([z_1, k])->([z_1]) {z_1=2, k=4} reduction={k}>"),
    *("#sdy.op_sharding_rule<([i])->([j]) {i=8, j=8} need_replication={j}, permutation={i}, custom>", "#sdy<propagation_direction FORWARD>", "#sdy.sharding_per_value<[]>"),
    *('#sdy.list_of_axis_ref_lists<[{"a"}, {}]>', '#sdy.axis_ref_list<{"a", "b":(1)2}>', '#sdy.all_to_all_param_list<[{"a"}: 0->1]>', "#sdy.dim_sharding<{}>", '#sdy<axis_ref"a">'),
    *("#llvm.linkage<internal>", "#llvm.mlir.module_flag<error, \"a\", 1>", "#vhlo.integer_v1<1 : i32>", '#vhlo.string_v1<"a">', "#vhlo<precision_v1 HIGH>", "#vhlo.array_v1<[]>"),
    *("#sparse_tensor.encoding<{map = (d0) -> (d0 : compressed)}>", "#quant.x", "#builtin.x", "#gpu.address_space<global>", "opaque<\"a\">", "-", "%a", "^bb0"),
)
NUMBERS = ("0", "1", "-1", "2", "7", "0x1", "1.5", "1e2", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775809")
WORDS = ("true", "false", "unit", "?", "*", "loc(unknown)", '""', '"x"', "{}", "[]", "f32", "i64", "index", "none", "tuple<>", "-", ",", ":", "=")  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Piece:
    """A module, and where it is from. `op` names what was done to it."""

    origin: str
    text: str
    op: str = "as it is"


def pieces() -> list[Piece]:
    """Every module of the sources; what a lit test expects is only said in its comments."""
    found = []
    for path in SOURCES:
        for number, text in enumerate(re.split(r"^// -----.*$", path.read_text(), flags=re.MULTILINE)):
            code = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
            if code.strip():
                found.append(Piece(f"{path.name}:{number}", code.strip() + "\n"))
    types = (*TYPES, *ELEMENTS, *(f"tensor<2x{element}>" for element in ELEMENTS), *(f"tuple<{element}>" for element in ELEMENTS))
    found += [Piece(f"type {ty}", f"func.func private @f({ty}) -> {ty} attributes {{a.b = {ty}}}\n") for ty in types]
    constant = "func.func @f() {{\n  %0 = stablehlo.constant {} : tensor<2x{}>\n  return\n}}\n"
    for element in ELEMENTS:
        for value in ("dense<1>", "dense<[0, 1]>", "dense<1.5>", "dense<[-1.0, 0x01]>", "dense<true>", "dense<(1.0, 2.0)>", 'dense<"0x0100">', 'dense<"0x01000000FF000000">'):
            found.append(Piece(f"constant {value} {element}", constant.format(value, element)))
    return found + [Piece(f"attribute {each}", f"module attributes {{a.b = {each}}} {{\n}}\n") for each in ATTRIBUTES]


def closing(tokens: list[str], at: int) -> int:
    """The place of the bracket that closes the one at `at`, or the end."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += tokens[place] in tuple(OPEN)
        depth -= tokens[place] in tuple(CLOSE)
        if not depth:
            return place
    return len(tokens) - 1


def change(tokens: list[str], pool: list[str], rng: random.Random) -> str:
    """Changes one place of a module's tokens; returns what was done."""
    solid = [place for place, token in enumerate(tokens) if token.strip()]
    if not solid:
        return "nothing left"
    at = rng.choice(solid)
    after = next((place for place in solid if place > at), at)
    token = tokens[at]
    # What stands elsewhere in the module fits more often than what stands in another.
    near = {other for other in tokens if other.strip()}
    like = [other for other in (sorted(near) if rng.random() < 0.7 else pool) if kind(other) == kind(token)]
    match rng.randrange(13):
        case 0:
            tokens[at] = ""
            return "left out"
        case 1:
            tokens[at] = f"{token} {token}"
            return "doubled"
        case 2:
            tokens[at], tokens[after] = tokens[after], tokens[at]
            return "swapped"
        case 3 | 4:
            tokens[at] = rng.choice(like or pool)
            return "another of its kind"
        case 5:
            tokens[at] = rng.choice(NUMBERS if token[0].isdigit() else (*pool, *WORDS))
            return "another"
        case 6:
            tokens[at] = f"{token} {rng.choice((*pool, *WORDS))}"
            return "one more"
        case 7:
            brackets = [place for place in solid if tokens[place] in tuple(OPEN)]
            if brackets:
                start = rng.choice(brackets)
                end = closing(tokens, start)
                keep = rng.random() < 0.5
                tokens[start + keep : end + 1 - keep] = [""]
            return "no brackets"
        case 8:
            commas = [place for place in solid if tokens[place] == ","]
            if commas:
                start = rng.choice(commas)
                end = next((p for p in solid if p > start and tokens[p] in (",", *CLOSE)), start + 1)
                part = tokens[start:end]
                tokens[start:end] = part * 2 if rng.random() < 0.4 else [""]
            return "an entry"
        case 9 | 10:
            # Attributes are anybody's, and most stay valid.
            places = [place for place in solid if tokens[place] == "{" and "".join(tokens[place + 1 : place + 2])[:1].isalpha()]
            if places:
                tokens[rng.choice(places)] += f"x.y = {rng.choice(ATTRIBUTES)}, "
            return "one more attribute"
        case 11:
            numbers = [place for place in solid if tokens[place].isdigit()]
            if numbers:
                place = rng.choice(numbers)
                tokens[place] = hex(int(tokens[place])) if rng.random() < 0.5 else f"0{tokens[place]}"
            return "a number, written otherwise"
        case _:
            numbers = [place for place in solid if tokens[place][:1].isdigit()]
            if numbers:
                tokens[rng.choice(numbers)] = rng.choice(NUMBERS)
            return "a number"


def kind(token: str) -> str:
    """What a token is, by how it begins."""
    if token[0].isdigit():
        return "number"
    return token[0] if token[0] in '"%@#!^' else "word" if token[0].isalpha() or token[0] == "_" else "sign"


def mutants(sources: list[Piece], count: int, seed: int) -> list[Piece]:
    """Changed modules of sources that are drawn."""
    pool = sorted({token for piece in sources for token in TOKEN.findall(piece.text) if not token.isspace()})
    made = []
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        piece = rng.choice(sources)
        tokens = TOKEN.findall(piece.text)
        done = [change(tokens, pool, rng) for _ in range(rng.choice((1, 1, 1, 1, 2, 3)))]
        made.append(Piece(piece.origin, "".join(tokens), ", ".join(done)))
    return made


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--opt", required=True, metavar="BIN", help="the driver")
    parser.add_argument("--count", type=int, default=4000, metavar="N", help="changed modules")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only modules whose origin or text matches")
    parser.add_argument("--dump", type=pathlib.Path, metavar="DIR", help="write each disagreeing module there")
    args = parser.parse_args(with_values(sys.argv[1:]))

    started = time.monotonic()
    driver = Driver(args.opt).ready()
    every = pieces()
    whole = [piece for piece in every if re.search(args.only, piece.origin) or re.search(args.only, piece.text)]
    judged = verdicts.judge([piece.text for piece in whole])
    # What is valid has more that can go wrong.
    good = [piece for piece, verdict in zip(whole, judged, strict=True) if verdict.valid]
    changed = mutants(good * 3 + whole, args.count, args.seed)
    chosen = whole + changed
    judged += verdicts.judge([piece.text for piece in changed])
    outcomes = driver.run([piece.text for piece in chosen], ["--mlir-print-op-generic"])
    taken = [
        at for at, (verdict, outcome) in enumerate(zip(judged, outcomes, strict=True)) if verdict.valid and outcome.output
    ]
    again = dict(zip(taken, verdicts.judge([outcomes[at].output or "" for at in taken]), strict=True))

    known = tomllib.loads(KNOWN.read_text()).get("known", [])
    counts: collections.Counter[str] = collections.Counter()
    wrong = 0
    for at, (piece, verdict, outcome) in enumerate(zip(chosen, judged, outcomes, strict=True)):
        if verdict.valid is None:
            counts["not compared"] += 1
            continue
        theirs = "valid" if verdict.valid else f"invalid: {verdict.message}"
        ours = mutate.describe(outcome)
        if outcome.accepted == verdict.valid and not outcome.crash:
            back = again.get(at)
            if back is None or named_alike(back.generic) == named_alike(verdict.generic):
                counts["same"] += 1
                continue
            ours = f"another module: {back.message or 'see the dump'}"
        if reason := None if outcome.crash else reason_for(known, piece, ours, theirs):
            counts[f"known: {reason}"] += 1
            continue
        wrong += 1
        print(f"[{at}] {piece.origin} ({piece.op})\n  jaxlib:  {theirs[:300]}\n  slimhlo: {ours[:300]}")
        if args.dump:
            args.dump.mkdir(parents=True, exist_ok=True)
            header = "".join(f"// {line}\n" for line in (piece.op, f"jaxlib: {theirs}", f"slimhlo: {ours}"))
            (args.dump / f"{at:06d}.mlir").write_text(header.replace("\r", " ") + piece.text)
    for what, number in sorted(counts.items()):
        print(f"{what}: {number}")
    valid = sum(bool(verdict.valid) for verdict in judged)
    print(
        f"{counts['same']} passed, {wrong} failed: {len(whole)} modules and {args.count} changed ones, {valid} valid by jaxlib, "
        f"{time.monotonic() - started:.0f} s"
    )
    return 1 if wrong or not counts["same"] else 0


def named_alike(generic: str) -> str:
    """A module without the numbers of its blobs: one of a name that the context has seen before gets another."""
    return re.sub(r"(?<=dense_resource<)(\w+?)(_\d+)?(?=>)", r"\1", generic)


def reason_for(known: list[dict[str, str]], piece: Piece, ours: str, theirs: str) -> str | None:
    """The reason recorded for a disagreement, if there is one."""
    for entry in known:
        if (
            re.search(entry.get("slimhlo", ""), ours)
            and re.search(entry.get("jaxlib", ""), theirs)
            and re.search(entry.get("text", ""), piece.text)
        ):
            return entry["reason"].strip()
    return None


if __name__ == "__main__":
    sys.exit(main())
