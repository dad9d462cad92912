#include "runner/rank_output.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include "runner/frame_io.h"

namespace assay {
namespace {

// After the ranks have ended, processes that they started may still hold the pipes open. Their
// output is awaited for this long.
constexpr int kMillisecondsAfterEnd = 100;

// Prints and removes the complete lines of `text`.
void PrintLines(size_t rank, std::string* text) {
  size_t begin = 0;
  for (size_t end = 0; (end = text->find('\n', begin)) != std::string::npos; begin = end + 1) {
    // An error means that the reader of stderr is gone, which is no reason to stop.
    static_cast<void>(WriteAll(STDERR_FILENO, "rank " + std::to_string(rank) + ": " +
                                                  text->substr(begin, end + 1 - begin)));
  }
  text->erase(0, begin);
}

// Appends what the pipe holds. At its end closes it and completes the last line.
void ReadSome(FileDescriptor* pipe, std::string* text) {
  std::array<char, 4096> chunk;
  const ssize_t size = read(pipe->get(), chunk.data(), chunk.size());
  if (size > 0) {
    text->append(chunk.data(), static_cast<size_t>(size));
  } else if (size == 0 || errno != EINTR) {
    pipe->Close();
    if (!text->empty()) *text += '\n';
  }
}

// pipes[i] is the output of rank i + 1.
void CopyLines(std::vector<FileDescriptor> pipes, FileDescriptor ended) {
  std::vector<std::string> texts(pipes.size());
  for (size_t open = pipes.size(); open > 0;) {
    std::vector<pollfd> polled = {{ended.get(), POLLIN, 0}};
    for (const FileDescriptor& pipe : pipes) polled.push_back({pipe.get(), POLLIN, 0});
    const int ready =
        poll(polled.data(), polled.size(), ended.valid() ? -1 : kMillisecondsAfterEnd);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return;
    if (polled[0].revents != 0) ended.Close();
    for (size_t i = 0; i < pipes.size(); ++i) {
      if (polled[i + 1].revents == 0) continue;
      ReadSome(&pipes[i], &texts[i]);
      if (!pipes[i].valid()) --open;
      PrintLines(i + 1, &texts[i]);
    }
  }
}

}  // namespace

RankOutput::RankOutput(std::vector<FileDescriptor> outputs) {
  Result<Pipe> ended = MakePipe();
  if (!ended.ok()) return;  // The ranks then write to closed pipes and continue.
  ended_ = std::move(ended->write);
  thread_ = std::thread(CopyLines, std::move(outputs), std::move(ended->read));
}

RankOutput::~RankOutput() {
  ended_.Close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace assay
