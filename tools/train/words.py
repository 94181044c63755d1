"""What the encoder learns before and beside the decoder: the words that a picture's captions use, told from its latents."""
import collections
import random

import torch
import torch.nn.functional as F

import data as D
from bridge import SHAPE

WORDS = 0.03  # weight of the word head's loss beside the answers'


STOP = set("a an the is are in on of at to and with while his her its their one s as it by for from that some this there has have be "
           "he she they who which or into".split())


def word_targets(names, captions, least=15):
    """(words, targets [pictures, words]): the words that stand in captions of at least `least` of the pictures, and how many of a
    picture's captions use each, as a share."""
    said = [[set(D.words(t)) - STOP for t in captions[n] if t] for n in names]
    df = collections.Counter(w for texts in said for w in set().union(*texts))
    vocabulary = sorted(w for w, c in df.items() if c >= least)
    column = {w: i for i, w in enumerate(vocabulary)}
    targets = torch.zeros(len(names), len(vocabulary))
    for row, texts in enumerate(said):
        for t in texts:
            for w in t:
                if w in column:
                    targets[row, column[w]] += 1.0 / len(texts)
    return vocabulary, targets


def few_tokens(rng, share):
    """The class token and a share of the patches, by chance: less work, and no answer leans on one patch."""
    grid = SHAPE["pool"] ** 2
    return torch.tensor([0] + sorted(rng.sample(range(1, 1 + grid), int(grid * share))))


def some_tokens(rng):
    """All tokens in half of the steps, half of the patches in the others."""
    return None if rng.random() < 0.5 else few_tokens(rng, 0.5)


def word_loss(head, latents, targets):
    return F.binary_cross_entropy_with_logits(head(latents), targets, reduction="sum") / len(targets)


def learn_words(bridge, head, photographs, targets, steps, pictures=64, lr=1e-3):
    """The encoder and the compression first learn what the captions' words look like, from a quarter of the patches at a time:
    170 pictures a second, no decoder."""
    learned = [*bridge.encoder.parameters(), *bridge.compress.down.parameters(), bridge.compress.norm, *head.parameters()]
    opt = torch.optim.AdamW(learned, lr=lr, betas=(0.9, 0.98), weight_decay=0.05, fused=True)
    rng, order, running = random.Random(3), [], None
    for step in range(steps):
        for g in opt.param_groups:
            g["lr"] = lr * min(1.0, (step + 1) / 50, 0.02 + 1.6 * (1.0 - step / steps))
        if len(order) < pictures:
            order = rng.sample(range(len(targets)), len(targets))
        picked, order = order[:pictures], order[pictures:]
        x = bridge.encoder(photographs.take(rng, picked), few_tokens(rng, 0.25))
        c, _ = bridge.compress(x, torch.zeros(pictures, dtype=torch.float64), rng.choice([128, 128, 64, 32]))
        loss = word_loss(head, c, targets[picked])
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learned, 1.0)
        opt.step()
        running = float(loss.detach()) if running is None else 0.95 * running + 0.05 * float(loss.detach())
        if step % 50 == 49:
            print(f"words: step {step + 1} loss {running:.2f}", flush=True)
