// Libraries that are loaded when first used: a program that links them would not start on
// a node without them, though it has other benchmarks to run, and would begin with
// whatever they do as they are loaded.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// A loaded library. Not unloaded unless closed: OpenBLAS, cuBLAS, NCCL and CUPTI keep threads
// and code.
class DynamicLibrary {
 public:
  // `soname` as in "libnccl.so.2". Looks where the dynamic linker looks, then in lib/
  // beside the program's folder, then in `folders`. NOT_FOUND (LIBRARY_MISSING) with the
  // linker's own words and, as its hint, what `to_install` names.
  static Result<DynamicLibrary> Open(const std::string& soname,
                                     const std::vector<std::string>& folders,
                                     const std::string& to_install);

  // Sets `*function` to the exported `symbol`, whose type the caller takes from the
  // library's header: Load("ncclAllReduce", &table.all_reduce).
  template <typename Function>
  Status Load(const char* symbol, Function** function) const {
    void* address = nullptr;
    ASSAY_RETURN_IF_ERROR(Find(symbol, &address));
    *function = reinterpret_cast<Function*>(address);
    return Status::Ok();
  }

  // Unloads it unless others have it open too. Nothing that Load gave may be used any more.
  void Close();

 private:
  DynamicLibrary(std::string soname, void* handle) : soname_(std::move(soname)), handle_(handle) {}
  Status Find(const char* symbol, void** address) const;

  std::string soname_;
  void* handle_;
};

}  // namespace assay
