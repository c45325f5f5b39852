use proptest::prelude::*;

use super::super::arrival_record::{RiddenFile, TakenOverFile};
use super::super::arrival_sample_tests::all_waits;
use super::super::model_tests::entries;
use super::*;
use crate::cycle::{
    ArrivedCommits, CommitReplay, History, JournalRecord, LandedAttempt, ReplayedCommit, RunState,
    SettledCommits, SettlementWay, TakenCommits, TipStart, UnarrivedCommits, WaitingCommits,
};

fn text(word: &str) -> String {
    word.to_owned()
}

fn start(tip: &str) -> JournalRecord {
    let target = ArrivalTarget::HomeBranch;
    let (run, branch) = (text("r1"), text("main"));
    JournalRecord::TipStarted(TipStart {
        run,
        branch,
        target,
        arrived: text("base"),
        tip: text(tip),
    })
}

fn landed(attempt: &str, commit: &str, paths: &[&str]) -> JournalRecord {
    JournalRecord::Landed(LandedAttempt {
        attempt: text(attempt),
        commit: Some(text(commit)),
        paths: paths.iter().map(|path| text(path)).collect(),
        ..LandedAttempt::default()
    })
}

fn arrived(at: &str) -> JournalRecord {
    JournalRecord::Arrived(ArrivedCommits { branch: text("main"), commit: text(at), commits: 1 })
}

fn line_of(records: Vec<JournalRecord>) -> ArrivalLine {
    let mut all = Vec::new();
    for record in records {
        if let JournalRecord::Landed(landed) = &record {
            let task = format!("task-{}", landed.attempt);
            all.push(super::super::model_tests::start(&landed.attempt, 1, &task));
        }
        all.push(record);
    }
    History::of(&entries(all)).arrival.unwrap()
}

/// `one` has arrived, `two` and `three` wait.
fn line() -> ArrivalLine {
    line_of(vec![
        start("base"),
        landed("a1", "one", &["a.rs"]),
        arrived("one"),
        landed("a2", "two", &["src/b.rs"]),
        landed("a3", "three", &["src/c.rs"]),
    ])
}

fn facts() -> ArrivalFacts {
    ArrivalFacts {
        branch_at: Some(text("one")),
        ancestry: BranchAncestry::Unmoved,
        head: HomeHead::OnBranch,
        busy: None,
        elsewhere: None,
        attempts: BTreeSet::new(),
        accepted: BTreeSet::new(),
    }
}

fn decide(line: &ArrivalLine, facts: &ArrivalFacts) -> ArrivalStep {
    decide_arrival(line, facts, MissingWorkAnswer::Wait)
}

fn commits(landed: &[LandedCommit]) -> Vec<&str> {
    landed.iter().map(|landed| landed.commit.as_str()).collect()
}

#[test]
fn a_branch_that_nobody_moved_is_fast_forwarded_where_it_is_checked_out() {
    assert_eq!(decide(&line(), &facts()), ArrivalStep::FastForward { to: text("three") });
    let left = ArrivalFacts { head: HomeHead::OnOtherBranch, ..facts() };
    assert_eq!(decide(&line(), &left), ArrivalStep::Fetch { to: text("three") });
}

#[test]
fn nothing_happens_when_nothing_waits() {
    let line = line_of(vec![start("base"), landed("a1", "one", &["a"]), arrived("one")]);
    assert!(line.is_settled() && line.waiting().is_empty());
    for head in [HomeHead::OnBranch, HomeHead::OnOtherBranch, HomeHead::Detached] {
        assert_eq!(decide(&line, &ArrivalFacts { head, ..facts() }), ArrivalStep::Nothing);
    }
}

