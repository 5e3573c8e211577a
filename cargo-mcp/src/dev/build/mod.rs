//! [`Builder`]: watches the sources and builds what changed.

mod cargo;
mod stage;
mod watch;

use std::path::PathBuf;
use std::time::Instant;

use tokio::sync::mpsc;

use cargo::Artifact;
pub(crate) use cargo::Project;
use stage::Stage;
use watch::Watch;

use super::options::Target;
use super::report::Report;
use crate::failure::Failure;

/// What came of a build.
#[derive(Debug, Clone)]
pub(crate) enum Built {
    /// A new executable, and when its source was saved.
    New(PathBuf, Instant),
    /// The same executable as before.
    Unchanged,
    /// Cargo failed; the text is for the model.
    Failed { text: String, saved: Instant },
}

/// Builds, waits for a change, and builds again.
#[derive(Debug)]
pub(crate) struct Builder {
    project: Project,
    target: Target,
    stage: Stage,
    watch: Watch,
    report: Report,
    quiet: bool,
    last: Option<Artifact>,
}

impl Builder {
    pub(crate) fn new(project: Project, target: Target, report: Report, quiet: bool) -> Result<Self, Failure> {
        let stage = Stage::new(&project.target_directory).map_err(|error| {
            Failure::new(format!("cannot write to {}: {error}", project.target_directory.display()))
        })?;
        let watch = Watch::new(&project)
            .map_err(|error| Failure::new(format!("cannot watch {}: {error}", project.manifest_directory.display())))?;
        Ok(Builder { project, target, stage, watch, report, quiet, last: None })
    }

    /// Runs until nobody takes the builds.
    pub(crate) async fn run(mut self, builds: mpsc::Sender<Built>) {
        let mut saved = Instant::now();
        loop {
            let built = self.build(saved).await;
            if builds.send(built).await.is_err() {
                return;
            }
            let change = self.watch.changed().await;
            saved = change.at;
            if change.manifest {
                self.read_manifest().await;
            }
        }
    }

    async fn build(&mut self, saved: Instant) -> Built {
        self.report.status("Building", &self.project.executable);
        let artifact = match self.project.build(self.report, self.quiet).await {
            Ok(artifact) => artifact,
            Err(failure) => return Built::Failed { text: failure, saved },
        };
        if self.last.as_ref() == Some(&artifact) {
            self.report.status("Unchanged", &self.project.executable);
            return Built::Unchanged;
        }
        match self.stage.add(&artifact.executable) {
            Ok(executable) => {
                self.last = Some(artifact);
                Built::New(executable, saved)
            }
            Err(error) => Built::Failed { text: format!("the executable could not be copied: {error}"), saved },
        }
    }

    /// A manifest may name other dependencies, and other directories.
    async fn read_manifest(&mut self) {
        // What is wrong with a manifest is in the build that follows.
        let Ok(project) = Project::read(&self.target).await else { return };
        if let Err(error) = self.watch.extend(&project) {
            self.report.warning(format!("cannot watch all sources: {error}"));
        }
        self.project = project;
    }
}
