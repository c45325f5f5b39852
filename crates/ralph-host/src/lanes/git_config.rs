//! Home's git configuration, read once with one call of git.

use crate::git::{GitError, Repo, nul_fields};

/// The settings of a repository in the order of their strength, the strongest last.
#[derive(Clone, Debug, Default)]
pub(super) struct GitConfig(Vec<(String, String)>);

impl GitConfig {
    /// Read every setting that counts in this repository.
    pub(super) fn read(repo: &Repo<'_>) -> Result<Self, GitError> {
        Ok(Self::parse(&repo.look(["config", "--list", "-z"]).ok()?))
    }

    /// A name, a line end and a value; a name alone means "true".
    fn parse(list: &[u8]) -> Self {
        let pairs = nul_fields(list).map(|field| {
            let text = String::from_utf8_lossy(field);
            let (name, value) = text.split_once('\n').unwrap_or((&text, "true"));
            (name.to_owned(), value.to_owned())
        });
        Self(pairs.collect())
    }

    /// The value of a name in small letters.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(key, _)| key == name).map(|(_, value)| &value[..])
    }

    /// All settings whose names begin so, in order.
    pub(super) fn starting_with<'c>(
        &'c self,
        prefix: &'c str,
    ) -> impl Iterator<Item = (&'c str, &'c str)> {
        let pairs = self.0.iter().filter(move |(key, _)| key.starts_with(prefix));
        pairs.map(|(key, value)| (&key[..], &value[..]))
    }

    /// Whether objects are fetched from a remote only when somebody asks for them.
    pub(super) fn is_partial_clone(&self) -> bool {
        let promisor = |(key, value): (&str, &str)| key.ends_with(".promisor") && value == "true";
        self.get("extensions.partialclone").is_some() || self.starting_with("remote.").any(promisor)
    }

    /// Whether references are kept in tables and not in files.
    pub(super) fn has_reftable(&self) -> bool {
        self.get("extensions.refstorage").is_some_and(|format| format == "reftable")
    }
}

/// One line of a configuration file, with its value quoted.
pub(super) fn config_line(name: &str, value: &str) -> String {
    let mut quoted = String::new();
    for c in value.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            _ => quoted.push(c),
        }
    }
    format!("\t{name} = \"{quoted}\"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_setting_counts_and_a_name_alone_is_true() {
        let config = GitConfig::parse(b"core.bare\0core.eol\nlf\0core.eol\ncrlf\0");
        assert_eq!((config.get("core.bare"), config.get("core.eol")), (Some("true"), Some("crlf")));
        assert_eq!(config.get("user.name"), None);
    }

    #[test]
    fn a_partial_clone_is_known_by_its_extension_or_its_remote() {
        let is_partial = |text: &[u8]| GitConfig::parse(text).is_partial_clone();
        assert!(is_partial(b"remote.origin.promisor\ntrue\0"));
        assert!(is_partial(b"extensions.partialclone\norigin\0"));
        assert!(!is_partial(b"remote.origin.url\nx\0remote.origin.promisor\nfalse\0"));
    }

    #[test]
    fn values_are_quoted_for_git() {
        assert_eq!(config_line("name", "a \"b\" \\c"), "\tname = \"a \\\"b\\\" \\\\c\"\n");
    }
}
