import type { BuildParts } from "./build-parts.ts";
import { virtualModule } from "./modules.ts";
import { resolvePackage } from "./packages.ts";

/** An import as webpack and Rspack ask whether it stays one. */
interface Import {
  readonly request?: string;
  readonly contextInfo?: { readonly issuer?: string };
  /** `commonjs` for `require`. */
  readonly dependencyType?: string;
}

/** The part of a compiler of webpack or Rspack that is used. */
export interface WebpackCompiler {
  readonly webpack: {
    readonly ExternalsPlugin: new (
      type: string,
      externals: (asked: Import) => Promise<string | undefined>,
    ) => { apply(compiler: WebpackCompiler): void };
  };
  readonly hooks: {
    readonly compilation: Tappable<
      [unknown, { readonly normalModuleFactory: { readonly hooks: FactoryHooks } }]
    >;
  };
}

interface FactoryHooks {
  readonly beforeResolve: Tappable<[{ request: string }]>;
}

interface Tappable<Arguments extends readonly unknown[]> {
  tap(name: string, run: (...words: Arguments) => void): void;
}

const NAME = "propylon";

/**
 * What unplugin leaves out for webpack and Rspack: `virtual:` would be a scheme there, and an import that stays one would be an
 * empty module, which a package that tries it takes for what it looked for.
 */
export function setUpWebpack(compiler: WebpackCompiler, find: () => Promise<BuildParts>): void {
  const { ExternalsPlugin } = compiler.webpack;
  new ExternalsPlugin("module-import", async ({ request, contextInfo, dependencyType }) => {
    const target = await resolvePackage(request ?? "", contextInfo?.issuer || undefined, find);
    if (!target?.external) return undefined;
    return `${dependencyType === "commonjs" ? "node-commonjs" : "module-import"} ${target.path}`;
  }).apply(compiler);
  compiler.hooks.compilation.tap(NAME, (_compilation, { normalModuleFactory }) => {
    normalModuleFactory.hooks.beforeResolve.tap(NAME, (asked) => {
      if (virtualModule(asked.request) !== undefined) asked.request = `./${asked.request}`;
    });
  });
}
