// nvbandwidth's text and JSON as results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>

#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"

namespace assay::imports {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Refusal(const std::string& text) {
  const auto read = ReadNvbandwidth(text, {});
  if (read.ok()) return "taken";
  EXPECT_EQ(read.status().code(), Code::kInvalidArgument);
  return read.status().message() + read.status().hint();
}

// "peer_transfer 0>1 read unidirectional copy bandwidth 391.1", and further metrics.
std::string Summary(const v1::CaseResult& result) {
  const auto of = [&](const char* name) {
    const auto found = result.parameters().find(name);
    return found == result.parameters().end() ? std::string("-") : found->second;
  };
  std::string text = result.benchmark();
  text +=
      result.parameters().contains("from") ? " " + of("from") + ">" + of("to") : " gpu" + of("gpu");
  text += " " + of("mode") + " " + of("direction") + " " + of("engine");
  for (const v1::Measurement& one : result.measurements()) {
    std::ostringstream number;
    number << one.median();
    text += " " + one.metric() + " " + number.str();
  }
  return text;
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
  // A read test copies from the column's GPU to the row's, a write test the other way, and
  // one of both ways first as a read test.
  EXPECT_THAT(Summaries(*read),
              ElementsAre("host_transfer gpu0 - h2d copy bandwidth 55.3",
                          "host_transfer gpu1 - h2d copy bandwidth 55.31",
                          "peer_transfer 1>0 read unidirectional copy bandwidth 391.1",
                          "peer_transfer 0>1 read unidirectional copy bandwidth 392.2",
                          "peer_transfer 1>0 write bidirectional sm bandwidth 750 "
                          "forward_bandwidth 380 backward_bandwidth 370",
                          "peer_transfer 0>1 write bidirectional sm bandwidth 752 "
                          "forward_bandwidth 381 backward_bandwidth 371",
                          "host_transfer gpu0 - - sm latency 0.65",
                          "host_transfer gpu1 - - sm latency 0.66"));
  EXPECT_EQ(read->results[5].parameters().at("test"),
            "device_to_device_bidirectional_memcpy_write_sm");
  EXPECT_EQ(read->results[6].measurements(0).unit(), "us");
  EXPECT_EQ(read->results[6].measurements(0).direction(), v1::DIRECTION_LOWER_IS_BETTER);
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
                          "peer_transfer 1>0 read bidirectional copy bandwidth 30 "
                          "forward_bandwidth 10 backward_bandwidth 20",
                          "peer_transfer 0>1 read bidirectional copy bandwidth 32 "
                          "forward_bandwidth 11 backward_bandwidth 21"));
  EXPECT_EQ(read->results[2].parameters().at("test"),
            "device_to_device_bidirectional_memcpy_read_ce");
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

// A test of `matrices`, each a description, a part of the name, and two numbers.
struct Part {
  const char* description;
  const char* name;
  double upper;  // Of row 0, column 1.
  double lower;
};

std::string OneTest(const std::string& test, const std::vector<Part>& parts) {
  std::string text =
      "nvbandwidth Version: v0.8\nDevice 0: NVIDIA H200 (00000000:1b:00)\n"
      "Device 1: NVIDIA H200 (00000000:43:00)\nRunning " +
      test + ".\n";
  char matrix[400];
  for (const Part& part : parts) {
    std::snprintf(matrix, sizeof(matrix),
                  "%s bandwidth (GB/s)\n           0         1\n 0       N/A%10.2f\n"
                  " 1%10.2f       N/A\n\nSUM %s%s %.2f\n\n",
                  part.description, part.upper, part.lower, test.c_str(), part.name,
                  part.upper + part.lower);
    text += matrix;
  }
  return text;
}

// A read test of eight GPUs, as a text lists them.
std::string EightGpus() {
  std::string text = "nvbandwidth Version: v0.8\n";
  for (int i = 0; i < 8; ++i) {
    text +=
        "Device " + std::to_string(i) + ": NVIDIA H200 (00000000:0" + std::to_string(i) + ":00)\n";
  }
  text +=
      "Running device_to_device_memcpy_read_ce.\n"
      "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
      "           0         1         2         3         4         5         6         7\n";
  for (int row = 0; row < 8; ++row) {
    text += " " + std::to_string(row);
    for (int column = 0; column < 8; ++column) text += row == column ? " N/A" : " 390.00";
    text += "\n";
  }
  return text + "\nSUM device_to_device_memcpy_read_ce 21840.00\n";
}

