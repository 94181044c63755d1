// pugixml keeps the document; names are compared by their namespaces, whatever prefixes a program chose.
#include "app/engine/export_xmp.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <pugixml.hpp>
#include <sstream>
#include <vector>

#include "app/engine/output_files.h"
#include "app/engine/xml_text.h"

namespace longview {
namespace {

constexpr std::string_view kRdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
constexpr std::string_view kDc = "http://purl.org/dc/elements/1.1/";
constexpr std::string_view kOwn = "urn:longview:xmp:1";
constexpr const char* kLanguages = "languages";
constexpr const char* kHash = "hash";
constexpr const char* kSettings = "settings";
constexpr const char* kInput = "input";
constexpr int kMaxDepth = 200;  // of elements; a sidecar has about ten

// As a fragment, so that line breaks between the top elements stay too.
constexpr unsigned kParse = pugi::parse_full | pugi::parse_ws_pcdata | pugi::parse_fragment;

std::string_view LocalName(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

// The namespace that a prefix stands for at `node`; empty where it was never declared.
std::string_view NamespaceAt(pugi::xml_node node, std::string_view prefix) {
  const std::string name = prefix.empty() ? "xmlns" : "xmlns:" + std::string(prefix);
  for (; node; node = node.parent()) {
    if (const pugi::xml_attribute found = node.attribute(name.c_str())) return found.value();
  }
  return {};
}

std::string_view PrefixOf(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? std::string_view() : name.substr(0, colon);
}

bool Is(pugi::xml_node node, std::string_view space, std::string_view local) {
  return node.type() == pugi::node_element && LocalName(node.name()) == local &&
         NamespaceAt(node, PrefixOf(node.name())) == space;
}

pugi::xml_attribute Attribute(pugi::xml_node node, std::string_view space, std::string_view local) {
  for (const pugi::xml_attribute attribute : node.attributes()) {
    const std::string_view prefix = PrefixOf(attribute.name());
    if (!prefix.empty() && LocalName(attribute.name()) == local && NamespaceAt(node, prefix) == space) return attribute;
  }
  return {};
}

// Whether a part of a name begins as one may: pugixml lets attributes begin with what no element may begin with.
bool BeginsAName(std::string_view part) {
  if (part.empty()) return false;
  const auto first = static_cast<unsigned char>(part.front());
  return (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' || first >= 0x80;
}

// Whether a name at `node` is one of XML with namespaces: at most one colon, with a declared prefix before it.
bool IsSoundName(pugi::xml_node node, std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return BeginsAName(name);
  const std::string_view prefix = name.substr(0, colon);
  const std::string_view local = name.substr(colon + 1);
  if (!BeginsAName(prefix) || !BeginsAName(local) || local.find(':') != std::string_view::npos) return false;
  return prefix == "xml" || prefix == "xmlns" || !NamespaceAt(node, prefix).empty();
}

// A prefix for `space` that is valid at `node`, declared there where there is none.
std::string Prefix(pugi::xml_node node, std::string_view space, const char* wanted) {
  for (pugi::xml_node at = node; at; at = at.parent()) {
    for (const pugi::xml_attribute attribute : at.attributes()) {
      const std::string_view name = attribute.name();
      if (!name.starts_with("xmlns:") || attribute.value() != space) continue;
      if (NamespaceAt(node, name.substr(6)) == space) return std::string(name.substr(6));
    }
  }
  std::string prefix = wanted;
  while (!NamespaceAt(node, prefix).empty()) prefix += '_';
  node.append_attribute(("xmlns:" + prefix).c_str()).set_value(std::string(space).c_str());
  return prefix;
}

bool SameWord(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return lower(x) == lower(y);
  });
}

// The encoding that an XML declaration names; empty where it names none.
std::string DeclaredEncoding(std::string_view text) {
  constexpr std::string_view kEnd = "?>";
  const size_t end = text.find(kEnd);
  if (end == std::string_view::npos) return {};
  pugi::xml_document declaration;
  declaration.load_buffer(text.data(), end + kEnd.size(), pugi::parse_declaration | pugi::parse_fragment,
                          pugi::encoding_latin1);
  const pugi::xml_node first = declaration.first_child();
  return first.type() == pugi::node_declaration ? first.attribute("encoding").value() : "";
}

// Lone surrogates stay, and are no UTF-8 then.
std::string FromUtf16(std::string_view bytes, bool big_endian) {
  const auto unit = [&](size_t at) -> uint32_t {
    const auto first = static_cast<unsigned char>(bytes[at]);
    const auto second = static_cast<unsigned char>(bytes[at + 1]);
    return big_endian ? first << 8 | second : second << 8 | first;
  };
  std::wstring characters;
  for (size_t at = 0; at + 1 < bytes.size(); at += 2) {
    uint32_t c = unit(at);
    const uint32_t next = at + 3 < bytes.size() ? unit(at + 2) : 0;
    if ((c & 0xFC00) == 0xD800 && (next & 0xFC00) == 0xDC00) {
      c = 0x10000 + ((c & 0x3FF) << 10 | (next & 0x3FF));
      at += 2;
    }
    characters += static_cast<wchar_t>(c);
  }
  return pugi::as_utf8(characters);
}

std::string FromLatin1(std::string_view bytes) {
  std::wstring characters;
  for (const char c : bytes) characters += static_cast<wchar_t>(static_cast<unsigned char>(c));
  return pugi::as_utf8(characters);
}

// Whether each character reference is to one that XML has: pugixml would end a text at &#0;.
bool HasSoundReferences(std::string_view text) {
  for (size_t at = text.find("&#"); at != std::string_view::npos; at = text.find("&#", at)) {
    at += 2;
    const bool hexadecimal = text.substr(at).starts_with('x');
    if (hexadecimal) ++at;
    uint32_t c = 0;
    const auto read = std::from_chars(text.data() + at, text.data() + text.size(), c, hexadecimal ? 16 : 10);
    if (read.ec != std::errc() || c > 0x10FFFF) return false;
    const std::string character = pugi::as_utf8(std::wstring(1, static_cast<wchar_t>(c)));
    if (c == 0 || XmlText(character) != character) return false;
  }
  return true;
}

// A sidecar's text as UTF-8 with the line ends of XML, so that nothing of it can be lost: pugixml takes any encoding
// that it does not know for UTF-8, and passes over what it cannot convert.
Result<std::string> Decode(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr char kHelp[] = "; save it as UTF-8 with the program that it is from";
  const bool big_endian = bytes.starts_with("\xFE\xFF") || bytes.starts_with("\0<"sv);
  const bool little_endian = bytes.starts_with("\xFF\xFE") || bytes.starts_with("<\0"sv);
  std::string text;
  if (big_endian || little_endian) {
    if (bytes.size() % 2 != 0) return Damaged("ends within a character of UTF-16");
    if (bytes.front() != '<' && bytes.front() != '\0') bytes.remove_prefix(2);  // the byte order mark
    text = FromUtf16(bytes, big_endian);
  } else if (bytes.starts_with("\xEF\xBB\xBF")) {
    text = bytes.substr(3);
  } else {
    const std::string declared = DeclaredEncoding(bytes);
    const auto is = [&declared](const char* name) { return SameWord(declared, name); };
    if (is("ISO-8859-1") || is("latin1")) {
      text = FromLatin1(bytes);
    } else if (declared.empty() || is("UTF-8") || is("UTF8") || is("US-ASCII") || is("ASCII")) {
      text = bytes;
    } else {
      return Unsupported("is in the encoding " + XmlText(declared) + ", which Longview cannot read" + kHelp);
    }
  }
  if (XmlText(text) != text) return Damaged(std::string("holds bytes that are no characters of XML") + kHelp);
  if (!HasSoundReferences(text)) return Damaged("is no sound XML: it refers to a character that there is not");
  std::string lines;
  lines.reserve(text.size());
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\r') {
      lines += text[at];
    } else if (at + 1 == text.size() || text[at + 1] != '\n') {
      lines += '\n';
    }
  }
  return lines;
}

