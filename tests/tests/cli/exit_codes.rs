//! Exit codes: the table of docs/cli.md, row by row.

use crate::commands::{Done, run};

/// Command lines, their exit codes, and what is said on standard error.
const TABLE: &[(&str, i32, &str)] = &[
    ("call add a=1", 0, ""),
    ("read text://note", 0, ""),
    ("get summary style=short", 0, ""),
    ("complete summary loud=t", 0, ""),
    ("tools", 0, ""),
    // The tool failed.
    ("call fail", 1, "error: out of paper"),
    ("call order --answer decline", 1, "declined"),
    ("lint", 1, ""),
    ("call draw -o /does/not/exist/x.png", 1, "cannot write a file"),
    // The command line is wrong.
    ("cal add", 2, "did you mean `call`?"),
    ("call add --jsn x", 2, "--jsn"),
    ("call add", 2, "`a` is missing: add `a=…`"),
    ("call add a=x", 2, "`a`: expected an integer, not `x`"),
    ("call add --revision 1999-01-01", 2, "1999-01-01"),
    ("read", 2, "write `read URI`"),
    ("get summary", 2, "the prompt `summary` needs `style`: add `style=…`"),
    // It names what the server does not have.
    ("call ad a=1", 2, "no tool `ad`; did you mean `add`?"),
    ("tools ad", 2, "no tool `ad`; did you mean `add`?"),
    ("get sumary style=x", 2, "did you mean `summary`?"),
    ("prompts sumary", 2, "did you mean `summary`?"),
    ("read nothing://here", 2, "nothing://here"),
    ("resources nothing://here", 2, "no resource `nothing://here`"),
    ("complete sumary loud=t", 2, "sumary"),
    // The server answers with an error, or not in time.
    ("get broken", 3, "no words"),
    ("call hang --timeout 0.5", 3, "no answer within 0.5 s"),
];

#[test]
fn every_row_of_the_table_holds_in_every_revision() {
    for (line, expected, hint) in TABLE {
        let revisions: &[&str] = match line.split(' ').next() {
            Some("call" | "read" | "get" | "complete") if !line.contains("--revision") => {
                &[" --revision 2024-11-05", " --revision 2025-11-25", " --revision 2026-07-28"]
            }
            _ => &[""],
        };
        for revision in revisions {
            // Elicitations came later.
            if revision.ends_with("2024-11-05") && line.contains("order") {
                continue;
            }
            let Done { out, err, code } = run(&format!("{line}{revision}"));
            assert_eq!(code, *expected, "{line}{revision}: {out}{err}");
            assert!(err.contains(hint), "{line}{revision}: {err}");
        }
    }
}

#[test]
fn page_of_the_docs_has_every_code() {
    let page = include_str!("../../../mcp-runtime/docs/cli.md");
    let (_, table) = page.split_once("| exit code |").expect("a table of exit codes");
    let rows: Vec<&str> = table.lines().skip(2).take_while(|line| line.starts_with('|')).collect();
    let codes: Vec<i32> = rows.iter().filter_map(|row| row.split('|').nth(1)?.trim().parse().ok()).collect();
    assert_eq!(codes, [0, 1, 2, 3, 130]);
    for (line, code, _) in TABLE {
        assert!(codes.contains(code), "{line}");
    }
}
