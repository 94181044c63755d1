// AppSettings: what the window remembers between runs, with a type and a default for each.
#ifndef LONGVIEW_UI_APP_SETTINGS_H_
#define LONGVIEW_UI_APP_SETTINGS_H_

#include <QByteArray>
#include <QSettings>
#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>

#include "app/engine/engine.h"
#include "app/engine/settings.h"

namespace longview::ui {

enum class Theme { kSystem, kLight, kDark };

class AppSettings {
 public:
  // The person's own file under the XDG config home.
  AppSettings();
  // Another file, for tests.
  explicit AppSettings(const QString& file);

  QString language() const;  // "en", "zh_CN"; empty: the system's
  void setLanguage(const QString& language);
  Theme theme() const;
  void setTheme(Theme theme);

  // How videos are read and held.
  SamplingSettings sampling() const;
  void setSampling(const SamplingSettings& sampling);
  CacheOptions cache() const;
  void setCache(const CacheOptions& cache);
  Scope scope() const;
  void setScope(Scope scope);
  // Puts the remembered threads, device and cache folder into `options` where the caller named none.
  void fill(EngineOptions* options) const;
  int threads() const;
  void setThreads(int threads);
  QString device() const;
  void setDevice(const QString& device);
  QString libraryFolder() const;  // empty: the default
  void setLibraryFolder(const QString& folder);
  uint64_t cacheLimitBytes() const;  // 0: none
  void setCacheLimitBytes(uint64_t bytes);

  // Videos, the latest first; at most kRecent.
  static constexpr int kRecent = 30;
  QStringList recent() const;
  void addRecent(const QString& path);
  void removeRecent(const QString& path);
  // Every film of the list, in its order, whether anything of it was read or not.
  QStringList listed() const;
  void setListed(const QString& path, bool listed);
  // The films that are to be read, in their order.
  QStringList queue() const;
  void setQueue(const QStringList& paths);
  // Films that were taken off the list: what the engine knows of them brings them back no more.
  bool hidden(const QString& path) const;
  void setHidden(const QString& path, bool hidden);

  // The film that was open when the window closed; empty where there was none.
  QString openVideo() const;
  void setOpenVideo(const QString& path);
  // Where the conversation is kept: beside this file.
  QString conversationFile() const;

  double lastPosition(const QString& path) const;  // seconds; 0 where none is known
  void setLastPosition(const QString& path, double seconds);

  QByteArray layout(const QString& name) const;
  void setLayout(const QString& name, const QByteArray& state);
  int volume() const;  // 0..100
  void setVolume(int volume);

 private:
  std::unique_ptr<QSettings> store_;
};

}  // namespace longview::ui

#endif  // LONGVIEW_UI_APP_SETTINGS_H_
