// docs/reference/roles.md: who may call what.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/docs/page.h"
#include "wire/roles.h"

namespace assay {
namespace {

TEST(RolesPage, ListsEveryMethod) {
  const auto cell = [](bool allowed) { return std::string(allowed ? "yes" : ""); };
  std::vector<std::vector<std::string>> rows;
  for (const MethodAccess& access : AccessTable()) {
    const std::string method(access.method.substr(1));
    rows.push_back(
        {testing_support::CodeSpan(method),
         access.least_user == Role::kNone ? "" : std::string(RoleName(access.least_user)),
         cell(access.node), cell(access.coordinator)});
  }
  EXPECT_BLOCK("docs/reference/roles.md", "roles",
               testing_support::MarkdownTable(
                   {"method", "least role of users", "node", "coordinator"}, rows));
}

}  // namespace
}  // namespace assay
