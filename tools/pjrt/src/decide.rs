// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which of two programs is compiled, and which executable is kept: the program as it came, or what slimhlo
//! made of it.
//!
//! What compiles is behind a trait, so that this knows nothing of C, and is tested without.

/// When programs are optimized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Where the program as it came does not fit the device.
    Needed,
    /// Always, without asking what the program as it came would take.
    Always,
    /// Never.
    Never,
    /// Always, and what takes less by the plugin's own count is kept.
    Verify,
}

impl Mode {
    /// All, as users call them.
    pub const ALL: [(&str, Self); 4] = [
        ("needed", Self::Needed),
        ("always", Self::Always),
        ("never", Self::Never),
        ("verify", Self::Verify),
    ];

    /// As users call it.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, mode)| *mode == self).map_or("", |(name, _)| *name)
    }
}

/// Bytes that an executable takes on a device, by its plugin's own count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// What it is handed.
    pub arguments: u64,
    /// What it hands back.
    pub results: u64,
    /// Results that lie in arguments.
    pub aliased: u64,
    /// All else.
    pub temporaries: u64,
}

impl Taken {
    /// All of it.
    pub fn total(&self) -> u64 {
        (self.arguments + self.temporaries).saturating_add(self.results).saturating_sub(self.aliased)
    }
}

/// A compiler of programs.
pub trait Compile {
    /// What it makes.
    type Executable;
    /// What it says instead.
    type Error;
    /// Compiles `program`, or the program as it came.
    fn compile(&self, program: Option<&[u8]>) -> Result<Self::Executable, Self::Error>;
    /// What an executable takes on a device, if the compiler can say.
    fn taken(&self, executable: &Self::Executable) -> Option<Taken>;
    /// Whether an error says that the program does not fit.
    fn is_exhausted(&self, error: &Self::Error) -> bool;
    /// What an error says, for the log.
    fn message(&self, error: &Self::Error) -> String;
    /// The bytes that a program may take on a device, if that is known.
    fn limit(&self) -> Option<u64>;
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on as it came, untouched: it fits.
    Fits,
    /// It goes on as it came: how much it may take is not known, or how much it does.
    Unknown,
    /// It goes on as it came: slimhlo left it as it was.
    Untouched,
    /// It goes on as it came: the smaller one is not smaller, by the plugin's count.
    NotSmaller,
    /// It goes on as it came: the plugin does not compile what slimhlo made of it, and says why.
    Rejected(String),
    /// What slimhlo made of it goes on.
    Optimized,
}

/// An outcome, and how it came to be.
#[derive(Debug)]
pub struct Decided<C: Compile + ?Sized> {
    /// What the caller is handed.
    pub outcome: Result<C::Executable, C::Error>,
    /// Why.
    pub verdict: Verdict,
    /// What the program takes as it came, if that was asked.
    pub before: Option<Taken>,
    /// What that takes which slimhlo made of it, if that was asked.
    pub after: Option<Taken>,
    /// The bytes that it may take.
    pub limit: Option<u64>,
}

/// Compiles a program. `optimize` makes a smaller one of it, to fit a limit if there is one; nothing if it
/// does not.
pub fn decide<C: Compile + ?Sized>(
    mode: Mode,
    compiler: &C,
    optimize: impl FnOnce(Option<u64>) -> Option<Vec<u8>>,
) -> Decided<C> {
    let as_it_came = |verdict| Decided {
        outcome: compiler.compile(None),
        verdict,
        before: None,
        after: None,
        limit: None,
    };
    match mode {
        Mode::Never => as_it_came(Verdict::Untouched),
        Mode::Always => {
            let limit = compiler.limit();
            let Some(program) = optimize(limit) else { return as_it_came(Verdict::Untouched) };
            match compiler.compile(Some(&program)) {
                Ok(executable) => {
                    let after = compiler.taken(&executable);
                    Decided {
                        outcome: Ok(executable),
                        verdict: Verdict::Optimized,
                        before: None,
                        after,
                        limit,
                    }
                }
                Err(error) => as_it_came(Verdict::Rejected(compiler.message(&error))),
            }
        }
        Mode::Needed | Mode::Verify => compare(mode, compiler, optimize),
    }
}

