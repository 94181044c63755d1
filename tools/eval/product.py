"""The product's own binary, called as a person calls it: what every evaluation here asks."""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor


class Product:
    """`library`: the folder of its indexes, or None for the person's own. `jobs`: how many calls `each` makes at a time."""

    def __init__(self, binary, library=None, jobs=1):
        self.binary, self.jobs = binary, jobs
        self.options = ["--library", library] if library else []

    def run(self, *words):
        """What it prints. A failure ends the evaluation with the program's own words."""
        done = subprocess.run([self.binary, *words, *self.options], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            name = os.path.splitext(os.path.basename(sys.argv[0]))[0]
            raise SystemExit(f"{name}: {self.binary} {' '.join(words)[:200]} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        return done.stdout

    def call(self, *words, threads=1):
        """What it says with --json."""
        return json.loads(self.run(*words, "--json", "--threads", str(threads)))

    def each(self, rows, work):
        """work(row) of every row, in the order of the rows."""
        with ThreadPoolExecutor(self.jobs) as pool:
            return list(pool.map(work, rows))
