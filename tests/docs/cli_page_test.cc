// docs/reference/cli.md: every command with its arguments and options, and the services' --help.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <memory>
#include <regex>

#include "cli/commands/app.h"
#include "tests/docs/page.h"

namespace assay {
namespace {

using testing_support::CodeSpan;
using testing_support::MarkdownTable;

constexpr char kCliPage[] = "docs/reference/cli.md";

std::string NamesOf(const CLI::Option& option) {
  if (option.get_positional()) return CodeSpan(option.get_name());
  std::string names;
  for (const std::string& name : option.get_snames()) names += CodeSpan("-" + name) + " ";
  for (const std::string& name : option.get_lnames()) names += CodeSpan("--" + name) + " ";
  if (!names.empty()) names.pop_back();
  return names;
}

std::string DescriptionOf(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required()) text += " (required)";
  if (!option.get_default_str().empty()) text += " (default " + option.get_default_str() + ")";
  if (!option.get_envname().empty()) text += " (environment: " + option.get_envname() + ")";
  return text;
}

// Returns the arguments and options of one command in the order of --help; empty if it has none.
std::string OptionTable(const CLI::App& command) {
  std::vector<std::vector<std::string>> rows;
  for (const CLI::Option* option : command.get_options()) {
    const bool help = option == command.get_help_ptr() || option == command.get_version_ptr();
    if (!help) rows.push_back({NamesOf(*option), DescriptionOf(*option)});
  }
  return rows.empty() ? "" : "\n" + MarkdownTable({"argument", "meaning"}, rows);
}

void AppendCommand(const CLI::App& command, const std::string& path, std::string& page) {
  if (!page.empty()) page += "\n";
  page += "## " + path + "\n\n" + command.get_description() + "\n" + OptionTable(command);
  if (!command.get_footer().empty()) page += "\n" + command.get_footer() + "\n";
  for (const CLI::App* child : command.get_subcommands([](const CLI::App*) { return true; })) {
    AppendCommand(*child, path + " " + child->get_name(), page);
  }
}

// Runs `program --help` with a fixed home folder, from which defaults are made.
std::string HelpOf(const std::string& program) {
  const std::string command = "env HOME=/home/USER XDG_STATE_HOME= " + program + " --help";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string text;
  std::array<char, 4096> part{};
  while (const size_t got = fread(part.data(), 1, part.size(), pipe.get())) {
    text.append(part.data(), got);
  }
  // CLI11 2.2 and later print "TEXT [default] " for "TEXT=default", and put the description of a
  // short option on the next line, in column 30, if that makes it too long.
  static const std::regex default_before_more(
      R"((\n  -[^\n[]* [A-Z]+) \[([^\]\n]+)\] +(?=Needs|\(Env))");
  static const std::regex default_value(R"((\n  -[^\n[]* [A-Z]+) \[([^\]\n]+)\] )");
  static const std::regex spaces_at_end(R"( +\n)");
  static const std::regex two_lines(R"(\n(  -[^\n]{0,26})\n {30})");
  text = std::regex_replace(text, default_before_more, "$1=$2 ");
  text = std::regex_replace(text, default_value, "$1=$2   ");
  text = std::regex_replace(text, spaces_at_end, "\n");
  for (std::smatch match; std::regex_search(text, match, two_lines);) {
    const std::string option = match[1];
    text.replace(static_cast<size_t>(match.position()), static_cast<size_t>(match.length()),
                 "\n" + option + std::string(30 - option.size(), ' '));
  }
  return text;
}

TEST(CliPage, ListsEveryCommandWithItsOptions) {
  cli::Context context;
  std::string page;
  AppendCommand(*MakeApp(context), "assay", page);
  EXPECT_BLOCK(kCliPage, "assay", page);
}

TEST(CliPage, HasTheHelpOfEveryService) {
  EXPECT_BLOCK(kCliPage, "assay-coordinator", "```\n" + HelpOf(ASSAY_COORDINATOR) + "```\n");
  EXPECT_BLOCK(kCliPage, "assay-agent", "```\n" + HelpOf(ASSAY_AGENT) + "```\n");
  EXPECT_BLOCK(kCliPage, "assay-runner", "```\n" + HelpOf(ASSAY_RUNNER) + "```\n");
}

}  // namespace
}  // namespace assay
