//! Decisions of a person about commits that wait: as uncommitted changes, on a new branch, or given
//! up.

use std::collections::BTreeSet;
use std::fs;

use ralph_core::cycle::{
    ArrivalIntent, ArrivalLine, ArrivalWait, ArrivalWay, HomeHead, JournalRecord, SettledCommits,
    SettlementWay,
};

use super::super::call::nul_list;
use super::super::{GitChange, Repo};
use super::{
    Arrival, ArrivalError, ArrivalHost, ArrivalOutcome, GitError, RepoPath, path_of, path_text,
};
use crate::crash;

impl Repo<'_> {
    /// `ralph land --no-commit`: bring the waiting commits as uncommitted changes. Home has to be as it
    /// is for a fast-forward, and the index is not touched.
    pub fn land_without_commit(
        &self,
        line: &ArrivalLine,
        host: &mut dyn ArrivalHost,
    ) -> Result<ArrivalOutcome, ArrivalError> {
        let mut arrival = Arrival { repo: self, line: line.clone(), host };
        arrival.write_uncommitted()
    }

    /// `ralph land --branch NAME`: put the waiting commits on a new branch.
    pub fn land_on_branch(
        &self,
        line: &ArrivalLine,
        name: &str,
        host: &mut dyn ArrivalHost,
    ) -> Result<(), ArrivalError> {
        let mut arrival = Arrival { repo: self, line: line.clone(), host };
        let tip = arrival.line.tip.clone();
        if self.find_commit(&format!("refs/heads/{name}"))?.is_none_or(|at| at.as_str() != tip) {
            self.arrival_call(["branch", "--no-track", "--", name, &tip]).ok()?;
        }
        crash::point();
        arrival.settle(SettlementWay::NewBranch(name.to_owned()))
    }

    /// `ralph land --discard`: give the waiting commits up. A ref keeps them, and the tip goes back to
    /// the branch.
    pub fn give_up(
        &self,
        line: &ArrivalLine,
        host: &mut dyn ArrivalHost,
    ) -> Result<String, ArrivalError> {
        let mut arrival = Arrival { repo: self, line: line.clone(), host };
        let name = format!("refs/ralph/{}/given-up", line.run);
        self.arrival_call(["update-ref", &name, &line.tip]).ok()?;
        crash::point();
        arrival.settle(SettlementWay::GivenUp(name.clone()))?;
        Ok(name)
    }
}

impl Arrival<'_, '_, '_> {
    /// Journal the decision, and move the tip back to the branch.
    fn settle(&mut self, way: SettlementWay) -> Result<(), ArrivalError> {
        let commit = self.line.tip.clone();
        let branch = self.branch_at()?.map(|at| at.to_string());
        let tip = branch.unwrap_or_else(|| self.line.arrived.clone());
        self.record(JournalRecord::Settled(SettledCommits { way, commit, tip: tip.clone() }))?;
        crash::point();
        let name = Repo::tip_ref(&self.line.run);
        self.repo.arrival_call(["update-ref", &name, &tip]).ok()?;
        Ok(())
    }

    fn write_uncommitted(&mut self) -> Result<ArrivalOutcome, ArrivalError> {
        let (old, new) = (self.line.arrived.clone(), self.line.tip.clone());
        let changes = self.repo.touched(&old, &new)?;
        let rides = match self.find_rides(&new, &changes)? {
            Ok(rides) => rides,
            Err(wait) => return self.wait(wait),
        };
        let ridden: BTreeSet<RepoPath> =
            rides.iter().map(|ride| path_of(&ride.file.path)).collect();
        let changes: Vec<GitChange> =
            changes.into_iter().filter(|change| !ridden.contains(&change.path)).collect();
        if let Some(wait) = self.not_ready_for_files(&changes)? {
            return self.wait(wait);
        }
        self.record(JournalRecord::ArrivalIntent(ArrivalIntent {
            way: ArrivalWay::FilesOnly,
            old,
            new: new.clone(),
            paths: changes.iter().map(|change| path_text(&change.path)).collect(),
            rides: rides.clone(),
        }))?;
        crash::point();
        for change in changes.iter().filter(|change| change.old.is_some()) {
            self.repo.remove_file(&change.path)?;
        }
        crash::point();
        self.repo.write_new_files(&changes, &new)?;
        crash::point();
        self.repo.write_rides(&rides, &new)?;
        self.settle(SettlementWay::Uncommitted)?;
        Ok(ArrivalOutcome::Complete)
    }

    /// Home as it has to be before files are written to it.
    fn not_ready_for_files(&self, changes: &[GitChange]) -> Result<Option<ArrivalWait>, GitError> {
        let at_arrived = self.branch_at()?.is_some_and(|at| at.as_str() == self.line.arrived);
        if !at_arrived {
            return Ok(Some(ArrivalWait::HomeMoved));
        }
        match self.repo.home_head(&self.line)? {
            HomeHead::OnBranch => {}
            HomeHead::Detached => return Ok(Some(ArrivalWait::Detached)),
            HomeHead::OnOtherBranch => return Ok(Some(ArrivalWait::HomeMoved)),
        }
        if let Some(busy) = self.repo.busy() {
            return Ok(Some(busy));
        }
        let paths: Vec<RepoPath> = changes.iter().map(|change| change.path.clone()).collect();
        let mut blocked = self.repo.not_as_in_head(&paths)?;
        blocked.extend(self.repo.paths_in_the_way(changes));
        let paths: Vec<String> = blocked.iter().map(path_text).collect();
        Ok((!paths.is_empty()).then_some(ArrivalWait::Edited { paths }))
    }
}

