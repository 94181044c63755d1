"""What the peers' scripts share: the product's own measurements."""
import argparse
import json
import statistics
import subprocess
import time


def bench(binary, threads):
    """{name: value} of `longview bench --json`."""
    said = subprocess.run([binary, "bench", "--json", "--threads", str(threads)], check=True, capture_output=True, text=True).stdout
    return {k["name"]: k["value"] for k in json.loads(said)["kernels"]}


def median_seconds(run):
    """Of nine runs after two."""
    times = []
    for _ in range(11):
        began = time.perf_counter()
        run()
        times.append(time.perf_counter() - began)
    return statistics.median(times[2:])


def arguments(description, *files):
    """What every script is told: the product, the files that the peer needs, how many threads."""
    ap = argparse.ArgumentParser(description=description.split("\n")[0])
    for name in ("binary", *files):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--threads", type=int, default=1)
    return ap
