import { type Answer, GatewayError, type Json, isGatewayError } from "propylon";
import { isObject } from "propylon/kit";
import type { Era } from "propylon/internal";
import { statusOf } from "../wire/faults.ts";
import type { Connection } from "./connection.ts";
import { LEGACY_VERSIONS, MODERN_VERSION, UNSUPPORTED_VERSION } from "./era.ts";

/** HTTP statuses with which a server of the other era refuses. */
const OTHER_ERA = [400, 404];

/**
 * The first words of a conversation that goes no further: `initialize`, or `server/discover` where the server turns that down
 * with 400, 404 or a JSON-RPC error.
 *
 * @param remembered what it spoke last time; asked for first
 * @param version of the legacy era to ask for
 * @throws {GatewayError} `upstream_error` when it speaks neither. Without the server's own words, which may quote credentials
 */
export async function greet(
  connection: Connection,
  protocol: "auto" | Era,
  remembered: Era | undefined,
  version = LEGACY_VERSIONS[0]!,
): Promise<Era> {
  const eras: readonly Era[] =
    protocol !== "auto"
      ? [protocol]
      : remembered === "modern"
        ? ["modern", "legacy"]
        : ["legacy", "modern"];
  let refusal: GatewayError | undefined;
  for (const era of eras) {
    const refused = await (era === "legacy"
      ? initialize(connection, version)
      : discover(connection));
    if (refused === undefined) return era;
    refusal ??= refused;
  }
  throw refusal!;
}

async function initialize(
  connection: Connection,
  protocolVersion: string,
): Promise<GatewayError | undefined> {
  const params = {
    protocolVersion,
    capabilities: {},
    clientInfo: connection.clientInfo,
  };
  connection.probe(undefined);
  const answer = await ask(connection, "initialize", params);
  if (!("result" in answer)) return answer.refusal;
  const version = answer.result["protocolVersion"];
  if (typeof version !== "string" || !LEGACY_VERSIONS.includes(version))
    return refusalOf(connection, "speaks a version of MCP that is not spoken here");
  // The DELETE that ends the session names the version (2025-06-18, "Protocol Version Header").
  connection.probe({ era: "legacy", version });
  return undefined;
}

async function discover(connection: Connection): Promise<GatewayError | undefined> {
  connection.probe({ era: "modern", version: MODERN_VERSION });
  const answer = await ask(connection, "server/discover", {});
  if (!("result" in answer)) return answer.refusal;
  const versions = answer.result["supportedVersions"];
  if (Array.isArray(versions) && versions.includes(MODERN_VERSION)) return undefined;
  return refusalOf(connection, `does not speak MCP ${MODERN_VERSION}`);
}

/** The result, or why there is none although another era may have one; throws when that is out of the question. */
async function ask(
  connection: Connection,
  method: string,
  params: Json,
): Promise<{ readonly result: Json } | { readonly refusal: GatewayError }> {
  let answer: Answer;
  try {
    answer = await connection.request(method, params);
  } catch (error) {
    if (isGatewayError(error) && OTHER_ERA.includes(statusOf(error) ?? 0))
      return { refusal: error };
    throw error;
  }
  const { result, error } = answer;
  if (error === undefined) return { result: result! };
  const { code, data } = error;
  if (code === UNSUPPORTED_VERSION && isObject(data) && Array.isArray(data["supported"]))
    return { refusal: refusalOf(connection, "speaks only other versions of MCP") };
  return { refusal: refusalOf(connection, `refused ${method} (JSON-RPC error ${code})`) };
}

function refusalOf({ name }: Connection, what: string): GatewayError {
  return new GatewayError("upstream_error", `Server "${name}" ${what}.`, {
    data: { server: name },
  });
}
