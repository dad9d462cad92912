#include "agent/core/rank_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "common/text.h"

namespace assay::agent {
namespace {

constexpr size_t kMaxTailBytes = 64 << 10;
constexpr size_t kChunkBytes = 64 << 10;
// Limits the work of one call, so that a flood of output does not delay other ranks and deadlines.
constexpr int kChunksPerTurn = 16;
constexpr int kEventsDescriptor = 3;

Status MakeNonBlocking(const FileDescriptor& fd) {
  if (::fcntl(fd.get(), F_SETFL, O_NONBLOCK) != 0) return Internal("cannot set up a pipe");
  return Status::Ok();
}

}  // namespace

RankProcess::RankProcess(Subprocess process, FileDescriptor input, FileDescriptor events,
                         FileDescriptor output)
    : process_(std::move(process)),
      input_(std::move(input)),
      events_(std::move(events)),
      output_(std::move(output)) {}

Result<RankProcess> RankProcess::Spawn(const Options& options) {
  ASSAY_ASSIGN_OR_RETURN(Pipe input, MakePipe());
  ASSAY_ASSIGN_OR_RETURN(Pipe events, MakePipe());
  ASSAY_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  ASSAY_RETURN_IF_ERROR(MakeNonBlocking(input.write));
  ASSAY_RETURN_IF_ERROR(MakeNonBlocking(events.read));
  ASSAY_RETURN_IF_ERROR(MakeNonBlocking(output.read));
  SubprocessOptions child;
  child.argv = {options.runner, options.command};
  child.environment = options.environment;
  child.descriptors = {{STDIN_FILENO, input.read.get()},
                       {STDOUT_FILENO, output.write.get()},
                       {STDERR_FILENO, output.write.get()},
                       {kEventsDescriptor, events.write.get()}};
  child.die_with_parent = true;
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Spawn(child));
  return RankProcess(std::move(process), std::move(input.write), std::move(events.read),
                     std::move(output.read));
}

void RankProcess::Send(const v1::RunnerCommand& command) {
  if (!input_.valid()) return;
  pending_input_ += EncodeFrame(command.SerializeAsString());
  WriteInput();
}

void RankProcess::CloseInput() {
  pending_input_.clear();
  input_.Close();
}

void RankProcess::AddPollFds(std::vector<pollfd>* fds) const {
  if (input_.valid() && !pending_input_.empty()) fds->push_back({input_.get(), POLLOUT, 0});
  if (events_.valid()) fds->push_back({events_.get(), POLLIN, 0});
  if (output_.valid()) fds->push_back({output_.get(), POLLIN, 0});
  fds->push_back({process_.pidfd(), POLLIN, 0});
}

Status RankProcess::Service(const OnEvent& on_event) {
  WriteInput();
  ReadOutput();
  return ReadEvents(on_event);
}

void RankProcess::WriteInput() {
  while (input_.valid() && !pending_input_.empty()) {
    const ssize_t written = ::write(input_.get(), pending_input_.data(), pending_input_.size());
    if (written >= 0) {
      pending_input_.erase(0, static_cast<size_t>(written));
    } else if (errno == EAGAIN) {
      return;
    } else if (errno != EINTR) {
      CloseInput();
    }
  }
}

void RankProcess::ReadOutput() {
  std::array<char, kChunkBytes> chunk;
  for (int turn = 0; output_.valid() && turn < kChunksPerTurn; ++turn) {
    const ssize_t size = ::read(output_.get(), chunk.data(), chunk.size());
    if (size > 0) {
      output_tail_.append(chunk.data(), static_cast<size_t>(size));
      if (output_tail_.size() > kMaxTailBytes) {
        output_tail_.erase(0, output_tail_.size() - kMaxTailBytes);
      }
    } else if (size == 0) {
      output_.Close();
    } else if (errno != EINTR) {
      return;
    }
  }
}

Status RankProcess::ReadEvents(const OnEvent& on_event) {
  std::array<char, kChunkBytes> chunk;
  for (int turn = 0; events_.valid() && turn < kChunksPerTurn; ++turn) {
    const ssize_t size = ::read(events_.get(), chunk.data(), chunk.size());
    if (size == 0) events_.Close();
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return Status::Ok();
    decoder_.Append({chunk.data(), static_cast<size_t>(size)});
    ReadOutput();  // Reads the output that precedes these events.
    for (;;) {
      auto frame = decoder_.Next();
      Status status = frame.status();
      if (status.ok() && !frame->has_value()) break;
      v1::RunnerEvent event;
      if (status.ok() && !event.ParseFromString(**frame)) {
        status = Status(Code::kDataLoss, Reason::kBadEvent, "a message on fd 3 is no RunnerEvent");
      }
      if (status.ok()) status = on_event(event);
      if (!status.ok()) {
        events_.Close();
        return status;
      }
    }
  }
  return Status::Ok();
}

std::string RankProcess::OutputTail() const {
  std::string text;
  for (std::string_view rest = output_tail_; !rest.empty();) {
    const Utf8Character character = DecodeUtf8(rest);
    text += character.valid ? std::string(rest.substr(0, character.bytes)) : "?";
    rest.remove_prefix(character.bytes);
  }
  return text;
}

}  // namespace assay::agent
