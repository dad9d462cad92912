// The user's terminal: submits, watches and queries campaigns.
#include <signal.h>

#include "cli/commands/app.h"

int main(int argc, char** argv) {
  // `assay results | head` ends quietly.
  signal(SIGPIPE, SIG_DFL);
  return assay::cli::RunApp(argc, argv);
}
