//! Versions that start, fail and exit, without processes.

use super::*;

fn supervisor() -> (Supervisor, mpsc::Receiver<Exited>) {
    let (started, _) = mpsc::channel(1);
    let (exits, exited) = mpsc::channel(4);
    let supervisor = Supervisor {
        proxy: Arc::default(),
        launch: Launch { arguments: Vec::new(), manifest_directory: PathBuf::new() },
        name: "notes".to_owned(),
        address: "127.0.0.1:0".to_owned(),
        report: Report::new(true),
        executable: None,
        generation: 1,
        catalog: Catalog::default(),
        crashed: false,
        crashes: 0,
        serving_since: None,
        started,
        exits,
    };
    (supervisor, exited)
}

fn started(generation: u64, upstream: Result<Arc<Upstream>, String>) -> Started {
    Started { generation, upstream, saved: Instant::now() }
}

fn current(supervisor: &Supervisor) -> Option<u64> {
    supervisor.proxy.current.borrow().as_ref().map(|upstream| upstream.generation)
}

#[tokio::test]
async fn version_that_exited_while_it_was_probed_does_not_serve() {
    let (mut supervisor, _exited) = supervisor();
    let status = "exit status: 101";
    supervisor.exited(&Exited { generation: 1, status: status.to_owned() });
    supervisor.started(started(1, Ok(Upstream::fake(1, Some(status)))));
    assert_eq!(current(&supervisor), None);
    assert!(supervisor.crashed, "the next request starts it again");
    let failure = lock(&supervisor.proxy.last_failure).clone().unwrap();
    assert_eq!(failure, "the new version exited (exit status: 101) before it served");
}

#[tokio::test]
async fn late_failure_of_an_older_build_is_not_that_of_the_newer() {
    let (mut supervisor, _exited) = supervisor();
    supervisor.generation = 2;
    supervisor.started(started(1, Err("did not listen".to_owned())));
    assert!(!supervisor.crashed, "the newer one is starting");
    supervisor.started(started(2, Ok(Upstream::fake(2, None))));
    supervisor.started(started(1, Err("did not listen".to_owned())));
    assert_eq!(current(&supervisor), Some(2));
    assert_eq!(*lock(&supervisor.proxy.failure), None);
    assert_eq!(*lock(&supervisor.proxy.last_failure), None);
}

#[tokio::test]
async fn end_waits_for_the_versions_that_live() {
    let (mut supervisor, mut exited) = supervisor();
    supervisor.generation = 2;
    supervisor.started(started(2, Ok(Upstream::fake(2, None))));
    for generation in [1, 2] {
        supervisor.exits.send(Exited { generation, status: String::new() }).await.unwrap();
    }
    supervisor.end(&mut exited).await;
    assert!(exited.try_recv().is_err(), "the exit of the one that serves was waited for");
}
