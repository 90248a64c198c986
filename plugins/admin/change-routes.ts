import type { PluginContext, Principal, RouteEvent } from "propylon";
import { pathParameter, readJson } from "propylon/kit";
import { troubleFor } from "propylon/internal";
import type { Flag, GatingService, GatingState } from "propylon/plugins/gating";
import { z } from "zod";

const CHANGE = { access: "operator", mutates: true, management: true } as const;

/** Longest list of one bulk request. */
const MAX_CHANGES = 1_000;

const bulkSchema = z.strictObject({
  changes: z
    .array(
      z.strictObject({
        server: z.string().min(1),
        tool: z.string().min(1).optional(),
        enabled: z.boolean(),
      }),
    )
    .min(1)
    .max(MAX_CHANGES),
});

type Change = z.output<typeof bulkSchema>["changes"][number];

/** Switching servers and tools on and off, one by one or many at once. Each is idempotent. */
export function changeRoutes(gateway: PluginContext, gating: GatingService): void {
  const set = async (event: RouteEvent, flag: Flag): Promise<object> => {
    const changed = await gating.set([flag], event.context.principal.ref);
    return { ok: true, ...flag, changed: changed.length > 0 };
  };
  for (const [verb, enabled] of [
    ["enable", true],
    ["disable", false],
  ] as const) {
    gateway.route("POST", `/_meta/servers/:server/${verb}`, CHANGE, (event) =>
      set(event, { server: pathParameter(event, "server"), enabled }),
    );
    gateway.route("POST", `/_meta/servers/:server/tools/:tool/${verb}`, CHANGE, (event) =>
      set(event, {
        server: pathParameter(event, "server"),
        tool: pathParameter(event, "tool"),
        enabled,
      }),
    );
  }
  gateway.route("POST", "/_meta/bulk", CHANGE, async (event) => {
    const { changes } = await readJson(event, bulkSchema);
    event.context.target = targetOf(changes);
    const changed = await gating.set(changes.map(toFlag), event.context.principal.ref);
    return { ok: true, changed };
  });
  gateway.route(
    "GET",
    "/_meta/state",
    { access: "viewer", mutates: false, management: true },
    ({ context }) => ({ ok: true, state: stateFor(gateway, gating.export(), context.principal) }),
  );
}

/** Why a server is not well is for operators, and tools that are reserved for others are not there. */
function stateFor({ info }: PluginContext, state: GatingState, asker: Principal): object {
  const servers = Object.entries(state.servers).map(([name, facts]) => {
    const { lastError = null, ...shown } = troubleFor(asker, facts);
    const tools = Object.entries(facts.tools).filter(([tool]) =>
      info.exists({ server: name, kind: "tool", name: tool }, asker),
    );
    return [name, { ...shown, lastError, tools: Object.fromEntries(tools) }] as const;
  });
  return { ...state, servers: Object.fromEntries(servers) };
}

/** Names what is switched on and off, for the audit. */
function targetOf(changes: readonly Change[]): Record<string, string> {
  const names = (wanted: boolean): string =>
    changes
      .filter(({ enabled }) => enabled === wanted)
      .map(({ server, tool }) => (tool === undefined ? server : `${server}/${tool}`))
      .join(" ");
  const [on, off] = [names(true), names(false)];
  return { ...(on !== "" && { enable: on }), ...(off !== "" && { disable: off }) };
}

function toFlag({ server, tool, enabled }: Change): Flag {
  return tool === undefined ? { server, enabled } : { server, tool, enabled };
}
