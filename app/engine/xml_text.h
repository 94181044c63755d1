// Text that may stand in an XML document.
#ifndef LONGVIEW_APP_ENGINE_XML_TEXT_H_
#define LONGVIEW_APP_ENGINE_XML_TEXT_H_

#include <string>
#include <string_view>

namespace longview {

// `text` as well-formed UTF-8 of characters that XML 1.0 allows (production 2): others become U+FFFD.
std::string XmlText(std::string_view text);

}  // namespace longview

#endif  // LONGVIEW_APP_ENGINE_XML_TEXT_H_
