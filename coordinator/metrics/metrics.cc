#include "coordinator/metrics/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "common/mutex.h"
#include "coordinator/metrics/fleet_metrics.h"
#include "wire/field.h"
#include "wire/timestamps.h"

namespace assay::coordinator {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
template <typename Metric>
using Family = prometheus::Family<Metric>;

// Maximum number of benchmark names used as labels. A limit is needed because the names come from
// agents. Any further benchmarks get the label "other".
constexpr size_t kMaxBenchmarks = 64;

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

std::string Word(v1::RegressionState state) {
  return schema::EnumWord(*v1::RegressionState_descriptor(), state);
}
std::string Word(v1::OutlierKind kind) {
  return schema::EnumWord(*v1::OutlierKind_descriptor(), kind);
}

// Returns a node's label as part of the name of a label in Prometheus: "Rack No" -> "rack_no".
std::string LabelName(std::string name) {
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool allowed = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (!allowed) c = '_';
  }
  return name;
}

std::map<std::string, std::string> DiscoveryLabels(const v1::NodeDescription& node) {
  std::map<std::string, std::string> labels = {{"__meta_assay_node", node.name()},
                                               {"__meta_assay_node_id", node.node_id()},
                                               {"__meta_assay_provider", node.provider()},
                                               {"__meta_assay_region", node.region()}};
  if (!node.inventory().gpus().empty()) {
    labels["__meta_assay_model"] = node.inventory().gpus(0).model();
  }
  // Two labels of a node may end up with the same name in Prometheus. Only the first one is kept,
  // so sort them to ensure that it is always the same one.
  const std::map<std::string, std::string> own(node.labels().begin(), node.labels().end());
  for (const auto& [name, value] : own) {
    labels.emplace("__meta_assay_label_" + LabelName(name), value);
  }
  return labels;
}

// Returns `labels`, with the label simulated="true" added if the figure is about simulated nodes.
prometheus::Labels Marked(prometheus::Labels labels, bool simulated) {
  if (simulated) labels.emplace("simulated", "true");
  return labels;
}

}  // namespace

class Metrics::Impl : public prometheus::Collectable {
 public:
  Impl() {
    // Create every time series whose labels are known in advance, so that it starts at 0.
    for (const char* state :
         {"queued", "paused", "running", "succeeded", "failed", "cancelled", "skipped"}) {
      jobs.Add({{"state", state}});
    }
    for (const char* state : {"active", "paused"}) campaigns.Add({{"state", state}});
    for (const char* state : {"connected", "disconnected", "cordoned"}) {
      agents.Add({{"state", state}});
    }
    cordoned.Add({});
    for (const char* state : {"detected", "confirmed", "acknowledged"}) {
      incidents.Add({{"state", state}});
    }
    for (const char* outcome : {"stored", "replayed", "stale", "rejected", "imported"}) {
      results.Add({{"outcome", outcome}});
    }
    for (const char* outcome : {"created", "skipped", "failed"}) {
      schedule_runs.Add({{"outcome", outcome}});
    }
    for (const char* state : {"in_use", "idle", "waiting"}) pool.Add({{"state", state}});
    build.Add({{"version", ASSAY_VERSION}}).Set(1);
  }

  std::vector<prometheus::MetricFamily> Collect() const override {
    if (pool_use) {
      const PoolUse use = pool_use();
      pool.Add({{"state", "in_use"}}).Set(use.in_use);
      pool.Add({{"state", "idle"}}).Set(use.idle);
      pool.Add({{"state", "waiting"}}).Set(use.waiting);
    }
    return registry->Collect();
  }

  // Returns the label for a benchmark: its name, or "other" if there are too many benchmarks.
  std::string BenchmarkLabel(const std::string& name) {
    MutexLock lock(mutex);
    if (benchmarks.count(name) > 0) return name;
    if (benchmarks.size() >= kMaxBenchmarks) return "other";
    benchmarks.insert(name);
    return name;
  }

  // Sets the gauges of a family, and all its other gauges to 0.
  static void SetAll(Family<Gauge>& family, const std::map<prometheus::Labels, int>& values) {
    std::map<prometheus::Labels, int> all;
    for (const auto& exported : family.Collect()) {
      for (const auto& metric : exported.metric) {
        prometheus::Labels labels;
        for (const auto& label : metric.label) labels.emplace(label.name, label.value);
        all.emplace(std::move(labels), 0);
      }
    }
    for (const auto& [labels, value] : values) all[labels] = value;
    for (const auto& [labels, value] : all) family.Add(labels).Set(value);
  }

