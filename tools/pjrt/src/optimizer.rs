// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! From a program as PJRT hands it over to one that needs less memory, on a thread of its own.
//!
//! On a thread because of its stack, which a caller's need not have, and because whoever waits may give up: a
//! thread cannot be stopped, but between two passes it looks whether anybody still waits. There is one at a
//! time. Passes count what they do in counters of the process, and MLIR spreads over all processors anyway;
//! and what comes out of a program must not depend on what else is being compiled.

use crate::decide::Aim;
use crate::mlir;
use melior::ir::operation::{OperationLike, OperationPrintingFlags};
use melior::ir::{Module, OperationRef};
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;
pub use slimhlo_forms::Source;
use slimhlo_forms::source::BYTECODE_MAGIC;
use slimhlo_forms::{OwnedModule, Version};
use slimhlo_passes::cost::{Limit, Room};
use slimhlo_passes::framework::OptionValue;
use slimhlo_passes::memory;
use slimhlo_passes::optimize::{ALIKE, Event, Optimize, STAGES, Step, Without, optimize};
use slimhlo_passes::target::Target;
use slimhlo_passes::{Bytes, PassError};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, Once, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

/// What is to be done.
pub struct Job {
    /// A module in any form that slimhlo reads. It is the only copy of what the caller has, and goes away as soon as it is read.
    pub program: Source,
    /// Of the default pipeline.
    pub options: Options,
    /// What the layer wants of it, beyond what the options say.
    pub aim: Aim,
    /// A program whose modelled peak is smaller, in bytes, is left alone.
    pub threshold: u64,
    /// How long it may take; nothing if as long as it takes.
    pub time: Option<Duration>,
    /// Whether modules are wanted as text, too.
    pub keep_text: bool,
}

/// Options that the layer gives to the default pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What compiles what comes out.
    pub target: Target,
    /// How many times the original's time a function may take.
    pub max_slowdown: Limit,
    /// What the program is made the fastest for that needs no more.
    pub memory_limit: Option<Bytes>,
    /// Whether what it then needs is counted, and asked for anew where it is too much.
    pub counted: bool,
    /// Levers that are left alone.
    pub without: Without,
}

impl Options {
    /// Of a plugin's platform: `cuda`. For one that is not known the default pipeline knows best.
    pub fn for_platform(platform: &str) -> Self {
        let name = match platform {
            "cuda" | "rocm" => "xla-gpu",
            "tpu" => "xla-tpu",
            "cpu" | "host" => "xla-cpu",
            other => other,
        };
        let target = Target::parse(name).unwrap_or_default();
        Self {
            target,
            max_slowdown: Limit::Usual,
            memory_limit: None,
            counted: false,
            without: Without::default(),
        }
    }

    /// With a memory limit as users state it: bytes, or a share of the chip's memory.
    ///
    /// # Errors
    /// What `limit` is not.
    pub fn with_limit(self, limit: &str) -> Result<Self, String> {
        let bytes = Room::parse(limit)?.bytes(self.target)?;
        Ok(Self { memory_limit: Some(Bytes(bytes)), ..self })
    }

    /// With what the layer aims at. `modelled` is the program's peak as it came, by the model: it is off for what comes out by as
    /// much as for what came in, as far as anybody can tell.
    fn aimed(self, aim: Aim, modelled: Option<u64>) -> Self {
        let memory_limit = match aim {
            Aim::Usual => self.memory_limit,
            Aim::Least => Some(Bytes(0)),
            Aim::Fit { limit, came, .. } => Some(Bytes(match (came, modelled) {
                (Some(came), Some(modelled)) if came > 0 => {
                    let scaled = u128::from(limit) * u128::from(modelled) / u128::from(came);
                    u64::try_from(scaled).unwrap_or(u64::MAX)
                }
                _ => limit,
            })),
        };
        let counted = match aim {
            Aim::Usual => self.counted,
            Aim::Least => false,
            Aim::Fit { counted, .. } => counted,
        };
        Self { memory_limit, counted, ..self }
    }

