//! The options of the commands that print what a shell and man(1) know of unspin.

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

const COMPLETIONS_HELP: &str = "\
Exit code:
    0  the script has been printed
    2  the command line is wrong
  125  standard output cannot be written

Examples:
  unspin completions bash    # to ~/.local/share/bash-completion/completions/unspin
  unspin completions zsh     # to a file _unspin in a folder of $fpath
  unspin completions fish    # to ~/.config/fish/completions/unspin.fish";

/// Print the script by which a shell completes command lines of unspin
///
/// It knows the commands, their options and the values of those, also of the commands that unspin-lab performs. Behind the options it
/// completes the program's own command line, as the shell does without unspin. The package of unspin has it installed.
#[derive(Args, Debug)]
#[command(after_help = COMPLETIONS_HELP)]
pub struct CompletionsOptions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: ShellChoice,
}

/// A shell that has completions of unspin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ShellChoice {
    Bash,
    Zsh,
    Fish,
}

impl From<ShellChoice> for Shell {
    fn from(shell: ShellChoice) -> Shell {
        match shell {
            ShellChoice::Bash => Shell::Bash,
            ShellChoice::Zsh => Shell::Zsh,
            ShellChoice::Fish => Shell::Fish,
        }
    }
}

const MAN_PAGES_HELP: &str = "\
Exit code:
    0  the pages have been written
    2  the command line is wrong
  125  the folder or a page cannot be written

Examples:
  unspin man-pages /usr/local/share/man/man1
  unspin man-pages ~/.local/share/man/man1     # as yourself";

/// Write the man pages of unspin, one for each command, into a folder
///
/// The pages say what the help says. The folder is made if it does not exist; a page that is there is replaced. The package of unspin
/// has them installed.
#[derive(Args, Debug)]
#[command(after_help = MAN_PAGES_HELP)]
pub struct ManPagesOptions {
    /// The folder, such as the one in which man(1) looks for pages of section 1
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}
