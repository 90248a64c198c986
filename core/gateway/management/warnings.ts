import { isLoopback } from "../../kit/addresses.ts";
import type { GatewayWarning } from "../../plugin/description.ts";
import { Checks } from "../../plugin/kernel-points.ts";
import { warningsOf } from "../../plugin/plugin-checks.ts";
import { leftOutText } from "../../call/left-out-entry.ts";
import type { Managed } from "../gateway-options.ts";
import type { Generation } from "../generation.ts";
import type { Seat } from "../seat.ts";
import { unknownNamesOf } from "../unknown-names.ts";

/** A gateway that is looked at. */
type Warned = Pick<Managed, "current" | "seat">;

/** Those whose warnings are being collected. */
const collecting = new WeakSet<Generation>();

/**
 * What works in a generation but should not stay so; asks the checks of all plugins. A check that asks for it meanwhile gets none:
 * two of them would ask each other without end.
 */
export function collectWarnings({ current: generation, seat }: Warned): readonly GatewayWarning[] {
  if (collecting.has(generation)) return [];
  collecting.add(generation);
  try {
    return collect(generation, seat);
  } finally {
    collecting.delete(generation);
  }
}

function collect(generation: Generation, seat: Seat | undefined): GatewayWarning[] {
  const { config, compiled, selectors } = generation;
  return [
    ...listenerWarnings(compiled.open, config),
    ...tokenWarnings(config),
    ...(selectors.length === 0 ? [] : nameWarnings(generation)),
    ...warningsOf(compiled.points.of(Checks)),
    ...(seat ? warningsOf([seat.check]) : []),
    ...listWarnings(compiled),
    ...compiled.endpointServer.problems,
  ];
}

function nameWarnings(generation: Generation): GatewayWarning[] {
  return unknownNamesOf(generation).map(({ path, message, hint }) => {
    return { code: "unknown_name", message, path: path.map(String), hint };
  });
}

/** What servers offer that clients cannot use, or some of them refuse. */
function listWarnings({ servers }: Pick<Generation["compiled"], "servers">): GatewayWarning[] {
  return [...servers.values()].flatMap(({ name, leftOut = [] }) => {
    const message = leftOutText(name, leftOut);
    if (message === undefined) return [];
    const hint = "Correct them at the server, or leave the tools out with tools.exclude.";
    return [{ code: "lists" as const, message, path: ["servers", name], hint }];
  });
}

function listenerWarnings(open: boolean, { listeners }: Generation["config"]): GatewayWarning[] {
  if (!open) return [];
  const exposed = Object.entries(listeners).filter(([, { host }]) => !isLoopback(host));
  return exposed.map(([name, { host }]) => ({
    code: "open_listener",
    message: `Listener "${name}" is reachable from other machines (${host}) and needs no credentials.`,
    path: ["listeners", name],
    hint: "Set auth.apiKey or auth.keys, add a plugin that authenticates, or bind 127.0.0.1.",
  }));
}

/** A token that its issuer made for another service would let its bearer in here (RFC 8725 sections 3.8 and 3.9). */
function tokenWarnings({ auth: { jwt } }: Generation["config"]): GatewayWarning[] {
  if (!jwt) return [];
  const missing = (["issuer", "audience"] as const).filter((key) => jwt[key] === undefined);
  const whose = { issuer: "of every issuer", audience: "for every audience" };
  return missing.map((key) => ({
    code: "any_token",
    message: `auth.jwt takes tokens ${whose[key]} that are signed with its key, those for other services too.`,
    path: ["auth", "jwt"],
    hint: `Set auth.jwt.${key} to the ${key === "issuer" ? "iss" : "aud"} of the tokens that are meant for this gateway.`,
  }));
}
