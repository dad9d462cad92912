// The two ends of a bulk transfer over several TCP connections at once.
//
// A transfer is `iterations` messages, one after another without a pause. The streams take
// a message's blocks as they are free to, so that a slow connection carries less instead of
// holding up the others. What was sent on which stream is told to the receiving end by
// other means, after the last byte.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "common/status.h"
#include "gang/socket.h"
#include "kernels/net/stream_pattern.h"

namespace assay {

// After so long without a byte a connection counts as stalled.
inline constexpr Duration kStreamStall = std::chrono::seconds(30);

// A thread for every stream. Joined before it is destroyed.
class StreamThreads {
 public:
  // Runs body(stream) on a thread each. RESOURCE_EXHAUSTED (OUT_OF_THREADS) if the system
  // refuses one; those that it did not refuse run.
  Status Start(size_t streams, const std::function<Status(size_t)>& body);
  // The first error of any body, once all have returned.
  Status Join();

 private:
  std::vector<Status> statuses_;
  std::vector<std::thread> threads_;
};

class SendingEnd {
 public:
  // Streams are numbered from `first_stream` on; each has its own bytes.
  SendingEnd(uint64_t seed, int first_stream, std::vector<Socket> sockets);

  // Sends `iterations` messages of `bytes` bytes each, and then more until `enough` is true
  // if it is not null. Returns when everything is with the system. After an error the
  // connections are shut down, so that the other end does not wait.
  Status Send(int64_t iterations, int64_t bytes, const std::atomic<bool>* enough);

  // Bytes that the last Send sent, by stream.
  std::vector<int64_t> Sent() const;

  // Segments that had to be sent again since the connections were made; nothing if the
  // system does not tell.
  std::optional<int64_t> Retransmits() const;

  void Shutdown();

 private:
  struct Stream {
    Socket socket;
    StreamPattern pattern;
    int64_t block = 0;  // The next to begin.
    size_t offset = 0;  // Sent of the one before, if not 0.
    int64_t sent = 0;   // By the last Send.
  };

  Status SendOn(Stream& stream, size_t bytes);

  std::vector<Stream> streams_;
};

// When samples were complete, by bytes received on all streams together.
class Arrivals {
 public:
  // `samples` samples of `sample_bytes` after `lead_bytes` that are not timed.
  Arrivals(int64_t lead_bytes, int64_t sample_bytes, int64_t samples);

  // Counts `bytes` as arriving evenly since the last call. Any thread.
  void Add(size_t bytes);

  // Whether all samples are complete. Any thread.
  const std::atomic<bool>& complete() const { return complete_; }

  std::chrono::steady_clock::time_point last() const;

  // Of each sample. Call when complete.
  std::vector<double> Seconds() const;

 private:
  const int64_t lead_bytes_;
  const int64_t sample_bytes_;
  const int64_t samples_;
  const std::chrono::steady_clock::time_point begin_;
  std::atomic<bool> complete_{false};
  mutable std::mutex mutex_;
  int64_t total_ = 0;
  double last_ = 0;            // Seconds since begin_.
  std::vector<double> marks_;  // Ends of the lead and of each sample, in seconds since begin_.
};

class ReceivingEnd {
 public:
  // As the SendingEnd that it faces.
  ReceivingEnd(uint64_t seed, int first_stream, std::vector<Socket> sockets);
  ~ReceivingEnd();

  // Begins to receive, on threads of its own; compares every byte if `every_byte`, else a
  // sample of each block. Finish or Abort follows.
  Status Start(int64_t lead_bytes, int64_t sample_bytes, int64_t samples, bool every_byte);

  // True once everything that counts has come, or cannot come any more.
  const std::atomic<bool>& enough() const { return enough_; }

  // Waits for `sent` bytes on each stream. After an error the connections are shut down.
  Status Finish(const std::vector<int64_t>& sent);
  // Gives up: what comes after that is an error at either end. Returns what had gone wrong on
  // a stream before.
  Status Abort();

  // Of the last Start that was finished.
  std::vector<double> Seconds() const { return arrivals_->Seconds(); }

  // What is wrong with what the last Start received: all that was compared as it came,
  // and what is left of it in the buffers, byte by byte.
  StreamMismatches Check();

 private:
  struct Stream {
    Socket socket;
    StreamPattern pattern;
    std::vector<char> buffer;
    int64_t first_block = 0;  // Of the last Start.
    int64_t block = 0;        // Being received.
    size_t offset = 0;        // Received of it.
    int64_t received = 0;     // By the last Start.
    StreamMismatches mismatches;
  };

  Status ReceiveOn(Stream& stream, size_t index);
  // Until there may be something to read, or an announcement has come.
  Status Wait(const Stream& stream, bool announced);
  void Announce(bool aborted);
  void Shutdown();

  std::vector<Stream> streams_;
  int wake_ = -1;  // An eventfd: readable once announced_.
  bool every_byte_ = false;
  std::unique_ptr<Arrivals> arrivals_;
  std::vector<int64_t> sent_;  // Written before announced_.
  std::atomic<bool> announced_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> enough_{false};
  StreamThreads threads_;
};

}  // namespace assay
