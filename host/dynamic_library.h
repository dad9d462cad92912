// Libraries that are loaded when first used. A program that linked them could not start on a node
// without them, although it has other benchmarks to run.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// A loaded library. The destructor does not unload it, because OpenBLAS, cuBLAS, NCCL and CUPTI
// keep threads that run its code.
class DynamicLibrary {
 public:
  // Loads `soname`, such as "libnccl.so.2". Searches where the dynamic linker does, then ../lib
  // relative to the program's folder, then `folders`. The error is NOT_FOUND (LIBRARY_MISSING) with
  // the linker's message and a hint to install `to_install`.
  static Result<DynamicLibrary> Open(const std::string& soname,
                                     const std::vector<std::string>& folders,
                                     const std::string& to_install);

  // Sets `*function` to the exported `symbol`. The caller takes the function's type from the
  // library's header: Load("ncclAllReduce", &table.all_reduce).
  template <typename Function>
  Status Load(const char* symbol, Function** function) const {
    void* address = nullptr;
    ASSAY_RETURN_IF_ERROR(Find(symbol, &address));
    *function = reinterpret_cast<Function*>(address);
    return Status::Ok();
  }

  // Unloads the library unless others have it open. Invalidates all functions from Load.
  void Close();

 private:
  DynamicLibrary(std::string soname, void* handle) : soname_(std::move(soname)), handle_(handle) {}
  Status Find(const char* symbol, void** address) const;

  std::string soname_;
  void* handle_;
};

}  // namespace assay
