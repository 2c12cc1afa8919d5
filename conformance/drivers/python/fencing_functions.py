#!/usr/bin/env python3
"""A function-level driver for fencepost: the three decisions of fencing, written from docs/fencing.md.

It is what docs/writing-a-driver.md arrives at. It needs no group and no requests: each trace gives the members and
asks for one decision, and this answers. Python 3.9 or later, standard library only.
"""

import json
import sys

# What a member that may not commit, or not heartbeat, is told.
STALE, FENCED = "STALE_MEMBER_EPOCH", "FENCED_MEMBER_EPOCH"

HELLO = {
    "protocol_version": 0,
    "name": "fencing functions in Python",
    "version": "1",
    "protocols": ["fencing"],
    "kinds": ["function"],
    "features": ["request_validation"],
}


class Refused(Exception):
    """The decision is an error of Kafka's."""


class Skipped(Exception):
    """This driver does not make that decision."""


def epoch_check(member, epoch, owned):
    """docs/fencing.md 2.3: may a heartbeat with this epoch go on?"""
    if epoch == 0:  # row 1
        return {"accepted": []}
    if epoch > member["epoch"]:  # row 2
        raise Refused(FENCED)
    if epoch == member["epoch"]:  # row 3
        return {"accepted": []}
    # Row 4: one lost answer is tolerated, if the report shows that nothing was missed.
    reported = owned is not None and all(partition in member["assigned"] for partition in owned)
    if epoch == member["previous_epoch"] and reported:
        return {"accepted": []}
    raise Refused(FENCED)


def commit_check(members, name, epoch, partitions, transactional, version, instance):
    """docs/fencing.md 3.3, with ownership also asked for where the epoch is the member epoch."""
    accepted = {"accepted": sorted(partitions)}
    if epoch < 0 and not members:  # row 1
        return accepted
    if transactional and epoch == -1 and name == "" and instance is None:  # row 2
        return accepted
    member = members.get(name)
    if member is None:  # row 3
        raise Refused("UNKNOWN_MEMBER_ID")
    classic = member.get("classic", False)
    if not transactional and not classic and version is not None and version < 9:  # row 4
        raise Refused("UNSUPPORTED_VERSION")
    # A classic member, and a transactional commit before version 6, know no stale epoch.
    older_commit = transactional and version is not None and version < 6
    stale = "ILLEGAL_GENERATION" if classic or older_commit else STALE
    if epoch > member["epoch"]:  # row 6
        raise Refused(stale)
    held = {**member["pending_revocation"], **member["assigned"]}  # rows 5 and 7
    if any(partition not in held or epoch < held[partition] for partition in partitions):
        raise Refused(stale)
    return accepted


def next_assignment(member, epoch, target_epoch, target, owned, taken):
    """NEXT of docs/fencing.md 2.5: one safe step towards the target."""
    keep = {p: a for p, a in member["assigned"].items() if p in target}
    revoke = {p: a for p, a in member["assigned"].items() if p not in target}
    if revoke and (owned is None or any(partition in owned for partition in revoke)):
        state, new_epoch, assigned, pending = "unrevoked", epoch, keep, revoke
    else:
        wanted = [p for p in target if p not in keep]
        granted = {p: target_epoch for p in wanted if p not in taken}
        blocked = len(granted) < len(wanted)
        state = "unreleased" if blocked else "stable"
        new_epoch, assigned, pending = target_epoch, {**keep, **granted}, {}
    after = {"epoch": new_epoch, "previous_epoch": member["epoch"], "state": state}
    after.update(assigned=assigned, pending_revocation=pending)
    if member.get("classic"):
        after["classic"] = True
    return {"member": after}


def decide(given, call):
    """Makes the decision that a trace calls for."""
    members = given["members"]
    [(name, arguments)] = call.items()
    if name == "epoch_check":
        return epoch_check(members[arguments["member"]], arguments["epoch"], arguments["owned"])
    if name == "commit_check":
        return commit_check(
            members,
            arguments["member"],
            arguments["epoch"],
            arguments["partitions"],
            arguments["transactional"],
            arguments.get("version"),
            arguments.get("instance"),
        )
    if name == "next":
        a = arguments
        return next_assignment(
            members[a["member"]], a["epoch"], a["target_epoch"], a["target"], a["owned"], a["taken"]
        )
    raise Skipped(f"this driver has no {name}")


def answer(command):
    """The line to answer a command with."""
    if command["cmd"] == "hello":
        return {"hello": HELLO}
    line = {"trace": command["trace"]}
    if "at" in command:
        line["at"] = command["at"]
    try:
        if "call" not in command:
            raise Skipped("this driver makes single decisions only")
        line["ok"] = {"outcome": decide(command["given"], command["call"])}
    except Refused as error:
        line["error"] = str(error)
    except Skipped as reason:
        line["skipped"] = str(reason)
    except Exception as problem:  # Named as the driver's fault, and costs this trace alone.
        line["broken"] = repr(problem)
    return line


def main():
    for line in sys.stdin:
        command = json.loads(line)
        if command["cmd"] == "bye":
            break
        print(json.dumps(answer(command)), flush=True)


if __name__ == "__main__":
    main()
