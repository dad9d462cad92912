#include "identity/invite_token.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>

#include "common/digest.h"
#include "common/text.h"
#include "identity/openssl.h"

namespace assay::identity {
namespace {

constexpr std::string_view kPrefix = "assay1.";
constexpr std::string_view kAlphabet = "abcdefghijklmnopqrstuvwxyz234567";
constexpr size_t kIdBytes = 10;
constexpr size_t kSecretBytes = 32;
constexpr size_t kChecksumBytes = 3;
// Five bytes are eight characters.
constexpr size_t kIdLength = kIdBytes / 5 * 8;
constexpr size_t kSecretLength = (kSecretBytes + kChecksumBytes) / 5 * 8;
constexpr size_t kTokenLength = kPrefix.size() + kIdLength + 1 + kSecretLength;

// Encodes a multiple of five bytes.
std::string Base32(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 5) {
    uint64_t group = 0;
    for (size_t j = 0; j < 5; ++j) group = group << 8 | static_cast<unsigned char>(bytes[i + j]);
    for (int shift = 35; shift >= 0; shift -= 5) text += kAlphabet[group >> shift & 31];
  }
  return text;
}

// Decodes a multiple of eight characters. Returns nullopt if there are other characters.
std::optional<std::string> FromBase32(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t group = 0;
    for (size_t j = 0; j < 8; ++j) {
      const size_t digit = kAlphabet.find(text[i + j]);
      if (digit == kAlphabet.npos) return std::nullopt;
      group = group << 5 | digit;
    }
    for (int shift = 32; shift >= 0; shift -= 8) bytes += static_cast<char>(group >> shift & 255);
  }
  return bytes;
}

std::string Checksum(const InviteToken& token) {
  const std::string digest = Sha256Hex(std::string(kPrefix) + token.id + "." + token.secret);
  std::string checksum;
  for (size_t i = 0; i < kChecksumBytes; ++i) {
    checksum += static_cast<char>(std::stoi(digest.substr(2 * i, 2), nullptr, 16));
  }
  return checksum;
}

Status BadToken(const std::string& what, const std::string& hint) {
  return InvalidArgument(what, Reason::kBadInviteToken)
      .WithViolations({{"token", what, 0}})
      .WithHint(hint);
}

}  // namespace

InviteToken NewInviteToken() { return {Base32(RandomBytes(kIdBytes)), RandomBytes(kSecretBytes)}; }

std::string InviteTokenText(const InviteToken& token) {
  return std::string(kPrefix) + token.id + "." + Base32(token.secret + Checksum(token));
}

Result<InviteToken> ParseInviteToken(std::string_view text) {
  const auto is_space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  const std::string lower = Lower(text.substr(0, kTokenLength + 1));
  constexpr char kCopy[] = "copy the whole token, from assay1. to its last character";
  constexpr std::string_view kName = "assay";
  if (lower.size() < kPrefix.size() && kPrefix.substr(0, lower.size()) == lower && !lower.empty()) {
    return BadToken("the token is cut off", kCopy);
  }
  const size_t dot = lower.find('.');
  const std::string version =
      dot == lower.npos || dot < kName.size() ? "" : lower.substr(kName.size(), dot - kName.size());
  const bool number = !version.empty() && version.size() <= 3 && version.front() != '0' &&
                      std::all_of(version.begin(), version.end(),
                                  [](unsigned char c) { return c >= '0' && c <= '9'; });
  if (lower.compare(0, kName.size(), kName) != 0 || !number) {
    return BadToken("this is not a token of Assay: it does not begin with assay1.",
                    "`assay node invite` and `assay user invite` print one");
  }
  if (version != "1") {
    return BadToken(
        "the token is of a newer version of Assay: it begins with assay" + version + ".",
        "use the program of the coordinator that made it");
  }
  if (lower.size() < kTokenLength) {
    return BadToken("the token is cut off: it has " + std::to_string(lower.size()) + " of " +
                        std::to_string(kTokenLength) + " characters",
                    kCopy);
  }
  const Status mistyped = BadToken("the token has a typing error: its checksum is wrong", kCopy);
  if (lower.size() > kTokenLength || lower[kPrefix.size() + kIdLength] != '.') return mistyped;
  InviteToken token;
  token.id = lower.substr(kPrefix.size(), kIdLength);
  const std::optional<std::string> id = FromBase32(token.id);
  const std::optional<std::string> rest = FromBase32(lower.substr(kTokenLength - kSecretLength));
  if (!id || !rest) return mistyped;
  token.secret = rest->substr(0, kSecretBytes);
  if (rest->substr(kSecretBytes) != Checksum(token)) return mistyped;
  return token;
}

std::string SecretHash(const std::string& secret) { return Sha256Hex(secret); }

bool IsSecretOf(const std::string& secret, const std::string& hash) {
  const std::string own = SecretHash(secret);
  return own.size() == hash.size() && CRYPTO_memcmp(own.data(), hash.data(), own.size()) == 0;
}

}  // namespace assay::identity
