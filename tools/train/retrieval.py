#!/usr/bin/env python3
"""Trains the retrieval heads: the words of texts and the parts of frames into one space.

    retrieval.py --data ../shared/data --gguf MODEL.gguf --work WORK

Each word looks for the part of the picture that is most like it, and the mean over the words, each as much as it counts, is how well the text
fits (late interaction). Frames: the ViT's class token, 4 x 4 parts of the picture and the mean of all, before the bridge's encoder (whose tokens,
trained to describe 6,000 pictures, find new ones less well). Words: of each token of the text the states that enter the decoder's layers 0 and 12,
each divided by its own size (a few dimensions are huge), side by side. The text side depends on the frozen decoder alone and is kept in
WORK/words12.pt.
"""
import argparse
import math
import os
import random

import torch
import torch.nn.functional as F

import data as D
from bridge import RETRIEVAL, FrameHead, TextHead, fits, picture_parts, pooled_features, train_views
from decoder import Decoder, Packing


class Words:
    """The tokens of many texts as the decoder reads them in a user's turn."""

    def __init__(self, dec, texts, path):
        embedded = F.rms_norm(dec.embed, (dec.width,), None, 1e-6).half()
        kept = torch.load(path, mmap=True) if os.path.exists(path) else self.read(dec, texts, path)
        self.states, self.offset = kept["states"], kept["offset"]
        self.embedded = embedded[kept["ids"]]

    @staticmethod
    @torch.no_grad()
    def read(dec, texts, path, batch=128):
        head = [dec.id_of["<|im_start|>"]] + dec.encode("user\n")
        ids = [dec.encode(t) for t in texts]
        offset = torch.tensor([0] + [len(i) for i in ids]).cumsum(0)
        states = torch.empty(int(offset[-1]), dec.width, dtype=torch.float16)
        order = sorted(range(len(texts)), key=lambda i: len(ids[i]))
        for first in range(0, len(order), batch):
            rows = order[first:first + batch]
            pack = Packing([len(head) + len(ids[i]) for i in rows])
            h = dec.embed[torch.tensor(sum((head + ids[i] for i in rows), []))]
            for layer in range(RETRIEVAL["layer"]):
                h, _ = dec.layer(layer, h, pack.offset, pack, None)
            h = F.rms_norm(h, (dec.width,), None, 1e-6)
            for i, part in zip(rows, h.split(pack.lengths)):
                states[offset[i]:offset[i + 1]] = part[len(head):]
            if first // batch % 20 == 0:
                print(f"texts {first + len(rows)}/{len(texts)}", flush=True)
        kept = dict(states=states, offset=offset, ids=torch.tensor(sum(ids, [])))
        torch.save(kept, path)
        return kept

    def of(self, rows):
        """[words of all these texts, 2 * width], and how many words each text has."""
        spans = [slice(int(self.offset[i]), int(self.offset[i + 1])) for i in rows]
        return (torch.cat([torch.cat([self.embedded[s], self.states[s]], -1) for s in spans]).float(),
                torch.tensor([s.stop - s.start for s in spans]))


class White:
    """Inputs with mean 0 and variance 1; folded into a head's first layer at the end."""

    def __init__(self, sample):
        self.mean, self.std = sample.mean(0), sample.std(0) + 1e-3

    def __call__(self, x):
        return (x - self.mean) / self.std

    def fold(self, layer):
        layer.weight /= self.std
        layer.bias -= layer.weight @ self.mean


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("data", "gguf", "work"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--batch", type=int, default=384)
    ap.add_argument("--captions", type=int, default=5, help="captions a picture")
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--seed", type=int, default=2)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed + 1)
    folder = os.path.join(args.data, "flickr8k")
    captions, lists = D.read_captions(folder), D.read_lists(folder)
    texts = [c for n in lists["train"] for c in (captions[n] * 5)[:args.captions]] + [captions[n][0] for n in lists["dev"]]
    words = Words(Decoder(args.gguf), texts, os.path.join(args.work, "words12.pt"))
    count = len(lists["train"])
    first_dev = count * args.captions
    views, pool = train_views(args.work, [captions[n] for n in lists["train"]]), RETRIEVAL["pool"]
    dev = picture_parts(pooled_features(args.work, "dev").float(), pool)
    white_text = White(words.of(range(0, first_dev, 37))[0])
    white_frame = White(picture_parts(views.sets[0][::20].float(), pool).flatten(0, 1))
    frame_head, text_head = FrameHead(dev.shape[-1], RETRIEVAL), TextHead(len(white_text.mean), RETRIEVAL)
    scale = torch.nn.Parameter(torch.tensor(math.log(20.0)))
    params = [p for head in (frame_head, text_head) for name, p in head.named_parameters() if name != "place"]
    opt = torch.optim.AdamW([dict(params=params, weight_decay=0.2), dict(params=[scale, frame_head.place], weight_decay=0.0)], lr=1e-3, betas=(0.9, 0.98))

    @torch.no_grad()
    def recall(white_frame, white_text):
        frames = torch.cat([frame_head(white_frame(p)) for p in dev.split(100)])
        rows = []
        for first in range(0, len(dev), 100):
            x, lengths = words.of(range(first_dev + first, first_dev + min(first + 100, len(dev))))
            rows.append(fits(*text_head(white_text(x)), lengths, frames, RETRIEVAL["sharpness"]))
        found = torch.cat(rows)
        place = (found > found.diag()[:, None] + 1e-6).sum(1)
        return "dev " + " ".join(f"R@{k} {float((place < k).float().mean()):.3f}" for k in (1, 5, 10, 64))

    noisy = lambda x: F.dropout(x + 0.3 * torch.randn_like(x), 0.15)
    for step in range(args.steps):
        for g in opt.param_groups:
            g["lr"] = 1e-3 * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        rows = rng.sample(range(count), args.batch)
        x, lengths = words.of([row * args.captions + rng.randrange(args.captions) for row in rows])
        frames = frame_head(noisy(white_frame(picture_parts(views.take(rng, rows).float(), pool))))
        sim = fits(*text_head(noisy(white_text(x))), lengths, frames, RETRIEVAL["sharpness"]) * scale.exp().clamp(max=100)
        label = torch.arange(args.batch)
        loss = (F.cross_entropy(sim, label) + F.cross_entropy(sim.T, label)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {float(loss.detach()):.3f} scale {float(scale.detach().exp()):.1f}  {recall(white_frame, white_text)}", flush=True)
    with torch.no_grad():
        white_frame.fold(frame_head.fc1)
        white_text.fold(text_head.fc1)
    same = lambda x: x
    print(f"kept: {recall(same, same)}")
    torch.save(dict(frame=frame_head.state_dict(), text=text_head.state_dict(), scale=scale.detach().exp(), shape=RETRIEVAL), os.path.join(args.work, "retrieval.pt"))


if __name__ == "__main__":
    main()
