// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! A small user of PJRT that is not JAX: loads a plugin, has it compile a module, and prints as JSON what the
//! executable takes.
//!
//! ```sh
//! compile PLUGIN.so MODULE                                       # for a client's devices
//! compile PLUGIN.so MODULE --topology v5p:2x2x1                  # for devices that are not there
//! compile PLUGIN.so MODULE --topology '' --option topology=1x1x1 --option target_config=@h100.textproto
//! compile PLUGIN.so MODULE --threads 4                           # by so many threads at the same time
//! compile PLUGIN.so --layout                                     # is the interface as `abi.rs` has it?
//! ```

use serde_json::json;
use slimhlo_pjrt::abi::{
    self, Arguments, Attributes, ClientCompile, Compile, CompiledMemoryStats, Error, ErrorCode, Function,
    Get, Header, List, MemoryStats, NamedValue, One, Place, Program,
};
use std::ffi::{c_char, c_void};
use std::fs;
use std::process::ExitCode;
use std::{env, mem, ptr, slice, thread};

type Result<T> = std::result::Result<T, String>;

/// A plugin's table.
#[derive(Clone, Copy)]
struct Api(&'static Header);

// SAFETY: PJRT may be called from any thread.
unsafe impl Send for Api {}
// SAFETY: likewise.
unsafe impl Sync for Api {}

impl Api {
    fn load(path: &str) -> Result<Self> {
        // SAFETY: what a plugin does when it is loaded is its business.
        let library = unsafe { libloading::Library::new(path) }.map_err(|error| error.to_string())?;
        let library = mem::ManuallyDrop::new(library);
        // SAFETY: this is the function's type; the table is there for good.
        let table = unsafe {
            let get = library
                .get::<unsafe extern "C" fn() -> *const Header>(b"GetPjrtApi")
                .map_err(|error| error.to_string())?;
            get().as_ref()
        };
        table.map(Self).ok_or_else(|| "no table".into())
    }

    fn function(&self, place: usize) -> Option<Function> {
        let offset = size_of::<Header>() + place * size_of::<usize>();
        // SAFETY: the table is as long as it says, and a word that is not 0 is a function.
        (offset < self.0.struct_size).then(|| unsafe {
            let word = ptr::from_ref(self.0).byte_add(offset).cast::<usize>().read();
            (word != 0).then(|| mem::transmute::<usize, Function>(word))
        })?
    }

    fn call<A>(&self, place: usize, arguments: &mut A) -> Result<()> {
        let function = self.function(place).ok_or_else(|| format!("no function in place {place}"))?;
        // SAFETY: callers of this give each function its own arguments.
        let error = unsafe { function(ptr::from_mut(arguments).cast()) };
        if error.is_null() { Ok(()) } else { Err(self.message(error)) }
    }

    fn ask<A>(&self, place: Place, arguments: &mut A) -> Result<()> {
        self.call(place as usize, arguments)
    }

    fn message(&self, error: *mut Error) -> String {
        let mut code = ErrorCode { error, ..ErrorCode::empty() };
        let _ = self.ask(Place::ErrorGetCode, &mut code);
        let mut text = List { object: error.cast(), ..List::empty() };
        let mut one = One { object: error.cast(), ..One::empty() };
        // SAFETY: the error is alive until it is destroyed, and both functions return nothing.
        unsafe {
            let (say, destroy) = (self.void(Place::ErrorMessage), self.void(Place::ErrorDestroy));
            say((&raw mut text).cast());
            let said =
                String::from_utf8_lossy(slice::from_raw_parts(text.data.cast(), text.count)).into_owned();
            destroy((&raw mut one).cast());
            format!("error {}: {said}", code.code)
        }
    }

    fn void(&self, place: Place) -> unsafe extern "C" fn(*mut c_void) {
        let function = self.function(place as usize).expect("every table has it");
        // SAFETY: these two return nothing.
        unsafe { mem::transmute(function) }
    }

    fn text(&self, place: Place, object: *mut c_void) -> Result<String> {
        let mut list = List { object, ..List::empty() };
        self.ask(place, &mut list)?;
        // SAFETY: the list has been set, and lives as long as the object.
        Ok(String::from_utf8_lossy(unsafe { slice::from_raw_parts(list.data.cast(), list.count) })
            .into_owned())
    }
}

/// `PJRT_Client_Create` and `PJRT_TopologyDescription_Create`, which the layer does not touch.
const CLIENT_CREATE: usize = 10;
const TOPOLOGY_CREATE: usize = 82;

/// As many words as the arguments of either have, and more.
type Words = [usize; 16];

/// A serialized `CompileOptionsProto`: one replica and one partition on any device.
const OPTIONS: [u8; 17] =
    [0x1a, 15, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x20, 1, 0x28, 1];

struct Options {
    library: String,
    module: Option<String>,
    topology: Option<String>,
    named: Vec<(String, String)>,
    threads: usize,
    layout: bool,
}

fn options() -> Result<Options> {
    let mut args = env::args().skip(1);
    let library = args.next().ok_or("usage: compile PLUGIN.so MODULE")?;
    let mut options =
        Options { library, module: None, topology: None, named: Vec::new(), threads: 1, layout: false };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--topology" => options.topology = Some(value()?),
            "--threads" => options.threads = value()?.parse().map_err(|_| "--threads needs a number")?,
            "--layout" => options.layout = true,
            "--option" => {
                let pair = value()?;
                let (key, value) = pair.split_once('=').ok_or("--option needs KEY=VALUE")?;
                let value = match value.strip_prefix('@') {
                    Some(path) => fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?,
                    None => value.to_owned(),
                };
                options.named.push((key.to_owned(), value));
            }
            _ => options.module = Some(arg),
        }
    }
    Ok(options)
}

