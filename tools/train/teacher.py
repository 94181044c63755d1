#!/usr/bin/env python3
"""A small captioner that reads the bridge's latents: it teaches the encoder what to keep, and then the bridge what to say.

    teacher.py --data ../shared/data --gguf MODEL.gguf --work WORK --minutes 40 --critic-minutes 15 [--init WORK/bridge.pt]

A text decoder of two layers costs a fiftieth of the frozen one, so that it reads every caption a dozen times while the frozen one reads
it once. Encoder and compression are the bridge's own and learn with it. First the captions of people, a token at a time; then, the
encoder fixed, the teacher's own captions by what CIDEr-D says of them (self-critical training, Rennie et al. 2017, the mean of the other
samples as the baseline: Luo 2020). Writes WORK/teacher.pt and goes on from it with more minutes; train.py --teacher takes its encoder, its
captions and its probabilities.
"""
import argparse
import collections
import json
import os
import random
import sys
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import data as D
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "eval"))
import metrics  # noqa: E402
from bridge import SHAPE, Compress, FrameEncoder, WordHead, averaged, coarser, pooled_features, train_views
from decoder import Decoder
from words import WORDS, few_tokens, word_loss, word_targets

LONGEST = 20  # tokens of a caption, its end included
HEADS = 4


class Layer(nn.Module):
    def __init__(self, d, heads, d_c, drop):
        super().__init__()
        self.heads, self.drop = heads, drop
        self.n1, self.n2, self.n3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.cq, self.co = nn.Linear(d, d), nn.Linear(d, d)
        self.ck, self.cv = nn.Linear(d_c, d, bias=False), nn.Linear(d_c, d, bias=False)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def split(self, x):
        return x.view(*x.shape[:-1], self.heads, -1).transpose(-3, -2)

    def seen(self, latents):
        """Keys and values of the latents [n, T, cut]."""
        cut = latents.shape[-1]
        return self.split(F.linear(latents, self.ck.weight[:, :cut])), self.split(F.linear(latents, self.cv.weight[:, :cut]))

    def forward(self, x, seen, past=None):
        """x [n, copies, L, d], copies texts for each of n pictures; past: keys and values before x. Returns x and the longer past."""
        n, copies, l, d = x.shape
        q, k, v = (self.split(t) for t in self.qkv(self.n1(x)).chunk(3, -1))
        if past is not None:
            k, v = torch.cat([past[0], k], -2), torch.cat([past[1], v], -2)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=l > 1)
        x = x + F.dropout(self.o(a.transpose(-3, -2).reshape(n, copies, l, d)), self.drop, self.training)
        q = self.split(self.cq(self.n2(x)).view(n, copies * l, d))
        a = F.scaled_dot_product_attention(q, *seen)
        x = x + F.dropout(self.co(a.transpose(-3, -2).reshape(n, copies, l, d)), self.drop, self.training)
        return x + F.dropout(self.down(F.gelu(self.up(self.n3(x)))), self.drop, self.training), (k, v)


class Teacher(nn.Module):
    """vocab tokens of the frozen decoder's vocabulary, numbered anew; 0 begins and ends a caption."""

    def __init__(self, embed, d=256, layers=2, heads=HEADS, d_c=SHAPE["d_c"], drop=0.2):
        super().__init__()
        self.drop = drop
        _, _, v = torch.pca_lowrank(embed, d, niter=4)
        start = embed @ v
        self.embed = nn.Parameter(start / start.std() * 0.05)
        self.position = nn.Parameter(torch.randn(LONGEST, d) * 0.02)
        self.layers = nn.ModuleList([Layer(d, heads, d_c, drop) for _ in range(layers)])
        self.norm, self.bias = nn.LayerNorm(d), nn.Parameter(torch.zeros(len(embed)))

    def logits(self, x):
        return F.linear(self.norm(x), self.embed, self.bias)

    def read(self, ids, latents):
        """ids [n, copies, L], latents [n, T, cut] -> what follows each token, [n, copies, L, d]."""
        x = F.dropout(self.embed[ids] + self.position[:ids.shape[-1]], self.drop, self.training)
        for layer in self.layers:
            x, _ = layer(x, layer.seen(latents))
        return x

    @torch.no_grad()
    def say(self, latents, copies=1, greedy=True):
        """Captions [n, copies, LONGEST] for latents [n, T, cut], zeros after the end."""
        n = latents.shape[0]
        seen = [layer.seen(latents) for layer in self.layers]
        past, ids = [None] * len(self.layers), [torch.zeros(n, copies, dtype=torch.long)]
        ended = torch.zeros(n, copies, dtype=torch.bool)
        for step in range(LONGEST):
            x = (self.embed[ids[-1]] + self.position[step])[:, :, None]
            for i, layer in enumerate(self.layers):
                x, past[i] = layer(x, seen[i], past[i])
            z = self.logits(x[:, :, 0])
            following = z.argmax(-1) if greedy else torch.multinomial(z.softmax(-1).flatten(0, 1), 1).view(n, copies)
            ids.append(following.masked_fill(ended, 0))
            ended |= following == 0
            if ended.all():
                break
        said = torch.stack(ids[1:], -1)
        return F.pad(said, (0, LONGEST - said.shape[-1]))


