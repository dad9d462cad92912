// docs/reference/result-marks.md: every letter under FLAGS.
#include <gtest/gtest.h>

#include <algorithm>

#include "cli/views/result_marks.h"
#include "tests/docs/page.h"
#include "wire/result_flags.h"

namespace assay {
namespace {

using schema::kOtherDoubts;
using schema::kResultFlags;
using testing_support::CodeSpan;

// Returns a filter for results with the mark; empty if there is no such filter.
std::string FilterOf(std::string_view flag) {
  if (std::find(kResultFlags.begin(), kResultFlags.end(), flag) != kResultFlags.end()) {
    return "flag = " + std::string(flag);
  }
  const auto other = std::find_if(kOtherDoubts.begin(), kOtherDoubts.end(),
                                  [flag](const auto& doubt) { return doubt.first == flag; });
  return other == kOtherDoubts.end() ? "" : std::string(other->second);
}

TEST(MarksPage, ListsEveryMark) {
  std::vector<std::vector<std::string>> rows;
  for (const cli::Mark& mark : cli::AllMarks()) {
    rows.push_back({CodeSpan(std::string(1, mark.letter)), CodeSpan(mark.flag),
                    std::string(mark.meaning), CodeSpan(FilterOf(mark.flag))});
  }
  EXPECT_BLOCK("docs/reference/result-marks.md", "marks",
               testing_support::MarkdownTable({"mark", "word", "meaning", "filter"}, rows));
}

TEST(MarksPage, EveryFlagOfAResultHasAMark) {
  for (const std::string_view flag : kResultFlags) {
    EXPECT_TRUE(std::any_of(cli::AllMarks().begin(), cli::AllMarks().end(),
                            [flag](const cli::Mark& mark) { return mark.flag == flag; }))
        << flag;
  }
}

}  // namespace
}  // namespace assay
