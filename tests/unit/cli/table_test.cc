#include "cli/views/table.h"

#include <gtest/gtest.h>

#include <string>

#include "cli/views/output.h"

namespace assay::cli {
namespace {

TEST(DisplayWidth, CountsColumnsOfTheTerminal) {
  EXPECT_EQ(DisplayWidth("abc"), 3);
  EXPECT_EQ(DisplayWidth("gr\u00f6\u00dfe"), 5);
  EXPECT_EQ(DisplayWidth("\u8282\u70b9"), 4);
  EXPECT_EQ(DisplayWidth("e\u0301"), 1);
  EXPECT_EQ(DisplayWidth("\U0001F680"), 2);
  EXPECT_EQ(DisplayWidth("\xff\xfe"), 2);
  EXPECT_EQ(Truncate("abcdef", 4), "abc\u2026");
  EXPECT_EQ(Truncate("\u8282\u70b9\u8282", 4), "\u8282\u2026");
  EXPECT_EQ(Truncate("abc", 3), "abc");
  EXPECT_EQ(Truncate("abc", 0), "");
}

TEST(Wrap, BreaksLinesAtSpaces) {
  EXPECT_EQ(Wrap("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(Wrap("label: averyverylongword x", 10, 7), "label: averyverylongword\n       x");
  EXPECT_EQ(Wrap("one two", 0, 2), "one two");
}

Table Example() {
  Table table({{"NAME"}, {"N", Align::kRight}, {"EMPTY"}, {"NOTE", Align::kLeft, 1}});
  table.Add({"node-\u8282", "5", "", "a remark"});
  table.Add({"b", "1234", "", "another remark that is long"});
  return table;
}

TEST(Table, EmptyColumns_AreLeftOut) {
  EXPECT_EQ(Example().Render({}),
            "NAME        N  NOTE\n"
            "node-\u8282     5  a remark\n"
            "b        1234  another remark that is long\n");
}

TEST(Table, ExpendableColumns_AreLeftOutAndNamed) {
  EXPECT_EQ(Example().Render({20, false}),
            "NAME        N\n"
            "node-\u8282     5\n"
            "b        1234\n"
            "left out to fit the\u2026\n");
}

TEST(Table, WidestColumn_IsCut) {
  Table table({{"A"}, {"B"}});
  table.Add({"short", "a very long cell of many words"});
  EXPECT_EQ(table.Render({20, false}),
            "A      B\n"
            "short  a very long \u2026\n");
}

TEST(Table, NoLineIsWiderThanTheTerminal) {
  for (int width = 24; width < 80; ++width) {
    const std::string text = Example().Render({width, false});
    for (size_t start = 0; start < text.size();) {
      const size_t end = text.find('\n', start);
      EXPECT_LE(DisplayWidth(text.substr(start, end - start)), width) << text;
      start = end + 1;
    }
  }
}

TEST(Table, Colour_DoesNotMoveColumns) {
  Table table({{"STATE"}, {"X"}});
  table.Add({Cell("bad", Tone::kBad), "1"});
  EXPECT_EQ(table.Render({80, true}),
            "\x1b[2mSTATE\x1b[0m  \x1b[2mX\x1b[0m\n"
            "\x1b[31mbad\x1b[0m    1\n");
}

TEST(Table, EscapeSequencesInCells_AreReplaced) {
  Table table({{"NAME"}});
  table.Add({"\x1b[31mred"});
  EXPECT_EQ(table.Render({}), "NAME\n\ufffd[31mred\n");
}

TEST(CsvRecord, QuotesAsInRfc4180) {
  EXPECT_EQ(CsvRecord({"a", "b c", "1.5", ""}), "a,b c,1.5,\r\n");
  EXPECT_EQ(CsvRecord({"a,b", "say \"hi\""}), "\"a,b\",\"say \"\"hi\"\"\"\r\n");
}

TEST(CsvRecord, FormulasBecomeText_NumbersStay) {
  EXPECT_EQ(CsvRecord({"=1+1", "+a", "@x", "-cmd", "-"}), "'=1+1,'+a,'@x,'-cmd,'-\r\n");
  EXPECT_EQ(CsvRecord({"=HYPERLINK(\"x\",2)"}), "\"'=HYPERLINK(\"\"x\"\",2)\"\r\n");
  EXPECT_EQ(CsvRecord({"-1.5e-3", "+2", "-7", "a=b"}), "-1.5e-3,+2,-7,a=b\r\n");
}

TEST(CsvRecord, ControlCharactersAreReplaced) {
  EXPECT_EQ(CsvRecord({"\t=1", "\r=1", "a\x1b]0;x\x07", "two\nlines"}),
            "'\ufffd=1,'\ufffd=1,a\ufffd]0;x\ufffd,two\ufffdlines\r\n");
}

}  // namespace
}  // namespace assay::cli
