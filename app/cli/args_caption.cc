// Each option with its own reader of values.
#include "app/cli/args_caption.h"

#include <algorithm>
#include <utility>

#include "app/cli/args_values.h"
#include "app/engine/answerer.h"
#include "app/engine/captioner.h"
#include "app/engine/time_format.h"
#include "app/engine/utf8.h"

namespace longview::cli {
namespace {

Result<std::vector<CaptionFormat>> ParseFormats(std::string_view text) {
  std::vector<CaptionFormat> formats;
  LV_ASSIGN_OR_RETURN(const std::vector<std::string> names, SplitList(text));
  for (const std::string& name : names) {
    if (name == "all") return std::vector<CaptionFormat>(CaptionFormats().begin(), CaptionFormats().end());
    LV_ASSIGN_OR_RETURN(const CaptionFormat format, ParseCaptionFormat(name));
    if (std::find(formats.begin(), formats.end(), format) == formats.end()) formats.push_back(format);
  }
  return formats;
}

Result<CaptionShard> ParseShard(std::string_view text) {
  constexpr uint64_t kMaxShards = 1000000;
  const Status bad =
      InvalidArgument("'" + PrintableText(text) + "' is not a part: write I/N with I from 1 to N, as 2/8");
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return bad;
  const Result<uint64_t> index = ParseCount(text.substr(0, slash), kMaxShards);
  const Result<uint64_t> count = ParseCount(text.substr(slash + 1), kMaxShards);
  if (!index.ok() || !count.ok() || *index < 1 || *index > *count) return bad;
  return CaptionShard{static_cast<uint32_t>(*index), static_cast<uint32_t>(*count)};
}

Result<std::string> ParsePrompt(std::string_view text) {
  LV_RETURN_IF_ERROR(CheckWords(text, "the prompt"));
  return std::string(text);
}

// An option that may be given several times, one value each.
void AddRepeated(CLI::App* app, const std::string& name, std::vector<std::string>* target,
                 const std::string& description) {
  app->add_option_function<std::vector<std::string>>(
         name,
         [target](const std::vector<std::string>& words) {
           for (const std::string& word : words) target->push_back(WithoutMark(word));
         },
         description)
      ->check([](const std::string& word) { return word.empty() ? "the pattern is empty" : ""; })
      ->allow_extra_args(false)
      ->type_name("PATTERN");
}

}  // namespace

const char* CaptionFooter() {
  return "Examples:\n"
         "  longview caption ride.mp4\n"
         "  longview caption Archive -r --out Captions --format srt,jsonl,xmp\n"
         "  longview caption \"Archive/**/*.mkv\" --exclude \"*trailer*\" --dry-run\n"
         "  find . -name '*.mov' -print0 | longview caption --files-from - --jobs 2\n"
         "  longview caption Archive -r --shard 2/8\n"
         "The captions of film.mp4 are written to film.visual.en.srt beside it, or under --out. Two inputs of one "
         "folder "
         "with the\n"
         "same stem keep their extension: film.mp4.visual.en.srt. Formats: srt, vtt, jsonl, txt, csv; summary and "
         "chapters, made\n"
         "of the captions; edl and fcpxml, markers for editing programs; xmp, the summary as dc:description in the "
         "sidecar\n"
         "film.mp4.xmp or film.xmp, merged into what is there. In folders, files whose names begin with a dot are left "
         "out, links\n"
         "to files are followed and links to folders are not. Patterns know * ? [a-z] and ** for any folders. Each run "
         "leaves\n"
         "longview-manifest-<run>.json, and a hidden record in each folder by which the next run knows what is "
         "finished. "
         "A file\n"
         "that cannot be read is named, the others go on, and the exit code is 1.";
}

void AddCaptionOptions(CLI::App* app, CaptionArgs* caption) {
  app->add_flag("-r,--recursive", caption->recursive, "Also everything in the folders below");
  AddParsed<std::string>(app, "--files-from", &caption->files_from, ParseFolder, "FILE",
                         "Also the paths in this file, one a line or parted by NUL bytes; - is standard input");
  AddRepeated(app, "--include", &caption->include,
              "Only files whose name, or path below the folder given, matches; may be given several times");
  AddRepeated(app, "--exclude", &caption->exclude, "No files, and no folders, that match; may be given several times");
  CLI::Option* scenes = app->add_flag("--scenes")->description("One caption a scene (the default; not with --every)");
  AddParsed<double>(app, "--every", &caption->every_s, ParseDuration, "TIME",
                    "One caption every so long, as 10s or 1m, instead of one a scene")
      ->excludes(scenes);
  AddParsed<std::string>(app, "--prompt", &caption->prompt, ParsePrompt, "TEXT",
                         "A question asked of every segment, instead of what is seen");
  AddParsed<std::vector<CaptionFormat>>(app, "--format", &caption->formats, ParseFormats, "srt,vtt,...",
                                        "What to write, one or more with commas between, or all (default: srt)");
  AddParsed<std::string>(app, "--out", &caption->out, ParseFolder, "DIR",
                         "Write under this folder, mirroring the folders given");
  app->add_flag("--overwrite", caption->overwrite, "Write all anew, also over files that Longview did not write");
  CLI::Option* resume =
      app->add_flag("--resume")->description("Skip what is finished and go on where a run was stopped (the default)");
  app->add_flag_callback(
         "--no-resume", [caption] { caption->resume = false; },
         "Do not skip what an earlier run finished with the same model and settings")
      ->excludes(resume);
  AddParsed<int>(app, "--jobs", &caption->jobs, IntegerIn(1, 256), "N", "Files worked on at once (default: 1)");
  AddParsed<CaptionShard>(app, "--shard", &caption->shard, ParseShard, "I/N",
                          "Only the I-th of N parts of the inputs, the same whoever asks: for several machines");
  app->add_flag("--dry-run", caption->dry_run,
                "Write nothing; say what would be done, how long it takes and how large it gets");
  app->add_flag("--log-json", caption->log_json, "Progress and messages on stderr as JSON, one object a line");
}

CaptionOptions EngineOptionsOf(const Args& args) {
  CaptionOptions options;
  options.sampling = args.sampling;
  options.every_s = args.caption.every_s;
  options.prompt = args.caption.prompt;
  options.resume = args.caption.resume && !args.caption.overwrite;
  return options;
}

std::string CheckCaptionArgs(bool fps_given, Args* args) {
  const CaptionArgs& caption = args->caption;
  if (args->paths.empty() && caption.files_from.empty()) return "needs a video";
  if (const Status status = CheckCaption(EngineOptionsOf(*args)); !status.ok()) return "--every: " + status.message();
  if (caption.every_s > 0.0 && !fps_given && caption.every_s * args->sampling.fps < 1.0) {
    SamplingSettings wanted = args->sampling;
    wanted.fps = 1.0 / caption.every_s;
    if (const Status fits = CheckSampling(wanted); !fits.ok()) return fits.message();
    args->sampling = wanted;
  }
  return {};
}

}  // namespace longview::cli
