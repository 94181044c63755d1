#!/usr/bin/env python3
"""Trains the bridge between the frozen ViT and the frozen text decoder on captioned photographs.

    train.py --data ../shared/data --gguf SmolLM2-135M-Instruct.Q4_1.gguf --work WORK --minutes 100

Resumable: WORK/bridge.pt holds weights, their running average, the optimizer, and the minutes trained. The learning rate stays and
then falls over the last quarter of the minutes, so that a slower machine makes fewer steps but a finished run;
WORK/bridge_open.pt is the state before the fall, from which a longer run goes on. docs/training.md tells the why of each choice.
"""
import argparse
import json
import os
import random
import sys
import time

import torch
import torch.nn.functional as F

import data as D
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "eval"))
import metrics  # noqa: E402
from bridge import SHAPE, Bridge, WordHead, averaged, pooled_features, train_views
from decoder import Decoder, Packing, Prompts
from export import read_back
from questions import Examiner, may_show
from teacher import load as load_teacher
from words import WORDS, few_tokens, learn_words, some_tokens, word_loss, word_targets

FALL = 0.25  # the part of the minutes over which the learning rate falls
TOLD = 0.65  # the part of the questions that ask for more than yes, no or a refusal


class Text:
    """Every training sequence: a prompt, an answer, and its hidden states where the upper half begins (made once, kept)."""

    def __init__(self, dec, first):
        self.dec, self.first = dec, first
        self.questions, self.index = [], {}
        self.kept = {}

    def prompt(self, question):
        if question not in self.index:
            self.index[question] = len(self.questions)
            self.questions.append(question)
        return self.index[question]

    def finish(self):
        self.prompts = Prompts(self.dec, self.questions)

    def encode(self, answer):
        return [self.prompts.last] + self.dec.encode(answer)

    @torch.no_grad()
    def lower(self, items):
        """items: [(prompt, ids)]; hidden states entering layer `first`, packed, for the last prompt token and the answer."""
        need = [it for it in dict.fromkeys(items) if it not in self.kept]
        if need:
            rows = torch.tensor([p for p, _ in need])
            pack = Packing([len(ids) for _, ids in need])
            pos = pack.offset + self.prompts.lengths[rows].repeat_interleave(torch.tensor(pack.lengths))
            h = self.dec.embed[torch.tensor([i for _, ids in need for i in ids])]
            for layer in range(self.first):
                h, _ = self.dec.layer(layer, h, pos, pack, self.prompts.past(layer, rows))
            for it, part in zip(need, h.half().split(pack.lengths)):
                self.kept[it] = part.clone()
        return torch.cat([self.kept[it] for it in items]).float()

    def save(self, path):
        """What lower() has made, for the next run: the same for every bridge whose first cross block stands at this layer."""
        rows = list(self.kept.items())
        torch.save(dict(first=self.first, keys=[(self.questions[p], ids) for (p, ids), _ in rows], h=torch.cat([h for _, h in rows])), path + ".tmp")
        os.replace(path + ".tmp", path)

    def load(self, path):
        if not os.path.exists(path):
            return
        saved = torch.load(path)
        if saved["first"] != self.first:
            return
        for (question, ids), h in zip(saved["keys"], saved["h"].split([len(ids) for _, ids in saved["keys"]])):
            if question in self.index:
                self.kept[self.index[question], ids] = h.clone()


def upper(dec, bridge, text, rows, pack, h, t_q, groups, latents, keys):
    """The upper half with its cross blocks: packed hidden states to packed final hidden states."""
    pos = pack.offset + text.prompts.lengths[rows].repeat_interleave(torch.tensor(pack.lengths))
    for layer in range(text.first, dec.n_layers):
        if layer in bridge.shape["cross_layers"]:
            block = bridge.cross[bridge.shape["cross_layers"].index(layer)]
            h = block(h, t_q, pack, groups, latents, keys)
        h, kv = dec.layer(layer, h, pos, pack, text.prompts.past(layer, rows))
    return dec.rms(h, dec.final_norm)


