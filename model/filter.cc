#include "model/filter.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

#include "common/text.h"

namespace assay {
namespace {

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool EndsWord(char c) {
  return IsSpace(c) || c == '(' || c == ')' || c == '"' || c == '\'' || c == '=' || c == '!' ||
         c == '<' || c == '>' || c == ',';
}

// Returns the length in bytes of the first UTF-8 character of `text`, or 0 if the character is
// malformed or a control character.
size_t CharacterBytes(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if ((lead < 0x20 || lead == 0x7f) && !IsSpace(text[0])) return 0;
  const Utf8Character character = DecodeUtf8(text);
  return character.valid ? character.bytes : 0;
}

// A recursive-descent parser for filters. As in AIP-160, OR binds tighter than AND. The grammar is:
//   expression = sequence {"AND" sequence};  sequence = factor {factor}
//   factor = term {"OR" term};  term = ["NOT" | "-"] simple
//   simple = "(" expression ")" | field comparator value | field "in" "(" value {"," value} ")"
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Filter> Parse() {
    ASSAY_RETURN_IF_ERROR(CheckCharacters());
    SkipSpace();
    if (AtEnd()) return Filter{};
    ASSAY_ASSIGN_OR_RETURN(Filter filter, ParseExpression(1));
    if (!AtEnd()) return Unexpected("AND, OR, another condition or the end");
    return filter;
  }

 private:
  bool AtEnd() const { return position_ >= text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[position_]; }
  void SkipSpace() {
    while (!AtEnd() && IsSpace(text_[position_])) ++position_;
  }

  Status Error(size_t position, const std::string& what) const {
    size_t character = 1;
    for (size_t i = 0; i < position; ++i) {
      if ((static_cast<unsigned char>(text_[i]) & 0xc0) != 0x80) ++character;
    }
    return InvalidArgument("filter, character " + std::to_string(character) + ": " + what,
                           Reason::kBadFilter);
  }

  Status Unexpected(const std::string& expected) const {
    if (AtEnd()) return Error(position_, "expected " + expected + ", found the end");
    size_t end = position_;
    while (end < text_.size() && end - position_ < 40 && !EndsWord(text_[end])) {
      end += CharacterBytes(text_.substr(end));
    }
    if (end == position_) ++end;
    const std::string found(text_.substr(position_, end - position_));
    return Error(position_, "expected " + expected + ", found `" + found + "`");
  }

  Status CheckCharacters() const {
    if (text_.size() > kMaxFilterBytes) {
      return InvalidArgument("the filter has " + std::to_string(text_.size()) + " bytes; at most " +
                                 std::to_string(kMaxFilterBytes) + " are allowed",
                             Reason::kBadFilter);
    }
    for (size_t i = 0; i < text_.size();) {
      const size_t bytes = CharacterBytes(text_.substr(i));
      if (bytes == 0) return Error(i, "a control character or text that is not UTF-8");
      i += bytes;
    }
    return Status::Ok();
  }

  // Skips `keyword` if the text continues with it as a whole word. Returns true if it did.
  bool TakeKeyword(std::string_view keyword) {
    if (text_.substr(position_, keyword.size()) != keyword) return false;
    const size_t end = position_ + keyword.size();
    if (end < text_.size() && !EndsWord(text_[end])) return false;
    position_ = end;
    SkipSpace();
    return true;
  }

  bool AtKeyword(std::string_view keyword) {
    const size_t before = position_;
    const bool there = TakeKeyword(keyword);
    position_ = before;
    return there;
  }

  static Filter Combine(Filter::Kind kind, std::vector<Filter> children) {
    if (children.size() == 1) return std::move(children.front());
    Filter filter;
    filter.kind = kind;
    filter.children = std::move(children);
    return filter;
  }

  Result<Filter> ParseExpression(int depth) {
    if (depth > kMaxFilterDepth) {
      return Error(position_, "nested deeper than " + std::to_string(kMaxFilterDepth) + " levels");
    }
    std::vector<Filter> children;
    while (true) {
      ASSAY_ASSIGN_OR_RETURN(Filter child, ParseFactor(depth));
      children.push_back(std::move(child));
      const bool joined = TakeKeyword("AND");
      if (!joined && (AtEnd() || Peek() == ')')) break;
    }
    return Combine(Filter::Kind::kAnd, std::move(children));
  }

  Result<Filter> ParseFactor(int depth) {
    std::vector<Filter> children;
    do {
      ASSAY_ASSIGN_OR_RETURN(Filter child, ParseTerm(depth));
      children.push_back(std::move(child));
    } while (TakeKeyword("OR"));
    return Combine(Filter::Kind::kOr, std::move(children));
  }

