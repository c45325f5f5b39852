use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::backend::{CompactionTrigger, RunCost, ToolStatus};

const AGES: Duration = Duration::from_secs(10_000);

fn limits() -> BackendRunLimits {
    BackendRunLimits {
        timeout: Some(Duration::from_secs(300)),
        idle: Some(Duration::from_secs(60)),
        max_cost: Some(10.0),
        context_warn: 0.70,
        context_compact: 0.85,
        context_kill: 0.95,
        window: None,
    }
}

/// A context of which this many of a thousand parts are used.
fn context(used: u64) -> BackendEvent {
    BackendEvent::Context(ContextFill { used, window: Some(1000) })
}

fn call(id: &str) -> BackendEvent {
    BackendEvent::ToolCall { id: id.into(), name: "Bash".into(), input: Value::Null }
}

fn result(id: &str) -> BackendEvent {
    BackendEvent::ToolResult { id: id.into(), status: ToolStatus::Ok, text: String::new() }
}

fn compacted(after: Option<u64>) -> BackendEvent {
    BackendEvent::Compacted { trigger: CompactionTrigger::Manual, before: None, after }
}

fn retry() -> BackendEvent {
    BackendEvent::Retry { attempt: 1, of: None, delay_ms: None, reason: "overloaded".into() }
}

fn warning(text: &str) -> Vec<MonitorAction> {
    vec![MonitorAction::Warn(format!("[RALPH] {text}"))]
}

const FULL: [MonitorAction; 1] = [MonitorAction::Stop(StopCause::ContextFull)];

fn after(events: &[BackendEvent]) -> LimitMonitor {
    let mut monitor = LimitMonitor::new(limits());
    for event in events {
        monitor.on_event(0, event);
    }
    monitor
}

#[test]
fn a_warning_comes_once_and_again_only_after_the_pressure_was_off() {
    let mut monitor = LimitMonitor::new(limits());
    let mut see = |used| monitor.on_event(0, &context(used));
    assert_eq!(see(699), []);
    assert_eq!(see(700), warning("Context pressure: 70% - consider wrapping up"));
    for used in [720, 699, 660, 710] {
        assert_eq!(see(used), [], "{used}");
    }
    assert_eq!(see(640), []);
    assert_eq!(see(712), warning("Context pressure: 71% - consider wrapping up"));
}

#[test]
fn compaction_is_asked_for_once_and_judged_by_what_is_left() {
    let mut monitor = LimitMonitor::new(limits());
    assert_eq!(monitor.on_event(0, &context(850)), [MonitorAction::Compact]);
    assert_eq!(monitor.on_event(0, &context(870)), [], "the turn under way still comes in");
    assert_eq!(monitor.on_event(0, &compacted(None)), []);
    assert_eq!(monitor.on_event(0, &context(300)), warning("Context compacted: 85% -> 30%"));
    assert_eq!(monitor.on_event(0, &context(860)), [MonitorAction::Compact]);
    assert_eq!(
        monitor.on_event(0, &compacted(Some(800))),
        warning("Context compacted: 86% -> 80%")
    );
}

#[test]
fn between_the_tiers_a_run_goes_on_until_the_threshold_is_crossed_again() {
    let mut monitor = after(&[context(860), compacted(None)]);
    assert_eq!(monitor.on_event(0, &context(750)), warning("Context compacted: 86% -> 75%"));
    for used in [760, 790, 800, 840] {
        assert_eq!(monitor.on_event(0, &context(used)), [], "{used}");
    }
    assert_eq!(monitor.on_event(0, &context(850)), [MonitorAction::Compact]);
}

#[test]
fn a_compaction_that_leaves_too_much_or_fails_stops_the_run() {
    assert_eq!(after(&[context(860)]).on_event(0, &compacted(Some(801))), FULL);
    assert_eq!(after(&[context(860), compacted(None)]).on_event(0, &context(820)), FULL);
    let failed = BackendEvent::CompactionFailed("too few groups".into());
    assert_eq!(after(&[context(860)]).on_event(0, &failed), FULL);
}

#[test]
fn a_compaction_of_the_programs_own_that_fails_is_only_told() {
    let failed = BackendEvent::CompactionFailed("too few groups".into());
    let told = warning("Context not compacted: too few groups");
    assert_eq!(after(&[context(500)]).on_event(0, &failed), told);
}