// One sidecar, parsed, with the places that matter in it.
class Sidecar {
 public:
  Status Parse(std::string_view bytes) {
    LV_ASSIGN_OR_RETURN(const std::string text, Decode(bytes));
    const pugi::xml_parse_result parsed = document_.load_buffer(text.data(), text.size(), kParse, pugi::encoding_utf8);
    if (!parsed) return Damaged(std::string("is no sound XML (") + parsed.description() + ")");
    for (const pugi::xml_node node : document_.children()) {
      if (node.type() == pugi::node_doctype)
        return Unsupported("has a document type declaration, which no sidecar has");
    }
    LV_RETURN_IF_ERROR(CheckNames(document_, 0));
    rdf_ = Find(document_, kRdf, "RDF", 0);
    if (!rdf_) return Damaged("is no XMP sidecar: it holds no rdf:RDF");
    for (const pugi::xml_node block : rdf_.children()) {
      if (!Is(block, kRdf, "Description")) continue;
      if (!block_) block_ = block;
      for (const pugi::xml_node property : block.children()) {
        if (!Is(property, kDc, "description")) continue;
        if (description_) return Unsupported("holds dc:description twice");
        description_ = property;
        block_ = block;
      }
      if (const pugi::xml_attribute plain = Attribute(block, kDc, "description")) {
        plain_ = plain;
        block_ = block;
      }
    }
    return FindItems();
  }

