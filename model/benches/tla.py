#!/usr/bin/env python3
"""The same state spaces by TLC and by fencepost-model, side by side: counts, time and memory.

    python3 model/benches/tla.py [--table PAGE] [CONFIGURATION..]

TLC runs the public modules themselves: TLA_DIR is a checkout of https://github.com/hachikuji/kafka-specification, TLA_JAR
is TLA+'s tla2tools.jar, and `java` a JVM of version 11 or later. Where one of them is missing, this says which, and
measures nothing. Both run breadth first with one worker. Time is user CPU time, of a JVM with its compiler and its garbage
collector. It fails where the two do not count the same states.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BINARY = ROOT / "target/release/fencepost-model"
PREFIX = "replication/tla-parity/"
MODULES = {
    "high-watermark": "KafkaTruncateToHighWatermark",
    "kip-101": "Kip101",
    "kip-279": "Kip279",
    "kip-320-first-try": "Kip320FirstTry",
    "kip-320": "Kip320",
}
DEFAULT = [PREFIX + name for name in ("kip-279/2-3-3-3", "kip-320/2-3-3-3", "kip-320/3-2-2-2")]
BEGIN = "<!-- measured: written by `just bench-tla` -->\n"
END = "<!-- end of what was measured on TLC -->\n"


def missing():
    """What TLC needs and does not have, a line each."""
    modules, jar = os.environ.get("TLA_DIR"), os.environ.get("TLA_JAR")
    if not shutil.which("java"):
        yield "`java` is not on the path: TLC needs a JVM, version 11 or later"
    if not jar:
        yield "TLA_JAR is not set: the path of tla2tools.jar, from https://github.com/tlaplus/tlaplus/releases"
    elif not pathlib.Path(jar).is_file():
        yield f"TLA_JAR: there is no file {jar}"
    if not modules:
        yield "TLA_DIR is not set: a checkout of https://github.com/hachikuji/kafka-specification (commit d68782b)"
    elif not (pathlib.Path(modules) / "KafkaReplication.tla").is_file():
        yield f"TLA_DIR: there is no KafkaReplication.tla in {modules}"
    if not BINARY.is_file():
        yield f"{BINARY.relative_to(ROOT)} is not built: cargo build --release -p fencepost-model"


def parse(configuration):
    """The module and its four constants."""
    variant, _, numbers = configuration.removeprefix(PREFIX).partition("/")
    if variant not in MODULES or not re.fullmatch(r"\d(-\d){3}", numbers):
        raise SystemExit(f"`{configuration}` is not {PREFIX}VARIANT/R-LOG-RECORDS-EPOCHS; variants: {', '.join(MODULES)}")
    return MODULES[variant], [int(number) for number in numbers.split("-")]


def run(command, directory=ROOT):
    """What a program printed, with its user CPU time and its peak of memory."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, cwd=directory, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return out.read(), process.returncode, usage.ru_utime, usage.ru_maxrss * 1024


def tlc(configuration):
    module, (replicas, log_size, max_records, max_leader_epoch) = parse(configuration)
    with tempfile.TemporaryDirectory() as scratch:
        # TLC looks for a configuration beside the module, and writes there too.
        for file in pathlib.Path(os.environ["TLA_DIR"]).glob("*.tla"):
            shutil.copy(file, scratch)
        names = ", ".join(f"r{number + 1}" for number in range(replicas))
        # No invariant, as a violation would end the run.
        (pathlib.Path(scratch) / "constants.cfg").write_text(
            f"CONSTANTS\nReplicas = {{{names}}}\nLogSize = {log_size}\nMaxRecords = {max_records}\n"
            f"MaxLeaderEpoch = {max_leader_epoch}\nINIT Init\nNEXT Next\n"
        )
        jar = pathlib.Path(os.environ["TLA_JAR"]).resolve()
        command = ["java", "-XX:+UseParallelGC", "-Xmx4g", "-cp", str(jar), "tlc2.TLC"]
        command += ["-workers", "1", "-checkpoint", "0", "-deadlock", "-config", "constants.cfg", module]
        text, code, user, peak = run(command, scratch)
    counted = re.search(r"^(\d+) states generated, (\d+) distinct states found, 0 states left", text, re.MULTILINE)
    if code != 0 or not counted:
        raise SystemExit(f"TLC did not exhaust {configuration}:\n{text}")
    version = re.search(r"^TLC2 Version (\S+)", text, re.MULTILINE)
    return int(counted[2]), int(counted[1]), user, peak, f"TLC {version[1] if version else ''}".strip()


def ours(configuration):
    text, code, user, peak = run([str(BINARY), "measure", "--breadth-first", configuration])
    counted = re.search(r'"unique":(\d+),"generated":(\d+)', text)
    if code != 0 or not counted:
        raise SystemExit(f"fencepost-model did not exhaust {configuration}:\n{text}")
    return int(counted[1]), int(counted[2]), user, peak, "fencepost-model"


def table(configurations):
    lines = [
        "| configuration | distinct | generated | checker | user CPU, s | distinct/s | peak, MB |",
        "|---|---:|---:|---|---:|---:|---:|",
    ]
    differ = []
    for configuration in configurations:
        theirs, mine = tlc(configuration), ours(configuration)
        for distinct, generated, user, peak, checker in (theirs, mine):
            rate = round(distinct / max(user, 0.01))
            lines.append(
                f"| {configuration.removeprefix(PREFIX)} | {distinct:,} | {generated:,} | {checker} "
                f"| {user:.2f} | {rate:,} | {peak / 1e6:,.0f} |"
            )
        if theirs[:2] != mine[:2]:
            differ.append(f"{configuration}: TLC counts {theirs[:2]}, fencepost-model {mine[:2]}")
    return "\n".join(lines) + "\n", differ


def main():
    parser = argparse.ArgumentParser(description="TLC and fencepost-model on the same state spaces.")
    parser.add_argument("--table", type=pathlib.Path, help="write the table into this page, between its marks")
    parser.add_argument("configurations", nargs="*", default=DEFAULT)
    arguments = parser.parse_args()
    for configuration in arguments.configurations:
        parse(configuration)
    if lines := list(missing()):
        sys.exit("TLC can't be run here:\n" + "\n".join(f"  {line}" for line in lines))
    text, differ = table(arguments.configurations)
    print(text, end="")
    if arguments.table:
        page = arguments.table.read_text()
        before, found, rest = page.partition(BEGIN)
        after = rest.partition(END)[2] if found else ""
        arguments.table.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")
    if differ:
        sys.exit("\n".join(differ))


if __name__ == "__main__":
    main()
