import type { GatewayError } from "propylon";
import { networkFault, readRetryAfter, sizeFault } from "propylon/kit";
import { serverFault, statusFault } from "propylon/internal";

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
    const wait = readRetryAfter(retryAfter ?? "");
    const data = { status, ...(wait !== undefined && { retryAfter: wait }) };
    // A caller over HTTP looks for it there, whatever its own status is.
    const headers =
      wait === undefined ? undefined : { "retry-after": String(Math.ceil(wait / 1_000)) };
    if (status !== 404) return statusFault(this.#name, status, data, headers);
    return serverFault(this.#name, "has no MCP endpoint at this URL (HTTP 404)", {
      data,
      hint: "Check the path of the URL.",
    });
  }

  /** The server redirects to where nothing is sent. For those who can change the config: callers need not know the place. */
  redirect(status: number, { origin, pathname }: URL): GatewayError {
    return serverFault(this.#name, `redirects (HTTP ${status}), which is not followed`, {
      data: { status },
      hint: `It redirects to ${origin}${pathname}. Put that URL into the config if it is the right one.`,
    });
  }

  /** What the server sent is not what the protocol says. */
  protocol(what: string): GatewayError {
    return serverFault(this.#name, what);
  }

  /** The session is not known any more. */
  session(): GatewayError {
    return serverFault(this.#name, "has forgotten its session");
  }

  /** An answer above the limit. */
  tooLarge(limit: number): GatewayError {
    return sizeFault(this.#name, limit);
  }
}

/** HTTP status inside an error of {@link Faults}, if it has one. */
export function statusOf(error: GatewayError): number | undefined {
  const status = error.data?.["status"];
  return typeof status === "number" ? status : undefined;
}
