// A simulated fleet whose pairs are measured with planted faults.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "analysis/pair_model.h"

namespace assay::cli {

// Each link carries the least of what sender, receiver and link can; 10 where nothing is
// planted. The same seed gives the same measurements.
struct PairFleet {
  explicit PairFleet(size_t nodes, uint64_t seed = 1, double noise = 0.02)
      : nodes(nodes), send(nodes, 10), receive(nodes, 10), random(seed), noise(noise) {}

  void SetNode(size_t node, double rate) { send[node] = receive[node] = rate; }

  // Every pair once, or in both directions, in any order; `noise` is the standard deviation of
  // a value's logarithm, and `error` what is reported of it, relative to the value.
  std::vector<PairValue> Measure(bool both_ways = false, std::optional<double> error = {}) {
    std::vector<PairValue> values;
    for (size_t from = 0; from < nodes; ++from) {
      for (size_t to = 0; to < nodes; ++to) {
        if (from == to || (!both_ways && from > to)) continue;
        double rate = std::min(send[from], receive[to]);
        if (from == link_from && to == link_to) rate = std::min(rate, link);
        if (both_ways && !one_way && from == link_to && to == link_from)
          rate = std::min(rate, link);
        PairValue value{from, to, rate * std::exp(noise * normal(random)), {}};
        if (error) value.error = *error * value.value;
        values.push_back(value);
      }
    }
    std::shuffle(values.begin(), values.end(), random);
    return values;
  }

  size_t nodes;
  std::vector<double> send;
  std::vector<double> receive;
  size_t link_from = 0;
  size_t link_to = 0;
  double link = 1e9;
  bool one_way = false;
  std::mt19937_64 random;
  double noise;
  std::normal_distribution<double> normal;
};

}  // namespace assay::cli
