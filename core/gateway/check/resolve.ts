import { existsSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { resolveModulePath } from "exsolve";
import { GatewayError, isGatewayError } from "../../kit/errors.ts";
import type { AnyPlugin } from "../../plugin/plugin.ts";
import { isLocalPlugin } from "./checks.ts";
import { type CodeModule, codeIssue, importCode } from "../../config/code.ts";
import { digestFiles } from "../../config/file-digest.ts";
import { FIRST_PARTY, importFirstParty } from "./first-party.ts";
import { placeText } from "../../config/issue.ts";
import { pluginOf, type PluginResolver } from "./plugin-module.ts";
import { nearest } from "../../kit/spelling.ts";

const BARE_NAME = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/;

/**
 * Finds the plugins that a config names. A file is loaded again only when it or something it imports changed; until then the
 * same object comes back, so that a reload leaves an unchanged plugin alone.
 */
export class PluginSource implements PluginResolver {
  readonly #cwd: string;
  readonly #loaded = new Map<string, { readonly plugin: AnyPlugin; readonly module: CodeModule }>();
  readonly #packages = new Map<string, ImportedPackage>();

  /** @param cwd folder of the config */
  constructor(cwd: string) {
    this.#cwd = cwd;
  }

  /** Names of the plugins that come along. */
  readonly names = FIRST_PARTY;

  /** Files of the local plugins loaded so far, what they import included. */
  get files(): readonly string[] {
    return [...this.#loaded.values()].flatMap(({ module }) => [...module.files]);
  }

  /**
   * Keys of npm packages that were installed again since they were imported. Node loads a module once and what it imports with
   * it, so that they run as they were until the process starts again.
   */
  get replaced(): readonly string[] {
    return [...this.#packages].flatMap(([key, { files, digest }]) =>
      digestFiles(files) === digest ? [] : [key],
    );
  }

  /**
   * The plugin behind a config key: a first-party name, `./file` beside the config, or an npm package.
   *
   * @throws {GatewayError} `not_found` when there is none, `invalid` when it does not load or is not a plugin
   */
  async resolve(key: string): Promise<AnyPlugin> {
    if (isLocalPlugin(key)) return this.#local(key);
    if (FIRST_PARTY.includes(key)) return pluginOf(key, await importFirstParty(key));
    return pluginOf(key, await this.#fromPackage(key));
  }

  async #local(key: string): Promise<AnyPlugin> {
    const cached = this.#loaded.get(key);
    if (cached && digestFiles(cached.module.files) === cached.module.digest) return cached.plugin;
    const file = resolve(this.#cwd, key);
    if (!existsSync(file))
      throw new GatewayError("not_found", `The plugin file ${key} does not exist.`, {
        hint: "The path is relative to the config file; check its spelling and ending.",
      });
    const module = await importCode(file).catch((error: unknown) => {
      if (isGatewayError(error) && !error.place) throw error;
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

  /**
   * From the folder of the config, since that is where its owner installed it. Looked up without Node's own caches: it remembers
   * for good that a package was not there, and would not find what is installed while the gateway runs.
   */
  async #fromPackage(name: string): Promise<Record<string, unknown>> {
    const from = pathToFileURL(join(this.#cwd, "package.json"));
    const file = resolveModulePath(name, { from, cache: false, try: true });
    if (file === undefined) throw notFound(name);
    if (this.#packages.get(name)?.files[0] !== file) {
      const files = [file, ...manifestOf(file)];
      this.#packages.set(name, { files, digest: digestFiles(files) });
    }
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  }
}

/** What tells one version of an imported package from another. */
interface ImportedPackage {
  /** Its entry, and its package.json. */
  readonly files: readonly string[];
  /** Hash over them when it was imported. */
  readonly digest: string;
}

function manifestOf(file: string): readonly string[] {
  const folder = dirname(file);
  if (folder === file) return [];
  const manifest = join(folder, "package.json");
  return existsSync(manifest) ? [manifest] : manifestOf(folder);
}

function notFound(name: string): GatewayError {
  const install = `Install it beside the config (npm install ${name}), or write ./path for a file.`;
  const hint = BARE_NAME.test(name) ? `${install} ${ours(name)}` : install;
  return new GatewayError("not_found", `There is no plugin "${name}".`, { hint });
}

function ours(name: string): string {
  const similar = nearest(name, FIRST_PARTY);
  return similar === undefined
    ? `Part of Propylon: ${FIRST_PARTY.join(", ")}.`
    : `Did you mean "${similar}"?`;
}
