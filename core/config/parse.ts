import { GatewayError } from "../errors.ts";
import { pathText, type ConfigIssue, type ConfigPath, type PathIssue } from "./issue.ts";
import { checkNames } from "./names.ts";
import { Places } from "./places.ts";
import { configSchema, type GatewayConfig, type GatewayConfigInput } from "./schema.ts";
import { moveAgents } from "./sections.ts";

/** Configs that went through the schema: they need no second pass. */
const parsed = new WeakSet<object>();

/** Where the problems of a config are shown to be, for those that came from a file. */
const places = new WeakMap<object, (issue: PathIssue) => ConfigIssue>();

/** Remembers how problems of a config that show later get their place in its file. */
export function rememberPlaces(
  config: GatewayConfig,
  place: (issue: PathIssue) => ConfigIssue,
): GatewayConfig {
  places.set(config, place);
  return config;
}

/** Gives a problem of a config its place in the file; a config without one has only the path. */
export function placeIn(config: GatewayConfig, issue: PathIssue): ConfigIssue {
  const place = places.get(config);
  if (place) return place(issue);
  const { message, hint, path } = issue;
  return { message, hint, place: { file: "the config", path: pathText(path) } };
}

/** Marks a config as checked and filled in, so that {@link parseConfig} returns it as it is. */
export function markParsed(config: GatewayConfig): GatewayConfig {
  parsed.add(config);
  return config;
}

/**
 * Checks a config against the schema and fills in its defaults. A config that was already checked is returned as it is.
 *
 * @throws {GatewayError} `invalid`, whose `data.issues` lists every problem as `{ path, message }`
 */
export function parseConfig(input: GatewayConfigInput | GatewayConfig): GatewayConfig {
  if (parsed.has(input)) return input as GatewayConfig;
  const moved = moveAgents(input);
  const result = configSchema.safeParse(moved.value);
  const found = [...checkNames(input), ...moved.issues];
  if (result.success && found.length === 0) return markParsed(result.data);
  const places = new Places("the config");
  for (const [from, to] of moved.moves) places.move(from, to);
  const issues = [...found, ...(result.error?.issues ?? [])].map(({ path, message }) => ({
    path: places.written(path as ConfigPath).join("."),
    message,
  }));
  throw new GatewayError(
    "invalid",
    `The config is wrong: ${issues.map(({ path, message }) => `${path}: ${message}`).join("; ")}.`,
    {
      data: { issues },
    },
  );
}
