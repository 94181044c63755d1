"""The bridge: frame tokens, the latent compression, and the cross-attention blocks inside the text decoder.

The names of the parameters are those of the exported file; the maths is that of the product (attention/bridge).
"""
import contextlib
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import data as D

# The blocks of the ViT, counted from 0, whose outputs are read. The backbone was tuned to find what is salient, and its last blocks have
# unlearned what things are: docs/training.md has the measurements.
TAPS = [5, 7, 10]
SHAPE = dict(pool=8, vit_width=384 * len(TAPS), d_v=384, encoder_layers=2, encoder_heads=6, encoder_mlp=1536, d_c=128, d_r=32, cuts=[32, 64, 128],
             cross_layers=[20, 21, 23, 25, 27, 29], heads=9, d_k=64, mlp=768, width=576,
             min_wavelength_s=2.0, max_wavelength_s=144000.0)


def time_rope(x, t, shape):
    """Turns pairs (x[j], x[j + d/2]) by 2 pi t / wavelength_j. x [..., d]; t broadcasts over x's leading axes, seconds."""
    half = x.shape[-1] // 2
    ratio = shape["max_wavelength_s"] / shape["min_wavelength_s"]
    wave = shape["min_wavelength_s"] * ratio ** (torch.arange(half).double() / (half - 1))
    angle = 2 * math.pi * t.double()[..., None] / wave
    c, s = angle.cos().float(), angle.sin().float()
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * c - b * s, a * s + b * c], -1)


def pool_tokens(vit, pool):
    """[n, 257, w] -> [n, 1 + pool * pool, w]: the class token and block means of the 16 x 16 patches."""
    n, _, w = vit.shape
    step = 16 // pool
    grid = vit[:, 1:].reshape(n, pool, step, pool, step, w).mean((2, 4)).reshape(n, pool * pool, w)
    return torch.cat([vit[:, :1], grid], 1)


def pooled_features(work, name, view=0):
    """The pooled tokens [n, T, vit_width] float16 of a set of photographs, as features.py has made them."""
    path = os.path.join(work, f"vit_{name}{f'_{view}' if view else ''}.npy")
    return torch.from_numpy(np.load(path, mmap_mode="c"))


def coarser(pooled, pool):
    """[n, 1 + p * p, w] -> [n, 1 + pool * pool, w]: means of neighbouring blocks; as it is where there are no more of them."""
    n, tokens, w = pooled.shape
    p = int((tokens - 1) ** 0.5)
    if pool == p:
        return pooled
    step = p // pool
    return torch.cat([torch.cat([some[:, :1], some[:, 1:].float().reshape(-1, pool, step, pool, step, w).mean((2, 4)).reshape(-1, pool * pool, w).half()], 1)
                      for some in pooled.split(200)])


class Views:
    """Several numbers of each photograph, one for each of its views; odd views are mirrored."""

    def __init__(self, sets, sided):
        """sets: a tensor [n, ...] for each view; sided: of each photograph, whether mirroring makes its captions untrue."""
        self.sets, self.sided = sets, sided

    def of(self, make):
        """What `make` makes of each view's tensor."""
        return Views([make(view) for view in self.sets], self.sided)

    def take(self, rng, rows):
        """One view of each of `rows`, by chance: [len(rows), ...] float."""
        views = [rng.randrange(len(self.sets)) for _ in rows]
        return torch.stack([self.sets[0 if v % 2 and self.sided[r] else v][r] for v, r in zip(views, rows)]).float()


def train_views(work, captions):
    """The pooled tokens of the training photographs, in all views that features.py has made; captions: those of each photograph."""
    sets = [pooled_features(work, "train")]
    while os.path.exists(os.path.join(work, f"vit_train_{len(sets)}.npy")):
        sets.append(pooled_features(work, "train", len(sets)))
    return Views(sets, [any(not {"left", "right"}.isdisjoint(D.words(t)) for t in texts) for texts in captions])


@contextlib.contextmanager
def averaged(module, average):
    """Within it the module has its running average for weights."""
    kept = {k: v.clone() for k, v in module.state_dict().items()}
    module.load_state_dict(average)
    yield
    module.load_state_dict(kept)


