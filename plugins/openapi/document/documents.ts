import type { GatewayInfo, GatewayConfig, Json, PluginContext, Principal, Server } from "propylon";
import { createEtag, perGeneration, VERSION } from "propylon/kit";
import {
  gatewayDocument,
  serverDocument,
  type DocumentHead,
  type ShownServer,
} from "./document.ts";
import type { OpenapiOptions } from "../options.ts";

/** A document as it is sent. */
export interface Rendered {
  readonly bytes: Buffer<ArrayBuffer>;
  /** RFC 9110 section 8.8.3, quotes included. */
  readonly etag: string;
}

/** One document in all forms that principals see it in. */
interface Kept {
  /** Everything that it was made from, as far as it can change for all. */
  readonly base: string;
  /** By the names of what is shown. */
  readonly forms: Map<string, Rendered>;
}

/** Most forms of one document that are kept. */
const MAX_FORMS = 100;

/** The gateway's OpenAPI documents as bytes, each written again only when what it shows changed. */
export class Documents {
  readonly #info: Pick<GatewayInfo, "servers" | "shows">;
  readonly #head: () => DocumentHead;
  /** By server name; `""` is the gateway's own. */
  readonly #kept = new Map<string, Kept>();

  constructor(gateway: Pick<PluginContext, "info" | "hook">, options: OpenapiOptions) {
    this.#info = gateway.info;
    this.#head = perGeneration(gateway, () => headOf(gateway, options));
  }

  /**
   * The document of one server, as a principal sees it.
   *
   * @param isRoot whether it is to be the gateway's
   */
  ofServer(server: Server, principal: Principal, isRoot = false): Rendered {
    const shown = this.#show(server, principal);
    const head = this.#head();
    return this.#render(isRoot ? "" : server.name, head, [shown], () =>
      serverDocument(head, shown, isRoot),
    );
  }

  /** The document of all servers that have tools, as a principal sees them. */
  ofGateway(principal: Principal): Rendered {
    const servers = [...this.#info.servers.values()].map((each) => this.#show(each, principal));
    const head = this.#head();
    for (const name of this.#kept.keys())
      if (name !== "" && !this.#info.servers.has(name)) this.#kept.delete(name);
    return this.#render("", head, servers, () =>
      gatewayDocument(
        head,
        servers.filter(({ tools }) => tools.length > 0),
      ),
    );
  }

  #render(
    name: string,
    head: DocumentHead,
    shown: readonly ShownServer[],
    write: () => Json,
  ): Rendered {
    const base = JSON.stringify([head, shown.map(baseOf)]);
    let kept = this.#kept.get(name);
    if (kept?.base !== base) this.#kept.set(name, (kept = { base, forms: new Map() }));
    const form = JSON.stringify(shown.map(formOf));
    let rendered = kept.forms.get(form);
    if (rendered) return rendered;
    const bytes = Buffer.from(JSON.stringify(write()));
    rendered = { bytes, etag: createEtag(bytes) };
    if (kept.forms.size >= MAX_FORMS) kept.forms.clear();
    kept.forms.set(form, rendered);
    return rendered;
  }

  #show(server: Server, principal: Principal): ShownServer {
    const tools = server.catalogue.tools.filter(({ name: tool }) =>
      this.#info.shows({ server: server.name, kind: "tool", name: tool }, principal),
    );
    return { server, tools };
  }
}

function headOf({ info }: Pick<PluginContext, "info">, options: OpenapiOptions): DocumentHead {
  const { name, routes } = info.describe();
  const { publicUrl, listeners } = info.effectiveConfig() as GatewayConfig;
  const base = Object.values(listeners)[0]?.basePaths.join("") ?? "";
  const call = routes.find(({ plugin, path }) => plugin === "openapi" && path === "/:server/:tool");
  const { document, format, invokeAbove, jobs } = options;
  return {
    title: name,
    version: VERSION,
    baseUrl: publicUrl?.replace(/\/+$/, "") ?? base,
    open: call?.open ?? false,
    options: { document, format, invokeAbove, jobs },
  };
}

function baseOf({ server: { name, catalogue } }: ShownServer): readonly unknown[] {
  const { hash, instructions, serverInfo } = catalogue;
  return [name, hash, instructions, serverInfo];
}

/** A name is enough: what the tools are like is in the hash. */
function formOf({ server: { catalogue }, tools }: ShownServer): unknown {
  return tools.length === catalogue.tools.length ? "all" : tools.map((tool) => tool.name);
}