def hidden_scales(dec, text, layers, items):
    """Root mean square of the hidden state entering each cross layer, the few huge dimensions left out by the median."""
    rows = torch.tensor([p for p, _ in items])
    pack = Packing([len(i) for _, i in items])
    pos = pack.offset + text.prompts.lengths[rows].repeat_interleave(torch.tensor(pack.lengths))
    h, scales = text.lower(items), []
    with torch.no_grad():
        for layer in range(text.first, dec.n_layers):
            if layer in layers:
                scales.append(float(h.abs().median() * 1.48))
            h, _ = dec.layer(layer, h, pos, pack, text.prompts.past(layer, rows))
    return scales


def answer_tokens(dec, batches):
    """(the tokens that answers are told in, [n]; the row of each token of the vocabulary among them, or -1; their embeddings, [n, width])."""
    vocab = torch.tensor(sorted({t for ids in batches.answers() for t in ids} | set(range(1500))))
    vmap = torch.full((dec.embed.shape[0],), -1)
    vmap[vocab] = torch.arange(len(vocab))
    return vocab, vmap, dec.embed[vocab].contiguous()


def read_on(dec, bridge, first, ids, pos, past, t_q, latents, keys):
    """Reads one token of each sequence and adds it to `past`: (hidden states entering layer `first`, final hidden states)."""
    one = Packing([1] * len(ids))
    h = dec.embed[torch.tensor(ids)]
    for layer in range(dec.n_layers):
        if layer == first:
            entering = h
        if layer in bridge.shape["cross_layers"]:
            h = bridge.cross[bridge.shape["cross_layers"].index(layer)](h, t_q, one, latents.shape[0], latents, keys)
        h, (k, v) = dec.layer(layer, h, pos, one, past[layer])
        pk, pv, pm = past[layer]
        past[layer] = [torch.cat([pk, k[:, None]], 1), torch.cat([pv, v[:, None]], 1), torch.cat([pm, torch.ones(len(ids), 1, dtype=torch.bool)], 1)]
    return entering, dec.rms(h, dec.final_norm)


@torch.no_grad()
def generate(dec, bridge, text, latents, keys, prompt, t_q=0.0, limit=24):
    """Greedy answers for n pictures at once, each against its own latents [n, S, d_c]."""
    n = latents.shape[0]
    rows = torch.full((n,), prompt)
    out = [[text.prompts.last] for _ in range(n)]
    past = [list(text.prompts.past(i, rows)) for i in range(dec.n_layers)]
    base = int(text.prompts.lengths[prompt])
    tq = torch.full((n,), float(t_q))
    done = torch.zeros(n, dtype=torch.bool)
    for step in range(limit):
        _, h = read_on(dec, bridge, text.first, [o[-1] for o in out], torch.full((n,), base + step), past, tq, latents, keys)
        nxt = F.linear(h, dec.embed).argmax(-1)
        done |= nxt == text.prompts.end
        for i in range(n):
            if not done[i]:
                out[i].append(int(nxt[i]))
        if done.all():
            break
        for i in range(n):
            if done[i] and len(out[i]) < step + 2:
                out[i].append(text.prompts.end)
    return [dec.decode([t for t in o[1:] if t != text.prompts.end]).strip() for o in out]


@torch.no_grad()
def evaluate(dec, bridge, text, pooled, names, captions, cut=128):
    answers, asked = {}, text.index[D.CAPTION_PROMPTS[0]]
    for first in range(0, len(names), 100):
        x = bridge.encoder(pooled[first:first + 100].float())
        c, r = bridge.compress(x, torch.zeros(len(x)), cut)
        answers.update(zip(names[first:first + 100], generate(dec, bridge, text, c, r, asked)))
    score, _ = metrics.cider(answers, captions)
    common = max(sum(1 for b in answers.values() if b == a) for a in set(answers.values()))
    return dict(cider=score, bleu4=metrics.bleu4(answers, captions), different=len(set(answers.values())), commonest=common, of=len(names)), answers


