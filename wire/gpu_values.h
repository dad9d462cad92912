// The table of GPU metrics exported to Prometheus. Coordinators and agents share it, so the metrics
// have the same names and meanings everywhere.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "assay/v1/inventory.pb.h"
#include "assay/v1/telemetry.pb.h"

namespace assay::schema {

// A GPU at one moment.
struct GpuFacts {
  // Null if unknown.
  const v1::GpuInventory* inventory = nullptr;
  const v1::GpuTelemetry* telemetry = nullptr;
  // NVLinks that the GPU should have. 0: none, or unknown.
  int nvlinks_expected = 0;
};

struct GpuValue {
  // Receives a sample with the value of `label`, which is empty if the value has no label.
  using Add = std::function<void(std::string_view label_value, double value)>;

  const char* name;  // With its unit, after the program's prefix: "temperature_celsius".
  const char* help;
  bool is_counter;
  const char* label;  // Null: none.
  // Passes each current value of the metric to `add`. If the GPU does not report the metric, never
  // calls `add`.
  void (*read)(const GpuFacts& gpu, const Add& add);
};

// Sorted by name.
const std::vector<GpuValue>& GpuValues();

// Returns the number of NVLinks that the GPU should have. This is the largest number of links that
// were active on any GPU of the same model on this node when the agent started. If a link was
// already down at that time, this is noticed only if another GPU had more links.
int ExpectedNvlinks(const v1::NodeInventory& inventory, const v1::GpuInventory& gpu);

}  // namespace assay::schema
