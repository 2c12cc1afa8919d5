#!/usr/bin/env python3
"""The local search against the dataflow, in one run, interleaved: seconds, user CPU, bytes a state.

    python3 model/benches/spread.py [--rounds N] [--table PAGE] [CONFIGURATION..]

Of each configuration: Stateright's breadth and depth first search with 1 and 2 threads, the dataflow with 1 and 2 workers,
and with 2 processes on this machine. The rounds go through all of them in turn, so that whatever else the machine does
falls on each; of the rounds the fastest counts. How much else it did is told: what the processors worked in all, less what
these processes took. Memory is the peak of all processes together, less that of one that
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
# Three sizes of each protocol, and a plain model without actors.
SIZES = [
    "fencing/kafka-4.3/two-members-two-targets",
    "fencing/kafka-4.4/two-commits",
    "fencing/assignment-epoch-owned/three-targets",
    "compaction/repaired-replicas/away-follower",
    "compaction/kafka-4.4/pairs",
    "compaction/kafka-4.4/any-map",
    "replication/proposal-kept/expected-epoch",
    "replication/kafka-4.4/comes-to-rest",
    "replication/kafka-4.4/skipped-epoch-then-failure",
    "replication/tla-parity/kip-320/3-3-3-2",
]
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


def worked():
    """How long all processors together have worked so far, in seconds."""
    user, nice, system, _, _, irq, soft = (int(ticks) for ticks in open("/proc/stat").readline().split()[1:8])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def run(started):
    """Seconds, user CPU, the CPU of others meanwhile, and peak memory of processes, and what the first one wrote."""
    begin, before = time.monotonic(), worked()
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) for command in started]
    texts = [process.stdout.read() for process in running]
    user = peak = ours = 0
    for process in running:
        _, _, usage = os.wait4(process.pid, 0)
        process.returncode = 0
        user += usage.ru_utime
        ours += usage.ru_utime + usage.ru_stime
        peak += usage.ru_maxrss * 1024
    return time.monotonic() - begin, user, max(0, worked() - before - ours), peak, texts[0]


def measure(binary, configuration, way):
    with tempfile.TemporaryDirectory() as directory:
        seconds, user, others, peak, text = run(commands(binary, configuration, way, directory))
        if "thread" in way:
            said = json.loads(text)
        else:
            said = json.loads((pathlib.Path(directory) / "0").read_text())["verdicts"][0]
    return {"seconds": seconds, "user": user, "others": others, "peak": peak, "counts": (said["unique"], said["generated"])}


def tables(results):
    """Of (configuration, states, {way: (seconds, user CPU, bytes a state)}): a table each of what was measured."""
    def table(what, cell, last=None):
        yield f"\n{what}:\n"
        yield " | ".join(["| configuration | states", *WAYS]) + (" | 2 workers to 1 |" if last else " |")
        yield "|---" + "|---:" * (1 + len(WAYS) + bool(last)) + "|"
        for configuration, states, ways in results:
            cells = [cell(ways[way]) for way in WAYS] + ([last(ways)] if last else [])
            yield " | ".join([f"| {configuration} | {states:,}", *cells]) + " |"
    yield from table("Seconds", lambda found: f"{found[0]:.2f}", lambda ways: f"{ways['1 worker'][0] / ways['2 workers'][0]:.2f} times")
    yield from table("User CPU time, in seconds", lambda found: f"{found[1]:.2f}")
    yield from table("Bytes a state", lambda found: f"{found[2]:.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("configurations", nargs="*", default=SIZES, metavar="CONFIGURATION")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--table", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--binary", default=str(ROOT / "target/release/fencepost-model"))
    arguments = parser.parse_args()
    _, _, _, empty, _ = run([[arguments.binary, "check", "--list"]])
    every, results = [], []
    for configuration in arguments.configurations:
        rounds = {way: [] for way in WAYS}
        for _ in range(arguments.rounds):
            for way in WAYS:
                rounds[way].append(measure(arguments.binary, configuration, way))
        counts = {found["counts"] for of_way in rounds.values() for found in of_way}
        if len(counts) != 1:
            sys.exit(f"{configuration}: not the same states: {counts}")
        unique = counts.pop()[0]
        results.append((configuration, unique, {}))
        for way, found in rounds.items():
            every += found
            best = min(found, key=lambda one: one["seconds"])
            user = min(one["user"] for one in found)
            processes = 2 if way == "2 processes" else 1
            memory = max(0, min(one["peak"] for one in found) - processes * empty) / unique
            results[-1][2][way] = (best["seconds"], user, memory)
            print(f"{configuration}, {way}: {best['seconds']:.2f} s, {user:.2f} s user, {memory:.0f} B a state", flush=True)
    busy = sum(one["others"] for one in every) / sum(one["seconds"] for one in every)
    rounds = "One round" if arguments.rounds == 1 else f"The fastest of {arguments.rounds} rounds"
    note = (f"{rounds} on {os.cpu_count()} processors, of which other programs took {busy:.1f} meanwhile. Memory is the peak of all\n"
            "processes together.")
    table = f"{BEGIN}\n{note}\n" + "\n".join(tables(results)) + f"\n\n{END}"
    print(table)
    if arguments.table:
        page = arguments.table.read_text()
        before, after = (page.split(BEGIN)[0], page.split(END)[1]) if BEGIN in page else (page + "\n", "")
        arguments.table.write_text(before + table + after)


if __name__ == "__main__":
    main()
