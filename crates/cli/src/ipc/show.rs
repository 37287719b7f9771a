//! `unspin ipcs`.

use super::legend::Legend;
use super::size::Unit;
use super::source::Source;
use super::table::View;
use super::{arenas, name, queue, reason, refused, segment, set};
use crate::error::Error;
use crate::options::Ipcs;
use crate::stdout;
use std::process::ExitCode;
use unspin_sys::Errno;
use unspin_sys::limits::{MsgLimits, SemLimits, ShmLimits};
use unspin_sysv::{Class, Engine};

/// Prints what is asked for.
pub fn show(options: &Ipcs) -> Result<ExitCode, Error> {
    let unit = match (options.human, options.bytes) {
        (true, _) => Unit::Human,
        (_, true) => Unit::Bytes,
        _ => Unit::Usual,
    };
    if let Some(folder) = &options.arenas {
        return arenas::show(folder, unit);
    }
    let classes = classes(options);
    let source = Source::new(options.source.sysv, options.arena.as_deref())?;
    if let Some(id) = options.id {
        let &[class] = classes.as_slice() else {
            return Err(Error::Input(
                "ipcs: when using an ID, a single resource must be specified: -m, -q or -s".into(),
            ));
        };
        return one(&source, class, id, unit);
    }
    let view = view(options);
    let mut text = String::from("\n");
    for class in if classes.is_empty() { &LISTED[..] } else { &classes } {
        text += &of_class(&source, *class, view, unit)?;
        text.push('\n');
    }
    stdout::print(&text)?;
    if let Some(hint) = source.hint().filter(|_| view != View::Limits) {
        eprintln!("unspin: ipcs: {hint}");
    }
    Ok(ExitCode::SUCCESS)
}

/// In the order in which they are listed.
const LISTED: [Class; 3] = [Class::Msg, Class::Shm, Class::Sem];

fn classes(options: &Ipcs) -> Vec<Class> {
    let asked = |class| match class {
        Class::Msg => options.queues,
        Class::Shm => options.shmems,
        Class::Sem => options.semaphores,
    };
    LISTED.into_iter().filter(|&class| options.all || asked(class)).collect()
}

fn view(options: &Ipcs) -> View {
    let asked = [
        (options.time, View::Times),
        (options.pid, View::Pids),
        (options.creator, View::Creators),
        (options.limits, View::Limits),
        (options.summary, View::Summary),
    ];
    asked.into_iter().find(|(asked, _)| *asked).map_or(View::Objects, |(_, view)| view)
}

/// One part of the output. What is not there has no objects, and the machine's limits.
fn of_class(source: &Source, class: Class, view: View, unit: Unit) -> Result<String, Error> {
    match view {
        View::Limits => source.expect().map(|()| match class {
            Class::Msg => queue::limits(&MsgLimits::read(), unit),
            Class::Shm => segment::limits(&ShmLimits::read(), unit),
            Class::Sem => set::limits(&SemLimits::read()),
        }),
        View::Summary => {
            let summary = source.visit(|engine| summary(engine, class, unit))?;
            summary.unwrap_or_else(|| Ok(empty(class, unit))).map_err(|errno| refused(name(class), errno))
        }
        _ => {
            let heading = match class {
                Class::Msg => queue::heading(view, unit),
                Class::Shm => segment::heading(view, unit),
                Class::Sem => set::heading(view),
            };
            let rows = source.visit(|engine| rows(engine, class, view, unit))?.unwrap_or(Ok(String::new()));
            Ok(heading + &rows.map_err(|errno| refused(name(class), errno))?)
        }
    }
}

fn summary(engine: Engine, class: Class, unit: Unit) -> Result<String, Errno> {
    Ok(match class {
        Class::Msg => queue::summary(&engine.msg_info()?.1, unit),
        Class::Shm => segment::summary(&engine.shm_info()?.1),
        Class::Sem => set::summary(&engine.sem_info()?.1),
    })
}

/// The summary of nothing.
fn empty(class: Class, unit: Unit) -> String {
    match class {
        Class::Msg => queue::summary(&Default::default(), unit),
        Class::Shm => segment::summary(&Default::default()),
        Class::Sem => set::summary(&Default::default()),
    }
}

fn rows(engine: Engine, class: Class, view: View, unit: Unit) -> Result<String, Errno> {
    let legend = Legend::default();
    Ok(match class {
        Class::Msg => {
            engine.queues()?.iter().map(|(id, queue)| queue::row(view, unit, *id, queue, &legend)).collect()
        }
        Class::Shm => engine
            .segments()?
            .iter()
            .map(|(id, segment)| segment::row(view, unit, *id, segment, &legend))
            .collect(),
        Class::Sem => engine.sets()?.iter().map(|(id, set)| set::row(view, *id, set, &legend)).collect(),
    })
}

/// All about one object. That there is none is no failure: so it is with util-linux.
fn one(source: &Source, class: Class, id: i32, unit: Unit) -> Result<ExitCode, Error> {
    let details = source.visit(|engine| details(engine, class, id, unit))?.unwrap_or(Ok(None));
    let details = details.map_err(|errno| {
        let remedy = match errno {
            Errno::EACCES => "ask its owner, or root, for the permission to read it",
            _ => "`unspin ipcs` shows what there is",
        };
        Error::Input(format!("ipcs: {} {id} cannot be read: {}: {remedy}", name(class), reason(errno)))
    })?;
    match details {
        Some(text) => stdout::print(&text)?,
        None => eprintln!(
            "unspin: ipcs: id {id} not found: `unspin ipcs` lists the {}s that there are",
            name(class)
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn details(engine: Engine, class: Class, id: i32, unit: Unit) -> Result<Option<String>, Errno> {
    let legend = Legend::default();
    Ok(match class {
        Class::Msg => find(engine.queues()?, id).map(|queue| queue::details(unit, id, &queue, &legend)),
        Class::Shm => {
            find(engine.segments()?, id).map(|segment| segment::details(unit, id, &segment, &legend))
        }
        Class::Sem => match find(engine.sets()?, id) {
            Some(set) => {
                let numbers = 0..set.sem_nsems as i32;
                let semaphores: Result<Vec<_>, _> =
                    numbers.map(|number| engine.semaphore(id, number)).collect();
                Some(set::details(id, &set, &semaphores?, &legend))
            }
            None => None,
        },
    })
}

fn find<T>(objects: Vec<(i32, T)>, id: i32) -> Option<T> {
    objects.into_iter().find(|(of, _)| *of == id).map(|(_, object)| object)
}