TEST(NvbandwidthTest, LostAndRepeatedDevicesAreRefused) {
  const std::string text = EightGpus();
  const auto whole = ReadNvbandwidth(text, {});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->environment.gpu_count(), 8);
  const std::string third = "Device 3: NVIDIA H200 (00000000:03:00)\n";
  EXPECT_THAT(Refusal(Replaced(text, third, "")),
              HasSubstr("line 5: expected device 3 of the list of GPUs, and this is device 4: an "
                        "entry is missing or stands twice"));
  EXPECT_THAT(Refusal(Replaced(text, third, third + third)),
              HasSubstr("line 6: expected device 4 of the list of GPUs, and this is device 3"));
  EXPECT_THAT(Refusal(Replaced(text, "Device 7: NVIDIA H200 (00000000:07:00)\n", "")),
              HasSubstr("line 10: the matrix of test \"device_to_device_memcpy_read_ce\" has 8 "
                        "GPUs, and the list of GPUs has 7: the list's entry of device 7 is "
                        "missing"));
  EXPECT_THAT(Refusal(Replaced(text, "Running", "Device 8: NVIDIA H200 (1:08:00)\nRunning")),
              HasSubstr("has 8 GPUs, and the list of GPUs has 9: rows or columns are missing"));
  EXPECT_THAT(Refusal(Replaced(text, third, "Process 3 (host): device 3: NVIDIA H200 (1:03)\n")),
              HasSubstr("line 5: a process among devices"));
  // Without any list the matrices have to agree.
  std::string other = OneTest("device_to_device_memcpy_write_ce", {{"a -> b", "", 10, 11}});
  other = other.substr(other.find("Running"));
  EXPECT_THAT(
      Refusal(text.substr(0, text.find("Device")) + text.substr(text.find("Running")) + other),
      HasSubstr("has 2 GPUs, and the one of test \"device_to_device_memcpy_read_ce\" "
                "(line 3) has 8"));
}

TEST(NvbandwidthTest, LostDevicesOfJsonAreRefused) {
  const std::string json = kNvbandwidthJson;
  const size_t first = json.find("\"0: NVIDIA");
  const size_t second = json.find("\"1: NVIDIA");
  EXPECT_THAT(Refusal(json.substr(0, first) + json.substr(second)),
              HasSubstr("entry 1 of `GPU Device list`: expected device 0 of the list of GPUs, and "
                        "this is device 1"));
  EXPECT_THAT(Refusal(Replaced(json, "\"1: NVIDIA", "7, \"1: NVIDIA")),
              HasSubstr("entry 2 of `GPU Device list`: expected \"1: NVIDIA H200"));
  std::string last = json.substr(0, json.find(',', first)) +
                     json.substr(json.find("(secret-host-1)\"", second) + 16);
  EXPECT_THAT(Refusal(last), HasSubstr("test 1: the matrix of test \"device_to_host_memcpy_ce\" "
                                       "has 2 GPUs, and the list of GPUs has 1"));
}

