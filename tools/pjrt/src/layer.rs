// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The table that the layer hands out: the inner plugin's, with a few functions in the places of its own.
//!
//! A function of the table is not told which table it was called through. So there is a fixed number of
//! slots, one for each inner plugin, and a copy of each function for each slot.

use crate::abi::{
    Attributes, ClientCompile, Compile as CompileArguments, Error, ErrorCode, FAILED_PRECONDITION, Header,
    List, MLIR, NamedValue, One, Place, Program, Version,
};
use crate::attributes;
use crate::config::Config;
use crate::decide::{Compile, Made, Mode, Taken, decide};
use crate::inner::{Compiler, Executable, Failure, GetApi, Inner};
use crate::limits;
use crate::optimizer::{self, Job, Options, Outcome, Report, Source};
use crate::summary::{self, log};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_void};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::slice;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The layer around one plugin.
struct Layer {
    config: Config,
    inner: Inner,
    /// The inner plugin's table with functions of the layer in it.
    table: Vec<usize>,
    /// Versions that were handed out, with what is said of slimhlo. They are pointed to for good.
    versions: Mutex<BTreeMap<VersionKey, &'static str>>,
    /// The plugin's attributes, where slimhlo has to change them.
    attributes: OnceLock<Option<&'static [NamedValue]>>,
    /// Why programs are not touched has been said.
    said: OnceLock<()>,
}

/// A version of the inner plugin's, and the bytes that programs may take.
type VersionKey = (Vec<u8>, Option<u64>);

/// Plugins that can be in one process, each with a layer around it.
const SLOTS: usize = 8;

static LAYERS: [OnceLock<Layer>; SLOTS] = [const { OnceLock::new() }; SLOTS];

/// The layer's functions for one slot.
struct Functions {
    client_compile: unsafe extern "C" fn(*mut ClientCompile) -> *mut Error,
    compile: unsafe extern "C" fn(*mut CompileArguments) -> *mut Error,
    attributes: unsafe extern "C" fn(*mut Attributes) -> *mut Error,
    client_version: unsafe extern "C" fn(*mut List) -> *mut Error,
    topology_version: unsafe extern "C" fn(*mut List) -> *mut Error,
}

impl Functions {
    const fn of<const SLOT: usize>() -> Self {
        Self {
            client_compile: client_compile::<SLOT>,
            compile: compile::<SLOT>,
            attributes: plugin_attributes::<SLOT>,
            client_version: client_version::<SLOT>,
            topology_version: topology_version::<SLOT>,
        }
    }
}

static FUNCTIONS: [Functions; SLOTS] = [
    Functions::of::<0>(),
    Functions::of::<1>(),
    Functions::of::<2>(),
    Functions::of::<3>(),
    Functions::of::<4>(),
    Functions::of::<5>(),
    Functions::of::<6>(),
    Functions::of::<7>(),
];

/// The table for the plugin that the environment names now. One that cannot be had answers all questions with
/// an error, which callers show, where a null pointer would only be the end of them.
pub fn table(own: GetApi) -> *const Header {
    let made =
        catch_unwind(|| Config::read(|name| std::env::var_os(name)).and_then(|config| find(config, own)));
    match made.unwrap_or_else(|_| Err("a panic while the plugin was being loaded".into())) {
        Ok(layer) => layer.table.as_ptr().cast(),
        Err(message) => refusal(&message),
    }
}

/// The layer with this configuration, made if there is none yet.
fn find(config: Config, own: GetApi) -> Result<&'static Layer, String> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    for (layer, functions) in LAYERS.iter().zip(&FUNCTIONS) {
        if let Some(layer) = layer.get() {
            if layer.config == config {
                return Ok(layer);
            }
            continue;
        }
        let inner = Inner::load(&config.plugin, own)?;
        return Ok(layer.get_or_init(|| Layer::new(config, inner, functions)));
    }
    Err(format!("there are {SLOTS} PJRT plugins with slimhlo around them already"))
}

