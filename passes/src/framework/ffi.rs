// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The Rust side of `slimhlo-c/PassHooks.h`. This is where the framework's `unsafe` lives.

use super::diagnostics::Severity;
use super::options::OptionInfo;
use super::pass::{AnyPass, Changed, PassInfo, PipelineInfo, panic_message};
use super::statistics::{self, Counts};
use melior::dialect::DialectRegistry;
use melior::ir::{Location, OperationRef};
use melior::{FrozenRewritePatternSet, StringRef};
use mlir_sys::{
    MlirDialectRegistry, MlirFrozenRewritePatternSet, MlirLocation, MlirLogicalResult, MlirOperation,
    MlirStringCallback, MlirStringRef,
};
use std::cell::Cell;
use std::ffi::{c_char, c_void};
use std::mem::{ManuallyDrop, transmute};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::{ptr, slice, str};

#[repr(C)]
struct COption {
    name: MlirStringRef,
    description: MlirStringRef,
    value_name: MlirStringRef,
    default_text: MlirStringRef,
    value_optional: bool,
}

#[repr(C)]
struct COptions {
    owner: *const c_void,
    count: isize,
    options: *const COption,
    normalize:
        unsafe extern "C" fn(*const c_void, isize, MlirStringRef, MlirStringCallback, *mut c_void) -> bool,
}

#[repr(C)]
struct CStatistic {
    name: *const c_char,
    description: *const c_char,
}

#[repr(C)]
struct CPass {
    this: *const c_void,
    name: MlirStringRef,
    argument: MlirStringRef,
    description: MlirStringRef,
    anchor: MlirStringRef,
    options: COptions,
    statistic_count: isize,
    statistics: *const CStatistic,
    insert_dialects: unsafe extern "C" fn(*const c_void, MlirDialectRegistry),
    create: unsafe extern "C" fn(
        *const c_void,
        *const MlirStringRef,
        bool,
        MlirStringCallback,
        *mut c_void,
    ) -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    run: unsafe extern "C" fn(*mut c_void, *mut c_void, MlirOperation, *mut u64) -> u32,
}

#[repr(C)]
struct CPipeline {
    argument: MlirStringRef,
    description: MlirStringRef,
    options: COptions,
    expand:
        unsafe extern "C" fn(*const c_void, *const MlirStringRef, MlirStringCallback, *mut c_void) -> bool,
}

#[repr(C)]
struct CGreedyConfig {
    max_iterations: i64,
    max_rewrites: i64,
    top_down: bool,
    fold: bool,
    cse_constants: bool,
}

const FAILED: u32 = 0;
const CHANGED: u32 = 1;
const UNCHANGED: u32 = 2;

unsafe extern "C" {
    fn slimhloRegisterPass(pass: *const CPass);
    fn slimhloRegisterPipeline(pipeline: *const CPipeline);
    fn slimhloApplyPatternsGreedily(
        op: MlirOperation,
        patterns: MlirFrozenRewritePatternSet,
        config: *const CGreedyConfig,
        changed: *mut bool,
    ) -> MlirLogicalResult;
    fn slimhloRunPipeline(
        host: *mut c_void,
        op: MlirOperation,
        pipeline: MlirStringRef,
        sink: MlirStringCallback,
        user_data: *mut c_void,
    ) -> MlirLogicalResult;
    fn slimhloFingerprint(op: MlirOperation) -> u64;
    fn slimhloEmitDiagnostic(location: MlirLocation, severity: u32, message: MlirStringRef);
}

/// A `MlirStringCallback` with its user data.
struct Sink(MlirStringCallback, *mut c_void);

impl Sink {
    fn send(&self, text: &str) {
        if let Some(callback) = self.0 {
            // SAFETY: the C++ half hands both over together and they are used within that call only.
            unsafe { callback(raw(text), self.1) }
        }
    }

    /// Sends what `work` returns or what is wrong, a panic included; true for the former.
    fn answer(&self, work: impl FnOnce() -> Result<String, String>) -> bool {
        match guarded(work) {
            Ok(text) => {
                self.send(&text);
                true
            }
            Err(message) => {
                self.send(&message);
                false
            }
        }
    }
}

