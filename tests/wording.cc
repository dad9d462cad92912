#include "tests/wording.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

namespace assay::testing_support {
namespace {

// A golden file is a list of entries: "== KEY", then the text, each of its lines indented by two
// spaces so that no text can look like a key.
constexpr std::string_view kMark = "== ";

using Entries = std::map<std::string, std::string, std::less<>>;

Entries ReadEntries(const std::string& path) {
  Entries entries;
  std::ifstream file(path);
  std::string line;
  std::string* entry = nullptr;
  while (std::getline(file, line)) {
    if (line.starts_with(kMark)) {
      entry = &entries[line.substr(kMark.size())];
    } else if (entry != nullptr) {
      *entry += line.substr(std::min<size_t>(2, line.size())) + "\n";
    }
  }
  return entries;
}

void WriteEntries(const std::string& path, const Entries& entries) {
  std::ofstream file(path, std::ios::trunc);
  for (const auto& [key, text] : entries) {
    file << kMark << key << "\n";
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      file << (line.empty() ? "" : "  ") << line << "\n";
    }
  }
}

// Stores one entry. Test programs run side by side, so the folder is locked meanwhile.
void Accept(const std::string& path, std::string_view key, const std::string& text) {
  const int folder = open(ASSAY_GOLDEN_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  flock(folder, LOCK_EX);
  Entries entries = ReadEntries(path);
  entries[std::string(key)] = text;
  WriteEntries(path, entries);
  close(folder);
}

}  // namespace

::testing::AssertionResult MatchesWording(const char* /*key_expression*/,
                                          const char* text_expression, std::string_view key,
                                          std::string_view text) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) {
    return ::testing::AssertionFailure() << "the key \"" << key << "\" must be ROOM/NAME";
  }
  const std::string path =
      std::string(ASSAY_GOLDEN_DIR) + "/" + std::string(key.substr(0, slash)) + ".txt";
  std::string wanted(text);
  if (!wanted.ends_with('\n')) {
    wanted += '\n';
  }
  if (std::getenv("ASSAY_ACCEPT_WORDING") != nullptr) {
    Accept(path, key, wanted);
    return ::testing::AssertionSuccess();
  }
  const Entries entries = ReadEntries(path);
  const auto entry = entries.find(key);
  if (entry == entries.end()) {
    return ::testing::AssertionFailure()
           << path << " has no entry \"" << key << "\"; ./dev golden stores it:\n"
           << wanted;
  }
  if (entry->second == wanted) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << text_expression << " differs from \"" << key << "\" in " << path
         << "; if the new wording is better, ./dev golden stores it.\nGolden:\n"
         << entry->second << "Now:\n"
         << wanted;
}

}  // namespace assay::testing_support
