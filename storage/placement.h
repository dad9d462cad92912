// Which nodes a job takes, given which are free. Shared by every JobStore.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/types.h"

namespace assay::storage {

// True if the job needs whole nodes: it says so, or it has no GPUs to hold.
bool HoldsWholeNodes(const NewJob& job);

// `job.node_count` of the job's candidates that are `reachable` and `is_free`, in
// the candidates' order; nullopt if there are too few. Nodes in `avoid` are left
// out as long as enough other candidates are reachable, free or not.
std::optional<std::vector<std::string>> ChooseNodes(
    const NewJob& job, const std::vector<std::string>& avoid,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

// The nodes to set aside for a job that ChooseNodes cannot place: as it, but free ones first
// and then those that others hold; nullopt if too few are reachable.
std::optional<std::vector<std::string>> NodesToReserve(
    const NewJob& job, const std::vector<std::string>& avoid,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

}  // namespace assay::storage
