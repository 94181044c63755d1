// Turns as JSON.
#include "ui/conversation_store.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <algorithm>
#include <array>
#include <utility>

#include "app/engine/output_files.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

using State = Turn::State;

constexpr std::array<std::pair<State, const char*>, 3> kStates = {
    {{State::kDone, "done"}, {State::kStopped, "stopped"}, {State::kFailed, "failed"}}};

QJsonArray spans(const std::vector<Evidence>& moments) {
  QJsonArray all;
  for (const Evidence& moment : moments) {
    all << QJsonObject{
        {"video", toText(moment.video)}, {"start", moment.start}, {"end", moment.end}, {"weight", moment.weight}};
  }
  return all;
}

std::vector<Evidence> toSpans(const QJsonValue& value) {
  std::vector<Evidence> moments;
  for (const auto& item : value.toArray()) {
    const QJsonObject one = item.toObject();
    moments.push_back({one["video"].toString().toStdString(), one["start"].toDouble(), one["end"].toDouble(),
                       one["weight"].toDouble()});
  }
  return moments;
}

// The frames with most weight, in their own order.
std::vector<Evidence> heaviest(std::vector<Evidence> looked) {
  if (looked.size() <= kKeptFrames) return looked;
  std::vector<double> weights;
  weights.reserve(looked.size());
  for (const Evidence& frame : looked) weights.push_back(frame.weight);
  std::nth_element(weights.begin(), weights.begin() + kKeptFrames, weights.end(), std::greater<>());
  std::erase_if(looked, [least = weights[kKeptFrames]](const Evidence& frame) { return frame.weight <= least; });
  return looked;
}

QJsonObject toObject(const SamplingSettings& sampling) {
  return {{"fps", sampling.fps},
          {"scenes", sampling.scene_changes},
          {"max_frames", static_cast<double>(sampling.max_frames)},
          {"latent", sampling.latent},
          {"decode", toText(std::string(DecodingName(sampling.decoding)))}};
}

// What is missing or cannot be is as usual.
SamplingSettings toSampling(const QJsonObject& value) {
  SamplingSettings sampling;
  sampling.fps = value["fps"].toDouble(sampling.fps);
  sampling.scene_changes = value["scenes"].toBool(sampling.scene_changes);
  sampling.max_frames = static_cast<uint64_t>(std::clamp(value["max_frames"].toDouble(), 0.0, 1e15));
  sampling.latent = value["latent"].toInt();
  const auto decoding = ParseDecoding(value["decode"].toString().toStdString());
  if (decoding.ok()) sampling.decoding = *decoding;
  return CheckSampling(sampling).ok() ? sampling : SamplingSettings();
}

QJsonObject toObject(const Turn& turn) {
  QJsonObject object{{"question", turn.question},
                     {"prompt", turn.prompt},
                     {"videos", QJsonArray::fromStringList(turn.videos)},
                     {"sampling", toObject(turn.sampling)},
                     {"duration", turn.duration_s},
                     {"text", turn.text},
                     {"failure", turn.failure},
                     {"evidence", spans(turn.answer.evidence)},
                     {"looked", spans(heaviest(turn.answer.looked))},
                     {"read_until", turn.answer.read_until_s},
                     {"total_s", turn.answer.time.total_s},
                     {"mode", toText(turn.answer.cache.mode)},
                     {"store", toText(turn.answer.cache.store)},
                     {"bytes", static_cast<double>(turn.answer.cache.bytes)}};
  if (turn.range) object["range"] = QJsonArray{turn.range->start, turn.range->end};
  object["state"] = "stopped";
  for (const auto& [state, name] : kStates) {
    if (state == turn.state) object["state"] = name;
  }
  if (turn.kind == Turn::Kind::kChapters) {
    QJsonArray chapters;
    for (const CaptionEvent& event : turn.chapters) {
      chapters << QJsonObject{
          {"video", toText(event.video)}, {"start", event.start}, {"end", event.end}, {"text", toText(event.text)}};
    }
    object["chapters"] = chapters;
  }
  return object;
}

Turn toTurn(const QJsonObject& value) {
  Turn turn;
  turn.question = value["question"].toString();
  turn.prompt = value["prompt"].toString();
  for (const auto& video : value["videos"].toArray()) turn.videos << video.toString();
  turn.sampling = toSampling(value["sampling"].toObject());
  turn.duration_s = value["duration"].toDouble();
  turn.text = value["text"].toString();
  turn.failure = value["failure"].toString();
  turn.answer.text = turn.text.toStdString();
  turn.answer.evidence = toSpans(value["evidence"]);
  turn.answer.looked = toSpans(value["looked"]);
  turn.answer.read_until_s = value["read_until"].toDouble();
  turn.answer.time.total_s = value["total_s"].toDouble();
  turn.answer.cache.mode = value["mode"].toString().toStdString();
  turn.answer.cache.store = value["store"].toString().toStdString();
  turn.answer.cache.bytes = static_cast<uint64_t>(std::max(0.0, value["bytes"].toDouble()));
  if (const QJsonArray range = value["range"].toArray(); range.size() == 2) {
    turn.range = TimeSpan{range[0].toDouble(), range[1].toDouble()};
  }
  turn.state = State::kStopped;
  for (const auto& [state, name] : kStates) {
    if (value["state"].toString() == QLatin1String(name)) turn.state = state;
  }
  if (value["chapters"].isArray()) {
    turn.kind = Turn::Kind::kChapters;
    for (const auto& item : value["chapters"].toArray()) {
      const QJsonObject event = item.toObject();
      turn.chapters.push_back({event["video"].toString().toStdString(), event["start"].toDouble(),
                               event["end"].toDouble(), event["text"].toString().toStdString()});
    }
  }
  return turn;
}

}  // namespace

QByteArray turnsToJson(const std::vector<Turn>& turns) {
  QJsonArray all;
  const size_t first = turns.size() > kKeptTurns ? turns.size() - kKeptTurns : 0;
  for (size_t i = first; i < turns.size(); ++i) all << toObject(turns[i]);
  return QJsonDocument(QJsonObject{{"turns", all}}).toJson(QJsonDocument::Compact);
}

std::vector<Turn> turnsFromJson(const QByteArray& bytes) {
  std::vector<Turn> turns;
  for (const auto& value : QJsonDocument::fromJson(bytes)["turns"].toArray()) {
    Turn turn = toTurn(value.toObject());
    if (!turn.question.isEmpty() && !turn.videos.isEmpty() && turns.size() < kKeptTurns) {
      turns.push_back(std::move(turn));
    }
  }
  return turns;
}

Status TurnFile::save(quint64 number, const QByteArray& json) {
  const std::scoped_lock lock(mutex_);
  if (number < written_) return Status::Ok();
  QDir().mkpath(QFileInfo(file_).path());
  LV_RETURN_IF_ERROR(WriteFileAtomically(toPath(file_), json.toStdString()));
  written_ = number;
  return Status::Ok();
}

std::vector<Turn> loadTurns(const QString& file) {
  QFile kept(file);
  return kept.open(QIODevice::ReadOnly) ? turnsFromJson(kept.readAll()) : std::vector<Turn>();
}

}  // namespace longview::ui
