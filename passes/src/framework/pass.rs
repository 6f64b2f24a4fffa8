// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a pass is, to its author and to the rest of slimhlo.

use super::diagnostics::{self, Severity};
use super::ffi::Host;
use super::options::{OptionInfo, Options, paragraph};
use super::statistics::{self, Counts, Statistic};
use melior::dialect::DialectRegistry;
use melior::ir::operation::OperationLike;
use melior::ir::{Location, OperationRef};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The ops a pass runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Any op; the pipeline says which.
    Any,
    /// `builtin.module`
    Module,
    /// `func.func`. MLIR runs the pass on many functions at once.
    Function,
}

impl Anchor {
    /// Name of the op, or nothing if any will do.
    pub fn op_name(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Module => "builtin.module",
            Self::Function => "func.func",
        }
    }
}

/// Whether a run touched the IR. A pass that did not keeps all of MLIR's analyses alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It did, or may have.
    Yes,
    /// It did not, not even a location.
    No,
}

impl From<bool> for Changed {
    fn from(changed: bool) -> Self {
        if changed { Self::Yes } else { Self::No }
    }
}

impl std::ops::BitOr for Changed {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        if self == Self::Yes { self } else { other }
    }
}

/// Why a pass gives up. The pipeline stops there, with the message as a diagnostic.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct PassError<'c> {
    message: String,
    blame: Blame<'c>,
}

#[derive(Clone, Debug)]
enum Blame<'c> {
    /// The op that the pass runs on.
    Root,
    Op(Location<'c>, String),
    Place(Location<'c>),
    /// A diagnostic has been emitted.
    Reported,
}

impl<'c> PassError<'c> {
    /// Blames the op that the pass runs on.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), blame: Blame::Root }
    }

    /// Blames `op`.
    pub fn at<'a>(op: OperationRef<'c, 'a>, message: impl Into<String>) -> Self
    where
        'c: 'a,
    {
        let name = slimhlo_dialect::ffi::op_name(op).to_owned();
        Self { message: message.into(), blame: Blame::Op(op.location(), name) }
    }

    /// Blames a place in the module, of which the message says what is there.
    pub fn at_location(location: Location<'c>, message: impl Into<String>) -> Self {
        Self { message: message.into(), blame: Blame::Place(location) }
    }

    /// For what MLIR has emitted a diagnostic about.
    pub fn reported(message: impl Into<String>) -> Self {
        Self { message: message.into(), blame: Blame::Reported }
    }

    fn emit(&self, root: OperationRef<'c, '_>) {
        let (location, name) = match &self.blame {
            Blame::Root => (root.location(), slimhlo_dialect::ffi::op_name(root)),
            Blame::Op(location, name) => (*location, name.as_str()),
            Blame::Place(location) => {
                return diagnostics::emit(Severity::Error, *location, &self.message);
            }
            Blame::Reported => return,
        };
        diagnostics::emit(Severity::Error, location, &format!("'{name}' op {}", self.message));
    }
}

impl From<melior::Error> for PassError<'_> {
    fn from(error: melior::Error) -> Self {
        Self::new(error.to_string())
    }
}

/// What a run of a pass comes to.
pub type PassResult<'c> = Result<Changed, PassError<'c>>;

/// What a run may use besides the op it runs on.
#[derive(Debug)]
pub struct PassContext<'r> {
    counts: Counts<'r>,
    host: &'r Host,
}

impl PassContext<'_> {
    /// Runs a pipeline in MLIR's textual form, without its anchor, on `op`: the op that the pass runs on, or one nested
    /// in it. Dialects that its passes need have to be among the pass's own dependent dialects.
    ///
    /// # Errors
    /// The pipeline cannot be read or has failed; what has been diagnosed goes to the context.
    pub fn run_pipeline<'c>(&self, op: OperationRef<'c, '_>, pipeline: &str) -> Result<(), PassError<'c>> {
        self.host.run_pipeline(op, pipeline).map_err(|message| match message.trim() {
            "" => PassError::reported(format!("{pipeline} failed")),
            message => PassError::new(format!("cannot run {pipeline}: {message}")),
        })
    }

    /// Raises a counter that the pass has declared.
    pub fn count(&self, statistic: &Statistic, by: u64) {
        self.counts.add(statistic, by);
    }

    /// Emits a warning at `op`.
    pub fn warn(&self, op: OperationRef<'_, '_>, message: &str) {
        diagnostics::emit(Severity::Warning, op.location(), message);
    }

    /// Emits a remark at `op`.
    pub fn remark(&self, op: OperationRef<'_, '_>, message: &str) {
        diagnostics::emit(Severity::Remark, op.location(), message);
    }
}

/// A pass. Its struct, made by [`pass_options!`](crate::pass_options), holds its options and its docs.
///
/// MLIR shares one value between all threads, hence `&self`: what a run needs to remember lives in the run.
pub trait Pass: Options {
    /// Name on the command line and in pipelines, such as `slimhlo-dus-to-pad`.
    const ARGUMENT: &'static str;

    /// The ops it runs on.
    const ANCHOR: Anchor = Anchor::Function;

    /// All counters it raises.
    const STATISTICS: &'static [Statistic] = &[];

