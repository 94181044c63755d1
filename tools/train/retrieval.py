#!/usr/bin/env python3
"""Trains the retrieval heads: words and frames into one space of 256 numbers.

    retrieval.py --data ../shared/data --gguf MODEL.gguf --work WORK

Frames: the ViT's class token and the mean of its patches, before the bridge's encoder (whose tokens, trained to describe 6,000
pictures, find new ones less well). Words: the mean, over the question's tokens, of the hidden states
entering decoder layer 12, each first divided by its own size (a few dimensions are huge). The text side depends on the frozen decoder
alone and is kept in WORK/text12.pt.
"""
import argparse
import math
import os
import random

import torch
import torch.nn.functional as F

import data as D
from bridge import RetrievalHead, pooled_features, train_views
from decoder import Decoder, Packing

LAYER = 12
HIDDEN = 1024


@torch.no_grad()
def text_features(dec, texts, batch=128):
    """[n, width] float16: one vector a text, as a question of a user's turn."""
    start = dec.id_of["<|im_start|>"]
    head = [start] + dec.encode("user\n")
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    out = torch.empty(len(texts), dec.width, dtype=torch.float16)
    for first in range(0, len(order), batch):
        rows = order[first:first + batch]
        ids = [head + dec.encode(texts[i]) for i in rows]
        pack = Packing([len(i) for i in ids])
        h = dec.embed[torch.tensor(sum(ids, []))]
        for layer in range(LAYER):
            h, _ = dec.layer(layer, h, pack.offset, pack, None)
        h = F.rms_norm(h, (dec.width,), None, 1e-6)
        for i, part in zip(rows, h.split(pack.lengths)):
            out[i] = part[len(head):].mean(0)
        if first // batch % 20 == 0:
            print(f"texts {first + len(rows)}/{len(texts)}", flush=True)
    return out


def frame_features(pooled):
    return torch.cat([pooled[:, 0], pooled[:, 1:].float().mean(1).half()], -1).float()


def recall(text, frame, k):
    """Share of texts whose own picture (same row) is among the k nearest."""
    own = (text * frame).sum(-1, keepdim=True)
    return float(((text @ frame.T > own + 1e-5).sum(-1) < k).float().mean())


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("data", "gguf", "work"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--steps", type=int, default=200, help="beyond these the training pictures are learned by heart")
    ap.add_argument("--captions", type=int, default=5, help="captions a picture")
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--seed", type=int, default=2, help="heads of several seeds are exported as one pair")
    ap.add_argument("--name", default="retrieval")
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    folder = os.path.join(args.data, "flickr8k")
    captions = D.read_captions(folder)
    lists = D.read_lists(folder)
    path = os.path.join(args.work, "text12.pt")
    texts = {"train": [c for n in lists["train"] for c in (captions[n] * 5)[:args.captions]], "dev": [captions[n][0] for n in lists["dev"]]}
    if os.path.exists(path):
        feats = torch.load(path)
    else:
        dec = Decoder(args.gguf)
        feats = {s: text_features(dec, t) for s, t in texts.items()}
        torch.save(feats, path)
    views = train_views(args.work, [captions[n] for n in lists["train"]]).of(frame_features)
    frame_train, frame_dev = views.sets[0], frame_features(pooled_features(args.work, "dev"))
    text_train = feats["train"].float().view(len(lists["train"]), -1, feats["train"].shape[-1])

    frame_head, text_head = RetrievalHead(frame_train.shape[1], HIDDEN), RetrievalHead(text_train.shape[-1], HIDDEN)
    # Inputs are whitened; the whitening is folded into the first layer at the end.
    norms = {"frame": (frame_train.mean(0), frame_train.std(0) + 1e-3), "text": (text_train.mean((0, 1)), text_train.std((0, 1)) + 1e-3)}
    white = lambda x, s: (x - norms[s][0]) / norms[s][1]
    scale = torch.nn.Parameter(torch.tensor(math.log(20.0)))
    params = list(frame_head.parameters()) + list(text_head.parameters())
    opt = torch.optim.AdamW([dict(params=params, weight_decay=0.2), dict(params=[scale], weight_decay=0.0)], lr=1e-3, betas=(0.9, 0.98))
    rng = random.Random(args.seed + 1)
    n, batch = len(text_train), 1000
    for step in range(args.steps):
        for g in opt.param_groups:
            g["lr"] = 1e-3 * min(1, (step + 1) / 50) * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        rows = rng.sample(range(n), batch)
        which = torch.randint(text_train.shape[1], (batch, 2))
        # A mean of two captions of one picture now and then: words seen together.
        mix = torch.rand(batch, 1) * (torch.rand(batch, 1) < 0.3)
        t = text_train[rows, which[:, 0]] * (1 - mix) + text_train[rows, which[:, 1]] * mix
        f = white(views.take(rng, rows), "frame")
        t = white(t, "text")
        f = F.dropout(f + 0.3 * torch.randn_like(f), 0.15)
        t = F.dropout(t + 0.3 * torch.randn_like(t), 0.15)
        sim = text_head(t) @ frame_head(f).T * scale.exp().clamp(max=100)
        label = torch.arange(batch)
        loss = (F.cross_entropy(sim, label) + F.cross_entropy(sim.T, label)) / 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            text = f"step {step + 1} loss {float(loss.detach()):.3f} scale {float(scale.exp()):.1f}"
            with torch.no_grad():
                a, b = text_head(white(feats["dev"].float(), "text")), frame_head(white(frame_dev, "frame"))
            text += f"  dev R@1 {recall(a, b, 1):.3f} R@5 {recall(a, b, 5):.3f} R@10 {recall(a, b, 10):.3f}"
            print(text, flush=True)
    with torch.no_grad():
        for head, s in ((frame_head, "frame"), (text_head, "text")):
            mean, std = norms[s]
            head.fc1.weight /= std
            head.fc1.bias -= head.fc1.weight @ mean
        a, b = text_head(feats["dev"].float()), frame_head(frame_dev)
        print(f"kept: dev R@1 {recall(a, b, 1):.3f} R@5 {recall(a, b, 5):.3f} R@10 {recall(a, b, 10):.3f}")
    torch.save(dict(frame=frame_head.state_dict(), text=text_head.state_dict(), scale=scale.detach().exp()), os.path.join(args.work, args.name + ".pt"))


if __name__ == "__main__":
    main()
