//! Processes that earlier runs left are ended before anything else: they write where the next one works.

use ralph_core::cycle::{History, JournalRecord, Remark};

use crate::proc::{JobRunner, mark};

/// End what is left of earlier runs. Only for whoever holds the lock of the run: then no loop but this
/// one can be at work here, whatever its processes are called.
/// Returns what is to be written down about it.
pub(super) fn end_survivors(history: &History, runner: &JobRunner) -> Vec<JournalRecord> {
    let crashed = history.run.as_ref().filter(|_| history.run_end.is_none());
    // A run that was killed while it recovered is in no journal; its processes know the place.
    let of_run = crashed.map(|run| mark::kill_survivors(&run.run)).unwrap_or_default();
    let place = runner.place().map(|place| mark::kill_others_at(place, runner.run_id()));
    let of_place = place.unwrap_or_default();
    let (killed, left) = (of_run.0 + of_place.0, of_place.1.max(of_run.1));
    let ended = (killed > 0).then(|| {
        let text = format!("ended the processes of the interrupted run ({killed})");
        JournalRecord::Recovered(Remark::new(text))
    });
    let alive = (left > 0).then(|| {
        let text = format!("cannot end processes of the interrupted run ({left})");
        JournalRecord::Warned(Remark::new(text))
    });
    ended.into_iter().chain(alive).collect()
}
