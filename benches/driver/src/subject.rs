//! The servers under comparison: their names, how they are built, how they are started.

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Result, options::Options};

/// The package of our framework with authorization.
const AUTHORIZED: &str = "ours-auth";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Floor,
    Ours,
    Rmcp,
    RmcpTuned,
}

impl Subject {
    pub const ALL: [Self; 4] = [Self::Floor, Self::Ours, Self::Rmcp, Self::RmcpTuned];

    pub fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ours => "ours",
            Self::Rmcp => "rmcp",
            Self::RmcpTuned => "rmcp-tuned",
        }
    }

    fn package(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::Ours => "ours",
            Self::Rmcp | Self::RmcpTuned => "rmcp-server",
        }
    }

    fn http_package(self) -> &'static str {
        match self {
            Self::Floor => "floor-http",
            Self::Ours => "ours-http",
            Self::Rmcp | Self::RmcpTuned => "rmcp-http",
        }
    }

    pub fn program(self) -> Result<Program> {
        match self {
            Self::Floor => Program::find("floor"),
            Self::Ours => Program::find("ours"),
            Self::Rmcp => Program::find("rmcp-server"),
            Self::RmcpTuned => Program::find("rmcp-tuned"),
        }
    }

    /// The same server over HTTP; it takes the address to listen on.
    pub fn http_program(self) -> Result<Program> {
        match self {
            Self::Floor => Program::find("floor-http"),
            Self::Ours => Program::find("ours-http"),
            Self::Rmcp => Program::find("rmcp-http"),
            Self::RmcpTuned => Program::find("rmcp-http-tuned"),
        }
    }

    /// Whether it keeps sessions over HTTP.
    pub fn has_sessions(self) -> bool {
        matches!(self, Self::Ours | Self::Rmcp)
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A built server with its arguments.
pub struct Program {
    path: PathBuf,
    arguments: Vec<String>,
}

impl Program {
    fn find(file: &str) -> Result<Self> {
        let path = release_directory()?.join(file);
        if !path.is_file() {
            return Err(format!("`{file}` has not been built").into());
        }
        Ok(Self { path, arguments: Vec::new() })
    }

    /// Our framework with `add` among that many other tools.
    pub fn ours_among(others: usize) -> Result<Self> {
        let mut program = Self::find("ours-many")?;
        program.arguments = vec!["--tools".to_owned(), others.to_string()];
        Ok(program)
    }

    /// Our framework with this of what operators need.
    pub fn ours_operated(mode: &str) -> Result<Self> {
        let mut program = Self::find("operated")?;
        program.arguments = vec![mode.to_owned()];
        Ok(program)
    }

    /// Our framework over HTTP, for callers with tokens like this one, or signed with one of these keys.
    pub fn ours_authorized(kind: &str, secret: &str) -> Result<Self> {
        let mut program = Self::find("ours-auth")?;
        program.arguments = vec![kind.to_owned(), secret.to_owned()];
        Ok(program)
    }

    /// The signature of a token alone; it takes how often to verify it.
    pub fn signature(arguments: [&str; 3]) -> Result<Self> {
        let mut program = Self::find("signature")?;
        program.arguments = arguments.map(str::to_owned).into();
        Ok(program)
    }

    /// Size without symbols and debug information, which is what people ship.
    pub fn stripped_size(&self) -> Result<f64> {
        let stripped = scratch_file("stripped");
        let status = Command::new("strip").arg("-o").arg(&stripped).arg(&self.path).status()?;
        if !status.success() {
            return Err(format!("strip failed on {}", self.path.display()).into());
        }
        let size = fs::metadata(&stripped)?.len();
        fs::remove_file(&stripped)?;
        #[expect(clippy::cast_precision_loss, reason = "binaries are smaller than 2^52 bytes")]
        Ok(size as f64)
    }

    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments);
        command
    }

    /// The same, run by another program such as valgrind.
    pub fn run_by(&self, mut other: Command) -> Command {
        other.arg(&self.path).args(&self.arguments);
        other
    }
}

/// Builds one package per cargo call: building them together would unify the features of shared dependencies,
/// and each server would carry what only another one asked for.
pub fn build(subjects: &[Subject], options: &Options) -> Result<()> {
    let stdio = subjects.iter().filter(|_| options.stdio).map(|subject| subject.package());
    let http = subjects.iter().filter(|_| options.http).map(|subject| subject.http_package());
    let authorized = subjects.iter().filter(|subject| options.http && **subject == Subject::Ours).map(|_| AUTHORIZED);
    let mut packages: Vec<&str> = stdio.chain(http).chain(authorized).collect();
    packages.dedup();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    // What `cargo run` says of the driver; build scripts of dependencies look at it, and would be run again.
    let about_driver = |name: &OsStr| {
        name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
    };
    let inherited: Vec<OsString> = env::vars_os().map(|(name, _)| name).filter(|name| about_driver(name)).collect();
    for package in packages {
        let mut build = Command::new(&cargo);
        build.args(["build", "--release", "--package", package]).current_dir(env!("CARGO_MANIFEST_DIR"));
        for name in &inherited {
            build.env_remove(name);
        }
        let status = build.status()?;
        if !status.success() {
            return Err(format!("`{package}` does not build").into());
        }
    }
    Ok(())
}

/// A unique file name for the output of a tool.
pub fn scratch_file(what: &str) -> PathBuf {
    env::temp_dir().join(format!("mcp-bench-{}-{what}", std::process::id()))
}

/// The release binaries are beside the driver's own profile directory, wherever the target directory is.
fn release_directory() -> Result<PathBuf> {
    let own = env::current_exe()?;
    let target = own.parent().and_then(Path::parent).ok_or("the driver is not in a target directory")?;
    Ok(target.join("release"))
}
