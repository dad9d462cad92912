#include "cli/campaign_file/campaign_file.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

// Faults of a file named "f", a line each.
std::string Faults(const std::string& text) {
  return FormatFaults("f", ParseCampaign(text).faults);
}

// Faults of a campaign whose only benchmark entry is `entry`, on line 3.
std::string EntryFaults(const std::string& entry) {
  return Faults("name: n\nbenchmarks:\n  - " + entry + "\n");
}

TEST(CampaignFileTest, ReadsEveryField) {
  const CampaignFile file = ParseCampaign(R"(name: h200-acceptance
nodes: 'gpu.model = "H200" AND label.provider = "runpod"'
exclusive: gpu
placement: any
repetitions: 3
timeout: 1m30s
retries: 2
priority: -5
benchmarks:
  - gemm: {m: [1024, 4096], n: =m, dtype: bf16, gpus: [0, 3], counters: false}
  - memory_bandwidth
  - all_reduce:
      bytes: {from: 8, to: 8GiB, factor: 2}
      ranks: {from: 2, to: 8, step: 2}
      gpus: 1
accept:
  - gemm[dtype=bf16, m=8192].tflops >= 65% of spec
counters: true
)");
  EXPECT_EQ(FormatFaults("f", file.faults), "");
  v1::CampaignSpec expected;
  ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(R"(
    name: "h200-acceptance"
    node_filter: 'gpu.model = "H200" AND label.provider = "runpod"'
    exclusive: EXCLUSIVITY_GPU
    placement: PLACEMENT_POLICY_ANY
    repetitions: 3
    timeout { seconds: 90 }
    retries: 2
    priority: -5
    benchmarks {
      benchmark: "gemm" line: 10 gpu_indices: [0, 3] counters: false
      axes { name: "m" line: 10 list { values: ["1024", "4096"] } }
      axes { name: "n" line: 10 same_as: "m" }
      axes { name: "dtype" line: 10 list { values: "bf16" } }
    }
    benchmarks { benchmark: "memory_bandwidth" line: 11 }
    benchmarks {
      benchmark: "all_reduce" line: 12 gpu_indices: 1
      axes { name: "bytes" line: 13 range { from: "8" to: "8GiB" factor: "2" } }
      axes { name: "ranks" line: 14 range { from: "2" to: "8" step: "2" } }
    }
    accept { text: "gemm[dtype=bf16, m=8192].tflops >= 65% of spec" line: 17 }
    lines { key: "name" value: 1 }
    lines { key: "nodes" value: 2 }
    lines { key: "exclusive" value: 3 }
    lines { key: "placement" value: 4 }
    lines { key: "repetitions" value: 5 }
    lines { key: "timeout" value: 6 }
    lines { key: "retries" value: 7 }
    lines { key: "priority" value: 8 }
    lines { key: "benchmarks" value: 9 }
    lines { key: "accept" value: 16 }
    counters: true
    lines { key: "counters" value: 18 })",
                                                            &expected));
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(file.spec, expected))
      << file.spec.DebugString();
}

TEST(CampaignFileTest, DefaultsAreLeftToTheCoordinator) {
  const CampaignFile file = ParseCampaign("name: a\nbenchmarks: [cpu_gemm]\n");
  EXPECT_TRUE(file.faults.empty());
  EXPECT_EQ(file.spec.repetitions(), 1);
  EXPECT_FALSE(file.spec.has_timeout());
  EXPECT_EQ(file.spec.exclusive(), v1::EXCLUSIVITY_UNSPECIFIED);
  EXPECT_EQ(file.spec.placement(), v1::PLACEMENT_POLICY_UNSPECIFIED);
}

TEST(CampaignFileTest, ExamplesAreValid) {
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_EXAMPLES)) {
    if (entry.path().extension() != ".yaml") continue;
    const Result<CampaignFile> file = ReadCampaignFile(entry.path());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(FormatFaults(entry.path(), file->faults), "");
    ++examples;
  }
  EXPECT_GE(examples, 4);
}

TEST(CampaignFileTest, TooManyRepetitionsNameTheLimit) {
  for (const std::string number : {"1001", "1000000000000", "99999999999999999999"}) {
    EXPECT_EQ(Faults("name: a\nbenchmarks: [gemm]\nrepetitions: " + number + "\n"),
              "f:3:14: repetitions: \"" + number + "\" is not a whole number from 1 to 1000\n");
  }
}

TEST(CampaignFileTest, SaysEverythingThatIsWrongAtOnce) {
  EXPECT_WORDING("cli/campaign-file-faults", Faults("nam: x\n"
                                                    "exclusive: cpu\n"
                                                    "placement: [each]\n"
                                                    "repetitions: 0\n"
                                                    "timeout: 20\n"
                                                    "retries: many\n"
                                                    "priority: 99999999999\n"
                                                    "nodes: ''\n"
                                                    "benchmarks: gemm\n"
                                                    "accept: {}\n"
                                                    "counters: yes\n"
                                                    "unplaceable: skipped\n"));
}

