// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! Locations without ranges. Before StableHLO 1.9 MLIR knew places in a file, but not from where to where.
//!
//! This is one of the few modules with `unsafe`.

use mlir_sys::*;
use std::collections::HashMap;

/// Replaces ranges by where they begin, and remembers what it has replaced: chains of calls share their parts.
#[derive(Default)]
pub struct Places(HashMap<*const std::ffi::c_void, MlirLocation>);

impl Places {
    /// The location without ranges.
    ///
    /// # Safety
    /// The location must be alive.
    pub unsafe fn of(&mut self, location: MlirLocation) -> MlirLocation {
        if let Some(&known) = self.0.get(&location.ptr) {
            return known;
        }
        // SAFETY: given by the caller; parts of a location live as long as it does, and each is asked for what it has.
        let made = unsafe {
            let context = mlirLocationGetContext(location);
            if mlirLocationIsAFileLineColRange(location) {
                let file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(location));
                let line = mlirLocationFileLineColRangeGetStartLine(location);
                let column = mlirLocationFileLineColRangeGetStartColumn(location);
                mlirLocationFileLineColGet(context, file, line.max(0) as u32, column.max(0) as u32)
            } else if mlirLocationIsACallSite(location) {
                let callee = self.of(mlirLocationCallSiteGetCallee(location));
                mlirLocationCallSiteGet(callee, self.of(mlirLocationCallSiteGetCaller(location)))
            } else if mlirLocationIsAName(location) {
                let name = mlirIdentifierStr(mlirLocationNameGetName(location));
                mlirLocationNameGet(context, name, self.of(mlirLocationNameGetChildLoc(location)))
            } else if mlirLocationIsAFused(location) {
                let mut parts = vec![location; mlirLocationFusedGetNumLocations(location) as usize];
                mlirLocationFusedGetLocations(location, parts.as_mut_ptr());
                parts.iter_mut().for_each(|part| *part = self.of(*part));
                let metadata = mlirLocationFusedGetMetadata(location);
                mlirLocationFusedGet(context, parts.len() as isize, parts.as_ptr(), metadata)
            } else {
                location
            }
        };
        self.0.insert(location.ptr, made);
        made
    }
}
