//! Where results go: texts to standard output, images and blobs to files, everything to the place that `--out` names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::commands::{Done, finish, server};

/// An empty directory, and what commands do in it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-out-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn run(&self, line: &str) -> String {
        let Done { out, err, code } = finish(server().args(line.split(' ')).current_dir(&self.0), "");
        assert_eq!(code, 0, "{line}: {err}");
        out
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap()
    }
}

#[test]
fn images_and_blobs_go_to_files_that_do_not_exist_yet() {
    let folder = Folder::new("new");
    let here = Path::new(".").join("draw-1.png");
    assert_eq!(folder.run("call draw"), format!("a dot:\n{} (image/png, 16 bytes)\n", here.display()));
    assert!(folder.run("call draw").contains("draw-2.png"));
    assert_eq!(folder.files(), ["draw-1.png", "draw-2.png"]);
    assert_eq!(folder.read("draw-1.png"), "not really a png");
    let read = server().args(["read", "blob://3"]).stdin(Stdio::null()).output().unwrap();
    assert_eq!(read.stdout, [7, 7, 7]);
}

#[test]
fn several_contents_have_numbered_names() {
    let folder = Folder::new("several");
    let out = folder.run("call gallery --out dots.png");
    assert_eq!(
        out,
        "dots.png (image/png, 9 bytes)\ndots-2.jpg (image/jpeg, 10 bytes)\ndots-2.txt (text/plain, 9 bytes)\n"
    );
    assert_eq!(folder.files(), ["dots-2.jpg", "dots-2.txt", "dots.png"]);
    assert_eq!(folder.read("dots.png"), "the first");
    assert_eq!(folder.read("dots-2.jpg"), "the second");
    assert_eq!(folder.read("dots-2.txt"), "two dots:");
    // The named file is replaced, others are not.
    folder.run("call gallery --out dots.png");
    assert_eq!(folder.files(), ["dots-2.jpg", "dots-2.txt", "dots-3.jpg", "dots-3.txt", "dots.png"]);
}

#[test]
fn texts_and_json_are_written_too() {
    let folder = Folder::new("texts");
    assert_eq!(
        folder.run("call essay --out essay.md"),
        "essay.md (text/plain, 16 bytes)\nessay-2.md (text/plain, 10 bytes)\n"
    );
    assert_eq!(
        (folder.read("essay.md").as_str(), folder.read("essay-2.md").as_str()),
        ("in the beginning", "in the end")
    );
    folder.run("call give tags=x --out given.json");
    assert!(folder.read("given.json").contains("\"tags\""));
    folder.run("call add a=1 --raw -o raw");
    assert!(folder.read("raw").contains("\"content\""));
    folder.run("read text://note -o note");
    assert_eq!(folder.read("note"), "milk\u{1b}[31m", "as the server sent it");
    folder.run("get summary style=short -o prompt.txt");
    assert_eq!(folder.read("prompt.txt"), "Summarise, short, false.");
}

#[test]
fn directory_gets_everything_under_new_names() {
    let folder = Folder::new("directory");
    fs::create_dir(folder.0.join("there")).unwrap();
    folder.run("call gallery -o there");
    let there = Folder(folder.0.join("there"));
    assert_eq!(there.files(), ["gallery-1.jpg", "gallery-1.png", "gallery-1.txt"]);
}

#[test]
fn failure_is_told_and_not_written() {
    let folder = Folder::new("failure");
    let Done { err, code, .. } = finish(server().args(["call", "fail", "-o", "x"]).current_dir(&folder.0), "");
    assert!(code == 1 && err.contains("out of paper"), "{err}");
    assert!(folder.files().is_empty());
}
