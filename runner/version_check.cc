#include "runner/version_check.h"

#include <unistd.h>

#include <set>
#include <vector>

#include "common/text.h"
#include "gang/peers.h"
#include "host/gpu_model.h"
#include "host/gpu_platform.h"
#include "model/nccl_variables.h"

namespace assay {
namespace {

// Writes one line per version: "NAME\tVALUE".
std::string Pack(const Versions& versions) {
  std::string text;
  for (const auto& [name, value] : versions) text += name + "\t" + value + "\n";
  return text;
}

Versions Unpack(const std::string& text) {
  Versions versions;
  for (const std::string_view line : Split(text, '\n')) {
    const auto parts = Split(line, '\t', 2);
    if (parts.size() == 2) versions.emplace(parts[0], parts[1]);
  }
  return versions;
}

// Returns a text such as "rank 1" or "ranks 0, 2, 3".
std::string RankText(const std::vector<size_t>& ranks) {
  std::vector<std::string> names;
  names.reserve(ranks.size());
  for (const size_t rank : ranks) names.push_back(std::to_string(rank));
  return RankList(names);
}

std::vector<std::string> ValuesOf(const std::string& name, const std::vector<Versions>& all) {
  std::vector<std::string> values;
  for (const Versions& one : all) {
    const auto found = one.find(name);
    values.push_back(found == one.end() ? "not set" : found->second);
  }
  return values;
}

// Describes how `values`, which has one entry per rank, differ, for example "NCCL is 2.28.9 at
// ranks 0, 1, 3 and 2.27.3 at rank 2". Returns an empty string if all values are equal.
std::string DifferenceOfRanks(const std::string& what, const std::vector<std::string>& values) {
  return DifferenceText(what, values,
                        [](const std::string& value, const std::vector<size_t>& ranks) {
                          return value + " at " + RankText(ranks);
                        });
}

// The names of the two entries with which a rank describes its GPU to the others.
constexpr char kGpuUuid[] = "GPU";
constexpr char kGpuModel[] = "model";

}  // namespace

Versions OwnVersions(Resource resource) {
  Versions versions = {{"assay-runner", ASSAY_VERSION}};
  if (resource != Resource::kGpu) return versions;
  const LinkedSoftware software = Software();
  versions["the CUDA runtime"] = software.cuda_runtime.value_or("unknown");
  versions["NCCL"] = software.nccl.value_or("unknown");
  const std::vector<LocalGpu> gpus = Gpu() == nullptr ? std::vector<LocalGpu>() : Gpu()->Gpus();
  const bool known = !gpus.empty() && !gpus[0].driver_version.empty();
  versions["the driver"] = known ? gpus[0].driver_version : "unknown";
  for (const auto& [name, value] : NcclVariablesOf(environ)) {
    if (!FindNcclVariable(name)->per_host) versions[name] = value;
  }
  return versions;
}

Status CheckVersions(Peers& peers, const Versions& mine) {
  ASSAY_ASSIGN_OR_RETURN(const auto gathered, AllGather(peers, Pack(mine), kPeerTimeout));
  std::vector<Versions> all;
  std::set<std::string> names;
  for (const std::string& text : gathered) {
    all.push_back(Unpack(text));
    for (const auto& [name, value] : all.back()) names.insert(name);
  }
  std::string differences;
  for (const std::string& name : names) {
    const std::string difference = DifferenceOfRanks(name, ValuesOf(name, all));
    if (!difference.empty()) differences += (differences.empty() ? "" : "; ") + difference;
  }
  if (differences.empty()) return Status::Ok();
  return FailedPrecondition("the ranks have different software: " + differences,
                            Reason::kVersionMismatch);
}

RankGpu OwnGpu(Resource resource) {
  if (resource != Resource::kGpu || Gpu() == nullptr) return {};
  const std::vector<LocalGpu> gpus = Gpu()->Gpus();
  if (gpus.empty()) return {};
  const GpuModel model = ParseGpuName(gpus[0].name);
  return {gpus[0].uuid, model.model + (model.form_factor.empty() ? "" : " " + model.form_factor)};
}

Result<std::vector<RankGpu>> GatherGpus(Peers& peers, const RankGpu& mine) {
  const Versions entries = {{kGpuUuid, mine.uuid}, {kGpuModel, mine.model}};
  ASSAY_ASSIGN_OR_RETURN(const auto all, AllGather(peers, Pack(entries), kPeerTimeout));
  std::vector<RankGpu> gpus;
  for (const std::string& text : all) {
    Versions theirs = Unpack(text);
    gpus.push_back({theirs[kGpuUuid], theirs[kGpuModel]});
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