    /// Inserts the dialects that the pass makes ops, types or attributes of without the input needing to have them.
    fn dependent_dialects(_registry: &DialectRegistry) {}

    /// Says what is wrong with the options taken together, if anything is.
    ///
    /// # Errors
    /// What is wrong.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// Runs on one op. Nothing outside of it may be touched, and if it is a function, nothing outside of it may be read
    /// that other functions' runs change. A panic is caught and fails the pass.
    ///
    /// # Errors
    /// Why the pass fails.
    fn run<'c>(&self, op: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c>;
}

/// A pipeline: a name for a list of passes. Its struct holds its options and its docs.
pub trait Pipeline: Options {
    /// Name on the command line and in pipelines.
    const ARGUMENT: &'static str;

    /// The passes, in MLIR's textual form: `func.func(slimhlo-dus-to-pad{min-bytes=1MiB},cse)`. The pipeline is used
    /// on a module.
    ///
    /// # Errors
    /// What is wrong with the options taken together.
    fn passes(&self) -> Result<String, String>;
}

/// A pass's [`Pass`] value behind a pointer.
pub(crate) trait AnyPass: Send + Sync {
    fn run(&self, op: OperationRef<'_, '_>, host: &Host, counts: Counts<'_>) -> Option<Changed>;
}

impl<P: Pass> AnyPass for P {
    /// Runs the pass, with diagnostics emitted on failure.
    fn run(&self, op: OperationRef<'_, '_>, host: &Host, counts: Counts<'_>) -> Option<Changed> {
        let context = PassContext { counts, host };
        let outcome = catch_unwind(AssertUnwindSafe(|| Pass::run(self, op, &context)));
        if !context.counts.declared.is_empty() {
            statistics::record(P::NAME, &context.counts);
        }
        match outcome {
            Ok(Ok(changed)) => Some(changed),
            Ok(Err(error)) => {
                error.emit(op);
                None
            }
            Err(payload) => {
                let reason = panic_message(payload.as_ref());
                PassError::new(format!(
                    "met an internal error of {}: {reason}; please report it",
                    P::ARGUMENT
                ))
                .emit(op);
                None
            }
        }
    }
}

/// The message of a caught panic.
pub(crate) fn panic_message(payload: &(dyn std::any::Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a message")
}

/// Makes a pass from one text per option, or says what is wrong with them.
type Create = fn(&[&str]) -> Result<Box<dyn AnyPass>, String>;

/// What is known of a pass without an instance of it: all that registration, help and docs need.
#[derive(Clone, Debug)]
pub struct PassInfo {
    /// Name of its struct.
    pub name: &'static str,
    /// Name on the command line and in pipelines.
    pub argument: &'static str,
    /// First paragraph of its docs, in one line and without the full stop.
    pub summary: String,
    /// Its docs, in Markdown.
    pub docs: String,
    /// The ops it runs on.
    pub anchor: Anchor,
    /// Its options.
    pub options: Vec<OptionInfo>,
    /// Its counters.
    pub statistics: &'static [Statistic],
    pub(crate) dependent_dialects: fn(&DialectRegistry),
    pub(crate) create: Create,
}

impl PassInfo {
    /// Describes the pass `P`.
    pub fn of<P: Pass>() -> Self {
        Self {
            name: P::NAME,
            argument: P::ARGUMENT,
            summary: summary(P::DOCS),
            docs: dedent(P::DOCS),
            anchor: P::ANCHOR,
            options: P::infos(),
            statistics: P::STATISTICS,
            dependent_dialects: P::dependent_dialects,
            create: |texts| {
                let pass = P::parse(texts)?;
                pass.check()?;
                Ok(Box::new(pass))
            },
        }
    }
}

/// What is known of a pipeline without an instance of it.
#[derive(Clone, Debug)]
pub struct PipelineInfo {
    /// Name on the command line and in pipelines.
    pub argument: &'static str,
    /// First paragraph of its docs, in one line and without the full stop.
    pub summary: String,
    /// Its docs, in Markdown.
    pub docs: String,
    /// Its options.
    pub options: Vec<OptionInfo>,
    pub(crate) expand: fn(&[&str]) -> Result<String, String>,
}

impl PipelineInfo {
    /// Describes the pipeline `P`.
    pub fn of<P: Pipeline>() -> Self {
        Self {
            argument: P::ARGUMENT,
            summary: summary(P::DOCS),
            docs: dedent(P::DOCS),
            options: P::infos(),
            expand: |texts| P::parse(texts)?.passes(),
        }
    }

    /// The passes that it stands for by default, in MLIR's textual form.
    ///
    /// # Errors
    /// What is wrong with the defaults taken together.
    pub fn default_passes(&self) -> Result<String, String> {
        let texts: Vec<_> = self.options.iter().map(|option| option.default.as_str()).collect();
        (self.expand)(&texts)
    }
}

fn summary(docs: &str) -> String {
    let first: String = docs.lines().take_while(|line| !line.trim().is_empty()).collect();
    paragraph(&first).trim_end_matches('.').to_owned()
}

/// Doc comments start each line with the space after `///`.
fn dedent(docs: &str) -> String {
    let lines = docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end());
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}
