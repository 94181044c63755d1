#!/usr/bin/env python3
"""Captions hours of 1080p and watches that memory and open files stay flat.

    soak.py LONGVIEW [--hours 3] [--warm-up 600] [--folder DIR]

Makes a film of that length by repeating a minute of moving 1080p without encoding it anew, captions it with a library of
its own, and samples the process every five seconds. Fails (exit code 1) where, after the warm-up, the private memory of a
phase (reading, then captioning: the second holds the film's cache, 75 MB an hour) leaves its first value by more than 5 %, or
the number of open files grows. Takes as long as captioning takes: hours.
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


def make_film(folder, hours):
    minute = folder / "minute.mp4"
    film = folder / "film.mp4"
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=s=1920x1080:r=25:d=30", "-f",
                    "lavfi", "-i", "mandelbrot=s=1920x1080:r=25:end_pts=60,trim=duration=30", "-filter_complex",
                    "[0:v]format=yuv420p[a];[1:v]format=yuv420p[b];[a][b]concat=n=2", "-c:v", "libx264", "-preset", "ultrafast",
                    "-g", "50", str(minute)], check=True)
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-stream_loop", str(max(0, round(hours * 60) - 1)), "-i",
                    str(minute), "-c", "copy", str(film)], check=True)
    return film


def sample(pid):
    """(private memory in kB, open files), or nothing where the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
        anon = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
        return int(anon.split()[1]), len(os.listdir(f"/proc/{pid}/fd"))
    except (OSError, StopIteration):
        return None


def watch(longview, film, folder):
    command = [longview, "caption", str(film), "--out", str(folder / "out"), "--log-json"]
    environment = dict(os.environ, LONGVIEW_LIBRARY=str(folder / "library"))
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    state = {"share": 0.0}

    def read_events():
        for line in process.stderr:
            event = json.loads(line)
            if event["event"] == "progress":
                state["share"] = event["share"]
            elif event["event"] != "file":
                print(line.strip())

    reader = threading.Thread(target=read_events)
    reader.start()
    samples = []  # (seconds, phase, kB, files)
    started = time.monotonic()
    while process.poll() is None:
        found = sample(process.pid)
        if found:
            phase = "captioning" if state["share"] > 0.5 else "reading"
            samples.append((time.monotonic() - started, phase, *found))
            if len(samples) % 60 == 1:
                print(f"{samples[-1][0]:8.0f} s  {phase}  {found[0] / 1024:.0f} MiB  {found[1]} files  "
                      f"{100 * state['share']:.1f} %", flush=True)
        time.sleep(5)
    reader.join()
    return process.returncode, samples


def judge(samples, warm_up):
    faults = []
    for phase in ("reading", "captioning"):
        own = [s for s in samples if s[1] == phase]
        # The first phase warms up for as long as it was told, the second for a minute: its cache is loaded then.
        begin = warm_up if phase == "reading" else (own[0][0] + 60 if own else 0)
        own = [s for s in own if s[0] >= begin]
        if len(own) < 2:
            print(f"{phase}: too short to judge")
            continue
        memory = [s[2] for s in own]
        files = [s[3] for s in own]
        worst = max(abs(m - memory[0]) for m in memory) / memory[0]
        print(f"{phase}: {len(own)} samples, {memory[0] / 1024:.0f} MiB at first, {100 * worst:.1f} % off at worst, "
              f"{files[0]} to {max(files)} files")
        if worst > 0.05:
            faults.append(f"{phase}: memory is not flat within 5 %")
        if max(files) > files[0] + 2:  # one picture is opened and closed at a time
            faults.append(f"{phase}: open files grow")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("longview")
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--warm-up", type=float, default=600.0, help="seconds")
    parser.add_argument("--folder", help="for the film and its index; default: a temporary one")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = pathlib.Path(name)
        film = make_film(folder, args.hours)
        code, samples = watch(args.longview, film, folder)
        faults = judge(samples, args.warm_up)
        if code != 0:
            faults.append(f"longview ended with {code}")
        for fault in faults:
            print(f"FAULT: {fault}")
        return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
