// The file of contexts, and the commands that use it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "cli/contexts/connection.h"
#include "cli/contexts/context_file.h"
#include "cli/contexts/login.h"
#include "common/file.h"
#include "tests/temporary_folder.h"
#include "tests/unit/cli/fake_coordinator.h"
#include "tests/wording.h"

namespace assay::cli {
namespace {

constexpr char kTwoContexts[] = R"(# by hand
current: lab
contexts:
  gpu.example.com:
    identity: identities/gpu.example.com
  lab:
    coordinator: 10.0.0.1:7900
    tls-ca: /etc/assay/ca.pem
    tls-cert: ann.pem
    tls-key: ann.key
)";

TEST(ContextFileTest, TextIsReadAndWritten) {
  const Result<ContextFile> file = ParseContextFile(kTwoContexts, "config");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->current, "lab");
  ASSERT_EQ(file->contexts.size(), 2U);
  EXPECT_EQ(file->contexts.at("gpu.example.com").identity, "identities/gpu.example.com");
  EXPECT_EQ(file->contexts.at("lab").tls.certificate, "ann.pem");
  EXPECT_WORDING("cli/context-file", ContextFileText(*file));
  const Result<ContextFile> again = ParseContextFile(ContextFileText(*file), "config");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ContextFileText(*again), ContextFileText(*file));
}

TEST(ContextFileTest, MistakesAreNamedWithTheirLines) {
  std::string errors;
  for (const char* text :
       {"current: [a]\n", "- a\n", "contexts:\n  lab:\n    coordnator: a:1\n",
        "contexts:\n  lab: {}\n", "contexts:\n  lab: 3\n", "contexts: 3\n", "now: lab\n",
        "contexts:\n  ../a:\n    coordinator: a:1\n",
        "contexts:\n  a:\n    identity: x\n    tls-ca: y\n",
        "contexts:\n  a:\n    coordinator: x\n  a:\n    coordinator: y\n", "contexts: {a: [\n"}) {
    const Result<ContextFile> file = ParseContextFile(text, "config");
    ASSERT_FALSE(file.ok()) << text;
    EXPECT_EQ(file.status().code(), Code::kInvalidArgument) << text;
    ASSERT_FALSE(file.status().violations().empty()) << text;
    for (const Violation& one : file.status().violations()) {
      errors += one.field + ": " + one.description + "\n";
    }
  }
  EXPECT_WORDING("cli/context-file-errors", errors);
}

class ContextsTest : public testing::Test {
 protected:
  ContextsTest() { std::filesystem::create_directories(home()); }

  std::string home() const { return folder_.path() + "/assay"; }

  void Write(const std::string& text) { std::ofstream(home() + "/config") << text; }

  ProgramRun Run(const std::vector<std::string>& arguments,
                 std::vector<std::string> environment = {}) {
    environment.push_back("XDG_CONFIG_HOME=" + folder_.path());
    return RunAssay(arguments, "", environment);
  }

  TemporaryFolder folder_;
};

TEST_F(ContextsTest, RelativePathsStartAtTheFolder) {
  Write(kTwoContexts);
  const Result<ContextFile> file = LoadContexts(home());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->contexts.at("lab").tls.certificate, home() + "/ann.pem");
  EXPECT_EQ(file->contexts.at("lab").tls.authorities, "/etc/assay/ca.pem");
  ASSERT_TRUE(ChangeContexts(home(), [](ContextFile&) { return Status::Ok(); }).ok());
  const std::string text = ReadFile(home() + "/config").value();
  EXPECT_NE(text.find("tls-cert: \"ann.pem\""), std::string::npos) << text;
}

TEST_F(ContextsTest, ChangesAtTheSameTimeAreAllStored) {
  constexpr int kWriters = 8;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] {
      EXPECT_TRUE(ChangeContexts(home(), [i](ContextFile& file) {
                    file.contexts["c" + std::to_string(i)].coordinator = "a:1";
                    return Status::Ok();
                  }).ok());
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(LoadContexts(home())->contexts.size(), static_cast<size_t>(kWriters));
}

TEST_F(ContextsTest, WhatWasGivenWinsOverTheContext) {
  Write(
      "current: lab\ncontexts:\n  lab:\n    coordinator: lab:1\n    tls-ca: /lab.pem\n"
      "  other:\n    coordinator: other:1\n    tls-ca: /other.pem\n");
  const auto choose = [&](const GivenConnection& given) {
    const Result<Connection> chosen = ChooseConnection(given, home());
    EXPECT_TRUE(chosen.ok()) << chosen.status();
    return chosen->coordinator + " " + chosen->tls.authorities;
  };
  EXPECT_EQ(choose({}), "lab:1 /lab.pem");
  EXPECT_EQ(choose({"other", "", {}}), "other:1 /other.pem");
  EXPECT_EQ(choose({"", "x:1", {}}), "x:1 ");
  EXPECT_EQ(choose({"other", "x:1", {}}), "x:1 /other.pem");
  EXPECT_EQ(choose({"", "", {"", "", "/mine.pem"}}), "lab:1 /mine.pem");
  EXPECT_EQ(ChooseConnection({"none", "", {}}, home()).status().code(), Code::kNotFound);
}

