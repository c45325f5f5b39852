//! `ralph agent install-service`: the agent loop as a service of the user's systemd.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use ralph_host::store::{put_view, read};

use crate::context::CommandContext;
use crate::error::CommandError;
use crate::out;

/// Write a systemd user unit that runs `ralph agent --watch` here, day and night
///
/// The unit goes to ~/.config/systemd/user/ and is not started: the commands for that are printed. It
/// stops the agent as Ctrl-C does, with hours to come to an end, restarts it after a crash, and does not
/// restart it after a limit. Secrets for notifications can be put into ~/.config/ralph/env.
///
/// Examples:
///   ralph agent install-service
///   ralph agent install-service --print -- --max-cost 20
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct ServiceArgs {
    /// Print the unit instead of writing it
    #[arg(long)]
    print: bool,
    /// The service's name [default: ralph- and the name of the directory]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// More options for `ralph agent`
    #[arg(last = true, value_name = "OPTION")]
    args: Vec<String>,
}

pub(crate) fn run(context: &CommandContext, args: &ServiceArgs) -> Result<(), CommandError> {
    let program = std::env::current_exe()
        .map_err(|e| CommandError::new(format!("cannot find ralph's own program: {e}")))?;
    let root = context.project.root();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let text = unit(&program, root, &path, &args.args)?;
    if args.print {
        return out::raw(&text);
    }
    let name = match &args.name {
        Some(name) => checked(name)?,
        None => name_of(root),
    };
    let file = units()?.join(format!("{name}.service"));
    write(&file, &text, root)?;
    for line in [
        format!("Written: {}", file.display()),
        "Next:    systemctl --user daemon-reload".to_owned(),
        format!("         systemctl --user enable --now {name}"),
        "         loginctl enable-linger    (to go on when you log out)".to_owned(),
        format!("Stop:    systemctl --user stop {name}"),
        format!("Look:    ralph status --watch, journalctl --user -u {name}"),
    ] {
        out::line(line)?;
    }
    Ok(())
}

/// The text of the unit. A path that systemd cannot be told is refused.
pub(crate) fn unit(
    program: &Path,
    root: &Path,
    search: &OsString,
    args: &[String],
) -> Result<String, CommandError> {
    let (program, root) = (plain(program)?, plain(root)?);
    let search = search.to_string_lossy();
    let mut command = vec![quoted(&program), "agent".to_owned(), "--watch".to_owned()];
    command.extend(args.iter().map(|arg| quoted(arg)));
    // In an assignment a dollar is a dollar.
    let search = quoted(&format!("PATH={search}")).replace("$$", "$");
    Ok(format!(
        "\
[Unit]
Description=ralph agent in {about}

[Service]
Type=exec
WorkingDirectory={root}
ExecStart={command}
Environment={search}
EnvironmentFile=-%h/.config/ralph/env
# The first SIGTERM lets the current iteration come to its end; what is left after that is killed.
KillMode=mixed
TimeoutStopSec=3h
# 143 is ralph's own word for a SIGTERM. Work that failed (3) and a limit (4) need a person, not a restart.
SuccessExitStatus=143
Restart=on-failure
RestartSec=30
RestartPreventExitStatus=2 3 4

[Install]
WantedBy=default.target
",
        about = root.replace('%', "%%"),
        root = root.replace('%', "%%"),
        command = command.join(" "),
    ))
}

/// A path as text: systemd reads lines of UTF-8.
fn plain(path: &Path) -> Result<String, CommandError> {
    let text = path.to_str().filter(|text| !text.contains(|c: char| c.is_control()));
    text.map(str::to_owned).ok_or_else(|| {
        CommandError::new(format!("systemd cannot be told this path: {}", path.display()))
            .hint("it has to be UTF-8 without line breaks; rename the directory, or use a link")
    })
}

