//! Stores in files, as different from the memory stores as can be. Their records outlive them.

use std::fs;
use std::io::{ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mcp_runtime::store::{
    EventStore, EventTail, SessionRecord, SessionStore, TaskLimit, TaskQuota, TaskRecord, TaskStore,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A directory with a file for each session, stream and task. A lock serializes changes.
#[derive(Debug)]
pub struct FileStores {
    directory: PathBuf,
    changing: Mutex<()>,
}

/// The contents of a file, and its expiry in milliseconds since 1970.
#[derive(Serialize, Deserialize)]
struct Filed<T> {
    until: u128,
    what: T,
}

#[derive(Default, Serialize, Deserialize)]
struct FiledStream {
    events: Vec<(u64, String)>,
    /// Everything after this event is there, or yet to come.
    whole_after: u64,
    over: bool,
    head: Option<String>,
}

fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()
}

/// How long it is until then.
fn left(until: u128) -> Duration {
    Duration::from_millis(u64::try_from(until.saturating_sub(now())).unwrap_or(u64::MAX))
}

impl FileStores {
    /// A directory of its own.
    pub fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("mcp-file-stores-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = std::env::temp_dir().join(name);
        fs::create_dir_all(&directory).unwrap();
        FileStores { directory, changing: Mutex::default() }
    }

    fn change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, kind: &str, name: &str) -> PathBuf {
        // Some file systems are case-insensitive.
        let name = name.bytes().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        self.directory.join(format!("{kind}-{name}"))
    }

    fn write<T: Serialize>(path: &Path, what: &T, keep: Duration) -> Result<()> {
        // Atomically, because of concurrent readers.
        let draft = path.with_extension("draft");
        fs::write(&draft, serde_json::to_vec(&Filed { until: now() + keep.as_millis(), what })?)?;
        fs::rename(draft, path)
    }

    fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<Filed<T>>> {
        match fs::read(path) {
            Ok(text) => Ok(Some(serde_json::from_slice::<Filed<T>>(&text)?).filter(|filed| filed.until > now())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn discard(path: &Path) -> Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Changes a stream, if it is there.
    fn edit(&self, stream: &str, edit: impl FnOnce(&mut FiledStream)) -> Result<()> {
        let (path, _changing) = (self.path("stream", stream), self.change());
        let Some(mut filed) = Self::read::<FiledStream>(&path)? else { return Ok(()) };
        edit(&mut filed.what);
        Self::write(&path, &filed.what, left(filed.until))
    }

    /// The tasks there are.
    fn tasks(&self) -> Result<Vec<TaskRecord>> {
        let mut all = Vec::new();
        for path in self.files("task")? {
            all.extend(Self::read::<TaskRecord>(&path)?.map(|filed| filed.what));
        }
        Ok(all)
    }

    fn files(&self, kind: &str) -> Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            let is_one = name.strip_prefix(kind).is_some_and(|rest| rest.starts_with('-') && !rest.contains('.'));
            files.extend(is_one.then(|| self.directory.join(name)));
        }
        Ok(files)
    }
}

impl Default for FileStores {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for FileStores {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

impl SessionStore for FileStores {
    async fn create(&self, id: &str, record: &SessionRecord, keep: Duration) -> Result<()> {
        let _changing = self.change();
        Self::write(&self.path("session", id), record, keep)
    }

    async fn load(&self, id: &str) -> Result<Option<SessionRecord>> {
        Ok(Self::read(&self.path("session", id))?.map(|filed| filed.what))
    }

    async fn update(&self, id: &str, record: &SessionRecord, keep: Duration) -> Result<bool> {
        let (path, _changing) = (self.path("session", id), self.change());
        let before = Self::read::<SessionRecord>(&path)?;
        if before.is_none_or(|before| before.what.version + 1 != record.version) {
            return Ok(false);
        }
        Self::write(&path, record, keep)?;
        Ok(true)
    }

    async fn touch(&self, id: &str, keep: Duration) -> Result<bool> {
        let (path, _changing) = (self.path("session", id), self.change());
        let Some(filed) = Self::read::<SessionRecord>(&path)? else { return Ok(false) };
        Self::write(&path, &filed.what, keep)?;
        Ok(true)
    }

    async fn remove(&self, id: &str) -> Result<()> {
        let _changing = self.change();
        Self::discard(&self.path("session", id))
    }
}

impl EventStore for FileStores {
    async fn open(&self, stream: &str, head: &str, keep: Duration) -> Result<()> {
        let (path, _changing) = (self.path("stream", stream), self.change());
        Self::write(&path, &FiledStream { head: Some(head.to_owned()), ..FiledStream::default() }, keep)
    }

    async fn touch(&self, stream: &str, keep: Duration) -> Result<()> {
        let (path, _changing) = (self.path("stream", stream), self.change());
        let what = Self::read::<FiledStream>(&path)?.map(|filed| filed.what).unwrap_or_default();
        Self::write(&path, &what, keep)
    }

    async fn append(&self, stream: &str, number: u64, event: &[u8], oldest: u64) -> Result<()> {
        let event = String::from_utf8_lossy(event).into_owned();
        self.edit(stream, |stream| {
            if stream.events.last().is_none_or(|(last, _)| *last < number) {
                stream.events.push((number, event));
            }
            stream.events.retain(|(number, _)| *number >= oldest);
            stream.whole_after = stream.whole_after.max(oldest.saturating_sub(1));
        })
    }

    async fn close(&self, stream: &str) -> Result<()> {
        self.edit(stream, |stream| stream.over = true)
    }

    async fn read_after(&self, stream: &str, number: u64) -> Result<Option<EventTail>> {
        let Some(filed) = Self::read::<FiledStream>(&self.path("stream", stream))? else { return Ok(None) };
        let FiledStream { events, whole_after, over, head } = filed.what;
        let events = events.into_iter().filter(|(at, _)| *at > number);
        let events = events.map(|(at, event)| (at, event.into_bytes())).collect();
        Ok((number >= whole_after).then_some(EventTail::new(events, over).with_head(head)))
    }

    async fn remove(&self, stream: &str) -> Result<()> {
        let _changing = self.change();
        Self::discard(&self.path("stream", stream))
    }
}

impl TaskStore for FileStores {
    async fn create(
        &self,
        task: &TaskRecord,
        keep: Duration,
        quota: TaskQuota,
    ) -> Result<std::result::Result<(), TaskLimit>> {
        let _changing = self.change();
        let evicted = match quota.make_room(task.account.as_deref(), &self.tasks()?) {
            Ok(evicted) => evicted,
            Err(limit) => return Ok(Err(limit)),
        };
        for id in evicted {
            Self::discard(&self.path("task", &id))?;
        }
        Self::write(&self.path("task", &task.id), task, keep).map(Ok)
    }

    async fn load(&self, id: &str) -> Result<Option<TaskRecord>> {
        Ok(Self::read(&self.path("task", id))?.map(|filed| filed.what))
    }

    async fn update(&self, task: &TaskRecord) -> Result<bool> {
        let (path, _changing) = (self.path("task", &task.id), self.change());
        let Some(before) = Self::read::<TaskRecord>(&path)? else { return Ok(false) };
        if before.what.version + 1 != task.version {
            return Ok(false);
        }
        Self::write(&path, task, left(before.until))?;
        Ok(true)
    }

    async fn list(&self, owner: Option<&str>) -> Result<Vec<TaskRecord>> {
        let mut own = self.tasks()?;
        own.retain(|task| task.owner.as_deref() == owner);
        own.sort_by_key(|task| task.created_ms);
        Ok(own)
    }

    async fn holders(&self) -> Result<Vec<String>> {
        let mut holders: Vec<String> = self.tasks()?.iter().filter_map(TaskRecord::holder).map(str::to_owned).collect();
        holders.sort();
        holders.dedup();
        Ok(holders)
    }

    async fn held_by(&self, holder: &str, limit: usize) -> Result<Vec<TaskRecord>> {
        let mut held = self.tasks()?;
        held.retain(|task| task.holder() == Some(holder));
        held.truncate(limit);
        Ok(held)
    }

    async fn sweep(&self) -> Result<Option<Duration>> {
        let (mut next, _changing) = (None, self.change());
        for path in self.files("task")? {
            match Self::read::<TaskRecord>(&path)? {
                Some(filed) => next = next.into_iter().chain([left(filed.until)]).min(),
                None => Self::discard(&path)?,
            }
        }
        Ok(next)
    }
}
