#include "kernels/net/stream_ends.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "kernels/random.h"

namespace assay {
namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr size_t kWords = kStreamBlockBytes / kWordBytes;

Status NameStream(size_t stream, const Status& error) {
  return error.WithContext("stream " + std::to_string(stream));
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

void StreamMismatches::Add(const StreamMismatches& other) {
  checked += other.checked;
  wrong += other.wrong;
  if (first.empty()) first = other.first;
}

StreamPattern::StreamPattern(uint64_t seed, int stream)
    : seed_(RandomAt(seed, static_cast<uint64_t>(stream))), stream_(stream), words_(kWords) {
  for (size_t i = 1; i < kWords; ++i) words_[i] = RandomAt(seed_, i);
}

const char* StreamPattern::Block(int64_t index) {
  words_[0] = RandomAt(~seed_, static_cast<uint64_t>(index));
  return reinterpret_cast<const char*>(words_.data());
}

StreamMismatches StreamPattern::Compare(const char* data, size_t begin, size_t end, int64_t index) {
  StreamMismatches found;
  found.checked = static_cast<int64_t>(end - begin);
  const char* const expected = Block(index);
  if (std::memcmp(data + begin, expected + begin, end - begin) == 0) return found;
  for (size_t i = begin; i < end; ++i) {
    if (data[i] == expected[i]) continue;
    if (found.wrong++ > 0) continue;
    char text[128];
    std::snprintf(text, sizeof text,
                  "byte %zu of block %lld of stream %d is 0x%02x, should be 0x%02x", i,
                  static_cast<long long>(index), stream_, static_cast<unsigned char>(data[i]),
                  static_cast<unsigned char>(expected[i]));
    found.first = text;
  }
  return found;
}

StreamMismatches StreamPattern::Sample(const char* data, int64_t index) {
  const size_t word = 1 + RandomAt(seed_, static_cast<uint64_t>(index)) % (kWords - 1);
  StreamMismatches found = Compare(data, 0, kWordBytes, index);
  found.Add(Compare(data, word * kWordBytes, (word + 1) * kWordBytes, index));
  return found;
}

Status StreamThreads::Start(size_t streams, const std::function<Status(size_t)>& body) {
  statuses_.assign(streams, Status::Ok());
  try {
    for (size_t i = 0; i < streams; ++i) {
      threads_.emplace_back([this, body, i] { statuses_[i] = body(i); });
    }
  } catch (const std::system_error& error) {
    return Status(Code::kResourceExhausted, Reason::kOutOfThreads,
                  "cannot start a thread for each of " + std::to_string(streams) +
                      " streams: " + error.what());
  }
  return Status::Ok();
}

Status StreamThreads::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  for (const Status& status : statuses_) ASSAY_RETURN_IF_ERROR(status);
  return Status::Ok();
}

SendingEnd::SendingEnd(uint64_t seed, int first_stream, std::vector<Socket> sockets) {
  for (Socket& socket : sockets) {
    const int number = first_stream + static_cast<int>(streams_.size());
    streams_.push_back({std::move(socket), StreamPattern(seed, number), 0, 0, 0});
  }
}

Status SendingEnd::Send(int64_t iterations, int64_t bytes, const std::atomic<bool>* enough) {
  const auto block = static_cast<int64_t>(kStreamBlockBytes);
  const int64_t blocks =
      (bytes + block - 1) / block;  // The last block of a message may be shorter.
  std::atomic<int64_t> next{0};
  std::atomic<bool> failed{false};
  StreamThreads threads;
  const Status started = threads.Start(streams_.size(), [&](size_t i) -> Status {
    Stream& stream = streams_[i];
    // Each transfer begins with a new block, even if the previous transfer ended with an incomplete
    // block.
    stream.offset = 0;
    stream.sent = 0;
    for (;;) {
      const int64_t mine = next.fetch_add(1, std::memory_order_relaxed);
      const bool counts = mine < iterations * blocks;
      if (failed || (!counts && (enough == nullptr || *enough))) return Status::Ok();
      const int64_t begin = mine % blocks * block;
      const Status sent = SendOn(stream, static_cast<size_t>(std::min(block, bytes - begin)));
      if (sent.ok()) continue;
      failed = true;
      Shutdown();
      return NameStream(i, sent);
    }
  });
  if (!started.ok()) {
    failed = true;
    Shutdown();
  }
  const Status sent = threads.Join();
  return started.ok() ? sent : started;
}

Status SendingEnd::SendOn(Stream& stream, size_t bytes) {
  while (bytes > 0) {
    if (stream.offset == 0) ++stream.block;
    const size_t size = std::min(bytes, kStreamBlockBytes - stream.offset);
    const char* const data = stream.pattern.Block(stream.block - 1) + stream.offset;
    ASSAY_RETURN_IF_ERROR(SendAll(stream.socket, data, size, Clock::Real().Now() + kStreamStall));
    stream.offset = (stream.offset + size) % kStreamBlockBytes;
    stream.sent += static_cast<int64_t>(size);
    bytes -= size;
  }
  return Status::Ok();
}

std::vector<int64_t> SendingEnd::Sent() const {
  std::vector<int64_t> sent;
  for (const Stream& stream : streams_) sent.push_back(stream.sent);
  return sent;
}

std::optional<int64_t> SendingEnd::Retransmits() const {
  int64_t total = 0;
  for (const Stream& stream : streams_) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (getsockopt(stream.socket.fd(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) {
      return std::nullopt;
    }
    total += info.tcpi_total_retrans;
  }
  return total;
}

void SendingEnd::Shutdown() {
  for (const Stream& stream : streams_) shutdown(stream.socket.fd(), SHUT_RDWR);
}

Arrivals::Arrivals(int64_t lead_bytes, int64_t sample_bytes, int64_t samples)
    : lead_bytes_(lead_bytes),
      sample_bytes_(sample_bytes),
      samples_(samples),
      begin_(std::chrono::steady_clock::now()) {
  marks_.reserve(static_cast<size_t>(samples) + 1);
}

void Arrivals::Add(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const double now = SecondsSince(begin_);
  const auto before = static_cast<double>(total_);
  total_ += static_cast<int64_t>(bytes);
  for (auto passed = static_cast<int64_t>(marks_.size()); passed <= samples_; ++passed) {
    const int64_t mark = lead_bytes_ + passed * sample_bytes_;
    if (mark > total_) break;
    const double part = (static_cast<double>(mark) - before) / static_cast<double>(bytes);
    marks_.push_back(last_ + (now - last_) * part);
  }
  last_ = now;
  if (static_cast<int64_t>(marks_.size()) == samples_ + 1) complete_ = true;
}

std::chrono::steady_clock::time_point Arrivals::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return begin_ + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                      std::chrono::duration<double>(last_));
}