/// The modes that compile the program as it came first.
fn compare<C: Compile + ?Sized>(
    mode: Mode,
    compiler: &C,
    optimize: impl FnOnce(Option<u64>) -> Option<Vec<u8>>,
) -> Decided<C> {
    let first = compiler.compile(None);
    let before = first.as_ref().ok().and_then(|executable| compiler.taken(executable));
    let limit = compiler.limit();
    let decided = |outcome, verdict, after| Decided { outcome, verdict, before, after, limit };
    match &first {
        // Another error is about something else, and what slimhlo makes of the program would meet it, too.
        Err(error) if !compiler.is_exhausted(error) => return decided(first, Verdict::Untouched, None),
        Err(_) => {}
        Ok(_) => match (before, limit) {
            (None, _) => return decided(first, Verdict::Unknown, None),
            (Some(_), None) if mode == Mode::Needed => return decided(first, Verdict::Unknown, None),
            (Some(before), Some(limit)) if mode == Mode::Needed && before.total() <= limit => {
                return decided(first, Verdict::Fits, None);
            }
            _ => {}
        },
    }
    let Some(program) = optimize(limit) else { return decided(first, Verdict::Untouched, None) };
    let second = match compiler.compile(Some(&program)) {
        Ok(second) => second,
        // The caller's program is what an error has to be about.
        Err(error) => {
            let verdict = Verdict::Rejected(compiler.message(&error));
            return decided(first, verdict, None);
        }
    };
    let after = compiler.taken(&second);
    let keep = match (&first, before, after) {
        (Err(_), ..) => true,
        (Ok(_), Some(before), Some(after)) => after.total() < before.total(),
        _ => false,
    };
    if keep {
        decided(Ok(second), Verdict::Optimized, after)
    } else {
        decided(first, Verdict::NotSmaller, after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// A compiler for which a program takes as many bytes as it says, in decimal, and that has so many.
    struct Sizes {
        came: &'static str,
        limit: Option<u64>,
        compiled: RefCell<Vec<String>>,
    }

    impl Sizes {
        fn new(came: &'static str, limit: Option<u64>) -> Self {
            Self { came, limit, compiled: RefCell::default() }
        }

        fn decide(&self, mode: Mode, optimized: Option<&str>) -> Decided<Self> {
            decide(mode, self, |_| optimized.map(|text| text.as_bytes().to_vec()))
        }

        fn compiled(&self) -> Vec<String> {
            self.compiled.take()
        }
    }

    impl Compile for Sizes {
        type Executable = String;
        type Error = String;

        fn compile(&self, program: Option<&[u8]>) -> Result<String, String> {
            let text = program.map_or(self.came.into(), |bytes| String::from_utf8_lossy(bytes).into_owned());
            self.compiled.borrow_mut().push(text.clone());
            match text.strip_prefix('!') {
                Some(error) => Err(error.to_owned()),
                None => Ok(text),
            }
        }

        fn taken(&self, executable: &String) -> Option<Taken> {
            Some(Taken { temporaries: executable.parse().ok()?, ..Taken::default() })
        }

        fn is_exhausted(&self, error: &String) -> bool {
            error == "exhausted"
        }

        fn message(&self, error: &String) -> String {
            error.clone()
        }

        fn limit(&self) -> Option<u64> {
            self.limit
        }
    }

    #[track_caller]
    fn check(
        mode: Mode,
        (came, limit): (&'static str, Option<u64>),
        optimized: Option<&str>,
        outcome: Result<&str, &str>,
        verdict: Verdict,
        compiled: &[&str],
    ) {
        let compiler = Sizes::new(came, limit);
        let decided = compiler.decide(mode, optimized);
        assert_eq!(decided.outcome.as_deref().map_err(String::as_str), outcome);
        assert_eq!(decided.verdict, verdict);
        assert_eq!(compiler.compiled(), compiled);
    }

    #[test]
    fn needed_leaves_alone_what_fits() {
        check(Mode::Needed, ("100", Some(100)), Some("50"), Ok("100"), Verdict::Fits, &["100"]);
    }

    #[test]
    fn needed_optimizes_what_does_not_fit() {
        check(Mode::Needed, ("101", Some(100)), Some("50"), Ok("50"), Verdict::Optimized, &["101", "50"]);
    }

    #[test]
    fn needed_keeps_the_smaller_one() {
        let verdict = Verdict::NotSmaller;
        check(Mode::Needed, ("101", Some(100)), Some("101"), Ok("101"), verdict, &["101", "101"]);
    }

    #[test]
    fn needed_does_nothing_without_figures() {
        check(Mode::Needed, ("101", None), Some("50"), Ok("101"), Verdict::Unknown, &["101"]);
        check(Mode::Needed, ("many", Some(100)), Some("50"), Ok("many"), Verdict::Unknown, &["many"]);
    }

    #[test]
    fn a_compiler_that_runs_out_of_memory_is_tried_again() {
        for mode in [Mode::Needed, Mode::Verify] {
            let compiled = ["!exhausted", "50"];
            check(mode, ("!exhausted", None), Some("50"), Ok("50"), Verdict::Optimized, &compiled);
            let unfit = Verdict::Rejected("exhausted".into());
            let compiled = ["!exhausted", "!exhausted"];
            check(mode, ("!exhausted", None), Some("!exhausted"), Err("exhausted"), unfit, &compiled);
        }
    }

    #[test]
    fn other_errors_are_handed_on() {
        for mode in [Mode::Needed, Mode::Verify] {
            check(mode, ("!bad", None), Some("50"), Err("bad"), Verdict::Untouched, &["!bad"]);
        }
    }

    #[test]
    fn verify_keeps_the_smaller_one() {
        check(Mode::Verify, ("100", None), Some("99"), Ok("99"), Verdict::Optimized, &["100", "99"]);
        check(Mode::Verify, ("100", None), Some("100"), Ok("100"), Verdict::NotSmaller, &["100", "100"]);
        check(Mode::Verify, ("100", None), Some("??"), Ok("100"), Verdict::NotSmaller, &["100", "??"]);
        check(Mode::Verify, ("100", None), None, Ok("100"), Verdict::Untouched, &["100"]);
    }

    #[test]
    fn always_compiles_once() {
        check(Mode::Always, ("100", None), Some("200"), Ok("200"), Verdict::Optimized, &["200"]);
        check(Mode::Always, ("100", None), None, Ok("100"), Verdict::Untouched, &["100"]);
        let rejected = Verdict::Rejected("bad".into());
        check(Mode::Always, ("100", None), Some("!bad"), Ok("100"), rejected, &["!bad", "100"]);
    }

    #[test]
    fn never_is_never() {
        check(Mode::Never, ("100", Some(1)), Some("50"), Ok("100"), Verdict::Untouched, &["100"]);
    }
}
