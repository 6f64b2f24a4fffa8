// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The plugin that does the work: loaded, and asked what the layer has to know of it.
//!
//! Any question may remain without an answer: older plugins have shorter tables, and most functions may be
//! unimplemented.

use crate::abi::{
    self, Arguments, CompiledMemoryStats, Error, ErrorCode, Function, Get, Header, List, MemoryStats,
    NamedValue, One, Place, RESOURCE_EXHAUSTED,
};
use crate::decide::Taken;
use libloading::os::unix::{Library, RTLD_LAZY, RTLD_LOCAL};
use std::ffi::{c_char, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::{ptr, slice, str};

/// The function that every plugin exports.
pub type GetApi = unsafe extern "C" fn() -> *const Header;

/// A plugin's table.
#[derive(Clone, Copy, Debug)]
pub struct Inner {
    table: *const Header,
}

// SAFETY: PJRT's functions may be called from any thread, and the table is never written to.
unsafe impl Send for Inner {}
// SAFETY: likewise.
unsafe impl Sync for Inner {}

impl Inner {
    /// Loads the plugin at `path`, for good, with its symbols to itself.
    ///
    /// # Errors
    /// Says what is wrong with the file, or with the interface's version.
    pub fn load(path: &Path, own: GetApi) -> Result<Self, String> {
        let say = |what: String| format!("cannot load the PJRT plugin {}: {what}", path.display());
        // SAFETY: what plugins do when they are loaded is their business; JAX would load this one in the same
        // way.
        let library = unsafe { Library::open(Some(path), RTLD_LAZY | RTLD_LOCAL) }
            .map_err(|error| say(error.to_string()))?;
        // Plugins start threads, and must not go away.
        let library = ManuallyDrop::new(library);
        // SAFETY: this is the type of the function of this name.
        let get = unsafe { library.get::<GetApi>(b"GetPjrtApi") }
            .map_err(|_| say("it has no function GetPjrtApi, so it is no PJRT plugin".into()))?;
        if ptr::fn_addr_eq(*get, own) {
            return Err(say("that is slimhlo's own layer; name the plugin that it is to be around".into()));
        }
        // SAFETY: it takes no arguments.
        let table = unsafe { get() };
        // SAFETY: a table that is not null begins with a header.
        let Some(header) = (unsafe { table.as_ref() }) else {
            return Err(say("it has no table of functions".into()));
        };
        if header.version.major != 0 {
            return Err(say(format!(
                "it has version {}.{} of the interface, and slimhlo knows 0 only",
                header.version.major, header.version.minor
            )));
        }
        Ok(Self { table })
    }

    /// The table as words, as far as the plugin states that it goes.
    pub fn words(&self) -> &[usize] {
        // SAFETY: the plugin says how long its table is; it is there for good.
        unsafe { slice::from_raw_parts(self.table.cast(), (*self.table).struct_size / size_of::<usize>()) }
    }

    /// The function at a place, if the table has one.
    pub fn function(&self, place: Place) -> Option<Function> {
        let word = *self.words().get(place.offset() / size_of::<usize>())?;
        // SAFETY: a word that is not 0 in a place for functions is one; all take one pointer.
        (word != 0).then(|| unsafe { std::mem::transmute::<usize, Function>(word) })
    }

    /// Calls a function.
    ///
    /// # Safety
    /// `arguments` must be the function's, with objects that are alive.
    pub unsafe fn call<A>(&self, place: Place, arguments: *mut A) -> Result<(), Failure<'_>> {
        let Some(function) = self.function(place) else {
            return Err(Failure { inner: self, raw: ptr::null_mut() });
        };
        // SAFETY: given by the caller.
        let raw = unsafe { function(arguments.cast()) };
        if raw.is_null() { Ok(()) } else { Err(Failure { inner: self, raw }) }
    }

    /// What a function says of an object; empty if it says nothing.
    ///
    /// # Safety
    /// The object must be alive, and of the type that the function asks; what it says must be of type `T`.
    unsafe fn list<T>(&self, place: Place, object: *mut c_void) -> &[T] {
        let mut arguments = List { object, ..List::empty() };
        // SAFETY: given by the caller; lists live as long as the object, which outlives whoever asks.
        unsafe {
            match self.call(place, &raw mut arguments) {
                Ok(()) if arguments.count > 0 && !arguments.data.is_null() => {
                    slice::from_raw_parts(arguments.data.cast(), arguments.count)
                }
                _ => &[],
            }
        }
    }

    /// `cuda`, `tpu` and the like, in small letters.
    ///
    /// # Safety
    /// `of` must be alive: a client or a topology, as the place says.
    unsafe fn name(&self, place: Place, of: *mut c_void) -> String {
        // SAFETY: given by the caller.
        String::from_utf8_lossy(unsafe { self.list(place, of) }).to_lowercase()
    }

    /// The platform of whoever compiles.
    pub fn platform(&self, of: Compiler) -> String {
        // SAFETY: compilers are alive while they compile.
        unsafe {
            match of {
                Compiler::Client(client) => self.name(Place::ClientPlatformName, client),
                Compiler::Topology(topology) => self.name(Place::TopologyPlatformName, topology),
            }
        }
    }

    /// Whether a client is one of several processes, each with devices of its own.
    pub fn is_of_many_processes(&self, of: Compiler) -> bool {
        let Compiler::Client(client) = of else { return false };
        // SAFETY: the client is alive while it compiles.
        let (all, own) = unsafe {
            let all: &[*mut c_void] = self.list(Place::ClientDevices, client);
            let own: &[*mut c_void] = self.list(Place::ClientAddressableDevices, client);
            (all.len(), own.len())
        };
        all > own
    }

    /// The bytes that a program may take on each device of a client: what the smallest of their allocators
    /// hands out.
    pub fn limit(&self, of: Compiler) -> Option<u64> {
        let Compiler::Client(client) = of else { return None };
        // SAFETY: the client is alive while it compiles, and its devices with it.
        let devices: &[*mut c_void] = unsafe { self.list(Place::ClientAddressableDevices, client) };
        let limit = |device: &*mut c_void| {
            let mut stats = MemoryStats { device: *device, ..MemoryStats::empty() };
            // SAFETY: as above.
            unsafe { self.call(Place::DeviceMemoryStats, &raw mut stats) }.ok()?;
            let limit = stats.bytes_limit;
            u64::try_from(limit.value).ok().filter(|bytes| limit.is_set != 0 && *bytes > 0)
        };
        devices.iter().filter_map(limit).min()
    }

    /// The attribute of this name of a topology, or of a client's, if it is a text.
    pub fn topology_text(&self, of: Compiler, name: &str) -> Option<String> {
        // SAFETY: compilers are alive while they compile, and a client's topology and attributes are with it.
        unsafe {
            let topology = match of {
                Compiler::Topology(topology) => topology,
                Compiler::Client(client) => {
                    let mut arguments = Get { object: client, ..Get::empty() };
                    self.call(Place::ClientTopology, &raw mut arguments).ok()?;
                    arguments.result
                }
            };
            let attributes: &[NamedValue] = self.list(Place::TopologyAttributes, topology);
            let known = |attribute: &&NamedValue| {
                attribute.kind == abi::STRING && text(attribute.name, attribute.name_size) == Some(name)
            };
            let found = attributes.iter().find(known)?;
            text(found.value as *const c_char, found.value_size).map(str::to_owned)
        }
    }
}

