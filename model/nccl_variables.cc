#include "model/nccl_variables.h"

#include <algorithm>

#include "common/text.h"
#include "model/parameter.h"

namespace assay {
namespace {

constexpr size_t kMaxValueBytes = 256;
constexpr size_t kMaxShownBytes = 64;

using Kind = NcclValues::Kind;

constexpr NcclValues Integers(int64_t minimum, int64_t maximum) {
  return {Kind::kInteger, minimum, maximum};
}

constexpr NcclValues kSwitch = Integers(0, 1);
// NCCL has room for so many channels, each a thread block.
constexpr NcclValues kChannels = Integers(1, 64);
// NCCL bounds no size: less than this is no buffer, and more no int.
constexpr NcclValues kBytes = {Kind::kInteger, 1024, 1 << 30, 1, "bytes"};

bool IsPlainValue(std::string_view value) {
  return !value.empty() && value.size() <= kMaxValueBytes &&
         std::all_of(value.begin(), value.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view("_,:;^.=+-").find(c) != std::string_view::npos;
         });
}

// What was found, cut to a length that a message bears, in printable characters.
std::string Shown(std::string_view text) {
  std::string shown;
  for (const char c : text.substr(0, kMaxShownBytes)) shown += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > kMaxShownBytes ? shown + "..." : shown;
}

std::string WhyRefused(std::string_view name) {
  if (name == kNcclHostId) return "each agent has its own: see assay-agent --nccl-host-id";
  if (name == "NCCL_DEBUG" || name == "NCCL_DEBUG_SUBSYS") {
    return "Assay sets it, and keeps NCCL's log where a job fails";
  }
  std::vector<std::string> names;
  for (const NcclVariable& variable : NcclVariables()) names.emplace_back(variable.name);
  const std::string closest = ClosestName(name, names);
  if (!closest.empty()) return "did you mean " + closest + "?";
  return "allowed are those that choose NCCL's algorithms, transports and resources, for example "
         "NCCL_ALGO, NCCL_PROTO or NCCL_P2P_DISABLE; none that name files or load plugins";
}

}  // namespace

