// Text from anywhere, in bounds: lines, words and numbers with errors that name the line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace assay::imports {

// INVALID_ARGUMENT, "line 7: WHAT".
Status FaultAt(size_t line, const std::string& what);

// "result 3: WHAT", of a file without lines of its own.
Status FaultAt(const std::string& where, const std::string& what);

// `text` without the byte order mark that some editors put before UTF-8.
std::string_view WithoutByteOrderMark(std::string_view text);

// What was found, quoted, without control characters, and cut to a length that a message
// bears.
std::string Quoted(std::string_view text);

// The lines of `text` without their ends; line n is element n - 1. Refuses more than
// kMaxFileBytes or 200,000 lines, malformed UTF-8, and control characters but tabs.
Result<std::vector<std::string_view>> LinesOf(std::string_view text);

// `text` without spaces and tabs at its ends.
std::string_view Trimmed(std::string_view text);

// The words of `line`, of which there are at most `most`; one more says that there are
// more than that.
std::vector<std::string_view> WordsOf(std::string_view line, size_t most);

// A finite number from 0 to 1e15; `what` completes "line 7: WHAT is ...".
Result<double> NumberOf(std::string_view word, size_t line, const std::string& what);

// A number as it was printed, and how far it may be from what was meant: half of its last
// digit.
struct Printed {
  double value = 0;
  double error = 0;
};

// The same, with the error that its digits leave: 0.005 for "1.50", 5e5 for "1e+06".
Result<Printed> PrintedOf(std::string_view word, size_t line, const std::string& what);

inline constexpr int64_t kMaxInteger = int64_t{1} << 53;

// A whole number from `least` to `most`.
Result<int64_t> IntegerOf(std::string_view word, size_t line, const std::string& what,
                          int64_t least = 0, int64_t most = kMaxInteger);

// True for at least one digit and nothing else.
bool IsDigits(std::string_view word);

}  // namespace assay::imports
