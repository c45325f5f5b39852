//! Whether a loop is at work, without getting in its way: trying its lock could make a start fail.

use std::path::Path;

use rustix::process::{Pid, test_kill_process};

use super::lock::Holder;

/// The process that holds the run lock of a state directory, as far as it can be seen: the one that
/// took it last, if it is still there.
pub fn running(state_dir: &Path) -> Option<u32> {
    let holder = Holder::of_run(state_dir)?;
    let raw = i32::try_from(holder.pid).ok()?;
    test_kill_process(Pid::from_raw(raw)?).ok()?;
    is_same(&holder).then_some(holder.pid)
}

/// Numbers of processes are used again: where the system tells, the program must be the same.
fn is_same(holder: &Holder) -> bool {
    let proc = format!("/proc/{}", holder.pid);
    if std::fs::read_to_string(format!("{proc}/stat")).is_ok_and(|stat| is_dead(&stat)) {
        return false;
    }
    let Ok(line) = std::fs::read(format!("{proc}/cmdline")) else { return true };
    let now = String::from_utf8_lossy(&line);
    let program = now.split('\0').next().and_then(|word| word.rsplit('/').next());
    let then = holder.command.split(' ').next();
    now.is_empty() || program.is_none() || program == then
}

/// A process that ended and that nobody has asked about yet.
fn is_dead(stat: &str) -> bool {
    stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

#[cfg(test)]
mod tests {
    use super::super::{Holder, RunLock};
    use super::*;

    #[test]
    fn whoever_holds_the_lock_is_running_and_a_number_nobody_has_is_not() {
        let place = tempfile::tempdir().unwrap();
        assert_eq!(running(place.path()), None);
        let me = Holder::this_process("now");
        let lock = RunLock::acquire(place.path(), &me).unwrap();
        assert_eq!(running(place.path()), Some(me.pid));
        drop(lock);
        let gone = Holder { pid: 4_194_304, ..me };
        let _lock = RunLock::acquire(place.path(), &gone).unwrap();
        assert_eq!(running(place.path()), None);
    }
}