class EncoderLayer(nn.Module):
    def __init__(self, d, heads, mlp):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(d, 1e-6), nn.LayerNorm(d, 1e-6)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.fc1, self.fc2 = nn.Linear(d, mlp), nn.Linear(mlp, d)

    def forward(self, x):
        n, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.proj(a.transpose(1, 2).reshape(n, t, d))
        return x + self.fc2(F.gelu(self.fc1(self.norm2(x))))


class FrameEncoder(nn.Module):
    def __init__(self, s):
        super().__init__()
        d = s["d_v"]
        self.in_norm = nn.LayerNorm(s["vit_width"], 1e-6)
        # "in" is a keyword; export renames it.
        self.in_proj = nn.Linear(s["vit_width"], d)
        self.position = nn.Parameter(torch.randn(1 + s["pool"] ** 2, d) * 0.02)
        self.layers = nn.ModuleList([EncoderLayer(d, s["encoder_heads"], s["encoder_mlp"]) for _ in range(s["encoder_layers"])])
        self.out_norm = nn.LayerNorm(d, 1e-6)
        nn.init.normal_(self.in_proj.weight, std=s["vit_width"] ** -0.5)
        nn.init.zeros_(self.in_proj.bias)

    def forward(self, pooled, keep=None):
        """pooled [n, T, vit_width]; keep: which of the T tokens to use (training only), all where None."""
        x = self.in_proj(self.in_norm(pooled)) + self.position
        if keep is not None:
            x = x[:, keep]
        for layer in self.layers:
            x = layer(x)
        return self.out_norm(x)


