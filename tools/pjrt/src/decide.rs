// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Which of two programs is compiled, and which executable is kept: the program as it came, or what slimhlo
//! made of it.
//!
//! What compiles is behind a trait, so that this knows nothing of C, and is tested without.

/// How often a program is made to fit at most, the last time as small as it gets: each time takes as long as compiling it.
pub const ATTEMPTS: usize = 4;

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
    ///
    /// # Errors
    /// What the compiler says.
    fn compile(&self, program: Option<&[u8]>) -> Result<Self::Executable, Self::Error>;
    /// What an executable takes on a device, if the compiler can say.
    fn taken(&self, executable: &Self::Executable) -> Option<Taken>;
    /// Whether an error says that the program does not fit.
    fn is_exhausted(&self, error: &Self::Error) -> bool;
    /// What an error says, for the log.
    fn message(&self, error: &Self::Error) -> String;
    /// The bytes that a program may take on a device, if that is known.
    fn limit(&self) -> Option<u64>;
    /// Whether that is what the user says, and not what the device has.
    fn is_stated(&self) -> bool;
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
    /// It goes on as it came: the plugin does not compile it, says why, and does not mean its size.
    NotCompiled(String),
    /// It goes on as it came: the smaller one is not smaller, by the plugin's count.
    NotSmaller,
    /// It goes on as it came: the plugin does not compile what slimhlo made of it, and says why.
    Rejected(String),
    /// What slimhlo made of it goes on.
    Optimized,
}

/// What slimhlo is asked to make of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Less memory for little time.
    Usual,
    /// The fastest program that takes no more than `limit` bytes.
    Fit {
        /// Bytes on a device, as the plugin counts them.
        limit: u64,
        /// What the plugin counts for the program as it came, if it could be asked.
        came: Option<u64>,
        /// Whether less is asked for where the plugin counts more for what comes of it.
        counted: bool,
    },
    /// The least memory, whatever time it takes.
    Least,
}

impl Aim {
    /// What to ask for next, of what a program may take on top of its arguments and results, which are the `floor`: where what was to fit
    /// took more on top than it may, so much less in proportion than the model has for it, or than was asked for; half as much where nobody says
    /// what it took, or nothing else came of it.
    fn tighter(self, floor: u64, took: Option<(u64, u64)>, modelled: Option<u64>) -> Self {
        let Self::Fit { limit: asked, came, counted } = self else { return Self::Least };
        let asked = modelled.map_or(asked, |modelled| modelled.min(asked)).saturating_sub(floor);
        let (may, took) = took.unwrap_or((1, 2));
        let scaled = u128::from(asked) * u128::from(may) / u128::from(took.max(1));
        let limit = floor.saturating_add(u64::try_from(scaled).unwrap_or(u64::MAX).min(asked));
        Self::Fit { limit, came, counted }
    }
}

/// What slimhlo has made of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// For the plugin; nothing if it stays as it is.
    pub program: Option<Vec<u8>>,
    /// There is no use in asking for less.
    pub is_least: bool,
    /// Bytes that it takes by slimhlo's model, if that says.
    pub modelled: Option<u64>,
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
    /// Which attempt of slimhlo's that was, from 0.
    pub attempt: usize,
    /// The bytes that it may take.
    pub limit: Option<u64>,
}

/// Compiles a program. `optimize` makes a smaller one of it; nothing if it cannot.
pub fn decide<C: Compile + ?Sized>(
    mode: Mode,
    compiler: &C,
    optimize: impl FnMut(Aim) -> Option<Made>,
) -> Decided<C> {
    match mode {
        Mode::Never => as_it_came(compiler, Verdict::Untouched),
        Mode::Always => always(compiler, optimize),
        Mode::Needed | Mode::Verify => compare(mode, compiler, optimize),
    }
}

fn as_it_came<C: Compile + ?Sized>(compiler: &C, verdict: Verdict) -> Decided<C> {
    let outcome = compiler.compile(None);
    Decided { outcome, verdict, before: None, after: None, attempt: 0, limit: None }
}

fn always<C: Compile + ?Sized>(compiler: &C, mut optimize: impl FnMut(Aim) -> Option<Made>) -> Decided<C> {
    let Some(program) = optimize(stated(compiler, None)).and_then(|made| made.program) else {
        return as_it_came(compiler, Verdict::Untouched);
    };
    match compiler.compile(Some(&program)) {
        Ok(executable) => Decided {
            after: compiler.taken(&executable),
            outcome: Ok(executable),
            verdict: Verdict::Optimized,
            before: None,
            attempt: 0,
            limit: compiler.limit(),
        },
        Err(error) => as_it_came(compiler, Verdict::Rejected(compiler.message(&error))),
    }
}

