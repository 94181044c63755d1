#!/usr/bin/env python3
"""Holds tools/train's decoder against transformers: check.py MODEL.gguf (needs accelerate). Prints the cosine of last-token logits."""
import sys

import torch
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM

from decoder import Decoder, Packing
from train import Text


def main():
    dec = Decoder(sys.argv[1])
    text = Text(dec, 18)
    for q in ("Describe this moment.", "What is the capital of France?"):
        text.prompt(q)
    text.finish()
    d = dec.d_head
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=dec.embed.shape[0], hidden_size=dec.width, intermediate_size=dec.layers[0]["d"].shape[1], num_hidden_layers=dec.n_layers,
        num_attention_heads=dec.heads, num_key_value_heads=dec.kv_heads, rms_norm_eps=dec.eps, rope_theta=100000.0, tie_word_embeddings=True))
    state = {"model.embed_tokens.weight": dec.embed, "model.norm.weight": dec.final_norm, "lm_head.weight": dec.embed}
    for i, w in enumerate(dec.layers):
        p = f"model.layers.{i}."
        q, k, v = w["qkv"].split([dec.heads * d, dec.kv_heads * d, dec.kv_heads * d])
        g, u = w["gu"].chunk(2)
        state |= {p + "input_layernorm.weight": w["n1"], p + "post_attention_layernorm.weight": w["n2"], p + "self_attn.q_proj.weight": q,
                  p + "self_attn.k_proj.weight": k, p + "self_attn.v_proj.weight": v, p + "self_attn.o_proj.weight": w["o"],
                  p + "mlp.gate_proj.weight": g, p + "mlp.up_proj.weight": u, p + "mlp.down_proj.weight": w["d"]}
    model.load_state_dict(state)
    for row in range(2):
        ids = text.prompts.ids[row] + [text.prompts.last]
        with torch.no_grad():
            ref = model(torch.tensor([ids])).logits[0, -1]
            rows, pack = torch.tensor([row]), Packing([1])
            h, pos = text.lower([(row, (text.prompts.last,))]), pack.offset + text.prompts.lengths[rows]
            for layer in range(text.first, dec.n_layers):
                h, _ = dec.layer(layer, h, pos, pack, text.prompts.past(layer, rows))
            ours = F.linear(dec.rms(h, dec.final_norm), dec.embed)[0]
        print(f"cosine {F.cosine_similarity(ours, ref, 0):.7f}, next token {dec.decode([int(ours.argmax())])!r} and {dec.decode([int(ref.argmax())])!r}")


if __name__ == "__main__":
    main()
