#include "cli/commands/options.h"

#include <map>

#include "cli/views/format.h"
#include "common/text.h"

namespace assay::cli {

void AddOutputOption(CLI::App& command, OutputFormat& format) {
  static const std::map<std::string, OutputFormat> kFormats = {
      {"table", OutputFormat::kTable}, {"json", OutputFormat::kJson}, {"csv", OutputFormat::kCsv}};
  command
      .add_option_function<std::string>(
          "-o,--output", [&format](const std::string& name) { format = kFormats.at(name); },
          "Form of the output: table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->type_name("FORMAT");
}

CLI::Validator NotNegative() {
  return CLI::Validator(
      [](const std::string& value) {
        return value.starts_with("-") ? value + " must be a whole number, at least 0"
                                      : std::string();
      },
      "");
}

CLI::Validator NumberWithin(double low, double high) {
  return CLI::Validator(
      [low, high](const std::string& value) {
        double number = 0;
        // A comparison with NaN is false.
        if (CLI::detail::lexical_cast(value, number) && number >= low && number <= high) {
          return std::string();
        }
        return Quote(value) + " must be a number from " + FormatExact(low) + " to " +
               FormatExact(high);
      },
      "");
}

CLI::Validator NotEmpty() {
  return CLI::Validator(
      [](const std::string& value) {
        return value.empty() ? std::string("must not be empty; leave the option out instead")
                             : std::string();
      },
      "");
}

void AddQueryOptions(CLI::App& command, ResultsQuery& query) {
  command.add_option("--filter", query.filter,
                     "For example: benchmark=\"gemm\" AND gpu.model=\"H200\" AND driver>=\"580\"");
  command.add_option("--campaign", query.campaign,
                     "Only of this campaign: id, or name (the newest of that name)");
  command.add_option("-n,--limit", query.limit, "At most this many, newest first")
      ->check(NotNegative());
}

}  // namespace assay::cli
