import type { Route } from "../request.ts";

/** How a value of a panel is shown. */
export type Form =
  | "text"
  | "number"
  | "time"
  | "duration"
  | "bytes"
  | "state"
  | "code"
  | "list"
  | "boolean";

/** Parameters of routes that the place of a panel gives. */
export type Context = Readonly<Record<string, string>>;

/** A value of a row, by JSON Pointer. */
export interface PanelColumn {
  readonly label: string;
  readonly value: string;
  readonly as?: Form;
}

/** What can be done with a row. */
export interface PanelAction {
  readonly label: string;
  readonly route: Route;
  readonly params?: Readonly<Record<string, string>>;
  /** Values of the row, by JSON Pointer, that it is offered for. */
  readonly when?: Readonly<Record<string, readonly (string | number | boolean | null)[]>>;
  readonly body?: unknown;
  /** JSON Schema of what is asked for first. */
  readonly input?: unknown;
  readonly confirm?: string;
  /** Where the answer holds a secret, by JSON Pointer. */
  readonly secret?: string;
}

/** A panel that is described: exactly one of these. */
export interface PanelView {
  readonly table?: {
    readonly from: Route;
    readonly rows: string;
    readonly columns: readonly PanelColumn[];
    readonly live?: string;
    readonly actions?: readonly PanelAction[];
    readonly empty?: string;
  };
  readonly fields?: {
    readonly from: Route;
    readonly fields: readonly PanelColumn[];
    readonly live?: string;
    readonly actions?: readonly PanelAction[];
  };
  readonly metric?: {
    readonly from: Route;
    readonly value: string;
    readonly unit?: string;
    readonly live?: string;
  };
  readonly log?: { readonly from: Route; readonly lines: string; readonly live?: string };
  readonly form?: {
    readonly route: Route;
    readonly input: unknown;
    readonly submit: string;
    readonly confirm?: string;
    readonly secret?: string;
  };
}

/** A route without the query that stands behind it, and the query. */
export function splitRoute(reference: Route): { route: Route; query: Record<string, string> } {
  const [route, query = ""] = reference.split("?");
  return { route: route as Route, query: Object.fromEntries(new URLSearchParams(query)) };
}
