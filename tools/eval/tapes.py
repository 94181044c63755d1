#!/usr/bin/env python3
"""Long tapes made of the dev photographs, five seconds each, through the product's own binary: searching, telling when, needles.

    tapes.py --binary build/release/bin/longview --data ../shared/data --work WORK [--only search,when,at,several,needle] [--count 720] [--every 1] [--out FILE.json]

search   an hour of 720 pictures: is the picture of a caption the first moment that `search` gives for it, among the first five, ten?
when     ten-minute tapes: "When can we see ...?" answered by a time within the picture's shot
at       ten-minute tapes: a question about a named time, against the same question asked of the picture alone
several  twelve pictures asked about at once: what one of them alone shows, and what none does; and whether the answer changes where the
         picture that is its best evidence is taken away, or another one
needle   one picture and 299 others without the thing that the question names, all attended to, against the picture alone

Tapes and their indexes stay in WORK: a second run is quick.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "train"))
import data  # noqa: E402
import questions as Q  # noqa: E402
from product import Product  # noqa: E402

SHOT = 5.0


def make_tape(path, pictures):
    """A film of one picture a second, each photograph for SHOT seconds."""
    if os.path.exists(path):
        return path
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as listing:
        for p in pictures:
            listing.write(f"file '{p}'\nduration {SHOT}\n")
        listing.write(f"file '{pictures[-1]}'\n")
    subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "concat", "-safe", "0", "-i", listing.name, "-vf", "fps=1,format=yuv420p", "-t", str(SHOT * len(pictures)),
                    "-c:v", "libx264", "-preset", "veryfast", "-crf", "16", path + ".part.mp4"], check=True)
    os.unlink(listing.name)
    os.replace(path + ".part.mp4", path)
    return path


def search(product, work, images, names, captions, every):
    film = make_tape(os.path.join(work, f"hour_{len(names)}.mp4"), [os.path.join(images, n) for n in names])
    product.call("index", film, threads=product.jobs)

    def rank(i):
        moments = product.call("search", film, captions[names[i]][0])["moments"]
        hits = [k for k, m in enumerate(moments) if m["start"] < SHOT * (i + 1) - 0.01 and m["end"] > SHOT * i + 0.01]
        return hits[0] if hits else None
    ranks = product.each(range(0, len(names), every), rank)
    first, five, ten = (sum(r is not None and r < k for r in ranks) / len(ranks) for k in (1, 5, 10))
    print(f"search   {len(ranks)} of {len(names)} pictures in {SHOT * len(names) / 60:.0f} minutes: first {100 * first:.1f} %, in the first five {100 * five:.1f} %, "
          f"ten {100 * ten:.1f} %", flush=True)
    return dict(first=first, five=five, ten=ten, ranks=ranks)


def ten_minutes(product, work, images, names, number):
    some = names[number * 120:(number + 1) * 120]
    film = make_tape(os.path.join(work, f"ten_{number}.mp4"), [os.path.join(images, n) for n in some])
    product.call("index", film, threads=product.jobs)
    return film, some


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def when(product, work, images, names, captions, tapes):
    rows = []
    for number in range(tapes):
        film, some = ten_minutes(product, work, images, names, number)
        rows += [(film, i, captions[n][0]) for i, n in enumerate(some)]

    def ask(row):
        film, i, caption = row
        event = caption[:1].lower() + caption[1:].rstrip(".")
        answer = product.call("ask", film, f"When can we see {event}?")["answer"]
        told = re.search(r"(?:(\d+):)?(\d+):(\d\d)", answer)
        if not told:
            return dict(right=False, answer=answer)
        at = int(told[1] or 0) * 3600 + int(told[2]) * 60 + int(told[3])
        return dict(right=SHOT * i <= at + 0.01 and at < SHOT * (i + 1), answer=answer)
    results = product.each(rows, ask)
    right = sum(r["right"] for r in results) / len(results)
    print(f"when     {len(rows)} questions on {tapes} tapes of ten minutes: within the shot {100 * right:.1f} %", flush=True)
    return dict(right=right)


def at(product, work, images, names, captions, examiner, tapes):
    rows = []
    for number in range(tapes):
        film, some = ten_minutes(product, work, images, names, number)
        for i, n in enumerate(some):
            for kind, question, _, accepted, _ in examiner.questions(captions[n])[:2]:
                rows.append((film, os.path.join(images, n), SHOT * (i + 0.5), question, accepted))

    def ask(row):
        film, picture, time, question, accepted = row
        timed = question.rstrip("?") + f" at {clock(time)}?"
        return (product.call("ask", film, timed)["answer"].strip() in accepted, product.call("ask", picture, question)["answer"].strip() in accepted)
    results = product.each(rows, ask)
    tape, alone = (sum(r[i] for r in results) / len(results) for i in (0, 1))
    print(f"at       {len(rows)} questions: right {100 * tape:.1f} % on the tape, {100 * alone:.1f} % of the picture alone", flush=True)
    return dict(tape=tape, alone=alone)


def asked_of_twelve(names, captions, examiner):
    """[dict(tape, kind, question, accepted, own)] of tapes of twelve pictures each; own: the only picture that shows it, None where none does."""
    rng, rows = random.Random(6), []
    said = {n: set(w for t in captions[n] for w in data.words(t)) for n in names}
    for first in range(0, len(names) - 11, 12):
        tape = names[first:first + 12]
        shown = lambda noun, but=None: any(n != but and Q.may_show(noun, said[n]) for n in tape)
        told = [(n, q) for n in tape for q in examiner.questions(captions[n]) if q[4] and not shown(q[4], n)]
        whether = [(n, q) for n in tape for q in examiner.whether(captions[n], rng)]
        absent = [(n, q) for n in tape for q in [examiner.absent(captions[n], rng)] if q]
        yes = [(n, q) for n, q in whether if q[0] == "yes" and not shown(q[4], n)]
        none = [[(None, q) for _, q in some if not shown(q[4])] for some in ([w for w in whether if w[1][0] == "no"], absent)]
        for some, most in ((told, 3), (yes, 1), (none[0], 1), (none[1], 1)):
            rows += [dict(tape=tape, kind=q[0] if q[0] in ("yes", "no", "absent") else "told", question=q[1], accepted=q[3], own=n)
                     for n, q in rng.sample(some, min(most, len(some)))]
    return rows


def several(product, images, names, captions, examiner, tapes):
    rows = asked_of_twelve(names[:12 * tapes], captions, examiner)
    path = lambda n: os.path.join(images, n)
    product.each(names[:12 * tapes], lambda n: product.call("index", path(n)))

    def ask(row):
        rng = random.Random(row["question"] + row["tape"][0])
        said = product.call("ask", *map(path, row["tape"]), row["question"])
        row["got"], row["masked"] = said["answer"].strip(), None
        row["alone"] = product.call("ask", path(row["own"]), row["question"])["answer"].strip() if row["own"] else None
        if row["own"] and said["evidence"]:
            best = os.path.basename(said["evidence"][0]["video"])
            other = rng.choice([n for n in row["tape"] if n != best])
            row["masked"] = [product.call("ask", *(path(n) for n in row["tape"] if n != gone), row["question"])["answer"].strip() != row["got"] for gone in (best, other)]
            row["found"] = best == row["own"]
        return row
    rows, out = product.each(rows, ask), {}
    for kind in ("told", "yes", "no", "absent"):
        some = [r for r in rows if r["kind"] == kind]
        right = lambda of, some=some: sum(r[of] in r["accepted"] for r in some) / max(1, len(some))
        out[kind] = dict(right=right("got"), alone=right("alone") if some and some[0]["own"] else None, of=len(some))
        print(f"several  {kind:7} {len(some):4} questions over twelve pictures: right {100 * out[kind]['right']:.1f} %" +
              (f", {100 * out[kind]['alone']:.1f} % of the picture alone" if out[kind]["alone"] is not None else ""), flush=True)
    masked = [r for r in rows if r["masked"]]
    best, other = (sum(r["masked"][i] for r in masked) / max(1, len(masked)) for i in (0, 1))
    found = sum(r["found"] for r in masked) / max(1, len(masked))
    print(f"several  evidence of {len(masked)} answers: best evidence is the picture meant {100 * found:.1f} %; the answer changes without it {100 * best:.1f} %, "
          f"without another {100 * other:.1f} %", flush=True)
    return dict(out, found=found, changed_without_best=best, changed_without_other=other)


def needle(product, work, images, names, captions, examiner, each):
    said = {n: set(w for t in captions[n] for w in data.words(t)) for n in names}
    results = []
    for noun in ("dog", "woman", "boy", "girl"):
        others = [n for n in names if not Q.may_show(noun, said[n]) and (noun == "dog" or not Q.may_show("person", said[n]))][:299]
        needles = []
        for n in names:
            found = [q for q in examiner.questions(captions[n]) if q[4] == noun]
            if found:
                needles.append((n, found[0]))
        film = make_tape(os.path.join(work, f"without_{noun}.mp4"), [os.path.join(images, n) for n in others])
        product.call("index", film, threads=product.jobs)

        def ask(row):
            name, (_, question, _, accepted, _) = row
            picture = os.path.join(images, name)
            return (product.call("ask", picture, film, question, "--scope", "all")["answer"].strip() in accepted,
                    product.call("ask", picture, film, question)["answer"].strip() in accepted,
                    product.call("ask", picture, question)["answer"].strip() in accepted)
        results += product.each(needles[:each], ask)
        print(f"needle   {noun}: {len(others)} others", flush=True)
    everything, focus, alone = (sum(r[i] for r in results) / len(results) for i in (0, 1, 2))
    print(f"needle   {len(results)} questions: right {100 * everything:.1f} % attending to all, {100 * focus:.1f} % by focus, {100 * alone:.1f} % of the picture alone", flush=True)
    return dict(all=everything, focus=focus, alone=alone)


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("binary", "data", "work"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--only", default="search,when,at,several,needle")
    ap.add_argument("--count", type=int, default=720, help="pictures of the hour")
    ap.add_argument("--every", type=int, default=1, help="search for every so many of them only")
    ap.add_argument("--tapes", type=int, default=2, help="ten-minute tapes")
    ap.add_argument("--twelves", type=int, default=40, help="tapes of twelve pictures")
    ap.add_argument("--each", type=int, default=25, help="needles of each kind")
    ap.add_argument("--jobs", type=int, default=os.cpu_count())
    ap.add_argument("--out")
    args = ap.parse_args()
    os.makedirs(args.work, exist_ok=True)
    folder = os.path.join(args.data, "flickr8k")
    images = os.path.abspath(os.path.join(folder, "images"))
    captions = data.read_captions(folder)
    lists = data.read_lists(folder)
    examiner = Q.Examiner({n: captions[n] for n in lists["train"]})
    names = lists["dev"][:]
    random.Random(5).shuffle(names)
    product = Product(args.binary, os.path.join(args.work, "library"), args.jobs)
    only, results = args.only.split(","), {}
    if "search" in only:
        results["search"] = search(product, args.work, images, names[:args.count], captions, args.every)
    if "when" in only:
        results["when"] = when(product, args.work, images, names, captions, args.tapes)
    if "at" in only:
        results["at"] = at(product, args.work, images, names, captions, examiner, args.tapes)
    if "several" in only:
        results["several"] = several(product, images, names, captions, examiner, args.twelves)
    if "needle" in only:
        results["needle"] = needle(product, args.work, images, names, captions, examiner, args.each)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as f:
            json.dump(results, f, indent=1)


if __name__ == "__main__":
    main()
