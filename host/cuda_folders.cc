#include "host/cuda_folders.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

namespace assay {
namespace {

namespace fs = std::filesystem;

void AddOnce(const std::string& text, std::vector<std::string>* texts) {
  if (std::find(texts->begin(), texts->end(), text) == texts->end()) texts->push_back(text);
}

void AddToolkit(const std::string& toolkit, std::vector<std::string>* folders) {
  for (const char* part : {"/lib64", "/lib", "/extras/CUPTI/lib64"}) {
    AddOnce(toolkit + part, folders);
  }
}

// Returns the installation prefix of the first python3 on PATH, such as "/usr". If python3 is a
// symbolic link, as in a virtual environment, also returns the prefix of its target.
std::vector<std::string> PythonPrefixes(const std::string& path) {
  std::istringstream parts(path);
  for (std::string folder; std::getline(parts, folder, ':');) {
    const fs::path python = fs::path(folder) / "python3";
    if (folder.empty() || ::access(python.c_str(), X_OK) != 0) continue;
    std::vector<std::string> prefixes = {python.parent_path().parent_path().string()};
    std::error_code error;
    const fs::path real = fs::canonical(python, error);
    if (!error) AddOnce(real.parent_path().parent_path().string(), &prefixes);
    return prefixes;
  }
  return {};
}

// Adds the library folders of NVIDIA's pip packages below <prefix>/lib/python3*.
void AddWheels(const std::string& prefix, std::vector<std::string>* folders) {
  for (const char* packages : {"site-packages", "dist-packages"}) {
    glob_t found = {};
    const std::string pattern = prefix + "/lib/python3*/" + packages + "/nvidia/*/lib";
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      for (size_t i = 0; i < found.gl_pathc; ++i) AddOnce(found.gl_pathv[i], folders);
    }
    ::globfree(&found);
  }
}

}  // namespace

CudaFolders FindCudaFolders(const std::string& built_with, const ReadVariable& variable,
                            const std::string& root) {
  const auto value = [&](const char* name) {
    const char* text = variable(name);
    return std::string(text == nullptr ? "" : text);
  };
  CudaFolders found;
  std::string places;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const std::string toolkit = value(name);
    places += std::string(name) + " (" + (toolkit.empty() ? "not set" : toolkit) + "), ";
    if (!toolkit.empty()) AddToolkit(toolkit, &found.folders);
  }
  AddOnce(built_with, &found.folders);
  AddToolkit(root + "/usr/local/cuda", &found.folders);

  std::vector<std::string> prefixes;
  if (!value("VIRTUAL_ENV").empty()) AddOnce(value("VIRTUAL_ENV"), &prefixes);
  for (const std::string& prefix : PythonPrefixes(value("PATH"))) AddOnce(prefix, &prefixes);
  if (!value("HOME").empty()) AddOnce(value("HOME") + "/.local", &prefixes);
  for (const char* prefix : {"/usr/local", "/usr"}) AddOnce(root + prefix, &prefixes);
  found.description = places + "/usr/local/cuda, pip's packages of";
  for (const std::string& prefix : prefixes) {
    AddWheels(prefix, &found.folders);
    found.description += (&prefix == &prefixes.front() ? " " : ", ") + prefix;
  }
  return found;
}

std::string HowToInstallCudaLibrary(const std::string& soname, int cuda) {
  const std::string major = std::to_string(cuda / 1000);
  const std::string release = major + "-" + std::to_string(cuda % 1000 / 10);
  // From CUDA 13 on, the names of pip's packages do not end with the version.
  const auto wheel = [&](const std::string& name) {
    return cuda >= 13000 ? "\"" + name + "==" + major + ".*\"" : name + "-cu" + major;
  };
  std::string pip;
  std::string debian;
  if (soname.rfind("libnccl.", 0) == 0) {
    pip = "nvidia-nccl-cu" + major;
    debian = "libnccl2";
  } else if (soname.rfind("libcupti.", 0) == 0) {
    pip = wheel("nvidia-cuda-cupti");
    debian = "cuda-cupti-" + release;
  } else {
    pip = wheel("nvidia-cublas");
    debian = "libcublas-" + release;
  }
  return "pip install " + pip + ", or install " + debian +
         " from NVIDIA's package repository, or name the library's folder in LD_LIBRARY_PATH";
}

}  // namespace assay
