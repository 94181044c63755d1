#!/usr/bin/env python3
"""Checks who includes whom, and the walls around libraries, over every tracked source file. Exit 1 and a line per fault.

Units: core <- vision, attention (never each other) <- app/engine <- ui <- app/cli, app/gui; inside core: base <- tensor, io,
simd <- ops <- backend. Walls: Qt only in ui and app/gui; libav* only in vision/av; OpenCV only in vision's .cc files; CUDA only
in cuda/ folders; instruction-set intrinsics only in *-inl.h and *_avx*.cc. Tests may use what the unit that they test may,
and tests/support. Also: file length caps, a first comment saying what a file is for, include guards named after the path,
no TODO left behind.
"""
import argparse
import pathlib
import re
import subprocess
import sys

SOURCES = {".cc", ".h", ".cu", ".cuh"}
CAPS = {".cc": 600, ".cu": 600, ".h": 200, ".cuh": 200}
CORE_FOLDERS = {
    "base": {"base"},
    "tensor": {"base", "tensor"},
    "io": {"base", "tensor", "io"},
    "simd": {"base", "tensor", "simd"},
    "ops": {"base", "tensor", "io", "simd", "ops"},
    "backend": {"base", "tensor", "io", "simd", "ops", "backend"},
}
LIBRARY = {"core", "vision", "attention", "app/engine"}
UNITS = {
    "core": {"core"},
    "vision": {"core", "vision"},
    "attention": {"core", "attention"},
    "app/engine": LIBRARY,
    "ui": {"app/engine", "ui", "core"},
    "app/cli": LIBRARY | {"ui", "app/cli"},
    "app/gui": LIBRARY | {"ui", "app/gui"},
}
TESTS = {
    "core": {"core"},
    "vision": UNITS["vision"],
    "attention": UNITS["attention"],
    "gpu": UNITS["attention"] | UNITS["vision"],
    "app": LIBRARY | {"app/cli", "app/gui"},
    "ui": LIBRARY | {"ui"},
    "support": LIBRARY,
}
WALLS = [
    ("Qt", re.compile(r"^Q(t|[A-Z])"), lambda path: in_folder(path, "ui", "app/gui"), "in ui and app/gui"),
    ("libav", re.compile(r"^(libav\w+|libsw\w+|libpostproc)/"), lambda path: in_folder(path, "vision/av"), "in vision/av"),
    ("libmpv", re.compile(r"^mpv/"), lambda path: in_folder(path, "ui"), "in ui"),
    ("OpenCV", re.compile(r"^opencv2?/"), lambda path: in_folder(path, "vision") and path.suffix == ".cc",
     "in vision's .cc files"),
    ("CUDA", re.compile(r"^(cuda|cublas|cudnn|cub/|cute/|cutlass/|curand|nvtx|mma\.h)"), lambda path: "cuda" in path.parts[:-1],
     "in cuda/ folders"),
    ("intrinsics", re.compile(r"^(\w+intrin\.h|arm_(neon|sve)\.h)$"),
     lambda path: path.name.endswith("-inl.h") or (path.suffix == ".cc" and "_avx" in path.name),
     "in *-inl.h and *_avx*.cc"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def in_folder(path, *folders):
    """A test of a folder (tests/x) counts as being in the folder."""
    parts = path.parts[1:] if path.parts[0] == "tests" else path.parts
    return any(parts[:len(wanted)] == wanted for wanted in (pathlib.PurePath(folder).parts for folder in folders))


def unit_of(path):
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] == "app" else parts[0]


def include_fault(path, included):
    """Why `path` may not include our file `included`, or None."""
    target = pathlib.PurePath(included)
    unit, other = unit_of(path), unit_of(target)
    if other == "tests":
        # A GPU runs the tests of the units whose kernels it has.
        shared = {"support", path.parts[1]} | ({"attention", "vision"} if path.parts[1] == "gpu" else set())
        same = unit == "tests" and target.parts[1] in shared
        return None if same else f"only tests of the same folder may include {included}"
    if unit == "tests":
        allowed = TESTS.get(path.parts[1], LIBRARY)
        return None if other in allowed else f"tests/{path.parts[1]} must not include {other}"
    if other not in UNITS.get(unit, set()):
        return f"{unit} must not include {other}"
    if unit == "ui" and other == "core" and target.parts[1] != "base":
        return "ui may include only core/base of core"
    if unit == other == "core" and target.parts[1] not in CORE_FOLDERS.get(path.parts[1], set()):
        return f"core/{path.parts[1]} must not include core/{target.parts[1]}"
    return None


def check_includes(root, path, lines):
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, included = match.groups()
        for library, pattern, allowed, where in WALLS:
            if pattern.match(included) and not allowed(path):
                yield f"{path}:{number}: {library} ({included}) may be included only {where}"
        if kind == '"':
            if not (root / included).is_file():
                yield f'{path}:{number}: "{included}" is no file of this tree; quotes are for paths from its root'
            elif fault := include_fault(path, included):
                yield f"{path}:{number}: {fault}"


def check_form(path, lines):
    if not lines or not lines[0].startswith(("//", "/*")):
        yield f"{path}:1: the first line must be a comment that says what the file is for"
    cap = CAPS[path.suffix]
    if len(lines) > cap:
        yield f"{path}: {len(lines)} lines, the cap is {cap}"
    if path.suffix in (".h", ".cuh") and not path.name.endswith("-inl.h"):
        guard = "LONGVIEW_" + re.sub(r"[^A-Za-z0-9]", "_", str(path)).upper() + "_"
        if f"#ifndef {guard}" not in lines:
            yield f"{path}: its include guard must be {guard}"
    for number, line in enumerate(lines, 1):
        if re.search(r"\b(TODO|FIXME|XXX)\b", line):
            yield f"{path}:{number}: work left behind: {line.strip()}"


def main():
    parser = argparse.ArgumentParser(description="Check the layers, library walls and form of the sources that git tracks.")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the work tree (%(default)s)")
    root = parser.parse_args().root
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=True)
    paths = [pathlib.PurePath(name) for name in listed.stdout.split("\0") if name]
    paths = [path for path in paths if path.suffix in SOURCES and (root / path).is_file()]
    faults = []
    for path in paths:
        lines = (root / path).read_text(encoding="utf-8").splitlines()
        if unit_of(path) not in UNITS and path.parts[0] not in ("tests", "tools"):
            faults.append(f"{path}: belongs to no unit")
            continue
        faults += check_includes(root, path, lines)
        faults += check_form(path, lines)
    for fault in faults:
        print(fault)
    print(f"{len(paths)} source files, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
