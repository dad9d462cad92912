#include "kernels/nccl/nccl_library.h"

#include "kernels/call_site.h"
#include "kernels/nccl/nccl_log.h"
#include "kernels/nccl/nccl_profiler.h"

namespace assay {
namespace {

// Loads the functions that older versions of the library lack.
void LoadOptional(const DynamicLibrary& library, NcclLibrary* nccl) {
  const bool all = library.Load("ncclAlltoAll", &nccl->all_to_all).ok() &&
                   library.Load("ncclGather", &nccl->gather).ok() &&
                   library.Load("ncclScatter", &nccl->scatter).ok();
  if (all) return;
  nccl->all_to_all = nullptr;
  nccl->gather = nullptr;
  nccl->scatter = nullptr;
}

Result<NcclLibrary> Load() {
  // These calls set environment variables, which NCCL reads only once.
  KeepNcclLog();
  OfferNcclProfiler();
  ASSAY_ASSIGN_OR_RETURN(const DynamicLibrary library,
                         OpenToolkitLibrary("libnccl.so." + std::to_string(NCCL_MAJOR)));
  NcclLibrary nccl;
  NcclLibrary* const table = &nccl;
  ASSAY_NCCL_FUNCTIONS(ASSAY_LOAD_FUNCTION)
  LoadOptional(library, &nccl);
  nccl.get_version(&nccl.version);
  return nccl;
}

Code CodeOf(ncclResult_t result) {
  switch (result) {
    case ncclInvalidArgument:
    case ncclInvalidUsage:
      return Code::kInvalidArgument;
    case ncclRemoteError:
      return Code::kUnavailable;
    default:
      return Code::kInternal;
  }
}

}  // namespace

Result<const NcclLibrary*> LoadNccl() {
  static const Result<NcclLibrary> loaded = Load();
  if (!loaded.ok()) return loaded.status();
  return &*loaded;
}

std::string WhyNoNccl() {
  const Result<const NcclLibrary*> nccl = LoadNccl();
  return nccl.ok() ? "" : MessageWithHint(nccl.status());
}

std::optional<std::string> NcclVersion() {
  const Result<const NcclLibrary*> nccl = LoadNccl();
  if (!nccl.ok() || (*nccl)->version == 0) return std::nullopt;
  const int version = (*nccl)->version;
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Status NcclStatus(const NcclLibrary& nccl, ncclResult_t result, const char* expression,
                  const char* file, int line) {
  if (result == ncclSuccess) return Status::Ok();
  std::string message = std::string("NCCL: ") + nccl.get_error_string(result) + " from nccl " +
                        CallSite(expression, file, line);
  // NCCL ignores the argument, so it can be null. The last error does not belong to a communicator.
  const char* detail = nccl.get_last_error(nullptr);
  if (detail != nullptr && *detail != '\0') message += std::string("; last error: ") + detail;
  return Status(CodeOf(result), Reason::kNcclError, std::move(message));
}

}  // namespace assay
