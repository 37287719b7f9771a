/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * One queue for each CPU, after the multi-queue (MQ) patch for Linux 2.4. Each queue publishes its best task that another
 * CPU may run. A CPU with an empty queue compares these summaries without a lock and takes from the best queue. A task
 * that wakes goes to its last CPU if that is idle, else to the CPU that has been idle longest, else to the queue of its last.
 *
 * Why no task waits in the queue of a CPU that sleeps: the kernel calls `enqueue` for a CPU's queue, and inserts the task,
 * under the lock of that CPU's run queue, under which the CPU also dispatches and goes idle. So either `dispatch` finds the
 * task, or `enqueue` finds that the CPU is idle and kicks it. `dispatch` gives up the lock while it steals, so it looks at
 * its own queue again after that.
 */
#include "locks.h"

/* A thief tries this many queues. */
#define ATTEMPTS 4
/* A summary is found among so many tasks that only their own CPU may run. */
#define MAX_BOUND 64

/* Makes `best` the lesser of itself and this word. 0 is none. A full barrier. */
static void publish_better(struct slot *slot, u64 word)
{
	s32 attempt;

	bpf_for(attempt, 0, 16) {
		u64 seen = slot->best;

		if (seen && (s64)(word - seen) >= 0)
			break;
		if (__sync_val_compare_and_swap(&slot->best, seen, word) == seen)
			break;
	}
	__sync_fetch_and_add(&slot->open, 0);
}

/* One more than the virtual time, and never 0. */
static u64 word_of(u64 vtime)
{
	return vtime + 1 ? vtime + 1 : 1;
}

/* Finds the best task of the queue that another CPU may run. Called after a task was taken. */
static void publish(s32 queue)
{
	struct slot *slot = slot_of(queue);
	struct task_struct *p;
	u64 word = 0, seen = 0;

	if (!slot)
		return;
	/* First none, then what is there: a task that is enqueued meanwhile is published by `enqueue`, or found here. */
	slot->best = 0;
	if (!scx_bpf_dsq_nr_queued(queue))
		return;
	bpf_for_each(scx_dsq, p, queue, 0) {
		struct task *t = task_of(p);

		seen++;
		name_queue_lock(p, queue);
		if (t && is_movable(p)) {
			word = word_of(t->vtime);
			break;
		}
		if (seen >= MAX_BOUND)
			break;
	}
	count_acquired(queue, seen + 1);
	if (word)
		publish_better(slot, word);
}

/* The task would be here in front of all others, for as long as it has waited there: its lag behind the queue's clock. */
static s64 goodness(const struct slot *slot)
{
	u64 word = slot->best;

	/* Nothing is published of a task that is there, because it came while another was taken: the last to be tried. */
	return word ? (s64)(slot->clock - (word - 1)) : -(1LL << 62);
}

/* The queue with the best summary, of those that were not tried. -1: there is none. */
static s32 best_victim(s32 cpu, u64 tried)
{
	s32 count = scx_bpf_nr_cpu_ids(), offset, found = -1;
	s64 best = -(1LL << 62) - 1;

	/* Begins behind the CPU, so that different CPUs choose different queues if several are equally good. */
	bpf_for(offset, 1, count) {
		s32 queue = (u32)(cpu + offset) % (u32)count;
		struct slot *slot = slot_of(queue);

		if (!slot || !slot->open || tried >> (queue & 63) & 1)
			continue;
		if (goodness(slot) > best && scx_bpf_dsq_nr_queued(queue)) {
			best = goodness(slot);
			found = queue;
		}
	}
	return found;
}

static bool take(s32 queue)
{
	if (!scx_bpf_dsq_nr_queued(queue))
		return false;
	count_acquired(queue, 1);
	if (!move_to_local(queue))
		return false;
	COUNT(dispatched);
	publish(queue);
	return true;
}

static bool steal(s32 cpu)
{
	u64 tried = 0;
	s32 attempt;

	bpf_for(attempt, 0, ATTEMPTS) {
		s32 victim = best_victim(cpu, tried);

		if (victim < 0)
			return false;
		tried |= 1ULL << (victim & 63);
		if (take(victim)) {
			COUNT(stolen);
			return true;
		}
	}
	return false;
}

SEC("struct_ops/select_cpu")
s32 BPF_PROG(mq_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task *t = task_of(p);
	s32 cpu = claim_idle(p, prev_cpu);

	if (t)
		t->claimed = cpu;
	return cpu >= 0 ? cpu : prev_cpu;
}

/* The queue of the task's CPU: the kernel holds the lock of that CPU's run queue. */
static s32 home_of(const struct task_struct *p)
{
	s32 cpu = scx_bpf_task_cpu(p), count = scx_bpf_nr_cpu_ids(), other;

	if (may_run_on(p, cpu))
		return cpu;
	bpf_for(other, 0, count) {
		if (may_run_on(p, other))
			return other;
	}
	return cpu;
}

/* Wakes the CPU of the queue if it is idle, else one that steals the task. */
static void wake_for(const struct task_struct *p, s32 queue, bool is_open)
{
	s32 cpu = queue;

	if (scx_bpf_test_and_clear_cpu_idle(queue)) {
		COUNT(last_idle);
	} else {
		cpu = is_open ? claim_longest_idle(p) : -1;
		if (cpu >= 0)
			COUNT(thief_woken);
	}
	/* Not of this run queue: nothing keeps its CPU from sleeping meanwhile. */
	if (cpu < 0 && queue != scx_bpf_task_cpu(p))
		cpu = queue;
	if (cpu >= 0)
		wake_idle(cpu);
}

