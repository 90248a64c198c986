import { GatewayError } from "propylon";
import { networkFault, sizeFault } from "propylon/kit";

/** The `data` of an error that came with an HTTP status. */
export interface StatusData {
  readonly server: string;
  readonly status: number;
  /** Milliseconds until another attempt makes sense, from `Retry-After`. */
  readonly retryAfter?: number;
}

/** Makes the errors of one server. Neither headers nor bodies of the server get into them: they may hold secrets. */
export class Faults {
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  /** The network failed. */
  network(error: Error): GatewayError {
    return networkFault(this.#name, error);
  }

  /** The server refused with an HTTP status. */
  status(status: number, retryAfter?: string): GatewayError {
    const data: StatusData = { server: this.#name, status, ...parseRetryAfter(retryAfter) };
    if (status === 401)
      return this.#error(
        "wants authentication (HTTP 401)",
        data,
        undefined,
        "Check the headers of this server in the config.",
      );
    if (status === 403)
      return this.#error(
        "denies access (HTTP 403)",
        data,
        undefined,
        "Check the headers of this server in the config.",
      );
    if (status >= 300 && status < 400) {
      return this.#error(
        `redirects (HTTP ${status}), which is not followed`,
        data,
        undefined,
        "Put the final URL into the config.",
      );
    }
    if (status === 404)
      return this.#error(
        "has no MCP endpoint at this URL (HTTP 404)",
        data,
        undefined,
        "Check the path of the URL.",
      );
    return this.#error(`answered with HTTP ${status}`, data);
  }

  /** What the server sent is not what the protocol says. */
  protocol(what: string): GatewayError {
    return this.#error(what, { server: this.#name });
  }

  /** The session is not known any more. */
  session(): GatewayError {
    return this.#error("has forgotten its session", { server: this.#name });
  }

  /** An answer above the limit. */
  tooLarge(limit: number): GatewayError {
    return sizeFault(this.#name, limit);
  }

  #error(what: string, data: object, cause?: unknown, hint?: string): GatewayError {
    return new GatewayError("upstream_error", `Server "${this.#name}" ${what}.`, {
      data: { ...data },
      cause,
      ...(hint && { hint }),
    });
  }
}

/** HTTP status inside an error of {@link Faults}, if it has one. */
export function statusOf(error: GatewayError): number | undefined {
  const status = error.data?.["status"];
  return typeof status === "number" ? status : undefined;
}

function parseRetryAfter(value: string | undefined): { retryAfter?: number } {
  if (value === undefined) return {};
  const seconds = /^\d{1,6}$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(seconds) ? { retryAfter: Math.max(0, seconds) } : {};
}
