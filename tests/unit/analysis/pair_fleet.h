// A simulated fleet with planted faults.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

#include "analysis/pair_model.h"

namespace assay::analysis {

// A pair reaches the least of the rates of its sender, its receiver and its link. All are 10 unless
// a fault is planted. The same seed gives the same measurements.
struct PairFleet {
  // `noise` is the standard deviation of a value's logarithm.
  explicit PairFleet(size_t nodes, uint64_t seed = 1, double noise = 0.02)
      : nodes(nodes), send(nodes, 10), receive(nodes, 10), random(seed), noise(noise) {}

  void SetNode(size_t node, double rate) { send[node] = receive[node] = rate; }

  void SetLink(size_t from, size_t to, double rate, bool only_one_way = false) {
    link_from = from;
    link_to = to;
    link = rate;
    one_way = only_one_way;
  }

  // Measures every pair once, or in both directions, in random order. `error` is the standard error
  // that each value reports, relative to the value.
  std::vector<PairValue> Measure(bool both_ways = false, std::optional<double> error = {}) {
    std::vector<PairValue> values;
    for (size_t from = 0; from < nodes; ++from) {
      for (size_t to = 0; to < nodes; ++to) {
        if (from == to || (!both_ways && from > to)) continue;
        double rate = std::min(send[from], receive[to]);
        const bool back = both_ways && !one_way && from == link_to && to == link_from;
        if (back || (from == link_from && to == link_to)) rate = std::min(rate, link);
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

}  // namespace assay::analysis
