"""The frozen text decoder, written for training: packed tokens, shared prompts computed once, the upper half differentiable.

Weights come from the GGUF file, dequantised by gguf-py; tools/golden/make_decoder.py holds the product's decoder against
transformers, tools/train/check.py this one.
"""
import math

import gguf
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, decoders, models, pre_tokenizers


class Decoder:
    """SmolLM2 (llama architecture). No parameter is trained; everything is float32."""

    def __init__(self, gguf_path):
        reader = gguf.GGUFReader(gguf_path)
        field = lambda name: reader.fields[name].contents()
        self.width, self.n_layers = field("llama.embedding_length"), field("llama.block_count")
        self.heads, self.kv_heads = field("llama.attention.head_count"), field("llama.attention.head_count_kv")
        self.d_head = self.width // self.heads
        self.eps = field("llama.attention.layer_norm_rms_epsilon")
        inv = 1.0 / field("llama.rope.freq_base") ** (torch.arange(0, self.d_head, 2).double() / self.d_head)
        angles = torch.arange(512).double()[:, None] * inv
        self.cos, self.sin = angles.cos().float(), angles.sin().float()
        raw = {t.name: torch.from_numpy(gguf.dequantize(t.data, t.tensor_type).copy()) for t in reader.tensors}
        self.embed, self.final_norm = raw["token_embd.weight"], raw["output_norm.weight"]
        self.layers = []
        for i in range(self.n_layers):
            part = lambda name: raw[f"blk.{i}.{name}.weight"]
            self.layers.append(dict(
                n1=part("attn_norm"), n2=part("ffn_norm"), o=part("attn_output"), d=part("ffn_down"),
                qkv=torch.cat([self.halves(part("attn_q"), self.heads), self.halves(part("attn_k"), self.kv_heads), part("attn_v")]),
                gu=torch.cat([part("ffn_gate"), part("ffn_up")])))
        tokens = field("tokenizer.ggml.tokens")
        self.id_of = {t: i for i, t in enumerate(tokens)}
        self.tokenizer = Tokenizer(models.BPE(self.id_of, [tuple(m.split(" ")) for m in field("tokenizer.ggml.merges")]))
        self.tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
            pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
        self.tokenizer.decoder = decoders.ByteLevel()

    @staticmethod
    def halves(w, heads):
        """Rows of q or k from llama.cpp's order (pairs next to each other) to halves, as rope() turns them."""
        return w.view(heads, w.shape[0] // heads // 2, 2, w.shape[1]).transpose(1, 2).reshape(w.shape).contiguous()

    def encode(self, text):
        """Ids of plain text: control tokens in it stay ordinary text."""
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids):
        return self.tokenizer.decode(ids)

    def rms(self, x, w):
        return F.rms_norm(x, (x.shape[-1],), w, self.eps)

    def rope(self, x, pos):
        """x [N, heads, d], pos [N]."""
        c, s = self.cos[pos][:, None], self.sin[pos][:, None]
        a, b = x.chunk(2, -1)
        return torch.cat([a * c - b * s, b * c + a * s], -1)

    def layer(self, i, h, pos, pack, past):
        """One decoder layer on packed tokens.

        h [N, width]; pos [N]; pack: Packing; past: None or (k, v, mask), keys and values [B, P, kv, d] before the packed
        tokens and which of them are there [B, P]. Returns (h, (k, v)), the new keys and values packed [N, kv, d].
        """
        w = self.layers[i]
        n, kv, d = h.shape[0], self.kv_heads, self.d_head
        qkv = F.linear(self.rms(h, w["n1"]), w["qkv"])
        q, k, v = qkv.split([self.heads * d, kv * d, kv * d], -1)
        q = self.rope(q.view(n, self.heads, d), pos)
        k = self.rope(k.view(n, kv, d), pos)
        v = v.view(n, kv, d)
        a = self.attend(pack.pad(q), pack.pad(k), pack.pad(v), pack.causal, past)
        h = h + F.linear(pack.unpad(a), w["o"])
        g, u = F.linear(self.rms(h, w["n2"]), w["gu"]).chunk(2, -1)
        return h + F.linear(F.silu(g) * u, w["d"]), (k, v)

    def attend(self, q, k, v, mask, past):
        """q [B, L, heads, d]; k, v [B, L, kv, d]; mask [B, L, L] bool. Returns [B, L, heads * d]."""
        b, l = q.shape[:2]
        if past is not None:
            pk, pv, pm = past
            k, v = torch.cat([pk, k], 1), torch.cat([pv, v], 1)
            mask = torch.cat([pm[:, None].expand(b, l, pm.shape[1]), mask], 2)
        group = self.heads // self.kv_heads
        q = q.view(b, l, self.kv_heads, group, self.d_head).permute(0, 2, 3, 1, 4).reshape(b, self.kv_heads, group * l, -1)
        k, v = k.transpose(1, 2), v.transpose(1, 2)
        score = q @ k.transpose(-1, -2) / math.sqrt(self.d_head)
        score = score.masked_fill(~mask.repeat(1, group, 1)[:, None], float("-inf"))
        out = score.softmax(-1) @ v
        return out.view(b, self.kv_heads, group, l, self.d_head).permute(0, 3, 1, 2, 4).reshape(b, l, -1)


