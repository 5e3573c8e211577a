//! A generated project: cargo commands on it, the CPU time they take, and the sizes of what they build.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use crate::generate::{self, Framework};
use crate::report::Metric;
use crate::{Result, report::Figure};

/// `times` and `/proc` count in hundredths of a second, on every machine that Linux runs on.
const TICKS_PER_SECOND: f64 = 100.0;

pub struct Project {
    directory: PathBuf,
}

impl Project {
    /// Generates it beside the other output of the benches.
    pub fn generate(framework: Framework) -> Result<Self> {
        let own = std::env::current_exe()?;
        let target = own.parent().and_then(Path::parent).ok_or("compile-bench is not in a target directory")?;
        let directory = target.join("compile").join(framework.name());
        generate::write(framework, &directory)?;
        Ok(Project { directory })
    }

    /// Cargo's own profiles, whatever the environment says.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("CARGO_PROFILE_")) {
                command.env_remove(&name);
            }
        }
        // A touched crate is compiled, not recognized as unchanged.
        command.env("CARGO_INCREMENTAL", "0").env("CARGO_TARGET_DIR", self.directory.join("target"));
        command.args(arguments).current_dir(&self.directory).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Result<()> {
        let output = self.cargo(arguments).output()?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(format!("`cargo {}` failed:\n{text}", arguments.join(" ")).into());
        }
        Ok(())
    }

    pub fn build_release(&self, package: &str) -> Result<()> {
        self.run(&["build", "--release", "--package", package])
    }

    /// The CPU seconds of cargo and all compilers it starts, user and system.
    pub fn compile(&self, metric: Metric, package: &str) -> Result<Figure> {
        let arguments: &[&str] = match metric {
            Metric::Check => &["check", "--package", package],
            Metric::Build => &["build", "--package", package],
            Metric::Release | Metric::Clean => &["build", "--release", "--package", package],
            Metric::Crates | Metric::Hello | Metric::Tool => return Err(format!("{metric} is not a time").into()),
        };
        let before = children_ticks()?;
        self.run(arguments)?;
        Ok((children_ticks()? - before) / TICKS_PER_SECOND)
    }

    /// Makes a package look as if it had been changed.
    pub fn touch(&self, package: &str) -> Result<()> {
        let source = self.directory.join(package).join("src/main.rs");
        Ok(File::options().append(true).open(source)?.set_modified(SystemTime::now())?)
    }

    /// Removes everything that was built.
    pub fn clean(&self) -> Result<()> {
        Ok(fs::remove_dir_all(self.directory.join("target"))?)
    }

    /// How many crates are linked into a package, itself included, or run at compile time for it.
    pub fn crates(&self, package: &str) -> Result<Figure> {
        let arguments = ["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--format", "{p}"];
        let output = self.cargo(&arguments).stderr(Stdio::inherit()).output()?;
        if !output.status.success() {
            return Err("`cargo tree` failed".into());
        }
        let text = String::from_utf8(output.stdout)?;
        // Without the path of a local crate, and the mark of a crate that was listed before.
        let crates: BTreeSet<&str> = text.lines().filter_map(|line| line.split(" (").next()).collect();
        count(crates.len() as u64)
    }

    /// Bytes of a release binary without symbols, which is what people ship.
    pub fn stripped_size(&self, package: &str) -> Result<Figure> {
        let binary = self.directory.join("target/release").join(package);
        let stripped = binary.with_extension("stripped");
        let status = Command::new("strip").arg("-o").arg(&stripped).arg(&binary).status()?;
        if !status.success() {
            return Err(format!("strip failed on {}", binary.display()).into());
        }
        count(fs::metadata(&stripped)?.len())
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the last expression of functions that can fail")]
#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^52 crates and bytes")]
fn count(number: u64) -> Result<Figure> {
    Ok(number as Figure)
}

/// The CPU time of all children that have ended, and of theirs, in clock ticks.
fn children_ticks() -> Result<Figure> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the name, in brackets, and may contain spaces. `cutime` and `cstime` are fields 16 and 17.
    let (_, rest) = stat.rsplit_once(')').ok_or("/proc/self/stat has no name")?;
    let mut fields = rest.split_ascii_whitespace().skip(13);
    let (user, system) = (fields.next().ok_or("no cutime")?, fields.next().ok_or("no cstime")?);
    count(user.parse::<u64>()? + system.parse::<u64>()?)
}
