// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What a compiler that fuses, such as XLA, allocates for a StableHLO module, and how long that takes.
//!
//! The model imitates what a compiler does with a program, as far as it decides about memory, and no further. What differs between back
//! ends it asks the [`Target`]: below, what is said of libraries, widening and tiles is XLA for CPU's; `target/xla_gpu.rs` and
//! `target/xla_tpu.rs` say what holds for theirs. Five steps, one file each:
//!
//! * `graph`: calls are inlined, reshapes and other ops that move no bytes looked through, equal ops merged, dead ones left
//!   out; ops that are always rewritten stand as what they are rewritten to.
//! * `fuse`: ops are gathered into kernels. What leaves a kernel is stored, all else is computed on the fly.
//! * `assign`: kernels run in the order in which their operands become ready. What is stored lives from there to its last
//!   reader, in memory of its own, in an operand's that ends there, where a result will be or where a donated
//!   argument has been; the rest is packed, largest first.
//! * `shards`: sizes on one device.
//! * `time`: what kernels move and compute, by the target's rates.
//!
//! # What is modelled
//!
//! * Elementwise ops, broadcasts, iotas, slices, pads, transposes, gathers and reductions are computed by their users. Cheap
//!   ones are computed again for each user; expensive ones (exponentials, quotients, reductions, gathers, pads,
//!   concatenations), and those whose operands are larger than their result, are stored if more than one kernel needs them.
//! * Reductions of f32 and f64 are a library's: it takes the arithmetic around them along, softmax and normalization as a
//!   whole if their inner values are not small, products and convolutions among it; what it does not know (sines,
//!   selects, gathers, slices) is stored before it. Other reductions go in tiles of 32.
//! * Products, convolutions, scatters, sorts, custom calls and all ops not known read from and write to memory. Those of
//!   16-bit floats happen in 32 bits; operands in another order than the library's are copied.
//! * Products of few results are computed in parts on GPUs: the sums of each are stored in f32, and added up by another kernel.
//! * Concatenations along long rows are copies. Running sums go in two stages.
//! * Updates, scatters and loops work in place, if what they change is not needed otherwise and may be written over: all
//!   its other readers have to come before, by what feeds what, else it is copied. What an update reads of the array
//!   that it changes is read into memory first. A scatter to one place is an update.
//! * Loops: state in place, the body's own temporaries, copies where a body needs its state after the next one is there,
//!   what is handed through unchanged, and what is captured. Slices of unchanging 16-bit arrays make the array exist in 32
//!   bits. Branches: what the larger one needs.
//! * Donation by `tf.aliasing_output` and `jax.buffer_donor`.
//! * Programs for several devices: shardings of `sdy` and `mhlo`, carried along dimensions that ops keep. Of what changes the size
//!   of a dimension that is cut, slices and pads that move borders by less than a shard join a device's own part and what its
//!   neighbours send; smaller slices bring all of what they take together; concatenations cut along another dimension and
//!   back; updates of more than one shard have all of the array and of the update on every device.
//!
//! Constants cost nothing (they are part of the program), nor do tokens. Of a dimension that is known only when the program runs its bound
//! counts. Without one the memory is not known, and a report says so (`sized`); where a pass only asks which of two forms takes less,
//! such a dimension counts as 1.
//!
//! # What is known to be off
//!
//! * Compilers simplify first. A program that a simplification changes much is modelled as it is written, but for folded
//!   scalars, quotients by constants and the like: two divisions by the same broadcast, say, which XLA turns into
//!   products with a stored inverse (128 MiB of 608 in the gradient of attention).
//! * Where an op is computed twice in one kernel too often, XLA stores it; this does not count how often.
//! * XLA moves what does not change out of loops (masks, random bits), and copies a loop's small state.
//! * Layouts: all arrays are row-major. A result that is a transpose costs a copy under XLA if it is made twice.
//! * Libraries' own scratch memory (eigenvalues, FFT, ...).
//! * Collectives are ops like others: nothing is shared with their operands.
//!
//! # How it is checked
//!
//! `test/oracle/memory_model.py` compares it with the buffer assignment of XLA for each target: reference programs before and after
//! passes, some 200 larger programs, and JAX's own. For each, lit tests in `test/print-memory` have one small program per
//! behaviour, with XLA's numbers.
//!
//! # What it costs
//!
//! Time and memory linear in the ops that run, calls inlined: searches upwards, candidate places and packing have fixed
//! bounds. Nothing is printed or parsed, unless a report is asked for. While a pipeline runs, the same function is
//! modelled once (`known`).

