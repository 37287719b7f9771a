#!/usr/bin/env bash
# The pages of results in a headless Chromium: nothing is loaded, no script runs, no message on the console; axe-core finds no
# violation, in light and dark; the keyboard reaches everything, and the focus is seen; on a phone the page does not scroll sideways.
#
#   ci/page.sh            makes the pages of the tests of crates/page, and checks them, and the check itself by planted bugs
#   ci/page.sh --all      with those pages, too, that are much like others
#   ci/page.sh FOLDER     checks the pages in a folder, and writes pictures of all
#
# Pictures in light and dark, of the width of a phone, and as a PDF are written to target/page/pictures.
source "$(dirname "$0")/lib.sh"

place=$target/page
axe=$place/node/node_modules/axe-core/axe.min.js
# Pages that are like those of users: their pictures are kept.
ordinary=herd,meter,lenses,scale,compare,combine
# Pages that are much like others, or large.
seldom='^(many|older|extreme|runs-[15]|counts|held|no-time|processes|lens-(futex|kernel|lost|none)|scale-(few|held|missed.*|unchecked|wide))$'

chromium=$(command -v chromium) || skip "there is no chromium: ci/setup.sh installs it"
for program in node npm; do
    command -v "$program" >/dev/null || skip "there is no $program: ci/setup.sh installs it"
done
mkdir -p "$place/node" "$place/pictures"
if ! cmp -s ci/page/package-lock.json "$place/node/package-lock.json" || [ ! -e "$axe" ]; then
    cp ci/page/package.json ci/page/package-lock.json "$place/node"
    npm ci --silent --ignore-scripts --no-audit --no-fund --prefix "$place/node" ||
        { rm -rf "$place/node"; skip "axe-core cannot be installed"; }
fi

check() { # [--pictures=NAMES] PAGE...
    local code=0
    rm -rf "$place/pictures/profile"
    node ci/page/check.mjs "$chromium" "$axe" "$place/pictures" "$@" || code=$?
    rm -rf "$place/pictures/profile"
    return $code
}

# Adds planted bugs to a copy of a page: expressions of sed change it, and the check has to print the texts.
texts=()
plant() { # NAME EXPRESSION TEXT...
    local page=$place/planted/$1.html before
    [ -e "$page" ] || cp "$place/pages/scale.html" "$page"
    before=$(cksum <"$page")
    sed -i -E "$2" "$page"
    [ "$before" != "$(cksum <"$page")" ] || fail "nothing is planted by: $2"
    texts+=("$1.html: |$3")
}

# Bugs that do not hide one another share a page.
plant_all() {
    rm -rf "$place/planted" && mkdir -p "$place/planted"
    plant loads 's|<h1>|<img src="http://localhost:9/x.png" alt="">&|' "request of http://localhost:9/x.png"
    plant loads 's|<h1>|<script>document.title = "x"</script>&|' "security error: Executing inline script"
    plant loads 's|</style>|.soft,figcaption{color:#aaa!important}&|' "axe color-contrast"
    plant loads 's|</style>|svg .small{fill:#bbb}&|' "light: text "
    plant loads 's|</style>|.s1{--c:#9cf}&|' "light: mark "
    plant loads 's|<th class="n" scope="col">|<th class="n">|' "has no scope"
    plant loads 's|<h2 id="measured-heading">(.*)</h2>|<h4 id="measured-heading">\1</h4>|' "follows h2"
    plant loads 's|<h1>|<p style="white-space:nowrap;max-width:none;width:30rem">wide</p>&|' "phone: the page is "
    plant loads 's|<div class="scroll" tabindex="0"|<div class="scroll"|' "and the keyboard does not reach it"
    plant loads 's|</style>|a:focus-visible{outline:none}&|' "does not show the focus"
    plant loads 's|<html lang="en">|<html>|' "axe html-has-lang"
    plant runs 's|<meta http-equiv="Content-Security-Policy"[^>]*>||;s|<h1>|<script>document.title = "x"</script>&|' "a script runs"
    plant runs 's|</style>|@media (prefers-color-scheme:dark){figcaption{color:#444}}&|' "dark: axe color-contrast"
    plant runs 's|<body>|&<a href="#x">first</a>|' "not the link to the contents"
    plant order 's|<a href="#measured">|<a href="#measured" tabindex="2">|' "Tab reaches a \"How this was measured\""
}

planted_bugs_are_found() {
    local output text
    plant_all
    output=$(check "$place"/planted/*.html) && fail "no planted bug was found"
    for text in "${texts[@]}"; do
        grep -F -e "${text%%|*}" <<<"$output" | grep -qF -e "${text#*|}" ||
            { printf '%s\n' "$output" | head -n 60 >&2; fail "the planted bug was not found: $text"; }
    done
    echo "page: ${#texts[@]} planted bugs found"
}

if [ -n "${1:-}" ] && [ "$1" != --all ]; then
    check --pictures=all "$1"/*.html || fail "see above"
    pass "$(ls "$1"/*.html | wc -l) pages in $1; pictures in $place/pictures"
    exit 0
fi
program=$(test_program crates/page suite)
rm -rf "$place/pages" && mkdir -p "$place/pages"
UNSPIN_PAGES=$place/pages "$program" --quiet >"$place/tests.log" 2>&1 || { tail -n 40 "$place/tests.log" >&2; fail "the tests of crates/page fail"; }
planted_bugs_are_found
pages=()
for page in "$place"/pages/*.html; do
    if [ "${1:-}" = --all ] || ! grep -qE "$seldom" <<<"$(basename "$page" .html)"; then pages+=("$page"); fi
done
check --pictures=$ordinary "${pages[@]}" || fail "see above"
pass "${#pages[@]} pages; pictures in $place/pictures"
