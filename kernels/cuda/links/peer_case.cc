#include "kernels/cuda/links/peer_case.h"

#include <cstring>
#include <utility>

#include "gang/peers.h"
#include "host/nvml.h"
#include "kernels/cuda/frame/cuda_check.h"
#include "kernels/cuda/frame/gpu_uuid.h"
#include "kernels/rank_numbers.h"

namespace assay {
namespace {

// The granularity at which CUDA shares memory between processes. Allocations are rounded up to a
// multiple of this size, so that no other data is exposed to the other process.
constexpr int64_t kShareBytes = int64_t{2} << 20;
// The time that a rank which has finished waits for the other ranks to unmap its memory.
constexpr Duration kPartingTimeout = std::chrono::seconds(5);

// Returns why two GPUs cannot access each other's memory, according to NVML. Returns an empty
// string if they can, or if NVML gives no reason.
std::string WhyNoPeerAccess(const std::string& uuid_a, const std::string& uuid_b) {
  const auto nvml = Nvml::Open(nullptr);
  if (!nvml.ok()) return "";
  const auto a = (*nvml)->FindByUuid(uuid_a);
  const auto b = (*nvml)->FindByUuid(uuid_b);
  return a && b ? (*nvml)->WhyNoPeerAccess(*a, *b) : "";
}

}  // namespace

Status CheckPair(const ParameterMap& parameters) {
  const int64_t from = Integer(parameters, "from");
  if (from != Integer(parameters, "to")) return Status::Ok();
  return Unsupported("from and to are the same GPU, rank " + std::to_string(from) +
                     ": no link is between them");
}

void PeerMapping::Close() {
  if (data_ != nullptr) cudaIpcCloseMemHandle(data_);
  data_ = nullptr;
}

Result<PeerMapping> PeerMapping::Open(const std::string& handle, const std::string& pair) {
  cudaIpcMemHandle_t bytes;
  if (handle.size() != sizeof bytes) return Internal("a rank sent an unreadable memory handle");
  std::memcpy(&bytes, handle.data(), sizeof bytes);
  PeerMapping mapping;
  const cudaError_t error =
      cudaIpcOpenMemHandle(&mapping.data_, bytes, cudaIpcMemLazyEnablePeerAccess);
  if (error == cudaErrorPeerAccessUnsupported || error == cudaErrorTooManyPeers ||
      error == cudaErrorNotSupported) {
    cudaGetLastError();
    return Unsupported(pair + " have no peer access: " + cudaGetErrorString(error));
  }
  ASSAY_RETURN_IF_ERROR(CudaStatus(error, "cudaIpcOpenMemHandle", __FILE__, __LINE__));
  return Result<PeerMapping>(std::move(mapping));
}

PeerCase::PeerCase(const RunContext& context)
    : rank_(context.rank),
      gpu_(context.gpu),
      from_(static_cast<int>(Integer(context.parameters, "from"))),
      to_(static_cast<int>(Integer(context.parameters, "to"))),
      seed_(context.seed),
      peers_(*context.peers) {}

PeerCase::~PeerCase() {
  // Ignores errors, because the case has already been measured or has failed.
  static_cast<void>(Synchronize());
  mapping_.Close();
  // Wait for the other ranks (processes), because memory must not be freed while another process
  // still has it mapped (cudaIpcCloseMemHandle).
  if (!gang_lost_) static_cast<void>(peers_.Barrier(kPartingTimeout));
}

Status PeerCase::Synchronize() {
  if (!in_pair()) return Status::Ok();
  ASSAY_RETURN_IF_ERROR(UseGpu(gpu_).status());
  ASSAY_CUDA(cudaStreamSynchronize(stream()));
  return Status::Ok();
}

Status PeerCase::Together(const Status& mine) {
  Status all = Agree(peers_, mine, kPeerTimeout);
  gang_lost_ = gang_lost_ || IsPeerLoss(all.reason());
  return all;
}

Result<std::vector<std::vector<double>>> PeerCase::Share(const std::vector<double>& mine) {
  auto all = NumbersOfRanks(peers_, mine);
  gang_lost_ = gang_lost_ || !all.ok();
  return all;
}

Status PeerCase::Allocate(int64_t bytes, const std::string& what) {
  if (!in_pair()) return Status::Ok();
  ASSAY_ASSIGN_OR_RETURN(device_, UseGpu(gpu_));
  ASSAY_ASSIGN_OR_RETURN(stream_, CudaStream::Create());
  const int64_t whole = (bytes + kShareBytes - 1) / kShareBytes * kShareBytes;
  ASSAY_ASSIGN_OR_RETURN(memory_, DeviceBuffer::Allocate(whole, what));
  ASSAY_CUDA(cudaMemsetAsync(memory_.data(), 0, static_cast<size_t>(whole), stream()));
  ASSAY_CUDA(cudaStreamSynchronize(stream()));
  return Status::Ok();
}

// Appends the GPU's UUID to the handle, because WhyNoPeerAccess() needs the UUIDs of both GPUs.
Result<std::string> PeerCase::Offer() {
  if (!in_pair()) return std::string();
  cudaIpcMemHandle_t handle;
  const cudaError_t error = cudaIpcGetMemHandle(&handle, memory_.data());
  if (error == cudaErrorNotSupported) {
    cudaGetLastError();
    return Unsupported("this GPU's memory cannot be shared between processes (CUDA IPC)");
  }
  ASSAY_RETURN_IF_ERROR(CudaStatus(error, "cudaIpcGetMemHandle", __FILE__, __LINE__));
  std::string offer(sizeof handle, '\0');
  std::memcpy(offer.data(), &handle, sizeof handle);
  return offer + GpuUuid(gpu_);
}

Status PeerCase::Map(const std::vector<std::string>& offers) {
  if (!in_pair()) return Status::Ok();
  const std::string& theirs = offers[static_cast<size_t>(is_from() ? to_ : from_)];
  const std::string& mine = offers[static_cast<size_t>(rank_)];
  if (theirs.size() < sizeof(cudaIpcMemHandle_t)) return Internal("a rank sent no memory handle");
  const std::string pair =
      "the GPUs of ranks " + std::to_string(from_) + " and " + std::to_string(to_);
  auto mapping = PeerMapping::Open(theirs.substr(0, sizeof(cudaIpcMemHandle_t)), pair);
  if (!mapping.ok()) {
    const std::string why = WhyNoPeerAccess(mine.substr(sizeof(cudaIpcMemHandle_t)),
                                            theirs.substr(sizeof(cudaIpcMemHandle_t)));
    return why.empty() ? mapping.status() : Unsupported(pair + " have no peer access: " + why);
  }
  mapping_ = std::move(mapping).value();
  return Status::Ok();
}

Status PeerCase::Connect(int64_t bytes, const std::string& what) {
  Status mine = Allocate(bytes, what);
  auto offer = mine.ok() ? Offer() : Result<std::string>(mine);
  ASSAY_RETURN_IF_ERROR(Together(offer.status()));
  const auto offers = AllGather(peers_, *offer, kPeerTimeout);
  gang_lost_ = gang_lost_ || !offers.ok();
  ASSAY_RETURN_IF_ERROR(offers.status());
  return Together(Map(*offers));
}

}  // namespace assay