    /// The default pipeline's.
    pub fn pipeline(self) -> Optimize {
        let Self { target, max_slowdown, memory_limit, counted, without } = self;
        Optimize { target, max_slowdown, memory_limit, counted, without, ..Optimize::default() }
    }
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A module for the inner plugin.
    Smaller(Vec<u8>),
    /// Nothing was changed.
    Same,
    /// It takes so little that it was left alone.
    Small,
    /// It goes on as it came, and this is why.
    Failed(String),
}

/// How it went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The module's name, if it was read: `jit_step`.
    pub name: Option<String>,
    /// Its peak by the model, in bytes.
    pub before: Option<u64>,
    /// And afterwards.
    pub after: Option<u64>,
    /// What it was to need at most, by the model.
    pub limit: Option<u64>,
    /// What stages took off the peak, in bytes, in the order in which they first did.
    pub stages: Vec<(&'static str, u64)>,
    /// Reading, rewriting and writing.
    pub seconds: f64,
    /// The module as it came and as it is, if asked for.
    pub text: Option<(String, Option<String>)>,
}

impl Report {
    /// Whether it needs no more than it was to, if that is known.
    pub fn fits(&self) -> Option<bool> {
        Some(self.after? <= self.limit?)
    }

    /// Whether it is the least that the model knows: it does not fit, and not just by what who counts may be handed more ([`ALIKE`]).
    pub fn is_least(&self) -> bool {
        self.after.zip(self.limit).is_some_and(|(after, limit)| after > limit.saturating_add(limit / ALIKE))
    }
}

/// Does a job.
pub fn run(job: Job) -> (Outcome, Report) {
    let start = Instant::now();
    let deadline = job.time.map(|time| start + time);
    let (sender, receiver) = mpsc::channel();
    let time = job.time;
    let work = move || {
        let worked = catch_unwind(AssertUnwindSafe(|| work(job, deadline, &sender)));
        let message = worked
            .unwrap_or_else(|_| Message::Done(Outcome::Failed("a pass panicked".into()), Report::default()));
        // Whoever waited may be gone.
        let _ = sender.send(message);
    };
    if let Err(error) = spawn(work) {
        return (Outcome::Failed(format!("there is no thread for it: {error}")), Report::default());
    }
    let mut name = None;
    loop {
        let message = match deadline {
            Some(deadline) => receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())),
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        let failed = match message {
            Ok(Message::Name(known)) => {
                name = known;
                continue;
            }
            Ok(Message::Done(outcome, mut report)) => {
                report.name = report.name.or(name);
                report.seconds = start.elapsed().as_secs_f64();
                return (outcome, report);
            }
            Err(RecvTimeoutError::Timeout) => {
                wait_at_exit();
                format!("it takes longer than {} s", time.unwrap_or_default().as_secs_f64())
            }
            Err(RecvTimeoutError::Disconnected) => "its thread ended".into(),
        };
        let report = Report { name, seconds: start.elapsed().as_secs_f64(), ..Report::default() };
        return (Outcome::Failed(failed), report);
    }
}

/// Does other work with a program in the same way: on a thread with a stack for it, while no other program is
/// worked on. What `work` is handed are a context and the module in it, and the diagnostics since it was read.
///
/// # Errors
/// The program cannot be read, there is no thread, or what `work` says.
pub fn with_module<T: Send + 'static>(
    program: Source,
    work: impl FnOnce(&melior::Context, &Module<'_>, &mlir::Said) -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let (sender, receiver) = mpsc::channel();
    let on_thread = move || {
        let _at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
        let all = || {
            let context = mlir::context();
            let module = read(&context, program)?;
            let said = mlir::Said::listen(&context);
            work(&context, &module, &said)
        };
        let done = catch_unwind(AssertUnwindSafe(all)).unwrap_or_else(|_| Err("a pass panicked".into()));
        // Whoever waited may be gone.
        let _ = sender.send(done);
    };
    spawn(on_thread).map_err(|error| format!("there is no thread for it: {error}"))?;
    receiver.recv().unwrap_or_else(|_| Err("its thread ended".into()))
}

