// Measures by simulation how often the analysis of pairs names the planted faults and how often it
// names something else. Prints the rates as the table in docs/measured/pairs-rates.md.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <tuple>

#include "analysis/suspects.h"
#include "tests/unit/analysis/pair_fleet.h"

namespace assay::analysis {
namespace {

constexpr int kRuns = 1000;

enum class Fault { kNone, kNode, kLink, kSender, kLinkOneWay, kSeveral };

struct Setting {
  const char* name;
  Fault fault;
  double factor;  // The factor by which a fault reduces the rate.
  bool both_ways;
  double lost = 0;  // Share of values that are missing.
  // Each value reports its standard error.
  bool errors_known = false;
};

// Names the test.
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

// Named things: 'n' with a node and its side, or 'l' with a link and whether it is bad one way.
using Named = std::set<std::tuple<char, size_t, size_t, int>>;

Named NamedBy(const PairAnalysis& found) {
  Named named;
  for (const BadNode& bad : found.nodes) {
    if (!bad.certain) continue;
    named.emplace('n', bad.node, 0, static_cast<int>(bad.side));
  }
  for (const BadLink& bad : found.links) {
    if (!bad.certain) continue;
    const auto [a, b] = std::minmax(bad.from, bad.to);
    named.emplace('l', bad.one_way ? bad.from : a, bad.one_way ? bad.to : b, bad.one_way);
  }
  return named;
}

Named Plant(const Setting& setting, PairFleet& fleet) {
  const size_t last = fleet.nodes - 1;
  const double rate = 10 * setting.factor;
  const auto plant_link = [&](bool one_way) {
    fleet.SetLink(0, 2, rate, one_way);
    return std::make_tuple('l', size_t{0}, size_t{2}, static_cast<int>(one_way));
  };
  switch (setting.fault) {
    case Fault::kNone:
      return {};
    case Fault::kNode:
      fleet.SetNode(last, rate);
      return {{'n', last, 0, static_cast<int>(NodeSide::kBoth)}};
    case Fault::kSender:
      fleet.send[last] = rate;
      return {{'n', last, 0, static_cast<int>(NodeSide::kSending)}};
    case Fault::kLink:
      return {plant_link(false)};
    case Fault::kLinkOneWay:
      return {plant_link(true)};
    case Fault::kSeveral:
      fleet.SetNode(last, rate);
      fleet.SetNode(1, rate * 1.1);
      return {{'n', last, 0, static_cast<int>(NodeSide::kBoth)},
              {'n', 1, 0, static_cast<int>(NodeSide::kBoth)},
              plant_link(false)};
  }
  return {};
}

struct Rates {
  double found = 0;  // Share of runs in which everything planted is named.
  double wrong = 0;  // Share of runs in which something else is named.
};

// Removes values, but never that of a planted link.
void Lose(const Setting& setting, const PairFleet& fleet, std::vector<PairValue>& values) {
  auto lost = static_cast<size_t>(setting.lost * static_cast<double>(values.size()));
  std::erase_if(values, [&](const PairValue& value) {
    if (value.from == fleet.link_from && value.to == fleet.link_to) return false;
    return lost > 0 && lost-- > 0;
  });
}

Rates Simulate(const Setting& setting, size_t nodes, double noise) {
  int found = 0;
  int wrong = 0;
  for (uint64_t seed = 0; seed < kRuns; ++seed) {
    PairFleet fleet(nodes, seed, noise);
    const Named planted = Plant(setting, fleet);
    std::vector<PairValue> values = fleet.Measure(
        setting.both_ways, setting.errors_known ? std::optional<double>(noise) : std::nullopt);
    Lose(setting, fleet, values);
    const Named named = NamedBy(AnalyzePairs(values, {}));
    found += std::includes(named.begin(), named.end(), planted.begin(), planted.end()) ? 1 : 0;
    wrong += std::includes(planted.begin(), planted.end(), named.begin(), named.end()) ? 0 : 1;
  }
  return {static_cast<double>(found) / kRuns, static_cast<double>(wrong) / kRuns};
}

// Returns whether a fault is so large that the analysis must find it. The few pairs of four nodes
// do not suffice to estimate the noise. A link's deviation has the noise of one value, and an
// effect that of a median over links. The factor 1.4 allows for the error of the estimated noise
// and for the bias of the fit. A fault that is three standard errors above the limit is missed once
// in 700 runs.
bool MustBeFound(const Setting& setting, size_t nodes, double noise) {
  if (setting.fault == Fault::kNone) return true;
  const bool few = nodes < 5 || (setting.fault == Fault::kSeveral && nodes < 8);
  if (few || setting.lost > 0) return false;
  const bool node = setting.fault == Fault::kNode || setting.fault == Fault::kSender;
  const double error =
      1.4 * noise * (node ? 1.2533 / std::sqrt(static_cast<double>(nodes - 1)) : 1);
  const double limit = std::max(-std::log1p(-0.1), (node ? 4 : 5) * error);
  return -std::log(setting.factor) >= limit + 3 * error;
}

class PairRates : public testing::TestWithParam<Setting> {};

TEST_P(PairRates, NamesWhatWasPlantedAndNothingElse) {
  const Setting& setting = GetParam();
  for (const double noise : {0.01, 0.02, 0.05, 0.10}) {
    std::printf("| %s | %.0f%% |", setting.name, noise * 100);
    for (const size_t nodes : {4, 5, 6, 8, 16}) {
      const Rates rates = Simulate(setting, nodes, noise);
      std::printf(" %.1f / %.1f |", 100 * rates.found, 100 * rates.wrong);
      // At most one run in a hundred may be wrong, more in loud noise, where the threshold is
      // within a few deviations. Three standard deviations of the count are added. Four nodes are
      // the worst case.
      const double most = noise < 0.1 ? 0.01 : 0.025;
      EXPECT_LE(rates.wrong, most + 3 * std::sqrt(most / kRuns)) << nodes << " nodes, " << noise;
      if (MustBeFound(setting, nodes, noise)) {
        EXPECT_GE(rates.found, 0.99) << nodes << " nodes, " << noise;
      }
    }
    std::printf("\n");
  }
}

INSTANTIATE_TEST_SUITE_P(
    Planted, PairRates,
    testing::Values(Setting{"nothing", Fault::kNone, 1, false},
                    Setting{"nothing, both ways", Fault::kNone, 1, true},
                    Setting{"nothing, intervals known", Fault::kNone, 1, false, 0, true},
                    Setting{"nothing, 15% missing", Fault::kNone, 1, true, 0.15},
                    Setting{"a node at 80%", Fault::kNode, 0.8, false},
                    Setting{"a node at 60%", Fault::kNode, 0.6, false},
                    Setting{"a node at 60%, 15% missing", Fault::kNode, 0.6, false, 0.15},
                    Setting{"a node at 70%, both ways", Fault::kNode, 0.7, true},
                    Setting{"a node that sends at 70%", Fault::kSender, 0.7, true},
                    Setting{"a link at 80%", Fault::kLink, 0.8, false},
                    Setting{"a link at 60%", Fault::kLink, 0.6, false},
                    Setting{"a link at 70%, both ways", Fault::kLink, 0.7, true},
                    Setting{"a link at 70% one way", Fault::kLinkOneWay, 0.7, true},
                    Setting{"a link at 60% one way, 15% missing", Fault::kLinkOneWay, 0.6, true,
                            0.15},
                    Setting{"two nodes and a link at 60%", Fault::kSeveral, 0.6, false},
                    Setting{"two nodes and a link at 60%, both ways", Fault::kSeveral, 0.6, true}));

// One node fails with every other, and one in twenty of the other pairs fails too.
TEST(PairRates, FailingNodeIsToldFromFailingLinks) {
  for (const size_t nodes : {3, 4, 5, 6, 8, 16}) {
    int right = 0;
    for (uint64_t seed = 0; seed < kRuns; ++seed) {
      std::mt19937_64 random(seed);
      std::bernoulli_distribution fails(0.05);
      std::vector<TriedPair> tried;
      for (size_t a = 0; a < nodes; ++a) {
        for (size_t b = a + 1; b < nodes; ++b) {
          tried.push_back({a, b, b == nodes - 1 || fails(random)});
        }
      }
      const std::vector<FailingNode> found = FailingNodes(tried);
      right += found.size() == 1 && found[0].node == nodes - 1 ? 1 : 0;
    }
    std::printf("| a node that fails | %zu nodes | %.1f |\n", nodes, 100.0 * right / kRuns);
    // Three nodes leave one other pair: if it fails too, every pair fails.
    EXPECT_GE(right, nodes > 3 ? 0.99 * kRuns : 0.92 * kRuns) << nodes;
  }
}

}  // namespace
}  // namespace assay::analysis
