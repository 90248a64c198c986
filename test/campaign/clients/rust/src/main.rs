//! A client or a server of the campaign, on the official Rust SDK:
//! `demo client`, `demo server stdio`, `demo server http` (prints its URL).
mod client;
mod server;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let args: Vec<String> = std::env::args().collect();
    match args[1].as_str() {
        "client" => client::run().await,
        _ => server::run(&args[2]).await,
    }
}
