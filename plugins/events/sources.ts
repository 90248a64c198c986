import type { Answer, Call, Middleware, PluginContext } from "propylon";
import { createPrincipal, amendCall, endOf, outcomeOf } from "propylon/kit";
import type { FlagChange } from "propylon/plugins/gating";
import type { Channel } from "./channel.ts";
import type { EventDetails } from "./event.ts";
import { TAKEN, type CallProgress, type EventData, type TopicKind } from "./kinds.ts";
import { parseLine, type LogTail } from "./log-tail.ts";
import type { RingBounds } from "./ring.ts";
import { levelOf } from "./subscription.ts";

/** Where events come from: the gateway's hooks. */
export function registerSources(
  gateway: Pick<PluginContext, "hook" | "info" | "use">,
  channel: Channel,
  tail: LogTail,
  bounds: RingBounds,
): void {
  const publish = <K extends TopicKind>(kind: K, data: EventData[K]): void =>
    channel.publish(kind, data, bounds);
  const servers = new ServerWatch(gateway, channel, publish);
  gateway.hook("gateway:ready", () => servers.compare([]));
  gateway.hook("reload:done", (report) => {
    servers.compare(report.servers.changed);
    publish("reload_done", report);
  });
  gateway.hook("reload:failed", ({ code, data, message, hint, place }) =>
    publish("reload_failed", {
      code: typeof data?.["reason"] === "string" ? data["reason"] : code,
      message,
      hint: hint ?? null,
      line: place?.line ?? null,
      column: place?.column ?? null,
    }),
  );
  gateway.hook("server:state", (server, status) => {
    if (!servers.meet(server)) return;
    const { state, since, downSince, reason, nextRetryAt, attempts, transport, era } = status;
    const times = { since, downSince, nextRetryAt };
    publish("upstream_state", { server, state, ...times, reason, attempts, transport, era });
  });
  gateway.hook("server:catalogue", (server, lists) => {
    if (!lists.includes("tools") || !servers.meet(server)) return;
    const tools = gateway.info.servers.get(server)!.catalogue.tools.length;
    publish("tool_list_changed", { server, tools });
  });
  gateway.hook("gating:changed", ({ server, tool, enabled, remote }: FlagChange) => {
    // Told by the replica that switched it, for all.
    if (remote) return;
    const data = { server, tool: tool ?? null, enabled };
    channel.publish("state_changed", data, bounds, accessOf(gateway, server, tool));
  });
  gateway.hook("breaker:state", (server, status) => publish("breaker", { server, ...status }));
  gateway.hook("plugin:event", (event) => {
    if (!TAKEN.has(event.kind)) channel.relay(event, bounds);
  });
  gateway.hook("mutation", (mutation) => publish("mutation", mutation));
  gateway.hook("log:line", (text) => {
    tail.add(text);
    if (!channel.isRead("log")) return;
    const line = parseLine(text);
    channel.mention("log", { line }, { level: levelOf(line["level"]) });
  });
  gateway.use("observe", whileRead(channel, "call_end", watchEnd));
  gateway.use("dispatch", whileRead(channel, "progress", watchProgress));
}

/** A caller like any other. */
const CALLER = createPrincipal({ id: "caller", kind: "anonymous", roles: new Set(["caller"]) });

/** A tool that is not there for callers is not told to them. */
function accessOf(
  { info }: Pick<PluginContext, "info">,
  server: string,
  name: string | undefined,
): Partial<Pick<EventDetails, "access">> {
  const isOpen = name === undefined || info.exists({ server, kind: "tool", name }, CALLER);
  return isOpen ? {} : { access: "operator" };
}

/** Tells which servers came and went, before anything else is told of them. */
class ServerWatch {
  readonly #gateway: Pick<PluginContext, "info">;
  readonly #channel: Channel;
  readonly #publish: <K extends TopicKind>(kind: K, data: EventData[K]) => void;

  constructor(
    gateway: Pick<PluginContext, "info">,
    channel: Channel,
    publish: <K extends TopicKind>(kind: K, data: EventData[K]) => void,
  ) {
    this.#gateway = gateway;
    this.#channel = channel;
    this.#publish = publish;
  }

  /** Looks for differences to the last time; the first time there is nothing to tell. */
  compare(changed: readonly string[]): void {
    const { known } = this.#channel;
    const names = [...this.#gateway.info.servers.keys()];
    if (known === undefined) {
      this.#channel.known = new Set(names);
      return;
    }
    for (const server of known) {
      if (this.#gateway.info.servers.has(server)) continue;
      known.delete(server);
      this.#publish("server_removed", { server });
    }
    for (const server of names) this.meet(server);
    for (const server of changed) this.#publish("server_changed", { server });
  }

  /** Whether a server is there; one that a reload just brought may speak before the reload is told. */
  meet(server: string): boolean {
    if (!this.#gateway.info.servers.has(server)) return false;
    const { known } = this.#channel;
    if (known === undefined || known.has(server)) return true;
    known.add(server);
    this.#publish("server_added", { server });
    return true;
  }
}

type Watch = (
  channel: Channel,
  call: Call,
  next: (call: Call) => Promise<Answer>,
) => Promise<Answer>;

/** Watches tool calls while somebody reads a kind of event; else it costs one question. */
function whileRead(channel: Channel, kind: "call_end" | "progress", watch: Watch): Middleware {
  return (call, next) =>
    call.method === "tools/call" && channel.isRead(kind) ? watch(channel, call, next) : next(call);
}

/** Tells of calls that ended, those that were refused too. */
function watchEnd(
  channel: Channel,
  call: Call,
  next: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  const { id, server, name: tool, source, endpoint, principal } = call;
  const started = performance.now();
  const tell = (end: Answer | Error): void => {
    const ms = Math.round(performance.now() - started);
    const about = { call: id, server, tool, source, endpoint, principal: principal.ref };
    channel.mention("call_end", { ...about, ...endOf(end), ms }, { owner: principal.ref });
  };
  const answer = next(call);
  answer.then(tell, tell);
  return answer;
}

/** Shows calls from their beginning to their end. */
function watchProgress(
  channel: Channel,
  call: Call,
  next: (call: Call) => Promise<Answer>,
): Promise<Answer> {
  const { id, server, name: tool, principal, progress } = call;
  const details = { owner: principal.ref };
  const started = performance.now();
  const mention = (step: Step): void =>
    channel.mention("progress", { call: id, server, tool, ...step }, details);
  mention({ phase: "start" });
  const end = (outcome: Answer | Error): void =>
    mention({
      phase: "end",
      ms: Math.round(performance.now() - started),
      outcome: outcomeOf(outcome),
    });
  const watched: Call = progress
    ? amendCall(call, {
        progress(report) {
          const { progress: done, total = null, message = null } = report;
          mention({ phase: "progress", progress: done, total, message });
          progress(report);
        },
      })
    : call;
  const answer = next(watched);
  answer.then(end, end);
  return answer;
}

type Step = CallProgress extends infer P
  ? P extends unknown
    ? Omit<P, "call" | "server" | "tool">
    : never
  : never;
