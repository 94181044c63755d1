#!/usr/bin/env python3
"""Writing text with SmolLM2-135M: `longview bench` (Q4_1 weights as stored) beside transformers (bfloat16 and float32, the same numbers).

    text_decode.py --binary build/release/bin/longview --gguf PARTS/SmolLM2-135M-Instruct.Q4_1.gguf [--threads 1]

64 greedy tokens after a prompt of 16, with a cache of keys and values. Needs an idle machine, and the packages of
tools/train/requirements.txt.
"""
import os
import time

import torch
from transformers import AutoModelForCausalLM

from peers import arguments, bench


def main():
    args = arguments(__doc__, "gguf").parse_args()
    torch.set_num_threads(args.threads)
    folder, name = os.path.split(os.path.abspath(args.gguf))
    best = 0.0
    for dtype in (torch.bfloat16, torch.float32):
        model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=dtype).eval()
        ids = torch.arange(1000, 1016)[None]
        with torch.no_grad():
            model.generate(ids, max_new_tokens=4, min_new_tokens=4, do_sample=False)
            began = time.perf_counter()
            model.generate(ids, max_new_tokens=65, min_new_tokens=65, do_sample=False)
            whole = time.perf_counter() - began
            began = time.perf_counter()
            model.generate(ids, max_new_tokens=1, min_new_tokens=1, do_sample=False)
            rate = 64 / (whole - (time.perf_counter() - began))
        print(f"transformers {str(dtype)[6:]:9} {rate:7.1f} tokens a second")
        best = max(best, rate)
    ours = bench(args.binary, args.threads)["text_decode_tokens_per_s"]
    print(f"longview {ours:20.1f} tokens a second, {ours / best:.2f} times the peer's")


if __name__ == "__main__":
    main()
