// nvbandwidth's text and JSON as results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "imports/imports.h"
#include "tests/unit/imports/files.h"

namespace assay::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string Refusal(const std::string& text) {
  const auto read = ReadNvbandwidth(text, {});
  if (read.ok()) return "taken";
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
  return read.status().message() + read.status().hint();
}

// "peer_transfer 0>1 read unidirectional copy bandwidth 391.1".
std::string Summary(const v1::CaseResult& result) {
  const auto of = [&](const char* name) {
    const auto found = result.parameters().find(name);
    return found == result.parameters().end() ? std::string("-") : found->second;
  };
  std::string text = result.benchmark();
  text +=
      result.parameters().contains("from") ? " " + of("from") + ">" + of("to") : " gpu" + of("gpu");
  text += " " + of("mode") + " " + of("direction") + " " + of("engine");
  std::ostringstream number;
  number << result.measurements(0).median();
  return text + " " + result.measurements(0).metric() + " " + number.str();
}

std::vector<std::string> Summaries(const Imported& imported) {
  std::vector<std::string> all;
  for (const v1::CaseResult& result : imported.results) all.push_back(Summary(result));
  return all;
}

TEST(NvbandwidthTest, TextBecomesResults) {
  const auto read = ReadNvbandwidth(kNvbandwidthText, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->provenance.imported_from(), "nvbandwidth 0.8");
  EXPECT_EQ(read->environment.gpu_model(), "H200");
  EXPECT_EQ(read->environment.gpu_count(), 2);
  EXPECT_EQ(read->environment.driver_version(), "570.124.06");
  EXPECT_EQ(read->environment.software().cuda_runtime(), "12.8");
  // A read test copies from the column's GPU to the row's, a write test the other way.
  EXPECT_THAT(Summaries(*read),
              ElementsAre("host_transfer gpu0 - h2d copy bandwidth 55.3",
                          "host_transfer gpu1 - h2d copy bandwidth 55.31",
                          "peer_transfer 1>0 read unidirectional copy bandwidth 391.1",
                          "peer_transfer 0>1 read unidirectional copy bandwidth 392.2",
                          "peer_transfer 0>1 write bidirectional sm bandwidth 380",
                          "peer_transfer 1>0 write bidirectional sm bandwidth 381",
                          "peer_transfer 0>1 write bidirectional sm bandwidth 370",
                          "peer_transfer 1>0 write bidirectional sm bandwidth 371",
                          "peer_transfer 0>1 write bidirectional sm bandwidth 750",
                          "peer_transfer 1>0 write bidirectional sm bandwidth 752",
                          "host_transfer gpu0 - - sm latency 0.65",
                          "host_transfer gpu1 - - sm latency 0.66"));
  EXPECT_EQ(read->results[9].parameters().at("test"),
            "device_to_device_bidirectional_memcpy_write_sm_total");
  EXPECT_EQ(read->results[10].measurements(0).unit(), "us");
  EXPECT_EQ(read->results[10].measurements(0).direction(), v1::DIRECTION_LOWER_IS_BETTER);
  EXPECT_THAT(read->results[0].conditions().flags(), ElementsAre("unverified"));
  EXPECT_THAT(read->notes, ElementsAre("waived by nvbandwidth: all_to_one_write_ce",
                                       HasSubstr("device_local_copy")));
}

TEST(NvbandwidthTest, JsonBecomesResults) {
  const auto read = ReadNvbandwidth(kNvbandwidthJson, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->environment.gpu_model(), "H100");
  EXPECT_EQ(read->environment.gpu_form_factor(), "PCIe");
  EXPECT_EQ(read->environment.gpu_count(), 2);
  EXPECT_THAT(Summaries(*read),
              ElementsAre("host_transfer gpu0 - d2h copy bandwidth 12.3964",
                          "peer_transfer 1>0 read bidirectional copy bandwidth 10",
                          "peer_transfer 0>1 read bidirectional copy bandwidth 11",
                          "peer_transfer 1>0 read bidirectional copy bandwidth 20",
                          "peer_transfer 0>1 read bidirectional copy bandwidth 21",
                          "peer_transfer 1>0 read bidirectional copy bandwidth 30",
                          "peer_transfer 0>1 read bidirectional copy bandwidth 32"));
  EXPECT_EQ(read->results[6].parameters().at("test"),
            "device_to_device_bidirectional_memcpy_read_ce_total");
}