class Captions:
    """The captions of pictures as rows of the teacher's own token numbers."""

    def __init__(self, dec, names, captions, tokens=None, least=3):
        """tokens: the decoder's tokens to number; where None those that stand in the captions `least` times."""
        coded = {n: [dec.encode(t) for t in captions[n] if t] for n in names}
        count = collections.Counter(t for texts in coded.values() for ids in texts for t in ids)
        self.tokens = sorted(t for t, c in count.items() if c >= least) if tokens is None else tokens
        self.number = {t: i + 1 for i, t in enumerate(self.tokens)}
        self.dec = dec
        self.rows = {n: [self.row(ids) for ids in texts] for n, texts in coded.items()}

    def row(self, ids):
        """Numbers of a caption and its end; -1 where a token is too rare to be taught."""
        return ([self.number.get(t, -1) for t in ids] + [0])[:LONGEST]

    def batch(self, picked):
        """(read [n, k, L], target [n, k, L]): target -100 where nothing is taught."""
        length = max(len(r) for rows in picked for r in rows)
        target = torch.tensor([[r + [-100] * (length - len(r)) for r in rows] for rows in picked])
        read = torch.cat([torch.zeros_like(target[..., :1]), target[..., :-1].clamp(min=0)], -1)
        return read, target.masked_fill(target == -1, -100)

    def text(self, row):
        ids = row.tolist()
        return self.dec.decode([self.tokens[i - 1] for i in ids[:ids.index(0) if 0 in ids else len(ids)]]).strip()


SOFT = 0.8  # how much of a person's caption is taught as the teacher's probabilities, the rest as its own words


class Guide:
    """A finished teacher, for train.py: its captions of photographs, and its probabilities of each token of others' captions."""

    def __init__(self, ck, dec):
        self.told = Captions(dec, [], {}, ck["tokens"])
        self.net = network(dec, ck["tokens"], len(ck["net"]["head.bias"]))
        self.net.load_state_dict(ck["average"])
        self.net.eval().requires_grad_(False)

    @torch.no_grad()
    def frame_tokens(self, pooled):
        return torch.cat([self.net["encoder"](p.float()).half() for p in pooled.split(100)])

    @torch.no_grad()
    def captions_of(self, pooled, names, captions, path):
        """{file: [the greedy caption, the best of five samples by CIDEr-D]}; made once, kept at `path`."""
        if not os.path.exists(path):
            scorer, said = metrics.Cider({n: captions[n] for n in names}), {}
            for first in range(0, len(names), 100):
                some = names[first:first + 100]
                c = self.net["compress"](self.net["encoder"](pooled[first:first + 100].float()), torch.zeros(len(some), dtype=torch.float64), SHAPE["d_c"])[0]
                greedy, drawn = self.net["teacher"].say(c), self.net["teacher"].say(c, 5, greedy=False)
                for n, g, texts in zip(some, greedy, drawn):
                    texts = [self.told.text(t) for t in texts]
                    said[n] = [self.told.text(g[0]), max(texts, key=lambda t: scorer.score(n, t))]
            with open(path + ".tmp", "w", encoding="utf-8") as f:
                json.dump(said, f)
            os.replace(path + ".tmp", path)
        with open(path, encoding="utf-8") as f:
            return json.load(f)

    def speak_in(self, vmap, end):
        """The columns of the bridge's tokens in which the teacher's stand."""
        self.columns = vmap[torch.tensor([end] + self.told.tokens)]

    @torch.no_grad()
    def say_too(self, latents, items, people, own, per_picture, lengths, width):
        """(probabilities [tokens, width], how much they count [tokens]) for items [(prompt, ids)], per_picture for each of n pictures: first
        `people` captions of people, then `own` of the teacher, then answers, of which it knows nothing. ids begin with the prompt's end."""
        n, k = latents.shape[0], people + own
        rows = [[self.told.row(ids[1:]) for _, ids in items[p * per_picture:p * per_picture + k]] for p in range(n)]
        read, _ = self.told.batch(rows)
        p = self.net["teacher"].logits(self.net["teacher"].read(read, latents)).softmax(-1)
        soft, share = torch.zeros(sum(lengths), width), torch.zeros(sum(lengths))
        first = 0
        for i, length in enumerate(lengths):
            picture, j = divmod(i, per_picture)
            if j < k:
                known = min(length, read.shape[-1])
                soft[first:first + known, self.columns] = p[picture, j, :known]
                share[first:first + known] = SOFT if j < people else 1.0
            first += length
        return soft, share


