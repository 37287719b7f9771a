/* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 */
/*
 * What the schedulers use of the kernel's types and functions. The loader (libbpf) finds the fields of these types by their
 * names in the BTF of the kernel that runs, so only the fields that are used are here, in any order (CO-RE). The functions
 * are weak: a kernel has those of its version.
 */
#pragma once

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
typedef _Bool bool;
#define true 1
#define false 0

/* Of the kernel's user API. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_ANY = 0,
	BPF_F_NO_PREALLOC = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cpumask {
	unsigned long bits[1];
};

typedef struct {
	int any;
} raw_spinlock_t;

struct scx_dispatch_q {
	raw_spinlock_t lock;
};

struct sched_ext_entity {
	struct scx_dispatch_q *dsq;
	u32 weight;
};

struct task_struct {
	int pid;
	int prio;
	unsigned int policy;
	int nr_cpus_allowed;
	unsigned short migration_disabled;
	const struct cpumask *cpus_ptr;
	struct sched_ext_entity scx;
};

struct rq {
	raw_spinlock_t __lock;
};

enum scx_exit_kind {
	SCX_EXIT_NONE,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
};

struct scx_init_task_args {
	bool fork;
};

struct scx_cpu_release_args {
	struct task_struct *task;
};

#pragma clang attribute pop

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	u64 __opaque[1];
} __attribute__((aligned(8)));

struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

/*
 * libbpf copies each member to the member of this name of the kernel's type. The time limit and `cpu_release` are the first,
 * where the loader writes them.
 */
struct sched_ext_ops {
	u32 timeout_ms;
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	u64 flags;
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*update_idle)(s32 cpu, bool idle);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	char name[128];
};

/* Of the kernel's user API; the lowest urgency of the real-time classes, which a task of ours has only while it lends its lock. */
#define SCHED_EXT 7
#define MAX_RT_PRIO 100

/* Values of the kernel's enums scx_public_consts, scx_dsq_id_flags, scx_enq_flags, scx_ops_flags and scx_kick_flags. */
#define SCX_SLICE_DFL (20ULL * 1000 * 1000)
#define SCX_DSQ_LOCAL ((1ULL << 63) | 2)
#define SCX_ENQ_REENQ (1ULL << 40)
#define SCX_OPS_KEEP_BUILTIN_IDLE (1ULL << 0)
#define SCX_OPS_ENQ_EXITING (1ULL << 2)
#define SCX_OPS_SWITCH_PARTIAL (1ULL << 3)
#define SCX_KICK_IDLE (1ULL << 0)

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
s32 scx_bpf_pick_idle_cpu(const struct cpumask *cpus_allowed, u64 flags) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
u32 scx_bpf_nr_cpu_ids(void) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym __weak;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym __weak;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym __weak;

/* libbpf ignores the last "___" of a name and what follows it. Linux 6.19 and later; 6.13 and later; 6.12. */
bool scx_bpf_dsq_insert___v2___new(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert___old(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
void scx_bpf_dsq_insert_vtime___old(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___v2___new(u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local___old(u64 dsq_id) __ksym __weak;
bool scx_bpf_consume(u64 dsq_id) __ksym __weak;
/* Linux 6.19 and later, from everywhere; before, from `cpu_release` alone. */
void scx_bpf_reenqueue_local___v2___new(void) __ksym __weak;
u32 scx_bpf_reenqueue_local___old(void) __ksym __weak;

/* libbpf sets it. */
extern int LINUX_KERNEL_VERSION __kconfig;

/* Before Linux 6.17 the kernel calls `update_idle` before it marks the CPU as idle, and `enqueue` may run in between. */
static inline bool is_marked_idle_late(void)
{
	return LINUX_KERNEL_VERSION < (6 << 16 | 17 << 8);
}

/* Puts the task into the local queue of its CPU: the CPU runs it next. */
static inline void insert_local(struct task_struct *p, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___new))
		scx_bpf_dsq_insert___v2___new(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
	else if (bpf_ksym_exists(scx_bpf_dsq_insert___old))
		scx_bpf_dsq_insert___old(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
	else
		scx_bpf_dispatch(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

/* Puts the task into a queue of ours, in the order of virtual times. */
static void insert_vtime(struct task_struct *p, u64 dsq_id, u64 vtime, u64 enq_flags)
{
	if (bpf_ksym_exists(__scx_bpf_dsq_insert_vtime)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq_id,
			.slice = SCX_SLICE_DFL,
			.vtime = vtime,
			.enq_flags = enq_flags,
		};
		__scx_bpf_dsq_insert_vtime(p, &args);
	} else if (bpf_ksym_exists(scx_bpf_dsq_insert_vtime___old)) {
		scx_bpf_dsq_insert_vtime___old(p, dsq_id, SCX_SLICE_DFL, vtime, enq_flags);
	} else {
		scx_bpf_dispatch_vtime(p, dsq_id, SCX_SLICE_DFL, vtime, enq_flags);
	}
}

/* Takes the first task of a queue of ours that may run on this CPU. */
static bool move_to_local(u64 dsq_id)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___new))
		return scx_bpf_dsq_move_to_local___v2___new(dsq_id, 0);
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___old))
		return scx_bpf_dsq_move_to_local___old(dsq_id);
	return scx_bpf_consume(dsq_id);
}
