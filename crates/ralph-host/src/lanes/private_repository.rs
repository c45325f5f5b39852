//! The agent's repository: a few files in the lane's `.git`, written anew each time.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::error::LaneError;
use super::files;
use super::git_config::{GitConfig, config_line};
use super::lane::Lane;
use super::pool::LaneHome;
use super::submodules::SubmoduleLane;
use crate::git::{Oid, Repo, copy_index};

/// Settings of `[core]` that decide what a file looks like on disk.
const CORE_KEYS: [&str; 6] =
    ["autocrlf", "eol", "filemode", "symlinks", "ignorecase", "precomposeunicode"];

/// Deepest folder of references that is looked into.
const DEEPEST: u32 = 32;

/// The commit that a private repository has checked out.
enum PrivateHead<'h> {
    /// A branch, by its short name.
    Branch(&'h str, &'h Oid),
    Detached(&'h Oid),
}

impl Lane<'_> {
    /// Write the agent's repository anew, whatever is in its place: `branch` is checked out at `tip`,
    /// home's branches and tags are there, and home's objects are borrowed. It has no hooks, and
    /// remotes only with `[lane] remotes`. The repositories of submodules are written too.
    pub fn write_private_repository(
        &self,
        tip: &Oid,
        branch: Option<&str>,
    ) -> Result<(), LaneError> {
        // Whoever is to have it may change the files.
        self.has_files_of.take();
        self.check_place()?;
        if self.is_home() {
            return self.give_home_back(tip, branch);
        }
        let head = match branch {
            Some(name) => {
                PrivateHead::Branch(name.strip_prefix("refs/heads/").unwrap_or(name), tip)
            }
            None => PrivateHead::Detached(tip),
        };
        let refs = self.home.references()?;
        let plain = private_config(&self.home.git_config);
        let mut config = plain.clone();
        if self.home.settings.remotes {
            config.push_str(&remote_config(&self.home.git_config, self.home.repo.top()));
        }
        write_repository(&self.repo, head, refs, &config)?;
        for submodule in SubmoduleLane::all(self) {
            let Some(head) = submodule.commit() else { continue };
            let refs = loose_and_packed(submodule.repo.common_dir());
            write_repository(&submodule.repo, PrivateHead::Detached(&head), refs, &plain)?;
        }
        Ok(())
    }
}

impl LaneHome<'_> {
    /// Return the branches and tags of home, with the objects that they point to.
    fn references(&self) -> Result<BTreeMap<Vec<u8>, Oid>, LaneError> {
        if !self.git_config.has_reftable() {
            return Ok(loose_and_packed(self.repo.common_dir()));
        }
        let format = "--format=%(objectname) %(refname)";
        let out = self.repo.look(["for-each-ref", format, "refs/heads/", "refs/tags/"]).ok()?;
        Ok(parse_references(&out))
    }
}

/// Lines of an object and a name.
fn parse_references(text: &[u8]) -> BTreeMap<Vec<u8>, Oid> {
    let line = |line: &[u8]| {
        let space = line.iter().position(|b| *b == b' ')?;
        let (oid, name) = (Oid::parse(line.get(..space)?)?, line.get(space + 1..)?);
        let wanted = name.starts_with(b"refs/heads/") || name.starts_with(b"refs/tags/");
        wanted.then(|| (name.to_vec(), oid))
    };
    text.split(|b| *b == b'\n').filter_map(line).collect()
}

/// The branches and tags of a repository whose references are files.
fn loose_and_packed(common_dir: &Path) -> BTreeMap<Vec<u8>, Oid> {
    let packed = fs::read(common_dir.join("packed-refs")).unwrap_or_default();
    let mut refs = parse_references(&packed);
    for kind in ["refs/heads", "refs/tags"] {
        add_loose(&common_dir.join(kind), kind.as_bytes(), DEEPEST, &mut refs);
    }
    refs
}

