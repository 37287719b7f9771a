/*
 * Programs that guest.sh runs under a scheduler. Each ends with 0 as soon as what it waits for has come, and with 1 and a line that
 * says what is missing when it did not come within a time that no correct scheduler needs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST 8
#define CPUS 2
#define LIMIT_S 30
#define ANY_CPU (-1)

/* What a process that spins tells: its turns on each CPU, and its CPU. */
struct spinner {
	volatile unsigned long turns[CPUS];
	volatile int cpu;
	pid_t pid;
};

static struct {
	struct spinner spinners[MOST];
	unsigned gate;
} *shared;

static void must(int holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(2);
}

static double seconds(clockid_t clock)
{
	struct timespec time;

	must(!clock_gettime(clock, &time), "clock_gettime");
	return time.tv_sec + time.tv_nsec / 1e9;
}

static double cpu_seconds(pid_t pid)
{
	clockid_t clock;

	must(!clock_getcpuclockid(pid, &clock), "clock_getcpuclockid");
	return seconds(clock);
}

static void bind_to(pid_t pid, int cpu)
{
	cpu_set_t set;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < CPUS; i++)
		if (cpu == ANY_CPU || cpu == i)
			CPU_SET(i, &set);
	must(!sched_setaffinity(pid, sizeof(set), &set), "sched_setaffinity");
}

static void turn(struct spinner *own)
{
	int cpu = sched_getcpu(), i;

	for (i = 0; i < 1000; i++)
		__asm__ volatile("" ::: "memory");
	own->cpu = cpu;
	if (cpu >= 0 && cpu < CPUS)
		own->turns[cpu]++;
}

static void spin(struct spinner *own)
{
	for (;;)
		turn(own);
}

/* Starts a process of this policy that runs `body`, on this CPU or on all. */
static struct spinner *start(int number, int policy, int cpu, void (*body)(struct spinner *))
{
	struct spinner *own = &shared->spinners[number];
	struct sched_param none = {0};
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		own->pid = getpid();
		if (policy == SCHED_OTHER)
			must(!sched_setscheduler(0, policy, &none), "sched_setscheduler");
		bind_to(0, cpu);
		body(own);
		exit(0);
	}
	own->pid = pid;
	return own;
}

/* The policy that unspin-sched has given this program. */
#define EXT 7

static void nap(void)
{
	struct timespec time = {0, 20 * 1000 * 1000};

	nanosleep(&time, NULL);
}

static void end(struct spinner *one)
{
	kill(one->pid, SIGKILL);
	waitpid(one->pid, NULL, 0);
}

static unsigned long all_turns(const struct spinner *one)
{
	return one->turns[0] + one->turns[1];
}

/* Whether each of them makes turns from now on, and all together use both CPUs. */
static int use_both_cpus(int count, const int *numbers)
{
	unsigned long before[MOST][CPUS];
	double until = seconds(CLOCK_MONOTONIC) + LIMIT_S;
	int i, cpu, running = 0, used = 0;

	for (i = 0; i < count; i++)
		for (cpu = 0; cpu < CPUS; cpu++)
			before[i][cpu] = shared->spinners[numbers[i]].turns[cpu];
	while (seconds(CLOCK_MONOTONIC) < until) {
		nap();
		running = used = 0;
		for (i = 0; i < count; i++) {
			const struct spinner *one = &shared->spinners[numbers[i]];

			running += all_turns(one) > before[i][0] + before[i][1];
			for (cpu = 0; cpu < CPUS; cpu++)
				used |= (one->turns[cpu] > before[i][cpu]) << cpu;
		}
		if (running == count && used == (1 << CPUS) - 1)
			return 1;
	}
	printf("%d of %d run, on the CPUs of the mask %x\n", running, count, used);
	return 0;
}

