# Perl's own modules for System V: each of their methods, and what they answer to mistakes. One line an observation.
use strict;
use warnings;
use Errno;
use IPC::Msg;
use IPC::Semaphore;
use IPC::SharedMem;
use IPC::SysV qw(:all);

$| = 1;

# The name of the error, of a call that failed and said so by something false.
sub did {
    my ($value) = @_;
    return $value if $value;
    my ($name) = grep { $!{$_} } sort keys %!;
    return $name // "no error";
}

sub line {
    my ($what, @values) = @_;
    print "$what: ", join(" ", map { $_ // "undefined" } @values), "\n";
}

# What a child does, and how it ended.
sub in_child {
    my ($do) = @_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        $do->();
        exit 0;
    }
    return $pid;
}

sub ended {
    my ($pid) = @_;
    waitpid $pid, 0;
    return $? & 127 ? "signal " . ($? & 127) : "status " . ($? >> 8);
}

sub pause { select undef, undef, undef, 0.002 }

sub semaphores {
    my $set = IPC::Semaphore->new(IPC_PRIVATE, 4, 0600 | IPC_CREAT) or die "semget: $!";
    my $stat = $set->stat;
    line("new set", $stat->nsems, $stat->mode & 0777, $stat->otime, $stat->uid == $>, abs($stat->ctime - time) < 5);
    line("values", $set->getall);
    line("setall", did($set->setall(3, 1, 4, 1)));
    line("values", $set->getall);
    line("setval", did($set->setval(2, 32767)), $set->getval(2));
    line("setval too large", did($set->setval(2, 32768)));
    line("no such semaphore", did($set->getval(9)));
    line("op", did($set->op(0, -3, IPC_NOWAIT, 1, 2, 0)), $set->getval(0), $set->getval(1));
    line("op that would block", did($set->op(0, -1, IPC_NOWAIT)));
    line("op too large", did($set->op(2, 1, 0)));
    line("op out of range", did($set->op(4, 1, 0)));
    line("pid", $set->getpid(0) == $$, $set->getpid(3) == $$);
    line("otime", abs($set->stat->otime - time) < 5);

    # The child dies with what it took: undone, and the sleeper runs.
    line("setval", did($set->setval(0, 1)));
    my $holder = in_child(sub { $set->op(0, -1, SEM_UNDO) or die; pause() while 1 });
    pause() until $set->getval(0) == 0;
    my $waiter = in_child(sub { $set->op(0, -1, SEM_UNDO) ? exit 7 : die });
    pause() until $set->getncnt(0) == 1;
    line("waits for zero", $set->getzcnt(0), $set->getncnt(0));
    kill KILL => $holder;
    line("holder", ended($holder));
    line("waiter", ended($waiter));
    line("after both", $set->getval(0), $set->getncnt(0), $set->getpid(0) == $waiter);
    $waiter = in_child(sub { print "woken by removal: ", did($set->op(0, 0, 0)), "\n" });
    pause() until $set->getzcnt(0) == 1;
    $set->set(mode => 0640);
    line("set", sprintf "%o", $set->stat->mode);
    my $removed = did($set->remove);
    line("sleeper", ended($waiter));
    line("remove", $removed);
    line("after removal", did($set->getval(0)));
    line("remove again", did($set->remove));
}

sub messages {
    my $queue = IPC::Msg->new(IPC_PRIVATE, 0600 | IPC_CREAT) or die "msgget: $!";
    my $buffer;
    line("new queue", map { $queue->stat->$_ } qw(qnum qbytes lspid lrpid stime rtime));
    line("send", map { did($queue->snd($_, "message $_", IPC_NOWAIT)) } 5, 3, 9, 3);
    line("type 0", did($queue->snd(0, "x")));
    line("too long", did($queue->snd(1, "x" x 10000, IPC_NOWAIT)));
    line("in the queue", $queue->stat->qnum, $queue->stat->lspid == $$);
    line("first of a type", did($queue->rcv($buffer, 256, 3)), $buffer);
    line("lowest type", did($queue->rcv($buffer, 256, -8)), $buffer);
    line("too small", did($queue->rcv($buffer, 4, 0)));
    line("cut off", did($queue->rcv($buffer, 4, 0, MSG_NOERROR)), $buffer);
    line("all but a type", did($queue->rcv($buffer, 256, 5, MSG_EXCEPT)), $buffer);
    line("empty", did($queue->rcv($buffer, 256, 0, IPC_NOWAIT)));
    my $bytes = join "", map { chr } 0 .. 255;
    line("any bytes", did($queue->snd(1, $bytes x 16)), did($queue->rcv($buffer, 5000, 1)), $buffer eq $bytes x 16);
    line("no bytes", did($queue->snd(1, "")), did($queue->rcv($buffer, 5000, 1)), length $buffer);

    line("fewer bytes", did($queue->set(qbytes => 100)), $queue->stat->qbytes);
    line("fills up", map { did($queue->snd(1, "x" x 50, IPC_NOWAIT)) } 1 .. 3);
    my $sender = in_child(sub { $queue->snd(2, "late") ? exit 5 : die });
    my $receiver = in_child(sub { $queue->rcv($buffer, 100, 2) or die; exit($buffer eq "late" ? 6 : 1) });
    line("makes room", did($queue->rcv($buffer, 100, 1)));
    line("sender", ended($sender));
    line("receiver", ended($receiver));

    line("more bytes", did($queue->set(qbytes => 16384)));

    # Several processes pass on what they get: nothing is lost or doubled, and each type stays in order.
    my @workers = map { my $from = $_; in_child(sub { pass_on($queue, $from) }) } 11 .. 13;
    $queue->snd(11, $_) for 1 .. 200;
    my @arrived = map { $queue->rcv($buffer, 100, 14) ? $buffer : undef } 1 .. 200;
    line("in order", "@arrived" eq join " ", 1 .. 200);
    line("worker", ended($_)) for @workers;
    line("left over", did($queue->rcv($buffer, 100, 0, IPC_NOWAIT)), $queue->stat->qnum, $queue->stat->lrpid == $$);

    $receiver = in_child(sub { print "woken by removal: ", did($queue->rcv($buffer, 100, 0)), "\n" });
    pause() until asleep($receiver);
    my $removed = did($queue->remove);
    line("receiver", ended($receiver));
    line("remove", $removed);
    line("after removal", did($queue->rcv($buffer, 100, 0)));
    line("remove again", did($queue->remove));
}

sub pass_on {
    my ($queue, $from) = @_;
    for (1 .. 200) {
        my $message;
        $queue->rcv($message, 100, $from) or die "msgrcv: $!";
        $queue->snd($from + 1, $message) or die "msgsnd: $!";
    }
}

sub asleep {
    my ($pid) = @_;
    open my $stat, "<", "/proc/$pid/stat" or return 0;
    return <$stat> =~ /\) S / && do { pause() for 1 .. 10; 1 };
}