TEST(NvbandwidthTest, HostNamesAreNotKept) {
  for (const char* text : {kNvbandwidthText, kNvbandwidthJson}) {
    const auto read = ReadNvbandwidth(text, {});
    ASSERT_TRUE(read.ok()) << read.status();
    std::string all = read->environment.DebugString() + read->provenance.DebugString();
    for (const v1::CaseResult& result : read->results) all += result.DebugString();
    EXPECT_THAT(all, Not(HasSubstr("secret")));
  }
}

TEST(NvbandwidthTest, SeveralNodesAreCounted) {
  std::string text = kNvbandwidthText;
  text = Replaced(text, "Device 0: ", "Process 0 (secret-host-1): device 0: ");
  text = Replaced(text, "Device 1: ", "Process 1 (secret-host-2): device 0: ");
  const auto read = ReadNvbandwidth(text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->environment.node_count(), 2);
  EXPECT_EQ(read->environment.topology(), "network");
}

TEST(NvbandwidthTest, CutShortWithinATestItIsRefused) {
  const std::string text = kNvbandwidthText;
  const auto whole = ReadNvbandwidth(text, {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  // Its text has no end, so that a cut between tests is a run of fewer tests: of those,
  // all numbers.
  for (size_t length = 0; length < text.size(); ++length) {
    const auto read = ReadNvbandwidth(text.substr(0, length), {});
    if (!read.ok()) continue;
    const size_t count = read->results.size();
    EXPECT_TRUE(count == 2 || count == 4 || count == 10 || count == 12) << length;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(read->results[i].DebugString(), whole->results[i].DebugString()) << length;
    }
  }
  EXPECT_THAT(Refusal(text.substr(0, text.find("SUM device_to_device_bid"))),
              HasSubstr("cut short"));
  // After the first of three matrices.
  EXPECT_THAT(Refusal(text.substr(0, text.find("memcpy SM GPU(row) <-> GPU(column) Write2"))),
              HasSubstr("cut short"));
  const std::string json = kNvbandwidthJson;
  for (size_t length = 0; length + 2 < json.size(); ++length) {
    EXPECT_NE(Refusal(json.substr(0, length)), "taken") << length;
  }
  EXPECT_THAT(Refusal(json.substr(0, json.size() / 2)), HasSubstr("cut short"));
}

TEST(NvbandwidthTest, LostAndChangedCellsAreRefused) {
  const std::string text = kNvbandwidthText;
  EXPECT_THAT(Refusal(Replaced(text, " 1    392.20       N/A\n", "")),
              HasSubstr("does not add up"));
  EXPECT_THAT(Refusal(Replaced(text, "391.10", "399.10")), HasSubstr("does not add up"));
  EXPECT_THAT(Refusal(Replaced(text, "     55.31", "")), HasSubstr("line 15"));
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthJson, "12.3964", "13.3964")),
              HasSubstr("does not add up"));
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthJson, "\"N/A\", \"10\"", "\"10\"")),
              HasSubstr("no matrix"));
}

TEST(NvbandwidthTest, OtherVersionsAndFormsAreNamed) {
  const std::string text = kNvbandwidthText;
  EXPECT_THAT(Refusal(Replaced(text, "v0.8", "v1.0")), HasSubstr("line 1: nvbandwidth of version"));
  EXPECT_THAT(Refusal(Replaced(text, "v0.8", "v0.1")), HasSubstr("expected v0.2 or later"));
  EXPECT_NE(Refusal(Replaced(text, "v0.8", "v0.10.0")), "");
  EXPECT_THAT(Refusal(text.substr(text.find("CUDA"))), HasSubstr("nvbandwidth Version"));
  EXPECT_THAT(Refusal(text + text), HasSubstr("another run begins"));
  EXPECT_THAT(Refusal(Replaced(Replaced(text, "host_to_device_memcpy_ce", "warp_drive_ce"),
                               "host_to_device_memcpy_ce", "warp_drive_ce")),
              HasSubstr("\"warp_drive_ce\" is not known"));
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthJson, "\"Passed\"", "\"Running\"")),
              HasSubstr("expected Passed"));
  EXPECT_THAT(
      Refusal(Replaced(kNvbandwidthJson, "\"v0.8\"", "\"v0.8\", \"error\" : \"no driver\"")),
      HasSubstr("no driver"));
  EXPECT_THAT(Refusal("{\"a\": 1}"), HasSubstr("has no `nvbandwidth`"));
}

}  // namespace
}  // namespace assay::imports