  Result<Filter> ParseTerm(int depth) {
    bool negated = TakeKeyword("NOT");
    if (!negated && Peek() == '-') {
      negated = true;
      ++position_;
      SkipSpace();
    }
    ASSAY_ASSIGN_OR_RETURN(Filter simple, ParseSimple(depth));
    if (!negated) return simple;
    Filter filter;
    filter.kind = Filter::Kind::kNot;
    filter.children.push_back(std::move(simple));
    return filter;
  }

  Result<Filter> ParseSimple(int depth) {
    if (Peek() != '(') return ParseRestriction();
    ++position_;
    SkipSpace();
    ASSAY_ASSIGN_OR_RETURN(Filter inner, ParseExpression(depth + 1));
    if (Peek() != ')') return Unexpected("AND, OR or `)`");
    ++position_;
    SkipSpace();
    return inner;
  }

  Result<Filter> ParseRestriction() {
    Filter filter;
    filter.kind = Filter::Kind::kRestriction;
    if (AtEnd() || !IsLetter(Peek()) || AtKeyword("AND") || AtKeyword("OR") || AtKeyword("NOT")) {
      return Unexpected("a field, NOT or `(`");
    }
    while (!AtEnd() && (IsLetter(Peek()) || IsDigit(Peek()) || Peek() == '.' || Peek() == '-')) {
      const char c = Peek();
      filter.field.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
      ++position_;
    }
    SkipSpace();
    if (TakeKeyword("in") || TakeKeyword("IN")) return ParseList(filter);
    const std::optional<Comparator> comparator = TakeComparator();
    if (!comparator) return Unexpected("one of = != < <= > >= : in after `" + filter.field + "`");
    filter.comparator = *comparator;
    SkipSpace();
    ASSAY_ASSIGN_OR_RETURN(filter.value, ParseValue());
    SkipSpace();
    return filter;
  }

  // Parses the value list of `field in (a, b)` and returns the equivalent `field = a OR field = b`,
  // so that neither the evaluator nor the SQL generator needs to support lists.
  Result<Filter> ParseList(const Filter& restriction) {
    if (Peek() != '(') return Unexpected("`(` after in");
    std::vector<Filter> children;
    do {
      ++position_;  // "(" or ","
      SkipSpace();
      Filter child = restriction;
      ASSAY_ASSIGN_OR_RETURN(child.value, ParseWordOrQuoted());
      SkipSpace();
      children.push_back(std::move(child));
    } while (Peek() == ',');
    if (Peek() != ')') return Unexpected("`,` or `)`");
    ++position_;
    SkipSpace();
    return Combine(Filter::Kind::kOr, std::move(children));
  }

  std::optional<Comparator> TakeComparator() {
    static constexpr std::pair<std::string_view, Comparator> kComparators[] = {
        {"!=", Comparator::kNotEqual},
        {"<=", Comparator::kLessOrEqual},
        {">=", Comparator::kGreaterOrEqual},
        {"=", Comparator::kEqual},
        {"<", Comparator::kLess},
        {">", Comparator::kGreater},
        {":", Comparator::kHas}};
    for (const auto& [sign, comparator] : kComparators) {
      if (text_.substr(position_, sign.size()) != sign) continue;
      position_ += sign.size();
      return comparator;
    }
    return std::nullopt;
  }

  Result<std::string> ParseValue() {
    const size_t begin = position_;
    const bool quoted = Peek() == '"' || Peek() == '\'';
    ASSAY_ASSIGN_OR_RETURN(std::string value, ParseWordOrQuoted());
    if (!quoted && (Peek() == ',' || Peek() == '=')) return UnquotedList(begin);
    return value;
  }

  Result<std::string> ParseWordOrQuoted() {
    if (Peek() == '"' || Peek() == '\'') return ParseQuoted();
    const size_t begin = position_;
    SkipWord();
    const std::string word(text_.substr(begin, position_ - begin));
    if (word.empty() || word == "AND" || word == "OR" || word == "NOT") {
      position_ = begin;
      return Unexpected("a value");
    }
    return word;
  }

  void SkipWord() {
    while (!AtEnd() && !EndsWord(Peek())) ++position_;
  }

  // Returns the error for the value at position `begin`, such as Ring,Tree or ^=eth0, which must be
  // quoted because it contains "," or "=". The error's hint shows the quoted value.
  Status UnquotedList(size_t begin) {
    const Status found = Unexpected("AND, OR, another condition or the end");
    while (Peek() == ',' || Peek() == '=') {
      ++position_;
      SkipWord();
    }
    const std::string list(text_.substr(begin, std::min<size_t>(position_ - begin, 80)));
    return found.WithHint("a value with , or = goes in quotes: \"" + list + "\"");
  }