impl Layer {
    fn new(config: Config, inner: Inner, functions: &Functions) -> Self {
        let mut table = inner.words().to_vec();
        let mut replace = |place: Place, function: usize| {
            // A function that the inner plugin has not got has no business here.
            if inner.function(place).is_some() {
                table[place.offset() / size_of::<usize>()] = function;
            }
        };
        replace(Place::ClientCompile, functions.client_compile as usize);
        replace(Place::Compile, functions.compile as usize);
        replace(Place::PluginAttributes, functions.attributes as usize);
        replace(Place::ClientPlatformVersion, functions.client_version as usize);
        replace(Place::TopologyPlatformVersion, functions.topology_version as usize);
        Self {
            config,
            inner,
            table,
            versions: Mutex::default(),
            attributes: OnceLock::new(),
            said: OnceLock::new(),
        }
    }

    fn of(slot: usize) -> &'static Self {
        // The functions of a slot are in no table before the slot is filled.
        LAYERS[slot].get().expect("a table has been handed out")
    }

    /// Calls the inner plugin's function with the caller's arguments, as they are.
    ///
    /// # Safety
    /// `arguments` must be those of the function at `place`.
    unsafe fn pass_on(&self, place: Place, arguments: *mut c_void) -> *mut Error {
        // SAFETY: given by the caller.
        match unsafe { self.inner.call(place, arguments) } {
            Ok(()) => ptr::null_mut(),
            Err(error) => error.into_raw(),
        }
    }

    /// Compiles a program.
    ///
    /// # Safety
    /// `request` must be of a call that is not answered yet.
    unsafe fn compile(&'static self, request: Request) -> *mut Error {
        // SAFETY: given by the caller.
        let came = unsafe { *request.program };
        // SAFETY: as above.
        let mode = if self.config.mode != Mode::Never && unsafe { is_for_us(came) } {
            self.allowed(self.config.mode, request.compiler)
        } else {
            Mode::Never
        };
        if mode == Mode::Never {
            // SAFETY: as above.
            return unsafe { self.pass_on(request.place, request.arguments) };
        }
        let compiling = Compiling { layer: self, request, came };
        let attempts: RefCell<Vec<(Outcome, Report)>> = RefCell::default();
        let decided = decide(mode, &compiling, |aim| {
            // SAFETY: the program is alive while it is compiled.
            let program = unsafe { bytes((*came).code, (*came).code_size) };
            let (mut outcome, report) = optimizer::run(Job {
                program: Source::new(program),
                options: Options::for_platform(&self.inner.platform(request.compiler)),
                aim,
                threshold: self.config.threshold,
                time: (!self.inner.is_of_many_processes(request.compiler)).then_some(self.config.time),
                keep_text: self.config.dump.is_some(),
            });
            let program = match &mut outcome {
                // What is told of it later is that there was one.
                Outcome::Smaller(bytes) => Some(Some(mem::take(bytes))),
                Outcome::Same => Some(None),
                Outcome::Small | Outcome::Failed(_) => None,
            };
            let (is_least, modelled) = (report.is_least(), report.after);
            let made = program.map(|program| Made { program, is_least, modelled });
            attempts.borrow_mut().push((outcome, report));
            made
        });
        let attempts = attempts.into_inner();
        let rewrite = attempts.get(decided.attempt).or(attempts.last());
        summary::Program {
            rewrite: rewrite.map(|(outcome, report)| (outcome, report)),
            verdict: &decided.verdict,
            mode,
            platform: &self.inner.platform(request.compiler),
            limit: decided.limit,
            before: decided.before,
            after: decided.after,
        }
        .tell(&self.config);
        match decided.outcome {
            Ok(executable) => {
                // SAFETY: given by the caller.
                unsafe { *request.executable = executable.into_raw() };
                ptr::null_mut()
            }
            Err(error) => error.into_raw(),
        }
    }

    /// What a mode becomes where several processes have to compile the same program: what one of them
    /// measures or waits for, another may not, and some compilers talk to each other while they compile.
    fn allowed(&self, mode: Mode, compiler: Compiler) -> Mode {
        if mode == Mode::Always || !self.inner.is_of_many_processes(compiler) {
            return mode;
        }
        self.said.get_or_init(|| {
            log(&format!(
                "programs of several processes are left as they are in mode {}, since each process would \
                 decide for itself; {}=always optimizes them",
                mode.name(),
                crate::config::MODE,
            ));
        });
        Mode::Never
    }

    /// States no newer version of StableHLO than slimhlo reads.
    ///
    /// # Safety
    /// `arguments` must be those of `PJRT_Plugin_Attributes`.
    unsafe fn state(&'static self, arguments: *mut Attributes) -> *mut Error {
        // SAFETY: given by the caller.
        let error = unsafe { self.pass_on(Place::PluginAttributes, arguments.cast()) };
        if !error.is_null() {
            return error;
        }
        let change = || {
            // SAFETY: the function has succeeded, so the fields are set, and the list is the plugin's.
            unsafe {
                let Attributes { data, count, .. } = *arguments;
                let all = if data.is_null() { &[][..] } else { slice::from_raw_parts(data, count) };
                attributes::lowered(all, &attributes::NEWEST).map(|list| &*list.leak())
            }
        };
        if let Some(list) = self.attributes.get_or_init(change) {
            // SAFETY: given by the caller.
            unsafe { (*arguments).data = list.as_ptr() };
        }
        ptr::null_mut()
    }

    /// Adds to the platform's version, which JAX's cache has in its keys, what slimhlo does.
    ///
    /// # Safety
    /// `arguments` must be those of the function at `place`.
    unsafe fn version(&'static self, place: Place, arguments: *mut List) -> *mut Error {
        // SAFETY: given by the caller.
        let error = unsafe { self.pass_on(place, arguments.cast()) };
        if !error.is_null() {
            return error;
        }
        // SAFETY: the function has succeeded, so the fields are set.
        let (version, object) =
            unsafe { (bytes((*arguments).data.cast(), (*arguments).count), (*arguments).object) };
        let compiler = match place {
            Place::ClientPlatformVersion => Compiler::Client(object),
            _ => Compiler::Topology(object),
        };
        let limit = limits::of(&self.config, &self.inner, compiler);
        let mut versions = self.versions.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = *versions.entry((version.to_vec(), limit)).or_insert_with(|| {
            // On the last line, where JAX looks for libtpu's version between parentheses.
            let theirs = String::from_utf8_lossy(version);
            Box::leak(format!("{theirs} {}\0", self.config.signature(limit)).into_boxed_str())
        });
        // SAFETY: as above.
        unsafe {
            (*arguments).data = ours.as_ptr().cast();
            (*arguments).count = ours.len() - 1;
        }
        ptr::null_mut()
    }
}

