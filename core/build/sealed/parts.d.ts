/** Written by the build; see `writeParts` in core/build/build-parts.ts. */
declare module "virtual:gateway/plugins" {
  type Module = Readonly<Record<string, unknown>>;
  /** By key of the config's `plugins`. */
  export const plugins: Readonly<Record<string, Module>>;
  /** Modules beside the config, by path relative to its folder. */
  export const code: Readonly<Record<string, Module>>;
  /** Texts beside the config, by path relative to its folder. */
  export const texts: Readonly<Record<string, string>>;
}
