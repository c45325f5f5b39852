//! Attacks on the server, one for each thing that must not be possible.
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::time::Duration;

use crate::site::{Site, await_hello, bind, noted, options, run};
use ralph_web::{RemoteAccess, ServerOptions};

#[test]
fn nothing_is_answered_without_the_token_also_on_this_machine() {
    let site = Site::new(&[]);
    for path in [
        "/",
        "/app.js",
        "/patch.js",
        "/app.css",
        "/openapi.json",
        "/api/state",
        "/api/events",
        "/x",
    ] {
        assert_eq!(site.ask("GET", path, "", "").status, 401, "{path}");
    }
    assert_eq!(site.ask("POST", "/api/command", "", "{\"command\":\"pause\"}").status, 401);
    for wrong in ["", "x", &site.token[1..], &format!("{}0", site.token), &"0".repeat(64)] {
        let bearer = format!("Authorization: Bearer {wrong}\r\n");
        assert_eq!(site.ask("GET", "/api/state", &bearer, "").status, 401, "{wrong}");
        let cookie = format!("Cookie: ralph-{}={wrong}\r\n", site.port);
        assert_eq!(site.ask("GET", "/api/state", &cookie, "").status, 401, "{wrong}");
        assert_eq!(site.ask("GET", &format!("/?token={wrong}"), "", "").status, 401, "{wrong}");
    }
    assert_eq!(site.get("/api/state").status, 200);
}

#[test]
fn the_link_becomes_a_cookie_that_no_script_and_no_other_site_can_use() {
    let site = Site::new(&[]);
    let welcome = site.ask("GET", &format!("/?token={}", site.token), "", "");
    assert_eq!(welcome.status, 200);
    let cookie = welcome.head.lines().find(|l| l.starts_with("Set-Cookie: ")).unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!welcome.body.contains(&site.token), "the address that stays has no token");
    assert!(welcome.head.contains("Referrer-Policy: no-referrer"));
    assert_eq!(site.ask("GET", "/", &site.cookie(), "").status, 200);
    // The token opens nothing but the page when it stands in an address.
    assert_eq!(site.ask("GET", &format!("/api/state?token={}", site.token), "", "").status, 401);
}

