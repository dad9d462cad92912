#include "cli/views/node_view.h"

#include <gmock/gmock.h>

namespace assay::cli {
namespace {

TEST(NodeTable, FindingsOfSeveralGpus_AreCounted) {
  v1::Node node;
  node.mutable_description()->set_name("node-a");
  for (const char* check : {"throttled_before", "disk_free", "throttled_before"}) {
    node.mutable_description()->add_health()->set_check(check);
  }
  EXPECT_THAT(NodeTable({node}).Render({}),
              testing::HasSubstr("  throttled_before x2, disk_free\n"));
}

}  // namespace
}  // namespace assay::cli
