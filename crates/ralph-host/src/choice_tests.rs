//! Names become programs, with what is and what is not installed.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;

use ralph_core::config::{ConfigTier, parse_layer, resolve};
use tempfile::TempDir;

use super::*;

/// A project with a `PATH` of its own.
struct Machine {
    dir: TempDir,
    config: Config,
}

impl Machine {
    fn new(installed: &[&str], config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("bin")).unwrap();
        for name in installed {
            let mut options = fs::OpenOptions::new();
            options.create(true).write(true).mode(0o755);
            options.open(dir.path().join("bin").join(name)).unwrap();
        }
        let layer = parse_layer(ConfigTier::Project, "ralph.toml", config).unwrap();
        Self { dir, config: resolve([&layer]).unwrap().config }
    }

    fn with<T>(&self, look: impl FnOnce(&Config, ProgramSearchPaths<'_>) -> T) -> T {
        let bin = self.dir.path().join("bin");
        let place = ProgramSearchPaths {
            root: self.dir.path(),
            cwd: self.dir.path(),
            path: Some(bin.as_os_str()),
        };
        look(&self.config, place)
    }

    fn chooses(&self, asked: RequestedBackend<'_>) -> Result<String, BackendChoiceError> {
        self.with(|config, place| choose(config, asked, place)).map(|chosen| chosen.name)
    }

    fn stage(&self, stage: StageName) -> Result<StageBackends, BackendChoiceError> {
        self.with(|config, place| for_stage(config, stage, RequestedBackend::default(), place))
    }
}

#[test]
fn only_claude_is_told_about_another_model_for_an_overloaded_one() {
    let config = Config { fallback_model: Some("sonnet".into()), ..Config::default() };
    let place = ProgramSearchPaths { root: Path::new("/"), cwd: Path::new("/"), path: None };
    let args = |name: &str| named(&config, name, place).unwrap().args;
    assert_eq!(args("claude"), ["--fallback-model", "sonnet"]);
    assert!(args("codex").is_empty() && args("sim").is_empty());
}

#[test]
fn without_a_name_the_first_installed_one_is_taken_and_never_sim() {
    let by_default =
        |installed: &[&str]| Machine::new(installed, "").chooses(RequestedBackend::default());
    assert_eq!(by_default(&["opencode", "codex"]), Ok("codex".to_owned()));
    assert_eq!(by_default(&["gemini", "claude"]), Ok("claude".to_owned()));
    assert_eq!(by_default(&["ralph"]), Err(BackendChoiceError::NoneInstalled));
}

#[test]
fn a_configured_program_counts_as_installed_where_it_is() {
    let machine = Machine::new(&["mine"], "[backends.gemini]\nprogram = 'bin/mine'\n");
    assert_eq!(machine.chooses(RequestedBackend::default()), Ok("gemini".to_owned()));
    let program = machine.with(|config, place| named(config, "gemini", place).unwrap().program);
    assert_eq!(program, machine.dir.path().join("bin/mine").display().to_string());
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_one() {
    let machine = Machine::new(&[], "[backends.mybot]\nkind = 'command'\ncommand = ['mybot']\n");
    for (name, near) in [("cluade", Some("claude")), ("mybott", Some("mybot")), ("x", None)] {
        let asked = RequestedBackend { backend: Some(name), model: None };
        let near = near.map(str::to_owned);
        let expected = BackendChoiceError::Unknown { name: name.to_owned(), near };
        assert_eq!(machine.chooses(asked), Err(expected));
    }
}

#[test]
fn a_stage_has_its_own_backend_and_fallbacks_that_can_run() {
    let text = "
        backend = 'claude'
        model = 'opus'
        fallback_backends = ['codex', 'gemini', 'claude', 'opencode']
        [stages.verify]
        backend = 'codex'
        [backends.gemini]
        model = 'pro'";
    let machine = Machine::new(&["claude", "codex", "gemini"], text);
    let verify = machine.stage(StageName::Verify).unwrap();
    assert_eq!((verify.chosen.name.as_str(), verify.chosen.model), ("codex", None));
    let of = |one: &ChosenBackend| (one.name.clone(), one.model.clone());
    let fallbacks: Vec<_> = verify.fallbacks.iter().map(of).collect();
    let pair = |name: &str, model: &str| (name.to_owned(), Some(model.to_owned()));
    assert_eq!(fallbacks, [pair("gemini", "pro"), pair("claude", "opus")]);
    let missing =
        BackendChoiceError::NotInstalled { name: "opencode".into(), program: "opencode".into() };
    assert_eq!(verify.left_out, [("opencode".to_owned(), missing)]);
}

#[test]
fn a_limited_backend_is_stood_in_for_until_its_limit_is_lifted() {
    let text = "backend = 'claude'\nfallback_backends = ['codex']\n";
    let choice = Machine::new(&["claude", "codex"], text).stage(StageName::Build).unwrap();
    let limit = |since, resets_at| BackendUsageLimit {
        since,
        resets_at: Some(resets_at),
        reason: String::new(),
    };
    let mut limited = BTreeMap::from([("claude".to_owned(), limit(1000, 9000))]);
    let name = |next: BackendSelection<&ChosenBackend>| match next {
        BackendSelection::Run(one) => format!("run {}", one.name),
        BackendSelection::Wait { backend, until } => {
            format!("wait for {} until {until}", backend.name)
        }
    };
    assert_eq!(name(choice.next(&limited, 1000)), "run codex");
    limited.insert("codex".to_owned(), limit(1100, 5000));
    assert_eq!(name(choice.next(&limited, 1100)), "wait for codex until 5000");
    assert_eq!(name(choice.next(&limited, 9000)), "run claude");
}

#[test]
fn with_a_limit_of_cost_who_does_not_tell_it_is_refused_or_left_out() {
    let limit = "[limits]\nmax_cost = 5.0\n";
    let all = ["claude", "codex", "gemini"];
    let refused = Machine::new(&all, &format!("backend = 'codex'\n{limit}"));
    let why = refused.stage(StageName::Build).unwrap_err();
    assert!(why.to_string().contains("`backends.codex.prices.input`"), "{why}");
    let text = format!(
        "backend = 'claude'\nfallback_backends = ['codex', 'gemini']\n{limit}\
         [backends.gemini.prices]\ninput = 1.0\noutput = 2.0\n"
    );
    let choice = Machine::new(&all, &text).stage(StageName::Build).unwrap();
    assert_eq!(choice.fallbacks.len(), 1, "gemini has prices");
    assert!(
        matches!(&choice.left_out[..], [(name, BackendChoiceError::CostUnknown(_))] if name == "codex")
    );
    let allowed =
        Machine::new(&all, &format!("backend = 'codex'\nallow_unknown_cost = true\n{limit}"));
    assert!(allowed.stage(StageName::Build).is_ok());
}

#[test]
fn the_arguments_of_an_acp_agent_are_given_once() {
    let text = "[backends.bot]\nkind = 'acp'\nprogram = 'gemini'\nargs = ['--acp']\n";
    let machine = Machine::new(&[], text);
    machine.with(|config, place| {
        let bot = named(config, "bot", place).unwrap();
        assert!(bot.args.is_empty());
        assert_eq!(bot.driver.program(), "gemini");
        assert!(bot.driver.supports().resume, "it is talked with");
    });
}

#[test]
fn sim_is_this_program() {
    let machine = Machine::new(&[], "");
    let program = machine.with(|config, place| named(config, "sim", place).unwrap().program);
    assert_eq!(Path::new(&program), std::env::current_exe().unwrap());
}
