// The reference's answers, and every mode run over the same tokens.
#include "app/engine/comparer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "app/engine/memory_report.h"
#include "attention/decoder/chat_prompt.h"
#include "attention/decoder/kv_cache.h"
#include "attention/decoder/text_generator.h"
#include "core/base/clock.h"

namespace longview {
namespace {

// What the reference answers to each question: together 208 tokens. Its end mark is not chosen before.
constexpr size_t kAnswerTokens = 26;
// Further tokens that are timed one by one after each question's first.
constexpr size_t kTimedTokens = 2;
// Of the memory that is free, what a row may take: the rest is the system's and the decoder's.
constexpr double kMemoryShare = 0.8;

double Median(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(middle), values.end());
  return values[middle];
}

size_t Largest(std::span<const float> values) {
  return static_cast<size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// log of the sum of exp.
double LogSum(std::span<const float> logits) {
  const float high = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (const float v : logits) sum += static_cast<double>(std::exp(v - high));
  return static_cast<double>(high) + std::log(sum);
}

uint64_t MemoryLimit(const CompareOptions& options) {
  if (options.memory_bytes > 0) return options.memory_bytes;
  return static_cast<uint64_t>(kMemoryShare * static_cast<double>(AvailableMemory()));
}

// One question and what the reference said to it.
struct Question {
  ChatPrompt prompt;
  KvCache before;                // of the prompt's tokens that cross-attention does not act on: the same for every mode
  std::vector<int32_t> answer;   // [kAnswerTokens]
  std::vector<int32_t> inputs;   // what is read to predict the answer: the prompt's last token, the answer but its last
  std::vector<float> reference;  // logits [kAnswerTokens, vocabulary]
};

struct Quality {
  double nll = 0.0, kl = 0.0, agreement = 0.0;
};

struct Speed {
  double first_token_s = 0.0, token_s = 0.0;
};

class Comparer {
 public:
  Comparer(const Session::Parts& parts, const SessionVideo& video, const JobContext& job)
      : parts_(parts), video_(video), job_(job) {}

  Result<CompareReport> Run(const CompareOptions& options, const CompareRowSink& on_row);
  Result<std::vector<CompareRow>> Predict(const CompareOptions& options) const;

 private:
  Result<CachePlan> Plan(const CompareRow& row) const;
  Result<std::shared_ptr<const Session>> Load(CachePlan plan) const;
  Status AskReference();
  Result<std::vector<CompareRow>> Rows(const CompareOptions& options) const;
  Result<CachePlan> PredictRow(CompareRow* row, const CompareOptions& options) const;
  Status FillRow(CompareRow* row, const CompareOptions& options);
  Result<std::unique_ptr<CrossBlocks>> Hook(const Session& session, CrossBlocksOptions options) const;
  Result<ForwardResult> Forward(std::span<const int32_t> tokens, size_t hook_from, LayerHook* hook,
                                ForwardCall::Logits logits, KvCache* kv) const;
  Result<Quality> MeasureQuality(const Session& session, const CrossBlocksOptions& options) const;
  Result<Speed> MeasureSpeed(const Session& session, const CrossBlocksOptions& options) const;
  Status MeasureLayerCuts(CompareReport* report) const;
  void Tell(double rows) const {
    if (job_.progress) job_.progress({rows, total_});
  }

  const Session::Parts& parts_;
  const SessionVideo& video_;
  const JobContext& job_;
  double total_ = 0.0;
  std::shared_ptr<const Session> latents_;  // mla in bf16, as the index has them: what the reference expands
  std::vector<Question> questions_;
  std::vector<size_t> layer_cuts_;
};

void AddQuality(std::span<const float> logits, std::span<const float> reference, int32_t token, Quality* sums) {
  const double norm = LogSum(logits), reference_norm = LogSum(reference);
  double kl = 0.0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double log_p = static_cast<double>(reference[i]) - reference_norm;
    kl += std::exp(log_p) * (log_p - (static_cast<double>(logits[i]) - norm));
  }
  sums->kl += kl;
  sums->nll += norm - static_cast<double>(logits[static_cast<size_t>(token)]);
  sums->agreement += Largest(logits) == Largest(reference) ? 1.0 : 0.0;
}

Result<CachePlan> Comparer::Plan(const CompareRow& row) const {
  CacheOptions options;
  options.mode = row.mode;
  options.store = row.store;
  options.groups = row.groups;
  options.latent = row.latent == 0 ? static_cast<int>(parts_.bridge->config.d_c) : row.latent;
  return PlanCache(*parts_.bridge, {video_}, options, job_.stop);
}

Result<std::shared_ptr<const Session>> Comparer::Load(CachePlan plan) const {
  return Session::Load(parts_, {video_}, std::move(plan), job_.stop);
}

Result<std::unique_ptr<CrossBlocks>> Comparer::Hook(const Session& session, CrossBlocksOptions options) const {
  options.collect_evidence = false;
  std::vector<size_t> frames(session.frames().size());
  std::iota(frames.begin(), frames.end(), size_t{0});
  return session.Attend(frames, std::move(options), parts_.pool);
}

Result<ForwardResult> Comparer::Forward(std::span<const int32_t> tokens, size_t hook_from, LayerHook* hook,
                                        ForwardCall::Logits logits, KvCache* kv) const {
  ForwardCall call;
  call.tokens = tokens;
  call.hook = hook;
  call.hook_from = hook_from;
  call.logits = logits;
  call.stop = job_.stop;
  return parts_.text.decoder->Forward(call, kv, parts_.pool);
}

// The answers token by token, then the logits of all their positions in one pass, as every mode is run.
Status Comparer::AskReference() {
  CrossBlocksOptions options;
  options.reference = true;
  LV_ASSIGN_OR_RETURN(const auto hook, Hook(*latents_, options));
  const std::vector<int32_t> ends = EndTokens(*parts_.text.tokenizer);
  for (const std::string_view text : CompareQuestions()) {
    Question question;
    LV_ASSIGN_OR_RETURN(question.prompt, MakeQuestionPrompt(*parts_.text.tokenizer, text, true));
    const size_t from = question.prompt.cross_from;
    const std::span<const int32_t> prompt(question.prompt.tokens);
    LV_RETURN_IF_ERROR(
        Forward(prompt.first(from), from, nullptr, ForwardCall::Logits::kNone, &question.before).status());
    question.inputs.assign(prompt.begin() + static_cast<ptrdiff_t>(from), prompt.end());
    KvCache kv = question.before.Clone();
    while (question.answer.size() < kAnswerTokens) {
      LV_ASSIGN_OR_RETURN(ForwardResult step, Forward(std::span(question.inputs).last(1), from, hook.get(),
                                                      ForwardCall::Logits::kLast, &kv));
      for (const int32_t end : ends) step.logits[static_cast<size_t>(end)] = -HUGE_VALF;
      question.answer.push_back(static_cast<int32_t>(Largest(step.logits)));
      if (question.answer.size() < kAnswerTokens) question.inputs.push_back(question.answer.back());
      const double done = static_cast<double>(questions_.size() * kAnswerTokens + question.answer.size());
      Tell(done / static_cast<double>(CompareQuestions().size() * kAnswerTokens));
    }
    kv = question.before.Clone();
    LV_ASSIGN_OR_RETURN(ForwardResult all, Forward(question.inputs, from, hook.get(), ForwardCall::Logits::kAll, &kv));
    question.reference = std::move(all.logits);
    questions_.push_back(std::move(question));
  }
  return Status::Ok();
}

Result<Quality> Comparer::MeasureQuality(const Session& session, const CrossBlocksOptions& options) const {
  LV_ASSIGN_OR_RETURN(const auto hook, Hook(session, options));
  Quality sums;
  const size_t vocabulary = parts_.text.decoder->config().vocabulary;
  for (const Question& question : questions_) {
    KvCache kv = question.before.Clone();
    LV_ASSIGN_OR_RETURN(const ForwardResult all, Forward(question.inputs, question.prompt.cross_from, hook.get(),
                                                         ForwardCall::Logits::kAll, &kv));
    // One a position, added in order: sums do not depend on the threads.
    std::vector<Quality> positions(kAnswerTokens);
    parts_.pool->ParallelFor(kAnswerTokens, [&](size_t first, size_t last, int) {
      for (size_t i = first; i < last; ++i) {
        AddQuality(std::span(all.logits).subspan(i * vocabulary, vocabulary),
                   std::span(question.reference).subspan(i * vocabulary, vocabulary), question.answer[i],
                   &positions[i]);
      }
    });
    for (const Quality& q : positions) {
      sums.nll += q.nll;
      sums.kl += q.kl;
      sums.agreement += q.agreement;
    }
  }
  const auto count = static_cast<double>(questions_.size() * kAnswerTokens);
  // KL is 0 or more; what rounding leaves below is none.
  return Quality{sums.nll / count, std::max(0.0, sums.kl / count), sums.agreement / count};
}

// As `ask` reads a question: the whole prompt to the first token, then tokens one by one.
Result<Speed> Comparer::MeasureSpeed(const Session& session, const CrossBlocksOptions& options) const {
  LV_ASSIGN_OR_RETURN(const auto hook, Hook(session, options));
  std::vector<double> firsts, others;
  for (const Question& question : questions_) {
    KvCache kv;
    const size_t from = question.prompt.cross_from;
    Clock::time_point started = Clock::now();
    LV_RETURN_IF_ERROR(Forward(question.prompt.tokens, from, hook.get(), ForwardCall::Logits::kLast, &kv).status());
    firsts.push_back(SecondsSince(started));
    for (size_t i = 0; i < kTimedTokens; ++i) {
      started = Clock::now();
      LV_RETURN_IF_ERROR(
          Forward(std::span(question.answer).subspan(i, 1), from, hook.get(), ForwardCall::Logits::kLast, &kv)
              .status());
      others.push_back(SecondsSince(started));
    }
  }
  return Speed{Median(std::move(firsts)), Median(std::move(others))};
}

Result<CachePlan> Comparer::PredictRow(CompareRow* row, const CompareOptions& options) const {
  const BridgeConfig& config = parts_.bridge->config;
  LV_ASSIGN_OR_RETURN(CachePlan plan, Plan(*row));
  const bool by_frame = row->latent == kLatentAuto;
  // Where every frame keeps the same, the formula says it; what is allocated is held against that.
  row->predicted_bytes =
      by_frame ? plan.bytes
               : plan.tokens * CacheBytesPerToken(plan.form.mode, plan.form.store, FormShape(config, plan.form));
  row->bytes_per_token = static_cast<double>(row->predicted_bytes) / static_cast<double>(plan.tokens);
  for (size_t i = 0; i < kCompareHours.size(); ++i) {
    double frames = options.sampling.fps * 3600.0 * kCompareHours[i];
    if (options.sampling.max_frames > 0) frames = std::min(frames, static_cast<double>(options.sampling.max_frames));
    row->hours_bytes[i] =
        static_cast<uint64_t>(frames * static_cast<double>(config.tokens_per_frame()) * row->bytes_per_token);
  }
  if (row->mode == "gqa" || row->mode == "mqa") row->note = "the means of the heads' keys and values";
  return plan;
}

Status Comparer::FillRow(CompareRow* row, const CompareOptions& options) {
  LV_ASSIGN_OR_RETURN(CachePlan plan, PredictRow(row, options));
  if (plan.form.mode == CacheMode::kMlaLayers) layer_cuts_ = plan.form.layer_cuts;
  if (plan.bytes > MemoryLimit(options)) {
    row->note = "does not fit into the memory that is free";
    return Status::Ok();
  }
  LV_ASSIGN_OR_RETURN(const auto session, Load(std::move(plan)));
  LV_ASSIGN_OR_RETURN(const Quality quality, MeasureQuality(*session, {}));
  LV_ASSIGN_OR_RETURN(const Speed speed, MeasureSpeed(*session, {}));
  row->measured = true;
  row->bytes = session->Stats().bytes;
  row->first_token_s = speed.first_token_s;
  row->token_s = speed.token_s;
  row->nll = quality.nll;
  row->kl = quality.kl;
  row->agreement = quality.agreement;
  return Status::Ok();
}

// What the layers' cuts do where one latent is shared: each layer reads its first numbers only.
Status Comparer::MeasureLayerCuts(CompareReport* report) const {
  for (const size_t cut : layer_cuts_) report->layer_cuts.push_back(static_cast<int>(cut));
  if (layer_cuts_.empty()) return Status::Ok();
  CrossBlocksOptions options;
  options.form.layer_cuts = layer_cuts_;
  LV_ASSIGN_OR_RETURN(const Quality quality, MeasureQuality(*latents_, options));
  LV_ASSIGN_OR_RETURN(const Speed speed, MeasureSpeed(*latents_, options));
  report->layer_cuts_kl = quality.kl;
  report->layer_cuts_token_s = speed.token_s;
  return Status::Ok();
}

// What auto latents save in each storage type against fixed ones of the same NLL.
std::vector<CompareReport::Saving> AutoSavings(const std::vector<CompareRow>& rows) {
  std::vector<CompareReport::Saving> savings;
  for (const CompareRow& row : rows) {
    if (row.latent != kLatentAuto || !row.nll) continue;
    std::vector<std::pair<double, double>> fixed;
    for (const CompareRow& other : rows) {
      if (other.mode == "mla" && other.store == row.store && other.latent > 0 && other.nll) {
        fixed.emplace_back(other.bytes_per_token, *other.nll);
      }
    }
    std::sort(fixed.begin(), fixed.end());
    const std::optional<double> same = BytesAtNll(fixed, *row.nll);
    if (same) savings.push_back({row.store, 1.0 - row.bytes_per_token / *same});
  }
  return savings;
}

Result<std::vector<CompareRow>> Comparer::Rows(const CompareOptions& options) const {
  const BridgeConfig& config = parts_.bridge->config;
  CacheForm pooled;
  pooled.mode = CacheMode::kGqa;
  pooled.groups = static_cast<size_t>(options.groups);
  LV_RETURN_IF_ERROR(CheckForm(config, pooled));
  return CompareRows(options, static_cast<int>(config.cache_shape().groups));
}

Result<std::vector<CompareRow>> Comparer::Predict(const CompareOptions& options) const {
  LV_ASSIGN_OR_RETURN(std::vector<CompareRow> rows, Rows(options));
  for (CompareRow& row : rows) LV_RETURN_IF_ERROR(PredictRow(&row, options).status());
  return rows;
}

Result<CompareReport> Comparer::Run(const CompareOptions& options, const CompareRowSink& on_row) {
  CompareReport report;
  LV_ASSIGN_OR_RETURN(std::vector<CompareRow> rows, Rows(options));
  total_ = static_cast<double>(rows.size() + 1);
  CompareRow latents;
  latents.mode = "mla";
  latents.store = "bf16";
  LV_ASSIGN_OR_RETURN(CachePlan plan, Plan(latents));
  report.frames = video_.index->frames();
  report.tokens = plan.tokens;
  if (plan.bytes > MemoryLimit(options)) {
    return ResourceError("not even the latents of " + video_.name + " fit into the memory that is free");
  }
  LV_ASSIGN_OR_RETURN(latents_, Load(std::move(plan)));
  LV_RETURN_IF_ERROR(AskReference());
  report.answer_tokens = questions_.size() * kAnswerTokens;
  const size_t vocabulary = parts_.text.decoder->config().vocabulary;
  for (const Question& question : questions_) {
    for (size_t i = 0; i < kAnswerTokens; ++i) {
      const auto logits = std::span(question.reference).subspan(i * vocabulary, vocabulary);
      report.reference_nll += LogSum(logits) - static_cast<double>(logits[static_cast<size_t>(question.answer[i])]);
    }
  }
  report.reference_nll /= static_cast<double>(report.answer_tokens);
  for (CompareRow& row : rows) {
    LV_RETURN_IF_ERROR(FillRow(&row, options));
    report.rows.push_back(row);
    if (on_row) on_row(row);
    Tell(1.0 + static_cast<double>(report.rows.size()));
  }
  LV_RETURN_IF_ERROR(MeasureLayerCuts(&report));
  MarkPareto(&report.rows);
  report.auto_savings = AutoSavings(report.rows);
  return report;
}

}  // namespace

std::span<const std::string_view> CompareQuestions() {
  static constexpr std::array<std::string_view, 8> kQuestions = {"What is in this video?",
                                                                 "Describe this moment.",
                                                                 "Who is in the picture, and what are they doing?",
                                                                 "Where does this take place?",
                                                                 "Which colours stand out?",
                                                                 "What is in front, and what is behind it?",
                                                                 "What happens first, and what happens after that?",
                                                                 "Is there an animal or a vehicle, and which?"};
  return kQuestions;
}

Result<CompareReport> CompareModes(const Session::Parts& parts, const SessionVideo& video,
                                   const CompareOptions& options, const JobContext& job, const CompareRowSink& on_row) {
  return Comparer(parts, video, job).Run(options, on_row);
}

Result<std::vector<CompareRow>> PredictModes(const Session::Parts& parts, const SessionVideo& video,
                                             const CompareOptions& options, const JobContext& job) {
  return Comparer(parts, video, job).Predict(options);
}

}  // namespace longview
