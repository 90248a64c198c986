use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction, ErrorData, Implementation,
    ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{ClientLifecycleMode, NotificationContext, RequestContext, RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ClientServiceExt};
use serde_json::{json, Value};

#[derive(Clone, Default)]
struct User {
    reports: Arc<AtomicU32>,
}

impl ClientHandler for User {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(
            ClientCapabilities::builder().enable_elicitation().build(),
            Implementation::new("rust", "1"),
        )
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada" })))
    }

    async fn on_progress(
        &self,
        _params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.reports.fetch_add(1, Ordering::SeqCst);
    }
}

type Session = RunningService<RoleClient, User>;

fn tell(cell: &str, result: &str, detail: &str) {
    println!("{}", json!({ "cell": cell, "result": result, "detail": detail }));
}

async fn connect(user: User, key: &str) -> anyhow::Result<Session> {
    let config = StreamableHttpClientTransportConfig::with_uri(std::env::var("GATEWAY_URL")?).auth_header(key);
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    Ok(user
        .serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle)
        .await?)
}

async fn call(session: &Session, name: &'static str, args: Value) -> anyhow::Result<String> {
    let mut params = CallToolRequestParams::new(name);
    if let Value::Object(own) = args {
        params = params.with_arguments(own);
    }
    Ok(serde_json::to_string(&session.call_tool(params).await?)?)
}

fn check(cell: &str, words: &str, said: anyhow::Result<String>) {
    match said {
        Err(error) => tell(cell, "no", &format!("{error:#}")),
        Ok(said) if said.contains(words) => tell(cell, "yes", ""),
        Ok(said) => tell(cell, "no", &format!("got {said}")),
    }
}

async fn list(session: &Session) -> anyhow::Result<String> {
    let names: Vec<String> = session.list_all_tools().await?.into_iter().map(|tool| tool.name.to_string()).collect();
    let all = ["add", "fail", "slow", "ask"].iter().all(|name| names.iter().any(|own| own == name));
    Ok(if all { "all".into() } else { names.join(", ") })
}

pub async fn run() -> anyhow::Result<()> {
    let key = std::env::var("GATEWAY_KEY")?;
    let user = User::default();
    let session = match connect(user.clone(), &key).await {
        Ok(session) => session,
        Err(error) => {
            tell("connect", "no", &format!("{error:#}"));
            return Ok(());
        }
    };
    tell("connect", "yes", "");
    check("list", "all", list(&session).await);
    check("call", "\"5\"", call(&session, "add", json!({ "a": 2, "b": 3 })).await);
    check("error", "Atlantis", call(&session, "fail", json!({})).await);
    let slow = call(&session, "slow", json!({})).await;
    // Notifications have a task of their own, which may run behind the answer.
    for _ in 0..100 {
        if user.reports.load(Ordering::SeqCst) >= 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    check("progress", "3", slow.map(|_| user.reports.load(Ordering::SeqCst).to_string()));
    check("question", "hello Ada", call(&session, "ask", json!({})).await);

    println!("{}", json!({ "restart": true }));
    let mut line = String::new();
    std::io::stdin().read_line(&mut line)?;
    check("restart", "\"50\"", call(&session, "add", json!({ "a": 20, "b": 30 })).await);

    match connect(User::default(), "wrong").await {
        Ok(_) => tell("key", "no", "no error"),
        Err(error) => {
            let said = format!("{error:#} {error:?}");
            let clear = said.contains("401") || said.to_lowercase().contains("auth");
            tell("key", if clear { "yes" } else { "no" }, if clear { "" } else { &said });
        }
    }
    Ok(())
}