  // The values of Longview's own note: as attributes, or as elements where another program wrote them so.
  std::string Note(const char* local) const {
    for (const pugi::xml_node block : rdf_.children()) {
      if (!Is(block, kRdf, "Description")) continue;
      if (const pugi::xml_attribute found = Attribute(block, kOwn, local)) return found.value();
      for (const pugi::xml_node property : block.children()) {
        if (Is(property, kOwn, local)) return property.child_value();
      }
    }
    return {};
  }

  // The items that Longview wrote and nobody changed.
  std::vector<pugi::xml_node> OwnItems() const {
    std::vector<pugi::xml_node> own;
    const std::string languages = " " + Note(kLanguages) + " ";
    const std::string hash = Note(kHash);
    for (const pugi::xml_node item : alternatives_.children()) {
      const std::string_view language = item.attribute("xml:lang").value();
      if (language.empty() || languages.find(" " + std::string(language) + " ") == std::string::npos) continue;
      if (HashText(item.child_value()) == hash) own.push_back(item);
    }
    return own;
  }

  void Write(const XmpNote& note) {
    if (!block_) {
      block_ = rdf_.append_child(Rdf("Description").c_str());
      block_.append_attribute(Rdf("about").c_str()).set_value("");
    }
    const std::string text = XmlText(note.description);
    std::vector<pugi::xml_node> own = OwnItems();
    std::string languages;
    MakeAlternatives();
    if (own.empty()) own = AddItems();
    for (pugi::xml_node item : own) {
      while (item.first_child()) item.remove_child(item.first_child());
      item.append_child(pugi::node_pcdata).set_value(text.c_str());
      languages += (languages.empty() ? "" : " ") + std::string(item.attribute("xml:lang").value());
    }
    const std::string prefix = Prefix(block_, kOwn, "longview");
    const std::array<std::pair<const char*, std::string>, 4> values = {{{kLanguages, languages},
                                                                        {kHash, HashText(text)},
                                                                        {kSettings, XmlText(note.settings)},
                                                                        {kInput, XmlText(note.input)}}};
    for (const auto& [local, value] : values) {
      RemoveNote(local);
      block_.append_attribute((prefix + ":" + local).c_str()).set_value(value.c_str());
    }
  }

  std::string Text() {
    for (pugi::xml_node node : document_.children()) {
      if (node.type() != pugi::node_declaration) continue;
      if (pugi::xml_attribute encoding = node.attribute("encoding")) encoding.set_value("UTF-8");
    }
    std::ostringstream out;
    document_.save(out, "", pugi::format_raw | pugi::format_no_declaration, pugi::encoding_utf8);
    std::string text;
    for (const char c : out.str()) {
      // By Decode only a reference gave one; as itself it would be read as the end of a line.
      if (c == '\r') {
        text += "&#13;";
      } else {
        text += c;
      }
    }
    if (text.empty() || text.back() != '\n') text += '\n';
    return text;
  }

 private:
  // An RDF name with the prefix that the document uses.
  std::string Rdf(const char* local) const {
    const std::string_view prefix = PrefixOf(rdf_.name());
    return prefix.empty() ? std::string(local) : std::string(prefix) + ":" + local;
  }

  // A prefix that is not declared would come to mean something once Longview declares it for its own use.
  static Status CheckNames(pugi::xml_node node, int depth) {
    if (depth > kMaxDepth) return Damaged("its elements are nested too deep");
    for (const pugi::xml_node child : node.children()) {
      if (child.type() != pugi::node_element) continue;
      if (!IsSoundName(child, child.name())) return Damaged("has a name without a namespace: " + XmlText(child.name()));
      for (const pugi::xml_attribute attribute : child.attributes()) {
        if (child.attribute(attribute.name()) != attribute) {
          return Damaged("is no sound XML: an element has twice " + XmlText(attribute.name()));
        }
        const bool undeclares = PrefixOf(attribute.name()) == "xmlns" && *attribute.value() == '\0';
        if (IsSoundName(child, attribute.name()) && !undeclares) continue;
        return Damaged("has a name without a namespace: " + XmlText(attribute.name()));
      }
      LV_RETURN_IF_ERROR(CheckNames(child, depth + 1));
    }
    return Status::Ok();
  }

