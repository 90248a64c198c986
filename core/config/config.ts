import type { ConfigIssue, PathIssue } from "./issue.ts";
import { maskText } from "./mask.ts";
import type { Places } from "./places.ts";
import type { GatewayConfig } from "./schema.ts";

/** A config that was read, with what is needed to talk about it. Made once, from text or an object; nothing reads it again. */
export class Config {
  readonly values: GatewayConfig;
  /** Where its parts stand in the file, and what came from the environment. */
  readonly places: Places;
  /** Values that came from the environment; give them to `maskConfig` before showing anything. */
  readonly secrets: ReadonlySet<string>;
  /** Once it is checked: options of the servers that plugins serve, by name, as the schemas of their types made them. */
  readonly entries: ReadonlyMap<string, unknown>;

  constructor(
    values: GatewayConfig,
    places: Places,
    secrets: ReadonlySet<string> = new Set(),
    entries: ReadonlyMap<string, unknown> = new Map(),
  ) {
    this.values = values;
    this.places = places;
    this.secrets = secrets;
    this.entries = entries;
  }

  /** The same config with other values, each at the place of what it replaces. */
  with(values: Partial<GatewayConfig>, entries = this.entries): Config {
    return new Config({ ...this.values, ...values }, this.places, this.secrets, entries);
  }

  /** Gives a problem its place, and takes the secrets out of its words. */
  place(issue: PathIssue): ConfigIssue {
    return placeIssue(issue, this);
  }
}

/** As {@link Config.place}, for a config that is still being read. */
export function placeIssue(
  issue: PathIssue,
  { places, secrets }: Pick<Config, "places" | "secrets">,
): ConfigIssue {
  const { message, hint, place } = places.place(issue);
  return { message: maskText(message, secrets), hint: maskText(hint, secrets), place };
}