std::vector<double> Arrivals::Seconds() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<double> seconds;
  for (size_t i = 1; i < marks_.size(); ++i) seconds.push_back(marks_[i] - marks_[i - 1]);
  return seconds;
}

ReceivingEnd::ReceivingEnd(uint64_t seed, int first_stream, std::vector<Socket> sockets) {
  for (Socket& socket : sockets) {
    const int number = first_stream + static_cast<int>(streams_.size());
    streams_.push_back({std::move(socket),
                        StreamPattern(seed, number),
                        std::vector<char>(kStreamBlockBytes),
                        0,
                        0,
                        0,
                        0,
                        {}});
  }
}

ReceivingEnd::~ReceivingEnd() {
  static_cast<void>(Abort());
  if (wake_ >= 0) close(wake_);
}

Status ReceivingEnd::Start(int64_t lead_bytes, int64_t sample_bytes, int64_t samples,
                           bool every_byte) {
  if (wake_ >= 0) close(wake_);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) return Internal(std::string("eventfd: ") + std::strerror(errno));
  every_byte_ = every_byte;
  arrivals_ = std::make_unique<Arrivals>(lead_bytes, sample_bytes, samples);
  announced_ = false;
  enough_ = false;
  for (Stream& stream : streams_) {
    if (stream.offset > 0) ++stream.block;
    stream.first_block = stream.block;
    stream.offset = 0;
    stream.received = 0;
    stream.mismatches = {};
    std::fill(stream.buffer.begin(), stream.buffer.end(), '\xff');
  }
  const auto body = [this](size_t i) -> Status {
    Status received = ReceiveOn(streams_[i], i);
    if (received.ok()) return received;
    enough_ = true;
    Announce(true);
    return NameStream(i, received);
  };
  Status started = threads_.Start(streams_.size(), body);
  if (!started.ok()) static_cast<void>(Abort());  // `started` says why.
  return started;
}

