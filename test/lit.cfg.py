# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The suite as LLVM's lit sees it; `cargo xtask test llvm-lit` compares its verdicts with litcheck's.

lit.suite.toml says the same to litcheck; keep the two together. Parameters (lit -D NAME=VALUE), all set by xtask:
  path    folder with the programs of RUN lines, put at the head of PATH
  plugin  libslimhlo.so
  output  folder for temporary files
  through plugin: `slimhlo-opt` in `path` is a stock mlir-opt that loads the plugin
"""
import os

import lit.formats

config.name = "slimhlo"
config.suffixes = [".mlir"]
config.excludes = ["data", "oracle", "consumer", "src", "Inputs", "inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params["output"]
# lit's own shell: it knows pipefail everywhere, and refuses what only some shells understand.
config.test_format = lit.formats.ShTest(execute_external=False)
config.environment["PATH"] = os.pathsep.join([lit_config.params["path"], os.environ.get("PATH", "")])
config.substitutions.append((r"%slimhlo_plugin\b", lit_config.params["plugin"]))
if lit_config.params.get("through") == "plugin":
    config.available_features.add("plugin")
