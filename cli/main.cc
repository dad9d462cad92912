// The program assay, with which users submit, watch and query campaigns.
#include <signal.h>

#include "cli/commands/app.h"

int main(int argc, char** argv) {
  // Let `assay results | head` end quietly when head closes the pipe.
  signal(SIGPIPE, SIG_DFL);
  return assay::cli::RunApp(argc, argv);
}
