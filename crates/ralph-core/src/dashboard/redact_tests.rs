use proptest::prelude::*;
use serde_json::json;

use super::*;

fn hide(text: &str) -> String {
    Redactor::default().hide(text)
}

#[test]
fn well_known_keys_are_hidden_wherever_they_stand() {
    let secrets = [
        "sk-ant-api03-AbCdEf0123456789AbCdEf",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_11ABCDEFG0123456789_abcdefghij",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefghijkl",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
    ];
    for secret in secrets {
        for text in [
            secret.to_owned(),
            format!("it is {secret}, really"),
            format!("export KEY={secret}\n"),
            json!({"text": format!("curl -H 'x: {secret}'")}).to_string(),
            format!("https://user:{secret}@example.com/x"),
        ] {
            assert!(!hide(&text).contains(secret), "{text} -> {}", hide(&text));
        }
    }
}

#[test]
fn the_value_of_a_telling_name_is_hidden_and_the_rest_stays() {
    for (text, hidden) in [
        ("password: hunter22 ok", "password: [hidden] ok"),
        ("OPENAI_API_KEY=abcdef123", "OPENAI_API_KEY=[hidden]"),
        ("{\"api_key\":\"abcdef123\",\"n\":1}", "{\"api_key\":\"[hidden]\",\"n\":1}"),
        ("Authorization: Bearer abcdef123", "Authorization: Bearer [hidden]"),
        ("GITHUB_TOKEN = 'abcdef123'", "GITHUB_TOKEN = '[hidden]'"),
    ] {
        assert_eq!(hide(text), hidden);
    }
}

#[test]
fn ordinary_words_stay_as_they_are() {
    for text in [
        "{\"tokens\":[5200,310],\"attempt\":\"01JHX2ABCDEFGHJKMNPQRSTVWX\"}",
        "sk-learn is a library; task-based; eyJ",
        "commit 0c1f3b8e8f6a2d4c5b7a9e1d3f5b7a9c1e3d5f7b",
        "src/password_reset.rs: 3 tests",
        "the secret ingredient, a password manager and the token economy",
    ] {
        assert_eq!(hide(text), text);
    }
}

#[test]
fn a_private_key_in_armour_is_hidden_whole() {
    let key =
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc\n-----END RSA PRIVATE KEY-----";
    let text = format!("before\n{key}\nafter");
    assert_eq!(hide(&text), "before\n[hidden]\nafter");
    assert_eq!(hide(&format!("KEY={key}")), "KEY=[hidden]");
    assert_eq!(hide(&key[..60]), "[hidden]", "one that was cut off");
    let public = "-----BEGIN PUBLIC KEY-----\nabc\n-----END PUBLIC KEY-----";
    assert_eq!(hide(public), public);
}

#[test]
fn patterns_of_the_user_are_hidden_too() {
    let redactor = Redactor::new(&["corp-*".into(), "the-code".into(), "a*z".into(), "*".into()]);
    assert_eq!(redactor.hide("corp-12ab x the-code y abcz q"), "[hidden] x [hidden] y [hidden] q");
}

#[test]
fn json_is_hidden_by_name_and_by_shape_and_numbers_stay() {
    let mut value =
        json!({"api_key": "abcdef123", "tokens": [1, 2], "n": [{"x": "password=abcdef1"}]});
    Redactor::new(&["1".into()]).hide_json(&mut value);
    let hidden =
        json!({"api_key": "[hidden]", "tokens": [1, 2], "n": [{"x": "password=[hidden]"}]});
    assert_eq!(value, hidden);
}

proptest! {
    #[test]
    fn no_key_survives_in_any_text(before in "\\PC{0,20}", after in "[ ,;\"']\\PC{0,20}",
        key in "(sk-|ghp_|xoxb-)[a-z]{10}[0-9]{15}") {
        let hidden = hide(&format!("{before} {key}{after}"));
        prop_assert!(!hidden.contains(&key), "{}", hidden);
    }
}
