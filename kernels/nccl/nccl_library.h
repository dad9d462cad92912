// NCCL, loaded on first use. Its errors become Status.
#pragma once

#include <nccl.h>

#include <optional>
#include <string>

#include "common/status.h"

namespace assay {

// The functions that Assay calls, with the types of nccl.h if every version of it declares them.
struct NcclLibrary {
  using Exchange = ncclResult_t (*)(const void* input, void* output, size_t count,
                                    ncclDataType_t type, ncclComm_t comm, cudaStream_t stream);
  using RootedExchange = ncclResult_t (*)(const void* input, void* output, size_t count,
                                          ncclDataType_t type, int root, ncclComm_t comm,
                                          cudaStream_t stream);

  decltype(&ncclGetVersion) get_version = nullptr;
  decltype(&ncclGetErrorString) get_error_string = nullptr;
  decltype(&ncclGetLastError) get_last_error = nullptr;
  decltype(&ncclGetUniqueId) get_unique_id = nullptr;
  decltype(&ncclCommInitRank) comm_init_rank = nullptr;
  decltype(&ncclCommInitRankConfig) comm_init_rank_config = nullptr;
  decltype(&ncclCommGetAsyncError) comm_get_async_error = nullptr;
  decltype(&ncclCommDestroy) comm_destroy = nullptr;
  decltype(&ncclCommAbort) comm_abort = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclAllGather) all_gather = nullptr;
  decltype(&ncclReduceScatter) reduce_scatter = nullptr;
  decltype(&ncclBroadcast) broadcast = nullptr;
  decltype(&ncclReduce) reduce = nullptr;
  decltype(&ncclSend) send = nullptr;
  decltype(&ncclRecv) recv = nullptr;
  // Null before NCCL 2.28.
  Exchange all_to_all = nullptr;
  RootedExchange gather = nullptr;
  RootedExchange scatter = nullptr;
  int version = 0;  // As NCCL_VERSION_CODE: 22809 is 2.28.9.
};

// Returns the library. The first call loads it and sets up NCCL's log and profiler. It is never
// unloaded. Thread-safe. NOT_FOUND (LIBRARY_MISSING) on a node without it.
Result<const NcclLibrary*> LoadNccl();

// Returns why LoadNccl() fails, for Benchmark::UnsupportedReason; empty if it works.
std::string WhyNoNccl();

// Loads the library and returns its version, "2.28.9". Absent if there is none.
std::optional<std::string> NcclVersion();

// Returns OK for ncclSuccess, else NCCL's error string and its last error with the expression, file
// and line. The code is INVALID_ARGUMENT or UNAVAILABLE (a rank or the network failed) if NCCL
// reports that, else INTERNAL; the reason is NCCL_ERROR.
Status NcclStatus(const NcclLibrary& nccl, ncclResult_t result, const char* expression,
                  const char* file, int line);

// ASSAY_NCCL(nccl, all_reduce(...)) calls nccl.all_reduce(...) and returns its error.
#define ASSAY_NCCL(nccl, call) \
  ASSAY_RETURN_IF_ERROR(::assay::NcclStatus((nccl), (nccl).call, #call, __FILE__, __LINE__))

}  // namespace assay
