// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Launches and copies as one graph of the driver's, which is launched as a whole: a chain, since each may read what any before it
//! wrote.

use cudarc::driver::result::DriverError;
use cudarc::driver::sys;

use super::failed;
use crate::device::Result as DeviceResult;

/// What is called below. An older driver may lack some of it.
const CALLS: [&str; 7] = [
    "cuGraphCreate",
    "cuGraphAddKernelNode_v2",
    "cuGraphAddMemcpyNode",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuGraphExecDestroy",
    "cuGraphDestroy",
];

/// Work that is launched as one, as often as wanted.
pub struct Graph(sys::CUgraphExec);

impl Graph {
    /// Asks for its work on the null stream.
    pub(super) fn launch(&self) -> DeviceResult<()> {
        // SAFETY: it was instantiated by `Draft::finish` and not destroyed since; the null stream is always there.
        unsafe { sys::cuGraphLaunch(self.0, std::ptr::null_mut()) }.result().map_err(failed)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: it was instantiated by `Draft::finish`. The driver waits for what still runs; errors have no taker here.
        let _ = unsafe { sys::cuGraphExecDestroy(self.0) };
    }
}

/// A graph that is being made.
pub(super) struct Draft {
    graph: sys::CUgraph,
    /// What the next node waits for.
    last: Option<sys::CUgraphNode>,
}

impl Draft {
    /// An empty one; none where the driver has no graphs.
    pub(super) fn new() -> DeviceResult<Option<Self>> {
        // SAFETY: the driver's library is loaded; the symbols are looked up and not called.
        let has = |name: &str| unsafe { sys::culib().get::<*const ()>(name.as_bytes()) }.is_ok();
        if !CALLS.iter().all(|name| has(name)) {
            return Ok(None);
        }
        let mut graph = std::ptr::null_mut();
        // SAFETY: the driver writes the handle.
        unsafe { sys::cuGraphCreate(&raw mut graph, 0) }.result().map_err(failed)?;
        Ok(Some(Self { graph, last: None }))
    }

    /// Adds a launch. What the parameters point to is copied before this returns.
    pub(super) fn kernel(&mut self, node: &sys::CUDA_KERNEL_NODE_PARAMS) -> DeviceResult<()> {
        // SAFETY: the function is of the loaded module, and `extra` lists as many bytes as it takes, as for a launch.
        self.add(|made, graph, before, count| unsafe {
            sys::cuGraphAddKernelNode_v2(made, graph, before, count, node)
        })
    }

    /// Adds a copy of `length` bytes of device memory.
    pub(super) fn copy(
        &mut self,
        from: sys::CUdeviceptr,
        to: sys::CUdeviceptr,
        length: usize,
        context: sys::CUcontext,
    ) -> DeviceResult<()> {
        let device = sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
        let node = sys::CUDA_MEMCPY3D {
            srcXInBytes: 0,
            srcY: 0,
            srcZ: 0,
            srcLOD: 0,
            srcMemoryType: device,
            srcHost: std::ptr::null(),
            srcDevice: from,
            srcArray: std::ptr::null_mut(),
            reserved0: std::ptr::null_mut(),
            srcPitch: length,
            srcHeight: 1,
            dstXInBytes: 0,
            dstY: 0,
            dstZ: 0,
            dstLOD: 0,
            dstMemoryType: device,
            dstHost: std::ptr::null_mut(),
            dstDevice: to,
            dstArray: std::ptr::null_mut(),
            reserved1: std::ptr::null_mut(),
            dstPitch: length,
            dstHeight: 1,
            WidthInBytes: length,
            Height: 1,
            Depth: 1,
        };
        // SAFETY: both regions are inside of their allocations, which live until `free` or the end.
        self.add(|made, graph, before, count| unsafe {
            sys::cuGraphAddMemcpyNode(made, graph, before, count, &raw const node, context)
        })
    }

    fn add(
        &mut self,
        call: impl FnOnce(*mut sys::CUgraphNode, sys::CUgraph, *const sys::CUgraphNode, usize) -> sys::CUresult,
    ) -> DeviceResult<()> {
        let mut made = std::ptr::null_mut();
        let before = self.last.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        let added: Result<(), DriverError> =
            call(&raw mut made, self.graph, before, usize::from(self.last.is_some())).result();
        added.map_err(failed)?;
        self.last = Some(made);
        Ok(())
    }

    /// Makes it ready to be launched.
    pub(super) fn finish(self) -> DeviceResult<Graph> {
        let mut made = std::ptr::null_mut();
        // SAFETY: the graph was created and not destroyed; the driver writes the handle.
        unsafe { sys::cuGraphInstantiateWithFlags(&raw mut made, self.graph, 0) }.result().map_err(failed)?;
        Ok(Graph(made))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // SAFETY: it was created by `new`; what was made of it does not need it.
        let _ = unsafe { sys::cuGraphDestroy(self.graph) };
    }
}
