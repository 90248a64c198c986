import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { z } from "zod";
import { type Access, GatewayError, type Json, type RouteMethod } from "propylon";
import { admits, problemText } from "propylon/kit";
import {
  formSchema,
  isZodSchema,
  PERSON_ROLES,
  READ_ONCE,
  type PersonRole,
  type ComposedGateway,
  type Contribution,
} from "propylon/internal";
import type { CheckedPanel, Panel, PanelAction, PanelView } from "./panel.ts";
import { panelSchema } from "./schema.ts";

/** Largest module of a panel, in bytes. */
const MAX_MODULE = 1_048_576;

/**
 * Makes data of a panel that was checked against the routes that it asks.
 *
 * @throws {GatewayError} `invalid` for a panel that could not work
 */
export function readPanel(
  { plugin, value }: Contribution<Panel>,
  gateway: ComposedGateway,
): CheckedPanel | undefined {
  // Without the management there are no routes that a panel could ask.
  if (!gateway.config.management.enabled) return undefined;
  const parsed = panelSchema.safeParse(value, READ_ONCE);
  if (!parsed.success) throw malformed(plugin, value, parsed.error);
  const { id, title, description = null, place, access, view, module } = parsed.data;
  const head = { plugin, id, title, description, place, access };
  if (module !== undefined) return { ...head, module: readModule(module, nameOf(plugin, id)) };
  for (const request of requestsOf(view, access)) checkRequest(request, head, gateway);
  const shown = toJson(view);
  for (const [by, sender] of sendersOf(shown)) checkNames(by, sender, nameOf(plugin, id));
  return { ...head, view: shown };
}

/** A request that a view makes, and what it says of it. */
interface Request {
  /** What makes it, to begin a sentence with. */
  readonly by: string;
  readonly route: string;
  readonly params: readonly string[];
  readonly access: PersonRole;
  readonly mutates: boolean;
  readonly isRead: boolean;
}

/** An action or a form. */
type Sender<Input = z.ZodType> = Pick<
  PanelAction<Input>,
  "route" | "params" | "mutates" | "access" | "about" | "choices" | "defaults" | "input"
>;

function requestsOf(view: PanelView, access: PersonRole): readonly Request[] {
  const sent = sendersOf(view).flatMap(([by, sender]) => sentBy(by, sender, access));
  if ("form" in view) return sent;
  const reading = Object.values(view)[0] as { readonly from: string };
  const data = { params: [], access, mutates: false, isRead: true };
  return [{ ...data, by: "its data", route: reading.from }, ...sent];
}

/** What a view can send, each with what begins a sentence about it. */
function sendersOf<I>(view: PanelView<I>): readonly (readonly [by: string, sender: Sender<I>])[] {
  if ("form" in view) return [["its form", view.form]];
  const { actions = [] } = "table" in view ? view.table : "fields" in view ? view.fields : {};
  const { add = [] } = "table" in view ? view.table : {};
  return [...actions, ...add].map((action) => [`its action "${action.label}"`, action]);
}

/** What an action or a form sends, and what it asks before. */
function sentBy(by: string, sender: Sender, panel: PersonRole): readonly Request[] {
  const { route, params = {}, mutates = true, access = panel, about, choices = {} } = sender;
  const known = { params: Object.keys(params), access };
  const read = { ...known, mutates: false, isRead: true };
  return [
    { ...known, by, route, mutates, isRead: false },
    ...(about === undefined ? [] : [{ ...read, by: `${by}, for about,`, route: about }]),
    ...Object.entries(choices).map(([name, { from, with: others = {} }]) => ({
      ...read,
      by: `${by}, for the choices of ${name},`,
      route: from,
      params: [...known.params, ...Object.keys(others)],
    })),
  ];
}

