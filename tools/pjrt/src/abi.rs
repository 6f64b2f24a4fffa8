// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! What the layer touches of PJRT's C interface: where functions are in the table, and what they are called
//! with.
//!
//! The interface only grows at its ends: every struct begins with its size, as whoever made it knows it, and
//! a function keeps its place in the table for as long as the major version is 0. So it is enough to know the
//! beginnings. `examples/compile.rs` has real plugins confirm each place and each size: called with a struct
//! of no size, they answer with the name and the size that they expect.

use std::ffi::{c_char, c_void};
use std::ptr;

/// An error of a plugin; only its functions know what is in it.
#[repr(C)]
pub struct Error {
    opaque: [u8; 0],
}

/// Any function of the table, until its arguments are known.
pub type Function = unsafe extern "C" fn(*mut c_void) -> *mut Error;

/// The beginning of the table; places for functions follow, as far as `struct_size` reaches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// Of the whole table, in bytes.
    pub struct_size: usize,
    /// A list of what is beyond the table.
    pub extension_start: *mut c_void,
    /// Of the interface.
    pub version: Version,
}

/// The interface's version.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Version {
    /// In bytes.
    pub struct_size: usize,
    /// Never used so far.
    pub extension_start: *mut c_void,
    /// Another one means another layout.
    pub major: i32,
    /// A larger one means more functions and fields.
    pub minor: i32,
}

/// Places of functions in the table, counted from its first function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(missing_docs, reason = "the names are the interface's")]
pub enum Place {
    ErrorDestroy = 0,
    ErrorMessage = 1,
    ErrorGetCode = 2,
    PluginInitialize = 3,
    PluginAttributes = 4,
    ClientPlatformName = 12,
    ClientPlatformVersion = 14,
    ClientDevices = 15,
    ClientAddressableDevices = 16,
    ClientCompile = 20,
    DeviceMemoryStats = 34,
    ExecutableDestroy = 40,
    LoadedExecutableDestroy = 50,
    LoadedExecutableGetExecutable = 51,
    TopologyPlatformName = 84,
    TopologyPlatformVersion = 85,
    TopologyAttributes = 88,
    Compile = 89,
    ClientTopology = 95,
    ExecutableGetCompiledMemoryStats = 96,
}

impl Place {
    /// Bytes from the table's beginning.
    pub const fn offset(self) -> usize {
        size_of::<Header>() + self as usize * size_of::<usize>()
    }
}

/// A struct that begins with its own size and a list of extensions, as all of them do.
pub trait Arguments: Sized {
    /// All zeros, but for the size.
    fn empty() -> Self;
}

/// Declares structs with the two fields that all have, and [`Arguments`] for them.
macro_rules! arguments {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $ty:ty = $zero:expr),* $(,)? })*) => {$(
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            /// In bytes, as the caller knows the struct.
            pub struct_size: usize,
            /// A list of what is beyond the struct.
            pub extension_start: *mut c_void,
            $($(#[$field_doc])* pub $field: $ty,)*
        }

        impl Arguments for $name {
            fn empty() -> Self {
                Self { struct_size: size_of::<Self>(), extension_start: ptr::null_mut(), $($field: $zero),* }
            }
        }
    )*};
}

