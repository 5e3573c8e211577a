//! Every transcript in `transcripts/`, a test each: `build.rs` writes them. Files in a folder that is named like
//! another server of the fixture's run against that server.

use std::path::Path;

use mcp_tests::{fixture, transcript};

include!(concat!(env!("OUT_DIR"), "/transcripts.rs"));

/// Runs one transcript, whose path is relative to this package.
async fn check(file: &str) {
    let folder = Path::new(file).parent().and_then(Path::file_name).and_then(|folder| folder.to_str());
    let server = match folder {
        Some("only_tools") => fixture::only_tools(),
        Some("completing") => fixture::completing(),
        Some("talkative") => fixture::talkative(),
        Some("changing") => fixture::changing(),
        Some("growing") => fixture::growing(),
        Some("watching") => fixture::watching(),
        Some("paged") => fixture::paged(),
        Some("guarded") => fixture::guarded(),
        Some("own") => fixture::own(),
        Some("asking") => fixture::asking(),
        Some("working") => fixture::working(),
        _ => fixture::server(),
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if let Err(difference) = transcript::run(&path, server).await {
        panic!("{difference}");
    }
}
