#include "agent/simulate/simulated_fleet.h"

#include <fmt/format.h>
#include <grpcpp/create_channel.h>

#include <algorithm>
#include <future>
#include <utility>

#include "agent/simulate/launcher.h"
#include "agent/simulate/memory_spool.h"
#include "agent/simulate/noise.h"
#include "agent/simulate/profile.h"
#include "agent/simulate/telemetry.h"
#include "common/file.h"
#include "common/host_port.h"
#include "common/uuid.h"
#include "kernels/registry.h"
#include "runner/schemas.h"
#include "wire/credentials.h"

namespace assay::agent {
namespace {

constexpr int kNodesPerChannel = 50;  // Coordinators allow 100 calls on a connection.
constexpr int kStartsPerSecond = 500;
constexpr size_t kMostFaultBytes = size_t{1} << 20;

// Returns a UUID that follows from the seed and `what`.
std::string UuidOf(uint64_t seed, const std::string& what) {
  Random random(HashOf(seed, what));
  const uint64_t high = random.Next();
  const uint64_t low = random.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xfff, 0x8000 | (low >> 50), low & 0xffffffffffff);
}

// Returns the declared benchmarks as a node with this inventory has them.
BenchmarkSchemas BenchmarksOf(const v1::NodeInventory& inventory) {
  BenchmarkSchemas schemas = SchemasOf(DeclaredBenchmarks());
  for (v1::BenchmarkSchema& schema : schemas) {
    if (schema.resource() == v1::RESOURCE_KIND_GPU && inventory.gpus_size() == 0) {
      schema.set_unsupported_reason("needs a CUDA GPU; this node has none");
    }
  }
  return schemas;
}

}  // namespace

// One node. Used on the executor of the sessions.
class SimulatedFleet::SimulatedNode {
 public:
  SimulatedNode(v1::NodeDescription description, std::shared_ptr<const Benchmarks> benchmarks,
                std::vector<Fault> faults, SimulatedFleet* fleet,
                std::shared_ptr<grpc::Channel> channel)
      : description_(std::move(description)),
        benchmarks_(std::move(benchmarks)),
        faults_(std::move(faults)),
        fleet_(fleet),
        channel_(std::move(channel)),
        telemetry_(fleet->options_.seed, description_, faults_, Clock::Real().WallNow()) {}

  // Opens a session. Breaks the session of an earlier call, as if the machine had died.
  void Connect() {
    Vanish();
    v1::NodeDescription description = description_;
    description.set_agent_instance_id(NewUuid());
    for (const Fault& fault : faults_) {
      const bool stepped =
          fault.kind == Fault::Kind::kDriverStep && fault.since <= Clock::Real().WallNow();
      if (stepped) description.mutable_inventory()->set_driver_version(fault.driver);
    }
    node_ = std::make_shared<Node>(std::move(description), benchmarks_);
    occupancy_ = std::make_unique<Occupancy>();
    launcher_ = std::make_unique<SimulatedLauncher>(node_, faults_, fleet_->options_.seed,
                                                    fleet_->options_.first_run,
                                                    fleet_->options_.job_time, fleet_->jobs_.get());
    session_ = std::make_shared<Session>(Session::Options{
        &Clock::Real(), fleet_->sessions_.get(), launcher_.get(), &spool_, occupancy_.get(), node_,
        [](const std::function<void(v1::NodeChecked)>& done) { done({}); },
        [this] { return telemetry_.At(Clock::Real().WallNow(), launcher_->busy_gpus()); }});
    attach_ = std::make_unique<AttachClient>(
        std::vector<std::string>{fleet_->options_.coordinator},
        [channel = channel_](const std::string&) -> Result<std::shared_ptr<grpc::Channel>> {
          return channel;
        },
        "", session_, fleet_->sessions_.get(), HashOf(fleet_->options_.seed, node_id()));
    attach_->Start();
  }

  // Breaks the session, if there is one, and forgets its jobs.
  void Vanish() {
    if (attach_ != nullptr) attach_->Abort();
    attach_.reset();
    session_.reset();
  }

  // Calls `done` once the node has no session.
  void HandBack(const std::function<void()>& done) {
    if (session_ == nullptr) return done();
    session_->HandBack("the simulation was stopped", [this, done] {
      attach_->Stop();
      done();
    });
  }

  const std::string& node_id() const { return description_.node_id(); }
  const std::vector<Fault>& faults() const { return faults_; }

 private:
  const v1::NodeDescription description_;
  const std::shared_ptr<const Benchmarks> benchmarks_;
  const std::vector<Fault> faults_;
  SimulatedFleet* const fleet_;
  const std::shared_ptr<grpc::Channel> channel_;
  const SimulatedTelemetry telemetry_;
  MemorySpool spool_;
  std::shared_ptr<Node> node_;
  std::unique_ptr<Occupancy> occupancy_;
  std::unique_ptr<SimulatedLauncher> launcher_;
  std::shared_ptr<Session> session_;
  std::unique_ptr<AttachClient> attach_;
};

SimulatedFleet::SimulatedFleet(SimulateOptions options) : options_(std::move(options)) {}

