#include "cli/campaign_file/yaml_tree.h"

#include <gmock/gmock.h>

#include <string>

namespace assay::cli {
namespace {

using ::testing::HasSubstr;

// The first fault as "line:column: description"; "none" without one.
std::string FirstFault(const std::string& text) {
  const YamlFile file = ParseYaml(text);
  if (file.faults.empty()) return "none";
  const FileFault& fault = file.faults.front();
  return std::to_string(fault.at.line) + ":" + std::to_string(fault.at.column) + ": " +
         fault.description;
}

std::string Repeat(const std::string& text, size_t bytes) {
  std::string all;
  while (all.size() + text.size() <= bytes) all += text;
  return all;
}

TEST(YamlTreeTest, KeepsTextAndPositions) {
  const YamlFile file = ParseYaml("a: 007\nb:\n  - yes\n  - \"quoted\"\n  -\n");
  ASSERT_TRUE(file.faults.empty());
  ASSERT_EQ(file.root.entries.size(), 2u);
  EXPECT_EQ(file.root.entries[0].value.text, "007");
  EXPECT_EQ(file.root.entries[1].at.line, 2);
  const YamlNode& list = file.root.entries[1].value;
  ASSERT_EQ(list.items.size(), 3u);
  EXPECT_EQ(list.items[0].text, "yes");
  EXPECT_EQ(list.items[1].text, "quoted");
  EXPECT_EQ(list.items[1].at.line, 4);
  EXPECT_EQ(list.items[1].at.column, 5);
  EXPECT_EQ(list.items[2].kind, YamlNode::Kind::kNull);
}

TEST(YamlTreeTest, AnchorsAndAliasesAreRefusedUnexpanded) {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [*" + before + ", *" + before + "]\n";
  }
  const YamlFile file = ParseYaml(bomb);
  EXPECT_EQ(file.faults.size(), 26u + 2u * 25u);
  EXPECT_EQ(FirstFault(bomb),
            "1:4: an anchor (&name) is not allowed; write the value where it is used");
  EXPECT_EQ(file.faults[2].description, "an alias (*name) is not allowed; write the value out");
  EXPECT_EQ(file.faults[2].at.line, 2);
}

TEST(YamlTreeTest, RefusesWhatACampaignDoesNotNeed) {
  EXPECT_EQ(FirstFault("a: !!python/object x\n"),
            "1:4: a tag (\"tag:yaml.org,2002:python/object\") is not allowed; values are read as "
            "text");
  EXPECT_EQ(FirstFault("a: 1\n---\nb: 2\n"),
            "3:1: a second document (after ---) is not allowed; one file is one campaign");
  EXPECT_EQ(FirstFault("a: 1\nb: 2\na: 3\n"),
            "3:1: \"a\" stands here for the second time; the first is in line 1");
  EXPECT_EQ(FirstFault("[a, b]: 1\n"), "1:1: a key must be a word");
  EXPECT_EQ(FirstFault("a:\n\t- b\n"), "2:1: a tab in the indentation; indent with spaces");
  EXPECT_THAT(FirstFault("a: [1\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(FirstFault("a: *b\n"), HasSubstr("not valid YAML"));
}

TEST(YamlTreeTest, RefusesWhatIsNotText) {
  EXPECT_EQ(FirstFault(std::string("a: \0", 4)),
            "1:4: byte 0x00 (a control character); a campaign file is text in UTF-8");
  EXPECT_EQ(FirstFault("a: b\nc: \xff\n"), "2:4: byte 0xff; a campaign file is text in UTF-8");
  EXPECT_EQ(FirstFault("a: \x1b[2J"),
            "1:4: byte 0x1b (a control character); a campaign file is text in UTF-8");
  EXPECT_EQ(FirstFault("a: gr\xc3\xb6\xc3\x9f"
                       "e\n"),
            "none");
}

TEST(YamlTreeTest, SizeAndDepthAreLimited) {
  EXPECT_EQ(FirstFault(std::string(kMaxYamlBytes + 1, 'a')),
            "1:1: the file has more than 1048576 bytes, which is the limit");
  for (const char* opening : {"[", "{", "- ", "? ", "[\n"}) {
    EXPECT_THAT(FirstFault(Repeat(opening, kMaxYamlBytes)),
                HasSubstr("nested more than 16 levels deep"))
        << opening;
  }
}

TEST(YamlTreeTest, ManyKeysAndFaultsStayCheap) {
  std::string keys;
  for (int i = 0; i < 70'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(ParseYaml(keys).root.entries.size(), 70'000u);
  EXPECT_EQ(ParseYaml(Repeat("a: 1\n", kMaxYamlBytes)).faults.size(), kMaxYamlFaults);
}

}  // namespace
}  // namespace assay::cli
