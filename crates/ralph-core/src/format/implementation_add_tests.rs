//! implementation.json: where new tasks and specs go, and how they look there.

use super::*;

#[test]
fn a_new_task_goes_to_the_end_of_its_spec() {
    let new = Task { accept: vec!["works".into()], ..named("login-02", "Log out", Some("login")) };
    let expected = r#""status": "pending"
        },
        {
          "id": "login-02",
          "description": "Log out",
          "status": "pending",
          "acceptanceCriteria": ["works"]
        }
      ]
    }
  ]
}
"#;
    let old = "\"status\": \"pending\"\n        }\n      ]\n    }\n  ]\n}\n";
    assert_eq!(edit(PRETTY, &[add(new)]), with(PRETTY, old, expected));
}

#[test]
fn a_new_task_follows_the_style_of_the_file() {
    let new = "}\r\n            ]";
    let members = ["\"id\": \"a-2\"", "\"description\": \"B\"", "\"status\": \"pending\""];
    let lines = members.join(",\r\n                    ");
    let added = format!(
        "}},\r\n                {{\r\n                    {lines}\r\n                }}\r\n            ]"
    );
    let out = edit(FOUR, &[add(named("a-2", "B", None))]);
    assert_eq!(out, with(FOUR, new, &added));

    let out = edit(COMPACT, &[add(named("s-3", "C", Some("s")))]);
    let added = r#"},{"id":"s-3","description":"C","status":"pending"}],"z""#;
    assert_eq!(out, with(COMPACT, r#"}],"z""#, added));
}

#[test]
fn a_spec_is_found_by_id_file_or_stem() {
    for name in ["avatar", "specs/user-avatar.md", "user-avatar", "ralph/specs/user-avatar.md"] {
        let out = edit(PRETTY, &[add(named("n", "N", Some(name)))]);
        assert_eq!(task(&out, "n").spec.as_deref(), Some("avatar"), "{name}");
        assert_eq!(plan(&out).specs.len(), 2);
    }
}

#[test]
fn a_new_task_follows_the_one_it_names() {
    let follow = |task: Task, after: &str| PlanEdit::AddTask { task, after: Some(after.into()) };
    let edits = [
        follow(named("n1", "1", None), "avatar-1"),
        follow(named("n2", "2", None), "n1"),
        follow(named("n3", "3", Some("login")), "avatar-1"),
    ];
    let out = edit(PRETTY, &edits);
    let ids: Vec<_> = plan(&out).tasks.into_iter().map(|t| t.id).collect();
    assert_eq!(ids, ["avatar-1", "n1", "n2", "avatar-2", "login-01", "n3"].map(Id::from));
}

#[test]
fn a_task_without_a_spec_goes_to_the_first_that_is_open() {
    let done = PRETTY.replace("in_progress", "completed");
    let out = edit(&done, &[add(named("n", "N", None))]);
    assert_eq!(task(&out, "n").spec.as_deref(), Some("login"));
    let all = with(
        &done,
        "\"status\": \"pending\",\n      \"dep",
        "\"status\": \"completed\",\n      \"dep",
    );
    let out = edit(&all, &[add(named("n", "N", None)), add(named("m", "M", None))]);
    assert_eq!(task(&out, "n").spec.as_deref(), Some("plan"));
    assert_eq!((plan(&out).specs.len(), plan(&out).tasks.len()), (3, 5));
    let titled = edit(&ImplementationCodec.empty("My Shop", AT), &[add(named("n", "N", None))]);
    assert_eq!(plan(&titled).specs[0].id, "my-shop");
    assert_eq!(plan(&titled).specs[0].name.as_deref(), Some("My Shop"));
}

#[test]
fn a_spec_that_is_not_there_is_made() {
    let running =
        Task { state: TaskState::Running, ..named("p-2", "Q", Some("specs/check-out.md")) };
    let out = edit(PRETTY, &[add(named("p-1", "P", Some("specs/check-out.md"))), add(running)]);
    let new = r#"
    },
    {
      "id": "check-out",
      "file": "specs/check-out.md",
      "name": "Check Out",
      "priority": 6,
      "status": "in_progress",
      "tasks": [
        {
          "id": "p-1",
          "description": "P",
          "status": "pending"
        },
        {
          "id": "p-2",
          "description": "Q",
          "status": "in_progress"
        }
      ],
      "acceptanceCriteria": []
    }
  ]
}
"#;
    assert_eq!(out, with(PRETTY, "\n    }\n  ]\n}\n", new));
    let spec = |file: &str| add(named(file, "x", Some(file)));
    let out = edit(COMPACT, &[spec("a/x.md"), spec("b/x.md")]);
    let ids: Vec<_> = plan(&out).specs.into_iter().map(|s| s.id).collect();
    assert_eq!(ids, ["s", "x", "x-2"], "files of the same name stay apart");
}