/* Whether the task may be put into the local queue of its CPU: it was claimed for it, and no task of a higher class came first. */
static bool may_run_at_once(const struct task *t, s32 cpu)
{
	return t->claimed == cpu && !is_taken(cpu);
}

SEC("struct_ops/enqueue")
void BPF_PROG(mq_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task *t = task_of(p);
	s32 queue = home_of(p);
	struct slot *slot = slot_of(queue);
	bool is_open = is_movable(p);

	if (!t || !slot)
		return;
	if (enq_flags & SCX_ENQ_REENQ)
		COUNT(reenqueued);
	settle(t);
	/* Not in `select_cpu`: only here the lock of the CPU's run queue is held, and no task of a higher class comes in between. */
	if (may_run_at_once(t, scx_bpf_task_cpu(p))) {
		t->claimed = -1;
		t->state = DIRECT;
		COUNT(direct);
		insert_local(p, enq_flags);
		return;
	}
	t->claimed = -1;
	enter_queue(t, queue);
	t->state = QUEUED;
	COUNT(enqueued);
	count_acquired(queue, 1);
	insert_vtime(p, queue, t->vtime, enq_flags);
	if (is_open) {
		t->is_open = 1;
		__sync_fetch_and_add(&slot->open, 1);
		publish_better(slot, word_of(t->vtime));
	}
	wake_for(p, queue, is_open);
}

/*
 * Takes a task from the queue of a CPU that has run tasks of higher classes for longer than a slice, although the own queue may
 * have tasks: its tasks would wait as long as no other CPU is without any. Every second slice at most.
 */
static bool relieve(s32 cpu)
{
	s32 count = scx_bpf_nr_cpu_ids(), other;
	struct slot *own = slot_of(cpu);
	u64 now = bpf_ktime_get_ns();

	if (!own || now - own->relieved_at < 2 * SCX_SLICE_DFL)
		return false;
	own->relieved_at = now;
	bpf_for(other, 0, count) {
		struct slot *slot = slot_of(other);
		u64 since = slot ? slot->taken_since : 0;

		if (other == cpu || !since || (s64)(now - since) < (s64)SCX_SLICE_DFL || !slot->open)
			continue;
		if (take(other)) {
			COUNT(stolen);
			return true;
		}
	}
	return false;
}

SEC("struct_ops/dispatch")
void BPF_PROG(mq_dispatch, s32 cpu, struct task_struct *prev)
{
	if (relieve(cpu) || take(cpu))
		return;
	if (steal(cpu))
		return;
	take(cpu);
}

SEC("struct_ops/running")
void BPF_PROG(mq_running, struct task_struct *p)
{
	begin_run(p, bpf_get_smp_processor_id());
}

SEC("struct_ops/stopping")
void BPF_PROG(mq_stopping, struct task_struct *p, bool runnable)
{
	end_run(p);
}

static bool any_open(s32 cpu)
{
	s32 count = scx_bpf_nr_cpu_ids(), other;

	bpf_for(other, 0, count) {
		struct slot *slot = slot_of(other);

		if (slot && other != cpu && __sync_fetch_and_add(&slot->open, 0))
			return true;
	}
	return false;
}

static bool tasks_wait(void)
{
	return any_open(-1);
}

SEC("struct_ops/update_idle")
void BPF_PROG(mq_update_idle, s32 cpu, bool idle)
{
	struct slot *own = slot_of(cpu);

	if (!own)
		return;
	own->idle_since = idle ? bpf_ktime_get_ns() : 0;
	if (!idle)
		return;
	/*
	 * The kernel has marked the CPU as idle before. `enqueue` counts the task as open, and then looks for an idle CPU. So
	 * one of the two sees the other.
	 */
	if (scx_bpf_dsq_nr_queued(cpu))
		kick_idle(cpu);
	else
		recheck_once(own, cpu, any_open(cpu));
}

SEC("struct_ops.s/init_task")
s32 BPF_PROG(mq_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return begin_task(p);
}

SEC("struct_ops/enable")
void BPF_PROG(mq_enable, struct task_struct *p)
{
	enable_task(p, scx_bpf_task_cpu(p));
}

SEC("struct_ops/disable")
void BPF_PROG(mq_disable, struct task_struct *p)
{
	disable_task(p);
}

SEC("struct_ops.s/init")
s32 BPF_PROG(mq_init)
{
	s32 count = scx_bpf_nr_cpu_ids(), cpu, error = check_cpus();

	if (error)
		return error;
	name_run_queue_locks();
	bpf_for(cpu, 0, count) {
		error = scx_bpf_create_dsq(cpu, -1);
		if (error)
			return error;
	}
	return 0;
}

SEC("struct_ops/exit")
void BPF_PROG(mq_exit, struct scx_exit_info *info)
{
	record_end(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops scheduler = {
	.select_cpu = (void *)mq_select_cpu,
	.enqueue = (void *)mq_enqueue,
	.dispatch = (void *)mq_dispatch,
	.running = (void *)mq_running,
	.stopping = (void *)mq_stopping,
	.cpu_release = (void *)on_release,
	.update_idle = (void *)mq_update_idle,
	.init_task = (void *)mq_init_task,
	.enable = (void *)mq_enable,
	.disable = (void *)mq_disable,
	.init = (void *)mq_init,
	.exit = (void *)mq_exit,
	.flags = SCX_OPS_SWITCH_PARTIAL | SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_EXITING,
	.name = "unspin_mq",
};

char _license[] SEC("license") = "Dual MIT/GPL";
