"""Writes tests/golden/dequant.json: a few blocks of every GGUF type that Longview reads, with the floats that gguf-py makes of them.

Usage: python tools/golden/make_dequant.py   (needs gguf and numpy; made with gguf 0.19.0)
"""
import json
import pathlib

import gguf
import numpy as np

BLOCKS = 3


def random_blocks(rng, block_bytes, scale_offsets):
    """Random bytes, with the half-precision scales at `scale_offsets` small and finite."""
    data = rng.integers(0, 256, (BLOCKS, block_bytes), dtype=np.uint8)
    for offset in scale_offsets:
        scales = rng.normal(0.0, 0.02, BLOCKS).astype(np.float16)
        data[:, offset : offset + 2] = scales.view(np.uint8).reshape(BLOCKS, 2)
    return data


def main():
    rng = np.random.default_rng(1)
    kinds = {
        "q4_0": (gguf.GGMLQuantizationType.Q4_0, 18, [0]),
        "q4_1": (gguf.GGMLQuantizationType.Q4_1, 20, [0, 2]),
        "q8_0": (gguf.GGMLQuantizationType.Q8_0, 34, [0]),
        "q4_k": (gguf.GGMLQuantizationType.Q4_K, 144, [0, 2]),
        "q6_k": (gguf.GGMLQuantizationType.Q6_K, 210, [208]),
        "f16": (gguf.GGMLQuantizationType.F16, 2, [0]),
        "bf16": (gguf.GGMLQuantizationType.BF16, 2, []),
    }
    golden = {}
    for name, (kind, block_bytes, scale_offsets) in kinds.items():
        data = random_blocks(rng, block_bytes, scale_offsets)
        if name == "bf16":  # no NaN: the bytes of a NaN's floats need not agree
            data = (rng.normal(0.0, 3.0, BLOCKS).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)
        floats = gguf.quants.dequantize(data.reshape(1, -1), kind).astype(np.float32).reshape(-1)
        golden[name] = {"blocks": data.tobytes().hex(), "floats": floats.tobytes().hex()}
    path = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "dequant.json"
    path.write_text(json.dumps(golden, indent=0) + "\n")


if __name__ == "__main__":
    main()
