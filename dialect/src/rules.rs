// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the Rust half knows about each op, found by its full name in one hash lookup.

use crate::first::{LEAST, Least};
use crate::view::{Inferred, OpView, Verdict};
use melior::ir::{Attribute, OperationRef, Type, Value};
use rustc_hash::FxHashMap;
use std::sync::LazyLock;

/// A verifier: the constraints of the op's spec beyond what its ODS definition already checked (operand count, segment
/// sizes, attribute kinds, type constraints).
pub type VerifyRule = fn(&OpView<'_, '_>) -> Verdict;

/// Result type inference: one type per result. May run before the op exists and before it was verified, so it must
/// look at operands and attributes with care.
pub type InferRule = for<'c, 'a> fn(&OpView<'c, 'a>) -> Inferred<'c>;

/// Verifies one symbol that an attribute of the op names; `None` if nothing of that name was found.
pub type SymbolRule = fn(&OpView<'_, '_>, Attribute<'_>, Option<OperationRef<'_, '_>>) -> Verdict;

/// A yes/no question about an op in the module.
pub type Query = fn(&OpView<'_, '_>) -> bool;

/// Folding: `operands[i]` is operand i's constant value where it is known. One entry per result, or `None` to leave
/// the op as it is.
pub type FoldRule =
    for<'c, 'a> fn(OperationRef<'c, 'a>, &[Option<Attribute<'c>>]) -> Option<Vec<Folded<'c, 'a>>>;

/// Whether a result of the second type may stand where the first was inferred.
pub type CompatibilityRule = fn(Type<'_>, Type<'_>) -> bool;

/// What a result folds to.
#[derive(Clone, Copy)]
pub enum Folded<'c, 'a> {
    /// A constant; the dialect's materializer makes an op of it.
    Constant(Attribute<'c>),
    /// A value that is there already.
    Value(Value<'c, 'a>),
}

/// What the Rust half knows about one op.
#[derive(Clone, Copy, Default)]
pub struct Rules {
    /// Verifies, before anything else is known of the op but its counts, what MLIR's traits would complain about without
    /// naming operands or numbers.
    pub verify_first: Option<VerifyRule>,
    /// Its integer attributes that ODS confines, with the least values.
    pub least: &'static [Least],
    /// Verifies the op before its regions are.
    pub verify: Option<VerifyRule>,
    /// Verifies what needs valid regions.
    pub verify_regions: Option<VerifyRule>,
    /// Verifies the symbols the op names.
    pub verify_symbol_use: Option<SymbolRule>,
    /// Infers result types.
    pub infer: Option<InferRule>,
    /// Compares a result type with the inferred one; by default, sizes and bounds may be unknown to either.
    pub compatible_result: Option<CompatibilityRule>,
    /// Folds the op.
    pub fold: Option<FoldRule>,
    /// Whether execution is observable other than by the results; asked only of ops whose effects depend on attributes.
    pub has_memory_effects: Option<Query>,
    /// Whether it may run where it did not run before; by default: all operand and result shapes are static.
    pub is_speculatable: Option<Query>,
}

impl Rules {
    /// No rules at all.
    pub const NONE: Self = Self {
        verify_first: None,
        least: &[],
        verify: None,
        verify_regions: None,
        verify_symbol_use: None,
        infer: None,
        compatible_result: None,
        fold: None,
        has_memory_effects: None,
        is_speculatable: None,
    };

    /// With a verifier that runs before MLIR's traits.
    pub const fn verify_first(mut self, rule: VerifyRule) -> Self {
        self.verify_first = Some(rule);
        self
    }

    /// With a verifier.
    pub const fn verify(mut self, rule: VerifyRule) -> Self {
        self.verify = Some(rule);
        self
    }

    /// With a verifier that runs after the regions'.
    pub const fn verify_regions(mut self, rule: VerifyRule) -> Self {
        self.verify_regions = Some(rule);
        self
    }

    /// With a verifier of the symbols it names.
    pub const fn verify_symbol_use(mut self, rule: SymbolRule) -> Self {
        self.verify_symbol_use = Some(rule);
        self
    }

    /// With result type inference.
    pub const fn infer(mut self, rule: InferRule) -> Self {
        self.infer = Some(rule);
        self
    }

    /// With a comparison of its own of inferred and actual result types.
    pub const fn compatible_result(mut self, rule: CompatibilityRule) -> Self {
        self.compatible_result = Some(rule);
        self
    }

    /// With folding.
    pub const fn fold(mut self, rule: FoldRule) -> Self {
        self.fold = Some(rule);
        self
    }

    /// With an answer to whether it has memory effects.
    pub const fn has_memory_effects(mut self, query: Query) -> Self {
        self.has_memory_effects = Some(query);
        self
    }

    /// With an answer to whether it may be speculated.
    pub const fn is_speculatable(mut self, query: Query) -> Self {
        self.is_speculatable = Some(query);
        self
    }
}

/// Rules of one family of ops, by full op name.
pub type Table = &'static [(&'static str, Rules)];

static RULES: LazyLock<FxHashMap<&'static str, Rules>> = LazyLock::new(|| {
    let mut all = FxHashMap::default();
    for (name, rules) in crate::tables().into_iter().flatten() {
        // Verification and folding of one op may live in different files; each entry fills what it knows.
        let entry: &mut Rules = all.entry(*name).or_default();
        entry.verify_first = entry.verify_first.or(rules.verify_first);
        entry.verify = entry.verify.or(rules.verify);
        entry.verify_regions = entry.verify_regions.or(rules.verify_regions);
        entry.verify_symbol_use = entry.verify_symbol_use.or(rules.verify_symbol_use);
        entry.infer = entry.infer.or(rules.infer);
        entry.compatible_result = entry.compatible_result.or(rules.compatible_result);
        entry.fold = entry.fold.or(rules.fold);
        entry.has_memory_effects = entry.has_memory_effects.or(rules.has_memory_effects);
        entry.is_speculatable = entry.is_speculatable.or(rules.is_speculatable);
    }
    for of_one in LEAST.chunk_by(|(one, ..), (other, ..)| one == other) {
        all.entry(of_one[0].0).or_default().least = of_one;
    }
    all
});

/// The rules of an op, by its full name.
pub fn rules(name: &str) -> Rules {
    RULES.get(name).copied().unwrap_or(Rules::NONE)
}
