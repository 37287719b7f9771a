//! Where the dynamic linker finds libraries: ld.so(8).

use super::elf::{Elf, ElfFile};
use std::collections::{HashMap, HashSet};
use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use unspin_sys::regular::{self, Links};

/// The file in which ldconfig(8) has listed the libraries of the configured folders. The guest gets it, too.
pub(super) const CACHE: &str = "/etc/ld.so.cache";
/// Its size is some 100 kB.
const CACHE_MAX: u64 = 64 << 20;

/// The folders that need no configuration, by Debian's and other dynamic linkers. Libraries of another processor are passed over.
const DEFAULT: [&str; 12] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib/i386-linux-gnu",
    "/usr/lib/i386-linux-gnu",
    "/lib",
    "/usr/lib",
    "/lib32",
    "/usr/lib32",
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-musl",
];

/// The places where libraries may lie on this machine.
pub(super) struct Search {
    /// The folders of `LD_LIBRARY_PATH`.
    named: Vec<PathBuf>,
    /// Files by the names of libraries.
    cache: HashMap<OsString, Vec<PathBuf>>,
}

/// The libraries of a program.
#[derive(Default, Debug)]
pub(super) struct Libraries {
    /// Their files.
    pub files: Vec<PathBuf>,
    /// The name of one that is not there.
    pub missing: Option<OsString>,
}

/// A program or library that needs libraries.
struct Loaded {
    folder: PathBuf,
    elf: Elf,
    /// The number of the one that needs it.
    by: Option<usize>,
}

impl Search {
    /// The places of this process's environment.
    pub fn new() -> Search {
        let named = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        let named = env::split_paths(&named).filter(|folder| folder.is_absolute()).collect();
        let cache = regular::read(Path::new(CACHE), Links::Followed, CACHE_MAX).unwrap_or_default();
        Search { named, cache: entries(&cache).unwrap_or_default() }
    }

    /// The libraries of a program or library, and theirs.
    pub fn libraries(&self, file: &Path, elf: Elf) -> Libraries {
        let mut found = Libraries::default();
        let mut loaded = vec![Loaded { folder: folder_of(file), elf, by: None }];
        let mut seen = HashSet::new();
        let mut next = 0;
        while next < loaded.len() {
            for name in loaded[next].elf.needed.clone() {
                if !seen.insert(name.clone()) || is_part_of_musl(&name, &loaded[0].elf) {
                    continue;
                }
                let Some((file, elf)) = self.find(&name, &loaded, next) else {
                    found.missing.get_or_insert(name);
                    continue;
                };
                loaded.push(Loaded { folder: folder_of(&file), elf, by: Some(next) });
                found.files.push(file);
            }
            next += 1;
        }
        found
    }

    /// The first file of this name that the processor of the program can use.
    fn find(&self, name: &OsStr, loaded: &[Loaded], by: usize) -> Option<(PathBuf, Elf)> {
        let cached = self.cache.get(name).into_iter().flatten().cloned();
        let folders = rpath(loaded, by).chain(self.named.iter().cloned()).chain(loaded[by].runpath());
        let defaults = DEFAULT.iter().map(PathBuf::from);
        let candidates: Vec<PathBuf> = match name.as_bytes().contains(&b'/') {
            true => vec![loaded[by].expand(name)],
            false => {
                let files = folders.map(|folder| folder.join(name));
                files.chain(cached).chain(defaults.map(|folder| folder.join(name))).collect()
            }
        };
        candidates.into_iter().filter(|file| file.is_absolute()).find_map(|file| {
            let elf = ElfFile::read(&file).usable()?;
            (elf.machine == loaded[0].elf.machine).then_some((file, elf))
        })
    }
}

impl Loaded {
    fn runpath(&self) -> impl Iterator<Item = PathBuf> {
        self.elf.runpath.iter().map(|folder| self.expand(folder))
    }

