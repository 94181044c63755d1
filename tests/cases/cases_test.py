#!/usr/bin/env python3
"""Every row of expected.tsv against the real program: what `info`, `frames` and `caption` say of inputs that broke others.

    cases_test.py LONGVIEW ASSETS CASES [FILE...]     CASES: the inputs are in or go into a folder below; FILE: only rows of these

A row without a check fails, so that none is forgotten. Rows about the window are tests/ui's; rows that another test checks
are named in ELSEWHERE, and that test must be there. ASSETS is a model folder, as LONGVIEW_ASSETS. The inputs are not written to.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIB = 1 << 30
BITS = {"many_frames.mkv": 10, "hours_3h.mkv": 12}
COLOURS = {"red": (255, 0, 0), "green": (0, 255, 0), "blue": (0, 0, 255), "yellow": (255, 255, 0), "cyan": (0, 255, 255),
           "magenta": (255, 0, 255), "white": (255, 255, 255), "black": (0, 0, 0), "grey": (128, 128, 128)}
WINDOW = re.compile(r"gui|rss_paused")

# Rows that need more than a look at a run's outputs, and the tests that check them.
ELSEWHERE = {
    "many_frames.mkv sampled_times": "tests/vision/ingest_pipeline_test.cc ACapCoversTheWholeFilm",
    "many_frames.mkv coverage_with_cap_16": "tests/vision/ingest_pipeline_test.cc ACapCoversTheWholeFilm",
    "many_frames.mkv rss_growth": "tests/vision/ingest_pipeline_test.cc MemoryIsFlat",
    "batch kill_and_resume": "tests/e2e/cli_caption_test.cc KillAndResume",
    "batch torn_jsonl": "tests/app/output_files_test.cc AppendsWholeLinesAlsoAfterATornOne",
    "batch disk_full_output": "tests/e2e/cli_faults_test.cc AFullDiskLeavesNothingBehind",
    "batch disk_full_cache": "tests/e2e/cli_faults_test.cc AFullDiskLeavesNothingBehind",
    "batch read_only_output": "tests/e2e/cli_faults_test.cc AnOutputFolderThatCannotBeIsRefusedBeforeAnyWork",
    "batch two_at_once": "tests/e2e/cli_caption_test.cc JobsShardsAndTwoRunsAtOnceGiveTheSame",
    "batch cancel": "tests/e2e/cli_caption_test.cc StopsOnSignalsAndGoesOnAfter",
    "round_up.mp4 unit": "tests/app/time_format_test.cc RoundsToMillisecondsOnce",
    "evil_text.json srt": "tests/app/export_test.cc EvilTextsStayInsideTheirCues",
    "evil_text.json vtt": "tests/app/export_test.cc EvilTextsStayInsideTheirCues",
    "evil_text.json jsonl": "tests/app/export_test.cc JsonlGivesTextsBackUnchanged",
    "evil_text.json empty": "tests/app/export_test.cc EvilTextsStayInsideTheirCues",
    "vfr_burst.mp4 locale": "tests/e2e/cli_commands_test.cc LocaleDoesNotMatter",
    "growing.ts vanish": "tests/vision/video_damage_test.cc AFileThatShrinksWhileReadIsReported",
    "tokenizer/questions.jsonl ids": "tests/attention/tokenizer_test.cc golden",
    "tokenizer/questions.jsonl stream": "tests/attention/tokenizer_test.cc Stream",
}


class Ran:
    def __init__(self, process, out, err, usage):
        self.code = os.waitstatus_to_exitcode(process)
        self.out, self.err = out.decode(errors="surrogateescape"), err.decode(errors="surrogateescape")
        self.peak = usage.ru_maxrss * 1024


class Checks:
    def __init__(self, longview, assets, cases, folder):
        self.longview, self.cases, self.folder = longview, cases, folder
        self.environment = dict(os.environ, LONGVIEW_ASSETS=assets, LONGVIEW_LIBRARY=str(folder / "library"))
        self.runs = 0
        self.infos, self.captions, self.pictures = {}, {}, {}

    # ---- the program

    def run(self, *words, environment=None, timeout=900):
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = subprocess.Popen([self.longview, *map(os.fspath, words)], env=environment or self.environment,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            late = threading.Timer(timeout, process.kill)
            late.start()
            _, status, usage = os.wait4(process.pid, 0)
            late.cancel()
            process.returncode = status
            out.seek(0)
            err.seek(0)
            return Ran(status, out.read(), err.read(), usage)

    def info(self, name):
        if name not in self.infos:
            ran = self.run("info", self.cases / name, "--json")
            assert ran.code == 0, ran.err
            self.infos[name] = json.loads(ran.out)
        return self.infos[name]

    def take(self, name, *times):
        """[(picture_time, width, height, rgb)] of these times; an error's text in place of a tuple."""
        key = (name, times)
        if key in self.pictures:
            return self.pictures[key]
        self.runs += 1
        out = self.folder / f"frames{self.runs}"
        ran = self.run("frames", self.cases / name, "--at", ",".join(f"{t:.6f}" for t in times), "--out", out, "--json")
        taken = []
        if not ran.out:
            taken = [ran.err] * len(times)
        for frame in json.loads(ran.out)["frames"] if ran.out else []:
            if "error" in frame:
                taken.append(frame["error"])
                continue
            rgb = read_png(pathlib.Path(frame["file"]).read_bytes())
            assert len(rgb) == 3 * frame["width"] * frame["height"], frame
            taken.append((frame["picture_time"], frame["width"], frame["height"], rgb))
        shutil.rmtree(out, ignore_errors=True)
        self.pictures[key] = taken
        return taken

    def picture(self, name, at=0.0):
        taken = self.take(name, at)[0]
        assert isinstance(taken, tuple), taken
        return taken

    def caption(self, name, *options, timeout=900):
        """(run, {output name: text}) of captioning one input or folder."""
        key = (name, options)
        if key not in self.captions:
            self.runs += 1
            out = self.folder / f"captions{self.runs}"
            ran = self.run("caption", self.cases / name, "--out", out, "--format", "srt,vtt,jsonl", "--threads", "1", *options,
                           timeout=timeout)
            texts = {}
            for path in sorted(out.rglob("*")) if out.is_dir() else []:
                if path.is_file() and not path.name.startswith((".", "longview-manifest")):
                    texts[str(path.relative_to(out))] = path.read_bytes().decode("utf-8")
            self.captions[key] = ran, texts
        return self.captions[key]

    # ---- what a run left

    def cues(self, name, *options):
        """[(start, end, text)] of the only JSONL; checks that SRT and VTT hold the same cues."""
        ran, texts = self.caption(name, *options)
        assert ran.code == 0, ran.err
        (lines,) = [text for file, text in texts.items() if file.endswith(".jsonl")]
        rows = [json.loads(line) for line in lines.splitlines()]
        for file, text in texts.items():
            if not file.endswith(".jsonl"):
                assert text.count(" --> ") == len(rows), file
        return [(row["start"], row["end"], row["text"]) for row in rows]

    def nothing_made(self, name, *words):
        """Refused with a line that holds one of these words, and no outputs."""
        ran, texts = self.caption(name)
        assert ran.code == 1 and not texts, (ran.code, list(texts))
        assert any(word in ran.err for word in words), ran.err
        return ran

    def made_or_refused(self, name):
        ran, texts = self.caption(name)
        assert ran.code in (0, 1) and (ran.code == 0) == bool(texts), (ran.code, ran.err)
        if ran.code == 1:
            assert re.search(r"\d+ ?x ?\d+|size|pixel", ran.err), ran.err
        return ran