/// Reads a program, and lets go of it: MLIR has a copy of its constants.
fn read<'c>(context: &'c melior::Context, program: Source) -> Result<OwnedModule<'c>, String> {
    slimhlo_forms::read_source(context, &program)
        .map_err(|error| format!("it cannot be read: {}", first_line(&error.to_string())))
}

/// What the thread at work says.
enum Message {
    /// The program has been read, and this is what it is called.
    Name(Option<String>),
    Done(Outcome, Report),
}

/// The stacks that are asked for, in bytes, until there is one. Passes and MLIR's parser recurse into regions
/// and along operands, and programs of 100,000 ops in one chain exist. Only what is used is ever taken.
const STACKS: [usize; 2] = [1 << 30, 64 << 20];

fn spawn(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let slot = std::sync::Arc::new(Mutex::new(Some(work)));
    let mut last = None;
    for stack in STACKS {
        let slot = slot.clone();
        let take = move || {
            let work = slot.lock().unwrap_or_else(PoisonError::into_inner).take();
            work.into_iter().for_each(|work| work());
        };
        match thread::Builder::new().name("slimhlo".into()).stack_size(stack).spawn(take) {
            Ok(_) => return Ok(()),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| std::io::Error::other("no stack")))
}

/// Held by whoever is at work.
static AT_WORK: Mutex<()> = Mutex::new(());

/// The process ends.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Has the end of the process wait for a thread that nobody waits for any more: what MLIR has in static
/// variables goes away then.
fn wait_at_exit() {
    static ONCE: Once = Once::new();
    const PATIENCE: Duration = Duration::from_secs(5);

    extern "C" fn wait() {
        ENDING.store(true, Ordering::Relaxed);
        let start = Instant::now();
        while matches!(AT_WORK.try_lock(), Err(TryLockError::WouldBlock)) && start.elapsed() < PATIENCE {
            thread::sleep(Duration::from_millis(5));
        }
    }

    ONCE.call_once(|| mlir::at_exit(wait));
}

fn is_late(deadline: Option<Instant>) -> bool {
    ENDING.load(Ordering::Relaxed) || deadline.is_some_and(|deadline| Instant::now() >= deadline)
}

const LATE: &str = "it took too long";

fn work(job: Job, deadline: Option<Instant>, sender: &Sender<Message>) -> Message {
    let at_work = AT_WORK.lock().unwrap_or_else(PoisonError::into_inner);
    let mut report = Report::default();
    let outcome = if is_late(deadline) {
        Outcome::Failed(LATE.into())
    } else {
        rewrite(job, deadline, sender, &mut report).unwrap_or_else(Outcome::Failed)
    };
    drop(at_work);
    Message::Done(outcome, report)
}

fn rewrite(
    job: Job,
    deadline: Option<Instant>,
    sender: &Sender<Message>,
    report: &mut Report,
) -> Result<Outcome, String> {
    let context = mlir::context();
    let form = Form::of(&job.program);
    let module = read(&context, job.program)?;
    report.name = mlir::name(&module);
    // Nobody may be waiting any more.
    let _ = sender.send(Message::Name(report.name.clone()));
    let said = mlir::Said::listen(&context);
    let op = module.as_operation();
    let peak = |op| memory::analyze(op, job.options.target).ok().map(|report| report.footprint.peak());
    report.before = peak(op);
    if report.before.is_some_and(|peak| peak < job.threshold) {
        return Ok(Outcome::Small);
    }
    if job.keep_text {
        report.text = Some((print(&module)?, None));
    }
    let options = job.options.aimed(job.aim, report.before);
    report.limit = options.memory_limit.map(|bytes| bytes.0);
    let changed =
        stages(&context, op, options, deadline, &mut report.stages).map_err(|error| match error {
            Stopped::Late => LATE.to_owned(),
            Stopped::Failed(message) => said.first().map_or(message, |first| first_line(&first)),
        })?;
    if !changed {
        report.after = report.before;
        return Ok(Outcome::Same);
    }
    report.after = peak(op);
    if let Some((_, after)) = &mut report.text {
        *after = Some(print(&module)?);
    }
    Ok(Outcome::Smaller(write(&module, form)))
}