    /// A path with the values of the dynamic linker's names.
    fn expand(&self, path: &OsStr) -> PathBuf {
        let lib = if self.elf.machine == object::elf::EM_386 {
            "lib/i386-linux-gnu"
        } else {
            "lib/x86_64-linux-gnu"
        };
        let mut text = path.to_string_lossy().into_owned();
        for (name, value) in
            [("ORIGIN", &*self.folder.to_string_lossy()), ("LIB", lib), ("PLATFORM", "x86_64")]
        {
            text = text.replace(&format!("${{{name}}}"), value).replace(&format!("${name}"), value);
        }
        text.into()
    }
}

/// The folders of `DT_RPATH` of a library, and of those that need it. One with `DT_RUNPATH` ignores all of them.
fn rpath(loaded: &[Loaded], by: usize) -> impl Iterator<Item = PathBuf> {
    let is_ignored = !loaded[by].elf.runpath.is_empty();
    let start = Some(by).filter(|_| !is_ignored);
    let chain = std::iter::successors(start, |&number| loaded[number].by);
    chain.flat_map(|number| {
        let loaded = &loaded[number];
        loaded.elf.rpath.iter().map(|folder| loaded.expand(folder))
    })
}

fn folder_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new("/")).to_owned()
}

/// Whether a name stands for musl's C library, which is its dynamic linker.
fn is_part_of_musl(name: &OsStr, program: &Elf) -> bool {
    let linker = program.interpreter.as_deref().and_then(Path::file_name).unwrap_or_default();
    let is_c_library = name == "libc.so" || name.as_bytes().starts_with(b"libc.musl-");
    linker.as_bytes().starts_with(b"ld-musl") && is_c_library
}

