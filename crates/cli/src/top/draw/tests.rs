use super::super::testing::{key, reading, state};
use super::*;
use crate::top::lens_tabs::{Content, LensTab};
use crate::top::state::Action;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::KeyCode;
use ratatui::style::{Color, Modifier};
use unspin_observe::lens::live::LensReading;
use unspin_observe::lens::reports::Reports;
use unspin_observe::lens::testing;
use unspin_report::EventCount;

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


q leave  ? help  t lately/since start  Tab next  Enter open  / filter  p pause
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

q leave  ? help  t lately/since start  Tab next  Enter open  / filter  p pause
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

q leave  ? help  t lately/since start  Tab next  Enter open  / filter  p pause
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
            "counted" => lately.level = unspin_wire::Level::Counts,
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


q leave  ? help  t lately/since start  Tab next  Enter open  / filter
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
    report.level = unspin_wire::Level::Counts;
    report.locks.iter_mut().for_each(|lock| lock.row.timed = 0);
    state.show(counted);
    let picture = picture(&mut state, 120, 8);
    let row = picture.lines().nth(4).unwrap();
    assert_eq!(row.split_whitespace().filter(|word| *word == "-").count(), 9, "{picture}");
}

#[test]
fn head_says_how_many_threads_are_sampled() {
    let mut state = state(3);
    let mut sampled = reading(11, 3);
    sampled.since_start.level = unspin_wire::Level::Auto;
    sampled.since_start.events = vec![EventCount { event: unspin_wire::Event::Sampled, count: 2 }];
    state.show(sampled);
    let picture = picture(&mut state, 160, 8);
    assert!(picture.contains("level auto: 2 threads sampled"), "{picture}");
}

