#include "wire/bounds.h"

#include <gtest/gtest.h>

#include <string>

#include "assay/v1/campaign_service.pb.h"
#include "assay/v1/session.pb.h"

namespace assay::schema {
namespace {

// Returns the path of the field that CheckBounds refuses; "ok" if it refuses none.
std::string Refused(const google::protobuf::Message& message) {
  const Status status = CheckBounds(message, Reason::kInvalidHello);
  if (status.ok()) return "ok";
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.reason(), Reason::kInvalidHello);
  return status.violations().at(0).field;
}

TEST(CheckBounds, NamesTheFieldBeyondItsBound) {
  v1::Hello hello;
  v1::NodeDescription& node = *hello.mutable_node();
  node.mutable_inventory()->set_os(std::string(1024, 'x'));
  (*node.mutable_labels())["rack"] = std::string(256, '7');
  EXPECT_EQ(Refused(hello), "ok");
  node.mutable_inventory()->set_os(std::string(1025, 'x'));
  EXPECT_EQ(Refused(hello), "node.inventory.os");
  node.clear_inventory();
  (*node.mutable_labels())["rack"] = std::string(257, '7');
  EXPECT_EQ(Refused(hello), "node.labels[0].value");
  node.clear_labels();
  for (int i = 0; i < 65; ++i) (*node.mutable_labels())[std::to_string(i)] = "";
  EXPECT_EQ(Refused(hello), "node.labels");
}

TEST(CheckBounds, HelloOfManySmallTexts_IsRefusedAsAWhole) {
  v1::AgentMessage message;
  v1::NodeDescription& node = *message.mutable_hello()->mutable_node();
  for (int i = 0; i < 100; ++i) node.add_health()->set_message(std::string(4096, 'x'));
  EXPECT_EQ(Refused(message), "hello");
}

TEST(CheckBounds, ResultIsBoundedAsAWholeToo) {
  v1::CaseResult result;
  for (int i = 0; i < 200; ++i) result.add_kernels(std::string(16 << 10, 'k'));
  EXPECT_EQ(Refused(result), "ok");
  for (int i = 0; i < 100; ++i) result.add_kernels(std::string(16 << 10, 'k'));
  EXPECT_EQ(Refused(result), "CaseResult");
}

TEST(CutToBounds, KeepsTheBeginningOfTextsAndLists) {
  v1::JobFinished finished;
  v1::Failure& failure = *finished.mutable_failure();
  failure.set_message(std::string(1 << 20, 'm'));
  failure.set_evidence("begin" + std::string(16 << 20, 'e'));
  for (int i = 0; i < 10'000; ++i) failure.mutable_peer_loss()->add_silent_ranks(i);
  CutToBounds(finished);
  EXPECT_EQ(Refused(finished), "ok");
  EXPECT_EQ(failure.message().size(), 8u << 10);
  EXPECT_EQ(failure.evidence().size(), 64u << 10);
  EXPECT_TRUE(failure.evidence().starts_with("begin"));
  EXPECT_EQ(failure.peer_loss().silent_ranks_size(), 4096);
}

TEST(CutToBounds, LeavesWhatIsWithinBounds) {
  v1::JobFinished finished;
  finished.mutable_failure()->set_message("out of memory");
  const std::string before = finished.SerializeAsString();
  CutToBounds(finished);
  EXPECT_EQ(finished.SerializeAsString(), before);
}

TEST(IsNodeName, TakesPrintableAsciiOnly) {
  for (const char* name : {"a", "node-7.rack 3 (old)", "~"}) EXPECT_TRUE(IsNodeName(name)) << name;
  EXPECT_TRUE(IsNodeName(std::string(200, 'n')));
  for (const char* name : {"", " a", "a ", "a\nb", "a\x7f", "honest\u200b", "\u202ea", "a\u009b",
                           "h\u043enest", "\xff"}) {
    EXPECT_FALSE(IsNodeName(name)) << name;
  }
  EXPECT_FALSE(IsNodeName(std::string(201, 'n')));
}

}  // namespace
}  // namespace assay::schema