/// The start of the newer form of the cache, which may follow the older one.
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Bytes of its header: the magic, the number of entries, and what is not needed here (`struct cache_file_new` of glibc's
/// dl-cache.h).
const HEADER: usize = 48;
/// Bytes of an entry: flags, the offsets of name and path, the version of the system, and capabilities of the processor.
const ENTRY: usize = 24;

/// The files of a cache by the names of libraries, without those that are for processors with special capabilities: the dynamic
/// linker falls back to the plain ones.
fn entries(bytes: &[u8]) -> Option<HashMap<OsString, Vec<PathBuf>>> {
    let start = bytes.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    let bytes = &bytes[start..];
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let text = |at: usize| Some(OsStr::from_bytes(bytes.get(at..)?.split(|&byte| byte == 0).next()?));
    let count = number(MAGIC.len())?;
    let mut found: HashMap<OsString, Vec<PathBuf>> = HashMap::new();
    for entry in
        bytes.get(HEADER..)?.chunks_exact(ENTRY).take(count).enumerate().map(|(n, _)| HEADER + n * ENTRY)
    {
        let is_plain = bytes.get(entry + 16..entry + ENTRY)? == [0; 8];
        if is_plain {
            let (name, path) = (text(number(entry + 4)?)?, text(number(entry + 8)?)?);
            found.entry(name.to_owned()).or_default().push(path.into());
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Programs that are compared: each costs a process.
    const COMPARED: usize = 50;
    const LINKER: &str = "/lib64/ld-linux-x86-64.so.2";

    fn elf(needed: &[&str], rpath: &[&str], runpath: &[&str]) -> Elf {
        let words = |words: &[&str]| words.iter().map(OsString::from).collect();
        let machine = object::elf::EM_X86_64;
        Elf {
            machine,
            interpreter: None,
            needed: words(needed),
            rpath: words(rpath),
            runpath: words(runpath),
        }
    }

    fn search(cache: &[(&str, PathBuf)]) -> Search {
        let cache = cache.iter().map(|(name, file)| (OsString::from(name), vec![file.clone()])).collect();
        Search { named: Vec::new(), cache }
    }

    /// A library of this machine, in a folder and by a name of ours.
    fn library(folder: &Path, name: &str) -> PathBuf {
        let all = Search::new().libraries(Path::new("/x"), elf(&["libc.so.6"], &[], &[]));
        let file = folder.join(name);
        std::fs::copy(&all.files[0], &file).unwrap();
        file
    }

    #[test]
    fn libraries_come_with_theirs() {
        let found = Search::new().libraries(Path::new("/x"), elf(&["libc.so.6", "libgone.so.1"], &[], &[]));
        let has = |name: &str| found.files.iter().any(|file| file.ends_with(name));
        assert!(has("libc.so.6") && has("ld-linux-x86-64.so.2"), "{found:?}");
        assert_eq!(found.missing, Some("libgone.so.1".into()));
    }

    /// The libraries that the dynamic linker itself lists.
    fn listed(program: &Path) -> HashSet<PathBuf> {
        let list = Command::new(LINKER).arg("--list").arg(program).output().unwrap();
        let text = String::from_utf8(list.stdout).unwrap();
        let words = text.split_whitespace().filter(|word| word.starts_with('/'));
        words.filter_map(|word| Path::new(word).canonicalize().ok()).collect()
    }

    #[test]
    fn libraries_are_those_that_the_dynamic_linker_lists() {
        if !Path::new(LINKER).exists() {
            return eprintln!("SKIPPED, because there is no {LINKER} (Debian's package libc6)");
        }
        let search = Search::new();
        let mut compared = 0;
        let programs = std::fs::read_dir("/usr/bin").unwrap().map(|entry| entry.unwrap().path());
        for program in programs {
            let Ok(program) = program.canonicalize() else { continue };
            let Some(elf) = ElfFile::read(&program).usable().filter(|elf| elf.interpreter.is_some()) else {
                continue;
            };
            let found = search.libraries(&program, elf).files;
            let found: HashSet<PathBuf> = found.iter().filter_map(|file| file.canonicalize().ok()).collect();
            let expected = listed(&program);
            // Builds for newer processors, which a program can do without.
            if expected.iter().any(|file| file.to_string_lossy().contains("glibc-hwcaps")) {
                continue;
            }
            assert_eq!(found, expected, "{}", program.display());
            compared += 1;
            if compared == COMPARED {
                return;
            }
        }
    }

    #[test]
    fn folders_are_searched_in_the_order_of_the_dynamic_linker() {
        let folder = tempfile::tempdir().unwrap();
        let [origin, other] = ["lib", "other"].map(|name| folder.path().join(name));
        for folder in [&origin, &other] {
            std::fs::create_dir(folder).unwrap();
        }
        let (near, far) = (library(&origin, "libours.so"), library(&other, "libours.so"));
        let program = folder.path().join("program");
        let first = |search: &Search, elf| search.libraries(&program, elf).files[0].clone();
        let cached = search(&[("libours.so", far.clone())]);
        assert_eq!(first(&cached, elf(&["libours.so"], &[], &["$ORIGIN/lib"])), near);
        assert_eq!(first(&cached, elf(&["libours.so"], &["${ORIGIN}/lib"], &[])), near);
        assert_eq!(first(&cached, elf(&["libours.so"], &[], &[])), far);
        let named = Search { named: vec![other], ..search(&[]) };
        assert_eq!(first(&named, elf(&["libours.so"], &[], &["$ORIGIN/lib"])), far);
        assert_eq!(first(&named, elf(&["libours.so"], &["$ORIGIN/lib"], &[])), near);
        assert_eq!(first(&search(&[]), elf(&[&near.to_string_lossy()], &[], &[])), near);
    }

    #[test]
    fn cache_is_read_and_a_damaged_one_is_none() {
        let (name, path) = (HEADER + ENTRY, HEADER + ENTRY + 5);
        let mut bytes = [b"old form", MAGIC].concat();
        bytes.extend(1u32.to_le_bytes());
        bytes.resize(8 + HEADER, 0);
        for number in [0, name as u32, path as u32, 0, 0, 0] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"a.so\0/x/a.so\0");
        let found = entries(&bytes).unwrap();
        assert_eq!(found[OsStr::new("a.so")], [PathBuf::from("/x/a.so")]);
        for length in 0..bytes.len() {
            let _ = entries(&bytes[..length]);
        }
        assert_eq!(entries(b"nothing"), None);
    }
}
