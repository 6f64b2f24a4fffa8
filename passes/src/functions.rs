// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! The functions of a module.

use crate::ir::string_attribute;
use melior::ir::attribute::{DictionaryAttribute, FlatSymbolRefAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike};
use slimhlo_dialect::ffi::{attribute_in, attribute_of, op_name};

/// The functions of a module, in order.
pub fn functions<'c: 'a, 'a>(module: OperationRef<'c, 'a>) -> impl Iterator<Item = OperationRef<'c, 'a>> {
    let block = module.region(0).ok().and_then(|region| region.first_block());
    let first = block.and_then(|block| block.first_operation());
    std::iter::successors(first, |op| op.next_in_block()).filter(|op| op_name(*op) == "func.func")
}

/// The symbol of a function of any dialect.
pub fn name_of(function: OperationRef<'_, '_>) -> String {
    string_attribute(function, "sym_name").unwrap_or_default().to_owned()
}

/// The symbol of the function that an op calls.
pub fn callee<'c>(call: OperationRef<'c, '_>) -> Option<&'c str> {
    FlatSymbolRefAttribute::try_from(attribute_of(call, "callee")?).ok().map(|name| name.value())
}

/// Whether what is said of an argument or a result is no more than where it came from, and what these names stand for.
pub fn says_only(attributes: DictionaryAttribute<'_>, names: &[&str]) -> bool {
    const ORIGINS: [&str; 2] = ["jax.arg_info", "jax.result_info"];
    let known = ORIGINS.iter().chain(names).filter(|name| attribute_in(attributes, name).is_some());
    attributes.len() == known.count()
}

/// Whether a function can be called from outside of its module: so it is unless it says otherwise.
pub fn is_public(function: OperationRef<'_, '_>) -> bool {
    attribute_of(function, "sym_visibility").is_none()
        || string_attribute(function, "sym_visibility") == Some("public")
}
