import type { GatewayInfo } from "propylon";

/**
 * A link that signs in the person who opens it within 60 s; `undefined` where there is no page, or nobody has to sign in. The code is in
 * the fragment, which no server and no proxy sees.
 *
 * @param publicUrl where people reach the gateway; default: its first listener
 */
export function makeLink(
  info: Pick<GatewayInfo, "describe">,
  createCode: () => string,
  publicUrl: string | undefined,
): string | undefined {
  const { plugins, authenticators, listeners } = info.describe();
  if (authenticators.length === 0 || !plugins.some(({ name }) => name === "ui")) return undefined;
  const base = (publicUrl ?? listeners[0]!.url).replace(/\/$/, "");
  return `${base}/ui/#code=${createCode()}`;
}