mod assign;
mod blocks;
mod ffi;
mod fuse;
mod graph;
mod hiding;
pub(crate) mod known;
mod lists;
pub(crate) mod near;
mod print;
mod schedule;
mod shards;
mod sized;
mod source;
mod stages;
mod time;

pub(crate) use fuse::EXPENSIVE;
pub use print::{PrintMemory, bytes};
pub(crate) use shards::OnDevice;
pub use source::{Source, source_of};
pub(crate) use stages::in_library;
pub(crate) use time::{exchanging, product as product_seconds};

use crate::cost::Cost;
use crate::ir::op_key;
use crate::target::Target;
use assign::{Frame, Place, Plan, plan};
use graph::{Class, Graph, Import};
use known::Outline;
use melior::ir::attribute::{IntegerAttribute, StringAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{BlockRef, Location, OperationRef, Type};
use rustc_hash::{FxHashMap, FxHashSet};
use slimhlo_dialect::ffi::{attribute_in, attribute_of, integer_value, op_name, string_value};
use std::rc::Rc;

/// Bytes that a program needs, on one device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Of all arguments.
    pub arguments: u64,
    /// Of all results.
    pub results: u64,
    /// Of results that lie in donated arguments.
    pub aliased: u64,
    /// Of everything else, at once.
    pub temporaries: u64,
}

impl Footprint {
    /// What no compiler can do without: arguments and results.
    pub fn floor(&self) -> u64 {
        self.arguments.saturating_add(self.results).saturating_sub(self.aliased)
    }

    /// All of it.
    pub fn peak(&self) -> u64 {
        self.floor().saturating_add(self.temporaries)
    }

    /// Peak over floor; 1 is the best there is.
    pub fn ratio(&self) -> f64 {
        self.peak() as f64 / self.floor().max(1) as f64
    }
}

/// What a buffer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The caller's.
    Argument,
    /// The caller's, from the end on.
    Result,
    /// Neither.
    Temporary,
}

/// A value that has memory.
#[derive(Clone, Debug)]
pub struct Buffer<'c> {
    /// What it is called: `result 1`, else as in the printed module, `%arg3`, `%12`, `%cst`.
    pub name: String,
    /// Name of the op that computes it; empty for arguments.
    pub op: String,
    /// Its type.
    pub ty: String,
    /// Its size.
    pub bytes: u64,
    /// What it is.
    pub kind: Kind,
    /// First step that needs it.
    pub from: usize,
    /// Last step that needs it.
    pub to: usize,
    /// It lies in memory that is there anyway: an argument's or a result's.
    pub reuses: bool,
    /// Where it comes from.
    pub location: Location<'c>,
}

/// A kernel that runs.
#[derive(Clone, Debug)]
pub struct Step<'c> {
    /// Name of the op that its result is of.
    pub op: String,
    /// Where it comes from.
    pub location: Location<'c>,
    /// Bytes alive while it runs, arguments and results included.
    pub live: u64,
}

/// What a module needs, and when.
#[derive(Clone, Debug)]
pub struct Report<'c> {
    /// The sums.
    pub footprint: Footprint,
    /// What runs, in order; a loop's body once.
    pub steps: Vec<Step<'c>>,
    /// All values that have memory.
    pub buffers: Vec<Buffer<'c>>,
    /// The step at which most is alive.
    pub peak_step: usize,
    /// Seconds that all of it takes on the target, and kernels that are started, those of loops as often as they turn; `None` for a
    /// target whose rates nobody has measured.
    pub time: Option<(f64, f64)>,
    /// Kernels, those first that take longest; empty where rates are not known.
    pub kernels: Vec<Spent<'c>>,
}

