import { createUnplugin, type UnpluginInstance } from "unplugin";
import { setUpEsbuild } from "./esbuild.ts";
import { issuesOf, issueText } from "../config/issue.ts";
import { isGatewayError, wordsOf } from "../kit/errors.ts";
import {
  absentModule,
  isReplaceable,
  PLUGINS,
  replacement,
  SERVER,
  virtualModule,
  writeAbsent,
  writeParts,
  writeServer,
} from "./modules.ts";
import { resolvePackage } from "./packages.ts";
import { findParts, type BuildParts } from "./build-parts.ts";
import { setUpWebpack } from "./webpack.ts";

/** Options of the bundler plugin. */
export interface BuildOptions {
  /** Config of the gateway; default: `gateway.yaml` (or .json, .ts ...) in the current folder. */
  readonly config?: string;
}

/**
 * Bundles a gateway to one file, in the bundler of your choice: `propylon.vite()`, `.rollup()`, `.rolldown()`, `.esbuild()`,
 * `.webpack()`, `.rspack()`, `.farm()`; docs/guide/build.md has a config for each. The entry is `virtual:gateway/server`; `virtual:gateway/plugins` has the plugins of the
 * config alone. `propylon build` does all this without a bundler config. A wrong config fails the build.
 *
 * @example
 * // rolldown.config.js
 * import propylon from "propylon/unplugin";
 * export default {
 *   input: "virtual:gateway/server", platform: "node", plugins: [propylon.rolldown()],
 *   output: { file: ".output/server.mjs", codeSplitting: false },
 * };
 */
const propylon: UnpluginInstance<BuildOptions | undefined> = createUnplugin(
  (options, { framework }) => {
    let parts: Promise<BuildParts> | undefined;
    const find = (): Promise<BuildParts> =>
      (parts ??= findParts(options?.config).catch((error: unknown) => {
        throw bundlerError(error);
      }));
    const forget = (): void => (parts = undefined);
    if (framework === "esbuild")
      return { name: "propylon", esbuild: { setup: (build) => setUpEsbuild(build, find, forget) } };
    return {
      name: "propylon",
      enforce: "pre",
      // Builders that watch build again with the config as it is then.
      buildStart: forget,
      async resolveId(id, importer) {
        const virtual = virtualModule(id);
        if (virtual !== undefined) return `\0${virtual}`;
        const target = await resolvePackage(id, importer, find);
        // Farm would import it before everything else, and so fail at the start.
        if (target?.external && framework === "farm") return `\0${absentModule(target.path)}`;
        return target && { id: target.path, external: target.external };
      },
      loadInclude: (id) => id.startsWith("\0virtual:gateway/") || isReplaceable(id),
      async load(id) {
        if (id === `\0${SERVER}`) return writeServer();
        if (id !== `\0${PLUGINS}`) return writeAbsent(id.slice(1)) ?? replacement(id, find);
        const found = await find();
        for (const file of found.files) this.addWatchFile(file);
        return writeParts(found);
      },
      webpack: (compiler) => setUpWebpack(compiler, find),
      rspack: (compiler) => setUpWebpack(compiler, find),
    };
  },
);

export default propylon;

/** What is wrong with a gateway as a bundler shows it, which only knows messages: each problem with its place and next step. */
function bundlerError(thrown: unknown): unknown {
  if (!isGatewayError(thrown)) return thrown;
  const issues = issuesOf(thrown).map(issueText);
  const text = issues.length > 0 ? issues.join("\n") : wordsOf(thrown);
  // The reader did nothing wrong in the code that the stack would show.
  return Object.assign(new Error(text.trim()), { stack: text.trim() });
}
