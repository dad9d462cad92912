#include "model/nccl_variables.h"

#include <algorithm>

#include "common/text.h"
#include "common/units.h"

namespace assay {
namespace {

using Kind = NcclVariable::Kind;

constexpr size_t kMaxValueBytes = 256;
constexpr int64_t kMinBytes = 1024;
constexpr int64_t kMaxBytes = 1 << 30;
constexpr int64_t kMaxChannels = 64;  // Each is a thread block.

NcclVariable Integer(std::string_view name, int64_t minimum, int64_t maximum) {
  return {name, Kind::kInteger, minimum, maximum};
}
NcclVariable Switch(std::string_view name) { return Integer(name, 0, 1); }
NcclVariable Channels(std::string_view name) { return Integer(name, 1, kMaxChannels); }
NcclVariable Bytes(std::string_view name) { return Integer(name, kMinBytes, kMaxBytes); }
NcclVariable Choice(std::string_view name, std::vector<std::string_view> words) {
  return {name, Kind::kChoice, 0, 0, std::move(words)};
}
// Returns a variable whose value is a list of `words`, such as "Ring;AllReduce:^Tree". The list may
// also name the collectives to which the words apply.
NcclVariable List(std::string_view name, std::vector<std::string_view> words) {
  for (const char* collective :
       {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"}) {
    words.emplace_back(collective);
  }
  return {name, Kind::kList, 0, 0, std::move(words)};
}
// Returns a variable that limits the distance between two devices. NCCL accepts a word such as
// "PIX" or, for compatibility with older versions, a number.
NcclVariable Distance(std::string_view name) {
  return Choice(name, {"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "0",
                       "1", "2", "3", "4", "5"});
}
NcclVariable Text(std::string_view name) { return {name, Kind::kText}; }
NcclVariable PerHost(NcclVariable variable) {
  variable.per_host = true;
  return variable;
}

bool HasPlainCharacters(std::string_view value) {
  return std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_,:;^.=+-").find(c) != std::string_view::npos;
  });
}

bool HasOnly(const std::vector<std::string_view>& words, std::string_view list) {
  const auto is_word = [&](std::string_view text) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return Lower(word) == Lower(text); });
  };
  bool any = false;
  while (!list.empty()) {
    const size_t end = std::min(list.find_first_of(",;:^"), list.size());
    if (end > 0 && !is_word(list.substr(0, end))) return false;
    any = any || end > 0;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return any;
}

bool Accepts(const NcclVariable& variable, std::string_view value) {
  switch (variable.kind) {
    case Kind::kInteger: {
      const auto number = ParseInteger(value);
      // Compares the text too, because NCCL reads numbers with a leading 0 as octal.
      return number.ok() && std::to_string(*number) == value && *number >= variable.minimum &&
             *number <= variable.maximum;
    }
    case Kind::kChoice:
      return std::find(variable.words.begin(), variable.words.end(), value) != variable.words.end();
    case Kind::kList:
      return HasOnly(variable.words, value);
    case Kind::kText:
      break;
  }
  return true;
}

std::string Allowed(const NcclVariable& variable) {
  switch (variable.kind) {
    case Kind::kInteger:
      return "a whole number from " + std::to_string(variable.minimum) + " to " +
             std::to_string(variable.maximum);
    case Kind::kChoice:
      return "one of " + Join(variable.words);
    case Kind::kList:
      return "a list of " + Join(variable.words) + ", for example Ring;AllReduce:^Tree";
    case Kind::kText:
      break;
  }
  return "text";
}

std::string WhyNotAllowed(std::string_view name) {
  if (name == kNcclHostId) return "each agent sets its own with --nccl-host-id";
  if (name == "NCCL_DEBUG" || name == "NCCL_DEBUG_SUBSYS") {
    return "Assay sets it and keeps NCCL's log of jobs that fail";
  }
  std::vector<std::string> names;
  for (const NcclVariable& variable : NcclVariables()) names.emplace_back(variable.name);
  const std::string closest = ClosestName(name, names);
  if (!closest.empty()) return "did you mean " + closest + "?";
  return "allowed are variables that select algorithms, transports and resources, for example "
         "NCCL_ALGO or NCCL_P2P_DISABLE, but none that name files or load plugins";
}

}  // namespace

const std::vector<NcclVariable>& NcclVariables() {
  static const std::vector<NcclVariable> variables = {
#include "model/nccl_variables.inc"
  };
  return variables;
}

const NcclVariable* FindNcclVariable(std::string_view name) {
  const std::vector<NcclVariable>& all = NcclVariables();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const NcclVariable& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

Status CheckNcclVariable(std::string_view name, std::string_view value) {
  const NcclVariable* const variable = FindNcclVariable(name);
  if (variable == nullptr) {
    return InvalidArgument("a campaign cannot set " + Quote(name) + "; " + WhyNotAllowed(name));
  }
  std::string expected;
  if (value.empty() || value.size() > kMaxValueBytes || !HasPlainCharacters(value)) {
    expected = "1 to 256 letters, digits or any of _ , : ; ^ . = + -";
  } else if (!Accepts(*variable, value)) {
    expected = Allowed(*variable);
  }
  if (expected.empty()) return Status::Ok();
  return InvalidArgument("invalid value " + Quote(value) + " for " + std::string(name) +
                         "; expected " + expected);
}

std::map<std::string, std::string> NcclVariablesOf(const char* const* environment) {
  std::map<std::string, std::string> found;
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const auto parts = Split(*entry, '=', 2);
    if (parts.size() != 2 || FindNcclVariable(parts[0]) == nullptr) continue;
    const bool plain = parts[1].size() <= kMaxValueBytes && HasPlainCharacters(parts[1]);
    found[std::string(parts[0])] = plain && !parts[1].empty() ? std::string(parts[1]) : "?";
  }
  return found;
}

}  // namespace assay
