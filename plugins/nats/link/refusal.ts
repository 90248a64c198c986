import { GatewayError, isGatewayError } from "propylon";
import { wayOf, type NatsSettings } from "../settings.ts";

/** Why NATS cannot be used. @example const { reason, hint }: Refusal = refusedConnection(error, settings); */
export interface Refusal {
  /** As a sentence. */
  readonly reason: string;
  /** What to do. */
  readonly hint?: string | undefined;
  /** Set when waiting does not help. */
  readonly fault?: GatewayError | undefined;
}

/** Codes of Node and OpenSSL about a certificate that we do not trust. */
const UNTRUSTED = /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO)/;

/** What a failed connection means. The client's own words name no credential. @example refusedConnection(error, settings).reason; */
export function refusedConnection(error: unknown, nats: NatsSettings): Refusal {
  if (isGatewayError(error)) return fatal(error);
  const { name, code, message } = error as { name?: string; code?: unknown; message?: string };
  if (name === "AuthorizationError") return fatal(unauthorized(nats));
  if (typeof code === "string" && UNTRUSTED.test(code))
    return fatal(
      new GatewayError("upstream_error", `The certificate of NATS is not trusted (${code}).`, {
        hint: "Check nats.tls.ca (NATS_CA), the server's name in its address, and its certificate's dates and names.",
      }),
    );
  if (message?.includes("does not support 'tls'"))
    return fatal(
      new GatewayError(
        "upstream_error",
        "NATS does not offer TLS there, and the config demands it.",
        {
          hint: "Give the server a certificate, or remove tls:// and nats.tls.",
        },
      ),
    );
  const reason = `NATS cannot be reached: ${wordsOf(error)}.`;
  // Behind the handshake of TLS 1.3 the server says why it hangs up, and the client does not hear it.
  if (name === "TimeoutError" && nats.tls)
    return {
      reason,
      hint: "A server that wants another certificate of ours: nats.tls.cert, .key.",
    };
  return {
    reason,
    hint: "Check the address of NATS (nats.url, NATS_URL, or store), and whether nats-server runs.",
  };
}

/** What it means that streams and consumers could not be looked after. @example refusedProvision(error).fault; */
export function refusedProvision(error: unknown): Refusal {
  if (isGatewayError(error)) return fatal(error);
  const forbidden = forbiddenOf(error);
  if (forbidden) return fatal(forbidden);
  const { name } = error as { name?: string };
  if (name === "JetStreamNotEnabled" || apiErrorOf(error)?.code === 10_039)
    return {
      reason: "JetStream is not enabled in this nats-server, or not for this account.",
      hint: "Write jetstream {} into the server's config, or start it with --jetstream.",
    };
  const refused = apiErrorOf(error);
  if (!refused) return { reason: `JetStream does not answer: ${wordsOf(error)}.` };
  const reason = `JetStream refuses its streams: ${refused.message.replace(/\.$/, "")}.`;
  const hint = "Change it there, or the names of streams and subjects and nats.replicas here.";
  return refused.status < 500
    ? fatal(new GatewayError("invalid", reason, { hint }))
    : { reason, hint };
}

/** What a user of NATS may not do, where that is it. @example throw forbiddenOf(error) ?? error; */
export function forbiddenOf(error: unknown): GatewayError | undefined {
  const found = [error, (error as { cause?: unknown } | undefined)?.cause].find(
    (each) => (each as Error | undefined)?.name === "PermissionViolationError",
  ) as { operation: string; subject: string } | undefined;
  if (!found) return undefined;
  const deed = found.operation === "publish" ? "publish to" : "subscribe to";
  return new GatewayError("forbidden", `The user of NATS may not ${deed} ${found.subject}.`, {
    hint: "Allow it in the user's permissions: the plugin's page lists what is needed.",
    data: { subject: found.subject },
  });
}

/** What JetStream answered. */
export interface ApiError {
  /** JetStream's own code. */
  readonly code: number;
  /** As of HTTP. */
  readonly status: number;
  readonly message: string;
}

/** What JetStream answered, where that is it. @example apiErrorOf(error)?.status === 404 */
export function apiErrorOf(error: unknown): ApiError | undefined {
  const { code, status, message } = error as { code?: unknown; status?: unknown; message: string };
  if (typeof code !== "number" || typeof status !== "number") return undefined;
  return { code, status, message };
}

function unauthorized({ identity }: NatsSettings): GatewayError {
  const way = wayOf(identity);
  return new GatewayError(
    "upstream_error",
    "NATS refuses the credentials (Authorization Violation).",
    {
      hint: way
        ? `Check ${way}${way.startsWith("nats.user") ? " and nats.password (NATS_PASSWORD)" : ""}.`
        : "Set nats.credentials, nats.nkey, nats.token, or nats.user and nats.password.",
    },
  );
}

function fatal(fault: GatewayError): Refusal {
  return { reason: fault.message, hint: fault.hint, fault };
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/\.$/, "") : "unknown reason";
}
