//! The environment of processes in a lane: setup, backend and gates see the lane and never home's code.

use std::collections::BTreeMap;
use std::fs;

use crate::plans::task;
use crate::repo::{GOOD, Repo, repo, rule};

/// A step, setup or gate that writes its environment into the user's own folder.
fn print_into(name: &str) -> String {
    format!("env > \"$HOME/{name}\" && pwd -P > \"$HOME/{name}.pwd\"")
}

fn printed(repo: &Repo, name: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(repo.home().join(name)).unwrap();
    let pairs = text.lines().filter_map(|line| line.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A run with variables of the user's that lead into home. The agent, the gate and setup print theirs.
fn built() -> Repo {
    let mut repo = repo(&[task("t-aaa1")]);
    let root = repo.root().display().to_string();
    let path = std::env::var("PATH").unwrap();
    fs::create_dir_all(repo.home().join("venv/bin")).unwrap();
    let venv = repo.home().join("venv").display().to_string();
    for (name, value) in [
        ("PATH", format!("{root}/node_modules/.bin:{venv}/bin:{path}")),
        ("PYTHONPATH", format!("{root}/src:/elsewhere")),
        ("NODE_PATH", format!("{root}/lib")),
        ("CARGO_TARGET_DIR", format!("{root}/target")),
        ("VIRTUAL_ENV", venv),
        ("CONDA_PREFIX", format!("{root}/conda")),
        ("OLDPWD", format!("{root}/src")),
        ("GIT_DIR", format!("{root}/.git")),
        ("MISE_TRUSTED_CONFIG_PATHS", "/elsewhere".to_owned()),
        ("SOMEBODYS_SETTING", "kept".to_owned()),
    ] {
        repo.project = repo.project.env(name, value);
    }
    let (setup, gate) = (print_into("setup"), print_into("gate"));
    let toml = format!(
        "backend = \"sim\"\n[[gates]]\nname = \"test\"\ncommand = '{gate}'\nkind = \"test\"\n\
         [lane]\nsetup = '{setup}'\n"
    );
    repo.write("ralph.toml", toml);
    repo.shell("unset GIT_DIR; git commit -qam settings").ok();
    let agent = format!("{{ run = '{}' }}, {GOOD}", print_into("agent"));
    repo.script(&rule("", &agent));
    repo.build([]).ok();
    repo
}

#[test]
fn every_process_in_a_lane_knows_its_number_and_none_is_led_to_home() {
    let repo = built();
    for process in ["setup", "agent", "gate"] {
        let place = fs::read_to_string(repo.home().join(format!("{process}.pwd"))).unwrap();
        let lane = place.trim_end();
        assert!(lane.ends_with("/lane-1"), "{process} ran in {lane}");
        let env = printed(&repo, process);
        let get = |name: &str| env.get(name).map(String::as_str);
        assert_eq!(get("RALPH_LANE"), Some("1"), "{process}");
        assert_eq!(get("HUSKY"), Some("0"), "{process}");
        assert_eq!(get("LEFTHOOK"), Some("0"), "{process}");
        let trusted = format!("{lane}:/elsewhere");
        assert_eq!(get("MISE_TRUSTED_CONFIG_PATHS"), Some(&*trusted), "{process}");
        assert_eq!(get("PYTHONPATH"), Some(&*format!("{lane}/src:/elsewhere")), "{process}");
        assert_eq!(get("NODE_PATH"), Some(&*format!("{lane}/lib")), "{process}");
        assert_eq!(get("CARGO_TARGET_DIR"), Some(&*format!("{lane}/target")), "{process}");
        assert!(get("PATH").unwrap().contains(&format!("{lane}/node_modules/.bin:")), "{process}");
        for dropped in ["VIRTUAL_ENV", "CONDA_PREFIX", "GIT_DIR"] {
            assert_eq!(get(dropped), None, "{process}: {dropped}");
        }
        assert_eq!(get("SOMEBODYS_SETTING"), Some("kept"), "{process}");
        // Ralph's own variables tell where the project is.
        let root = repo.root().display().to_string();
        let leads_home = |(name, value): &(&String, &String)| {
            !name.starts_with("RALPH_") && value.contains(&root)
        };
        let leading: Vec<_> = env.iter().filter(leads_home).collect();
        assert!(leading.is_empty(), "{process}: {leading:?}");
    }
}

#[test]
fn hooks_of_a_landing_run_although_they_are_off_for_agents() {
    let repo = repo(&[task("t-aaa1")]);
    let hook = repo.git_dir().join("hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let print = print_into("hook");
    fs::write(&hook, format!("#!/bin/sh\n{print}\n")).unwrap();
    repo.shell(&format!("chmod +x '{}'", hook.display())).ok();
    repo.build([]).ok();
    let env = printed(&repo, "hook");
    assert_eq!(env.get("RALPH_LANE").map(String::as_str), Some("1"));
    assert_eq!((env.get("HUSKY"), env.get("LEFTHOOK")), (None, None));
}