#[test]
fn a_busy_or_detached_home_waits() {
    let merge = ArrivalWait::Process { command: text("commit"), pid: 7 };
    let busy = ArrivalFacts { busy: Some(merge.clone()), ..facts() };
    assert_eq!(decide(&line(), &busy), ArrivalStep::Wait(merge.clone()));
    let rebase = ArrivalFacts { head: HomeHead::Detached, busy: Some(merge.clone()), ..facts() };
    assert_eq!(decide(&line(), &rebase), ArrivalStep::Wait(merge.clone()));
    let detached = ArrivalFacts { head: HomeHead::Detached, ..facts() };
    assert_eq!(decide(&line(), &detached), ArrivalStep::Wait(ArrivalWait::Detached));
    let busy_elsewhere = ArrivalFacts { head: HomeHead::OnOtherBranch, ..busy };
    assert_eq!(decide(&line(), &busy_elsewhere), ArrivalStep::Fetch { to: text("three") });
}

#[test]
fn a_named_branch_needs_no_branch_in_home() {
    let mut line = line();
    line.target = ArrivalTarget::NamedBranch;
    let detached = ArrivalFacts { head: HomeHead::Detached, ..facts() };
    assert_eq!(decide(&line, &detached), ArrivalStep::Fetch { to: text("three") });
    let gone = ArrivalFacts { branch_at: None, ..facts() };
    assert_eq!(decide(&line, &gone), ArrivalStep::Wait(ArrivalWait::BranchGone));
    line.arrived = text("base");
    assert_eq!(decide(&line, &gone), ArrivalStep::Fetch { to: text("three") });
}

#[test]
fn a_branch_that_another_worktree_has_waits() {
    let place = text("../other");
    let head = HomeHead::OnOtherBranch;
    let elsewhere = ArrivalFacts { head, elsewhere: Some(place.clone()), ..facts() };
    let wait = ArrivalWait::CheckedOutElsewhere { place };
    assert_eq!(decide(&line(), &elsewhere), ArrivalStep::Wait(wait));
}

#[test]
fn commits_of_the_person_are_followed_by_a_replay() {
    let branch_at = Some(text("mine"));
    let facts = ArrivalFacts { branch_at, ancestry: BranchAncestry::HasArrived, ..facts() };
    let replay = ArrivalStep::Replay { onto: text("mine"), missing: Vec::new() };
    assert_eq!(decide(&line(), &facts), replay);
}

#[test]
fn a_branch_that_has_the_tip_is_followed_even_in_the_middle_of_something() {
    let busy = Some(ArrivalWait::Detached);
    let branch_at = Some(text("merged"));
    let ancestry = BranchAncestry::HasTip;
    let facts = ArrivalFacts { branch_at, ancestry, busy, head: HomeHead::Detached, ..facts() };
    assert_eq!(decide(&line(), &facts), ArrivalStep::Taken { at: text("merged") });
}

#[test]
fn a_rewritten_branch_waits_only_for_work_that_it_lost() {
    let branch_at = Some(text("rebased"));
    let lost = ArrivalFacts { branch_at, ancestry: BranchAncestry::Rewritten, ..facts() };
    let wait = ArrivalWait::Rewritten { missing: vec![text("task-a1")] };
    assert_eq!(decide(&line(), &lost), ArrivalStep::Wait(wait));
    let ArrivalStep::Replay { onto, missing } =
        decide_arrival(&line(), &lost, MissingWorkAnswer::BringRest)
    else {
        panic!("the rest comes");
    };
    assert_eq!((onto.as_str(), commits(&missing)), ("rebased", vec!["one"]));
    let replay = ArrivalStep::Replay { onto: text("rebased"), missing: Vec::new() };
    let attempts = BTreeSet::from([text("a1")]);
    assert_eq!(decide(&line(), &ArrivalFacts { attempts, ..lost.clone() }), replay);
    let accepted = BTreeSet::from([text("task-a1")]);
    assert_eq!(decide(&line(), &ArrivalFacts { accepted, ..lost }), replay);
}

