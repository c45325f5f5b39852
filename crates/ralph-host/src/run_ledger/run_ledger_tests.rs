use super::*;
use crate::plan_file::plan_file;
use crate::project_reader::ProjectReader;
use crate::store::{LedgerFileKind, LockHolder, put_view};
use ralph_core::config::LedgerCommitPolicy;

const AT: &str = "2026-03-01T10:00:00Z";
const PLAN: &str = "ralph/plan.jsonl";

/// A work tree with a git directory that nobody needs git for.
struct Home {
    place: tempfile::TempDir,
    project: Project,
}

impl Home {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        for dir in [".git/objects", ".git/refs", "ralph/specs"] {
            fs::create_dir_all(place.path().join(dir)).unwrap();
        }
        put_view(&place.path().join(".git/HEAD"), b"ref: refs/heads/main\n").unwrap();
        let project = Project::discover(place.path()).unwrap();
        let home = Self { place, project };
        home.write(PLAN, &task("t-1", "one"));
        home
    }

    fn write(&self, file: &str, text: &str) -> &Self {
        put_view(&self.place.path().join(file), text.as_bytes()).unwrap();
        self
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.project.root().join(file)).unwrap()
    }

    fn store(&self) -> LedgerStore {
        LedgerStore::new(self.project.state_dir(), LockHolder::this_process(AT))
    }

    fn run(&self, run: &str, branch: &str) -> OpenRun {
        OpenRun {
            run: run.to_owned(),
            branch: Some(branch.to_owned()),
            home_branch: Some(branch.to_owned()),
            plan: PLAN.to_owned(),
            folder: String::new(),
            ignored: Vec::new(),
            workspace: RunWorkspace::Lane,
        }
    }

    fn open(&self) -> RunLedger {
        RunLedger::open(&self.project, self.run("r1", "main"), LedgerStart::Home).unwrap()
    }
}

fn task(id: &str, name: &str) -> String {
    format!("{{\"t\":\"task\",\"id\":\"{id}\",\"name\":\"{name}\",\"s\":\"p\"}}\n")
}

fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn without_an_open_run_every_file_is_in_home() {
    let home = Home::new();
    let root = home.project.root();
    for file in ledger_files(PLAN) {
        assert_eq!(home.project.ledger_file(&file), root.join(&file));
        assert_eq!(home.project.ledger_path(&root.join(&file)), root.join(&file));
    }
    assert!(RunLedger::of_home(&home.project).is_none());
}

#[test]
fn paths_resolve_to_the_copy_of_the_run_of_the_branch_that_home_is_on() {
    let home = Home::new();
    let root = home.project.root().to_owned();
    let ledger = home.open();
    let copy = ledger.copy_path(PLAN);
    assert_eq!(home.project.ledger_file(PLAN), copy);
    assert_eq!(home.project.ledger_path(&root.join("ralph/../ralph/plan.jsonl")), copy);
    assert_eq!(home.project.plan_jsonl(), copy);
    assert_eq!(plan_file(&home.project, None, None).unwrap(), copy);
    assert_eq!(plan_file(&home.project, None, Some(PLAN.as_ref())).unwrap(), copy);
    assert_eq!(plan_file(&home.project, Some(&root.join(PLAN)), None).unwrap(), copy);
    // Everything else stays where it is.
    for file in ["ralph/inbox.jsonl", ".ralph/handoffs/handoff-001.json", "other/plan.json"] {
        assert_eq!(home.project.ledger_file(file), root.join(file));
        assert_eq!(home.project.ledger_path(&root.join(file)), root.join(file));
    }
    // People see the path that they know.
    let reader = ProjectReader::new(home.project.clone(), root.clone(), Vec::new());
    assert_eq!(reader.show(&copy), PLAN);
    assert_eq!(home.project.relative_path(&copy), PLAN);
    assert_eq!(reader.plan(None).unwrap().shown, PLAN);
    home.write(".git/HEAD", "ref: refs/heads/other\n");
    assert_eq!(home.project.ledger_file(PLAN), root.join(PLAN));
    // On no branch, and where only git knows the branch, the open run counts.
    for head in ["0123456789012345678901234567890123456789\n", "ref: refs/heads/.invalid\n"] {
        home.write(".git/HEAD", head);
        assert_eq!(home.project.ledger_file(PLAN), copy, "{head}");
    }
}

#[test]
fn ignored_and_linked_files_stay_in_home() {
    let home = Home::new();
    home.write("elsewhere.md", "# Log\n");
    std::os::unix::fs::symlink("../elsewhere.md", {
        fs::create_dir_all(home.place.path().join(".ralph")).unwrap();
        home.place.path().join(".ralph/progress-log.md")
    })
    .unwrap();
    let run = OpenRun { ignored: vec![MARKDOWN_FILE.to_owned()], ..home.run("r1", "main") };
    let ledger = RunLedger::open(&home.project, run, LedgerStart::Home).unwrap();
    let root = home.project.root();
    for file in [MARKDOWN_FILE, JSON_FILE, ".ralph/progress-log.md"] {
        assert_eq!(home.project.ledger_file(file), root.join(file), "{file}");
    }
    assert_eq!(home.project.ledger_file(PLAN), ledger.copy_path(PLAN));
    assert_eq!(ledger.read(".ralph/progress-log.md").unwrap().unwrap(), b"# Log\n");
}

