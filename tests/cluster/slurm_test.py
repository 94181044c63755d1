#!/usr/bin/env python3
"""tools/cluster/slurm_caption.sh on a Slurm of this machine alone, one worker killed half-way: every file once, nothing lost.

    slurm_test.py LONGVIEW ASSETS     exit code 77 (skipped) where Slurm and MUNGE are not installed, or without root

Debian: slurmctld, slurmd, slurm-client, munge. The controller, one node of two CPUs and the authentication run for the time of
the test, with their own settings, key, ports and folders, and listen on the loopback address.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import films

CONFIG = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmctldPort={port}
SlurmdPort={next_port}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_ports():
    """Two that follow each other."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
                return port
            except OSError:
                continue


class Slurm:
    """The three daemons, in the foreground, as children of this process."""

    def __init__(self, folder):
        self.folder = folder
        folder.chmod(0o755)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        self.config = folder / "slurm.conf"
        port = free_ports()
        self.config.write_text(CONFIG.format(host=socket.gethostname().split(".")[0], folder=folder, port=port,
                                             next_port=port + 1), encoding="ascii")
        self.environment = dict(os.environ, SLURM_CONF=str(self.config))
        self.daemons = []

    def start(self, *words):
        log = open(self.folder / f"{words[0]}.out", "wb")
        self.daemons.append(subprocess.Popen(words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def up(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        self.start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.socket",
                   f"--pid-file={self.folder}/munge.pid", f"--seed-file={self.folder}/munge.seed")
        time.sleep(1)
        self.start("slurmctld", "-D", "-i", "-f", str(self.config))
        self.start("slurmd", "-D", "-f", str(self.config))
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            state = self.ask("sinfo", "--noheader", "-o", "%T")
            if state in ("idle", "mixed"):
                return True
            time.sleep(1)
        for name in ("munged.out", "slurmctld.log", "slurmd.log"):
            if (self.folder / name).exists():
                print(f"{name}: " + (self.folder / name).read_text(errors="replace")[-2000:])
        return False

    def ask(self, *words):
        done = subprocess.run(words, env=self.environment, check=False, capture_output=True, text=True)
        return done.stdout.strip()

    def down(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
            try:
                daemon.wait(timeout=30)
            except subprocess.TimeoutExpired:
                daemon.kill()


def kill_one_worker(out):
    """Kills a task's longview, once something is finished."""
    deadline = time.monotonic() + 1800
    while time.monotonic() < deadline:
        running = films.captioners(out)
        if running and list(out.glob("*.srt")):
            try:
                os.kill(running[0], signal.SIGKILL)
                return True
            except OSError:
                pass
        time.sleep(0.05)
    return False


def run_batch(slurm, folder, longview, assets):
    films.make_films(folder / "films")
    out = (folder / "out").resolve()
    environment = dict(slurm.environment, LONGVIEW_ASSETS=assets, LONGVIEW=longview)
    jobs = subprocess.run([str(films.TOOLS / "slurm_caption.sh"), "3", str(out), str(folder / "films"), "--threads", "1"],
                          env=environment, check=True, capture_output=True, text=True).stdout.split()
    print(f"jobs {jobs}")
    killed = kill_one_worker(out)
    deadline = time.monotonic() + 1800
    while slurm.ask("squeue", "--noheader") and time.monotonic() < deadline:
        time.sleep(1)
    logs = "".join(path.read_text(errors="replace") for path in (out / ".longview-logs").iterdir())
    again = "exit code 137" in logs
    print(f"killed a worker: {killed}; its task tried again: {again}")
    return killed and again and films.everything_once(out)


def main():
    tools = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
    if os.geteuid() != 0 or any(shutil.which(tool) is None for tool in tools):
        print("skipped: Slurm and MUNGE are not installed, or this is not root")
        return 77
    longview, assets = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as name:
        slurm = Slurm(pathlib.Path(name))
        try:
            return 0 if slurm.up() and run_batch(slurm, pathlib.Path(name), longview, assets) else 1
        finally:
            slurm.down()


if __name__ == "__main__":
    sys.exit(main())
