#!/usr/bin/env python3
"""Fifty dev photographs planted in hours of footage by the product's own self-test, asked for by their first caption.

    needle.py --binary build/release/bin/longview --data ../shared/data --out FOLDER [--video VIDEO] [--count 50] [--cache mla] [--store bf16]

The footage is the demo clip, repeated, or VIDEO. Pictures whose captions share a noun with the demo clip (bicycles, streets) are left
out. FOLDER gets the depth x length picture and the numbers as JSON.
"""
import argparse
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "train"))
import data  # noqa: E402
from product import Product  # noqa: E402

OF_THE_CLIP = set("bike bikes bicycle bicycles biker bikers cyclist cyclists street road sidewalk city car cars building buildings traffic".split())


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("binary", "data", "out"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--video")
    ap.add_argument("--count", type=int, default=50)
    ap.add_argument("--cache", default="mla")
    ap.add_argument("--store", default="bf16")
    ap.add_argument("--length", default="10m,1h,3h")
    args = ap.parse_args()
    folder = os.path.join(args.data, "flickr8k")
    captions = data.read_captions(folder)
    names = [n for n in data.read_lists(folder)["dev"] if not OF_THE_CLIP & set(w for t in captions[n] for w in data.words(t))]
    random.Random(9).shuffle(names)
    needles = os.path.join(args.out, "needles")
    os.makedirs(needles, exist_ok=True)
    with open(os.path.join(needles, "captions.tsv"), "w", encoding="utf-8") as f:
        for n in names[:args.count]:
            link = os.path.join(needles, n)
            if not os.path.exists(link):
                os.symlink(os.path.abspath(os.path.join(folder, "images", n)), link)
            f.write(f"{n}\t{captions[n][0]}\n")
    result = os.path.join(args.out, f"needle-{args.cache}-{args.store}")
    report = Product(args.binary).call("selftest", *([args.video] if args.video else ["--synthetic"]), "--needles", needles, "--length", args.length,
                                       "--cache", args.cache, "--store", args.store, "--png", result + ".png", threads=os.cpu_count())
    with open(result + ".json", "w", encoding="utf-8") as f:
        json.dump(report, f, indent=1)
    for length in sorted({c["length_s"] for c in report["cells"]}):
        cells = [c for c in report["cells"] if c["length_s"] == length]
        planted = sum(c["planted"] for c in cells)
        print(f"{length / 60:6.0f} min: found {100 * sum(c['found'] for c in cells) / planted:5.1f} %, most attended {100 * sum(c['attended'] for c in cells) / planted:5.1f} % "
              f"of {planted}; by depth {' '.join(str(c['found']) for c in cells)}")


if __name__ == "__main__":
    main()