// SAFETY: what the attributes point to is there for good, and nobody writes to it.
unsafe impl Send for Layer {}
// SAFETY: likewise.
unsafe impl Sync for Layer {}

/// A call of one of the two compile functions.
#[derive(Clone, Copy)]
struct Request {
    place: Place,
    compiler: Compiler,
    arguments: *mut c_void,
    /// Where they point to the program.
    program: *mut *const Program,
    /// Where the answer goes.
    executable: *mut *mut c_void,
    /// Whether that is loaded onto devices.
    loaded: bool,
}

/// Whether a program is of the form that slimhlo reads, in a struct that has all fields.
///
/// # Safety
/// `program` must be null or point to a program.
unsafe fn is_for_us(program: *const Program) -> bool {
    // SAFETY: given by the caller.
    unsafe {
        !program.is_null()
            && (*program).struct_size >= size_of::<Program>()
            && bytes((*program).format, (*program).format_size) == MLIR
    }
}

/// The inner plugin at work on one program.
struct Compiling {
    layer: &'static Layer,
    request: Request,
    came: *const Program,
}

impl Compile for Compiling {
    type Executable = Executable<'static>;
    type Error = Failure<'static>;

    fn compile(&self, program: Option<&[u8]>) -> Result<Executable<'static>, Failure<'static>> {
        let Self { layer, request, came, .. } = self;
        // A newer caller's program may have more fields, which are handed on as they are.
        // SAFETY: the program is alive, and says how large it is.
        let mut copy = unsafe {
            slice::from_raw_parts(came.cast::<usize>(), (**came).struct_size / size_of::<usize>()).to_vec()
        };
        let patched: *mut Program = copy.as_mut_ptr().cast();
        // SAFETY: the caller's arguments are ours to use until it is answered, and as they were in the end.
        // So newer fields of theirs are handed on, too.
        unsafe {
            if let Some(program) = program {
                (*patched).code = program.as_ptr().cast();
                (*patched).code_size = program.len();
                *request.program = patched;
            }
            let called = layer.inner.call(request.place, request.arguments);
            *request.program = *came;
            called.map(|()| Executable::new(&layer.inner, *request.executable, request.loaded))
        }
    }

