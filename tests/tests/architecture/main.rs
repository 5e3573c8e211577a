//! The architecture of the crates, read from their sources: which folder may import which, where cycles may be, how
//! large a file may grow, and who may ask for a revision of the protocol.

mod document;
mod graph;
mod rules;
mod rules_tests;
mod source;

use std::sync::LazyLock;

use crate::graph::edges;
use crate::rules::Folder;
use crate::source::Source;

static RUNTIME: LazyLock<Vec<Source>> = LazyLock::new(|| source::read("mcp-runtime/src"));
static MACROS: LazyLock<Vec<Source>> = LazyLock::new(|| source::read("mcp-macros/src"));
static REDIS: LazyLock<Vec<Source>> = LazyLock::new(|| source::read("mcp-redis/src"));

/// The modules that know each other: a handler has a `Context`, a `Context` has the server's handle, the server holds
/// the handlers; `ask` and `task` hang on the same call.
const HEART: &[&str] = &["server", "handler", "catalog", "call", "ask", "task"];

/// The order of the folders, along the line of a message: each may import from the lines below its own.
const ORDER: &[&[&str]] = &[
    &["cli"],
    &["testing"],
    &["client"],
    &["transport"],
    &["layers"],
    &["dispatch"],
    &["subscription"],
    HEART,
    &["lint"],
    &["surface"],
    &["era"],
    &["outcome"],
    &["store"],
    &["observe"],
    &["auth", "throttle"],
    &["protocol"],
    &["schema"],
    &["error", "suggest"],
    &["jsonrpc"],
    &["limits", "panic", "random", "sort", "sync"],
];

/// What each folder imports, and why. Those that import none are not listed.
const FOLDERS: &[Folder] = &[
    Folder {
        name: "cli",
        why: "the command line of a server: it serves, runs commands on a client of its own server, or examines one",
        imports: "client server lint surface auth schema protocol error suggest jsonrpc",
    },
    Folder {
        name: "testing",
        why: "assertions about servers and stores; it exports the client",
        imports: "client server lint surface store protocol error random sync",
    },
    Folder {
        name: "client",
        why: "a client, in memory or over streams: it drives a transport and reads the server's messages",
        imports: "transport server era store auth protocol error jsonrpc sync",
    },
    Folder {
        name: "transport",
        why: "bytes in, bytes out: it holds connections and sessions, and hands messages to dispatch",
        imports: "dispatch subscription server handler call era outcome store observe auth throttle protocol error jsonrpc \
                  limits panic random sync",
    },
    Folder {
        name: "schema",
        why: "what a type demands of a value, and whether a value complies; near misses are suggested",
        imports: "suggest jsonrpc sort",
    },
    Folder {
        name: "dispatch",
        why: "from a message to its handler: it knows every kind of call",
        imports: "subscription server handler catalog call ask task era outcome store observe auth throttle protocol error jsonrpc \
                  limits panic sync",
    },
    Folder {
        name: "layers",
        why: "middleware that is ready to use: it knows calls by what every layer sees of them",
        imports: "server handler protocol error jsonrpc random sync",
    },
    Folder {
        name: "subscription",
        why: "which client is told of which change of the catalog or of a task",
        imports: "catalog call task era store jsonrpc sync",
    },
    Folder {
        name: "server",
        why: "the builder and the state that is served: it holds handlers, calls and tasks",
        imports: "handler catalog call ask task lint surface era store observe auth throttle protocol error jsonrpc limits panic sync",
    },
    Folder {
        name: "handler",
        why: "an annotated function: its builders name `Context`",
        imports: "call outcome auth throttle protocol schema error suggest jsonrpc panic",
    },
    Folder {
        name: "catalog",
        why: "what is offered: the handlers, and their lists per revision",
        imports: "handler era outcome protocol schema error jsonrpc",
    },
    Folder {
        name: "call",
        why: "one call from the inside: a `Context` reaches the server, asks, and may become a task",
        imports: "server catalog ask task era outcome observe auth throttle protocol error jsonrpc panic sync",
    },
    Folder {
        name: "ask",
        why: "questions to the client, in the middle of a call or a task",
        imports: "call task era outcome store observe auth protocol schema error jsonrpc limits random sort sync",
    },
    Folder {
        name: "task",
        why: "calls that outlive their response: it runs a handler, and stores its outcome",
        imports: "server handler catalog call ask era outcome store auth protocol jsonrpc panic random sync",
    },
    Folder {
        name: "lint",
        why: "what models and clients stumble over in a surface",
        imports: "surface protocol suggest",
    },
    Folder { name: "surface", why: "what a server offers, in wire types, to be compared", imports: "protocol" },
    Folder {
        name: "era",
        why: "how the revisions differ: it reads requests, and writes outcomes and stored tasks",
        imports: "outcome store protocol schema error jsonrpc sort",
    },
    Folder {
        name: "outcome",
        why: "what comes of a request: a result, a question, a task or a failure",
        imports: "store auth throttle protocol schema jsonrpc",
    },
    Folder {
        name: "auth",
        why: "who calls, and what they may call: tokens, which are JSON from strangers, to users, scopes to refusals",
        imports: "error jsonrpc panic sync",
    },
    Folder {
        name: "store",
        why: "records that replicas share, in wire types; stores are user code",
        imports: "limits panic random protocol error sort sync",
    },
    Folder {
        name: "observe",
        why: "what observers are told of requests: bounded, and borrowed",
        imports: "protocol jsonrpc sync",
    },
    Folder {
        name: "throttle",
        why: "how often, and how many at once: who is counted, and the JSON-RPC error of whoever has to wait",
        imports: "jsonrpc sync",
    },
    Folder { name: "protocol", why: "wire types, and why one was rejected", imports: "error jsonrpc" },
    Folder { name: "error", why: "a handler's error becomes a JSON-RPC error", imports: "jsonrpc" },
    Folder { name: "suggest", why: "adds a suggestion to a JSON-RPC error", imports: "jsonrpc sort" },
];

