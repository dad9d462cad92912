#include "kernels/nccl/collective_calls.h"

#include "gang/peers.h"

namespace assay {
namespace {

// Calls NCCL's functions with the arguments that all of them share.
class Caller {
 public:
  Caller(const Communicator& communicator, const CollectiveCall& call, cudaStream_t stream)
      : communicator_(communicator),
        nccl_(communicator.nccl()),
        call_(call),
        count_(static_cast<size_t>(call.place.count)),
        stream_(stream) {}

  Status AllReduce() const {
    ASSAY_NCCL(nccl_, all_reduce(call_.input, call_.output, count_, call_.type, call_.op,
                                 communicator_.get(), stream_));
    return Status::Ok();
  }

  Status AllGather() const {
    ASSAY_NCCL(nccl_, all_gather(call_.input, call_.output, count_, call_.type, communicator_.get(),
                                 stream_));
    return Status::Ok();
  }

  Status ReduceScatter() const {
    ASSAY_NCCL(nccl_, reduce_scatter(call_.input, call_.output, count_, call_.type, call_.op,
                                     communicator_.get(), stream_));
    return Status::Ok();
  }

  Status Broadcast() const {
    ASSAY_NCCL(nccl_, broadcast(call_.input, call_.output, count_, call_.type, call_.place.root,
                                communicator_.get(), stream_));
    return Status::Ok();
  }

  Status Reduce() const {
    ASSAY_NCCL(nccl_, reduce(call_.input, call_.output, count_, call_.type, call_.op,
                             call_.place.root, communicator_.get(), stream_));
    return Status::Ok();
  }

  Status AllToAll() const {
    if (nccl_.all_to_all != nullptr) {
      ASSAY_NCCL(nccl_, all_to_all(call_.input, call_.output, count_, call_.type,
                                   communicator_.get(), stream_));
      return Status::Ok();
    }
    return communicator_.Group([&]() -> Status {
      for (int peer = 0; peer < call_.place.ranks; ++peer) {
        ASSAY_RETURN_IF_ERROR(Send(peer, peer));
        ASSAY_RETURN_IF_ERROR(Receive(peer, peer));
      }
      return Status::Ok();
    });
  }

  Status Gather() const {
    const int root = call_.place.root;
    if (nccl_.gather != nullptr) {
      ASSAY_NCCL(nccl_, gather(call_.input, call_.output, count_, call_.type, root,
                               communicator_.get(), stream_));
      return Status::Ok();
    }
    return communicator_.Group([&]() -> Status {
      ASSAY_RETURN_IF_ERROR(Send(root, 0));
      const int senders = call_.place.is_root() ? call_.place.ranks : 0;
      for (int peer = 0; peer < senders; ++peer) ASSAY_RETURN_IF_ERROR(Receive(peer, peer));
      return Status::Ok();
    });
  }

  Status Scatter() const {
    const int root = call_.place.root;
    if (nccl_.scatter != nullptr) {
      ASSAY_NCCL(nccl_, scatter(call_.input, call_.output, count_, call_.type, root,
                                communicator_.get(), stream_));
      return Status::Ok();
    }
    return communicator_.Group([&]() -> Status {
      const int receivers = call_.place.is_root() ? call_.place.ranks : 0;
      for (int peer = 0; peer < receivers; ++peer) ASSAY_RETURN_IF_ERROR(Send(peer, peer));
      return Receive(root, 0);
    });
  }

  Status SendRecv() const {
    const CollectivePlace& place = call_.place;
    return communicator_.Group([&]() -> Status {
      ASSAY_RETURN_IF_ERROR(Send((place.rank + 1) % place.ranks, 0));
      return Receive((place.rank + place.ranks - 1) % place.ranks, 0);
    });
  }

 private:
  // Returns the offset, in bytes, of a rank's share in a buffer that holds the shares of all ranks.
  int64_t Offset(int share) const { return share * call_.place.count * call_.element_bytes; }

  Status Send(int peer, int share) const {
    const void* from = static_cast<const char*>(call_.input) + Offset(share);
    ASSAY_NCCL(nccl_, send(from, count_, call_.type, peer, communicator_.get(), stream_));
    return Status::Ok();
  }

  Status Receive(int peer, int share) const {
    void* to = static_cast<char*>(call_.output) + Offset(share);
    ASSAY_NCCL(nccl_, recv(to, count_, call_.type, peer, communicator_.get(), stream_));
    return Status::Ok();
  }

  const Communicator& communicator_;
  const NcclLibrary& nccl_;
  const CollectiveCall& call_;
  const size_t count_;
  const cudaStream_t stream_;
};

}  // namespace

Status EnqueueCollective(const Communicator& communicator, CollectiveKind kind,
                         const CollectiveCall& call, cudaStream_t stream) {
  const Caller caller(communicator, call, stream);
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return caller.AllReduce();
    case CollectiveKind::kAllGather:
      return caller.AllGather();
    case CollectiveKind::kReduceScatter:
      return caller.ReduceScatter();
    case CollectiveKind::kBroadcast:
      return caller.Broadcast();
    case CollectiveKind::kReduce:
      return caller.Reduce();
    case CollectiveKind::kAllToAll:
      return caller.AllToAll();
    case CollectiveKind::kGather:
      return caller.Gather();
    case CollectiveKind::kScatter:
      return caller.Scatter();
    case CollectiveKind::kSendRecv:
      break;
  }
  return caller.SendRecv();
}

}  // namespace assay
