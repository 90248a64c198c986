import type { Answer, Call } from "propylon";
import { CALL_OUTCOMES, endOf, isFailure, type CallEnd, type CallOutcome } from "propylon/kit";
import { Distribution, Family } from "./distribution.ts";

/** Label of whatever has no series of its own: unknown names, and known ones beyond the limit. */
export const OTHER = "other";

/** A server may answer with any number as its JSON-RPC code; each would be a series. */
const MAX_RPC_CODES = 50;
const IS_NUMBER = /^-?\d/;

/** Labels of the OpenTelemetry conventions for MCP in Prometheus spelling, behind the name the server has here. */
const CONVENTIONAL = [
  "server",
  "network_transport",
  "mcp_method_name",
  "gen_ai_tool_name",
  "error_type",
] as const;

/** Figures of one tool; bound once, so that counting a call costs no search by labels. */
interface ToolCounts {
  /** One object for as long as it lives: what it looks like as text is remembered by it. */
  readonly labels: { readonly server: string; readonly tool: string };
  readonly calls: Record<CallOutcome, number>;
  readonly durations: Distribution;
  /** {@link CallCounts.served} and {@link CallCounts.relayed} of its calls by error code. */
  readonly served: Map<string, Distribution>;
  readonly relayed: Map<string, Distribution>;
}

/** What decides about the labels of a call. */
export interface Labelling {
  /** Tools with a series of their own. */
  readonly maxTools: number;
  /** Whether the histograms of the MCP conventions name the tool (`gen_ai_tool_name`). */
  readonly toolNames: boolean;
  /** Whether there is such a server. */
  isServer(name: string): boolean;
  /** The network transport of a server as OpenTelemetry names it; `undefined` when it is not an upstream. */
  transportOf(server: string): string | undefined;
}

/** Every figure about calls. Lives through reloads; counters only ever rise, except that what belongs to a removed server goes. */
export class CallCounts {
  inFlight = 0;
  /** Failed tool calls by code. */
  readonly errors = new Map<string, number>();
  /** Durations of all tool calls, those of removed servers included. */
  readonly durations: Distribution;
  /** Requests that MCP clients made, in the terms of the OpenTelemetry conventions. */
  readonly served: Family;
  /** Requests made to upstreams, in the same terms. */
  readonly relayed: Family;
  readonly #byServer = new Map<string, Map<string, ToolCounts>>();
  readonly #bounds: readonly number[];
  readonly #rpcCodes = new Set<string>();
  #tools = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.durations = new Distribution(bounds);
    this.served = new Family(CONVENTIONAL, bounds);
    this.relayed = new Family(CONVENTIONAL, bounds);
  }

  /** Counts a call as seen from outside the pipeline, denials included. */
  end(call: Call, end: Answer | Error, seconds: number, labelling: Labelling): void {
    const ended = endOf(end);
    const code = this.#codeOf(ended);
    const counts = call.method === "tools/call" ? this.#countsOf(call, labelling) : undefined;
    if (counts) this.#count(counts, ended.outcome, code, seconds);
    if (call.source !== "mcp") return;
    let times = counts?.served.get(code);
    if (!times) {
      const tool = labelling.toolNames && counts ? counts.labels.tool : "";
      times = this.served.of(["", "", call.method, tool, code]);
      counts?.served.set(code, times);
    }
    times.observe(seconds);
  }

  /** Counts a call as seen from where it leaves for an upstream. */
  relay(call: Call, end: Answer | Error, seconds: number, labelling: Labelling): void {
    const { server, method } = call;
    const counts = method === "tools/call" ? this.#countsOf(call, labelling) : undefined;
    const code = this.#codeOf(endOf(end));
    let times = counts?.relayed.get(code);
    if (!times) {
      const transport = labelling.transportOf(server);
      if (transport === undefined) return;
      const tool = labelling.toolNames && counts ? counts.labels.tool : "";
      times = this.relayed.of([server, transport, method, tool, code]);
      counts?.relayed.set(code, times);
    }
    times.observe(seconds);
  }

  /** Figures by tool. */
  *tools(): Generator<ToolCounts> {
    for (const tools of this.#byServer.values()) yield* tools.values();
  }

  /** Forgets what belongs to servers that are gone, and labels that may have changed. */
  keep(isKnown: (server: string) => boolean): void {
    for (const { served, relayed } of this.tools()) {
      served.clear();
      relayed.clear();
    }
    for (const [server, tools] of this.#byServer) {
      if (server === OTHER || isKnown(server)) continue;
      this.#byServer.delete(server);
      this.#tools -= [...tools.keys()].filter((tool) => tool !== OTHER).length;
    }
    this.relayed.keep(isKnown);
  }

  #count(
    { calls, durations }: ToolCounts,
    outcome: CallOutcome,
    code: string,
    seconds: number,
  ): void {
    calls[outcome]++;
    durations.observe(seconds);
    this.durations.observe(seconds);
    if (isFailure(outcome)) this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
  }

  /** The code as a label: empty for success, `tool_error` for a tool's own failure. */
  #codeOf({ outcome, code }: CallEnd): string {
    if (outcome === "ok") return "";
    if (code === null) return outcome;
    if (outcome !== "tool_error" || this.#rpcCodes.has(code) || !IS_NUMBER.test(code)) return code;
    if (this.#rpcCodes.size >= MAX_RPC_CODES) return OTHER;
    this.#rpcCodes.add(code);
    return code;
  }

  /** A name that no server lists never becomes a label: callers choose it freely. */
  #countsOf({ server, name, tool }: Call, labelling: Labelling): ToolCounts {
    const known = tool && this.#byServer.get(server)?.get(name);
    if (known) return known;
    // A server may have been removed while its call ran.
    if (!labelling.isServer(server)) return this.#open(OTHER, OTHER);
    return this.#open(server, tool && this.#tools < labelling.maxTools ? name : OTHER);
  }

  #open(server: string, tool: string): ToolCounts {
    const tools = this.#byServer.get(server) ?? new Map<string, ToolCounts>();
    this.#byServer.set(server, tools);
    const known = tools.get(tool);
    if (known) return known;
    const calls = Object.fromEntries(
      CALL_OUTCOMES.map((outcome) => [outcome, 0]),
    ) as ToolCounts["calls"];
    const counts: ToolCounts = {
      labels: { server, tool },
      calls,
      durations: new Distribution(this.#bounds),
      served: new Map(),
      relayed: new Map(),
    };
    tools.set(tool, counts);
    if (tool !== OTHER) this.#tools++;
    return counts;
  }
}
