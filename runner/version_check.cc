#include "runner/version_check.h"

#include <unistd.h>

#include <algorithm>
#include <set>
#include <vector>

#include "common/text.h"
#include "gang/peers.h"
#include "host/gpu_platform.h"
#include "model/nccl_variables.h"

namespace assay {
namespace {

// A line for each, as "NAME\tVALUE".
std::string Pack(const Versions& versions) {
  std::string text;
  for (const auto& [name, value] : versions) text += name + "\t" + value + "\n";
  return text;
}

Versions Unpack(const std::string& text) {
  Versions versions;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t tab = text.find('\t', begin);
    if (tab < end) versions[text.substr(begin, tab - begin)] = text.substr(tab + 1, end - tab - 1);
    begin = end + 1;
  }
  return versions;
}

// "rank 1", "ranks 0, 2, 3".
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

std::string DifferenceOfRanks(const std::string& what, const std::vector<std::string>& values) {
  return DifferenceText(what, values,
                        [](const std::string& value, const std::vector<size_t>& ranks) {
                          return value + " at " + RankText(ranks);
                        });
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

}  // namespace assay
