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

// The nodes that a job prefers among its candidates, for example because it failed on another.
// Ignored if too few of the preferred nodes are reachable. A busy node is considered reachable.
struct Preference {
  std::vector<std::string> avoid;
  std::vector<std::string> only;  // Empty: all but `avoid`.
};

// Returns the nodes on which a job can start: its first `job.node_count` candidates that are
// reachable and free. Returns nullopt if there are not enough. Considers only the preferred
// candidates if enough of them are reachable.
std::optional<std::vector<std::string>> ChooseNodes(
    const NewJob& job, const Preference& preference,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

// Returns the nodes to reserve for a job that has waited too long and still cannot be placed.
// Chooses reachable candidates, preferring free nodes to busy ones. Returns nullopt if there are
// too few.
std::optional<std::vector<std::string>> NodesToReserve(
    const NewJob& job, const Preference& preference,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

}  // namespace assay::storage
