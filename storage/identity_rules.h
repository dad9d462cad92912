// Decides whether the holder of a key may join the fleet with an invite (a permission for one key),
// and under which identity. Shared by all implementations of IdentityStore.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "storage/identity_store.h"

namespace assay::storage {

// Functions that read identities in the transaction that enrols a key.
struct IdentityLookup {
  std::function<std::optional<v1::EnrolledIdentity>(const std::string&)> by_key;
  std::function<std::optional<v1::EnrolledIdentity>(const std::string&)> by_name;
  // Returns the names that are `base` or begin with `base` and a hyphen.
  std::function<std::vector<std::string>(const std::string& base)> similar_names;
};

// Decides whether to enrol a key, that is, to give it an identity in the fleet. If the outcome is
// kEnrolled, the caller must store its `identity` and `invite`, replacing any that have the same
// ids.
EnrolOutcome DecideEnrolment(const Enrolling& enrolling, const std::optional<v1::Invite>& invite,
                             const IdentityLookup& lookup);

// Returns the error for removing a banned identity.
Status StillBanned(const v1::EnrolledIdentity& identity);

}  // namespace assay::storage
