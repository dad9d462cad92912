#include "cli/commands/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

namespace assay::cli {
namespace {

struct Choice {
  std::string word;
  std::string description;
};

// A command and the words that may follow it.
struct Command {
  std::string path;  // "assay campaign list"
  std::vector<Choice> subcommands;
  std::vector<Choice> options;
  bool takes_file = false;
};

std::vector<Choice> OptionsOf(const CLI::App& app) {
  std::vector<Choice> options;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      options.push_back({"--" + name, option->get_description()});
    }
    for (const std::string& name : option->get_snames()) {
      options.push_back({"-" + name, option->get_description()});
    }
  }
  return options;
}

// Lists commands depth first. `inherited` are the options of parent commands, which are accepted
// too.
void Collect(const CLI::App& app, const std::string& path, std::vector<Choice> inherited,
             std::vector<Command>& commands) {
  Command command;
  command.path = path;
  command.options = OptionsOf(app);
  for (const Choice& option : command.options) {
    const bool help = option.word == "--help" || option.word == "-h";
    if (!help) inherited.push_back(option);
  }
  if (path.find(' ') != std::string::npos) {
    // The command's own options first, then those of its parents.
    for (const Choice& option : inherited) {
      const bool own = std::any_of(command.options.begin(), command.options.end(),
                                   [&](const Choice& other) { return other.word == option.word; });
      if (!own) command.options.push_back(option);
    }
  }
  const auto all = [](const CLI::App*) { return true; };
  for (const CLI::App* subcommand : app.get_subcommands(all)) {
    command.subcommands.push_back({subcommand->get_name(), subcommand->get_description()});
  }
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_name(true) == "file") command.takes_file = true;
  }
  commands.push_back(command);
  for (const CLI::App* subcommand : app.get_subcommands(all)) {
    Collect(*subcommand, path + " " + subcommand->get_name(), inherited, commands);
  }
}

std::string Words(const std::vector<Choice>& choices) {
  std::string words;
  for (const Choice& choice : choices) words += (words.empty() ? "" : " ") + choice.word;
  return words;
}

// Escapes text for single quotes of a shell.
std::string ShellQuote(std::string_view text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return "'" + quoted + "'";
}

std::string Bash(const std::vector<Command>& commands) {
  std::string script = R"(# bash completion for assay. Load it: source <(assay completion bash)
_assay() {
  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" path="assay" i
  COMPREPLY=()
  case "$previous" in
    -o|--output) COMPREPLY=($(compgen -W "table json csv" -- "$current")); return ;;
    --tls-cert|--tls-key|--tls-ca|--data) COMPREPLY=($(compgen -f -- "$current")); return ;;
  esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
)";
  std::string paths;
  for (const Command& command : commands) {
    if (command.path == "assay") continue;
    paths += (paths.empty() ? "" : "|") + ShellQuote(command.path);
  }
  script += "      " + paths +
            ") path=\"$path ${COMP_WORDS[i]}\" ;;\n    esac\n  done\n  case \"$path\" in\n";
  for (const Command& command : commands) {
    const std::string words = Words(command.subcommands);
    script += "    " + ShellQuote(command.path) + ")\n";
    script += "      if [[ \"$current\" == -* ]]; then COMPREPLY=($(compgen -W " +
              ShellQuote(Words(command.options)) + " -- \"$current\"))\n";
    script += command.takes_file ? "      else COMPREPLY=($(compgen -f -- \"$current\")); fi ;;\n"
                                 : "      else COMPREPLY=($(compgen -W " + ShellQuote(words) +
                                       " -- \"$current\")); fi ;;\n";
  }
  return script + "  esac\n}\ncomplete -F _assay assay\n";
}

// Formats a word and its description for zsh's _describe.
std::string ZshItem(const Choice& choice) {
  std::string item;
  for (const char c : choice.word) item += c == ':' ? "\\:" : std::string(1, c);
  return ShellQuote(item + ":" + choice.description);
}

std::string Zsh(const std::vector<Command>& commands) {
  std::string script = R"(#compdef assay
# zsh completion for assay. Load it: source <(assay completion zsh)
_assay() {
  local path="assay" i
  local -a items
  case "${words[CURRENT-1]}" in
    -o|--output) items=(table json csv); _describe 'format' items; return ;;
    --tls-cert|--tls-key|--tls-ca|--data) _files; return ;;
  esac
  for ((i = 2; i < CURRENT; i++)); do
    case "$path ${words[i]}" in
)";
  std::string paths;
  for (const Command& command : commands) {
    if (command.path == "assay") continue;
    paths += (paths.empty() ? "" : "|") + ShellQuote(command.path);
  }
  script +=
      "      " + paths + ") path=\"$path ${words[i]}\" ;;\n    esac\n  done\n  case \"$path\" in\n";
  for (const Command& command : commands) {
    std::string options;
    std::string subcommands;
    for (const Choice& option : command.options) options += " " + ZshItem(option);
    for (const Choice& choice : command.subcommands) subcommands += " " + ZshItem(choice);
    script += "    " + ShellQuote(command.path) +
              ")\n      if [[ \"$PREFIX\" == -* ]]; then items=(" + options +
              "); _describe 'option' items\n";
    script += command.takes_file
                  ? "      else _files; fi ;;\n"
                  : "      else items=(" + subcommands + "); _describe 'command' items; fi ;;\n";
  }
  return script + "  esac\n}\ncompdef _assay assay\n";
}

// Returns fish's condition for `command` being the innermost command of the line.
std::string FishCondition(const Command& command) {
  return ShellQuote("__assay_at " + ShellQuote(command.path));
}

std::string Fish(const std::vector<Command>& commands) {
  std::string script =
      "# fish completion for assay. Load it: assay completion fish | source\n"
      "function __assay_at\n"
      "  set -l path assay\n"
      "  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$path $word\"\n"
      "      case";
  for (const Command& command : commands) {
    if (command.path != "assay") script += " " + ShellQuote(command.path);
  }
  script +=
      "\n        set path \"$path $word\"\n    end\n  end\n  test \"$path\" = \"$argv[1]\"\nend\n"
      "complete -c assay -f\n";
  for (const Command& command : commands) {
    const std::string prefix = "complete -c assay -n " + FishCondition(command);
    if (command.takes_file) script += prefix + " -F\n";
    for (const Choice& choice : command.subcommands) {
      script += prefix + " -a " + choice.word + " -d " + ShellQuote(choice.description) + "\n";
    }
    for (const Choice& option : command.options) {
      const bool is_long = option.word.starts_with("--");
      const bool output = option.word == "-o" || option.word == "--output";
      script += prefix + (is_long ? " -l " : " -s ") + option.word.substr(is_long ? 2 : 1) +
                (output ? " -x -a 'table json csv'" : "") + " -d " +
                ShellQuote(option.description) + "\n";
    }
  }
  return script;
}

}  // namespace

std::string CompletionScript(const CLI::App& app, std::string_view shell) {
  std::vector<Command> commands;
  Collect(app, "assay", {}, commands);
  if (shell == "bash") return Bash(commands);
  if (shell == "zsh") return Zsh(commands);
  if (shell == "fish") return Fish(commands);
  return "";
}

}  // namespace assay::cli
