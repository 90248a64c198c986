import type { GatewayInfo } from "../plugin/gateway-info.ts";

/** What {@link perGeneration} needs of a plugin's context. */
export interface GenerationContext {
  readonly info: Pick<GatewayInfo, "generation">;
  hook(name: "gateway:ready", listener: () => void): void;
}

/**
 * Works something out once for each config in force, e.g. a URL from `info.describe()`: the description and the masked config
 * grow with the gateway, and a request must not pay for that. What was worked out before the listeners were open is worked out
 * again, because a port that the system picks is not known before.
 *
 * Call it in `setup`; what it returns may be called at any time.
 *
 * @param context the plugin's context
 * @param make what to work out; called when it is first asked for. What it throws is not kept
 * @returns the value for the config in force
 *
 * @example
 * const urlOf = perGeneration(gateway, () => gateway.info.describe().listeners[0].url);
 */
export function perGeneration<T>(context: GenerationContext, make: () => T): () => T {
  const { info } = context;
  let known: { readonly generation: number; readonly value: T } | undefined;
  context.hook("gateway:ready", () => (known = undefined));
  return () => {
    const { generation } = info;
    if (known?.generation !== generation) known = { generation, value: make() };
    return known.value;
  };
}
