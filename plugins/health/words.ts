import type { ServerHealth } from "./service.ts";

/** A server that answers, but slowly, in the words of the source: `Avg response 12s — Neo4j connection slow`. */
export function describeSlowness(server: string, average: number): string {
  const seconds =
    average < 10_000 ? (average / 1000).toFixed(1).replace(/\.0$/, "") : Math.round(average / 1000);
  return `Avg response ${seconds}s — ${server} connection slow`;
}

/** Servers that are not there, those with the same reason together: `Argos MCP server unreachable: ...`. */
export function describeUnreachable(servers: readonly ServerHealth[]): string[] {
  const byReason = new Map<string, string[]>();
  for (const { server, reason = "no reason known" } of servers) {
    const short = withoutName(server, reason);
    byReason.set(short, [...(byReason.get(short) ?? []), server]);
  }
  return [...byReason].map(([reason, names]) => {
    const noun = names.length === 1 ? "MCP server" : "MCP servers";
    return `${names.join(", ")} ${noun} unreachable: ${reason}`;
  });
}

/** A reason without the name, where others stand beside it: `Server "a" cannot be used: it hangs.` is `it hangs`. */
function withoutName(server: string, reason: string): string {
  const subject = `Server "${server}" `;
  const rest = reason.startsWith(subject) ? reason.slice(subject.length) : reason;
  return rest.replace(/^cannot be used: /, "").replace(/\.$/, "");
}
