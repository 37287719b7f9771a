/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * Contention of the queues' locks. A thread that finds a spin lock taken enters the slow path of the kernel's queued spin
 * locks; the argument is the lock. These programs run with --locks only.
 */
#pragma once

#include "tasks.h"

/* Numbers of locks: those of the run queues by CPU, then those of our queues, then one for all others. */
#define FIRST_DSQ MAX_CPUS
#define OTHER_LOCK (2 * MAX_CPUS)
/* A slow path within one: in a soft interrupt, an interrupt, an NMI. */
#define MAX_DEPTH 4

struct lock_use {
	/* Acquisitions of our queues' locks that we have caused; of other locks it is not known. */
	u64 acquired;
	u64 contended;
	u64 wait_ns;
	u64 wait_ns_max;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, OTHER_LOCK + 1);
	__type(key, u32);
	__type(value, struct lock_use);
} lock_uses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * MAX_CPUS);
	__type(key, u64);
	__type(value, u32);
} lock_numbers SEC(".maps");

/* The slow paths that a CPU is in. 0 is no lock. */
struct waits {
	u64 lock[MAX_DEPTH];
	u64 since[MAX_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct waits);
} waits SEC(".maps");

extern const struct rq runqueues __ksym __weak;

static void name_lock(u64 address, u32 number)
{
	bpf_map_update_elem(&lock_numbers, &address, &number, BPF_ANY);
}

static void name_run_queue_locks(void)
{
	s32 count = scx_bpf_nr_cpu_ids(), cpu;

	if (!settings.measure_locks || !bpf_ksym_exists(&runqueues))
		return;
	bpf_for(cpu, 0, count) {
		const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

		if (rq && cpu < MAX_CPUS)
			name_lock((u64)rq + bpf_core_field_offset(struct rq, __lock), cpu);
	}
}

/* A queue's address is known from a task that is in it. */
static void name_queue_lock(struct task_struct *p, s32 queue)
{
	struct slot *slot = slot_of(queue);
	u64 dsq;

	if (!settings.measure_locks || !slot || slot->lock_known)
		return;
	dsq = (u64)BPF_CORE_READ(p, scx.dsq);
	if (!dsq)
		return;
	slot->lock_known = 1;
	name_lock(dsq + bpf_core_field_offset(struct scx_dispatch_q, lock), FIRST_DSQ + queue);
}

static void count_acquired(s32 queue, u64 times)
{
	u32 number = FIRST_DSQ + queue;
	struct lock_use *use;

	if (!settings.measure_locks)
		return;
	use = bpf_map_lookup_elem(&lock_uses, &number);
	if (use)
		__sync_fetch_and_add(&use->acquired, times);
}

/*
 * The kernel omits a BPF program that it calls while the same one runs on that CPU, so an end may be missing. Then its place is
 * used again by the next wait for that lock, since a CPU waits for a lock once; or, as the oldest, when all places are in use.
 */
static u32 place_for(const struct waits *w, u64 lock)
{
	u32 place, found = 0;

	for (place = 0; place < MAX_DEPTH; place++) {
		if (w->lock[place] == lock)
			return place;
		if (w->lock[found] && (!w->lock[place] || w->since[place] < w->since[found]))
			found = place;
	}
	return found;
}

static void begin_wait(u64 lock)
{
	u32 zero = 0, place;
	struct waits *w = bpf_map_lookup_elem(&waits, &zero);

	if (!w)
		return;
	place = place_for(w, lock) & (MAX_DEPTH - 1);
	w->since[place] = bpf_ktime_get_ns();
	w->lock[place] = lock;
}

static void end_wait(u64 lock)
{
	u32 zero = 0, number = OTHER_LOCK, place, *known;
	struct waits *w = bpf_map_lookup_elem(&waits, &zero);
	struct lock_use *use;
	u64 ns;

	if (!w)
		return;
	place = place_for(w, lock) & (MAX_DEPTH - 1);
	if (w->lock[place] != lock)
		return;
	w->lock[place] = 0;
	ns = bpf_ktime_get_ns() - w->since[place];
	known = bpf_map_lookup_elem(&lock_numbers, &lock);
	if (known)
		number = *known;
	use = bpf_map_lookup_elem(&lock_uses, &number);
	if (!use)
		return;
	use->contended++;
	use->wait_ns += ns;
	if (ns > use->wait_ns_max)
		use->wait_ns_max = ns;
}

SEC("fentry/native_queued_spin_lock_slowpath")
int BPF_PROG(native_begin, void *lock)
{
	begin_wait((u64)lock);
	return 0;
}

SEC("fexit/native_queued_spin_lock_slowpath")
int BPF_PROG(native_end, void *lock)
{
	end_wait((u64)lock);
	return 0;
}

SEC("fentry/__pv_queued_spin_lock_slowpath")
int BPF_PROG(pv_begin, void *lock)
{
	begin_wait((u64)lock);
	return 0;
}

SEC("fexit/__pv_queued_spin_lock_slowpath")
int BPF_PROG(pv_end, void *lock)
{
	end_wait((u64)lock);
	return 0;
}
