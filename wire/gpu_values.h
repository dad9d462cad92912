// The values of a GPU that coordinators and agents export to Prometheus. One table, so that names
// and meanings agree.
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
  // Adds nothing for what the GPU does not report.
  void (*read)(const GpuFacts& gpu, const Add& add);
};

// Sorted by name.
const std::vector<GpuValue>& GpuValues();

// Returns the most NVLinks that a GPU of this model had when the agent started: a link that was
// down then shows only where another GPU has more.
int ExpectedNvlinks(const v1::NodeInventory& inventory, const v1::GpuInventory& gpu);

}  // namespace assay::schema