class CrossBlock(nn.Module):
    """Cross-attention over latents, then a small MLP. `scale` is the size of the hidden state here, folded in at export."""

    def __init__(self, s, scale):
        super().__init__()
        w, h, dk, dr = s["width"], s["heads"], s["d_k"], s["d_r"]
        self.shape, self.scale = s, scale
        self.norm, self.mlp_norm = nn.Parameter(torch.ones(w)), nn.Parameter(torch.ones(w))
        lin = lambda i, o, bias=False: nn.Linear(i, o, bias=bias)
        self.q, self.q_time = lin(w, h * dk), lin(w, h * dr)
        self.uk, self.uv = lin(s["d_c"], h * dk), lin(s["d_c"], h * dk)
        self.sink = nn.Parameter(torch.zeros(h))
        self.o = lin(h * dk, w)
        self.up, self.down = lin(w, s["mlp"], True), lin(s["mlp"], w)
        for m in (self.q, self.q_time, self.uk, self.uv, self.up):
            nn.init.normal_(m.weight, std=m.in_features ** -0.5)
        nn.init.zeros_(self.up.bias)
        # Open at once: no gate to climb out of, only a start small enough not to upset the decoder.
        nn.init.normal_(self.o.weight, std=0.2 * self.o.in_features ** -0.5)
        nn.init.normal_(self.down.weight, std=0.1 * self.down.in_features ** -0.5)

    def forward(self, h, t_q, pack, groups, latents, keys):
        """h [N, width] packed; t_q [N] seconds; groups G contexts of equally many sequences, laid next to each other.

        latents [G, S, d_c], keys [G, S, d_r] (turned by their times already).
        """
        s = self.shape
        hh, dk, dr = s["heads"], s["d_k"], s["d_r"]
        x = F.rms_norm(h, (h.shape[-1],), self.norm, 1e-5)
        qc = pack.pad(self.q(x).view(-1, hh, dk))
        qr = pack.pad(time_rope(self.q_time(x).view(-1, hh, dr), t_q[:, None], s))
        b, l = pack.shape
        rows = (b // groups) * l
        q = torch.cat([qc, qr], -1).view(groups, rows, hh, dk + dr).transpose(1, 2)
        tokens = latents.shape[1]
        k = F.linear(latents, self.uk.weight[:, :latents.shape[-1]]).view(groups, tokens, hh, dk)
        k = torch.cat([k, keys[:, :, None].expand(-1, -1, hh, -1)], -1).transpose(1, 2)
        v = F.linear(latents, self.uv.weight[:, :latents.shape[-1]]).view(groups, tokens, hh, dk).transpose(1, 2)
        score = q @ k.transpose(-1, -2) / math.sqrt(dk + dr)
        sink = self.sink.view(1, hh, 1, 1).expand(groups, hh, rows, 1)
        p = torch.cat([score, sink], -1).softmax(-1)[..., :-1]
        a = (p @ v).transpose(1, 2).reshape(b, l, hh * dk)
        h = h + self.scale * self.o(pack.unpad(a))
        y = F.gelu(self.up(F.rms_norm(h, (h.shape[-1],), self.mlp_norm, 1e-5)))
        return h + self.scale * self.down(y)


class Compress(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.shape = s
        self.down = nn.Linear(s["d_v"], s["d_c"], bias=False)
        self.norm = nn.Parameter(torch.ones(s["d_c"]))
        self.time_key = nn.Linear(s["d_v"], s["d_r"], bias=False)
        for m in (self.down, self.time_key):
            nn.init.normal_(m.weight, std=m.in_features ** -0.5)

    def forward(self, x, t, cut):
        """x [n, T, d_v], t [n] seconds -> latents [n, T, cut], time keys [n, T, d_r]. The norm comes before the cut."""
        c = F.rms_norm(self.down(x), (self.shape["d_c"],), self.norm, 1e-6)
        return c[..., :cut], time_rope(self.time_key(x), t[:, None], self.shape)


class WordHead(nn.Module):
    """Training only: which words the captions of a picture use, told from its latents, the best token speaking for each word.

    It makes the encoder name what it sees long before the decoder has learned to read the latents.
    """

    def __init__(self, d_c, share):
        """share [words]: how often each word is used, where the answer starts."""
        super().__init__()
        self.weight = nn.Parameter(torch.randn(len(share), d_c) * d_c ** -0.5)
        self.bias = nn.Parameter(torch.logit(share.clamp(1e-4, 0.9)) - 4.0)

    def forward(self, latents):
        """latents [n, T, cut] -> logits [n, words]."""
        return F.linear(latents, self.weight[:, :latents.shape[-1]]).logsumexp(1) + self.bias


RETRIEVAL = dict(layer=12, width=64, hidden=512, pool=4, sharpness=10)


def picture_parts(pooled, pool):
    """[n, 1 + P * P, w], pooled tokens as pool_tokens makes them -> [n, 2 + pool * pool, w]: the class token, the parts, the mean of all."""
    n, t, w = pooled.shape
    side = math.isqrt(t - 1)
    step = side // pool
    grid = pooled[:, 1:].reshape(n, pool, step, pool, step, w).mean((2, 4)).reshape(n, pool * pool, w)
    return torch.cat([pooled[:, :1], grid, grid.mean(1, keepdim=True)], 1)


class FrameHead(nn.Module):
    """Parts of pictures [n, parts, width_in] -> vectors [n, parts, width]."""

    def __init__(self, width_in, r):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width_in, r["hidden"]), nn.Linear(r["hidden"], r["width"])
        self.place = nn.Parameter(torch.zeros(2 + r["pool"] ** 2, r["hidden"]))

    def forward(self, x):
        return F.normalize(self.fc2(F.gelu(self.fc1(x) + self.place)), dim=-1)


class TextHead(nn.Module):
    """Tokens of texts [n, width_in] -> vectors [n, width], and how much each counts [n]."""

    def __init__(self, width_in, r):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(width_in, r["hidden"]), nn.Linear(r["hidden"], r["width"] + 1)

    def forward(self, x):
        y = self.fc2(F.gelu(self.fc1(x)))
        return F.normalize(y[:, :-1], dim=-1), y[:, -1].clamp(-8, 8).exp()


def fits(words, counts, lengths, frames, sharpness):
    """[texts, n]: how well each text, `lengths` of the words [words, width] each, fits each of `frames` [n, parts, width]: each word looks for
    the part most like it (late interaction), by a smooth maximum."""
    nearest = torch.einsum("wd,npd->wnp", words, frames).mul(sharpness).logsumexp(-1).sub(math.log(frames.shape[1])) / sharpness
    text = torch.repeat_interleave(torch.arange(len(lengths)), lengths)
    shares = counts / torch.zeros(len(lengths)).index_add(0, text, counts)[text]
    return torch.zeros(len(lengths), len(frames)).index_add(0, text, nearest * shares[:, None])


class Bridge(nn.Module):
    def __init__(self, scales, shape=None):
        super().__init__()
        s = self.shape = dict(SHAPE, **(shape or {}))
        self.encoder = FrameEncoder(s)
        self.compress = Compress(s)
        self.cross = nn.ModuleList([CrossBlock(s, scale) for scale in scales])