TEST(NvbandwidthTest, ProcessesAreListedAsManyAsTheirMatricesHave) {
  const std::string pair = "multinode_device_to_device_memcpy_read_ce";
  std::string text = OneTest(pair, {{"a -> b", "", 10, 11}});
  text = Replaced(text, "Device 0: ", "Process  0 (host-1): device 0: ");
  text = Replaced(text, "Device 1: ", "Process  1 (host-2): device 0: ");
  const auto read = ReadNvbandwidth(text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->environment.gpu_count(), 2);
  EXPECT_THAT(Refusal(Replaced(text, "Process  0", "Process  1")),
              HasSubstr("expected process 0 of the list of GPUs, and this is process 1"));
  const size_t begin = text.find("Process  1");
  EXPECT_THAT(Refusal(text.substr(0, begin) + text.substr(text.find("Running"))),
              HasSubstr("the list's entry of process 1 is missing"));
  // One process sees the GPUs of its host, of which others may run on more or on fewer.
  const std::string local =
      "Running host_to_device_memcpy_ce.\nbandwidth (GB/s)\n 0 1 2\n"
      " 0 1.00 1.00 1.00\nSUM host_to_device_memcpy_ce 3.00\n";
  const auto both = ReadNvbandwidth(text + local, {});
  ASSERT_TRUE(both.ok()) << both.status();
  EXPECT_EQ(both->environment.gpu_count(), 2);
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
    EXPECT_TRUE(count == 2 || count == 4 || count == 6 || count == 8) << length;
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(read->results[i].DebugString(), whole->results[i].DebugString()) << length;
    }
  }
  EXPECT_THAT(Refusal(text.substr(0, text.find("SUM device_to_device_bid"))),
              HasSubstr("cut short"));
  // What ended the program is the last that it said.
  const std::string begun = "Running device_to_device_memcpy_read_ce.\n";
  EXPECT_THAT(Refusal(text.substr(0, text.find(begun)) + begun +
                      "[CUDA_ERROR_ECC_UNCORRECTABLE] in expression cuMemcpyAsync()\n\n"),
              HasSubstr("the file ends with \"[CUDA_ERROR_ECC_UNCORRECTABLE] in expression "
                        "cuMemcpyAsync()\" before test \"device_to_device_memcpy_read_ce\""));
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

TEST(NvbandwidthTest, BothWaysGoWhereTheTestSendsThem) {
  const auto of = [](const std::string& test, const std::vector<Part>& parts) {
    const auto read = ReadNvbandwidth(OneTest(test, parts), {});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? Summaries(*read) : std::vector<std::string>();
  };
  const std::vector<Part> reads = {{"memcpy CE CPU(row) <-> GPU(column) Read1", "_read1", 10, 11},
                                   {"memcpy CE CPU(row) <-> GPU(column) Read2", "_read2", 20, 21},
                                   {"memcpy CE CPU(row) <-> GPU(column) Total", "_total", 30, 32}};
  std::vector<Part> writes = reads;  // Some versions call them so, too.
  writes[0].name = "_write1";
  writes[1].name = "_write2";
  const std::string numbers = " bandwidth 30 forward_bandwidth 10 backward_bandwidth 20";
  EXPECT_EQ(of("device_to_device_bidirectional_memcpy_read_ce", reads)[0],
            "peer_transfer 1>0 read bidirectional copy" + numbers);
  EXPECT_EQ(of("device_to_device_bidirectional_memcpy_write_ce", writes)[0],
            "peer_transfer 1>0 write bidirectional copy" + numbers);
  EXPECT_EQ(of("multinode_device_to_device_bidirectional_memcpy_read_sm", reads)[0],
            "peer_transfer 1>0 read bidirectional sm" + numbers);
  EXPECT_EQ(of("multinode_device_to_device_bidirectional_memcpy_write_sm", writes)[0],
            "peer_transfer 0>1 write bidirectional sm" + numbers);
  // Before 0.5 one matrix: of copy engines one way, of kernels both.
  const std::vector<Part> one = {{"memcpy GPU(row) <-> GPU(column)", "", 40, 41}};
  EXPECT_THAT(of("device_to_device_bidirectional_memcpy_read_ce", one),
              ElementsAre("peer_transfer 1>0 read bidirectional copy forward_bandwidth 40",
                          "peer_transfer 0>1 read bidirectional copy forward_bandwidth 41"));
  EXPECT_EQ(of("device_to_device_bidirectional_memcpy_write_ce", one)[0],
            "peer_transfer 0>1 write bidirectional copy forward_bandwidth 40");
  EXPECT_EQ(of("device_to_device_bidirectional_memcpy_write_sm", one)[0],
            "peer_transfer 0>1 write bidirectional sm bandwidth 40");
  // The row's GPU loads from the column's.
  const std::string latency =
      Replaced(OneTest("device_to_device_latency_sm",
                       {{"Latency SM GPU(row) <-> GPU(column)", "", 700, 710}}),
               "bandwidth (GB/s)", "(ns)");
  const auto read = ReadNvbandwidth(latency, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Summaries(*read)[0], "peer_transfer 1>0 - - sm latency 0.7");
}

