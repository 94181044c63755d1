#!/usr/bin/env python3
"""Captions hours of 1080p and watches that memory and open files stay flat.

    soak.py LONGVIEW [--hours 3] [--warm-up 600] [--folder DIR] [-- OPTIONS OF CAPTION...]

Makes a film of that length by repeating twenty seconds of 1080p in four shots without encoding them anew, captions it with a
library of its own, and samples the whole resident memory (VmRSS: the heap and what is mapped of files) and the open files
every few seconds. Fails (exit code 1) where either leaves what it was after the warm-up: memory by more than 5 % upwards at
any later time, or a file more than two. With less than a fifth of the samples left after the warm-up it says so and fails.
Takes as long as captioning takes: hours, unless the options ask for less (`-- --decode keyframe --fps 0.2`).
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

MOST_GROWTH = 0.05
MORE_FILES = 2  # one picture or database file is opened and closed at a time
SHOTS = ("testsrc2", "testsrc", "gradients=c0=red:c1=navy:seed=1:speed=0.1", "gradients=c0=green:c1=white:seed=2:speed=0.1")
PIECE_S = 20


def make_film(folder, hours):
    piece, film = folder / "piece.mp4", folder / "film.mp4"
    inputs, graph = [], ""
    for number, shot in enumerate(SHOTS):
        size = ("" if "=" in shot else "=") + (":" if "=" in shot else "") + "s=1920x1080:r=25"
        inputs += ["-f", "lavfi", "-t", str(PIECE_S / len(SHOTS)), "-i", shot + size]
        graph += f"[{number}:v]format=yuv420p,setsar=1[v{number}];"
    graph += "".join(f"[v{n}]" for n in range(len(SHOTS))) + f"concat=n={len(SHOTS)}"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *inputs, "-filter_complex", graph, "-c:v", "libx264", "-preset",
                    "ultrafast", "-g", "25", str(piece)], check=True)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-stream_loop", str(max(0, round(hours * 3600 / PIECE_S) - 1)),
                    "-i", str(piece), "-c", "copy", str(film)], check=True)
    return film


def sample(pid):
    """(resident kB, open files), or nothing where the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        resident = next(line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(resident.split()[1]), len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, StopIteration):
        return None


def watch(longview, film, folder, options, every_s):
    """(exit code, [(seconds, share done, kB, files)])"""
    command = [longview, "caption", str(film), "--out", str(folder / "out"), "--log-json", *options]
    environment = dict(os.environ, LONGVIEW_LIBRARY=str(folder / "library"))
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    state = {"share": 0.0}

    def read_events():
        for line in process.stderr:
            event = json.loads(line)
            if event["event"] == "progress":
                state["share"] = event["share"]
            else:
                print(line.strip(), flush=True)

    reader = threading.Thread(target=read_events)
    reader.start()
    samples = []
    started = shown = time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        found = sample(process.pid)
        if found:
            samples.append((now - started, state["share"], *found))
            if now - shown >= 60 or len(samples) == 1:
                shown = now
                print(f"{now - started:8.0f} s  {100 * state['share']:5.1f} %  {found[0] / 1024:6.0f} MiB  {found[1]} files",
                      flush=True)
        time.sleep(every_s)
    reader.join()
    return process.returncode, samples


def judge(samples, warm_up):
    """What is wrong, as lines; prints what was measured."""
    after = [s for s in samples if s[0] >= warm_up]
    if len(after) < max(2, len(samples) // 5):
        return [f"{len(after)} of {len(samples)} samples after the warm-up of {warm_up:.0f} s are too few to judge"]
    memory, files = [s[2] for s in after], [s[3] for s in after]
    growth, fall = max(memory) / memory[0] - 1, 1 - min(memory) / memory[0]
    print(f"{len(after)} samples from {after[0][0]:.0f} s ({100 * after[0][1]:.1f} % done) to {after[-1][0]:.0f} s: "
          f"{memory[0] / 1024:.0f} MiB at first, {max(memory) / 1024:.0f} at most (+{100 * growth:.1f} %), "
          f"{min(memory) / 1024:.0f} at least (-{100 * fall:.1f} %), {files[0]} files at first, {max(files)} at most")
    faults = []
    if growth > MOST_GROWTH:
        faults.append(f"memory grew by more than {100 * MOST_GROWTH:.0f} %")
    if max(files) > files[0] + MORE_FILES:
        faults.append("open files grew")
    return faults


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1:] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("longview")
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=600.0, help="seconds")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between samples")
    parser.add_argument("--folder", help="for the film and its index; default: a temporary one")
    args = parser.parse_args(words[:words.index("--")] if "--" in words else words)
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = pathlib.Path(name)
        film = make_film(folder, args.hours)
        code, samples = watch(args.longview, film, folder, options, args.every)
        faults = judge(samples, args.warm_up)
        if code != 0:
            faults.append(f"longview ended with {code}")
        for fault in faults:
            print(f"FAULT: {fault}")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
