import { type Config, writeConfig } from "../config/config.ts";
import { pathText, placeText } from "../config/issue.ts";
import { maskGatewayConfig } from "../config/shown.ts";
import { originsOf } from "../gateway/management/origin.ts";
import type { ConfigValue } from "../plugin/management-service.ts";

/**
 * Values of a config at a path and below it, secrets masked, each with the file that it comes from.
 *
 * @param path as messages write it, e.g. `listeners.main.port`
 */
export function valuesBelow(path: string, config: Config): readonly ConfigValue[] {
  const written = writeConfig(config.values);
  const masked = maskGatewayConfig(written, config.secrets);
  return originsOf({ masked, written, places: config.places }).filter((value) => {
    const text = pathText(value.path);
    return text === path || text.startsWith(`${path}.`) || text.startsWith(`${path}[`);
  });
}

/** A line for each value: `listeners.main.port: 8080 (base.yaml:2:9)`. */
export function valueLines(values: readonly ConfigValue[]): readonly string[] {
  return values.map(({ path, value, from, place }) => {
    const origin = place ? placeText(place) : from;
    return `${pathText(path)}: ${JSON.stringify(value)} (${origin})`;
  });
}