Result<std::unique_ptr<SimulatedFleet>> SimulatedFleet::Start(const SimulateOptions& options) {
  std::unique_ptr<SimulatedFleet> fleet(new SimulatedFleet(options));
  ASSAY_RETURN_IF_ERROR(fleet->Open());
  return fleet;
}

Status SimulatedFleet::Open() {
  ASSAY_ASSIGN_OR_RETURN(v1::NodeDescription profile, LoadProfile(options_.profile));
  if (!options_.faults_file.empty()) {
    ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(options_.faults_file, kMostFaultBytes));
    ASSAY_ASSIGN_OR_RETURN(faults_, ParseFaults(options_.faults_file, text));
  }
  ASSAY_RETURN_IF_ERROR(MakeChannels((options_.nodes - 1) / kNodesPerChannel + 1));
  jobs_ = NewThreadPool(1, "simulated-jobs");
  sessions_ = NewThreadPool(1, "sessions");
  const auto benchmarks = std::make_shared<const Benchmarks>(BenchmarksOf(profile.inventory()));
  profile.clear_benchmarks();
  profile.clear_health();
  for (int number = 1; number <= options_.nodes; ++number) Add(number, profile, benchmarks);
  for (const Fault& fault : faults_) {
    if (std::none_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
          return std::any_of(node->faults().begin(), node->faults().end(),
                             [&](const Fault& own) { return own.node == fault.node; });
        })) {
      return InvalidArgument(options_.faults_file + ": there is no node " + fault.node);
    }
  }
  for (size_t i = 0; i < nodes_.size(); ++i) {
    SimulatedNode* const node = nodes_[i].get();
    sessions_->PostAfter(std::chrono::seconds(1) * i / kStartsPerSecond, [this, node] {
      node->Connect();
      Schedule(node);
    });
  }
  return Status::Ok();
}

Status SimulatedFleet::MakeChannels(int count) {
  ASSAY_ASSIGN_OR_RETURN(const HostPort address, ParseHostPort(options_.coordinator));
  ASSAY_ASSIGN_OR_RETURN(const auto credentials,
                         rpc::ClientCredentials(address, rpc::TlsFiles(), options_.insecure));
  grpc::ChannelArguments arguments = rpc::ClientArguments();
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // One connection per channel.
  for (int i = 0; i < count; ++i) {
    channels_.push_back(grpc::CreateCustomChannel(address.ToString(), credentials, arguments));
  }
  return Status::Ok();
}

void SimulatedFleet::Add(int number, const v1::NodeDescription& profile,
                         const std::shared_ptr<const Benchmarks>& benchmarks) {
  v1::NodeDescription node = profile;
  node.set_name(fmt::format("{}{:04}", options_.prefix, number));
  node.set_node_id(UuidOf(options_.seed, node.name()));
  node.set_boot_id(UuidOf(options_.seed, node.name() + " boot"));
  node.set_agent_version(ASSAY_VERSION);
  v1::NodeInventory& inventory = *node.mutable_inventory();
  inventory.set_simulated(true);
  inventory.set_hostname(node.name());
  for (v1::GpuInventory& gpu : *inventory.mutable_gpus()) {
    gpu.set_uuid("GPU-" + UuidOf(options_.seed, node.name() + "/" + std::to_string(gpu.index())));
  }
  std::vector<Fault> faults;
  for (const Fault& fault : faults_) {
    // Tell every node about the slow GPUs and links of all nodes. Rank 0's node simulates the
    // result of the whole job, and a job is only as fast as the slowest GPU or link on any node.
    const bool of_jobs =
        fault.kind == Fault::Kind::kSlowGpu || fault.kind == Fault::Kind::kSlowLink;
    if (fault.IsOf(node.name()) || of_jobs) faults.push_back(fault);
  }
  auto& channel = channels_[static_cast<size_t>((number - 1) / kNodesPerChannel)];
  nodes_.push_back(std::make_unique<SimulatedNode>(std::move(node), benchmarks, std::move(faults),
                                                   this, channel));
}

// Schedules the changes over time that the node's faults require.
void SimulatedFleet::Schedule(SimulatedNode* node) {
  const WallTime now = Clock::Real().WallNow();
  for (const Fault& fault : node->faults()) {
    if (fault.kind == Fault::Kind::kDriverStep && fault.since > now) {
      sessions_->PostAfter(fault.since - now, [node] { node->Connect(); });
    }
    if (fault.kind != Fault::Kind::kVanishingNode) continue;
    sessions_->PostAfter(fault.after, [node] { node->Vanish(); });
    if (!fault.returns_after) continue;
    sessions_->PostAfter(*fault.returns_after, [node] { node->Connect(); });
  }
}

SimulatedFleet::~SimulatedFleet() {
  if (sessions_ == nullptr) return;
  std::promise<void> handed_back;
  size_t left = nodes_.size();  // Used on the executor.
  sessions_->Post([&] {
    for (const auto& node : nodes_) {
      node->HandBack([&] {
        if (--left == 0) handed_back.set_value();
      });
    }
  });
  handed_back.get_future().wait();
  RunOn(sessions_.get(), [this] {
    for (const auto& node : nodes_) node->Vanish();
  });
  channels_.clear();
}

}  // namespace assay::agent
