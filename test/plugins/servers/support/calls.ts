import type { Call, Server, ServerState, Json, Peer } from "propylon";
import { createPrincipal, type ServerEvent } from "propylon/kit";
import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { ownOptions } from "../../../../core/config/config.ts";
import type { UpstreamConfig } from "../../../../plugins/servers/connection/dial.ts";
import { httpServerSchema, stdioServerSchema } from "../../../../plugins/servers/entry.ts";
import { Upstream, type UpstreamOptions } from "../../../../plugins/servers/upstream/upstream.ts";

export const log = pino({ level: "silent" });

/** A peer that records what it is told and answers nothing. */
export function makePeer(
  parts: Partial<Peer> = {},
): Peer & { readonly told: { method: string; params: Json | undefined }[] } {
  const told: { method: string; params: Json | undefined }[] = [];
  return {
    key: randomUUID(),
    capabilities: {},
    ask: () => Promise.reject(new Error("not expected")),
    tell: (method, params) => void told.push({ method, params }),
    ...parts,
    told,
  };
}

/** A call with defaults for everything. */
export function makeCall(
  name: string,
  args: Json | undefined = {},
  parts: Partial<Call> = {},
): Call {
  return {
    id: randomUUID(),
    method: "tools/call",
    source: "local",
    endpoint: "",
    server: "test",
    name,
    tool: undefined,
    args,
    params: undefined,
    meta: undefined,
    principal: createPrincipal({ id: "tester", kind: "anonymous", roles: new Set() }),
    timeout: undefined,
    signal: new AbortController().signal,
    progress: undefined,
    peer: makePeer(),
    ...parts,
  };
}

/** The options of an entry of `servers`, as the schema of its type makes them. */
export function readEntry(entry: object): UpstreamConfig {
  const schema = "command" in entry ? stdioServerSchema : httpServerSchema;
  return schema.parse(ownOptions({ ...entry }));
}

/** Text of the first content block of a tool's answer. */
export async function callText(
  upstream: Server,
  name: string,
  args: Json = {},
  parts: Partial<Call> = {},
): Promise<string> {
  const answer = await upstream.request(makeCall(name, args, parts));
  if (answer.error) throw new Error(`${answer.error.code}: ${answer.error.message}`);
  return (answer.result!["content"] as { text: string }[])[0]!.text;
}

/** An upstream with the defaults of the config schema. */
export function makeUpstream(config: object, options: Partial<UpstreamOptions> = {}): Upstream {
  return new Upstream({
    name: "test",
    config: readEntry(config),
    clientInfo: { name: "propylon-test", version: "1.0.0" },
    cwd: process.cwd(),
    log,
    ...options,
  });
}

/** Waits until the upstream is in a state. */
export function reached(upstream: Server, ...states: ServerState[]): Promise<void> {
  if (states.includes(upstream.status.state)) return Promise.resolve();
  return new Promise((resolve) => {
    const off = upstream.on((event) => {
      if (event.type !== "state" || !states.includes(event.status.state)) return;
      off();
      resolve();
    });
  });
}

/** Waits for the first event that matches. */
export function nextEvent<T extends ServerEvent["type"]>(
  upstream: Upstream,
  type: T,
  matches: (event: Extract<ServerEvent, { type: T }>) => boolean = () => true,
): Promise<Extract<ServerEvent, { type: T }>> {
  return new Promise((resolve) => {
    const off = upstream.on((event) => {
      if (event.type !== type || !matches(event as Extract<ServerEvent, { type: T }>)) return;
      off();
      resolve(event as Extract<ServerEvent, { type: T }>);
    });
  });
}
