import { GatewayError, type PluginContext } from "propylon";
import { pathParameter, readJson } from "propylon/kit";
import { z } from "zod";
import type { KnownGrant } from "../tokens/grants.ts";
import type { ServerParts } from "./parts.ts";

/** Most logins in one answer. */
const MAX_LISTED = 1_000;
const ENDED = "An administrator ended the login.";

const rotationSchema = z.strictObject({ compromised: z.boolean().default(false) });

/** Serves what administrators do: look at logins, end them, and change the key that signs. */
export function registerAdminRoutes(
  gateway: Pick<PluginContext, "route">,
  { grants, consents, ring }: ServerParts,
): void {
  const read = { access: "admin", mutates: false, management: true } as const;
  const change = { ...read, mutates: true } as const;
  gateway.route("GET", "/_meta/oauth/logins", read, async ({ url }) => {
    const logins: object[] = [];
    const subject = url.searchParams.get("subject") ?? undefined;
    for await (const grant of grants.list(subject))
      if (logins.push(describe(grant)) === MAX_LISTED) break;
    return { logins, total: grants.size };
  });
  gateway.route("DELETE", "/_meta/oauth/logins/:id", change, async (event) => {
    const id = pathParameter(event, "id");
    if (!/^[\w-]{1,64}$/.test(id) || !(await grants.get(id)))
      throw new GatewayError("not_found", "There is no such login.");
    await grants.revoke(id, ENDED);
    return { ended: 1 };
  });
  // Everything of a person: who left, or lost a machine.
  gateway.route("DELETE", "/_meta/oauth/people/:subject", change, async (event) => {
    const subject = pathParameter(event, "subject");
    const ids: string[] = [];
    for await (const { id } of grants.list(subject)) ids.push(id);
    for (const id of ids) await grants.revoke(id, ENDED);
    await consents.forget(subject);
    return { ended: ids.length };
  });
  gateway.route("POST", "/_meta/oauth/keys", change, async (event) => {
    const { compromised } = await readJson(event, rotationSchema);
    event.context.target = { compromised: String(compromised) };
    return { kid: await ring.rotate(compromised) };
  });
}

/** Times as everywhere in the management API: ISO 8601. */
function describe({ id, client, clientName, person, scopes, resource, ...at }: KnownGrant): object {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    id,
    client,
    clientName,
    subject: person.subject,
    name: person.name,
    scopes,
    resource,
    createdAt: iso(at.createdAt),
    usedAt: iso(at.usedAt),
    until: iso(at.until),
  };
}
