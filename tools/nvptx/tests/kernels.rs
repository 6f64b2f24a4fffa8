// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Kernels written by hand run on the CPU, and become PTX.

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::utility::register_all_dialects;
use slimhlo_nvptx::{Chip, Error, Options, compile, host::Kernels, ptxas};

fn context() -> Context {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    context
}

const KERNELS: &str = r#"
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @exp_of_sum(%a: !llvm.ptr<1> {llvm.noalias}, %b: !llvm.ptr<1> {llvm.noalias}, %c: !llvm.ptr<1> {llvm.noalias}) kernel
        attributes {known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 4, 1, 1>} {
      %block = gpu.block_id x
      %threads = gpu.block_dim x
      %thread = gpu.thread_id x
      %blocks = gpu.grid_dim x
      %first = arith.muli %block, %threads : index
      %start = arith.addi %first, %thread : index
      %step = arith.muli %blocks, %threads : index
      %end = arith.constant 1000 : index
      scf.for %i = %start to %end step %step {
        %at = arith.index_cast %i : index to i64
        %pa = llvm.getelementptr inbounds %a[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
        %pb = llvm.getelementptr inbounds %b[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
        %pc = llvm.getelementptr inbounds %c[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
        %x = llvm.load %pa invariant : !llvm.ptr<1> -> f32
        %y = llvm.load %pb invariant : !llvm.ptr<1> -> f32
        %s = arith.addf %x, %y : f32
        %e = math.exp %s : f32
        llvm.store %e, %pc : f32, !llvm.ptr<1>
      }
      gpu.return
    }
    gpu.func @narrow.1(%a: !llvm.ptr<1>, %c: !llvm.ptr<1>)
        workgroup(%shared: memref<32xf16, #gpu.address_space<workgroup>>) kernel {
      %thread = gpu.thread_id x
      %zero = arith.constant 0 : index
      %distance = arith.constant 1 : i32
      %width = arith.constant 32 : i32
      %half = llvm.load %a : !llvm.ptr<1> -> f16
      %sine = math.sin %half : f16
      %brain = llvm.load %a : !llvm.ptr<1> -> bf16
      %sum = arith.addf %brain, %brain : bf16
      memref.store %sine, %shared[%thread] : memref<32xf16, #gpu.address_space<workgroup>>
      gpu.barrier
      %back = memref.load %shared[%zero] : memref<32xf16, #gpu.address_space<workgroup>>
      %bits = arith.bitcast %back : f16 to i16
      %wide = arith.extui %bits : i16 to i32
      %handed, %valid = gpu.shuffle xor %wide, %distance, %width : i32
      %low = arith.trunci %handed : i32 to i16
      %other = arith.bitcast %low : i16 to f16
      llvm.store %other, %c : f16, !llvm.ptr<1>
      %second = llvm.getelementptr %c[1] : (!llvm.ptr<1>) -> !llvm.ptr<1>, f16
      llvm.store %sum, %second : bf16, !llvm.ptr<1>
      gpu.return
    }
  }
}
"#;

#[test]
fn kernels_run_on_the_cpu_for_any_grid() {
    let context = context();
    let module = Module::parse(&context, KERNELS).unwrap();
    let kernels = Kernels::new(module.as_operation(), 1, 1).unwrap();
    let a: Vec<f32> = (0..1000).map(|i| i as f32 * 0.001).collect();
    let b: Vec<f32> = (0..1000).map(|i| i as f32 * -0.002).collect();
    for grid in [1, 4, 7] {
        let mut c = vec![0f32; 1000];
        let pointers = [a.as_ptr() as *mut u8, b.as_ptr() as *mut u8, c.as_mut_ptr().cast()];
        // SAFETY: the kernel reads 1000 floats behind each of the first two, and writes as many behind the last.
        unsafe { kernels.functions()["exp_of_sum"](pointers.as_ptr(), 0, grid, grid) };
        for i in 0..1000 {
            assert_eq!(c[i], (a[i] + b[i]).exp(), "{i}");
        }
    }
    assert_eq!(kernels.functions().len(), 2);
}

#[test]
fn narrow_floats_need_no_compiler_runtime() {
    let context = context();
    let module = Module::parse(&context, KERNELS).unwrap();
    let kernels = Kernels::new(module.as_operation(), 1, 1).unwrap();
    // As f16 this is 1.0, as bf16 0.0078125.
    let a = [0x3c00u16];
    let mut c = [0u16; 2];
    let pointers = [a.as_ptr() as *mut u8, c.as_mut_ptr().cast()];
    // SAFETY: the kernel reads one and writes two numbers of 16 bits.
    unsafe { kernels.functions()["narrow$1"](pointers.as_ptr(), 0, 1, 1) };
    assert_eq!(c, [0x3abb, 0x3c80]);
}

#[test]
fn kernels_become_ptx_for_every_chip() {
    let context = context();
    let module = Module::parse(&context, KERNELS).unwrap();
    for chip in Chip::all() {
        match compile(module.as_operation(), &Options { chip, ..Options::default() }, true) {
            Ok(compiled) => {
                assert!(compiled.ptx.contains(&format!(".target {chip}")), "{}", compiled.ptx);
                assert!(compiled.ptx.contains(".entry exp_of_sum("));
                assert!(compiled.ptx.contains("ld.global.nc.b32"), "{}", compiled.ptx);
                assert!(compiled.ptx.contains(".entry narrow$1("));
                assert!(!compiled.ptx.contains("__nv_"));
                assert!(compiled.llvm_ir.is_some_and(|ir| ir.contains("ptx_kernel")));
                if ptxas::find().is_some() {
                    assert!(ptxas::cubin(&compiled.ptx, chip).unwrap().starts_with(b"\x7fELF"));
                }
            }
            Err(Error::NoLibdevice { functions }) => {
                assert!(functions.iter().any(|name| name == "__nv_expf"));
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// So many kernels that LLVM compiles them in parts, all of which read one table.
fn many_kernels(count: usize) -> String {
    let mut text = String::from(
        "gpu.module @kernels {
           llvm.mlir.global internal constant @table(dense<[3.0, 1.0, 4.0, 1.5]> : tensor<4xf32>) {addr_space = 1 : i32} : !llvm.array<4 x f32>
        ",
    );
    for kernel in 0..count {
        text.push_str(&format!(
            "gpu.func @k{kernel}(%a: !llvm.ptr<1>) kernel {{
               %table = llvm.mlir.addressof @table : !llvm.ptr<1>
               %thread = gpu.thread_id x
               %at = arith.index_cast %thread : index to i64
               %p = llvm.getelementptr %table[%at] : (!llvm.ptr<1>, i64) -> !llvm.ptr<1>, f32
               %v0 = llvm.load %p : !llvm.ptr<1> -> f32
            "
        ));
        for op in 0..100 {
            text.push_str(&format!("%v{} = arith.mulf %v{op}, %v0 : f32\n", op + 1));
        }
        text.push_str("llvm.store %v100, %a : f32, !llvm.ptr<1> gpu.return }\n");
    }
    text.push('}');
    text
}

#[test]
fn parts_become_one_text() {
    let context = context();
    let count = 100;
    let module = Module::parse(&context, &many_kernels(count)).unwrap();
    let compiled = compile(module.as_operation(), &Options::default(), true).unwrap();
    for once in [".version", ".target", ".address_size"] {
        assert_eq!(compiled.ptx.matches(once).count(), 1, "{once} in\n{}", compiled.ptx);
    }
    let places: Vec<_> = (0..count)
        .map(|kernel| compiled.ptx.find(&format!(".entry k{kernel}(")).expect("a kernel"))
        .collect();
    assert!(places.is_sorted());
    let tables: Vec<_> =
        compiled.ptx.lines().filter(|line| line.contains("table$") && line.contains("= {")).collect();
    assert!(tables.len() > 1 && tables.windows(2).all(|pair| pair[0] != pair[1]), "{tables:?}");
    let ir = compiled.llvm_ir.unwrap();
    assert_eq!(ir.matches("define ").count(), count);
    if ptxas::find().is_some() {
        assert!(ptxas::cubin(&compiled.ptx, Chip::default()).unwrap().starts_with(b"\x7fELF"));
    }
    // What is done side by side makes no difference.
    let again = compile(module.as_operation(), &Options::default(), false).unwrap();
    assert_eq!(again.ptx, compiled.ptx);
}

#[test]
fn what_cannot_be_lowered_is_named() {
    let context = context();
    let module = Module::parse(
        &context,
        "gpu.module @kernels { gpu.func @k(%a: !llvm.ptr<1>) kernel {
           %t = \"gpu.thread_id\"() {dimension = #gpu<dim x>} : () -> index
           \"gpu.spmd\"() : () -> ()
           gpu.return } }",
    );
    // An unknown op does not even parse.
    assert!(module.is_none());
    let module = Module::parse(
        &context,
        "gpu.module @kernels { func.func private @nobody() -> f32 gpu.func @k(%a: !llvm.ptr<1>) kernel {
           %x = func.call @nobody() : () -> f32
           llvm.store %x, %a : f32, !llvm.ptr<1>
           gpu.return } }",
    )
    .unwrap();
    let error = compile(module.as_operation(), &Options::default(), false).unwrap_err();
    assert!(error.to_string().contains("nobody"), "{error}");
}
