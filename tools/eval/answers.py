#!/usr/bin/env python3
"""Asks the product's own binary questions about the dev photographs, as many of each kind, and counts the right answers.

    answers.py --binary build/release/bin/longview --data ../shared/data [--each 40] [--out FILE.json]

Questions and accepted answers come from the captions by the rules of tools/train/questions.py: an answer is right where it is, word for
word, one that any of the picture's five captions gives. A refusal is false where the question's thing is there.
"""
import argparse
import collections
import json
import os
import random
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "train"))
import data  # noqa: E402
import questions as Q  # noqa: E402
from product import Product  # noqa: E402

KINDS = ["who", "doing", "how many", "where", "colour", "yes", "no", "absent"]


def chosen(folder, each):
    """`each` questions of each kind over the dev photographs; 'How many' has at most half of its answers the same."""
    captions = data.read_captions(folder)
    lists = data.read_lists(folder)
    examiner = Q.Examiner({n: captions[n] for n in lists["train"]})
    rng = random.Random(11)
    by_kind = collections.defaultdict(list)
    for name in lists["dev"]:
        found = examiner.questions(captions[name]) + examiner.whether(captions[name], rng)
        absent = examiner.absent(captions[name], rng)
        for kind, question, answer, accepted, _ in found + ([absent] if absent else []):
            by_kind[kind].append(dict(picture=name, kind=kind, question=question, answer=answer, accepted=sorted(accepted)))
    out = []
    for kind in KINDS:
        rows = by_kind[kind]
        rng.shuffle(rows)
        used = collections.Counter()
        for row in rows:
            if sum(used.values()) == each:
                break
            if kind == "how many" and used[row["answer"]] >= each // 2:
                continue
            used[row["answer"]] += 1
            out.append(row)
    return out


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--binary", required=True)
    ap.add_argument("--data", required=True)
    ap.add_argument("--each", type=int, default=40)
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--out")
    args = ap.parse_args()
    folder = os.path.join(args.data, "flickr8k")
    rows = chosen(folder, args.each)
    with tempfile.TemporaryDirectory() as library:
        product = Product(args.binary, library, args.jobs)

        def ask(row):
            picture = os.path.join(folder, "images", row["picture"])
            said = product.call("ask", picture, row["question"])
            row["got"], row["in_footage"] = said["answer"].strip(), said["in_footage"]
            return row
        rows = product.each(rows, ask)
    right = lambda some: sum(r["got"] in r["accepted"] for r in some) / max(1, len(some))
    for kind in KINDS:
        some = [r for r in rows if r["kind"] == kind]
        print(f"{kind:10} {len(some):4} questions, right {100 * right(some):5.1f} %")
    yes_no = [r for r in rows if r["kind"] in ("yes", "no")]
    begins = sum(r["got"].startswith("Yes" if r["kind"] == "yes" else "No,") for r in yes_no) / max(1, len(yes_no))
    there = [r for r in rows if r["kind"] not in ("absent", "yes", "no")]
    refused = sum(r["got"] == Q.ABSENT for r in there) / max(1, len(there))
    print(f"all        {len(rows):4} questions, right {100 * right(rows):5.1f} %;  yes/no begun rightly {100 * begins:.1f} %;  false refusals {100 * refused:.1f} %")
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
