#include "runner/rank_output.h"

#include <unistd.h>

#include <string>
#include <utility>

#include "runner/frame_io.h"
#include "runner/line_streams.h"

namespace assay {
namespace {

// What a rank started itself may outlive it with the pipe in hand: it is heard for this long.
constexpr Duration kLastWords = std::chrono::milliseconds(100);

// The sources are the ranks from 1 on, and behind them one that ends when they have.
void PassOn(LineStreams lines, size_t ranks) {
  bool ended = false;
  for (size_t open = ranks; open > 0 || !ended;) {
    const LineStreams::Event event = lines.Next(ended ? kLastWords : Duration::max());
    switch (event.kind) {
      case LineStreams::Kind::kLine:
        // Whoever reads stderr may have left.
        static_cast<void>(WriteAll(
            STDERR_FILENO, "rank " + std::to_string(event.source + 1) + ": " + event.line + "\n"));
        break;
      case LineStreams::Kind::kEnd:
        if (event.source == ranks) {
          ended = true;
        } else {
          --open;
        }
        break;
      case LineStreams::Kind::kSilence:
        if (ended) return;
        break;
      case LineStreams::Kind::kStop:
        break;
    }
  }
}

}  // namespace

RankOutput::RankOutput(std::vector<FileDescriptor> outputs) {
  Result<Pipe> ended = MakePipe();
  if (!ended.ok()) return;  // The ranks write to closed pipes then, and go on.
  ended_ = std::move(ended->write);
  LineStreams lines(-1);
  for (FileDescriptor& output : outputs) lines.Add(std::move(output));
  lines.Add(std::move(ended->read));
  thread_ = std::thread(PassOn, std::move(lines), outputs.size());
}

RankOutput::~RankOutput() {
  ended_.Close();
  if (thread_.joinable()) thread_.join();
}

}  // namespace assay
