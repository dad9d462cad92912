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

// "a, b, c": the elements of any range of strings.
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

// "a, b or c" if `last` is " or ".
std::string JoinLast(const std::vector<std::string>& parts, std::string_view last);

// "a, b, c" for up to `most` + 1 parts, else "a, b and 5 more". `unnamed` is the number of
// further parts whose names are unknown: they are only counted.
std::string JoinSome(const std::vector<std::string>& parts, size_t most = 10, size_t unnamed = 0);

// "rank 1", "ranks 0, 2, 3": at least one number; at most sixteen are named.
std::string RankList(const std::vector<std::string>& numbers);

// "rank 0, rank 2": a list to which the caller can add each rank's node.
std::string EachRank(const std::set<int>& ranks);

// The singular for a count of 1, else the plural, which is by default `one` with an s:
// Plural(2, "node") is "nodes", Plural(1, "is", "are") is "is".
std::string Plural(int64_t count, std::string_view one, std::string_view many = "");

// The count with its noun: "1 node", "3 nodes".
std::string Counted(int64_t count, std::string_view one, std::string_view many = "");

// At most `most` bytes of `text`, cut between characters; "..." marks a cut.
std::string Cut(std::string_view text, size_t most = 64);

// The text in double quotes, after Cut() and Sanitize(). For input from users and other machines.
std::string Quote(std::string_view text, size_t most = 64);

// The most similar of `names`, by edit distance; empty if none is close enough to suggest.
std::string ClosestName(std::string_view name, const std::vector<std::string>& names);

// The end of a message about an unknown name: `did you mean "gemm"?` if one of `names` is close,
// else "use one of a, b, c".
std::string Suggest(std::string_view name, const std::vector<std::string>& names);

// Describes values that should all be equal: "NCCL is 2.28.9 on a, c and 2.27.3 on b", in the
// order of their first positions. Empty if they are equal. `say` gets a value and the positions
// that have it, and returns "2.28.9 on a, c".
std::string DifferenceText(
    const std::string& what, const std::vector<std::string>& values,
    const std::function<std::string(const std::string& value,
                                    const std::vector<size_t>& positions)>& say);

// The text without ASCII white space at its ends.
std::string_view Trim(std::string_view text);

// The text with ASCII letters in lower case.
std::string Lower(std::string_view text);

// The pieces between separators: at least one, each possibly empty. The last of `most` pieces
// holds the rest of the text.
std::vector<std::string_view> Split(std::string_view text, char separator, size_t most = SIZE_MAX);

// The first character of a text.
struct Utf8Character {
  char32_t code_point = 0;
  size_t bytes = 1;
  // False: the first byte does not begin a well-formed character.
  bool valid = false;
};

// `text` must not be empty.
Utf8Character DecodeUtf8(std::string_view text);

// True if the text is UTF-8 without control characters (C0, DEL, C1). Protobuf and PostgreSQL
// accept only UTF-8.
bool IsPlainText(std::string_view text);

// The text with each control character and malformed byte replaced by U+FFFD, so that it is
// safe to print. Line separators and marks that reorder text count as control characters.
std::string Sanitize(std::string_view text);

}  // namespace assay
