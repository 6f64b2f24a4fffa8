// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The framework, through MLIR's pass manager, with passes that exist for these tests only.

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::ir::attribute::IntegerAttribute;
use melior::ir::operation::{OperationLike, WalkResult};
use melior::ir::{OperationRef, Value};
use melior::pass::PassManager;
use melior::utility::{parse_pass_pipeline, register_all_dialects, register_all_passes};
use slimhlo_passes::framework::{register, register_pipeline, statistic_total, statistics_report};
use slimhlo_passes::{
    Anchor, Bytes, Changed, Greedy, Pass, PassContext, PassError, PassInfo, PassResult, Patterns, Pipeline,
    PipelineInfo, Statistic, option_enum, pass_options, rewrite,
};
use std::sync::{Arc, LazyLock, Mutex, Once};

option_enum! {
    /// Which sign a test pass looks for.
    enum Sign {
        /// Below zero.
        Negative = "negative",
        /// Zero and above.
        Positive = "positive",
    }
}

pass_options! {
    /// Emits its options as a remark.
    ///
    /// A second paragraph, for the docs.
    struct TestOptions {
        /// A flag.
        verbose: bool = false,
        /// A number with
        /// two lines of docs.
        shift: i64 = -3,
        /// A size.
        min_bytes: Bytes = Bytes(1 << 20),
        /// A word.
        sign: Sign = Sign::Positive,
        /// A text.
        label: String = String::new(),
        /// Several numbers.
        sizes: Vec<u64> = vec![1, 2],
        /// A limit.
        limit: Option<Bytes> = None,
    }
}

impl Pass for TestOptions {
    const ARGUMENT: &'static str = "test-slimhlo-options";
    const ANCHOR: Anchor = Anchor::Any;

    fn check(&self) -> Result<(), String> {
        if self.shift > 100 { Err(format!("shift = {} exceeds 100", self.shift)) } else { Ok(()) }
    }

    fn run<'c>(&self, op: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        context.remark(op, &format!("{self:?}"));
        Ok(Changed::No)
    }
}

const ADDS: Statistic = Statistic::new(c"num-adds", c"Additions of zero removed");
const SEEN: Statistic = Statistic::new(c"num-seen", c"Functions seen");

pass_options! {
    /// Removes additions of zero.
    struct TestRewrite;
}

impl Pass for TestRewrite {
    const ARGUMENT: &'static str = "test-slimhlo-rewrite";
    const STATISTICS: &'static [Statistic] = &[ADDS, SEEN];

    fn run<'c>(&self, op: OperationRef<'c, '_>, context: &PassContext<'_>) -> PassResult<'c> {
        context.count(&SEEN, 1);
        let applied = Patterns::new()
            .on("arith.addi", |add, rewriter| {
                let Some(constant) = rewrite::defining_op(add.operand(1)?) else { return Ok(false) };
                let Ok(value) = constant.attribute("value") else { return Ok(false) };
                if IntegerAttribute::try_from(value)?.value() != 0 {
                    return Ok(false);
                }
                rewriter.replace(add, &[add.operand(0)?])?;
                context.count(&ADDS, 1);
                Ok(true)
            })
            .apply(op, &Greedy::default())?;
        Ok(applied.changed)
    }
}

option_enum! {
    /// What goes wrong.
    enum Failure {
        /// An error at the function.
        Root = "root",
        /// An error at the first constant.
        Constant = "constant",
        /// A panic in the pass.
        Panic = "panic",
        /// A panic in a pattern.
        PatternPanic = "pattern-panic",
        /// An error in a pattern.
        PatternError = "pattern-error",
        /// A replacement of another type.
        WrongType = "wrong-type",
        /// An op erased in spite of its uses.
        EraseUsed = "erase-used",
    }
}

pass_options! {
    /// Fails.
    struct TestFail {
        /// How.
        how: Failure = Failure::Root,
    }
}

impl Pass for TestFail {
    const ARGUMENT: &'static str = "test-slimhlo-fail";