#[test]
fn a_name_that_was_pointed_at_this_machine_is_not_answered() {
    let site = Site::new(&[]);
    let (port, bearer) = (site.port, site.bearer());
    let ask = |hosts: &str| {
        site.raw(format!("GET /api/state HTTP/1.1\r\n{hosts}{bearer}\r\n").as_bytes()).status
    };
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")]
    {
        assert_eq!(ask(&format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in [
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("10.0.0.1:{port}"),
        "127.0.0.1".to_owned(),
        "127.0.0.1:1".to_owned(),
        format!("127.0.0.1:{port}@evil.example"),
    ] {
        assert_eq!(ask(&format!("Host: {host}\r\n")), 421, "{host}");
    }
    assert_eq!(ask(""), 400);
    assert_eq!(ask(&format!("Host: localhost:{port}\r\nHost: evil.example\r\n")), 400);
}

#[test]
fn another_site_cannot_make_a_browser_change_or_read_anything() {
    let site = Site::new(&[]);
    let body = "{\"command\":\"stop\"}";
    let json = "Content-Type: application/json\r\n";
    let own = format!("Origin: http://127.0.0.1:{}\r\n", site.port);
    for origin in [
        "Origin: https://evil.example\r\n".to_owned(),
        "Origin: null\r\n".to_owned(),
        format!("Origin: http://localhost:{}\r\n", site.port),
        format!("Origin: https://127.0.0.1:{}\r\n", site.port),
        "Origin: http://127.0.0.1:1\r\n".to_owned(),
        format!("{own}Sec-Fetch-Site: cross-site\r\n"),
        String::new(),
    ] {
        let headers = format!("{}{json}{origin}", site.cookie());
        assert_eq!(site.ask("POST", "/api/command", &headers, body).status, 403, "{origin}");
    }
    let foreign = format!("{}Origin: https://evil.example\r\n", site.cookie());
    let read = site.ask("GET", "/api/state", &foreign, "");
    assert_eq!(read.status, 403);
    assert!(!read.head.contains("Access-Control"), "{}", read.head);
    // A form can send no JSON.
    for kind in
        ["", "Content-Type: text/plain\r\n", "Content-Type: application/x-www-form-urlencoded\r\n"]
    {
        let headers = format!("{}{own}{kind}", site.cookie());
        assert_eq!(site.ask("POST", "/api/command", &headers, body).status, 415, "{kind}");
    }
    assert!(!site.path(".ralph/control/commands.json").exists(), "nothing was done");
    let headers = format!("{}{own}{json}", site.cookie());
    assert_eq!(site.ask("POST", "/api/command", &headers, body).status, 202);
}

#[test]
fn no_path_leads_to_a_file() {
    let site = Site::new(&[(".env", "KEY=abcdefgh"), ("ralph/specs/a.md", "# A\n")]);
    for path in [
        "/.env",
        "/ralph.toml",
        "/ralph/plan.jsonl",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/api/specs/..%2f..%2fralph.toml",
        "/api/specs/../../ralph.toml",
        "/api/specs/%2fetc%2fpasswd",
        "/api/specs/a.md%00.txt",
        "/api/attempts/..%2f..%2f.env/prompt",
        "/api/attempts/../../.env/stream",
        "/api/tasks/..%2f..%2f.env",
        "//etc/passwd",
        "/app.js/../.env",
        "/.git/config",
        "/.ralph/serve-token",
    ] {
        let answer = site.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("root:") && !answer.body.contains("abcdefgh"), "{path}");
    }
    assert_eq!(site.get("/api/specs/a.md").status, 200);
    for name in
        ["../x.md", "/etc/x.md", "a/../../x.md", ".hidden.md", "x.toml", "sub/x.md", "a b.md"]
    {
        let body = serde_json::json!({ "name": name, "text": "x" }).to_string();
        assert_eq!(site.post("/api/specs", &body).status, 400, "{name}");
    }
}

#[test]
fn a_log_that_the_journal_names_outside_of_the_project_is_not_shown() {
    let site = Site::new(&[]);
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let started = |id: &str, log: &str| {
        serde_json::from_value(serde_json::json!({
            "record": "attempt_started", "attempt": id, "run": "r1", "iteration": 1, "task_id": "t",
            "name": "n", "retry": 0, "backend": "sim", "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"}, "log": log,
        }))
        .unwrap()
    };
    let outside = elsewhere.path().to_string_lossy().into_owned();
    std::os::unix::fs::symlink(elsewhere.path(), site.path("linked.log")).unwrap();
    site.journal(vec![
        run(),
        started("a", &outside),
        started("b", "../x.log"),
        started("c", "linked.log"),
    ]);
    for id in ["a", "b", "c"] {
        assert_eq!(site.get(&format!("/api/attempts/{id}")).status, 200);
        assert_eq!(site.get(&format!("/api/attempts/{id}/stream")).status, 404, "{id}");
    }
}

#[test]
fn what_is_too_long_is_refused_and_not_kept() {
    let site = Site::new(&[]);
    let long = "x".repeat(20_000);
    assert_eq!(site.ask("GET", &format!("/{long}"), &site.bearer(), "").status, 431);
    assert_eq!(site.ask("GET", "/", &format!("X: {long}\r\n"), "").status, 431);
    let (port, bearer) = (site.port, site.bearer());
    let announce = |length: &str| {
        let head = format!(
            "POST /api/specs HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{bearer}{length}\r\n\r\n"
        );
        site.raw(head.as_bytes()).status
    };
    assert_eq!(announce("Content-Length: 1000000000"), 413);
    assert_eq!(announce("Transfer-Encoding: chunked"), 501);
    assert_eq!(announce("Content-Length: 1\r\nContent-Length: 2"), 400);
    assert_eq!(site.get("/api/state").status, 200);
}

#[test]
fn whoever_says_nothing_is_not_waited_for_and_does_not_keep_others_out() {
    let site = Site::new(&[]);
    let mut silent: Vec<TcpStream> =
        (0..300).filter_map(|_| TcpStream::connect(("127.0.0.1", site.port)).ok()).collect();
    // Some of them get a word at once: there are too many.
    let mut refused = 0;
    for stream in &mut silent {
        stream.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let mut word = [0; 64];
        if stream.read(&mut word).is_ok_and(|n| String::from_utf8_lossy(&word[..n]).contains("503"))
        {
            refused += 1;
        }
    }
    assert!(refused > 0, "300 connections at once were all kept");
    let mut slow = silent.swap_remove(0);
    slow.write_all(b"GET / HT").unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut answer = String::new();
    let _ended = slow.read_to_string(&mut answer);
    assert!(answer.contains("408") || answer.is_empty(), "{answer}");
    drop(silent);
    let answered = (0..1200).any(|_| {
        std::thread::sleep(Duration::from_millis(50));
        site.get("/api/state").status == 200
    });
    assert!(answered);
}

#[test]
fn an_address_of_the_network_needs_a_second_word() {
    let place = tempfile::tempdir().unwrap();
    let all = ServerOptions { bind: IpAddr::V4(Ipv4Addr::UNSPECIFIED), ..options() };
    let error = bind(place.path(), all.clone()).err().unwrap();
    assert!(error.to_string().contains("other machines"), "{error}");
    assert!(error.hint().unwrap().contains("--allow-remote"));
    assert!(bind(place.path(), ServerOptions { remote: RemoteAccess::Allow, ..all }).is_ok());
}

#[test]
fn secrets_are_hidden_in_events_and_everywhere_else() {
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let toml = "redact = [\"corp-*\"]\n";
    let plan = format!("{{\"t\":\"task\",\"id\":\"t-aaaa\",\"name\":\"use {key}\",\"s\":\"p\"}}\n");
    let site = Site::new(&[("ralph.toml", toml), ("ralph/plan.jsonl", &plan)]);
    site.journal(vec![run(), noted(&format!("the key is {key}, the other corp-77aa"))]);
    for path in ["/api/events", "/api/plan", "/api/tasks/t-aaaa"] {
        let body = site.get(path).body;
        assert!(body.contains("[hidden]") && !body.contains(key), "{path}: {body}");
        assert!(!body.contains("corp-77aa"), "{path}");
    }
}

#[test]
fn a_page_from_here_may_talk_to_nobody_else_and_stand_in_no_frame() {
    let site = Site::new(&[]);
    let page = site.ask("GET", "/", &site.cookie(), "");
    let policy = page.head.lines().find(|l| l.starts_with("Content-Security-Policy")).unwrap();
    for rule in
        ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]
    {
        assert!(policy.contains(rule), "{policy}");
    }
    assert!(!page.body.contains("http://") && !page.body.contains("https://"));
}