    fn taken(&self, executable: &Executable<'static>) -> Option<Taken> {
        executable.taken()
    }

    fn is_exhausted(&self, error: &Failure<'static>) -> bool {
        error.is_exhausted()
    }

    fn message(&self, error: &Failure<'static>) -> String {
        error.message()
    }

    fn limit(&self) -> Option<u64> {
        limits::of(&self.layer.config, &self.layer.inner, self.request.compiler)
    }

    fn is_stated(&self) -> bool {
        self.layer.config.limit.is_some()
    }
}

/// # Safety
/// `size` bytes must follow `start`, unless it is null, and live as long as what comes of it is used.
unsafe fn bytes<'b>(start: *const c_char, size: usize) -> &'b [u8] {
    // SAFETY: given by the caller.
    if start.is_null() { &[] } else { unsafe { slice::from_raw_parts(start.cast(), size) } }
}

/// Does the layer's work, or, should that panic, what would have been done without it: nothing may unwind
/// into C.
fn guarded(work: impl FnOnce() -> *mut Error, without: impl FnOnce() -> *mut Error) -> *mut Error {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        log("a panic in the PJRT layer; the program goes on as it came");
        without()
    })
}

/// # Safety
/// `arguments` must be those of `PJRT_Client_Compile`.
unsafe extern "C" fn client_compile<const SLOT: usize>(arguments: *mut ClientCompile) -> *mut Error {
    let layer = Layer::of(SLOT);
    // SAFETY: given by the caller.
    let without = || unsafe { layer.pass_on(Place::ClientCompile, arguments.cast()) };
    // SAFETY: given by the caller.
    guarded(
        || unsafe {
            if (*arguments).struct_size < size_of::<ClientCompile>() {
                return without();
            }
            layer.compile(Request {
                place: Place::ClientCompile,
                compiler: Compiler::Client((*arguments).client),
                arguments: arguments.cast(),
                program: &raw mut (*arguments).program,
                executable: &raw mut (*arguments).executable,
                loaded: true,
            })
        },
        without,
    )
}

/// # Safety
/// `arguments` must be those of `PJRT_Compile`.
unsafe extern "C" fn compile<const SLOT: usize>(arguments: *mut CompileArguments) -> *mut Error {
    let layer = Layer::of(SLOT);
    // SAFETY: given by the caller.
    let without = || unsafe { layer.pass_on(Place::Compile, arguments.cast()) };
    // SAFETY: given by the caller.
    guarded(
        || unsafe {
            if (*arguments).struct_size < size_of::<CompileArguments>() {
                return without();
            }
            layer.compile(Request {
                place: Place::Compile,
                compiler: Compiler::Topology((*arguments).topology.cast_mut()),
                arguments: arguments.cast(),
                program: &raw mut (*arguments).program,
                executable: &raw mut (*arguments).executable,
                loaded: false,
            })
        },
        without,
    )
}

