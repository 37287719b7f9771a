use super::*;
use crate::plan::entry::Entry;
use crate::plan::kind;
use crate::plan::lock_name::LockName;
use crate::plan::place::{Place, Span};
use crate::plan::policy::WaitPolicy;
use crate::plan::site_name::SiteName;
use unspin_e2e::Workshop;
use unspin_locks::{LockKind, RwLockKind, SpinKind};

fn read(workshop: &Workshop, text: &str) -> Result<PlanFile, String> {
    let path = workshop.file("plan.toml");
    fs::write(&path, text).unwrap();
    let shown = |e: Error| e.to_string().replace(&*path.to_string_lossy(), "PLAN");
    PlanFile::read(&path).map_err(shown)
}

fn plan(workshop: &Workshop, text: &str) -> Result<Plan, String> {
    let path = workshop.file("plan.toml").display().to_string();
    let ourselves = std::env::current_exe().unwrap();
    let plan = read(workshop, text)?.plan_for(&Program::at(&ourselves));
    plan.map_err(|e| e.to_string().replace(&path, "PLAN").replace(&*ourselves.to_string_lossy(), "PROGRAM"))
}

#[test]
fn plan_with_names_only_is_read() {
    let workshop = Workshop::new();
    let text = "[[mutex]]\nlock = 'cache_lock'\nkind = 'adaptive'\n[[mutex]]\nlock = '*'\nkind = 'fair'\n\
                [[wait]]\nsite = '*'\npolicy = 'poll'\n[[wait]]\nsite = 'f+0x2d'\npolicy = 'system'\n";
    let plan = plan(&workshop, text).unwrap();
    let name = LockName::new("cache_lock").unwrap();
    let entries = [
        Entry::new(LockKind::Adaptive, Which::Named { name, module: None }),
        Entry::new(LockKind::Fair, Which::All),
    ];
    let name = SiteName::new("f+0x2d").unwrap();
    let waits = [
        WaitEntry { policy: WaitPolicy::Poll, which: Which::All },
        WaitEntry { policy: WaitPolicy::System, which: Which::Named { name, module: None } },
    ];
    assert_eq!((&plan.locks[..], &plan.waits[..]), (&entries[..], &waits[..]));
}

#[test]
fn plan_for_all_families_is_read() {
    let workshop = Workshop::new();
    let text = "[[spin]]\nlock = '*'\nkind = 'adaptive'\n[[rwlock]]\nlock = 'a'\nkind = 'rw-biased'\n\
                [[mutex]]\nlock = 'a'\nkind = 'steal'\n[[rwlock]]\nlock = 'b'\nkind = 'system'\nmodule = '/x'\n";
    let plan = plan(&workshop, text).unwrap();
    let named = |name: &str, module: Option<&str>| Which::Named {
        name: LockName::new(name).unwrap(),
        module: module.map(Into::into),
    };
    let entries = [
        Entry::new(LockKind::Steal, named("a", None)),
        Entry::new(RwLockKind::Biased, named("a", None)),
        Entry::new(RwLockKind::System, named("b", Some("/x"))),
        Entry::new(SpinKind::Adaptive, Which::All),
    ];
    assert_eq!(plan.locks, entries);
}