// As NCCL's user guide describes them under "Environment Variables"; bounds that it does not
// tell are those of the sources of NCCL 2.28, or of the field of InfiniBand that is set.
const std::vector<NcclVariable>& NcclVariables() {
  static const std::vector<NcclVariable> variables = {
      {"NCCL_ALGO", "algorithms to choose from: Ring, Tree, NVLS, ...", {Kind::kAlgorithms}},
      {"NCCL_BUFFSIZE", "bytes of the buffer between two GPUs", kBytes},
      {"NCCL_CGA_CLUSTER_SIZE", "thread blocks of a cluster", Integers(0, 8)},
      {"NCCL_COLLNET_ENABLE", "reduction in the network", kSwitch},
      {"NCCL_CROSS_NIC", "whether rings and trees change network adapters", Integers(0, 2)},
      {"NCCL_CUMEM_ENABLE", "memory by cuMem", kSwitch},
      {"NCCL_CUMEM_HOST_ENABLE", "host memory by cuMem", kSwitch},
      {"NCCL_DMABUF_ENABLE", "GPUDirect RDMA by DMA-BUF", kSwitch},
      {"NCCL_GRAPH_REGISTER", "registration of buffers in CUDA graphs", kSwitch},
      {"NCCL_IB_ADAPTIVE_ROUTING", "adaptive routing of InfiniBand", kSwitch},
      {"NCCL_IB_DISABLE", "no InfiniBand or RoCE", kSwitch},
      {"NCCL_IB_GID_INDEX", "global id index of RoCE", Integers(-1, 255), true},
      {"NCCL_IB_HCA", "network adapters to use", {Kind::kAdapters}, true},
      {"NCCL_IB_PCI_RELAXED_ORDERING", "relaxed ordering of PCI writes", Integers(0, 2)},
      {"NCCL_IB_QPS_PER_CONNECTION", "queue pairs of a connection", Integers(1, 128)},
      {"NCCL_IB_RETRY_CNT", "retries of InfiniBand", Integers(0, 7)},
      {"NCCL_IB_SL", "service level of InfiniBand", Integers(0, 15)},
      {"NCCL_IB_SPLIT_DATA_ON_QPS", "how data divides over queue pairs", kSwitch},
      {"NCCL_IB_TC", "traffic class of InfiniBand", Integers(0, 255)},
      {"NCCL_IB_TIMEOUT", "timeout of InfiniBand", Integers(1, 31)},
      {"NCCL_IGNORE_CPU_AFFINITY", "affinity from the GPU alone", kSwitch},
      {"NCCL_LAUNCH_MODE", "how a group's kernels are launched", {Kind::kLaunchMode}},
      {"NCCL_LOCAL_REGISTER", "registration of buffers that the user registers", kSwitch},
      {"NCCL_MAX_CTAS", "most thread blocks", kChannels},
      {"NCCL_MAX_NCHANNELS", "most channels", kChannels},
      {"NCCL_MAX_P2P_NCHANNELS", "most channels of send and receive", kChannels},
      {"NCCL_MIN_CTAS", "fewest thread blocks", kChannels},
      {"NCCL_MIN_NCHANNELS", "fewest channels", kChannels},
      {"NCCL_MIN_P2P_NCHANNELS", "fewest channels of send and receive", kChannels},
      {"NCCL_MNNVL_ENABLE", "NVLink between nodes", Integers(0, 2)},
      {"NCCL_NCHANNELS_PER_NET_PEER", "channels to a peer over the network", kChannels},
      {"NCCL_NET", "network by name: Socket or IB", {Kind::kName}},
      {"NCCL_NET_GDR_LEVEL",
       "how far GPU and adapter may be apart for GPUDirect RDMA",
       {Kind::kDistance}},
      {"NCCL_NET_GDR_READ", "GPUDirect RDMA for sending too", kSwitch},
      {"NCCL_NSOCKS_PERTHREAD", "sockets of a thread", Integers(1, 64)},
      {"NCCL_NTHREADS", "threads of a block", {Kind::kInteger, 64, 512, 32}},
      {"NCCL_NVLS_ENABLE", "multicast of NVLink switches", Integers(0, 2)},
      {"NCCL_NVLS_NCHANNELS", "channels of NVLS", kChannels},
      {"NCCL_P2P_DIRECT_DISABLE", "no direct access within a process", kSwitch},
      {"NCCL_P2P_DISABLE", "no transport between GPUs by NVLink or PCIe", kSwitch},
      {"NCCL_P2P_LEVEL", "how far GPUs may be apart for it", {Kind::kDistance}},
      {"NCCL_P2P_NET_CHUNKSIZE", "bytes of a piece of send and receive over the network", kBytes},
      {"NCCL_P2P_NVL_CHUNKSIZE", "bytes of a piece of send and receive over NVLink", kBytes},
      {"NCCL_P2P_PCI_CHUNKSIZE", "bytes of a piece of send and receive over PCIe", kBytes},
      {"NCCL_PAT_ENABLE", "the PAT algorithm", Integers(0, 2)},
      {"NCCL_PROTO", "protocols to choose from: LL, LL128, Simple", {Kind::kProtocols}},
      {"NCCL_PXN_DISABLE", "no path through another GPU to its adapter", kSwitch},
      {"NCCL_RAS_ENABLE", "the reliability subsystem's thread", kSwitch},
      {"NCCL_SHM_DISABLE", "no transport by shared memory", kSwitch},
      {"NCCL_SOCKET_FAMILY", "AF_INET or AF_INET6", {Kind::kFamily}},
      {"NCCL_SOCKET_IFNAME", "network interfaces of sockets", {Kind::kInterfaces}, true},
      {"NCCL_SOCKET_NTHREADS", "threads of the socket transport", Integers(1, 16)},
  };
  return variables;
}

const NcclVariable* FindNcclVariable(std::string_view name) {
  const std::vector<NcclVariable>& all = NcclVariables();
  const auto found = std::lower_bound(
      all.begin(), all.end(), name,
      [](const NcclVariable& one, std::string_view key) { return one.name < key; });
  return found == all.end() || found->name != name ? nullptr : &*found;
}

Status CheckNcclVariable(std::string_view name, std::string_view value) {
  const NcclVariable* const variable = FindNcclVariable(name);
  if (variable == nullptr) {
    return InvalidArgument("\"" + Shown(name) + "\" is no variable of NCCL that a campaign sets; " +
                           WhyRefused(name));
  }
  const std::string why = IsPlainValue(value) ? WhyNoNcclValue(variable->values, value)
                                              : "write 1 to " + std::to_string(kMaxValueBytes) +
                                                    " letters, digits or any of _ , : ; ^ . = + -";
  if (why.empty()) return Status::Ok();
  return InvalidArgument("\"" + Shown(value) + "\" is no value for " + std::string(name) + ": " +
                         why);
}

std::map<std::string, std::string> NcclVariablesOf(const char* const* environment) {
  std::map<std::string, std::string> found;
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (FindNcclVariable(name) == nullptr) continue;
    const std::string_view value = text.substr(equals + 1);
    found[std::string(name)] = IsPlainValue(value) ? std::string(value) : "?";
  }
  return found;
}

}  // namespace assay
