use super::*;

const SCENARIO: &str = r#"{"rules": [
    {"when": "HELLO", "steps": [{"text": "hello $1"}]},
    {"when": "LIMIT", "steps": [{"fault": {"kind": "usage_limit", "resets_at": 1900000000}}]},
    {"when": "TEAPOT", "steps": [{"fault": {"kind": "status", "status": 418,
        "body": "short and stout", "headers": {"retry-after": "7"}}}]},
    {"when": "TWICE", "steps": [{"text": "at last", "times": 2,
        "fault": {"kind": "status", "status": 529}}]},
    {"when": "HANG", "steps": [{"fault": {"kind": "hang"}}]},
    {"when": "STALL", "steps": [{"fault": {"kind": "stall"}, "text": "never told"}]},
    {"when": "DROP", "steps": [{"fault": {"kind": "drop"}, "text": "never told"}]},
    {"when": "TRUNCATE", "steps": [{"fault": {"kind": "truncate"}, "text": "never told"}]},
    {"when": "MALFORMED", "steps": [{"fault": {"kind": "malformed"}, "text": "told"}]},
    {"when": "ERROR", "steps": [{"fault": {"kind": "stream_error"}, "text": "never told"}]}
]}"#;

const END: &str = "event: message_stop";
const LAST_CHUNK: &str = "0\r\n\r\n";

fn server() -> Server {
    Server::start(Scenario::parse(SCENARIO).unwrap()).unwrap()
}

/// Send bytes and give back all that comes.
fn raw(server: &Server, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn message(prompt: &str) -> Vec<u8> {
    let body = json!({"model": "m", "stream": true, "tools": [{"name": "Bash"}],
        "messages": [{"role": "user", "content": prompt}]});
    post("/v1/messages?key=secret", &body.to_string())
}

fn post(path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nX-Api-Key: secret\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

#[test]
fn a_prompt_gets_its_answer_as_a_stream() {
    let server = server();
    let answer = raw(&server, &message("HELLO world"));
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("text/event-stream") && answer.contains("\"hello\""), "{answer}");
    assert!(answer.contains(END) && answer.ends_with(LAST_CHUNK), "{answer}");
}

#[test]
fn a_call_without_stream_gets_one_body() {
    let body = r#"{"messages": [{"role": "user", "content": "HELLO you"}]}"#;
    let answer = raw(&server(), &post("/v1/messages", body));
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["content"][0]["text"], "hello you");
}

#[test]
fn a_chunked_call_with_expect_is_understood() {
    let server = server();
    let call = "POST /v1/messages HTTP/1.1\r\nExpect: 100-continue\r\n\
        Transfer-Encoding: chunked\r\n\r\n4\r\n{\"me\r\n5;x=y\r\nssag\"\r\n0\r\n\r\n";
    let answer = raw(&server, call.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200"), "{answer}");
}

#[test]
fn calls_are_kept_without_their_keys() {
    let server = server();
    raw(&server, &message("HELLO world"));
    raw(&server, b"GET /favicon.ico HTTP/1.1\r\n\r\n");
    let [first, second] = &server.requests()[..] else { panic!("two calls were made") };
    assert_eq!((first.rule.as_deref(), first.step), (Some("HELLO"), 0));
    assert_eq!(first.protocol, Some(Protocol::Anthropic));
    assert_eq!(first.body["messages"][0]["content"], "HELLO world");
    assert!(!first.to_json().to_string().contains("secret"), "{first:?}");
    assert_eq!((second.path.as_str(), &second.rule), ("/favicon.ico", &None));
}

#[test]
fn refusals_have_their_status_headers_and_body() {
    let server = server();
    let limit = raw(&server, &message("LIMIT"));
    assert!(limit.starts_with("HTTP/1.1 429 "), "{limit}");
    assert!(limit.contains("anthropic-ratelimit-unified-reset: 1900000000\r\n"), "{limit}");
    let own = raw(&server, &message("TEAPOT"));
    assert!(own.starts_with("HTTP/1.1 418 ") && own.contains("retry-after: 7\r\n"), "{own}");
    assert!(own.ends_with("\r\n\r\nshort and stout"), "{own}");
}

#[test]
fn a_fault_can_go_away_and_spares_side_calls() {
    let server = server();
    let side = raw(
        &server,
        &post("/v1/messages", r#"{"messages": [{"role": "user", "content": "TWICE"}]}"#),
    );
    assert!(side.starts_with("HTTP/1.1 200 "), "{side}");
    let codes: Vec<bool> =
        (0..3).map(|_| raw(&server, &message("TWICE")).starts_with("HTTP/1.1 529 ")).collect();
    assert_eq!(codes, [true, true, false]);
}

#[test]
fn broken_streams_are_broken_as_the_scenario_says() {
    let server = server();
    let said = |prompt| raw(&server, &message(prompt));
    let (dropped, cut) = (said("DROP"), said("TRUNCATE"));
    assert!(!dropped.contains(END) && !dropped.ends_with(LAST_CHUNK), "{dropped}");
    assert!(!cut.contains(END) && cut.ends_with(LAST_CHUNK), "{cut}");
    let (garbled, failed) = (said("MALFORMED"), said("ERROR"));
    assert!(garbled.contains("this is not\n") && garbled.contains(END), "{garbled}");
    assert!(failed.contains("overloaded_error") && !failed.contains(END), "{failed}");
}

#[test]
fn dropping_the_server_ends_those_who_hang() {
    let server = server();
    let waiting: Vec<_> = ["HANG", "STALL"]
        .map(|prompt| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.write_all(&message(prompt)).unwrap();
            stream
        })
        .into();
    while server.requests().len() < 2 {
        thread::yield_now();
    }
    drop(server);
    for mut stream in waiting {
        let mut answer = String::new();
        let _reset = stream.read_to_string(&mut answer);
        assert!(!answer.contains(END), "{answer}");
    }
}

#[test]
fn nonsense_is_refused_and_the_server_goes_on() {
    let server = server();
    let bad = raw(&server, b"POST /v1/messages HTTP/1.1\r\nContent-Length: many\r\n\r\n");
    assert!(bad.starts_with("HTTP/1.1 400 "), "{bad}");
    let models = raw(&server, b"GET /v1/models HTTP/1.1\r\n\r\n");
    assert!(models.starts_with("HTTP/1.1 200 "), "{models}");
}
