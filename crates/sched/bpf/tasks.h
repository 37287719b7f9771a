/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/* What both schedulers know of tasks and CPUs, and what they count. */
#pragma once

#include "kernel.h"

/* A power of two. The loader has it, too: crates/sched/src/bpf.rs. */
#define MAX_CPUS 512

/* What the loader chooses. */
struct settings {
	u32 measure_locks;
};
const volatile struct settings settings SEC(".rodata.settings") = {};

/* In the order in which the loader reads them: crates/sched/src/counters.rs. */
struct counters {
	/* Tasks put into a queue of ours; into the local queue of an idle CPU. */
	u64 enqueued;
	u64 direct;
	/* Tasks taken from a queue of ours in order to run. */
	u64 dispatched;
	/* Runs that began, by how the task had been handed over; `resumed`: by the kernel alone. */
	u64 runs_queued;
	u64 runs_direct;
	u64 resumed;
	u64 stops;
	/* Tasks that left a queue without a run: other affinity, other class, end. */
	u64 withdrawn;
	/* Tasks that were in the local queue of a CPU when a task of a higher class took it, and were enqueued again. */
	u64 reenqueued;
	/* Of `dispatched`: from the queue of another CPU. */
	u64 stolen;
	/* Idle CPUs chosen for a task: its last, the one that was idle longest; one woken in order to steal it. */
	u64 last_idle;
	u64 longest_idle;
	u64 thief_woken;
	u64 migrations;
	u64 kicks;
	/* Tasks that came under the scheduler, and that left it. */
	u64 tasks;
	u64 left;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct counters);
} counters SEC(".maps");

/* Only the CPU itself writes its counters, but an interrupt may come in between. */
#define COUNT(field)                                                                \
	({                                                                          \
		u32 zero_ = 0;                                                      \
		struct counters *counters_ = bpf_map_lookup_elem(&counters, &zero_); \
		if (counters_)                                                      \
			__sync_fetch_and_add(&counters_->field, 1);                 \
	})

enum state {
	/* It runs, or sleeps. */
	AWAY = 0,
	/* In a queue of ours, or taken from there and about to run. */
	QUEUED,
	/* In the local queue of a CPU, where we have put it. */
	DIRECT,
};

struct task {
	u32 state;
	/* The CPU on which it ran last, or -1; the queue in which it is, which is also the queue of `vtime`. */
	s32 cpu;
	s32 queue;
	/* The idle CPU that was claimed for its wake-up, or -1. */
	s32 claimed;
	/* CPU time used, divided by the weight. */
	u64 vtime;
	u64 started;
	/* 1 if it is counted in `open` of its queue. */
	u64 is_open;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

/* A CPU, and the queue of this number. */
struct slot {
	/* When the CPU went idle; 0: it is not idle. */
	u64 idle_since;
	/* The greatest virtual time at which a task of the queue began to run. */
	u64 clock;
	/* The summary: one more than the virtual time of the best task that another CPU may take; 0: none. */
	u64 best;
	/*
	 * Tasks in the queue that other CPUs may take. Counted before the kernel inserts the task, which it does after
	 * `enqueue` has returned, and until the task runs. So it is never less than their number.
	 */
	u64 open;
	/* The CPU has looked at the queues once more since it went idle. */
	u64 has_rechecked;
	/* The address of the queue's lock is known. */
	u64 lock_known;
	/* Since when the CPU runs tasks of higher classes; 0: it does not. */
	u64 taken_since;
	/* 1: the CPU was woken for a task, and tasks have waited ever since. */
	u64 is_woken;
	/* When the CPU last took a task from the queue of a CPU that runs tasks of higher classes. */
	u64 relieved_at;
} __attribute__((aligned(64)));

struct slot slots[MAX_CPUS] SEC(".bss.slots");

static struct slot *slot_of(s32 cpu)
{
	u32 index = cpu;

	if (index >= MAX_CPUS)
		return NULL;
	/* The verifier sees no other bound: the compiler moves the one above. */
	barrier_var(index);
	return &slots[index & (MAX_CPUS - 1)];
}

/* E2BIG: the machine has more CPUs than there are slots. */
static s32 check_cpus(void)
{
	return scx_bpf_nr_cpu_ids() > MAX_CPUS ? -7 : 0;
}

static struct task *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, 0);
}

static void close_task(struct task *t)
{
	struct slot *slot = slot_of(t->queue);

	if (t->is_open && slot)
		__sync_fetch_and_add(&slot->open, -1);
	t->is_open = 0;
}

/* A task that was handed over and has not run since then was withdrawn. */
static void settle(struct task *t)
{
	if (t->state != AWAY)
		COUNT(withdrawn);
	close_task(t);
	t->state = AWAY;
}