TEST(CampaignFileTest, WhatBecomesOfTheUnplaceableIsSaidForAllAndForOne) {
  const CampaignFile file = ParseCampaign(
      "name: a\n"
      "unplaceable: skip\n"
      "benchmarks:\n"
      "  - all_reduce: {ranks: 8}\n"
      "  - gemm: {m: 64, unplaceable: refuse}\n");
  EXPECT_EQ(FormatFaults("f", file.faults), "");
  EXPECT_EQ(file.spec.unplaceable(), v1::UNPLACEABLE_SKIP);
  EXPECT_EQ(file.spec.lines().at("unplaceable"), 2);
  EXPECT_EQ(file.spec.benchmarks(0).unplaceable(), v1::UNPLACEABLE_UNSPECIFIED);
  EXPECT_EQ(file.spec.benchmarks(1).unplaceable(), v1::UNPLACEABLE_REFUSE);
  EXPECT_EQ(file.spec.benchmarks(1).axes_size(), 1);
  EXPECT_THAT(EntryFaults("gemm: {unplaceable: [skip]}"),
              HasSubstr("unplaceable: found a list; write one of refuse, skip"));
}

TEST(CampaignFileTest, NcclsVariablesWithTheirLines) {
  const CampaignFile file = ParseCampaign(
      "name: a\n"
      "placement: pairs\n"
      "nccl:\n"
      "  NCCL_ALGO: Ring\n"
      "mixed_gpus: true\n"
      "benchmarks:\n"
      "  - all_reduce:\n"
      "      nccl: {NCCL_NTHREADS: 256}\n");
  EXPECT_EQ(FormatFaults("f", file.faults), "");
  EXPECT_EQ(file.spec.placement(), v1::PLACEMENT_POLICY_PAIRS);
  EXPECT_EQ(file.spec.nccl().at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(file.spec.lines().at("nccl.NCCL_ALGO"), 4);
  EXPECT_EQ(file.spec.benchmarks(0).nccl().at("NCCL_NTHREADS"), "256");
  EXPECT_EQ(file.spec.lines().at("benchmarks[0].nccl.NCCL_NTHREADS"), 8);
  EXPECT_TRUE(file.spec.mixed_gpus());
  EXPECT_EQ(file.spec.benchmarks(0).axes_size(), 0);
  EXPECT_THAT(EntryFaults("all_reduce: {nccl: Ring}"), HasSubstr("expected variables of NCCL"));
  EXPECT_THAT(EntryFaults("all_reduce: {nccl: {}}"), HasSubstr("found an empty map"));
  EXPECT_THAT(EntryFaults("all_reduce: {nccl: {algo: Ring}}"),
              HasSubstr("nccl.algo: a campaign cannot set \"algo\""));
  EXPECT_THAT(EntryFaults("all_reduce: {nccl: {NCCL_ALGO: [Ring]}}"), HasSubstr("found a list"));
  EXPECT_THAT(EntryFaults("all_reduce: {nccl: {NCCL_ALGO: ''}}"), HasSubstr("invalid value \"\""));
  EXPECT_THAT(EntryFaults("all_reduce: {nccl: {NCCL_ALG: Ring}}"), HasSubstr("mean NCCL_ALGO?"));
  EXPECT_THAT(EntryFaults("all_reduce: {nccl: {NCCL_IB_DISABLE: true}}"),
              HasSubstr("invalid value \"true\" for NCCL_IB_DISABLE"));
}

TEST(CampaignFileTest, FilesThatAreNoCampaign) {
  EXPECT_EQ(Faults(""), "f:1:1: the file is empty; a campaign has at least name and benchmarks\n");
  EXPECT_EQ(Faults("# only a comment\n"), Faults(""));
  EXPECT_THAT(Faults("- a\n- b\n"), HasSubstr("found a list"));
  EXPECT_THAT(
      Faults("name: n\nnodes: [g1, g2]\nbenchmarks: [a]\n"),
      HasSubstr("nodes: found a list; write a filter in quotes, for example 'name = g1 OR"));
  EXPECT_EQ(Faults("name: [a\n"), "f:2:1: not valid YAML: end of sequence flow not found\n");
  EXPECT_THAT(Faults("name: &x a\nbenchmarks: [*x]\n"), HasSubstr("f:1:7: an anchor"));
  EXPECT_THAT(Faults("name: &x a\nbenchmarks: [*x]\n"), HasSubstr("f:2:14: an alias"));
}

TEST(CampaignFileTest, BenchmarkEntries) {
  EXPECT_EQ(EntryFaults("Gemm"),
            "f:3:5: benchmarks[0]: \"Gemm\" is not the name of a benchmark; names are lower-case "
            "letters, digits and _\n");
  EXPECT_EQ(EntryFaults("[gemm]"),
            "f:3:5: benchmarks[0]: found a list; write a benchmark's name, or \"NAME: {parameter: "
            "value}\"\n");
  EXPECT_EQ(EntryFaults("gemm:\n    m: 3"),
            "f:3:5: benchmarks[0]: found 2 names (\"gemm\", \"m\") in one entry; start each "
            "benchmark with \"- \" and indent its parameters below it\n");
  EXPECT_EQ(EntryFaults("gemm: 3"),
            "f:3:11: benchmarks[0].gemm: found \"3\"; write its parameters as a map, for example "
            "{m: 4096, dtype: bf16}\n");
  EXPECT_EQ(EntryFaults("gemm:"), "");
}

TEST(CampaignFileTest, ParameterValues) {
  EXPECT_EQ(EntryFaults("gemm: {m: []}"),
            "f:3:15: benchmarks[0].gemm.m: an empty list leaves nothing to run; give at least one "
            "value\n");
  EXPECT_EQ(EntryFaults("gemm: {m: [1, [2]]}"),
            "f:3:19: benchmarks[0].gemm.m[1]: found a list; write a single value\n");
  EXPECT_EQ(EntryFaults("gemm: {m: }"),
            "f:3:15: benchmarks[0].gemm.m: found nothing; write a value, [a, list], {from, to, "
            "factor} or =other\n");
  EXPECT_EQ(EntryFaults("gemm: {m: =m}"),
            "f:3:15: benchmarks[0].gemm.m: refers to itself; name another parameter after =\n");
  EXPECT_EQ(EntryFaults("gemm: {m: \"\"}"),
            "f:3:15: benchmarks[0].gemm.m: is empty; give a value\n");
  EXPECT_EQ(EntryFaults("gemm: {M: 1}"),
            "f:3:12: benchmarks[0].gemm.M: \"M\" is not the name of a parameter; names are "
            "lower-case letters, digits and _\n");
}

TEST(CampaignFileTest, Ranges) {
  EXPECT_EQ(EntryFaults("gemm: {m: {from: 1, too: 4}}"),
            "f:3:15: benchmarks[0].gemm.m: a range needs \"to\"\n"
            "f:3:15: benchmarks[0].gemm.m: a range needs \"factor\" or \"step\"\n"
            "f:3:25: benchmarks[0].gemm.m.too: not part of a range; did you mean \"to\"? Allowed: "
            "from, to, factor, step\n");
  EXPECT_EQ(EntryFaults("gemm: {m: {from: 1, to: 4, step: 1, factor: 2}}"),
            "f:3:15: benchmarks[0].gemm.m: has both \"factor\" and \"step\"; a range has one of "
            "them\n");
}

TEST(CampaignFileTest, Gpus) {
  EXPECT_EQ(EntryFaults("gemm: {gpus: [0, 0, a, -1]}"),
            "f:3:22: benchmarks[0].gemm.gpus[1]: GPU 0 is listed twice\n"
            "f:3:25: benchmarks[0].gemm.gpus[2]: \"a\" is not a whole number of at least 0\n"
            "f:3:28: benchmarks[0].gemm.gpus[3]: \"-1\" is not a whole number of at least 0\n");
  EXPECT_EQ(EntryFaults("gemm: {gpus: []}"),
            "f:3:18: benchmarks[0].gemm.gpus: found an empty list; write GPU indices, for example "
            "[0, 1], or leave it out for all\n");
}

TEST(CampaignFileTest, UnreadableFiles) {
  const TemporaryFolder folder;
  const std::string missing = folder.path() + "/missing.yaml";
  EXPECT_EQ(ReadCampaignFile(missing).status().message(),
            "cannot read " + missing + ": No such file or directory");
  EXPECT_EQ(ReadCampaignFile(folder.path()).status().message(),
            folder.path() + " is not a regular file");
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(ReadCampaignFile(fifo).status().message(), fifo + " is not a regular file");
  const std::string huge = folder.path() + "/huge";
  std::ofstream(huge).close();
  std::filesystem::resize_file(huge, std::uintmax_t{1} << 32);
  ASSERT_TRUE(ReadCampaignFile(huge).ok());
  EXPECT_THAT(FormatFaults("f", ReadCampaignFile(huge)->faults),
              HasSubstr("more than 1048576 bytes"));
}

TEST(CampaignFileTest, LongListsOfFaultsAreCut) {
  std::string text = "name: n\nbenchmarks:\n";
  for (int i = 0; i < 150; ++i) text += "- X\n";
  EXPECT_THAT(Faults(text), HasSubstr("f: and 50 more\n"));
}

TEST(CampaignFileTest, ViolationsLookLikeFaults) {
  EXPECT_EQ(FormatViolations("f", {{"benchmarks[0].gemm.m", "\"x\" is not a number", 7},
                                   {"", "too many cases", 0},
                                   {"nodes", "evil \x1b[2J", 2}}),
            "f:7: benchmarks[0].gemm.m: \"x\" is not a number\n"
            "f: too many cases\n"
            "f:2: nodes: evil \xef\xbf\xbd[2J\n");
}

}  // namespace
}  // namespace assay::cli