enum Stopped {
    Late,
    Failed(String),
}

/// The default pipeline; whether it changed anything.
fn stages(
    context: &melior::Context,
    module: OperationRef<'_, '_>,
    options: Options,
    deadline: Option<Instant>,
    saved: &mut Vec<(&'static str, u64)>,
) -> Result<bool, Stopped> {
    let late = AtomicBool::new(false);
    let run = |op: OperationRef<'_, '_>, step: Step<'_>| {
        if is_late(deadline) {
            late.store(true, Ordering::Relaxed);
            return Err(PassError::reported(LATE));
        }
        let manager = PassManager::new(context);
        let passes = format!("builtin.module({})", step.pipeline);
        parse_pass_pipeline(manager.as_operation_pass_manager(), &passes)?;
        if mlir::run(&manager, op) {
            Ok(())
        } else {
            Err(PassError::reported(format!("stage '{}' failed", STAGES[step.stage].name)))
        }
    };
    let mut observe = |event: &Event<'_>| {
        let less = match (&event.before, &event.after) {
            (Some(before), Some(after)) if event.kept => before.peak().saturating_sub(after.peak()),
            _ => 0,
        };
        match saved.iter_mut().find(|(name, _)| *name == event.stage.name) {
            Some((_, sum)) => *sum = sum.saturating_add(less),
            None if less > 0 => saved.push((event.stage.name, less)),
            None => {}
        }
    };
    match optimize(module, &options.pipeline(), &run, &mut observe) {
        Ok(changed) => Ok(changed == slimhlo_passes::Changed::Yes),
        Err(_) if late.into_inner() => Err(Stopped::Late),
        Err(error) => Err(Stopped::Failed(error.to_string())),
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// The module as MLIR 22 prints it, with locations, for `slimhlo report`.
fn print(module: &Module<'_>) -> Result<String, String> {
    module.as_operation().to_string_with_flags(with_locations()).map_err(|error| error.to_string())
}

/// How a program came.
#[derive(Clone, Copy)]
enum Form {
    Artifact(Version),
    Bytecode,
    Text,
}

impl Form {
    fn of(program: &[u8]) -> Self {
        match Version::of_artifact(program) {
            Some(version) => Self::Artifact(version),
            None if program.starts_with(BYTECODE_MAGIC) => Self::Bytecode,
            None => Self::Text,
        }
    }
}

/// The module as plugins and JAX read it, in the form in which it came. A program
/// with ops that artifacts have no place for (Shardy's come in them, as they are in memory) is handed on as text, which plugins
/// read as well.
fn write(module: &Module<'_>, form: Form) -> Vec<u8> {
    let written = match form {
        Form::Artifact(version) => slimhlo_forms::write_portable_artifact(module, version).ok(),
        Form::Bytecode => {
            slimhlo_forms::bytecode(module.as_operation(), "slimhlo", slimhlo_forms::BYTECODE_VERSION)
        }
        Form::Text => None,
    };
    written.unwrap_or_else(|| slimhlo_forms::print(module.as_operation(), with_locations(), true))
}

fn with_locations() -> OperationPrintingFlags {
    OperationPrintingFlags::new().enable_debug_info(true, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "module @jit_f { func.func public @main(%a: tensor<8xf32>) -> tensor<8xf32> {
        return %a : tensor<8xf32> } }";

    /// A gathered array of 256 MiB is built only to be summed.
    const LARGE: &str = include_str!("../tests/gather.mlir");

    /// 3 GiB of scores.
    const ATTENTION: &str = include_str!("../../../test/data/attention_gradient.mlir");

    fn job(program: &str) -> Job {
        // XLA for CPU stores what is gathered; others compute it where it is summed.
        let options = Options::for_platform("cpu");
        let aim = Aim::Usual;
        Job {
            program: Source::new(program.as_bytes()),
            options,
            aim,
            threshold: 1 << 20,
            time: None,
            keep_text: false,
        }
    }

    #[test]
    fn platforms_are_targets() {
        let target = |platform| Options::for_platform(platform).target.name();
        assert_eq!(["cuda", "rocm", "tpu", "cpu"].map(target), ["xla-gpu", "xla-gpu", "xla-tpu", "xla-cpu"]);
        assert_eq!(target("another"), "xla-gpu");
    }

    #[test]
    fn small_programs_are_left_alone() {
        let (outcome, report) = run(job(SMALL));
        assert_eq!(outcome, Outcome::Small);
        assert_eq!((report.name.as_deref(), report.before), (Some("jit_f"), Some(64)));
    }

    /// The model's error on what came is taken for its error on what comes of it.
    #[test]
    fn a_limit_is_as_the_plugin_counts() {
        let options = Options::for_platform("cuda");
        let limit = |aim, modelled| options.aimed(aim, modelled).memory_limit.map(|bytes| bytes.0);
        assert_eq!(limit(Aim::Usual, Some(7)), None);
        assert_eq!(limit(Aim::Least, Some(7)), Some(0));
        assert_eq!(limit(Aim::Fit { limit: 100, came: None, counted: true }, Some(150)), Some(100));
        assert_eq!(limit(Aim::Fit { limit: 100, came: Some(200), counted: true }, Some(150)), Some(75));
        assert_eq!(
            limit(Aim::Fit { limit: u64::MAX, came: Some(1), counted: true }, Some(2)),
            Some(u64::MAX)
        );
        let counted = |options: Options, aim| options.aimed(aim, None).counted;
        assert!(counted(Options { counted: true, ..options }, Aim::Usual) && !counted(options, Aim::Usual));
        assert!(counted(options, Aim::Fit { limit: 100, came: None, counted: true }));
        let stated = options.with_limit("0.5").expect("an H100's memory is known");
        assert_eq!(stated.memory_limit, Some(Bytes(40 << 30)));
        assert!(options.with_limit("lots").unwrap_err().contains("lots"));
    }

    /// The program that fits is faster than the one that is as small as it gets.
    #[test]
    fn needed_makes_the_fastest_that_fits() {
        let options = Options::for_platform("cuda");
        let made = |aim| run(Job { aim, options, threshold: 0, ..job(ATTENTION) }).1;
        let least = made(Aim::Least);
        let (before, after) = least.before.zip(least.after).expect("figures");
        assert!(after < before / 2 && least.fits() == Some(false), "{least:?}");
        let limit = before * 9 / 10;
        let fitting = made(Aim::Fit { limit, came: Some(before), counted: true });
        assert_eq!((fitting.limit, fitting.fits()), (Some(limit), Some(true)));
        assert!(fitting.after > Some(after), "{fitting:?}");
        let easy = made(Aim::Fit { limit: before, came: None, counted: true });
        assert_eq!(easy.fits(), Some(true));
    }

    #[test]
    fn what_is_not_changed_is_the_same() {
        let (outcome, report) = run(Job { threshold: 0, ..job(SMALL) });
        assert_eq!(outcome, Outcome::Same);
        assert_eq!(report.after, report.before);
    }

    #[test]
    fn large_programs_get_smaller() {
        let (outcome, report) = run(Job { keep_text: true, ..job(LARGE) });
        let Outcome::Smaller(bytes) = outcome else { panic!("{outcome:?}") };
        assert!(report.after < report.before, "{report:?}");
        let sum: u64 = report.stages.iter().map(|(_, saved)| saved).sum();
        assert_eq!(report.before.zip(report.after).map(|(before, after)| before - after), Some(sum));
        let (before, after) = report.text.expect("asked for");
        assert!(before.contains("stablehlo.gather") && after.is_some());
        // What is written can be read, and is as small as it gets.
        let again = run(Job { program: Source::new(&bytes), ..job(LARGE) });
        assert_eq!((again.0, again.1.before), (Outcome::Same, report.after));
    }

    /// As JAX hands them over.
    #[test]
    fn artifacts_come_back_as_artifacts_of_their_version() {
        for version in [Version::CURRENT, Version { major: 1, minor: 0, patch: 0 }] {
            let context = mlir::context();
            let module = slimhlo_forms::read_module(&context, LARGE.as_bytes()).expect("valid");
            let artifact = slimhlo_forms::write_portable_artifact(&module, version).expect("written");
            let (outcome, report) = run(Job { program: Source::new(&artifact), ..job(LARGE) });
            let Outcome::Smaller(bytes) = outcome else { panic!("{outcome:?}") };
            assert_eq!(Version::of_artifact(&bytes), Some(version));
            assert!(report.after < report.before, "{report:?}");
            let again = run(Job { program: Source::new(&bytes), ..job(LARGE) });
            assert_eq!((again.0, again.1.before), (Outcome::Same, report.after));
        }
    }

    /// They are read, and left as they are.
    #[test]
    fn sparse_tensors_are_left_as_they_are() {
        let ty =
            "tensor<8x8xf32, #sparse_tensor.encoding<{ map = (d0, d1) -> (d0 : dense, d1 : compressed) }>>";
        let text = format!(
            "func.func @main(%a: {ty}) -> {ty} {{ %0 = stablehlo.sine %a : {ty}
             %1 = stablehlo.sine %a : {ty} return %1 : {ty} }}"
        );
        let (outcome, _) = run(Job { threshold: 0, keep_text: true, ..job(&text) });
        assert_eq!(outcome, Outcome::Same);
    }

    /// As JAX has them in its process.
    #[test]
    fn bytecode_comes_back_as_bytecode() {
        let context = mlir::context();
        let module = slimhlo_forms::read_module(&context, LARGE.as_bytes()).expect("valid");
        let version = slimhlo_forms::BYTECODE_VERSION;
        let bytecode = slimhlo_forms::bytecode(module.as_operation(), "a test", version).expect("written");
        let (outcome, report) = run(Job { program: Source::new(&bytecode), ..job(LARGE) });
        let Outcome::Smaller(bytes) = outcome else { panic!("{outcome:?}") };
        assert!(bytes.starts_with(BYTECODE_MAGIC) && Version::of_artifact(&bytes).is_none());
        let again = run(Job { program: Source::new(&bytes), ..job(LARGE) });
        assert_eq!((again.0, again.1.before), (Outcome::Same, report.after));
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        let (outcome, report) = run(job("module { func.func @main() { %0 = stablehlo.nothing } }"));
        let Outcome::Failed(why) = outcome else { panic!("{outcome:?}") };
        assert!(why.starts_with("it cannot be read: "), "{why}");
        assert!(!why.contains('\n') && report.name.is_none());
    }

    #[test]
    fn nobody_waits_longer_than_the_limit() {
        let (outcome, _) = run(Job { time: Some(Duration::ZERO), ..job(LARGE) });
        let Outcome::Failed(why) = outcome else { panic!("{outcome:?}") };
        assert!(why.contains("too long") || why.contains("longer than 0 s"), "{why}");
    }
}