/// # Safety
/// `size` bytes must follow `start` and live as long as what comes of it is used.
unsafe fn text<'t>(start: *const c_char, size: usize) -> Option<&'t str> {
    if start.is_null() {
        return None;
    }
    // SAFETY: given by the caller.
    str::from_utf8(unsafe { slice::from_raw_parts(start.cast(), size) }).ok()
}

/// Who compiles: a client, for its own devices, or nobody, for devices that only a topology tells of.
#[derive(Clone, Copy, Debug)]
pub enum Compiler {
    /// A `PJRT_Client`.
    Client(*mut c_void),
    /// A `PJRT_TopologyDescription`.
    Topology(*mut c_void),
}

/// An error that a plugin returned, or that it has no such function.
#[derive(Debug)]
pub struct Failure<'i> {
    inner: &'i Inner,
    raw: *mut Error,
}

impl Failure<'_> {
    /// Whether it says that a program does not fit.
    pub fn is_exhausted(&self) -> bool {
        let mut arguments = ErrorCode { error: self.raw, ..ErrorCode::empty() };
        // SAFETY: the error is alive until this is dropped.
        let asked = !self.raw.is_null()
            && unsafe { self.inner.call(Place::ErrorGetCode, &raw mut arguments) }.is_ok();
        asked && arguments.code == RESOURCE_EXHAUSTED
    }

    /// What it says.
    pub fn message(&self) -> String {
        let mut arguments = List { object: self.raw.cast(), ..List::empty() };
        match self.inner.function(Place::ErrorMessage) {
            Some(function) if !self.raw.is_null() => {
                // SAFETY: the error is alive until this is dropped, and its message with it.
                unsafe {
                    function((&raw mut arguments).cast());
                    text(arguments.data.cast(), arguments.count).unwrap_or_default().to_owned()
                }
            }
            _ => "the plugin has no such function".into(),
        }
    }

    /// Hands it on, to whoever called the layer.
    pub fn into_raw(self) -> *mut Error {
        ManuallyDrop::new(self).raw
    }
}

