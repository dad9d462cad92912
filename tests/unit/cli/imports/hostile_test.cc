// Files that nobody's program wrote: refused with a reason, in little time and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <cmath>
#include <random>

#include "common/utf8.h"
#include "cli/imports/checked_text.h"
#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"

namespace assay::imports {
namespace {

using ::testing::HasSubstr;

std::string Repeated(const std::string& part, size_t times) {
  std::string text;
  text.reserve(part.size() * times);
  for (size_t i = 0; i < times; ++i) text += part;
  return text;
}

// Both readers refuse it, and say why in text that a message may carry.
void ExpectRefused(const std::string& text, const std::string& why = "") {
  for (auto* const read : {&ReadNcclTests, &ReadNvbandwidth}) {
    const auto result = (*read)(text, {});
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
    EXPECT_TRUE(IsPlainText(result.status().message())) << result.status();
    EXPECT_LT(result.status().message().size(), 1000U);
    EXPECT_THAT(result.status().message(), HasSubstr(why));
  }
}

TEST(HostileFileTest, NumbersHaveExponentsOfNumbers) {
  for (const char* word : {"0.00e-2147483647", "0e400", "0e99999999999999999999", "-1", "nan"}) {
    EXPECT_FALSE(PrintedOf(word, 3, "time").ok()) << word;
  }
  EXPECT_DOUBLE_EQ(PrintedOf("1.50e-3", 3, "time")->error, 0.5e-5);
  EXPECT_DOUBLE_EQ(PrintedOf("0e0", 3, "time")->error, 0.5);
}

// What reading may take at its most. AddressSanitizer keeps 256 MiB that are freed, and an eighth
// more for itself.
#ifdef __SANITIZE_ADDRESS__
constexpr long kMostKib = 1024 << 10;
#else
constexpr long kMostKib = 512 << 10;
#endif

TEST(HostileFileTest, SizesAreBounded) {
  ExpectRefused(std::string(kMaxFileBytes + 1, ' '), "MiB");
  ExpectRefused(std::string(kMaxFileBytes, '\n'), "lines");
  ExpectRefused(std::string(kMaxFileBytes, '#'));
  ExpectRefused(Repeated("# nThread 1 ", 1'000'000));
  ExpectRefused("{\"a\":" + std::string(1'000'000, '['), "levels");
  ExpectRefused(Repeated("{\"a\":", 100'000), "levels");
  ExpectRefused("{\"a\":[" + Repeated("0,", 2'000'000) + "0]}", "values");
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_LT(usage.ru_maxrss, kMostKib) << "KiB";
}

TEST(HostileFileTest, ColumnsAreBounded) {
  const std::string nccl = kNcclText;
  const std::string header = "#       size         count";
  ASSERT_FALSE(ReadNcclTests(Replaced(nccl, header, header + Repeated(" x", 1'000'000)), {}).ok());
  const std::string row = "       32768          8192";
  ASSERT_FALSE(ReadNcclTests(Replaced(nccl, row, row + Repeated(" 1", 1'000'000)), {}).ok());
  const std::string nvb = kNvbandwidthText;
  std::string columns;
  for (int i = 0; i < 200'000; ++i) columns += " " + std::to_string(i);
  ASSERT_FALSE(ReadNvbandwidth(Replaced(nvb, "           0         1", columns), {}).ok());
  ASSERT_FALSE(
      ReadNvbandwidth(Replaced(nvb, " 0     55.30", " 0" + Repeated(" 55.30", 1'000'000)), {})
          .ok());
  const std::string json =
      Replaced(kNvbandwidthJson, "\"12.3964\", ", "\"12.3964\", " + Repeated("\"1\", ", 100'000));
  ASSERT_FALSE(ReadNvbandwidth(json, {}).ok());
}

TEST(HostileFileTest, BytesThatAreNoTextAreRefused) {
  for (const std::string& bytes :
       {std::string("\0", 1), std::string("\x1b[31m"), std::string("\xff\xfe"), std::string("\xc3"),
        std::string("\xed\xa0\x80"), std::string("\xc2\x9b"), std::string("\x7f")}) {
    ExpectRefused(Replaced(kNcclText, "# Using devices", "# Using " + bytes), "UTF-8");
    ExpectRefused(bytes, "UTF-8");
    ExpectRefused("{\"a\": \"" + bytes + "\"}", "UTF-8");
  }
}

TEST(HostileFileTest, TheByteThatIsNoTextIsNamed) {
  ExpectRefused(Replaced(kNcclText, "# Using devices", "#\tUs\xc3\xadng \x1b[31m"),
                "byte 0x1b (a control character); expected text in UTF-8");
  ExpectRefused(Replaced(kNcclText, "# Using devices", "# \xff"), "byte 0xff; expected text");
}

TEST(HostileFileTest, CompressedFilesAreNamed) {
  for (const auto& [begin, name, program] :
       {std::array<std::string, 3>{"\x1f\x8b\x08", "gzip", "gunzip"},
        std::array<std::string, 3>{"\x28\xb5\x2f\xfd\x04", "zstd", "unzstd"},
        std::array<std::string, 3>{"\xfd\x37zXZ", "xz", "unxz"},
        std::array<std::string, 3>{"BZh91AY&SY\x9d", "bzip2", "bunzip2"}}) {
    for (const auto& read :
         {ReadNcclTests(begin + "\n\x8b", {}), ReadNvbandwidth(begin + "\n\x8b", {})}) {
      ASSERT_FALSE(read.ok());
      EXPECT_THAT(read.status().message(), HasSubstr("the file is compressed by " + name));
      EXPECT_EQ(read.status().hint(), "unpack it first: " + program + " FILE");
    }
  }
}

TEST(HostileFileTest, NumbersAreChecked) {
  for (const char* number : {"nan", "inf", "-1", "1e400", "1e16", "0x10", "1,5", "--1", "1e", "",
                             "99999999999999999999999999999999999"}) {
    const std::string padded = std::string("  ") + number + "  ";
    EXPECT_FALSE(ReadNcclTests(Replaced(kNcclText, "  165.00 ", padded), {}).ok()) << number;
    EXPECT_FALSE(ReadNcclTests(Replaced(kNcclText, "   134217728 ", padded), {}).ok()) << number;
    EXPECT_FALSE(ReadNvbandwidth(Replaced(kNvbandwidthText, "55.30", padded), {}).ok()) << number;
    EXPECT_FALSE(ReadNvbandwidth(Replaced(kNvbandwidthJson, "12.3964", number), {}).ok()) << number;
  }
  for (const char* number : {"\"nan\"", "-1", "1e400", "null", "{}", "[]", "true", "1e308"}) {
    const std::string json =
        Replaced(kNcclJson, "\"bus_bw\":0.076800", std::string("\"bus_bw\":") + number);
    EXPECT_FALSE(ReadNcclTests(json, {}).ok()) << number;
  }
  for (const char* count :
       {"-1", "0", "4097", "9223372036854775807", "18446744073709551616", "1.5", "\"x\""}) {
    const std::string json = Replaced(kNcclJson, "\"ngpus\":4", std::string("\"ngpus\":") + count);
    EXPECT_FALSE(ReadNcclTests(json, {}).ok()) << count;
  }
}

TEST(HostileFileTest, JsonOfOtherShapesIsRefused) {
  for (const char* json :
       {"{}", "{\"version\":1}", "{\"version\":\"1\",\"args\":[]}", "{\"version\":1,\"args\":{}}",
        "{\"nvbandwidth\":[]}", "{\"nvbandwidth\":{\"version\":1}}",
        "{\"nvbandwidth\":{\"version\":\"v0.5\",\"testcases\":[1]}}",
        "{\"nvbandwidth\":{\"version\":\"v0.5\",\"testcases\":[]}}", "{,}", "{\"a\"}"}) {
    ExpectRefused(json);
  }
}

// Whatever a mutation makes of a good file, it is refused, or read into results within
// bounds.
void Mutate(const std::string& good, Result<Imported> (*read)(std::string_view, const Origin&),
            unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](size_t bound) { return static_cast<size_t>(random()) % bound; };
  const std::string pieces[] = {"\n",  "#",  "0",    "9",  "-",   "e",     "{",   "}",
                                "[",   "]",  "\"",   ",",  " ",   "\xff",  "nan", "N/A",
                                "SUM", "\t", "Rank", "\\", "\\u", "1e308", ":",   "size"};
  int taken = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = good;
    for (size_t change = 1 + below(4); change > 0 && !text.empty(); --change) {
      const size_t at = below(text.size());
      const size_t length = std::min(text.size() - at, below(40));
      switch (below(5)) {
        case 0:
          text[at] = static_cast<char>(below(256));
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(at, std::string(text, below(text.size()), length));
          break;
        case 3:
          text.insert(at, pieces[below(std::size(pieces))]);
          break;
        default:
          text.resize(std::max<size_t>(at, 1));
      }
    }
    const auto result = read(text, {});
    if (!result.ok()) {
      EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
      EXPECT_TRUE(IsPlainText(result.status().message())) << result.status();
      continue;
    }
    ++taken;
    ASSERT_LE(result->results.size(), kMaxResults);
    for (const v1::CaseResult& one : result->results) {
      for (const v1::Measurement& measurement : one.measurements()) {
        ASSERT_TRUE(std::isfinite(measurement.median()) && measurement.median() > 0);
      }
      for (const auto& [name, value] : one.parameters()) ASSERT_TRUE(IsPlainText(value)) << name;
    }
  }
  // Some change nothing that matters; most must be noticed.
  EXPECT_LT(taken, 2000);
}

TEST(HostileFileTest, MutationsOfGoodFilesNeverCrash) {
  Mutate(kNcclText, &ReadNcclTests, 1);
  Mutate(kNcclJson, &ReadNcclTests, 2);
  Mutate(kNvbandwidthText, &ReadNvbandwidth, 3);
  Mutate(kNvbandwidthJson, &ReadNvbandwidth, 4);
}

}  // namespace
}  // namespace assay::imports
