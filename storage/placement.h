// Chooses the nodes of a job. Shared by every JobStore.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/types.h"

namespace assay::storage {

// True if the job holds whole nodes: it asks for them, or it has no GPUs.
bool HoldsWholeNodes(const NewJob& job);

// Which candidates the next attempt of a job prefers. Ignored if fewer of them are reachable than
// the job needs; whether they are free does not matter.
struct Preference {
  std::vector<std::string> avoid;
  std::vector<std::string> only;  // Empty: all but `avoid`.
};

// Returns `job.node_count` candidates that are reachable and free, in the order of the candidates.
// Nullopt if there are too few.
std::optional<std::vector<std::string>> ChooseNodes(
    const NewJob& job, const Preference& preference,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

// Returns the nodes to reserve for a job that ChooseNodes cannot place: reachable candidates, free
// ones first. Nullopt if too few are reachable.
std::optional<std::vector<std::string>> NodesToReserve(
    const NewJob& job, const Preference& preference,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

}  // namespace assay::storage
