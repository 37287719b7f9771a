# Makes objects of every class in every state that util-linux's tools tell of, and lets these tell. Wants an IPC namespace
# without any other object. What differs from run to run (ids, pids, times, widths of columns) is replaced.
use strict;
use warnings;
use IPC::SysV qw(IPC_CREAT IPC_EXCL IPC_PRIVATE shmat shmdt);
use IPC::Msg;
use IPC::Semaphore;
use IPC::SharedMem;

$| = 1;
my $new = IPC_CREAT | IPC_EXCL;
my %ids;

# Numbers that the tools print and that are no pids: modes, sizes, limits. A process whose pid is one of them would mask
# it, so another process takes its place.
my %plain = map { $_ => 1 } 0 .. 300, 400, 500, 600, 640, 644, 660, 666, 777, 1000, 1600, 4096, 8192, 12288, 16384, 32000,
    32767, 40000, 1048576;
if ($plain{$$}) {
    my $pid = fork // die "fork: $!";
    if ($pid) {
        waitpid $pid, 0;
        exit($? >> 8 || $? & 127);
    }
}
my %pids = ($$ => 1);

# As fork: a child whose pid is no plain number.
sub child {
    while (1) {
        my $pid = fork // die "fork: $!";
        exit 0 if !$pid && $plain{$$};
        return $pid if !$pid || !$plain{$pid};
        waitpid $pid, 0;
    }
}

# Runs commands, in which {NAME} stands for the id of the object that was given this name.
sub run {
    for my $command (@_) {
        print "\$ $command\n";
        my $resolved = $command =~ s/\{(\w+)\}/$ids{$1}/gr;
        pipe(my $output, my $input) or die "pipe: $!";
        my $pid = child();
        if (!$pid) {
            open STDOUT, ">&", $input or die "dup: $!";
            open STDERR, ">&STDOUT" or die "dup: $!";
            exec "sh", "-c", $resolved or die "exec: $!";
        }
        close $input;
        $pids{$pid} = 1;
        my $column;
        while (my $line = <$output>) {
            print masked($line, \$column);
        }
        waitpid $pid, 0;
        print "status ", $? >> 8, "\n";
    }
}

