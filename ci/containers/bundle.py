#!/usr/bin/env python3
"""Writes the configuration of a container for an OCI runtime: the machine's own files, read-only, under a seccomp profile in the form
of Docker and Podman, with the capabilities and the /dev/shm of 64 MB that Docker gives by default.

    bundle.py [--profile FILE] [--answer CALL=ACTION]... [--cap CAP]... [--bind FOLDER]... [--env NAME=VALUE]...
        [--no-new-privileges] FOLDER COMMAND...

`--answer` changes what the profile answers to one system call: ALLOW, ERRNO or KILL_PROCESS.
"""

import argparse
import json
import os
import platform
import re

# What Docker leaves to a container.
CAPABILITIES = """CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE SYS_CHROOT KILL
AUDIT_WRITE""".split()


def kernel(text):
    return [int(number) for number in re.findall(r"\d+", text)[:2]]


def applies(rule, capabilities):
    """Whether a rule of a profile is one for this machine and these capabilities."""
    includes, excludes = rule.get("includes") or {}, rule.get("excludes") or {}
    here = kernel(platform.release())
    return not (
        "amd64" in (excludes.get("arches") or [])
        or set(excludes.get("caps") or []) & set(capabilities)
        or ("minKernel" in excludes and here >= kernel(excludes["minKernel"]))
        or (includes.get("arches") and "amd64" not in includes["arches"])
        or set(includes.get("caps") or []) - set(capabilities)
        or ("minKernel" in includes and here < kernel(includes["minKernel"]))
    )


def seccomp(profile, capabilities, answers):
    """The profile in the form of the OCI runtime specification, with other answers to some calls."""
    with open(profile, encoding="utf-8") as file:
        given = json.load(file)
    rules = []
    for rule in given["syscalls"]:
        names = [name for name in rule["names"] if name not in answers]
        if names and applies(rule, capabilities):
            rules.append({"names": names} | {key: rule[key] for key in ("action", "errnoRet", "args") if rule.get(key)})
    rules += [{"names": [name], "action": f"SCMP_ACT_{action}"} for name, action in answers.items()]
    return {key: given[key] for key in ("defaultAction", "defaultErrnoRet") if key in given} | {
        "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        "syscalls": rules,
    }


def own_files(root):
    """Mounts of this machine's programs and libraries; links to them are made again."""
    mounts = []
    for name in ("usr", "etc", "bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = "/" + name
        if os.path.islink(path):
            link = os.path.join(root, name)
            if not os.path.islink(link):
                os.symlink(os.readlink(path), link)
        elif os.path.isdir(path):
            mounts.append(bind(path))
    return mounts


def bind(path):
    return {"destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"]}


def tmpfs(path, mode, size):
    return {"destination": path, "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", f"mode={mode}", f"size={size}"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--profile")
    parser.add_argument("--no-new-privileges", action="store_true")
    for name in ("answer", "cap", "bind", "env"):
        parser.add_argument(f"--{name}", action="append", default=[])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    capabilities = [f"CAP_{name}" for name in CAPABILITIES + asked.cap]
    root = os.path.join(asked.folder, "root")
    os.makedirs(root, exist_ok=True)
    config = {
        "ociVersion": "1.0.2",
        "root": {"path": "root", "readonly": True},
        "hostname": "container",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": asked.command,
            "env": ["PATH=/usr/bin:/bin", "HOME=/tmp"] + asked.env,
            "cwd": "/",
            "noNewPrivileges": asked.no_new_privileges,
            "capabilities": {kind: capabilities for kind in ("bounding", "effective", "permitted")},
        },
        "mounts": own_files(root)
        + [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            tmpfs("/dev", 755, "64k"),
            tmpfs("/dev/shm", 1777, "64m"),
            tmpfs("/tmp", 1777, "64m"),
        ]
        + [bind(os.path.abspath(path)) for path in asked.bind],
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")]},
    }
    if asked.profile:
        answers = dict(answer.split("=") for answer in asked.answer)
        config["linux"]["seccomp"] = seccomp(asked.profile, capabilities, answers)
    with open(os.path.join(asked.folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)


main()
