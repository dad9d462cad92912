// The columns of one row of nccl-tests held against each other, and the bandwidths that
// they tell.
#pragma once

#include <optional>

#include "common/status.h"
#include "cli/imports/nccl_run.h"
#include "cli/imports/nccl_words.h"

namespace assay::imports {

// INVALID_ARGUMENT where columns of the row contradict each other by more than the rounding
// of what is printed: size, count and type; time and algbw; algbw, the collective's factor
// on `ranks` ranks and busbw.
Status CheckRow(const NcclRow& row, const Collective& collective, int ranks);

// In GB/s. None: no bytes are counted so, as on a bus with a single rank.
struct NcclBandwidths {
  std::optional<double> algorithm;
  std::optional<double> bus;
  // One of them comes from the bytes and the time, as it is printed with too few digits.
  bool computed = false;
};

// Of a row that CheckRow accepts, of one byte or more.
NcclBandwidths BandwidthsOf(const NcclRow& row, const NcclTiming& timing,
                            const Collective& collective, int ranks);

}  // namespace assay::imports
