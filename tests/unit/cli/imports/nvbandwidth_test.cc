// Reads nvbandwidth's JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"
#include "tests/wording.h"

namespace assay::imports {
namespace {

using ::testing::ElementsAre;

std::string NvbandwidthRefusal(const std::string& text, const Origin& origin = {}) {
  const auto read = ReadNvbandwidth(text, origin);
  if (read.ok()) return "";
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
  return read.status().message();
}

// Returns "peer_transfer 0>1 read unidirectional copy bandwidth 391.1", and further metrics.
std::string Summary(const v1::CaseResult& result) {
  const auto of = [&](const char* name) {
    const auto found = result.parameters().find(name);
    return found == result.parameters().end() ? std::string("-") : found->second;
  };
  std::ostringstream text;
  text << result.benchmark() << " " << of("from") << ">" << of("to") << " gpu" << of("gpu") << " "
       << of("mode") << " " << of("direction") << " " << of("engine");
  for (const v1::Measurement& one : result.measurements()) {
    text << " " << one.metric() << " " << one.median();
  }
  return text.str();
}

std::vector<std::string> Summaries(const std::string& text) {
  const auto read = ReadNvbandwidth(text, {});
  EXPECT_TRUE(read.ok()) << read.status();
  std::vector<std::string> all;
  if (!read.ok()) return all;
  for (const v1::CaseResult& result : read->results) all.push_back(Summary(result));
  return all;
}

// Returns the JSON of one test on two GPUs. The rows `matrix` add up to `sum`.
std::string OneTest(const std::string& name, const std::string& matrix, const std::string& sum) {
  return R"j({"nvbandwidth":{"version":"v0.8","GPU Device list":["0: NVIDIA H200 (1b:00): (h)",)j"
         R"j("1: NVIDIA H200 (43:00): (h)"],"testcases":[{"name":")j" +
         name + R"j(","status":"Passed","bandwidth_description":"bandwidth (GB/s)",)j" +
         R"j("bandwidth_matrix":)j" + matrix + R"j(,"sum":)j" + sum + "}]}}";
}

TEST(NvbandwidthTest, Json_Complete_BecomesResults) {
  const auto read = ReadNvbandwidth(kNvbandwidthJson, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->provenance.imported_from(), "nvbandwidth 0.8");
  EXPECT_EQ(read->environment.gpu_model(), "H100");
  EXPECT_EQ(read->environment.gpu_form_factor(), "PCIe");
  EXPECT_EQ(read->environment.gpu_count(), 2);
  EXPECT_EQ(read->environment.driver_version(), "565.02");
  EXPECT_EQ(read->environment.software().cuda_runtime(), "12.7");
  EXPECT_THAT(Summaries(kNvbandwidthJson),
              ElementsAre("host_transfer ->- gpu0 - d2h copy bandwidth 12.3964",
                          "peer_transfer 1>0 gpu- read bidirectional copy bandwidth 30 "
                          "forward_bandwidth 10 backward_bandwidth 20",
                          "peer_transfer 0>1 gpu- read bidirectional copy bandwidth 32 "
                          "forward_bandwidth 11 backward_bandwidth 21",
                          "host_transfer ->- gpu0 - - sm latency 0.65"));
  EXPECT_THAT(read->results[0].conditions().flags(), ElementsAre("unverified"));
  EXPECT_EQ(read->results[3].measurements(0).direction(), v1::DIRECTION_LOWER_IS_BETTER);
  std::string notes;
  for (const std::string& note : read->notes) notes += note + "\n";
  EXPECT_WORDING("cli/import-nvbandwidth-notes", notes);
  std::string all = read->environment.DebugString() + read->provenance.DebugString();
  for (const v1::CaseResult& result : read->results) all += result.DebugString();
  EXPECT_EQ(all.find("secret"), std::string::npos);
}

// Read tests copy to the row's GPU, write tests from it. Within a node, write tests of both
// directions use the buffers of the read test.
TEST(NvbandwidthTest, FromAndTo_FollowTheBytes) {
  const std::string one = R"([["N/A","10"],["11","N/A"]])";
  EXPECT_EQ(Summaries(OneTest("device_to_device_memcpy_read_ce", one, "21"))[0],
            "peer_transfer 1>0 gpu- read unidirectional copy bandwidth 10");
  EXPECT_EQ(Summaries(OneTest("device_to_device_memcpy_write_sm", one, "21"))[0],
            "peer_transfer 0>1 gpu- write unidirectional sm bandwidth 10");
  const std::string both = R"([["N/A","10"],["11","N/A"],["N/A","20"],["21","N/A"],)"
                           R"(["N/A","30"],["32","N/A"]])";
  const std::string numbers = " bandwidth 30 forward_bandwidth 10 backward_bandwidth 20";
  EXPECT_EQ(Summaries(OneTest("device_to_device_bidirectional_memcpy_write_ce", both, "62"))[0],
            "peer_transfer 1>0 gpu- write bidirectional copy" + numbers);
  EXPECT_EQ(
      Summaries(OneTest("multinode_device_to_device_bidirectional_memcpy_write_sm", both, "62"))[0],
      "peer_transfer 0>1 gpu- write bidirectional sm" + numbers);
}

