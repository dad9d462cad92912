// Shell completion.
#pragma once

#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace assay::cli {

// Returns a completion script of `app` for "bash", "zsh" or "fish"; empty for any other shell.
std::string CompletionScript(const CLI::App& app, std::string_view shell);

}  // namespace assay::cli
