import type { ZodType } from "zod";
import type { Json, RouteMethod } from "propylon";
import type { PersonRole } from "propylon/internal";

/**
 * A route as it is registered, method first; a query may follow.
 *
 * @example const from: RouteReference = "GET /_meta/history?limit=20";
 */
export type RouteReference = `${RouteMethod} /${string}`;

/**
 * A JSON pointer (RFC 6901) into an answer, or into a row of it; `""` is the whole.
 *
 * @example const rows: Pointer = "/servers";
 */
export type Pointer = string;

/**
 * How a value is shown: `state` as a badge, `duration` is milliseconds, `time` ISO 8601, `code` in one width of letters.
 *
 * @example const form: ValueForm = "duration";
 */
export type ValueForm =
  | "text"
  | "number"
  | "boolean"
  | "time"
  | "duration"
  | "bytes"
  | "state"
  | "code"
  | "list";

/**
 * A value with its name: a column of a table, a line of `fields`.
 *
 * @example const column: PanelColumn = { label: "Failures", value: "/failures", as: "number" };
 */
export interface PanelColumn {
  readonly label: string;
  readonly value: Pointer;
  /** Default: `text`. */
  readonly as?: ValueForm;
}

/**
 * Whom a request hits, as the route `about` of a panel answers.
 *
 * @example
 * const answer: PanelNotice = { about: [{ text: "These teams lose it:", names: ["Kottos"] }], principals: ["team:a3f1"] };
 */
export interface PanelNotice {
  /** Sentences, each with the names that it is about. */
  readonly about: readonly { readonly text: string; readonly names?: readonly string[] }[];
  /** Whose calls it hits while they run, by `ref`: the page counts them. */
  readonly principals?: readonly string[];
}

/**
 * The values of a member of a form, from a route.
 *
 * @example const libraries: PanelChoices = { from: "GET /_meta/libraries", values: "/libraries", value: "/uid", with: { owner: "user" } };
 */
export interface PanelChoices {
  /** A GET route that changes nothing. */
  readonly from: RouteReference;
  /** Leads to a list in its answer. */
  readonly values: Pointer;
  /** Leads to the value in each of them; default: it is the value. */
  readonly value?: Pointer;
  /** Parameters that are taken from other members of the form. It is asked when each of these is filled in. */
  readonly with?: Readonly<Record<string, string>>;
}

/**
 * A text with values in it: `Rotate {/name}` has what the JSON pointer leads to, in the answer first where there is one, then in the row.
 *
 * @example const name: PanelText = "Rotate {/name}";
 */
export type PanelText = string;

/** A request that a panel can make. */
interface PanelRequest {
  readonly route: RouteReference;
  /** What is asked before. */
  readonly confirm?: string;
  /** Who may make it, where that takes more than the panel does; default: the panel's. */
  readonly access?: PersonRole;
  /** Whether it changes anything, as its route says; default true. */
  readonly mutates?: boolean;
  /**
   * Who is hit by it now, said before it is made: a GET route that answers with a {@link PanelNotice}. It is asked with the parameters
   * of the request and, for a form, with what is filled in as `value`: JSON, with words in place of passwords.
   */
  readonly about?: RouteReference;
  /** Values that members of `input` can have; of a list, those that its items can. */
  readonly choices?: Readonly<Record<string, PanelChoices>>;
  /** Where its answer holds a secret: the page shows that until it is closed, and nowhere else. */
  readonly secret?: Pointer;
  /** What that secret is. */
  readonly secretTitle?: PanelText;
}

/**
 * A button of a panel.
 *
 * @example
 * const reset: PanelAction = {
 *   label: "Reset",
 *   route: "POST /_meta/servers/:server/breaker/reset",
 *   params: { server: "/server" },
 *   access: "operator",
 * };
 * @typeParam Input what its `input` is: a zod object, as a plugin gives it, or JSON Schema, as an interface gets it
 */
export interface PanelAction<Input = ZodType> extends PanelRequest {
  readonly label: string;
  /** Parameters of the path that are taken from the row. `:server` of a panel at `servers/detail` is the server of the page. */
  readonly params?: Readonly<Record<string, Pointer>>;
  /**
   * For which rows it is offered: each pointer has to lead to one of its values; what is not there is `null`. Default: for all.
   * The route has to refuse the others on its own.
   *
   * @example { "/state": ["open", "half-open"] }
   */
  readonly when?: Readonly<Record<Pointer, readonly (string | number | boolean | null)[]>>;
  /** Says more than the label, for rows of equal buttons: `Rotate {/name}`. */
  readonly name?: PanelText;
  /** What is done, for the question before and for the sentence after; default: {@link name}. */
  readonly what?: PanelText;
  /** What is said when it worked; default: what it ended, where its answer says so. */
  readonly done?: PanelText;
  /** Default: quiet. */
  readonly tone?: "primary" | "danger";
  /** Label of the button below its form; default: {@link label}. */
  readonly submit?: string;
  /** Members of `input` that begin with a value of the row. */
  readonly defaults?: Readonly<Record<string, Pointer>>;
  /** What is always sent. */
  readonly body?: Json;
  /** What is asked for and sent, as a zod object. */
  readonly input?: Input;
}

