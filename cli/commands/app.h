// The command line as a whole.
#pragma once

#include <memory>

#include "cli/commands/context.h"

namespace assay::cli {

// Returns the parser of all commands. Parsing runs the chosen command, which stores its exit code
// in `context`. `context` must outlive the app.
std::unique_ptr<CLI::App> MakeApp(Context& context);

// Parses and runs; returns the exit code.
int RunApp(int argc, const char* const* argv);

}  // namespace assay::cli
