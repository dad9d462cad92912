// docs/reference/filter-fields.md: the fields of results and nodes.
#include <gtest/gtest.h>

#include "coordinator/core/placement/node_fields.h"
#include "tests/docs/page.h"
#include "wire/result_fields.h"

namespace assay {
namespace {

constexpr char kPage[] = "docs/reference/filter-fields.md";

TEST(FilterPage, ListsEveryFieldOfResults) {
  EXPECT_BLOCK(kPage, "results", schema::FieldReference(schema::ResultFields()));
}

TEST(FilterPage, ListsEveryFieldOfNodes) {
  EXPECT_BLOCK(kPage, "nodes", schema::FieldReference(coordinator::NodeFields()));
}

}  // namespace
}  // namespace assay
