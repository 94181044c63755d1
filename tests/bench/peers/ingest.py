#!/usr/bin/env python3
"""Ten minutes of 1080p: sampled decoding beside torchcodec, and the way to a finished index beside torchcodec + OpenVINO.

    ingest.py --binary build/release/bin/longview --bench build/release/bin/decode_bench --onnx PARTS/vit_s_focus.onnx --video PARTS/demo/bikes.mp4 --work WORK

The film is VIDEO enlarged to 1920 x 1080 and repeated, H.264 with a keyframe every 10 seconds at most, kept in WORK. Decoding: a picture a second at 224 x 224, one
thread, the processor's time. Index: two threads, the clock's time; the peer decodes in one thread and runs the ViT (bf16, eight pictures at a time) in another, and
keeps the tokens in memory. Needs an idle machine, and the packages torchcodec and openvino beside those of tools/train/requirements.txt.
"""
import argparse
import os
import queue
import shutil
import subprocess
import sys
import threading
import time

import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "tools", "train"))
from features import vit_model  # noqa: E402

SECONDS = 600


def make_film(video, work):
    film = os.path.join(work, "ten_minutes_1080p.mp4")
    if not os.path.exists(film):
        piece = os.path.join(work, "piece.mp4")
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", video, "-vf", "scale=1920:1080,setsar=1", "-an", "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", piece], check=True)
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-stream_loop", "-1", "-i", piece, "-t", str(SECONDS), "-c", "copy", film + ".part.mp4"], check=True)
        os.replace(film + ".part.mp4", film)
    return film


def pictures(film, threads):
    from torchcodec.decoders import VideoDecoder
    decoder = VideoDecoder(film, num_ffmpeg_threads=threads)
    for first in range(0, SECONDS, 8):
        frames = decoder.get_frames_played_at([float(t) for t in range(first, min(first + 8, SECONDS))]).data
        yield F.interpolate(frames.float() / 255.0, size=(224, 224), mode="bicubic", antialias=True)


def decode_peer(film):
    torch.set_num_threads(1)
    began = time.process_time()
    for _ in pictures(film, 1):
        pass
    return time.process_time() - began


def index_peer(film, onnx):
    import openvino
    core = openvino.Core()
    options = {"INFERENCE_PRECISION_HINT": "bf16", "INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1}
    request = core.compile_model(core.read_model(vit_model(onnx)), "CPU", options).create_infer_request()
    waiting, kept = queue.Queue(2), []

    def decode():
        for batch in pictures(film, 1):
            waiting.put(batch)
        waiting.put(None)
    began = time.perf_counter()
    threading.Thread(target=decode, daemon=True).start()
    while (batch := waiting.get()) is not None:
        kept.append([t.copy() for t in request.infer({0: batch.numpy()}).values()])
    return time.perf_counter() - began


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("binary", "bench", "onnx", "video", "work"):
        ap.add_argument("--" + name, required=True)
    args = ap.parse_args()
    film = make_film(args.video, args.work)
    peer = decode_peer(film)
    print(f"decoding: torchcodec {peer:.1f} s of the processor", flush=True)
    for mode in ("exact", "fast", "keyframe"):
        took, _, count = subprocess.run([args.bench, film, mode, "1"], check=True, capture_output=True, text=True).stdout.split()
        print(f"decoding: longview {mode:8} {float(took):7.1f} s, {float(took) / peer:.3f} of torchcodec's; {count} pictures", flush=True)
    peer = index_peer(film, args.onnx)
    print(f"index: torchcodec + OpenVINO {peer:.1f} s", flush=True)
    for mode in ("exact", "fast", "keyframe"):
        library = os.path.join(args.work, "library")
        shutil.rmtree(library, ignore_errors=True)
        began = time.perf_counter()
        subprocess.run([args.binary, "index", film, "--decode", mode, "--library", library, "--threads", "2"], check=True, capture_output=True)
        took = time.perf_counter() - began
        print(f"index: longview {mode:8} {took:7.1f} s, {peer / took:.2f} times as fast, {SECONDS / took:.1f} x real time", flush=True)


if __name__ == "__main__":
    main()