class Packing:
    """Sequences of different lengths laid end to end; pad() and unpad() go to [B, L, ...] and back for the attention."""

    def __init__(self, lengths):
        self.lengths = lengths
        b, l = len(lengths), max(lengths)
        t = torch.tensor(lengths)
        self.valid = torch.arange(l)[None] < t[:, None]
        self.flat = self.valid.flatten().nonzero()[:, 0]
        self.gather = torch.full((b * l,), int(t.sum()))
        self.gather[self.flat] = torch.arange(int(t.sum()))
        self.shape = (b, l)
        tri = torch.ones(l, l, dtype=torch.bool).tril()
        # A padded row sees itself, so that no softmax row is empty.
        self.causal = (tri[None] & self.valid[:, None, :]) | torch.eye(l, dtype=torch.bool)[None]
        self.offset = torch.arange(l)[None].expand(b, l)[self.valid]

    def pad(self, x):
        zero = x.new_zeros((1,) + x.shape[1:])
        return torch.cat([x, zero]).index_select(0, self.gather).view(self.shape + x.shape[1:])

    def unpad(self, x):
        return x.reshape((-1,) + x.shape[2:]).index_select(0, self.flat)


class Prompts:
    """Keys and values of prompts at every layer, each prompt computed once: no video acts on it."""

    def __init__(self, decoder, texts):
        start, end, enc = decoder.id_of["<|im_start|>"], decoder.id_of["<|im_end|>"], decoder.encode
        head = lambda t: [start] + enc("user\n" + t) + [end] + enc("\n") + [start] + enc("assistant\n")
        self.end = end
        # The last token of the prompt is left to the caller: the cross-attention acts from there on.
        self.ids = [head(t)[:-1] for t in texts]
        self.last = head("")[-1]
        self.lengths = torch.tensor([len(i) for i in self.ids])
        self.kv, self.h12 = [], None
        pack = Packing([len(i) for i in self.ids])
        pos = pack.offset
        with torch.no_grad():
            h = decoder.embed[torch.tensor(sum(self.ids, []))]
            for i in range(decoder.n_layers):
                if i == 12:
                    self.h12 = pack.pad(h)
                h, (k, v) = decoder.layer(i, h, pos, pack, None)
                self.kv.append((pack.pad(k), pack.pad(v)))
        self.valid = pack.valid

    def past(self, layer, rows):
        k, v = self.kv[layer]
        p = int(self.lengths[rows].max())
        return k[rows, :p], v[rows, :p], self.valid[rows, :p]
