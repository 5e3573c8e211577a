//! The histograms of OpenTelemetry's conventions, as a metric exporter sees them.

use mcp_runtime::Revision;
use mcp_runtime::observe::OtelMetrics;
use mcp_runtime::testing::TestClient;
use mcp_tests::http::{Site, call};
use opentelemetry::metrics::MeterProvider as _;
use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
use serde_json::json;

use crate::recorder::watched;

/// A histogram's points: the attributes, sorted and joined, and the count.
fn points(provider: &SdkMeterProvider, exporter: &InMemoryMetricExporter, name: &str) -> Vec<(String, u64)> {
    provider.force_flush().unwrap();
    let all = exporter.get_finished_metrics().unwrap();
    let last = all.last().unwrap();
    let metric = last
        .scope_metrics()
        .flat_map(opentelemetry_sdk::metrics::data::ScopeMetrics::metrics)
        .find(|metric| metric.name() == name);
    let Some(metric) = metric else { return Vec::new() };
    assert_eq!(metric.unit(), "s");
    let AggregatedMetrics::F64(MetricData::Histogram(histogram)) = metric.data() else { panic!("{metric:?}") };
    let points = histogram.data_points().map(|point| {
        let bounds: Vec<f64> = point.bounds().collect();
        assert_eq!(bounds, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1., 2., 5., 10., 30., 60., 120., 300.]);
        let mut pairs: Vec<String> = point.attributes().map(|pair| format!("{}={}", pair.key, pair.value)).collect();
        pairs.sort();
        (pairs.join(" "), point.count())
    });
    let mut points: Vec<_> = points.collect();
    points.sort();
    points
}

#[tokio::test]
async fn operations_questions_and_sessions_are_measured() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    let metrics = OtelMetrics::with_meter(&provider.meter("tests"));
    let (server, recorder, _) = watched();
    let client = TestClient::builder(server.observe(metrics.clone()))
        .revision(Revision::V2025_11_25)
        .on_elicit(|_| json!({"name": "Ann"}))
        .connect()
        .await
        .unwrap();
    for _ in 0..3 {
        client.call("add", json!({"a": 1, "b": 2})).await.unwrap();
    }
    let _ = client.call("fail", json!({})).await;
    let _ = client.call("fail_own", json!({})).await;
    client.call("greet", json!({})).await.unwrap();
    client.get_prompt("poem", json!({"about": "rain"})).await.unwrap();
    for number in 0..100 {
        let _ = client.request(&format!("attack/{number}"), json!({})).await;
    }
    client.close().await.unwrap();
    mcp_tests::http::until(|| !recorder.ended().is_empty()).await;
    let operations = points(&provider, &exporter, "mcp.server.operation.duration");
    let common = "mcp.protocol.version=2025-11-25 network.transport=pipe";
    let tool = "gen_ai.operation.name=execute_tool gen_ai.tool.name";
    for (attributes, count) in [
        (format!("{tool}=add mcp.method.name=tools/call {common}"), 3),
        (format!("error.type=tool_error {tool}=fail mcp.method.name=tools/call {common}"), 1),
        (
            format!(
                "error.type=4004 {tool}=fail_own mcp.method.name=tools/call {common} rpc.response.status_code=4004"
            ),
            1,
        ),
        (format!("gen_ai.prompt.name=poem mcp.method.name=prompts/get {common}"), 1),
        (format!("mcp.method.name=notifications/initialized {common}"), 1),
        (format!("mcp.method.name=_OTHER {common} rpc.response.status_code=-32601"), 100),
    ] {
        assert!(operations.contains(&(attributes.clone(), count)), "{attributes} in {operations:#?}");
    }
    assert_eq!(
        points(&provider, &exporter, "mcp.client.operation.duration"),
        [(format!("mcp.method.name=elicitation/create {common}"), 1)]
    );
    assert_eq!(
        points(&provider, &exporter, "mcp.server.session.duration"),
        [("mcp.protocol.version=2025-11-25".to_owned(), 1)]
    );
    // The same server over HTTP says so.
    let (server, _, _) = watched();
    let site = Site::of(server.observe(metrics)).await;
    site.ask(&call("add", &json!({"a": 1, "b": 2}))).await;
    let operations = points(&provider, &exporter, "mcp.server.operation.duration");
    let http =
        "mcp.protocol.version=2026-07-28 network.protocol.name=http network.protocol.version=1.1 network.transport=tcp";
    assert!(operations.contains(&(format!("{tool}=add mcp.method.name=tools/call {http}"), 1)), "{operations:#?}");
}

/// What an application does: it sets the provider, and names no meter.
#[tokio::test]
async fn global_meter_is_found() {
    let exporter = InMemoryMetricExporter::default();
    let provider = SdkMeterProvider::builder().with_periodic_exporter(exporter.clone()).build();
    opentelemetry::global::set_meter_provider(provider.clone());
    let (server, recorder, _) = watched();
    let site = Site::of(server.observe(OtelMetrics::new())).await;
    site.ask(&call("add", &json!({"a": 1, "b": 2}))).await;
    recorder.call().await;
    let operations = points(&provider, &exporter, "mcp.server.operation.duration");
    assert!(operations.iter().any(|(attributes, _)| attributes.contains("gen_ai.tool.name=add")), "{operations:?}");
}
