import type { PluginContext } from "propylon";
import { pathParameter } from "propylon/kit";
import { changed } from "./admin-replies.ts";
import { askingFor, askingUser, authorOf } from "./asker.ts";
import type { Directory } from "../directory/directory.ts";
import { requireRole } from "../directory/memberships.ts";
import { LIBRARIES, MEMBERSHIPS, USERS } from "../operations/user-operations.ts";

export function registerUsers(gateway: PluginContext, open: () => Directory): void {
  USERS.list.serve(gateway, async () => ({ users: await open().users.list() }));
  USERS.create.serve(gateway, async (event, read) =>
    changed(await open().users.create(authorOf(event), await read()), 201),
  );
  USERS.show.serve(gateway, (event) => open().users.get(pathParameter(event, "id")));
  USERS.change.serve(gateway, async (event, read) => {
    const input = await read();
    return changed(await open().users.update(authorOf(event), pathParameter(event, "id"), input));
  });
  USERS.remove.serve(gateway, async (event) =>
    changed(await open().users.remove(authorOf(event), pathParameter(event, "id"))),
  );
}

export function registerLibraries(gateway: PluginContext, open: () => Directory): void {
  LIBRARIES.list.serve(gateway, async (event, read) => {
    const { scopable } = await read();
    const asking = await askingUser(event, open().db);
    const user = scopable ?? asking;
    if (user === undefined) return { libraries: await open().libraries.list() };
    await askingFor(event, open().db, user);
    return { libraries: await open().libraries.scopable(user) };
  });
  LIBRARIES.create.serve(gateway, async (event, read) => {
    const { workspace_id: workspaceId, ...input } = await read();
    return changed(await open().libraries.create(authorOf(event), { ...input, workspaceId }), 201);
  });
  LIBRARIES.show.serve(gateway, (event) => open().libraries.get(pathParameter(event, "uid")));
  LIBRARIES.change.serve(gateway, async (event, read) => {
    const as = await askingUser(event, open().db);
    const { name, workspace_id: workspaceId } = await read();
    const uid = pathParameter(event, "uid");
    return changed(await open().libraries.update(authorOf(event), uid, { name, workspaceId }, as));
  });
  LIBRARIES.remove.serve(gateway, async (event) => {
    const as = await askingUser(event, open().db);
    return changed(await open().libraries.remove(authorOf(event), pathParameter(event, "uid"), as));
  });
}

/** An owner and a manager grant what their roles allow. */
export function registerMemberships(gateway: PluginContext, open: () => Directory): void {
  MEMBERSHIPS.list.serve(gateway, async (event, read) => {
    const query = await read();
    const as = await askingUser(event, open().db);
    if (as !== undefined && query.library !== undefined)
      await requireRole(open().db, as, query.library, ["owner", "manager"]);
    else if (as !== undefined) await askingFor(event, open().db, (query.user ??= as));
    return { memberships: await open().memberships.list(query) };
  });
  MEMBERSHIPS.grant.serve(gateway, async (event, read) => {
    const as = await askingUser(event, open().db);
    return changed(await open().memberships.grant(authorOf(event), await read(), as));
  });
  MEMBERSHIPS.revoke.serve(gateway, async (event, read) => {
    const as = await askingUser(event, open().db);
    return changed(await open().memberships.revoke(authorOf(event), await read(), as));
  });
}
