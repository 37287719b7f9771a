# What a package builder does under fakeroot: gives files to owners, and packs them. Prints what became of that.
set -e
umask 022
mkdir -p tree/etc tree/bin tree/many
echo hello >tree/etc/motd
echo run >tree/bin/tool
ln -s motd tree/etc/link
chown 0:0 tree/bin/tool
chmod 4755 tree/bin/tool
chown 33:42 tree/etc/motd
chown -h 5:6 tree/etc/link
mknod tree/null c 1 3
echo "user $(id -u)"
stat -c '%n %u:%g %a %F %t:%T' tree/etc/motd tree/bin/tool tree/null

# Several processes at once ask one daemon.
seq 1 60 | xargs -P 6 -I N sh -c 'echo N >tree/many/N && chown N:$((N + 1000)) tree/many/N'

# Processes that are killed during a request: what they held must be released, or no process could send a request again.
touch victim
for round in 1 2 3 4 5 6 7 8 9 10; do
    perl -e 'chown 7, 7, "victim" while 1' &
    sleep 0.0$round
    kill -KILL $!
    wait $! || echo "killed: $?"
done 2>/dev/null
chown 8:9 victim
stat -c '%n %u:%g' victim

tar --create --numeric-owner --sort=name --mtime=@0 --file tree.tar tree
tar --list --verbose --numeric-owner --file tree.tar
