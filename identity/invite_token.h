// Tokens of invites: "assay1.ID.SECRET", in letters and digits that survive a double click.
#pragma once

#include <string>
#include <string_view>

#include "common/status.h"

namespace assay::identity {

struct InviteToken {
  std::string id;      // 16 characters, not secret.
  std::string secret;  // 32 random bytes.
};

InviteToken NewInviteToken();

// Returns the text of a token. It ends with a checksum.
std::string InviteTokenText(const InviteToken& token);

// Parses the token of an invitation to a fleet. Ignores spaces and line breaks around it. If the
// token is invalid, returns INVALID_ARGUMENT. The error tells the user why: the token is truncated
// or mistyped, is not an Assay token, or is from a newer version of Assay.
Result<InviteToken> ParseInviteToken(std::string_view text);

// Returns the SHA-256 digest of a secret. The digest is stored instead of the secret.
std::string SecretHash(const std::string& secret);

// Returns true if `hash` is the digest of `secret`. The comparison takes constant time, so that its
// duration does not reveal where the digests differ.
bool IsSecretOf(const std::string& secret, const std::string& hash);

}  // namespace assay::identity
