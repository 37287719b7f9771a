use super::super::testing::{control_c, key, reading, state};
use super::*;

fn press(state: &mut State, keys: &str) -> Option<Action> {
    let mut wish = None;
    for character in keys.chars() {
        let code = match character {
            '\n' => KeyCode::Enter,
            '\t' => KeyCode::Tab,
            '\x1b' => KeyCode::Esc,
            character => KeyCode::Char(character),
        };
        wish = state.press(key(code));
    }
    wish
}

fn names(state: &State) -> Vec<String> {
    state.rows(0, 100).map(|item| item.id().name).collect()
}

fn chosen(state: &State) -> String {
    state.under_cursor().unwrap().name
}

#[test]
fn rows_are_sorted_by_lost_time_at_first() {
    assert_eq!(names(&state(3)), ["lock3", "lock2", "lock1"]);
}

#[test]
fn keys_select_the_sort_order() {
    let mut state = state(12);
    for (keys, sort) in
        [("a", Sort::Total), ("u", Sort::Util), ("l", Sort::Lost), (">", Sort::Util), ("<<", Sort::Lost)]
    {
        press(&mut state, keys);
        assert_eq!(state.sort, sort, "{keys}");
    }
    assert_eq!(names(&state)[0], "lock12");
}

#[test]
fn tab_switches_to_waits() {
    let mut state = state(3);
    state.press(key(KeyCode::Down));
    press(&mut state, "\t");
    assert_eq!((names(&state), state.cursor), (vec!["idle_cond".to_owned()], 0));
    press(&mut state, "\t");
    assert_eq!(names(&state).len(), 3);
}

#[test]
fn cursor_follows_its_lock() {
    let mut state = state(3);
    assert_eq!(chosen(&state), "lock3");
    state.press(key(KeyCode::Down));
    assert_eq!(chosen(&state), "lock2");
    // There are new rows above it now.
    state.show(reading(11, 20));
    assert_eq!((chosen(&state), state.cursor), ("lock2".into(), 18));
    // Its row has gone: the cursor stays within the table.
    press(&mut state, "/lock3\n");
    assert_eq!((chosen(&state), state.cursor), ("lock3".into(), 0));
}

#[test]
fn cursor_at_the_top_stays_at_the_top() {
    let mut state = state(3);
    state.show(reading(11, 20));
    assert_eq!(chosen(&state), "lock20");
    state.press(key(KeyCode::End));
    state.press(key(KeyCode::Home));
    state.show(reading(12, 30));
    assert_eq!(chosen(&state), "lock30");
}

#[test]
fn cursor_stops_at_the_ends() {
    let mut state = state(50);
    state.fit_table(10);
    for (code, cursor, top) in [
        (KeyCode::Up, 0, 0),
        (KeyCode::Down, 1, 0),
        (KeyCode::PageDown, 11, 2),
        (KeyCode::End, 49, 40),
        (KeyCode::Down, 49, 40),
        (KeyCode::PageUp, 39, 39),
        (KeyCode::Home, 0, 0),
    ] {
        state.press(key(code));
        state.fit_table(10);
        assert_eq!((state.cursor, state.top), (cursor, top), "{code:?}");
    }
}

#[test]
fn filter_is_applied_and_undone() {
    let mut state = state(12);
    press(&mut state, "/K1");
    assert_eq!(names(&state), ["lock12", "lock11", "lock10", "lock1"]);
    press(&mut state, "1\n");
    assert_eq!((names(&state), state.size()), (vec!["lock11".to_owned()], (1, 12)));
    press(&mut state, "/");
    state.press(key(KeyCode::Backspace));
    assert_eq!(names(&state).len(), 4);
    press(&mut state, "\x1b");
    assert_eq!(names(&state), ["lock11"], "Esc undoes what was typed");
    press(&mut state, "/quit");
    assert_eq!((state.dialog.is_some(), names(&state).len()), (true, 0), "letters are no commands meanwhile");
    press(&mut state, "\n\x1b");
    assert_eq!(names(&state).len(), 12);
    press(&mut state, "\n");
    assert!(matches!(state.screen, Screen::Lock(_)));
}

#[test]
fn enter_without_rows_does_nothing() {
    let mut state = State::new("x".into(), 7, Duration::from_secs(1));
    press(&mut state, "\n?xl\t\n");
    state.press(key(KeyCode::PageDown));
    state.fit_table(0);
    assert_eq!((state.screen, state.cursor, state.top), (Screen::Table, 0, 0));
}

#[test]
fn enter_opens_a_lock_and_escape_closes_it() {
    let mut state = state(3);
    state.press(key(KeyCode::Down));
    press(&mut state, "\n");
    assert!(state.open().is_some_and(|item| item.id().name == "lock2"));
    // The next reading shows the same lock, wherever its row is.
    state.show(reading(11, 20));
    assert!(state.open().is_some_and(|item| item.id().name == "lock2"));
    state.press(key(KeyCode::End));
    state.fit_lines(10, 25);
    assert_eq!(state.top, 15);
    press(&mut state, "\x1b");
    assert_eq!((&state.screen, state.top), (&Screen::Table, 0));
}

#[test]
fn pause_stops_updates() {
    let mut state = state(3);
    assert!(state.wants_readings());
    assert_eq!(press(&mut state, "p"), None);
    assert!(!state.wants_readings());
    assert_eq!(press(&mut state, " "), Some(Action::Read));
    assert!(state.wants_readings());
}

#[test]
fn interval_keys_stop_at_the_limits() {
    let mut state = state(1);
    press(&mut state, "+");
    assert_eq!(state.interval, Duration::from_secs(2));
    press(&mut state, &"+".repeat(20));
    assert_eq!(state.interval, Duration::from_secs(600));
    press(&mut state, &"-".repeat(20));
    assert_eq!(state.interval, Duration::from_millis(100));
}

#[test]
fn leave_key_opens_the_dialog() {
    let mut state = state(1);
    assert_eq!(press(&mut state, "q"), None);
    assert_eq!(press(&mut state, "qx"), None, "neither is an answer");
    assert_eq!((press(&mut state, "\x1b"), &state.dialog), (None, &None));
    assert_eq!(press(&mut state, "qg"), Some(Action::Leave));
    assert_eq!(state.program, ProgramState::Running);
    assert_eq!(press(&mut state, "qe"), Some(Action::End));
    assert_eq!(state.program, ProgramState::Ending);
    assert_eq!(press(&mut state, "q"), Some(Action::Kill));
}

#[test]
fn second_control_c_ends_the_program() {
    let mut state = state(1);
    press(&mut state, "/lo");
    assert_eq!(state.press(control_c()), None);
    assert_eq!(state.dialog, Some(Dialog::Leave));
    assert_eq!(state.press(control_c()), Some(Action::End));
    assert_eq!(state.press(control_c()), Some(Action::Kill));
}

#[test]
fn ended_program_shows_the_whole_time_and_leaves_without_dialog() {
    let mut state = state(3);
    press(&mut state, "pq");
    state.end(End::Exited(3), reading(11, 5));
    assert_eq!((state.period, state.paused, &state.dialog), (Period::SinceStart, false, &None));
    assert_eq!(names(&state).len(), 5);
    assert!(!state.wants_readings());
    assert_eq!(press(&mut state, "p"), None);
    assert!(!state.paused, "there is nothing to be stopped");
    assert_eq!(press(&mut state, "q"), Some(Action::Leave));
    assert_eq!(state.press(control_c()), Some(Action::Leave));
}