#[test]
fn nonsense_is_answered_and_breaks_nothing() {
    let site = Site::new(&[]);
    for bytes in [
        &b"\r\n\r\n"[..],
        b"\0\0\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
        b"OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\xff\xfe / HTTP/1.1\r\n\r\n",
    ] {
        assert!((400..500).contains(&site.raw(bytes).status), "{bytes:?}");
    }
    assert_eq!(site.get("/api/state").status, 200);
}

#[test]
fn whoever_speaks_a_byte_at_a_time_is_ended_when_the_time_for_a_request_is_over() {
    let site = Site::new(&[]);
    let mut slow = TcpStream::connect(("127.0.0.1", site.port)).unwrap();
    slow.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut drip = slow.try_clone().unwrap();
    // Each byte comes well before any silence would be too long: only a limit for the whole helps.
    let dripping = std::thread::spawn(move || {
        let head = format!("GET /api/state HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(400));
        head.bytes().all(|byte| {
            std::thread::sleep(Duration::from_millis(100));
            drip.write_all(&[byte]).is_ok()
        })
    });
    let mut answer = String::new();
    let _reset = slow.read_to_string(&mut answer);
    drop(slow);
    assert!(answer.contains("408") || answer.is_empty(), "{answer}");
    assert!(!dripping.join().unwrap(), "the whole request was waited for");
}

#[test]
fn the_token_and_the_page_that_leads_to_it_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let server = bind(place.path(), options()).unwrap();
    let door = server.door().unwrap();
    for path in [place.path().join(".ralph/serve-token"), door] {
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}: {mode:o}", path.display());
    }
    assert!(!server.address().contains("token"));
    let link = server.link();
    drop(server);
    let again = bind(place.path(), ServerOptions { new_token: true, ..options() }).unwrap();
    let token = |link: &str| link.split("token=").nth(1).map(str::to_owned);
    assert_ne!(token(&link), token(&again.link()), "links from before open nothing any more");
    assert!(token(&link).is_some_and(|token| token.len() >= 32), "{link}");
}

#[test]
fn secrets_are_hidden_in_what_a_backend_says_and_was_told_and_as_it_happens() {
    let key = "sk-ant-api03-0123456789abcdefghijABCDEFGHIJ0123456789abcdefghij";
    let said = format!("{{\"event\":\"text\",\"text\":\"I use {key} and corp-77aa\"}}\n");
    let site = Site::new(&[
        ("ralph.toml", "redact = [\"corp-*\"]\n"),
        ("build/ralph-logs/a.log", &said),
        ("build/ralph-logs/a.prompt.md", &format!("the key is {key}, corp-77aa")),
    ]);
    let started = serde_json::from_value(serde_json::json!({
        "record": "attempt_started", "attempt": "a", "run": "r1", "iteration": 1, "task_id": "t",
        "name": "n", "retry": 0, "backend": "sim", "base": {"keeper": "r", "attempt": "a", "commit": "0000000000000000000000000000000000000000"}, "log": "build/ralph-logs/a.log",
    }));
    site.journal(vec![run(), started.unwrap()]);
    for path in ["/api/attempts/a/stream", "/api/attempts/a/prompt"] {
        let body = site.get(path).body;
        assert!(body.contains("[hidden]"), "{path}: {body}");
        assert!(!body.contains(key) && !body.contains("corp-77aa"), "{path}: {body}");
    }
    let mut events = site.events("/api/events", "");
    await_hello(&mut events);
    site.journal(vec![noted(&format!("found {key} and corp-77aa"))]);
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !text.contains("found ") {
        let length = events.read(&mut piece).unwrap();
        assert!(length > 0, "{text}");
        text.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    assert!(text.contains("[hidden]") && !text.contains(key) && !text.contains("corp-77aa"));
}
