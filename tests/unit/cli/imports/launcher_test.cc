// Outputs as launchers and users hand them on: labelled by rank, or of the other program.
#include "cli/imports/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/imports/imports.h"
#include "tests/unit/cli/imports/files.h"

namespace assay::imports {
namespace {

using ::testing::HasSubstr;

using Reader = Result<Imported> (*)(std::string_view, const Origin&);

std::string Labelled(const std::string& text, const std::string& label) {
  std::string labelled;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    labelled += label + text.substr(begin, end - begin);
    begin = end;
  }
  return labelled;
}

std::string Texts(const Result<Imported>& read) {
  if (!read.ok()) return read.status().message();
  std::string all = read->environment.DebugString();
  for (const v1::CaseResult& result : read->results) all += result.DebugString();
  return all;
}

std::string Refusal(const Result<Imported>& read) {
  return read.ok() ? "taken" : read.status().message() + "; " + read.status().hint();
}

TEST(LauncherTest, LabelsOfEveryLineAreStripped) {
  const std::pair<Reader, std::string> files[] = {{&ReadNcclTests, kNcclText},
                                                  {&ReadNcclTests, kNcclJson},
                                                  {&ReadNvbandwidth, kNvbandwidthText},
                                                  {&ReadNvbandwidth, kNvbandwidthJson}};
  for (const auto& [read, text] : files) {
    const std::string plain = Texts(read(text, {}));
    for (const char* label : {"[1,0]<stdout>:", "[1,0]<stdout>: ", "[1,12]<stderr>:",
                              "[prterun-node-7-4242@1,0]<stdout>: ", "0: ", " 3: ", "12: "}) {
      EXPECT_EQ(Texts(read(Labelled(text, label), {})), plain) << label;
    }
  }
  // NCCL's log of another rank in between, and blank lines that the launcher leaves blank.
  std::string mixed = Labelled(kNcclText, "[1,0]<stdout>:");
  mixed = Replaced(mixed, "[1,0]<stdout>:secret", "\n[1,3]<stderr>:secret");
  EXPECT_EQ(Texts(ReadNcclTests(mixed, {})), Texts(ReadNcclTests(kNcclText, {})));
}

TEST(LauncherTest, LabelsOfSomeLinesAreNamed) {
  const std::string srun = Labelled(kNcclText, "0: ");
  for (const std::string& text :
       {"srun: job 7 queued\n" + srun, Replaced(srun, "0: NCCL", "[1,0]<stdout>:NCCL")}) {
    EXPECT_THAT(Refusal(ReadNcclTests(text, {})),
                testing::AllOf(HasSubstr("begins with a launcher's label, \"0:\""),
                               HasSubstr("strip the labels"), HasSubstr("srun without -l")));
  }
}

TEST(LauncherTest, WhatMpirunSaysAroundItsLabelledLinesIsPassedOver) {
  const std::string label = "[1,0]<stdout>:";
  const std::string before = "Warning: Permanently added 'node-2' to the list of known hosts.\n\n";
  const std::string after = "mpirun noticed that process rank 1 exited\nuser@host:~$\n";
  const std::pair<Reader, std::string> files[] = {{&ReadNcclTests, kNcclText},
                                                  {&ReadNvbandwidth, kNvbandwidthText},
                                                  {&ReadNvbandwidth, kNvbandwidthJson}};
  for (const auto& [read, text] : files) {
    const std::string labelled = Labelled(text, label);
    EXPECT_EQ(Texts(read(before + labelled + after, {})), Texts(read(text, {})));
    // In between it may be the rest of a line.
    const size_t middle = labelled.find(label, labelled.size() / 2);
    EXPECT_THAT(Refusal(read(std::string(labelled).insert(middle, "more\n"), {})),
                HasSubstr("line 1: the line begins with a launcher's label, \"[1,0]<stdout>:\""));
  }
  // Of a run whose lines lost their labels.
  for (const char* line : {"# Rank 1", "  8 2 float", "Running x.", "SUM x 1", "{", "Device 0: x",
                           "nvbandwidth Version: v0.5", "memcpy CE CPU(row)"}) {
    for (const std::string& text : {line + ("\n" + Labelled(kNvbandwidthText, label)),
                                    Labelled(kNvbandwidthText, label) + line}) {
      EXPECT_THAT(Refusal(ReadNvbandwidth(text, {})), HasSubstr("and not every line of the file"))
          << line;
    }
  }
  const std::string wrong = Replaced(Labelled(kNcclText, label), " 40.96 ", " 10.96 ");
  EXPECT_THAT(Refusal(ReadNcclTests(before + wrong, {})), HasSubstr("line 19: out of place"));
}

TEST(LauncherTest, LinesOfStdoutThatAloneHaveLabelsAreNamed) {
  // Passed over like the rest of the stream, the row would be lost.
  const std::string text = kNcclText;
  EXPECT_THAT(Refusal(ReadNcclTests(Replaced(text, "       32768", "[1,0]<stdout>:  32768"), {})),
              testing::AllOf(HasSubstr("line 17: the line begins with a launcher's label, "
                                       "\"[1,0]<stdout>:\", and not every line"),
                             HasSubstr("strip the labels")));
  EXPECT_THAT(
      Refusal(ReadNvbandwidth(
          Replaced(kNvbandwidthText, "Waived: \nNOTE", "[1,0]<stdout>:Waived: \nNOTE"), {})),
      HasSubstr("\"[1,0]<stdout>:\", and not every line"));
  // What the launcher itself or another program says is no part of the output.
  const std::string noted =
      Replaced(text, "secret-host-1:6899", "[1,0]<stderr>:secret-host-1:6899");
  EXPECT_EQ(Texts(ReadNcclTests(noted, {})), Texts(ReadNcclTests(text, {})));
}

TEST(LauncherTest, WhatOnlyLooksLikeALabelIsNone) {
  for (const char* text :
       {"", "\n\n", "0 : a\n", "0:a\n", ": a\n", "[1,0]stdout:a\n", "[1]<stdout>:a\n",
        "[,0]<stdout>:a\n", "[1,]<stdout>:a\n", "[a,0]<stdout>:a\n", "[1,0<stdout>:a\n",
        "[1,0]<stdin>:a\n", "[1,0]<stdout>a\n", "[", "0", "[@", "[1,", "0: a\nb\n"}) {
    const auto plain = WithoutLabels(text);
    ASSERT_TRUE(plain.ok()) << plain.status();
    EXPECT_FALSE(*plain) << text;
  }
  const auto plain = WithoutLabels("0: a\n 1:\r\n\n10: b");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(*plain, "a\n\n\nb");
}

TEST(LauncherTest, TheOtherProgramIsNamed) {
  for (const char* text : {kNcclText, kNcclJson}) {
    EXPECT_THAT(Refusal(ReadNvbandwidth(text, {})),
                testing::AllOf(HasSubstr("this is nccl-tests' output"),
                               HasSubstr("assay import nccl-tests FILE")));
  }
  for (const char* text : {kNvbandwidthText, kNvbandwidthJson}) {
    EXPECT_THAT(Refusal(ReadNcclTests(text, {})),
                testing::AllOf(HasSubstr("this is nvbandwidth's output"),
                               HasSubstr("assay import nvbandwidth FILE")));
  }
}

}  // namespace
}  // namespace assay::imports
