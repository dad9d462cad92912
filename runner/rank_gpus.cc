#include "runner/rank_gpus.h"

#include <utility>

#include "gang/peers.h"
#include "host/gpu_model.h"
#include "host/gpu_platform.h"
#include "runner/version_check.h"

namespace assay {

RankGpu OwnGpu(Resource resource) {
  if (resource != Resource::kGpu || Gpu() == nullptr) return {};
  const std::vector<LocalGpu> gpus = Gpu()->Gpus();
  if (gpus.empty()) return {};
  const GpuModel model = ParseGpuName(gpus[0].name);
  return {gpus[0].uuid, model.model + (model.form_factor.empty() ? "" : " " + model.form_factor)};
}

Result<std::vector<RankGpu>> GatherGpus(Peers& peers, const RankGpu& mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto all,
                         AllGather(peers, mine.uuid + "\n" + mine.model, kPeerTimeout));
  std::vector<RankGpu> gpus;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    const size_t end = all[rank].find('\n');
    if (end == std::string::npos) {
      return Internal("rank " + std::to_string(rank) + " did not tell its GPU",
                      Reason::kBadMessage);
    }
    gpus.push_back({all[rank].substr(0, end), all[rank].substr(end + 1)});
  }
  return gpus;
}

Status CheckOneModel(const std::vector<RankGpu>& gpus) {
  std::vector<std::string> models;
  for (const RankGpu& gpu : gpus) models.push_back(gpu.model.empty() ? "unknown" : gpu.model);
  const std::string difference = DifferenceOfRanks("the GPU", models);
  if (difference.empty()) return Status::Ok();
  return FailedPrecondition("the ranks have GPUs of several models: " + difference,
                            Reason::kMixedGpus);
}

}  // namespace assay