#[test]
fn a_new_session_with_a_small_context_ends_a_compaction_without_a_word() {
    let mut monitor = after(&[context(860)]);
    monitor.begin(1000);
    assert_eq!(monitor.on_event(1000, &context(50)), warning("Context compacted: 86% -> 5%"));
}

#[test]
fn a_full_context_stops_the_run_whatever_is_under_way() {
    assert_eq!(after(&[]).on_event(0, &context(950)), FULL);
    assert_eq!(after(&[context(860)]).on_event(0, &context(960)), FULL);
}

#[test]
fn without_a_window_there_is_no_pressure_and_a_known_one_is_remembered() {
    let unknown = |used| BackendEvent::Context(ContextFill { used, window: None });
    assert_eq!(after(&[]).on_event(0, &unknown(u64::MAX)), []);
    assert_eq!(after(&[context(1)]).on_event(0, &unknown(950)), FULL);
    let mut monitor = LimitMonitor::new(BackendRunLimits { window: Some(2000), ..limits() });
    assert_eq!(monitor.on_event(0, &unknown(1900)), FULL);
    let nothing = BackendEvent::Context(ContextFill { used: 5, window: Some(0) });
    assert_eq!(after(&[]).on_event(0, &nothing), []);
}

#[test]
fn the_window_of_a_model_is_known_once_its_last_message_has_said_it() {
    let started = |model: &str| BackendEvent::Started { session: None, model: Some(model.into()) };
    let unknown = |used| BackendEvent::Context(ContextFill { used, window: None });
    let mut first = LimitMonitor::new(limits());
    assert_eq!(first.on_event(0, &started("big")), []);
    assert_eq!(first.on_event(0, &unknown(860)), [], "nobody has said how much it holds");
    first.on_event(0, &BackendEvent::Finished);
    first.on_event(0, &context(860));
    assert_eq!(first.windows().of("big"), Some(1000));
    let mut next = LimitMonitor::knowing(limits(), first.windows().clone());
    next.on_event(0, &started("big"));
    assert_eq!(next.on_event(0, &unknown(860)), [MonitorAction::Compact]);
    // Another model has another window.
    next.begin(0);
    next.on_event(0, &started("small"));
    assert_eq!(next.on_event(0, &unknown(960)), []);
}

#[test]
fn the_parts_of_a_stage_share_its_time() {
    let mut monitor = LimitMonitor::new(limits());
    monitor.took(Duration::from_secs(250));
    monitor.begin(0);
    assert_eq!(monitor.on_tick(49_999), None);
    assert_eq!(monitor.on_tick(50_000), Some(MonitorAction::Stop(StopCause::Timeout)));
    monitor.took(AGES);
    monitor.begin(0);
    assert_eq!(monitor.on_tick(0), Some(MonitorAction::Stop(StopCause::Timeout)));
}

#[test]
fn money_of_all_runs_counts() {
    let mut monitor = LimitMonitor::new(limits());
    assert_eq!(monitor.on_event(0, &BackendEvent::Cost(RunCost(6.0))), []);
    monitor.begin(0);
    assert_eq!(monitor.on_event(0, &BackendEvent::Cost(RunCost(3.5))), []);
    assert_eq!(monitor.on_event(0, &BackendEvent::Cost(RunCost(4.0))), [], "it may just finish");
    assert_eq!(
        monitor.on_event(0, &BackendEvent::Cost(RunCost(4.1))),
        [MonitorAction::Stop(StopCause::Budget)]
    );
    assert!((monitor.cost() - 10.1).abs() < 1e-9);
}

#[test]
fn silence_is_idleness_only_without_a_tool_at_work() {
    let idle = Some(MonitorAction::Stop(StopCause::Idle));
    assert_eq!(after(&[]).on_tick(59_999), None);
    assert_eq!(after(&[]).on_tick(60_000), idle);
    assert_eq!(after(&[call("a"), call("b"), result("a")]).on_tick(200_000), None);
    assert_eq!(after(&[call("a"), call("b"), result("a"), result("b")]).on_tick(60_000), idle);
}

#[test]
fn trying_again_is_not_a_sign_of_life_and_everything_else_is() {
    let mut monitor = LimitMonitor::new(limits());
    monitor.on_event(50_000, &BackendEvent::Text("hello".into()));
    monitor.on_event(100_000, &retry());
    assert_eq!(monitor.on_tick(109_999), None);
    assert_eq!(monitor.on_tick(110_000), Some(MonitorAction::Stop(StopCause::Idle)));
    let mut monitor = LimitMonitor::new(limits());
    monitor.on_sign_of_life(50_000);
    assert_eq!(monitor.on_tick(60_000), None);
}

