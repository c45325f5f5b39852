//! Rules of other tools that the commits and files of ralph meet: commit messages and formatters.

use super::draft::{self, ConfigDraft};
use super::manifest::ManifestReader;

/// A prefix of commit subjects that makes them Conventional Commits.
pub const CONVENTIONAL_PREFIX: &str = "chore(ralph)";

/// What to do about a formatter or linter that refuses files which ralph writes.
pub const FORMATTER_ADVICE: &str = "leave ralph's files out of what formats or lints all files \
    (biome: \"!.ralph\" and \"!ralph\" in files.includes of biome.json; prettier: .ralph/ and \
    ralph/ in .prettierignore)";

/// Where the rules of these tools are.
const BIOME: [&str; 2] = ["biome.json", "biome.jsonc"];
const PRETTIER_IGNORE: &str = ".prettierignore";

/// Where commit messages are checked, make them pass.
pub(super) fn set_commit_prefix(look: &mut ManifestReader<'_>, draft: &mut ConfigDraft) {
    let is_config = |name: &str| {
        name.starts_with("commitlint.config.")
            || name.starts_with(".commitlintrc")
            || name == "cog.toml"
    };
    let asks = look.tree.text("package.json").is_some_and(|text| text.contains("commitlint"));
    if !asks && !look.tree.names("").any(is_config) {
        return;
    }
    draft.set("", "commit_prefix", draft::quote(CONVENTIONAL_PREFIX));
    look.note(format!(
        "commit messages are checked here: commit_prefix = \"{CONVENTIONAL_PREFIX}\" makes those of \
         ralph Conventional Commits"
    ));
}

/// Say which formatters would look at files that ralph writes.
pub(super) fn tell_formatters(look: &mut ManifestReader<'_>) {
    let leaves_out = |path: &str| look.tree.text(path).is_some_and(|text| text.contains(".ralph"));
    let biome = BIOME.into_iter().find(|path| look.tree.has_file(path));
    let biome = biome.filter(|path| !leaves_out(path));
    let asks = look.tree.text("package.json").is_some_and(|text| text.contains("\"prettier\""));
    let is_config =
        |name: &str| name.starts_with(".prettierrc") || name.starts_with("prettier.config.");
    let prettier = (asks || look.tree.names("").any(is_config)) && !leaves_out(PRETTIER_IGNORE);
    if let Some(path) = biome {
        look.note(format!(
            "biome would refuse the layout of ralph's files: add \"!.ralph\" and \"!ralph\" to \
             files.includes of {path}"
        ));
    }
    if prettier {
        look.note(format!(
            "prettier would refuse the layout of ralph's files: add .ralph/ and ralph/ to \
             {PRETTIER_IGNORE}"
        ));
    }
}
