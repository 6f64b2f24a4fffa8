// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the plugin says of itself. Callers write programs in the version of StableHLO that it states, and
//! slimhlo reads no newer one than its own; so where the plugin is ahead, slimhlo's is stated. Plugins read
//! what is older for years.

use crate::abi::{INTEGERS, NamedValue};
use slimhlo_forms::Version;
use std::slice;

/// The attribute that states the version: three integers.
const VERSION: &[u8] = b"stablehlo_current_version";

/// The newest version that slimhlo reads.
pub static NEWEST: [i64; 3] =
    [Version::CURRENT.major as i64, Version::CURRENT.minor as i64, Version::CURRENT.patch as i64];

/// The attributes with `newest` as StableHLO's version; nothing if the version that they state is no newer.
///
/// # Safety
/// The attributes must be a plugin's, with all that they point to.
pub unsafe fn lowered(attributes: &[NamedValue], newest: &'static [i64; 3]) -> Option<Vec<NamedValue>> {
    // Of a later version of the interface, larger ones than we know; then the slice is none of them, and only
    // its first can be looked at.
    if attributes.first()?.struct_size != size_of::<NamedValue>() {
        return None;
    }
    // SAFETY: given by the caller.
    let is_version = |attribute: &NamedValue| unsafe {
        attribute.kind == INTEGERS
            && attribute.value_size == newest.len()
            && slice::from_raw_parts(attribute.name.cast::<u8>(), attribute.name_size) == VERSION
    };
    let place = attributes.iter().position(is_version)?;
    // SAFETY: it is a list of three.
    let stated = unsafe { slice::from_raw_parts(attributes[place].value as *const i64, newest.len()) };
    if stated <= &newest[..] {
        return None;
    }
    let mut lowered = attributes.to_vec();
    lowered[place].value = newest.as_ptr() as usize;
    Some(lowered)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    fn attribute(name: &'static [u8], kind: i32, value: &'static [i64; 3]) -> NamedValue {
        NamedValue {
            struct_size: size_of::<NamedValue>(),
            extension_start: ptr::null_mut(),
            name: name.as_ptr().cast(),
            name_size: name.len(),
            kind,
            value: value.as_ptr() as usize,
            value_size: value.len(),
        }
    }

    fn stated(version: &'static [i64; 3]) -> Option<Vec<i64>> {
        static OTHER: [i64; 3] = [9, 9, 9];
        let all = [attribute(b"other", INTEGERS, &OTHER), attribute(VERSION, INTEGERS, version)];
        // SAFETY: all of them are what they say they are.
        let lowered = unsafe { lowered(&all, &NEWEST) }?;
        assert_eq!((lowered.len(), lowered[0].value), (2, OTHER.as_ptr() as usize));
        // SAFETY: as above.
        Some(unsafe { slice::from_raw_parts(lowered[1].value as *const i64, 3) }.to_vec())
    }

    #[test]
    fn only_newer_versions_are_lowered() {
        static SAME: [i64; 3] = NEWEST;
        static OLDER: [i64; 3] = [0, 99, 0];
        static NEWER: [i64; 3] = [1, 17, 1];
        assert_eq!(stated(&SAME), None);
        assert_eq!(stated(&OLDER), None);
        assert_eq!(stated(&NEWER), Some(NEWEST.to_vec()));
    }

    #[test]
    fn what_is_not_known_stays() {
        static NEWER: [i64; 3] = [2, 0, 0];
        let odd = [attribute(VERSION, crate::abi::STRING, &NEWER)];
        // SAFETY: nothing is read of what has another kind or size.
        unsafe {
            assert!(lowered(&odd, &NEWEST).is_none());
            assert!(lowered(&[], &NEWEST).is_none());
            let larger = [NamedValue { struct_size: 64, ..attribute(VERSION, INTEGERS, &NEWER) }];
            assert!(lowered(&larger, &NEWEST).is_none());
        }
    }
}