#[test]
fn time_runs_from_the_beginning_of_each_run() {
    let mut monitor = after(&[call("a")]);
    assert_eq!(monitor.on_tick(299_999), None);
    assert_eq!(monitor.on_tick(300_000), Some(MonitorAction::Stop(StopCause::Timeout)));
    assert_eq!(monitor.on_tick(400_000), None, "once is enough");
    monitor.begin(400_000);
    assert_eq!(monitor.on_tick(459_999), None);
    assert_eq!(
        monitor.on_tick(460_000),
        Some(MonitorAction::Stop(StopCause::Idle)),
        "no call is open now"
    );
}

#[test]
fn after_the_end_there_is_nothing_to_decide() {
    let mut monitor = after(&[BackendEvent::Finished]);
    assert_eq!(monitor.on_tick(u64::MAX), None);
    assert_eq!(monitor.on_event(0, &context(1000)), []);
}

#[test]
fn the_configuration_gives_the_limits() {
    let limits = BackendRunLimits::of(&config::LimitSettings::default(), Duration::from_secs(5));
    let tiers = [limits.context_warn, limits.context_compact, limits.context_kill];
    assert_eq!(tiers, [0.70, 0.85, 0.95]);
    assert_eq!(limits.timeout, Some(Duration::from_secs(5)));
    assert_eq!(limits.idle, Some(Duration::from_secs(600)));
    assert_eq!(limits.max_cost, None);
}

/// Something that happens, and how long after the last thing.
#[derive(Clone, Debug)]
enum Happening {
    Said(BackendEvent),
    Tick,
    Begin,
}

fn happening() -> impl Strategy<Value = Happening> {
    let id = || "[ab]";
    let event = prop_oneof![
        8 => (0..1100_u64).prop_map(context),
        2 => id().prop_map(|id| call(&id)),
        2 => id().prop_map(|id| result(&id)),
        2 => (0.0..12.0_f64).prop_map(|cost| BackendEvent::Cost(RunCost(cost))),
        2 => proptest::option::of(0..1000_u64).prop_map(compacted),
        1 => Just(BackendEvent::CompactionFailed("why".into())),
        1 => Just(retry()),
        2 => Just(BackendEvent::Text("words".into())),
        1 => Just(BackendEvent::Finished),
    ];
    prop_oneof![8 => event.prop_map(Happening::Said), 3 => Just(Happening::Tick), 1 => Just(Happening::Begin)]
}

/// What the promises say, kept apart from how the monitor keeps them.
#[derive(Default)]
struct Record {
    over: bool,
    open: BTreeSet<String>,
    started: u64,
    heard: u64,
    spent: f64,
    cost: f64,
    /// A compaction was asked for and has neither happened nor shown in the numbers.
    asked: bool,
    /// The lowest number since the last warning.
    lowest_since_warning: Option<u64>,
}

impl Record {
    fn check_said(&mut self, now: u64, event: &BackendEvent, decisions: &[MonitorAction]) {
        assert!(decisions.len() <= 1);
        if self.over {
            assert!(decisions.is_empty(), "something was decided after the end");
            return;
        }
        match event {
            BackendEvent::Retry { .. } => {}
            BackendEvent::ToolCall { id, .. } => _ = self.open.insert(id.clone()),
            BackendEvent::ToolResult { id, .. } => _ = self.open.remove(id),
            BackendEvent::Cost(money) => {
                self.cost = money.0;
                let broke = self.spent + self.cost > 10.0 + HAIR;
                assert_eq!(decisions == [MonitorAction::Stop(StopCause::Budget)], broke);
            }
            BackendEvent::Compacted { .. } | BackendEvent::CompactionFailed(_) => {
                self.asked = false
            }
            BackendEvent::Context(context) if context.used >= 950 => assert_eq!(decisions, FULL),
            BackendEvent::Context(context) if context.used < 850 => {
                assert!(!decisions.contains(&MonitorAction::Compact));
                self.asked = false;
            }
            _ => {}
        }
        if !matches!(event, BackendEvent::Retry { .. }) {
            self.heard = now;
        }
        self.check_context(event, decisions);
        self.over = matches!(event, BackendEvent::Finished)
            || decisions.iter().any(|d| matches!(d, MonitorAction::Stop(_)));
    }

