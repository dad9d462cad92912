#include "cli/campaign_file/yaml_tree.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <unordered_map>

#include "common/text.h"

namespace assay::cli {
namespace {

Position ToPosition(const YAML::Mark& mark) { return {mark.line + 1, mark.column + 1}; }

// Thrown to end parsing from within a handler. The error has already been recorded.
struct StopParsing {};

// Builds the tree from parser events. Aliases are never expanded, so small files stay small.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(YamlFile& file) : file_(file) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    Add(MakeNode(YamlNode::Kind::kNull, mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fault(mark, "an alias (*name) is not allowed; write the value out");
    YamlNode node = MakeNode(YamlNode::Kind::kNull, mark);
    node.faulty = true;
    Add(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    YamlNode node = MakeNode(YamlNode::Kind::kScalar, mark);
    node.text = value;
    Add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kSequence, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  // A collection that is still being read.
  struct Level {
    YamlNode node;
    // A map between key and value.
    std::optional<YamlNode::Entry> entry;
    // The line of each key.
    std::unordered_map<std::string, int> keys;
  };

  static YamlNode MakeNode(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.at = ToPosition(mark);
    return node;
  }

  void Fault(Position at, std::string description) {
    file_.faults.push_back({at, "", std::move(description)});
    if (file_.faults.size() >= kMaxYamlFaults) throw StopParsing();
  }
  void Fault(const YAML::Mark& mark, std::string description) {
    Fault(ToPosition(mark), std::move(description));
  }

  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0)
      Fault(mark, "an anchor (&name) is not allowed; write the value where it is used");
  }

  // The parser reports "?" for plain and "!" for quoted values without a tag.
  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    Fault(mark, "a tag (" + Quote(tag) + ") is not allowed; values are read as text");
  }

  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    if (levels_.size() >= static_cast<size_t>(kMaxYamlDepth)) {
      Fault(mark, "nested more than " + std::to_string(kMaxYamlDepth) + " levels deep");
      throw StopParsing();
    }
    levels_.push_back({MakeNode(kind, mark), std::nullopt, {}});
  }

  void Close() {
    YamlNode node = std::move(levels_.back().node);
    levels_.pop_back();
    Add(std::move(node));
  }

  void Add(YamlNode node) {
    if (levels_.empty()) {
      file_.root = std::move(node);
      return;
    }
    Level& level = levels_.back();
    if (level.node.kind == YamlNode::Kind::kSequence) {
      level.node.items.push_back(std::move(node));
    } else if (!level.entry) {
      BeginEntry(level, std::move(node));
    } else {
      EndEntry(level, std::move(node));
    }
  }

  void BeginEntry(Level& level, YamlNode key) {
    if (key.kind != YamlNode::Kind::kScalar && !key.faulty) {
      Fault(key.at, "a key must be a word");
    }
    level.entry = YamlNode::Entry{std::move(key.text), key.at, YamlNode()};
  }

  void EndEntry(Level& level, YamlNode value) {
    YamlNode::Entry entry = std::move(*level.entry);
    level.entry.reset();
    entry.value = std::move(value);
    const auto [first, added] = level.keys.try_emplace(entry.key, entry.at.line);
    if (!added) {
      Fault(entry.at, Quote(entry.key) + " is given twice; the first is in line " +
                          std::to_string(first->second));
      return;
    }
    level.node.entries.push_back(std::move(entry));
  }

  YamlFile& file_;
  std::vector<Level> levels_;
};

// Reports tabs in the indentation and any invalid characters, because the YAML parser's own error
// messages about them would be misleading.
void CheckLines(std::string_view text, std::vector<FileFault>& faults) {
  int line = 0;
  for (const std::string_view row : Split(text, '\n')) {
    ++line;
    for (size_t i = 0; i < row.size();) {
      const std::string_view character = row.substr(i, DecodeUtf8(row.substr(i)).bytes);
      if (character != "\t" && character != "\r" && !IsPlainText(character)) {
        faults.push_back({{line, static_cast<int>(i) + 1},
                          "",
                          "a campaign file is text in UTF-8 without control characters"});
        return;
      }
      i += character.size();
    }
    const size_t content = row.find_first_not_of(" \t\r");
    const size_t tab = row.find('\t');
    if (content != std::string_view::npos && row[content] != '#' && tab < content) {
      faults.push_back(
          {{line, static_cast<int>(tab) + 1}, "", "a tab in the indentation; indent with spaces"});
    }
  }
}

void Parse(std::string_view text, YamlFile& file) {
  std::istringstream stream{std::string(text)};
  TreeBuilder builder(file);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder)) return;
    YamlFile rest;
    TreeBuilder ignored(rest);
    if (parser.HandleNextDocument(ignored)) {
      file.faults.push_back(
          {rest.root.at, "",
           "a second document (after ---) is not allowed; one file is one campaign"});
    }
  } catch (const StopParsing&) {
    return;
  } catch (const YAML::Exception& error) {
    const Position at = error.mark.is_null() ? Position{1, 1} : ToPosition(error.mark);
    file.faults.push_back({at, "", "not valid YAML: " + error.msg});
  }
}

}  // namespace

YamlFile ParseYaml(std::string_view text) {
  YamlFile file;
  if (text.size() > kMaxYamlBytes) {
    file.faults.push_back(
        {{1, 1},
         "",
         "the file has more than " + std::to_string(kMaxYamlBytes) + " bytes, which is the limit"});
    return file;
  }
  CheckLines(text, file.faults);
  if (file.faults.empty()) Parse(text, file);
  return file;
}

}  // namespace assay::cli
