// What several sources say, line by line, as it comes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/subprocess.h"

namespace assay {

class LineStreams {
 public:
  // `stop` is readable once reading is to end.
  explicit LineStreams(int stop) : stop_(stop) {}

  // Sources are numbered from 0 in the order in which they are added.
  void Add(FileDescriptor source);

  enum class Kind {
    kLine,
    kEnd,      // All who write have closed the source, and its lines are told.
    kSilence,  // Nothing came for the time given.
    kStop,
  };
  struct Event {
    Kind kind;
    size_t source = 0;  // Of a line and an end.
    std::string line;   // Without its line feed.
  };
  // The next that happens. A silent source holds up no other.
  Event Next(Duration patience);

 private:
  struct Source {
    FileDescriptor fd;
    std::string text;  // Read, and not told yet.
    bool end_told = false;
  };

  const int stop_;
  std::vector<Source> sources_;
};

}  // namespace assay
