#!/usr/bin/env python3
"""Captions the dev photographs with the product's own binary and scores them: CIDEr-D, BLEU-4, variety.

    captions.py --binary build/release/bin/longview --data ../shared/data [--count 1000] [--out FILE.json]

Needs nothing but Python. Every photograph goes through `longview caption` as a still, greedily, as a user would do it.
"""
import argparse
import collections
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "train"))
import data  # noqa: E402  (the captions are cleaned as for training)
import metrics  # noqa: E402
from product import Product  # noqa: E402


def caption_all(binary, files):
    with tempfile.TemporaryDirectory() as out:
        Product(binary).run("caption", *files, "--format", "jsonl", "--out", out, "--overwrite")
        answers = {}
        for folder, _, names in os.walk(out):
            for name in names:
                if name.endswith(".jsonl") and not name.startswith("."):
                    with open(os.path.join(folder, name), encoding="utf-8") as f:
                        for line in f:
                            row = json.loads(line)
                            answers[os.path.basename(row["video"])] = row["text"]
        return answers


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--binary", required=True)
    ap.add_argument("--data", required=True)
    ap.add_argument("--count", type=int, default=1000)
    ap.add_argument("--out", help="where to keep every caption beside its references")
    args = ap.parse_args()
    folder = os.path.join(args.data, "flickr8k")
    names = data.read_lists(folder)["dev"][:args.count]
    references = data.read_captions(folder)
    answers = caption_all(args.binary, [os.path.join(folder, "images", n) for n in names])
    missing = [n for n in names if n not in answers]
    if missing:
        raise SystemExit(f"captions: {len(missing)} pictures have none, the first is {missing[0]}")
    score, each = metrics.cider(answers, references)
    counts = collections.Counter(answers.values())
    common, times = counts.most_common(1)[0]
    print(f"pictures {len(names)}  CIDEr-D {score:.3f}  BLEU-4 {metrics.bleu4(answers, references):.3f}  different {len(counts)}  "
          f"commonest {100 * times / len(names):.1f} % ({common!r})")
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            json.dump([dict(picture=n, caption=answers[n], cider=round(each[n], 3), references=references[n]) for n in names], f, indent=1)


if __name__ == "__main__":
    main()
