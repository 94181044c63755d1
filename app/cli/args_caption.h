// The options of `longview caption`, which has more of them than any other command.
#ifndef LONGVIEW_APP_CLI_ARGS_CAPTION_H_
#define LONGVIEW_APP_CLI_ARGS_CAPTION_H_

#include <CLI/CLI.hpp>

#include "app/cli/args.h"

namespace longview::cli {

// Adds them to the command; parsing writes into *caption, which outlives `app`.
void AddCaptionOptions(CLI::App* app, CaptionArgs* caption);
// The examples and remarks below the command's help.
const char* CaptionFooter();
// With `--every` below the time between two samples, and no --fps given, the film is sampled as often as it is
// captioned. Empty, or what is wrong with values that are each right but not together.
std::string CheckCaptionArgs(bool fps_given, Args* args);

}  // namespace longview::cli

#endif  // LONGVIEW_APP_CLI_ARGS_CAPTION_H_
