#include "model/nccl_values.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <vector>

#include "model/parameter.h"
#include "common/units.h"

namespace assay {
namespace {

// The words of NCCL 2.28, as its messages spell them.
constexpr std::array<std::string_view, 7> kAlgorithms = {
    "Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> kProtocols = {"LL", "LL128", "Simple"};
constexpr std::array<std::string_view, 5> kCollectives = {"Broadcast", "Reduce", "AllGather",
                                                          "ReduceScatter", "AllReduce"};
constexpr std::array<std::string_view, 10> kDistances = {"LOC", "NVL", "NVB", "C2C", "PIX",
                                                         "PXB", "P2C", "PXN", "PHB", "SYS"};
constexpr std::array<std::string_view, 2> kFamilies = {"AF_INET", "AF_INET6"};
constexpr std::array<std::string_view, 2> kLaunchModes = {"PARALLEL", "GROUP"};
// The old integers of a distance: LOC, PIX, PXB, PHB, SYS and SYS again.
constexpr int64_t kMostOldDistance = 5;
// Linux bounds the name of an interface; NCCL's own table of adapters is as wide as this.
constexpr size_t kMostInterfaceBytes = 15;
constexpr size_t kMostNameBytes = 63;
constexpr int64_t kMostPort = 255;
// NCCL limits sockets to this many between two ranks.
constexpr int64_t kMostSockets = 64;

template <size_t N>
std::string Listed(const std::array<std::string_view, N>& words) {
  std::string text;
  for (const std::string_view word : words) {
    text += (text.empty() ? "" : ", ") + std::string(word);
  }
  return text;
}

bool SameIgnoringCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

template <size_t N>
bool HasIgnoringCase(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view known) { return SameIgnoringCase(known, word); });
}

template <size_t N>
bool Has(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// At least one piece, which may be empty.
std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  for (;;) {
    const size_t end = text.find(separator);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

// In decimal alone, for a setting has one spelling; a leading 0 would be octal to NCCL.
std::optional<int64_t> Integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  if (text.empty() || text[0] == '-') return std::nullopt;
  if (text[0] == '0' && (negative || text.size() > 1)) return std::nullopt;
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return negative ? -number : number;
}

// The number of "0x10"; nullopt for all that is not hexadecimal.
std::optional<int64_t> Hexadecimal(std::string_view text) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return std::nullopt;
  text.remove_prefix(2);
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, 16);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

// "; NCCL would read it as 4": it reads what stands at the beginning, in any base that C has.
std::string AsNcclReads(std::string_view value) {
  errno = 0;
  const long long number = std::strtoll(std::string(value).c_str(), nullptr, 0);
  if (errno != 0) return "; NCCL would ignore it";
  return "; NCCL would read it as " + std::to_string(number);
}

std::string WhyNoInteger(const NcclValues& values, std::string_view value) {
  const std::optional<int64_t> number = Integer(value);
  const bool within = number && *number >= values.minimum && *number <= values.maximum;
  if (within && *number % values.step == 0) return "";
  std::string why = "write ";
  if (values.minimum == 0 && values.maximum == 1) {
    why += "0 or 1";
  } else {
    why += values.step == 1 ? "an integer" : "a multiple of " + std::to_string(values.step);
    why += (values.unit.empty() ? "" : " of " + std::string(values.unit)) + " from " +
           std::to_string(values.minimum) + " to " + std::to_string(values.maximum);
  }
  if (number) return why;
  // "4MiB": what was meant can be told.
  const Result<int64_t> meant = ParseBytes(value);
  if (values.unit == "bytes" && meant.ok() && *meant >= values.minimum &&
      *meant <= values.maximum) {
    why += ", here " + std::to_string(*meant);
  }
  return why + AsNcclReads(value);
}

template <size_t N>
std::string WhyNoSelection(const std::array<std::string_view, N>& words, std::string_view value) {
  const auto form = [&](const std::string& fault) {
    return fault + "; write a list of " + Listed(words) +
           ", behind ^ to exclude them, and behind COLLECTIVE: after a ; for one collective (" +
           Listed(kCollectives) + "), for example \"" + std::string(words[0]) + ";AllReduce:^" +
           std::string(words[1]) + "\"";
  };
  bool first = true;
  for (std::string_view part : Split(value, ';')) {
    const size_t colon = part.find(':');
    if (colon != std::string_view::npos) {
      const std::string_view collective = part.substr(0, colon);
      if (!HasIgnoringCase(kCollectives, collective)) {
        return form("\"" + std::string(collective) + "\" is no collective");
      }
      part.remove_prefix(colon + 1);
    } else if (!first) {
      return form("only the first list may be without a collective");
    }
    first = false;
    if (part.starts_with('^')) part.remove_prefix(1);
    for (const std::string_view word : Split(part, ',')) {
      if (HasIgnoringCase(words, word)) continue;
      return form(word.empty() ? std::string("a list has an empty place")
                               : "\"" + std::string(word) + "\" is none");
    }
  }
  return "";
}

std::string WhyNoDistance(std::string_view value) {
  const std::optional<int64_t> old = Integer(value);
  if (Has(kDistances, value) || (old && *old >= 0 && *old <= kMostOldDistance)) return "";
  return "write one of " + Listed(kDistances) + ", in upper case, or 0 to " +
         std::to_string(kMostOldDistance) + "; NCCL would " +
         (old && *old >= 0 ? "read it as SYS" : "ignore it");
}

bool IsName(std::string_view text, size_t most) {
  return !text.empty() && text.size() <= most &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+';
         });
}

