// Options that several commands have, and checks of their values.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/commands/fetch_results.h"
#include "cli/views/output.h"

namespace assay::cli {

// Adds -o/--output table|json|csv to a command.
void AddOutputOption(CLI::App& command, OutputFormat& format);

// Refuses a number below zero. CLI11's own check would print the bounds of a double.
CLI::Validator NotNegative();

// Refuses everything but a number from `low` to `high`. Unlike CLI11's Range, refuses NaN.
CLI::Validator NumberWithin(double low, double high);

// Refuses "", which many commands would take for an option that is not given.
CLI::Validator NotEmpty();

// Adds --filter, --campaign and --limit to a command.
void AddQueryOptions(CLI::App& command, ResultsQuery& query);

}  // namespace assay::cli