    fn check_context(&mut self, event: &BackendEvent, decisions: &[MonitorAction]) {
        // Before the first warning there is nothing to fall below.
        if let (BackendEvent::Context(context), Some(lowest)) =
            (event, &mut self.lowest_since_warning)
        {
            *lowest = (*lowest).min(context.used);
        }
        for decision in decisions {
            match decision {
                MonitorAction::Compact => {
                    assert!(!self.asked, "asked twice for one compaction");
                    self.asked = true;
                    // After a compaction a new warning is news.
                    self.lowest_since_warning = None;
                }
                MonitorAction::Warn(text) if text.contains("pressure") => {
                    let lowest = self.lowest_since_warning.unwrap_or(0);
                    assert!(!(650..700).contains(&lowest), "warned again at once: {lowest}");
                    self.lowest_since_warning = Some(u64::MAX);
                }
                _ => {}
            }
        }
    }

    fn check_tick(&mut self, now: u64, decision: Option<&MonitorAction>) {
        let expected = if self.over {
            None
        } else if now - self.started >= 300_000 {
            Some(MonitorAction::Stop(StopCause::Timeout))
        } else if self.open.is_empty() && now - self.heard >= 60_000 {
            Some(MonitorAction::Stop(StopCause::Idle))
        } else {
            None
        };
        assert_eq!(decision, expected.as_ref());
        self.over |= expected.is_some();
    }
}

proptest! {
    #[test]
    fn the_promises_hold_over_every_trace(
        trace in proptest::collection::vec((0..90_000_u64, happening()), 0..60)
    ) {
        let mut monitor = LimitMonitor::new(limits());
        let mut record = Record { lowest_since_warning: Some(0), ..Record::default() };
        let mut now = 0;
        for (pause, happening) in trace {
            now += pause;
            match happening {
                Happening::Said(event) => {
                    let decisions = monitor.on_event(now, &event);
                    record.check_said(now, &event, &decisions);
                }
                Happening::Tick => {
                    let decision = monitor.on_tick(now);
                    record.check_tick(now, decision.as_ref());
                }
                Happening::Begin => {
                    monitor.begin(now);
                    record.over = false;
                    record.open.clear();
                    (record.started, record.heard) = (now, now);
                    record.spent += std::mem::take(&mut record.cost);
                }
            }
        }
    }
}

/// Two dollars for a million tokens read, ten for a million written.
fn prices() -> TokenPrices {
    let text = "[backends.codex.prices]\ninput = 2.0\noutput = 10.0\n";
    let layer = config::parse_layer(config::ConfigTier::Project, "ralph.toml", text).unwrap();
    config::resolve([&layer]).unwrap().config.backends["codex"].prices.clone()
}

fn used(input: u64, output: u64) -> BackendEvent {
    BackendEvent::Usage(TokenUsage { input, cached: 0, output })
}

#[test]
fn a_run_that_tells_only_tokens_is_stopped_when_they_have_cost_too_much() {
    let limits = BackendRunLimits { max_cost: Some(3.0), ..limits() };
    let mut monitor = LimitMonitor::new(limits).priced(prices());
    assert_eq!(monitor.on_event(0, &used(500_000, 100_000)), []);
    assert_eq!(monitor.cost(), 2.0);
    assert_eq!(
        monitor.on_event(0, &used(1_000_000, 110_000)),
        [MonitorAction::Stop(StopCause::Budget)]
    );
    let mut unpriced = LimitMonitor::new(limits);
    assert_eq!(unpriced.on_event(0, &used(9_000_000, 9_000_000)), []);
}

#[test]
fn the_runs_own_word_about_its_cost_outranks_the_price_of_its_tokens() {
    let mut monitor =
        LimitMonitor::new(BackendRunLimits { max_cost: Some(3.0), ..limits() }).priced(prices());
    assert_eq!(monitor.on_event(0, &BackendEvent::Cost(crate::backend::RunCost(0.1))), []);
    assert_eq!(monitor.on_event(0, &used(9_000_000, 0)), []);
    assert_eq!(monitor.cost(), 0.1);
    monitor.begin(0);
    assert_eq!(monitor.on_event(0, &used(1_000_000, 0)), [], "another run has not said it yet");
    assert_eq!(monitor.cost(), 2.1);
}
