// A summary in a film's XMP sidecar (Adobe XMP specification, part 1): dc:description as a language alternative,
// written into what is there already without losing any of it.
//
// A sidecar belongs to its user and to other programs. Everything in it that is not Longview's own earlier text stays
// as it is, byte for byte but for how XML may spell it: other properties, comments, blanks, descriptions by people.
// What Longview wrote it knows by four attributes in a namespace of its own beside the description.
#ifndef LONGVIEW_APP_ENGINE_EXPORT_XMP_H_
#define LONGVIEW_APP_ENGINE_EXPORT_XMP_H_

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace longview {

// What is written, and what it was made with and from (any text without meaning to other programs).
struct XmpNote {
  std::string description;
  std::string settings;
  std::string input;
};

// What stands in a sidecar as seen by a run with these settings and this input.
enum class XmpState {
  kNone,      // nothing of Longview's
  kFinished,  // its text, made with and from the same
  kOutdated,  // its text, of other settings or another film
  kEdited,    // its text was changed or taken out by somebody
};

// kDamaged: not XML, or XML without rdf:RDF; kUnsupported: an encoding other than UTF-8, UTF-16 and ISO-8859-1, a
// document type declaration, or a dc:description of a kind that XMP does not know.
Result<XmpState> AssessXmp(std::string_view sidecar, std::string_view settings, std::string_view input);

// The sidecar with `note` in it; a new one where `sidecar` is empty. Longview's earlier items are replaced. Otherwise
// the text becomes the items x-default and en where there is no description yet; en beside descriptions in other
// languages; en-x-longview where somebody's own en is there. Errors as AssessXmp.
Result<std::string> MergeXmp(std::string_view sidecar, const XmpNote& note);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_EXPORT_XMP_H_