/// A kernel, and what it takes.
#[derive(Clone, Debug)]
pub struct Spent<'c> {
    /// Seconds of all of its runs.
    pub seconds: f64,
    /// How often it runs.
    pub runs: f64,
    /// Name of the op that its result is of.
    pub op: String,
    /// The result's type.
    pub ty: String,
    /// Where it comes from, if it is of an op.
    pub location: Option<Location<'c>>,
}

impl<'c> Report<'c> {
    /// What is alive at the peak, largest first.
    pub fn at_peak(&self) -> impl Iterator<Item = &Buffer<'c>> {
        let mut alive: Vec<&Buffer<'c>> = self
            .buffers
            .iter()
            .filter(|buffer| {
                buffer.kind != Kind::Temporary
                    || !buffer.reuses && (buffer.from..=buffer.to).contains(&self.peak_step)
            })
            .collect();
        alive.sort_by_key(|buffer| std::cmp::Reverse(buffer.bytes));
        alive.into_iter()
    }
}

/// Why a module is not modelled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Unmodelled<'c> {
    /// There is no function to start with.
    #[error("there is no function @main, nor a single public one")]
    NoEntry,
    /// The function has no body.
    #[error("the function has no body")]
    NoBody,
    /// A value's size is known only when the program runs: its type, and where it comes from.
    #[error("how many bytes a {0} takes is known only when the program runs")]
    Unknown(Type<'c>, Location<'c>),
    /// A value is not stored element by element: its type, and where it comes from.
    #[error("how many bytes a {0} takes is not known, because it is sparse")]
    Sparse(Type<'c>, Location<'c>),
    /// A value has 2^63 bytes or more: its type, and where it comes from.
    #[error("a {0} takes 2^63 bytes or more")]
    TooLarge(Type<'c>, Location<'c>),
    /// No value has, but all together do; and where the function is.
    #[error("it takes 2^63 bytes or more in all")]
    TooMuch(Location<'c>),
}

impl<'c> Unmodelled<'c> {
    /// Where in the module the reason is, if that is some place.
    pub fn location(&self) -> Option<Location<'c>> {
        match self {
            Self::NoEntry | Self::NoBody => None,
            Self::Unknown(_, location)
            | Self::Sparse(_, location)
            | Self::TooLarge(_, location)
            | Self::TooMuch(location) => Some(*location),
        }
    }
}

/// Models a module, from `@main` or else its only public function, in the order in which its back end runs it: see [`cost`].
///
/// # Errors
/// There is no such function, or it has values of no known size, sparse ones, or of none that 64 bits hold.
pub fn analyze<'c>(module: OperationRef<'c, '_>, target: Target) -> Result<Report<'c>, Unmodelled<'c>> {
    let mut import = Import::new(module, target);
    let entry = entry(&import).ok_or(Unmodelled::NoEntry)?;
    let graph = import.function(entry).ok_or(Unmodelled::NoBody)?;
    sized::check(entry, &graph)?;
    let frame = frame(entry, &graph);
    let plan = plan(&graph, &frame, target.storage(), target.hiding());
    let mut report = report(entry, &graph, &frame, &plan, &ffi::Names::new(module));
    if report.footprint.peak() > sized::MOST {
        return Err(Unmodelled::TooMuch(entry.location()));
    }
    if let Some(rates) = target.rates() {
        let time::Time { seconds, launches } = time::time(&graph, &plan, target.storage(), rates);
        report.time = Some((seconds, launches));
        time::spent(&graph, &plan, (target.storage(), rates), (1.0, near::Runs::Once), &mut report.kernels);
        report.kernels.sort_by(|one, other| other.seconds.total_cmp(&one.seconds));
    }
    Ok(report)
}

