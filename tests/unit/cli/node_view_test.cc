#include "cli/views/node_view.h"

#include <gtest/gtest.h>

#include "tests/wording.h"

namespace assay::cli {
namespace {

TEST(NodeTable, FindingsOfSeveralGpus_AreCounted) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  for (const char* check : {"throttled_before", "disk_free", "throttled_before"}) {
    node.mutable_description()->add_health()->set_check(check);
  }
  EXPECT_WORDING("views/node-health", NodeTable({node}).Render({}));
}

}  // namespace
}  // namespace assay::cli
