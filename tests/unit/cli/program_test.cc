// The real program: arguments, exit codes, and what it says.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/filter.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"

namespace assay::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Nothing listens there: port 1 needs root and a very old service.
constexpr char kNobody[] = "127.0.0.1:1";

struct BadUsage {
  std::vector<std::string> arguments;
  std::string says;
};

class UsageTest : public testing::TestWithParam<BadUsage> {};

TEST_P(UsageTest, ExitsWithTwoAndSaysWhy) {
  const ProgramRun run = RunAssay(GetParam().arguments, kNobody);
  EXPECT_EQ(run.exit_code, 2) << run.err;
  EXPECT_THAT(run.err, HasSubstr(GetParam().says));
  EXPECT_EQ(run.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, UsageTest,
    testing::Values(
        BadUsage{{}, "\"assay\" needs a command: up, campaign, node"},
        BadUsage{{"nod"}, "\"nod\" is no command of \"assay\"; did you mean node? Commands: up"},
        BadUsage{{"campaign", "sumbit", "x"}, "\"sumbit\" is no command of \"assay campaign\""},
        BadUsage{{"campaign"}, "\"assay campaign\" needs a command: submit"},
        BadUsage{{"campaign", "submit"}, "file is required"},
        BadUsage{{"campaign", "submit", "/nonexistent.yaml"},
                 "assay: cannot read /nonexistent.yaml: No such file or directory"},
        BadUsage{{"campaign", "list", "--limit", "-3"}, "--limit"},
        BadUsage{{"results", "-o", "xml"}, "--output"},
        BadUsage{{"compare"}, "compare with what? --published sets results beside published"},
        BadUsage{{"results", "--limit", "many"}, "--limit"},
        BadUsage{{"node", "list", "--bogus"}, "\"--bogus\" is no option of \"assay node list\""},
        BadUsage{{"--bogus"}, "\"--bogus\" is no option of \"assay\"\n"},
        BadUsage{{"results", "--filtre=x"},
                 "\"--filtre\" is no option of \"assay results\"; did you "
                 "mean --filter?"},
        BadUsage{{"node", "list", "--cordinator", "x"}, "did you mean --coordinator?"},
        BadUsage{{"results", "nightly"},
                 "\"assay results\" takes no \"nightly\"; a campaign stands "
                 "after --campaign"},
        BadUsage{{"campaign", "show", "a", "b"}, "\"assay campaign show\" takes no \"b\"\n"},
        BadUsage{{"results", "--filter", "node=\"\xff\""}, "is not text in UTF-8"},
        BadUsage{{"node", "add"}, "address is required"}, BadUsage{{"completion", "tcsh"}, "tcsh"},
        BadUsage{{"run", "gemm", "m"}, "\"m\" is not NAME=VALUE; write for example m=4096"},
        BadUsage{{"run", "gemm", "m=1", "m=2"}, "parameter \"m\" is given twice"},
        BadUsage{{"run", "gemm", "--local", "--agent", "127.0.0.1:1"}, "--agent excludes --local"},
        BadUsage{{"run", "gemm", "--gpus", "a"}, "--gpus"},
        BadUsage{{"run", "gemm", "--local", "-o", "csv"}, "--local writes no csv"},
        BadUsage{{"run", "cpu_gemm", "--local", "--gpus", "0"},
                 "assay-runner: --gpu: cpu_gemm does not run on a GPU"},
        BadUsage{{"--coordinator", "nowhere", "node", "list"}, "\"nowhere\" is not HOST:PORT"},
        BadUsage{{"--coordinator", "localhost:0", "node", "list"}, "port 0"},
        BadUsage{{"--tls-cert", "/nonexistent", "node", "list"}, "without its key"},
        BadUsage{{"--tls-ca", "/nonexistent", "node", "list"}, "/nonexistent"},
        BadUsage{{"up", "--listen", "7900"}, "--listen: \"7900\" is not HOST:PORT"}));

TEST(ProgramTest, HelpAndVersion) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"--help"}, {"campaign", "submit", "--help"}}) {
    const ProgramRun run = RunAssay(arguments, kNobody);
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_THAT(run.out, HasSubstr("Usage: assay"));
  }
  EXPECT_EQ(RunAssay({"version"}, kNobody).out, "assay " ASSAY_VERSION "\n");
  EXPECT_EQ(RunAssay({"--version"}, kNobody).out, "assay " ASSAY_VERSION "\n");
}

TEST(ProgramTest, OutputThatCannotBeWrittenIsAnError) {
  EXPECT_EQ(std::system(ASSAY_PROGRAM " version >/dev/full 2>/dev/null"), 4 << 8);
}

