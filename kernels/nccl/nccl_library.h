// Loads NCCL on first use and converts its errors to Status.
#pragma once

#include <nccl.h>

#include <optional>
#include <string>

#include "common/status.h"
#include "kernels/cuda/frame/toolkit_library.h"

namespace assay {

// The functions that Assay calls and that every version of nccl.h declares.
#define ASSAY_NCCL_FUNCTIONS(X)                    \
  X(get_version, ncclGetVersion)                   \
  X(get_error_string, ncclGetErrorString)          \
  X(get_last_error, ncclGetLastError)              \
  X(get_unique_id, ncclGetUniqueId)                \
  X(comm_init_rank, ncclCommInitRank)              \
  X(comm_init_rank_config, ncclCommInitRankConfig) \
  X(comm_get_async_error, ncclCommGetAsyncError)   \
  X(comm_destroy, ncclCommDestroy)                 \
  X(comm_abort, ncclCommAbort)                     \
  X(group_start, ncclGroupStart)                   \
  X(group_end, ncclGroupEnd)                       \
  X(all_reduce, ncclAllReduce)                     \
  X(all_gather, ncclAllGather)                     \
  X(reduce_scatter, ncclReduceScatter)             \
  X(broadcast, ncclBroadcast)                      \
  X(reduce, ncclReduce)                            \
  X(send, ncclSend)                                \
  X(recv, ncclRecv)
struct NcclLibrary {
  using Exchange = ncclResult_t (*)(const void* input, void* output, size_t count,
                                    ncclDataType_t type, ncclComm_t comm, cudaStream_t stream);
  using RootedExchange = ncclResult_t (*)(const void* input, void* output, size_t count,
                                          ncclDataType_t type, int root, ncclComm_t comm,
                                          cudaStream_t stream);

  ASSAY_NCCL_FUNCTIONS(ASSAY_FUNCTION_MEMBER)
  // These functions are null if NCCL is older than 2.28.
  Exchange all_to_all = nullptr;
  RootedExchange gather = nullptr;
  RootedExchange scatter = nullptr;
  int version = 0;  // As NCCL_VERSION_CODE: 22809 is 2.28.9.
};

// Returns the NCCL library. The first call loads it permanently and sets up NCCL's log and
// profiler. Returns NOT_FOUND (LIBRARY_MISSING) if NCCL is not installed. Thread-safe.
Result<const NcclLibrary*> LoadNccl();

// Returns why NCCL cannot be loaded, as text for Benchmark::UnsupportedReason(), or an empty
// string if it can.
std::string WhyNoNccl();

// Loads the library and returns its version, such as "2.28.9", or nullopt if it cannot be loaded.
std::optional<std::string> NcclVersion();

// Converts an NCCL result code to a status with reason NCCL_ERROR, or to OK for ncclSuccess. The
// status code is INVALID_ARGUMENT for invalid arguments, UNAVAILABLE if a rank or the network
// failed, and INTERNAL for all other errors. The message includes NCCL's error text, the
// expression, the file and the line.
Status NcclStatus(const NcclLibrary& nccl, ncclResult_t result, const char* expression,
                  const char* file, int line);

// ASSAY_NCCL(nccl, all_reduce(...)) calls nccl.all_reduce(...). On failure, returns the error
// from the enclosing function.
#define ASSAY_NCCL(nccl, call) \
  ASSAY_RETURN_IF_ERROR(::assay::NcclStatus((nccl), (nccl).call, #call, __FILE__, __LINE__))

}  // namespace assay
