//! Processes that the sim leaves behind.

use std::fs;
use std::process::Command;

/// The processes that carry this mark in their environment; they are killed. Finds none where there
/// is no `/proc`; there they end by themselves.
pub(super) fn strays(mark: &str) -> Vec<u32> {
    let marked = format!("RALPH_RUN={mark}");
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ.split(|byte| *byte == 0).any(|variable| variable == marked.as_bytes()) {
            Command::new("kill").args(["-KILL", &pid.to_string()]).status().unwrap();
            found.push(pid);
        }
    }
    found
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use std::io::Read;
    use std::thread;
    use std::time::Duration;

    use super::strays;
    use crate::sim::{PROMPT, Stage};

    /// The number in a file that a process is about to write.
    fn pid_in(stage: &Stage, name: &str) -> u32 {
        let path = stage.project.path(name);
        loop {
            match fs::read_to_string(&path).unwrap_or_default().trim().parse() {
                Ok(pid) => return pid,
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// The parent and the session of a process.
    fn parent_and_session(pid: u32) -> (u32, u32) {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
        (fields[1].parse().unwrap(), fields[3].parse().unwrap())
    }

    fn spawn(how: &str, hold: bool) -> String {
        format!(
            "[[rule]]\nsteps = [{{ spawn = '{how}', hold_stdout = {hold}, \
             command = 'echo $$ > pid; exec sleep 600' }}, {{ claim = 'done' }}]"
        )
    }

    #[test]
    fn strays_outlive_the_sim_in_every_way() {
        let own = parent_and_session(std::process::id()).1;
        for how in ["child", "nohup", "setsid", "double_fork"] {
            let stage = Stage::new();
            let seen = stage.run(&spawn(how, false));
            assert_eq!(seen.status.code(), Some(0));
            let pid = pid_in(&stage, "pid");
            let (_, session) = parent_and_session(pid);
            let ignored = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
            let ignored = ignored.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
            let hup = u64::from_str_radix(ignored, 16).unwrap() & 1 == 1;
            assert_eq!(strays(&stage.mark), [pid], "{how}");
            assert_eq!(session != own, ["setsid", "double_fork"].contains(&how), "{how}");
            if how == "nohup" {
                assert!(hup, "SIGHUP is not ignored");
            }
            if how == "double_fork" {
                assert_ne!(session, pid, "it leads its session, so nobody forked in between");
            }
        }
    }

    #[test]
    fn a_stray_can_hold_standard_output_open() {
        let stage = Stage::new();
        let mut child = stage.start(&spawn("setsid", true), &[], PROMPT);
        assert_eq!(child.wait().unwrap().code(), Some(0), "the sim itself is gone");
        let pid = pid_in(&stage, "pid");
        let pipe = fs::read_link(format!("/proc/{pid}/fd/1")).unwrap();
        assert!(pipe.to_string_lossy().starts_with("pipe:"), "{}", pipe.display());
        assert_eq!(strays(&stage.mark), [pid]);
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        assert!(stdout.contains("\"finished\""), "{stdout}");
    }
}
