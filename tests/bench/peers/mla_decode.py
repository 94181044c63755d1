#!/usr/bin/env python3
"""One query row of 9 heads over a latent cache of 262,144 tokens (128 + 32 numbers each): `longview bench` beside PyTorch.

    mla_decode.py --binary build/release/bin/longview [--threads 1] [--tokens 262144]

The peer is scaled_dot_product_attention over the same shared keys, heads as query rows ([1, 1, 9, 160] against [1, 1, N, 160]), in float32 and in
bfloat16; the faster counts. Medians of nine runs after two. Needs an idle machine, and the packages of tools/train/requirements.txt.
"""
import torch
import torch.nn.functional as F

from peers import arguments, bench, median_seconds


def main():
    ap = arguments(__doc__)
    ap.add_argument("--tokens", type=int, default=262144)
    args = ap.parse_args()
    torch.set_num_threads(args.threads)
    best = None
    for dtype in (torch.float32, torch.bfloat16):
        k = torch.randn(1, 1, args.tokens, 160).to(dtype)
        q, v = torch.randn(1, 1, 9, 160).to(dtype), k[..., :128].contiguous()
        with torch.no_grad():
            ns = median_seconds(lambda: F.scaled_dot_product_attention(q, k, v)) / args.tokens * 1e9
        print(f"PyTorch {torch.__version__} {str(dtype)[6:]:9} {ns:7.1f} ns a token")
        best = min(best or ns, ns)
    ours = bench(args.binary, args.threads)
    for name in ("mla_decode_bf16_ns_per_token", "mla_decode_int8_ns_per_token"):
        print(f"longview {name[11:15]:17} {ours[name]:7.1f} ns a token, {best / ours[name]:.2f} times as fast as the peer")


if __name__ == "__main__":
    main()
