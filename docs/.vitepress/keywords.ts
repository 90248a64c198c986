/**
 * Words that people type and a page does not use, by page. They are in the index of the search alone: front matter would be
 * a table on top of the page where GitHub shows it.
 */
export const KEYWORDS: Readonly<Record<string, string>> = {
  "guide/start.md": "install installation quickstart getting started npx",
  "guide/config.md": "configuration yaml settings environment variables env reload",
  "guide/connect.md":
    "client clients connect claude desktop claude code cursor vscode visual studio code windsurf open webui openwebui n8n langchain mcp-remote inspector copilot zed",
  "guide/single-sign-on.md":
    "sso single sign-on sign on entra azure ad keycloak okta google login oidc saml groups identity provider idp",
  "guide/docker.md": "docker container image run with docker compose podman",
  "guide/secrets.md": "secret secrets vault password _FILE external secrets rotate credentials",
  "guide/access.md":
    "api key api keys bearer token rbac roles permissions authorization authentication read-only audit log",
  "guide/upgrade.md":
    "upgrade update version versions supported windows node requirements compatibility",
  "guide/deploy.md": "deploy production hosting systemd checklist",
  "guide/troubleshooting.md": "error errors problem not working debug fix help",
  "guide/from-mcpo.md": "mcpo migrate",
  "guide/compare.md": "alternatives comparison versus agentgateway tbxark litellm",
  "guide/replicas.md": "high availability ha cluster load balancer scale scaling horizontal",
  "guide/survive.md": "backup restore persistence restart data",
  "guide/web-interface.md": "ui dashboard gui browser admin web interface",
  "guide/models.md": "llm openai anthropic ollama model provider budget",
  "guide/server-logins.md": "oauth upstream login notion github slack linear remote server",
  "guide/write-a-plugin.md": "extend extension custom tool middleware hook",
  "guide/tracing.md": "trace traces jaeger tempo opentelemetry span",
  "recipes/cut-my-context.md":
    "context tokens too many tools reduce tool list filter hide tools rename",
  "recipes/share-servers.md": "team share shared people colleagues",
  "recipes/stop-a-tool.md":
    "disable tool forbid pin freeze definition changed rug pull poisoning approve approval tool call human in the loop confirm",
  "recipes/three-machines.md": "three machines cluster nginx replicas failover",
  "reference/deployment.md":
    "healthcheck health check liveness readiness probe https tls certificate nginx caddy traefik reverse proxy behind nginx x-forwarded-for kubernetes k8s helm systemd sizing memory cpu logs logging caching cache",
  "reference/cli.md": "command line commands cli flags options",
  "reference/config.md": "all options every option default defaults schema",
  "plugins/openapi.md": "swagger openapi rest http api curl",
  "plugins/history.md": "history calls replay recorded arguments",
  "plugins/gating.md": "timeout timeouts disable enable switch",
  "plugins/ratelimit.md":
    "rate limit limits limit per user throttle throttling quota concurrency 429",
  "plugins/breaker.md": "circuit breaker retry retries failing server backoff",
  "plugins/redis.md": "redis valkey store",
  "plugins/postgres.md": "postgres postgresql database store",
  "plugins/sqlite.md": "sqlite file database store",
  "plugins/metrics.md": "metrics prometheus grafana dashboard alerts monitoring",
  "plugins/telemetry.md": "otlp opentelemetry otel exporter",
  "plugins/servers.md": "stdio sse streamable http mcp server restart",
};
