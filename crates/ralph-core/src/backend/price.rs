//! Cost of a run: the amount that the program reports, else tokens times prices, else unknown.

use super::request::RunUsage;
use crate::config::TokenPrices;

/// Dollars of a run, `None` when neither the program nor the price table says.
pub fn cost(spent: &RunUsage, prices: &TokenPrices) -> Option<f64> {
    if let Some(reported) = spent.cost {
        return Some(reported);
    }
    let per_token = |dollars: f64| dollars / 1_000_000.0;
    let input = prices.input?.get();
    let output = prices.output?.get();
    let cached = prices.cache_read.map_or(input, |p| p.get());
    let from_cache = spent.cached.unwrap_or(0).min(spent.input?);
    let fresh = spent.input? - from_cache;
    Some(
        fresh as f64 * per_token(input)
            + from_cache as f64 * per_token(cached)
            + spent.output? as f64 * per_token(output),
    )
}

/// With a cost limit, a backend whose cost nobody knows would spend without limit: say which keys
/// make it known. `Ok` when it may start.
pub fn may_start(
    name: &str,
    reports_cost: CostReporting,
    prices: &TokenPrices,
    limit: Option<f64>,
) -> Result<(), String> {
    let priced = prices.input.is_some() && prices.output.is_some();
    if limit.is_none() || reports_cost == CostReporting::Yes || priced {
        return Ok(());
    }
    Err(format!(
        "{name} does not say what it costs, and there is a limit of ${:.2}: set \
         `backends.{name}.prices.input` and `backends.{name}.prices.output` (dollars per million \
         tokens), or allow it with `allow_unknown_cost = true`",
        limit.unwrap_or_default()
    ))
}

/// Whether a program says what it cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostReporting {
    Yes,
    /// The program reports tokens at most.
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ConfigTier, parse_layer, resolve};

    fn prices(text: &str) -> TokenPrices {
        let text = format!("[backends.codex.prices]\n{text}");
        let layer = parse_layer(ConfigTier::Project, "ralph.toml", &text).unwrap();
        resolve([&layer]).unwrap().config.backends["codex"].prices.clone()
    }

    #[test]
    fn the_programs_own_figure_wins_and_unknown_is_never_zero() {
        let table = prices("input = 2.0\noutput = 10.0\n");
        let tokens =
            RunUsage { input: Some(1_000_000), output: Some(100_000), ..RunUsage::default() };
        assert_eq!(cost(&RunUsage { cost: Some(0.5), ..tokens }, &table), Some(0.5));
        assert_eq!(cost(&tokens, &table), Some(3.0));
        assert_eq!(cost(&tokens, &prices("input = 2.0\n")), None, "half a price is none");
        assert_eq!(cost(&RunUsage::default(), &table), None, "no tokens are not no cost");
    }

    #[test]
    fn tokens_from_a_cache_have_their_own_price() {
        let table = prices("input = 2.0\noutput = 10.0\ncache_read = 0.5\n");
        let tokens = RunUsage {
            input: Some(1_000_000),
            cached: Some(400_000),
            output: Some(0),
            ..RunUsage::default()
        };
        assert_eq!(cost(&tokens, &table), Some(1.4));
    }

    #[test]
    fn with_a_limit_an_unpriced_backend_is_refused_and_the_keys_are_named() {
        let none = TokenPrices::default();
        let why = may_start("codex", CostReporting::No, &none, Some(5.0)).unwrap_err();
        assert!(why.contains("`backends.codex.prices.input`") && why.contains("$5.00"), "{why}");
        assert!(may_start("codex", CostReporting::No, &none, None).is_ok());
        assert!(may_start("claude", CostReporting::Yes, &none, Some(5.0)).is_ok());
        assert!(
            may_start(
                "codex",
                CostReporting::No,
                &prices("input = 1.0\noutput = 1.0\n"),
                Some(5.0)
            )
            .is_ok()
        );
    }
}
