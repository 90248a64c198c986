import type { PluginContext } from "propylon";
import type { EndpointInput, ListenerInput } from "propylon/kit";
import { listenerUrl } from "propylon/internal";
import type { AgentOptions } from "../options.ts";

/** Where an agent's endpoint is. */
export interface AgentPlace {
  /** Name of the endpoint, and of the listener of its own if it has one. */
  readonly name: string;
  readonly endpoint: EndpointInput;
  readonly listener: ListenerInput | undefined;
}

/** The endpoint of an agent: its tool under its own name, and nothing else. */
export function placeAgent(agent: string, options: AgentOptions): AgentPlace {
  const name = `agent-${agent}`;
  const { listener, path, server, description } = options;
  const isOwn = typeof listener === "object";
  return {
    name,
    listener: isOwn ? listener : undefined,
    endpoint: {
      path: path ?? (isOwn ? "/mcp" : `/agents/${agent}/mcp`),
      // First what is answered in code: a server elsewhere may have a get_health of its own.
      servers: server === undefined ? [agent] : [agent, server],
      naming: "none",
      ...(listener !== undefined && { listener: isOwn ? name : listener }),
      ...(server === undefined && description !== undefined && { instructions: description }),
    },
  };
}

/** Finds the URL of agents' endpoints, as things are at one moment. */
export function createAtlas({ info }: Pick<PluginContext, "info">): (place: AgentPlace) => string {
  const { endpoints, listeners } = info.describe();
  const { publicUrl } = info.effectiveConfig() as { publicUrl?: string };
  const urls = new Map(endpoints.map((endpoint) => [endpoint.name, endpoint]));
  return (place) => {
    const found = urls.get(place.name);
    const url = found?.url ?? plannedUrl(place, listeners);
    if (publicUrl === undefined) return url;
    const isMain = found
      ? found.listener === listeners[0]?.name
      : place.endpoint.listener === undefined;
    const path = place.endpoint.path!;
    if (isMain) return `${publicUrl.replace(/\/+$/, "")}${path}`;
    // Its own port of the same host.
    const own = new URL(url);
    own.hostname = new URL(publicUrl).hostname;
    return own.href;
  };
}

/** Before the gateway listens, or the config is in force. */
function plannedUrl(
  { listener, endpoint }: AgentPlace,
  listeners: ReturnType<PluginContext["info"]["describe"]>["listeners"],
): string {
  if (listener) {
    const { host = "127.0.0.1", port = 8080 } = listener;
    return `${listenerUrl({ host, port })}${endpoint.path}`;
  }
  const shared = listeners.find(({ name }) => name === endpoint.listener) ?? listeners[0];
  return `${shared?.url ?? "http://127.0.0.1:8080"}${endpoint.path}`;
}