// A list of prefixes; '^' excludes and '=' compares whole names, once, before all of them.
std::string WhyNoNames(std::string_view value, bool adapters) {
  std::string_view names = value;
  if (names.starts_with('^')) names.remove_prefix(1);
  if (names.starts_with('=')) names.remove_prefix(1);
  for (std::string_view name : Split(names, ',')) {
    const size_t colon = adapters ? name.find(':') : std::string_view::npos;
    bool sound = true;
    if (colon != std::string_view::npos) {
      const std::optional<int64_t> port = Integer(name.substr(colon + 1));
      sound = port && *port >= 1 && *port <= kMostPort;
      name = name.substr(0, colon);
    }
    if (sound && IsName(name, adapters ? kMostNameBytes : kMostInterfaceBytes)) continue;
    return adapters ? "write adapters as mlx5, =mlx5_0:1,mlx5_1:1 or ^=mlx5_3: at most one ^ "
                      "(without these), then one = (whole names), then names with a port or without"
                    : "write interfaces as eth, =eth0,eth1, ^docker or ^=docker0: at most one ^ "
                      "(without these), then one = (whole names), then names of up to 15 "
                      "characters";
  }
  return "";
}

// The number of `name` in `settings`; absent if it is not set.
std::optional<int64_t> NumberOf(const std::map<std::string, std::string>& settings,
                                const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? std::nullopt : Integer(found->second);
}

}  // namespace

std::string WhyNoNcclValue(const NcclValues& values, std::string_view value) {
  const bool numbers =
      values.kind == NcclValues::Kind::kInteger || values.kind == NcclValues::Kind::kDistance;
  if (const std::optional<int64_t> number = Hexadecimal(value); numbers && number) {
    const std::string decimal = std::to_string(*number);
    const std::string why = WhyNoNcclValue(values, decimal);
    return why.empty() ? "write it in decimal, " + decimal +
                             ", for results are found by one spelling of each number"
                       : why;
  }
  switch (values.kind) {
    case NcclValues::Kind::kInteger:
      return WhyNoInteger(values, value);
    case NcclValues::Kind::kAlgorithms:
      return WhyNoSelection(kAlgorithms, value);
    case NcclValues::Kind::kProtocols:
      return WhyNoSelection(kProtocols, value);
    case NcclValues::Kind::kDistance:
      return WhyNoDistance(value);
    case NcclValues::Kind::kFamily:
      if (Has(kFamilies, value)) return "";
      return "write one of " + Listed(kFamilies) + ", in upper case; NCCL would ignore it";
    case NcclValues::Kind::kLaunchMode:
      if (HasIgnoringCase(kLaunchModes, value)) return "";
      return "write one of " + Listed(kLaunchModes) + "; NCCL would ignore it";
    case NcclValues::Kind::kInterfaces:
      return WhyNoNames(value, false);
    case NcclValues::Kind::kAdapters:
      return WhyNoNames(value, true);
    case NcclValues::Kind::kName:
      break;
  }
  if (IsName(value, kMostNameBytes)) return "";
  return "write one name, for example Socket or IB";
}

Status CheckNcclTogether(const std::map<std::string, std::string>& settings) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kRanges = {{
      {"NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS"},
      {"NCCL_MIN_P2P_NCHANNELS", "NCCL_MAX_P2P_NCHANNELS"},
      {"NCCL_MIN_CTAS", "NCCL_MAX_CTAS"},
  }};
  for (const auto& [least, most] : kRanges) {
    const std::optional<int64_t> from = NumberOf(settings, least);
    const std::optional<int64_t> to = NumberOf(settings, most);
    if (!from || !to || *from <= *to) continue;
    return InvalidArgument(std::string(least) + " is " + std::to_string(*from) + " and " + most +
                           " is " + std::to_string(*to) +
                           "; NCCL would leave one of them aside. Make the first at most the "
                           "second");
  }
  const std::optional<int64_t> threads = NumberOf(settings, "NCCL_SOCKET_NTHREADS");
  const std::optional<int64_t> sockets = NumberOf(settings, "NCCL_NSOCKS_PERTHREAD");
  if (threads && sockets && *sockets > 0 && *threads > kMostSockets / *sockets) {
    return InvalidArgument("NCCL_SOCKET_NTHREADS is " + std::to_string(*threads) +
                           " and NCCL_NSOCKS_PERTHREAD is " + std::to_string(*sockets) +
                           ", and NCCL would limit the second. Make their product at most " +
                           std::to_string(kMostSockets));
  }
  return Status::Ok();
}

}  // namespace assay