function checkRequest(
  request: Request,
  { plugin, id, place }: Pick<CheckedPanel, "plugin" | "id" | "place">,
  gateway: ComposedGateway,
): void {
  const { by, access, mutates, isRead } = request;
  const refuse = (problem: string, hint: string): never => {
    throw new GatewayError("invalid", `${nameOf(plugin, id)}: ${by} ${problem}.`, { hint });
  };
  const [method, path] = splitReference(request.route);
  const named = `${method} ${path}`;
  const route = gateway.route(method, path);
  if (!route)
    return refuse(
      `asks ${named}, which is not a route of this gateway`,
      "Write it as it is registered, on the listener of the management, or register the panel only with the plugin that has the route.",
    );
  if (isRead && method !== "GET")
    refuse(
      `asks ${named}, which is not a GET request`,
      "Read by GET; what is sent is for actions and forms.",
    );
  if (!reaches(access, route.options.access))
    refuse(
      `asks ${named}, which takes the role ${route.options.access}`,
      by === "its data"
        ? "Raise the access of the panel."
        : `Set access: "${route.options.access}" there, or raise that of the panel.`,
    );
  if (route.options.mutates !== mutates)
    refuse(
      `asks ${named}, which ${route.options.mutates ? "changes something" : "changes nothing"}`,
      isRead
        ? "Make it an action."
        : `Set mutates: ${String(route.options.mutates)} there, or correct the route.`,
    );
  const given = [...request.params, ...(place === "servers/detail" ? ["server"] : [])];
  const missing = parametersOf(path).find((name) => !given.includes(name));
  if (missing !== undefined)
    refuse(
      `asks ${named}, whose ${missing} is not known there`,
      by === "its form"
        ? "Name it in the path, or make the form one of an action of a row."
        : `Give it in params, as in { ${missing}: "/${missing}" }.`,
    );
}

/**
 * A name that no member of the form has would leave a field without its values, or the page without its form.
 *
 * @throws {GatewayError} `invalid`
 */
function checkNames(
  by: string,
  { input, choices = {}, defaults = {} }: Sender<Json>,
  panel: string,
): void {
  const members = Object.keys(input?.["properties"] ?? {});
  const named = {
    choices: Object.keys(choices),
    with: Object.values(choices).flatMap(({ with: others = {} }) => Object.values(others)),
    defaults: Object.keys(defaults),
  };
  for (const [where, names] of Object.entries(named)) {
    const unknown = names.find((name) => !members.includes(name));
    if (unknown === undefined) continue;
    const asked = members.length === 0 ? "nothing" : members.join(", ");
    throw new GatewayError(
      "invalid",
      `${panel}: ${by} names ${unknown} in ${where}, which its form does not ask for.`,
      { hint: `Name a member of its input, which asks for ${asked}.` },
    );
  }
}

/** Method and path of a reference, without its query. */
function splitReference(reference: string): readonly [method: RouteMethod, path: string] {
  const at = reference.indexOf(" ");
  return [reference.slice(0, at) as RouteMethod, reference.slice(at + 1).replace(/\?.*$/, "")];
}

function parametersOf(path: string): readonly string[] {
  return path.split("/").flatMap((part) => (part.startsWith(":") ? [part.slice(1)] : []));
}

/** Whether everybody whom one policy lets in is let in by the other. */
function reaches(access: PersonRole, route: Access): boolean {
  return PERSON_ROLES.every((role) => {
    const one = { roles: new Set([role]) };
    return !admits(one, access) || admits(one, route);
  });
}

function readModule(module: URL | string, name: string): NonNullable<CheckedPanel["module"]> {
  const text = typeof module === "string" ? module : readText(module, name);
  if (Buffer.byteLength(text) > MAX_MODULE)
    throw new GatewayError("invalid", `${name}: its module is larger than 1 MiB.`, {
      hint: "Build it without what the page has already.",
    });
  const version = createHash("sha256").update(text).digest("base64url").slice(0, 16);
  return { text, version };
}

function readText(file: URL, name: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new GatewayError("invalid", `${name}: its module cannot be read.`, {
      cause,
      hint: 'Give the file as new URL("../plugin/panel.js", import.meta.url), or the text of the module.',
    });
  }
}

/** Schemas become JSON Schema, so that the view can go to a browser. */
function toJson(view: PanelView): PanelView<Json> {
  return JSON.parse(
    JSON.stringify(view, (key, value: unknown) =>
      key === "input" && isZodSchema(value) ? formSchema(value) : value,
    ),
  ) as PanelView<Json>;
}

function malformed(plugin: string, panel: Panel, { issues }: z.ZodError): GatewayError {
  const words = issues.map((issue) => problemText(issue));
  const id = typeof panel?.id === "string" ? panel.id.slice(0, 64) : "?";
  return new GatewayError("invalid", `${nameOf(plugin, id)}: ${words.join("; ")}.`, {
    hint: "The guide to writing a plugin shows what panels can say.",
  });
}

function nameOf(plugin: string, id: string): string {
  return `Panel "${id}" of plugin "${plugin}"`;
}