impl Drop for Failure<'_> {
    fn drop(&mut self) {
        if let (false, Some(destroy)) = (self.raw.is_null(), self.inner.function(Place::ErrorDestroy)) {
            let mut arguments = One { object: self.raw.cast(), ..One::empty() };
            // SAFETY: nobody else has the error.
            unsafe { destroy((&raw mut arguments).cast()) };
        }
    }
}

/// What a plugin made of a program. Destroyed with this, unless it is handed on.
#[derive(Debug)]
pub struct Executable<'i> {
    inner: &'i Inner,
    raw: *mut c_void,
    /// Whether it is loaded onto devices.
    loaded: bool,
}

impl<'i> Executable<'i> {
    /// Of what a compile function of this plugin has just answered.
    ///
    /// # Safety
    /// `raw` must be such an answer, of `PJRT_Client_Compile` if `loaded`, and not be in other hands.
    pub unsafe fn new(inner: &'i Inner, raw: *mut c_void, loaded: bool) -> Self {
        Self { inner, raw, loaded }
    }

    /// What it takes, if the plugin can say.
    pub fn taken(&self) -> Option<Taken> {
        if !self.loaded {
            return self.taken_by(self.raw);
        }
        let mut arguments = Get { object: self.raw, ..Get::empty() };
        // SAFETY: the executable is alive until this is dropped.
        unsafe { self.inner.call(Place::LoadedExecutableGetExecutable, &raw mut arguments) }.ok()?;
        let taken = self.taken_by(arguments.result);
        let mut one = One { object: arguments.result, ..One::empty() };
        // SAFETY: the answer is ours to destroy.
        let _ = unsafe { self.inner.call(Place::ExecutableDestroy, &raw mut one) };
        taken
    }

    fn taken_by(&self, executable: *mut c_void) -> Option<Taken> {
        let mut stats = CompiledMemoryStats { executable, ..CompiledMemoryStats::empty() };
        // SAFETY: the executable is alive.
        unsafe { self.inner.call(Place::ExecutableGetCompiledMemoryStats, &raw mut stats) }.ok()?;
        let bytes = |count: i64| u64::try_from(count).unwrap_or(0);
        let taken = Taken {
            arguments: bytes(stats.argument),
            results: bytes(stats.output),
            aliased: bytes(stats.alias),
            temporaries: bytes(stats.temp),
        };
        // Plugins that do not count answer with zeros.
        (taken != Taken::default()).then_some(taken)
    }

    /// Hands it on, to whoever called the layer.
    pub fn into_raw(self) -> *mut c_void {
        ManuallyDrop::new(self).raw
    }
}

impl Drop for Executable<'_> {
    fn drop(&mut self) {
        let place = if self.loaded { Place::LoadedExecutableDestroy } else { Place::ExecutableDestroy };
        let mut arguments = One { object: self.raw, ..One::empty() };
        // SAFETY: nobody else has the executable.
        let _ = unsafe { self.inner.call(place, &raw mut arguments) };
    }
}
