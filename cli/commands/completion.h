// Shell completion, made from the commands that there are.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace assay::cli {

// A script for "bash", "zsh" or "fish"; the empty string for any other shell.
std::string CompletionScript(const CLI::App& app, std::string_view shell);

}  // namespace assay::cli
