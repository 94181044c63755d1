// Conversations kept between runs, as one JSON file: pure functions from turns to bytes and back, and the file itself.
#ifndef LONGVIEW_UI_CONVERSATION_STORE_H_
#define LONGVIEW_UI_CONVERSATION_STORE_H_

#include <QByteArray>
#include <QString>
#include <QStringList>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/status.h"
#include "ui/conversation.h"

namespace longview::ui {

// The latest kKeptTurns turns; of the frames that each looked at the kKeptFrames with most weight.
inline constexpr int kKeptTurns = 50;
inline constexpr int kKeptFrames = 256;
QByteArray turnsToJson(const std::vector<Turn>& turns);
// What a file that holds `kept` is to hold after a window saves its `own` turns and wants the `forgotten` gone: turns
// of other windows stay, one of both is as this window has it, all in the order in which they were asked.
QByteArray mergedTurns(const QByteArray& kept, const QByteArray& own, const QStringList& forgotten);
// What was still being answered comes back as stopped. Empty where the bytes are no conversation.
std::vector<Turn> turnsFromJson(const QByteArray& bytes);

// The file that windows keep their turns in, one program beside another. Written from several threads; what is older of
// this window never replaces what is newer.
class TurnFile {
 public:
  explicit TurnFile(QString file) : file_(std::move(file)) {}
  // What a window has to save.
  struct Changes {
    quint64 number = 0;  // grows
    QByteArray own;      // turnsToJson of the turns that were asked in this window
    QStringList forgotten;
  };
  Changes changesOf(const Conversation& conversation);
  // Writes the file whole or not at all, and makes its folder; does nothing where a higher number was written. Others'
  // turns stay. kIo names the file.
  Status save(const Changes& changes);

 private:
  QString file_;
  std::mutex mutex_;
  quint64 given_ = 0;
  quint64 written_ = 0;
};
// Empty where there is no such file.
std::vector<Turn> loadTurns(const QString& file);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_CONVERSATION_STORE_H_
