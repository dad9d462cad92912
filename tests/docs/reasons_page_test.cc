// docs/reference/failure-reasons.md: every reason with its class and meaning.
#include <gtest/gtest.h>

#include "tests/docs/page.h"
#include "wire/reasons.h"

namespace assay {
namespace {

using testing_support::CodeSpan;

std::string ClassWord(v1::FailureClass failure_class) {
  switch (failure_class) {
    case v1::FAILURE_CLASS_NODE:
      return "node";
    case v1::FAILURE_CLASS_JOB:
      return "job";
    case v1::FAILURE_CLASS_INFRASTRUCTURE:
      return "infrastructure";
    case v1::FAILURE_CLASS_USER:
      return "user";
    default:
      return "";
  }
}

TEST(ReasonsPage, ListsEveryReason) {
  std::vector<std::vector<std::string>> rows;
  for (const ReasonInfo& info : AllReasons()) {
    rows.push_back({CodeSpan(info.word), ClassWord(info.failure_class), std::string(info.meaning)});
  }
  EXPECT_BLOCK("docs/reference/failure-reasons.md", "reasons",
               testing_support::MarkdownTable({"reason", "class", "meaning"}, rows));
}

}  // namespace
}  // namespace assay
