#include "runner/arguments.h"

#include <algorithm>
#include <vector>

#include "common/text.h"
#include "common/units.h"

namespace assay {
namespace {

constexpr int64_t kMaxGpu = 4096;

std::vector<std::string> OptionsOf(const std::string& command) {
  if (command == "run") return {"-o", "--seed", "--gpu", "--counters", "--help"};
  if (command == "selftest") return {"--gpu", "--require-gpu", "--help"};
  if (command.empty()) return {"--help", "--version"};
  return {"--help"};
}

}  // namespace

bool LooksLikeOption(const std::string& argument) {
  return argument.size() > 1 && argument[0] == '-';
}

Status UnknownOption(const std::string& argument, const std::string& command) {
  const std::string name = argument.substr(0, argument.find('='));
  const std::vector<std::string> options = OptionsOf(command);
  return InvalidArgument((command.empty() ? "" : command + ": ") + "unknown option " +
                         Quote(argument) + "; " + Suggest(name, options));
}

bool HasOption(const std::string& command, const std::string& option) {
  const std::vector<std::string> options = OptionsOf(command);
  return std::find(options.begin(), options.end(), option) != options.end();
}

Result<int64_t> OptionNumber(const std::string& option, const std::string& value, int64_t most) {
  const auto number = ParseInteger(value);
  if (number.ok() && *number >= 0 && *number <= most) return *number;
  return InvalidArgument(option + ": " + Quote(value) + " is not a whole number from 0 to " +
                         std::to_string(most));
}

Result<int> GpuNumber(const std::string& value) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t gpu, OptionNumber("--gpu", value, kMaxGpu));
  return static_cast<int>(gpu);
}

Status AddParameter(const std::string& argument, const std::string& command, ParameterMap* given) {
  if (LooksLikeOption(argument)) return UnknownOption(argument, command);
  const size_t equals = argument.find('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgument(command + ": unexpected argument " + Quote(argument) +
                           "; parameters have the form NAME=VALUE");
  }
  const std::string name = argument.substr(0, equals);
  if (given->emplace(name, argument.substr(equals + 1)).second) return Status::Ok();
  return InvalidArgument(command + ": parameter " + Quote(name) + " is given twice");
}

}  // namespace assay
