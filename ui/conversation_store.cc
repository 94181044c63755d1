// Turns as JSON.
#include "ui/conversation_store.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "app/engine/output_files.h"
#include "ui/format.h"

namespace longview::ui {
namespace {

using State = Turn::State;

// Another window holds the file for some ms at most.
constexpr int kLockWait_ms = 2000;

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

QJsonArray names(const std::vector<LeftOut>& videos) {
  QJsonArray all;
  for (const LeftOut& video : videos) {
    all << QJsonObject{{"video", toText(video.video)}, {"cause", static_cast<int>(video.cause)}};
  }
  return all;
}

std::vector<LeftOut> toLeftOut(const QJsonValue& value) {
  std::vector<LeftOut> videos;
  for (const auto& item : value.toArray()) {
    LeftOut& one = videos.emplace_back();
    one.video = item.toObject()["video"].toString().toStdString();
    const int cause = item.toObject()["cause"].toInt();
    if (cause == static_cast<int>(LeftOut::Cause::kFailed)) one.cause = LeftOut::Cause::kFailed;
    if (cause == static_cast<int>(LeftOut::Cause::kGone)) one.cause = LeftOut::Cause::kGone;
  }
  return videos;
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
  QJsonObject object{{"id", turn.id},
                     {"question", turn.question},
                     {"prompt", turn.prompt},
                     {"videos", QJsonArray::fromStringList(turn.videos)},
                     {"sampling", toObject(turn.sampling)},
                     {"duration", turn.duration_s},
                     {"text", turn.text},
                     {"failure", turn.failure},
                     {"evidence", spans(turn.answer.evidence)},
                     {"looked", spans(heaviest(turn.answer.looked))},
                     {"left_out", names(turn.answer.left_out)},
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
  turn.id = value["id"].toString();
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
  turn.answer.left_out = toLeftOut(value["left_out"]);
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

// The turns of a file. Those that were kept before turns had ids get one by their place, the same in every window.
std::vector<QJsonObject> objectsOf(const QByteArray& bytes) {
  std::vector<QJsonObject> turns;
  for (const auto& value : QJsonDocument::fromJson(bytes)["turns"].toArray()) {
    QJsonObject turn = value.toObject();
    if (turn["id"].toString().isEmpty()) turn["id"] = QStringLiteral("0-%1").arg(turns.size(), 4, 10, QLatin1Char('0'));
    turns.push_back(std::move(turn));
  }
  return turns;
}

QByteArray toBytes(const std::vector<QJsonObject>& turns) {
  QJsonArray all;
  for (const QJsonObject& turn : turns) all << turn;
  return QJsonDocument(QJsonObject{{"turns", all}}).toJson(QJsonDocument::Compact);
}

QByteArray contentOf(const QString& name) {
  QFile file(name);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

QByteArray turnsToJson(const std::vector<Turn>& turns) {
  std::vector<QJsonObject> all;
  const size_t first = turns.size() > kKeptTurns ? turns.size() - kKeptTurns : 0;
  for (size_t i = first; i < turns.size(); ++i) all.push_back(toObject(turns[i]));
  return toBytes(all);
}

QByteArray mergedTurns(const QByteArray& kept, const QByteArray& own, const QStringList& forgotten) {
  // Ordered by their ids, which begin with the time.
  std::map<QString, QJsonObject> turns;
  for (const QByteArray& bytes : {kept, own}) {
    for (QJsonObject& turn : objectsOf(bytes)) turns[turn["id"].toString()] = std::move(turn);
  }
  for (const QString& id : forgotten) turns.erase(id);
  std::vector<QJsonObject> all;
  auto turn = turns.begin();
  if (turns.size() > kKeptTurns) std::advance(turn, turns.size() - kKeptTurns);
  for (; turn != turns.end(); ++turn) all.push_back(turn->second);
  return toBytes(all);
}

std::vector<Turn> turnsFromJson(const QByteArray& bytes) {
  std::vector<Turn> turns;
  for (const QJsonObject& value : objectsOf(bytes)) {
    Turn turn = toTurn(value);
    if (!turn.question.isEmpty() && !turn.videos.isEmpty() && turns.size() < kKeptTurns) {
      turns.push_back(std::move(turn));
    }
  }
  return turns;
}

TurnFile::Changes TurnFile::changesOf(const Conversation& conversation) {
  std::vector<QJsonObject> own;
  for (const Turn& turn : conversation.turns()) {
    if (turn.own) own.push_back(toObject(turn));
  }
  return {++given_, toBytes(own), conversation.forgotten()};
}

Status TurnFile::save(const Changes& changes) {
  const std::scoped_lock lock(mutex_);
  if (changes.number < written_) return Status::Ok();
  QDir().mkpath(QFileInfo(file_).path());
  // Another window may be saving at this moment: what it writes between our reading and our writing would be lost.
  QLockFile others(file_ + QStringLiteral(".lock"));
  if (!others.tryLock(kLockWait_ms) && others.error() == QLockFile::LockFailedError) {
    return IoError(toPath(file_).string() + ": is being written by another window; the conversation was not saved");
  }
  const QByteArray all = mergedTurns(contentOf(file_), changes.own, changes.forgotten);
  LV_RETURN_IF_ERROR(WriteFileAtomically(toPath(file_), all.toStdString()));
  written_ = changes.number;
  return Status::Ok();
}

std::vector<Turn> loadTurns(const QString& file) { return turnsFromJson(contentOf(file)); }

}  // namespace longview::ui
