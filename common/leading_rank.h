// Errors of gangs begin with the rank that they are about.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

// The rank with which a message begins.
struct LeadingRank {
  int rank = 0;
  size_t end = 0;  // Of its number, in the message.
};

// Parses the rank at the start of "rank 2: out of memory" or "rank 2 has not answered". Returns
// nothing for other messages.
std::optional<LeadingRank> LeadingRankOf(std::string_view message);

// The same of "rank 2: out of memory" alone: an error of the rank itself, in its own words.
std::optional<LeadingRank> ErringRankOf(std::string_view message);

}  // namespace assay
