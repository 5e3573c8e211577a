//! 一个小型 MCP 服务器：天气、数据库搜索、一个配置文件和一个提示。
//!
//! A small MCP server: weather, a database search, a settings file and a prompt. Names and texts are in
//! Chinese: they may be in any language.
use mcp_runtime::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Celsius,
    Fahrenheit,
}

/// City, weather, temperature in °C, humidity in percent.
const CITIES: [(&str, &str, f64, u8); 3] =
    [("北京", "晴", 25.0, 45), ("上海", "多云", 28.0, 70), ("伦敦", "雨", 14.0, 88)];

/// 获取指定城市的天气信息
#[tool]
fn get_weather(
    /// 城市名称
    city: String,
    #[arg(default = Unit::Celsius)] unit: Unit,
) -> Result<String> {
    let Some((_, sky, celsius, humidity)) = CITIES.iter().find(|(name, ..)| *name == city) else {
        return Err(Error::msg("无法获取天气信息：城市名称无效"));
    };
    let temperature = match unit {
        Unit::Celsius => format!("{celsius}°C"),
        Unit::Fahrenheit => format!("{}°F", celsius * 1.8 + 32.0),
    };
    Ok(format!("{city}当前天气：{sky}，温度 {temperature}，湿度 {humidity}%"))
}

/// The records of the database. A real server would keep it in the `&self` of a method.
const RECORDS: [&str; 4] = ["天气预报", "天气历史", "城市列表", "用户反馈"];

/// 搜索数据库记录
#[tool]
fn search_database(
    /// 搜索关键词
    query: String,
    #[arg(default = 10)] limit: i64,
) -> Result<String> {
    let limit = usize::try_from(limit)?;
    let found: Vec<&str> = RECORDS.into_iter().filter(|record| record.contains(&query)).take(limit).collect();
    Ok(format!("找到 {} 条记录：{}", found.len(), found.join("、")))
}

#[derive(Resource)]
#[resource(uri = "file:///config/settings.json", name = "配置文件", mime = "application/json")]
struct Settings {
    #[resource(text)]
    json: &'static str,
}

/// 根据天气给出穿衣建议
#[prompt]
fn what_to_wear(
    /// 城市名称
    city: String,
    /// 温度单位
    unit: Option<Unit>,
) -> Result<String> {
    let weather = get_weather(city, unit.unwrap_or(Unit::Celsius))?;
    Ok(format!("{weather}。今天应该穿什么？"))
}

fn server() -> Server {
    Server::new("my-mcp-server", env!("CARGO_PKG_VERSION"))
        .tools(tools![get_weather, search_database])
        .resource(Settings { json: r#"{"theme": "dark", "language": "zh-CN"}"# })
        .prompts(prompts![what_to_wear])
}

#[tokio::main]
async fn main() -> std::process::ExitCode {
    server().run().await
}

#[cfg(test)]
mod tests {
    use mcp_runtime::lint::{LintOptions, Rule};
    use mcp_runtime::testing::{ContractOptions, TestClient, assert_contract};

    use super::*;

    #[test]
    fn contract_is_kept() {
        // The two arguments say enough: one lists its values, the other has a default.
        let lints = LintOptions::new()
            .allow(Rule::MissingDescription, "tool get_weather › argument unit")
            .allow(Rule::MissingDescription, "tool search_database › argument limit");
        assert_contract!(server(), ContractOptions::new().deny_lints().lints(lints));
    }

    #[tokio::test]
    async fn weather_is_in_the_requested_unit() -> Result<()> {
        let client = TestClient::connect(server()).await?;
        let weather = client.call("get_weather", json!({"city": "北京"})).await?;
        assert_eq!(weather.text(), "北京当前天气：晴，温度 25°C，湿度 45%");
        let weather = client.call("get_weather", json!({"city": "北京", "unit": "fahrenheit"})).await?;
        assert_eq!(weather.text(), "北京当前天气：晴，温度 77°F，湿度 45%");
        Ok(())
    }

    #[tokio::test]
    async fn unknown_city_is_a_tool_error() -> Result<()> {
        let client = TestClient::connect(server()).await?;
        let weather = client.call("get_weather", json!({"city": "亚特兰蒂斯"})).await?;
        assert!(weather.is_error());
        assert_eq!(weather.text(), "无法获取天气信息：城市名称无效");
        Ok(())
    }

    #[tokio::test]
    async fn limit_has_a_default_and_is_validated() -> Result<()> {
        let client = TestClient::connect(server()).await?;
        assert_eq!(
            client.call("search_database", json!({"query": "天气"})).await?.text(),
            "找到 2 条记录：天气预报、天气历史"
        );
        assert_eq!(
            client.call("search_database", json!({"query": "天气", "limit": 1})).await?.text(),
            "找到 1 条记录：天气预报"
        );
        assert!(client.call("search_database", json!({"query": "天气", "limit": -1})).await?.is_error());
        Ok(())
    }

    #[tokio::test]
    async fn prompt_contains_the_weather() -> Result<()> {
        let client = TestClient::connect(server()).await?;
        let prompt = client.get_prompt("what_to_wear", json!({"city": "伦敦"})).await?;
        assert_eq!(prompt.text(), "伦敦当前天气：雨，温度 14°C，湿度 88%。今天应该穿什么？");
        Ok(())
    }
}
