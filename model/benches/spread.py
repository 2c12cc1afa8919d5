#!/usr/bin/env python3
"""The local search against the dataflow, in one run, interleaved: seconds, user CPU, bytes a state.

    python3 model/benches/spread.py [--rounds N] [--table PAGE] [CONFIGURATION..]

Of each configuration: Stateright's breadth and depth first search with 1 and 2 threads, the dataflow with 1 and 2 workers,
and with 2 processes on this machine. The rounds go through all of them in turn, so that whatever else the machine does
falls on each; of the rounds the fastest counts. Memory is the peak of all processes together, less that of one that
searches nothing. It fails where two do not count the same states.
"""
import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BEGIN = "<!-- measured: written by `just bench-spread` -->\n"
END = "<!-- end of what was measured of the dataflow -->\n"
WAYS = ["depth first, 1 thread", "depth first, 2 threads", "breadth first, 1 thread", "breadth first, 2 threads",
        "1 worker", "2 workers", "2 processes"]


def hosts(directory):
    """A hosts file of two ports that are free now."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    path = pathlib.Path(directory) / "hosts"
    path.write_text("".join(f"127.0.0.1:{listener.getsockname()[1]}\n" for listener in listeners))
    for listener in listeners:
        listener.close()
    return str(path)


def commands(binary, configuration, way, directory):
    """What is started at once, and where each says what it counted."""
    if "thread" in way:
        order = ["--breadth-first"] if way.startswith("breadth") else []
        return [[binary, "measure", configuration, "--threads", way.split()[-2], *order]]
    report = lambda number: ["--report", f"{directory}/{number}"]
    check = [binary, "check", configuration]
    if way == "2 processes":
        file = hosts(directory)
        return [[*check, "--hosts", file, "--process", str(number), *report(number)] for number in range(2)]
    return [[*check, "--workers", way.split()[0], *report(0)]]


def run(started):
    """Seconds, user CPU and peak memory of processes together, and what the first one wrote."""
    begin = time.monotonic()
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for command in started]
    texts = [process.stdout.read() for process in running]
    user = peak = 0
    for process in running:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        user += usage.ru_utime
        peak += usage.ru_maxrss * 1024
    return time.monotonic() - begin, user, peak, texts[0]


def measure(binary, configuration, way):
    with tempfile.TemporaryDirectory() as directory:
        seconds, user, peak, text = run(commands(binary, configuration, way, directory))
        if "thread" in way:
            said = json.loads(text)
        else:
            said = json.loads((pathlib.Path(directory) / "0").read_text())["verdicts"][0]
    return {"seconds": seconds, "user": user, "peak": peak, "counts": (said["unique"], said["generated"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configurations", nargs="+", metavar="CONFIGURATION")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--binary", default=str(ROOT / "target/release/fencepost-model"))
    arguments = parser.parse_args()
    _, _, empty, _ = run([[arguments.binary, "check", "--list"]])
    lines = ["| configuration | states | way | seconds | user CPU, s | unique/s | bytes a state |", "|---|---:|---|---:|---:|---:|---:|"]
    load = os.getloadavg()[0]
    for configuration in arguments.configurations:
        rounds = {way: [] for way in WAYS}
        for _ in range(arguments.rounds):
            for way in WAYS:
                rounds[way].append(measure(arguments.binary, configuration, way))
        counts = {found["counts"] for of_way in rounds.values() for found in of_way}
        if len(counts) != 1:
            sys.exit(f"{configuration}: not the same states: {counts}")
        unique = counts.pop()[0]
        for way, found in rounds.items():
            best = min(found, key=lambda one: one["seconds"])
            user = min(one["user"] for one in found)
            processes = 2 if way == "2 processes" else 1
            memory = max(0, min(one["peak"] for one in found) - processes * empty) / unique
            lines.append(f"| {configuration} | {unique:,} | {way} | {best['seconds']:.2f} | {user:.2f} | "
                         f"{unique / best['seconds']:,.0f} | {memory:.0f} |")
            print(lines[-1], flush=True)
    load = max(load, os.getloadavg()[0])
    note = f"The fastest of {arguments.rounds} rounds, on {os.cpu_count()} processors with a load of up to {load:.0f} besides."
    table = f"{BEGIN}\n{note}\n\n" + "\n".join(lines) + f"\n\n{END}"
    print(table)
    if arguments.table:
        page = arguments.table.read_text()
        before, after = (page.split(BEGIN)[0], page.split(END)[1]) if BEGIN in page else (page + "\n", "")
        arguments.table.write_text(before + table + after)


if __name__ == "__main__":
    main()
