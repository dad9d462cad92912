// docs/reference/failure-reasons.md: what follows from each class of failure, and every reason with
// its class and meaning.
#include <gtest/gtest.h>

#include "coordinator/core/attempts/retry_policy.h"
#include "tests/docs/page.h"
#include "wire/reasons.h"

namespace assay {
namespace {

using coordinator::Budget;
using coordinator::RetryRule;
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

std::string Spends(Budget budget) {
  switch (budget) {
    case Budget::kRetries:
      return "one of the campaign's `retries`";
    case Budget::kInfrastructure:
      return "one of " + std::to_string(coordinator::kInfrastructureRetries) +
             " that each job has besides";
    case Budget::kNone:
      break;
  }
  return "nothing: there is no retry";
}

TEST(ReasonsPage, SaysWhatFollowsFromEachClass) {
  std::vector<std::vector<std::string>> rows;
  for (const RetryRule& rule : coordinator::RetryRules()) {
    rows.push_back({ClassWord(rule.failure_class), Spends(rule.budget), rule.next, rule.action});
  }
  EXPECT_BLOCK("docs/reference/failure-reasons.md", "retries",
               testing_support::MarkdownTable(
                   {"class", "a retry spends", "the job", "the user"}, rows));
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
