import { isPlainObject } from "../kit/json.ts";
import { maskConfig } from "../kit/mask.ts";
import { maskUrls } from "../kit/secret-text.ts";

/**
 * What is not a secret although it may come from a variable: clients see all of it, plugins work with it, and a `PORT` is not worth
 * hiding.
 */
const OPEN = /^(?:name|publicUrl|listeners\.[^.]+\.(?:host|port|basePaths)|timeouts\.[^.]+)$/;

/**
 * The whole config of a gateway fit for showing, see {@link maskConfig}. Its name, its public URL, where it listens and how long
 * it waits are shown wherever they come from, without the userinfo and query of URLs.
 *
 * @param secrets values taken from the environment
 */
export function maskGatewayConfig(config: unknown, secrets: Iterable<string> = []): unknown {
  return restore(config, maskConfig(config, secrets), "");
}

function restore(node: unknown, masked: unknown, path: string): unknown {
  if (OPEN.test(path)) return typeof node === "string" ? maskUrls(node, false) : node;
  if (!isPlainObject(node) || !isPlainObject(masked)) return masked;
  const own = Object.entries(masked).map(([key, value]) => [
    key,
    Object.hasOwn(node, key)
      ? restore(node[key], value, path === "" ? key : `${path}.${key}`)
      : value,
  ]);
  return Object.fromEntries(own) as unknown;
}