TEST_F(ContextsTest, ContextWithoutItsIdentity_SaysSo) {
  Write("current: a\ncontexts:\n  a:\n    identity: identities/a\n");
  const Result<Connection> chosen = ChooseConnection({}, home());
  EXPECT_EQ(chosen.status().reason(), Reason::kNoIdentity) << chosen.status();
}

TEST_F(ContextsTest, CommandsUseTheCurrentContext) {
  FakeCoordinator fake;
  v1::Node& node = fake.nodes.emplace_back();
  node.mutable_description()->set_name("g31");
  fake.Start();
  Write("current: here\ncontexts:\n  here:\n    coordinator: " + fake.address() +
        "\n  away:\n    coordinator: 127.0.0.1:1\n");
  EXPECT_EQ(Run({"node", "list"}).exit_code, 0);
  EXPECT_EQ(Run({"node", "list", "--context", "away"}).exit_code, 3);
  EXPECT_EQ(Run({"node", "list"}, {"ASSAY_CONTEXT=away"}).exit_code, 3);
  EXPECT_EQ(Run({"node", "list", "--context", "away", "--coordinator", fake.address()}).exit_code,
            0);
  EXPECT_EQ(Run({"node", "list", "--coordinator", "127.0.0.1:1"}).exit_code, 3);
  const ProgramRun unknown = Run({"node", "list", "--context", "heer"});
  EXPECT_EQ(unknown.exit_code, 4);
  EXPECT_WORDING("cli/context-unknown", unknown.err);
}

TEST_F(ContextsTest, ContextsAreListedUsedAndRemoved) {
  EXPECT_WORDING("cli/context-none", Run({"context", "list"}).err);
  EXPECT_EQ(Run({"context", "show"}).exit_code, 4);
  Write(kTwoContexts);
  const ProgramRun use = Run({"context", "use", "gpu.example.com"});
  EXPECT_EQ(use.exit_code, 0) << use.err;
  EXPECT_EQ(LoadContexts(home())->current, "gpu.example.com");
  EXPECT_EQ(Run({"context", "use", "none"}).exit_code, 4);
  EXPECT_EQ(Run({"context", "show", "lab", "-o", "json"}).exit_code, 0);
  std::filesystem::create_directories(home() + "/identities/gpu.example.com");
  const ProgramRun removed = Run({"context", "remove", "gpu.example.com"});
  EXPECT_EQ(removed.exit_code, 0) << removed.err;
  EXPECT_WORDING("cli/context-commands", use.out + removed.out);
  EXPECT_FALSE(std::filesystem::exists(home() + "/identities/gpu.example.com"));
  const Result<ContextFile> left = LoadContexts(home());
  EXPECT_EQ(left->current, "");
  EXPECT_EQ(left->contexts.size(), 1U);
}

TEST_F(ContextsTest, NamesAreCompleted) {
  Write(kTwoContexts);
  EXPECT_EQ(Run({"__complete", "context", "use", "g"}).out, "gpu.example.com\tcontext\n");
  EXPECT_EQ(Run({"__complete", "node", "list", "--context", "l"}).out, "lab\tcontext\n");
  EXPECT_EQ(Run({"__complete", "context", "show", "-o", "j"}).out, "json\tformat\n");
}

TEST_F(ContextsTest, LoginWithMistakes_StoresNothing) {
  std::string errors;
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"http://a:1", "--pin", "x", "assay1.x"},
           {"https://a", "--pin", "x", "assay1.x"},
           {"https://127.0.0.1:1", "--pin", "x", "assay1.x"},
           {"https://127.0.0.1:1", "--pin", "x", "assay1.x", "--context", "../x"}}) {
    std::vector<std::string> arguments = {"login"};
    arguments.insert(arguments.end(), wrong.begin(), wrong.end());
    const ProgramRun run = Run(arguments);
    EXPECT_EQ(run.exit_code, 2) << run.err;
    errors += run.err;
  }
  EXPECT_WORDING("cli/login-wrong", errors);
  EXPECT_FALSE(std::filesystem::exists(home() + "/config"));
}

}  // namespace
}  // namespace assay::cli
