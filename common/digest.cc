#include "common/digest.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace assay {
namespace {

std::string Hex(const unsigned char* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size * 2);
  for (size_t i = 0; i < size; ++i) {
    text.push_back(kDigits[bytes[i] >> 4]);
    text.push_back(kDigits[bytes[i] & 15]);
  }
  return text;
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr);
  return Hex(digest.data(), size);
}

std::string NewUuid() {
  std::array<unsigned char, 16> bytes{};
  RAND_bytes(bytes.data(), static_cast<int>(bytes.size()));
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string text = Hex(bytes.data(), bytes.size());
  for (size_t position : {8, 13, 18, 23}) text.insert(position, 1, '-');
  return text;
}

bool IsUuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool hyphen = i == 8 || i == 13 || i == 18 || i == 23;
    const char c = text[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (hyphen ? c != '-' : !digit) return false;
  }
  return true;
}

Result<std::string> ReadFile(const std::string& path, size_t most) {
  const auto cannot = [&](const std::string& why) {
    return NotFound("cannot read " + path + ": " + why, Reason::kFileUnreadable);
  };
  const std::unique_ptr<std::FILE, decltype(&std::fclose)> file(std::fopen(path.c_str(), "rbe"),
                                                                std::fclose);
  if (!file) return cannot(std::strerror(errno));
  std::string content;
  std::array<char, 65536> part;
  while (const size_t got = std::fread(part.data(), 1, part.size(), file.get())) {
    if (got > most - content.size()) {
      return cannot("it is larger than " + std::to_string(most) + " bytes");
    }
    content.append(part.data(), got);
  }
  // A folder, too, opens, and fails here.
  if (std::ferror(file.get()) != 0) return cannot(std::strerror(errno));
  return content;
}

}  // namespace assay