sub segments {
    my $segment = IPC::SharedMem->new(IPC_PRIVATE, 8, 0600 | IPC_CREAT) or die "shmget: $!";
    my $stat = $segment->stat;
    line("new segment", $stat->segsz, $stat->nattch, $stat->cpid == $$, $stat->lpid, $stat->atime);
    line("write", did($segment->write(pack("A4", "test"), 2, 4)), $segment->read(0, 8) eq "\0\0test\0\0");
    line("outside", did($segment->read(4, 8)));
    line("attach", did($segment->attach), $segment->stat->nattch, $segment->addr ? "an address" : undef);
    line("read", $segment->read(2, 4));
    my $pid = in_child(sub { $segment->write("child", 0, 5); exit($segment->stat->nattch) });
    line("child", ended($pid), $segment->read(0, 6), $segment->stat->nattch);
    line("remove", did($segment->remove), $segment->stat->mode & 01000 ? "goes at the last detach" : "stays");
    line("read", $segment->read(0, 5));
    line("detach", did($segment->detach), did($segment->stat));

    my $text;
    my $key = ftok($0, 42) // die "ftok: $!";
    my $exclusive = IPC_CREAT | IPC_EXCL | 0600;
    my $id = shmget($key, 100, $exclusive) // die "shmget: $!";
    line("same key", shmget($key, 100, 0) == $id, did(shmget($key, 100, $exclusive)), did(shmget($key, 101, 0)));
    line("builtin write", did(shmwrite($id, "perl", 10, 4)), did(shmread($id, $text, 10, 4)), $text);
    my $address = shmat($id, undef, SHM_RDONLY) // die "shmat: $!";
    line("memread", did(memread($address, $text, 8, 8)), $text eq "\0\0perl\0\0");
    line("detach", shmdt($address), did(shmdt($address)));
    line("remove", did(shmctl($id, IPC_RMID, 0)), did(shmget($key, 0, 0)));
}

semaphores();
messages();
segments();
