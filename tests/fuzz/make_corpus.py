#!/usr/bin/env python3
"""Seeds for the fuzz targets: small whole files of every kind that is read, and cut and flipped ones of each.

    make_corpus.py FOLDER [--mutants N]     FOLDER/<target>/<name>; equal calls give equal files
"""

import argparse
import json
import pathlib
import random
import struct


def safetensors():
    def whole(tensors, metadata=None):
        header, data = {}, b""
        if metadata:
            header["__metadata__"] = metadata
        for name, (dtype, shape, payload) in tensors.items():
            header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(payload)]}
            data += payload
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + data

    yield "empty_table", whole({})
    yield "floats", whole({"a.weight": ("F32", [2, 3], struct.pack("<6f", *range(6))), "b": ("F32", [], b"\0\0\x80?")})
    yield "half", whole({"h": ("F16", [4], b"\0\x3c" * 4), "b": ("BF16", [2, 2], b"\x80\x3f" * 4)}, {"format": "pt"})
    yield "bytes", whole({"i": ("I8", [3], b"\1\2\3"), "u": ("U8", [0], b""), "l": ("I64", [1], b"\7" * 8)})
    yield "long_header", struct.pack("<Q", 1 << 60) + b"{}"


def gguf():
    def text(value):
        return struct.pack("<Q", len(value)) + value

    def whole(pairs, tensors, version=3, align=32):
        out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(pairs))
        for key, kind, payload in pairs:
            out += text(key) + struct.pack("<I", kind) + payload
        data = b""
        for name, shape, kind, payload in tensors:
            out += text(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
            out += struct.pack("<IQ", kind, len(data))
            data += payload + b"\0" * (-len(payload) % align)
        return out + b"\0" * (-len(out) % align) + data

    values = [
        (b"general.architecture", 8, text(b"llama")),
        (b"general.alignment", 4, struct.pack("<I", 32)),
        (b"a.float", 6, struct.pack("<f", 0.5)),
        (b"a.bool", 7, b"\1"),
        (b"a.long", 11, struct.pack("<q", -5)),
        (b"tokenizer.ggml.model", 8, text(b"gpt2")),
        (b"tokenizer.ggml.pre", 8, text(b"smollm")),
        (b"tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 3) + text(b"a") + text(b"b") + text(b"ab")),
        (b"tokenizer.ggml.token_type", 9, struct.pack("<IQ3i", 5, 3, 1, 1, 1)),
        (b"tokenizer.ggml.merges", 9, struct.pack("<IQ", 8, 1) + text(b"a b")),
    ]
    yield "nothing", whole([], [])
    yield "values", whole(values, [])
    yield "f32", whole(values[:2], [(b"w", [4, 2], 0, struct.pack("<8f", *range(8)))])
    yield "q4_1", whole(values[:1], [(b"w", [32, 2], 3, (b"\0\x3c\0\0" + b"\x31" * 16) * 2)])
    yield "q8_0", whole([], [(b"w", [32], 8, b"\0\x3c" + b"\5" * 32), (b"h", [2], 1, b"\0\x3c" * 2)])
    yield "many", b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60)


def onnx():
    def varint(value):
        out = b""
        while value > 127:
            out += bytes([value & 127 | 128])
            value >>= 7
        return out + bytes([value])

    def field(number, payload):
        if isinstance(payload, int):
            return varint(number << 3) + varint(payload)
        return varint(number << 3 | 2) + varint(len(payload)) + payload

    def tensor(name, shape, kind, raw=None, floats=None):
        out = b"".join(field(1, d) for d in shape) + field(2, kind) + field(8, name)
        if raw is not None:
            out += field(9, raw)
        if floats is not None:
            out += field(4, struct.pack(f"<{len(floats)}f", *floats))
        return out

    def model(tensors, nodes=()):
        graph = b"".join(field(1, node) for node in nodes) + b"".join(field(5, t) for t in tensors)
        return field(1, 8) + field(7, graph)

    node = field(1, b"x") + field(1, b"w") + field(2, b"y") + field(3, b"mul") + field(4, b"MatMul")
    yield "nothing", model([])
    yield "raw", model([tensor(b"w", [2, 2], 1, raw=struct.pack("<4f", 1, 2, 3, 4))], [node])
    yield "list", model([tensor(b"w", [3], 1, floats=[1.0, 2.0, 3.0])], [node])
    yield "half", model([tensor(b"w", [2], 10, raw=b"\0\x3c\0\x3c"), tensor(b"i", [1], 7, raw=b"\1" + b"\0" * 7)])
    yield "huge", model([tensor(b"w", [1 << 40, 1 << 40], 1, raw=b"")])


def json_config():
    model = {
        "format": "longview-model", "version": 1, "name": "m",
        "vit": {"file": "v", "sha256": "0" * 64, "layers": 1, "width": 8, "heads": 1, "patch": 2, "image": 4, "mlp": 8,
                "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5]},
        "text": {"file": "t", "sha256": "0" * 64}, "bridge": {"file": "b", "sha256": "0" * 64, "d_c": 8, "d_r": 2},
        "prompts": {"caption": "What?"}}
    yield "model", json.dumps(model).encode()
    yield "values", json.dumps([None, True, -1, 1 << 63, 1.5e300, "\u00e9\n", [], {}, {"a": [1, 2], "b": {"c": 1}}]).encode()
    yield "deep", b"[" * 100
    yield "twice", b'{"a":1,"a":2}'
    yield "number", b"1e999"
    here = pathlib.Path(__file__).resolve().parents[2] / "assets/models/longview-s/config.json"
    if here.exists():
        yield "longview-s", here.read_bytes()


def cache_file():
    """Recipes (cache_file_fuzz.cc) beside beginnings of files: Python has no XXH3 to seal whole ones with."""
    yield "magic", b"LVINDEX\n" + struct.pack("<IIII", 1, 128, 32, 0) + b"\0" * 40
    yield "zeros", b"\0" * 256
    yield "sound", b"W\3\0"
    yield "complete", b"W\2\1"
    yield "flipped", b"W\4\1\1\0\xff\2\x10\1"


def tokenizer():
    yield "text", "The man's 12 dogs don't  run.\n\n\tC'est \u00e9t\u00e9, \u65e5\u672c\u8a9e \U0001f3ac 3\u00bd".encode()
    yield "vocabulary", b"th\nthe\n<|im_end|>\nt h\nth e\n\fthe thin <|im_end|> theme"
    yield "broken", b"\xff\xfe\xc3(\xe2\x82\xf0\x9f\x98 \xed\xa0\x80" + b"a" * 300
    yield "spaces", b" " * 50 + b"\r\n\t\x0b" + "\u3000\u00a0\u2028".encode()


def xmp():
    rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    dc = "http://purl.org/dc/elements/1.1/"

    def sidecar(body, extra=""):
        return (f'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="{rdf}"><rdf:Description rdf:about="" '
                f'xmlns:dc="{dc}" {extra}>{body}</rdf:Description></rdf:RDF></x:xmpmeta>').encode()

    yield "empty", sidecar("")
    yield "described", sidecar('<dc:description><rdf:Alt><rdf:li xml:lang="x-default">Mine</rdf:li></rdf:Alt></dc:description>')
    yield "plain", sidecar("<dc:description>Mine &amp; yours</dc:description>")
    yield "attribute", sidecar("", 'dc:description="Mine"')
    yield "bag", sidecar("<dc:description><rdf:Bag><rdf:li>a</rdf:li></rdf:Bag></dc:description>")
    yield "prefixes", (f'<RDF xmlns="{rdf}"><Description xmlns:q="{dc}"><q:description><Alt><li xml:lang="en">x</li></Alt>'
                       "</q:description></Description></RDF>").encode()
    yield "own", sidecar('<dc:description><rdf:Alt><rdf:li xml:lang="en">A summary.</rdf:li></rdf:Alt></dc:description>',
                         'xmlns:longview="urn:longview:xmp:1" longview:languages="en" longview:hash="x"')
    yield "doctype", b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'


TARGETS = [safetensors, gguf, onnx, json_config, cache_file, tokenizer, xmp]


def mutants(seeds, count, rng):
    for number in range(count):
        name, data = seeds[number % len(seeds)]
        data = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            if not data:
                break
            at = rng.randrange(len(data))
            kind = rng.randrange(4)
            if kind == 0:
                data[at] ^= 1 << rng.randrange(8)
            elif kind == 1:
                data[at] = rng.choice([0, 1, 127, 128, 255])
            elif kind == 2:
                del data[at:at + rng.randint(1, 16)]
            else:
                data[at:at] = data[at:at + rng.randint(1, 16)]
        yield f"mutant_{number:04d}_{name}", bytes(data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mutants", type=int, default=0, help="cut and flipped files of each kind beside the whole ones")
    args = parser.parse_args()
    for target in TARGETS:
        folder = args.folder / target.__name__
        folder.mkdir(parents=True, exist_ok=True)
        seeds = list(target())
        files = dict(seeds) | dict(mutants(seeds, args.mutants, random.Random(target.__name__)))
        for name, data in files.items():
            (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