# A line of the tools. Where the id stands in a table's row is known from its head.
sub masked {
    my ($line, $column) = @_;
    my @words = split ' ', $line;
    my ($id) = grep { $words[$_] =~ /^(msqid|shmid|semid|ID)$/ } 0 .. $#words;
    if (defined $id) {
        $$column = $id;
    } elsif (defined $$column && @words > $$column) {
        $words[$$column] =~ s/^\d+$/named($&)/e;
    }
    $line = join ' ', @words;
    $line =~ s/\b(msqid=|shmid=|semid=|ID: |id \()\K\d+/named($&)/e;
    $line =~ s/(?:(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) )?[A-Z][a-z][a-z] \d+ \d\d:\d\d:\d\d(?: 20\d\d)?|\b\d\d:\d\d\b/TIME/g;
    $line =~ s/\b\d+\b/$pids{$&} ? "PID" : abs($& - time) < 1000 ? "NOW" : $&/ge;
    return "$line\n";
}

sub named {
    my ($id) = @_;
    my ($name) = sort grep { $ids{$_} == $id } keys %ids;
    return defined $name ? "ID" : $id;
}

sub sleeper {
    my ($semaphores, $operation) = @_;
    my $pid = child();
    if ($pid) {
        $pids{$pid} = 1;
        return $pid;
    }
    $semaphores->op(@$operation);
    exit 0;
}

sub wait_until {
    my ($condition) = @_;
    select undef, undef, undef, 0.002 until $condition->();
}

# A queue with messages, one of which has been taken; one whose owner is another; one that is private and empty.
my $queue = IPC::Msg->new(0x51ee0001, $new | 0640) or die "msgget: $!";
$queue->snd($_, "message $_") or die "msgsnd: $!" for 1 .. 5;
$queue->rcv(my $message, 100, 3) or die "msgrcv: $!";
my $given = IPC::Msg->new(0x7fffffff, $new | 0606) or die "msgget: $!";
$given->set(uid => 1, gid => 2, mode => 0777, qbytes => 1000) or die "msgctl: $!";
my $private = IPC::Msg->new(IPC_PRIVATE, 0600) or die "msgget: $!";
@ids{qw(queue given private)} = map { $_->id } $queue, $given, $private;

# A segment that no process has attached, one attached twice, one that is removed when it is detached. Of a size that is no pid
# (PID_MAX_LIMIT is 2^22).
my $plain = IPC::SharedMem->new(0x51ee0002, 5_000_000, $new | 0644) or die "shmget: $!";
my $attached = IPC::SharedMem->new(0x51ee0003, 1 << 20, $new | 0666) or die "shmget: $!";
my @addresses = map { shmat($attached->id, undef, 0) // die "shmat: $!" } 1, 2;
$attached->write("x" x 10000, 0, 10000) or die "shmwrite: $!";
my $going = IPC::SharedMem->new(0x51ee0004, 1, $new | 0600) or die "shmget: $!";
$going->attach or die "shmat: $!";
$going->remove or die "shmctl: $!";
@ids{qw(plain attached going)} = map { $_->id } $plain, $attached, $going;

# A set with processes asleep for more, and for zero; one that has never been used.
my $set = IPC::Semaphore->new(0x51ee0005, 4, $new | 0660) or die "semget: $!";
$set->setall(1, 2, 0, 32767) or die "SETALL: $!";
$set->op(1, -1, 0) or die "semop: $!";
my @sleepers = map { sleeper($set, $_) } [0, -5, 0], [3, 0, 0];
wait_until(sub { $set->getncnt(0) == 1 && $set->getzcnt(3) == 1 });
my $unused = IPC::Semaphore->new(IPC_PRIVATE, 5, 0400) or die "semget: $!";
@ids{qw(set unused)} = map { $_->id } $set, $unused;

run map { "ipcs $_" } '', qw(-a -q -m -s -t -p -c -l -u), '-q -c', '-m -t', '-s -p', '-b -m', '--human -m -q', '-u -s';
run map { "ipcs $_" } "-q -i {queue}", "-q -i {given}", "-m -i {plain}", "-m -i {attached}", "-m -i {going}", "-s -i {set}", "-s -i {unused}";
run map { "ipcs -$_ -i 123456789" } qw(q m s);
run "lsipc", "lsipc -g --json", "lsipc -q", "lsipc -m", "lsipc -s", "lsipc -q -i {queue}", "lsipc -m -i {attached}", "lsipc -s -i {set}";
run "cat /proc/sysvipc/msg", "cat /proc/sysvipc/sem", "cat /proc/sysvipc/shm";
run "cat /proc/sys/kernel/sem /proc/sys/kernel/msg* /proc/sys/kernel/shm*";

# Removal: by id, by key, twice, of what is attached, of what a process sleeps on.
run "ipcrm -q {queue}", "ipcrm -q {queue}", "ipcrm -Q 0x7fffffff", "ipcrm -Q 0x7fffffff", "ipcrm -Q 0";
run "ipcrm -m {attached}", "ipcs -m", "ipcrm -M 0x51ee0003", "ipcrm --shmem-id {going}", "ipcrm -m 99999999";
run "ipcrm -S 0x51ee0005 -s {unused} -m {plain}", "ipcrm -s {set}";
waitpid $_, 0 for @sleepers;
shmdt($_) // die "shmdt: $!" for @addresses;
$going->detach or die "shmdt: $!";
run "ipcs", "ipcrm msg {private}", "ipcrm msg {private}", "ipcs";

# ipcmk picks keys by chance: they can be counted.
run map { "ipcmk $_ 2>&1 | sed 's/id: [0-9]*\$/id: N/'" } '-M 8192', '-M 1MiB -p 0600', '-Q', '-S 7', '-M 0', '-S 0', '-S 40000', '';
run "ipcs -m -c | grep -c root", "ipcs -q -c | grep -c root", "ipcs -s -c | grep -c root", "ipcs -u";
run "ipcrm -a", "ipcs";