/// What compiles: a client or a topology.
#[derive(Clone, Copy)]
struct Compiler {
    raw: *mut c_void,
    is_client: bool,
}

// SAFETY: PJRT may be called from any thread.
unsafe impl Send for Compiler {}
// SAFETY: likewise.
unsafe impl Sync for Compiler {}

fn compiler(api: Api, options: &Options) -> Result<Compiler> {
    let named: Vec<NamedValue> = options
        .named
        .iter()
        .map(|(key, value)| NamedValue {
            struct_size: size_of::<NamedValue>(),
            extension_start: ptr::null_mut(),
            name: key.as_ptr().cast(),
            name_size: key.len(),
            kind: abi::STRING,
            value: value.as_ptr() as usize,
            value_size: value.len(),
        })
        .collect();
    let list = (named.as_ptr() as usize, named.len());
    let mut words: Words = [0; 16];
    match &options.topology {
        // The size, extensions, the name and its length, options and their number, and the answer.
        Some(name) => {
            words[..6].copy_from_slice(&[56, 0, name.as_ptr() as usize, name.len(), list.0, list.1]);
            api.call(TOPOLOGY_CREATE, &mut words)?;
            Ok(Compiler { raw: words[6] as *mut c_void, is_client: false })
        }
        // The size, extensions, options and their number, four callbacks, and the answer.
        None => {
            words[..4].copy_from_slice(&[88, 0, list.0, list.1]);
            api.call(CLIENT_CREATE, &mut words)?;
            Ok(Compiler { raw: words[8] as *mut c_void, is_client: true })
        }
    }
}

fn compile(api: Api, compiler: Compiler, module: &[u8]) -> Result<serde_json::Value> {
    let program = Program {
        code: module.as_ptr().cast(),
        code_size: module.len(),
        format: abi::MLIR.as_ptr().cast(),
        format_size: abi::MLIR.len(),
        ..Program::empty()
    };
    let (program, options, options_size) =
        (&raw const program, OPTIONS.as_ptr().cast::<c_char>(), OPTIONS.len());
    if !compiler.is_client {
        let mut arguments =
            Compile { topology: compiler.raw, program, options, options_size, ..Compile::empty() };
        api.ask(Place::Compile, &mut arguments)?;
        if arguments.program != program {
            return Err("the arguments have another program in them now".into());
        }
        let stats = stats(api, arguments.executable)?;
        api.ask(Place::ExecutableDestroy, &mut One { object: arguments.executable, ..One::empty() })?;
        return Ok(stats);
    }
    let mut arguments =
        ClientCompile { client: compiler.raw, program, options, options_size, ..ClientCompile::empty() };
    api.ask(Place::ClientCompile, &mut arguments)?;
    if arguments.program != program {
        return Err("the arguments have another program in them now".into());
    }
    let mut get = Get { object: arguments.executable, ..Get::empty() };
    api.ask(Place::LoadedExecutableGetExecutable, &mut get)?;
    let stats = stats(api, get.result)?;
    api.ask(Place::ExecutableDestroy, &mut One { object: get.result, ..One::empty() })?;
    api.ask(Place::LoadedExecutableDestroy, &mut One { object: arguments.executable, ..One::empty() })?;
    Ok(stats)
}

/// What an executable takes; nothing where a plugin is too old to say.
fn stats(api: Api, executable: *mut c_void) -> Result<serde_json::Value> {
    if api.function(Place::ExecutableGetCompiledMemoryStats as usize).is_none() {
        return Ok(serde_json::Value::Null);
    }
    let mut stats = CompiledMemoryStats { executable, ..CompiledMemoryStats::empty() };
    api.ask(Place::ExecutableGetCompiledMemoryStats, &mut stats)?;
    let CompiledMemoryStats { argument, output, alias, temp, .. } = stats;
    Ok(json!({ "argument": argument, "output": output, "alias": alias, "temp": temp }))
}