#[test]
fn a_project_in_a_folder_sees_its_own_run_alone() {
    let home = Home::new();
    home.write("shop/ralph.toml", "").write("shop/ralph/plan.jsonl", &task("t-9", "shop"));
    let shop = Project::discover(&home.place.path().join("shop")).unwrap();
    assert_eq!(shop.state_dir(), home.project.state_dir());
    let of_shop = RunLedger::open(&shop, home.run("r2", "main"), LedgerStart::Home).unwrap();
    assert_eq!(shop.ledger_file(PLAN), of_shop.copy_path(PLAN));
    assert_eq!(home.project.ledger_file(PLAN), home.project.root().join(PLAN));
    let own = home.open();
    assert_eq!(home.project.ledger_file(PLAN), own.copy_path(PLAN));
    assert_eq!(shop.ledger_file(PLAN), of_shop.copy_path(PLAN));
}

#[test]
fn a_run_that_was_killed_while_it_opened_or_closed_is_not_open() {
    let home = Home::new();
    let ledger = home.open();
    let directory = ledger.directory.clone();
    // Opening writes run.json last, and closing removes it first.
    fs::remove_file(directory.join(RUN_FILE)).unwrap();
    assert_eq!(home.project.ledger_file(PLAN), home.project.root().join(PLAN));
    assert!(RunLedger::all(&home.project).is_empty());
    let next = RunLedger::open(&home.project, home.run("r2", "main"), LedgerStart::Home).unwrap();
    assert!(!directory.exists(), "the leftover is removed");
    assert!(matches!(next.close(&home.store()).unwrap(), LedgerCloseResult::Closed));
    assert_eq!(fs::read_dir(home.project.state_dir().join(RUNS)).unwrap().count(), 0);
}

#[test]
fn a_run_with_changes_that_did_not_arrive_stays_open() {
    let home = Home::new();
    let (ledger, store) = (home.open(), home.store());
    let more = task("t-2", "two");
    let add = |old: Option<&[u8]>| {
        let old = String::from_utf8_lossy(old.unwrap_or_default()).into_owned();
        Ok::<_, LedgerStoreError>((old + &more, ()))
    };
    let copy = ledger.copy_path(PLAN);
    store.update(&copy, LedgerFileKind::of(&copy), add).unwrap();
    let LedgerCloseResult::Changed(ledger, files) = ledger.close(&store).unwrap() else {
        panic!("the change of {PLAN} is lost")
    };
    assert_eq!(files, [PLAN]);
    assert_eq!(home.text(PLAN), task("t-1", "one"), "home is as it was");
    assert!(ledger.write_home().unwrap().is_empty());
    assert_eq!(home.text(PLAN), task("t-1", "one") + &task("t-2", "two"));
    assert!(matches!(ledger.close(&store).unwrap(), LedgerCloseResult::Closed));
    // A command that resolved the path before cannot write where nobody looks.
    let late = store.update(&copy, LedgerFileKind::of(&copy), add).unwrap_err();
    assert!(matches!(late, LedgerStoreError::RunClosed(_)), "{late}");
    assert!(!copy.exists());
}

#[test]
fn another_branch_begins_with_its_own_files_and_homes_new_tasks() {
    let home = Home::new();
    let branch = "{\"t\":\"accept\",\"id\":\"t-1\",\"name\":\"one\"}\n".to_owned();
    let files = BTreeMap::from([(PLAN.to_owned(), branch.clone().into_bytes())]);
    home.write(PLAN, &(task("t-1", "one") + &task("t-5", "five")));
    let run = home.run("r1", "spec");
    let ledger = RunLedger::open(&home.project, run, LedgerStart::Branch(&files)).unwrap();
    assert_eq!(text_of(&ledger.copy_path(PLAN)), branch.clone() + &task("t-5", "five"));
    assert_eq!(ledger.seen(PLAN).unwrap().unwrap(), branch.into_bytes());
    assert_eq!(home.project.ledger_file(PLAN), home.project.root().join(PLAN));
    assert!(ledger.take_over(&home.store(), &BTreeSet::new(), AT).unwrap().is_empty());
}