impl Repo<'_> {
    /// Files and folders of the person where new files would be.
    fn paths_in_the_way(&self, changes: &[GitChange]) -> Vec<RepoPath> {
        let goes: BTreeSet<&RepoPath> =
            changes.iter().filter(|c| c.old.is_some()).map(|c| &c.path).collect();
        let added = changes.iter().filter(|c| c.new.is_some()).map(|c| &c.path);
        let mut found = Vec::new();
        for path in added {
            match fs::symlink_metadata(self.file(path)) {
                Ok(meta) if meta.is_dir() && !self.all_go(path, &goes) => found.push(path.clone()),
                Ok(meta) if !meta.is_dir() && !goes.contains(path) => found.push(path.clone()),
                _ => {}
            }
            // A file, or a link to somewhere else, instead of a folder.
            for above in path.as_path().ancestors().skip(1) {
                let above = RepoPath::new(above.as_os_str().as_encoded_bytes());
                let meta = fs::symlink_metadata(self.file(&above));
                let is_folder = meta.is_ok_and(|meta| !meta.is_dir());
                if is_folder && !above.as_bytes().is_empty() && !goes.contains(&above) {
                    found.push(above);
                }
            }
        }
        found
    }

    /// Whether everything in a folder is removed.
    fn all_go(&self, folder: &RepoPath, goes: &BTreeSet<&RepoPath>) -> bool {
        let Ok(entries) = fs::read_dir(self.file(folder)) else { return false };
        entries.flatten().all(|entry| {
            let mut path = folder.as_bytes().to_vec();
            path.push(b'/');
            path.extend_from_slice(entry.file_name().as_encoded_bytes());
            let path = RepoPath::new(path);
            match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => self.all_go(&path, goes),
                false => goes.contains(&path),
            }
        })
    }

    /// Check files of a commit out where nothing is. Git does not write over anything here.
    fn write_new_files(&self, changes: &[GitChange], new: &str) -> Result<(), GitError> {
        let paths: Vec<&RepoPath> =
            changes.iter().filter(|c| c.new.is_some()).map(|c| &c.path).collect();
        if paths.is_empty() {
            return Ok(());
        }
        let index = self.arrival_index()?;
        self.git(["read-tree", new]).index(&index).ok()?;
        let call = self.arrival_call(["checkout-index", "-z", "--stdin"]).index(&index);
        call.stdin(nul_list(paths)).ok()?;
        let _left = fs::remove_file(&index);
        Ok(())
    }
}