/// What a plugin is to answer about the size of a struct.
#[derive(Clone, Copy)]
enum Size {
    /// The very size that the layer gives it.
    Exactly(usize),
    /// The layer gives it room to grow.
    AtMost(usize),
}

/// The functions whose arguments the layer knows.
fn layout() -> Vec<(Place, &'static str, Size)> {
    let list = Size::Exactly(size_of::<List>());
    let one = Size::Exactly(size_of::<One>());
    let get = Size::Exactly(size_of::<Get>());
    vec![
        (Place::PluginInitialize, "PJRT_Plugin_Initialize", Size::Exactly(16)),
        (Place::PluginAttributes, "PJRT_Plugin_Attributes", Size::Exactly(size_of::<Attributes>())),
        (Place::ClientPlatformName, "PJRT_Client_PlatformName", list),
        // XLA spells it so.
        (Place::ClientPlatformVersion, "PJRT_CLient_PlatformVersion", list),
        (Place::ClientDevices, "PJRT_Client_Devices", list),
        (Place::ClientAddressableDevices, "PJRT_Client_AddressableDevices", list),
        (Place::ClientCompile, "PJRT_Client_Compile", Size::Exactly(size_of::<ClientCompile>())),
        (Place::DeviceMemoryStats, "PJRT_Device_MemoryStats", Size::AtMost(size_of::<MemoryStats>())),
        // The last field ends here; what Rust adds is padding.
        (Place::ErrorGetCode, "PJRT_Error_GetCode", Size::Exactly(size_of::<ErrorCode>() - 4)),
        (Place::ExecutableDestroy, "PJRT_Executable_Destroy", one),
        (Place::LoadedExecutableDestroy, "PJRT_LoadedExecutable_Destroy", one),
        (Place::LoadedExecutableGetExecutable, "PJRT_LoadedExecutable_GetExecutable", get),
        (Place::TopologyPlatformName, "PJRT_TopologyDescription_PlatformName", list),
        (Place::TopologyPlatformVersion, "PJRT_TopologyDescription_PlatformVersion", list),
        (Place::TopologyAttributes, "PJRT_TopologyDescription_Attributes", list),
        (Place::Compile, "PJRT_Compile", Size::Exactly(size_of::<Compile>())),
        (Place::ClientTopology, "PJRT_Client_TopologyDescription", get),
        (
            Place::ExecutableGetCompiledMemoryStats,
            "PJRT_Executable_GetCompiledMemoryStats",
            Size::AtMost(size_of::<CompiledMemoryStats>()),
        ),
    ]
}

/// Calls each function with a struct of no size, and looks for its name and the size that we have in what it
/// says.
fn check_layout(api: Api) -> Result<usize> {
    let layout = layout();
    for (place, name, size) in &layout {
        let mut empty: Words = [0; 16];
        let said = match api.ask(*place, &mut empty) {
            Ok(()) => return Err(format!("{name} takes a struct of no size")),
            Err(said) => said,
        };
        let expected = said
            .split_once(&format!(" {name}_Args size: expected "))
            .and_then(|(_, rest)| rest.split(',').next()?.parse::<usize>().ok());
        let fits = match *size {
            Size::Exactly(size) => expected == Some(size),
            Size::AtMost(size) => expected.is_some_and(|expected| expected <= size),
        };
        if !fits {
            return Err(format!("{name} is not called as the plugin has it: {said}"));
        }
    }
    Ok(layout.len())
}

fn run() -> Result<serde_json::Value> {
    let options = options()?;
    let api = Api::load(&options.library)?;
    if options.layout {
        return Ok(json!({ "confirmed": check_layout(api)? }));
    }
    let path = options.module.as_deref().ok_or("no module")?;
    let module = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    api.ask(Place::PluginInitialize, &mut One { struct_size: 16, ..One::empty() })?;
    let compiler = compiler(api, &options)?;
    let version =
        if compiler.is_client { Place::ClientPlatformVersion } else { Place::TopologyPlatformVersion };
    let version = api.text(version, compiler.raw)?;
    let compiled: Vec<Result<serde_json::Value>> = thread::scope(|scope| {
        let all: Vec<_> =
            (0..options.threads).map(|_| scope.spawn(|| compile(api, compiler, &module))).collect();
        all.into_iter().map(|one| one.join().unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    Ok(json!({
        "version": version,
        "struct_size": api.0.struct_size,
        "extensions": api.0.extension_start as usize,
        "compiled": compiled.into_iter().collect::<Result<Vec<_>>>()?,
    }))
}

fn main() -> ExitCode {
    match run() {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
