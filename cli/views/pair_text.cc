#include "cli/views/pair_text.h"

#include <algorithm>

namespace assay::cli {

std::string PairName(const PairCase& measured, size_t from, size_t to, bool one_way) {
  return measured.nodes[from] + (one_way ? " to " : "-") + measured.nodes[to];
}

std::string NodeName(const PairCase& measured, size_t node) {
  return "node " + measured.nodes[node];
}

std::string LinkName(const PairCase& measured, size_t a, size_t b) {
  return "link " + PairName(measured, a, b, false);
}

const PairCell* CellBetween(const PairCase& measured, size_t from, size_t to) {
  const auto found = std::find_if(
      measured.cells.begin(), measured.cells.end(),
      [&](const PairCell& cell) { return cell.value.from == from && cell.value.to == to; });
  return found == measured.cells.end() ? nullptr : &*found;
}

const DeadNode* DeadOf(const PairCase& measured, size_t a, size_t b) {
  const auto found =
      std::find_if(measured.dead.begin(), measured.dead.end(),
                   [&](const DeadNode& dead) { return dead.node == a || dead.node == b; });
  return found == measured.dead.end() ? nullptr : &*found;
}

}  // namespace assay::cli
