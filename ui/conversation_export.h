// A conversation and its evidence as files for other programs: pure functions from turns to text.
#ifndef LONGVIEW_UI_CONVERSATION_EXPORT_H_
#define LONGVIEW_UI_CONVERSATION_EXPORT_H_

#include <QByteArray>
#include <QString>
#include <vector>

#include "app/engine/events.h"
#include "ui/conversation.h"

namespace longview::ui {

// Markdown: a heading a question, the answer, a list of the moments with times and shares; UTF-8. Text of answers and
// names is escaped, so that it stays text.
QByteArray toMarkdown(const std::vector<Turn>& turns);

// The moments in the order given, all of `film`, as an edit list (WriteCutEdl).
QByteArray toEdl(const std::vector<Evidence>& moments, const MediaInfo& film);

// SubRip of the finished turns about `video`: chapters as they are, questions with their answers over the moments that
// these drew on. Cues do not overlap; where several texts are over a part of the film, its cue has all of them.
QByteArray toSrt(const std::vector<Turn>& turns, const QString& video);

// The moments that an answer drew on, cut to the range that was asked about: a frame may have begun before it.
std::vector<Evidence> momentsOf(const Turn& turn);

// Evidence of finished turns about `video`, in order of time, equal spans once.
std::vector<Evidence> momentsOf(const std::vector<Turn>& turns, const QString& video);

}  // namespace longview::ui

#endif  // LONGVIEW_UI_CONVERSATION_EXPORT_H_
