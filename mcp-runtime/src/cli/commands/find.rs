//! Items by their names.

use crate::cli::error::CliError;

/// The item of this name, or an error that suggests one.
pub(super) fn named<'i, T>(
    items: &'i [T],
    kind: &str,
    name: &str,
    name_of: impl Fn(&T) -> &str,
) -> Result<&'i T, CliError> {
    items.iter().find(|item| name_of(item) == name).ok_or_else(|| {
        let meant = crate::suggest::closest(name, items.iter().map(&name_of));
        let hint = match meant {
            Some(meant) => format!("did you mean `{meant}`?"),
            None if items.is_empty() => format!("the server has no {kind}s"),
            None => format!("`{kind}s` lists what there is"),
        };
        CliError::usage(format!("no {kind} `{name}`; {hint}"))
    })
}