/// Runs `work`; a panic in it becomes an error, since it must not unwind into C++.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(format!("internal error: {}", panic_message(payload.as_ref()))))
}

fn raw(text: &str) -> MlirStringRef {
    StringRef::new(text).to_raw()
}

/// # Safety
/// The bytes must be alive for `'a`.
unsafe fn text<'a>(raw: MlirStringRef) -> &'a str {
    if raw.length == 0 {
        return "";
    }
    // SAFETY: given by the caller.
    str::from_utf8(unsafe { slice::from_raw_parts(raw.data.cast(), raw.length) }).unwrap_or("\u{fffd}")
}

/// # Safety
/// `values` must point to `count` strings that are alive for `'a`.
unsafe fn texts<'a>(values: *const MlirStringRef, count: usize) -> Vec<&'a str> {
    // SAFETY: given by the caller.
    (0..count).map(|index| unsafe { text(*values.add(index)) }).collect()
}

/// Something MLIR's registry points to: made once per pass or pipeline, and kept until the process ends.
fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn keep_options(options: &'static [OptionInfo], owner: *const c_void, normalize: Normalize) -> COptions {
    let described = options.iter().map(|option| {
        let shown = if option.default.is_empty() { "empty" } else { &option.default };
        let description = keep(format!("{} (default: {shown})", option.docs.trim_end_matches('.')));
        COption {
            name: raw(&option.name),
            description: raw(description),
            value_name: raw(&option.value_name),
            default_text: raw(&option.default),
            value_optional: option.flag,
        }
    });
    let options = described.collect::<Vec<_>>().leak();
    COptions { owner, count: options.len() as isize, options: options.as_ptr(), normalize }
}

type Normalize =
    unsafe extern "C" fn(*const c_void, isize, MlirStringRef, MlirStringCallback, *mut c_void) -> bool;

/// Adds a pass to MLIR's registry, unless one of its argument is there.
pub fn register(info: &'static PassInfo) {
    let this = ptr::from_ref(info).cast();
    let statistics = info.statistics.iter().map(|statistic| CStatistic {
        name: statistic.name.as_ptr(),
        description: statistic.description.as_ptr(),
    });
    let statistics = statistics.collect::<Vec<_>>().leak();
    let pass = keep(CPass {
        this,
        name: raw(info.name),
        argument: raw(info.argument),
        description: raw(&info.summary),
        anchor: raw(info.anchor.op_name()),
        options: keep_options(&info.options, this, normalize_pass_option),
        statistic_count: statistics.len() as isize,
        statistics: statistics.as_ptr(),
        insert_dialects,
        create,
        destroy,
        run,
    });
    // SAFETY: the descriptor and all it points to live for ever.
    unsafe { slimhloRegisterPass(pass) }
}

/// Adds a pipeline to MLIR's registry, unless one of its argument is there.
pub fn register_pipeline(info: &'static PipelineInfo) {
    let owner = ptr::from_ref(info).cast();
    let pipeline = keep(CPipeline {
        argument: raw(info.argument),
        description: raw(&info.summary),
        options: keep_options(&info.options, owner, normalize_pipeline_option),
        expand,
    });
    // SAFETY: the descriptor and all it points to live for ever.
    unsafe { slimhloRegisterPipeline(pipeline) }
}

fn normalize(options: &[OptionInfo], index: isize, text: &str) -> Result<String, String> {
    let option = usize::try_from(index).ok().and_then(|index| options.get(index));
    (option.ok_or("no such option")?.normalize)(text)
}

/// # Safety
/// `owner` must be a pass's `this`, `value` alive.
unsafe extern "C" fn normalize_pass_option(
    owner: *const c_void,
    index: isize,
    value: MlirStringRef,
    sink: MlirStringCallback,
    user_data: *mut c_void,
) -> bool {
    // SAFETY: given by the caller.
    let (info, value) = unsafe { (&*owner.cast::<PassInfo>(), text(value)) };
    Sink(sink, user_data).answer(|| normalize(&info.options, index, value))
}

