import type { AgentCard } from "@a2a-js/sdk";
import type { ServerCallContext } from "@a2a-js/sdk/server";
import type { Json, Principal } from "propylon";
import { traceOf } from "propylon/kit";
import type { PostRequest } from "../post.ts";
import type { Sdk } from "./sdk.ts";

/** The binding through which a request came. */
export type Binding = "JSONRPC" | "HTTP+JSON";

/** One request of a client of A2A 1.0. */
export interface StandardCallContext {
  readonly sdk: Sdk;
  readonly card: AgentCard;
  readonly principal: Principal;
  /** Trace context for the call. */
  readonly meta: Json | undefined;
  /** URIs of the extensions that the client knows. */
  readonly extensions: readonly string[];
  readonly context: ServerCallContext;
  /** Aborts when the reader of a stream went away, or with the error that it is to get; the task goes on. */
  readonly gone: AbortController;
}

/** Reads the head of a request; {@link checkVersion} is for code that has read it. */
export function readContext(
  {
    principal,
    headers,
    query,
    onRevoked,
  }: Pick<PostRequest, "principal" | "headers" | "query" | "onRevoked">,
  sdk: Sdk,
  card: AgentCard,
): StandardCallContext {
  // An absent version means 0.3 (A2A 1.0, 3.6.2); so does an empty one, and the SDK knows it.
  const version = headers.get(sdk.A2A_VERSION_HEADER) ?? query?.get(sdk.A2A_VERSION_HEADER);
  const extensions = sdk.Extensions.parseServiceParameter(
    headers.get(sdk.HTTP_EXTENSION_HEADER) ?? undefined,
  );
  const gone = new AbortController();
  onRevoked?.((error) => gone.abort(error));
  return {
    sdk,
    card,
    principal,
    meta: traceOf(headers),
    extensions,
    context: new sdk.ServerCallContext({
      requestedExtensions: extensions,
      ...(version && { requestedVersion: majorMinor(version) }),
    }),
    gone,
  };
}

/** @throws {A2AError} `VersionNotSupportedError` */
export function checkVersion({ sdk, card, context }: StandardCallContext, binding: Binding): void {
  sdk.validateVersion(context.requestedVersion, card, binding);
}

/** Patch versions are not negotiated (A2A 1.0, 3.6). */
function majorMinor(version: string): string {
  const trimmed = version.trim();
  const end = trimmed.indexOf(".", trimmed.indexOf(".") + 1);
  return end < 0 ? trimmed : trimmed.slice(0, end);
}