    fn run<'c>(&self, op: OperationRef<'c, '_>, _context: &PassContext<'_>) -> PassResult<'c> {
        let on_constants = Patterns::new().on("arith.constant", |constant, rewriter| match self.how {
            Failure::PatternPanic => panic!("pattern went wrong"),
            Failure::WrongType => {
                let other: Value = rewrite::ops_named(op, "arith.constant")
                    .into_iter()
                    .find(|other| {
                        other.result(0).map(Value::from).ok() != constant.result(0).map(Value::from).ok()
                    })
                    .ok_or_else(|| PassError::new("needs two constants"))?
                    .result(0)?
                    .into();
                rewriter.replace(constant, &[other])?;
                Ok(true)
            }
            Failure::EraseUsed => rewriter.erase(constant).map(|()| true),
            _ => Err(PassError::at(constant, "is not wanted")),
        });
        match self.how {
            Failure::Root => Err(PassError::new("cannot be done")),
            Failure::Constant => {
                let constants = rewrite::ops_named(op, "arith.constant");
                Err(PassError::at(constants[0], format!("is one of {}", constants.len())))
            }
            Failure::Panic => panic!("pass went wrong: {}", 42),
            _ => Ok(on_constants.apply(op, &Greedy::default())?.changed),
        }
    }
}

pass_options! {
    /// Stands for the rewriting pass, more than once if asked.
    struct TestPipeline {
        /// How often.
        times: u64 = 1,
    }
}

impl Pipeline for TestPipeline {
    const ARGUMENT: &'static str = "test-slimhlo-pipeline";

    fn passes(&self) -> Result<String, String> {
        match self.times {
            0 => Err("times = 0 leaves nothing to do".into()),
            times => Ok(vec!["func.func(test-slimhlo-rewrite)"; times as usize].join(",")),
        }
    }
}

static PASSES: LazyLock<[PassInfo; 3]> = LazyLock::new(|| {
    [PassInfo::of::<TestOptions>(), PassInfo::of::<TestRewrite>(), PassInfo::of::<TestFail>()]
});
static PIPELINES: LazyLock<[PipelineInfo; 1]> = LazyLock::new(|| [PipelineInfo::of::<TestPipeline>()]);

fn context() -> Context {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        register_all_passes();
        // Twice: the second time must do no harm.
        for _ in 0..2 {
            PASSES.iter().for_each(register);
            PIPELINES.iter().for_each(register_pipeline);
        }
    });
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new();
    context.append_dialect_registry(&registry);
    context.load_all_available_dialects();
    context
}

/// Runs `pipeline` on `source`; what comes of it, and all diagnostics.
fn run(source: &str, pipeline: &str) -> (Result<String, String>, Vec<String>) {
    let context = context();
    let messages = Arc::new(Mutex::new(Vec::new()));
    let seen = messages.clone();
    context.attach_diagnostic_handler(move |diagnostic| {
        seen.lock().unwrap().push(format!(
            "{:?} {}: {diagnostic}",
            diagnostic.severity(),
            diagnostic.location()
        ));
        true
    });
    let mut module = Module::parse(&context, source).expect("the source parses");
    let manager = PassManager::new(&context);
    let outcome = parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline)
        .and_then(|()| manager.run(&mut module))
        .map(|()| module.as_operation().to_string())
        .map_err(|error| error.to_string());
    drop(manager);
    let messages = std::mem::take(&mut *messages.lock().unwrap());
    (outcome, messages)
}

const ONE: &str = "module { func.func @f(%a: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %sum = arith.addi %a, %zero : i32
  return %sum : i32
} }";

#[test]
fn options_have_defaults() {
    let (outcome, messages) = run(ONE, "builtin.module(test-slimhlo-options)");
    outcome.unwrap();
    assert_eq!(messages.len(), 1, "{messages:?}");
    assert!(
        messages[0].contains(
            "TestOptions { verbose: false, shift: -3, min_bytes: Bytes(1048576), sign: Positive, label: \"\", \
             sizes: [1, 2], limit: None }"
        ),
        "{messages:?}"
    );
}