static bool may_run_on(const struct task_struct *p, s32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/*
 * The kernel disables the migration of the current task while a BPF program runs, and so also of a task that `enqueue` is called
 * for when its slice is used up. That count of one is not the task's own.
 */
static inline bool is_migration_disabled(const struct task_struct *p)
{
	if (!bpf_core_field_exists(p->migration_disabled))
		return false;
	if (p->migration_disabled == 1)
		return bpf_get_current_task_btf() != p;
	return p->migration_disabled;
}

static inline bool is_movable(const struct task_struct *p)
{
	return p->nr_cpus_allowed > 1 && !is_migration_disabled(p);
}

/* Whether a task of a higher class has the CPU. */
static bool is_taken(s32 cpu)
{
	struct slot *slot = slot_of(cpu);

	return slot && slot->taken_since;
}

static void kick_idle(s32 cpu)
{
	/* The kernel looks whether the CPU is idle after the insertion: interrupts are off until then. */
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	COUNT(kicks);
}

/* Whether tasks wait in a queue. Each scheduler defines it. */
static bool tasks_wait(void);

/*
 * Wakes a CPU, which was claimed if it was idle, and permits it one more look at the queues when the kernel next tells that it goes idle.
 * Returns whether a task of a higher class has taken it meanwhile: a full barrier stands between the mark and that look, and between
 * the two in the other order in `on_switch`, so that this CPU or that one sees the other.
 */
static bool wake_claimed(s32 cpu)
{
	struct slot *slot = slot_of(cpu);

	if (!slot)
		return false;
	slot->has_rechecked = 0;
	__sync_fetch_and_or(&slot->is_woken, 1);
	kick_idle(cpu);
	return slot->taken_since;
}

/*
 * A task of a higher class has taken a CPU that was woken for a task of ours, and no second one was woken. So all idle CPUs look for
 * tasks, since it is not known where that one may run.
 */
static void pass_wake_on(s32 cpu)
{
	s32 count = scx_bpf_nr_cpu_ids(), other;

	if (!tasks_wait())
		return;
	bpf_for(other, 0, count) {
		if (other != cpu && scx_bpf_test_and_clear_cpu_idle(other))
			wake_claimed(other);
	}
}

/* Wakes a CPU that was claimed for a task. */
static void wake_idle(s32 cpu)
{
	if (wake_claimed(cpu))
		pass_wake_on(cpu);
}

/*
 * The CPU goes idle, and looks at the queues once more: if tasks wait, or if the kernel marks it as idle only after this call.
 * Once, since the tasks that are there may be bound to other CPUs.
 */
static void recheck_once(struct slot *own, s32 cpu, bool tasks_wait)
{
	if (own->has_rechecked || !(tasks_wait || is_marked_idle_late()))
		return;
	own->has_rechecked = 1;
	kick_idle(cpu);
}

/*
 * Claims the idle CPU that has been idle longest, of those on which the task may run; -1: there is none. Where other wakers
 * are quicker each time, and where it is not known how long a CPU has been idle, the kernel chooses.
 */
static s32 claim_longest_idle(const struct task_struct *p)
{
	s32 count = scx_bpf_nr_cpu_ids(), cpu, attempt;
	/* Another waker has claimed a CPU that could not be claimed. It is idle until it wakes, and is not tried again. */
	u64 tried = 0;

	bpf_for(attempt, 0, 4) {
		u64 oldest = ~0ULL;
		s32 found = -1;

		bpf_for(cpu, 0, count) {
			struct slot *slot = slot_of(cpu);
			u64 since = slot ? slot->idle_since : 0;

			if (since > tried && since < oldest && may_run_on(p, cpu)) {
				oldest = since;
				found = cpu;
			}
		}
		if (found < 0)
			break;
		if (scx_bpf_test_and_clear_cpu_idle(found))
			return found;
		tried = oldest;
	}
	cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	return cpu >= 0 ? cpu : -1;
}

/* The MQ patch's choice of a CPU for a task that wakes: its last if that is idle, else the longest idle, else -1. */
static s32 claim_idle(const struct task_struct *p, s32 last)
{
	s32 cpu;

	if (may_run_on(p, last) && scx_bpf_test_and_clear_cpu_idle(last)) {
		COUNT(last_idle);
		return last;
	}
	cpu = claim_longest_idle(p);
	if (cpu >= 0)
		COUNT(longest_idle);
	return cpu;
}

/* Moves the task's virtual time to the clock of this queue, and limits what a sleeper saves to one slice. */
static void enter_queue(struct task *t, s32 queue)
{
	struct slot *to = slot_of(queue), *from = slot_of(t->queue);

	if (!to)
		return;
	if (from && from != to)
		t->vtime += to->clock - from->clock;
	t->queue = queue;
	if ((s64)(t->vtime - (to->clock - SCX_SLICE_DFL)) < 0)
		t->vtime = to->clock - SCX_SLICE_DFL;
}

/* `queue_of_cpu`: the queue with the clock that counts on this CPU. */
static void begin_run(struct task_struct *p, s32 queue_of_cpu)
{
	struct task *t = task_of(p);
	s32 cpu = bpf_get_smp_processor_id();
	struct slot *slot = slot_of(cpu);

	if (slot) {
		slot->has_rechecked = 0;
		/* The CPU may have been woken for another task, which still waits. */
		if (slot->is_woken && !tasks_wait())
			slot->is_woken = 0;
	}
	if (!t)
		return;
	if (t->state == QUEUED)
		COUNT(runs_queued);
	else if (t->state == DIRECT)
		COUNT(runs_direct);
	else
		COUNT(resumed);
	close_task(t);
	t->state = AWAY;
	t->claimed = -1;
	if (t->cpu >= 0 && t->cpu != cpu)
		COUNT(migrations);
	t->cpu = cpu;
	enter_queue(t, queue_of_cpu);
	slot = slot_of(queue_of_cpu);
	if (slot && (s64)(t->vtime - slot->clock) > 0)
		slot->clock = t->vtime;
	t->started = bpf_ktime_get_ns();
}

static void end_run(struct task_struct *p)
{
	struct task *t = task_of(p);
	u32 weight = p->scx.weight;

	COUNT(stops);
	if (t && t->started)
		t->vtime += (bpf_ktime_get_ns() - t->started) * 100 / (weight ? weight : 100);
}

/* Whether the task runs before all tasks of ours: it is of a higher class, and not the idle task. */
static bool precedes(const struct task_struct *p)
{
	return p->pid && (p->policy != SCHED_EXT || p->prio < MAX_RT_PRIO);
}

/*
 * A task in the local queue of a CPU can leave it only by the hand of the kernel, which takes it from there here and calls
 * `enqueue`. So it does not wait for a task of a higher class, while another CPU could run it: after a preemption the kernel
 * puts it there, too. Called with the run queue's lock held, and the switch follows.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	s32 cpu = bpf_get_smp_processor_id();
	struct slot *slot = slot_of(cpu);

	if (!slot)
		return 0;
	if (!precedes(next)) {
		slot->taken_since = 0;
		return 0;
	}
	slot->has_rechecked = 0;
	if (!slot->taken_since)
		slot->taken_since = bpf_ktime_get_ns();
	if (bpf_ksym_exists(scx_bpf_reenqueue_local___v2___new) && scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) > 0)
		scx_bpf_reenqueue_local___v2___new();
	/* A full barrier where the CPU was idle: see wake_claimed. A CPU that has run since was marked before. */
	if ((!prev->pid || slot->is_woken) && __sync_fetch_and_and(&slot->is_woken, 0))
		pass_wake_on(cpu);
	return 0;
}

