#include "host/proc_file.h"

#include <fstream>
#include <sstream>

namespace assay {

std::optional<int64_t> NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = 0;
  if (file >> number) return number;
  return std::nullopt;
}

std::optional<int64_t> NumberOf(const std::string& name, const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    int64_t number = 0;
    if (words >> word >> number && word == name) return number;
  }
  return std::nullopt;
}

}  // namespace assay
