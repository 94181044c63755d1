#!/usr/bin/env python3
"""tools/cluster/ray_caption.py on a local Ray of two workers, one of them killed half-way: every file once, nothing lost.

    ray_test.py LONGVIEW ASSETS     exit code 77 (skipped) where the package ray is not there

ASSETS is a model folder, as LONGVIEW_ASSETS; ffmpeg makes the films.
"""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

LAUNCHER = pathlib.Path(__file__).resolve().parents[2] / "tools/cluster/ray_caption.py"
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
        if words and words[0].endswith(b"longview") and os.fsencode(out) in words:
            found.append(int(entry.name))
    return found


def parent_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return int(fields[1])


def kill_one_worker(out):
    """Kills the Ray worker under which a longview runs, once something is finished. Its longview dies with it."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        running = captioners(out)
        if running and list(out.glob("*.srt")):
            try:
                os.kill(parent_of(running[0]), signal.SIGKILL)
                return True
            except (OSError, IndexError):
                pass
        time.sleep(0.05)
    return False


def main():
    if importlib.util.find_spec("ray") is None:
        print("skipped: the package ray is not there")
        return 77
    longview, assets = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_films(folder / "films")
        environment = dict(os.environ, LONGVIEW_ASSETS=assets, RAY_USAGE_STATS_ENABLED="0")
        out = (folder / "out").resolve()
        batch = subprocess.Popen([sys.executable, str(LAUNCHER), "--out", str(out), "--workers", "2", "--shards", "3",
                                  "--longview", longview, str(folder / "films")], env=environment)
        killed = kill_one_worker(out)
        code = batch.wait(timeout=1800)
        merged = json.loads((out / "longview-batch.json").read_text(encoding="utf-8"))
        states = sorted(entry["state"] for entry in merged["inputs"])
        print(f"killed a worker: {killed}; exit code {code}; {states}")
        finished = all(state in ("done", "skipped") for state in states)
        sound = killed and code == 0 and len(states) == FILMS and finished and merged["repeated"] == 0
        return 0 if sound and len(list(out.glob("*.srt"))) == FILMS else 1


if __name__ == "__main__":
    sys.exit(main())
