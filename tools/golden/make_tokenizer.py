"""Writes tests/golden/tokenizer.json: what Hugging Face tokenizers makes of hard texts with SmolLM2's vocabulary.

The vocabulary comes from the GGUF file that Longview itself reads, so no tokenizer.json is needed:
    make_tokenizer.py MODEL.gguf [--captions shared/data/flickr8k/captions.tsv]
With captions, a hash of all their ids is written too (never the captions). Needs: gguf, tokenizers.
"""

import argparse
import json
import pathlib

import gguf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]

# Texts of case 47, then every rule of the word split from both sides.
TEXTS = [
    "plain question?", "", "   ", "a\u0301 vs \u00e1", "\u1e9b\u0323 \ufb01 \u2460", "\u200b\u200d\ufeff",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 family",
    "\u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645", "\u0e19\u0e49\u0e33",
    "\ud55c\uad6d\uc5b4 \u65e5\u672c\u8a9e", "e" + "\u0301" * 500, "tab\tnew\nline\r\n", "\u0000",
    "<|im_start|>system", "<|endoftext|>", "</s> [SEP] [CLS] [PAD]", "<image> <__media__> <|vision_start|> <video>",
    "1234567890 1,234.5", "don't DON\u2019T", "\u0130stanbul \u00df \u03a3\u03c2", "  leading", "trailing  ",
    "it's we're I've I'm she'll he'd can't", "IT'S WE'RE 'S 's ''s !'s x's's 'sx 'rex 'l 'll 'r", "'", "''", "' s",
    "a  b   c    d", "a \n b", "a\n\n\nb", "\n \n", " \n", "\t\tx", "a\u00a0b", "a \u00a0 b", "\u3000\u3000\u6f22\u5b57",
    "\u2028line\u2029para\u0085nel\u001cfs\u001fus\u180emvs", "x1y22z333", " 1", "  2", "a 3 b", "4 ", "5\n6", "\u00b2\u00b3\u00bd\u2163",
    "\u0661\u0662\u0663 \u0967\u0968 \u4e00\u4e8c", "3.14e-10", "1st 2nd", "A1B2", "100%", "$5.00", "\uff11\uff12",
    "...!!!???", " ...", "!!! a", "a!!! b", "--flag=value", "snake_case camelCase kebab-case", "a_1_b", "\u00bfqu\u00e9? \u00a1s\u00ed!",
    "na\u00efve caf\u00e9 r\u00e9sum\u00e9", "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u4f60\u597d\uff0c\u4e16\u754c\u3002",
    "\u3053\u3093\u306b\u3061\u306f\u4e16\u754c", "\uc548\ub155\ud558\uc138\uc694", "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "\u0645\u0631\u062d\u0628\u0627\u064b", "\U0001f600\U0001f601 \U0001f1e9\U0001f1ea \U0001f44d\U0001f3fd", "\U0001d4d7\U0001d4ee\U0001d4f5\U0001d4f8",
    "\U00020000\U0002a6d6", "\ufffd\ufffe\uffff", "\U0010ffff", "e\u0301\u0327\u0323 o\u0308", "\u0301", " \u0301a",
    "\u200f\u202e abc", "zero\u200bwidth", "def f(x):\n    return x ** 2  # comment\n", "{\"key\": [1, 2.5, null]}",
    "https://example.org/a?b=c&d=%20#frag", "C:\\path\\to\\file.txt", "a\r\nb\rc", "user\nWhat is this?", "assistant\n", "\n",
    "At 1:20:00-1:35:00, who comes?", "What happens at 00:05?", "WHAT COLOUR IS THE VAN???", "x" * 300, "ab" * 200, " " * 100 + "z",
    "\ud7ff\ue000", "\u01c5\u02b0\u00aa\u00ba", "\u2160\u3007\u0bf0", "\u0600\u00ad\u061c",
]


def load(path):
    """The reference tokenizer, without control tokens: what user text goes through."""
    fields = gguf.GGUFReader(path).fields
    tokens = fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(merge.split(" ")) for merge in fields["tokenizer.ggml.merges"].contents()]
    assert fields["tokenizer.ggml.pre"].contents() == "smollm"
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def fnv(ids_of_texts):
    """FNV-1a, 64 bits, over each id as four little-endian bytes and -1 after each text."""
    value = 0xCBF29CE484222325
    for ids in ids_of_texts:
        for byte in b"".join(i.to_bytes(4, "little", signed=True) for i in [*ids, -1]):
            value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gguf", type=pathlib.Path)
    parser.add_argument("--captions", type=pathlib.Path)
    arguments = parser.parse_args()
    tokenizer = load(arguments.gguf)
    out = REPOSITORY / "tests/golden/tokenizer.json"
    golden = {"texts": [], "captions": json.loads(out.read_text())["captions"] if out.exists() else None}
    for text in TEXTS:
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert tokenizer.decode(ids) == text
        golden["texts"].append({"text": text, "ids": ids})
    # Ill-formed input, as bytes in hex: the reference repairs it as Python does.
    golden["ill_formed"] = []
    for data in (b"ok \xc3\x28 \xed\xa0\x80 \xf0\x28\x8c\x28 \xff\xfe \xe2\x82\n", b"\x80", b"\xf0\x9f\x98", b"a\xc0\xafb", b"\xf4\x90\x80\x80"):
        text = data.decode("utf-8", "replace")
        golden["ill_formed"].append({"hex": data.hex(), "text": text, "ids": tokenizer.encode(text).ids})
    if arguments.captions:
        with arguments.captions.open(encoding="utf-8") as lines:
            captions = [line.rstrip("\n").split("\t")[-1] for line in lines]
        encoded = [e.ids for e in tokenizer.encode_batch(captions, add_special_tokens=False)]
        golden["captions"] = {"count": len(captions), "ids": sum(map(len, encoded)), "fnv1a": fnv(encoded)}
    out.parent.mkdir(parents=True, exist_ok=True)
    entries = ",\n".join(json.dumps(t) for t in golden["texts"])
    broken = ",\n".join(json.dumps(t) for t in golden["ill_formed"])
    out.write_text(f'{{"captions": {json.dumps(golden["captions"])},\n"ill_formed": [\n{broken}\n],\n"texts": [\n{entries}\n]}}\n')


if __name__ == "__main__":
    main()
