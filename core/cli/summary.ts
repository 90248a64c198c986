import { isatty } from "node:tty";
import type { Logger } from "pino";
import type { GatewayDescription } from "../describe.ts";
import type { Gateway } from "../gateway.ts";
import type { ProviderStatus } from "../provider.ts";
import { VERSION } from "../version.ts";

const UNSETTLED: ReadonlySet<ProviderStatus["state"]> = new Set(["idle", "connecting"]);

/** Resolves when no server is still making its first connection, at the latest after a time in milliseconds. */
export async function whenSettled(gateway: Gateway, limit: number): Promise<void> {
  const isSettled = (): boolean =>
    [...gateway.servers.values()].every(({ status }) => !UNSETTLED.has(status.state));
  if (isSettled()) return;
  let finish = (): void => {};
  const settled = new Promise<void>((resolve) => (finish = resolve));
  const timer = setTimeout(finish, limit);
  const unhook = gateway.hook("upstream:state", () => isSettled() && finish());
  await settled;
  clearTimeout(timer);
  unhook();
}

/** Tells once what runs: text for a person, one JSON line for a log. */
export function writeSummary(gateway: Gateway, log: Logger): void {
  const description = gateway.describe();
  const { format, level } = gateway.config.log;
  if (level === "silent") return;
  const readable = format === "pretty" || (format === "auto" && isatty(1));
  if (readable) process.stdout.write(summaryText(description));
  else log.info({ version: VERSION, ...summaryData(description) }, "gateway ready");
}

function summaryData({ name, endpoints, servers, routes, warnings }: GatewayDescription): object {
  return {
    name,
    endpoints: endpoints.map((endpoint) => ({
      name: endpoint.name,
      url: endpoint.url,
      open: endpoint.open,
    })),
    servers: servers.map((server) => ({
      name: server.name,
      state: server.status.state,
      tools: server.tools,
      ...(server.status.reason !== undefined && { reason: server.status.reason }),
    })),
    openRoutes: routes.filter(({ open }) => open).map(({ method, path }) => `${method} ${path}`),
    warnings: warnings.map(({ message, hint }) => `${message} ${hint}`),
  };
}

/** The summary as a person reads it. */
export function summaryText({
  name,
  endpoints,
  servers,
  routes,
  warnings,
}: GatewayDescription): string {
  const lines = ["", `  Propylon ${VERSION}${name === "propylon" ? "" : ` (${name})`}`, ""];
  const section = (title: string, rows: readonly (readonly string[])[]): void => {
    if (rows.length > 0) lines.push(`  ${title}`, ...columns(rows).map((row) => `    ${row}`), "");
  };
  section(
    "MCP endpoints",
    endpoints.map((endpoint) => [
      endpoint.name,
      endpoint.url,
      endpoint.open ? "no authentication" : "bearer token",
    ]),
  );
  section(
    "Servers",
    servers.map((server) => [server.name, server.status.state, countsOf(server)]),
  );
  section(
    "Routes",
    routes.map(({ method, path, plugin, open }) => [
      method,
      path,
      plugin,
      open ? "no authentication" : "bearer token",
    ]),
  );
  section(
    "Mind",
    warnings.map(({ message, hint }) => [`${message} ${hint}`]),
  );
  const [first] = endpoints;
  if (first)
    lines.push(
      "  Point a client at it",
      `    claude mcp add --transport http ${clientName(name)} ${first.url}`,
      "    propylon client-config claude | cursor | vscode",
      "",
    );
  return `${lines.join("\n")}\n`;
}

function countsOf({
  status,
  tools,
  resources,
  prompts,
}: GatewayDescription["servers"][number]): string {
  const count = (number: number, noun: string): string =>
    `${number} ${noun}${number === 1 ? "" : "s"}`;
  const parts = [
    count(tools, "tool"),
    ...(resources > 0 ? [count(resources, "resource")] : []),
    ...(prompts > 0 ? [count(prompts, "prompt")] : []),
  ];
  const reason =
    status.reason !== undefined && status.state !== "ready" ? `: ${status.reason}` : "";
  return `${parts.join(", ")}${reason}`;
}

function columns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, cell.length);
  return rows.map((row) =>
    row
      .map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index]!)))
      .join("  "),
  );
}

/** A name that every client accepts for a server. */
export function clientName(name: string): string {
  return (
    name
      .split("/")
      .at(-1)!
      .replaceAll(/[^A-Za-z0-9_-]/g, "-")
      .slice(0, 40) || "propylon"
  );
}
