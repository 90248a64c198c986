import { GatewayError, type Server } from "propylon";
import { type NamedKind, isKnown } from "./known-lists.ts";
import { type Fault, RPC, toFault } from "../message/protocol.ts";
import type { View } from "./view.ts";

/** Servers that are named in one sentence. */
const MOST_NAMED = 5;

const NOUN: Readonly<Record<NamedKind, string>> = {
  tool: "tool",
  prompt: "prompt",
  resource: "resource",
  resourceTemplate: "resource template",
};

/**
 * The refusal of a name that leads nowhere at the moment: unknown, or of a server that is not up. A client that knew the name
 * before a restart, or while its server was there, tries again in place of giving the tool up.
 */
export function absent(view: View, kind: NamedKind, name: string): Fault {
  const meanings = view.meanings(kind, name);
  const servers = meanings.flatMap(
    (meant) => view.servers.find((each) => each.name === meant.server) ?? [],
  );
  const away = servers.filter((server) => !isKnown(server));
  const isSure = away.length === 1 && meanings.length === 1;
  if (away.some(({ status }) => isSure || isComing(status.state)))
    return notThere(
      NOUN[kind],
      name,
      isSure ? [away[0]!] : away.filter(({ status }) => isComing(status.state)),
    );
  const names =
    kind === "tool" || kind === "prompt"
      ? meanings.flatMap((meaning) => view.nameOf(kind, meaning) ?? [])
      : [];
  return unknown(kind, name, names);
}

/** Whether a server that never said what it has may still say so. */
function isComing(state: Server["status"]["state"]): boolean {
  return state === "idle" || state === "connecting" || state === "backoff";
}

/** Retryable, and told as a failure of ours: the name is right. */
function notThere(noun: string, name: string, away: readonly Server[]): Fault {
  const what = `${noun} ${JSON.stringify(name.slice(0, 200))}`;
  const some = away
    .slice(0, MOST_NAMED)
    .map((server) => `${server.name}, which ${stateOf(server)}`);
  const more = away.length > MOST_NAMED ? ", and others" : "";
  const message =
    away.length === 1
      ? `The ${what} is, or may be, one of server ${some[0]}.`
      : `Nobody that is up has the ${what}. It may be one of these servers: ${some.join("; ")}${more}.`;
  const data = { name, servers: away.slice(0, MOST_NAMED).map((server) => server.name) };
  const error = new GatewayError("unavailable", message, { data, hint: "Try again in a moment." });
  return { ...toFault(error), status: 200 };
}

function stateOf({ status }: Server): string {
  if (status.state === "idle" || status.state === "connecting") return "is starting";
  if (status.state === "backoff") return "could not be reached and is tried again";
  return `is not up (${status.state})`;
}

function unknown(kind: NamedKind, name: string, names: readonly string[]): Fault {
  if (kind === "resource")
    return {
      status: 200,
      code: RPC.resourceNotFound,
      message: "Resource not found",
      data: { uri: name },
    };
  const choices = names.slice(0, MOST_NAMED).join(" or ");
  const hint = choices === "" ? "" : `. Here it is ${choices}`;
  const data = kind === "resourceTemplate" ? { uri: name } : { name };
  const message = `Unknown ${NOUN[kind]}: ${name.slice(0, 200)}${hint}`;
  return { status: 200, code: RPC.invalidParams, message, data };
}
