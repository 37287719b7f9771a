//! Third-party programs.

use unspin_e2e::{Run, World, assert_same, find_tool, skip};

#[test]
fn python_starts_and_handles_signals() {
    let Some(python) = find_tool("python3") else {
        return skip("python_starts_and_handles_signals", "there is no python3");
    };
    let script = "
import faulthandler, os, signal, subprocess, threading, time
seen = []
print(signal.signal(signal.SIGALRM, lambda s, f: seen.append(s)))
print(signal.getsignal(signal.SIGALRM) is not None, signal.siginterrupt(signal.SIGALRM, False))
signal.setitimer(signal.ITIMER_REAL, 0.01)
while not seen:
    time.sleep(0.001)
print(seen)
faulthandler.enable()
for command in ('kill -SEGV $$', 'exit 3', 'kill -TERM $$'):
    print(subprocess.run(['sh', '-c', command]).returncode)
child = os.fork()
if child == 0:
    os._exit(7)
print(os.waitpid(child, 0)[1])
t = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGALRM))
t.start(); t.join()
while len(seen) < 2:
    time.sleep(0.001)
print(len(seen))
";
    let run = |world| Run::new(&python, world).args(["-c", script]).output();
    let bare = run(World::Bare);
    assert!(bare.status.success(), "{bare}");
    for world in World::PRELOADED {
        assert_same("python3", world, &bare, &run(world));
    }
}

#[test]
fn java_starts() {
    let Some(java) = find_tool("java") else { return skip("java_starts", "there is no java") };
    let run = |world| Run::new(&java, world).args(["-version"]).output();
    let bare = run(World::Bare);
    assert!(bare.status.success(), "{bare}");
    for world in World::PRELOADED {
        assert_same("java", world, &bare, &run(world));
    }
}