/* Six spin, and those of one CPU end: it must take some of the others'. */
static int empties(void)
{
	int i, numbers[MOST], cpus[MOST], left = 0, on[CPUS] = {0}, emptied;

	for (i = 0; i < 6; i++) {
		start(i, EXT, ANY_CPU, spin);
		numbers[i] = i;
	}
	if (!use_both_cpus(6, numbers))
		return 1;
	/* Once: the others move while one is ended. */
	for (i = 0; i < 6; i++) {
		cpus[i] = shared->spinners[i].cpu == 1;
		on[cpus[i]]++;
	}
	/* Two at least stay. */
	emptied = on[0] >= 2 ? 1 : 0;
	for (i = 0; i < 6; i++) {
		if (cpus[i] == emptied)
			end(&shared->spinners[i]);
		else
			numbers[left++] = i;
	}
	printf("%d of 6 stay, none of those on CPU %d\n", left, emptied);
	return !use_both_cpus(left, numbers);
}

static void wait_at_gate(struct spinner *own)
{
	unsigned passed = 0;

	for (;;) {
		while (*(volatile unsigned *)&shared->gate == passed)
			syscall(SYS_futex, &shared->gate, FUTEX_WAIT, passed, NULL, NULL, 0);
		passed = *(volatile unsigned *)&shared->gate;
		/* An odd number opens, an even one sends them back. */
		while (*(volatile unsigned *)&shared->gate == passed && passed & 1)
			turn(own);
	}
}

static void move_gate(void)
{
	__sync_fetch_and_add(&shared->gate, 1);
	syscall(SYS_futex, &shared->gate, FUTEX_WAKE, MOST, NULL, NULL, 0);
}

/* Three that sleep are woken at once, while CPUs are idle: all run, on both CPUs. */
static int burst(void)
{
	static const int numbers[] = {0, 1, 2};
	int i, round;

	for (i = 0; i < 3; i++)
		start(i, EXT, ANY_CPU, wait_at_gate);
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 5; i++)
			nap();
		move_gate();
		if (!use_both_cpus(3, numbers)) {
			printf("in round %d\n", round);
			return 1;
		}
		move_gate();
	}
	return 0;
}

static void wait_for_turns(const struct spinner *one, int cpu)
{
	unsigned long before = one->turns[cpu];

	while (one->turns[cpu] == before)
		nap();
}

/* Waits until the hog has used so much CPU time. */
static void wait_for_hog(const struct spinner *hog, double wanted)
{
	while (cpu_seconds(hog->pid) < wanted)
		nap();
}

/* One that spins on CPU 1, where a task of the kernel's own scheduler begins to spin. CPU 0 is idle, so it must have more than half of one. */
static int beside(void)
{
	struct spinner *one = start(0, EXT, 1, spin), *hog;
	double before, got, wanted = 2;

	wait_for_turns(one, 1);
	bind_to(one->pid, ANY_CPU);
	hog = start(1, SCHED_OTHER, 1, spin);
	wait_for_turns(hog, 1);
	before = cpu_seconds(one->pid);
	wanted += cpu_seconds(hog->pid);
	wait_for_hog(hog, wanted);
	got = cpu_seconds(one->pid) - before;
	printf("%.2f s beside the %d s of a hog\n", got, 2);
	return got <= 1;
}

/* Four spin on both CPUs, and on one of them a task of the kernel's own scheduler begins to. None may starve on that CPU. */
static int crowd(void)
{
	static const int numbers[] = {0, 1, 2, 3};
	double before[4], got, least = 1e9, most = 0;
	struct spinner *hog;
	int i;

	for (i = 0; i < 4; i++)
		start(i, EXT, i % 2, spin);
	if (!use_both_cpus(4, numbers))
		return 1;
	for (i = 0; i < 4; i++)
		bind_to(shared->spinners[i].pid, ANY_CPU);
	hog = start(4, SCHED_OTHER, 1, spin);
	wait_for_turns(hog, 1);
	for (i = 0; i < 4; i++)
		before[i] = cpu_seconds(shared->spinners[i].pid);
	wait_for_hog(hog, cpu_seconds(hog->pid) + 4);
	for (i = 0; i < 4; i++) {
		got = cpu_seconds(shared->spinners[i].pid) - before[i];
		least = got < least ? got : least;
		most = got > most ? got : most;
		printf("%.2f s beside the 4 s of a hog\n", got);
	}
	return least * 8 < most;
}

