#!/usr/bin/env python3
"""Every string of the window is translated into Chinese, with the same placeholders."""
import pathlib
import re
import unittest
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TS = ROOT / "assets" / "translations" / "longview_zh_CN.ts"
PLACEHOLDER = re.compile(r"%(?:n|\d+)")
# tr("..."), also of several literals one after the other, and translate("longview::ui", "...").
CALL = re.compile(r'\b(?:tr|translate)\(\s*(?:"longview::ui",\s*)?((?:"(?:[^"\\]|\\.)*"\s*)+)')
LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"')


def messages():
    for message in ElementTree.parse(TS).getroot().iter("message"):
        translation = message.find("translation")
        forms = [form.text or "" for form in translation.iter("numerusform")] or [translation.text or ""]
        yield message.find("source").text, translation.get("type"), forms


class Translations(unittest.TestCase):
    def test_every_string_is_translated(self):
        for source, kind, forms in messages():
            self.assertIsNone(kind, source)
            for form in forms:
                self.assertNotEqual(form.strip() or source.strip(), "", source)

    def test_placeholders_are_kept(self):
        for source, _, forms in messages():
            for form in forms:
                self.assertEqual(sorted(PLACEHOLDER.findall(source)), sorted(PLACEHOLDER.findall(form)), source)

    def test_the_file_knows_every_string_of_the_sources(self):
        known = {source for source, _, _ in messages()}
        sources = [path for path in sorted((ROOT / "ui").iterdir()) if path.suffix in (".cc", ".h")]
        self.assertTrue(sources)
        found = 0
        for path in sources:
            for call in CALL.finditer(path.read_text(encoding="utf-8")):
                text = "".join(LITERAL.findall(call.group(1))).replace('\\"', '"').replace("\\n", "\n")
                found += 1
                self.assertIn(text, known, f"{path.name}: run lupdate as ui/CMakeLists.txt says, and translate")
        self.assertGreater(found, 200)


if __name__ == "__main__":
    unittest.main()
