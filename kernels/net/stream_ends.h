// The sender and the receiver of a bulk transfer over several TCP connections, called streams.
//
// A transfer is a sequence of messages, which are divided into blocks. As soon as a stream has sent
// a block, it takes the next one, so a slow connection sends fewer blocks without delaying the
// others. Once all bytes are sent, the caller must tell the receiver how many bytes each stream
// sent.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
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

namespace assay {

// The size of a block, and of each stream's buffers, in bytes: small enough to fit in the CPU's
// cache, and large enough to keep system calls rare.
inline constexpr size_t kStreamBlockBytes = size_t{128} << 10;

// The result of comparing received bytes.
struct StreamMismatches {
  int64_t checked = 0;  // Bytes.
  int64_t wrong = 0;
  std::string first;  // "byte 17 of block 3 of stream 1 is 0xff, should be 0x20"; empty if none.

  void Add(const StreamMismatches& other);
};

// The generator and checker of one stream's data. All blocks contain the same pseudorandom bytes,
// except for the first eight, which identify the block. Must be used by a single thread.
class StreamPattern {
 public:
  // `stream` is the stream's number, which is unique within a benchmark case.
  StreamPattern(uint64_t seed, int stream);

  // Returns the bytes of block `index`. They are valid until the next call.
  const char* Block(int64_t index);

  // Compares the bytes [begin, end) of `data`, which should be the contents of block `index`.
  StreamMismatches Compare(const char* data, size_t begin, size_t end, int64_t index);

  // Compares only 16 bytes of block `index` with the expected data: the eight that identify the
  // block, and eight at a position that varies from block to block. Cheap enough to do while the
  // transfer is being timed.
  StreamMismatches Sample(const char* data, int64_t index);

 private:
  const uint64_t seed_;
  const int stream_;
  std::vector<uint64_t> words_;
};

// A connection on which no byte arrives for this long is considered stalled.
inline constexpr Duration kStreamStall = std::chrono::seconds(30);

// A set of threads, one per stream. Join() must be called before this object is destroyed.
class StreamThreads {
 public:
  // Runs body(stream) on one thread per stream. Returns RESOURCE_EXHAUSTED (OUT_OF_THREADS) if the
  // system cannot create a thread. In that case, threads that have already started keep running.
  Status Start(size_t streams, const std::function<Status(size_t)>& body);
  // Waits for all threads. Returns the error of the lowest-numbered stream that failed, or OK if
  // none did.
  Status Join();

 private:
  std::vector<Status> statuses_;
  std::vector<std::thread> threads_;
};

class SendingEnd {
 public:
  // Creates a stream for each of `sockets`, numbering them from `first_stream`. The data of a
  // stream depends on `seed` and on the stream's number.
  SendingEnd(uint64_t seed, int first_stream, std::vector<Socket> sockets);

  // Sends `iterations` messages of `bytes` bytes each. If `enough` is not null, keeps sending
  // messages until `*enough` is true. Returns once the operating system has accepted all bytes.
  // On failure, shuts down the connections so that the receiver does not keep waiting.
  Status Send(int64_t iterations, int64_t bytes, const std::atomic<bool>* enough);

  // Returns the number of bytes that the last call of Send() has sent on each stream.
  std::vector<int64_t> Sent() const;

  // Returns the number of TCP segments retransmitted since the connections were opened, or
  // nullopt if the operating system does not report it.
  std::optional<int64_t> Retransmits() const;

  void Shutdown();

 private:
  struct Stream {
    Socket socket;
    StreamPattern pattern;
    int64_t block = 0;  // The next block to begin.
    size_t offset = 0;  // Bytes sent of the block before it, if not 0.
    int64_t sent = 0;   // Bytes sent by the last Send.
  };

  Status SendOn(Stream& stream, size_t bytes);

  std::vector<Stream> streams_;
};

// Records when each sample is complete, by counting the bytes that arrive on all streams together.
class Arrivals {
 public:
  // Expects `lead_bytes` untimed bytes, followed by `samples` samples of `sample_bytes` bytes each.
  Arrivals(int64_t lead_bytes, int64_t sample_bytes, int64_t samples);

  // Counts `bytes` received bytes, which are assumed to have arrived at a constant rate since the
  // last call. Thread-safe.
  void Add(size_t bytes);

  // Becomes true when all samples are complete. Thread-safe.
  const std::atomic<bool>& complete() const { return complete_; }

  std::chrono::steady_clock::time_point last() const;

  // Returns the duration of each sample in seconds. All samples must be complete.
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
  // `seed` and `first_stream` must be equal to those of the SendingEnd on the other rank.
  ReceivingEnd(uint64_t seed, int first_stream, std::vector<Socket> sockets);
  ~ReceivingEnd();

  // Starts receiving in the background and returns at once. Compares every byte if `every_byte`
  // is true, but only a few bytes of each block otherwise. The caller must then call Finish() or
  // Abort().
  Status Start(int64_t lead_bytes, int64_t sample_bytes, int64_t samples, bool every_byte);

  // Becomes true when all timed bytes have arrived, or when an error keeps them from arriving.
  const std::atomic<bool>& enough() const { return enough_; }

  // Waits until sent[i] bytes have arrived on each stream i. On failure, shuts down the
  // connections.
  Status Finish(const std::vector<int64_t>& sent);
  // Cancels the transfer at both ends. Returns the error of a stream that failed before the
  // cancellation, or OK if none did.
  Status Abort();

  // Returns the duration of each sample of the last finished transfer, in seconds.
  std::vector<double> Seconds() const { return arrivals_->Seconds(); }

  // Returns the mismatches found in the last transfer. Includes those found on arrival, and
  // compares every byte of the blocks that are still in the buffers.
  StreamMismatches Check();

 private:
  struct Stream {
    Socket socket;
    StreamPattern pattern;
    std::vector<char> buffer;
    int64_t first_block = 0;  // The first block since Start.
    int64_t block = 0;        // The block being received.
    size_t offset = 0;        // Bytes received of it.
    int64_t received = 0;     // Bytes received since Start.
    StreamMismatches mismatches;
  };

  Status ReceiveOn(Stream& stream, size_t index);
  // Waits until there may be data to read, or the sender has announced how many bytes it has sent.
  Status Wait(const Stream& stream, bool announced);
  void Announce(bool aborted);
  void Shutdown();

  std::vector<Stream> streams_;
  int wake_ = -1;  // An eventfd that is readable once announced_ is true.
  bool every_byte_ = false;
  std::unique_ptr<Arrivals> arrivals_;
  std::vector<int64_t> sent_;  // Written before announced_ is set.
  std::atomic<bool> announced_{false};
  std::atomic<bool> aborted_{false};
  std::atomic<bool> enough_{false};
  StreamThreads threads_;
};

}  // namespace assay
