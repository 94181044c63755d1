#!/usr/bin/env python3
"""tools/check_layers.py on small trees made here: each rule refuses what it is for, and allows what it should."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_layers.py"


class CheckLayers(unittest.TestCase):
    def run_on(self, files):
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            for name, text in files.items():
                path = root / name
                path.parent.mkdir(parents=True, exist_ok=True)
                if name.endswith(".h") and "#ifndef" not in text:
                    text = f"// For the test.\n#ifndef LONGVIEW_{name.upper().replace('/', '_').replace('.', '_')}_\n" + text
                elif not text.startswith("//"):
                    text = "// For the test.\n" + text
                path.write_text(text, encoding="utf-8")
            subprocess.run(["git", "init", "-q", str(root)], check=True)
            subprocess.run(["git", "-C", str(root), "add", "-A"], check=True)
            return subprocess.run([sys.executable, str(TOOL), "--root", str(root)], capture_output=True, text=True, check=False)

    def assert_allowed(self, files):
        done = self.run_on(files)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_refused(self, files, *words):
        done = self.run_on(files)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stdout)

    def include(self, path, target):
        """A tree in which `path` includes our file `target`."""
        return {path: f'#include "{target}"\n', target: "\n"}

    def test_allowed_directions(self):
        for path, target in [("core/ops/a.cc", "core/base/b.h"), ("core/io/a.cc", "core/tensor/b.h"), ("vision/a.cc", "core/ops/b.h"),
                             ("attention/mla/a.cc", "core/ops/b.h"), ("app/engine/a.cc", "vision/b.h"), ("ui/a.cc", "app/engine/b.h"),
                             ("app/cli/a.cc", "app/engine/b.h"), ("app/gui/a.cc", "ui/b.h"), ("tests/core/a.cc", "core/ops/b.h"),
                             ("tests/vision/a.cc", "tests/support/b.h"), ("tests/e2e/a.cc", "app/engine/b.h")]:
            with self.subTest(path=path, target=target):
                self.assert_allowed(self.include(path, target))

    def test_refused_directions(self):
        for path, target in [("core/base/a.cc", "core/ops/b.h"), ("core/tensor/a.cc", "core/io/b.h"), ("core/ops/a.cc", "core/backend/b.h"),
                             ("core/ops/a.cc", "vision/b.h"), ("vision/a.cc", "attention/b.h"), ("attention/a.cc", "vision/b.h"),
                             ("vision/a.cc", "app/engine/b.h"), ("app/engine/a.cc", "ui/b.h"), ("app/engine/a.cc", "app/cli/b.h"),
                             ("ui/a.cc", "vision/b.h"), ("ui/a.cc", "core/ops/b.h"), ("ui/a.cc", "app/gui/b.h"),
                             ("app/cli/a.cc", "app/gui/b.h"), ("tests/core/a.cc", "vision/b.h"), ("core/base/a.cc", "tests/support/b.h"),
                             ("tests/core/a.cc", "tests/vision/b.h")]:
            with self.subTest(path=path, target=target):
                self.assert_refused(self.include(path, target), f"{path}:2:", "include")

    def test_walls(self):
        walls = [("QWidget", "ui/a.h", "app/engine/a.h"), ("libavcodec/avcodec.h", "vision/av/a.h", "vision/a.cc"),
                 ("libswscale/swscale.h", "vision/av/a.cc", "app/cli/a.cc"), ("opencv2/core.hpp", "vision/vit/a.cc", "vision/a.h"),
                 ("opencv2/core.hpp", "tests/vision/a.cc", "app/engine/a.cc"),
                 ("cuda_runtime.h", "core/backend/cuda/a.cu", "core/backend/a.cc"), ("immintrin.h", "core/ops/a_avx2.cc", "core/ops/a.cc"),
                 ("immintrin.h", "core/ops/a-inl.h", "core/ops/a.h")]
        for header, good, bad in walls:
            with self.subTest(header=header):
                self.assert_allowed({good: f"#include <{header}>\n"})
                self.assert_refused({bad: f"#include <{header}>\n"}, f"({header})", bad)

    def test_quoted_paths_start_at_the_root(self):
        self.assert_refused({"core/base/a.cc": '#include "b.h"\n', "core/base/b.h": "\n"}, '"b.h"')

    def test_form(self):
        self.assert_allowed({"core/base/a.cc": "\n" * 599, "core/base/b.h": "\n" * 198})
        self.assert_refused({"core/base/a.cc": "\n" * 600}, "601 lines")
        self.assert_refused({"core/base/b.h": "\n" * 199}, "201 lines")
        self.assert_refused({"core/base/b.h": "// Guard of another file.\n#ifndef LONGVIEW_CORE_BASE_C_H_\n"}, "LONGVIEW_CORE_BASE_B_H_")
        self.assert_refused({"core/base/a.cc": "int a;  // " + "TO" + "DO: later\n"}, "left behind")
        self.assert_refused({"other/a.cc": "\n"}, "belongs to no unit")


if __name__ == "__main__":
    unittest.main()