/* Runs a BPF program again and again. The kernel disables the migration of the task meanwhile, and preempts it so. */
static void run_bpf(struct spinner *own)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	static const char packet[64];
	union bpf_attr attr = {0};
	int program;

	attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
	attr.insns = (unsigned long)code;
	attr.insn_cnt = 2;
	attr.license = (unsigned long)"GPL";
	program = syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
	must(program >= 0, "BPF_PROG_LOAD");
	for (;;) {
		memset(&attr, 0, sizeof(attr));
		attr.test.prog_fd = program;
		attr.test.data_in = (unsigned long)packet;
		attr.test.data_size_in = sizeof(packet);
		attr.test.repeat = 20000;
		must(!syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attr, sizeof(attr)), "BPF_PROG_TEST_RUN");
		turn(own);
	}
}

/* Three with their migration disabled most of the time, two that only spin, and at the end some of them leave a CPU. */
static int disabled(void)
{
	int i, round, numbers[MOST];

	for (i = 0; i < 5; i++) {
		start(i, EXT, ANY_CPU, i < 3 ? run_bpf : spin);
		numbers[i] = i;
	}
	for (round = 0; round < 50; round++)
		if (!use_both_cpus(5, numbers))
			return 1;
	end(&shared->spinners[2]);
	end(&shared->spinners[4]);
	numbers[2] = 3;
	return !use_both_cpus(3, numbers);
}

static volatile sig_atomic_t interrupts;

static void count(int signal)
{
	(void)signal;
	interrupts++;
}

/* Tells how often SIGINT and SIGHUP came, two seconds after the first. */
static int signals(void)
{
	struct sigaction action = {.sa_handler = count};
	double until;
	int i;

	must(!sigaction(SIGINT, &action, NULL) && !sigaction(SIGHUP, &action, NULL), "sigaction");
	printf("ready\n");
	for (until = seconds(CLOCK_MONOTONIC) + LIMIT_S; !interrupts && seconds(CLOCK_MONOTONIC) < until;)
		nap();
	for (i = 0; i < 100; i++)
		nap();
	printf("%d signals\n", (int)interrupts);
	return 0;
}

/* Runs the command as the foreground job of a terminal, types ^C when it says that it is ready, and prints what it says. */
static int terminal(char **command)
{
	char name[32], text[4096];
	int number, unlock = 0, master = open("/dev/ptmx", O_RDWR | O_NOCTTY), has_typed = 0;
	size_t length = 0;
	ssize_t got;

	must(master >= 0 && !ioctl(master, TIOCSPTLCK, &unlock) && !ioctl(master, TIOCGPTN, &number), "/dev/ptmx");
	snprintf(name, sizeof(name), "/dev/pts/%d", number);
	if (!fork()) {
		int slave;

		setsid();
		slave = open(name, O_RDWR);
		must(slave >= 0, name);
		for (number = 0; number < 3; number++)
			dup2(slave, number);
		execvp(command[0], command);
		must(0, command[0]);
	}
	while (length < sizeof(text) - 1 && (got = read(master, text + length, sizeof(text) - 1 - length)) > 0) {
		printf("%.*s", (int)got, text + length);
		length += got;
		text[length] = 0;
		if (!has_typed && strstr(text, "ready"))
			has_typed = write(master, "\003", 1) == 1;
		if (strstr(text, "add up"))
			break;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} tests[] = {{"empties", empties}, {"burst", burst}, {"beside", beside}, {"crowd", crowd}, {"disabled", disabled},
		   {"signals", signals}};
	unsigned i;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc > 2 && !strcmp(argv[1], "terminal"))
		return terminal(argv + 2);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED, "mmap");
	for (i = 0; i < sizeof(tests) / sizeof(tests[0]); i++)
		if (argc == 2 && !strcmp(argv[1], tests[i].name))
			return tests[i].run();
	fprintf(stderr, "usage: guest TEST\n");
	return 2;
}
