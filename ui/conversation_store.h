// Conversations kept between runs, as one JSON file: pure functions from turns to bytes and back, and the file itself.
#ifndef LONGVIEW_UI_CONVERSATION_STORE_H_
#define LONGVIEW_UI_CONVERSATION_STORE_H_

#include <QByteArray>
#include <QString>
#include <vector>

#include "core/base/status.h"
#include "ui/conversation.h"

namespace longview::ui {

// The latest kKeptTurns turns; of the frames that each looked at the kKeptFrames with most weight.
inline constexpr int kKeptTurns = 50;
inline constexpr int kKeptFrames = 256;
QByteArray turnsToJson(const std::vector<Turn>& turns);
// What was still being answered comes back as stopped. Empty where the bytes are no conversation.
std::vector<Turn> turnsFromJson(const QByteArray& bytes);

// Writes the file whole or not at all, and makes its folder. kIo names the file.
Status saveTurns(const QString& file, const QByteArray& json);
// Empty where there is no such file.
std::vector<Turn> loadTurns(const QString& file);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_CONVERSATION_STORE_H_
