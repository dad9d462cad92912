// Describes the agent's node. Messages to coordinators, the inventory, results and metrics all get
// their information about the node from here.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/session.pb.h"
#include "common/mutex.h"

namespace assay::agent {

// The benchmarks of a node's runner, and their hash. Immutable.
struct Benchmarks {
  explicit Benchmarks(google::protobuf::RepeatedPtrField<v1::BenchmarkSchema> benchmarks);

  const v1::Schemas schemas;
  const std::string hash;
};

// The agent's description of its node, of which some parts change while it runs. Thread-safe.
class Node {
 public:
  // `description` must not contain health.
  explicit Node(v1::NodeDescription description);
  // Creates a simulated node. All simulated nodes share one list of `benchmarks`, so `description`
  // must not include a list of its own.
  Node(v1::NodeDescription description, std::shared_ptr<const Benchmarks> benchmarks);

  // Returns the constant part of the description: health and the address of /metrics are empty.
  const v1::NodeDescription& description() const { return description_; }

  // Returns the description with the latest health and the address of /metrics.
  v1::NodeDescription Describe() const;

  // Returns the Hello message, which introduces this node to a coordinator. To stay small, the
  // message includes only a hash of the node's list of benchmarks, because most nodes in a fleet
  // have the same list.
  v1::Hello Greeting() const;
  // Returns the list of benchmarks whose hash is in the greeting.
  const v1::Schemas& Schemas() const { return benchmarks_->schemas; }

  // Replaces the findings of earlier health checks with `findings`, but keeps permanent ones, such
  // as a runner program that does not respond.
  void SetHealth(std::vector<v1::HealthFinding> findings);
  void AddLastingFinding(v1::HealthFinding finding);

  // Sets HOST:PORT once it is known.
  void SetMetricsAddress(std::string address);

 private:
  const std::shared_ptr<const Benchmarks> benchmarks_;
  const v1::NodeDescription description_;
  mutable Mutex mutex_;
  std::vector<v1::HealthFinding> lasting_ ASSAY_GUARDED_BY(mutex_);
  std::vector<v1::HealthFinding> latest_ ASSAY_GUARDED_BY(mutex_);
  std::string metrics_address_ ASSAY_GUARDED_BY(mutex_);
};

}  // namespace assay::agent
