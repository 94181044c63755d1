"""Writes tests/golden/decoder.{json,safetensors}: what transformers makes of two prompts with SmolLM2's weights.

    make_decoder.py SmolLM2-135M-Instruct.Q4_1.gguf
The weights are the GGUF file's own, dequantised to float by gguf-py, so only arithmetic can differ. Stored: the prompts' ids,
64 greedy tokens, the smallest lead of a chosen token over the next (how near a tie the greedy test comes), logits of the last
row (every 8th id) and of all rows (every 96th), and hidden states that enter layers 12 and 15 (every 2nd row).
Needs: gguf, numpy, safetensors, tokenizers, torch, transformers.
"""

import argparse
import json
import pathlib

import gguf
import numpy as np
import torch
from make_tokenizer import load as load_tokenizer
from safetensors.numpy import save_file
from transformers import LlamaConfig, LlamaForCausalLM

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
NEW_TOKENS = 64
SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
PROMPTS = {
    "plain": (SYSTEM, "Why is the sky blue? Explain it to a child."),
    "video": (None, "Describe this moment."),
}
NAMES = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


def unpermute(weight, heads):
    """llama.cpp stores the rows of q and k for interleaved RoPE; transformers rotates halves."""
    out, width = weight.shape
    return weight.reshape(heads, out // heads // 2, 2, width).swapaxes(1, 2).reshape(out, width)


def load_model(path):
    reader = gguf.GGUFReader(path)
    key = lambda name: reader.fields[f"llama.{name}"].contents()
    heads, kv_heads = key("attention.head_count"), key("attention.head_count_kv")
    config = LlamaConfig(
        vocab_size=key("vocab_size"), hidden_size=key("embedding_length"), intermediate_size=key("feed_forward_length"),
        num_hidden_layers=key("block_count"), num_attention_heads=heads, num_key_value_heads=kv_heads,
        max_position_embeddings=key("context_length"), rms_norm_eps=key("attention.layer_norm_rms_epsilon"),
        rope_theta=key("rope.freq_base"), tie_word_embeddings=True)
    state = {}
    for tensor in reader.tensors:
        weight = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if tensor.name == "token_embd.weight":
            name = "model.embed_tokens.weight"
        elif tensor.name == "output_norm.weight":
            name = "model.norm.weight"
        else:
            _, index, part, _ = tensor.name.split(".")
            name = f"model.layers.{index}.{NAMES[part]}.weight"
            if part in ("attn_q", "attn_k"):
                weight = unpermute(weight, heads if part == "attn_q" else kv_heads)
        state[name] = torch.from_numpy(weight.copy())
    model = LlamaForCausalLM(config).eval().float()
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert missing == ["lm_head.weight"] and not unexpected, (missing, unexpected)
    model.tie_weights()
    return model


def encode_prompt(tokenizer, system, question):
    """ChatML: control tokens by id, the text between them through the tokenizer."""
    ids = []
    turns = ([("system", system)] if system else []) + [("user", question)]
    for role, text in turns:
        ids += [1, *tokenizer.encode(f"{role}\n{text}").ids, 2, *tokenizer.encode("\n").ids]
    return [*ids, 1, *tokenizer.encode("assistant\n").ids]


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=pathlib.Path)
    path = parser.parse_args().gguf
    tokenizer, model = load_tokenizer(path), load_model(path)
    tensors, about = {}, {}
    for name, (system, question) in PROMPTS.items():
        prompt = encode_prompt(tokenizer, system, question)
        first = model(torch.tensor([prompt]), output_hidden_states=True)
        logits = first.logits[0].numpy()
        tensors[f"{name}.last_logits"] = logits[-1, ::8].copy()
        tensors[f"{name}.all_logits"] = logits[:, ::96].copy()
        for layer in (12, 15):
            tensors[f"{name}.hidden_{layer}"] = first.hidden_states[layer][0, ::2].numpy().copy()
        ids, lead = list(prompt), float("inf")
        out = model(torch.tensor([ids]), use_cache=True)
        for _ in range(NEW_TOKENS):
            best = out.logits[0, -1].topk(2)
            lead = min(lead, float(best.values[0] - best.values[1]))
            ids.append(int(best.indices[0]))
            out = model(torch.tensor([ids[-1:]]), past_key_values=out.past_key_values, use_cache=True)
        about[name] = {"question": question, "prompt": prompt, "greedy": ids[len(prompt):], "smallest_lead": round(lead, 5)}
        print(name, len(prompt), lead, repr(tokenizer.decode(ids[len(prompt):])))
    lines = ",\n".join(f'"{name}": {json.dumps(value)}' for name, value in about.items())
    (REPOSITORY / "tests/golden/decoder.json").write_text("{" + lines + "}\n")
    save_file(tensors, REPOSITORY / "tests/golden/decoder.safetensors")


if __name__ == "__main__":
    main()
