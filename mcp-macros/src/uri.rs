//! URI templates at compile time: parses the two forms the runtime matches, `{var}` and `{+var}`.

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Literal(String),
    Variable { name: String, reserved: bool },
}

/// Parses a template. An error has the column.
pub(crate) fn parse(text: &str) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    let column = |rest: &str, at: usize| text[..text.len() - rest.len() + at].chars().count() + 1;
    while let Some(open) = rest.find(['{', '}']) {
        let here = column(rest, open);
        if rest[open..].starts_with('}') {
            return Err(format!("`}}` without `{{` at column {here}"));
        }
        if open > 0 {
            parts.push(Part::Literal(rest[..open].to_owned()));
        } else if matches!(parts.last(), Some(Part::Variable { .. })) {
            return Err(format!("the variables at column {here} need text between them, or no match is certain"));
        }
        let Some(length) = rest[open..].find('}') else { return Err(format!("unclosed `{{` at column {here}")) };
        parts.push(variable(&rest[open + 1..open + length])?);
        rest = &rest[open + length + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.to_owned()));
    }
    Ok(parts)
}

fn variable(expression: &str) -> Result<Part, String> {
    let (reserved, name) = match expression.strip_prefix('+') {
        Some(name) => (true, name),
        None => (false, expression),
    };
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!(
            "`{{{expression}}}` is not supported; write `{{var}}`, or `{{+var}}` for a value with `/` in it"
        ));
    }
    Ok(Part::Variable { name: name.to_owned(), reserved })
}

/// The error for a `uri` without a valid scheme.
pub(crate) fn scheme_problem(uri: &str) -> Option<&'static str> {
    let scheme = uri.split_once(':').map(|(scheme, _)| scheme);
    let well_formed = scheme.is_some_and(|scheme| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    (!well_formed).then_some("a URI begins with a scheme, like `note://` or `file:///`")
}

/// The template without the names of its variables; equal for templates that match the same URIs.
pub(crate) fn shape(text: &str) -> String {
    let Ok(parts) = parse(text) else { return text.to_owned() };
    let shape = parts.into_iter().map(|part| match part {
        Part::Literal(text) => text,
        Part::Variable { reserved, .. } => if reserved { "{+}" } else { "{}" }.to_owned(),
    });
    shape.collect()
}

pub(crate) fn variables(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().filter_map(|part| match part {
        Part::Variable { name, .. } => Some(&**name),
        Part::Literal(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_errors_have_the_column() {
        assert_eq!(parse("note://{id").unwrap_err(), "unclosed `{` at column 8");
        assert_eq!(parse("note://id}").unwrap_err(), "`}` without `{` at column 10");
        assert!(parse("note://{?id}").unwrap_err().contains("`{?id}` is not supported"));
        assert!(parse("note://{a}{b}").unwrap_err().contains("column 11"));
    }

    #[test]
    fn scheme_is_required() {
        assert!(scheme_problem("note://{id}").is_none());
        assert!(scheme_problem("{id}").is_some());
        assert!(scheme_problem("notes/1").is_some());
    }
}
