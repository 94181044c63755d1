#!/usr/bin/env python3
"""Goes on from finished weights with the captions' own measure as the teacher: self-critical training.

    critic.py --data ../shared/data --gguf MODEL.gguf --work WORK --init WORK/bridge.pt --minutes 40

Each photograph gets several captions drawn from the model; one that scores above the others' mean (CIDEr-D against the five captions of
people) is made likelier, one below it less likely (Rennie et al. 2017; the mean of the others as the baseline: Luo 2020). The
questions keep their ordinary loss, so that they are not forgotten. Resumable: WORK/critic.pt.
"""
import argparse
import os
import random
import sys
import time

import torch
import torch.nn.functional as F

import data as D
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "eval"))
import metrics  # noqa: E402
from bridge import Bridge, averaged, pooled_features
from decoder import Decoder, Packing
from train import Batches, Text, answer_tokens, evaluate, read_on, tape, upper
from words import some_tokens


@torch.no_grad()
def draw(dec, bridge, text, evocab, vocab, latents, keys, rows, copies, t_q, limit=20):
    """`copies` captions for each of n pictures: (ids of each, without the end; whether it ended; hidden states entering the upper half of
    each token that predicts one, [length, width])."""
    b = len(rows) * copies
    rows = rows.repeat_interleave(copies)
    t_q = t_q.repeat_interleave(copies)
    base = text.prompts.lengths[rows]
    past = [list(text.prompts.past(i, rows)) for i in range(dec.n_layers)]
    ids, ended = [[text.prompts.last] for _ in range(b)], [False] * b
    lower = [[] for _ in range(b)]
    for step in range(limit):
        entering, h = read_on(dec, bridge, text.first, [i[-1] for i in ids], base + step, past, t_q, latents, keys)
        p = F.linear(h, evocab).softmax(-1)
        nxt = vocab[torch.multinomial(p, 1)[:, 0]].tolist()
        for i in range(b):
            if not ended[i]:
                lower[i].append(entering[i])
            if nxt[i] == text.prompts.end:
                ended[i] = True
            ids[i].append(nxt[i] if not ended[i] else text.prompts.end)
        if all(ended):
            break
    return [i[1:len(l) + 1] for i, l in zip(ids, lower)], ended, [torch.stack(l) for l in lower]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("data", "gguf", "work", "init"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--minutes", type=float, default=40)
    ap.add_argument("--pictures", type=int, default=12)
    ap.add_argument("--copies", type=int, default=5)
    ap.add_argument("--lr", type=float, default=1e-4)
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--eval-every", type=float, default=20)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(int(time.time()))
    folder = os.path.join(args.data, "flickr8k")
    captions = D.read_captions(folder)
    lists = D.read_lists(folder)
    scorer = metrics.Cider({n: captions[n] for n in lists["train"]})
    path = os.path.join(args.work, "critic.pt")
    ck = torch.load(path if os.path.exists(path) else args.init)
    dec = Decoder(args.gguf)
    text = Text(dec, ck["shape"]["cross_layers"][0])
    asked = [text.prompt(p) for p in D.CAPTION_PROMPTS]
    batches = Batches(lists["train"], captions, D.agreement({n: captions[n] for n in lists["train"]}), text, int(time.time()), 0, 2)
    text.finish()
    batches.encode()
    text.load(os.path.join(args.work, "lower.pt"))
    vocab, vmap, evocab = answer_tokens(dec, batches)
    pooled = {s: pooled_features(args.work, s, ck["shape"]["pool"]) for s in ("train", "dev")}
    bridge = Bridge(ck["scales"], ck["shape"])
    bridge.load_state_dict(ck["average"])
    step, minutes, log = ck.get("critic_step", 0), ck.get("critic_minutes", 0.0), ck["log"]
    average = {k: v.detach().clone() for k, v in bridge.state_dict().items()}
    opt = torch.optim.AdamW(bridge.parameters(), lr=args.lr, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    rng, shown, last_eval = random.Random(step), None, minutes

    def finish():
        torch.save(dict(ck, model=bridge.state_dict(), average=average, critic_step=step, critic_minutes=minutes, log=log), path + ".tmp")
        os.replace(path + ".tmp", path)

    def measure(names):
        with averaged(bridge, average):
            result, answers = evaluate(dec, bridge, text, pooled["dev"][:len(names)], names, captions)
        log.append(dict(critic_step=step, critic_minutes=round(minutes, 1), **result))
        print("dev", log[-1], *list(answers.items())[:6], sep="\n   ", flush=True)

    while minutes < args.minutes:
        began = time.time()
        for g in opt.param_groups:
            g["lr"] = args.lr * min(1.0, (step + 1) / 30) * max(0.05, 1.0 - minutes / args.minutes)
        picked, told = batches.next(args.pictures)
        times = [tape(rng, 1)[0] for _ in picked]
        t_q = torch.tensor([0.0 if rng.random() < 0.6 else t for t in times], dtype=torch.float64)
        x = bridge.encoder(pooled["train"][torch.tensor(picked)].float(), some_tokens(rng))
        c, r = bridge.compress(x, torch.tensor(times, dtype=torch.float64), rng.choices([128, 64, 32], [0.8, 0.12, 0.08])[0])
        rows = torch.tensor([rng.choice(asked) for _ in picked])
        ids, ended, lower = draw(dec, bridge, text, evocab, vocab, c.detach(), r.detach(), rows, args.copies, t_q)
        reward = torch.tensor([scorer.score(batches.names[picked[i // args.copies]], dec.decode([t for t in s if t != text.prompts.end]) if e else "")
                               for i, (s, e) in enumerate(zip(ids, ended))]).view(len(picked), args.copies)
        better = ((reward - reward.mean(1, keepdim=True)) * args.copies / (args.copies - 1)).flatten()

        def log_p(h, pack, rows, target, per):
            tq = t_q.repeat_interleave(per).repeat_interleave(torch.tensor(pack.lengths))
            out = upper(dec, bridge, text, rows, pack, h, tq, len(picked), c, r)
            return F.cross_entropy(F.linear(out, evocab), vmap[target], reduction="none")

        pack = Packing([len(i) for i in ids])
        nll = log_p(torch.cat(lower), pack, rows.repeat_interleave(args.copies), torch.tensor(sum(ids, [])), args.copies)
        critical = (nll * better.repeat_interleave(torch.tensor(pack.lengths))).mean()
        pack = Packing([len(i) for _, i in told])
        target = torch.tensor([tok for _, i in told for tok in list(i[1:]) + [text.prompts.end]])
        ordinary = log_p(text.lower(told), pack, torch.tensor([p for p, _ in told]), target, 2).mean()
        opt.zero_grad()
        (critical + 0.2 * ordinary).backward()
        torch.nn.utils.clip_grad_norm_(bridge.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            torch._foreach_lerp_(list(average.values()), list(bridge.state_dict().values()), max(0.01, 1.0 / (step + 2)))
        step += 1
        minutes += (time.time() - began) / 60
        value = float(reward.mean())
        shown = value if shown is None else 0.97 * shown + 0.03 * value
        if step % 10 == 0:
            print(f"step {step} min {minutes:.1f} reward {shown:.4f} questions {float(ordinary.detach()):.3f} {time.time() - began:.2f}s", flush=True)
        if step % 50 == 0:
            finish()
        if args.eval_every and minutes - last_eval >= args.eval_every:
            last_eval = minutes
            measure(lists["dev"][:200])
    measure(lists["dev"])
    finish()


if __name__ == "__main__":
    main()
