import { lookup } from "node:dns/promises";
import { GatewayError } from "propylon";
import { AllowedAddresses } from "propylon/kit";

/** Which servers over HTTP the API may add: what is added here is reached from inside the operator's network. */
export class ServerAddresses {
  /** Goes into every entry, so that its name is checked again whenever it is connected to. */
  readonly entry: { readonly allowAddresses: readonly string[] };
  readonly #addresses: AllowedAddresses;

  /** @throws {GatewayError} `invalid` for an entry that is not a host, address or network */
  constructor(allow: readonly string[]) {
    this.entry = { allowAddresses: allow };
    this.#addresses = new AllowedAddresses(allow, "plugins.admin.allowedAddresses");
  }

  /**
   * Refuses a URL that leads to an address which is not allowed. A name that nobody knows now is checked when it is connected to.
   * @throws {GatewayError} `invalid`
   */
  async check(url: string): Promise<void> {
    const parsed = new URL(url);
    const found = await lookup(parsed.hostname, { all: true }).catch(() => []);
    const permits = ({ address }: { readonly address: string }): boolean =>
      this.#addresses.permits(address, parsed.hostname);
    if (this.#addresses.permitsUrl(parsed) && found.every(permits)) return;
    const message = "The URL leads to an address that servers added over the API may not have.";
    throw new GatewayError("invalid", message, {
      hint: "Add its host or network to plugins.admin.allowedAddresses, or put the server into the config file.",
      data: { issues: [{ path: "url", message }] },
    });
  }
}
