use super::super::testing::{key, reading, state};
use super::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};

/// The text of a window of this size, without spaces at the ends of lines.
fn picture(state: &mut State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state, Palette::Coloured)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
    (0..height).map(|y| line(y).trim_end().to_owned() + "\n").collect()
}

fn press(state: &mut State, keys: &str) {
    for character in keys.chars() {
        state.press(key(if character == '\n' { KeyCode::Enter } else { KeyCode::Char(character) }));
    }
}

#[test]
fn table_of_the_last_interval_is_drawn() {
    let expected = "\
unspin top /bin/server -t 4
pid 7  running  10.0s  LOST 1.20s (120ms/s)  2 CPUs  1 process  1 thread  level full
[Locks] Waits   the last 1.00s, every 1.00s, by LOST, 3 rows
LOST/s  CEIL  CPUS  UTIL   CON  HOLD   MAX  WAIT   MAX  %CPU    TOTAL/s NOWAIT  SPIN SLEPT  NAME
  60ms 1.06x  0.00 0.30% 10.0% 1.0us  40us 200us 900us    0%       3000  90.0%    0% 10.0%  lock3
  40ms 1.04x  0.00 0.20% 10.0% 1.0us  40us 200us 900us    0%       2000  90.0%    0% 10.0%  lock2
  20ms 1.02x  0.00 0.10% 10.0% 1.0us  40us 200us 900us    0%       1000  90.0%    0% 10.0%  lock1


q leave  ? help  t lately/since start  Tab waits  Enter open  / filter  p pause
";
    assert_eq!(picture(&mut state(3), 120, 10), expected);
}

#[test]
fn narrow_window_drops_columns() {
    let mut state = state(3);
    press(&mut state, "ta/LOCK\n");
    let expected = "\
unspin top /bin/server -t 4
pid 7  running  10.0s  LOST 1.20s (120ms/s)  2 CPUs  1 process  1 thread  level
[Locks] Waits   since the start, every 1.00s, by TOTAL, 3 of 3 rows with \"lock\"
  LOST  CEIL  UTIL   CON  HOLD  WAIT  %CPU      TOTAL  NAME
 600ms 1.06x 0.30% 10.0% 1.0us 200us    0%      30000  lock3
 400ms 1.04x 0.20% 10.0% 1.0us 200us    0%      20000  lock2
 200ms 1.02x 0.10% 10.0% 1.0us 200us    0%      10000  lock1

q leave  ? help  t lately/since start  Tab waits  Enter open  / filter  p pause
";
    assert_eq!(picture(&mut state, 80, 9), expected);
}

#[test]
fn table_of_waits_is_drawn() {
    let mut state = state(3);
    state.press(key(KeyCode::Tab));
    let expected = "\
unspin top /bin/server -t 4
pid 7  running  10.0s  LOST 1.20s (120ms/s)  2 CPUs  1 process  1 thread  level
 Locks [Waits]  the last 1.00s, every 1.00s, by WAITED, 1 row
WAIT/s MEDIAN   MAX    CALLS/s    WAITS/s SHORT RJECT  NAME
 500ms  393us 300ms          3          3    0%    0%  idle_cond [condition]

q leave  ? help  t lately/since start  Tab waits  Enter open  / filter  p pause
";
    assert_eq!(picture(&mut state, 80, 7), expected);
}

#[test]
fn unknown_short_waits_are_dashes() {
    let mut state = state(3);
    state.press(key(KeyCode::Tab));
    for report in ["without a wake-up cost", "counted"] {
        let mut shown = reading(11, 3);
        let lately = shown.lately.as_mut().unwrap();
        match report {
            "counted" => lately.level = unspin_meter::Level::Counts,
            _ => lately.wake_up = None,
        }
        state.show(shown);
        let picture = picture(&mut state, 80, 7);
        let row = picture.lines().nth(4).unwrap();
        let dashes = row.split_whitespace().filter(|word| *word == "-").count();
        assert_eq!(dashes, if report == "counted" { 4 } else { 1 }, "{report}: {picture}");
    }
}

#[test]
fn header_shows_wait_policies() {
    let mut state = state(3);
    let mut shown = reading(11, 3);
    shown.since_start.invocation.waits = vec!["poll".into()];
    state.show(shown);
    let picture = picture(&mut state, 120, 7);
    assert!(picture.contains("  1 thread  waits: poll  level full\n"), "{picture}");
}

