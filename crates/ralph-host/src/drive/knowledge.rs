//! The knowledge index: when it is time, an agent brings it up to date, and ralph checks what it wrote.

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, schema_of};
use ralph_core::backend::Outcome;
use ralph_core::config::Mode;
use ralph_core::cycle::Record;
use ralph_core::memory::index::{JSON_FILE, MARKDOWN_FILE};
use ralph_core::memory::roles::directive::IndexerReport;
use ralph_core::memory::roles::{IndexerInput, indexer_prompt};
use ralph_core::memory::{Trigger, trigger};
use ralph_core::plan::Task;

use super::consult::{Answer, Consultation, Consulted, Question};
use super::error::{DriveError, Halt};
use super::ledger_guard::WrittenFiles;
use super::session::Session;
use super::terms::{Access, RoleTerms};
use crate::handoff_files;
use crate::knowledge_files::Snapshot;
use crate::store::{Durability, put_view};

/// Most handoffs that are looked at for one update.
const MOST_HANDOFFS: usize = 200;

impl Session<'_> {
    /// Before a task: bring the index up to date, if it is time.
    pub(super) fn index_if_due(&mut self, task: &Task) -> Result<(), Halt> {
        if self.config.mode != Mode::HandoffPlusIndex || !self.history.may_index() {
            return Ok(());
        }
        let Some(why) = self.index_trigger(task) else { return Ok(()) };
        self.record(Record::IndexDue(why), Durability::Eventual)?;
        let root = self.project.root().to_owned();
        let (since, last) = (self.history.unindexed.since.into(), self.history.iteration);
        let handoffs = handoff_files::between(&root, since, last.into(), MOST_HANDOFFS);
        let snapshot = Snapshot::take(&self.project.ledger_root(MARKDOWN_FILE))?;
        let templates = self.templates()?;
        let undone = self.history.undone.as_ref().map(|u| u.why.clone()).unwrap_or_default();
        let prompt = indexer_prompt(
            &templates,
            &IndexerInput {
                iteration: last.saturating_add(1),
                task,
                trigger: why,
                files: snapshot.files(),
                handoffs: &handoffs,
                undone: &undone,
            },
        )?;
        let fits = |said: &BackendAnswer| said.check::<IndexerReport>().map(|()| "");
        let question = Question { item: String::new(), prompt, check: &fits };
        let turns = self.config.memory.compaction_max_turns.get();
        let own = self.config.stage(AgentRole::Index.stage()).max_turns;
        let schema = schema_of::<IndexerReport>();
        let terms = RoleTerms {
            max_turns: own.is_none().then_some(turns),
            ..RoleTerms::of(&self.config, AgentRole::Index, schema, Access::Writes)
        };
        self.ask_about_index(terms, question, &snapshot, last).map(drop)
    }

    fn index_trigger(&self, task: &Task) -> Option<Trigger> {
        let memory = &self.config.memory;
        let most = usize::try_from(memory.novelty_recent_handoffs).unwrap_or(usize::MAX);
        let recent =
            handoff_files::recent(self.project.root(), self.history.iteration.into(), most);
        let recent: Vec<_> = recent.into_iter().map(|past| past.handoff).collect();
        trigger(task, &recent, self.history.unindexed, memory)
    }

    /// Ask an agent that may write the index, and make what it wrote the ledger's only when nothing is wrong
    /// with it.
    pub(super) fn ask_about_index(
        &mut self,
        terms: RoleTerms,
        question: Question<'_>,
        snapshot: &Snapshot,
        iteration: u32,
    ) -> Result<Answer, Halt> {
        let Consulted { answers, written, .. } =
            self.consult_softly(&Consultation::one(terms, question))?;
        let answer = answers.into_iter().next();
        let why = match &answer {
            Some(answer) if answer.outcome == Outcome::Success => {
                self.take_index(snapshot, written)?
            }
            Some(answer) => vec![format!("the agent did not come to its end: {}", answer.outcome)],
            None => vec!["the agent did not come to its end: it was not asked".to_owned()],
        };
        match why[..] {
            [] => self.record(Record::Indexed { iteration }, Durability::Eventual)?,
            _ => {
                self.warn(&format!("the knowledge index is as before: {}", why.join("; ")));
                self.record(Record::IndexUndone { why }, Durability::Eventual)?;
            }
        }
        Ok(answer.unwrap_or_else(|| Answer::failed(Outcome::Cancelled)))
    }

    /// Write an index that an agent made in its lane into the ledger, or say why not.
    fn take_index(
        &self,
        before: &Snapshot,
        mut written: WrittenFiles,
    ) -> Result<Vec<String>, DriveError> {
        let mut file = |name| written.remove(name).unwrap_or(Ok(None));
        let now = match (file(MARKDOWN_FILE), file(JSON_FILE)) {
            (Ok(markdown), Ok(json)) => Snapshot::of_bytes(markdown, json),
            (Err(e), _) | (_, Err(e)) => return Ok(vec![e.to_string()]),
        };
        let violations = before.violations(&now);
        if violations.is_empty() {
            for ((name, was), (_, bytes)) in before.bytes().into_iter().zip(now.bytes()) {
                if let Some(bytes) = bytes.filter(|_| was != bytes) {
                    put_view(&self.project.ledger_file(name), bytes)?;
                }
            }
        }
        Ok(violations.iter().map(ToString::to_string).collect())
    }
}