/// # Safety
/// `arguments` must be those of `PJRT_Plugin_Attributes`.
unsafe extern "C" fn plugin_attributes<const SLOT: usize>(arguments: *mut Attributes) -> *mut Error {
    let (layer, place) = (Layer::of(SLOT), Place::PluginAttributes);
    // SAFETY: given by the caller.
    guarded(|| unsafe { layer.state(arguments) }, || unsafe { layer.pass_on(place, arguments.cast()) })
}

/// # Safety
/// `arguments` must be those of `PJRT_Client_PlatformVersion`.
unsafe extern "C" fn client_version<const SLOT: usize>(arguments: *mut List) -> *mut Error {
    let (layer, place) = (Layer::of(SLOT), Place::ClientPlatformVersion);
    // SAFETY: given by the caller.
    guarded(
        || unsafe { layer.version(place, arguments) },
        || unsafe { layer.pass_on(place, arguments.cast()) },
    )
}

/// # Safety
/// `arguments` must be those of `PJRT_TopologyDescription_PlatformVersion`.
unsafe extern "C" fn topology_version<const SLOT: usize>(arguments: *mut List) -> *mut Error {
    let (layer, place) = (Layer::of(SLOT), Place::TopologyPlatformVersion);
    // SAFETY: given by the caller.
    guarded(
        || unsafe { layer.version(place, arguments) },
        || unsafe { layer.pass_on(place, arguments.cast()) },
    )
}

/// A table whose functions all return one error.
#[repr(C)]
struct Refusal {
    header: Header,
    functions: [usize; REFUSED],
}

/// As many functions as the oldest plugins had that JAX still takes; all that are called before there is a
/// client are among them.
const REFUSED: usize = Place::ExecutableGetCompiledMemoryStats as usize + 1;
/// The version that had so many.
const REFUSING: (i32, i32) = (0, 40);

/// Why there is no inner plugin: the first reason stays. What refusing functions return points to it.
static REASON: OnceLock<CString> = OnceLock::new();

fn refusal(message: &str) -> *const Header {
    log(message);
    let text = || CString::new(format!("slimhlo: {}", message.replace('\0', " "))).unwrap_or_default();
    REASON.get_or_init(text);
    let mut functions = [refuse as unsafe extern "C" fn(*mut c_void) -> *mut Error as usize; REFUSED];
    functions[Place::ErrorDestroy as usize] = refused_destroy as unsafe extern "C" fn(*mut One) as usize;
    functions[Place::ErrorMessage as usize] = refused_message as unsafe extern "C" fn(*mut List) as usize;
    functions[Place::ErrorGetCode as usize] =
        refused_code as unsafe extern "C" fn(*mut ErrorCode) -> *mut Error as usize;
    let version = Version {
        struct_size: size_of::<Version>(),
        extension_start: ptr::null_mut(),
        major: REFUSING.0,
        minor: REFUSING.1,
    };
    let header = Header { struct_size: size_of::<Refusal>(), extension_start: ptr::null_mut(), version };
    // For good, as callers expect.
    ptr::from_ref(Box::leak(Box::new(Refusal { header, functions }))).cast()
}

unsafe extern "C" fn refuse(_: *mut c_void) -> *mut Error {
    ptr::from_ref(&REASON).cast_mut().cast()
}

/// The one error there is stays.
unsafe extern "C" fn refused_destroy(_: *mut One) {}

/// # Safety
/// `arguments` must be those of `PJRT_Error_Message`.
unsafe extern "C" fn refused_message(arguments: *mut List) {
    let text = REASON.get().map_or(&[][..], |text| text.as_bytes());
    // SAFETY: given by the caller.
    unsafe {
        (*arguments).data = text.as_ptr().cast();
        (*arguments).count = text.len();
    }
}

/// # Safety
/// `arguments` must be those of `PJRT_Error_GetCode`.
unsafe extern "C" fn refused_code(arguments: *mut ErrorCode) -> *mut Error {
    // SAFETY: given by the caller.
    unsafe { (*arguments).code = FAILED_PRECONDITION };
    ptr::null_mut()
}