arguments! {
    /// Of functions that take one thing and return nothing but an error: it is destroyed, or initialized.
    One {
        /// The thing.
        object: *mut c_void = ptr::null_mut(),
    }
    /// Of functions that answer with a text or a list: names, versions, attributes, devices.
    List {
        /// What is asked.
        object: *mut c_void = ptr::null_mut(),
        /// Where the list begins; it lives as long as the object.
        data: *const c_void = ptr::null(),
        /// Its elements.
        count: usize = 0,
    }
    /// Of functions that answer with another object.
    Get {
        /// What is asked.
        object: *mut c_void = ptr::null_mut(),
        /// The answer.
        result: *mut c_void = ptr::null_mut(),
    }
    /// `PJRT_Error_GetCode`
    ErrorCode {
        /// The error.
        error: *const Error = ptr::null(),
        /// One of abseil's codes.
        code: i32 = 0,
    }
    /// A program to compile.
    Program {
        /// In a form that `format` names.
        code: *const c_char = ptr::null(),
        /// In bytes.
        code_size: usize = 0,
        /// `mlir` for text, bytecode and portable artifacts.
        format: *const c_char = ptr::null(),
        /// In bytes.
        format_size: usize = 0,
    }
    /// `PJRT_Client_Compile`
    ClientCompile {
        /// For whose devices.
        client: *mut c_void = ptr::null_mut(),
        /// What.
        program: *const Program = ptr::null(),
        /// A serialized `CompileOptionsProto`.
        options: *const c_char = ptr::null(),
        /// In bytes.
        options_size: usize = 0,
        /// The answer: a loaded executable.
        executable: *mut c_void = ptr::null_mut(),
    }
    /// `PJRT_Compile`
    Compile {
        /// For which devices.
        topology: *const c_void = ptr::null(),
        /// What.
        program: *const Program = ptr::null(),
        /// A serialized `CompileOptionsProto`.
        options: *const c_char = ptr::null(),
        /// In bytes.
        options_size: usize = 0,
        /// May be null.
        client: *mut c_void = ptr::null_mut(),
        /// The answer: an executable.
        executable: *mut c_void = ptr::null_mut(),
    }
    /// `PJRT_Executable_GetCompiledMemoryStats`: bytes on a device, and on the host. There is room for fields
    /// of newer versions, since plugins do not take a struct that is smaller than theirs.
    CompiledMemoryStats {
        /// Which.
        executable: *mut c_void = ptr::null_mut(),
        /// Code.
        generated_code: i64 = 0,
        /// Arguments.
        argument: i64 = 0,
        /// Results.
        output: i64 = 0,
        /// Results that lie in arguments.
        alias: i64 = 0,
        /// All else.
        temp: i64 = 0,
        /// The same on the host, in the same order.
        host: [i64; 5] = [0; 5],
        /// The most at one time, all of it, and what may come.
        newer: [i64; 16] = [0; 16],
    }
    /// `PJRT_Device_MemoryStats`: bytes; all but the first may be unknown. With room, likewise.
    MemoryStats {
        /// Which.
        device: *mut c_void = ptr::null_mut(),
        /// Now.
        bytes_in_use: i64 = 0,
        /// The most so far; allocations; the largest of them.
        first: [Stat; 3] = [Stat::UNKNOWN; 3],
        /// What may be in use at one time.
        bytes_limit: Stat = Stat::UNKNOWN,
        /// What has been reserved, and so on, and what may come.
        others: [Stat; 16] = [Stat::UNKNOWN; 16],
    }
}

/// A figure that may be unknown.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Stat {
    /// The figure.
    pub value: i64,
    /// Whether it is one. A C `bool`, which plugins do not always set.
    pub is_set: u8,
}

impl Stat {
    const UNKNOWN: Self = Self { value: 0, is_set: 0 };
}

/// A key and a value: of a topology, say.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct NamedValue {
    /// In bytes.
    pub struct_size: usize,
    /// Never used so far.
    pub extension_start: *mut c_void,
    /// The key.
    pub name: *const c_char,
    /// In bytes.
    pub name_size: usize,
    /// 0 for a string, 1 for an integer, 2 for integers, 3 for a float, 4 for a boolean.
    pub kind: i32,
    /// The integer, or where the string begins.
    pub value: usize,
    /// Of a string: in bytes.
    pub value_size: usize,
}

/// The kind of a [`NamedValue`] that is a string.
pub const STRING: i32 = 0;

/// The kind of a [`NamedValue`] that is a list of 64-bit integers.
pub const INTEGERS: i32 = 2;

/// `PJRT_Plugin_Attributes`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Attributes {
    /// In bytes.
    pub struct_size: usize,
    /// A list of what is beyond the struct.
    pub extension_start: *mut c_void,
    /// Where the list begins; it is there for good.
    pub data: *const NamedValue,
    /// Its elements.
    pub count: usize,
}

/// The code of an error that says that a program does not fit.
pub const RESOURCE_EXHAUSTED: i32 = 8;

/// The code of an error that says that something is not as it has to be for what was asked.
pub const FAILED_PRECONDITION: i32 = 9;

/// The format of programs that slimhlo reads.
pub const MLIR: &[u8] = b"mlir";

#[cfg(test)]
mod tests {
    use super::*;

    /// The sizes that the interface's version 0.112 states, as `examples/compile.rs` hears it from plugins.
    #[test]
    fn structs_are_as_large_as_the_interfaces() {
        assert_eq!(size_of::<Header>(), 40);
        assert_eq!(Place::ErrorDestroy.offset(), 40);
        assert_eq!(size_of::<One>(), 24);
        assert_eq!(size_of::<List>(), 40);
        assert_eq!(size_of::<Get>(), 32);
        assert_eq!(size_of::<Program>(), 48);
        assert_eq!(size_of::<ClientCompile>(), 56);
        assert_eq!(size_of::<Compile>(), 64);
        assert!(size_of::<CompiledMemoryStats>() >= 120);
        assert!(size_of::<MemoryStats>() >= 185);
        assert_eq!(size_of::<NamedValue>(), 56);
    }
}
