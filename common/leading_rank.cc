#include "common/leading_rank.h"

#include <charconv>

namespace assay {

std::optional<LeadingRank> LeadingRankOf(std::string_view message) {
  constexpr std::string_view kRank = "rank ";
  if (!message.starts_with(kRank)) return std::nullopt;
  int rank = 0;
  const char* const end = message.data() + message.size();
  const auto [rest, error] = std::from_chars(message.data() + kRank.size(), end, rank);
  if (error != std::errc() || rank < 0) return std::nullopt;
  return LeadingRank{rank, static_cast<size_t>(rest - message.data())};
}

std::optional<LeadingRank> ErringRankOf(std::string_view message) {
  const std::optional<LeadingRank> leading = LeadingRankOf(message);
  return leading && message.substr(leading->end).starts_with(": ") ? leading : std::nullopt;
}

}  // namespace assay