/// The aim of modes that do not ask what fits the device: to a limit only if it is the user's.
fn stated<C: Compile + ?Sized>(compiler: &C, came: Option<u64>) -> Aim {
    match compiler.limit() {
        Some(limit) if compiler.is_stated() => Aim::Fit { limit, came, counted: false },
        _ => Aim::Usual,
    }
}

/// The modes that compile the program as it came first.
fn compare<C: Compile + ?Sized>(
    mode: Mode,
    compiler: &C,
    mut optimize: impl FnMut(Aim) -> Option<Made>,
) -> Decided<C> {
    let mut outcome = compiler.compile(None);
    let before = outcome.as_ref().ok().and_then(|executable| compiler.taken(executable));
    let limit = compiler.limit();
    let fits = |taken: Option<Taken>| taken.zip(limit).is_none_or(|(taken, limit)| taken.total() <= limit);
    let came = before.map(|before| before.total());
    // What else plugins say is about the program, mostly, but also about what they made of it on the way: `verify`
    // asks what they say of another form of it.
    let not_compiled = outcome.as_ref().err().filter(|error| !compiler.is_exhausted(error));
    let not_compiled = not_compiled.map(|error| Verdict::NotCompiled(compiler.message(error)));
    let verdict = match &outcome {
        Err(_) if mode == Mode::Needed => not_compiled.clone(),
        Err(_) => None,
        Ok(_) if before.is_none() || mode == Mode::Needed && limit.is_none() => Some(Verdict::Unknown),
        Ok(_) if mode == Mode::Needed && fits(before) => Some(Verdict::Fits),
        Ok(_) => None,
    };
    if let Some(verdict) = verdict {
        return Decided { outcome, verdict, before, after: None, attempt: 0, limit };
    }
    let to_fit = mode == Mode::Needed || outcome.is_err() && not_compiled.is_none();
    let first = match limit {
        Some(limit) if to_fit => Aim::Fit { limit, came, counted: true },
        _ => stated(compiler, came),
    };
    let mut verdict = not_compiled.unwrap_or(Verdict::Untouched);
    let (mut least, mut after, mut kept) = (before, None, 0);
    let mut last: Option<Vec<u8>> = None;
    let (mut aim, mut floor) = (first, 0);
    // slimhlo's model is not the plugin's count: what was to fit and does not is made to fit with less, and in the end as small as it
    // gets.
    for attempt in 0..if to_fit { ATTEMPTS } else { 1 } {
        if attempt > 0 && attempt + 1 == ATTEMPTS {
            aim = Aim::Least;
        }
        let Some(Made { program, is_least, modelled }) = optimize(aim) else { break };
        let is_least = is_least || aim == Aim::Least;
        let program = program.filter(|program| last.as_ref() != Some(program));
        let mut took = None;
        match program.as_deref().map(|program| compiler.compile(Some(program))) {
            // It came out as before.
            None => {}
            Some(Ok(executable)) => {
                let taken = compiler.taken(&executable);
                let better = outcome.is_err() || total(taken) < total(least);
                if better {
                    (outcome, verdict, least) = (Ok(executable), Verdict::Optimized, taken);
                } else if verdict == Verdict::Untouched {
                    verdict = Verdict::NotSmaller;
                }
                if better || after.is_none() {
                    (after, kept) = (taken, attempt);
                }
                if fits(taken) {
                    break;
                }
                if let Some((taken, limit)) = taken.zip(limit) {
                    floor = taken.total().saturating_sub(taken.temporaries);
                    took = Some((limit.saturating_sub(floor), taken.temporaries));
                }
            }
            // The caller's program is what an error has to be about.
            Some(Err(error)) => {
                if verdict == Verdict::Untouched {
                    verdict = Verdict::Rejected(compiler.message(&error));
                }
                if !compiler.is_exhausted(&error) {
                    break;
                }
            }
        }
        last = program.or(last);
        if is_least {
            break;
        }
        aim = aim.tighter(floor, took, modelled);
    }
    Decided { outcome, verdict, before, after, attempt: kept, limit }
}

