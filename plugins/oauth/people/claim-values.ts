import { claimAt } from "propylon/plugins/keys";
import type { ProviderClaims } from "./provider.ts";

/** Of a list of groups no more is looked at. */
const MAX_VALUES = 1_000;
/** Claims that hold groups. Of others a text is one value: a person who chooses a name of two parts must not choose a group. */
const GROUPS = /(?:group|role|permission|entitlement)s?$/i;

/**
 * The values of a claim. A name with dots is that of a claim, or of one in another: `realm_access.roles`. Groups may be a list, or a
 * text with a list: as JSON, or with commas as Cognito writes them. Keycloak puts a slash in front of each.
 */
export function claimValues(claims: ProviderClaims, name: string): ReadonlySet<unknown> {
  const found = claimAt(claims, name);
  if (found === undefined) return new Set();
  if (!GROUPS.test(name)) return new Set([found].flat().slice(0, MAX_VALUES));
  const all = (typeof found === "string" ? partsOf(found) : [found].flat()).slice(0, MAX_VALUES);
  return new Set(all.flatMap((value) => [value, ...withoutSlash(value)]));
}

/** The text itself, and what it lists. */
function partsOf(text: string): readonly unknown[] {
  const inner = /^\s*\[(.*)\]\s*$/s.exec(text)?.[1];
  const listed = inner === undefined ? undefined : jsonList(text);
  return [text, ...(listed ?? (inner ?? text).split(",").map((part) => part.trim()))];
}

function jsonList(text: string): readonly unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function withoutSlash(value: unknown): readonly string[] {
  return typeof value === "string" && value.startsWith("/") ? [value.slice(1)] : [];
}