/// The files of the heart's cycle.
const HEART_FILES: usize = 31;

/// The cycles of files outside the heart: each of them one part in several files.
const CYCLES: &[&[&str]] = &[
    // The test client, its builder, and the script that answers for it.
    &["client/builder.rs", "client/mod.rs", "client/pipe.rs", "client/rounds.rs"],
    // The encoder: its table of what each revision drops, and the writers that follow it.
    &["era/encode/failure.rs", "era/encode/mod.rs", "era/encode/result.rs", "era/encode/task.rs"],
    // The two eras, and the choice between them.
    &["era/legacy.rs", "era/mod.rs", "era/modern.rs"],
    // The methods of tasks are routes of the router.
    &["dispatch/router.rs", "dispatch/tasks/mod.rs"],
];

const FILES_PER_FOLDER: usize = 12;
const LINES_PER_FILE: usize = 400;

/// Files that may be longer, and why.
const LONG: &[(&str, &str)] = &[];

/// Code that may ask for a revision: `era`, the type itself, and the contract's records, which name one to be stored.
const ASK_FOR_REVISIONS: &[&str] = &["era/", "protocol/revision.rs", "testing/contract/"];

/// Code outside of these that asks for a revision: the file, the words, and why it still does.
const KNOWN: &[(&str, &str, &str)] = &[];

fn hold(rule: &str, violations: &[String]) {
    assert!(violations.is_empty(), "\n{rule}\n\n    {}\n", violations.join("\n    "));
}

#[test]
fn folders_import_in_the_order_of_a_message() {
    hold(
        "Rule: a folder imports only from the folders below it (ORDER), and only those it lists (FOLDERS).",
        &rules::imports(&edges(&RUNTIME), ORDER, HEART, FOLDERS),
    );
}

#[test]
fn cycles_stay_within_the_heart_or_a_folder() {
    hold(
        "Rule: files import each other only in the heart's one cycle (HEART) and in the listed ones (CYCLES).",
        &rules::cycles(&edges(&RUNTIME), HEART, HEART_FILES, CYCLES),
    );
}

#[test]
fn redis_has_no_cycles_of_files() {
    hold("Rule: the files of mcp-redis do not import each other.", &rules::cycles(&edges(&REDIS), &[], 0, &[]));
}

#[test]
fn files_and_folders_stay_small() {
    let shape = |sources| rules::shape(sources, FILES_PER_FOLDER, LINES_PER_FILE, LONG);
    hold(
        "Rule: small folders, files that begin with `//!`, no long files (LONG).",
        &[shape(&RUNTIME), shape(&MACROS), shape(&REDIS)].concat(),
    );
}

#[test]
fn only_era_asks_for_a_revision() {
    hold("Rule: `era` alone knows how the revisions differ.", &rules::revisions(&RUNTIME, ASK_FOR_REVISIONS, KNOWN));
}

#[test]
fn types_of_a_folder_have_names_of_their_own() {
    let names = [&RUNTIME, &MACROS, &REDIS].map(|sources| rules::names(sources)).concat();
    hold("Rule: a name means one type in a folder.", &names);
}
