// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Values that wait in the host's memory, and so take none of the device's.

use super::{Class, Id, Scope};
use crate::ir::string_attribute;
use melior::ir::OperationRef;
use melior::ir::attribute::{DictionaryAttribute, StringAttribute};
use melior::ir::operation::OperationLike;
use slimhlo_dialect::ffi::{attribute_in, attribute_of, op_name, string_value};

/// The memory that a custom call asks for: `pinned_host` or `device`, as JAX writes it.
pub(in crate::memory) fn placement<'c>(op: OperationRef<'c, '_>) -> Option<&'c str> {
    const NAME: &str = "annotate_device_placement";
    if op_name(op) != "stablehlo.custom_call" || string_attribute(op, "call_target_name") != Some(NAME) {
        return None;
    }
    let attributes = DictionaryAttribute::try_from(attribute_of(op, "mhlo.frontend_attributes")?).ok()?;
    let kind = attribute_in(attributes, "_xla_buffer_placement")?;
    StringAttribute::try_from(kind).ok().map(string_value)
}

/// Whether a custom call only says where a value is to live.
pub(super) fn is_annotation(op: OperationRef<'_, '_>) -> bool {
    const NAMES: [&str; 8] = [
        "Sharding",
        "SPMDFullToShardShape",
        "SPMDShardToFullShape",
        "LayoutConstraint",
        "annotate_device_placement",
        "xla.sdy.FuncResultSharding",
        "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    ];
    let is_one = |name: &str| NAMES.contains(&name);
    op.operand_count() == 1
        && op.result_count() == 1
        && string_attribute(op, "call_target_name").is_some_and(is_one)
}

impl<'c: 'a, 'a> Scope<'c, 'a> {
    /// A copy to the host's memory or from it, where there is such memory; false if `op` is none. What is in a loop's
    /// array there counts as on the device, and so does its copy.
    pub(super) fn changes_memory(&mut self, op: OperationRef<'c, 'a>) -> bool {
        let Some(kind) = placement(op).filter(|_| self.storage.host_memory) else { return false };
        let operands = self.operands(op);
        let Some(&operand) = operands.first() else { return false };
        match (kind, self.is_on_host(operand)) {
            ("pinned_host" | "unpinned_host", false) => {
                let node = self.add(Class::Opaque, op, operands, false);
                let value = self.graph.nodes[node as usize].first;
                self.graph.values[value as usize].bytes = 0;
            }
            ("device", true) => drop(self.add(Class::Opaque, op, operands, false)),
            _ => self.forward(op, &operands),
        }
        true
    }

    fn is_on_host(&self, value: Id) -> bool {
        let made_by = self.node_of(value).op.and_then(placement);
        made_by.is_some_and(|kind| kind != "device")
    }
}
