#!/usr/bin/env python3
"""What the tests of the cluster launchers share: small films, the processes that caption them, and what must be left."""

import json
import os
import pathlib
import subprocess

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools/cluster"
FILMS = 6


def make_films(folder):
    folder.mkdir()
    for number in range(FILMS):
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
                        f"life=s=96x64:r=10:seed={number + 1}:mold=10:life_color=red,trim=duration={2 + number % 3}", "-c:v",
                        "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", str(folder / f"film{number}.mp4")], check=True)


def captioners(out):
    """Processes of longview that write below `out`."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if words and os.path.basename(words[0]).startswith(b"longview") and os.fsencode(out) in words:
            found.append(int(entry.name))
    return found


def everything_once(out):
    """Whether the merged manifest and the folder hold every film's captions, each made once and whole."""
    merged = json.loads((out / "longview-batch.json").read_text(encoding="utf-8"))
    states = sorted(entry["state"] for entry in merged["inputs"])
    print(f"states in the merged manifest: {states}, {merged['repeated']} repeated")
    captions = sorted(out.glob("*.srt"))
    left = [path for path in out.rglob("*") if ".tmp" in path.name]
    return (len(states) == FILMS and set(states) <= {"done", "skipped"} and merged["repeated"] == 0 and not left and
            len(captions) == FILMS and all(path.read_bytes().endswith(b"\n") for path in captions))
