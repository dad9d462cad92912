#include "cli/campaign_file/campaign_file.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/campaign_file/campaign_fields.h"
#include "tests/temporary_folder.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

// Formats the faults of a file named "f", one per line.
std::string Faults(const std::string& text) {
  return FormatFaults("f", ParseCampaign(text).faults);
}

// Formats the faults of a campaign whose only benchmark entry is `entry`, on line 3.
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

// Removes the numbers of lines, which a file that was written differs in.
v1::CampaignSpec WithoutLines(v1::CampaignSpec spec) {
  spec.clear_lines();
  for (v1::BenchmarkMatrix& matrix : *spec.mutable_benchmarks()) {
    matrix.clear_line();
    for (v1::ParameterAxis& axis : *matrix.mutable_axes()) axis.clear_line();
  }
  for (v1::AcceptRule& rule : *spec.mutable_accept()) rule.clear_line();
  return spec;
}

// Expects that the written spec is read as it was.
void ExpectRoundTrip(const v1::CampaignSpec& spec) {
  const std::string yaml = CampaignYaml(spec);
  const CampaignFile again = ParseCampaign(yaml);
  EXPECT_EQ(FormatFaults("f", again.faults), "") << yaml;
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  EXPECT_TRUE(differencer.Compare(WithoutLines(spec), WithoutLines(again.spec)))
      << differences << yaml;
}

TEST(CampaignYamlTest, Examples_AreReadAsTheyWere) {
  for (const auto& entry : std::filesystem::directory_iterator(ASSAY_EXAMPLES)) {
    if (entry.path().extension() != ".yaml") continue;
    SCOPED_TRACE(entry.path());
    const Result<CampaignFile> file = ReadCampaignFile(entry.path());
    ASSERT_TRUE(file.ok()) << file.status();
    ExpectRoundTrip(file->spec);
  }
}

TEST(CampaignYamlTest, EveryField_IsWritten) {
  std::string text = R"(name: all
nodes: gpu.model = "H200"
absent: warn
expect_nodes: 3
placement: pairs
exclusive: gpu
repetitions: 5
timeout: 1h0.123456789s
retries: 2
priority: -5
unplaceable: skip
counters: true
mixed_gpus: true
nccl: {NCCL_ALGO: Ring}
accept:
  - 'gemm[m=1].tflops >= 65% of spec'
benchmarks:
  - gemm: {m: [1], gpus: [0, 3], counters: false, unplaceable: refuse, nccl: {NCCL_PROTO: LL}}
  - all_reduce: {bytes: {from: 8, to: 8GiB, factor: 2}, ranks: {from: 2, to: 8, step: 2}, n: =bytes}
  - memory_bandwidth
)";
  // Every choice of a field that is not in the text yet.
  for (const CampaignField& field : CampaignFields()) {
    if (text.find("\n" + std::string(field.name) + ":") != std::string::npos) continue;
    if (field.name == "name") continue;
    ASSERT_EQ(field.kind, CampaignField::Kind::kChoice) << field.name;
    text += std::string(field.name) + ": " + field.choices.back() + "\n";
  }
  const CampaignFile file = ParseCampaign(text);
  ASSERT_EQ(FormatFaults("f", file.faults), "");
  ExpectRoundTrip(file.spec);
  const std::string yaml = CampaignYaml(file.spec);
  for (const CampaignField& field : CampaignFields()) {
    EXPECT_NE(("\n" + yaml).find("\n" + std::string(field.name) + ":"), std::string::npos)
        << field.name;
  }
}

TEST(CampaignYamlTest, TextsThatYamlWouldReadDifferently_AreQuoted) {
  for (const char* value :
       {"null", "~",    "true", "- a",   "? a",  "a: b", "a #b",   "#a",  "[a]",
        "{a}",  "a, b", "'a'",  "\"a\"", "*a",   "&a",   "!a",     "@a",  "%a",
        "|",    ">",    " a ",  "a\nb",  "a\tb", "\\",   "\u00e4", "---", "..."}) {
    v1::CampaignSpec spec;
    spec.set_repetitions(1);
    spec.set_name(value);
    spec.set_node_filter(value);
    spec.add_accept()->set_text(value);
    v1::BenchmarkMatrix& matrix = *spec.add_benchmarks();
    matrix.set_benchmark("gemm");
    for (const char* name : {"m", "n"}) {
      v1::ParameterAxis& axis = *matrix.add_axes();
      axis.set_name(name);
      axis.mutable_list()->add_values(value);
    }
    matrix.mutable_axes(1)->mutable_list()->add_values("=m");
    SCOPED_TRACE(value);
    ExpectRoundTrip(spec);
  }
  // A list of one value that is not a reference.
  v1::CampaignSpec spec = ParseCampaign("name: n\nbenchmarks: [gemm: {n: [=m]}]\n").spec;
  ASSERT_EQ(spec.benchmarks(0).axes(0).list().values_size(), 1);
  ExpectRoundTrip(spec);
}

TEST(CampaignFileTest, Faults_AreAllReportedAtOnce) {
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
                                                    "unplaceable: skipped\n"
                                                    "absent: ignore\n"
                                                    "expect_nodes: 0\n"));
}

