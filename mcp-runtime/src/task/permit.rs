//! Who may ask about a task: its owner, with the scopes of the tool. They were checked when the task was created, by
//! another token perhaps: the result of a protected tool is not for one without them.

use crate::auth::access::{Access, Denied};
use crate::store::TaskRecord;

impl TaskRecord {
    /// Lets a caller ask about the task, or says all that is missing.
    pub(crate) fn permit(&self, access: Option<&Access>) -> Result<(), Box<Denied>> {
        match access {
            Some(access) if !self.scopes.is_empty() => {
                let scopes: Vec<Box<str>> = self.scopes.iter().map(|scope| scope.as_str().into()).collect();
                access.permit(&scopes)
            }
            // What every call needs was checked; without rules, there are no tasks with scopes.
            _ => Ok(()),
        }
    }
}