/// Models one function, without names: what it needs, and how many seconds it takes.
///
/// Where devices exchange something this is by the order for memory, not by the one in which XLA hides exchanges. Passes that
/// look for what fills the memory find gradients there, which come last in that order, and not what keeps them: judged so,
/// the pipeline made 1,274 MiB of `sharded_graph_jraph` for 882 and 1,397 of `tensor_parallel_equinox` for 1,008 (`cargo
/// xtask bench corpus`).
pub fn cost(function: OperationRef<'_, '_>, target: Target) -> Option<Cost> {
    if known::is_remembered(function) {
        return model_of(function, target).as_ref().as_ref().map(|model| model.cost);
    }
    let mut import = Import::new(module_of(function), target);
    let (graph, frame, plan) = modelled(&mut import, function, target)?;
    Some(cost_of(&graph, &frame, &plan, target))
}

fn cost_of(graph: &Graph<'_, '_>, frame: &Frame, plan: &Plan, target: Target) -> Cost {
    let seconds =
        target.rates().map_or(0.0, |rates| time::time(graph, plan, target.storage(), rates).seconds);
    Cost { footprint: sums(graph, frame, plan), seconds }
}

/// All that passes ask about a function.
struct Model {
    cost: Cost,
    /// See [`profiles`].
    outlines: Vec<Outline>,
}

/// The model of a function that is by itself, made once.
fn model_of<'c: 'a, 'a>(function: OperationRef<'c, 'a>, target: Target) -> Rc<Option<Model>> {
    known::once("model", function, target, || {
        let (graph, frame, plan) = modelled(&mut Import::new(function, target), function, target)?;
        let numbers = known::numbers(&known::numbered(function));
        let profiles = profiles_of(function, &graph, &plan);
        let outlines = profiles.iter().map(|(op, _, profile)| Outline::of(*op, profile, &numbers)).collect();
        Some(Model { cost: cost_of(&graph, &frame, &plan, target), outlines })
    })
}

/// How much is alive as the ops of a function's own block run.
pub struct Profile<'c, 'a> {
    /// Ops that store something, in the order in which they run, and the bytes of temporaries that are alive then.
    pub steps: Vec<(OperationRef<'c, 'a>, u64)>,
    /// The op at which most is alive, the first of several; `None` where nothing but arguments and results ever is.
    pub peak: Option<OperationRef<'c, 'a>>,
    /// Bytes of temporaries that results of an op, by its key, have at the peak.
    pub alive: FxHashMap<usize, u64>,
    /// Keys of sums and extremes of rows that are computed in the kernel of what reads the rows beside them: a softmax is one.
    pub in_rows: FxHashSet<usize>,
}

/// Models what is alive as a function runs; `None` if it has no body.
pub fn profile<'c: 'a, 'a>(function: OperationRef<'c, 'a>, target: Target) -> Option<Profile<'c, 'a>> {
    if known::is_remembered(function) {
        let model = model_of(function, target);
        let outline = model.as_ref().as_ref()?.outlines.first()?;
        return Some(outline.profile(&known::numbered(function)));
    }
    let (graph, _, plan) = modelled(&mut Import::new(function, target), function, target)?;
    Some(Profile::of(&graph, &plan))
}

/// The same of a function's own block, and then of the body of the loop that runs at its peak, and so on.
pub fn profiles<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    target: Target,
) -> Vec<(BlockRef<'c, 'a>, Profile<'c, 'a>)> {
    if known::is_remembered(function) {
        let model = model_of(function, target);
        let ops = known::numbered(function);
        let outlines = model.as_ref().as_ref().map_or(&[][..], |model| &model.outlines);
        let profile = |outline: &Outline| Some((outline.block(&ops)?, outline.profile(&ops)));
        return outlines.iter().filter_map(profile).collect();
    }
    let modelled = modelled(&mut Import::new(function, target), function, target);
    let Some((graph, _, plan)) = modelled else { return Vec::new() };
    let profiles = profiles_of(function, &graph, &plan);
    profiles.into_iter().map(|(_, block, profile)| (block, profile)).collect()
}

