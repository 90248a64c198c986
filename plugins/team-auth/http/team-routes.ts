import type { PluginContext } from "propylon";
import { pathParameter } from "propylon/kit";
import { changed } from "./admin-replies.ts";
import { authorOf } from "./asker.ts";
import type { Directory } from "../directory/directory.ts";
import { ACCOUNTS, KEYS, TEAMS } from "../operations/team-operations.ts";
import type { LoggedTeams } from "./team-log.ts";

export function registerTeams(gateway: PluginContext, teams: LoggedTeams): void {
  TEAMS.list.serve(gateway, async () => ({ teams: await teams.list() }));
  TEAMS.create.serve(gateway, async (event, read) =>
    changed(await teams.create(authorOf(event), await read()), 201),
  );
  TEAMS.show.serve(gateway, (event) => teams.get(pathParameter(event, "id")));
  TEAMS.rename.serve(gateway, async (event, read) => {
    const { name } = await read();
    return changed(await teams.rename(authorOf(event), pathParameter(event, "id"), name));
  });
  TEAMS.workspaces.serve(gateway, async (event, read) => {
    const { workspace_ids: wanted } = await read();
    const id = pathParameter(event, "id");
    return changed(await teams.setWorkspaces(authorOf(event), id, wanted));
  });
  TEAMS.rotate.serve(gateway, async (event, read) => {
    const { grace } = await read();
    return changed(await teams.rotate(authorOf(event), pathParameter(event, "id"), { grace }));
  });
  TEAMS.reactivate.serve(gateway, async (event) =>
    changed(await teams.reactivate(authorOf(event), pathParameter(event, "id"))),
  );
  TEAMS.delete.serve(gateway, async (event) =>
    changed(await teams.deactivate(authorOf(event), pathParameter(event, "id"))),
  );
}

export function registerSigningKeys(gateway: PluginContext, open: () => Directory): void {
  KEYS.list.serve(gateway, async () => ({ keys: await open().keys.list() }));
  KEYS.create.serve(gateway, async (event, read) => {
    const { alg } = await read();
    return changed(await open().keys.create(authorOf(event), alg), 201);
  });
  KEYS.retire.serve(gateway, async (event) =>
    changed(await open().keys.retire(authorOf(event), pathParameter(event, "kid"))),
  );
  KEYS.reveal.serve(gateway, async (event) => {
    const secret = await open().keys.reveal(authorOf(event), pathParameter(event, "kid"));
    return Response.json({ ok: true, secret }, { headers: { "cache-control": "no-store" } });
  });
}

export function registerAccounts(gateway: PluginContext, open: () => Directory): void {
  ACCOUNTS.list.serve(gateway, async () => ({ accounts: await open().accounts.list() }));
  ACCOUNTS.create.serve(gateway, async (event, read) => {
    const { name, password } = await read();
    return changed(await open().accounts.create(authorOf(event), name, password), 201);
  });
  ACCOUNTS.change.serve(gateway, async (event, read) => {
    const name = pathParameter(event, "name");
    const { password, active } = await read();
    const author = authorOf(event);
    if (password !== undefined) {
      const set = await open().accounts.setPassword(author, name, password);
      if (active === undefined) return changed(set);
    }
    return changed(await open().accounts.setActive(author, name, active ?? true));
  });
}
