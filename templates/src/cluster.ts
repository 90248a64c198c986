import type { ProjectFile } from "./file.ts";
import { addDevelopment } from "./store.ts";
import { withoutState } from "./workers.ts";

/**
 * A project whose gateways are several: the files of `cluster` in place of those for one, and a config that all of them can have.
 * Its store is PostgreSQL already.
 */
export function fitCluster(
  files: readonly ProjectFile[],
  cluster: readonly ProjectFile[],
): readonly ProjectFile[] {
  const own = new Set(cluster.map(({ path }) => path));
  const kept = files.filter(({ path }) => !own.has(path));
  return [...kept.map(fit), ...cluster];
}

function fit(file: ProjectFile): ProjectFile {
  const change = CHANGES[file.path];
  return change ? { ...file, content: Buffer.from(change(file.content.toString("utf8"))) } : file;
}

/** What several replicas change, by file. */
const CHANGES: Readonly<Record<string, (text: string) => string>> = {
  "gateway.yaml": fitConfig,
  ".env.example": (text) => text.replace(/^# Another database; .*\n# STORE=.*\n/m, () => VARIABLES),
  "package.json": (text) => addDevelopment(text, PACKAGES),
  "README.md": (text) =>
    text
      .replace("`data/switches.json`", "the store")
      .replace(/\n## The database\n[\s\S]*$/, () => README),
};

/** Each replica of the cluster has this config. A file of switches would be one gateway's own: without it the store has them. */
function fitConfig(text: string): string {
  const scraped = "metrics: { listener: scrape, public: true }";
  const shared = withoutState(text)
    .replace(/^ {2}main: .*\n/m, (line) => `${line}${SCRAPE}`)
    .replace(/^auth: \{ (.*) \}$/m, (_, key: string) => `auth:\n  ${key}\n${TRUSTED}`)
    .replace(/^ {2}metrics: \{\}$/m, `  ${scraped}`);
  const metrics = shared.includes(scraped)
    ? ""
    : `  # GET /metrics for Prometheus.\n  ${scraped}\n`;
  return withNotice(shared).replace(/^ {2}# Yours: /m, (line) => `${metrics}${NATS}${line}`);
}

/** How long a gateway that ends still takes what comes. */
function withNotice(text: string): string {
  return text.replace(/^# At SIGTERM it .*\n/m, NOTICE).replace('"${NOTICE:-0s}"', "5s");
}

const NOTICE = `# At SIGTERM a gateway says that it is not ready, and takes new work until the balancer knows, which asks each second.
`;

const SCRAPE = `  # For Prometheus, and never routed to the outside.
  scrape: { host: "\${GATEWAY_HOST:-127.0.0.1}", port: "\${SCRAPE_PORT:-9090}" }
`;

const TRUSTED = `  # Behind the balancer a client has the address that it writes into X-Forwarded-For.
  trustedProxies: ["\${PROXIES:-127.0.0.1}"]`;

const NATS = `  # For STORE=nats://...: a build has both stores.
  nats: {}
`;

const VARIABLES = `# The store of compose.yaml: postgres, or nats with the line below it.
COMPOSE_PROFILES=postgres
# CLUSTER_STORE=nats://nats:4222
# The store of a gateway outside of Compose; Kubernetes needs one:
# STORE=postgres://user:password@host:5432/database
`;

/** A build has the clients of both stores in its one file. */
const PACKAGES = { "@nats-io/jetstream": "~3.3.1", "@nats-io/transport-node": "~3.3.1" };

const README = `
## The cluster

\`docker compose up --detach --build --wait\` starts three gateways, the store that they share, and a balancer in front of them on http://127.0.0.1:8080. Each request goes to the next gateway: any of them serves any session, and any of them may die. The store is PostgreSQL. \`COMPOSE_PROFILES\` and \`CLUSTER_STORE\` in \`.env\` make it NATS, which does for all plugins but those with tables, such as console. \`npm start\` runs one gateway here, with that PostgreSQL.

| file                      | what                                                                |
| ------------------------- | ------------------------------------------------------------------- |
| \`compose.yaml\`            | three gateways, balancer, store                                     |
| \`deploy/haproxy.cfg\`      | the balancer: who is ready gets requests, and nothing is sent twice |
| \`deploy/nats.conf\`        | NATS as the store                                                   |
| \`deploy/kubernetes.yaml\`  | three pods, updated one by one, and a bound on how many may be away |
| \`deploy/autoscaling.yaml\` | more pods while more calls run                                      |
| \`deploy/chart/\`           | the same for Helm                                                   |

Prometheus reads \`/metrics\` on port 9090 of each replica; \`node_modules/propylon/plugins/metrics/\` has a dashboard for Grafana with a row for all replicas, and alerts. Back up the database while the gateways run:

\`\`\`sh
docker compose exec -T postgres pg_dump -U gateway gateway > backup.sql
\`\`\`
`;
