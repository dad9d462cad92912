// Good files, damaged in every place: refused with the place, or read as what is still whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "common/utf8.h"
#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"
#include "tests/unit/cli/imports/nccl_output.h"

namespace assay::imports {
namespace {

using ::testing::HasSubstr;

struct GoodFile {
  const char* name;
  std::string text;
  Result<Imported> (*read)(std::string_view, const Origin&);
  std::string collective;

  Result<Imported> Read(const std::string& damaged) const {
    Origin origin;
    origin.collective = collective;
    return read(damaged, origin);
  }
};

std::vector<GoodFile> GoodFiles() {
  const NcclOutput gather = NcclRunText(kNcclPrograms[4], 3, NcclStyle::kFixed, {4, 4096, 1 << 30},
                                        {0.2, 0.3, 7.31, 7.52, 123456.7, 134567.8});
  return {{"nccl text", kNcclText, &ReadNcclTests, ""},
          {"nccl old text", kOldNcclText, &ReadNcclTests, "broadcast"},
          {"nccl gather", gather.text, &ReadNcclTests, "gather"},
          {"nccl json", kNcclJson, &ReadNcclTests, ""},
          {"nvbandwidth text", kNvbandwidthText, &ReadNvbandwidth, ""},
          {"nvbandwidth json", kNvbandwidthJson, &ReadNvbandwidth, ""}};
}

// What may be stored, and no series twice: these files measure nothing twice.
void ExpectSound(const Result<Imported>& read, bool unique) {
  if (!read.ok()) {
    ASSERT_EQ(read.status().code(), Code::kInvalidArgument);
    ASSERT_TRUE(IsPlainText(read.status().message())) << read.status();
    return;
  }
  std::set<std::string> series;
  for (const v1::CaseResult& result : read->results) {
    std::string parameters = result.benchmark();
    for (const auto& [name, value] : std::map<std::string, std::string>(
             result.parameters().begin(), result.parameters().end())) {
      parameters.append(" ").append(name).append("=").append(value);
    }
    ASSERT_TRUE(IsPlainText(parameters)) << parameters;
    ASSERT_TRUE(series.insert(parameters).second || !unique) << parameters;
    ASSERT_EQ(result.measurements().empty(), result.outcome() != v1::CASE_OUTCOME_OK);
    for (const v1::Measurement& one : result.measurements()) {
      ASSERT_TRUE(std::isfinite(one.median()) && one.median() > 0)
          << parameters << " " << one.metric() << " " << one.median();
    }
  }
}

std::vector<std::string> Texts(const Imported& imported) {
  std::vector<std::string> texts;
  for (const v1::CaseResult& result : imported.results) texts.push_back(result.DebugString());
  return texts;
}

TEST(DamageTest, CutAfterAnyLineItIsRefusedThereOrReadWithoutTheRest) {
  for (const GoodFile& file : GoodFiles()) {
    const auto whole = file.Read(file.text);
    ASSERT_TRUE(whole.ok()) << file.name << ": " << whole.status();
    ExpectSound(whole, true);
    const std::vector<std::string> all = Texts(*whole);
    for (size_t end = 0; end != std::string::npos; end = file.text.find('\n', end + 1)) {
      for (const char* last : {"", "\n", "\r\n"}) {
        const std::string cut = file.text.substr(0, end) + last;
        const auto read = file.Read(cut);
        if (!read.ok()) {
          // Or "the file has no test of nvbandwidth with numbers".
          EXPECT_THAT(read.status().message(),
                      testing::AnyOf(HasSubstr("line "), HasSubstr("the file has no")))
              << file.name;
          continue;
        }
        // Behind the summary of nccl-tests nothing matters, and nvbandwidth's text has no end.
        const std::vector<std::string> some = Texts(*read);
        ASSERT_LE(some.size(), all.size());
        EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << file.name;
        EXPECT_TRUE(file.read == &ReadNvbandwidth || some.size() == all.size()) << cut;
      }
    }
  }
}

TEST(DamageTest, AnyBitFlippedItIsRefusedOrSound) {
  for (const GoodFile& file : GoodFiles()) {
    for (size_t at = 0; at < file.text.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = file.text;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        // A changed name of a type or a host is another series, or the same twice.
        ExpectSound(file.Read(damaged), false);
        if (HasFatalFailure()) FAIL() << file.name << " at " << at << " bit " << bit;
      }
    }
  }
}

TEST(DamageTest, AnyLineLostOrTwiceItIsRefusedOrSound) {
  for (const GoodFile& file : GoodFiles()) {
    for (size_t begin = 0; begin < file.text.size();) {
      const size_t end = std::min(file.text.find('\n', begin), file.text.size() - 1) + 1;
      const std::string line = file.text.substr(begin, end - begin);
      const std::string before = file.text.substr(0, begin);
      const std::string after = file.text.substr(end);
      for (const std::string& damaged : {before + after, before + line + line + after}) {
        ExpectSound(file.Read(damaged), false);
        if (HasFatalFailure()) FAIL() << file.name << ": " << line;
      }
      begin = end;
    }
  }
}

TEST(DamageTest, EndsOfLinesAndByteOrderMarksChangeNothing) {
  for (const GoodFile& file : GoodFiles()) {
    const auto whole = file.Read(file.text);
    ASSERT_TRUE(whole.ok()) << whole.status();
    std::string windows = "\xef\xbb\xbf";
    for (const char c : file.text) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
    const auto read = file.Read(windows);
    ASSERT_TRUE(read.ok()) << file.name << ": " << read.status();
    EXPECT_TRUE(Texts(*read) == Texts(*whole)) << file.name;
    EXPECT_EQ(read->environment.DebugString(), whole->environment.DebugString()) << file.name;
    // PowerShell's redirection, and a mark in the middle.
    std::string wide = "\xff\xfe";
    for (const char c : file.text) (wide += c) += '\0';
    EXPECT_THAT(file.Read(wide).status().message(), HasSubstr("the file is UTF-16; expected"));
    EXPECT_THAT(file.Read(wide).status().hint(), HasSubstr("iconv -f UTF-16 -t UTF-8"));
    ExpectSound(file.Read(file.text + "\xef\xbb\xbf" + file.text), false);
  }
}

// Behind each other in one stream: each reader takes its own program's, of one machine.
TEST(DamageTest, FilesBehindEachOtherAreRefusedOrReadAsEach) {
  for (const GoodFile& first : GoodFiles()) {
    for (const GoodFile& second : GoodFiles()) {
      for (const GoodFile* reader : {&first, &second}) {
        const auto both = reader->Read(first.text + second.text);
        ExpectSound(both, first.read != second.read);
        if (!both.ok()) continue;
        std::vector<std::string> expected;
        for (const GoodFile* file : {&first, &second}) {
          if (file->read != reader->read) continue;
          const auto read = reader->Read(file->text);
          ASSERT_TRUE(read.ok()) << first.name << ", " << second.name << ": " << read.status();
          for (const std::string& text : Texts(*read)) expected.push_back(text);
        }
        EXPECT_TRUE(Texts(*both) == expected) << first.name << ", " << second.name;
      }
    }
  }
}

}  // namespace
}  // namespace assay::imports