  // Parses a quoted string, in which a backslash escapes a quote or a backslash.
  Result<std::string> ParseQuoted() {
    const size_t begin = position_;
    const char quote = text_[position_++];
    std::string value;
    while (!AtEnd() && Peek() != quote) {
      if (Peek() == '\\') ++position_;
      if (AtEnd()) break;
      value.push_back(text_[position_++]);
    }
    if (AtEnd()) return Error(begin, "the quote that begins here is never closed");
    ++position_;
    return value;
  }

  std::string_view text_;
  size_t position_ = 0;
};

// Reads a decimal number of bounded length: [sign] digits [. digits] [e exponent].
std::optional<double> AsNumber(std::string_view text) {
  if (text.size() > 80) return std::nullopt;
  if (text.starts_with('+')) text.remove_prefix(1);
  const std::string_view unsigned_text = text.starts_with('-') ? text.substr(1) : text;
  if (unsigned_text.empty() || !IsDigit(unsigned_text[0]) || text.ends_with('.')) {
    return std::nullopt;
  }
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Returns the numbers of a version such as "580.95", or nullopt if `text` is not a version.
std::optional<std::vector<int64_t>> AsVersion(std::string_view text) {
  std::vector<int64_t> parts;
  while (true) {
    const size_t end = std::min(text.find('.'), text.size());
    int64_t part = 0;
    if (end == 0 || end > 18) return std::nullopt;
    for (char c : text.substr(0, end)) {
      if (!IsDigit(c)) return std::nullopt;
      part = part * 10 + (c - '0');
    }
    parts.push_back(part);
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

template <typename T>
int Order(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

bool EqualsPattern(std::string_view text, std::string_view pattern) {
  const bool prefix = pattern.ends_with('*');
  const bool suffix = pattern.starts_with('*');
  if (!prefix && !suffix) return CompareValues(text, pattern) == 0;
  if (pattern.size() == 1) return true;
  if (prefix && suffix) {
    return text.find(pattern.substr(1, pattern.size() - 2)) != std::string_view::npos;
  }
  return prefix ? text.starts_with(pattern.substr(0, pattern.size() - 1))
                : text.ends_with(pattern.substr(1));
}

bool HoldsInOrder(std::string_view text, const Filter& restriction) {
  const std::string_view value = restriction.value;
  const std::optional<int> order =
      restriction.numbers_only ? CompareNumbers(text, value) : CompareValues(text, value);
  if (!order) return false;
  switch (restriction.comparator) {
    case Comparator::kLess:
      return *order < 0;
    case Comparator::kLessOrEqual:
      return *order <= 0;
    case Comparator::kGreater:
      return *order > 0;
    default:
      return *order >= 0;
  }
}

bool Holds(std::string_view text, const Filter& restriction) {
  const std::string_view value = restriction.value;
  switch (restriction.comparator) {
    case Comparator::kEqual:
    case Comparator::kNotEqual:
      return EqualsPattern(text, value);
    case Comparator::kHas:
      return value == "*" || text.find(value) != std::string_view::npos;
    default:
      return HoldsInOrder(text, restriction);
  }
}

}  // namespace

Result<Filter> ParseFilter(std::string_view text) { return Parser(text).Parse(); }

bool Mentions(const Filter& filter, std::string_view field) {
  if (filter.kind == Filter::Kind::kRestriction) return filter.field == field;
  return std::any_of(filter.children.begin(), filter.children.end(),
                     [&](const Filter& child) { return Mentions(child, field); });
}

Result<bool> Matches(const Filter& filter, const FieldLookup& lookup) {
  if (filter.kind == Filter::Kind::kAll) return true;
  if (filter.kind == Filter::Kind::kRestriction) {
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> values, lookup(filter.field));
    const bool any = std::any_of(values.begin(), values.end(),
                                 [&](const std::string& value) { return Holds(value, filter); });
    return any != (filter.comparator == Comparator::kNotEqual);
  }
  // Evaluate every child, even once the result is known, so that an unknown field is always an
  // error.
  size_t held = 0;
  for (const Filter& child : filter.children) {
    ASSAY_ASSIGN_OR_RETURN(const bool holds, Matches(child, lookup));
    held += holds ? 1 : 0;
  }
  if (filter.kind == Filter::Kind::kAnd) return held == filter.children.size();
  if (filter.kind == Filter::Kind::kOr) return held > 0;
  return held == 0;
}

std::optional<int> CompareNumbers(std::string_view a, std::string_view b) {
  const auto version_a = AsVersion(a);
  const auto version_b = AsVersion(b);
  if (version_a && version_b) return Order(*version_a, *version_b);
  const auto number_a = AsNumber(a);
  const auto number_b = AsNumber(b);
  if (number_a && number_b) return Order(*number_a, *number_b);
  return std::nullopt;
}

int CompareValues(std::string_view a, std::string_view b) {
  return CompareNumbers(a, b).value_or(Order(a.compare(b), 0));
}

std::string FilterNumber(double number) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.17e", number);
  return text;
}

}  // namespace assay