  // Bounds of the histograms' buckets, in seconds.
  const Histogram::BucketBoundaries job_buckets = {0.1, 0.5, 1, 5, 15, 60, 300, 1200, 7200};
  const Histogram::BucketBoundaries query_buckets = {0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,  0.1,    0.5,   1,    5};
  const Histogram::BucketBoundaries overhead_buckets = {0.005, 0.01, 0.02, 0.03, 0.05, 0.075,
                                                        0.1,   0.2,  0.5,  1,    5};

  const std::shared_ptr<prometheus::Registry> registry = std::make_shared<prometheus::Registry>();
  Family<Gauge>& jobs =
      AddGauges("assay_jobs", "Jobs by state; paused: queued, in a paused campaign.");
  Family<Counter>& job_ends =
      AddCounters("assay_jobs_total", "Attempts of jobs that ended, by benchmark and outcome.");
  Gauge& oldest = AddGauges("assay_job_queue_oldest_timestamp_seconds",
                            "When the oldest queued job was created; 0 if none is queued.")
                      .Add({});
  Histogram& duration = AddHistograms("assay_job_duration_seconds",
                                      "Time from a job's assignment to its end, by attempt.")
                            .Add({}, job_buckets);
  Histogram& start_delay =
      AddHistograms("assay_job_start_delay_seconds",
                    "Time from an agent's receipt of a job to its first runner's start.")
          .Add({}, overhead_buckets);
  Histogram& overhead = AddHistograms("assay_job_overhead_seconds",
                                      "Time of a finished job during which no runner ran.")
                            .Add({}, overhead_buckets);
  Family<Gauge>& agents = AddGauges(
      "assay_agents", "Agents by state; cordoned: disconnected, of a node that is cordoned.");
  Family<Gauge>& cordoned =
      AddGauges("assay_nodes_cordoned", "Nodes that operators keep new jobs off.");
  Family<Gauge>& campaigns = AddGauges("assay_campaigns", "Campaigns by state.");
  Family<Counter>& results =
      AddCounters("assay_results_ingested_total", "Results that arrived, by outcome.");
  Family<Counter>& schedule_runs = AddCounters(
      "assay_schedule_runs_total", "Runs of recurring campaigns that were due, by outcome.");
  Family<Histogram>& queries =
      AddHistograms("assay_db_query_duration_seconds",
                    "Time of database queries, waiting for a connection included.");
  Family<Gauge>& pool = AddGauges("assay_db_pool_connections",
                                  "Database connections in use and idle, and calls that wait.");
  Family<Counter>& calls =
      AddCounters("assay_grpc_requests_total", "gRPC calls that ended, by method and status code.");
  Gauge& ready = AddGauges("assay_coordinator_ready",
                           "1 if gRPC calls and the database were answered at the last check.")
                     .Add({});
  Family<Gauge>& incidents = AddGauges(
      "assay_incidents", "Open incidents by state: regressions with one cause, such as a driver.");
  Family<Gauge>& outliers = AddGauges(
      "assay_outlier_gpus", "GPUs, alone or together, that differ from their peers, by model.");
  std::function<PoolUse()> pool_use;
  Family<Gauge>& build = AddGauges("assay_build_info", "Version of this coordinator; always 1.");

 private:
  Family<Gauge>& AddGauges(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(*registry);
  }
  Family<Counter>& AddCounters(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(*registry);
  }
  Family<Histogram>& AddHistograms(const char* name, const char* help) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(*registry);
  }

  Mutex mutex;
  std::set<std::string> benchmarks ASSAY_GUARDED_BY(mutex);
};

