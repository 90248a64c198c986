import type { ProviderOptions } from "./options.ts";

/** The package that speaks to providers of a type. */
const PROVIDER_PACKAGES: Readonly<Record<ProviderOptions["type"], string>> = {
  anthropic: "@ai-sdk/anthropic",
  openai: "@ai-sdk/openai",
  "openai-compatible": "@ai-sdk/openai-compatible",
};

/** The packages that providers need; without providers there are no models. */
export function packagesOf(providers: Readonly<Record<string, ProviderOptions>>): string[] {
  const types = new Set(Object.values(providers).map(({ type }) => type));
  return types.size === 0 ? [] : ["ai", ...[...types].map((type) => PROVIDER_PACKAGES[type])];
}
