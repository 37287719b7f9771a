/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * One queue for all CPUs, as in Linux 2.4: each task that is ready is in it, and each CPU takes from it. Its lock is the
 * runqueue_lock of that kernel, but it is held for O(log n), not for a scan of all tasks.
 */
#include "locks.h"

#define QUEUE 0

SEC("struct_ops/select_cpu")
s32 BPF_PROG(global_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task *t = task_of(p);
	s32 cpu = claim_idle(p, prev_cpu);

	if (t)
		t->claimed = cpu;
	return cpu >= 0 ? cpu : prev_cpu;
}

SEC("struct_ops/enqueue")
void BPF_PROG(global_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task *t = task_of(p);
	struct slot *slot = slot_of(QUEUE);
	s32 cpu;

	if (!t || !slot)
		return;
	if (enq_flags & SCX_ENQ_REENQ)
		COUNT(reenqueued);
	settle(t);
	enter_queue(t, QUEUE);
	t->state = QUEUED;
	t->is_open = 1;
	/* A full barrier: a CPU that goes idle sees this task, or we see below that the CPU is idle. */
	__sync_fetch_and_add(&slot->open, 1);
	COUNT(enqueued);
	count_acquired(QUEUE, 1);
	insert_vtime(p, QUEUE, t->vtime, enq_flags);

	cpu = t->claimed;
	if (cpu < 0 || is_taken(cpu))
		cpu = claim_idle(p, scx_bpf_task_cpu(p));
	t->claimed = -1;
	if (cpu >= 0)
		wake_idle(cpu);
}

static bool tasks_wait(void)
{
	struct slot *slot = slot_of(QUEUE);

	return slot && __sync_fetch_and_add(&slot->open, 0);
}

static void learn_lock(void)
{
	struct slot *slot = slot_of(QUEUE);
	struct task_struct *p;

	if (!settings.measure_locks || !slot || slot->lock_known)
		return;
	bpf_for_each(scx_dsq, p, QUEUE, 0) {
		name_queue_lock(p, QUEUE);
		break;
	}
}

SEC("struct_ops/dispatch")
void BPF_PROG(global_dispatch, s32 cpu, struct task_struct *prev)
{
	if (!scx_bpf_dsq_nr_queued(QUEUE))
		return;
	learn_lock();
	count_acquired(QUEUE, 1);
	if (move_to_local(QUEUE))
		COUNT(dispatched);
}

SEC("struct_ops/running")
void BPF_PROG(global_running, struct task_struct *p)
{
	begin_run(p, QUEUE);
}

SEC("struct_ops/stopping")
void BPF_PROG(global_stopping, struct task_struct *p, bool runnable)
{
	end_run(p);
}

SEC("struct_ops/update_idle")
void BPF_PROG(global_update_idle, s32 cpu, bool idle)
{
	struct slot *own = slot_of(cpu), *queue = slot_of(QUEUE);

	if (!own || !queue)
		return;
	own->idle_since = idle ? bpf_ktime_get_ns() : 0;
	if (idle)
		recheck_once(own, cpu, __sync_fetch_and_add(&queue->open, 0));
}

SEC("struct_ops.s/init_task")
s32 BPF_PROG(global_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return begin_task(p);
}

SEC("struct_ops/enable")
void BPF_PROG(global_enable, struct task_struct *p)
{
	enable_task(p, QUEUE);
}

SEC("struct_ops/disable")
void BPF_PROG(global_disable, struct task_struct *p)
{
	disable_task(p);
}

SEC("struct_ops.s/init")
s32 BPF_PROG(global_init)
{
	s32 error = check_cpus();

	if (error)
		return error;
	name_run_queue_locks();
	return scx_bpf_create_dsq(QUEUE, -1);
}

SEC("struct_ops/exit")
void BPF_PROG(global_exit, struct scx_exit_info *info)
{
	record_end(info);
}

SEC(".struct_ops.link")
struct sched_ext_ops scheduler = {
	.select_cpu = (void *)global_select_cpu,
	.enqueue = (void *)global_enqueue,
	.dispatch = (void *)global_dispatch,
	.running = (void *)global_running,
	.stopping = (void *)global_stopping,
	.cpu_release = (void *)on_release,
	.update_idle = (void *)global_update_idle,
	.init_task = (void *)global_init_task,
	.enable = (void *)global_enable,
	.disable = (void *)global_disable,
	.init = (void *)global_init,
	.exit = (void *)global_exit,
	.flags = SCX_OPS_SWITCH_PARTIAL | SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_EXITING,
	.name = "unspin_global",
};

char _license[] SEC("license") = "Dual MIT/GPL";
