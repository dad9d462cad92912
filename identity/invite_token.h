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

// Returns INVALID_ARGUMENT unless `text` is a whole token. Says whether it was cut off or mistyped,
// is no token of Assay, or is a token of a newer version. Spaces and line ends around it do not
// matter.
Result<InviteToken> ParseInviteToken(std::string_view text);

// Returns the SHA-256 digest of a secret, which is stored in its place.
std::string SecretHash(const std::string& secret);

// Compares the secret with a digest in a time that does not depend on where they differ.
bool IsSecretOf(const std::string& secret, const std::string& hash);

}  // namespace assay::identity
