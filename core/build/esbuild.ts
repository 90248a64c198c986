import type { BuildParts } from "./build-parts.ts";
import { dirname } from "node:path";
import { replacement, SERVER, writeParts, writeServer } from "./modules.ts";
import { resolvePackage } from "./packages.ts";

/** An import as esbuild asks for it. */
interface Import {
  readonly path: string;
  /** Empty for an entry. */
  readonly importer: string;
}

/** The part of esbuild's `PluginBuild` that is used. */
export interface EsbuildBuild {
  onStart(run: () => void): void;
  onResolve(
    options: { readonly filter: RegExp },
    run: (args: Import) => object | undefined | Promise<object | undefined>,
  ): void;
  onLoad(
    options: { readonly filter: RegExp; readonly namespace?: string },
    run: (args: { readonly path: string }) => Promise<object | undefined>,
  ): void;
}

const NAMESPACE = "propylon";

/**
 * The plugin for esbuild, by hand, because unplugin gives everything it resolves there a namespace of its own: what is also
 * imported by a relative path would be there twice.
 *
 * @param forget called when a build starts: builders that watch build again with the config as it is then
 */
export function setUpEsbuild(
  build: EsbuildBuild,
  find: () => Promise<BuildParts>,
  forget: () => void,
): void {
  const resolveDir = process.cwd();
  build.onStart(forget);
  build.onResolve({ filter: /^virtual:gateway\/(?:plugins|server)$/ }, ({ path }) => ({
    path,
    namespace: NAMESPACE,
  }));
  build.onResolve({ filter: /^[^./]/ }, ({ path, importer }) =>
    resolvePackage(path, importer === "" ? undefined : importer, find),
  );
  build.onLoad({ filter: /.*/, namespace: NAMESPACE }, async ({ path }) => {
    if (path === SERVER) return { contents: writeServer(), resolveDir };
    const parts = await find();
    return { contents: writeParts(parts), resolveDir, watchFiles: [...parts.files] };
  });
  build.onLoad(
    { filter: /[\\/](?:core|plugins)[\\/].*\.[jt]s$/, namespace: "file" },
    async ({ path }) => {
      const contents = await replacement(path, find);
      if (contents === undefined) return undefined;
      return { contents, resolveDir: dirname(path), loader: path.endsWith("ts") ? "ts" : "js" };
    },
  );
}
