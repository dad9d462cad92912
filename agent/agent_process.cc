#include "agent/agent_process.h"

#include <fcntl.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_builder.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "agent/core/advertise_address.h"
#include "agent/core/inventory.h"
#include "agent/core/node_check.h"
#include "agent/core/runner_query.h"
#include "agent/core/telemetry.h"
#include "agent/metrics/agent_metrics.h"
#include "assay/v1/identity_service.grpc.pb.h"
#include "common/file.h"
#include "common/host_port.h"
#include "common/log.h"
#include "common/mutex.h"
#include "common/text.h"
#include "common/uuid.h"
#include "identity/certificate_request.h"
#include "wire/explain_connection.h"
#include "wire/status_conversion.h"

namespace assay::agent {
namespace {

constexpr int64_t kSpoolLimitBytes = int64_t{256} << 20;
constexpr std::chrono::milliseconds kServerGrace{1000};
// The time that a coordinator may take to answer before the next coordinator is tried.
constexpr std::chrono::milliseconds kConnectTimeout{10'000};
constexpr std::chrono::seconds kRenewTimeout{10};

// Opens NVML, NVIDIA's library for querying GPUs. Returns null if the node has no GPUs or its
// driver is broken. If the driver is broken, also describes the problem in `trouble`. Fails if any
// of `gpus`, the GPUs that the user selected, is unavailable.
Result<std::shared_ptr<const Nvml>> OpenNvml(const std::vector<std::string>& gpus,
                                             std::optional<v1::HealthFinding>* trouble) {
  auto nvml = Nvml::Open([](const std::string& problem) { Log().warn("{}", problem); });
  if (!nvml.ok() && !gpus.empty()) return nvml.status().WithContext("--gpus");
  if (!nvml.ok()) {
    *trouble = JudgeNvml(nvml.status());
    if (*trouble) Log().error("{}", (*trouble)->message());
    if (!*trouble) Log().info("no NVIDIA GPUs: {}", nvml.status().message());
    return std::shared_ptr<const Nvml>();
  }
  if (!gpus.empty()) ASSAY_RETURN_IF_ERROR((*nvml)->Select(gpus).WithContext("--gpus"));
  return std::shared_ptr<const Nvml>(std::move(*nvml));
}

Result<HostPort> ParseFlag(const char* flag, const std::string& text) {
  auto address = ParseHostPort(text);
  if (!address.ok()) return address.status().WithContext(flag);
  return address;
}

Status FileError(const std::string& what, const std::string& path) {
  return Internal("cannot " + what + " " + path + ": " + std::strerror(errno), Reason::kDataFolder);
}

// Writes the id under another name first, because a truncated id would identify a new node.
Result<std::string> StoreNodeId(const std::string& path, const std::string& id) {
  const std::string text = id + "\n";
  const std::string unfinished = path + ".tmp";
  const FileDescriptor file(
      ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file.valid() ||
      ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      ::fsync(file.get()) != 0) {
    return FileError("write", unfinished);
  }
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return FileError("rename", unfinished);
  const Status synced = SyncFolder(std::filesystem::path(path).parent_path().string());
  if (!synced.ok()) return Internal(synced.message(), Reason::kDataFolder);
  return id;
}

// Returns the identity in the agent's certificate, or nullopt if the agent has no certificate.
// Fails if the certificate is not for a node or names a different one.
Result<std::optional<Identity>> NodeIdentity(const AgentOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(std::optional<Identity> identity, rpc::OwnIdentity(options.tls));
  if (!identity) return identity;
  const auto refused = [&](const std::string& why) {
    return InvalidArgument(options.tls.certificate + why, Reason::kBadCertificate)
        .WithHint("docs/guides/secure-a-fleet.md says how to make a node's certificate");
  };
  if (identity->role != Role::kNode) {
    return refused(" has the role " + std::string(RoleName(identity->role)) +
                   "; an agent needs a node's certificate");
  }
  if (!IsUuid(identity->id)) return refused(" has the id " + Quote(identity->id) + ", not a UUID");
  if (!options.name.empty() && options.name != identity->name) {
    return refused(" is of node " + Quote(identity->name) + ", and --name is " +
                   Quote(options.name));
  }
  return identity;
}

Result<std::shared_ptr<grpc::Channel>> ChannelTo(const std::string& text,
                                                 const AgentOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const HostPort address, ParseFlag("--coordinator", text));
  ASSAY_ASSIGN_OR_RETURN(const auto credentials,
                         rpc::ClientCredentials(address, options.tls, options.insecure));
  grpc::ChannelArguments arguments = rpc::ClientArguments();
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(kConnectTimeout.count()));
  return grpc::CreateCustomChannel(address.ToString(), credentials, arguments);
}

// Renews the certificate by a call to the first coordinator that answers.
Result<identity::Enrolled> RenewByCall(const AgentOptions& options) {
  v1::RenewCertificateRequest request;
  ASSAY_ASSIGN_OR_RETURN(*request.mutable_certificate_request(),
                         identity::MakeCertificateRequest(options.tls.key));
  Status error;
  for (const std::string& coordinator : options.coordinators) {
    const auto channel = ChannelTo(coordinator, options);
    if (!channel.ok()) return channel.status();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kRenewTimeout);
    v1::RenewCertificateResponse response;
    error = rpc::FromGrpc(
        v1::IdentityService::NewStub(*channel)->RenewCertificate(&context, request, &response));
    if (error.ok()) {
      return identity::StoreCertificate(*options.enrolled, response.certificate_chain());
    }
  }
  return error;
}

}  // namespace

