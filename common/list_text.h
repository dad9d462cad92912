// Lists that a message can bear.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace assay {

// "a, b, c", and of more than `most` parts "a, b, c and 2 more". Never "and 1 more" of a part that
// is known, for its name needs no more room. `unnamed` further ones are counted alone.
std::string JoinSome(const std::vector<std::string>& parts, size_t most, size_t unnamed = 0);

// "rank 1", "ranks 0, 2, 3": of ranks' numbers, of which there is one at least; sixteen are named.
std::string RankList(const std::vector<std::string>& numbers);

// "rank 0, rank 2": where each may get its node behind it.
std::string EachRank(const std::set<int>& ranks);

}  // namespace assay