#[test]
fn lock_screen_is_drawn() {
    let mut state = state(3);
    press(&mut state, "\n");
    let expected = "\
unspin top /bin/server -t 4
pid 7  running  10.0s  LOST 1.20s (120ms/s)  2 CPUs  1 process  1 thread  level full
[Locks] Waits   the last 1.00s, every 1.00s, by LOST, 3 rows
lock3  static, pool.c:31
held by thread 8 of process 7 for 250ms, taken in worker+0x63
LOST/s  CEIL  CPUS  UTIL   CON  HOLD   MAX  WAIT   MAX  %CPU    TOTAL/s NOWAIT  SPIN SLEPT  NAME
  60ms 1.06x  0.00 0.30% 10.0% 1.0us  40us 200us 900us    0%       3000  90.0%    0% 10.0%  all of lock3
  60ms 1.06x  0.00 0.30% 10.0% 1.0us  40us 200us 900us    0%       3000  90.0%    0% 10.0%    worker+0x63 pool.c:88

HELD         share      times                                WAITED       share      times
512ns-1.0us  99.0%       3000 ████████████████████████████   262us-524us   100%        300 ████████████████████████████
1.0us-2.0us     0%          0
2.0us-4.1us     0%          0
Esc back  q leave  ? help  t lately/since start  p pause
";
    assert_eq!(picture(&mut state, 120, 14), expected);
}

#[test]
fn lock_screen_scrolls_in_a_small_window() {
    let mut state = state(3);
    press(&mut state, "\n");
    assert!(!picture(&mut state, 60, 12).contains("WAITED"));
    state.press(key(KeyCode::End));
    assert!(picture(&mut state, 60, 12).contains("WAITED"));
}

#[test]
fn unused_lock_is_reported_as_unused_in_the_interval() {
    let mut state = state(3);
    press(&mut state, "\n");
    let mut quiet = reading(11, 3);
    quiet.lately.as_mut().unwrap().locks.clear();
    state.show(quiet);
    let picture = picture(&mut state, 100, 12);
    assert!(picture.contains("held by thread 8 of process 7 for 250ms"), "{picture}");
    assert!(picture.contains("not used in the last interval"), "{picture}");
}

#[test]
fn leave_dialog_is_drawn() {
    let mut state = state(3);
    press(&mut state, "q");
    let expected = "\
unspin top /bin/server -t 4
pid 7  running  10.0s  LOST 1.20s (120ms/s)  2 CPUs  1 process  1 thre
[Locks┌ Leave ─────────────────────────────────────────────────┐
LOST/s│ Process 7 is still running.                            │
  60ms│                                                        │
  40ms│ g    it goes on, undisturbed; the recording is dropped │
  20ms│ e    it is ended (so does a second ^C)                 │
      │ Esc  stay here                                         │
      └────────────────────────────────────────────────────────┘


q leave  ? help  t lately/since start  Tab waits  Enter open  / filter
";
    assert_eq!(picture(&mut state, 70, 12), expected);
}

#[test]
fn header_shows_the_state_of_the_program() {
    let mut state = state(3);
    press(&mut state, "qe");
    assert!(picture(&mut state, 100, 12).contains("SIGKILL if it is still there after 5 seconds"));
    state.end(End::Killed(15), reading(11, 3));
    state.survivors = 2;
    let picture = picture(&mut state, 100, 12);
    assert!(picture.contains("killed by signal 15, 2 processes still running  "), "{picture}");
    assert!(picture.contains("killed by signal 15") && picture.contains("since the start"), "{picture}");
    assert!(!picture.contains("SIGKILL"), "{picture}");
}

#[test]
fn unmeasured_times_are_dashes() {
    let mut state = state(3);
    let mut counted = reading(11, 3);
    let report = counted.lately.as_mut().unwrap();
    report.level = unspin_meter::Level::Counts;
    report.locks.iter_mut().for_each(|lock| lock.row.timed = 0);
    state.show(counted);
    let picture = picture(&mut state, 120, 8);
    let row = picture.lines().nth(4).unwrap();
    assert_eq!(row.split_whitespace().filter(|word| *word == "-").count(), 9, "{picture}");
}

/// Every size, every screen, every dialog.
#[test]
fn window_of_every_size_is_drawn() {
    for keys in ["", "\n", "q", "?", "/x", "qe", "t\n"] {
        let mut state = state(30);
        press(&mut state, keys);
        for (width, height) in [(0, 0), (1, 1), (2, 3), (7, 2), (20, 5), (80, 4), (500, 200)] {
            picture(&mut state, width, height);
            state.press(key(KeyCode::End));
            picture(&mut state, width, height);
        }
    }
}

#[test]
fn no_color_uses_only_bold_and_reversed_text() {
    let mut terminal = Terminal::new(TestBackend::new(100, 12)).unwrap();
    let mut state = state(3);
    terminal.draw(|frame| draw(frame, &mut state, Palette::Plain)).unwrap();
    let buffer = terminal.backend().buffer();
    assert!(buffer.content().iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(
        buffer[(0, 4)].modifier.contains(Modifier::REVERSED)
            && buffer[(99, 4)].modifier.contains(Modifier::REVERSED)
    );
    assert!(!buffer[(0, 5)].modifier.contains(Modifier::REVERSED));
}