/// What has a body of which there is a profile, the body, and the profile.
type Profiled<'c, 'a> = (OperationRef<'c, 'a>, BlockRef<'c, 'a>, Profile<'c, 'a>);

/// See [`profiles`].
fn profiles_of<'c: 'a, 'a>(
    function: OperationRef<'c, 'a>,
    graph: &Graph<'c, 'a>,
    plan: &Plan,
) -> Vec<Profiled<'c, 'a>> {
    let Some(block) = graph::body(function, 0) else { return Vec::new() };
    let mut profiles = vec![(function, block, Profile::of(graph, plan))];
    let (mut graph, mut plan) = (graph, plan);
    while let Some(step) = plan.peak() {
        let kernel = plan.order[step] as usize;
        let node = &graph.nodes[plan.kernels.kernels[kernel].node as usize];
        let inside = node.regions.get(BODY).zip(plan.inner[kernel].get(BODY));
        let made = node.op.filter(|op| op_name(*op) == "stablehlo.while");
        let Some(((body, inner), op)) = inside.zip(made) else { break };
        let Some(block) = graph::body(op, BODY) else { break };
        profiles.push((op, block, Profile::of(body, inner)));
        (graph, plan) = (body, inner);
    }
    profiles
}

/// The region of a loop that is its body.
const BODY: usize = 1;

impl<'c, 'a> Profile<'c, 'a> {
    fn of(graph: &Graph<'c, 'a>, plan: &Plan) -> Self {
        let op_of = |step: usize| {
            let kernel = plan.kernels.kernels[*plan.order.get(step)? as usize];
            graph.nodes[kernel.node as usize].op
        };
        // What is stored beside a kernel's own is alive when that is.
        let ops = |kernel: &u32| plan.kernels.nodes(plan.kernels.kernels[*kernel as usize]);
        let running = plan.order.iter().zip(&plan.live).flat_map(|(kernel, &live)| {
            ops(kernel).filter_map(move |node| Some((graph.nodes[node as usize].op?, live)))
        });
        let in_rows = plan.kernels.in_rows.iter().filter_map(|&node| graph.nodes[node as usize].op);
        let mut profile = Self {
            steps: running.collect(),
            peak: None,
            alive: FxHashMap::default(),
            in_rows: in_rows.map(op_key).collect(),
        };
        if let Some(peak) = plan.peak() {
            profile.peak = op_of(peak);
            let alive = plan.memory.iter().filter(|memory| {
                memory.place == Place::Own && (memory.from as usize..=memory.to as usize).contains(&peak)
            });
            for &value in alive.flat_map(|memory| &memory.values) {
                let content = &graph.values[value as usize];
                let node = &graph.nodes[content.node as usize];
                // What devices hand to each other for an op is not what it makes.
                if let Some(op) = node.op.filter(|_| !matches!(node.class, Class::Exchange { summands: 1 })) {
                    *profile.alive.entry(op_key(op)).or_default() += content.bytes;
                }
            }
        }
        profile
    }
}

impl Plan {
    /// The step at which most is alive, the first of several, if anything ever is.
    fn peak(&self) -> Option<usize> {
        let filled = (0..self.live.len()).filter(|&step| self.live[step] > 0);
        filled.max_by_key(|&step| (self.live[step], std::cmp::Reverse(step)))
    }
}

/// Keys of the ops of a function's own block whose results have temporary memory when most is alive there, and of the one that runs then.
/// Empty where nothing but arguments and results ever is.
pub fn alive_at_peak(function: OperationRef<'_, '_>, target: Target) -> Option<FxHashSet<usize>> {
    let profile = profile(function, target)?;
    Some(profile.alive.into_keys().chain(profile.peak.map(op_key)).collect())
}