def load(path, dec):
    return Guide(torch.load(path), dec)


def network(dec, tokens, words, drop=0.2, share=None):
    """Encoder, compression, word head and teacher, untrained; tokens: the decoder's tokens that captions use."""
    net = nn.ModuleDict(dict(encoder=FrameEncoder(SHAPE), compress=Compress(SHAPE), head=WordHead(SHAPE["d_c"], torch.full((words,), 0.01) if share is None else share),
                             teacher=Teacher(torch.cat([torch.zeros(1, dec.width), dec.embed[torch.tensor(tokens)]]), drop=drop)))
    with torch.no_grad():
        net["teacher"].embed[0].normal_(std=0.05)
    return net


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("data", "gguf", "work"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--minutes", type=float, default=40)
    ap.add_argument("--steps", type=int, help="of people's captions, instead of --minutes: for comparisons of equal length")
    ap.add_argument("--pool", type=int, default=SHAPE["pool"], choices=[2, 4, 8], help="a frame has this squared, and one, tokens; the product reads 8")
    ap.add_argument("--critic-minutes", type=float, default=15)
    ap.add_argument("--critic-pace", type=float, default=0.3, help="the learning rate of self-critical training, of --lr")
    ap.add_argument("--critic-likelihood", type=float, default=0.1, help="weight of people's captions beside the reward: what is likely stays so, for search")
    ap.add_argument("--init", help="a bridge whose encoder to go on from")
    ap.add_argument("--keep", help="a teacher to go on from, whose encoder and compression stay as they are")
    ap.add_argument("--pictures", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--share", type=float, default=0.5, help="of the patches read in a step")
    ap.add_argument("--drop", type=float, default=0.2)
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--name", default="teacher")
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    SHAPE["pool"] = args.pool
    folder = os.path.join(args.data, "flickr8k")
    captions, lists = D.read_captions(folder), D.read_lists(folder)
    dec = Decoder(args.gguf)
    told = Captions(dec, lists["train"], captions)
    asked = Captions(dec, lists["dev"], captions, told.tokens)
    photographs = train_views(args.work, [captions[n] for n in lists["train"]]).of(lambda view: coarser(view, args.pool))
    pooled_dev = coarser(pooled_features(args.work, "dev"), args.pool)
    vocabulary, targets = word_targets(lists["train"], captions)
    net = network(dec, told.tokens, len(vocabulary), args.drop, targets.mean(0))
    path = os.path.join(args.work, args.name + ".pt")
    step, minutes, log = 0, 0.0, []
    if os.path.exists(path):
        ck = torch.load(path)
        net.load_state_dict(ck["net"])
        average = {k: v.float() for k, v in ck["average"].items()}
        step, minutes, log = ck["step"], ck["minutes"], ck["log"]
    else:
        if args.init:
            ck = torch.load(args.init)
            for part in ("encoder", "compress"):
                net[part].load_state_dict({k[len(part) + 1:]: v for k, v in ck["model"].items() if k.startswith(part + ".")})
            net["head"].load_state_dict(ck["head"])
        if args.keep:
            net.load_state_dict({k: v.float() for k, v in torch.load(args.keep)["average"].items()})
        average = {k: v.detach().clone() for k, v in net.state_dict().items()}
    print(f"{len(told.tokens)} tokens, {sum(p.numel() for p in net['teacher'].parameters())} parameters of the teacher", flush=True)

    def latents(pooled, keep=None, cut=128):
        x = net["encoder"](pooled.float(), keep)
        return net["compress"](x, torch.zeros(len(pooled), dtype=torch.float64), cut)[0]

    @torch.no_grad()
    def measure(count):
        said, total, tokens = {}, 0.0, 0
        net.eval()
        with averaged(net, average):
            for first in range(0, count, 100):
                names = lists["dev"][first:first + 100]
                c = latents(pooled_dev[first:first + len(names)])
                read, target = asked.batch([asked.rows[n][:1] for n in names])
                total += float(F.cross_entropy(net["teacher"].logits(net["teacher"].read(read, c)).flatten(0, 2), target.flatten(), reduction="sum"))
                tokens += int((target >= 0).sum())
                said.update(zip(names, (told.text(r[0]) for r in net["teacher"].say(c))))
        net.train()
        cider, _ = metrics.cider(said, captions)
        common = collections.Counter(said.values()).most_common(1)[0][1] / count
        log.append(dict(step=step, minutes=round(minutes, 1), loss=total / tokens, cider=cider, bleu4=metrics.bleu4(said, captions), commonest=common))
        print({k: round(v, 4) for k, v in log[-1].items()}, *list(said.items())[:4], sep="\n   ", flush=True)

    def save():
        torch.save(dict(net=net.state_dict(), average=average, step=step, minutes=minutes, log=log, tokens=told.tokens, shape=SHAPE), path + ".tmp")
        os.replace(path + ".tmp", path)

    def optimizer(of):
        learned = list(of.parameters())
        return learned, torch.optim.AdamW([dict(params=[p for p in learned if p.ndim >= 2], weight_decay=0.05),
                                           dict(params=[p for p in learned if p.ndim < 2], weight_decay=0.0)], lr=args.lr, betas=(0.9, 0.98), fused=True)

    def latents_of_all():
        net.load_state_dict(average)
        net.eval()
        with torch.no_grad():
            return photographs.of(lambda view: torch.cat([latents(some) for some in view.split(100)]).half())

    rng, order = random.Random(step), []
    fixed = latents_of_all() if args.keep else None
    learned, opt = optimizer(net["teacher"] if args.keep else net)
    scorer = metrics.Cider({n: captions[n] for n in lists["train"]})
    by_reward = False
    running, last = {}, minutes  # of the loss and, by critic, of the reward
    net.train()
    while step < args.steps if args.steps else minutes < args.minutes + args.critic_minutes:
        began = time.time()
        critic = not args.steps and minutes >= args.minutes
        if critic:
            pace = args.critic_pace * (1.05 - (minutes - args.minutes) / args.critic_minutes)
            if not by_reward:
                by_reward, fixed = True, latents_of_all()
                learned, opt = optimizer(net["teacher"])
        else:
            done = step / args.steps if args.steps else minutes / args.minutes
            pace = min(1.0, (step + 1) / 100, 0.05 + 1.9 * (1.0 - done))
        for g in opt.param_groups:
            g["lr"] = args.lr * pace
        if len(order) < args.pictures:
            order = rng.sample(range(len(targets)), len(targets))
        picked, order = order[:args.pictures], order[args.pictures:]
        rows = torch.tensor(picked)
        cut = rng.choices([128, 64, 32], [0.7, 0.18, 0.12])[0]
        if fixed:
            c = fixed.take(rng, picked)[..., :cut]
            c = c[:, torch.randperm(c.shape[1])[:rng.randint(c.shape[1] // 3, c.shape[1])]]
        else:
            c = latents(photographs.take(rng, picked), few_tokens(rng, args.share), cut)
        names = [lists["train"][p] for p in picked]
        if critic:
            net.eval()
            said = net["teacher"].say(c, 5, greedy=False)
            reward = torch.tensor([[scorer.score(n, told.text(r)) for r in texts] for n, texts in zip(names, said)])
            better = (reward - reward.mean(1, keepdim=True)) * 5 / 4
            # The first zero is the caption's end; what follows it was not said.
            spoken = torch.cat([torch.ones_like(said[..., :1]), (said[..., :-1] != 0).long().cumprod(-1)], -1).bool()
            read = torch.cat([torch.zeros_like(said[..., :1]), said[..., :-1]], -1)
            net["teacher"].train()
            nll = F.cross_entropy(net["teacher"].logits(net["teacher"].read(read, c)).flatten(0, 2), said.flatten(), reduction="none").view(said.shape)
            loss = (nll * spoken * better[..., None]).sum() / spoken.sum()
            read, target = told.batch([[rng.choice(told.rows[n])] for n in names])
            loss = loss + args.critic_likelihood * F.cross_entropy(net["teacher"].logits(net["teacher"].read(read, c)).flatten(0, 2), target.flatten())
            value = float(reward.mean())
        else:
            net.train()
            texts = [[t[i % len(t)] for i in range(5)] for t in (told.rows[n] for n in names)]
            read, target = told.batch(texts)
            loss = F.cross_entropy(net["teacher"].logits(net["teacher"].read(read, c)).flatten(0, 2), target.flatten(), label_smoothing=0.05)
            value = float(loss.detach())
            if not fixed:
                loss = loss + WORDS * word_loss(net["head"], c, targets[rows])
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(average.values()), list(net.state_dict().values()), 1 - min(0.995, 1 - 10 / (step + 20)))
        step += 1
        minutes += (time.time() - began) / 60
        running[critic] = 0.97 * running.get(critic, value) + 0.03 * value
        if step % 50 == 0:
            print(f"step {step} min {minutes:.1f} {'reward' if critic else 'loss'} {running[critic]:.4f} {time.time() - began:.2f}s", flush=True)
        if minutes - last > 5:
            last = minutes
            measure(300)
            save()
    measure(len(lists["dev"]))
    save()


if __name__ == "__main__":
    main()
