//! The pages for a browser.

use super::profile_name::ProfileName;
use super::response::Response;
use std::fmt::Write;

const HTML: &str = "text/html; charset=utf-8";

/// The page of `/`.
pub fn home() -> Response {
    let page = "<html>\n<head><title>unspin meter</title></head>\n<body>\n\
                <p><a href=\"/debug/pprof/\">/debug/pprof/</a>: who waited for locks, and who made them wait</p>\n\
                <p><a href=\"/metrics\">/metrics</a>: counters of locks for Prometheus</p>\n</body>\n</html>\n";
    Response::new(HTML, page)
}

/// The page of `/debug/pprof/`, with the number of stacks of each profile.
pub fn profiles(counts: &[(ProfileName, usize)]) -> Response {
    let mut page = String::from(
        "<html>\n<head>\n<title>/debug/pprof/</title>\n<style>\n.profile-name{\n\tdisplay:inline-block;\n\twidth:6rem;\n}\n\
         </style>\n</head>\n<body>\n/debug/pprof/\n<br>\n<p>Set debug=1 as a query parameter to export in legacy text format</p>\n\
         <br>\nTypes of profiles available:\n<table>\n<thead><td>Count</td><td>Profile</td></thead>\n",
    );
    for (profile, count) in counts {
        let name = profile.name();
        _ = writeln!(page, "<tr><td>{count}</td><td><a href='{name}?debug=1'>{name}</a></td></tr>");
    }
    page += "<tr><td></td><td><a href='cmdline'>cmdline</a></td></tr>\n</table>\n<p>Profile Descriptions:\n<ul>\n";
    for (profile, _) in counts {
        let (name, meaning) = (profile.name(), profile.meaning());
        _ = writeln!(page, "<li><div class=profile-name>{name}: </div> {meaning}</li>");
    }
    page += "<li><div class=profile-name>cmdline: </div> The command line of the program.</li>\n</ul>\n</p>\n</body>\n</html>\n";
    Response::new(HTML, page)
}
