// Names and look-ups that the sentences about pairs have in common. Pure.
#pragma once

#include <cstddef>
#include <string>

#include "cli/views/pairs_view.h"

namespace assay::cli {

// "node c".
std::string NodeName(const PairCase& measured, size_t node);

// "link a-d".
std::string LinkName(const PairCase& measured, size_t a, size_t b);

// The value of this direction; nullptr if there is none. It points into `measured`.
const PairCell* CellBetween(const PairCase& measured, size_t from, size_t to);

// What explains that a pair of `a` or `b` has no value; nullptr if nothing does. It points into
// `measured`.
const DeadNode* DeadOf(const PairCase& measured, size_t a, size_t b);

}  // namespace assay::cli
