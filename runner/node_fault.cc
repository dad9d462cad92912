#include "runner/node_fault.h"

#include <cstdint>
#include <string>

#include "common/leading_rank.h"
#include "gang/socket.h"
#include "runner/gang.h"

namespace assay {
namespace {

// Rounded up: "1 MiB" is less than that, but not nothing.
std::string FormatMebibytes(int64_t bytes) {
  constexpr int64_t kMebi = int64_t{1} << 20;
  return std::to_string((bytes + kMebi - 1) / kMebi) + " MiB";
}

// As `rank` sees it: its own error without its name, which whoever reports it adds. Of another's
// GPU the reason tells nothing here.
Status AtRank(int rank, const Status& agreed) {
  const std::string& message = agreed.message();
  const auto erring = ErringRankOf(message);
  if (!erring) return agreed;
  if (erring->rank != rank) return Status(agreed.code(), Reason::kNone, message);
  return Status(agreed.code(), agreed.reason(), message.substr(erring->end + 2));
}

}  // namespace

Status NodeFault(const Status& agreed, const GpuTrouble& trouble, int rank) {
  if (agreed.ok()) return Status::Ok();
  const Status failure = AtRank(rank, agreed);
  const auto fault = [&](Reason reason, const std::string& what) {
    const std::string seen = trouble.evidence.empty() ? "" : " (" + trouble.evidence + ")";
    return Unavailable(what + seen + "; the case ended with: " + failure.message(), reason);
  };
  if (trouble.lost || failure.reason() == Reason::kGpuLost)
    return fault(Reason::kGpuLost, "the GPU is lost");
  if (failure.reason() == Reason::kGpuUnavailable && trouble.other_processes > 0) {
    return fault(Reason::kGpuBusy, "the GPU runs another's job");
  }
  const bool short_of_theirs =
      trouble.missing_bytes > 0 && trouble.other_bytes >= trouble.missing_bytes;
  if (failure.reason() == Reason::kOutOfMemory && short_of_theirs) {
    return fault(Reason::kGpuBusy, "other processes hold " + FormatMebibytes(trouble.other_bytes) +
                                       " of the GPU's memory, of which " +
                                       FormatMebibytes(trouble.missing_bytes) +
                                       " would have sufficed");
  }
  if (trouble.context_broken) return fault(Reason::kGpuContextLost, "CUDA refuses further work");
  return Status::Ok();
}

Status FaultInGang(Peers* peers, const Status& mine) {
  Status agreed = AgreeIfGang(peers, mine);
  const bool of_gpu = agreed.reason() == Reason::kGpuLost || agreed.reason() == Reason::kGpuBusy ||
                      agreed.reason() == Reason::kGpuContextLost;  // Else a rank was lost.
  if (!of_gpu) return agreed;
  if (!mine.ok() && EndsWithoutResult(mine) == EndsWithoutResult(agreed)) return mine;
  return EndsWithoutResult(agreed) ? PeerLost(agreed.message()) : agreed;
}

bool EndsWithoutResult(const Status& fault) {
  return !fault.ok() && fault.reason() != Reason::kGpuContextLost;
}

Status CheckGpusUsable(GpuPlatform* platform) {
  if (platform == nullptr || !platform->Gpus().empty()) return Status::Ok();
  const GpuTrouble trouble = platform->TroubleOf(0);
  return trouble.lost ? Unavailable(trouble.evidence, Reason::kGpuUnusable) : Status::Ok();
}

}  // namespace assay
