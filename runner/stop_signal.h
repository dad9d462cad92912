// SIGINT and SIGTERM as something to wait for, beside work that may never end.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "common/subprocess.h"
#include "runner/line_streams.h"

namespace assay {

// Once it is made these signals do not end the process but are told here. Make one alone.
class StopSignal {
 public:
  StopSignal();

  int fd() const { return signals_.get(); }  // Readable when one has come.
  // The one that has come, which is then gone; 0 if none has.
  int Take();

 private:
  FileDescriptor signals_;
};

// What `work` returns. It runs on a thread of its own; each time that `patience` has passed
// meanwhile `on_silence` says whether to wait on. Nothing if it does not, or if a signal comes
// first: the thread is left behind, and what `work` holds must last as long as the process.
template <typename T>
std::optional<T> RunUnlessStopped(std::function<T()> work, const StopSignal& signal,
                                  Duration patience, const std::function<bool()>& on_silence) {
  Result<Pipe> done = MakePipe();
  if (!done.ok()) return work();
  auto task = std::make_shared<std::packaged_task<T()>>(std::move(work));
  std::future<T> result = task->get_future();
  std::thread([task, end = std::move(done->write)]() mutable {
    (*task)();
    end.Close();
  }).detach();
  LineStreams streams(signal.fd());
  streams.Add(std::move(done->read));
  for (;;) {
    const LineStreams::Kind kind = streams.Next(patience).kind;
    if (kind == LineStreams::Kind::kEnd) return result.get();
    if (kind == LineStreams::Kind::kStop) return std::nullopt;
    if (!on_silence()) return std::nullopt;
  }
}

}  // namespace assay