Status ReceivingEnd::ReceiveOn(Stream& stream, size_t index) {
  for (;;) {
    const bool announced = announced_.load(std::memory_order_acquire);
    if (aborted_ || (announced && stream.received == sent_[index])) return Status::Ok();
    ASSAY_ASSIGN_OR_RETURN(const size_t got,
                           ReceiveSome(stream.socket, stream.buffer.data() + stream.offset,
                                       kStreamBlockBytes - stream.offset));
    if (got == 0) {
      ASSAY_RETURN_IF_ERROR(Wait(stream, announced));
      continue;
    }
    arrivals_->Add(got);
    if (arrivals_->complete()) enough_ = true;
    stream.received += static_cast<int64_t>(got);
    const size_t begin = stream.offset;
    stream.offset += got;
    if (every_byte_) {
      stream.mismatches.Add(
          stream.pattern.Compare(stream.buffer.data(), begin, stream.offset, stream.block));
    }
    if (stream.offset < kStreamBlockBytes) continue;
    if (!every_byte_) {
      stream.mismatches.Add(stream.pattern.Sample(stream.buffer.data(), stream.block));
    }
    stream.offset = 0;
    ++stream.block;
  }
}

Status ReceivingEnd::Wait(const Stream& stream, bool announced) {
  const MonotonicTime deadline = Clock::Real().Now() + kStreamStall;
  pollfd entries[2] = {{stream.socket.fd(), POLLIN, 0}, {announced ? -1 : wake_, POLLIN, 0}};
  if (poll(entries, 2, PollMillis(deadline)) != 0) return Status::Ok();
  // A single idle stream is not an error, because the other streams may be sending all the blocks.
  // Until the sender announces how many bytes each stream has sent, the transfer therefore fails
  // only if all streams are idle.
  const bool all_silent = std::chrono::steady_clock::now() - arrivals_->last() >= kStreamStall;
  return announced || all_silent ? PeerTimeout("nothing came for 30 s") : Status::Ok();
}

void ReceivingEnd::Announce(bool aborted) {
  if (aborted) {
    aborted_ = true;
    Shutdown();
  }
  announced_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  // Wakes the threads waiting for data. This write cannot block, because the eventfd is
  // non-blocking.
  if (write(wake_, &one, sizeof one) < 0) Shutdown();
}

Status ReceivingEnd::Finish(const std::vector<int64_t>& sent) {
  if (sent.size() != streams_.size()) {
    static_cast<void>(Abort());  // The message is the error to report.
    return Internal("the other rank told of " + std::to_string(sent.size()) +
                        " streams instead of " + std::to_string(streams_.size()),
                    Reason::kBadMessage);
  }
  sent_ = sent;
  Announce(false);
  ASSAY_RETURN_IF_ERROR(threads_.Join());
  if (!arrivals_->complete())
    return Internal("the other rank sent too few bytes", Reason::kBadMessage);
  return Status::Ok();
}

Status ReceivingEnd::Abort() {
  if (wake_ >= 0) Announce(true);
  return threads_.Join();
}

void ReceivingEnd::Shutdown() {
  for (const Stream& stream : streams_) Reset(stream.socket);
}

StreamMismatches ReceivingEnd::Check() {
  StreamMismatches all;
  for (Stream& stream : streams_) {
    all.Add(stream.mismatches);
    // The buffer holds the beginning of the current block, followed by the end of the previous one.
    all.Add(stream.pattern.Compare(stream.buffer.data(), 0, stream.offset, stream.block));
    if (stream.block == stream.first_block) continue;
    all.Add(stream.pattern.Compare(stream.buffer.data(), stream.offset, kStreamBlockBytes,
                                   stream.block - 1));
  }
  return all;
}

}  // namespace assay