#[test]
fn commits_before_the_first_blocked_one_can_arrive() {
    let line = line();
    let waiting = line.waiting();
    let prefix = |blocked: &[&str]| {
        let blocked: Vec<String> = blocked.iter().map(|path| text(path)).collect();
        longest_prefix(waiting, &blocked).map(|landed| landed.commit.clone())
    };
    assert_eq!(prefix(&["src/c.rs"]), Some(text("two")));
    assert_eq!(prefix(&["src/c.rs/deeper"]), Some(text("two")));
    assert_eq!(prefix(&["src/"]), None);
    assert_eq!(prefix(&["src/b.rs"]), None);
    assert_eq!(prefix(&["src/b.r", "sr"]), Some(text("three")));
    let silent = [LandedCommit { commit: text("x"), ..LandedCommit::default() }];
    assert_eq!(longest_prefix(&silent, &[]), None, "it does not say what it touches");
}

#[test]
fn the_journal_says_what_waits_and_why() {
    let line = line();
    assert_eq!((commits(line.waiting()), line.tip.as_str()), (vec!["two", "three"], "three"));
    let intent = ArrivalIntent { old: text("one"), new: text("two"), ..ArrivalIntent::default() };
    let mut records = vec![
        start("base"),
        landed("a1", "one", &["a.rs"]),
        landed("a2", "two", &["b.rs"]),
        JournalRecord::ArrivalIntent(intent.clone()),
    ];
    let open = line_of(records.clone());
    assert_eq!((open.open_arrival.as_ref(), open.is_settled()), (Some(&intent), false));
    let why = ArrivalWait::Unsettled;
    let not = UnarrivedCommits { why: why.clone(), sentence: text("wait"), commits: 2 };
    records.push(JournalRecord::NotArrived(not));
    let waits = line_of(records.clone());
    assert_eq!((waits.open_arrival, waits.wait), (None, Some(why)));
    records.push(arrived("one"));
    let line = line_of(records);
    assert_eq!((commits(line.waiting()), &line.wait), (vec!["two"], &None));
}

#[test]
fn a_replay_renames_what_waits_and_forgets_what_is_missing() {
    let moved = |old: &str, new: &str| ReplayedCommit {
        old: text(old),
        new: text(new),
        gated_before_replay: false,
    };
    let replay = CommitReplay {
        onto: text("mine"),
        old_tip: text("three"),
        tip: text("three'"),
        commits: vec![moved("three", "three'")],
        missing: vec![text("a1")],
    };
    let mut line = line();
    line.add(&JournalRecord::ReplayIntent(replay.clone()), |_| None);
    assert_eq!(line.open_replay.as_ref(), Some(&replay));
    line.add(&JournalRecord::Replayed(replay), |_| None);
    assert_eq!(commits(line.waiting()), ["three'"], "two is on the branch already");
    assert_eq!((line.arrived.as_str(), line.tip.as_str()), ("mine", "three'"));
    assert!(line.arrived_commits().is_empty() && line.open_replay.is_none());
}

#[test]
fn a_run_adopts_the_commits_that_wait_on_its_tip() {
    let records = vec![start("base"), landed("a1", "one", &["a"]), start("one")];
    assert_eq!(commits(line_of(records).waiting()), ["one"]);
    let records = vec![start("base"), landed("a1", "one", &["a"]), start("base")];
    assert!(line_of(records).waiting().is_empty(), "it starts at the branch");
}

#[test]
fn taken_and_settled_commits_no_longer_wait() {
    let mut taken = line();
    taken.add(&JournalRecord::Taken(TakenCommits { commit: text("merged") }), |_| None);
    assert!(taken.is_settled() && taken.waiting().is_empty());
    assert_eq!(commits(taken.arrived_commits()), ["one", "two", "three"]);
    let mut settled = line();
    let way = SettlementWay::GivenUp(text("refs/ralph/r1/given-up"));
    let (commit, tip) = (text("three"), text("one"));
    settled.add(&JournalRecord::Settled(SettledCommits { way, commit, tip }), |_| None);
    assert!(settled.is_settled() && settled.waiting().is_empty());
    assert_eq!(commits(settled.arrived_commits()), ["one"]);
}