/// Every size, every screen, every dialog.
#[test]
fn window_of_every_size_is_drawn() {
    for keys in ["", "\n", "q", "?", "/x", "qe", "t\n", "3", "4", "5"] {
        let mut state = with_lens(1, testing::kernel());
        state.show(reading(10, 30));
        press(&mut state, "1");
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

/// A state with the tabs of the lenses, of which this one is open.
fn with_lens(number: usize, reports: Reports) -> State {
    let mut state = state(3);
    state.lenses = LensTab::all();
    let reading = LensReading { lately: reports.clone(), since_start: reports, notes: Vec::new() };
    state.lenses[number].content = Content::Reading(Box::new(reading));
    assert_eq!(state.press(key(KeyCode::Char(['3', '4', '5'][number]))), Some(Action::OpenLens(number)));
    state
}

#[test]
fn table_of_the_kernel_lens_is_drawn() {
    let expected = "\
unspin top /bin/server -t 4
pid 7  running  10.0s  LOST 1.20s (120ms/s)  2 CPUs  1 process  1 thread  level full
 Locks  Waits  futex [kernel] off-cpu   the last 1.0ms, every 1.00s, 10 lines
LOST/s   WAIT   MAX  %CPU    WAITS/s  SPIN SLEPT RJECT  NAME
 100ms   17us  90us 0.53%       6000 83.3% 16.7%    0%  *TOTAL*
  90ms   90us  90us    0%       1000    0%  100%    0%  rwsem in other, rwsem
  90ms   90us  90us    0%       1000    0%  100%    0%    other+0x10
 7.0ms  2.3us 4.0us 0.35%       3000  100%    0%    0%  run-queue lock (2), spinlock
 6.0ms  3.0us 4.0us 0.30%       2000  100%    0%    0%    __schedule+0x10
q leave  ? help  t lately/since opened  Tab next  Enter open  / filter  p pause
";
    assert_eq!(picture(&mut with_lens(1, testing::kernel()), 100, 10), expected);
}

#[test]
fn narrow_window_drops_columns_of_the_lenses() {
    let kernel = picture(&mut with_lens(1, testing::kernel()), 60, 8);
    assert!(kernel.contains("\nLOST/s   WAIT  %CPU    WAITS/s  NAME\n"), "{kernel}");
    let futex = picture(&mut with_lens(0, testing::futex()), 60, 8);
    assert!(futex.contains("\nWAIT/s   MEAN   MAX    WAITS/s  NAME\n"), "{futex}");
    let off_cpu = picture(&mut with_lens(2, testing::off_cpu()), 50, 12);
    assert!(off_cpu.contains("\nTIME/s    SHARE   MAX  NAME\n"), "{off_cpu}");
    assert!(off_cpu.contains("runnable, without a CPU\n"), "{off_cpu}");
}

#[test]
fn lens_without_permission_shows_its_line_in_its_tab() {
    let mut state = with_lens(1, testing::kernel());
    state.lenses[1].content = Content::Failed("no permission: sysctl kernel.perf_event_paranoid=-1".into());
    let shown = picture(&mut state, 100, 8);
    assert!(shown.contains("\nno permission: sysctl kernel.perf_event_paranoid=-1\n"), "{shown}");
    state.press(key(KeyCode::BackTab));
    assert!(!picture(&mut state, 100, 8).contains("no permission"));
}

#[test]
fn observed_process_has_only_the_lenses() {
    let mut state = State::new("-p 4711".into(), 4711, std::time::Duration::from_secs(1));
    state.program = ProgramState::Observed;
    state.lenses = LensTab::all();
    assert_eq!(state.open_tab(0), Some(Action::OpenLens(0)));
    let expected = "\
unspin top -p 4711
pid 4711  observed
[futex] kernel  off-cpu   the first reading comes after 1.00s, every 1.00s, 0 lines
 It observes from now on; the first reading follows.

q leave  ? help  t lately/since opened  Tab next  Enter open  / filter  p pause
";
    assert_eq!(picture(&mut state, 90, 6), expected);
    assert_eq!(state.press(key(KeyCode::BackTab)), Some(Action::OpenLens(2)));
    assert_eq!(state.press(key(KeyCode::Tab)), Some(Action::OpenLens(0)));
    assert_eq!(state.press(key(KeyCode::Char('4'))), None, "there are three tabs");
    assert_eq!(state.press(key(KeyCode::Char('q'))), Some(Action::Leave), "nothing is ended");
}

#[test]
fn lost_events_are_reported_in_the_tab() {
    let mut state = with_lens(1, testing::kernel());
    let Content::Reading(reading) = &mut state.lenses[1].content else { unreachable!() };
    reading.notes.push("3 events were lost".into());
    let shown = picture(&mut state, 100, 10);
    assert!(shown.contains("\n 3 events were lost\nq leave"), "{shown}");
}

#[test]
fn lens_tabs_scroll_and_filter() {
    let mut state = with_lens(1, testing::kernel());
    press(&mut state, "/tasklist\n");
    let shown = picture(&mut state, 100, 10);
    assert!(shown.contains(" tasklist_lock, rwlock\n") && !shown.contains("run-queue"), "{shown}");
    state.press(key(KeyCode::Esc));
    state.press(key(KeyCode::End));
    let shown = picture(&mut state, 100, 8);
    assert!(shown.contains("tasklist_lock") && !shown.contains("*TOTAL*"), "{shown}");
}

#[test]
fn enter_opens_a_row_of_a_lens_and_escape_closes_it() {
    let mut state = with_lens(1, testing::kernel());
    picture(&mut state, 100, 20);
    for _ in 0..4 {
        state.press(key(KeyCode::Down));
    }
    press(&mut state, "\n");
    let shown = picture(&mut state, 100, 20);
    for expected in
        ["\nrun-queue lock\n", "\n  6.0us in 2 waits, spinlock\n      __schedule+0x10\n", "Esc back"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    state.press(key(KeyCode::Esc));
    assert!(picture(&mut state, 100, 20).contains("*TOTAL*"));
    assert_eq!(state.lens_cursor.at, 4, "it stays on its line");
}

#[test]
fn help_fits_into_a_terminal_of_80_columns() {
    for mut state in [with_lens(0, testing::futex()), state(1)] {
        press(&mut state, "?");
        let narrow = picture(&mut state, 80, 24);
        let wide = picture(&mut state, 200, 24);
        let lines = |shown: &str| -> Vec<String> {
            shown.lines().filter_map(|line| Some(line.split('│').nth(1)?.trim_end().to_owned())).collect()
        };
        assert_eq!(lines(&narrow), lines(&wide));
        assert!(lines(&narrow).len() > 10, "{narrow}");
    }
}

#[test]
fn help_of_a_lens_is_about_its_tab() {
    let mut state = with_lens(0, testing::futex());
    press(&mut state, "?");
    let shown = picture(&mut state, 100, 30);
    for expected in ["Tab, 1 to 5", "Enter         open the row", "AGAIN", "off-cpu  the time of all threads"]
    {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
}