fn add_loose(folder: &Path, name: &[u8], levels: u32, refs: &mut BTreeMap<Vec<u8>, Oid>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = [name, b"/", entry.file_name().as_encoded_bytes()].concat();
        let path = entry.path();
        if files::is_folder(&path) {
            if levels > 0 {
                add_loose(&path, &name, levels - 1, refs);
            }
        } else if let Some(oid) = fs::read(&path).ok().and_then(|bytes| Oid::parse(&bytes)) {
            refs.insert(name, oid);
        }
    }
}

/// The configuration of a private repository: what the format of files and objects needs, and who
/// commits.
fn private_config(git: &GitConfig) -> String {
    let format = git.get("extensions.objectformat").filter(|format| *format != "sha1");
    let version = if format.is_some() { "1" } else { "0" };
    let mut text = String::from("[core]\n");
    text.push_str(&config_line("repositoryformatversion", version));
    text.push_str(&config_line("bare", "false"));
    for key in CORE_KEYS {
        if let Some(value) = git.get(&format!("core.{key}")) {
            text.push_str(&config_line(key, value));
        }
    }
    if let Some(format) = format {
        text.push_str("[extensions]\n");
        text.push_str(&config_line("objectformat", format));
    }
    if git.get("user.name").or(git.get("user.email")).is_some() {
        text.push_str("[user]\n");
        for key in ["name", "email"] {
            if let Some(value) = git.get(&format!("user.{key}")) {
                text.push_str(&config_line(key, value));
            }
        }
    }
    text
}

/// Home's remotes and what its branches follow. A URL that is a path is made absolute.
fn remote_config(git: &GitConfig, top: &Path) -> String {
    let mut text = String::new();
    for prefix in ["remote.", "branch."] {
        for (key, value) in git.starting_with(prefix) {
            let Some((name, leaf)) =
                key.strip_prefix(prefix).and_then(|rest| rest.rsplit_once('.'))
            else {
                continue;
            };
            let is_path = leaf.ends_with("url") && value.starts_with('.');
            let absolute =
                if is_path { top.join(value).display().to_string() } else { value.into() };
            let name = name.replace('\\', "\\\\").replace('"', "\\\"");
            text.push_str(&format!("[{} \"{name}\"]\n", prefix.trim_end_matches('.')));
            text.push_str(&config_line(leaf, &absolute));
        }
    }
    text
}

fn write_repository(
    repo: &Repo<'_>,
    head: PrivateHead<'_>,
    mut refs: BTreeMap<Vec<u8>, Oid>,
    config: &str,
) -> Result<(), LaneError> {
    let git = repo.top().join(".git");
    files::remove(&git)?;
    for folder in ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info"] {
        files::make_folder(&git.join(folder))?;
    }
    let head = match head {
        PrivateHead::Branch(name, tip) => {
            refs.insert(format!("refs/heads/{name}").into_bytes(), tip.clone());
            format!("ref: refs/heads/{name}\n")
        }
        PrivateHead::Detached(commit) => format!("{commit}\n"),
    };
    let mut packed = b"# pack-refs with: sorted \n".to_vec();
    for (name, oid) in &refs {
        packed.extend_from_slice(oid.as_str().as_bytes());
        packed.push(b' ');
        packed.extend_from_slice(name);
        packed.push(b'\n');
    }
    let common = repo.common_dir();
    let objects = common.join("objects");
    let alternates = [objects.as_os_str().as_encoded_bytes(), b"\n"].concat();
    files::put(&git.join("packed-refs"), &packed)?;
    files::put(&git.join("objects/info/alternates"), &alternates)?;
    files::put(&git.join("config"), config.as_bytes())?;
    for name in ["info/exclude", "info/attributes", "shallow"] {
        if let Some(bytes) = files::read(&common.join(name))? {
            files::put(&git.join(name), &bytes)?;
        }
    }
    copy_index(&repo.git_dir().join("index"), &git.join("index"))?;
    // Last, so that git does not take a half-written repository for one.
    Ok(files::put(&git.join("HEAD"), head.as_bytes())?)
}
