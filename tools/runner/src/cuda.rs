// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! An NVIDIA GPU, through the driver.
//!
//! The driver's library is loaded when a GPU is opened, so that this builds and starts where there is none. All work goes to the
//! null stream, in order, and launches of runs that are not timed one by one in graphs (`cuda/graph.rs`). Memory is allocated plainly
//! (`cuMemAlloc`), unless the environment says otherwise (`allocation.rs`): what the driver counts is then what was asked for, rounded
//! up to its granularity (2 MiB).

mod graph;
mod memory;

use std::ffi::{CString, c_uint, c_void};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys::{self, CUresult};
use cudarc::driver::{CudaContext, CudaEvent, CudaStream};
use slimhlo_package::Package;

use crate::allocation::Policy;
use crate::device::{Buffer, Device, DeviceError, Memory, Region, Result as DeviceResult, Shape, Work};
use graph::Draft;
pub use graph::Graph;
use memory::Allocator;

/// The bytes of the compiler's messages that are kept.
const LOG_BYTES: usize = 8192;

/// Shared memory that a launch may ask for without saying so first.
const SHARED_BYTES: u32 = 48 << 10;

/// Marks of cuLaunchKernel's list of extras: the parameters' address comes next, their length comes next, end of the list.
const PARAMETERS_START: *mut c_void = std::ptr::without_provenance_mut(1);
const PARAMETERS_LENGTH: *mut c_void = std::ptr::without_provenance_mut(2);
const PARAMETERS_END: *mut c_void = std::ptr::null_mut();

/// A GPU with a package's code on it.
pub struct Cuda {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    module: Module,
    allocator: Allocator,
    allocations: Vec<Option<Allocation>>,
    described: String,
}

/// A function of the package's code; usable as long as the [`Cuda`] it is from.
pub struct Function(sys::CUfunction);

struct Allocation {
    start: sys::CUdeviceptr,
    bytes: u64,
}

/// Loaded code.
struct Module(sys::CUmodule);

/// A chip's number, such as 90, and the letter after it, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chip {
    number: u32,
    /// `a`: for this chip only; `f`: for this family.
    letter: Option<char>,
}

impl Chip {
    /// From `sm_90` or `sm_90a`.
    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("sm_")?;
        let (digits, letter) = match rest.strip_suffix(['a', 'f']) {
            Some(digits) => (digits, rest.chars().last()),
            None => (rest, None),
        };
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())??;
        Some(Self { number, letter })
    }

    fn generation(self) -> u32 {
        self.number / 10
    }

    /// Whether PTX for this chip runs on `device`: PTX is portable to newer chips, unless it uses what only one chip or family has.
    fn ptx_runs_on(self, device: Self) -> bool {
        match self.letter {
            None => device.number >= self.number,
            Some('f') => self.cubin_runs_on(device),
            Some(_) => device.number == self.number,
        }
    }

    /// Whether machine code for this chip runs on `device`: within its generation only.
    fn cubin_runs_on(self, device: Self) -> bool {
        match self.letter {
            Some('a') => device.number == self.number,
            _ => device.generation() == self.generation() && device.number >= self.number,
        }
    }
}

/// The driver's name and text for an error.
fn explain(error: DriverError) -> String {
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(|_| "unknown".into(), |text| text.to_string_lossy().into_owned())
    };
    format!("{} ({})", text(error.error_string()), text(error.error_name()))
}

fn failed(error: DriverError) -> DeviceError {
    DeviceError::Failed(format!("the CUDA driver says: {}", explain(error)))
}