/// What an executable takes; all there is where nobody says.
fn total(taken: Option<Taken>) -> u64 {
    taken.map_or(u64::MAX, |taken| taken.total())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// A compiler for which a program takes as many bytes as it says, in decimal, and that has so many.
    struct Sizes {
        came: &'static str,
        limit: Option<u64>,
        stated: bool,
        compiled: RefCell<Vec<String>>,
    }

    impl Sizes {
        fn new(came: &'static str, limit: Option<u64>) -> Self {
            Self { came, limit, stated: false, compiled: RefCell::default() }
        }

        /// `optimized` is what slimhlo makes of the program, with whatever aim.
        fn decide(&self, mode: Mode, optimized: Option<&str>) -> Decided<Self> {
            decide(mode, self, |_| optimized.map(|text| made(text, false)))
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

        fn is_stated(&self) -> bool {
            self.stated
        }
    }

    fn made(text: &str, is_least: bool) -> Made {
        Made { program: Some(text.as_bytes().to_vec()), is_least, modelled: None }
    }

    /// Aims in the order in which slimhlo is asked, and what it answers to each.
    #[track_caller]
    fn check_aims(mode: Mode, compiler: &Sizes, answers: &[(Aim, Made)], outcome: Result<&str, &str>) {
        let mut asked = Vec::new();
        let decided = decide(mode, compiler, |aim| {
            asked.push(aim);
            answers.get(asked.len() - 1).map(|(_, made)| made.clone())
        });
        assert_eq!(asked, answers.iter().map(|(aim, _)| *aim).collect::<Vec<_>>());
        assert_eq!(decided.outcome.as_deref().map_err(String::as_str), outcome);
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
    fn needed_optimizes_to_the_limit() {
        let compiler = Sizes::new("200", Some(100));
        let fit = Aim::Fit { limit: 100, came: Some(200), counted: true };
        check_aims(Mode::Needed, &compiler, &[(fit, made("90", false))], Ok("90"));
        // By the plugin's count it does not fit: less is asked for in proportion, and half of that where nothing else comes of it.
        let tighter = |limit| Aim::Fit { limit, came: Some(200), counted: true };
        let less = [(fit, made("120", false)), (tighter(83), made("80", false))];
        check_aims(Mode::Needed, &compiler, &less, Ok("80"));
        let same = [
            (fit, made("120", false)),
            (tighter(83), made("120", false)),
            (tighter(41), made("110", false)),
            (Aim::Least, made("80", false)),
        ];
        check_aims(Mode::Needed, &compiler, &same, Ok("80"));
        // Where the model has less for it than was asked for, that is what it takes less of.
        let modelled = Made { modelled: Some(60), ..made("120", false) };
        check_aims(Mode::Needed, &compiler, &[(fit, modelled), (tighter(50), made("80", false))], Ok("80"));
        // What is as small as it gets is not asked for again, whether that is enough or not.
        let more = [(fit, made("120", false)), (tighter(83), made("130", true))];
        check_aims(Mode::Needed, &compiler, &more, Ok("120"));
        check_aims(Mode::Needed, &compiler, &[(fit, made("120", true))], Ok("120"));
        let failing = [(fit, made("!exhausted", false)), (tighter(50), made("80", true))];
        check_aims(Mode::Needed, &compiler, &failing, Ok("80"));
        assert_eq!(compiler.compiled().len(), 2 + 3 + 4 + 3 + 3 + 2 + 3);
    }

    #[test]
    fn a_compiler_that_runs_out_of_memory_gets_the_least() {
        let compiler = Sizes::new("!exhausted", None);
        let answers = [(Aim::Usual, made("!exhausted", false)), (Aim::Least, made("80", true))];
        check_aims(Mode::Needed, &compiler, &answers, Ok("80"));
    }

    #[test]
    fn other_modes_optimize_to_a_limit_that_is_stated() {
        for mode in [Mode::Always, Mode::Verify] {
            let mut compiler = Sizes::new("200", Some(100));
            check_aims(mode, &compiler, &[(Aim::Usual, made("90", false))], Ok("90"));
            compiler.stated = true;
            let came = (mode == Mode::Verify).then_some(200);
            let fit = Aim::Fit { limit: 100, came, counted: false };
            check_aims(mode, &compiler, &[(fit, made("90", false))], Ok("90"));
        }
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
        let bad = || Verdict::NotCompiled("bad".into());
        check(Mode::Needed, ("!bad", None), Some("50"), Err("bad"), bad(), &["!bad"]);
        check(Mode::Verify, ("!bad", None), Some("!worse"), Err("bad"), bad(), &["!bad", "!worse"]);
        check(Mode::Verify, ("!bad", None), None, Err("bad"), bad(), &["!bad"]);
    }

    /// XLA for TPUs does not compile each pad of an array of f64 that it could.
    #[test]
    fn verify_takes_what_compiles() {
        check(Mode::Verify, ("!bad", None), Some("50"), Ok("50"), Verdict::Optimized, &["!bad", "50"]);
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
