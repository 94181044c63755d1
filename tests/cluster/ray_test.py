#!/usr/bin/env python3
"""tools/cluster/ray_caption.py on a local Ray of two workers, one of them killed half-way: every file once, nothing lost.

    ray_test.py LONGVIEW ASSETS     exit code 77 (skipped) where the package ray is not there

ASSETS is a model folder, as LONGVIEW_ASSETS; ffmpeg makes the films.
"""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import films


def parent_of(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return int(fields[1])


def kill_one_worker(out):
    """Kills the Ray worker under which a longview runs, once something is finished. Its longview dies with it."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline:
        running = films.captioners(out)
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
        films.make_films(folder / "films")
        environment = dict(os.environ, LONGVIEW_ASSETS=assets, RAY_USAGE_STATS_ENABLED="0")
        out = (folder / "out").resolve()
        launcher = str(films.TOOLS / "ray_caption.py")
        batch = subprocess.Popen([sys.executable, launcher, "--out", str(out), "--workers", "2", "--shards", "3",
                                  "--longview", longview, str(folder / "films")], env=environment)
        killed = kill_one_worker(out)
        code = batch.wait(timeout=1800)
        print(f"killed a worker: {killed}; exit code {code}")
        return 0 if films.everything_once(out) and killed and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
