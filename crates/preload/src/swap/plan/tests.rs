//! Plans as they are read.

use super::*;

fn plan(text: &'static str) -> Box<Plan> {
    let mut plan = Box::new(Plan::NOTHING);
    parse(text.as_bytes(), |line| plan.add(line)).unwrap();
    plan.choose_conditions();
    plan
}

#[test]
fn rules_keep_their_places() {
    let plan = plan("unspin plan 2\nfair\tinit\t1-2@/x\t3-4@/y\nsteal\tvariable\t5-6@/x\nsystem\tall\n");
    let rules: Vec<_> = plan.rules().iter().map(|rule| rule.places(&plan).len()).collect();
    let modules: Vec<_> = plan.modules().iter().map(|module| module.path).collect();
    assert_eq!((rules, modules), (vec![2, 1], vec![&b"/x"[..], b"/y"]));
    assert_eq!(plan.rules()[1].places(&plan)[0].module, 0);
    assert_eq!((plan.all::<LockKind>(), plan.conditions), (Some(LockKind::System), Conditions::Ours));
}

#[test]
fn families_have_kinds_of_their_own() {
    let of = |family| LockFamily::ALL.map(|other| other == family);
    for (text, family) in [
        ("unspin plan 2\nfair\tall\n", LockFamily::Mutex),
        ("unspin plan 2\nrwlock\trw-biased\tall\nrwlock\trw-fair\tall\n", LockFamily::RwLock),
        ("unspin plan 2\nrwlock\tsystem\tuse\t1-2@/x\n", LockFamily::RwLock),
        ("unspin plan 2\nspin\tadaptive\tinit\t1-2@/x\n", LockFamily::Spin),
    ] {
        let plan = plan(text);
        assert_eq!(LockFamily::ALL.map(|family| plan.has(family)), of(family), "{text}");
    }
    let plan = plan("unspin plan 2\nrwlock\trw-biased\tall\nrwlock\trw-fair\tall\nspin\tadaptive\tall\n");
    assert_eq!(plan.all(), Some(RwLockKind::Biased), "the first counts");
    assert_eq!(plan.all(), Some(SpinKind::Adaptive));
    assert_eq!(plan.all::<LockKind>(), None);
}

/// The control uses libc for everything.
#[test]
fn conditions_are_ours_where_a_mutex_is() {
    for (text, expected) in [
        ("unspin plan 2\nsystem\tall\n", Conditions::Libc),
        ("unspin plan 2\npi\tall\n", Conditions::Libc),
        ("unspin plan 2\nsystem\tall\nwaits\tpoll\n", Conditions::Ours),
        ("unspin plan 2\nwaits\tsystem\n", Conditions::Libc),
        ("unspin plan 2\nwaits\tsystem\npoll\tsite\t1-2@/x\n", Conditions::Ours),
        ("unspin plan 2\nadaptive\tall\n", Conditions::Ours),
        ("unspin plan 2\nrwlock\trw-fair\tall\nspin\tadaptive\tvariable\t1-2@/x\n", Conditions::Libc),
    ] {
        assert_eq!(plan(text).conditions, expected, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_said() {
    let text: String = (0..RULES as u32 + 1)
        .map(|n| format!("{}\tvariable\t{n:x}-ffff@/x\n", ["fair", "rwlock\trw-fair"][n as usize % 2]))
        .collect();
    let text: &'static str = format!("unspin plan 2\n{text}").leak();
    let mut plan = Box::new(Plan::NOTHING);
    assert_eq!(parse(text.as_bytes(), |line| plan.add(line)), Err(Wrong::TooLong));
}
