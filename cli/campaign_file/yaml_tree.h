// Parses YAML into a tree whose values record their line numbers. Anchors, aliases, tags, multiple
// documents, duplicate keys and deep nesting are errors. Campaign files do not need them, and some
// of them would let a small malicious file exhaust the memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

// Limits of a file.
inline constexpr size_t kMaxYamlBytes = size_t{1} << 20;
inline constexpr int kMaxYamlDepth = 16;
// Parsing stops after this many faults.
inline constexpr size_t kMaxYamlFaults = 100;

// A position in a file, 1-based. Columns count bytes.
struct Position {
  int line = 0;
  int column = 0;
};

// One thing wrong with a file.
struct FileFault {
  Position at;
  // Path of the value, for example "benchmarks[1].gemm.m"; empty for the file.
  std::string field;
  // Says what was found and what is allowed.
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

  // True for an alias, which is an error that has been recorded already.
  bool faulty = false;
};

struct YamlNode::Entry {
  std::string key;
  Position at;  // Position of the key.
  YamlNode value;
};

struct YamlFile {
  YamlNode root;
  // In the order found. After a syntax error, `root` holds what precedes it.
  std::vector<FileFault> faults;
};

// Parses the only document in `text`. Does not throw.
YamlFile ParseYaml(std::string_view text);

}  // namespace assay::cli
