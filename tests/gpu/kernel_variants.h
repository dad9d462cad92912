// Reads kernel_variants.txt: parameters that select kernels which no self-test runs.
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/status.h"
#include "kernels/benchmark.h"

namespace assay {

// A benchmark and the parameters of a line `NAME k=v ...`, which replace those of its self-test.
using KernelVariant = std::pair<std::string, ParameterMap>;

// Adds `name`=VALUE, for each VALUE of those between commas in `values`, to each of `*all`.
inline void Combine(const std::string& name, const std::string& values,
                    std::vector<ParameterMap>* all) {
  std::vector<ParameterMap> combined;
  for (const ParameterMap& given : *all) {
    std::istringstream list(values);
    for (std::string value; std::getline(list, value, ',');) {
      combined.push_back(given);
      combined.back()[name] = value;
    }
  }
  *all = std::move(combined);
}

// Returns one entry per combination of values.
inline Result<std::vector<KernelVariant>> ReadKernelVariants(const std::string& path) {
  std::ifstream file(path);
  if (!file) return InvalidArgument("cannot read the variants of kernels in " + path);
  std::vector<KernelVariant> variants;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    if (!(words >> name) || name[0] == '#') continue;
    std::vector<ParameterMap> combinations(1);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      if (equals == std::string::npos) return InvalidArgument(path + ": not k=v: " + word);
      Combine(word.substr(0, equals), word.substr(equals + 1), &combinations);
    }
    for (const ParameterMap& given : combinations) variants.emplace_back(name, given);
  }
  return variants;
}

}  // namespace assay