#[test]
fn an_edit_in_home_is_taken_over_once_and_only_on_the_runs_branch() {
    let home = Home::new();
    let (ledger, store, none) = (home.open(), home.store(), BTreeSet::new());
    assert!(ledger.take_over(&store, &none, AT).unwrap().is_empty());
    let edited = task("t-1", "one") + &task("t-7", "mine");
    home.write(PLAN, &edited).write(".git/HEAD", "ref: refs/heads/other\n");
    assert!(ledger.take_over(&store, &none, AT).unwrap().is_empty());
    home.write(".git/HEAD", "ref: refs/heads/main\n").write(".git/index.lock", "");
    assert!(ledger.take_over(&store, &none, AT).unwrap().is_empty(), "git is at work");
    fs::remove_file(home.place.path().join(".git/index.lock")).unwrap();
    let remarks = ledger.take_over(&store, &none, AT).unwrap();
    assert_eq!(remarks, ["took over your edit of ralph/plan.jsonl: new task t-7"]);
    assert_eq!(text_of(&ledger.copy_path(PLAN)), edited);
    assert!(ledger.take_over(&store, &none, AT).unwrap().is_empty());
    assert!(ledger.not_arrived().unwrap().is_empty());
}

#[test]
fn a_file_that_is_gone_or_cannot_be_read_is_left_alone_and_told_once() {
    let home = Home::new();
    let (ledger, store, none) = (home.open(), home.store(), BTreeSet::new());
    let copy = text_of(&ledger.copy_path(PLAN));
    home.write(PLAN, "{\"t\":\"task\",\n{}\n");
    let remarks = ledger.take_over(&store, &none, AT).unwrap();
    assert!(remarks[0].starts_with("ralph/plan.jsonl is left alone: line 1"), "{remarks:?}");
    assert!(ledger.take_over(&store, &none, AT).unwrap().is_empty());
    fs::remove_file(home.place.path().join(PLAN)).unwrap();
    let remarks = ledger.take_over(&store, &none, AT).unwrap();
    assert_eq!(remarks, ["ralph/plan.jsonl is missing; it comes back with the next commit"]);
    assert_eq!(text_of(&ledger.copy_path(PLAN)), copy);
    assert_eq!(ledger.write_home().unwrap(), Vec::<String>::new());
}

#[test]
fn line_ends_that_git_writes_are_no_edit_of_every_line() {
    let home = Home::new();
    let index = "# Knowledge Index\n- a\n- b\n";
    home.write(MARKDOWN_FILE, index);
    let (ledger, store) = (home.open(), home.store());
    put_view(&ledger.copy_path(MARKDOWN_FILE), format!("{index}- run\n").as_bytes()).unwrap();
    ledger.mark_seen(MARKDOWN_FILE, Some(index.replace('\n', "\r\n").as_bytes())).unwrap();
    home.write(MARKDOWN_FILE, &index.replace("- a\n", "- A\n").replace('\n', "\r\n"));
    ledger.take_over(&store, &BTreeSet::new(), AT).unwrap();
    let copy = text_of(&ledger.copy_path(MARKDOWN_FILE));
    assert_eq!(copy, "# Knowledge Index\n- A\n- b\n- run\n");
}

#[test]
fn a_lane_gets_the_ledger_and_what_the_prompt_names_and_nothing_leaves_it() {
    let home = Home::new();
    let handoff = ".ralph/handoffs/handoff-001.json";
    home.write(handoff, "{}").write(MARKDOWN_FILE, "# Knowledge Index\n");
    let ledger = home.open();
    let (lane, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // An agent left a link and a file that the run does not have.
    std::os::unix::fs::symlink(outside.path(), lane.path().join(".ralph")).unwrap();
    fs::create_dir_all(lane.path().join("ralph/plan.jsonl")).unwrap();
    ledger.write_into(lane.path(), &[handoff.to_owned()]).unwrap();
    assert_eq!(text_of(&lane.path().join(PLAN)), home.text(PLAN));
    assert_eq!(text_of(&lane.path().join(handoff)), "{}");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    put_view(&lane.path().join(JSON_FILE), b"[]").unwrap();
    ledger.write_into(lane.path(), &[]).unwrap();
    assert!(!lane.path().join(JSON_FILE).exists());
}

#[test]
fn files_ride_as_the_setting_says() {
    let home = Home::new();
    home.write(MARKDOWN_FILE, "# Knowledge Index\n");
    let run = OpenRun { ignored: vec![PLAN.to_owned()], ..home.run("r1", "main") };
    let ledger = RunLedger::open(&home.project, run, LedgerStart::Home).unwrap();
    let rides = [MARKDOWN_FILE];
    for (setting, landing, end) in [
        (LedgerCommitPolicy::WithTask, &rides[..], &rides[..]),
        (LedgerCommitPolicy::AtEnd, &[][..], &rides[..]),
        (LedgerCommitPolicy::Never, &[][..], &[][..]),
    ] {
        assert_eq!(ledger.riding_files(setting, LedgerCommitKind::Landing), landing);
        assert_eq!(ledger.riding_files(setting, LedgerCommitKind::End), end);
    }
}

#[test]
fn a_plan_outside_of_the_project_has_no_copy() {
    assert!(!ledger_files("../plan.json").contains(&"../plan.json".to_owned()));
    assert!(!ledger_files("/tmp/plan.json").iter().any(|file| file.starts_with('/')));
    let of_spec = ledger_files("docs/implementation.json");
    assert!(of_spec.contains(&"docs/PROGRESS.md".to_owned()), "{of_spec:?}");
    assert!(!of_spec.contains(&INBOX.to_owned()));
}
