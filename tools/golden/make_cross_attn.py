"""Writes tests/golden/cross_attn.safetensors: PyTorch's attention over keys and values expanded from latents.

    make_cross_attn.py
Three frames of 65 tokens, 3 heads of 64, latents of 128 and time keys of 32 rounded to bf16 as a cache holds them, 5 rows of
queries, a sink per head. Computed in double as design §2 writes it before absorption, for each latent size (cut) 32, 64, 128.
Needs: numpy, safetensors, torch.
"""

import math
import pathlib

import torch
from safetensors.torch import save_file

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
ROWS, HEADS, D_K, D_C, D_R, FRAMES, TOKENS = 5, 3, 64, 128, 32, 3, 65


def main():
    gen = torch.Generator().manual_seed(20240)
    rand = lambda *shape: torch.randn(*shape, generator=gen)
    latents = rand(FRAMES * TOKENS, D_C).bfloat16()
    keys = rand(FRAMES * TOKENS, D_R).bfloat16()
    uk = (rand(HEADS * D_K, D_C) / math.sqrt(D_C)).bfloat16()
    uv = (rand(HEADS * D_K, D_C) / math.sqrt(D_C)).bfloat16()
    q, q_time, sink = 2 * rand(ROWS, HEADS, D_K), 2 * rand(ROWS, HEADS, D_R), rand(HEADS)
    out = {"latents": latents, "keys": keys, "uk": uk, "uv": uv, "q": q, "q_time": q_time, "sink": sink}
    for cut in (32, 64, 128):
        c = latents.double()[:, :cut]
        k = (c @ uk.double()[:, :cut].T).view(-1, HEADS, D_K)
        v = (c @ uv.double()[:, :cut].T).view(-1, HEADS, D_K)
        score = torch.einsum("rhd,thd->rht", q.double(), k) + torch.einsum("rhd,td->rht", q_time.double(), keys.double())
        score = score / math.sqrt(D_K + D_R)
        p = torch.cat([score, sink.double().view(1, HEADS, 1).expand(ROWS, HEADS, 1)], -1).softmax(-1)[..., :-1]
        out[f"out.{cut}"] = torch.einsum("rht,thd->rhd", p, v).float().contiguous()
        out[f"lse.{cut}"] = score.logsumexp(-1).float().contiguous()
        out[f"mass.{cut}"] = p.mean((0, 1)).view(FRAMES, TOKENS).sum(-1).float().contiguous()
    save_file(out, REPOSITORY / "tests/golden/cross_attn.safetensors")


if __name__ == "__main__":
    main()
