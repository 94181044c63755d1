// Keys and defaults.
#include "ui/app_settings.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>
#include <algorithm>

#include "ui/format.h"

namespace longview::ui {
namespace {

// A name for a path that an ini file takes whatever the path holds.
QString keyOf(const QString& path) {
  return QStringLiteral("position/") +
         QString::fromLatin1(QCryptographicHash::hash(path.toUtf8(), QCryptographicHash::Sha1).toHex());
}

}  // namespace

AppSettings::AppSettings()
    : store_(std::make_unique<QSettings>(QSettings::IniFormat, QSettings::UserScope, QStringLiteral("longview"),
                                         QStringLiteral("longview"))) {}

AppSettings::AppSettings(const QString& file) : store_(std::make_unique<QSettings>(file, QSettings::IniFormat)) {}

QString AppSettings::language() const { return store_->value(QStringLiteral("language")).toString(); }
void AppSettings::setLanguage(const QString& language) { store_->setValue(QStringLiteral("language"), language); }

Theme AppSettings::theme() const {
  const QString name = store_->value(QStringLiteral("theme")).toString();
  if (name == QLatin1String("light")) return Theme::kLight;
  return name == QLatin1String("dark") ? Theme::kDark : Theme::kSystem;
}

void AppSettings::setTheme(Theme theme) {
  const char* name = theme == Theme::kLight ? "light" : theme == Theme::kDark ? "dark" : "system";
  store_->setValue(QStringLiteral("theme"), QString::fromLatin1(name));
}

SamplingSettings AppSettings::sampling() const {
  SamplingSettings sampling;
  sampling.fps = store_->value(QStringLiteral("sampling/fps"), sampling.fps).toDouble();
  sampling.scene_changes = store_->value(QStringLiteral("sampling/scenes"), sampling.scene_changes).toBool();
  sampling.max_frames = store_->value(QStringLiteral("sampling/max_frames"), 0).toULongLong();
  sampling.latent = store_->value(QStringLiteral("sampling/latent"), 0).toInt();
  const auto decoding = ParseDecoding(store_->value(QStringLiteral("sampling/decode")).toString().toStdString());
  if (decoding.ok()) sampling.decoding = *decoding;
  return CheckSampling(sampling).ok() ? sampling : SamplingSettings();
}

void AppSettings::setSampling(const SamplingSettings& sampling) {
  store_->setValue(QStringLiteral("sampling/fps"), sampling.fps);
  store_->setValue(QStringLiteral("sampling/scenes"), sampling.scene_changes);
  store_->setValue(QStringLiteral("sampling/max_frames"), QVariant::fromValue<qulonglong>(sampling.max_frames));
  store_->setValue(QStringLiteral("sampling/latent"), sampling.latent);
  store_->setValue(QStringLiteral("sampling/decode"), toText(std::string(DecodingName(sampling.decoding))));
}

CacheOptions AppSettings::cache() const {
  CacheOptions cache;
  cache.mode = store_->value(QStringLiteral("cache/mode"), toText(cache.mode)).toString().toStdString();
  cache.store = store_->value(QStringLiteral("cache/store"), toText(cache.store)).toString().toStdString();
  cache.latent = store_->value(QStringLiteral("cache/latent"), cache.latent).toInt();
  cache.groups = store_->value(QStringLiteral("cache/groups"), cache.groups).toInt();
  return CheckCache(cache).ok() ? cache : CacheOptions();
}

void AppSettings::setCache(const CacheOptions& cache) {
  store_->setValue(QStringLiteral("cache/mode"), toText(cache.mode));
  store_->setValue(QStringLiteral("cache/store"), toText(cache.store));
  store_->setValue(QStringLiteral("cache/latent"), cache.latent);
  store_->setValue(QStringLiteral("cache/groups"), cache.groups);
}

Scope AppSettings::scope() const {
  const auto scope = ParseScope(store_->value(QStringLiteral("scope")).toString().toStdString());
  return scope.ok() ? *scope : Scope::kFocus;
}

void AppSettings::setScope(Scope scope) {
  store_->setValue(QStringLiteral("scope"), toText(std::string(ScopeName(scope))));
}

void AppSettings::fill(EngineOptions* options) const {
  if (options->threads == 0) options->threads = threads();
  if (options->device == "auto") options->device = device().toStdString();
  if (options->library.empty() && qEnvironmentVariableIsEmpty("LONGVIEW_LIBRARY")) {
    options->library = toPath(libraryFolder());
  }
}

int AppSettings::threads() const { return std::clamp(store_->value(QStringLiteral("threads"), 0).toInt(), 0, 1024); }
void AppSettings::setThreads(int threads) { store_->setValue(QStringLiteral("threads"), threads); }

QString AppSettings::device() const {
  return store_->value(QStringLiteral("device"), QStringLiteral("auto")).toString();
}
void AppSettings::setDevice(const QString& device) { store_->setValue(QStringLiteral("device"), device); }

QString AppSettings::libraryFolder() const { return store_->value(QStringLiteral("library")).toString(); }
void AppSettings::setLibraryFolder(const QString& folder) { store_->setValue(QStringLiteral("library"), folder); }

uint64_t AppSettings::cacheLimitBytes() const { return store_->value(QStringLiteral("cache_limit"), 0).toULongLong(); }
void AppSettings::setCacheLimitBytes(uint64_t bytes) {
  store_->setValue(QStringLiteral("cache_limit"), QVariant::fromValue<qulonglong>(bytes));
}

QStringList AppSettings::recent() const { return store_->value(QStringLiteral("recent")).toStringList(); }

void AppSettings::addRecent(const QString& path) {
  QStringList paths = recent();
  paths.removeAll(path);
  paths.prepend(path);
  store_->setValue(QStringLiteral("recent"), QStringList(paths.mid(0, kRecent)));
}

void AppSettings::removeRecent(const QString& path) {
  QStringList paths = recent();
  paths.removeAll(path);
  store_->setValue(QStringLiteral("recent"), paths);
  store_->remove(keyOf(path));
}

QStringList AppSettings::listed() const { return store_->value(QStringLiteral("listed")).toStringList(); }

void AppSettings::setListed(const QString& path, bool listed) {
  QStringList paths = this->listed();
  if (paths.contains(path) == listed) return;
  if (listed) {
    paths << path;
  } else {
    paths.removeAll(path);
  }
  store_->setValue(QStringLiteral("listed"), paths);
}

QStringList AppSettings::queue() const { return store_->value(QStringLiteral("queue")).toStringList(); }
void AppSettings::setQueue(const QStringList& paths) { store_->setValue(QStringLiteral("queue"), paths); }

bool AppSettings::hidden(const QString& path) const {
  return store_->value(QStringLiteral("hidden")).toStringList().contains(path);
}

void AppSettings::setHidden(const QString& path, bool hidden) {
  QStringList paths = store_->value(QStringLiteral("hidden")).toStringList();
  if (paths.removeAll(path) == 0 && !hidden) return;
  if (hidden) paths << path;
  store_->setValue(QStringLiteral("hidden"), paths);
}

QString AppSettings::openVideo() const { return store_->value(QStringLiteral("open")).toString(); }
void AppSettings::setOpenVideo(const QString& path) { store_->setValue(QStringLiteral("open"), path); }

QString AppSettings::conversationFile() const {
  return QFileInfo(store_->fileName()).dir().filePath(QStringLiteral("conversation.json"));
}

double AppSettings::lastPosition(const QString& path) const { return store_->value(keyOf(path), 0.0).toDouble(); }
void AppSettings::setLastPosition(const QString& path, double seconds) { store_->setValue(keyOf(path), seconds); }

QByteArray AppSettings::layout(const QString& name) const {
  return store_->value(QStringLiteral("layout/") + name).toByteArray();
}
void AppSettings::setLayout(const QString& name, const QByteArray& state) {
  store_->setValue(QStringLiteral("layout/") + name, state);
}

int AppSettings::volume() const { return std::clamp(store_->value(QStringLiteral("volume"), 100).toInt(), 0, 100); }
void AppSettings::setVolume(int volume) { store_->setValue(QStringLiteral("volume"), volume); }

}  // namespace longview::ui