/// A function's graph, what its caller gives it, and how it runs.
fn modelled<'c: 'a, 'a>(
    import: &mut Import<'c, 'a>,
    function: OperationRef<'c, 'a>,
    target: Target,
) -> Option<(Graph<'c, 'a>, Frame, Plan)> {
    let graph = import.function(function)?;
    let frame = frame(function, &graph);
    let plan = plan(&graph, &frame, target.storage(), None);
    Some((graph, frame, plan))
}

fn module_of<'c: 'a, 'a>(function: OperationRef<'c, 'a>) -> OperationRef<'c, 'a> {
    ffi::parent(function).unwrap_or(function)
}

fn entry<'c: 'a, 'a>(import: &Import<'c, 'a>) -> Option<OperationRef<'c, 'a>> {
    let is_public = |op: &OperationRef<'c, 'a>| {
        text(*op, "sym_visibility").is_none_or(|visibility| visibility == "public")
    };
    if let Some(main) = import.functions().find(|op| text(*op, "sym_name") == Some("main")) {
        return Some(main);
    }
    let mut public = import.functions().filter(is_public);
    public.next().filter(|_| public.next().is_none())
}

fn text<'c>(op: OperationRef<'c, '_>, name: &str) -> Option<&'c str> {
    StringAttribute::try_from(attribute_of(op, name)?).ok().map(string_value)
}

/// Who gives what to a function: donated arguments, and the results that go there.
fn frame(function: OperationRef<'_, '_>, graph: &Graph<'_, '_>) -> Frame {
    let mut frame =
        Frame { writable: vec![false; graph.parameters.len()], alias: vec![None; graph.results.len()] };
    let size = |id: u32| graph.values[id as usize].bytes;
    let mut donors = Vec::new();
    for at in 0..graph.parameters.len() {
        let Some(attributes) = ffi::argument_attributes(function, at) else { continue };
        if let Some(result) = attribute_in(attributes, "tf.aliasing_output")
            .and_then(|attribute| IntegerAttribute::try_from(attribute).ok())
            .and_then(|attribute| usize::try_from(integer_value(attribute)).ok())
            .filter(|&result| result < graph.results.len())
        {
            frame.alias[result] = Some(at);
            frame.writable[at] = true;
        } else if attribute_in(attributes, "jax.buffer_donor").is_some() {
            donors.push(at);
        }
    }
    // A donor goes to the first result of its size that has none.
    for at in donors {
        let wanted = size(graph.parameters[at]);
        if let Some(result) = (0..graph.results.len())
            .find(|&result| frame.alias[result].is_none() && size(graph.results[result]) == wanted)
        {
            frame.alias[result] = Some(at);
            frame.writable[at] = true;
        }
    }
    frame
}

fn sums(graph: &Graph<'_, '_>, frame: &Frame, plan: &Plan) -> Footprint {
    let size = |id: &u32| graph.values[*id as usize].bytes;
    Footprint {
        arguments: graph.parameters.iter().map(size).fold(0, u64::saturating_add),
        results: graph.results.iter().map(size).fold(0, u64::saturating_add),
        aliased: graph
            .results
            .iter()
            .zip(&frame.alias)
            .filter(|(_, alias)| alias.is_some())
            .map(|(id, _)| size(id))
            .fold(0, u64::saturating_add),
        temporaries: plan.temporaries,
    }
}

