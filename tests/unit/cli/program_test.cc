// The real program: arguments, exit codes, and what it says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/exit_code.h"
#include "common/file.h"
#include "common/text.h"
#include "model/filter.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

// An address where nothing listens.
constexpr char kUnreachable[] = "127.0.0.1:1";

using Arguments = std::vector<std::string>;

TEST(ProgramTest, WrongUsage_ExitsWith2AndPrintsNothingOnStdout) {
  for (const Arguments& arguments :
       std::vector<Arguments>{{},
                              {"nod"},
                              {"campaign"},
                              {"campaign", "sumbit", "x"},
                              {"campaign", "submit"},
                              {"campaign", "submit", "/nonexistent.yaml"},
                              {"campaign", "submit", "x", "-o", "csv"},
                              {"campaign", "list", "--limit", "-3"},
                              {"campaign", "show", "a", "b"},
                              {"results", "-o", "xml"},
                              {"results", "--limit", "many"},
                              {"results", "--filter", "node=\"\xff\""},
                              {"compare"},
                              {"node", "add"},
                              {"completion", "tcsh"},
                              {"run", "gemm", "m"},
                              {"run", "gemm", "m=1", "m=2"},
                              {"run", "gemm", "--local", "--agent", "127.0.0.1:1"},
                              {"run", "gemm", "--gpus", "a"},
                              {"run", "gemm", "--local", "-o", "csv"},
                              {"run", "cpu_gemm", "--local", "--gpus", "0"},
                              {"--coordinator", "nowhere", "node", "list"},
                              {"--coordinator", "localhost:0", "node", "list"},
                              {"--tls-cert", "/nonexistent", "node", "list"},
                              {"--tls-ca", "/nonexistent", "node", "list"}}) {
    const ProgramRun run = RunAssay(arguments, kUnreachable);
    EXPECT_EQ(run.exit_code, 2) << testing::PrintToString(arguments) << run.err;
    EXPECT_EQ(run.out, "");
    EXPECT_NE(run.err, "");
  }
}

TEST(ProgramTest, WrongUsage_MessageSaysWhatWouldBeRight) {
  std::string messages;
  for (const Arguments& arguments : std::vector<Arguments>{{"campaign"},
                                                           {"campaign", "sumbit", "x"},
                                                           {"results", "--filtre=x"},
                                                           {"results", "nightly"},
                                                           {"compare"},
                                                           {"campaign", "list", "--limit", "-3"},
                                                           {"run", "gemm", "m"}}) {
    messages += RunAssay(arguments, kUnreachable).err;
  }
  EXPECT_WORDING("cli/usage", messages);
}

TEST(ProgramTest, HelpAndVersion) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"campaign", "submit", "--help"}}) {
    const ProgramRun run = RunAssay(arguments, kUnreachable);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_NE(run.out, "");
  }
  EXPECT_EQ(RunAssay({"version"}, kUnreachable).out, "assay " ASSAY_VERSION "\n");
  EXPECT_EQ(RunAssay({"--version"}, kUnreachable).out, "assay " ASSAY_VERSION "\n");
}

TEST(ProgramTest, OutputThatCannotBeWritten_ExitsWith4) {
  EXPECT_EQ(std::system(ASSAY_PROGRAM " version >/dev/full 2>/dev/null"), 4 << 8);
}

TEST(ProgramTest, UnreachableCoordinator_ExitsWith3) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"node", "list"}, {"campaign", "watch", "x"}, {"results"}, {"run", "gemm"}}) {
    const ProgramRun run = RunAssay(arguments, kUnreachable);
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_WORDING("cli/unreachable-coordinator", run.err);
  }
}

TEST(ProgramTest, PlaintextBeyondLoopback_ExitsWith4) {
  const ProgramRun run =
      RunAssay({"node", "list", "--coordinator", "192.0.2.1:7900"}, kUnreachable);
  EXPECT_EQ(run.exit_code, 4) << run.err;
}