// The coordinators that this agent can never connect to, for example because of a wrong
// certificate. The threads that detect this may outlive the agent, so they share ownership of this
// object.
struct AgentProcess::Explanations {
  Mutex mutex;
  bool running ASSAY_GUARDED_BY(mutex) = false;
  std::set<std::string> hopeless ASSAY_GUARDED_BY(mutex);
};

DataFolder::DataFolder(std::string path, FileDescriptor lock, std::string node_id)
    : path_(std::move(path)), lock_(std::move(lock)), node_id_(std::move(node_id)) {}

Result<DataFolder> DataFolder::Open(const std::string& path, const std::string& required_id) {
  std::error_code error;
  if (const Status made = MakePrivateFolder(path); !made.ok()) {
    return Internal(made.message(), Reason::kDataFolder);
  }
  const std::string lock_path = path + "/lock";
  FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock.valid()) return FileError("open", lock_path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    return FailedPrecondition("another agent runs on the data folder " + path,
                              Reason::kDataFolderInUse)
        .WithHint("stop it, or give this one a folder of its own with --data");
  }
  const std::string id_path = path + "/node_id";
  if (!std::filesystem::exists(id_path, error)) {
    ASSAY_ASSIGN_OR_RETURN(std::string id,
                           StoreNodeId(id_path, required_id.empty() ? NewUuid() : required_id));
    return DataFolder(path, std::move(lock), std::move(id));
  }
  ASSAY_ASSIGN_OR_RETURN(std::string id, ReadFile(id_path));
  while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
  if (!IsUuid(id)) {
    return FailedPrecondition(id_path + " holds no node id (a UUID)", Reason::kDataFolder)
        .WithHint("restore it, or remove the file to make this a new node");
  }
  if (!required_id.empty() && id != required_id) {
    return FailedPrecondition("the data folder " + path + " is of node " + id +
                                  ", and the certificate of node " + required_id,
                              Reason::kDataFolder)
        .WithHint("give the certificate of that node, or another folder with --data");
  }
  return DataFolder(path, std::move(lock), std::move(id));
}

AgentProcess::AgentProcess(AgentOptions options, AgentEvents events,
                           std::optional<Identity> identity, DataFolder data)
    : options_(std::move(options)),
      events_(std::move(events)),
      identity_(std::move(identity)),
      data_(std::move(data)),
      explanations_(std::make_shared<Explanations>()) {}

Result<std::unique_ptr<AgentProcess>> AgentProcess::Start(const AgentOptions& options,
                                                          AgentEvents events) {
  if (options.coordinators.empty() && options.listen.empty()) {
    return InvalidArgument("without --listen and --coordinator, this agent cannot be reached")
        .WithHint("give one of them, or join a fleet: assay-agent join");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Identity> identity, NodeIdentity(options));
  ASSAY_ASSIGN_OR_RETURN(DataFolder data,
                         DataFolder::Open(options.data, identity ? identity->id : ""));
  std::unique_ptr<AgentProcess> agent(
      new AgentProcess(options, std::move(events), identity, std::move(data)));
  ASSAY_RETURN_IF_ERROR(agent->OpenNode());
  ASSAY_RETURN_IF_ERROR(agent->StartSession());
  ASSAY_RETURN_IF_ERROR(agent->Serve());
  ASSAY_RETURN_IF_ERROR(agent->Attach());
  if (options.enrolled) agent->StartRenewer();
  return agent;
}

AgentProcess::~AgentProcess() {
  renewer_.reset();
  if (executor_ == nullptr) return;
  std::promise<void> handed_back;
  executor_->Post([&] {
    session_->HandBack("the agent was stopped", [&] {
      if (attach_ != nullptr) attach_->Stop();
      handed_back.set_value();
    });
  });
  handed_back.get_future().wait();
  if (attach_ != nullptr) attach_->AwaitEnd();
  acceptor_ = nullptr;
  if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now() + kServerGrace);
  http_.reset();
  RunOn(executor_.get(), [this] {
    attach_.reset();
    session_.reset();  // Stops the runners.
  });
  executor_.reset();
}