fn report<'c>(
    entry: OperationRef<'c, '_>,
    graph: &Graph<'c, '_>,
    frame: &Frame,
    plan: &Plan,
    names: &ffi::Names,
) -> Report<'c> {
    let footprint = sums(graph, frame, plan);
    let mut report = Report {
        footprint,
        steps: Vec::new(),
        buffers: Vec::new(),
        peak_step: 0,
        time: None,
        kernels: Vec::new(),
    };
    add_steps(&mut report, graph, plan, footprint.floor(), entry.location(), names);
    let last = report.steps.len().saturating_sub(1);
    let mut donors = vec![false; graph.parameters.len()];
    for (at, alias) in frame.alias.iter().enumerate() {
        if let Some(argument) = alias {
            donors[*argument] = true;
        } else {
            let content = graph.values[graph.results[at] as usize];
            let node = &graph.nodes[content.node as usize];
            report.buffers.push(Buffer {
                name: format!("result {at}"),
                op: node.op.map_or(String::new(), |op| op_name(op).to_owned()),
                ty: content.ty.to_string(),
                bytes: content.bytes,
                kind: Kind::Result,
                from: 0,
                to: last,
                reuses: false,
                location: node.op.map_or(entry.location(), |op| op.location()),
            });
        }
    }
    for (at, &id) in graph.parameters.iter().enumerate() {
        let content = graph.values[id as usize];
        report.buffers.push(Buffer {
            name: format!("%arg{at}"),
            op: String::new(),
            ty: content.ty.to_string(),
            bytes: content.bytes,
            kind: Kind::Argument,
            from: 0,
            to: last,
            reuses: false,
            location: argument_location(entry, at),
        });
    }
    let mut most = 0;
    for (index, step) in report.steps.iter().enumerate() {
        if step.live > most {
            most = step.live;
            report.peak_step = index;
        }
    }
    report
}

/// Adds what a graph runs and stores, with `base` bytes alive around it.
fn add_steps<'c>(
    report: &mut Report<'c>,
    graph: &Graph<'c, '_>,
    plan: &Plan,
    base: u64,
    location: Location<'c>,
    names: &ffi::Names,
) {
    // First and last step in the report of each of the plan's.
    let mut at = Vec::with_capacity(plan.order.len() + 1);
    for (step, &kernel) in plan.order.iter().enumerate() {
        let start = report.steps.len();
        let kernel = &plan.kernels.kernels[kernel as usize];
        let node = &graph.nodes[kernel.node as usize];
        let location = node.op.map_or(location, |op| op.location());
        let own: u64 = plan.live[step].saturating_sub(
            plan.inner[plan.order[step] as usize].iter().map(|inner| inner.temporaries).max().unwrap_or(0),
        );
        if node.class != Class::Parameter {
            report.steps.push(Step {
                op: node.op.map_or(String::new(), |op| op_name(op).to_owned()),
                location,
                live: base.saturating_add(own),
            });
        }
        for (inner, region) in plan.inner[plan.order[step] as usize].iter().zip(&node.regions) {
            add_steps(report, region, inner, base.saturating_add(own), location, names);
        }
        at.push((start, report.steps.len().saturating_sub(1).max(start)));
    }
    at.push((report.steps.len(), report.steps.len()));
    let results: FxHashSet<_> = graph.results.iter().copied().collect();
    for memory in &plan.memory {
        for (index, &value) in memory.values.iter().enumerate() {
            let content = graph.values[value as usize];
            let node = &graph.nodes[content.node as usize];
            if node.class == Class::Parameter || content.bytes == 0 {
                continue;
            }
            let is_result = results.contains(&value);
            if is_result && memory.place != Place::Own {
                continue;
            }
            let op = node.op;
            report.buffers.push(Buffer {
                name: op
                    .and_then(|op| names.result(op, (value - node.first) as usize))
                    .unwrap_or_else(|| format!("value {value}")),
                op: op.map_or(String::new(), |op| op_name(op).to_owned()),
                ty: content.ty.to_string(),
                bytes: content.bytes,
                kind: Kind::Temporary,
                from: at[memory.from as usize].0,
                to: at[memory.to as usize].1,
                reuses: memory.place != Place::Own || index + 1 < memory.values.len(),
                location: op.map_or(location, |op| op.location()),
            });
        }
    }
}

fn argument_location<'c>(function: OperationRef<'c, '_>, at: usize) -> Location<'c> {
    let argument = graph::body(function, 0)
        .filter(|block| at < block.argument_count())
        .and_then(|block| block.argument(at).ok());
    argument.map_or(function.location(), |argument| ffi::location_of(argument.into()))
}
