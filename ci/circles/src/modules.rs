//! The modules of one crate, as its source files declare them, and the names that each file uses.

use crate::tokens::{self, Path, Seen};
use proc_macro2::TokenStream;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path as File, PathBuf};

/// All modules that the root file of a crate reaches through `mod`, without those that only tests have.
#[derive(Debug, Default)]
pub struct Modules {
    all: Vec<Module>,
}

/// A module: a file, or a block in a file.
#[derive(Debug)]
struct Module {
    /// Index of the file; the root file has 0. A module in a block has the index of the file around it.
    file: usize,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    seen: Seen,
}

/// The target of a path.
enum Named {
    Module(usize),
    /// An item that this module defines.
    Item(usize),
}

/// A chain of re-exports longer than this never ends.
const MAX_REEXPORTS: usize = 16;

impl Modules {
    /// Reads the crate whose root file is `root`. Returns the crate's files too, in the order of their indices.
    pub fn read(root: &File) -> io::Result<(Modules, Vec<PathBuf>)> {
        let mut modules = Modules::default();
        let mut files = vec![root.to_owned()];
        let folder = root.parent().unwrap_or(File::new("")).to_owned();
        let stream = parse(root)?;
        modules.add(None, 0, stream, &folder, &folder, &mut files)?;
        Ok((modules, files))
    }

    /// Adds a module and its children. `folder` is where the files of its children are; `beside` is the folder of its own
    /// file, to which `#[path]` is relative.
    fn add(
        &mut self,
        parent: Option<usize>,
        file: usize,
        stream: TokenStream,
        folder: &File,
        beside: &File,
        files: &mut Vec<PathBuf>,
    ) -> io::Result<usize> {
        let (seen, declared) = tokens::scan(stream);
        let number = self.all.len();
        self.all.push(Module { file, parent, children: BTreeMap::new(), seen });
        for child in declared {
            let below = folder.join(&child.name);
            let added = match child.block {
                Some(block) => self.add(Some(number), file, block, &below, beside, files)?,
                None => {
                    let (path, folder) = match child.path {
                        Some(path) => (beside.join(path), None),
                        None if below.with_extension("rs").exists() => (below.with_extension("rs"), None),
                        None => (below.join("mod.rs"), Some(below)),
                    };
                    let folder = folder.unwrap_or_else(|| path.with_extension(""));
                    let beside = path.parent().unwrap_or(File::new("")).to_owned();
                    let stream = parse(&path)?;
                    files.push(path);
                    self.add(Some(number), files.len() - 1, stream, &folder, &beside, files)?
                }
            };
            self.all[number].children.insert(child.name, added);
        }
        Ok(number)
    }

    /// Returns the files that each file uses, without the files of its ancestors.
    pub fn uses(&self, files: usize) -> Vec<BTreeSet<usize>> {
        let mut uses = vec![BTreeSet::new(); files];
        for (number, module) in self.all.iter().enumerate() {
            for path in &module.seen.paths {
                let Some(named) = self.resolve(number, path, 0) else { continue };
                let (Named::Module(used) | Named::Item(used)) = named;
                let used = self.all[used].file;
                if !self.is_inside(number, used) {
                    uses[module.file].insert(used);
                }
            }
        }
        uses
    }

    /// Returns whether the file holds this module or one of its ancestors.
    fn is_inside(&self, module: usize, file: usize) -> bool {
        let mut around = std::iter::successors(Some(module), |&at| self.all[at].parent);
        around.any(|at| self.all[at].file == file)
    }

    /// Returns the target of a path in `module`; `None` if the path does not begin with a name of this crate.
    fn resolve(&self, module: usize, path: &Path, reexports: usize) -> Option<Named> {
        let mut at = module;
        for (index, name) in path.iter().enumerate() {
            at = match name.as_str() {
                "crate" => 0,
                "self" => at,
                "super" => self.all[at].parent?,
                name => match self.lookup(at, name, path.len() - index > 1, reexports) {
                    Some(Named::Module(next)) => next,
                    Some(item) => return Some(item),
                    None if index == 0 => return None,
                    // A macro defines the name.
                    None => return Some(Named::Item(at)),
                },
            };
        }
        Some(Named::Module(at))
    }

    /// Returns where a name of a module is defined, behind all re-exports.
    fn lookup(&self, at: usize, name: &str, has_more: bool, reexports: usize) -> Option<Named> {
        let module = &self.all[at];
        let is_defined = module.seen.items.contains(name);
        match module.children.get(name) {
            Some(&child) if has_more || !is_defined => return Some(Named::Module(child)),
            _ if is_defined => return Some(Named::Item(at)),
            _ if reexports > MAX_REEXPORTS => return None,
            _ => {}
        }
        let other = |path: &&Path| path.first().is_some_and(|first| first != name);
        if let Some(path) = module.seen.names.get(name).filter(other) {
            return self.resolve(at, path, reexports + 1);
        }
        module.seen.globs.iter().find_map(|glob| match self.resolve(at, glob, reexports + 1)? {
            Named::Module(source) if source != at => self.lookup(source, name, has_more, reexports + 1),
            _ => None,
        })
    }
}

fn parse(path: &File) -> io::Result<TokenStream> {
    let text = std::fs::read_to_string(path)
        .map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", path.display())))?;
    text.parse().map_err(|e| io::Error::other(format!("{}: {e}", path.display())))
}
