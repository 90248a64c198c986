import type { RouteReference } from "propylon/panels";
import { GATEWAY } from "./kit/address.ts";
import { parseExact, writeJson } from "./kit/json.ts";

/** A route of the gateway, as `GET /_meta` lists it: `POST /_meta/servers/:server/enable`. */
export type Route = RouteReference;

/** Values for the parameters of a route's path; those that it does not have become its query. */
export type Params = Readonly<Record<string, string | number | undefined>>;

/** What a request carries besides its route. */
export interface RequestDetails {
  readonly params?: Params | undefined;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A request that the gateway refused or did not answer. */
export class RequestFailure extends Error {
  /** Code of the taxonomy; `network` when there was no answer. */
  readonly code: string;
  readonly status: number;
  /** The next step, as a sentence. */
  readonly hint: string | undefined;
  readonly requestId: string | undefined;
  readonly data: Readonly<Record<string, unknown>> | undefined;
  /** Where in the config file, as `gateway.yaml:7:5`. */
  readonly place?: string | undefined;

  constructor(
    message: string,
    details: Omit<RequestFailure, "message" | "name" | "stack" | "cause">,
  ) {
    super(message);
    this.name = "RequestFailure";
    this.code = details.code;
    this.status = details.status;
    this.hint = details.hint;
    this.requestId = details.requestId;
    this.data = details.data;
    this.place = details.place;
  }
}

/** Called when the gateway wants credentials that this page has not, or no longer. */
let onUnauthorized = (): void => {};

/** Sets what happens when a request is answered 401. */
export function setUnauthorized(listener: () => void): void {
  onUnauthorized = listener;
}

/** Address of a route with its parameters filled in. */
export function addressOf(route: Route, params: Params = {}): URL {
  const path = route.slice(route.indexOf(" ") + 2);
  const used = new Set<string>();
  const filled = path.replace(/:(\w+)/g, (_, name: string) => {
    used.add(name);
    return encodeURIComponent(String(params[name] ?? ""));
  });
  const url = new URL(filled, GATEWAY);
  for (const [name, value] of Object.entries(params))
    if (!used.has(name) && value !== undefined && value !== "")
      url.searchParams.set(name, String(value));
  return url;
}

/** The options of `fetch` for a route. State is only changed by requests that no form of another origin can send. */
export function initOf(route: Route, { body, headers, signal }: RequestDetails = {}): RequestInit {
  const method = route.slice(0, route.indexOf(" "));
  const isRead = method === "GET";
  return {
    method,
    credentials: "same-origin",
    redirect: "error",
    headers: {
      accept: "application/json",
      ...(!isRead && { "content-type": "application/json" }),
      ...headers,
    },
    body: bodyOf(method, body),
    ...(signal && { signal }),
  };
}

/** What a request carries: routes that take a body take an object, which may be empty. */
function bodyOf(method: string, body: unknown): string | null {
  return method === "GET" || method === "DELETE" ? null : writeJson(body ?? {});
}

/**
 * Makes a request.
 *
 * @throws {RequestFailure} for every answer but a success, and for none
 */
export async function send(route: Route, details: RequestDetails = {}): Promise<Response> {
  let answer: Response;
  try {
    answer = await fetch(addressOf(route, details.params), initOf(route, details));
  } catch (thrown) {
    if (details.signal?.aborted) throw thrown;
    throw new RequestFailure("The gateway does not answer.", {
      code: "network",
      status: 0,
      hint: "It may be restarting, or the connection is gone. This page tries again on its own.",
      requestId: undefined,
      data: undefined,
    });
  }
  if (answer.ok) return answer;
  const failure = await readFailure(answer);
  if (answer.status === 401) onUnauthorized();
  throw failure;
}

/** Makes a request whose answer is JSON, or empty. */
export async function ask<T>(route: Route, details: RequestDetails = {}): Promise<T> {
  const answer = await send(route, details);
  return (answer.status === 204 ? null : parseExact(await answer.text())) as T;
}

async function readFailure(answer: Response): Promise<RequestFailure> {
  const text = await answer.text().catch(() => "");
  return failureFrom(text, answer.status, answer.headers.get("x-request-id") ?? undefined);
}

/** Reads the error envelope. Something between the page and the gateway may have answered in other words. */
export function failureFrom(text: string, status: number, requestId?: string): RequestFailure {
  const error = envelopeOf(text);
  return new RequestFailure(error?.message ?? `The gateway answered ${status}.`, {
    code: error?.code ?? `http_${status}`,
    status,
    hint: error?.hint,
    requestId,
    data: error?.data,
    place: placeOf(error?.place),
  });
}

function placeOf(place: ErrorEnvelope["place"]): string | undefined {
  return place && [place.file, place.line, place.column].filter(Boolean).join(":");
}

interface ErrorEnvelope {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly place?: { readonly file: string; readonly line?: number; readonly column?: number };
}

function envelopeOf(text: string): ErrorEnvelope | undefined {
  try {
    const { error } = parseExact(text) as { error?: ErrorEnvelope };
    return typeof error?.message === "string" ? error : undefined;
  } catch {
    return undefined;
  }
}

/** The same request for a shell. The key is a variable: what is copied is pasted into chats. */
export function curlOf(
  route: Route,
  details: RequestDetails & { readonly key?: boolean } = {},
): string {
  const method = route.slice(0, route.indexOf(" "));
  const words = ["curl", "-sS"];
  if (method !== "GET") words.push("-X", method);
  words.push(quote(addressOf(route, details.params).href));
  if (details.key) words.push("-H", '"Authorization: Bearer $PROPYLON_API_KEY"');
  if (method !== "GET") words.push("-H", quote("Content-Type: application/json"));
  for (const [name, value] of Object.entries(details.headers ?? {}))
    words.push("-H", quote(`${name}: ${value}`));
  const body = bodyOf(method, details.body);
  if (body !== null) words.push("-d", quote(body));
  return words.join(" ");
}

/** A word of POSIX sh: nothing in single quotes is special but the quote itself. */
export function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
