import { checkInput, pathParameter, readJson } from "propylon/kit";
import { z } from "zod";
import { type AdminRoutes, changed, queryOf, readAbout } from "./admin-replies.ts";
import { askingFor, askingUser, authorOf } from "./asker.ts";
import type { Directory } from "../directory/directory.ts";
import { idSchema, nameSchema, uidSchema } from "../tables/fields.ts";
import { requireRole } from "../directory/memberships.ts";

const userSchema = z.strictObject({ id: idSchema, name: nameSchema.optional() });
const userChange = z.strictObject({
  name: nameSchema.optional(),
  active: z.boolean().optional(),
});
const libraryChange = z.strictObject({
  name: nameSchema.optional(),
  workspace_id: uidSchema.nullable().optional(),
});
const librarySchema = libraryChange.extend({ uid: uidSchema, owner: idSchema.optional() });
const membershipSchema = z.strictObject({
  user: idSchema,
  library: uidSchema,
  role: z.enum(["owner", "manager", "reader"]),
});
const membershipQuery = z.strictObject({
  user: idSchema.optional(),
  library: uidSchema.optional(),
});

/** Users: for admins. */
export function registerUsers({ admin }: AdminRoutes, open: () => Directory): void {
  admin("GET", "/users", async () => ({ users: await open().users.list() }));
  admin("POST", "/users", async (event) =>
    changed(
      await open().users.create(authorOf(event), await readAbout(event, userSchema, "id")),
      201,
    ),
  );
  admin("GET", "/users/:id", (event) => open().users.get(pathParameter(event, "id")));
  admin("PATCH", "/users/:id", async (event) => {
    const input = await readJson(event, userChange);
    return changed(await open().users.update(authorOf(event), pathParameter(event, "id"), input));
  });
  admin("DELETE", "/users/:id", async (event) =>
    changed(await open().users.remove(authorOf(event), pathParameter(event, "id"))),
  );
}

/** Libraries: made by admins, changed by their owners; who may put which into a token is asked with `?scopable=<user>`. */
export function registerLibraries({ admin, own }: AdminRoutes, open: () => Directory): void {
  own("GET", "/libraries", async (event) => {
    const { scopable } = checkInput(
      queryOf(event),
      z.strictObject({ scopable: idSchema.optional() }),
    );
    const asking = await askingUser(event, open().db);
    const user = scopable ?? asking;
    if (user === undefined) return { libraries: await open().libraries.list() };
    await askingFor(event, open().db, user);
    return { libraries: await open().libraries.scopable(user) };
  });
  admin("POST", "/libraries", async (event) => {
    const { workspace_id: workspaceId, ...input } = await readAbout(event, librarySchema, "uid");
    return changed(await open().libraries.create(authorOf(event), { ...input, workspaceId }), 201);
  });
  admin("GET", "/libraries/:uid", (event) => open().libraries.get(pathParameter(event, "uid")));
  own("PATCH", "/libraries/:uid", async (event) => {
    const as = await askingUser(event, open().db);
    const { name, workspace_id: workspaceId } = await readJson(event, libraryChange);
    const uid = pathParameter(event, "uid");
    return changed(await open().libraries.update(authorOf(event), uid, { name, workspaceId }, as));
  });
  own("DELETE", "/libraries/:uid", async (event) => {
    const as = await askingUser(event, open().db);
    return changed(await open().libraries.remove(authorOf(event), pathParameter(event, "uid"), as));
  });
}

/** Who owns, manages and reads what: an owner and a manager grant what their roles allow. */
export function registerMemberships({ own }: AdminRoutes, open: () => Directory): void {
  own("GET", "/memberships", async (event) => {
    const query = checkInput(queryOf(event), membershipQuery);
    const as = await askingUser(event, open().db);
    if (as !== undefined && query.library !== undefined)
      await requireRole(open().db, as, query.library, ["owner", "manager"]);
    else if (as !== undefined) await askingFor(event, open().db, (query.user ??= as));
    return { memberships: await open().memberships.list(query) };
  });
  own("POST", "/memberships", async (event) => {
    const as = await askingUser(event, open().db);
    const key = await readAbout(event, membershipSchema, "user", "library", "role");
    return changed(await open().memberships.grant(authorOf(event), key, as));
  });
  own("DELETE", "/memberships", async (event) => {
    const as = await askingUser(event, open().db);
    const key = checkInput(queryOf(event), membershipSchema);
    return changed(await open().memberships.revoke(authorOf(event), key, as));
  });
}