#[test]
fn a_spec_without_tasks_gets_its_array() {
    let text = r#"{"specs": [{"id": "a", "name": "A"}, {"id": "b", "tasks": null}]}"#;
    let new = r#"[{"id": "1", "description": "x", "status": "pending"}]"#;
    let out = edit(text, &[add(named("1", "x", Some("a")))]);
    let member = format!("\"A\", \"status\": \"pending\", \"tasks\": {new}");
    assert_eq!(out, with(text, "\"A\"", &member));
    let out = edit(text, &[add(named("1", "x", Some("b")))]);
    let member = format!("{new}, \"status\": \"pending\"");
    assert_eq!(out, with(text, "null", &member));
}

#[test]
fn an_empty_plan_is_a_pretty_file() {
    let expected = format!(
        "{{\n  \"version\": 1,\n  \"updatedAt\": \"{AT}\",\n  \"updatedBy\": \"ralph\",\n  \
         \"name\": \"shop\",\n  \"specs\": []\n}}\n"
    );
    assert_eq!(ImplementationCodec.empty("shop", AT), expected);
    assert_eq!(plan(&expected).title.as_deref(), Some("shop"));
    let untitled = ImplementationCodec.empty("", AT);
    assert_eq!(plan(&untitled).title, None);
    let out = edit(&untitled, &[add(named("plan-1", "A", None))]);
    assert!(out.contains("\n  \"specs\": [\n    {\n      \"id\": \"plan\",\n"), "{out}");
}

#[test]
fn new_ids_count_on_within_their_spec() {
    let fresh = |text: &str, spec: Option<&str>| {
        let plan = plan(text);
        let taken = |id: &Id| plan.task(id).is_some();
        let id = ImplementationCodec.fresh_id(&plan, spec, &taken, &mut || unreachable!());
        id.as_str().to_owned()
    };
    assert_eq!(fresh(PRETTY, None), "avatar-3");
    assert_eq!(fresh(PRETTY, Some("specs/user-avatar.md")), "avatar-3");
    assert_eq!(fresh(PRETTY, Some("login")), "login-02");
    assert_eq!(fresh(PRETTY, Some("specs/Check out.md")), "check-out-1");
    assert_eq!(fresh(&ImplementationCodec.empty("My Shop", AT), None), "my-shop-1");
}

#[test]
fn ten_thousand_new_tasks_are_one_batch() {
    let new = |n: usize| named(&format!("x-{n}"), "x", Some(["a.md", "b.md"][n % 2]));
    let edits: Vec<PlanEdit> = (0..10_000).map(|n| add(new(n))).collect();
    let out = edit(&ImplementationCodec.empty("", AT), &edits);
    assert_eq!(plan(&out).specs.len(), 2);
    assert_eq!(plan(&out).tasks.len(), 10_000);
    let all: Vec<PlanEdit> = plan(&out).tasks.iter().map(|t| accept(t.id.as_str())).collect();
    assert_eq!(status(&edit(&out, &all), 1).as_deref(), Some("completed"));
}