TEST(NvbandwidthTest, TestsOfBothWaysWithTheHostTimeOneWay) {
  const std::string one_way = "host_to_device_memcpy_ce";
  const auto of = [&](const std::string& test) {
    const auto read =
        ReadNvbandwidth(Replaced(Replaced(kNvbandwidthText, one_way, test), one_way, test), {});
    EXPECT_TRUE(read.ok()) << read.status();
    return read.ok() ? Summaries(*read)[0] : "";
  };
  EXPECT_EQ(of("host_to_device_bidirectional_memcpy_ce"),
            "host_transfer gpu0 - bidirectional copy h2d_bandwidth 55.3");
  EXPECT_EQ(of("all_to_host_bidirectional_memcpy_sm"),
            "host_transfer gpu0 - bidirectional sm d2h_bandwidth 55.3");
  EXPECT_EQ(of("all_to_host_memcpy_sm"), "host_transfer gpu0 - d2h sm bandwidth 55.3");
}

TEST(NvbandwidthTest, WaysThatDoNotMakeTheTotalAreRefused) {
  const std::string test = "device_to_device_bidirectional_memcpy_read_sm";
  const Part first = {"a <-> b Read1", "_read1", 10, 11};
  const Part second = {"a <-> b Read2", "_read2", 20, 21};
  const Part total = {"a <-> b Total", "_total", 30, 32};
  EXPECT_EQ(Refusal(OneTest(test, {first, second, total})), "taken");
  EXPECT_THAT(Refusal(OneTest(test, {second, first, total})), HasSubstr("expected one matrix"));
  EXPECT_THAT(Refusal(OneTest(test, {first, total})), HasSubstr("expected one matrix"));
  EXPECT_THAT(Refusal(OneTest(test, {total})), HasSubstr("expected one matrix"));
  EXPECT_THAT(Refusal(OneTest(test, {first, second, total, total})), HasSubstr("expected one"));
  Part other = second;
  other.upper = 20.5;
  EXPECT_THAT(Refusal(OneTest(test, {first, other, total})),
              HasSubstr("is not the sum of its both ways"));
  const std::string waived = OneTest(test, {first, second}) + "Waived: \n";
  EXPECT_THAT(Refusal(waived), HasSubstr("cut short"));
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthJson, "[ [ \"N/A\", \"10\" ]", "[ [ \"N/A\", \"9\" ]")),
              HasSubstr("is not the sum of its both ways"));
}

TEST(NvbandwidthTest, BisectionsAndTestsOfAllGpusHaveNoPair) {
  const std::string head = "nvbandwidth Version: v0.8\nDevice 0: NVIDIA H200 (00000000:1b:00)\n";
  const std::string bisection =
      head +
      "Running multinode_bisect_write_ce.\n"
      "Bisect benchmarking, simultaneous write CE BW\n"
      "               0\n"
      " 0-> 2    300.00\n 1-> 3    301.00\n 2-> 0    302.00\n 3-> 1    303.00\n\n"
      "SUM multinode_bisect_write_ce 1206.00\n\n";
  const auto read = ReadNvbandwidth(bisection, {});
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->results.size(), 4U);
  EXPECT_EQ(Summaries(*read)[3], "peer_transfer gpu3 write unidirectional copy bandwidth 303");
  EXPECT_THAT(Refusal(Replaced(bisection, " 1-> 3", " 2-> 3")), HasSubstr("expected row 1"));
  const auto all = ReadNvbandwidth(
      head +
          "Running multinode_device_to_device_broadcast_all_to_all_sm.\n"
          "multicast SM All -> All Gpus total bandwidth (GB/s)\n           0\n 0    600.00\n\n"
          "SUM multinode_device_to_device_broadcast_all_to_all_sm 600.00\n",
      {});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_FALSE(all->results[0].parameters().contains("from"));
  EXPECT_FALSE(all->results[0].parameters().contains("gpu"));
}

