// Small pieces of the messages that people read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::coordinator {

// "a, b, c".
std::string Join(const std::vector<std::string>& parts, std::string_view separator = ", ");

// Ten parts, or all eleven: "a, b, c and 5 more".
std::string JoinSome(const std::vector<std::string>& parts);

// What was found, cut to a length that a message bears.
std::string Cut(std::string_view text);

// "did you mean gemm?", or "there are gemm, all_reduce" if nothing is close.
std::string Suggest(std::string_view name, const std::vector<std::string>& names);

}  // namespace assay::coordinator
