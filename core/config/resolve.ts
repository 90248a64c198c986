import { createRequire } from "node:module";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { GatewayError, isGatewayError } from "../errors.ts";
import type { AnyPlugin } from "../plugin.ts";
import { choose, isLocalPlugin } from "./checks.ts";
import type { CodeModule } from "./code.ts";
import { codeIssue, importCode } from "./code.ts";
import { digestFiles } from "./digest.ts";
import { placeText } from "./issue.ts";
import { pluginOf } from "./plugin-module.ts";

/** Plugins that come with Propylon, by name. */
export const FIRST_PARTY: Readonly<Record<string, () => Promise<unknown>>> = {
  a2a: () => import("propylon/plugins/a2a"),
  admin: () => import("propylon/plugins/admin"),
  agents: () => import("propylon/plugins/agents"),
  breaker: () => import("propylon/plugins/breaker"),
  events: () => import("propylon/plugins/events"),
  gating: () => import("propylon/plugins/gating"),
  health: () => import("propylon/plugins/health"),
  history: () => import("propylon/plugins/history"),
  lifecycle: () => import("propylon/plugins/lifecycle"),
  metrics: () => import("propylon/plugins/metrics"),
  openapi: () => import("propylon/plugins/openapi"),
  payloads: () => import("propylon/plugins/payloads"),
  progress: () => import("propylon/plugins/progress"),
  ratelimit: () => import("propylon/plugins/ratelimit"),
  registry: () => import("propylon/plugins/registry"),
  sidecar: () => import("propylon/plugins/sidecar"),
  telemetry: () => import("propylon/plugins/telemetry"),
};

const BARE_NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/**
 * Finds the plugins that a config names. A file is loaded again only when it or something it imports changed; until then the
 * same object comes back, so that a reload leaves an unchanged plugin alone.
 */
export class PluginSource {
  readonly #cwd: string;
  readonly #loaded = new Map<string, { readonly plugin: AnyPlugin; readonly module: CodeModule }>();

  /** @param cwd folder of the config */
  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Files of the local plugins loaded so far, what they import included. */
  get files(): readonly string[] {
    return [...this.#loaded.values()].flatMap(({ module }) => [...module.files]);
  }

  /**
   * The plugin behind a config key: a first-party name, `./file` beside the config, or an npm package.
   *
   * @throws {GatewayError} `not_found` when there is none, `invalid` when it does not load or is no plugin
   */
  async resolve(key: string): Promise<AnyPlugin> {
    if (isLocalPlugin(key)) return this.#local(key);
    if (Object.hasOwn(FIRST_PARTY, key))
      return pluginOf(key, (await FIRST_PARTY[key]!()) as Record<string, unknown>);
    return pluginOf(key, await this.#fromPackage(key));
  }

  async #local(key: string): Promise<AnyPlugin> {
    const cached = this.#loaded.get(key);
    if (cached && digestFiles(cached.module.files) === cached.module.digest) return cached.plugin;
    const file = resolve(this.#cwd, key);
    const module = await importCode(file).catch((error: unknown) => {
      if (isGatewayError(error)) throw error;
      const issue = codeIssue(error, file, basename(file));
      throw new GatewayError("invalid", `${placeText(issue.place)} ${issue.message}`, {
        hint: issue.hint,
        place: issue.place,
        cause: error,
      });
    });
    const plugin = pluginOf(key, module.exports);
    this.#loaded.set(key, { plugin, module });
    return plugin;
  }

  /** From the folder of the config, since that is where its owner installed it. */
  async #fromPackage(name: string): Promise<Record<string, unknown>> {
    let file: string;
    try {
      file = createRequire(join(this.#cwd, "package.json")).resolve(name);
    } catch (error) {
      throw notFound(name, error);
    }
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  }
}

function notFound(name: string, cause: unknown): GatewayError {
  const known = Object.keys(FIRST_PARTY);
  const firstParty = BARE_NAME.test(name)
    ? ` First-party plugins: ${known.length === 0 ? "none in this version" : known.join(", ")}.`
    : "";
  const meant = known.length > 0 ? ` ${choose(name, known)}` : "";
  return new GatewayError("not_found", `There is no plugin "${name}".`, {
    hint: `Install it beside the config (npm install ${name}), or write ./path for a file.${firstParty}${meant}`,
    cause,
  });
}
