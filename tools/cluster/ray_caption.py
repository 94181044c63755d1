#!/usr/bin/env python3
"""Captions an archive on a Ray cluster: one task a shard, tried again where it or its worker dies, then one manifest.

    ray_caption.py --out DIR [--shards N] [--address A] [--longview PROGRAM] PATH... [-- options of longview caption]

Needs the package `ray`. Without --address a local Ray is started with one worker a core. Exit codes as longview's own.
"""

import argparse
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import ray

PR_SET_PDEATHSIG = 1


def die_with_parent():
    """A worker that is killed must not leave a longview behind that goes on beside the one that takes its place."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def run_shard(command, library):
    """Runs one shard; where some inputs failed, once more. What else went wrong is for Ray to try again."""
    environment = dict(os.environ, LONGVIEW_LIBRARY=library)
    for _ in range(2):
        done = subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False,
                              preexec_fn=die_with_parent)
        if done.returncode != 1:
            break
    if done.returncode not in (0, 1, 2):
        tail = done.stderr.decode(errors="replace")[-2000:]
        raise RuntimeError(f"longview ended with {done.returncode}: {tail}")
    return done.returncode, done.stderr.decode(errors="replace")


def main():
    words = sys.argv[1:]
    options = words[words.index("--") + 1:] if "--" in words else []
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--shards", type=int, default=0, help="default: four a worker")
    parser.add_argument("--tries", type=int, default=3, help="of each shard")
    parser.add_argument("--address", help="of a running Ray cluster")
    parser.add_argument("--workers", type=int, help="of a local Ray (default: one a core)")
    parser.add_argument("--longview", default=shutil.which("longview") or "longview")
    args = parser.parse_args(words[:words.index("--")] if "--" in words else words)

    out = args.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    local = {} if args.address else {"num_cpus": args.workers, "include_dashboard": False}
    ray.init(address=args.address, log_to_driver=False, **local)
    workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    shards = args.shards or 4 * workers
    # Ray tries again where the worker died, and where the task raised.
    task = ray.remote(run_shard).options(num_cpus=1, max_retries=args.tries - 1, retry_exceptions=True)
    waiting = {}
    for number in range(1, shards + 1):
        command = [args.longview, "caption", *options, "--out", str(out), "--shard", f"{number}/{shards}", "--threads", "1",
                   "--", *args.paths]
        library = out / ".longview-libraries" / f"{number}-of-{shards}"
        library.mkdir(parents=True, exist_ok=True)
        waiting[task.remote(command, str(library))] = number
    worst = 0
    while waiting:
        (ready,), _ = ray.wait(list(waiting), num_returns=1)
        number = waiting.pop(ready)
        try:
            code, messages = ray.get(ready)
        except ray.exceptions.RayError as error:
            code, messages = 3, str(error)
        worst = max(worst, code)
        print(f"shard {number}/{shards}: {'done' if code == 0 else f'exit code {code}'}, {len(waiting)} left", flush=True)
        if messages:
            sys.stderr.write(messages)
    ray.shutdown()
    merged = subprocess.run([args.longview, "manifest", "merge", str(out), "--out", str(out / "longview-batch.json")],
                            check=False)
    return max(worst, merged.returncode)


if __name__ == "__main__":
    sys.exit(main())
