// Text for messages: lists, quotations, plurals, similar names, UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Joins the elements of any range of strings: "a, b, c".
template <typename Parts = std::vector<std::string>>
std::string Join(const Parts& parts, std::string_view separator = ", ") {
  std::string text;
  bool first = true;
  for (const auto& part : parts) {
    if (!first) text += separator;
    first = false;
    text += part;
  }
  return text;
}

// Joins `parts` as "a, b, c". If there are more than `most` + 1 parts, lists only the first `most`
// and says how many more there are, as in "a, b and 5 more". This count includes `unnamed` items
// that are not in `parts`.
std::string JoinSome(const std::vector<std::string>& parts, size_t most = 10, size_t unnamed = 0);

// Returns "rank 1" or "ranks 0, 2, 3". Needs at least one number and names at most sixteen.
std::string RankList(const std::vector<std::string>& numbers);

// Returns "rank 0, rank 2", so that the caller can add the node of each rank.
std::string EachRank(const std::set<int>& ranks);

// Returns `one` if `count` is 1, otherwise `many`, which defaults to `one` with an "s" appended.
// For example, Plural(2, "node") is "nodes" and Plural(1, "is", "are") is "is".
std::string Plural(int64_t count, std::string_view one, std::string_view many = "");

// Returns the count with its noun: "1 node", "3 nodes".
std::string Counted(int64_t count, std::string_view one, std::string_view many = "");

// Cuts `text` to at most `most` bytes, between characters, and appends "..." if it was longer.
std::string Cut(std::string_view text, size_t most = 64);

// Returns `text` in double quotes, truncated to `most` bytes and made safe to print by Sanitize().
// Use this for text from users and other machines.
std::string Quote(std::string_view text, size_t most = 64);

// Returns the most similar of `names` by edit distance. Empty if none is close enough to suggest.
std::string ClosestName(std::string_view name, const std::vector<std::string>& names);

// Returns a hint for an error about the unknown name `name`: `did you mean "gemm"?` if one of
// `names` is similar, otherwise "use one of a, b, c".
std::string Suggest(std::string_view name, const std::vector<std::string>& names);

// Describes how values that should be equal differ, for example "NCCL is 2.28.9 on a, c and 2.27.3
// on b". For each distinct value, calls `say` with the positions of that value in `values`. `say`
// returns the text for that value, such as "2.28.9 on a, c". Returns "" if all values are equal.
std::string DifferenceText(
    const std::string& what, const std::vector<std::string>& values,
    const std::function<std::string(const std::string& value,
                                    const std::vector<size_t>& positions)>& say);

// Returns the text with ASCII letters in lower case.
std::string Lower(std::string_view text);

// Splits `text` at each separator into at most `most` pieces, with the rest of the text in the last
// piece. There is always at least one piece, and pieces may be empty.
std::vector<std::string_view> Split(std::string_view text, char separator, size_t most = SIZE_MAX);

// The first character of a text.
struct Utf8Character {
  char32_t code_point = 0;
  size_t bytes = 1;
  // False if the first byte does not begin a well-formed character.
  bool valid = false;
};

// Decodes the first character of `text`, which must not be empty.
Utf8Character DecodeUtf8(std::string_view text);

// Returns true if `text` is valid UTF-8 without control characters (C0, DEL, C1). Use this to check
// input, because Protobuf and PostgreSQL reject invalid UTF-8.
bool IsPlainText(std::string_view text);

// Makes `text` safe to print by replacing control characters and malformed UTF-8 with U+FFFD. Also
// replaces line separators and marks that change the text direction.
std::string Sanitize(std::string_view text);

}  // namespace assay
