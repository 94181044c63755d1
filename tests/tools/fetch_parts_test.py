#!/usr/bin/env python3
"""tools/fetch_parts.py against packages made here, with no network: pip is pointed at a folder."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "fetch_parts.py"
PAYLOAD = bytes(range(256)) * 512


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class FetchParts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.models = self.folder / "models"
        self.lock = self.folder / "models.lock"
        self.index = self.folder / "index"
        self.index.mkdir()
        self.wheel = self.index / "lv_part-1.2.3-py3-none-any.whl"
        with zipfile.ZipFile(self.wheel, "w") as wheel:
            wheel.writestr("lv_part/data.bin", PAYLOAD)
            wheel.writestr("lv_part-1.2.3.dist-info/METADATA", "Metadata-Version: 2.1\nName: lv-part\nVersion: 1.2.3\n")
            wheel.writestr("lv_part-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            wheel.writestr("lv_part-1.2.3.dist-info/RECORD", "")
        self.write_lock()

    def write_lock(self, **changed):
        part = {"name": "part", "package": "lv-part", "version": "1.2.3", "wheel_bytes": self.wheel.stat().st_size,
                "wheel_sha256": sha256(self.wheel.read_bytes()), "member": "lv_part/data.bin", "file": "sub/data.bin",
                "bytes": len(PAYLOAD), "sha256": sha256(PAYLOAD)}
        self.lock.write_text(json.dumps({"parts": [part | changed]}), encoding="utf-8")

    def run_tool(self, *arguments, **variables):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "LONGVIEW_", "XDG_"))}
        environment |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.index), "LONGVIEW_MODELS": str(self.models)} | variables
        return subprocess.run([sys.executable, str(TOOL), "--lock", str(self.lock), *arguments], env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def assert_refused(self, done, *words):
        self.assertEqual(done.returncode, 1, done.stdout)
        for word in words:
            self.assertIn(word, done.stderr)
        left = [path for path in self.models.rglob("*") if path.is_file() and path.name != ".lock"]
        self.assertEqual(left, [], "a refused part must leave nothing behind")

    def test_brings_a_part_and_then_leaves_it_alone(self):
        done = self.run_tool()
        self.assertEqual(done.returncode, 0, done.stderr)
        target = self.models / "sub" / "data.bin"
        self.assertEqual(target.read_bytes(), PAYLOAD)
        self.assertEqual(sorted(path.name for path in target.parent.iterdir()), ["data.bin"])
        before = target.stat()
        self.wheel.unlink()
        again = self.run_tool()
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("already there", again.stdout)
        self.assertEqual((target.stat().st_ino, target.stat().st_mtime_ns), (before.st_ino, before.st_mtime_ns))

    def test_replaces_a_damaged_part(self):
        target = self.models / "sub" / "data.bin"
        target.parent.mkdir(parents=True)
        target.write_bytes(b"\0" + PAYLOAD[1:-1] + b"\0")
        self.assertEqual(self.run_tool("--check").returncode, 1)
        done = self.run_tool()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("damaged", done.stdout)
        self.assertEqual(target.read_bytes(), PAYLOAD)
        self.assertEqual(self.run_tool("--check").returncode, 0)

    def test_refuses_another_package_under_the_same_name(self):
        self.write_lock(wheel_sha256="0" * 64)
        self.assert_refused(self.run_tool(), "lv_part-1.2.3", "SHA-256", "0" * 64)

    def test_refuses_another_file_inside_the_package(self):
        self.write_lock(sha256="0" * 64)
        self.assert_refused(self.run_tool(), "lv_part/data.bin", "not the file")
        self.write_lock(member="lv_part/absent.bin")
        self.assert_refused(self.run_tool(), "lv_part/absent.bin")

    def test_names_a_version_that_is_not_to_be_had(self):
        self.write_lock(version="9.9.9")
        self.assert_refused(self.run_tool(), "lv-part==9.9.9", "PIP_FIND_LINKS")

    def test_says_when_there_is_no_room(self):
        self.write_lock(bytes=1 << 60)
        self.assert_refused(self.run_tool(), "are needed for part")

    def test_names_a_folder_that_cannot_be_used(self):
        (self.folder / "file").write_text("", encoding="utf-8")
        done = self.run_tool("--models", str(self.folder / "file" / "models"))
        self.assertEqual(done.returncode, 1)
        self.assertIn(str(self.folder / "file"), done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_refuses_an_unknown_part(self):
        self.assert_refused(self.run_tool("--only", "other"), "other")

    def test_folder_follows_xdg_unless_it_is_relative(self):
        done = self.run_tool(LONGVIEW_MODELS="", XDG_DATA_HOME=str(self.folder / "xdg"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "xdg/longview/models/sub/data.bin").is_file())
        done = self.run_tool(LONGVIEW_MODELS="", XDG_DATA_HOME="relative", HOME=str(self.folder / "home"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "home/.local/share/longview/models/sub/data.bin").is_file())


class LockFile(unittest.TestCase):
    def test_the_tracked_list_is_whole(self):
        lock = json.loads((TOOL.parents[1] / "assets" / "models.lock").read_text(encoding="utf-8"))
        self.assertEqual((lock["format"], lock["version"]), ("longview-models-lock", 1))
        for part in lock["parts"]:
            for key in ("sha256", "wheel_sha256"):
                self.assertRegex(part[key], r"^[0-9a-f]{64}$")
            for key in ("name", "what", "package", "version", "member", "file", "licence"):
                self.assertTrue(part[key], key)
            self.assertFalse(os.path.isabs(part["file"]) or ".." in pathlib.PurePath(part["file"]).parts)


if __name__ == "__main__":
    unittest.main()
