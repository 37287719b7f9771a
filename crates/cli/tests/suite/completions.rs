//! `unspin completions` in the shells themselves.

use crate::common::{finish, skip, unspin};
use crate::terminal::TerminalSession;
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;
use unspin_e2e::find_tool;

/// What is typed, and what one of the completions has to be. The folder has a file `server`, a file `a.plan`, and a program `mytool`
/// in `PATH`.
const COMPLETED: [(&str, &str); 15] = [
    ("unspin prof", "profile"),
    ("unspin run --mut", "--mutex"),
    ("unspin run --mutex ad", "adaptive"),
    ("unspin prove --rwlock rw-b", "rw-biased"),
    ("unspin run --use-plan a", "a.plan"),
    ("unspin run --waits poll ./ser", "./server"),
    ("unspin run --waits poll myto", "mytool"),
    ("unspin run --waits poll -- ./serv", "./server"),
    ("unspin run --waits poll volan", "volano"),
    ("unspin run --waits poll volano --mod", "--model"),
    ("unspin prove volano --model to", "tokio"),
    ("unspin dbt1 --mix ord", "ordering"),
    ("unspin reproduce sem", "semopbench"),
    ("unspin arenas sh", "show"),
    ("unspin completions zs", "zsh"),
];

/// A folder with the script of a shell, and what is completed. None, with a `SKIPPED` line, without the shell.
fn folder_for(shell: &str, test: &str) -> Option<TempDir> {
    if find_tool(shell).is_none() {
        skip(test, &format!("there is no {shell}: install it"));
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let (script, err, code) = finish(&mut unspin(&["completions", shell]));
    assert_eq!((err.as_str(), code), ("", Some(0)));
    fs::write(folder.path().join("_unspin"), script).unwrap();
    for file in ["server", "a.plan", "bin/mytool"] {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "#!/bin/sh\n").unwrap();
        make_executable(&file);
    }
    Some(folder)
}

fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

/// `PATH` with the folder's programs.
fn path(folder: &Path) -> String {
    format!("{}/bin:{}", folder.display(), std::env::var("PATH").unwrap_or_default())
}

/// What a script of a shell prints: a line `TYPED<tab>COMPLETION` for each completion.
fn assert_completed(shell: &str, printed: &str, said: &str) {
    let completions = |typed: &str| -> Vec<&str> {
        printed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .filter(|(of, _)| *of == typed)
            .map(|(_, c)| c)
            .collect()
    };
    for (typed, expected) in COMPLETED {
        let found = completions(typed);
        assert!(found.iter().any(|one| one.trim_end() == expected), "{shell}: {typed}: {found:?} {said}");
    }
}

#[test]
fn bash_completes_options_values_and_programs() {
    let Some(folder) = folder_for("bash", "bash_completes_options_values_and_programs") else { return };
    // The words as bash splits them.
    let script = r#"
source ./_unspin
compopt() { :; }
while IFS= read -r typed; do
    read -ra COMP_WORDS <<<"$typed"
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_LINE=$typed COMP_POINT=${#typed}
    $(complete -p unspin | sed 's/.*-F \([^ ]*\) .*/\1/') unspin "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    for one in "${COMPREPLY[@]}"; do printf '%s\t%s\n' "$typed" "$one"; done
done
"#;
    let typed: Vec<&str> = COMPLETED.iter().map(|(typed, _)| *typed).collect();
    fs::write(folder.path().join("typed"), typed.join("\n") + "\n").unwrap();
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", &format!("exec <typed\n{script}")]);
    let (out, err, _) = finish(bash.current_dir(folder.path()).env("PATH", path(folder.path())));
    // Without options for files, which `compopt` would set, bash completes files itself where the script offers nothing.
    assert_completed("bash", &out, &err);
    // An option of the program is none of unspin's.
    let mut bash = Command::new("bash");
    let own = "exec <<<'unspin run --waits poll ./server --mut'\n";
    bash.args(["--norc", "-c", &format!("{own}{script}")]);
    let (out, err, _) = finish(bash.current_dir(folder.path()));
    assert_eq!((out.as_str(), err.as_str()), ("", ""));
}

#[test]
fn fish_completes_options_values_and_programs() {
    let Some(folder) = folder_for("fish", "fish_completes_options_values_and_programs") else { return };
    let mut script = "source ./_unspin; complete -c mytool -l special\n".to_owned();
    let of_program = ("unspin run --waits poll mytool --spe", "--special");
    for (typed, _) in COMPLETED.iter().chain([&of_program]) {
        script += &format!("for one in (complete -C '{typed}'); printf '%s\\t%s\\n' '{typed}' $one; end\n");
    }
    let mut fish = Command::new("fish");
    fish.args(["--no-config", "-c", &script]).env("HOME", folder.path()).env("PATH", path(folder.path()));
    let (out, err, _) = finish(fish.current_dir(folder.path()));
    // Behind a completion fish prints its description.
    let undescribed: Vec<String> =
        out.lines().map(|line| line.split('\t').take(2).collect::<Vec<_>>().join("\t")).collect();
    assert_completed("fish", &undescribed.join("\n"), &err);
    let (typed, completed) = of_program;
    assert!(undescribed.contains(&format!("{typed}\t{completed}")), "{out} {err}");
}

#[test]
fn zsh_completes_options_values_and_programs() {
    let test = "zsh_completes_options_values_and_programs";
    let Some(folder) = folder_for("zsh", test) else { return };
    let Some(mut session) = TerminalSession::start(test, &["env", "TERM=dumb", "zsh", "-f", "-i"]) else {
        return;
    };
    let place = folder.path().display();
    session.press(&format!(
        "cd {place}; path=({place}/bin $path); fpath=({place} $fpath); autoload -Uz compinit; compinit -u -D; PS1=; echo rea\"\"dy\n"
    ));
    session.wait_for("ready");
    for (typed, expected) in COMPLETED {
        let last = typed.rsplit(' ').next().unwrap();
        // It is the only completion, so zsh inserts it. What is awaited was not typed.
        let begin = typed.strip_suffix(last).unwrap();
        session.press(&format!("{typed}\t"));
        session.wait_for(&format!("{begin}{expected}"));
        session.press("\x15");
    }
}
