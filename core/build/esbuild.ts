import { dirname } from "node:path";
import { isMissingPeer, ownModule, replacement, SERVER, writeServer } from "./modules.ts";
import { writeParts, type GatewayParts } from "./parts.ts";

/** The part of esbuild's `PluginBuild` that is used. */
export interface EsbuildBuild {
  onResolve(
    options: { readonly filter: RegExp },
    run: (args: { readonly path: string }) => object | undefined,
  ): void;
  onLoad(
    options: { readonly filter: RegExp; readonly namespace?: string },
    run: (args: { readonly path: string }) => object | undefined | Promise<object>,
  ): void;
}

const NAMESPACE = "propylon";

/**
 * The plugin for esbuild, by hand, because unplugin gives everything it resolves there a namespace of its own: what is also
 * imported by a relative path would be there twice.
 */
export function setUpEsbuild(build: EsbuildBuild, find: () => Promise<GatewayParts>): void {
  const resolveDir = process.cwd();
  build.onResolve({ filter: /^virtual:gateway\/(?:plugins|server)$/ }, ({ path }) => ({
    path,
    namespace: NAMESPACE,
  }));
  build.onResolve({ filter: /^[^./]/ }, ({ path }) => {
    const module = ownModule(path);
    if (module !== undefined) return { path: module };
    return isMissingPeer(path) ? { path, external: true } : undefined;
  });
  build.onLoad({ filter: /.*/, namespace: NAMESPACE }, async ({ path }) => {
    if (path === SERVER) return { contents: writeServer(), resolveDir };
    const parts = await find();
    return { contents: writeParts(parts), resolveDir, watchFiles: [...parts.files] };
  });
  build.onLoad({ filter: /(?:resolve|code|version)\.[jt]s$/, namespace: "file" }, ({ path }) => {
    const contents = replacement(path);
    return contents === undefined ? undefined : { contents, resolveDir: dirname(path) };
  });
}
