#include "host/dynamic_library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <utility>

#include "common/subprocess.h"

namespace assay {
namespace {

std::vector<std::string> CandidatePaths(const std::string& soname,
                                        const std::vector<std::string>& folders) {
  std::vector<std::string> paths = {soname, ExecutableDirectory() + "/../lib/" + soname};
  for (const std::string& folder : folders) paths.push_back(folder + "/" + soname);
  return paths;
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::Open(const std::string& soname,
                                            const std::vector<std::string>& folders,
                                            const std::string& how_to_install) {
  std::string error_to_report;
  bool exists_at_all = false;
  for (const std::string& path : CandidatePaths(soname, folders)) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return DynamicLibrary(soname, handle);
    }
    const char* error = dlerror();
    // Several folders are searched for the library. If its file exists in one of them but cannot be
    // loaded, report that error, which is more informative than the one for a missing file.
    const bool exists = !exists_at_all && path.front() == '/' && ::access(path.c_str(), F_OK) == 0;
    if (error_to_report.empty() || exists) {
      error_to_report = error != nullptr ? error : "dlopen failed";
    }
    exists_at_all = exists_at_all || exists;
  }
  return NotFound("cannot load " + soname + ": " + error_to_report, Reason::kLibraryMissing)
      .WithHint(how_to_install);
}

void DynamicLibrary::Close() { dlclose(std::exchange(handle_, nullptr)); }

Status DynamicLibrary::Find(const char* symbol, void** address) const {
  // For dlsym, a null handle would mean all loaded libraries.
  *address = handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
  if (*address != nullptr) return Status::Ok();
  return NotFound(soname_ + " has no symbol " + symbol + ", so its version is not supported",
                  Reason::kLibraryMissing);
}

}  // namespace assay
