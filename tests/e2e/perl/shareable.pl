# IPC::Shareable and IPC::ShareLite: variables that several processes share, in segments, under semaphores.
use strict;
use warnings;
use IPC::Shareable;
use IPC::ShareLite;
use POSIX ();

$| = 1;

sub in_children {
    my ($count, $do) = @_;
    my @children = map {
        my $number = $_;
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            POSIX::_exit(eval { $do->($number); 1 } ? 0 : 1);
        }
        $pid;
    } 1 .. $count;
    print "child: ", (waitpid($_, 0) == $_ ? $? : "lost"), "\n" for @children;
}

my %options = (create => 1, exclusive => 1, mode => 0600, destroy => 1);
my $handle = tie my %counts, "IPC::Shareable", 0x51ee0011, {%options};
$counts{total} = 0;
in_children(4, sub {
    my ($child) = @_;
    for (1 .. 50) {
        $handle->lock;
        $counts{total}++;
        $counts{"child $child"}++;
        $handle->unlock;
    }
});
print "$_: $counts{$_}\n" for sort keys %counts;

# One that is killed with the lock in hand does not keep it; what it wrote under the lock is lost with it.
my $holder = fork // die "fork: $!";
if (!$holder) {
    $handle->lock;
    $counts{total} = "spoilt";
    kill KILL => $$;
}
waitpid $holder, 0;
print "holder: ", $? & 127, "\n";
$handle->lock;
print "total: $counts{total}\n";
$handle->unlock;
IPC::Shareable->clean_up;

my $share = IPC::ShareLite->new(-key => 0x51ee0012, -create => 1, -exclusive => 1, -mode => 0600, -destroy => 1, -size => 64)
    or die;
$share->store("0");
in_children(4, sub {
    my $own = IPC::ShareLite->new(-key => 0x51ee0012, -create => 0, -destroy => 0, -size => 64) or die;
    for (1 .. 50) {
        $own->lock(LOCK_EX());
        $own->store($own->fetch + 1);
        $own->unlock;
    }
});
print "sum: ", $share->fetch, ", version ", $share->version, "\n";

# Longer than one segment: a chain of them.
$share->store(join " ", 1 .. 500);
print "long: ", length $share->fetch, ", segments ", $share->num_segments, "\n";
$share->store("short");
print "short: ", $share->fetch, ", segments ", $share->num_segments, "\n";

sub LOCK_EX { 2 }
