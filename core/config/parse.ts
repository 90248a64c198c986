import { Config } from "./config.ts";
import { invalidConfig } from "./issue.ts";
import { checkNames } from "./names.ts";
import { Places } from "./places.ts";
import type { GatewayConfig, GatewayConfigInput } from "./schema.ts";
import { moveAgents } from "./sections.ts";
import { validateConfig } from "./validate.ts";

/**
 * Reads a config that is an object: checks it against the schema and fills in its defaults.
 *
 * @param source what it is called in messages
 * @throws {GatewayError} `invalid` with every problem in `data.issues`
 */
export function parseConfig(
  input: GatewayConfigInput | GatewayConfig,
  source = "the config",
): Config {
  const places = new Places(source);
  const moved = moveAgents(input);
  const written = [...checkNames(input), ...moved.issues].map((issue) => places.place(issue));
  for (const [from, to] of moved.moves) places.move(from, to);
  const { config, issues } = validateConfig(moved.value, places);
  const all = [...written, ...issues.map((issue) => places.place(issue))];
  if (config === undefined || all.length > 0) throw invalidConfig(all);
  return new Config(config, places);
}