#[test]
fn invalid_plan_is_refused_with_its_line() {
    let workshop = Workshop::new();
    let kinds = kind::list(kind::offer(), LockKind::name);
    let rwlock_kinds = kind::list(kind::offer(), RwLockKind::name);
    let cases = [
        ("[[mutex]]\nlock = 'a'\n", "line 1: missing field `kind`"),
        ("\n[[mutex]\n", "line 2: "),
        (
            "\nspin-waits = true\n",
            "line 2: spin-waits has been removed: write `[[wait]]`, and below it `policy = \"poll\"`",
        ),
        ("[[wait]]\nsite = 'f'\n", "line 1: missing field `policy`"),
        ("[[wait]]\npolicy = 'pol'\n", "there is no wait policy \"pol\" (meant: poll?): poll, system"),
        (
            "[[wait]]\npolicy = 'poll'\nsite = '*'\n[[wait]]\npolicy = 'system'\nsite = '*'\n",
            "has two policies for every wait: leave one out",
        ),
        (
            "[[wait]]\npolicy = 'poll'\nsite = 'f'\nplaces = [['init', '1-2@/x']]\n",
            "f: [\"init\", \"1-2@/x\"] is not a place",
        ),
        ("[[mutex]]\nkind = 'fair'\nlok = 'a'\n", "line 3: unknown field `lok`, expected one of "),
        ("[[mutex]]\nkind = 'far'\n", &format!("there is no kind \"far\" (meant: fair?): {kinds}")),
        (
            "[[mutex]]\nkind = 'fair'\nlock = ''\n",
            "a lock has no name: write `lock = \"*\"` to mean every mutex",
        ),
        ("", "replaces nothing: it has no [[mutex]], [[rwlock]], [[spin]] or [[wait]]"),
        (
            "[rwlock]\nkind = 'rw-fair'\nlock = '*'\n",
            "line 1: there is no table `[rwlock]` in a plan: write `[[rwlock]]`, with two brackets",
        ),
        (
            "[[mutex]]\nkind = 'fair'\nlock = 'a'\n\n [ mutex ] # second\nkind = 'pi'\nlock = 'b'\n",
            "line 5: there is no table `[mutex]` in a plan: write `[[mutex]]`, with two brackets",
        ),
        (
            "[spin]\nkind = 'adaptive'\n[[spin]]\nkind = 'adaptive'\n",
            "line 1: there is no table `[spin]` in a plan: write `[[spin]]`, with two brackets",
        ),
        (
            "[[mutex]]\nkind = 'fair'\nlock = 'a'\n[wait]\nsite = '*'\n",
            "line 4: there is no table `[wait]` in a plan: write `[[wait]]`, with two brackets",
        ),
        (
            "\nmutex = {kind = 'fair'}\n",
            "line 2: `mutex` is a list of tables in a plan: write `[[mutex]]`, and its lines below",
        ),
        (
            "[rwlock.a]\nkind = 'rw-fair'\n",
            "line 1: `rwlock` is a list of tables in a plan: write `[[rwlock]]`, and its lines below",
        ),
        (
            "spin.kind = 'adaptive'\n",
            "line 1: `spin` is a list of tables in a plan: write `[[spin]]`, and its lines below",
        ),
        (
            "[[mutex]]\nkind = 'fair'\nlock = 'a'\nplaces = {}\n",
            "line 4: invalid type: map, expected a sequence",
        ),
        ("[[rwlok]]\n", "line 1: there is no `rwlok` in a plan: write `[[rwlock]]`"),
        (
            "[[rwlock]]\nkind = 'fair'\nlock = 'a'\n",
            &format!(
                "there is no kind of read-write lock \"fair\" (it is a kind of mutex, for [[mutex]]): {rwlock_kinds}"
            ),
        ),
        (
            "[[mutex]]\nkind = 'rw-fair'\nlock = '*'\n",
            &format!(
                "there is no kind \"rw-fair\" (it is a kind of read-write lock, for [[rwlock]]): {kinds}"
            ),
        ),
        (
            "[[rwlock]]\nkind = 'rw-fair'\n",
            "a [[rwlock]] of kind rw-fair has no lock: write `lock = \"NAME\"`, or `lock = \"*\"` for every read-write lock that no \
             other [[rwlock]] names",
        ),
        (
            "[[spin]]\nkind = 'adaptive'\nlock = '*'\n[[spin]]\nkind = 'system'\nlock = '*'\n",
            "has two kinds for every spin lock: leave one out",
        ),
        (
            "[[spin]]\nkind = 'adaptive'\nlock = 'a'\nplaces = [['use', '1-2@/x']]\n",
            "a: [\"use\", \"1-2@/x\"] is not a place",
        ),
        (
            "[[mutex]]\nkind = 'fair'\nlock = 'a'\n[[mutex]]\nkind = 'steal'\nlock = 'a'\n",
            "has two kinds for a: leave one out",
        ),
        (
            "[[mutex]]\nkind = 'fair'\nlock = '*'\n[[mutex]]\nkind = 'pi'\nlock = '*'\n",
            "has two kinds for every mutex: leave one out",
        ),
        (
            "[[mutex]]\nkind = 'fair'\n",
            "a [[mutex]] of kind fair has no lock: write `lock = \"NAME\"`, or `lock = \"*\"` for every mutex that no other \
             [[mutex]] names",
        ),
        (
            "[[wait]]\npolicy = 'poll'\n",
            "a [[wait]] of policy poll has no site: write `site = \"NAME\"`, or `site = \"*\"`",
        ),
        (
            "[[mutex]]\nkind = 'fair'\nlock = '*'\nmodule = '/x'\n",
            "the fair for lock \"*\" is for every mutex",
        ),
        ("[[mutex]]\nkind = 'fair'\nlock = 'a'\nplaces = [['init']]\n", "a: [\"init\"] is not a place"),
        (
            "[[mutex]]\nkind = 'fair'\nlock = 'a'\nplaces = [['init', '1-2@/x']]\n",
            "a: `modules` does not say which build of the file [\"init\", \"1-2@/x\"] is about",
        ),
        (
            "program = '/bin/other'\n",
            "is a plan for /bin/other, not for PROGRAM: remove its line `program`, with which it is for that file only",
        ),
        (
            "[modules]\n'/no/such' = 'ab'\n",
            "/no/such has changed since the plan was made (build ab, gone): create the plan again with `unspin prove`, or",
        ),
    ];
    for (text, expected) in cases {
        let error = plan(&workshop, text).unwrap_err();
        assert!(error.starts_with(&format!("--use-plan PLAN: {expected}")), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let missing = PlanFile::read(&workshop.file("missing")).unwrap_err().to_string();
    assert!(
        missing.ends_with("missing: there is no such file (`unspin prove --plan FILE` writes one)"),
        "{missing}"
    );
    fs::write(workshop.file("binary"), [0x80]).unwrap();
    let binary = PlanFile::read(&workshop.file("binary")).unwrap_err().to_string();
    assert!(binary.ends_with("binary: is not a plan: it is not text"), "{binary}");
}

/// The comment repeats the command of `prove`.
#[test]
fn comment_with_control_characters_is_still_toml() {
    let workshop = Workshop::new();
    let ourselves = Program::at(&std::env::current_exe().unwrap());
    let file = PlanFile::new(&Plan::all(LockKind::Fair), &ourselves, "sh -c 'a\rb\u{1}'\nnext").unwrap();
    assert!(read(&workshop, &file.text()).is_ok(), "{}", file.text());
}

#[test]
fn written_plan_is_read_back() {
    let workshop = Workshop::new();
    let ourselves = Program::at(&std::env::current_exe().unwrap());
    let module = ourselves.path.canonicalize().unwrap();
    let place = Place { by: By::Init, spans: vec![Span::new(&module, 1..2), Span::new(&module, 8..16)] };
    let (name, origin) = ("queue_new".to_owned(), Some("mutex initialised at queue.c:18".to_owned()));
    let mut plan = Plan::all(LockKind::Fair);
    let which = Which::Located(Located { name, origin, places: vec![place.clone()], mutexes: 0 });
    plan.locks.push(Entry::new(LockKind::Steal, which));
    let used = Place { by: By::Use, spans: vec![Span::new(&module, 16..17)] };
    let name = "rwlock first used in f".to_owned();
    let rwlock =
        Which::Located(Located { name: name.clone(), origin: None, places: vec![used.clone()], mutexes: 2 });
    plan.locks.push(Entry::new(RwLockKind::Biased, rwlock));
    let site = Place { by: By::Site, spans: vec![Span::new(&module, 4..5)] };
    let which =
        Which::Located(Located { name: "f+0x2d".into(), origin: None, places: vec![site], mutexes: 0 });
    plan.waits.push(WaitEntry { policy: WaitPolicy::Poll, which });
    let file = PlanFile::new(&plan, &ourselves, "1.42 times as fast,\n\nproven").unwrap();
    file.write(&workshop.file("plan.toml")).unwrap();
    let text = fs::read_to_string(workshop.file("plan.toml")).unwrap();
    let head: Vec<&str> = text.lines().take(5).collect();
    assert!(head[0].starts_with("# A plan of unspin "), "{text}");
    assert_eq!(
        head[1..],
        [
            "# 1.42 times as fast,",
            "#",
            "# proven",
            "# rwlock first used in f: recognised by its first use, at one call site. 2 read-write locks of the recording share \
         them and are replaced together."
        ],
        "{text}"
    );
    let again = PlanFile::read(&workshop.file("plan.toml")).unwrap().plan_for(&ourselves).unwrap();
    let label = "queue_new, mutex initialised at queue.c:18".to_owned();
    let located = Located { name: label, origin: None, places: vec![place], mutexes: 0 };
    assert_eq!(again.waits, plan.waits);
    assert_eq!(again.locks[0].which, Which::All);
    assert_eq!(again.locks[1], Entry::new(LockKind::Steal, Which::Located(located)));
    let located = Located { name, origin: None, places: vec![used], mutexes: 0 };
    assert_eq!(again.locks[2], Entry::new(RwLockKind::Biased, Which::Located(located)));
}

#[test]
fn file_of_another_kind_is_named() {
    let workshop = Workshop::new();
    let remedy = "name a file that `unspin prove --plan` has written";
    for (text, what) in [
        ("{\"schema\": \"unspin.prove/3\",\n \"x\": 1}", "is JSON, such as a result, and no plan"),
        ("<!DOCTYPE html><meta charset=\"utf-8\">", "is a page, and no plan"),
        ("hello\n", "is no plan"),
    ] {
        assert_eq!(read(&workshop, text).unwrap_err(), format!("--use-plan PLAN: {what}: {remedy}"));
    }
}
