//! Every transcript in `transcripts/`, against the fixture; those in a folder that is named like another
//! server of the fixture's, against that.

use std::path::{Path, PathBuf};

use mcp_tests::{fixture, transcript};

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] })
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

#[tokio::test]
async fn every_transcript_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let files = files(&root);
    assert!(files.len() >= 5, "where are the transcripts?");
    let mut failures = Vec::new();
    for file in &files {
        let server = match file.parent().and_then(Path::file_name).and_then(|folder| folder.to_str()) {
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
        failures.extend(transcript::run(file, server).await.err());
    }
    assert!(failures.is_empty(), "{} of {} transcripts differ\n{}", failures.len(), files.len(), failures.join("\n"));
}