# ---- pictures

def read_png(data):
    """The RGB bytes of an 8-bit colour PNG (PNG specification, filters of section 9)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[24:29] == bytes((8, 2, 0, 0, 0)), "no 8-bit RGB PNG"
    width, height = struct.unpack(">II", data[16:24])
    packed, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    raw, stride = zlib.decompress(packed), 3 * width
    rows, above = [], bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride) if kind else ():
            left, up, corner = (row[i - 3] if i >= 3 else 0), above[i], (above[i - 3] if i >= 3 else 0)
            guess = left + up - corner
            by = (abs(guess - left), abs(guess - up), abs(guess - corner))
            paeth = left if by[0] <= by[1] and by[0] <= by[2] else up if by[1] <= by[2] else corner
            row[i] = (row[i] + (0, left, up, (left + up) // 2, paeth)[kind]) & 255
        rows.append(bytes(row))
        above = row
    return b"".join(rows)


def pixel(picture, x, y):
    _, width, _, rgb = picture
    at = 3 * (y * width + x)
    return tuple(rgb[at:at + 3])


def colour_of(rgb):
    return min(COLOURS, key=lambda name: sum((a - b) ** 2 for a, b in zip(COLOURS[name], rgb)))


def number_of(picture, bits):
    _, width, height, _ = picture
    number = 0
    for bit in range(bits):
        x = (2 * bit + 1) * width // (2 * bits)
        values = [pixel(picture, x, y)[1] for y in range(height // 8, 3 * height // 8)]
        number |= (sum(values) / len(values) > 128) << bit
    return number


def stripes(picture):
    _, width, height, _ = picture
    return [pixel(picture, (2 * i + 1) * width // 8, height // 2) for i in range(4)]


def near(a, b, tolerance):
    return all(abs(x - y) <= tolerance for x, y in zip(a, b))


# ---- properties: (checks, file, value), by the name before '@'

def duration(c, file, value):
    found, wanted = c.info(file)["duration_s"], [float(value.split()[0])]
    wanted += [float(other) for other in re.findall(r"\(([\d.]+) also right", value)]
    assert any(abs(found - w) <= 0.06 for w in wanted), found


def first_time(c, file, value):
    assert abs(c.info(file)["first_time_s"] - float(value.split()[0])) <= 0.05, c.info(file)


def frame_index(c, file, value, at):
    wanted, slack = int(re.match(r"\d+", value).group()), int("+-1" in value)
    times = [float(t) for t in reversed(at.split("_after_"))]
    picture = c.picture(file, times[-1])
    found = number_of(picture, BITS.get(file, 8))
    assert abs(found - wanted) <= slack, f"{found}, not {wanted}"
    size = re.search(r"from an? (\d+)x(\d+) picture", value)
    if size and "not squeezed" in value:
        # The stream was announced in another size: what is seen must keep this one's shape.
        assert picture[1:3] == tuple(map(int, size.groups())), picture[1:3]


def colour(c, file, value, at):
    picture = c.picture(file, float(at))
    found = colour_of(pixel(picture, picture[1] // 2, 3 * picture[2] // 4))
    assert found == value, found


def reported_times(c, file, _):
    info = c.info(file)
    count = round(info["duration_s"] * 25)
    taken = c.take(file, *[0.04 * n + 0.02 for n in range(count)])
    for n, picture in enumerate(taken):
        assert isinstance(picture, tuple), picture
        assert abs(picture[0] - 0.04 * n) <= 0.0011, (n, picture[0])
        assert number_of(picture, 8) == n, (n, number_of(picture, 8))


def request(c, file, value, at):
    taken = c.take(file, float(at))[0]
    if isinstance(taken, tuple):
        assert value.startswith("frame ") and number_of(taken, 8) == int(value.split()[1]), "a picture where none is"
    else:
        assert file in taken and taken.count("\n") <= 1, taken


def colours_seen(c, file, value):
    found = []
    for n in range(round(c.info(file)["duration_s"] * 5)):
        picture = c.picture(file, 0.2 * n + 0.1)
        found.append(colour_of(pixel(picture, picture[1] // 2, 3 * picture[2] // 4)))
    assert list(dict.fromkeys(found)) == value.split("(")[0].split(), found


def cues(c, file, value):
    options = ("--every", "0.1s") if "own scene" in value else ()
    found = c.cues(file, *options)
    last = 0.0
    for start, end, text in found:
        assert end > start >= last and text, (start, end, last, text)
        last = end
    assert last <= c.info(file)["duration_s"] + 0.05, last
    if "exactly one" in value:
        assert len(found) == 1 and found[0][0] == 0.0, found


def first_cue(c, file, _):
    assert c.cues(file)[0][0] == 0.0, c.cues(file)
    srt = next(text for name, text in c.caption(file)[1].items() if name.endswith(".srt"))
    assert srt.startswith("1\n00:00:00,000 --> "), srt


def last_cue_end(c, file, value):
    assert c.cues(file)[-1][1] <= float(re.search(r"[\d.]+", value).group()) + 1e-6, c.cues(file)


def exit_code(c, file, _):
    c.cues(file)
    if file.endswith("five_frames.mp4"):
        c.cues(file, "--fps", "60", "--max-frames", "64")


def display_size(c, file, value):
    wanted = tuple(map(int, value.split("x")))
    assert (c.info(file)["width"], c.info(file)["height"]) == wanted, c.info(file)
    assert c.picture(file)[1:3] == wanted, c.picture(file)[1:3]


def corners(c, file, value):
    picture = c.picture(file)
    _, w, h, _ = picture
    places = {"upper left": (w // 4, h // 4), "upper right": (3 * w // 4, h // 4), "lower left": (w // 4, 3 * h // 4),
              "lower right": (3 * w // 4, 3 * h // 4)}
    for part in value.split(", "):
        place, name = part.rsplit(" ", 1)
        assert colour_of(pixel(picture, *places[place])) == name, (part, pixel(picture, *places[place]))


def white_box(c, file, _):
    picture = c.picture(file)
    _, width, height, rgb = picture
    points = [(x, y) for y in range(height) for x in range(width) if rgb[3 * (y * width + x)] > 128]
    across = max(x for x, _ in points) - min(x for x, _ in points) + 1
    down = max(y for _, y in points) - min(y for _, y in points) + 1
    assert abs(across / down - 1.0) <= 0.05, (across, down)


def last_column(c, file, value):
    for at in (0.0, 0.5):
        picture = c.picture(file, at)
        _, width, height, _ = picture
        for y in range(height):
            r, g, b = pixel(picture, width - 1, y)
            assert r > 150 and g < 90 and b < 90, (at, y, (r, g, b))
        if "column 100 grey" in value:
            assert near(pixel(picture, 100, height // 2), (128, 128, 128), 12), pixel(picture, 100, height // 2)


def grey_of_stripes(c, file, value):
    for found, wanted in zip(stripes(c.picture(file)), map(int, value.split()[:4])):
        assert near(found, (wanted,) * 3, 3), (found, wanted)


def rgb_of_stripes(c, file, value):
    for found, wanted in zip(stripes(c.picture(file)), value.split()[:4]):
        assert near(found, tuple(map(int, wanted.split(","))), 8), (found, wanted)


def hdr_stripe(c, file, value, number):
    found = stripes(c.picture(file))
    r, g, b = found[number - 1]
    assert {1: max(r, g, b) <= 8, 2: max(r, g, b) - min(r, g, b) <= 4 and g >= 165, 3: g > found[1][1],
            4: r > 0 and g / r <= 0.45 and b / r <= 0.35}[number], (value, found)


def half(c, file, value, left):
    picture = c.picture(file)
    _, width, height, _ = picture
    found = colour_of(pixel(picture, width // 4 if left else 3 * width // 4, height // 2))
    assert found == "green" if left else found in ("white", "black", "grey"), (value, found)


def combing(c, file, _):
    picture = c.picture(file, 1.0)
    _, width, height, _ = picture
    steps = [abs(pixel(picture, x, y)[1] - pixel(picture, x, y + 1)[1])
             for y in range(height // 2 + 2, height - 1) for x in range(width)]
    assert sum(steps) / len(steps) <= 2.0, sum(steps) / len(steps)


def result(c, file, value):
    if "no video in this file" in value:
        c.nothing_made(file, "no video", "no picture")
    elif "animated WebP" in value:
        c.nothing_made(file, "nimated WebP")
    elif "header" in value:
        ran = c.nothing_made(file, "65500", "65000", "large", "damaged", "decoded")
        assert ran.peak < GIB, ran.peak
    elif "longname" in file:
        _, texts = c.caption(file)
        assert len(texts) == 3 and all(len(os.fsencode(name)) <= 255 for name in texts), list(texts)
    else:
        ran = c.made_or_refused(file)
        assert "RSS" not in value or ran.peak < GIB, ran.peak


def bad_folder(c, file, _):
    ran, texts = c.caption(file)
    assert ran.code == 1, ran.code
    assert sorted({name.split(".")[0] for name in texts}) == ["a_good", "z_good"], list(texts)
    reasons = ran.err.strip().splitlines()
    for name in ("dir.mp4", "garbage.mp4", "moovless.mp4", "text.mp4", "zero.mp4"):
        assert sum(name in line for line in reasons) == 1, ran.err
    assert "5 of 7 inputs failed" in reasons[-1], reasons[-1]


def no_outputs(c, file, _):
    assert not any(name.startswith(pathlib.Path(file).stem + ".") for name in c.caption("bad")[1]), file


def damage_message(c, file, _):
    ran, texts = c.caption(file)
    assert ran.code == 0 and len(texts) == 3, (ran.code, ran.err)
    span = re.search(r"(\d\.\d+)\D+(\d\.\d+) s", ran.err)
    assert span and abs(float(span[1]) - 3.0) < 0.3 and abs(float(span[2]) - 4.0) < 0.3, ran.err


def names_folder(c, file, _):
    ran, texts = c.caption(file)
    inputs = [name for name in os.listdir(c.cases / file) if name.endswith(".mp4")]
    assert ran.code == 0 and len(inputs) == 7, ran.err
    assert sorted(texts) == sorted(name[:-4] + ".visual.en" + end for name in inputs for end in (".jsonl", ".srt", ".vtt"))


def names_jsonl(c, file, _):
    for name, text in c.caption(file)[1].items():
        if name.endswith(".jsonl"):
            assert text and all(isinstance(json.loads(line)["video"], str) for line in text.splitlines()), name


def collide(c, file, _):
    ran, texts = c.caption(file, "-r")
    assert ran.code == 0 and len(texts) == 9, (ran.err, list(texts))
    assert len({os.path.splitext(name)[0] for name in texts}) == 3, list(texts)


def grows(c, file, _):
    live = c.folder / "live.ts"
    whole = (c.cases / file).read_bytes()
    live.write_bytes(whole[:30000])
    words = [c.longview, "caption", str(live), "--out", str(c.folder / "live"), "--threads", "1"]
    process = subprocess.Popen(words, env=c.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    time.sleep(2)
    with open(live, "ab") as more:
        more.write(whole[30000:])
    _, err = process.communicate(timeout=900)
    assert process.returncode in (0, 1), err
    assert process.returncode == 0 or b"live.ts" in err, err
    after = c.run("caption", live, "--out", c.folder / "live", "--threads", "1", "--format", "srt,jsonl")
    assert after.code == 0, after.err
    rows = [json.loads(line) for line in (c.folder / "live/live.visual.en.jsonl").read_text(encoding="utf-8").splitlines()]
    assert abs(rows[-1]["end"] - 6.0) <= 0.05, rows


def stalled(c, file, _):
    for words in (["info"], ["caption", "--out", str(c.folder / "stalled")]):
        started = time.monotonic()
        ran = c.run(words[0], c.cases / file, *words[1:], timeout=60)
        assert ran.code in (1, 3) and "stalled.mp4" in ran.err, ran.err
        assert time.monotonic() - started < 30, "it hung"


def cache_damaged(c, file, _):
    film = c.cases / file / "clip1.mp4"
    environment = dict(c.environment, LONGVIEW_LIBRARY=str(c.folder / "damaged"))
    seen = []
    for harm in (None, lambda z: b"", lambda z: z[:len(z) // 2],
                 lambda z: z[:len(z) // 2] + bytes([z[len(z) // 2] ^ 1]) + z[len(z) // 2 + 1:]):
        if harm:
            (index,) = (c.folder / "damaged").glob("*.lvidx")
            index.write_bytes(harm(index.read_bytes()))
        out = c.folder / f"damaged{len(seen)}"
        ran = c.run("caption", film, "--out", out, "--threads", "1", "--format", "jsonl", environment=environment)
        assert ran.code == 0, ran.err
        assert harm is None or "made anew" in ran.err or "damaged" in ran.err or not ran.err, ran.err
        seen.append((out / "clip1.visual.en.jsonl").read_bytes())
    assert len(set(seen)) == 1, "the captions changed"


def replaced(c, file, _):
    film, out = c.folder / "film.mp4", c.folder / "replaced"
    ends = []
    for version in ("replaced_v1.mp4", file):
        shutil.copy(c.cases / version, film)
        os.utime(film, (1e9, 1e9))  # the same time of change
        ran = c.run("caption", film, "--out", out, "--threads", "1", "--format", "jsonl")
        assert ran.code == 0, ran.err
        rows = [json.loads(r) for r in (out / "film.visual.en.jsonl").read_text(encoding="utf-8").splitlines()]
        ends.append(rows[-1]["end"])
    assert abs(ends[0] - 3.0) < 0.05 and abs(ends[1] - 4.0) < 0.05, ends


def cache_settings(c, file, _):
    c.cues(file)
    indexes = len(list((c.folder / "library").glob("*.lvidx")))
    c.cues(file, "--fps", "3")
    assert len(list((c.folder / "library").glob("*.lvidx"))) == indexes + 1, "the index of another rate was taken"


def srt_times(c, file, _):
    srt = next(text for name, text in c.caption(file)[1].items() if name.endswith(".srt"))
    stamps = re.findall(r"(\S+) --> (\S+)", srt)
    for pair in stamps:
        for stamp in pair:
            assert re.fullmatch(r"\d\d:[0-5]\d:[0-5]\d,\d{3}", stamp), stamp
    starts = {start for start, _ in stamps}
    for wanted in ("00:00:02,000", "00:01:00,000", "01:00:00,000"):
        hours, rest = wanted[:-4].split(":", 1)
        assert wanted in starts or any(s.endswith(",999") for s in starts), (hours, rest, starts)


HOURS = ("--every", "1800s")


def hours_srt(c, file, _):
    srt = next(text for name, text in c.caption(file, *HOURS)[1].items() if name.endswith(".srt"))
    blocks = srt.strip().split("\n\n")
    assert [int(block.split("\n")[0]) for block in blocks] == list(range(1, len(blocks) + 1))
    stamps = re.findall(r"(\S+) --> (\S+)", srt)
    rows = c.cues(file, *HOURS)
    assert len(stamps) == len(rows) and stamps[-1][1] == "03:02:00,000", stamps
    for (start, _), row in zip(stamps, rows):
        assert int(start[:2]) == int(row[0] // 3600), (start, row)


def hours_vtt(c, file, _):
    vtt = next(text for name, text in c.caption(file, *HOURS)[1].items() if name.endswith(".vtt"))
    assert vtt.startswith("WEBVTT\n\n") and re.search(r"^\d\d:\d\d:\d\d\.\d{3} --> \d\d:\d\d:\d\d\.\d{3}", vtt, re.M), vtt


def progress(c, file, _):
    ran, texts = c.caption(file, "--log-json")
    events = [json.loads(line) for line in ran.err.splitlines()]
    shares = [event["share"] for event in events if event["event"] == "progress"]
    assert ran.code == 0 and texts and all(0.0 <= share <= 1.0 for share in shares), ran.err
    assert events[-1]["event"] == "end" and events[-1]["done"] == 1, events[-1]


def model_file(c, name, source):
    """The assets with one file in place of the weights; the run that asks for them, over in a second."""
    assets = c.folder / "assets"
    shutil.rmtree(assets, ignore_errors=True)
    shutil.copytree(c.environment["LONGVIEW_ASSETS"], assets)
    shutil.copy(source, assets / name)
    started = time.monotonic()
    ran = c.run("ask", c.cases / "one_frame.mp4", "What is this?", environment=dict(c.environment, LONGVIEW_ASSETS=str(assets)))
    return ran, time.monotonic() - started


def hostile_weights(c, file, _):
    for path in sorted((c.cases / file).glob("*.safetensors")):
        if path.name == "ok.safetensors":
            continue
        ran, _ = model_file(c, "bridge.safetensors", path)
        assert ran.code == 3 and "bridge.safetensors" in ran.err, (path.name, ran.code, ran.err)
        assert ran.err.count("\n") <= 2 and ran.peak < GIB, (path.name, ran.err, ran.peak)


def cut_weights(c, file, _):
    ran, _ = model_file(c, "bridge.safetensors", c.cases / file)
    assert ran.code == 3 and "bridge.safetensors" in ran.err, ran.err


def whole_weights(c, file, _):
    # Sound, but not this model's: refused by its hash, never taken for the bridge.
    ran, _ = model_file(c, "bridge.safetensors", c.cases / file)
    assert ran.code == 3 and "bridge.safetensors" in ran.err, ran.err


def hostile_gguf(c, file, _):
    parts = c.folder / "models"
    parts.mkdir(exist_ok=True)
    config = json.loads((pathlib.Path(c.environment["LONGVIEW_ASSETS"]) / "config.json").read_text(encoding="utf-8"))
    name = next(iter(re.findall(r'"([^"]+\.gguf)"', json.dumps(config))))
    for path in sorted((c.cases / file).glob("*.gguf")):
        if path.name == "ok.gguf":
            continue
        target = parts / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
        ran = c.run("ask", c.cases / "one_frame.mp4", "What?", environment=dict(c.environment, LONGVIEW_MODELS=str(parts)))
        assert ran.code == 3 and ran.err and ran.peak < GIB, (path.name, ran.code, ran.err)


def odd_questions(c, file, _):
    questions = [json.loads(line)["question"] for line in (c.cases / file).read_text(encoding="utf-8").splitlines()]
    for question in questions:
        if "\0" in question or len(question) > 5000 or ("<" not in question and "\u200d" not in question):
            continue
        ran = c.run("ask", c.cases / "one_frame.mp4", question, "--threads", "1", "--json")
        assert ran.code in (0, 2), (question, ran.code, ran.err)
        if ran.code == 0:
            json.loads(ran.out)


def odd_bytes(c, file, _):
    question = (c.cases / file).read_bytes().strip()
    ran = c.run("ask", c.cases / "one_frame.mp4", question, "--threads", "1", "--json", timeout=300)
    assert ran.code in (0, 2), (ran.code, ran.err)
    if ran.code == 0:
        json.loads(ran.out)


def many_files(c, file, _):
    """The same film under many names: what is held must not grow with the number of files."""
    folder = c.folder / "many"
    folder.mkdir()
    for number in range(120):
        os.link(c.folder / "clip.mp4", folder / f"clip{number}.mp4") if number else \
            shutil.copy(c.cases / "one_frame.mp4", c.folder / "clip.mp4")
    shutil.copy(c.folder / "clip.mp4", folder / "clip0.mp4")
    process = subprocess.Popen([c.longview, "caption", str(folder), "--out", str(c.folder / "many_out"), "--threads", "1",
                                "--log-json"], env=c.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    marks = []
    for line in process.stderr:
        if json.loads(line)["event"] == "file":
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
                memory = int(re.search(r"VmRSS:\s+(\d+)", status).group(1))
                marks.append((memory, len(os.listdir(f"/proc/{process.pid}/fd"))))
            except (OSError, AttributeError):
                pass
    assert process.wait() == 0 and len(marks) >= 110, (process.returncode, len(marks))
    assert marks[-1][0] <= marks[30][0] + 32 * 1024, (marks[30], marks[-1])
    assert marks[-1][1] <= marks[30][1], (marks[30], marks[-1])


PLAIN = {
    "duration_s": duration, "video_duration_s": duration, "first_time_s": first_time, "reported_times": reported_times,
    "colours_seen": colours_seen, "cues": cues, "first_cue": first_cue, "last_cue_end_s": last_cue_end, "exit": exit_code,
    "display_size": display_size, "corners": corners, "white_box": white_box, "last_column": last_column,
    "grey_of_stripes": grey_of_stripes, "rgb_of_stripes": rgb_of_stripes, "combing": combing, "result": result,
    "outputs": no_outputs, "message": damage_message, "run_while_growing": grows, "cli": stalled, "progress": progress,
    "cache_damaged": cache_damaged, "cache": replaced, "cache_settings": cache_settings, "srt_times": srt_times,
    "srt": hours_srt, "vtt": hours_vtt, "jsonl": names_jsonl, "load_every_other_file": hostile_weights,
    "load_every_file_but_ok": hostile_gguf, "special_strings": odd_questions, "question": odd_bytes,
    "rss_many_files": many_files, "run_after_growing": lambda *_: None,  # what `grows` goes on to check
    "left_half": lambda c, f, v: half(c, f, v, True), "right_half": lambda c, f, v: half(c, f, v, False),
    "stripe_1": lambda c, f, v: hdr_stripe(c, f, v, 1), "stripe_2": lambda c, f, v: hdr_stripe(c, f, v, 2),
    "stripe_3": lambda c, f, v: hdr_stripe(c, f, v, 3), "stripe_4": lambda c, f, v: hdr_stripe(c, f, v, 4),
}
FOLDERS = {"bad": bad_folder, "names": names_folder, "collide": collide}
TIMED = {"frame_index": frame_index, "colour": colour, "request": request}


def check(c, file, name, value):
    """True where the row was checked here; raises where it does not hold or nobody checks it."""
    if WINDOW.match(name):
        return False
    if f"{file} {name}" in ELSEWHERE:
        path, test = ELSEWHERE[f"{file} {name}"].split()
        assert test in (ROOT / path).read_text(encoding="utf-8"), f"{path} has no test {test} any more"
        return False
    base, _, at = name.partition("@")
    if at:
        TIMED[base](c, file, value, at)
    elif name == "batch_over_the_folder":
        FOLDERS[file](c, file, value)
    elif name == "load":
        (whole_weights if "/ok." in file else cut_weights)(c, file, value)
    else:
        PLAIN[name](c, file, value)
    return True


def make_cases(base):
    """The inputs of this very make_cases.sh, made once: a minute or two."""
    script = ROOT / "tests/cases/make_cases.sh"
    folder = base.resolve() / hashlib.sha256(script.read_bytes()).hexdigest()[:16]
    if not folder.exists():
        making = folder.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        subprocess.run(["bash", str(script), str(making)], check=True, stdin=subprocess.DEVNULL)
        making.rename(folder)
    return folder


def main():
    longview, assets, base = sys.argv[1:4]
    only = sys.argv[4:]
    cases = make_cases(pathlib.Path(base))
    counts = {"right": 0, "elsewhere": 0, "WRONG": 0}
    with tempfile.TemporaryDirectory() as name:
        c = Checks(longview, assets, cases, pathlib.Path(name))
        rows = (cases / "expected.tsv").read_text(encoding="utf-8").splitlines()
        for row in rows:
            file, prop, value = row.split("\t")
            if not prop.startswith("app:") or (only and file not in only):
                continue
            try:
                state = "right" if check(c, file, prop[4:], value) else "elsewhere"
            except (AssertionError, KeyError, ValueError, subprocess.SubprocessError, OSError) as error:
                state = "WRONG"
                print(f"{file} {prop[4:]}: wanted {value}\n    {type(error).__name__}: {error}", flush=True)
            counts[state] += 1
    print(", ".join(f"{count} {state}" for state, count in counts.items()))
    return 1 if counts["WRONG"] or not counts["right"] else 0


if __name__ == "__main__":
    sys.exit(main())
