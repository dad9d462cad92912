// A whole agent over real gRPC on loopback, with the fake runner.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>
#include <nlohmann/json.hpp>

#include "agent/agent_process.h"
#include "agent/rpc/session_stream.h"
#include "assay/v1/agent_service.grpc.pb.h"
#include "tests/certificates.h"
#include "tests/temporary_folder.h"
#include "tests/unit/agent/scripted_coordinator.h"
#include "wire/status_conversion.h"

namespace assay::agent {
namespace {

// A job without ranks on GPUs that has three cases.
v1::CoordinatorMessage AssignmentOf(const std::string& benchmark) {
  v1::CoordinatorMessage message;
  v1::JobSpec* job = message.mutable_assign()->mutable_job();
  job->set_job_id("job");
  job->set_epoch(1);
  job->set_benchmark(benchmark);
  job->set_world_size(1);
  job->add_ranks()->set_gpu_index(-1);
  for (int i = 0; i < 3; ++i) job->add_cases()->set_case_index(i);
  message.mutable_assign()->mutable_lease()->set_seconds(30);
  return message;
}

class AgentRpcTest : public ::testing::Test {
 protected:
  void StartAgent(const std::vector<std::string>& coordinators = {},
                  const std::string& runner = ASSAY_FAKE_RUNNER) {
    AgentOptions options;
    options.data = folder_.path() + "/agent";
    options.listen = "127.0.0.1:0";
    options.http = "127.0.0.1:0";
    options.name = "tester";
    options.runner = runner;
    options.coordinators = coordinators;
    auto agent = AgentProcess::Start(options);
    ASSERT_TRUE(agent.ok()) << agent.status();
    agent_ = std::move(*agent);
    address_ = nlohmann::json::parse(agent_->ReadyLine())["grpc"];
    stub_ = v1::AgentService::NewStub(
        grpc::CreateChannel(address_, grpc::InsecureChannelCredentials()));
  }

  // All that one RunJob says; `status` gets how it ended.
  std::vector<v1::RunJobResponse> Run(const v1::RunJobRequest& request, Status* status) {
    grpc::ClientContext context;
    const auto reader = stub_->RunJob(&context, request);
    std::vector<v1::RunJobResponse> responses;
    for (v1::RunJobResponse response; reader->Read(&response);) responses.push_back(response);
    *status = rpc::FromGrpc(reader->Finish());
    return responses;
  }

  static v1::RunJobRequest Request(const std::string& benchmark) {
    v1::RunJobRequest request;
    request.set_benchmark(benchmark);
    return request;
  }

  // Until the session says that `job` has ended.
  template <typename Stream>
  static v1::JobFinished AwaitFinished(Stream* stream, int* results) {
    for (v1::AgentMessage message; stream->Read(&message);) {
      v1::CoordinatorMessage answer;
      if (message.has_case_result()) {
        ++*results;
        v1::ResultAck* ack = answer.mutable_result_ack();
        ack->set_job_id(message.case_result().job_id());
        ack->set_epoch(message.case_result().epoch());
        ack->set_case_index(message.case_result().case_index());
        ack->set_verdict(v1::ResultAck::VERDICT_STORED);
        stream->Write(answer);
      } else if (message.has_job_finished()) {
        return message.job_finished();
      }
    }
    return {};
  }

  TemporaryFolder folder_;
  std::unique_ptr<AgentProcess> agent_;
  std::string address_;
  std::unique_ptr<v1::AgentService::Stub> stub_;
};

TEST_F(AgentRpcTest, RunsAJobForACaller) {
  StartAgent();
  v1::RunJobRequest request = Request("ok");
  (*request.mutable_parameters())["value"] = "42";
  Status status;
  const auto responses = Run(request, &status);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_FALSE(responses.empty());
  ASSERT_TRUE(responses.back().has_case_result()) << responses.back().DebugString();
  const v1::CaseResult& result = responses.back().case_result();
  EXPECT_EQ(result.measurements(0).median(), 42);
  EXPECT_EQ(result.parameters().at("millis"), "0") << "defaults are filled in";
  EXPECT_EQ(result.provenance().node_names(0), "tester");
}

TEST_F(AgentRpcTest, FailuresAreTheLastMessage) {
  StartAgent();
  Status status;
  const auto responses = Run(Request("crash"), &status);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(responses.back().failure().reason(), v1::REASON_RUNNER_CRASHED);
  EXPECT_TRUE(Run(Request("ok"), &status).back().has_case_result()) << "the agent lives on";
}

TEST_F(AgentRpcTest, BadParametersAreRefusedWithEveryFault) {
  StartAgent();
  v1::RunJobRequest request = Request("ok");
  (*request.mutable_parameters())["value"] = "many";
  (*request.mutable_parameters())["colour"] = "red";
  Status status;
  Run(request, &status);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.violations().size(), 2U);
  Run(Request("okay"), &status);
  EXPECT_EQ(status.code(), Code::kNotFound);
}

TEST_F(AgentRpcTest, ContradictingParametersAreReportedEvenIfTheNodeLacksSomething) {
  StartAgent();
  v1::RunJobRequest request = Request("no_gpu");
  (*request.mutable_parameters())["value"] = "7";
  Status status;
  Run(request, &status);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.reason(), Reason::kInvalidParameter);
  (*request.mutable_parameters())["value"] = "8";
  Run(request, &status);
  EXPECT_EQ(status.reason(), Reason::kUnsupported) << status;
  // A runner of an earlier version does not report contradictions.
  (*request.mutable_parameters())["millis"] = "1";
  Run(request, &status);
  EXPECT_EQ(status.reason(), Reason::kUnsupported) << status;
  EXPECT_TRUE(Run(Request("ok"), &status).back().has_case_result()) << status;
}

