#include "host/dynamic_library.h"

#include <dlfcn.h>

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
                                            const std::string& to_install) {
  std::string first_error;
  for (const std::string& path : CandidatePaths(soname, folders)) {
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      return DynamicLibrary(soname, handle);
    }
    const char* error = dlerror();
    if (first_error.empty()) first_error = error != nullptr ? error : "dlopen failed";
  }
  return NotFound("cannot load " + soname + ": " + first_error, Reason::kLibraryMissing)
      .WithHint("install " + to_install + ", or name the library's folder in LD_LIBRARY_PATH");
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