// Writes a self-signed certificate to BASE.pem and its key to BASE.key.
bool MakeCertificate(const std::string& base) {
  const std::string make =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=a "
      "-addext basicConstraints=critical,CA:FALSE -keyout " +
      base + ".key -out " + base + ".pem >/dev/null 2>&1";
  return std::system(make.c_str()) == 0;
}

TEST(ProgramTest, KeyOfAnotherCertificate_ExitsWith2) {
  TemporaryFolder folder;
  ASSERT_TRUE(MakeCertificate(folder.path() + "/a"));
  ASSERT_TRUE(MakeCertificate(folder.path() + "/b"));
  const std::string certificate = folder.path() + "/a.pem";
  const std::string other = folder.path() + "/b.key";
  const ProgramRun run =
      RunAssay({"node", "list", "--tls-cert", certificate, "--tls-key", other}, kUnreachable);
  EXPECT_EQ(run.exit_code, 2);
  const ProgramRun fitting =
      RunAssay({"node", "list", "--tls-cert", certificate, "--tls-key", folder.path() + "/a.key"},
               kUnreachable);
  EXPECT_EQ(fitting.exit_code, 3) << fitting.err;
}

class ServedTest : public testing::Test {
 protected:
  void SetUp() override {
    v1::Campaign& campaign = fake_.campaigns.emplace_back();
    campaign.set_campaign_id("11111111-2222-4333-8444-555555555555");
    campaign.set_name("nightly");
    campaign.set_state(v1::CAMPAIGN_STATE_ACTIVE);
    campaign.set_case_count(6);
    campaign.mutable_jobs()->set_queued(2);
    v1::Node& node = fake_.nodes.emplace_back();
    node.set_state(v1::NODE_STATE_CONNECTED);
    node.mutable_description()->set_name("node-a");
    node.mutable_description()->mutable_inventory()->mutable_cpu()->set_model("EPYC, 9654");
  }

  ProgramRun Run(const std::vector<std::string>& arguments) {
    if (fake_.port() == 0) fake_.Start();
    return RunAssay(arguments, fake_.address());
  }

  std::string Write(const std::string& text) {
    std::string path = folder_.path() + "/campaign.yaml";
    std::ofstream(path) << text;
    return path;
  }

  TemporaryFolder folder_;
  FakeCoordinator fake_;
};

TEST_F(ServedTest, FileWithFaults_IsNotSent) {
  const std::string path = Write("name: a\nbenchmarks: [Gemm]\n");
  const ProgramRun run = Run({"campaign", "submit", path});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err.find(path + ":2:14: benchmarks[0]: "), 0u) << run.err;
  EXPECT_EQ(fake_.create_calls(), 0);
}

TEST_F(ServedTest, SubmitSendsTheSpec) {
  const ProgramRun run = Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_WORDING("cli/submitted", run.out);
  const v1::CreateCampaignRequest request = fake_.last_create();
  EXPECT_EQ(request.spec().benchmarks(0).benchmark(), "gemm");
  EXPECT_EQ(request.request_id().size(), 36u);
  EXPECT_FALSE(request.validate_only());
}

