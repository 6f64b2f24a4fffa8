// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! MLIR's parser and printer of text, as C++ hands them to the hooks.
//!
//! This is one of the few modules with `unsafe`: safe wrappers around the functions of
//! `include/slimhlo-c/Forms.h`.

use super::{attribute, bytes, empty, raw};
use melior::StringRef;
use melior::ir::attribute::StringAttribute;
use melior::ir::{Attribute, AttributeLike, Type, TypeLike};
use mlir_sys::{MlirAttribute, MlirStringRef, MlirType};
use std::ffi::c_void;
use std::marker::PhantomData;

unsafe extern "C" {
    fn slimhloParseKeyword(parser: *mut c_void, keyword: *mut MlirStringRef) -> bool;
    fn slimhloParseOptional(parser: *mut c_void, punctuation: MlirStringRef) -> bool;
    fn slimhloParseInteger(parser: *mut c_void, value: *mut i64) -> bool;
    fn slimhloParseFloat(parser: *mut c_void, value: *mut f64) -> bool;
    fn slimhloParseString(parser: *mut c_void) -> MlirAttribute;
    fn slimhloParseAttribute(parser: *mut c_void) -> MlirAttribute;
    fn slimhloParseType(parser: *mut c_void) -> MlirType;
    fn slimhloParseDimensions(parser: *mut c_void) -> MlirAttribute;
    fn slimhloParserError(parser: *mut c_void, message: MlirStringRef);
    fn slimhloPrintText(printer: *mut c_void, text: MlirStringRef);
    fn slimhloPrintString(printer: *mut c_void, text: MlirStringRef);
    fn slimhloPrintFloat(printer: *mut c_void, value: f64);
    fn slimhloPrintAttribute(printer: *mut c_void, attribute: MlirAttribute);
    fn slimhloPrintType(printer: *mut c_void, ty: MlirType);
}

/// Parses one attribute or type. Everything but [`Self::optional`] is `None` after an error, which the parser
/// has reported.
pub struct Parser<'c>(*mut c_void, PhantomData<&'c ()>);

impl<'c> Parser<'c> {
    /// # Safety
    /// `parser` must be MLIR's, of a context that outlives `'c`, and alive as long as this is.
    pub unsafe fn from_raw(parser: *mut c_void) -> Self {
        Self(parser, PhantomData)
    }

    /// A word.
    pub fn keyword(&self) -> Option<&str> {
        let mut text = empty();
        // SAFETY: the parser is alive, as for all that follow, and so is the text that it parses.
        let found = unsafe { slimhloParseKeyword(self.0, &mut text).then(|| bytes(text)) };
        found.and_then(|word| std::str::from_utf8(word).ok())
    }

    /// Whether this is next, and skips it.
    pub fn optional(&self, punctuation: &str) -> bool {
        // SAFETY: see `keyword`.
        unsafe { slimhloParseOptional(self.0, StringRef::new(punctuation).to_raw()) }
    }

    /// Complains unless this is next.
    pub fn expect(&self, punctuation: &str) -> Option<()> {
        if !self.optional(punctuation) {
            self.error(&format!("expected '{punctuation}'"));
            return None;
        }
        Some(())
    }

    /// Complains unless this word is next.
    pub fn expect_keyword(&self, word: &str) -> Option<()> {
        if self.keyword()? != word {
            self.error(&format!("expected '{word}'"));
            return None;
        }
        Some(())
    }

    /// A number.
    pub fn integer(&self) -> Option<i64> {
        let mut value = 0;
        // SAFETY: see `keyword`.
        unsafe { slimhloParseInteger(self.0, &mut value).then_some(value) }
    }

    /// A number.
    pub fn float(&self) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: see `keyword`.
        unsafe { slimhloParseFloat(self.0, &mut value).then_some(value) }
    }

    /// A string.
    pub fn text(&self) -> Option<StringAttribute<'c>> {
        // SAFETY: see `keyword`; null after an error.
        let attribute = unsafe { attribute(slimhloParseString(self.0)) }?;
        StringAttribute::try_from(attribute).ok()
    }

    /// An attribute.
    pub fn attribute(&self) -> Option<Attribute<'c>> {
        // SAFETY: see `text`.
        unsafe { attribute(slimhloParseAttribute(self.0)) }
    }

    /// A type.
    pub fn r#type(&self) -> Option<Type<'c>> {
        // SAFETY: see `text`.
        unsafe {
            let ty = slimhloParseType(self.0);
            (!ty.ptr.is_null()).then(|| Type::from_raw(ty))
        }
    }

    /// `4x?x`.
    pub fn dimensions(&self) -> Option<&'c [i64]> {
        // SAFETY: see `text`.
        let attribute = unsafe { attribute(slimhloParseDimensions(self.0)) }?;
        slimhlo_dialect::ffi::dense_i64_array(attribute)
    }

    /// Reports an error.
    pub fn error(&self, message: &str) {
        // SAFETY: see `keyword`; the message is copied.
        unsafe { slimhloParserError(self.0, StringRef::new(message).to_raw()) }
    }
}

/// Prints one attribute or type.
pub struct Printer(*mut c_void);

impl Printer {
    /// # Safety
    /// `printer` must be MLIR's, and alive as long as this is.
    pub unsafe fn from_raw(printer: *mut c_void) -> Self {
        Self(printer)
    }

    /// Text as it is.
    pub fn text(&self, text: &str) {
        // SAFETY: the printer is alive, as for all that follow.
        unsafe { slimhloPrintText(self.0, StringRef::new(text).to_raw()) }
    }

    /// A string in quotes.
    pub fn string(&self, text: &[u8]) {
        // SAFETY: see `text`.
        unsafe { slimhloPrintString(self.0, raw(text)) }
    }

    /// A number.
    pub fn float(&self, value: f64) {
        // SAFETY: see `text`.
        unsafe { slimhloPrintFloat(self.0, value) }
    }

    /// An attribute.
    pub fn attribute(&self, attribute: Attribute<'_>) {
        // SAFETY: see `text`; the attribute is alive.
        unsafe { slimhloPrintAttribute(self.0, attribute.to_raw()) }
    }

    /// A type.
    pub fn r#type(&self, ty: Type<'_>) {
        // SAFETY: see `text`; the type is alive.
        unsafe { slimhloPrintType(self.0, ty.to_raw()) }
    }
}
