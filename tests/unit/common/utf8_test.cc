#include "common/utf8.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Utf8Test, PlainText) {
  for (const char* text : {"", "node-a", "Köln, Halle 2", "\xf0\x9f\x9a\x80"}) {
    EXPECT_TRUE(IsPlainText(text)) << text;
  }
}

TEST(Utf8Test, NotPlainText) {
  for (const char* text : {"a\n", "\t", "\x1b[1m", "\x7f", "\xc2\x85", "\xff", "a\xc3", "\xc0\xaf",
                           "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(IsPlainText(text)) << text;
  }
  EXPECT_FALSE(IsPlainText(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace assay
