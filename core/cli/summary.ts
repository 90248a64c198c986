import type { GatewayDescription } from "../plugin/description.ts";
import { isatty } from "node:tty";
import type { Logger } from "pino";
import type { GatewayConfig } from "../config/schema.ts";
import type { Summary } from "../gateway/describe.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { collectWarnings } from "../gateway/management/warnings.ts";
import type { Changes, ReloadReport } from "../plugin/hooks.ts";
import { claudeCommand, clientName } from "./client-hint.ts";
import { setTimer } from "../kit/timers.ts";
import { VERSION } from "../kit/version.ts";

type DescribedServer = GatewayDescription["servers"][number];

const UNSETTLED: ReadonlySet<DescribedServer["status"]["state"]> = new Set(["idle", "connecting"]);

/** Resolves when no server is still making its first connection, at the latest after a time in milliseconds. */
export async function whenSettled(gateway: Gateway, limit: number): Promise<void> {
  const isSettled = (): boolean =>
    [...gateway.servers.values()].every(({ status }) => !UNSETTLED.has(status.state));
  if (isSettled()) return;
  let finish = (): void => {};
  const settled = new Promise<void>((resolve) => (finish = resolve));
  const timer = setTimer(finish, limit);
  const unhook = gateway.hook("server:state", () => isSettled() && finish());
  await settled;
  clearTimeout(timer);
  unhook();
}

/** What a start tells of. */
export function summarise(gateway: Gateway): Summary {
  return { ...gateway.describe(), warnings: collectWarnings(gateway) };
}

/**
 * Tells once what runs: text for a person, one JSON line for a log.
 *
 * @param key variable that clients take the key from
 * @param link signs a person in, who reads along
 */
export function writeSummary(
  summary: Summary,
  { format, level }: GatewayConfig["log"],
  log: Logger,
  key: string,
  link?: string,
): void {
  if (level === "silent") return;
  const readable = format === "pretty" || (format === "auto" && isatty(1));
  if (readable) process.stdout.write(summaryText(summary, key, link));
  else log.info({ version: VERSION, ...summaryData(summary) }, "gateway ready");
}

/** Tells what a reload did, in one sentence and as data. */
export function tellReload(
  { generation, plugins, servers, restartRequired }: ReloadReport,
  log: Logger,
): void {
  const parts = (["added", "removed", "changed"] as const).flatMap((kind) =>
    [
      ...plugins[kind].map((name) => `plugin ${name}`),
      ...servers[kind].map((name) => `server ${name}`),
    ].map((what) => `${what} ${kind}`),
  );
  const data = { generation, plugins: changesOf(plugins), servers: changesOf(servers) };
  log.info(data, `reloaded: ${parts.join(", ") || "no plugin or server changed"}`);
  if (restartRequired.length > 0)
    log.warn({ restartRequired }, `restart to apply: ${restartRequired.join(", ")}`);
}

/** What changed; what did not is not news. */
function changesOf({ added, removed, changed }: Changes): object {
  return { added, removed, changed };
}

function summaryData({ name, endpoints, servers, routes, warnings, workers }: Summary): object {
  return {
    name,
    ...(workers && { workers: workers.all.length }),
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
      ...(server.status.placement && { placement: server.status.placement }),
    })),
    openRoutes: routes.filter(({ open }) => open).map(({ method, path }) => `${method} ${path}`),
    warnings: warnings.map(({ message, hint }) => `${message} ${hint}`),
  };
}

/** The summary as a person reads it. */
export function summaryText(summary: Summary, key: string, link?: string): string {
  const { name, endpoints, servers, routes, warnings, workers } = summary;
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
    servers.map((server) => [
      server.name,
      server.status.state,
      `${countsOf(server)}${placeOf(server)}`,
    ]),
  );
  section("Routes", routeRows(routes));
  if (workers) section("Workers", [[`${workers.all.length} processes on the same listeners`]]);
  section("Web interface", [...interfaceRows(summary), ...linkRows(link)]);
  section(
    "Warnings",
    warnings.map(({ message, hint }) => [`${message} ${hint}`]),
  );
  const [first] = endpoints;
  if (first)
    lines.push(
      "  Point a client at it",
      `    ${claudeCommand(clientName(name), first.url, first.open ? undefined : key)}`,
      `    npx propylon client-config cursor ${first.url}${first.open ? "" : " --key"}`,
      "",
    );
  return `${lines.join("\n")}\n`;
}

/** Where a server runs that one replica runs for all. */
function placeOf({ status: { placement } }: DescribedServer): string {
  if (!placement) return "";
  const moved = placement.moves > 0 ? `, moved ${counted(placement.moves, "time")}` : "";
  if (placement.here) return `, runs here for all replicas${moved}`;
  return `, ${placement.host === null ? "at no replica" : `runs at ${placement.host}`}${moved}`;
}

/** Where a browser goes, when a plugin has pages for it. */
function interfaceRows({ listeners, routes }: GatewayDescription): string[][] {
  const route = routes.find(({ method, path }) => method === "GET" && path === "/ui");
  const listener = route && listeners.find(({ name }) => name === route.listener);
  return listener ? [[`${listener.url}/ui/`]] : [];
}

function linkRows(link: string | undefined): string[][] {
  if (link === undefined) return [];
  return [[`Sign in: ${link}`], ["The link works once, within 60 s. Press Enter for another."]];
}

/** Routes one by one, those of the management API in one line: they are many, and it lists them itself. */
function routeRows(routes: GatewayDescription["routes"]): string[][] {
  const doorOf = (open: boolean): string => (open ? "no authentication" : "bearer token");
  const management = routes.filter((route) => route.management);
  const others = routes.filter((route) => !route.management);
  const rows = others.map(({ method, path, plugin, open }) => [method, path, plugin, doorOf(open)]);
  if (management.length === 0) return rows;
  const isOpen = management.some(({ open }) => open);
  return [
    ...rows,
    ["*", "/_meta ...", counted(management.length, "management route"), doorOf(isOpen)],
  ];
}

function countsOf({ status, tools, resources, prompts }: DescribedServer): string {
  const parts = [
    counted(tools, "tool"),
    ...(resources > 0 ? [counted(resources, "resource")] : []),
    ...(prompts > 0 ? [counted(prompts, "prompt")] : []),
  ];
  if (status.state === "ready") return parts.join(", ");
  const reason = status.reason ?? "";
  // What it offered before is still known when a server is lost; nothing is known before its first answer.
  return tools + resources + prompts === 0 ? reason : `${parts.join(", ")}: ${reason}`;
}

const counted = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

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