/* The same before Linux 6.19. The loader removes it from the operations of later kernels. */
SEC("struct_ops/cpu_release")
void BPF_PROG(on_release, s32 cpu, struct scx_cpu_release_args *args)
{
	if (bpf_ksym_exists(scx_bpf_reenqueue_local___old))
		scx_bpf_reenqueue_local___old();
}

static s32 begin_task(struct task_struct *p)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		return -12; /* ENOMEM */
	t->cpu = t->claimed = t->queue = -1;
	return 0;
}

/* `queue`: where the task is going to be queued first. */
static void enable_task(struct task_struct *p, s32 queue)
{
	struct task *t = task_of(p);
	struct slot *slot = slot_of(queue);

	COUNT(tasks);
	if (!t || !slot)
		return;
	t->queue = queue;
	t->vtime = slot->clock;
}

static void disable_task(struct task_struct *p)
{
	struct task *t = task_of(p);

	COUNT(left);
	if (t)
		settle(t);
}

/* Why the kernel ended the scheduler. The loader reads it. */
struct end {
	s32 kind;
	u32 has_ended;
	s64 code;
	char reason[128];
	char message[1024];
};
struct end end SEC(".data.end") = {};

static void record_end(struct scx_exit_info *info)
{
	bpf_probe_read_kernel_str(end.reason, sizeof(end.reason), BPF_CORE_READ(info, reason));
	bpf_probe_read_kernel_str(end.message, sizeof(end.message), BPF_CORE_READ(info, msg));
	end.code = BPF_CORE_READ(info, exit_code);
	end.kind = BPF_CORE_READ(info, kind);
	__sync_fetch_and_add(&end.has_ended, 1);
}
