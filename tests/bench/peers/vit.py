#!/usr/bin/env python3
"""The ViT's forward pass of one picture: `longview bench` (bf16 and int8) beside ONNX Runtime (float32, dynamic int8) and OpenVINO (bf16).

    vit.py --binary build/release/bin/longview --onnx PARTS/vit_s_focus.onnx [--threads 1]

All run the blocks up to the last one that the bridge reads (tools/train/bridge.py, TAPS) and give the outputs of those. Medians of nine runs
after two. Needs an idle machine, and the packages of tools/train/requirements.txt; where
the package openvino is not there, it is left out.
"""
import os
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "train"))
from features import vit_model, vit_session  # noqa: E402
from peers import arguments, bench, median_seconds  # noqa: E402


PICTURE = np.random.default_rng(1).standard_normal((1, 3, 224, 224)).astype(np.float32)


def onnx_runtime(path, threads):
    session = vit_session(path, threads)
    put = session.get_inputs()[0]
    return 1e3 * median_seconds(lambda: session.run(None, {put.name: PICTURE}))


def openvino_bf16(path, threads):
    import openvino
    core = openvino.Core()
    options = {"INFERENCE_PRECISION_HINT": "bf16", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
    request = core.compile_model(core.read_model(vit_model(path)), "CPU", options).create_infer_request()
    return 1e3 * median_seconds(lambda: request.infer({0: PICTURE}))


def main():
    args = arguments(__doc__, "onnx").parse_args()
    peers = {"ONNX Runtime float32": onnx_runtime(args.onnx, args.threads)}
    try:
        from onnxruntime.quantization import quantize_dynamic
        with tempfile.TemporaryDirectory() as folder:
            small = os.path.join(folder, "int8.onnx")
            quantize_dynamic(args.onnx, small)
            peers["ONNX Runtime int8"] = onnx_runtime(small, args.threads)
    except ImportError as error:
        print(f"ONNX Runtime int8: not measured ({error})")
    try:
        peers["OpenVINO bf16"] = openvino_bf16(args.onnx, args.threads)
    except ImportError as error:
        print(f"OpenVINO bf16: not measured ({error})")
    for name, ms in peers.items():
        print(f"{name:24} {ms:7.1f} ms a picture")
    ours = bench(args.binary, args.threads)
    for store in ("bf16", "int8"):
        took = ours[f"vit_s14_{store}_ms"]
        print(f"longview {store:15} {took:7.1f} ms a picture: " + ", ".join(f"{took / ms:.2f} of the time of {name}" for name, ms in peers.items()))


if __name__ == "__main__":
    main()
