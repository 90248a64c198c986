import type { PluginContext } from "propylon";
import { admits, Filters, matchesWildcard } from "propylon/kit";
import type { GatingOptions } from "./options.ts";

/** Keeps tools to those who have a role: for everybody else they are not there. */
export function reserveTools(
  gateway: Pick<PluginContext, "add">,
  reserved: GatingOptions["reserved"],
): void {
  const rules = Object.entries(reserved);
  if (rules.length === 0) return;
  const roles = [...new Set(Object.values(reserved))];
  gateway.add(Filters, {
    shows: ({ server, kind, name }, principal) =>
      kind !== "tool" ||
      rules.every(
        ([pattern, role]) =>
          admits(principal, role) || !matchesWildcard(pattern, `${server}/${name}`),
      ),
    viewOf: (principal) => roles.filter((role) => admits(principal, role)).join(" "),
  });
}
