// Loads shared libraries on first use. A program linked against them would not start on a node
// without one of them, even to run benchmarks that do not need it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/status.h"

namespace assay {

// A loaded shared library. The destructor does not unload it, because OpenBLAS, cuBLAS, NCCL and
// CUPTI start threads that keep running its code.
class DynamicLibrary {
 public:
  // Loads the library `soname`, such as "libnccl.so.2". Searches the dynamic linker's path, then
  // ../lib relative to the program's folder, then `folders`. If the library is not found, returns
  // NOT_FOUND (LIBRARY_MISSING) with the linker's message and the hint `how_to_install`.
  static Result<DynamicLibrary> Open(const std::string& soname,
                                     const std::vector<std::string>& folders,
                                     const std::string& how_to_install);

  // Sets `*function` to the address of the exported function `symbol`, as in Load("ncclAllReduce",
  // &table.all_reduce). The type of `*function` is not checked, so it must match the library's
  // header.
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