#[test]
fn every_wait_names_a_way_out() {
    let waiting = WaitingCommits { run: "r1", branch: "main", count: 2 };
    for wait in all_waits() {
        let (sentence, way) = (wait.to_sentence(waiting), wait.way_out(waiting));
        assert!(sentence.starts_with("2 commits wait: "), "{sentence}");
        assert!(sentence.contains(&format!("; `{}` {}", way.command, way.effect)), "{sentence}");
        let command = way.command.as_str();
        assert!(command.contains("ralph land") || command.starts_with("git merge"), "{command}");
        let json = serde_json::to_string(&wait).unwrap();
        assert_eq!(serde_json::from_str::<ArrivalWait>(&json).unwrap(), wait);
    }
    let one = WaitingCommits { count: 1, ..waiting };
    let edited = ArrivalWait::Edited { paths: vec![text("src/a.rs")] };
    assert_eq!(
        edited.to_sentence(one),
        "1 commit waits: it touches src/a.rs, which you are editing; `ralph land` brings it when you \
         are ready"
    );
    let conflict = ArrivalWait::Conflict { paths: vec![text("a"); 5] };
    assert_eq!(
        conflict.to_sentence(waiting),
        "2 commits wait: conflict with your commits on main in a, a, a and 2 more; `git merge \
         refs/ralph/r1/tip` lets you resolve it; after your commit, `ralph land` finishes"
    );
    let command = |wait: &ArrivalWait| wait.way_out(waiting).command;
    let moved =
        ArrivalWait::WrongBranchMoved { branch: text("my topic"), old: text("0123456789ab") };
    assert_eq!(
        command(&moved),
        "git switch 'my topic' && git reset --keep 0123456789 && ralph land"
    );
    let elsewhere = ArrivalWait::CheckedOutElsewhere { place: text("/a b") };
    assert_eq!(command(&elsewhere), "git -C '/a b' switch --detach && ralph land");
}

#[test]
fn what_was_never_tried_waits_only_when_the_run_has_ended() {
    let mut line = line_of(vec![start("base"), landed("a1", "one", &["a"])]);
    assert_eq!(line.waits_for(RunState::Open), None);
    assert!(matches!(line.waits_for(RunState::Ended), Some(ArrivalWait::Interrupted { .. })));
    let not = UnarrivedCommits { why: ArrivalWait::Detached, sentence: text("wait"), commits: 1 };
    line.add(&JournalRecord::NotArrived(not), |_| None);
    assert_eq!(line.waits_for(RunState::Open), Some(ArrivalWait::Detached));
    line.add(&arrived("one"), |_| None);
    assert_eq!(line.waits_for(RunState::Ended), None);
}

fn fact(path: &str, in_old: bool, in_new: bool, now: PathContent) -> PathFact {
    PathFact { path: text(path), in_old, in_new, now }
}

#[test]
fn a_killed_arrival_puts_back_what_is_its_own() {
    let intent = ArrivalIntent { old: text("one"), new: text("two"), ..ArrivalIntent::default() };
    let paths = [
        fact("changed", true, true, PathContent::New),
        fact("half", true, true, PathContent::PartOfNew),
        fact("unlinked", true, true, PathContent::Missing),
        fact("deleted", true, false, PathContent::Missing),
        fact("added", false, true, PathContent::New),
        fact("untouched", true, true, PathContent::Old),
        fact("not there yet", false, true, PathContent::Missing),
        fact("edited", true, true, PathContent::Other),
        fact("edited and deleted there", true, false, PathContent::Other),
    ];
    let recover = |branch, head| recover_arrival(&intent, branch, head, &paths);
    let own = ["changed", "half", "unlinked", "deleted", "added"].map(text).to_vec();
    let (at_old, on_branch) = (KilledArrivalBranch::AtOld, HomeHead::OnBranch);
    assert_eq!(recover(at_old, on_branch), ArrivalRecovery::PutBack { paths: own });
    assert_eq!(recover(at_old, HomeHead::OnOtherBranch), ArrivalRecovery::PutBackEntries);
    assert_eq!(recover(KilledArrivalBranch::HasNew, on_branch), ArrivalRecovery::Finish);
    let elsewhere = KilledArrivalBranch::Elsewhere;
    assert_eq!(recover(elsewhere, on_branch), ArrivalRecovery::PutBackEntries);
    let fetch = ArrivalIntent { way: ArrivalWay::Fetch, ..intent };
    assert_eq!(recover_arrival(&fetch, at_old, on_branch, &paths), ArrivalRecovery::Leave);
}

