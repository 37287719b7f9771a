#!/bin/sh
# A short program that waits: the workload of unspin with few loops.
exec unspin hackbench 2 --loops 30