TEST_F(AgentRpcTest, OneDirectJobAtATimeAndClosingTheCallEndsIt) {
  StartAgent();
  grpc::ClientContext context;
  const auto hanging = stub_->RunJob(&context, Request("hang"));
  v1::RunJobResponse response;
  ASSERT_TRUE(hanging->Read(&response));
  Status status;
  Run(Request("ok"), &status);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.reason(), Reason::kNodeBusy);
  context.TryCancel();
  hanging->Finish();
  // The next job runs as soon as the hanging one's processes have gone.
  do {
    Run(Request("ok"), &status);
  } while (status.reason() == Reason::kNodeBusy);
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(AgentRpcTest, DescribesItself) {
  StartAgent();
  grpc::ClientContext first;
  v1::GetInventoryResponse inventory;
  ASSERT_TRUE(stub_->GetInventory(&first, {}, &inventory).ok());
  EXPECT_EQ(inventory.node().name(), "tester");
  EXPECT_FALSE(inventory.node().metrics_address().empty());
  grpc::ClientContext second;
  v1::ListBenchmarksResponse benchmarks;
  ASSERT_TRUE(stub_->ListBenchmarks(&second, {}, &benchmarks).ok());
  EXPECT_GT(benchmarks.benchmarks_size(), 3);
}

TEST_F(AgentRpcTest, BrokenRunnerLeavesAnAgentThatSaysSo) {
  StartAgent({}, "/nonexistent/assay-runner");
  grpc::ClientContext context;
  v1::GetInventoryResponse inventory;
  ASSERT_TRUE(stub_->GetInventory(&context, {}, &inventory).ok());
  EXPECT_EQ(inventory.node().benchmarks_size(), 0);
  ASSERT_GT(inventory.node().health_size(), 0);
  EXPECT_EQ(inventory.node().health(0).check(), "runner");
}

TEST_F(AgentRpcTest, CoordinatorDialsAndTheNewestSessionWins) {
  StartAgent();
  grpc::ClientContext old_context;
  const auto old_session = stub_->Session(&old_context);
  v1::AgentMessage message;
  ASSERT_TRUE(old_session->Read(&message));
  EXPECT_TRUE(message.has_hello());
  grpc::ClientContext context;
  const auto session = stub_->Session(&context);
  ASSERT_TRUE(session->Read(&message));
  EXPECT_FALSE(old_session->Read(&message)) << "the older session was ended";
  EXPECT_TRUE(old_session->Finish().ok());

  session->Write(HelloAck());
  session->Write(AssignmentOf("ok"));
  int results = 0;
  const v1::JobFinished finished = AwaitFinished(session.get(), &results);
  EXPECT_EQ(finished.job_id(), "job");
  EXPECT_FALSE(finished.has_failure()) << finished.DebugString();
  EXPECT_EQ(results, 3);
  v1::CoordinatorMessage ack;
  ack.mutable_job_finished_ack()->set_job_id("job");
  ack.mutable_job_finished_ack()->set_epoch(1);
  session->Write(ack);
  session->WritesDone();
  while (session->Read(&message)) {
  }
  EXPECT_TRUE(session->Finish().ok());
}

TEST_F(AgentRpcTest, AttachesAndSaysGoodbye) {
  ScriptedCoordinator coordinator;
  StartAgent({coordinator.address()});
  EXPECT_EQ(coordinator.Await(v1::AgentMessage::kHello).hello().node().name(), "tester");
  coordinator.Await(v1::AgentMessage::kState);
  agent_.reset();
  EXPECT_FALSE(coordinator.Await(v1::AgentMessage::kGoingAway).going_away().reason().empty());
}

