// YAML as a small tree in which every value knows its line, read without the
// parts of YAML that only do harm in a file from strangers: anchors, aliases,
// tags, several documents, duplicate keys and deep nesting are faults.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// Limits of a file.
inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;
inline constexpr int kMaxYamlDepth = 16;
// Reading ends at so many faults.
inline constexpr size_t kMaxYamlFaults = 100;

// Where something stands in a file, 1-based; columns count bytes.
struct Position {
  int line = 0;
  int column = 0;
};

// One thing wrong with a file.
struct FileFault {
  Position at;
  // Path of the value, for example "benchmarks[1].gemm.m"; empty for the file.
  std::string field;
  // What was found and what is allowed.
  std::string description;
};

// A value of the file. Immutable after parsing.
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  Position at;
  std::string text;             // kScalar
  std::vector<YamlNode> items;  // kSequence
  std::vector<Entry> entries;   // kMap, in the file's order, keys unique

  // True where an alias stood: a fault is recorded, no further one is useful.
  bool faulty = false;
};

struct YamlNode::Entry {
  std::string key;
  Position at;  // Of the key.
  YamlNode value;
};

struct YamlFile {
  YamlNode root;
  // In the order found. With a syntax error, `root` is what stood before it.
  std::vector<FileFault> faults;
};

// Reads the one document in `text`. Never throws.
YamlFile ParseYaml(std::string_view text);

}  // namespace assay::cli
