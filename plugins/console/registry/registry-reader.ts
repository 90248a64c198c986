import { GatewayError, isGatewayError } from "propylon";
import { AllowedAddresses, HttpClient, networkReason, timeoutSignal } from "propylon/kit";
import type { ConsoleOptions } from "../options.ts";
import { readRegistry, type RegistryReading } from "./registry-document.ts";

const PATH = ".well-known/mcp/server.json";

/** Longest URL of a registry, in characters. */
export const MAX_URL = 2_048;

/** Largest document of a registry, in bytes. */
const MAX_DOCUMENT = 1024 * 1024;

/** Reads registries, whose URLs people enter: public addresses and those that the operator allows, no redirects. */
export class RegistryReader {
  readonly #options: ConsoleOptions;
  readonly #addresses: AllowedAddresses;
  readonly #http: HttpClient;

  /** @throws {GatewayError} `invalid` for a wrong entry of `allowedAddresses` */
  constructor(options: ConsoleOptions) {
    this.#options = options;
    this.#addresses = new AllowedAddresses(
      options.allowedAddresses,
      "plugins.console.allowedAddresses",
    );
    this.#http = new HttpClient({
      maxResult: MAX_DOCUMENT,
      connectTimeout: options.registryTimeout,
      lookup: this.#addresses.guard(notAllowed),
      network: toFault,
      tooLarge: (limit) => refused(`answers with more than ${limit} bytes`),
    });
  }

  /**
   * The URL as it is kept, without a slash at its end and without the path of the document.
   *
   * @throws {GatewayError} `invalid`
   */
  check(url: string): string {
    const parsed = url.length <= MAX_URL && URL.canParse(url) ? new URL(url) : undefined;
    if (parsed?.protocol !== "https:" && parsed?.protocol !== "http:")
      throw wrongUrl("The URL of a registry must be an http or https URL.");
    if (parsed.username !== "" || parsed.password !== "" || parsed.search !== "")
      throw wrongUrl("The URL of a registry must not hold credentials or a query.");
    if (!this.#addresses.permitsUrl(parsed)) throw notAllowed();
    parsed.hash = "";
    return parsed.href.replace(`/${PATH}`, "").replace(/\/+$/, "");
  }

  /** @throws {GatewayError} `invalid` for an address that is not allowed, `upstream_error`, `timeout` */
  async read(
    url: string,
    signal: AbortSignal,
    credentials: Readonly<Record<string, string>> = {},
  ): Promise<RegistryReading> {
    const { registryTimeout, maxAgents } = this.#options;
    // Addresses are allowed by the config, which may be another one than when the URL was entered.
    const target = new URL(`${this.check(url)}/${PATH}`);
    const limit = timeoutSignal(registryTimeout);
    try {
      const reply = await this.#http.send(target, {
        method: "GET",
        headers: { accept: "application/json", ...credentials },
        signal: AbortSignal.any([signal, limit]),
      });
      if (reply.status === 200) return readRegistry(await reply.bytes(), maxAgents);
      reply.drop();
      throw refused(
        reply.status === 401
          ? "wants another key of the host (HTTP 401)"
          : `answers with HTTP ${reply.status}`,
      );
    } catch (error) {
      if (!limit.aborted || signal.aborted) throw error;
      const seconds = registryTimeout / 1_000;
      throw new GatewayError("timeout", `The registry did not answer within ${seconds} s.`);
    }
  }

  close(): Promise<void> {
    return this.#http.destroy();
  }
}

function toFault(error: unknown): Error {
  if (isGatewayError(error)) return error;
  return refused(`cannot be read: ${networkReason(error)}`, error);
}

function refused(what: string, cause?: unknown): GatewayError {
  return new GatewayError("upstream_error", `The registry ${what}.`, {
    cause,
    hint: "Check the URL, and whether the registry runs.",
  });
}

function notAllowed(): GatewayError {
  return wrongUrl("The URL of the registry does not lead to an address that is allowed.");
}

function wrongUrl(message: string): GatewayError {
  return new GatewayError("invalid", message, {
    hint: "Give a public URL, or have the operator allow the host in plugins.console.allowedAddresses.",
  });
}
