import { GatewayError, type GatewayInfo, type Principal, type Server, type Tool } from "propylon";
import { setTimer } from "propylon/kit";
import { toolsOf } from "propylon/internal";

/** Longest wait of a document for a server that was never connected yet, in milliseconds. */
const FIRST_CONNECT_MS = 10_000;

/** What a path names: a tool, and who has it. */
export interface Target {
  readonly server: Server;
  readonly tool: Tool;
}

/** What finding something takes: what is there may depend on who looks. */
export type Finder = Pick<GatewayInfo, "servers" | "exists">;

/**
 * The server of a path segment: by its name, or by its name behind an underscore. One of whose tools a principal sees none is not
 * there.
 *
 * @throws {GatewayError} `not_found`
 */
export function findServer(info: Finder, segment: string, principal: Principal): Server {
  const { servers } = info;
  const server =
    servers.get(segment) ?? (segment.startsWith("_") ? servers.get(segment.slice(1)) : undefined);
  if (server && isThere(info, server, principal)) return server;
  throw new GatewayError("not_found", `There is no server ${quote(segment)}.`, {
    hint: "GET /openapi.json lists the servers and their tools.",
  });
}

/** Whether a path segment names a server that is there for a principal. */
export function isServer(info: Finder, segment: string, principal: Principal): boolean {
  try {
    return findServer(info, segment, principal) !== undefined;
  } catch {
    return false;
  }
}

function isThere({ exists }: Finder, { name: server, catalogue }: Server, who: Principal): boolean {
  const { tools } = catalogue;
  return (
    tools.length === 0 || tools.some(({ name }) => exists({ server, kind: "tool", name }, who))
  );
}

/**
 * A tool of a server by its name there.
 *
 * @throws {GatewayError} `not_found`; `upstream_error` when the server never told what it has
 */
export function findTool(
  { exists }: Finder,
  server: Server,
  name: string,
  principal: Principal,
): Target {
  const tool = toolsOf(server.catalogue).get(name);
  if (tool && exists({ server: server.name, kind: "tool", name }, principal))
    return { server, tool };
  if (isUnknown(server)) throw notConnected(server);
  throw new GatewayError("not_found", `Server "${server.name}" has no tool ${quote(name)}.`, {
    hint: `GET /${encodeURIComponent(server.name)}/openapi.json lists its tools.`,
  });
}

/** Whether the server never told what it has. */
function isUnknown({ catalogue, status }: Server): boolean {
  return catalogue.hash === "" && status.state !== "ready";
}

/** Whether a server is on its way up for the first time, so that a moment later its tools may be known. */
export function isAwaited(server: Server): boolean {
  return isUnknown(server) && isRising(server);
}

/**
 * Waits for the first connect of a server that is on its way up; what comes of it shows in the next look.
 *
 * @param limit in milliseconds
 */
export async function settled(server: Server, limit = FIRST_CONNECT_MS): Promise<void> {
  if (!isAwaited(server)) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      off();
      resolve();
    };
    const timer = setTimer(end, limit);
    const off = server.on(() => isAwaited(server) || end());
  });
}

/** On its first attempt; one that failed before may fail for hours. */
function isRising({ status: { state, attempts } }: Server): boolean {
  return (state === "idle" || state === "connecting") && attempts === 0;
}

function notConnected({ name, status }: Server): GatewayError {
  // Callers learn the state alone: the reason may quote a child's standard error.
  const { state, nextRetryAt } = status;
  const isStarting = state === "idle" || state === "connecting";
  const words = isStarting ? "is starting" : `is not connected (${state})`;
  return new GatewayError("unavailable", `Server "${name}" ${words}.`, {
    data: { state, ...(nextRetryAt && { nextRetryAt }) },
    hint: "Try again later; the gateway keeps connecting.",
    headers: { "retry-after": "5" },
  });
}

/** A name from a request, short and in quotes. */
function quote(name: string): string {
  return JSON.stringify(name.length > 100 ? `${name.slice(0, 100)}…` : name);
}