/// # Safety
/// `owner` must be a pipeline's, `value` alive.
unsafe extern "C" fn normalize_pipeline_option(
    owner: *const c_void,
    index: isize,
    value: MlirStringRef,
    sink: MlirStringCallback,
    user_data: *mut c_void,
) -> bool {
    // SAFETY: given by the caller.
    let (info, value) = unsafe { (&*owner.cast::<PipelineInfo>(), text(value)) };
    Sink(sink, user_data).answer(|| normalize(&info.options, index, value))
}

/// # Safety
/// `this` must be that of a pass's descriptor, `registry` alive.
unsafe extern "C" fn insert_dialects(this: *const c_void, registry: MlirDialectRegistry) {
    // SAFETY: `this` as given by the caller. melior cannot borrow a registry it does not own; its type is one field of
    // the raw type, and it is never dropped here.
    let (info, registry) = unsafe {
        (&*this.cast::<PassInfo>(), transmute::<MlirDialectRegistry, ManuallyDrop<DialectRegistry>>(registry))
    };
    // There is nowhere to report a panic to; ops of a dialect that is then missing fail to build, with a diagnostic.
    let _ = catch_unwind(AssertUnwindSafe(|| (info.dependent_dialects)(&registry)));
}

/// # Safety
/// `this` must be that of a pass's descriptor, with as many `values` as it has options.
unsafe extern "C" fn create(
    this: *const c_void,
    values: *const MlirStringRef,
    report: bool,
    sink: MlirStringCallback,
    user_data: *mut c_void,
) -> *mut c_void {
    if report {
        report_at_exit();
    }
    // SAFETY: given by the caller.
    let (info, values) = unsafe {
        let info = &*this.cast::<PassInfo>();
        (info, texts(values, info.options.len()))
    };
    match guarded(|| (info.create)(&values)) {
        Ok(pass) => Box::into_raw(Box::new(Instance { pass, info })).cast(),
        Err(message) => {
            Sink(sink, user_data).send(&message);
            ptr::null_mut()
        }
    }
}

struct Instance {
    pass: Box<dyn AnyPass>,
    info: &'static PassInfo,
}

/// # Safety
/// `instance` must come from [`create`] and not be used again.
unsafe extern "C" fn destroy(instance: *mut c_void) {
    // SAFETY: given by the caller.
    let instance = unsafe { Box::from_raw(instance.cast::<Instance>()) };
    let _ = catch_unwind(AssertUnwindSafe(move || drop(instance)));
}

static CHANGES: AtomicU64 = AtomicU64::new(0);

/// How often passes of ours have changed something in this process so far. If it is the same after a pipeline of such
/// passes as before, they left all as it was.
pub(crate) fn changes() -> u64 {
    CHANGES.load(Ordering::Relaxed)
}

/// # Safety
/// `instance` must come from [`create`], `host` be the C++ pass at work on the live `op`, and `counts` point to one count
/// per statistic.
unsafe extern "C" fn run(
    instance: *mut c_void,
    host: *mut c_void,
    op: MlirOperation,
    counts: *mut u64,
) -> u32 {
    // SAFETY: given by the caller; other threads only read the instance, too.
    let (instance, op) = unsafe { (&*instance.cast::<Instance>(), OperationRef::from_raw(op)) };
    let declared = instance.info.statistics;
    let values = match declared.len() {
        0 => &[][..],
        // SAFETY: given by the caller.
        count => Cell::from_mut(unsafe { slice::from_raw_parts_mut(counts, count) }).as_slice_of_cells(),
    };
    // The pass itself is guarded inside, where its message still has a place to go.
    let host = Host(host);
    let work = || instance.pass.run(op, &host, Counts { declared, values });
    let outcome = catch_unwind(AssertUnwindSafe(work)).unwrap_or(None);
    if outcome == Some(Changed::Yes) {
        CHANGES.fetch_add(1, Ordering::Relaxed);
    }
    match outcome {
        None => FAILED,
        Some(Changed::Yes) => CHANGED,
        Some(Changed::No) => UNCHANGED,
    }
}

