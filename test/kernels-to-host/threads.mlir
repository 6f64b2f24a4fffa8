// RUN: slimhlo-opt %s --slimhlo-kernels-to-host | FileCheck %s --check-prefix=ONE
// RUN: slimhlo-opt %s --slimhlo-kernels-to-host=threads=64 | FileCheck %s --check-prefix=MANY

// A block of one thread: it waits for nobody, and what it shares is its own.
// ONE-NOT: slimhlo_
// ONE: func.func private @sum.block(
// ONE: memref.alloca() {alignment = 16 : i64} : memref<2xi32>
// ONE-NOT: gpu.
// ONE: func.func @sum(%{{.*}}: !llvm.ptr, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64)
// ONE: scf.for
// ONE: func.call @sum.block

// A block of many: they are told apart, and meet.
// MANY: func.func private @slimhlo_thread() -> i64
// MANY: memref.global "private" @sum.shared0 : memref<2xi32> = uninitialized {alignment = 16 : i64}
// MANY: func.func private @sum.block(
// MANY: memref.get_global @sum.shared0
// MANY: call @slimhlo_thread()
// MANY: call @slimhlo_shuffle_down(
// MANY: call @slimhlo_shuffle_idx(
// MANY: call @slimhlo_barrier()
// MANY: func.func @sum(
// MANY: constant @sum.thread
// MANY: arith.constant 64 : i64
// MANY: call @slimhlo_cooperate(
gpu.module @kernels {
  gpu.func @sum(%x: !llvm.ptr<1>) workgroup(%m: memref<2xi32, #gpu.address_space<workgroup>>) kernel {
    %thread = gpu.thread_id x
    %own = arith.index_cast %thread : index to i32
    %distance = arith.constant 16 : i32
    %width = arith.constant 32 : i32
    %other, %valid = gpu.shuffle down %own, %distance, %width : i32
    %first = arith.constant 0 : i32
    %handed, %also = gpu.shuffle idx %other, %first, %width : i32
    %zero = arith.constant 0 : index
    memref.store %handed, %m[%zero] : memref<2xi32, #gpu.address_space<workgroup>>
    gpu.barrier
    %sum = memref.load %m[%zero] : memref<2xi32, #gpu.address_space<workgroup>>
    llvm.store %sum, %x : i32, !llvm.ptr<1>
    gpu.return
  }
}
