#include "cli/imports/checked_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "common/utf8.h"
#include "cli/imports/imports.h"

namespace assay::imports {
namespace {

constexpr size_t kMaxLines = 200'000;
constexpr double kMaxNumber = 1e15;
constexpr int kMostExponent = 300;

bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Tabs stand in the output of these programs, other control characters do not.
bool IsPlainLine(std::string_view line) {
  while (!line.empty()) {
    const size_t tab = std::min(line.find('\t'), line.size());
    if (tab > 0 && !IsPlainText(line.substr(0, tab))) return false;
    line.remove_prefix(std::min(tab + 1, line.size()));
  }
  return true;
}

// "byte 0x1b (a control character)": the first of `line` that is no plain text.
std::string FirstOddByte(std::string_view line) {
  size_t bytes = Utf8Bytes(line);
  while (bytes > 0 && IsPlainLine(line.substr(0, bytes))) {
    line.remove_prefix(bytes);
    bytes = Utf8Bytes(line);
  }
  std::array<char, 8> hex{};
  std::snprintf(hex.data(), hex.size(), "0x%02x", static_cast<unsigned char>(line.front()));
  return "byte " + std::string(hex.data()) + (bytes > 0 ? " (a control character)" : "");
}

// What a file is that begins with bytes that no text begins with, and what to do about it.
struct Wrapping {
  std::string_view begin;
  const char* name;
  const char* hint;
};

constexpr std::array<Wrapping, 6> kWrappings = {{
    {"\x1f\x8b", "compressed by gzip", "unpack it first: gunzip FILE"},
    {"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it first: unzstd FILE"},
    {"\xfd\x37zXZ", "compressed by xz", "unpack it first: unxz FILE"},
    {"BZh91AY&SY", "compressed by bzip2", "unpack it first: bunzip2 FILE"},
    {"\xff\xfe", "UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE"},
    {"\xfe\xff", "UTF-16", "convert it first: iconv -f UTF-16 -t UTF-8 FILE"},
}};

// The fault of a line that is no plain text, `number` lines into `file`.
Status NotText(std::string_view file, std::string_view line, size_t number) {
  const std::string expected = "; expected text in UTF-8 without control characters";
  for (const Wrapping& one : kWrappings) {
    if (!file.starts_with(one.begin)) continue;
    return InvalidArgument("the file is " + std::string(one.name) + expected, "BAD_FILE")
        .WithHint(one.hint);
  }
  return FaultAt(number, FirstOddByte(line) + expected);
}

}  // namespace

Status FaultAt(size_t line, const std::string& what) {
  return FaultAt("line " + std::to_string(line), what);
}

Status FaultAt(const std::string& where, const std::string& what) {
  return InvalidArgument(where + ": " + what, "BAD_FILE");
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 60;
  std::string quoted = "\"";
  while (!text.empty() && quoted.size() <= kMost) {
    const std::string_view character = text.substr(0, std::max<size_t>(Utf8Bytes(text), 1));
    // Escapes of JSON bring in what LinesOf keeps out.
    quoted += IsPlainText(character) ? character : "?";
    text.remove_prefix(character.size());
  }
  return quoted + (text.empty() ? "\"" : "...\"");
}

Result<std::vector<std::string_view>> LinesOf(std::string_view text) {
  if (text.size() > kMaxFileBytes) {
    return InvalidArgument("the file has more than " + std::to_string(kMaxFileBytes >> 20) +
                               " MiB, the most that an import reads",
                           "BAD_FILE");
  }
  const std::string_view file = text;
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (lines.size() == kMaxLines) {
      return FaultAt(kMaxLines + 1, "the file has more than " + std::to_string(kMaxLines) +
                                        " lines, the most that an import reads");
    }
    lines.push_back(line);
    if (!IsPlainLine(line)) return NotText(file, line, lines.size());
  }
  return lines;
}

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> WordsOf(std::string_view line, size_t most) {
  std::vector<std::string_view> words;
  for (line = Trimmed(line); !line.empty() && words.size() <= most; line = Trimmed(line)) {
    const auto* const end = std::find_if(line.begin(), line.end(), IsBlank);
    words.push_back(line.substr(0, static_cast<size_t>(end - line.begin())));
    line.remove_prefix(words.back().size());
  }
  return words;
}

Result<double> NumberOf(std::string_view word, size_t line, const std::string& what) {
  double number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number) || number < 0 ||
      number > kMaxNumber) {
    return FaultAt(line, what + " is " + Quoted(word) + "; expected a number from 0 to 1e15");
  }
  return number;
}

Result<Printed> PrintedOf(std::string_view word, size_t line, const std::string& what) {
  Printed printed;
  ASSAY_ASSIGN_OR_RETURN(printed.value, NumberOf(word, line, what));
  const size_t mantissa = std::min(word.find_first_of("eE"), word.size());
  int exponent = 0;
  if (mantissa < word.size()) {
    std::string_view digits = word.substr(mantissa + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto error = std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec;
    // Of a zero any exponent is a number; its rounding would be none.
    if (error != std::errc() || std::abs(exponent) > kMostExponent) {
      return FaultAt(line, what + " is " + Quoted(word) + "; expected a number from 0 to 1e15");
    }
  }
  const size_t point = std::min(word.find('.'), mantissa);
  const auto decimals = static_cast<int>(mantissa - std::min(point + 1, mantissa));
  printed.error = 0.5 * std::pow(10.0, exponent - decimals);
  return printed;
}

Result<int64_t> IntegerOf(std::string_view word, size_t line, const std::string& what,
                          int64_t least, int64_t most) {
  int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || number < least || number > most) {
    return FaultAt(line, what + " is " + Quoted(word) + "; expected a whole number from " +
                             std::to_string(least) + " to " +
                             (most == kMaxInteger ? "2^53" : std::to_string(most)));
  }
  return number;
}

bool IsDigits(std::string_view word) {
  return !word.empty() &&
         std::all_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace assay::imports
