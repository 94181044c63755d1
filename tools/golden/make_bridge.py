"""Writes tests/golden/bridge/{config.json,bridge.safetensors,expected.safetensors}: a small bridge with random weights, and
what the training code (tools/train/bridge.py, teacher.py) makes of two pictures and of five rows of hidden states with it.

    make_bridge.py
The weights are rounded to bf16, as a trained bridge is stored, before anything is computed. Expected values are PyTorch's in
fp32; the attention each frame takes is computed here, in double, and the block's output checked against the module's.
Needs: numpy, safetensors, torch.
"""

import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(REPOSITORY / "tools/train"))

import bridge as training  # noqa: E402
import export  # noqa: E402
import teacher  # noqa: E402

VIT = dict(layers=4, width=48, taps=[1, 3], image=224, patch=14)
SHAPE = dict(pool=4, vit_width=VIT["width"] * len(VIT["taps"]), d_v=48, encoder_layers=2, encoder_heads=3, encoder_mlp=96, d_c=64, d_r=16, cuts=[32, 64],
             cross_layers=[1, 3], heads=3, d_k=16, mlp=64, width=72, min_wavelength_s=2.0, max_wavelength_s=144000.0)
RETRIEVAL = dict(layer=2, width=24, hidden=40, pool=2, sharpness=10)
TOKENS = [7 + 3 * i for i in range(60)]
TIMES = [0.0, 4321.5]
QUESTION_TIME = 4300.25
ROWS = 5


class Pack:
    """One sequence: nothing is padded."""

    shape = (1, ROWS)
    pad = staticmethod(lambda x: x[None])
    unpad = staticmethod(lambda x: x[0])


def round_weights(module):
    """Random norms, biases and sinks; matrices rounded to what bf16 holds."""
    for name, p in module.named_parameters():
        if p.dim() > 1:
            p.data = p.data.bfloat16().float()
        else:
            p.data = p.data + 0.3 * torch.randn_like(p)


def block_in_double(block, h, latents, keys, t_q):
    """One cross-attention block as design §2 and the file format write it; also the share of each token."""
    s = block.shape
    norm = lambda x, w: x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * w.double()
    w = lambda m: m.weight.double()
    hh, dk, dr = s["heads"], s["d_k"], s["d_r"]
    x = norm(h, block.norm)
    q = (x @ w(block.q).T).view(ROWS, hh, dk)
    half = dr // 2
    wave = s["min_wavelength_s"] * (s["max_wavelength_s"] / s["min_wavelength_s"]) ** (torch.arange(half).double() / (half - 1))
    angle = 2 * math.pi * t_q / wave
    a, b = (x @ w(block.q_time).T).view(ROWS, hh, dr).split(half, -1)
    qr = torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)
    k = (latents @ w(block.uk)[:, :latents.shape[1]].T).view(-1, hh, dk)
    v = (latents @ w(block.uv)[:, :latents.shape[1]].T).view(-1, hh, dk)
    score = (torch.einsum("rhd,thd->rht", q, k) + torch.einsum("rhd,td->rht", qr, keys)) / math.sqrt(dk + dr)
    p = torch.cat([score, block.sink.double().view(1, hh, 1).expand(ROWS, hh, 1)], -1).softmax(-1)[..., :-1]
    h = h + torch.einsum("rht,thd->rhd", p, v).reshape(ROWS, -1) @ w(block.o).T
    y = F.gelu(norm(h, block.mlp_norm) @ w(block.up).T + block.up.bias.double())
    return h + y @ w(block.down).T, p.mean((0, 1))


def stored(name, p):
    return p.detach().bfloat16() if p.dim() > 1 else p.detach().float()


