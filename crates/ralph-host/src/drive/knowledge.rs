//! The knowledge index: when it is time, an agent brings it up to date, and ralph checks what it wrote.

use ralph_core::agent_role::AgentRole;
use ralph_core::answer::{BackendAnswer, schema_of};
use ralph_core::backend::BackendOutcome;
use ralph_core::config::MemoryMode;
use ralph_core::cycle::JournalRecord;
use ralph_core::memory::index::{JSON_FILE, MARKDOWN_FILE};
use ralph_core::memory::roles::directive::IndexerReport;
use ralph_core::memory::roles::{IndexerInput, indexer_prompt};
use ralph_core::memory::{IndexTrigger, trigger};
use ralph_core::plan::Task;

use super::consult::{Consultation, ConsultationAnswer, ConsultationQuestion, ConsultationResult};
use super::error::{DriveError, LoopHalt};
use super::ledger_guard::WrittenFiles;
use super::session::RunSession;
use super::terms::{AgentAccess, RoleTerms};
use crate::handoff_files;
use crate::knowledge_files::KnowledgeSnapshot;
use crate::store::{Durability, put_view};

/// Most handoffs that are looked at for one update.
const MOST_HANDOFFS: usize = 200;

impl RunSession<'_> {
    /// Before a task: bring the index up to date, if it is time.
    pub(super) fn index_if_due(&mut self, task: &Task) -> Result<(), LoopHalt> {
        if self.config.mode != MemoryMode::HandoffPlusIndex || !self.history.may_index() {
            return Ok(());
        }
        let Some(why) = self.index_trigger(task) else { return Ok(()) };
        self.record(JournalRecord::IndexDue(why), Durability::Eventual)?;
        let root = self.project.root().to_owned();
        let (since, last) = (self.history.unindexed.since.into(), self.history.iteration);
        let handoffs = handoff_files::between(&root, since, last.into(), MOST_HANDOFFS);
        let snapshot = KnowledgeSnapshot::take(&self.project.ledger_root(MARKDOWN_FILE))?;
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
        let question = ConsultationQuestion { item: String::new(), prompt, check: &fits };
        let turns = self.config.memory.compaction_max_turns.get();
        let own = self.config.stage(AgentRole::Index.stage()).max_turns;
        let schema = schema_of::<IndexerReport>();
        let terms = RoleTerms {
            max_turns: own.is_none().then_some(turns),
            ..RoleTerms::of(&self.config, AgentRole::Index, schema, AgentAccess::Writes)
        };
        self.ask_about_index(terms, question, &snapshot, last).map(drop)
    }

    fn index_trigger(&self, task: &Task) -> Option<IndexTrigger> {
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
        question: ConsultationQuestion<'_>,
        snapshot: &KnowledgeSnapshot,
        iteration: u32,
    ) -> Result<ConsultationAnswer, LoopHalt> {
        let ConsultationResult { answers, written, .. } =
            self.consult_if_possible(&Consultation::one(terms, question))?;
        let answer = answers.into_iter().next();
        let why = match &answer {
            Some(answer) if answer.outcome == BackendOutcome::Success => {
                self.take_index(snapshot, written)?
            }
            Some(answer) => vec![format!("the agent did not come to its end: {}", answer.outcome)],
            None => vec!["the agent did not come to its end: it was not asked".to_owned()],
        };
        match why[..] {
            [] => self.record(JournalRecord::Indexed { iteration }, Durability::Eventual)?,
            _ => {
                self.warn(&format!("the knowledge index is as before: {}", why.join("; ")));
                self.record(JournalRecord::IndexUndone { why }, Durability::Eventual)?;
            }
        }
        Ok(answer.unwrap_or_else(|| ConsultationAnswer::failed(BackendOutcome::Cancelled)))
    }

    /// Write an index that an agent made in its lane into the ledger, or say why not.
    fn take_index(
        &self,
        before: &KnowledgeSnapshot,
        mut written: WrittenFiles,
    ) -> Result<Vec<String>, DriveError> {
        let mut file = |name| written.remove(name).unwrap_or(Ok(None));
        let now = match (file(MARKDOWN_FILE), file(JSON_FILE)) {
            (Ok(markdown), Ok(json)) => KnowledgeSnapshot::of_bytes(markdown, json),
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
