// What the benchmarks over NCCL have in common before a case of theirs exists.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "kernels/benchmark.h"

namespace assay {

// A `RankCase` of `arguments`, prepared, if there are other ranks; on every rank.
template <typename RankCase, typename... Arguments>
Result<std::unique_ptr<Case>> PrepareOnRank(const Benchmark& benchmark, const RunContext& context,
                                            Arguments&&... arguments) {
  if (context.peers == nullptr) {
    return InvalidArgument(benchmark.Info().name + " needs at least 2 ranks; this run has " +
                           std::to_string(context.world_size));
  }
  auto prepared = std::make_unique<RankCase>(std::forward<Arguments>(arguments)...);
  ASSAY_RETURN_IF_ERROR(prepared->Prepare());
  return std::unique_ptr<Case>(std::move(prepared));
}

}  // namespace assay
