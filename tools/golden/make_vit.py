"""Writes tests/golden/vit.safetensors: what ONNX Runtime makes of two pictures with the ViT that Longview reads.

    make_vit.py vit_s_focus.onnx
The pictures are given by integer formulas (picture_noise, picture_shapes; their C++ twins are in tests/vision/vit_test.cc), so
no photograph is kept. Every 8th token is stored whole; of every token, its projection on a fixed vector of signs, so that an
error anywhere shows. Needs: numpy, onnx, onnxruntime, safetensors.
"""

import argparse
import pathlib

import numpy as np
import onnx
import onnxruntime
from safetensors.numpy import save_file

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SIDE = 224
TOKENS = "/backbone/layernorm/Add_1_output_0"
TAPS = [f"/backbone/encoder/layer.{block}/Add_1_output_0" for block in (3, 8)]
POSITIONS = "/backbone/embeddings/Resize_output_0"


def lcg(count, state):
    """Numerical Recipes' 32-bit linear congruential generator; the upper 24 bits of each state."""
    out = np.empty(count, np.uint32)
    for i in range(count):
        state = (state * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = state >> 8
    return out


def picture_noise():
    """Uniform in [-2, 2), exact in float."""
    return (lcg(3 * SIDE * SIDE, 1).astype(np.float64) / 2**22 - 2).astype(np.float32).reshape(3, SIDE, SIDE)


def picture_shapes():
    """A disc over a chequerboard over a slope, in steps of 1/64."""
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    planes = []
    for c in range(3):
        v = (x + (c + 1) * y) % 256
        v = np.where((x // 28 + y // 28) % 2 == 1, 255 - v // 2, v)
        v = np.where((x - 120) ** 2 + (y - 100) ** 2 < 3600, 40 + 80 * c, v)
        planes.append(v / 64 - 2)
    return np.stack(planes).astype(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", type=pathlib.Path)
    model = onnx.load(parser.parse_args().onnx)
    for name in (TOKENS, POSITIONS, *TAPS):
        model.graph.output.append(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    signs = np.where(lcg(384, 7) >> 23 & 1, 1.0, -1.0) / np.sqrt(384)
    tensors = {}
    for name, picture in (("noise", picture_noise()), ("shapes", picture_shapes())):
        tokens, positions, *taps = session.run([TOKENS, POSITIONS, *TAPS], {"input_image": picture[None]})
        even = [(t[0] - t[0].mean(-1, keepdims=True)) / np.sqrt(t[0].var(-1, keepdims=True) + 1e-6) for t in taps]
        tensors[f"{name}.taps"] = np.concatenate(even, -1)[::32].astype(np.float32)
        tensors[f"{name}.tokens"] = tokens[0, ::8].copy()
        tensors[f"{name}.projections"] = (tokens[0] @ signs).astype(np.float32)
    # [1, 384, 16, 16] -> rows of the grid, every 16th.
    tensors["positions"] = positions[0].reshape(384, -1).T[::16].astype(np.float32).copy()
    save_file(tensors, REPOSITORY / "tests/golden/vit.safetensors")


if __name__ == "__main__":
    main()