TEST_F(AgentRpcTest, StoppedAgentHandsItsJobBack) {
  ScriptedCoordinator coordinator({{{HelloAck(), AssignmentOf("hang")}}});
  StartAgent({coordinator.address()});
  coordinator.Await([](const auto& message) {
    return message.has_state() && message.state().running_jobs_size() == 1;
  });
  agent_.reset();
  const v1::JobFinished finished = coordinator.Await(v1::AgentMessage::kJobFinished).job_finished();
  EXPECT_EQ(finished.failure().reason(), v1::REASON_AGENT_STOPPED);
}

TEST_F(AgentRpcTest, CoordinatorThatIsAwayIsPassedOver) {
  ScriptedCoordinator coordinator;
  StartAgent({"127.0.0.1:1", coordinator.address()});
  coordinator.Await(v1::AgentMessage::kState);
}

TEST_F(AgentRpcTest, FollowsTheAddressInReconnect) {
  ScriptedCoordinator leader;
  ScriptedCoordinator other({SendAwayTo(leader.address())});
  StartAgent({other.address()});
  leader.Await(v1::AgentMessage::kState);
}

TEST_F(AgentRpcTest, NamedCoordinatorThatIsAwayIsPassedOver) {
  ScriptedCoordinator leader;
  ScriptedCoordinator lost({SendAwayTo("127.0.0.1:1")});
  StartAgent({lost.address(), leader.address()});
  leader.Await(v1::AgentMessage::kState);
}

TEST_F(AgentRpcTest, EveryCoordinatorsAddressIsCheckedAtTheStart) {
  AgentOptions options;
  options.data = folder_.path() + "/agent";
  options.listen = "";
  options.http = "";
  options.runner = ASSAY_FAKE_RUNNER;
  options.coordinators = {"127.0.0.1:7900", "192.0.2.1:7900"};
  EXPECT_FALSE(AgentProcess::Start(options).ok()) << "plaintext beyond loopback";
}

TEST(AgentOptionsTest, CoordinatorsAreAList) {
  std::vector<std::string> words = {"assay-agent", "--coordinator", "a:1,b:2", "--coordinator",
                                    "c:3"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const auto parse = [&] {
    return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
  };
  const ParsedOptions parsed = parse();
  ASSERT_TRUE(parsed.options);
  EXPECT_THAT(parsed.options->coordinators, ::testing::ElementsAre("a:1", "b:2", "c:3"));
  EXPECT_EQ(parsed.options->listen, "") << "an agent that dials out need not be reached";
  words[2] = "a:1,b";
  arguments[2] = words[2].data();
  EXPECT_EQ(parse().exit_code, 2);
}

TEST(AgentOptionsTest, LabelsAreChecked) {
  const auto parse = [](std::vector<std::string> words) {
    words.insert(words.begin(), "assay-agent");
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    return ParseOptions(static_cast<int>(arguments.size()), arguments.data());
  };
  const ParsedOptions parsed = parse({"--label", "rack=7", "--label", "row=a=b", "--label", "x="});
  ASSERT_TRUE(parsed.options);
  EXPECT_EQ(parsed.options->labels.size(), 3U);
  EXPECT_EQ(parsed.options->labels.at("row"), "a=b");
  for (const std::vector<std::string>& labels :
       std::vector<std::vector<std::string>>{{"rack"},
                                             {"=7"},
                                             {"a b=7"},
                                             {"rack=\x01"},
                                             {"rack=" + std::string(257, 'x')},
                                             {"rack=7", "rack=7"},
                                             {"rack=7", "Rack=7"}}) {
    std::vector<std::string> words;
    for (const std::string& label : labels) words.insert(words.end(), {"--label", label});
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(parse(words).exit_code, 2) << labels.back();
    const std::string error = ::testing::internal::GetCapturedStderr();
    EXPECT_NE(error.find("--label"), std::string::npos) << error;
    if (labels.back() == "Rack=7") EXPECT_NE(error.find("rack"), std::string::npos) << error;
  }
}

// Runs an agent that dials `coordinator` until it says that it must end.
class AgentEndTest : public AgentRpcTest {
 protected:
  Status AwaitRefusal(const std::string& coordinator, const rpc::TlsFiles& tls = {}) {
    AgentOptions options;
    options.data = folder_.path() + "/agent";
    options.listen = "";
    options.http = "";
    options.runner = ASSAY_FAKE_RUNNER;
    options.coordinators = {coordinator};
    options.tls = tls;
    const auto refused = std::make_shared<std::promise<Status>>();
    const auto once = std::make_shared<std::once_flag>();
    AgentEvents events;
    events.refused = [refused, once](const Status& why) {
      std::call_once(*once, [&] { refused->set_value(why); });
    };
    auto agent = AgentProcess::Start(options, events);
    EXPECT_TRUE(agent.ok()) << agent.status();
    return refused->get_future().get();
  }
};

TEST_F(AgentEndTest, BannedOrRemovedNode_EndsAtOnceAndAfterASession) {
  for (const Reason reason : {Reason::kBanned, Reason::kNoIdentity}) {
    const grpc::Status refusal = rpc::ToGrpc(Status(Code::kPermissionDenied, reason, "no"));
    ScriptedCoordinator at_once({{{}, refusal}});
    EXPECT_EQ(AwaitRefusal(at_once.address()).reason(), reason);
    ScriptedCoordinator later({{{HelloAck()}, refusal}});
    EXPECT_EQ(AwaitRefusal(later.address()).reason(), reason);
  }
  // The reasons of checks before a call are lost.
  ScriptedCoordinator banned({{{}, grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "banned")}});
  EXPECT_EQ(AwaitRefusal(banned.address()).reason(), Reason::kBanned);
  ScriptedCoordinator removed(
      {{{}, grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "not enrolled")}});
  EXPECT_EQ(AwaitRefusal(removed.address()).reason(), Reason::kNoIdentity);
}