@torch.no_grad()
def caption_loss(dec, bridge, text, pooled, names, captions):
    """Mean -log p of a token of the first caption of each picture, over the whole vocabulary."""
    asked, total, count = text.index[D.CAPTION_PROMPTS[0]], 0.0, 0
    for first in range(0, len(names), 50):
        some = names[first:first + 50]
        items = [(asked, tuple(text.encode(captions[n][0]))) for n in some]
        c, r = bridge.compress(bridge.encoder(pooled[first:first + len(some)].float()), torch.zeros(len(some), dtype=torch.float64), 128)
        pack = Packing([len(ids) for _, ids in items])
        h = upper(dec, bridge, text, torch.tensor([p for p, _ in items]), pack, text.lower(items), torch.zeros(len(pack.offset), dtype=torch.float64),
                  len(some), c, r)
        target = torch.tensor([tok for _, ids in items for tok in list(ids[1:]) + [text.prompts.end]])
        total += float(F.cross_entropy(F.linear(h, dec.embed), target, reduction="sum"))
        count += len(target)
    return total / count


def tape(rng, k):
    """k different times within one film: a start anywhere in some hours, and steps of a usual sampling."""
    step = rng.choice([1, 1, 2, 3, 5, 10, 30, 60])
    start = 0.0 if rng.random() < 0.3 else rng.uniform(0, rng.choice([60, 600, 3600, 36000]))
    slots = rng.sample(range(k * rng.choice([1, 1, 2, 5])), k)
    return [start + step * (s + rng.uniform(0, 0.5)) for s in slots]