TEST(NvbandwidthTest, HostTests_OfBothDirections_TimeOne) {
  const std::string row = R"([["10","11"]])";
  EXPECT_EQ(Summaries(OneTest("host_to_device_bidirectional_memcpy_ce", row, "21"))[0],
            "host_transfer ->- gpu0 - bidirectional copy h2d_bandwidth 10");
  EXPECT_EQ(Summaries(OneTest("all_to_host_bidirectional_memcpy_sm", row, "21"))[1],
            "host_transfer ->- gpu1 - bidirectional sm d2h_bandwidth 11");
}

TEST(NvbandwidthTest, TestsOfManyGpus_HaveNoPair) {
  EXPECT_EQ(Summaries(OneTest("all_to_one_read_ce", R"([["10","11"]])", "21"))[1],
            "peer_transfer ->- gpu1 read unidirectional copy bandwidth 11");
  EXPECT_EQ(Summaries(OneTest("multinode_bisect_write_ce", R"([["10"],["11"]])", "21"))[1],
            "peer_transfer ->- gpu1 write unidirectional copy bandwidth 11");
  EXPECT_EQ(Summaries(OneTest("multinode_device_to_device_broadcast_all_to_all_sm", R"([["600"]])",
                              "600"))[0],
            "peer_transfer ->- gpu- write unidirectional sm bandwidth 600");
}

TEST(NvbandwidthTest, File_CutShortAnywhere_IsRefused) {
  const std::string json = kNvbandwidthJson;
  for (size_t length = 0; length + 2 < json.size(); ++length) {
    EXPECT_NE(NvbandwidthRefusal(json.substr(0, length)), "") << length;
  }
}

TEST(NvbandwidthTest, File_WithAContradiction_IsRefused) {
  const std::string json = kNvbandwidthJson;
  const size_t second = json.find("\"1: NVIDIA");
  const std::vector<std::pair<const char*, std::string>> damaged = {
      {"a changed cell", Replaced(json, "12.3964", "13.3964")},
      {"a cell is missing", Replaced(json, "\"N/A\", \"10\"", "\"10\"")},
      {"directions that do not add up", Replaced(json, "\"N/A\", \"10\"", "\"N/A\", \"9\"")},
      {"the first device is missing",
       json.substr(0, json.find("\"0: NVIDIA")) + json.substr(second)},
      {"a device twice", Replaced(json, "\"1: NVIDIA", "\"0: NVIDIA")},
      {"a third device", Replaced(json, "1: NVIDIA", "1: NVIDIA H100 (1): (h)\", \"2: NVIDIA")},
      {"an unknown version", Replaced(json, "\"v0.8\"", "\"v1.0\"")},
      {"an impossible CUDA version", Replaced(json, "12070", "99999999999")},
      {"an unknown unit", Replaced(json, "(GB/s)", "(MB/s)")},
      {"an unknown status", Replaced(json, "\"Passed\"", "\"Running\"")},
      {"no matrix of both directions", OneTest("device_to_device_bidirectional_memcpy_read_ce",
                                               R"([["N/A","1"],["1","N/A"]])", "2")},
      {"nothing but unknown tests", OneTest("device_local_copy", R"([["1","1"]])", "2")},
      {"an error", R"({"nvbandwidth":{"version":"v0.8","error":"no driver"}})"},
      {"another program's JSON", kNcclJson},
      {"another shape", R"({"nvbandwidth":[]})"}};
  for (const auto& [what, file] : damaged) EXPECT_NE(NvbandwidthRefusal(file), "") << what;
  EXPECT_EQ(NvbandwidthRefusal(Replaced(json, "12070", "\"13.2 (13020)\"")), "");
  Origin origin;
  origin.driver = "580.95.05";
  EXPECT_NE(NvbandwidthRefusal(json, origin), "");
  EXPECT_WORDING("cli/import-nvbandwidth-text", NvbandwidthRefusal("nvbandwidth Version: v0.8\n"));
  EXPECT_WORDING("cli/import-changed-cell", NvbandwidthRefusal(damaged[0].second));
}

}  // namespace
}  // namespace assay::imports
