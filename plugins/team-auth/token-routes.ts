import { checkInput, pathParameter, readJson } from "propylon/kit";
import { z } from "zod";
import { type AdminRoutes, changed, queryOf, readAbout } from "./admin-replies.ts";
import { askingFor, askingUser, authorOf, type IsOwnUser } from "./asker.ts";
import type { Directory } from "./directory.ts";
import { hashSchema, idSchema, instantSchema, librariesSchema, nameSchema } from "./fields.ts";

const tokenSchema = z.strictObject({
  user: idSchema,
  name: nameSchema,
  libraries: librariesSchema.optional(),
  expires_at: instantSchema.optional(),
});
const tokenChange = tokenSchema
  .omit({ user: true })
  .partial()
  .extend({ active: z.boolean().optional() });
const importSchema = z.strictObject({
  tokens: z.array(tokenSchema.extend({ hash: hashSchema })).min(1),
});

/** Opaque tokens: of admins for everybody, and of users for themselves. */
export function registerTokens(
  { admin, own }: AdminRoutes,
  open: () => Directory,
  isOwn: IsOwnUser,
): void {
  own("GET", "/tokens", async (event) => {
    const { user } = checkInput(queryOf(event), z.strictObject({ user: idSchema.optional() }));
    const asked = user ?? askingUser(event, isOwn);
    if (asked !== undefined) askingFor(event, isOwn, asked);
    return { tokens: await open().tokens.list({ user: asked }) };
  });
  own("POST", "/tokens", async (event) => {
    const { expires_at: expiresAt, ...input } = await readAbout(event, tokenSchema, "user", "name");
    askingFor(event, isOwn, input.user);
    return changed(await open().tokens.create(authorOf(event), { ...input, expiresAt }), 201);
  });
  admin("POST", "/tokens/import", async (event) => {
    const { tokens: foreign } = await readJson(event, importSchema);
    const all = foreign.map(({ expires_at: expiresAt, ...each }) => ({ ...each, expiresAt }));
    const { value, ended } = await open().tokens.import(authorOf(event), all);
    return changed({ value: { tokens: value }, ended }, 201);
  });
  own("GET", "/tokens/:id", async (event) => {
    const token = await open().tokens.get(pathParameter(event, "id"));
    askingFor(event, isOwn, token.user);
    return token;
  });
  const idOfOwn = async (event: Parameters<typeof askingFor>[0]): Promise<string> => {
    const { id, user } = await open().tokens.get(pathParameter(event, "id"));
    askingFor(event, isOwn, user);
    return id;
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