/// A word of a systemd command: quotes, variables and specifiers stay what they are.
fn quoted(word: &str) -> String {
    let word = word.replace('\\', "\\\\").replace('"', "\\\"");
    let word = word.replace('%', "%%").replace('$', "$$").replace('\n', "\\n");
    format!("\"{word}\"")
}

/// `ralph-` and the directory's name, as far as a unit may be called so.
fn name_of(root: &Path) -> String {
    let name = root.file_name().unwrap_or(root.as_os_str()).as_bytes();
    let sign =
        |b: &u8| if b.is_ascii_alphanumeric() || b"-_.".contains(b) { char::from(*b) } else { '-' };
    format!("ralph-{}", name.iter().map(sign).take(100).collect::<String>())
}

fn checked(name: &str) -> Result<String, CommandError> {
    let name = name.strip_suffix(".service").unwrap_or(name);
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.len() > 200 || !name.chars().all(fits) {
        return Err(CommandError::usage(format!("{} is no name for a service", out::clean(name)))
            .hint("letters, digits, `-`, `_` and `.`"));
    }
    Ok(name.to_owned())
}

fn units() -> Result<PathBuf, CommandError> {
    let set = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    let config = config.ok_or_else(|| {
        CommandError::new("there is no home directory: HOME is not set")
            .hint("`ralph agent install-service --print` prints the unit")
    })?;
    Ok(config.join("systemd/user"))
}

/// Write the unit, unless one of that name belongs to another project.
fn write(file: &Path, text: &str, root: &Path) -> Result<(), CommandError> {
    let old = read(file)?;
    let place = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("WorkingDirectory="));
        line.map(str::to_owned)
    };
    if let Some(old) = old.map(|old| String::from_utf8_lossy(&old).into_owned()) {
        let theirs = place(&old).unwrap_or_default();
        if place(text).as_deref() != Some(theirs.as_str()) {
            let shown = out::clean(&theirs);
            let message = format!("{} belongs to another project: {shown}", file.display());
            return Err(CommandError::new(message)
                .hint(format!("`--name` gives the one for {} another name", root.display())));
        }
    }
    Ok(put_view(file, text.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(program: &str, root: &str, args: &[&str]) -> String {
        let args: Vec<String> = args.iter().map(|arg| (*arg).to_owned()).collect();
        unit(Path::new(program), Path::new(root), &"/usr/bin:/bin".into(), &args).unwrap()
    }

    #[test]
    fn the_unit_stops_gracefully_and_restarts_after_a_crash_alone() {
        let unit = of("/usr/bin/ralph", "/srv/shop", &["--max-cost", "20"]);
        for line in [
            "WorkingDirectory=/srv/shop",
            "ExecStart=\"/usr/bin/ralph\" agent --watch \"--max-cost\" \"20\"",
            "Environment=\"PATH=/usr/bin:/bin\"",
            "KillMode=mixed",
            "TimeoutStopSec=3h",
            "Restart=on-failure",
            "RestartPreventExitStatus=2 3 4",
            "WantedBy=default.target",
        ] {
            assert!(unit.lines().any(|l| l == line), "no {line} in\n{unit}");
        }
    }

    #[test]
    fn nothing_in_a_path_means_something_to_systemd() {
        let unit = of("/opt/my \"ralph\"$x%h", "/srv/100% mine", &[]);
        assert!(unit.contains(r#"ExecStart="/opt/my \"ralph\"$$x%%h" agent --watch"#), "{unit}");
        assert!(unit.contains("WorkingDirectory=/srv/100%% mine\n"), "{unit}");
        let broken = Path::new("/srv/a\nExecStart=/bin/sh");
        assert!(super::unit(broken, Path::new("/"), &OsString::new(), &[]).is_err());
    }

    #[test]
    fn a_service_is_called_after_its_directory() {
        assert_eq!(name_of(Path::new("/srv/My Shop")), "ralph-My-Shop");
        assert_eq!(checked("nights.service").unwrap(), "nights");
        assert!(checked("../x").is_err());
    }
}
