#include "cli/up/private_postgres.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/temporary_folder.h"

namespace assay {
namespace {

PrivatePostgresOptions ForTests() {
  PrivatePostgresOptions options;
  options.fsync = false;
  options.die_with_parent = true;
  return options;
}

TEST(PrivatePostgresTest, Killed_CanBeRestarted) {
  const TemporaryFolder folder;
  auto server = PrivatePostgres::Start(folder.path() + "/db", ForTests());
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE(server->ConnectionString("x'y").ends_with("dbname='x\\'y'"));

  const auto second = PrivatePostgres::Start(folder.path() + "/db", ForTests());
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().reason(), Reason::kAlreadyRunning);

  server->Kill();
  ASSERT_TRUE(server->Restart().ok());
  server->Stop();
  server->Stop();
  EXPECT_TRUE(server->Restart().ok());
}

TEST(PrivatePostgresTest, LockFileOfAnotherProgram_IsIgnored) {
  const TemporaryFolder folder;
  {
    auto server = PrivatePostgres::Start(folder.path() + "/db", ForTests());
    ASSERT_TRUE(server.ok()) << server.status();
  }
  std::ofstream(folder.path() + "/db/data/postmaster.pid") << "1\n";
  const auto server = PrivatePostgres::Start(folder.path() + "/db", ForTests());
  EXPECT_TRUE(server.ok()) << server.status();
}

TEST(PrivatePostgresTest, LongPath_HasAShortSocket) {
  const TemporaryFolder folder;
  const auto server =
      PrivatePostgres::Start(folder.path() + "/" + std::string(120, 'd'), ForTests());
  EXPECT_TRUE(server.ok()) << server.status();
}

TEST(PrivatePostgresTest, FolderThatItsUserCannotEnter_IsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root runs it as another user";
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/closed");
  ASSERT_EQ(::chmod((folder.path() + "/closed").c_str(), 0700), 0);
  const auto server = PrivatePostgres::Start(folder.path() + "/closed/db", ForTests());
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().reason(), Reason::kFolderUnreachable);
  EXPECT_NE(server.status().message().find(folder.path() + "/closed"), std::string::npos);
}

TEST(PrivatePostgresTest, RootWithoutPostgresUser_IsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root runs it as another user";
  const TemporaryFolder folder;
  PrivatePostgresOptions options = ForTests();
  options.account = "no-such-user";
  const auto server = PrivatePostgres::Start(folder.path() + "/db", options);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(server.status().reason(), Reason::kPostgresStart);
  EXPECT_NE(server.status().hint(), "");
}

TEST(PrivatePostgresTest, FoldersAreItsUsersAlone) {
  const TemporaryFolder folder;
  const auto server = PrivatePostgres::Start(folder.path() + "/db", ForTests());
  ASSERT_TRUE(server.ok()) << server.status();
  for (const char* name : {"/db", "/db/socket", "/db/data"}) {
    const auto mode = std::filesystem::status(folder.path() + name).permissions();
    EXPECT_EQ(mode, std::filesystem::perms::owner_all) << name;
  }
}

}  // namespace
}  // namespace assay