fn any_path_is() -> impl Strategy<Value = PathContent> {
    let all = [
        PathContent::Old,
        PathContent::New,
        PathContent::Missing,
        PathContent::PartOfNew,
        PathContent::Other,
    ];
    proptest::sample::select(all.to_vec())
}

fn any_facts() -> impl Strategy<Value = Vec<PathFact>> {
    let one = ("[a-c]{1,2}", any::<bool>(), any::<bool>(), any_path_is());
    let one = one.prop_map(|(path, old, new, now)| fact(&path, old, new, now));
    proptest::collection::vec(one, 0..6)
}

proptest! {
    #[test]
    fn an_edit_of_a_person_is_never_put_back(paths in any_facts(), ridden in "[a-c]{1,2}") {
        let file = TakenOverFile { path: ridden.clone(), content: String::new() };
        let intent = ArrivalIntent {
            old: text("one"),
            new: text("two"),
            rides: vec![RiddenFile { file, entry: None }],
            ..ArrivalIntent::default()
        };
        let recovery =
            recover_arrival(&intent, KilledArrivalBranch::AtOld, HomeHead::OnBranch, &paths);
        let ArrivalRecovery::PutBack { paths: own } = recovery else { panic!("{recovery:?}") };
        prop_assert!(!own.contains(&ridden));
        for path in own {
            let theirs = |now| matches!(now, PathContent::Old | PathContent::Other);
            prop_assert!(paths.iter().any(|fact| fact.path == path && !theirs(fact.now)));
        }
    }

    #[test]
    fn no_commit_of_a_prefix_touches_a_blocked_path(
        touched in proptest::collection::vec(proptest::collection::vec("[ab](/[ab]){0,2}", 1..3), 0..5),
        blocked in proptest::collection::vec("[ab](/[ab]){0,2}", 0..3),
    ) {
        let waiting: Vec<LandedCommit> = touched
            .into_iter()
            .enumerate()
            .map(|(n, paths)| LandedCommit { commit: n.to_string(), paths, ..LandedCommit::default() })
            .collect();
        let free = |landed: &LandedCommit| {
            !landed.paths.iter().any(|path| blocked.iter().any(|other| overlaps(path, other)))
        };
        let count = match longest_prefix(&waiting, &blocked) {
            Some(last) => last.commit.parse::<usize>().unwrap() + 1,
            None => 0,
        };
        prop_assert!(waiting[..count].iter().all(free));
        prop_assert!(waiting.get(count).is_none_or(|next| !free(next)));
    }

    #[test]
    fn a_branch_that_lost_work_moves_only_when_the_person_says_so(
        known in proptest::collection::btree_set("a[1-3]", 0..3),
        head in proptest::sample::select(vec![HomeHead::OnBranch, HomeHead::OnOtherBranch]),
    ) {
        let mut line = line();
        line.add(&arrived("two"), |_| None);
        let facts = ArrivalFacts {
            branch_at: Some(text("rebased")),
            ancestry: BranchAncestry::Rewritten,
            head,
            attempts: known.clone(),
            ..facts()
        };
        let complete = known.contains("a1") && known.contains("a2");
        let moves = matches!(decide(&line, &facts), ArrivalStep::Replay { .. });
        prop_assert_eq!(moves, complete);
    }
}