/// # Safety
/// `owner` must be a pipeline's, with as many `values` as it has options.
unsafe extern "C" fn expand(
    owner: *const c_void,
    values: *const MlirStringRef,
    sink: MlirStringCallback,
    user_data: *mut c_void,
) -> bool {
    // SAFETY: given by the caller.
    let (info, values) = unsafe {
        let info = &*owner.cast::<PipelineInfo>();
        (info, texts(values, info.options.len()))
    };
    Sink(sink, user_data).answer(|| (info.expand)(&values))
}

/// Prints the statistics when the process ends: only then have all pipelines run.
fn report_at_exit() {
    static ONCE: AtomicBool = AtomicBool::new(false);

    extern "C" fn print() {
        let _ = catch_unwind(|| eprint!("{}", statistics::report()));
    }

    unsafe extern "C" {
        fn atexit(callback: extern "C" fn()) -> i32;
    }

    if !ONCE.swap(true, Ordering::Relaxed) {
        // SAFETY: the callback neither unwinds nor needs anything that an exiting process has already lost.
        unsafe { atexit(print) };
    }
}

/// Emits a diagnostic.
pub(crate) fn emit(severity: Severity, location: Location<'_>, message: &str) {
    // SAFETY: the location is alive and the message is copied.
    unsafe { slimhloEmitDiagnostic(location.to_raw(), severity as u32, raw(message)) }
}

/// The C++ pass that carries a running Rust pass. Only [`run`] makes one, and lends it for as long as the pass runs.
#[derive(Debug)]
pub(crate) struct Host(*mut c_void);

impl Host {
    /// Runs a pipeline in textual form on `op`, the op the pass runs on or one nested in it. `Err` has what is wrong with
    /// the text; it is empty if a pass failed, which has then said why.
    pub(crate) fn run_pipeline(&self, op: OperationRef<'_, '_>, pipeline: &str) -> Result<(), String> {
        unsafe extern "C" fn append(piece: MlirStringRef, message: *mut c_void) {
            // SAFETY: the callee passes on the string given below, and pieces that are alive during the call.
            unsafe { (*message.cast::<String>()).push_str(text(piece)) }
        }

        let mut message = String::new();
        // SAFETY: the host is alive while the pass runs, and nobody else uses it meanwhile.
        let result = unsafe {
            slimhloRunPipeline(
                self.0,
                op.to_raw(),
                raw(pipeline),
                Some(append),
                ptr::from_mut(&mut message).cast(),
            )
        };
        if result.value != 0 { Ok(()) } else { Err(message) }
    }
}

/// A hash of `op` and all in it; see `slimhloFingerprint`.
pub(crate) fn fingerprint(op: OperationRef<'_, '_>) -> u64 {
    // SAFETY: the op is alive.
    unsafe { slimhloFingerprint(op.to_raw()) }
}

/// How a run of the greedy driver ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GreedyOutcome {
    /// Whether nothing was left to do.
    pub converged: bool,
    /// Whether the IR was touched.
    pub changed: Changed,
}

/// Applies `patterns` in `op`, and destroys them.
pub(crate) fn apply_greedily(
    op: OperationRef<'_, '_>,
    patterns: FrozenRewritePatternSet,
    config: &crate::rewrite::Greedy,
) -> GreedyOutcome {
    let config = CGreedyConfig {
        max_iterations: config.max_iterations.map_or(-1, i64::from),
        max_rewrites: config.max_rewrites.map_or(-1, i64::from),
        top_down: config.top_down,
        fold: config.fold,
        cse_constants: config.merge_constants,
    };
    let mut changed = false;
    // SAFETY: the op is alive; the patterns go over to the callee.
    let result =
        unsafe { slimhloApplyPatternsGreedily(op.to_raw(), patterns.into_raw(), &config, &mut changed) };
    GreedyOutcome { converged: result.value != 0, changed: changed.into() }
}
