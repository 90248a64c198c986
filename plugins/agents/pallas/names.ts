import { usableName } from "propylon/cli";
import { UniqueNames } from "propylon/kit";

/** Servers or agents by name. */
type Named = Readonly<Record<string, unknown>>;

/** Names that a gateway takes, by those of the deployment. */
export function usableNames(
  kind: "server" | "agent",
  named: Named,
  notes: string[],
): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  const taken = new UniqueNames(Object.keys(named));
  for (const name of Object.keys(named)) {
    const usable = usableName(kind, name, taken);
    names.set(name, usable);
    if (usable !== name) notes.push(`The ${kind} "${name}" is called "${usable}" now.`);
  }
  return names;
}

/** The same under the new names. */
export function renamed(named: Named, names: ReadonlyMap<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(named).map(([name, value]) => [names.get(name)!, value]),
  );
}