#[test]
fn options_are_parsed_and_cloned_with_the_pass() {
    // Two functions: the second thread's pass is a clone.
    let source = "module { func.func private @f() \n func.func private @g() }";
    let (outcome, messages) = run(
        source,
        "builtin.module(func.func(test-slimhlo-options{verbose shift=7 min-bytes=1.5GiB sign=negative \
         label={two words} sizes=3,4,5 limit=16GiB}))",
    );
    outcome.unwrap();
    assert_eq!(messages.len(), 2, "{messages:?}");
    for message in messages {
        assert!(
            message.contains(
                "TestOptions { verbose: true, shift: 7, min_bytes: Bytes(1610612736), sign: Negative, \
                 label: \"two words\", sizes: [3, 4, 5], limit: Some(Bytes(17179869184)) }"
            ),
            "{message}"
        );
    }
}

#[test]
fn a_pipeline_prints_back_what_parses_to_the_same() {
    let context = context();
    let print = |pipeline: &str| {
        let manager = PassManager::new(&context);
        parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline).unwrap();
        manager.as_operation_pass_manager().to_string()
    };
    let printed = print(
        "builtin.module(test-slimhlo-options{shift=+7 min-bytes=1048576 label={two words} sizes= limit=2048KiB})",
    );
    assert_eq!(
        printed,
        "builtin.module(test-slimhlo-options{label={two words} limit=2MiB min-bytes=1MiB shift=7 sign=positive \
         sizes= verbose=false})"
    );
    assert_eq!(print(&printed), printed);
}

#[test]
fn bad_options_are_rejected() {
    for options in
        ["shift=x", "min-bytes=-1", "sign=both", "verbose=maybe", "sizes=1,x", "no-such=1", "limit=some"]
    {
        let (outcome, _) = run(ONE, &format!("builtin.module(test-slimhlo-options{{{options}}})"));
        assert!(outcome.is_err(), "{options}");
    }
    // What only the pass itself can tell is told when the pipeline starts.
    let (outcome, messages) = run(ONE, "builtin.module(test-slimhlo-options{shift=101})");
    assert!(outcome.is_err());
    assert!(messages[0].contains("test-slimhlo-options: shift = 101 exceeds 100"), "{messages:?}");
}

/// One test, since the counts are the process's.
#[test]
fn a_thousand_functions_are_rewritten_by_many_threads() {
    const COUNT: usize = 1000;
    let body = |index| {
        format!(
            "func.func @f{index}(%a: i32) -> i32 {{
               %zero = arith.constant 0 : i32
               %b = arith.addi %a, %zero : i32
               %c = arith.addi %b, %zero : i32
               return %c : i32
             }}"
        )
    };
    let source = format!("module {{ {} }}", (0..COUNT).map(body).collect::<String>());
    let (outcome, messages) = run(&source, "builtin.module(test-slimhlo-pipeline{times=2})");
    let text = outcome.unwrap();
    assert_eq!(messages, Vec::<String>::new());
    assert_eq!(text.matches("func.func @f").count(), COUNT);
    assert!(!text.contains("arith"), "{}", &text[..500]);

    assert_eq!(statistic_total("TestRewrite", &ADDS), 2 * COUNT as u64);
    assert_eq!(statistic_total("TestRewrite", &SEEN), 2 * COUNT as u64);
    let report = statistics_report();
    assert!(
        report.contains("TestRewrite\n  (S)     2000 num-adds - Additions of zero removed\n"),
        "{report}"
    );
}

#[test]
fn pipelines_check_their_options() {
    assert!(run(ONE, "builtin.module(test-slimhlo-pipeline{times=0})").0.is_err());
    assert!(run(ONE, "builtin.module(test-slimhlo-pipeline{times=x})").0.is_err());
    assert!(run(ONE, "builtin.module(test-slimhlo-pipeline{no-such=1})").0.is_err());
}