TEST(NvbandwidthTest, NumbersPrintedAsZeroAreNoResults) {
  std::string text = Replaced(kNvbandwidthText, "     55.31", "      0.00");
  text = Replaced(text, "memcpy_ce 110.61", "memcpy_ce 55.30");
  const auto read = ReadNvbandwidth(text, {});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->results.size(), 7U);
  EXPECT_THAT(read->notes, testing::Contains(HasSubstr("printed as 0: numbers of: host_to_dev")));
}

TEST(NvbandwidthTest, ADescriptionWithoutAKnownUnitIsNamed) {
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthText, "CPU(row) -> GPU(column) bandwidth (GB/s)",
                               "CPU(row) -> GPU(column) bandwidth (MB/s)")),
              HasSubstr("line 13: a matrix of test \"host_to_device_memcpy_ce\" follows, and this "
                        "is \"memcpy CE CPU(row) -> GPU(column) bandwidth (MB/s)\"; expected its "
                        "description, which ends with (GB/s) or (ns)"));
  // Of a lost description the line above.
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthText,
                               "memcpy SM GPU(row) <-> GPU(column) Total bandwidth (GB/s)\n", "")),
              HasSubstr("this is \"SUM device_to_device_bidirectional_memcpy_write_sm_write2"));
}

TEST(NvbandwidthTest, VersionsOfCudaThatNoneMayHaveAreRefused) {
  for (const char* version : {"99999999999", "100000", "999", "twelve", "12.x", "-1"}) {
    const std::string line = "CUDA Runtime Version: ";
    EXPECT_THAT(Refusal(Replaced(kNvbandwidthText, line + "12080", line + version)),
                HasSubstr(std::string("line 4: the version of CUDA is \"") + version +
                          "\"; expected one such as 12.4, or its code, 1000 to 99999"));
  }
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthJson, "12070", "99999999999")),
              HasSubstr("`CUDA Runtime Version` of `nvbandwidth`: the version of CUDA is"));
  EXPECT_EQ(Refusal(Replaced(kNvbandwidthText, ": 12080", ": 13.2 (13020)")), "taken");
}

TEST(NvbandwidthTest, WhatContradictsTheFileIsRefused) {
  const auto refusal = [](const Origin& origin) {
    const auto read = ReadNvbandwidth(kNvbandwidthText, origin);
    return read.ok() ? "taken" : read.status().message();
  };
  Origin origin;
  origin.driver = "570.124.06";
  origin.gpu = "NVIDIA H200";
  EXPECT_EQ(refusal(origin), "taken");
  origin.driver = "580.95.05";
  EXPECT_THAT(refusal(origin),
              HasSubstr("--driver \"580.95.05\" contradicts the file, which says 570.124.06"));
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
  // Names that only sound like nvbandwidth's.
  for (const auto& [test, closest] : {std::pair("host_to_moon_memcpy_ce", "host_to_all_memcpy_ce"),
                                      {"device_to_host_memcpy_cee", "device_to_host_memcpy_ce"},
                                      {"host_to_device_memcpy_tma", "host_to_device_memcpy_"},
                                      {"device_local_copies", "device_local_copy"}}) {
    const std::string renamed = Replaced(Replaced(text, "host_to_device_memcpy_ce", test),
                                         "host_to_device_memcpy_ce", test);
    EXPECT_THAT(Refusal(renamed), HasSubstr(std::string("\"") + test + "\" is not known"));
    EXPECT_THAT(Refusal(renamed), HasSubstr(std::string("the nearest is ") + closest));
  }
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthJson, "device_to_host_memcpy_ce", "device_to_home_ce")),
              HasSubstr("\"device_to_home_ce\" is not known"));
  EXPECT_THAT(Refusal(Replaced(kNvbandwidthJson, "\"Passed\"", "\"Running\"")),
              HasSubstr("expected Passed"));
  EXPECT_THAT(
      Refusal(Replaced(kNvbandwidthJson, "\"v0.8\"", "\"v0.8\", \"error\" : \"no driver\"")),
      HasSubstr("no driver"));
  EXPECT_THAT(Refusal("{\"a\": 1}"), HasSubstr("has no `nvbandwidth`"));
}

}  // namespace
}  // namespace assay::imports
