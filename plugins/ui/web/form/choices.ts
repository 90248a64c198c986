import type { PanelChoices } from "propylon/panels";
import { useQueries, type UseQueryResult } from "@tanstack/react-query";
import { rightTo, useAbout } from "../about.tsx";
import { valueAt } from "../kit/pointer.ts";
import { ask, type Params, type RequestFailure } from "../request.ts";
import { splitRoute } from "../panels/view.ts";
import { isObject } from "./schema.ts";

/** A schema with the values that routes answer, and the answers by the members that they are for. */
interface Chosen {
  readonly schema: unknown;
  readonly answers: Readonly<Record<string, UseQueryResult<unknown, RequestFailure>>>;
}

/** A schema whose members have the values that routes answer, each asked for when all that it needs is filled in. */
export function useChosen(
  input: unknown,
  choices: Readonly<Record<string, PanelChoices>> = {},
  filled: unknown,
  params: Params = {},
): Chosen {
  const about = useAbout();
  const given = isObject(filled) ? filled : {};
  const offered = Object.entries(choices).filter(([, { from }]) => {
    const { isThere, reason } = rightTo(about, splitRoute(from).route);
    return isThere && reason === undefined;
  });
  const answers: readonly UseQueryResult<unknown, RequestFailure>[] = useQueries({
    queries: offered.map(([, { from, with: needed = {} }]) => {
      const { route, query } = splitRoute(from);
      const wanted = Object.entries(needed).map(([name, member]) => [name, given[member]] as const);
      const all = { ...params, ...query, ...(Object.fromEntries(wanted) as Params) };
      return {
        // A list on the page may ask the same route: with a key of its own, and events tell it of changes.
        queryKey: [route, all, "choices"],
        meta: { panel: true },
        queryFn: ({ signal }: { signal: AbortSignal }) =>
          ask<unknown>(route, { params: all, signal }),
        enabled: wanted.every(([, value]) => value !== undefined && value !== ""),
      };
    }),
  });
  const schema = offered.reduce((before, [member, { values, value = "" }], at) => {
    const rows = valueAt(answers[at]!.data, values);
    const list = Array.isArray(rows) ? rows.map((row) => valueAt(row, value)) : [];
    return withValues(before, member, list);
  }, input);
  return {
    schema,
    answers: Object.fromEntries(offered.map(([member], at) => [member, answers[at]!])),
  };
}

/** Of a list, its items have the values, each once. */
function withValues(schema: unknown, member: string, values: readonly unknown[]): unknown {
  if (!isObject(schema) || !isObject(schema["properties"])) return schema;
  const { properties } = schema;
  const {
    title,
    description,
    type,
    default: initial,
  } = properties[member] as Record<string, unknown>;
  const common = { title, description };
  const one =
    type === "array"
      ? { ...common, type, uniqueItems: true, items: { enum: values } }
      : { ...common, enum: values, ...(initial !== undefined && { default: initial }) };
  return { ...schema, properties: { ...properties, [member]: one } };
}

/** What is filled in, without values that a route answered for other ones of these members. */
export function withoutStale(
  next: unknown,
  before: unknown,
  choices: Readonly<Record<string, PanelChoices>> = {},
): unknown {
  if (!isObject(next) || !isObject(before)) return next;
  const stale = Object.entries(choices).flatMap(([name, { with: needed = {} }]) =>
    Object.values(needed).some((member) => next[member] !== before[member]) ? [name] : [],
  );
  return Object.fromEntries(Object.entries(next).filter(([name]) => !stale.includes(name)));
}
