// Errors as google.rpc.Status: what general clients read, and what ours reads back.
#include "wire/status_conversion.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "assay/v1/failure.pb.h"
#include "common/violations.h"
#include "google/rpc/error_details.pb.h"

namespace assay::rpc {
namespace {

// Returns the one detail of this type. Its type in the Any is what other languages look up.
template <typename Message>
Message DetailIn(const grpc::Status& status, const std::string& type) {
  v1::ErrorStatus sent;
  EXPECT_TRUE(sent.ParseFromString(status.error_details()));
  Message message;
  int found = 0;
  for (const google::protobuf::Any& detail : sent.details()) {
    if (detail.type_url() != "type.googleapis.com/" + type) continue;
    ++found;
    EXPECT_TRUE(message.ParseFromString(detail.value()));
  }
  EXPECT_EQ(found, 1) << type;
  return message;
}

TEST(StatusConversionTest, GeneralClientsReadCodeReasonHintAndFields) {
  const grpc::Status sent = ToGrpc(InvalidArgument("1 error", Reason::kInvalidCampaign)
                                       .WithHint("fix it")
                                       .WithViolations({{"benchmarks[0].m", "is -1", 7}}));
  v1::ErrorStatus status;
  ASSERT_TRUE(status.ParseFromString(sent.error_details()));
  EXPECT_EQ(status.code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  EXPECT_EQ(status.message(), "1 error");
  const auto info = DetailIn<google::rpc::ErrorInfo>(sent, "google.rpc.ErrorInfo");
  EXPECT_EQ(info.reason(), "INVALID_CAMPAIGN");
  EXPECT_EQ(info.domain(), "assay");
  EXPECT_EQ(info.metadata().at("hint"), "fix it");
  const auto bad = DetailIn<google::rpc::BadRequest>(sent, "google.rpc.BadRequest");
  ASSERT_EQ(bad.field_violations_size(), 1);
  EXPECT_EQ(bad.field_violations(0).field(), "benchmarks[0].m");
  EXPECT_EQ(bad.field_violations(0).description(), "is -1");
  const auto detail = DetailIn<v1::ErrorDetail>(sent, "assay.v1.ErrorDetail");
  EXPECT_EQ(detail.violations(0).line(), 7);
}

TEST(StatusConversionTest, OurClientReadsEverythingBack) {
  const Status status = FailedPrecondition("no", Reason::kNodesAbsent)
                            .WithHint("wait")
                            .WithViolations({{"nodes", "g31 is absent", 3}});
  const Status back = FromGrpc(ToGrpc(status));
  EXPECT_EQ(back.code(), Code::kFailedPrecondition);
  EXPECT_EQ(back.reason(), Reason::kNodesAbsent);
  EXPECT_EQ(back.message(), "no");
  EXPECT_EQ(back.hint(), "wait");
  ASSERT_EQ(back.violations().size(), 1u);
  EXPECT_EQ(back.violations()[0].field, "nodes");
  EXPECT_EQ(back.violations()[0].line, 3);
}

TEST(StatusConversionTest, ForeignDetailsAreIgnored) {
  const grpc::Status foreign(grpc::StatusCode::UNAVAILABLE, "away", "\xff not a message");
  EXPECT_EQ(FromGrpc(foreign).reason(), Reason::kNone);
  EXPECT_EQ(FromGrpc(foreign).message(), "away");
}

// Clients accept trailers of 8 KiB. Base64 makes the details a third longer.
TEST(StatusConversionTest, LongTextsFitTheTrailer_EveryListEndsWithTheNote) {
  for (const std::string& text :
       {std::string(30, 'x'), std::string(3000, 'x'), std::string(3000, '%')}) {
    std::vector<Violation> violations(200, {"benchmarks[0]", text, 1});
    const grpc::Status sent =
        ToGrpc(InvalidArgument(text).WithHint(text).WithViolations(std::move(violations)));
    EXPECT_LE(sent.error_details().size(), 5'100u);
    const auto bad = DetailIn<google::rpc::BadRequest>(sent, "google.rpc.BadRequest");
    EXPECT_EQ(bad.field_violations().rbegin()->description(), kMoreErrors);
    EXPECT_EQ(FromGrpc(sent).violations().back().description, kMoreErrors);
  }
}

// Clients such as grpcurl resolve the types of details by reflection, which knows what is linked.
TEST(StatusConversionTest, DetailsAreKnownToReflection) {
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  for (const char* name :
       {"google.rpc.ErrorInfo", "google.rpc.BadRequest", "assay.v1.ErrorDetail"}) {
    EXPECT_NE(pool->FindMessageTypeByName(name), nullptr) << name;
  }
}

}  // namespace
}  // namespace assay::rpc
