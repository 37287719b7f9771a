#!/usr/bin/env python3
"""Prints a seccomp filter, as `bwrap --seccomp` reads it, that kills a process for one system call of x86-64: filter.py NUMBER"""

import struct
import sys

LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
KILL_PROCESS, ALLOW = 0x80000000, 0x7FFF0000

rules = [(LOAD, 0, 0, 0), (JUMP_IF_EQUAL, 0, 1, int(sys.argv[1])), (RETURN, 0, 0, KILL_PROCESS), (RETURN, 0, 0, ALLOW)]
sys.stdout.buffer.write(b"".join(struct.pack("=HBBI", *rule) for rule in rules))