#[test]
fn failures_are_diagnostics() {
    const TWO: &str = "module { func.func @f() -> i64 {
      %a = arith.constant 1 : i64
      %b = arith.constant 2 : i32
      %c = arith.extsi %b : i32 to i64
      %d = arith.addi %a, %c : i64
      return %d : i64
    } }";
    for (how, expected) in [
        ("root", "'func.func' op cannot be done"),
        ("constant", "'arith.constant' op is one of 2"),
        (
            "panic",
            "'func.func' op met an internal error of test-slimhlo-fail: pass went wrong: 42; please report it",
        ),
        (
            "pattern-panic",
            "'func.func' op met an internal error of slimhlo: pattern went wrong; please report it",
        ),
        ("pattern-error", "'arith.constant' op is not wanted"),
        ("erase-used", "'arith.constant' op is used and cannot be erased"),
    ] {
        let (outcome, messages) =
            run(TWO, &format!("builtin.module(func.func(test-slimhlo-fail{{how={how}}}))"));
        assert!(outcome.is_err(), "{how}");
        assert_eq!(messages.len(), 1, "{how}: {messages:?}");
        assert!(messages[0].starts_with("Error") && messages[0].contains(expected), "{how}: {messages:?}");
    }
    let (outcome, messages) = run(TWO, "builtin.module(func.func(test-slimhlo-fail{how=wrong-type}))");
    assert!(outcome.is_err());
    assert!(messages[0].contains("result 0 is i64 but its replacement i32"), "{messages:?}");
}

#[test]
fn walks_and_uses_see_everything() {
    let context = context();
    let module = Module::parse(
        &context,
        "module { func.func @f(%c: i1, %a: i32) -> i32 {
           %r = scf.if %c -> i32 { %x = arith.addi %a, %a : i32  scf.yield %x : i32 } else { scf.yield %a : i32 }
           return %r : i32
         } }",
    )
    .unwrap();
    let root = module.as_operation();
    let mut names = Vec::new();
    rewrite::walk(root, |op| {
        names.push(slimhlo_dialect::ffi::op_name(op));
        WalkResult::Advance
    });
    assert_eq!(
        names,
        ["builtin.module", "func.func", "scf.if", "arith.addi", "scf.yield", "scf.yield", "func.return"]
    );
    let add = rewrite::ops_named(root, "arith.addi")[0];
    let mut uses: Vec<_> = rewrite::uses(add.operand(0).unwrap())
        .map(|used| (slimhlo_dialect::ffi::op_name(used.user), used.operand))
        .collect();
    uses.sort_unstable();
    assert_eq!(uses, [("arith.addi", 0), ("arith.addi", 1), ("scf.yield", 0)]);
    assert!(rewrite::has_one_use(add.result(0).unwrap().into()));
    assert!(!rewrite::is_unused(add));
    assert!(rewrite::defining_op(add.operand(0).unwrap()).is_none());
    assert_eq!(rewrite::defining_op(add.result(0).unwrap().into()), Some(add));
}

#[test]
fn attributes_are_carried_over() {
    let context = context();
    context.set_allow_unregistered_dialects(true);
    let module = Module::parse(
        &context,
        r#"module { "test.from"() {a.x = 1 : i32, a.y = 2 : i32, a.z = 3 : i32} : () -> ()
                    "test.to"() {a.x = 7 : i32} : () -> () }"#,
    )
    .unwrap();
    let root = module.as_operation();
    let (from, to) = (rewrite::ops_named(root, "test.from")[0], rewrite::ops_named(root, "test.to")[0]);
    rewrite::carry_attributes(from, to, &[("a.y", "b.y"), ("a.z", "")]);
    assert_eq!(to.to_string(), r#""test.to"() {a.x = 7 : i32, b.y = 2 : i32} : () -> ()"#);
}

#[test]
fn docs_list_options_and_statistics() {
    let text = slimhlo_passes::docs::markdown(&*PASSES, &*PIPELINES);
    for expected in [
        "## `--test-slimhlo-options`\n\nEmits its options as a remark.\n\nA second paragraph, for the docs.\n",
        "| `shift` | int | `-3` | A number with two lines of docs. |",
        "| `sign` | negative\\|positive | `positive` | A word. |",
        "| `num-adds` | Additions of zero removed |",
        "With its defaults it stands for:\n\n```\nfunc.func(test-slimhlo-rewrite)\n```\n",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(PASSES[0].summary, "Emits its options as a remark");
}
