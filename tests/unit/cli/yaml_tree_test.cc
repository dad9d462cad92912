#include "cli/campaign_file/yaml_tree.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/wording.h"

namespace assay::cli {
namespace {

// Returns the first fault as "line:column: description"; "none" without faults.
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

TEST(YamlTreeTest, Values_KeepTheirTextAndPosition) {
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

TEST(YamlTreeTest, AnchorsAndAliases_AreRefusedWithoutExpansion) {
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) {
    const std::string before(1, static_cast<char>(c - 1));
    bomb += std::string(1, c) + ": &" + c + " [*" + before + ", *" + before + "]\n";
  }
  const YamlFile file = ParseYaml(bomb);
  EXPECT_EQ(file.faults.size(), 26u + 2u * 25u);
  EXPECT_EQ(file.faults[2].at.line, 2);
}

TEST(YamlTreeTest, UnsupportedSyntax_FaultHasItsPosition) {
  std::string faults;
  for (const char* text :
       {"a: &b x\nc: *b\n", "a: !!python/object x\n", "a: 1\n---\nb: 2\n", "a: 1\nb: 2\na: 3\n",
        "[a, b]: 1\n", "a:\n\t- b\n", "a: [1\n", "a: *b\n", "a: b\nc: \xff\n", "a: \x1b[2J"}) {
    faults += FirstFault(text) + "\n";
  }
  // yaml-cpp 0.8 and later add the name.
  if (const size_t name = faults.find("not defined: b"); name != std::string::npos) {
    faults.erase(name + std::string("not defined").size(), std::string(": b").size());
  }
  EXPECT_WORDING("cli/yaml-faults", faults);
  EXPECT_TRUE(FirstFault(std::string("a: \0", 4)).starts_with("1:4: "));
  EXPECT_EQ(FirstFault("a: gr\xc3\xb6\xc3\x9f"
                       "e\n"),
            "none");
}

TEST(YamlTreeTest, SizeAndDepth_AreLimited) {
  EXPECT_NE(FirstFault(std::string(kMaxYamlBytes + 1, 'a')), "none");
  for (const char* opening : {"[", "{", "- ", "? ", "[\n"}) {
    EXPECT_NE(FirstFault(Repeat(opening, kMaxYamlBytes)), "none") << opening;
  }
}

TEST(YamlTreeTest, ManyKeysAndFaults_AreParsedInLinearTime) {
  std::string keys;
  for (int i = 0; i < 70'000; ++i) keys += "k" + std::to_string(i) + ": 1\n";
  EXPECT_EQ(ParseYaml(keys).root.entries.size(), 70'000u);
  EXPECT_EQ(ParseYaml(Repeat("a: 1\n", kMaxYamlBytes)).faults.size(), kMaxYamlFaults);
}

}  // namespace
}  // namespace assay::cli