  static pugi::xml_node Find(pugi::xml_node node, std::string_view space, std::string_view local, int depth) {
    if (depth > kMaxDepth) return {};
    for (const pugi::xml_node child : node.children()) {
      if (Is(child, space, local)) return child;
      if (const pugi::xml_node found = Find(child, space, local, depth + 1)) return found;
    }
    return {};
  }

  Status FindItems() {
    for (const pugi::xml_node child : description_.children()) {
      if (child.type() != pugi::node_element) continue;
      if (!Is(child, kRdf, "Alt") || alternatives_) {
        return Unsupported("its dc:description is no language alternative");
      }
      alternatives_ = child;
    }
    return Status::Ok();
  }

  // A description that some programs write as plain text becomes the item x-default.
  void MakeAlternatives() {
    if (alternatives_) return;
    std::string plain = plain_ ? plain_.value() : description_.child_value();
    if (plain.find_first_not_of(" \t\r\n") == std::string::npos) plain.clear();
    if (!description_) description_ = block_.append_child((Prefix(block_, kDc, "dc") + ":description").c_str());
    while (description_.first_child()) description_.remove_child(description_.first_child());
    if (plain_) block_.remove_attribute(plain_);
    alternatives_ = description_.append_child(Rdf("Alt").c_str());
    if (!plain.empty()) Item("x-default").append_child(pugi::node_pcdata).set_value(plain.c_str());
  }

  pugi::xml_node Item(const char* language) {
    pugi::xml_node item = alternatives_.append_child(Rdf("li").c_str());
    item.append_attribute("xml:lang").set_value(language);
    return item;
  }

  bool HasItem(std::string_view language) const {
    return std::any_of(alternatives_.begin(), alternatives_.end(), [language](const pugi::xml_node& item) {
      return SameWord(item.attribute("xml:lang").value(), language);
    });
  }

  std::vector<pugi::xml_node> AddItems() {
    const bool first = std::none_of(alternatives_.begin(), alternatives_.end(),
                                    [](const pugi::xml_node& item) { return item.type() == pugi::node_element; });
    if (first) {
      const pugi::xml_node standard = Item("x-default");
      return {standard, Item("en")};
    }
    // Longview's own place comes last: what stands there was changed by hand, and a run told to overwrite it does.
    if (!HasItem("en")) return {Item("en")};
    for (const pugi::xml_node item : alternatives_.children()) {
      if (SameWord(item.attribute("xml:lang").value(), "en-x-longview")) return {item};
    }
    return {Item("en-x-longview")};
  }

  void RemoveNote(const char* local) {
    for (pugi::xml_node block : rdf_.children()) {
      if (!Is(block, kRdf, "Description")) continue;
      while (const pugi::xml_attribute found = Attribute(block, kOwn, local)) block.remove_attribute(found);
      for (pugi::xml_node property = block.first_child(); property;) {
        const pugi::xml_node next = property.next_sibling();
        if (Is(property, kOwn, local)) block.remove_child(property);
        property = next;
      }
    }
  }

  pugi::xml_document document_;
  pugi::xml_node rdf_;
  pugi::xml_node block_;         // the rdf:Description that holds, or will hold, dc:description
  pugi::xml_node description_;   // dc:description as an element
  pugi::xml_node alternatives_;  // its rdf:Alt
  pugi::xml_attribute plain_;    // dc:description as an attribute
};

constexpr char kEmptySidecar[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<x:xmpmeta xmlns:x=\"adobe:ns:meta/\">\n"
    " <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\">\n"
    "  <rdf:Description rdf:about=\"\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\"/>\n"
    " </rdf:RDF>\n"
    "</x:xmpmeta>\n";

}  // namespace

Result<XmpState> AssessXmp(std::string_view text, std::string_view settings, std::string_view input) {
  Sidecar sidecar;
  LV_RETURN_IF_ERROR(sidecar.Parse(text));
  if (sidecar.Note(kHash).empty()) return XmpState::kNone;
  if (sidecar.OwnItems().empty()) return XmpState::kEdited;
  const bool same = sidecar.Note(kSettings) == XmlText(settings) && sidecar.Note(kInput) == XmlText(input);
  return same ? XmpState::kFinished : XmpState::kOutdated;
}

Result<std::string> MergeXmp(std::string_view text, const XmpNote& note) {
  Sidecar sidecar;
  LV_RETURN_IF_ERROR(sidecar.Parse(text.empty() ? std::string_view(kEmptySidecar) : text));
  sidecar.Write(note);
  return sidecar.Text();
}

}  // namespace longview