impl Cuda {
    /// Opens a GPU by its number and loads the package's code: the machine code if it fits, else the PTX.
    ///
    /// # Errors
    /// If there is no driver, no such GPU, it is older than the chip that the package is for, it refuses the code, or has not the memory
    /// that `policy` wants at the start.
    pub fn open(number: usize, package: &Package, policy: Policy) -> Result<Self> {
        // SAFETY: this tries to load the driver's library, whose initialisers are NVIDIA's.
        let present = unsafe { sys::is_culib_present() };
        ensure!(
            present,
            "there is no NVIDIA driver on this machine (libcuda.so is not found); \
             `slimhlo run --device cpu` runs the same kernels on the CPU"
        );
        let started = result::init().and_then(|()| CudaContext::device_count());
        let count = match started {
            Err(DriverError(CUresult::CUDA_ERROR_NO_DEVICE)) => 0,
            other => other.map_err(failed).context("starting the NVIDIA driver")?,
        };
        ensure!(
            count > 0,
            "there is no NVIDIA GPU; `slimhlo run --device cpu` runs the same kernels on the CPU"
        );
        ensure!(
            i32::try_from(number).is_ok_and(|number| number < count),
            "there is no GPU {number}: this machine has {count}, numbered from 0"
        );
        let context =
            CudaContext::new(number).map_err(failed).with_context(|| format!("opening GPU {number}"))?;
        let name = context.name().map_err(failed)?;
        let (major, minor) = context.compute_capability().map_err(failed)?;
        let device = Chip { number: u32::try_from(major * 10 + minor)?, letter: None };
        let described = format!("{name}, sm_{}", device.number);
        let chip = &package.manifest.chip;
        let code = Chip::parse(chip)
            .with_context(|| format!("the package is for `{chip}`, which is no NVIDIA chip"))?;
        let module = match &package.cubin {
            Some(cubin) if code.cubin_runs_on(device) => Module::load(cubin),
            _ if code.ptx_runs_on(device) => Module::load(package.ptx.as_bytes()),
            _ => bail!(
                "the package is for {chip}, which GPU {number} ({described}) does not run: compile with `--chip sm_{}`",
                device.number
            ),
        };
        let module = module.with_context(|| format!("loading the kernels on GPU {number} ({described})"))?;
        let stream = context.default_stream();
        let allocator = Allocator::new(policy, context.cu_device())
            .with_context(|| format!("preparing the memory of GPU {number} ({described})"))?;
        Ok(Self { context, stream, module, allocator, allocations: Vec::new(), described })
    }

    /// The address of a region.
    fn address(&self, region: Region) -> DeviceResult<sys::CUdeviceptr> {
        let allocation = self.allocations.get(region.buffer.0).and_then(Option::as_ref);
        let allocation = allocation.ok_or_else(|| DeviceError::Failed("no such allocation".into()))?;
        let inside = region.offset.checked_add(region.bytes).is_some_and(|end| end <= allocation.bytes);
        if !inside {
            return Err(DeviceError::Failed(format!(
                "{} bytes from {} on are not inside of {}",
                region.bytes, region.offset, allocation.bytes
            )));
        }
        Ok(allocation.start + region.offset)
    }

    /// The address of the first `bytes` bytes of a region.
    fn start(&self, region: Region, bytes: usize) -> DeviceResult<sys::CUdeviceptr> {
        if bytes as u64 > region.bytes {
            return Err(DeviceError::Failed(format!("{bytes} bytes for a region of {}", region.bytes)));
        }
        self.address(region)
    }

    fn bind(&self) -> DeviceResult<()> {
        self.context.bind_to_thread().map_err(failed)
    }

    fn addresses(&self, regions: &[Region]) -> DeviceResult<Vec<sys::CUdeviceptr>> {
        regions.iter().map(|&region| self.address(region)).collect()
    }

    /// From where, to where and how much a copy moves; nothing if there is nothing to move.
    fn copied(
        &self,
        from: Region,
        to: Region,
    ) -> DeviceResult<Option<(sys::CUdeviceptr, sys::CUdeviceptr, usize)>> {
        if from.bytes != to.bytes {
            return Err(DeviceError::Failed(format!("copies {} bytes to {}", from.bytes, to.bytes)));
        }
        let (source, target) = (self.address(from)?, self.address(to)?);
        let length = usize::try_from(from.bytes).map_err(|error| DeviceError::Failed(error.to_string()))?;
        Ok((length > 0 && source != target).then_some((source, target, length)))
    }

