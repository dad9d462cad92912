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

// Which candidates a job that was tried before goes to if enough of them are reachable, free
// or not.
struct Preference {
  std::vector<std::string> avoid;  // Not these,
  std::vector<std::string> only;   // and unless it is empty, no others than these.
};

// `job.node_count` of the job's candidates that are `reachable` and `is_free`, in
// the candidates' order; nullopt if there are too few.
std::optional<std::vector<std::string>> ChooseNodes(
    const NewJob& job, const Preference& preference,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

// The nodes to set aside for a job that ChooseNodes cannot place: as it, but free ones first
// and then those that others hold; nullopt if too few are reachable.
std::optional<std::vector<std::string>> NodesToReserve(
    const NewJob& job, const Preference& preference,
    const std::function<bool(const std::string&)>& reachable,
    const std::function<bool(const std::string&)>& is_free);

}  // namespace assay::storage
