use std::sync::Arc;

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, ProgressNotificationParam, RequestMetaObject};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{tool, tool_handler, tool_router, Peer, RoleServer, ServerHandler, ServiceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Name {
    name: String,
}
rmcp::elicit_safe!(Name);

#[derive(Clone)]
struct Demo;

fn text(words: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(words)])
}

#[tool_router]
impl Demo {
    #[tool]
    async fn add(&self, Parameters(Numbers { a, b }): Parameters<Numbers>) -> Result<CallToolResult, ErrorData> {
        Ok(text((a + b).to_string()))
    }

    #[tool]
    async fn fail(&self) -> Result<CallToolResult, ErrorData> {
        Ok(CallToolResult::error(vec![ContentBlock::text("There is no city Atlantis.")]))
    }

    #[tool]
    async fn slow(&self, meta: RequestMetaObject, client: Peer<RoleServer>) -> Result<CallToolResult, ErrorData> {
        if let Some(token) = meta.get_progress_token() {
            for done in 1..=3 {
                let report = ProgressNotificationParam::new(token.clone(), f64::from(done)).with_total(3.0);
                let _ = client.notify_progress(report).await;
            }
        }
        Ok(text("done".into()))
    }

    #[tool]
    async fn ask(&self, client: Peer<RoleServer>) -> Result<CallToolResult, ErrorData> {
        match client.elicit::<Name>("What is your name?").await {
            Ok(Some(Name { name })) => Ok(text(format!("hello {name}"))),
            Ok(None) => Ok(text("no name".into())),
            Err(error) => Ok(CallToolResult::error(vec![ContentBlock::text(error.to_string())])),
        }
    }
}

#[tool_handler]
impl ServerHandler for Demo {}

pub async fn run(transport: &str) -> anyhow::Result<()> {
    if transport == "stdio" {
        Demo.serve(rmcp::transport::stdio()).await?.waiting().await?;
        return Ok(());
    }
    let service = StreamableHttpService::new(
        || Ok(Demo),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{{\"url\": \"http://{}/mcp\"}}", listener.local_addr()?);
    axum::serve(listener, axum::Router::new().nest_service("/mcp", service)).await?;
    Ok(())
}
