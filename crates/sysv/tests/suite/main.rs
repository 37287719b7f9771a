//! The engines against the kernel, against sequential models, and under SIGKILL.

mod common;
mod damage;
mod every_instruction;
mod hostile;
mod kill_storm;
mod namespaces;
mod rust_memory;
mod sequential;
mod smoke;
mod ten_deaths;

// Under this name the fuzz targets have it too.
use sequential::families;
