import { createRequire } from "node:module";
import type { AnyPlugin } from "../../plugin/plugin.ts";
import { pluginOf } from "./plugin-module.ts";

/** Where the package exports the plugins that come with it. */
const PLUGINS = "propylon/plugins/";

/** Names of the plugins that come with Propylon: its package exports them, and nothing else of it knows them. */
export const FIRST_PARTY: readonly string[] = namesOf(
  createRequire(import.meta.url)("propylon/package.json") as Manifest,
);

interface Manifest {
  readonly exports: Readonly<Record<string, unknown>>;
}

function namesOf({ exports }: Manifest): readonly string[] {
  return Object.keys(exports).flatMap((path) => /^\.\/plugins\/([\w-]+)$/.exec(path)?.[1] ?? []);
}

/** What a plugin that comes with Propylon exports. */
export async function importFirstParty(name: string): Promise<Record<string, unknown>> {
  return (await import(PLUGINS + name)) as Record<string, unknown>;
}

/** All of them, by name. */
export async function firstPartyPlugins(): Promise<Readonly<Record<string, AnyPlugin>>> {
  const loaded = FIRST_PARTY.map(
    async (name) => [name, pluginOf(name, await importFirstParty(name))] as const,
  );
  return Object.fromEntries(await Promise.all(loaded));
}
