"""What the peers' scripts share: the product's own measurements."""
import json
import subprocess


def bench(binary, threads):
    """{name: value} of `longview bench --json`."""
    said = subprocess.run([binary, "bench", "--json", "--threads", str(threads)], check=True, capture_output=True, text=True).stdout
    return {k["name"]: k["value"] for k in json.loads(said)["kernels"]}
