// Implements version 4 of NCCL's profiler plugin interface
// (src/include/plugin/profiler/profiler_v4.h in NVIDIA/nccl). The structs below are handwritten
// copies with the layout of NCCL 2.26 and later. Members after the last one used are omitted.
#include "kernels/nccl/nccl_profiler.h"

#include <nccl.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "common/mutex.h"

namespace assay {
namespace {

// The kinds of events, as bits of the mask that tells NCCL which events to report.
constexpr uint8_t kCollective = 1 << 1;
constexpr uint8_t kPointToPoint = 1 << 2;

struct CollectiveEvent {
  uint64_t sequence;
  const char* function;
  const void* input;
  void* output;
  size_t count;
  int root;
  const char* datatype;
  uint8_t channels;
  uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct PointToPointEvent {
  const char* function;
  void* buffer;
  const char* datatype;
  size_t count;
  int peer;
  uint8_t channels;
};

struct Event {
  uint8_t type;
  void* parent;
  int rank;
  union {
    CollectiveEvent collective;
    PointToPointEvent point_to_point;
  };
};

// The receiver of the events that NCCL reports to its profiler plugin. Note() is called for every
// event enabled by the mask, so it must not block for long.
class Listener {
 public:
  void Attach(int* mask) { mask_ = mask; }

  void Listen(bool on) {
    {
      MutexLock lock(mutex_);
      if (on) choice_.reset();
    }
    if (int* const mask = mask_) {
      __atomic_store_n(mask, on ? kCollective | kPointToPoint : 0, __ATOMIC_RELAXED);
    }
  }

  void Note(const Event& event) {
    NcclChoice choice;
    if (event.type == kCollective) {
      choice.function = Text(event.collective.function);
      choice.algorithm = Text(event.collective.algorithm);
      choice.protocol = Text(event.collective.protocol);
      choice.channels = event.collective.channels;
    } else if (event.type == kPointToPoint) {
      choice.function = Text(event.point_to_point.function);
      choice.algorithm = "P2P";
    } else {
      return;
    }
    MutexLock lock(mutex_);
    choice_ = std::move(choice);
  }

  std::optional<NcclChoice> choice() {
    MutexLock lock(mutex_);
    return choice_;
  }

 private:
  static std::string Text(const char* text) { return text == nullptr ? "" : text; }

  std::atomic<int*> mask_{nullptr};  // Owned by NCCL; one for all communicators.
  Mutex mutex_;
  std::optional<NcclChoice> choice_ ASSAY_GUARDED_BY(mutex_);
};

Listener& TheListener() {
  static Listener& listener = *new Listener();  // NCCL's threads may outlive main.
  return listener;
}

ncclResult_t Init(void** context, int* mask, const char*, uint64_t, int, int, int, void (*)()) {
  *context = &TheListener();
  *mask = 0;
  TheListener().Attach(mask);
  return ncclSuccess;
}

ncclResult_t StartEvent(void*, void** handle, void* event) {
  *handle = nullptr;  // Requests no later events of this call.
  TheListener().Note(*static_cast<const Event*>(event));
  return ncclSuccess;
}

ncclResult_t StopEvent(void*) { return ncclSuccess; }
ncclResult_t RecordEventState(void*, int, void*) { return ncclSuccess; }
ncclResult_t Finalize(void*) { return ncclSuccess; }

}  // namespace

// The table of functions through which NCCL calls the plugin.
struct NcclProfilerPlugin {
  const char* name;
  ncclResult_t (*init)(void**, int*, const char*, uint64_t, int, int, int, void (*)());
  ncclResult_t (*start_event)(void*, void**, void*);
  ncclResult_t (*stop_event)(void*);
  ncclResult_t (*record_event_state)(void*, int, void*);
  ncclResult_t (*finalize)(void*);
};

// NCCL looks for a symbol with this name in the program to find the plugin.
extern "C" {
extern NcclProfilerPlugin ncclProfiler_v4;
__attribute__((visibility("default"), used)) NcclProfilerPlugin ncclProfiler_v4 = {
    "assay", Init, StartEvent, StopEvent, RecordEventState, Finalize};
}

void OfferNcclProfiler() { setenv("NCCL_PROFILER_PLUGIN", "STATIC_PLUGIN", /*overwrite=*/0); }

void StartNcclProfiler() { TheListener().Listen(true); }

std::optional<NcclChoice> StopNcclProfiler() {
  TheListener().Listen(false);
  return TheListener().choice();
}

}  // namespace assay