    /// What has to be said before a function is launched in such a way.
    fn prepare(&self, function: &Function, shape: Shape) -> DeviceResult<()> {
        self.bind()?;
        if shape.shared_bytes <= SHARED_BYTES {
            return Ok(());
        }
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(shape.shared_bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is of the loaded module.
        unsafe { result::function::set_function_attribute(function.0, attribute, bytes) }.map_err(failed)
    }
}

/// A launch's parameters, given as one block with its length, which the driver holds against what the function takes.
fn parameters(addresses: &mut [sys::CUdeviceptr], length: &mut usize) -> [*mut c_void; 5] {
    [
        PARAMETERS_START,
        addresses.as_mut_ptr().cast(),
        PARAMETERS_LENGTH,
        std::ptr::from_mut(length).cast(),
        PARAMETERS_END,
    ]
}

impl Module {
    /// Loads PTX or machine code into the current context.
    fn load(image: &[u8]) -> Result<Self> {
        // PTX is text that ends with a zero; machine code does not mind one more.
        let mut image = image.to_vec();
        image.push(0);
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options = [
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
            sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // The driver takes the size in the pointer itself.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), std::ptr::without_provenance_mut(LOG_BYTES)];
        let mut module = std::ptr::null_mut();
        // SAFETY: image and log outlive the call; there are as many options as values.
        let loaded = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut module,
                image.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        if let Err(error) = loaded.result() {
            let log = String::from_utf8_lossy(&log);
            let log = log.split('\0').next().unwrap_or_default().trim();
            let advice = match error.0 {
                CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION => {
                    "; the driver is older than the PTX: compile with a lower --ptx-version"
                }
                _ => "",
            };
            bail!("{}{advice}{}{log}", explain(error), if log.is_empty() { "" } else { "\n" });
        }
        Ok(Self(module))
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // Errors have no taker here; the context's end frees whatever is left.
        let _ = self.bind();
        for allocation in self.allocations.drain(..).flatten() {
            let _ = self.allocator.free(allocation.start, allocation.bytes);
        }
        self.allocator.close();
        // SAFETY: it was loaded by `Module::load`, and functions do not outlive it in use.
        let _ = unsafe { result::module::unload(self.module.0) };
    }
}

impl Device for Cuda {
    type Function = Function;
    type Event = CudaEvent;
    type Graph = Graph;

    fn describe(&self) -> String {
        self.described.clone()
    }