TEST_F(ServedTest, DryRun_OnlyValidates) {
  const std::string path = Write("name: a\nbenchmarks: [gemm]\n");
  const ProgramRun run = Run({"campaign", "submit", path, "--dry-run", "--watch"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_WORDING("cli/dry-run", run.out.substr(run.out.find(": valid") + 2));
  EXPECT_TRUE(fake_.last_create().validate_only());
}

TEST_F(ServedTest, FaultsOfTheCoordinator_HaveTheirLine) {
  fake_.create_error = InvalidArgument("2 faults", Reason::kInvalidCampaign)
                           .WithHint("see: assay benchmark show gemm")
                           .WithViolations({{"benchmarks[0].gemm.m", "\"x\" is not a number", 2},
                                            {"nodes", "no node matches", 0}});
  const std::string path = Write("name: a\nbenchmarks: [gemm]\n");
  const ProgramRun run = Run({"campaign", "submit", path});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err.find(path + ":2: benchmarks[0].gemm.m: "), 0u) << run.err;
  EXPECT_NE(run.err.find(path + ": nodes: "), std::string::npos) << run.err;
}

TEST_F(ServedTest, Refusal_ExitsWith4) {
  EXPECT_EQ(Run({"node", "remove", "node-a"}).exit_code, 4);
  EXPECT_EQ(Run({"campaign", "show", "other"}).exit_code, 4);
  fake_.create_error = Status(Code::kPermissionDenied, Reason::kNodeBusy, "not allowed to submit");
  EXPECT_EQ(Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")}).exit_code, 4);
}

TEST_F(ServedTest, AnotherServer_ExitsWith4) {
  fake_.create_error = Status(Code::kUnimplemented, Reason::kNone, "");
  const ProgramRun run = Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_NE(run.err.find(fake_.address()), std::string::npos) << run.err;
}

TEST_F(ServedTest, Cancel_OfAnEndedCampaign_DoesNothing) {
  fake_.campaigns[0].set_state(v1::CAMPAIGN_STATE_COMPLETED);
  fake_.campaigns[0].set_verdict(v1::VERDICT_PASSED);
  const ProgramRun run = Run({"campaign", "cancel", "nightly"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_WORDING("cli/nothing-to-cancel", run.out);
}

TEST_F(ServedTest, Pause_And_Resume_SayWhatWaits) {
  fake_.campaigns[0].mutable_jobs()->set_queued(3);
  ProgramRun run = Run({"campaign", "pause", "nightly"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_WORDING("cli/paused", run.out);
  run = Run({"campaign", "resume", "nightly"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_WORDING("cli/resumed", run.out);
  v1::Campaign& campaign = fake_.campaigns[0];
  campaign.mutable_pause_time()->set_seconds(1'700'000'000);
  campaign.set_paused_by("olga");
  EXPECT_WORDING("cli/paused-campaign", Run({"campaign", "show", "nightly"}).out);
}

TEST_F(ServedTest, FaultsWithoutAFile_AreListedOnce) {
  fake_.create_error = InvalidArgument("the campaign has a fault: nodes: none is connected")
                           .WithViolations({{"nodes", "none is connected", 0}});
  const ProgramRun run = Run({"run", "gemm"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_WORDING("cli/run-without-nodes", run.err);
}

TEST_F(ServedTest, CoordinatorWithoutDatabase_ExitsWith3) {
  fake_.create_error = Unavailable("the database does not answer", Reason::kDatabaseUnavailable);
  const ProgramRun run = Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")});
  EXPECT_EQ(run.exit_code, 3);
}

TEST_F(ServedTest, Lists_AreTablesJsonAndCsv) {
  EXPECT_EQ(Run({"node", "list"}).out, "NAME    STATE  HARDWARE\nnode-a  idle   EPYC, 9654\n");
  const auto json = nlohmann::json::parse(Run({"node", "list", "-o", "json"}).out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["description"]["inventory"]["cpu"]["model"], "EPYC, 9654");
  EXPECT_EQ(json[0]["state"], "NODE_STATE_CONNECTED");
  EXPECT_EQ(json[0]["dial_address"], "");
  const std::string csv = Run({"node", "list", "-o", "csv"}).out;
  const std::vector<std::string_view> records = Split(csv, '\n');
  ASSERT_EQ(records.size(), 3u);  // The last one is empty.
  EXPECT_EQ(Split(records[0], ',')[1], "name");
  EXPECT_EQ(Split(records[1], ',')[1], "node-a");
  EXPECT_EQ(nlohmann::json::parse(Run({"campaign", "list", "-o", "json"}).out)[0]["name"],
            "nightly");
  EXPECT_EQ(Split(Run({"campaign", "list", "-o", "csv"}).out, ',')[1], "name");
  EXPECT_EQ(Run({"benchmark", "list", "-o", "json"}).out, "[]\n");
}

TEST_F(ServedTest, ShowAsJson_HasEveryJob) {
  fake_.jobs.assign(1001, v1::Job());  // More than a page.
  v1::Job& last = fake_.jobs.back();
  last.set_job_id("b");
  last.set_benchmark("gemm");
  last.set_benchmark_index(0);
  last.set_state(v1::JOB_STATE_FAILED);
  last.set_attempts(2);
  last.add_node_names("node-a");
  last.mutable_failure()->set_failure_class(v1::FAILURE_CLASS_JOB);
  last.mutable_failure()->set_reason(v1::REASON_RUNNER_CRASHED);
  last.mutable_failure()->set_message("signal 11");
  const auto json = nlohmann::json::parse(Run({"campaign", "show", "nightly", "-o", "json"}).out);
  EXPECT_EQ(json["name"], "nightly");
  EXPECT_TRUE(json["jobs"].contains("failed"));
  ASSERT_EQ(json["job_list"].size(), 1001u);
  EXPECT_EQ(json["job_list"][0]["attempts"], 0);
  const auto job = json["job_list"][1000];
  EXPECT_EQ(job["job_id"], "b");
  EXPECT_EQ(job["benchmark_index"], 0);
  EXPECT_EQ(job["state"], "JOB_STATE_FAILED");
  EXPECT_EQ(job["attempts"], 2);
  EXPECT_EQ(job["node_names"], nlohmann::json::parse(R"(["node-a"])"));
  EXPECT_EQ(job["failure"]["failure_class"], "FAILURE_CLASS_JOB");
  EXPECT_EQ(job["failure"]["reason"], "REASON_RUNNER_CRASHED");
  EXPECT_EQ(job["failure"]["message"], "signal 11");
  fake_.jobs.clear();
  EXPECT_EQ(
      nlohmann::json::parse(Run({"campaign", "show", "nightly", "-o", "json"}).out)["job_list"],
      nlohmann::json::array());
}

TEST_F(ServedTest, Filters_AreSentUnchanged) {
  Run({"node", "list", "--filter", "gpu.model = \"H200\""});
  EXPECT_EQ(fake_.last_filter(), "gpu.model = \"H200\"");
  Run({"results", "--campaign", "nightly", "--filter", "a = 1 OR b = 2"});
  const std::string restriction = "campaign_id = \"11111111-2222-4333-8444-555555555555\"";
  EXPECT_EQ(fake_.last_filter(), "a = 1 OR b = 2 AND " + restriction);
  Run({"results", "--campaign", "nightly", "--filter", " "});
  EXPECT_EQ(fake_.last_filter(), restriction);
}

TEST_F(ServedTest, SinceUntilAndFailing_NarrowTheFilter) {
  Run({"results", "--failing", "--since", "2026-11-20", "--until", "2026-11-21T08:00", "--filter",
       "node in (a, b)", "-o", "json"});
  EXPECT_EQ(fake_.last_filter(),
            "node in (a, b) AND outcome != ok AND end_time >= 2026-11-20T00:00:00Z AND "
            "end_time < 2026-11-21T08:00:00Z");
  for (const char* age : {"12h", "-12h", "today", "yesterday", "1h30m"}) {
    EXPECT_EQ(Run({"results", "--since", age}).exit_code, 0) << age;
  }
  for (const char* bad : {"soon", "", "12", "2026-13-01", "1h' OR 1=1", "--"}) {
    const ProgramRun run = Run({"results", "--since=" + std::string(bad)});
    EXPECT_EQ(run.exit_code, 2) << bad << run.out;
  }
}

TEST_F(ServedTest, FilterError_CountsCharactersAsTyped) {
  for (const char* filter : {"a = 1 AND (b", "a = 1) OR (b = 2", "median >"}) {
    const Status typed = ParseFilter(filter).status();
    ASSERT_FALSE(typed.ok());
    const std::string where = typed.message().substr(0, typed.message().find(':'));
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"results", "--campaign", "nightly"},
          std::vector<std::string>{"compare", "--published"}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--filter", filter});
      const ProgramRun run = Run(arguments);
      EXPECT_EQ(run.exit_code, 2) << filter;
      EXPECT_NE(run.err.find(where + ":"), std::string::npos) << filter << run.err;
    }
  }
}

TEST_F(ServedTest, Compare_FindsThePublishedResult) {
  EXPECT_NE(Run({"compare", "--published"}).err, "");
  v1::CaseResult& run = *fake_.results.emplace_back().mutable_case_result();
  run.set_benchmark("gemm");
  run.set_outcome(v1::CASE_OUTCOME_OK);
  for (const char* name : {"m", "n", "k"}) (*run.mutable_parameters())[name] = "4096";
  v1::Measurement& measurement = *run.add_measurements();
  measurement.set_metric("tflops");
  measurement.set_unit("TFLOP/s");
  measurement.set_median(712);
  run.mutable_environment()->set_gpu_model("H200");
  run.mutable_environment()->set_gpu_form_factor("SXM");
  run.mutable_environment()->set_gpu_count(1);
  const ProgramRun unmatched = Run({"compare", "--published", "--filter", "a = 1 OR b = 2"});
  const Result<Filter> sent = ParseFilter(fake_.last_filter());
  ASSERT_TRUE(sent.ok()) << fake_.last_filter();
  EXPECT_TRUE(Mentions(*sent, "a") && Mentions(*sent, "metric")) << fake_.last_filter();
  EXPECT_EQ(unmatched.exit_code, 0);
  EXPECT_EQ(unmatched.out, "");
  EXPECT_NE(unmatched.err.find("m=4096 n=4096 k=4096"), std::string::npos) << unmatched.err;
  (*run.mutable_parameters())["dtype"] = "bf16";
  (*run.mutable_parameters())["fill"] = "random";
  EXPECT_NE(Run({"compare", "--published"}).out, "");
  const ProgramRun json = Run({"compare", "--published", "--campaign", "nightly", "-o", "json"});
  EXPECT_TRUE(Mentions(*ParseFilter(fake_.last_filter()), "campaign_id"));
  EXPECT_EQ(nlohmann::json::parse(json.out)[0]["ratio"], 1);
  EXPECT_EQ(Split(Run({"compare", "--published", "-o", "csv"}).out, ',')[1], "result_id");
}

TEST_F(ServedTest, Results_AreReadPageByPage) {
  for (int i = 0; i < 2500; ++i) {
    v1::CaseResult& run = *fake_.results.emplace_back().mutable_case_result();
    run.set_benchmark("gemm");
    run.set_outcome(v1::CASE_OUTCOME_OK);
    run.add_measurements()->set_median(i);
  }
  EXPECT_EQ(nlohmann::json::parse(Run({"results", "-o", "json"}).out).size(), 2500u);
  EXPECT_EQ(nlohmann::json::parse(Run({"results", "-o", "json", "-n", "1700"}).out).size(), 1700u);
}

TEST_F(ServedTest, ResultsTable_HasTheNewest50AndSaysHowManyMore) {
  for (int i = 0; i < 120; ++i) {
    v1::CaseResult& run = *fake_.results.emplace_back().mutable_case_result();
    run.set_benchmark("gemm");
    run.set_outcome(v1::CASE_OUTCOME_FAILED);
    run.mutable_failure()->set_reason(v1::REASON_TIMEOUT);
    run.mutable_failure()->set_message("took longer\nthan 20m");
  }
  const auto lines = [](const ProgramRun& run) {
    return std::count(run.out.begin(), run.out.end(), '\n');
  };
  const ProgramRun first = Run({"results", "--columns", "benchmark,outcome"});
  EXPECT_EQ(lines(first), 51) << first.out;
  EXPECT_EQ(first.err, "70 more results match; --limit 0 for all\n");
  const ProgramRun all = Run({"results", "--columns", "benchmark", "--limit", "0"});
  EXPECT_EQ(lines(all), 121);
  EXPECT_EQ(all.err, "");
  const ProgramRun csv = Run({"results", "--columns", "parameters.m,benchmark", "-o", "csv"});
  EXPECT_EQ(lines(csv), 121);
  EXPECT_EQ(csv.out.substr(0, 31), "parameters.m,benchmark\r\n,gemm\r\n");
  EXPECT_EQ(csv.err, "");
  const ProgramRun failing = Run({"results", "--failing", "-n", "1"});
  EXPECT_EQ(lines(failing), 2);
  EXPECT_WORDING("cli/results-failing", failing.out + failing.err);
  fake_.results.resize(1);
  EXPECT_EQ(nlohmann::json::parse(
                Run({"results", "--columns", "failure_reason,gpu.model", "-o", "json"}).out),
            nlohmann::json::parse(R"([{"failure_reason": "TIMEOUT"}])"));
}

TEST_F(ServedTest, ResultsSort_SendsTheOrderAndRefusesUnknownFields) {
  EXPECT_EQ(Run({"results", "--sort", "-median,node"}).exit_code, kExitDone);
  EXPECT_EQ(fake_.last_order(), "median desc, node");
  for (const char* option : {"--sort", "--by"}) {
    const ProgramRun unknown = Run({"results", option, "drivr"});
    EXPECT_EQ(unknown.exit_code, kExitUsage);
    EXPECT_NE(unknown.err.find("did you mean `driver`?"), std::string::npos) << unknown.err;
  }
  EXPECT_EQ(Run({"results", "--by", "driver", "--sort", "node"}).exit_code, kExitUsage);
}

TEST_F(ServedTest, ResultsBy_AsksForGroupsAndPrintsTheBestFirst) {
  for (const char* driver : {"550.54", "580.95"}) {
    v1::ResultGroup& group = fake_.groups.emplace_back();
    group.add_values(driver);
    group.set_median(100);
    if (driver[1] == '8') group.set_median(110);
    group.set_result_count(3);
    v1::CaseResult& run = *group.mutable_best()->mutable_case_result();
    run.set_benchmark("gemm");
    run.add_measurements()->set_metric("tflops");
  }
  const ProgramRun table = Run({"results", "--by", "driver", "--filter", "benchmark = gemm"});
  EXPECT_EQ(table.exit_code, kExitDone) << table.err;
  EXPECT_LT(table.out.find("580.95"), table.out.find("550.54")) << table.out;
  EXPECT_EQ(fake_.last_groups().group_by(0), "driver");
  EXPECT_EQ(fake_.last_groups().filter(), "benchmark = gemm");
  const ProgramRun one = Run({"results", "--by", "driver", "-n", "1"});
  EXPECT_EQ(one.out.find("550.54"), std::string::npos);
  EXPECT_EQ(one.err, "1 more groups; --limit 0 for all\n");
  const auto json = nlohmann::json::parse(Run({"results", "--by", "driver", "-o", "json"}).out);
  EXPECT_EQ(json[0]["group"]["driver"], "580.95");
  EXPECT_EQ(json[0]["median"], 110);
  EXPECT_EQ(Run({"results", "--best"}).exit_code, kExitDone);
  EXPECT_EQ(fake_.last_groups().group_by_size(), 4);
}

TEST_F(ServedTest, Export_WritesEveryPage) {
  for (int i = 0; i < 2500; ++i) {
    fake_.results.emplace_back().mutable_case_result()->set_benchmark("gemm");
  }
  const auto lines = [](const std::string& text) {
    return std::count(text.begin(), text.end(), '\n');
  };
  const std::string file = folder_.path() + "/results.jsonl";
  const ProgramRun run = Run(
      {"export", "--since", "2026-11-20", "--filter", "node = a", "-o", "jsonl", "--file", file});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(fake_.last_filter(), "node = a AND end_time >= 2026-11-20T00:00:00Z");
  const std::string written = ReadFile(file).value();
  EXPECT_EQ(lines(written), 2500);
  EXPECT_EQ(nlohmann::json::parse(written.substr(0, written.find('\n')))["benchmark"], "gemm");
  EXPECT_EQ(Run({"export"}).out, Run({"results", "-o", "csv"}).out);
  EXPECT_EQ(Run({"export", "--file", folder_.path() + "/none/a"}).exit_code, 2);
  // A link is written through, not replaced.
  const std::string link = folder_.path() + "/link";
  std::filesystem::create_symlink(file, link);
  EXPECT_EQ(Run({"export", "--file", link}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadFile(file).value(), Run({"export"}).out);
  EXPECT_EQ(Run({"export", "-o", "json"}).exit_code, 2);
  EXPECT_EQ(std::system(("ASSAY_COORDINATOR=" + fake_.address() +
                         " " ASSAY_PROGRAM " export >/dev/full 2>/dev/null")
                            .c_str()),
            4 << 8);
}

TEST_F(ServedTest, UnknownColumn_ExitsWith2) {
  const ProgramRun run = Run({"results", "--columns", "node,medain"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_WORDING("cli/unknown-column", run.err);
  for (const char* bad : {"", ",", "node,", "Node", "parametersx.m"}) {
    EXPECT_EQ(Run({"results", "--columns=" + std::string(bad)}).exit_code, 2) << bad;
  }
}

TEST_F(ServedTest, UnknownBenchmark_ClosestNameIsSuggested) {
  for (const char* name : {"gemm", "all_reduce"}) {
    fake_.benchmarks.add_benchmarks()->mutable_schema()->set_name(name);
  }
  const ProgramRun run = Run({"benchmark", "show", "gem"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_WORDING("cli/unknown-benchmark", run.err);
}

TEST_F(ServedTest, BenchmarkShow_ListsRulesBetweenParameters) {
  v1::BenchmarkSchema& schema = *fake_.benchmarks.add_benchmarks()->mutable_schema();
  schema.set_name("unpublished");
  schema.set_resource(v1::RESOURCE_KIND_CPU);
  for (const char* name : {"hot", "zeros"}) {
    schema.add_parameters()->set_name(name);
    schema.mutable_parameters()->rbegin()->set_type(v1::PARAMETER_TYPE_BOOLEAN);
  }
  v1::ParameterConstraint& constraint = *schema.mutable_parameters(0)->add_constraints();
  constraint.add_choices("false");
  constraint.set_parameter("zeros");
  constraint.add_values("true");
  EXPECT_WORDING("cli/benchmark-show", Run({"benchmark", "show", "unpublished"}).out);
}

TEST_F(ServedTest, NoMatch_MisspeltNamesAreSuggested) {
  v1::BenchmarkSchema& schema = *fake_.benchmarks.add_benchmarks()->mutable_schema();
  schema.set_name("gemm");
  schema.add_metrics()->set_name("tflops");
  schema.add_parameters()->set_name("dtype");
  const auto said = [this](const char* filter) { return Run({"results", "--filter", filter}).err; };
  EXPECT_WORDING("cli/misspelt-filter", said("node = a AND benchmark = gem") +
                                            said("NOT parameters.dtpe : *") +
                                            said("metric = tflop"));
  const std::string no_match = said("");
  for (const char* other : {"benchmark = gemm", "benchmark = ge*", "benchmark != gem",
                            "benchmark = copy", "parameters.dtype = x"}) {
    EXPECT_EQ(said(other), no_match) << other;
  }
}

TEST_F(ServedTest, NoMatch_ImportedResultsAreHintedAt) {
  const std::vector<std::string> filtered = {"results", "--filter", "a = 1 OR b = 2"};
  const std::string no_match = Run(filtered).err;
  EXPECT_EQ(fake_.last_filter(), "a = 1 OR b = 2 AND imported : *");
  fake_.imported.emplace_back();
  const std::string hinted = Run(filtered).err;
  EXPECT_NE(hinted, no_match);
  EXPECT_EQ(Run({"results"}).err, hinted);
  EXPECT_EQ(Run({"compare", "--published"}).err, hinted);
  EXPECT_WORDING("cli/no-match", hinted + Run({"results", "--campaign", "nightly"}).err);
  EXPECT_EQ(Run({"results", "-o", "csv"}).err, "");
}

TEST_F(ServedTest, EmptyFleet_HintsAtTheNextStep) {
  fake_.nodes.clear();
  std::string said = Run({"node", "list"}).err;
  const size_t at = said.find(fake_.address());
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_WORDING("cli/no-nodes", said.replace(at, fake_.address().size(), "HOST:7900"));
}

}  // namespace
}  // namespace assay::cli
