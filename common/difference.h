// Of several that should say the same: who says what.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace assay {

// One of the differing texts and the positions of those that say it: "2.28.9 on a, c".
using TextOfSome =
    std::function<std::string(const std::string& text, const std::vector<size_t>& positions)>;

// "NCCL is 2.28.9 on a, c and 2.27.3 on b", in the order of the first of each; empty if all
// `texts` are the same.
std::string DifferenceText(const std::string& what, const std::vector<std::string>& texts,
                           const TextOfSome& say);

}  // namespace assay