Status AgentProcess::OpenNode() {
  if (!options_.advertise_address.empty()) {
    ASSAY_RETURN_IF_ERROR(CheckAdvertiseAddress(options_.advertise_address));
  }
  std::optional<v1::HealthFinding> driver_trouble;
  ASSAY_ASSIGN_OR_RETURN(nvml_, OpenNvml(options_.gpus, &driver_trouble));
  ASSAY_ASSIGN_OR_RETURN(spool_, Spool::Open(data_.spool(), kSpoolLimitBytes));
  preflight_ = std::make_shared<Preflight>(nvml_, data_.spool());
  v1::HealthFinding trouble;
  node_ = std::make_shared<Node>(Describe(&trouble));
  if (!trouble.check().empty()) node_->AddLastingFinding(trouble);
  if (driver_trouble) node_->AddLastingFinding(*driver_trouble);
  const PreflightReport report = preflight_->Run(GpusOf(node_->description()), kPreflightBudget);
  for (const v1::HealthFinding& finding : report.findings) {
    Log().warn("preflight: {}", finding.message());
  }
  node_->SetHealth(report.findings);
  return Status::Ok();
}

v1::NodeDescription AgentProcess::Describe(v1::HealthFinding* trouble) const {
  v1::NodeDescription node;
  node.set_node_id(data_.node_id());
  node.set_boot_id(ReadBootId());
  node.set_agent_instance_id(NewUuid());
  node.set_agent_version(ASSAY_VERSION);
  *node.mutable_inventory() = ReadInventory(nvml_.get());
  node.set_name(identity_               ? identity_->name
                : options_.name.empty() ? node.inventory().hostname()
                                        : options_.name);
  *node.mutable_labels() = options_.labels;
  node.set_provider(options_.provider);
  node.set_region(options_.region);
  if (options_.price_per_hour) node.set_price_per_hour(*options_.price_per_hour);
  const std::vector<std::string>& coordinators = options_.coordinators;
  node.set_advertise_address(
      options_.advertise_address.empty()
          ? AdvertiseAddress(coordinators.empty() ? "" : coordinators.front(), options_.listen)
          : options_.advertise_address);
  node.set_advertise_address_given(!options_.advertise_address.empty());
  const auto runner = DescribeRunner(options_.runner, kDescribeTimeout);
  if (runner.ok()) {
    *node.mutable_benchmarks() = runner->benchmarks();
    *node.mutable_inventory()->mutable_software() = runner->software();
    Log().info("the runner has {} benchmarks", runner->benchmarks_size());
  } else {
    Log().error("no benchmarks: {}", runner.status().message());
    trouble->set_check("runner");
    trouble->set_severity(v1::HealthFinding::SEVERITY_ERROR);
    trouble->set_message(runner.status().message());
  }
  return node;
}

Status AgentProcess::StartSession() {
  executor_ = NewThreadPool(1, "agent");
  SupervisorOptions supervisor;
  supervisor.runner = options_.runner;
  supervisor.advertise_address = node_->description().advertise_address();
  supervisor.cache_folder = data_.path();
  supervisor.nccl_host_id = options_.nccl_host_id;
  supervisor_ = std::make_unique<Supervisor>(std::move(supervisor), node_, preflight_);
  std::function<Telemetry()> telemetry;
  if (nvml_ != nullptr) {
    const auto reader = std::make_shared<TelemetryReader>(
        [nvml = nvml_, gpus = GpusOf(node_->description())] { return ReadTelemetry(*nvml, gpus); });
    telemetry = [reader] { return reader->Take(); };
  }
  RunOn(executor_.get(), [this, &telemetry] {
    session_ = std::make_shared<Session>(Session::Options{
        &Clock::Real(), executor_.get(), supervisor_.get(), spool_.get(), &occupancy_, node_,
        [runner = options_.runner, preflight = preflight_,
         node = node_](std::function<void(v1::NodeChecked)> done) {
          // Check the node on a detached thread, so that the agent can exit even if the driver or
          // the runner program hangs.
          std::thread([=] { done(CheckNode(runner, *preflight, node.get())); }).detach();
        },
        std::move(telemetry), events_.attached});
  });
  return Status::Ok();
}

