use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use super::*;

fn request(text: &str) -> MailboxRequest {
    let call = MailboxCall::Command { args: vec![text.into()], input: None };
    MailboxRequest { project: None, call }
}

fn done(text: &str) -> MailboxAnswer {
    MailboxAnswer::Done { stdout: text.into(), stderr: String::new(), code: 0 }
}

/// Wait for a request.
fn next(socket: &MailboxSocket) -> PendingRequest {
    loop {
        if let Some(pending) = socket.next() {
            return pending;
        }
        std::thread::yield_now();
    }
}

#[test]
fn whoever_asks_gets_the_answer_to_its_own_question() {
    let place = tempfile::tempdir().unwrap();
    let directory = MailboxDirectory::open(place.path()).unwrap();
    let mode = std::fs::metadata(directory.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let socket = MailboxSocket::open(&directory, "01JJ1M66209S64N4YYK5X95SK6").unwrap();
    let callers: Vec<_> = (0..3 * MOST_CALLERS)
        .map(|n| {
            let (path, text) = (socket.path().to_owned(), n.to_string());
            std::thread::spawn(move || (ask(&path, &request(&text)).unwrap(), text))
        })
        .collect();
    for _ in &callers {
        let pending = next(&socket);
        let MailboxCall::Command { args, .. } = pending.request.call.clone() else {
            panic!("a command was asked")
        };
        pending.answer(done(&args[0]));
    }
    for caller in callers {
        let (answer, text) = caller.join().unwrap();
        assert_eq!(answer, done(&text));
    }
}

#[test]
fn nothing_is_left_of_a_socket_and_whoever_still_waits_is_told_that_it_is_over() {
    let place = tempfile::tempdir().unwrap();
    let directory = MailboxDirectory::open(place.path()).unwrap();
    let socket = MailboxSocket::open(&directory, "a").unwrap();
    let path = socket.path().to_owned();
    let waiting = std::thread::spawn({
        let path = path.clone();
        move || ask(&path, &request("x"))
    });
    let pending = next(&socket);
    drop(socket);
    drop(pending);
    let MailboxAnswer::Refused(why) = waiting.join().unwrap().unwrap() else {
        panic!("it is this loop's business")
    };
    assert!(why.contains("the attempt is over"), "{why}");
    assert!(matches!(ask(&path, &request("x")), Err(MailboxError::Gone { .. })));
    let path = directory.path().to_owned();
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0);
    drop(directory);
    assert!(!path.exists());
}

#[test]
fn what_a_killed_run_left_in_the_directory_goes() {
    let place = tempfile::tempdir().unwrap();
    let directory = MailboxDirectory::open(place.path()).unwrap();
    let socket = MailboxSocket::open(&directory, "a").unwrap();
    let path = directory.path().to_owned();
    std::mem::forget((socket, directory));
    let directory = MailboxDirectory::open(place.path()).unwrap();
    assert_eq!((directory.path(), std::fs::read_dir(&path).unwrap().count()), (&*path, 0));
}

#[test]
fn nonsense_is_refused_and_others_are_served_beside_whoever_says_nothing() {
    let place = tempfile::tempdir().unwrap();
    let directory = MailboxDirectory::open(place.path()).unwrap();
    let socket = MailboxSocket::open(&directory, "a").unwrap();
    let _silent = UnixStream::connect(socket.path()).unwrap();
    let mut nonsense = UnixStream::connect(socket.path()).unwrap();
    nonsense.write_all(b"nonsense\n").unwrap();
    let mut answer = String::new();
    nonsense.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("cannot read this request"), "{answer}");
    let path = socket.path().to_owned();
    let asking = std::thread::spawn(move || ask(&path, &request("x")).unwrap());
    next(&socket).answer(MailboxAnswer::Elsewhere);
    assert_eq!(asking.join().unwrap(), MailboxAnswer::Elsewhere);
}
