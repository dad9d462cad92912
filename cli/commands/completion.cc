// Shell completion. The shells' scripts ask `assay __complete WORDS...` what may follow.
#include <CLI/CLI.hpp>
#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "cli/commands/app.h"
#include "cli/contexts/context_file.h"

namespace assay::cli {
namespace {

constexpr std::string_view kBash =
    R"sh(# bash completion for assay. Load it: source <(assay completion bash)
_assay() {
  local IFS=$'\n'
  COMPREPLY=($("${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null |
    cut -f 1))
}
complete -o default -F _assay assay
)sh";

constexpr std::string_view kZsh = R"sh(#compdef assay
# zsh completion for assay. Load it: source <(assay completion zsh)
_assay() {
  local -a items
  items=(${(f)"$("${words[1]}" __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
  items=("${(@)items/$'\t'/:}")
  if ((${#items})); then _describe assay items; else _files; fi
}
compdef _assay assay
)sh";

constexpr std::string_view kFish =
    R"sh(# fish completion for assay. Load it: assay completion fish | source
function __assay_complete
  set -l current (commandline -ct)
  set -l items (assay __complete (commandline -opc)[2..-1] "$current" 2>/dev/null)
  if test (count $items) -gt 0
    printf '%s\n' $items
  else
    __fish_complete_path "$current"
  end
end
complete -c assay -f -a '(__assay_complete)'
)sh";

// Returns the forms of output that a command offers.
std::vector<std::string> FormatsOf(const CLI::App& command) {
  const std::string name = command.get_name();
  if (name == "submit") return {"table", "json", "name"};
  if (name == "watch") return {"table", "json"};
  if (name == "show" && command.get_parent()->get_name() == "campaign") {
    return {"table", "json", "csv", "junit", "markdown"};
  }
  return {"table", "json", "csv"};
}

// Returns the names of the user's contexts.
std::vector<std::string> ContextNames() {
  std::vector<std::string> names;
  const Result<ContextFile> file = LoadContexts(ContextFolder());
  if (!file.ok()) return names;
  for (const auto& [name, context] : file->contexts) names.push_back(name);
  return names;
}

}  // namespace

std::string Completions(const CLI::App& app, const std::vector<std::string>& words) {
  const auto all = [](const CLI::App*) { return true; };
  const CLI::App* command = &app;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    for (const CLI::App* child : command->get_subcommands(all)) {
      if (child->check_name(words[i])) command = child;
    }
  }
  const std::string current = words.empty() ? "" : words.back();
  const std::string previous = words.size() < 2 ? "" : words[words.size() - 2];
  static const std::set<std::string> kTakeFile = {"--tls-cert", "--tls-key", "--tls-ca", "--data",
                                                  "--hosts"};
  if (kTakeFile.count(previous) > 0) return "";
  std::string text;
  std::set<std::string> offered;
  const auto offer = [&](const std::string& word, const std::string& description) {
    if (!word.starts_with(current) || !offered.insert(word).second) return;
    text.append(word).append("\t").append(description).append("\n");
  };
  const bool takes_context = command->get_parent() != nullptr &&
                             command->get_parent()->get_name() == "context" &&
                             command->get_option_no_throw("name") != nullptr;
  if (previous == "-o" || previous == "--output") {
    for (const std::string& format : FormatsOf(*command)) offer(format, "format");
  } else if (previous == "--context" || (takes_context && !current.starts_with("-"))) {
    for (const std::string& name : ContextNames()) offer(name, "context");
  } else if (current.starts_with("-")) {
    // Options of parents are accepted too.
    for (; command != nullptr; command = command->get_parent()) {
      for (const CLI::Option* option : command->get_options()) {
        for (const std::string& name : option->get_lnames()) {
          offer("--" + name, option->get_description());
        }
      }
    }
  } else {
    for (const CLI::App* child : command->get_subcommands(all)) {
      offer(child->get_name(), child->get_description());
    }
  }
  return text;
}

void AddCompletionCommand(CLI::App& app) {
  static const std::map<std::string, std::string_view> kScripts = {
      {"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};
  CLI::App* command = app.add_subcommand("completion", "Print a shell's completion script");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell] { Print(kScripts.at(*shell)); });
}

}  // namespace assay::cli