TEST_F(AgentEndTest, TlsToAPlaintextServer_EndsTheAgent) {
  testing_support::CertificateFolder certificates;
  certificates.Leaf("node", "URI:spiffe://f/node/0b0e4f4a-7a45-4d4f-9a55-000000000001,DNS:a",
                    "clientAuth");
  ScriptedCoordinator plain;
  const Status refused = AwaitRefusal(
      plain.address(),
      {certificates.Certificate("node"), certificates.Key("node"), certificates.authority()});
  EXPECT_EQ(refused.reason(), Reason::kWrongPeer) << refused;
}

TEST_F(AgentRpcTest, SecondAgentOnTheSameFolderIsRefused) {
  StartAgent();
  AgentOptions options;
  options.data = folder_.path() + "/agent";
  const auto second = AgentProcess::Start(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().reason(), Reason::kDataFolderInUse);
}

TEST_F(AgentRpcTest, ItsFilesAreItsUsersAlone) {
  StartAgent();
  using std::filesystem::perms;
  const auto mode = [this](const std::string& name) {
    return std::filesystem::status(folder_.path() + "/agent" + name).permissions();
  };
  EXPECT_EQ(mode(""), perms::owner_all);
  EXPECT_EQ(mode("/spool"), perms::owner_all);
  EXPECT_EQ(mode("/node_id"), perms::owner_read | perms::owner_write);
}

TEST_F(AgentRpcTest, TakenPortIsAClearError) {
  StartAgent();
  AgentOptions options;
  options.data = folder_.path() + "/other";
  options.runner = ASSAY_FAKE_RUNNER;
  options.listen = address_;
  options.http = "";
  const auto second = AgentProcess::Start(options);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().reason(), Reason::kAddressInUse);
}

TEST(OutboxTest, OnlyTheNewestStateWaits) {
  Outbox outbox;
  for (uint64_t sequence : {1, 2}) {
    v1::AgentMessage state;
    state.mutable_state()->set_sequence(sequence);
    outbox.Push(state);
    v1::AgentMessage result;
    result.mutable_case_result()->set_case_index(static_cast<int>(sequence));
    outbox.Push(result);
  }
  EXPECT_EQ(outbox.Pop()->case_result().case_index(), 1);
  EXPECT_EQ(outbox.Pop()->state().sequence(), 2U);
  EXPECT_EQ(outbox.Pop()->case_result().case_index(), 2);
  EXPECT_FALSE(outbox.Pop());
}

TEST(OutboxTest, ReplacedStatePassesItsTelemetryOn) {
  Outbox outbox;
  const auto push = [&](uint64_t sequence, std::optional<double> celsius) {
    v1::AgentMessage state;
    state.mutable_state()->set_sequence(sequence);
    if (celsius) state.mutable_state()->add_gpus()->set_temperature_celsius(*celsius);
    outbox.Push(state);
  };
  push(1, 40);
  push(2, std::nullopt);
  push(3, std::nullopt);
  const v1::AgentState kept = outbox.Pop()->state();
  EXPECT_EQ(kept.sequence(), 3U);
  ASSERT_EQ(kept.gpus_size(), 1);
  EXPECT_EQ(kept.gpus(0).temperature_celsius(), 40);
  push(4, 41);
  push(5, 42);
  EXPECT_EQ(outbox.Pop()->state().gpus(0).temperature_celsius(), 42);
}

}  // namespace
}  // namespace assay::agent
