#!/usr/bin/env python3
"""Writes a trained bridge as the product reads it: bridge.safetensors and config.json in assets/models/longview-s.

    export.py --checkpoint WORK/bridge.pt [--retrieval WORK/retrieval.pt] [--teacher WORK/teacher.pt] --onnx vit_s_focus.onnx --gguf MODEL.gguf
              --out assets/models/longview-s

The teacher whose encoder the bridge has becomes its caption head. Matrices become bf16; norms, biases and sinks stay float32; each block's output scale is folded into its weights.
"""
import argparse
import hashlib
import json
import os
import re

import torch
from safetensors.torch import load_file, save_file

from bridge import SHAPE, TAPS
from data import CAPTION_PROMPTS
from teacher import HEADS


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def product_name(name):
    """A parameter's name in the file: a bare norm gets `.weight`, and the attribute that Python's keyword forbids its own name."""
    return re.sub(r"norm$", "norm.weight", name.replace("encoder.in_proj.", "encoder.in."))


def caption_head(teacher):
    """The teacher's own tensors under the names of the file."""
    names = dict(n1="norm1", n2="norm2", n3="norm3", cq="cross_q", ck="cross_k", cv="cross_v", co="cross_o")
    out = {"caption.tokens": torch.tensor(teacher["tokens"], dtype=torch.float32)}
    for name, value in teacher["average"].items():
        if name.startswith("teacher."):
            parts = [names.get(p, p) for p in name.split(".")[1:]]
            out["caption." + {"embed": "embed.weight", "bias": "embed.bias"}.get(".".join(parts), ".".join(parts))] = value
    return out


def caption_config(teacher):
    tensor = lambda name: teacher["average"]["teacher." + name]
    return dict(layers=len({k.split(".")[2] for k in teacher["average"] if k.startswith("teacher.layers.")}), width=tensor("embed").shape[1], heads=HEADS,
                mlp=tensor("layers.0.up.weight").shape[0], tokens=len(teacher["tokens"]), longest=tensor("position").shape[0])


def folded(name, scales):
    """The block's output scale where it is folded into this parameter, else 1."""
    return scales[int(name.split(".")[1])] if name.startswith("cross.") and name.endswith(("o.weight", "down.weight")) else 1.0


def read_back(path, names, scales):
    """The parameters `names` of an exported bridge, each cross block's scale taken out again: to train on from published weights."""
    weights = load_file(path)
    return {name: weights[product_name(name)].float() / folded(name, scales) for name in names}


def tensors(checkpoint, retrieval, teacher):
    out = {product_name(name): value * folded(name, checkpoint["scales"]) for name, value in checkpoint["average"].items()}
    if retrieval:
        for head in ("frame", "text"):
            out |= {f"retrieval.{head}.{k}": v for k, v in retrieval[head].items()}
        out["retrieval.scale"] = retrieval["scale"].reshape(1)
    if teacher:
        out |= caption_head(teacher)
    return {k: (v.to(torch.bfloat16) if v.ndim >= 2 else v.float()).contiguous() for k, v in out.items()}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("checkpoint", "onnx", "gguf", "out"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--retrieval")
    ap.add_argument("--teacher")
    args = ap.parse_args()
    checkpoint = torch.load(args.checkpoint, map_location="cpu")
    retrieval = torch.load(args.retrieval, map_location="cpu") if args.retrieval else None
    teacher = torch.load(args.teacher, map_location="cpu") if args.teacher else None
    if teacher and any(not torch.equal(checkpoint["average"][k].float(), v.float()) for k, v in teacher["average"].items() if k.startswith(("encoder.", "compress.down.", "compress.norm"))):
        raise SystemExit(f"export: {args.checkpoint} has another encoder than {args.teacher}: its cross blocks and the caption head read different latents")
    os.makedirs(args.out, exist_ok=True)
    weights = os.path.join(args.out, "bridge.safetensors")
    save_file(tensors(checkpoint, retrieval, teacher), weights + ".tmp")
    os.replace(weights + ".tmp", weights)
    s = dict(SHAPE, **checkpoint["shape"])
    config = dict(
        format="longview-model", version=1, name="longview-s",
        vit=dict(file=os.path.basename(args.onnx), sha256=sha256(args.onnx), layers=12, width=384, heads=6, taps=TAPS, patch=14, image=224, mlp=1536,
                 mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        text=dict(file=os.path.basename(args.gguf), sha256=sha256(args.gguf)),
        bridge=dict({k: v for k, v in s.items() if k not in ("width", "vit_width")}, file="bridge.safetensors", sha256=sha256(weights)),
        retrieval=retrieval["shape"] if retrieval else None,
        caption=caption_config(teacher) if teacher else None,
        prompts=dict(caption=CAPTION_PROMPTS[0]))
    with open(os.path.join(args.out, "config.json"), "w") as f:
        json.dump(config, f, indent=1)
        f.write("\n")
    print(f"{weights}: {os.path.getsize(weights) / 1e6:.1f} MB after {checkpoint['minutes']:.0f} minutes and {checkpoint['step']} steps")


if __name__ == "__main__":
    main()
