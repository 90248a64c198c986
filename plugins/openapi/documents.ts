import { createHash } from "node:crypto";
import {
  perGeneration,
  type GatewayConfig,
  type Json,
  type PluginContext,
  type Server,
} from "propylon";
import { gatewayDocument, serverDocument, type DocumentHead, type Shown } from "./document.ts";
import type { Options } from "./options.ts";

/** A document as it is sent. */
export interface Rendered {
  readonly bytes: Buffer;
  /** RFC 9110 section 8.8.3, quotes included. */
  readonly etag: string;
}

interface Kept extends Rendered {
  /** Everything the document was made from, as far as it can change. */
  readonly key: string;
}

/** The gateway's OpenAPI documents as bytes, each written again only when what it shows changed. */
export class Documents {
  readonly #gateway: Pick<PluginContext, "servers" | "shows">;
  readonly #head: () => DocumentHead;
  /** By server name; `""` is the gateway's own. */
  readonly #kept = new Map<string, Kept>();

  constructor(
    gateway: Pick<PluginContext, "servers" | "shows" | "control" | "hook">,
    options: Options,
  ) {
    this.#gateway = gateway;
    this.#head = perGeneration(gateway, () => headOf(gateway, options));
  }

  /**
   * The document of one server.
   *
   * @param isRoot whether it is to be the gateway's
   */
  ofServer(server: Server, isRoot = false): Rendered {
    const shown = this.#show(server);
    const head = this.#head();
    const key = `${JSON.stringify(head)}\n${keyOf(shown)}`;
    return this.#render(isRoot ? "" : server.name, key, () => serverDocument(head, shown, isRoot));
  }

  /** The document of all servers that have tools. */
  ofGateway(): Rendered {
    const servers = [...this.#gateway.servers.values()].map((server) => this.#show(server));
    const shown = servers.filter(({ tools }) => tools.length > 0);
    const head = this.#head();
    for (const name of this.#kept.keys())
      if (name !== "" && !this.#gateway.servers.has(name)) this.#kept.delete(name);
    const key = `${JSON.stringify(head)}\n${shown.map(keyOf).join("\n")}`;
    return this.#render("", key, () => gatewayDocument(head, shown));
  }

  #render(name: string, key: string, write: () => Json): Rendered {
    const kept = this.#kept.get(name);
    if (kept?.key === key) return kept;
    const bytes = Buffer.from(JSON.stringify(write()));
    const digest = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    const rendered = { key, bytes, etag: `"${digest}"` };
    this.#kept.set(name, rendered);
    return rendered;
  }

  #show(server: Server): Shown {
    const tools = server.catalogue.tools.filter(({ name: tool }) =>
      this.#gateway.shows({ server: server.name, kind: "tool", name: tool }),
    );
    return { server, tools };
  }
}

function headOf({ control }: Pick<PluginContext, "control">, options: Options): DocumentHead {
  const { name, routes } = control.describe();
  const { publicUrl, listeners } = control.effectiveConfig() as GatewayConfig;
  const base = Object.values(listeners)[0]?.basePaths.join("") ?? "";
  const call = routes.find(({ plugin, path }) => plugin === "openapi" && path === "/:server/:tool");
  const { document, format, invokeAbove, jobs } = options;
  return {
    title: name,
    version: control.version,
    baseUrl: publicUrl?.replace(/\/+$/, "") ?? base,
    open: call?.open ?? false,
    options: { document, format, invokeAbove, jobs },
  };
}

function keyOf({ server, tools }: Shown): string {
  const { name, catalogue } = server;
  const { hash, instructions, serverInfo } = catalogue;
  // A name is enough: what the tools are like is in the hash.
  const shown = tools.length === catalogue.tools.length ? "all" : tools.map((tool) => tool.name);
  return JSON.stringify([name, hash, instructions, serverInfo, shown]);
}