TEST(ProgramTest, UnreachableCoordinator) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"node", "list"}, {"campaign", "watch", "x"}, {"results"}, {"run", "gemm"}}) {
    const ProgramRun run = RunAssay(arguments, kNobody);
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_EQ(run.err,
              "assay: cannot reach the coordinator at 127.0.0.1:1: Connection refused\n"
              "hint: start one here with \"assay up\", or name another with --coordinator "
              "HOST:PORT or ASSAY_COORDINATOR\n");
  }
}

TEST(ProgramTest, PlaintextBeyondLoopbackIsRefused) {
  const ProgramRun run = RunAssay({"node", "list", "--coordinator", "192.0.2.1:7900"}, kNobody);
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("without TLS"));
}

// Writes a self-signed certificate to BASE.pem and its key to BASE.key.
bool MakeCertificate(const std::string& base) {
  const std::string make =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=a "
      "-keyout " +
      base + ".key -out " + base + ".pem >/dev/null 2>&1";
  return std::system(make.c_str()) == 0;
}

TEST(ProgramTest, AKeyOfAnotherCertificateIsNamed) {
  TemporaryFolder folder;
  ASSERT_TRUE(MakeCertificate(folder.path() + "/a"));
  ASSERT_TRUE(MakeCertificate(folder.path() + "/b"));
  const std::string certificate = folder.path() + "/a.pem";
  const std::string other = folder.path() + "/b.key";
  const ProgramRun run =
      RunAssay({"node", "list", "--tls-cert", certificate, "--tls-key", other}, kNobody);
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "assay: " + other + " is not the key of the first certificate in " +
                         certificate + "\n");
  const ProgramRun fitting = RunAssay(
      {"node", "list", "--tls-cert", certificate, "--tls-key", folder.path() + "/a.key"}, kNobody);
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

TEST_F(ServedTest, BadFileIsNeverSent) {
  const std::string path = Write("name: a\nbenchmarks: [Gemm]\n");
  const ProgramRun run = Run({"campaign", "submit", path});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, path +
                         ":2:14: benchmarks[0]: \"Gemm\" is not the name of a benchmark; names "
                         "are lower-case letters, digits and _\n");
  EXPECT_EQ(fake_.create_calls(), 0);
}

TEST_F(ServedTest, SubmitSendsTheSpec) {
  const ProgramRun run = Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out,
            "Submitted campaign nightly (11111111-2222-4333-8444-555555555555): 2 jobs with 6 "
            "cases\nWatch it: assay campaign watch 11111111-2222-4333-8444-555555555555\n");
  const v1::CreateCampaignRequest request = fake_.last_create();
  EXPECT_EQ(request.spec().benchmarks(0).benchmark(), "gemm");
  EXPECT_EQ(request.request_id().size(), 36u);
  EXPECT_FALSE(request.validate_only());
}

TEST_F(ServedTest, DryRunSaysWhatWouldRun) {
  const std::string path = Write("name: a\nbenchmarks: [gemm]\n");
  const ProgramRun run = Run({"campaign", "submit", path, "--dry-run", "--watch"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.out, path + ": valid; would run 2 jobs with 6 cases. Nothing was submitted.\n");
  EXPECT_TRUE(fake_.last_create().validate_only());
}

TEST_F(ServedTest, CoordinatorsFaultsLookLikeOurs) {
  fake_.create_error = InvalidArgument("2 faults", Reason::kInvalidCampaign)
                           .WithHint("see: assay benchmark show gemm")
                           .WithViolations({{"benchmarks[0].gemm.m", "\"x\" is not a number", 2},
                                            {"nodes", "no node matches", 0}});
  const std::string path = Write("name: a\nbenchmarks: [gemm]\n");
  const ProgramRun run = Run({"campaign", "submit", path});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, path + ":2: benchmarks[0].gemm.m: \"x\" is not a number\n" + path +
                         ": nodes: no node matches\nhint: see: assay benchmark show gemm\n");
}

