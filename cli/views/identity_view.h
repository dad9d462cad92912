// Renders invites, enrolled nodes and users, and refused attempts to join. No I/O.
#pragma once

#include <string>
#include <vector>

#include "assay/v1/identity_service.pb.h"
#include "cli/views/table.h"
#include "common/clock.h"

namespace assay::cli {

// Returns the name and what else an invite sets: "gpu-7 ($2.49/h, rack=3)".
std::string ScopeText(const v1::InviteScope& scope);

// Says what an invite allows and until when.
std::string InviteText(const v1::Invite& invite);

// Renders one row per invite, with its state at `now`.
std::string InvitesText(const std::vector<v1::Invite>& invites, WallTime now, const Style& style);
std::string InvitesCsv(const std::vector<v1::Invite>& invites, WallTime now);

// Renders one row per node or user, then the reasons of bans.
std::string IdentitiesText(const std::vector<v1::EnrolledIdentity>& identities, WallTime now,
                           const Style& style);
std::string IdentitiesCsv(const std::vector<v1::EnrolledIdentity>& identities, WallTime now);

// Renders one row per attempt to join. The error message is in the last column or, on a narrow
// terminal, on a separate line below the row.
std::string AttemptsText(const std::vector<v1::EnrolmentAttempt>& attempts, const Style& style);
std::string AttemptsCsv(const std::vector<v1::EnrolmentAttempt>& attempts);

}  // namespace assay::cli
