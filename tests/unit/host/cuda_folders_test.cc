#include "host/cuda_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "host/dynamic_library.h"
#include "tests/temporary_folder.h"
#include "tests/wording.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CudaFoldersTest : public ::testing::Test {
 protected:
  std::string Make(const std::string& folder) {
    std::filesystem::create_directories(root() + folder);
    return root() + folder;
  }
  void MakeProgram(const std::string& path) {
    std::ofstream(root() + path) << "#!/bin/sh\n";
    std::filesystem::permissions(root() + path, std::filesystem::perms::owner_all);
  }
  CudaFolders Find(std::map<std::string, std::string> variables) {
    variables_ = std::move(variables);
    return FindCudaFolders(
        "/built/lib",
        [this](const char* name) {
          const auto found = variables_.find(name);
          return found == variables_.end() ? nullptr : found->second.c_str();
        },
        root());
  }
  const std::string& root() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(CudaFoldersTest, WithoutVariables_SearchesTheToolkits) {
  const std::string toolkit = root() + "/usr/local/cuda";
  EXPECT_THAT(Find({}).folders, ElementsAre("/built/lib", toolkit + "/lib64", toolkit + "/lib",
                                            toolkit + "/extras/CUPTI/lib64"));
}

TEST_F(CudaFoldersTest, VariablesOfToolkits_ComeFirst) {
  const std::vector<std::string> folders =
      Find({{"CUDA_PATH", "/path"}, {"CUDA_HOME", "/home"}}).folders;
  ASSERT_GE(folders.size(), 7u);
  EXPECT_EQ(folders[0], "/home/lib64");
  EXPECT_EQ(folders[2], "/home/extras/CUPTI/lib64");
  EXPECT_EQ(folders[3], "/path/lib64");
  EXPECT_EQ(folders[6], "/built/lib");
}

TEST_F(CudaFoldersTest, SameToolkitTwice_IsSearchedOnce) {
  const std::vector<std::string> folders =
      Find({{"CUDA_PATH", "/cuda"}, {"CUDA_HOME", "/cuda"}}).folders;
  EXPECT_EQ(std::count(folders.begin(), folders.end(), "/cuda/lib64"), 1);
}

TEST_F(CudaFoldersTest, PipsPackages_ComeAfterToolkitsAndBeginWithTheVirtualEnvironment) {
  const std::string environment = Make("/env/lib/python3.11/site-packages/nvidia/cublas/lib");
  const std::string conda_cublas = Make("/conda/lib/python3.12/site-packages/nvidia/cu13/lib");
  const std::string conda_nccl = Make("/conda/lib/python3.12/site-packages/nvidia/nccl/lib");
  const std::string user = Make("/home/u/.local/lib/python3.10/site-packages/nvidia/nccl/lib");
  const std::string local = Make("/usr/local/lib/python3.10/dist-packages/nvidia/nccl/lib");
  const std::string system = Make("/usr/lib/python3/dist-packages/nvidia/nccl/lib");
  Make("/conda/bin");
  MakeProgram("/conda/bin/python3");
  std::vector<std::string> folders = Find({{"VIRTUAL_ENV", root() + "/env"},
                                           {"PATH", "/nonexistent::" + root() + "/conda/bin"},
                                           {"HOME", root() + "/home/u"}})
                                         .folders;
  folders.erase(folders.begin(), folders.begin() + 4);  // The toolkits.
  EXPECT_THAT(folders, ElementsAre(environment, conda_cublas, conda_nccl, user, local, system));
}

TEST_F(CudaFoldersTest, LinkedPython_IsSearchedWhereItIsAndWhereItLeads) {
  const std::string link = Make("/env/lib/python3.12/site-packages/nvidia/cublas/lib");
  const std::string real = Make("/opt/python/lib/python3.12/site-packages/nvidia/nccl/lib");
  Make("/env/bin");
  Make("/opt/python/bin");
  MakeProgram("/opt/python/bin/python3.12");
  std::filesystem::create_symlink(root() + "/opt/python/bin/python3.12",
                                  root() + "/env/bin/python3");
  std::vector<std::string> folders = Find({{"PATH", root() + "/env/bin"}}).folders;
  folders.erase(folders.begin(), folders.begin() + 4);
  EXPECT_THAT(folders, ElementsAre(link, real));
}

TEST_F(CudaFoldersTest, Description_NamesVariablesAndPythons) {
  std::string description =
      Find({{"CUDA_HOME", "/opt/cuda"}, {"HOME", "/home/u"}, {"PATH", ""}}).description;
  for (size_t at; (at = description.find(root())) != std::string::npos;) {
    description.erase(at, root().size());
  }
  EXPECT_WORDING("host/cuda_folders_searched", description);
}

TEST(CudaLibraryTest, Cure_NamesThePackagesOfThisVersion) {
  EXPECT_WORDING("host/install_cublas_of_cuda_13",
                 HowToInstallCudaLibrary("libcublasLt.so.13", 13000));
  EXPECT_WORDING("host/install_nccl_of_cuda_12", HowToInstallCudaLibrary("libnccl.so.2", 12080));
  EXPECT_THAT(HowToInstallCudaLibrary("libcupti.so.12", 12080),
              HasSubstr("nvidia-cuda-cupti-cu12, or install cuda-cupti-12-8"));
}

TEST(DynamicLibraryTest, UnreadableFile_IsReportedInsteadOfMissingOnes) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/libassay_none.so.1") << "not a library\n";
  const Status status =
      DynamicLibrary::Open("libassay_none.so.1", {"/nonexistent", folder.path()}, "cure").status();
  EXPECT_EQ(status.reason(), Reason::kLibraryMissing);
  EXPECT_THAT(status.message(), HasSubstr(folder.path()));
  EXPECT_EQ(status.hint(), "cure");
}

}  // namespace
}  // namespace assay
