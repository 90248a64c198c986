import type { RouteEvent } from "propylon";
import { checkInput, pathParameter, readJson } from "propylon/kit";
import { z } from "zod";
import { type AdminRoutes, changed, queryOf, readAbout } from "./admin-replies.ts";
import { authorOf, reachOf } from "./asker.ts";
import type { Directory } from "../directory/directory.ts";
import { requireSelf } from "../directory/reach.ts";
import {
  hashSchema,
  idSchema,
  instantSchema,
  librariesSchema,
  nameSchema,
} from "../tables/fields.ts";

const tokenSchema = z.strictObject({
  user: idSchema,
  name: nameSchema,
  kind: z.enum(["access", "admin"]).optional(),
  libraries: librariesSchema.optional(),
  expires_at: instantSchema.optional(),
});
const tokenChange = tokenSchema
  .omit({ user: true, kind: true })
  .partial()
  .extend({ active: z.boolean().optional() });
const importSchema = z.strictObject({
  tokens: z
    .array(tokenSchema.omit({ kind: true }).extend({ hash: hashSchema }))
    .max(1_000)
    .min(1),
});

/** Opaque tokens: of admins for everybody, of tokens that administrate for their users, and of others for themselves. */
export function registerTokens({ admin, own }: AdminRoutes, open: () => Directory): void {
  own("GET", "/tokens", async (event) => {
    const { user } = checkInput(queryOf(event), z.strictObject({ user: idSchema.optional() }));
    const reach = await reachOf(event, open().db);
    if (user !== undefined) requireSelf(reach, user);
    return { tokens: await open().tokens.list({ user: user ?? reach?.user, reach }) };
  });
  own("POST", "/tokens", async (event) => {
    const { expires_at: expiresAt, ...input } = await readAbout(event, tokenSchema, "user", "name");
    await reachOf(event, open().db);
    return changed(await open().tokens.create(authorOf(event), { ...input, expiresAt }), 201);
  });
  admin("POST", "/tokens/import", async (event) => {
    const { tokens: foreign } = await readJson(event, importSchema);
    const all = foreign.map(({ expires_at: expiresAt, ...each }) => ({ ...each, expiresAt }));
    const { value, ended } = await open().tokens.import(authorOf(event), all);
    return changed({ value: { tokens: value }, ended }, 201);
  });
  own("GET", "/tokens/:id", async (event) =>
    open().tokens.get(pathParameter(event, "id"), await reachOf(event, open().db)),
  );
  const idOfOwn = async (event: RouteEvent): Promise<string> => {
    await reachOf(event, open().db);
    return pathParameter(event, "id");
  };
  own("PATCH", "/tokens/:id", async (event) => {
    const id = await idOfOwn(event);
    const { expires_at: expiresAt, ...input } = await readJson(event, tokenChange);
    return changed(await open().tokens.update(authorOf(event), id, { ...input, expiresAt }));
  });
  own("POST", "/tokens/:id/replace", async (event) =>
    changed(await open().tokens.replace(authorOf(event), await idOfOwn(event)), 201),
  );
  own("DELETE", "/tokens/:id", async (event) =>
    changed(await open().tokens.revoke(authorOf(event), await idOfOwn(event))),
  );
}
