//! Dialogs in front of the screen: the help, and the question on leaving.

use super::centre;
use super::style::Palette;
use crate::top::state::{Dialog, ProgramState, State};
use ratatui::Frame;
use ratatui::widgets::{Block, Clear, Paragraph};

const HELP: &str = " \
 q, ^C         leave; the program goes on, or ends
 Tab, 1 to 5   the pthread lens: Locks, and Waits (poll, reads, joins, ...);
               the lenses futex, kernel and off-cpu, which observe once opened
 t             lately (rates over the last interval), or all since the start
 l u c h w s a sort by LOST UTIL CON HOLD WAIT %CPU TOTAL
 < >           sort by the column to the left, to the right
 up, down, Page Up, Page Down, Home, End
 Enter         open the lock: callers, holders, histograms; Esc goes back
 /             only names that contain something; Esc removes the filter
 p, space      stop the picture, not the program
 + -           a longer, a shorter interval

 LOST   what all threads waited, spinning or asleep; lately per second
 CEIL   a bound on the speed-up if the lock cost nothing
 CPUS   CPUs that it eats: held, or spun for
 UTIL   share of the time it was held    CON  share of attempts in vain
 HOLD, WAIT   mean; MAX is since the start at all times
 %CPU   share of the machine spent spinning on it    TOTAL  attempts
 Waits: MEDIAN of those that waited (WAITS of the CALLS)
 SHORT  share of these that ended within three wake-ups
 A wait is counted when it has ended, so that a long one comes at once.";

const LENS_HELP: &str = " \
 q, ^C         leave; the tables of all opened lenses are printed
 Tab, 1 to 5   the other tabs (with -p and -a 1 to 3: futex, kernel,
               off-cpu); a lens observes once its tab was opened
 t             lately (rates over the last interval), or since it was opened
 up, down, Page Up, Page Down, Home, End
 Enter         open the row: its callers, those that woke its threads, and
               what to do next; Esc goes back
 /             only names that contain something; Esc removes the filter
 p, space      stop the picture, not the program
 + -           a longer, a shorter interval

 futex    WOKEN, EAGAIN (the value had changed), EINTR (a signal) and TMOUT
          (the timeout) are shares of the WAITS; AGAIN woken, and waited
          again at once
 kernel   SPIN, SLEPT and RJECT (ended without the lock), shares of the WAITS
          %CPU  share of the machine spent spinning
 off-cpu  the time of all threads: on a CPU, runnable, blocked, and for what";

/// Draws the open dialog.
pub fn draw(frame: &mut Frame<'_>, state: &State, palette: Palette) {
    let (title, text) = match (&state.dialog, state.program) {
        (Some(Dialog::Help), _) if state.lens.is_some() => (" Keys and columns ", LENS_HELP.to_owned()),
        (Some(Dialog::Help), _) => (" Keys and columns ", HELP.to_owned()),
        (Some(Dialog::Leave), _) => (" Leave ", question(state)),
        (_, ProgramState::Ending) => (" Ending ", ending(state)),
        _ => return,
    };
    let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0) as u16 + 3;
    let height = text.lines().count() as u16 + 2;
    let area = centre(frame.area(), width, height);
    frame.render_widget(Clear, area);
    frame.render_widget(
        Paragraph::new(text).block(Block::bordered().title(title).title_style(palette.strong())),
        area,
    );
}

fn question(state: &State) -> String {
    format!(
        " Process {} is still running.\n\n \
         g    it goes on, undisturbed; the recording is dropped\n \
         e    it is ended (so does a second ^C)\n \
         Esc  stay here",
        state.pid
    )
}

fn ending(state: &State) -> String {
    format!(
        " Process {} has been sent SIGTERM.\n q or ^C kills it at once; otherwise it gets\n SIGKILL if it is still there after {} seconds.",
        state.pid,
        crate::top::termination::GRACE.as_secs()
    )
}
