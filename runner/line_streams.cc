#include "runner/line_streams.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace assay {
namespace {

// Appends what is there; closes the source at its end, which ends its last line too.
void ReadSome(FileDescriptor* fd, std::string* text) {
  std::array<char, 4096> chunk;
  const ssize_t size = read(fd->get(), chunk.data(), chunk.size());
  if (size > 0) {
    text->append(chunk.data(), static_cast<size_t>(size));
  } else if (size == 0 || errno != EINTR) {
    fd->Close();
    if (!text->empty() && text->back() != '\n') *text += '\n';
  }
}

}  // namespace

void LineStreams::Add(FileDescriptor source) { sources_.push_back({std::move(source), "", false}); }

LineStreams::Event LineStreams::Next(Duration patience) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  for (;;) {
    std::vector<pollfd> polled = {{stop_, POLLIN, 0}};
    for (size_t i = 0; i < sources_.size(); ++i) {
      Source& source = sources_[i];
      if (const size_t end = source.text.find('\n'); end != std::string::npos) {
        Event line{Kind::kLine, i, source.text.substr(0, end)};
        source.text.erase(0, end + 1);
        return line;
      }
      if (!source.fd.valid() && !std::exchange(source.end_told, true)) {
        return {Kind::kEnd, i, ""};
      }
      polled.push_back({source.fd.get(), POLLIN, 0});  // A closed one is passed over.
    }
    const int ready = poll(polled.data(), polled.size(),
                           static_cast<int>(std::clamp<int64_t>(milliseconds, 0, 86'400'000)));
    if (ready == 0) return {Kind::kSilence, 0, ""};
    if (ready < 0) continue;  // EINTR.
    if (polled[0].revents != 0) return {Kind::kStop, 0, ""};
    for (size_t i = 0; i < sources_.size(); ++i) {
      if (polled[i + 1].revents != 0) ReadSome(&sources_[i].fd, &sources_[i].text);
    }
  }
}

}  // namespace assay