TEST(CampaignFileTest, Unplaceable_IsReadForTheCampaignAndForOneEntry) {
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
  EXPECT_NE(EntryFaults("gemm: {unplaceable: [skip]}"), "");
}

TEST(CampaignFileTest, Coverage_IsRead) {
  const CampaignFile file = ParseCampaign(
      "name: a\n"
      "absent: wait\n"
      "expect_nodes: 13\n"
      "benchmarks: [gemm]\n");
  EXPECT_EQ(FormatFaults("f", file.faults), "");
  EXPECT_EQ(file.spec.absent(), v1::ABSENT_POLICY_WAIT);
  EXPECT_EQ(file.spec.expect_nodes(), 13);
  EXPECT_EQ(file.spec.lines().at("expect_nodes"), 3);
}

TEST(CampaignFileTest, NcclVariables_HaveTheirLines) {
  const CampaignFile file = ParseCampaign(
      "name: a\n"
      "placement: pairs\n"
      "nccl:\n"
      "  NCCL_ALGO: Ring\n"
      "mixed_gpus: true\n"
      "effort: quick\n"
      "benchmarks:\n"
      "  - all_reduce:\n"
      "      nccl: {NCCL_NTHREADS: 256}\n");
  EXPECT_EQ(FormatFaults("f", file.faults), "");
  EXPECT_EQ(file.spec.placement(), v1::PLACEMENT_POLICY_PAIRS);
  EXPECT_EQ(file.spec.nccl().at("NCCL_ALGO"), "Ring");
  EXPECT_EQ(file.spec.lines().at("nccl.NCCL_ALGO"), 4);
  EXPECT_EQ(file.spec.benchmarks(0).nccl().at("NCCL_NTHREADS"), "256");
  EXPECT_EQ(file.spec.lines().at("benchmarks[0].nccl.NCCL_NTHREADS"), 9);
  EXPECT_TRUE(file.spec.mixed_gpus());
  EXPECT_EQ(file.spec.effort(), v1::EFFORT_QUICK);
  EXPECT_EQ(file.spec.benchmarks(0).axes_size(), 0);
  std::string faults;
  for (const char* nccl : {"Ring", "{}", "{NCCL_ALGO: [Ring]}"}) {
    faults += EntryFaults("all_reduce: {nccl: " + std::string(nccl) + "}");
  }
  EXPECT_WORDING("cli/campaign-nccl-faults", faults);
  for (const char* nccl : {"{algo: Ring}", "{NCCL_ALGO: ''}", "{NCCL_IB_DISABLE: true}"}) {
    EXPECT_NE(EntryFaults("all_reduce: {nccl: " + std::string(nccl) + "}"), "") << nccl;
  }
}

TEST(CampaignFileTest, OtherFiles_AreRefused) {
  std::string faults;
  for (const char* text : {"", "# only a comment\n", "- a\n- b\n",
                           "name: n\nnodes: [g1, g2]\nbenchmarks: [a]\n", "name: [a\n"}) {
    faults += Faults(text);
  }
  EXPECT_WORDING("cli/campaign-other-files", faults);
}

TEST(CampaignFileTest, Entries_FaultsNameTheEntryAndItsPosition) {
  std::string faults;
  for (const char* entry :
       {"Gemm", "[gemm]", "gemm:\n    m: 3", "gemm: 3", "gemm: {m: []}", "gemm: {m: [1, [2]]}",
        "gemm: {m: }", "gemm: {m: =m}", "gemm: {m: \"\"}", "gemm: {M: 1}",
        "gemm: {m: {from: 1, too: 4}}", "gemm: {m: {from: 1, to: 4, step: 1, factor: 2}}",
        "gemm: {gpus: [0, 0, a, -1]}", "gemm: {gpus: []}"}) {
    faults += EntryFaults(entry);
  }
  EXPECT_WORDING("cli/campaign-entry-faults", faults);
  EXPECT_EQ(EntryFaults("gemm:"), "");
}

TEST(CampaignFileTest, UnreadableFile_IsAnError) {
  const TemporaryFolder folder;
  const std::string fifo = folder.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {folder.path() + "/missing.yaml", folder.path(), fifo}) {
    EXPECT_EQ(ReadCampaignFile(path).status().reason(), Reason::kFileUnreadable) << path;
  }
  const std::string huge = folder.path() + "/huge";
  std::ofstream(huge).close();
  std::filesystem::resize_file(huge, std::uintmax_t{1} << 32);
  EXPECT_EQ(ReadCampaignFile(huge).status().reason(), Reason::kFileUnreadable);
}

TEST(CampaignFileTest, ManyFaults_ListIsCut) {
  std::string text = "name: n\nbenchmarks:\n";
  for (int i = 0; i < 150; ++i) text += "- X\n";
  EXPECT_TRUE(Faults(text).ends_with("f: and 50 more\n"));
}

TEST(CampaignFileTest, Violations_AreFormattedLikeFaults) {
  EXPECT_EQ(
      FormatViolations(
          "f", {{"benchmarks[0].gemm.m", "bad", 7}, {"", "bad", 0}, {"nodes", "evil \x1b[2J", 2}}),
      "f:7: benchmarks[0].gemm.m: bad\n"
      "f: bad\n"
      "f:2: nodes: evil \xef\xbf\xbd[2J\n");
}

}  // namespace
}  // namespace assay::cli
