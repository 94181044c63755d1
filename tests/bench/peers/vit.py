#!/usr/bin/env python3
"""The ViT's forward pass of one picture: `longview bench` (bf16) beside ONNX Runtime (float32, and dynamic int8).

    vit.py --binary build/release/bin/longview --onnx PARTS/vit_s_focus.onnx [--threads 1]

Both run the blocks up to the last one that the bridge reads (tools/train/bridge.py, TAPS) and give the outputs of those. Medians of nine runs
after two. Needs an idle machine, and the packages of tools/train/requirements.txt.
"""
import os
import statistics
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "train"))
from features import vit_session  # noqa: E402
from peers import arguments, bench  # noqa: E402


def measure(path, threads):
    session = vit_session(path, threads)
    put = session.get_inputs()[0]
    picture = np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)
    times = []
    for _ in range(11):
        began = time.perf_counter()
        session.run(None, {put.name: picture})
        times.append(time.perf_counter() - began)
    return 1e3 * statistics.median(times[2:])


def main():
    args = arguments(__doc__, "onnx").parse_args()
    peers = {"float32": measure(args.onnx, args.threads)}
    try:
        from onnxruntime.quantization import quantize_dynamic
        with tempfile.TemporaryDirectory() as folder:
            small = os.path.join(folder, "int8.onnx")
            quantize_dynamic(args.onnx, small)
            peers["int8"] = measure(small, args.threads)
    except ImportError as error:
        print(f"ONNX Runtime int8: not measured ({error})")
    for name, ms in peers.items():
        print(f"ONNX Runtime {ort.__version__} {name:8} {ms:7.1f} ms a picture")
    ours = bench(args.binary, args.threads)["vit_s14_bf16_ms"]
    print(f"longview bf16 {ours:23.1f} ms a picture: " + ", ".join(f"{ours / ms:.2f} of the time of {name}" for name, ms in peers.items()))


if __name__ == "__main__":
    main()