class Batches:
    def __init__(self, names, captions, scores, text, seed, told_captions, told_answers, taught={}):
        """told_captions, told_answers: sequences of either kind for each picture that next() gives; taught: {file: [caption, ...]} of the
        teacher, of which each picture gets one more."""
        self.names, self.captions, self.scores, self.text = names, captions, scores, text
        self.rng = random.Random(seed)
        self.order, self.told_captions, self.told_answers = [], told_captions, told_answers
        self.prompt_of = {(n, i): text.prompt(random.Random(f"{n}/{i}").choice(D.CAPTION_PROMPTS)) for n in names for i in range(len(captions[n]))}
        examiner = Examiner({n: captions[n] for n in names})
        self.told, self.whether = {}, {}
        for n in names:
            r = random.Random(n)
            # Nearly every picture has one of its subject: that answer may not drown the others.
            self.told[n] = [(text.prompt(q), a, 0.15 if a == "One." else 1.0, noun) for _, q, a, _, noun in examiner.questions(captions[n])]
            yes_no = [q for _ in range(3) for q in examiner.whether(captions[n], r)]
            kinds = [[q for q in yes_no if q[0] == "yes"], [q for q in yes_no if q[0] == "no"],
                     [q for q in (examiner.absent(captions[n], r) for _ in range(3)) if q]]
            self.whether[n] = [[(text.prompt(q), a, noun) for _, q, a, _, noun in k] for k in kinds if k]
        self.taught = {n: [(text.prompt(random.Random(f"{n}/{t}").choice(D.CAPTION_PROMPTS)), t) for t in texts] for n, texts in taught.items()}
        self.per_picture = told_captions + bool(taught) + told_answers
        self.said = {n: set(w for t in captions[n] for w in D.words(t)) for n in names}

    def encode(self):
        self.ids = {(n, i): tuple(self.text.encode(t)) for n in self.names for i, t in enumerate(self.captions[n]) if t}
        self.taught = {n: [(p, tuple(self.text.encode(t))) for p, t in v] for n, v in self.taught.items()}
        self.told = {n: [(p, tuple(self.text.encode(a)), w, noun) for p, a, w, noun in v] for n, v in self.told.items()}
        self.whether = {n: [[(p, tuple(self.text.encode(a)), noun) for p, a, noun in k] for k in v] for n, v in self.whether.items()}

    def answers(self):
        return [*self.ids.values(), *(t[1] for group in (self.told, self.taught) for v in group.values() for t in v), *(t[1] for v in self.whether.values() for k in v for t in k)]

    def pictures(self, count):
        while len(self.order) < count:
            fresh = list(range(len(self.names)))
            self.rng.shuffle(fresh)
            self.order += fresh
        picked, self.order = self.order[:count], self.order[count:]
        return picked

    def next(self, pictures):
        """(pictures, items): for each picture its captions, the teacher's, then its answers, which concern this picture alone."""
        picked, items = self.pictures(pictures), []
        for p in picked:
            n = self.names[p]
            for i in D.weighted_pick(self.rng, self.scores[n], self.told_captions, 6.0):
                items.append((self.prompt_of[n, i], self.ids.get((n, i), self.ids.get((n, 0)))))
            if self.taught:
                items.append(self.rng.choice(self.taught[n]))
            for _ in range(self.told_answers):
                if self.told[n] and self.rng.random() < TOLD:
                    items.append(self.rng.choices(self.told[n], [t[2] for t in self.told[n]])[0][:2])
                else:
                    items.append(self.rng.choice(self.rng.choice(self.whether[n]))[:2])
        return picked, items

    def next_tapes(self, pictures, k):
        """The same for tapes of k pictures asked without a time: questions that one picture of the tape answers, or none does."""
        picked, items = self.pictures(pictures), []
        for first in range(0, pictures, k):
            tape = [self.names[p] for p in picked[first:first + k]]
            shown = lambda noun, but=None: any(may_show(noun, self.said[n]) for n in tape if n != but)
            told = [t[:2] for n in tape for t in self.told[n] if t[3] and not shown(t[3], n)]
            whether = {t[:2] for n in tape for kind in self.whether[n] for t in kind if self.text.questions[t[0]].startswith("Is there")
                       and (may_show(t[2], self.said[n]) or not shown(t[2]))}
            none = sorted({t[:2] for n in tape for kind in self.whether[n] for t in kind if not shown(t[2])} - whether)
            wanted = self.per_picture * k
            chosen = told[:wanted // 2] + self.rng.sample(sorted(whether), min(len(whether), wanted // 3))
            items += chosen + self.rng.choices(none or chosen, k=wanted - len(chosen))
        return picked, items


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("--data", required=True)
    ap.add_argument("--gguf", required=True)
    ap.add_argument("--work", required=True)
    ap.add_argument("--minutes", type=float, default=100)
    ap.add_argument("--pictures", type=int, default=24, help="photographs a step, a multiple of 12")
    ap.add_argument("--teacher", help="a teacher whose encoder is taken and kept as it is, and whose captions and probabilities are learned")
    ap.add_argument("--captions", type=int, default=2, help="captions a photograph and step")
    ap.add_argument("--answers", type=int, default=1, help="answers to questions a photograph and step")
    ap.add_argument("--own", type=int, choices=(0, 1), default=1, help="captions of the teacher's own a photograph and step")
    ap.add_argument("--more-words", type=int, default=24, help="further photographs a step, for the word head alone")
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--threads", type=int, default=os.cpu_count())
    ap.add_argument("--eval-every", type=float, default=20, help="minutes; 0: never")
    ap.add_argument("--words", type=int, default=1700, help="steps of the word head alone, before the decoder is asked")
    ap.add_argument("--name", default="bridge")
    ap.add_argument("--init", help="weights to start from: a checkpoint, or with --teacher an exported bridge.safetensors")
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    folder = os.path.join(args.data, "flickr8k")
    captions = D.read_captions(folder)
    lists = D.read_lists(folder)
    scores = D.agreement({n: captions[n] for n in lists["train"]})
    dec = Decoder(args.gguf)
    text = Text(dec, SHAPE["cross_layers"][0])
    for p in D.CAPTION_PROMPTS:
        text.prompt(p)
    photographs = train_views(args.work, [captions[n] for n in lists["train"]])
    pooled_dev = pooled_features(args.work, "dev")
    teacher = load_teacher(args.teacher, dec) if args.teacher else None
    taught = teacher.captions_of(photographs.sets[0], lists["train"], captions, os.path.join(args.work, "taught.json")) if teacher and args.own else {}
    batches = Batches(lists["train"], captions, scores, text, int(time.time()), args.captions, args.answers, taught)
    text.finish()
    batches.encode()
    print(f"{len(text.questions)} prompts, {len(batches.ids)} captions", flush=True)
    vocab, vmap, evocab = answer_tokens(dec, batches)
    print(f"{len(vocab)} tokens in use", flush=True)

    lower_path = os.path.join(args.work, "lower.pt")
    text.load(lower_path)
    print(f"{len(text.kept)} sequences known below the cross blocks", flush=True)

    some = batches.next(16)[1]
    scales = hidden_scales(dec, text, SHAPE["cross_layers"], some)
    bridge = Bridge(scales)
    ckpt_path = os.path.join(args.work, args.name + ".pt")
    if teacher:
        teacher.speak_in(vmap, text.prompts.end)
        taken = {f"{part}.{k}": v for part in ("encoder", "compress") for k, v in teacher.net[part].state_dict().items() if k != "time_key.weight"}
        bridge.load_state_dict(taken, strict=False)
        for p in [*bridge.encoder.parameters(), *bridge.compress.down.parameters(), bridge.compress.norm]:
            p.requires_grad_(False)
        frame_tokens = photographs.of(teacher.frame_tokens)
    vocabulary, targets = word_targets(lists["train"], captions)
    head = WordHead(SHAPE["d_c"], targets.mean(0))
    print(f"{len(vocabulary)} words to tell", flush=True)
    learned = [p for p in [*bridge.parameters(), *(() if teacher else head.parameters())] if p.requires_grad]
    matrices = [p for p in learned if p.ndim >= 2]
    others = [p for p in learned if p.ndim < 2]
    opt = torch.optim.AdamW([dict(params=matrices, weight_decay=0.05), dict(params=others, weight_decay=0.0)], lr=args.lr, betas=(0.9, 0.98), fused=True)
    step, minutes, log = 0, 0.0, []
    average = {k: v.detach().clone() for k, v in bridge.state_dict().items()}
    resumed = os.path.exists(ckpt_path)
    if resumed or args.init:
        published = not resumed and args.init.endswith(".safetensors")
        ck = dict(model=read_back(args.init, average, scales), head=head.state_dict(), scales=scales) if published else torch.load(ckpt_path if resumed else args.init)
        bridge.load_state_dict(ck["model"] if resumed or not teacher else dict(ck["model"], **taken))
        head.load_state_dict(ck["head"])
        scales = ck["scales"]
        for b, s in zip(bridge.cross, scales):
            b.scale = s
        average = {k: v.detach().clone() for k, v in bridge.state_dict().items()}
    if resumed:
        opt.load_state_dict(ck["opt"])
        average, step, minutes, log = ck["average"], ck["step"], ck["minutes"], ck["log"]
    print("scales", [round(s, 2) for s in scales], "parameters", sum(p.numel() for p in bridge.parameters()), flush=True)
    rng = random.Random(step + 7)
    last_eval, running, falling = minutes, None, minutes > (1.0 - FALL) * args.minutes

    def save(path):
        torch.save(dict(model=bridge.state_dict(), head=head.state_dict(), average=average, opt=opt.state_dict(), step=step, minutes=minutes,
                        log=log, scales=scales, shape=bridge.shape), path + ".tmp")
        os.replace(path + ".tmp", path)

    if step == 0 and not args.init and not teacher:
        learn_words(bridge, head, photographs, targets, args.words)
        average = {k: v.detach().clone() for k, v in bridge.state_dict().items()}

    def measure(names):
        with averaged(bridge, average):
            result, answers = evaluate(dec, bridge, text, pooled_dev[:len(names)], names, captions)
        log.append(dict(step=step, minutes=round(minutes, 1), loss=running, **result))
        print("dev", json.dumps(log[-1]), *list(answers.items())[:6], sep="\n   ", flush=True)

    while minutes < args.minutes:
        t0 = time.time()
        left = 1.0 - minutes / args.minutes
        if left < FALL and not falling:
            falling = True
            save(ckpt_path.replace(".pt", "_open.pt"))
        lr = args.lr * min(1.0, (step + 1) / 80) * (1.0 if left > FALL else 0.02 + 0.98 * left / FALL)
        for g in opt.param_groups:
            g["lr"] = lr
        k = rng.choices([1, 2, 4, 6, 12], [0.6, 0.1, 0.1, 0.1, 0.1])[0]
        by_content = k >= 6 and rng.random() < 0.6
        picked, items = batches.next_tapes(args.pictures, k) if by_content else batches.next(args.pictures)
        cut = rng.choices([128, 64, 32], [0.8, 0.12, 0.08])[0]
        times, asked = [], []
        for _ in range(args.pictures // k):
            ts = tape(rng, k)
            times += ts
            asked += [0.0 if by_content or (k == 1 and rng.random() < 0.6) else t for t in ts]
        keep = some_tokens(rng)
        if teacher:
            whole = frame_tokens.take(rng, picked)
            x = whole if keep is None else whole[:, keep]
        else:
            x = bridge.encoder(photographs.take(rng, picked), keep)
        t = torch.tensor(times, dtype=torch.float64)
        c, r = bridge.compress(x, t, cut)
        told = torch.zeros(()) if teacher else word_loss(head, c, targets[torch.tensor(picked)])
        if args.more_words and not teacher:
            others = rng.sample(range(len(targets)), args.more_words)
            seen = bridge.encoder(photographs.take(rng, others), few_tokens(rng, 0.25))
            told = 0.5 * (told + word_loss(head, bridge.compress(seen, torch.zeros(args.more_words, dtype=torch.float64), cut)[0], targets[others]))
        groups = args.pictures // k
        c, r = c.reshape(groups, -1, c.shape[-1]), r.reshape(groups, -1, r.shape[-1])
        rows = torch.tensor([p for p, _ in items])
        pack = Packing([len(i) for _, i in items])
        tq = torch.tensor(asked, dtype=torch.float64).repeat_interleave(len(items) // len(picked)).repeat_interleave(torch.tensor(pack.lengths))
        h = upper(dec, bridge, text, rows, pack, text.lower(items), tq, groups, c, r)
        target = torch.tensor([tok for _, ids in items for tok in list(ids[1:]) + [text.prompts.end]])
        score = F.linear(h, evocab)
        loss = F.cross_entropy(score, vmap[target], reduction="none")
        if teacher and not by_content:
            soft, share = teacher.say_too(bridge.compress(whole, t, 128)[0], items, args.captions, args.own, batches.per_picture, pack.lengths, len(vocab))
            loss = loss * (1.0 - share) + share * -(soft * score.log_softmax(-1)).sum(-1)
        loss = loss.mean()
        opt.zero_grad()
        (loss + WORDS * told).backward()
        torch.nn.utils.clip_grad_norm_(bridge.parameters(), 1.0)
        opt.step()
        decay = min(0.998, 1 - 10 / (step + 20))
        with torch.no_grad():
            torch._foreach_lerp_(list(average.values()), [v for v in bridge.state_dict().values()], 1 - decay)
        step += 1
        value = float(loss.detach())
        running = value if running is None else 0.98 * running + 0.02 * value
        minutes += (time.time() - t0) / 60
        if step % 20 == 0:
            print(f"step {step} min {minutes:.1f} loss {running:.4f} words {float(told.detach()):.2f} lr {lr:.2e} k {k} {time.time() - t0:.2f}s", flush=True)
        if step % 100 == 0:
            save(ckpt_path)
            with averaged(bridge, average):
                print(f"step {step} dev loss {caption_loss(dec, bridge, text, pooled_dev, lists['dev'][:300], captions):.4f}", flush=True)
        if step % 500 == 0:
            text.save(lower_path)
        if args.eval_every and minutes - last_eval >= args.eval_every:
            last_eval = minutes
            measure(lists["dev"][:200])
    if args.eval_every:
        measure(lists["dev"])
    save(ckpt_path)
    text.save(lower_path)


if __name__ == "__main__":
    main()
