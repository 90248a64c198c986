import { durationSchema } from "propylon";
import { pathParameter, readJson } from "propylon/kit";
import { z } from "zod";
import { type AdminRoutes, changed, readAbout } from "./admin-replies.ts";
import { authorOf } from "./asker.ts";
import type { Directory } from "../directory/directory.ts";
import {
  idSchema,
  nameSchema,
  passwordSchema,
  teamIdSchema,
  workspacesSchema,
} from "../tables/fields.ts";
import type { LoggedTeams } from "./team-log.ts";

/** Longest time for which a replaced token still counts, in milliseconds. */
const MAX_GRACE_MS = 86_400_000;

const teamSchema = z.strictObject({
  id: teamIdSchema,
  name: nameSchema,
  owner: idSchema.optional(),
});
const rotateSchema = z.strictObject({
  grace: durationSchema()
    .refine((ms) => ms <= MAX_GRACE_MS, "expected at most 24h")
    .optional(),
});
const renameSchema = z.strictObject({ name: nameSchema });
const assignmentSchema = z.strictObject({ workspace_ids: workspacesSchema });
const accountSchema = z.strictObject({ name: idSchema, password: passwordSchema });
const accountChange = z.strictObject({
  password: passwordSchema.optional(),
  active: z.boolean().optional(),
});
const keySchema = z.strictObject({ alg: z.enum(["HS256", "EdDSA"]).optional() });

/** Teams of every owner. */
export function registerTeams({ admin }: AdminRoutes, teams: LoggedTeams): void {
  admin("GET", "/teams", async () => ({ teams: await teams.list() }));
  admin("POST", "/teams", async (event) =>
    changed(await teams.create(authorOf(event), await readAbout(event, teamSchema, "id")), 201),
  );
  admin("GET", "/teams/:id", (event) => teams.get(pathParameter(event, "id")));
  admin("PATCH", "/teams/:id", async (event) => {
    const { name } = await readJson(event, renameSchema);
    return changed(await teams.rename(authorOf(event), pathParameter(event, "id"), name));
  });
  admin("PUT", "/teams/:id/workspaces", async (event) => {
    const { workspace_ids: wanted } = await readJson(event, assignmentSchema);
    const id = pathParameter(event, "id");
    return changed(await teams.setWorkspaces(authorOf(event), id, wanted));
  });
  admin("POST", "/teams/:id/rotate", async (event) => {
    const { grace } = await readJson(event, rotateSchema);
    return changed(await teams.rotate(authorOf(event), pathParameter(event, "id"), { grace }));
  });
  admin("POST", "/teams/:id/reactivate", async (event) =>
    changed(await teams.reactivate(authorOf(event), pathParameter(event, "id"))),
  );
  admin("DELETE", "/teams/:id", async (event) =>
    changed(await teams.deactivate(authorOf(event), pathParameter(event, "id"))),
  );
}

/** Keys that sign tokens. */
export function registerSigningKeys({ admin }: AdminRoutes, open: () => Directory): void {
  admin("GET", "/keys", async () => ({ keys: await open().keys.list() }));
  admin("POST", "/keys", async (event) => {
    const { alg } = await readJson(event, keySchema);
    return changed(await open().keys.create(authorOf(event), alg), 201);
  });
  admin("POST", "/keys/:kid/retire", async (event) =>
    changed(await open().keys.retire(authorOf(event), pathParameter(event, "kid"))),
  );
  admin("POST", "/keys/:kid/reveal", async (event) => {
    const secret = await open().keys.reveal(authorOf(event), pathParameter(event, "kid"));
    return Response.json({ ok: true, secret }, { headers: { "cache-control": "no-store" } });
  });
}

/** Service accounts of consoles. */
export function registerAccounts({ admin }: AdminRoutes, open: () => Directory): void {
  admin("GET", "/accounts", async () => ({ accounts: await open().accounts.list() }));
  admin("POST", "/accounts", async (event) => {
    const { name, password } = await readAbout(event, accountSchema, "name");
    return changed(await open().accounts.create(authorOf(event), name, password), 201);
  });
  admin("PATCH", "/accounts/:name", async (event) => {
    const name = pathParameter(event, "name");
    const { password, active } = await readJson(event, accountChange);
    const author = authorOf(event);
    if (password !== undefined) {
      const set = await open().accounts.setPassword(author, name, password);
      if (active === undefined) return changed(set);
    }
    return changed(await open().accounts.setActive(author, name, active ?? true));
  });
}