Metrics::Metrics() : impl_(std::make_shared<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::JobStarted(const std::string& benchmark) {
  const std::string label = impl_->BenchmarkLabel(benchmark);
  for (const char* outcome : {"succeeded", "failed", "skipped", "cancelled", "requeued"}) {
    impl_->job_ends.Add({{"benchmark", label}, {"outcome", outcome}});
  }
}

void Metrics::JobEnded(const std::string& benchmark, const std::string& outcome, Duration running) {
  impl_->job_ends.Add({{"benchmark", impl_->BenchmarkLabel(benchmark)}, {"outcome", outcome}})
      .Increment();
  impl_->duration.Observe(Seconds(running));
}

void Metrics::JobOverhead(Duration start_delay, Duration outside_runner) {
  impl_->start_delay.Observe(Seconds(start_delay));
  impl_->overhead.Observe(Seconds(outside_runner));
}

void Metrics::ResultsIngested(const std::string& outcome, int count) {
  impl_->results.Add({{"outcome", outcome}}).Increment(count);
}

void Metrics::ScheduleRan(const std::string& outcome) {
  impl_->schedule_runs.Add({{"outcome", outcome}}).Increment();
}

void Metrics::QueryEnded(const char* name, Duration took) {
  impl_->queries.Add({{"query", name}}, impl_->query_buckets).Observe(Seconds(took));
}

void Metrics::CallEnded(const char* method, Code code) {
  impl_->calls.Add({{"method", method}, {"code", std::string(CodeName(code))}}).Increment();
}

void Metrics::SetQueue(const storage::JobStore::QueueStats& stats) {
  const std::pair<const char*, int> counts[] = {
      {"queued", stats.counts.queued()},   {"paused", stats.paused},
      {"running", stats.counts.running()}, {"succeeded", stats.counts.succeeded()},
      {"failed", stats.counts.failed()},   {"cancelled", stats.counts.cancelled()},
      {"skipped", stats.counts.skipped()}};
  for (const auto& [state, count] : counts) impl_->jobs.Add({{"state", state}}).Set(count);
  impl_->campaigns.Add({{"state", "active"}}).Set(stats.active_campaigns);
  impl_->campaigns.Add({{"state", "paused"}}).Set(stats.paused_campaigns);
  impl_->oldest.Set(stats.oldest_queued ? Seconds(stats.oldest_queued->time_since_epoch()) : 0);
}

void Metrics::SetNodes(const storage::NodeStore::NodeCounts& counts) {
  const std::tuple<const char*, int, int> states[] = {
      {"connected", counts.connected, counts.simulated_connected},
      {"disconnected", counts.disconnected - counts.cordoned_disconnected,
       counts.simulated_disconnected - counts.simulated_cordoned_disconnected},
      // Operators may switch off nodes after cordoning them (so that they receive no jobs). Such
      // nodes have a separate state, so that alerts do not count them as disconnected.
      {"cordoned", counts.cordoned_disconnected, counts.simulated_cordoned_disconnected}};
  impl_->cordoned.Add({}).Set(counts.cordoned - counts.simulated_cordoned);
  const prometheus::Labels simulated_cordoned = Marked({}, true);
  if (counts.simulated_cordoned > 0 || impl_->cordoned.Has(simulated_cordoned)) {
    impl_->cordoned.Add(simulated_cordoned).Set(counts.simulated_cordoned);
  }
  for (const auto& [state, all, simulated] : states) {
    impl_->agents.Add({{"state", state}}).Set(all - simulated);
    const prometheus::Labels labels = Marked({{"state", state}}, true);
    if (simulated > 0 || impl_->agents.Has(labels)) impl_->agents.Add(labels).Set(simulated);
  }
}

void Metrics::SetFindings(const storage::FindingCounts& counts) {
  std::map<prometheus::Labels, int> incidents;
  for (const auto& one : counts.incidents) {
    incidents[Marked({{"state", Word(one.state)}}, one.simulated)] += one.count;
  }
  Impl::SetAll(impl_->incidents, incidents);
  std::map<prometheus::Labels, int> outliers;
  for (const auto& one : counts.outliers) {
    outliers[Marked({{"kind", Word(one.kind)}, {"model", one.gpu_model}}, one.simulated)] +=
        one.places;
  }
  Impl::SetAll(impl_->outliers, outliers);
}

void Metrics::SetReady(bool ready) { impl_->ready.Set(ready ? 1 : 0); }

void Metrics::set_pool(std::function<PoolUse()> pool) { impl_->pool_use = std::move(pool); }

std::shared_ptr<prometheus::Collectable> Metrics::collectable() const { return impl_; }

std::string ServiceDiscovery(const FleetView::Rows& nodes, WallTime now) {
  using Rank = std::pair<bool, WallTime>;
  const auto rank_of = [](const v1::Node& node) -> Rank {
    return {node.state() == v1::NODE_STATE_CONNECTED,
            schema::FromTimestamp(node.last_heartbeat_time())};
  };
  // Several nodes may have the same address, for example because a node was reinstalled. List only
  // one of them: the connected one or, if none is connected, the one with the latest heartbeat.
  std::map<std::string, const v1::Node*> by_address;
  for (const std::shared_ptr<const FleetView::Row>& row : nodes) {
    const v1::Node& node = row->facts;
    const auto [connected, heard] = rank_of(node);
    if (!connected && now - heard >= kLostNodeAge) continue;
    const auto [found, added] = by_address.emplace(node.description().metrics_address(), &node);
    if (!added && rank_of(*found->second) < rank_of(node)) found->second = &node;
  }
  by_address.erase("");
  nlohmann::json groups = nlohmann::json::array();
  for (const auto& [address, node] : by_address) {
    groups.push_back({{"targets", {address}}, {"labels", DiscoveryLabels(node->description())}});
  }
  // Labels come from peers, so invalid UTF-8 is replaced instead of throwing.
  return groups.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace assay::coordinator