TEST_F(ServedTest, RefusalsExitWithFour) {
  EXPECT_EQ(Run({"node", "remove", "node-a"}).exit_code, 4);
  EXPECT_EQ(Run({"node", "remove", "node-a"}).err, "assay: the node runs a job\n");
  EXPECT_EQ(Run({"campaign", "show", "other"}).exit_code, 4);
  fake_.create_error = Status(Code::kPermissionDenied, Reason::kNodeBusy, "not allowed to submit");
  EXPECT_EQ(Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")}).exit_code, 4);
}

TEST_F(ServedTest, AnotherProgramThatAnswersIsNamed) {
  fake_.create_error = Status(Code::kUnimplemented, Reason::kNone, "");
  const ProgramRun run = Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_THAT(run.err, HasSubstr("what answers at " + fake_.address() + " is not the coordinator"));
}

TEST_F(ServedTest, ACampaignThatHasEndedIsNotCancelled) {
  fake_.campaigns[0].set_state(v1::CAMPAIGN_STATE_COMPLETED);
  fake_.campaigns[0].set_verdict(v1::VERDICT_PASSED);
  const ProgramRun run = Run({"campaign", "cancel", "nightly"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, StartsWith("Nothing to cancel: campaign nightly ("));
  EXPECT_THAT(run.out, HasSubstr("has ended: PASSED"));
}

TEST_F(ServedTest, FaultsWithoutAFileAreListedOnce) {
  fake_.create_error = InvalidArgument("the campaign has a fault: nodes: none is connected")
                           .WithViolations({{"nodes", "none is connected", 0}});
  const ProgramRun run = Run({"run", "gemm"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "assay: cannot run gemm\n  none is connected\n");
}

TEST_F(ServedTest, CoordinatorWithoutDatabaseSpeaksForItself) {
  fake_.create_error = Unavailable("the database does not answer", Reason::kDatabaseUnavailable);
  const ProgramRun run = Run({"campaign", "submit", Write("name: a\nbenchmarks: [gemm]\n")});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.err, "assay: the database does not answer\n");
}

TEST_F(ServedTest, ListsAreTablesJsonAndCsv) {
  EXPECT_EQ(Run({"node", "list"}).out, "NAME    STATE  HARDWARE\nnode-a  idle   EPYC, 9654\n");
  const auto json = nlohmann::json::parse(Run({"node", "list", "-o", "json"}).out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["description"]["inventory"]["cpu"]["model"], "EPYC, 9654");
  EXPECT_EQ(json[0]["state"], "NODE_STATE_CONNECTED");
  EXPECT_EQ(json[0]["dial_address"], "");
  const std::string csv = Run({"node", "list", "-o", "csv"}).out;
  EXPECT_THAT(csv, StartsWith("node_id,name,state,"));
  EXPECT_THAT(csv, HasSubstr(",node-a,NODE_STATE_CONNECTED,,0,,\"EPYC, 9654\","));
  EXPECT_EQ(nlohmann::json::parse(Run({"campaign", "list", "-o", "json"}).out)[0]["name"],
            "nightly");
  EXPECT_THAT(Run({"campaign", "list", "-o", "csv"}).out, StartsWith("campaign_id,name,state,"));
  EXPECT_EQ(Run({"benchmark", "list", "-o", "json"}).out, "[]\n");
}

TEST_F(ServedTest, ShowNamesEveryJobInJson) {
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

TEST_F(ServedTest, FiltersTravelUnchanged) {
  Run({"node", "list", "--filter", "gpu.model = \"H200\""});
  EXPECT_EQ(fake_.last_filter(), "gpu.model = \"H200\"");
  Run({"results", "--campaign", "nightly", "--filter", "a = 1 OR b = 2"});
  const std::string restriction = "campaign_id = \"11111111-2222-4333-8444-555555555555\"";
  EXPECT_EQ(fake_.last_filter(), "a = 1 OR b = 2 AND " + restriction);
  Run({"results", "--campaign", "nightly", "--filter", " "});
  EXPECT_EQ(fake_.last_filter(), restriction);
}

TEST_F(ServedTest, CountsCharactersOfAFilterAsTyped) {
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
      EXPECT_THAT(run.err, HasSubstr(where + ":")) << filter;
    }
  }
}

TEST_F(ServedTest, ComparesWithWhatWasPublished) {
  EXPECT_THAT(Run({"compare", "--published"}).err, HasSubstr("No results match."));
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
  EXPECT_THAT(fake_.last_filter(), StartsWith("a = 1 OR b = 2 AND metric = "));
  EXPECT_EQ(unmatched.exit_code, 0);
  EXPECT_EQ(unmatched.out, "");
  EXPECT_THAT(unmatched.err, HasSubstr("m=4096 n=4096 k=4096 dtype=bf16"));
  (*run.mutable_parameters())["dtype"] = "bf16";
  (*run.mutable_parameters())["fill"] = "random";
  EXPECT_THAT(Run({"compare", "--published"}).out, HasSubstr("1.000"));
  const ProgramRun json = Run({"compare", "--published", "--campaign", "nightly", "-o", "json"});
  EXPECT_THAT(fake_.last_filter(), StartsWith("metric = "));
  EXPECT_THAT(fake_.last_filter(),
              HasSubstr(" AND campaign_id = \"11111111-2222-4333-8444-555555555555\""));
  EXPECT_EQ(nlohmann::json::parse(json.out)[0]["ratio"], 1);
  EXPECT_THAT(Run({"compare", "--published", "-o", "csv"}).out, StartsWith("time,result_id,"));
}

TEST_F(ServedTest, ResultsAreReadPageByPage) {
  for (int i = 0; i < 2500; ++i) {
    v1::CaseResult& run = *fake_.results.emplace_back().mutable_case_result();
    run.set_benchmark("gemm");
    run.set_outcome(v1::CASE_OUTCOME_OK);
    run.add_measurements()->set_median(i);
  }
  EXPECT_EQ(nlohmann::json::parse(Run({"results", "-o", "json"}).out).size(), 2500u);
  EXPECT_EQ(nlohmann::json::parse(Run({"results", "-o", "json", "-n", "1700"}).out).size(), 1700u);
}

TEST_F(ServedTest, UnknownBenchmarkIsGuessed) {
  for (const char* name : {"gemm", "all_reduce"}) {
    fake_.benchmarks.add_benchmarks()->mutable_schema()->set_name(name);
  }
  const ProgramRun run = Run({"benchmark", "show", "gem"});
  EXPECT_EQ(run.exit_code, 4);
  EXPECT_EQ(run.err,
            "assay: no connected node knows a benchmark \"gem\"\nhint: did you mean gemm?\n");
}

TEST_F(ServedTest, ABenchmarkTellsWhichValuesGoTogether) {
  v1::BenchmarkSchema& schema = *fake_.benchmarks.add_benchmarks()->mutable_schema();
  schema.set_name("gemm");
  for (const char* name : {"hot", "zeros"}) {
    schema.add_parameters()->set_name(name);
    schema.mutable_parameters()->rbegin()->set_type(v1::PARAMETER_TYPE_BOOLEAN);
  }
  v1::ParameterConstraint& constraint = *schema.mutable_parameters(0)->add_constraints();
  constraint.add_choices("false");
  constraint.set_parameter("zeros");
  constraint.add_values("true");
  EXPECT_THAT(Run({"benchmark", "show", "gemm"}).out,
              HasSubstr("\nValues that go together:\n  hot: with zeros true: false\n\n"));
}

TEST_F(ServedTest, NamesThatNothingHasAreGuessedWhereNothingMatches) {
  v1::BenchmarkSchema& schema = *fake_.benchmarks.add_benchmarks()->mutable_schema();
  schema.set_name("gemm");
  schema.add_metrics()->set_name("tflops");
  schema.add_parameters()->set_name("dtype");
  const auto said = [this](const char* filter) { return Run({"results", "--filter", filter}).err; };
  EXPECT_EQ(said("node = a AND benchmark = gem"),
            "No results match.\nhint: no connected node has a benchmark `gem`; did you mean "
            "`gemm`?\n");
  EXPECT_THAT(said("NOT parameters.dtpe : *"), HasSubstr("did you mean `parameters.dtype`?"));
  EXPECT_THAT(said("metric = tflop"), HasSubstr("a metric `tflop`; did you mean `tflops`?"));
  for (const char* other : {"benchmark = gemm", "benchmark = ge*", "benchmark != gem",
                            "benchmark = copy", "parameters.dtype = x", ""}) {
    EXPECT_EQ(said(other), "No results match.\n") << other;
  }
}

TEST_F(ServedTest, ImportedResultsThatWouldMatchAreHintedAt) {
  const std::vector<std::string> filtered = {"results", "--filter", "a = 1 OR b = 2"};
  EXPECT_EQ(Run(filtered).err, "No results match.\n");
  EXPECT_EQ(fake_.last_filter(), "a = 1 OR b = 2 AND imported : *");
  fake_.imported.emplace_back();
  EXPECT_THAT(Run(filtered).err, HasSubstr("hint: imported results do: add `imported : *`"));
  EXPECT_THAT(Run({"results"}).err, HasSubstr("hint: imported"));
  EXPECT_THAT(Run({"compare", "--published"}).err, HasSubstr("hint: imported"));
  EXPECT_THAT(Run({"results", "--campaign", "nightly"}).err,
              HasSubstr("has no results.\nhint: assay campaign show nightly tells what"));
  EXPECT_EQ(Run({"results", "-o", "csv"}).err, "");
}

TEST_F(ServedTest, EmptyFleetSaysWhatToDo) {
  fake_.nodes.clear();
  EXPECT_THAT(Run({"node", "list"}).err, HasSubstr("assay node add HOST:PORT"));
  EXPECT_THAT(Run({"results"}).err, HasSubstr("No results match."));
}

}  // namespace
}  // namespace assay::cli