/** What every reading view has. */
interface PanelSource {
  /** Where the data comes from: a GET route that changes nothing. */
  readonly from: RouteReference;
  /** Kind of event after which it is read again. */
  readonly live?: string;
}

/**
 * What a described panel shows: one of these.
 *
 * @example
 * const view: PanelView = {
 *   table: { from: "GET /_meta/breakers", rows: "/breakers", columns: [{ label: "Server", value: "/server" }] },
 * };
 * @typeParam Input as that of {@link PanelAction}
 */
export type PanelView<Input = ZodType> =
  | {
      readonly table: PanelSource & {
        /** Leads to a list, or to an object: each of its members is a row then, which has its name at `/_key`. */
        readonly rows: Pointer;
        readonly columns: readonly PanelColumn[];
        readonly actions?: readonly PanelAction<Input>[];
        /** What can be done without a row, such as to make one. */
        readonly add?: readonly PanelAction<Input>[];
        /** Names a row among the others; default: its `id`, `_key` or `name`. */
        readonly key?: PanelText;
        /** Values of a row that a search looks at; default: there is no search. */
        readonly search?: readonly Pointer[];
        /** What is said where there are no rows. */
        readonly empty?: string;
      };
    }
  | {
      readonly fields: PanelSource & {
        readonly fields: readonly PanelColumn[];
        readonly actions?: readonly PanelAction<Input>[];
      };
    }
  | { readonly metric: PanelSource & { readonly value: Pointer; readonly unit?: string } }
  | { readonly log: PanelSource & { readonly lines: Pointer } }
  | {
      readonly form: PanelRequest & {
        readonly input: Input;
        readonly submit: string;
        /** As that of {@link PanelAction}. */
        readonly done?: PanelText;
      };
    };

/**
 * A part of a web interface that a plugin brings with `gateway.add(Panels, panel)`: described, so that the interface draws it, or a module
 * of its own.
 *
 * @example
 * const panel: Panel = {
 *   id: "circuits",
 *   title: "Circuits",
 *   place: "overview",
 *   access: "viewer",
 *   view: { table: { from: "GET /_meta/breakers", rows: "/breakers", columns: [{ label: "State", value: "/state", as: "state" }] } },
 * };
 */
export type Panel = {
  /** Lower-case letters, digits and hyphens; unique in its plugin. */
  readonly id: string;
  readonly title: string;
  readonly description?: string;
  /** On the overview, on the page of each server, or on a page of its own. */
  readonly place: "overview" | "servers/detail" | "page";
  readonly access: PersonRole;
} & (
  | { readonly view: PanelView; readonly module?: undefined }
  | {
      readonly view?: undefined;
      /**
       * An ES module as it goes to the browser: its file, or its text, which `propylon build` needs. Its default export draws:
       * `(element, tools) => undo`, with {@link PanelTools}. At most 1 MiB.
       */
      readonly module: URL | string;
    }
);

/** What a request of a module carries: parameters of its path, the others as its query, and a body. */
interface ModuleRequest {
  readonly params?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

/**
 * What the module of a panel is given besides its element.
 *
 * @example export default (element: HTMLElement, { fetch, signal }: PanelTools) => draw(element, fetch, signal);
 */
export interface PanelTools {
  /** Asks the gateway; paths are relative to it. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>;
  /** Asks a route. What the gateway refuses is an error with its sentence as `message`, and what to do about it as `hint`. */
  readonly send: (route: RouteReference, details?: ModuleRequest) => Promise<Response>;
  /**
   * Calls the listener with each event of the gateway, and with three of the page: `returned` (the stream of events is back), `poll`
   * (every 8 s while there is no stream) and `rights` (the visitor may do more or less than before).
   */
  readonly events: (listener: (kind: string, data: unknown) => void) => () => void;
  /** Reads server-sent events until the signal aborts. A body that is not read to its end is cancelled. */
  readonly readEvents: (
    body: ReadableStream<Uint8Array>,
    signal?: AbortSignal,
  ) => AsyncIterable<{ readonly event: string; readonly data: string }>;
  readonly theme: "light" | "dark";
  readonly navigate: (path: string) => void;
  readonly notify: (text: string) => void;
  /** Why the visitor may not use a route; `undefined`: they may. */
  readonly refusal: (route: RouteReference) => string | undefined;
  /** The same request for a shell. */
  readonly curl: (route: RouteReference, details?: ModuleRequest) => string;
  /** Ends when the panel leaves the page. */
  readonly signal: AbortSignal;
  /** Of the page that the panel stands on. */
  readonly server: string | undefined;
}

/**
 * A panel that was checked, as data for an interface.
 *
 * @example const titles = gateway.point(Panels).map(({ title }: CheckedPanel) => title);
 */
export interface CheckedPanel {
  readonly plugin: string;
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly place: Panel["place"];
  readonly access: PersonRole;
  /** As JSON: its `input` is JSON Schema. */
  readonly view?: PanelView<Json>;
  readonly module?: {
    /** The module's text. */
    readonly text: string;
    /** Differs with the text. */
    readonly version: string;
  };
}
