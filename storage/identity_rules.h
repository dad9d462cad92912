// Decides what becomes of a key that presents an invite. Every IdentityStore uses it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/identity_store.h"

namespace assay::storage {

// Reads identities, in the transaction that enrols.
struct IdentityLookup {
  std::function<std::optional<v1::EnrolledIdentity>(const std::string&)> by_key;
  std::function<std::optional<v1::EnrolledIdentity>(const std::string&)> by_name;
  // Returns the names that are `base` or begin with `base` and a hyphen.
  std::function<std::vector<std::string>(const std::string& base)> similar_names;
};

// Returns the outcome. If it is kEnrolled, its `identity` and `invite` must be stored, in place of
// the earlier ones with the same ids.
EnrolOutcome DecideEnrolment(const Enrolling& enrolling, const std::optional<v1::Invite>& invite,
                             const IdentityLookup& lookup);

// Returns the error for removing a banned identity.
Status StillBanned(const v1::EnrolledIdentity& identity);

}  // namespace assay::storage
