// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

//! For tests (`test/oracle/forms.py`, `fuzz_forms.py`): reads modules in any form from standard input, and writes each in the forms that are
//! asked for. A request is a line `FORM,... SIZE` and that many bytes; an answer for each form is a line `ok SIZE` or `error SIZE`, and the bytes
//! or the message. Forms: `text`, `generic`, `bytecode`, `artifact:VERSION`, `vhlo:VERSION`.

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::Module;
use melior::ir::operation::OperationPrintingFlags;
use melior::utility::register_all_dialects;
use slimhlo_forms::{print, read_module, vhlo_text, write_portable_artifact};
use std::error::Error;
use std::io::{self, BufRead, Read, Write};

fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    // Modules may be nested as deeply as for the tools.
    let work = std::thread::Builder::new().stack_size(1 << 30).spawn(serve)?;
    work.join().map_err(|_| "a panic")?
}

fn serve() -> Result<(), Box<dyn Error + Send + Sync>> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    slimhlo_dialect::ffi::register_dialects(&registry);
    slimhlo_forms::register_dialects(&registry);
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        let (form, size) = line.trim().split_once(' ').ok_or("a request is FORM SIZE")?;
        let mut bytes = vec![0; size.parse()?];
        input.read_exact(&mut bytes)?;
        for answer in convert(&bytes, form, &registry) {
            let (word, answer) = match answer {
                Ok(answer) => ("ok", answer),
                Err(error) => ("error", error.to_string().into_bytes()),
            };
            writeln!(output, "{word} {}", answer.len())?;
            output.write_all(&answer)?;
        }
        output.flush()?;
        line.clear();
    }
    Ok(())
}

/// The module in each of the forms.
fn convert(bytes: &[u8], forms: &str, registry: &DialectRegistry) -> Vec<Result<Vec<u8>, Box<dyn Error>>> {
    // One context each: what one module leaves in it is not to be the next one's.
    let context = Context::new();
    context.enable_multi_threading(false);
    context.append_dialect_registry(registry);
    match read_module(&context, bytes) {
        Ok(module) => forms.split(',').map(|form| write(&module, form)).collect(),
        Err(error) => forms.split(',').map(|_| Err(error.clone().into())).collect(),
    }
}

fn write(module: &Module<'_>, form: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let flags = || OperationPrintingFlags::new().enable_debug_info(true, false);
    Ok(match form.split_once(':').unwrap_or((form, "")) {
        ("text", _) => print(module.as_operation(), flags(), true),
        ("generic", _) => print(module.as_operation(), flags().print_generic_operation_form(), true),
        ("bytecode", _) => {
            slimhlo_forms::bytecode(module.as_operation(), "slimhlo", slimhlo_forms::BYTECODE_VERSION)
                .ok_or("no bytecode")?
        }
        ("artifact", version) => write_portable_artifact(module, version.parse()?)?,
        ("vhlo", version) => vhlo_text(module, version.parse()?, flags())?,
        _ => return Err(format!("unknown form {form}").into()),
    })
}
