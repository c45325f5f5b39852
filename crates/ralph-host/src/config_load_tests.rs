use super::*;

struct Project {
    dir: tempfile::TempDir,
}

impl Project {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("home/.config/ralph")).unwrap();
        fs::create_dir_all(dir.path().join("project")).unwrap();
        Self { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("project")
    }

    fn user(self, bytes: impl AsRef<[u8]>) -> Self {
        write(&self.dir.path().join("home/.config/ralph/config.toml"), bytes.as_ref());
        self
    }

    fn file(self, bytes: impl AsRef<[u8]>) -> Self {
        write(&self.root().join(PROJECT_FILE), bytes.as_ref());
        self
    }

    fn env(&self, vars: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        let home = (OsString::from("HOME"), self.dir.path().join("home").into_os_string());
        let vars = vars.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        std::iter::once(home).chain(vars).collect()
    }

    fn load(&self) -> Result<ResolvedConfig, ConfigErrors> {
        load(&self.root(), ("plan.jsonl", &PlanConfig::default()), self.env(&[]), &[])
    }

    fn errors(&self) -> String {
        self.load().unwrap_err().to_string()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test prepares files that ralph only reads")]
fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

#[test]
fn without_any_file_everything_has_its_default() {
    let resolved = Project::new().load().unwrap();
    assert_eq!(resolved.config, ralph_core::config::Config::default());
    assert!(resolved.show().iter().all(|shown| shown.origin.tier == ConfigTier::Default));
}

#[test]
fn each_layer_wins_over_the_one_below() {
    let project = Project::new().user("[limits]\nstage_timeout = '1s'\n").file("");
    let name = |resolved: &ResolvedConfig| resolved.origin("limits.stage_timeout").to_string();
    let user = project.load().unwrap();
    assert!(name(&user).ends_with(".config/ralph/config.toml:2"), "{}", name(&user));

    let project = project.file("[limits]\nstage_timeout = '2s'\n");
    assert_eq!(name(&project.load().unwrap()), "ralph.toml:2");

    let plan = PlanConfig { timeout_ms: Some(3000), line: 5, ..PlanConfig::default() };
    let with = |vars: &[(&str, &str)], flags: &[ConfigFlag]| {
        load(&project.root(), ("plan.jsonl", &plan), project.env(vars), flags).unwrap()
    };
    assert_eq!(name(&with(&[], &[])), "plan.jsonl:5");
    let var = [("RALPH_LIMITS_STAGE_TIMEOUT", "4s")];
    assert_eq!(name(&with(&var, &[])), "RALPH_LIMITS_STAGE_TIMEOUT");
    let flags = [ConfigFlag { name: "--timeout", key: "limits.stage_timeout", value: "5s".into() }];
    let top = with(&var, &flags);
    assert_eq!(name(&top), "--timeout");
    assert_eq!(top.config.limits.stage_timeout.map(|t| t.get().as_secs()), Some(5));
}

#[test]
fn the_xdg_directory_comes_before_home_and_a_relative_one_is_ignored() {
    let var = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    let file = |vars: &[(OsString, OsString)]| user_file(vars);
    assert_eq!(
        file(&[var("HOME", "/h"), var("XDG_CONFIG_HOME", "/x")]),
        Some(PathBuf::from("/x/ralph/config.toml"))
    );
    let home = Some(PathBuf::from("/h/.config/ralph/config.toml"));
    assert_eq!(file(&[var("HOME", "/h"), var("XDG_CONFIG_HOME", "x")]), home);
    assert_eq!(file(&[var("HOME", "/h"), var("XDG_CONFIG_HOME", "")]), home);
    assert_eq!(file(&[]), None);
}

#[test]
fn the_problems_of_all_sources_are_told_together() {
    let project = Project::new().user("mode = 1\n").file("zebra = 1\n");
    let flags = [ConfigFlag { name: "--mode", key: "mode", value: "x".into() }];
    let env = project.env(&[("RALPH_MAX_RETRIES", "x")]);
    let errors =
        ConfigSources::read(&project.root(), ProjectConfigText::OnDisk, env, &flags).unwrap_err();
    let tiers: Vec<ConfigTier> = errors.0.iter().map(|problem| problem.origin.tier).collect();
    assert_eq!(
        tiers,
        [ConfigTier::User, ConfigTier::Project, ConfigTier::Environment, ConfigTier::Flag]
    );
}

#[test]
fn the_plan_can_be_asked_for_before_its_record_is_known() {
    let project = Project::new().file("plan = 'plans/a.jsonl'\n");
    let sources =
        ConfigSources::read(&project.root(), ProjectConfigText::OnDisk, project.env(&[]), &[])
            .unwrap();
    assert_eq!(sources.without_plan().unwrap().config.plan.as_deref(), Some("plans/a.jsonl"));
    let record = PlanConfig { max_iterations: Some(3), line: 1, ..PlanConfig::default() };
    let resolved = sources.with_plan("plans/a.jsonl", &record).unwrap();
    assert_eq!(resolved.config.construct.max_iterations.get(), 3);
}

#[test]
fn a_text_that_is_not_written_yet_can_be_tried() {
    let project = Project::new().file("mode = 'typo'\n");
    let try_text = |text: &str| {
        ConfigSources::read(
            &project.root(),
            ProjectConfigText::Instead(text),
            project.env(&[]),
            &[],
        )
        .and_then(|sources| sources.without_plan())
    };
    assert!(try_text("mode = 'handoff-only'\n").is_ok());
    assert!(try_text("backend = 'nobody'\n").is_err());
}

#[test]
fn bytes_that_are_not_text_are_told_with_their_line() {
    let errors = Project::new().file(b"mode = 'handoff-only'\n# caf\xe9\n").errors();
    assert_eq!(errors, "ralph.toml:2: this is not valid UTF-8: save the file as UTF-8");
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    let resolved =
        Project::new().file("\u{feff}max_retries = 4\r\n[limits]\r\nmax_cost = 1\r\n").load();
    assert_eq!(resolved.unwrap().config.max_retries, 4);
}

#[test]
fn a_huge_file_is_refused_without_reading_it_all() {
    let project = Project::new().file("");
    let file = fs::OpenOptions::new().write(true).open(project.root().join(PROJECT_FILE)).unwrap();
    file.set_len(100 * 1024 * 1024).unwrap();
    assert_eq!(
        project.errors(),
        "ralph.toml: this is longer than 1 MiB, which no configuration is"
    );
}

#[test]
fn a_directory_in_the_place_of_the_file_is_told() {
    let project = Project::new();
    fs::create_dir(project.root().join(PROJECT_FILE)).unwrap();
    assert_eq!(project.errors(), "ralph.toml: this is a directory, not a file");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_a_dangling_one_is_told() {
    let project = Project::new();
    let target = project.dir.path().join("elsewhere.toml");
    std::os::unix::fs::symlink(&target, project.root().join(PROJECT_FILE)).unwrap();
    assert_eq!(project.errors(), "ralph.toml: this is a link to a file that does not exist");
    write(&target, b"max_retries = 9\n");
    assert_eq!(project.load().unwrap().config.max_retries, 9);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let project = Project::new();
    let path = project.root().join(PROJECT_FILE);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(project.errors(), "ralph.toml: this is not an ordinary file");
}