    fn function(&self, name: &str) -> DeviceResult<Function> {
        self.bind()?;
        let text = CString::new(name).map_err(|error| DeviceError::Failed(error.to_string()))?;
        // SAFETY: the module is loaded.
        match unsafe { result::module::get_function(self.module.0, text) } {
            Ok(function) => Ok(Function(function)),
            Err(DriverError(CUresult::CUDA_ERROR_NOT_FOUND)) => {
                Err(DeviceError::Failed(format!("there is no function `{name}`")))
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn allocate(&mut self, bytes: u64) -> DeviceResult<Buffer> {
        self.bind()?;
        let start = self.allocator.allocate(bytes)?;
        self.allocations.push(Some(Allocation { start, bytes }));
        Ok(Buffer(self.allocations.len() - 1))
    }

    fn free(&mut self, buffer: Buffer) -> DeviceResult<()> {
        self.bind()?;
        let taken = self.allocations.get_mut(buffer.0).and_then(Option::take);
        let taken = taken.ok_or_else(|| DeviceError::Failed("no such allocation".into()))?;
        self.allocator.free(taken.start, taken.bytes)
    }

    fn upload(&mut self, to: Region, bytes: &[u8]) -> DeviceResult<()> {
        let to = self.start(to, bytes.len())?;
        self.bind()?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the allocation is at least as long.
        unsafe { result::memcpy_htod_sync(to, bytes) }.map_err(failed)
    }

    fn send(&mut self, to: Region, bytes: &[u8]) -> DeviceResult<()> {
        let to = self.start(to, bytes.len())?;
        self.bind()?;
        if bytes.is_empty() {
            return Ok(());
        }
        // SAFETY: the allocation is at least as long; of memory that is not pinned the driver has a copy when this returns.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }.map_err(failed)
    }

    fn download(&mut self, from: Region, bytes: &mut [u8]) -> DeviceResult<()> {
        let from = self.start(from, bytes.len())?;
        self.bind()?;
        if bytes.is_empty() {
            return self.synchronize();
        }
        // SAFETY: the allocation is at least as long.
        unsafe { result::memcpy_dtoh_sync(bytes, from) }.map_err(failed)
    }

    fn copy(&mut self, from: Region, to: Region) -> DeviceResult<()> {
        let Some((source, target, length)) = self.copied(from, to)? else { return Ok(()) };
        self.bind()?;
        // SAFETY: both regions are inside of their allocations, which live until `free` or the end.
        unsafe { result::memcpy_dtod_async(target, source, length, self.stream.cu_stream()) }.map_err(failed)
    }

    fn launch(&mut self, function: &Function, shape: Shape, regions: &[Region]) -> DeviceResult<()> {
        self.prepare(function, shape)?;
        let mut addresses = self.addresses(regions)?;
        let mut length = size_of_val(addresses.as_slice());
        let mut parameters = parameters(&mut addresses, &mut length);
        // SAFETY: the function is of the loaded module. The driver copies the parameters before it returns. A kernel that goes
        // beyond its buffers harms the device's memory alone.
        let launched = unsafe {
            sys::cuLaunchKernel(
                function.0,
                shape.grid,
                1,
                1,
                shape.block,
                1,
                1,
                shape.shared_bytes,
                self.stream.cu_stream(),
                std::ptr::null_mut(),
                parameters.as_mut_ptr(),
            )
        };
        launched.result().map_err(failed)
    }

    fn graph(&mut self, work: &[Work<'_, Function>]) -> DeviceResult<Option<Graph>> {
        self.bind()?;
        let Some(mut draft) = Draft::new()? else { return Ok(None) };
        for each in work {
            match each {
                Work::Launch { function, shape, regions } => {
                    self.prepare(function, *shape)?;
                    let mut addresses = self.addresses(regions)?;
                    let mut length = size_of_val(addresses.as_slice());
                    let mut parameters = parameters(&mut addresses, &mut length);
                    draft.kernel(&sys::CUDA_KERNEL_NODE_PARAMS {
                        func: function.0,
                        gridDimX: shape.grid,
                        gridDimY: 1,
                        gridDimZ: 1,
                        blockDimX: shape.block,
                        blockDimY: 1,
                        blockDimZ: 1,
                        sharedMemBytes: shape.shared_bytes,
                        kernelParams: std::ptr::null_mut(),
                        extra: parameters.as_mut_ptr(),
                        kern: std::ptr::null_mut(),
                        ctx: std::ptr::null_mut(),
                    })?;
                }
                &Work::Copy { from, to } => {
                    if let Some((source, target, length)) = self.copied(from, to)? {
                        draft.copy(source, target, length, self.context.cu_ctx())?;
                    }
                }
            }
        }
        draft.finish().map(Some)
    }

    fn launch_graph(&mut self, graph: &Graph) -> DeviceResult<()> {
        self.bind()?;
        graph.launch()
    }

    fn unused(&self) -> u64 {
        self.allocator.unused()
    }

    fn allocator(&self) -> String {
        self.allocator.describe()
    }

    fn synchronize(&mut self) -> DeviceResult<()> {
        self.context.synchronize().map_err(failed)
    }

    fn record(&mut self) -> DeviceResult<CudaEvent> {
        let event = self.context.new_event(Some(sys::CUevent_flags::CU_EVENT_DEFAULT)).map_err(failed)?;
        event.record(&self.stream).map_err(failed)?;
        Ok(event)
    }

    fn elapsed(&mut self, from: &CudaEvent, to: &CudaEvent) -> DeviceResult<Duration> {
        let milliseconds = from.elapsed_ms(to).map_err(failed)?;
        Ok(Duration::try_from_secs_f64(f64::from(milliseconds) / 1e3).unwrap_or_default())
    }

    fn memory(&mut self) -> DeviceResult<Memory> {
        let (free, total) = self.context.mem_get_info().map_err(failed)?;
        let (free, total) = (free as u64 + self.allocator.unused(), total as u64);
        Ok(Memory { used: total.saturating_sub(free), total: Some(total) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chip(text: &str) -> Chip {
        Chip::parse(text).unwrap()
    }

    #[test]
    fn chips_have_numbers() {
        assert_eq!(chip("sm_90"), Chip { number: 90, letter: None });
        assert_eq!(chip("sm_120a"), Chip { number: 120, letter: Some('a') });
        for text in ["", "sm_", "sm_a", "90", "gfx942", "sm_90b", "sm_+9"] {
            assert_eq!(Chip::parse(text), None, "{text}");
        }
    }

    #[test]
    fn code_runs_where_it_can() {
        let ptx = |code, device| chip(code).ptx_runs_on(chip(device));
        assert!(ptx("sm_80", "sm_80") && ptx("sm_80", "sm_90") && ptx("sm_80", "sm_120"));
        assert!(!ptx("sm_90", "sm_80"));
        assert!(ptx("sm_90a", "sm_90") && !ptx("sm_90a", "sm_100"));
        assert!(ptx("sm_100f", "sm_103") && !ptx("sm_100f", "sm_120"));
        let cubin = |code, device| chip(code).cubin_runs_on(chip(device));
        assert!(cubin("sm_80", "sm_86") && !cubin("sm_86", "sm_80") && !cubin("sm_80", "sm_90"));
        assert!(cubin("sm_90a", "sm_90") && !cubin("sm_100a", "sm_103"));
    }
}