def main():
    torch.manual_seed(7)
    bridge = training.Bridge([1.0, 1.0], SHAPE)
    frame_head = training.FrameHead(SHAPE["vit_width"], RETRIEVAL)
    frame_head.place.data.normal_()
    text_head = training.TextHead(2 * SHAPE["width"], RETRIEVAL)
    text_head.fc2.weight.data[-1] *= 4  # words that count differently
    for module in (bridge, frame_head, text_head):
        round_weights(module)
    weights = {}
    for name, p in bridge.named_parameters():
        name = name.replace("encoder.in_proj.", "encoder.in.")
        name = name.replace("compress.norm", "compress.norm.weight") if name == "compress.norm" else name
        if name.startswith("cross.") and name.endswith("norm"):
            name += ".weight"
        weights[name] = stored(name, p)
    for head, at in ((frame_head, "retrieval.frame."), (text_head, "retrieval.text.")):
        for name, p in head.named_parameters():
            weights[at + name] = stored(name, p)
    weights["retrieval.scale"] = torch.tensor(20.0)

    vit = 2 * torch.randn(2, 257, SHAPE["vit_width"])
    hidden = 3 * torch.randn(ROWS, SHAPE["width"])
    with torch.no_grad():
        x = bridge.encoder(training.pool_tokens(vit, SHAPE["pool"]))
        latents, keys = bridge.compress(x, torch.tensor(TIMES), SHAPE["d_c"])
        out = {"vit": vit, "x": x, "latents": latents, "keys": keys, "hidden": hidden}
        out["retrieval"] = frame_head(training.picture_parts(vit, RETRIEVAL["pool"]))
        out["embedded"] = 0.1 * torch.randn(ROWS, SHAPE["width"])
        rms = lambda x: F.rms_norm(x, x.shape[-1:], None, 1e-6)
        out["word_vectors"], counts = text_head(torch.cat([rms(out["embedded"]), rms(hidden)], -1))
        out["word_shares"] = counts / counts.sum()
        out["fits"] = training.fits(out["word_vectors"], counts, torch.tensor([ROWS]), out["retrieval"], RETRIEVAL["sharpness"])
        for cut in SHAPE["cuts"]:
            c, r = latents[..., :cut].reshape(1, -1, cut), keys.reshape(1, -1, SHAPE["d_r"])
            h, exact, shares = hidden, hidden.double(), []
            for block in bridge.cross:
                h = block(h, torch.full((ROWS,), QUESTION_TIME), Pack, 1, c, r)
                exact, share = block_in_double(block, exact, c[0].double(), r[0].double(), QUESTION_TIME)
                shares.append(share)
            assert torch.allclose(h.double(), exact, atol=2e-4), (h.double() - exact).abs().max()
            out[f"h.{cut}"] = h
            out[f"evidence.{cut}"] = torch.stack(shares).mean(0).view(2, -1).sum(-1).float()
        # After all else, so that what stood in the files before stays as it was.
        head = teacher.Teacher(torch.randn(1 + len(TOKENS), SHAPE["width"]), 24, 2, 3, SHAPE["d_c"])
        round_weights(head)
        for name, p in head.named_parameters():  # as loud as a trained head, whose output would else be what it read
            if p.dim() > 1:
                p.data = ((20 if name == "position" else 4) * p.data).bfloat16().float()
        head.bias.data[0] -= 2.0
        head.eval()
        caption = dict(tokens=TOKENS, average={"teacher." + name: p.data for name, p in head.named_parameters()})
        weights |= {name: stored(name, p) for name, p in export.caption_head(caption).items()}
        for cut in SHAPE["cuts"]:
            c = latents[..., :cut]
            for name, seen in (("first", c[:1]), ("second", c[1:]), ("both", c.reshape(1, -1, cut))):
                said = head.say(seen)[0, 0]
                assert len(set(said.tolist())) > 2, said
                out[f"said.{name}.{cut}"] = said.float()
        # Numbers 5, 59, one that is unknown, 22: read as 0 and not counted.
        read, target = torch.tensor([[[0, 5, 59, 0]]]), torch.tensor([5, 59, -100, 22])
        out["score"] = -F.cross_entropy(head.logits(head.read(read, latents[:1]))[0, 0], target, reduction="sum").reshape(1)
    config = {
        "format": "longview-model", "version": 1, "name": "golden",
        "vit": VIT,
        "bridge": dict({k: v for k, v in SHAPE.items() if k != "vit_width"}, file="bridge.safetensors", sha256=""), "retrieval": RETRIEVAL,
        "caption": dict(export.caption_config(caption), heads=3),
    }
    folder = REPOSITORY / "tests/golden/bridge"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    save_file({k: v.contiguous() for k, v in weights.items()}, folder / "bridge.safetensors")
    save_file({k: v.contiguous() for k, v in out.items()}, folder / "expected.safetensors")


if __name__ == "__main__":
    main()