Status AgentProcess::Serve() {
  if (!options_.http.empty()) {
    http::MetricsServerOptions http;
    ASSAY_ASSIGN_OR_RETURN(http.address, ParseFlag("--http", options_.http));
    http.collectables = {Metrics()};
    ASSAY_ASSIGN_OR_RETURN(http_, http::MetricsServer::Start(std::move(http)));
    node_->SetMetricsAddress(http_->address().ToString());
  }
  if (options_.listen.empty()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(HostPort address, ParseFlag("--listen", options_.listen));
  ASSAY_ASSIGN_OR_RETURN(const auto credentials,
                         rpc::ServerCredentials(address, options_.tls, options_.insecure));
  service_ = std::make_unique<AgentServiceImpl>(
      session_,
      DirectJobHost{node_, supervisor_.get(), &occupancy_, executor_.get(), options_.runner});
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  rpc::ApplyServerLimits(builder);
  ASSAY_ASSIGN_OR_RETURN(auto acceptor,
                         rpc::Acceptor::Listen(address, rpc::ConnectionLimits::OfProcess()));
  acceptor->Register(builder, credentials);
  builder.RegisterService(service_.get());
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return Internal("the gRPC server cannot be started");
  acceptor_ = std::move(acceptor);
  acceptor_->Start();
  grpc_address_ = acceptor_->address().ToString();
  Log().info("serving gRPC on {}", grpc_address_);
  return Status::Ok();
}

Status AgentProcess::Attach() {
  if (options_.coordinators.empty()) return Status::Ok();
  const auto make_channel = [options = options_](const std::string& address) {
    return ChannelTo(address, options);
  };
  // Check all addresses now, so that the start fails if one cannot be used.
  for (const std::string& address : options_.coordinators) {
    ASSAY_RETURN_IF_ERROR(make_channel(address).status());
  }
  RunOn(executor_.get(), [&] {
    attach_ = std::make_unique<AttachClient>(options_.coordinators, make_channel,
                                             identity_ ? identity_->fleet : "", session_,
                                             executor_.get(), std::random_device()());
    attach_->OnCallEnd([this](const std::string& address, const Status& why, bool had_session) {
      OnCallEnded(address, why, had_session);
    });
    attach_->Start();
  });
  return Status::Ok();
}

void AgentProcess::OnCallEnded(const std::string& address, const Status& why, bool had_session) {
  if (!events_.refused) return;
  if (const auto expulsion = ExpulsionOf(why)) return events_.refused(*expulsion);
  // Do not give up if the agent has had a session before, because the coordinator may come back, or
  // if the certificate has expired, because the renewer will replace it.
  const bool expired =
      options_.enrolled && options_.enrolled->expire_time <= Clock::Real().WallNow();
  if (had_session || expired) return;
  if (why.reason() == Reason::kBadCertificate) return events_.refused(why);
  if (why.reason() != Reason::kNone) return;
  const Result<HostPort> target = ParseHostPort(address);
  if (!target.ok()) return;
  {
    MutexLock lock(explanations_->mutex);
    if (std::exchange(explanations_->running, true)) return;
  }
  const std::set<std::string> all(options_.coordinators.begin(), options_.coordinators.end());
  // The thread is detached, because the agent must be able to end during the TLS handshake.
  std::thread([state = explanations_, all, address, target = *target, tls = options_.tls,
               refused = events_.refused] {
    const Status explained = rpc::ExplainConnection(target, tls);
    const bool hopeless = !explained.ok() && explained.code() != Code::kUnavailable;
    MutexLock lock(state->mutex);
    state->running = false;
    if (hopeless) state->hopeless.insert(address);
    if (hopeless &&
        std::includes(state->hopeless.begin(), state->hopeless.end(), all.begin(), all.end())) {
      refused(explained);
    }
  }).detach();
}

void AgentProcess::StartRenewer() {
  Renewal renewal;
  renewal.by_session = [options = options_] { return RenewByCall(options); };
  renewal.by_key = [enrolled = *options_.enrolled] { return identity::RenewByKey(enrolled); };
  renewal.renewed = [this] { executor_->Post([this] { attach_->RenewChannels(); }); };
  renewal.refused = events_.refused ? events_.refused : [](const Status& why) {
    Log().error("the certificate cannot be renewed: {}", why.message());
  };
  renewer_ = std::make_unique<Renewer>(*options_.enrolled, renewal);
}

std::shared_ptr<prometheus::Collectable> AgentProcess::Metrics() const {
  AgentMetricsSources sources;
  sources.node = node_->description();
  sources.session = [session = std::weak_ptr<Session>(session_)] {
    const auto alive = session.lock();
    return alive == nullptr ? SessionStats() : alive->stats();
  };
  sources.spool = spool_;
  sources.nvml = nvml_;
  return std::make_shared<AgentMetrics>(std::move(sources));
}

std::string AgentProcess::ReadyLine() const {
  return nlohmann::json{{"grpc", grpc_address_},
                        {"http", http_ == nullptr ? "" : http_->address().ToString()},
                        {"node_id", data_.node_id()}}
      .dump();
}

}  // namespace assay::agent
