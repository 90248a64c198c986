import { GatewayError, type Access, type PluginContext, type RouteEvent } from "propylon";
import { admits, checkInput } from "propylon/kit";
import { showEntry, type Entry } from "./entry.ts";
import { exportLines } from "./export.ts";
import type { CallJournal } from "./journal.ts";
import { cursorOf, filterSchema, findEntry, findPage, type MayKnow, pageSchema } from "./query.ts";
import type { Recorder } from "./recorder.ts";
import { replay } from "./replay.ts";
import type { Ring } from "./ring.ts";
import type { Secrets } from "./secrets.ts";

/** What the routes show and change. */
export interface History {
  readonly ring: Ring;
  readonly secrets: Secrets;
  readonly recorder: Recorder;
  /** Where calls outlive the process, if they do. */
  readonly journal: CallJournal | undefined;
}

/** Registers the history API below `/_meta/history`. */
export function registerRoutes(
  gateway: Pick<PluginContext, "route" | "call" | "info">,
  { ring, secrets, recorder, journal }: History,
): void {
  const route = (
    method: "GET" | "POST" | "DELETE",
    path: string,
    access: Access,
    answer: (event: RouteEvent, shown: Ring) => unknown,
  ): void => {
    const options = { access, mutates: method !== "GET", management: true };
    gateway.route(method, `/_meta/history${path}`, options, async (event) => {
      recorder.flush();
      return answer(event, (await journal?.shown()) ?? ring);
    });
  };
  /** Operators know of every call, others of their own, and of those of tools that their lists show. */
  const knowledgeOf = (event: RouteEvent): MayKnow => {
    const { principal } = event.context;
    if (isOperator(event)) return () => true;
    return ({ head: { server, tool: name, principal: ref } }) =>
      ref === principal.ref || gateway.info.shows({ server, kind: "tool", name }, principal);
  };
  const show = (entry: Entry, event: RouteEvent): object =>
    showEntry(entry, secrets, isOperator(event));

  route("GET", "", "viewer", (event, shown) => {
    const query = checkInput(queryOf(event), pageSchema);
    const page = findPage(shown, query, knowledgeOf(event));
    const showsAll = query.brief === "0" && isOperator(event);
    return {
      ok: true,
      entries: page.entries.map((entry) => showEntry(entry, secrets, showsAll)),
      next: cursorOf(page, journal?.isShared ?? false),
    };
  });
  route("GET", "/export", "viewer", (event, shown) => {
    const filter = checkInput(queryOf(event), filterSchema);
    const mayKnow = knowledgeOf(event);
    const source = { ring: shown, secrets, filter, isOperator: isOperator(event), mayKnow };
    const lines = exportLines(source);
    return new Response(lines, {
      headers: {
        "content-type": "application/x-ndjson; charset=utf-8",
        "content-disposition": 'attachment; filename="history.jsonl"',
        "cache-control": "no-store",
      },
    });
  });
  route("GET", "/:id", "viewer", (event, shown) => ({
    ok: true,
    entry: show(find(shown, event, knowledgeOf(event)), event),
  }));
  route("POST", "/:id/replay", "admin", (event, shown) =>
    replay(
      find(shown, event, () => true),
      event,
      gateway,
      recorder,
    ),
  );
  route("DELETE", "", "admin", async () => ({
    ok: true,
    cleared: await (journal ?? ring).clear(),
  }));
}

function queryOf({ url }: RouteEvent): object {
  return Object.fromEntries(url.searchParams);
}

/** @throws {GatewayError} `not_found` */
function find(ring: Ring, { context }: RouteEvent, mayKnow: MayKnow): Entry {
  const entry = findEntry(ring, context.params?.["id"] ?? "");
  if (entry && mayKnow(entry)) return entry;
  throw new GatewayError("not_found", "There is no such call in the history.", {
    hint: "It may have made room for newer ones; GET /_meta/history lists what is there.",
  });
}

function isOperator({ context: { principal } }: RouteEvent): boolean {
  return admits(principal, "operator");
}
