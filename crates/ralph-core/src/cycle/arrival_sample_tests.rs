//! One record of every kind that an arrival writes, and every reason why commits wait.

use super::*;

/// Every record of an arrival, each with all of its fields.
pub(super) fn of_arrival() -> Vec<JournalRecord> {
    let text = || String::from("c0ffee");
    let file = || TakenOverFile { path: "ralph/plan.jsonl".into(), content: text() };
    let entry = Some(StagedEntry { mode: "100644".into(), object: text() });
    let moved = ReplayedCommit { old: text(), new: text(), gated_before_replay: true };
    let replay = CommitReplay {
        onto: text(),
        old_tip: text(),
        tip: text(),
        commits: vec![moved],
        missing: vec!["a".into()],
    };
    let mut records = vec![
        JournalRecord::TipStarted(TipStart { run: "r1".into(), ..TipStart::default() }),
        JournalRecord::LedgerCommitted(LedgerCommit {
            attempt: "l".into(),
            commit: text(),
            paths: vec!["ralph/plan.jsonl".into()],
            taken_over: vec![file()],
        }),
        JournalRecord::ArrivalIntent(ArrivalIntent {
            way: ArrivalWay::FastForward,
            old: text(),
            new: text(),
            paths: vec!["a.rs".into()],
            rides: vec![RiddenFile { file: file(), entry }],
        }),
        JournalRecord::Arrived(ArrivedCommits {
            branch: "main".into(),
            commit: text(),
            commits: 2,
        }),
        JournalRecord::ReplayIntent(replay.clone()),
        JournalRecord::Replayed(replay),
        JournalRecord::Taken(TakenCommits { commit: text() }),
    ];
    records.extend(all_waits().into_iter().map(|why| {
        let waiting = WaitingCommits { run: "r1", branch: "main", count: 2 };
        let sentence = why.to_sentence(waiting);
        JournalRecord::NotArrived(UnarrivedCommits { why, sentence, commits: 2 })
    }));
    let ways = [
        SettlementWay::Uncommitted,
        SettlementWay::NewBranch("later".into()),
        SettlementWay::GivenUp("refs/ralph/r1/given-up".into()),
    ];
    records.extend(
        ways.map(|way| JournalRecord::Settled(SettledCommits { way, commit: text(), tip: text() })),
    );
    records
}

/// Every reason why commits wait.
pub(crate) fn all_waits() -> Vec<ArrivalWait> {
    let path = || String::from("src/a.rs");
    let paths = || vec![path()];
    vec![
        ArrivalWait::Edited { paths: paths() },
        ArrivalWait::NotTakenOver { path: path() },
        ArrivalWait::StagedApart { path: path() },
        ArrivalWait::Conflict { paths: paths() },
        ArrivalWait::RedGates { failed: vec!["test".into()] },
        ArrivalWait::Rewritten { missing: vec!["t-1".into()] },
        ArrivalWait::BranchGone,
        ArrivalWait::Detached,
        ArrivalWait::Operation {
            name: "rebase".into(),
            finish: "git rebase --continue".into(),
            give_up: "git rebase --abort".into(),
        },
        ArrivalWait::Process { command: "commit".into(), pid: 7 },
        ArrivalWait::Locked { lock: ".git/index.lock".into() },
        ArrivalWait::Unsettled,
        ArrivalWait::CheckedOutElsewhere { place: "../other".into() },
        ArrivalWait::WrongBranchMoved { branch: "topic".into(), old: "0123456789abcdef".into() },
        ArrivalWait::HomeMoved,
        ArrivalWait::AutoCommitOff,
        ArrivalWait::Interrupted { put_back: paths() },
        ArrivalWait::Refused { message: "no space".into() },
    ]
}
