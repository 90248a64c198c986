import type { PluginContext, RouteEvent } from "propylon";
import { pathParameter } from "propylon/kit";
import { changed } from "./admin-replies.ts";
import { authorOf, reachOf } from "./asker.ts";
import type { Directory } from "../directory/directory.ts";
import { requireSelf } from "../directory/reach.ts";
import { TOKENS } from "../operations/token-operations.ts";

export function registerTokens(gateway: PluginContext, open: () => Directory): void {
  const idOfOwn = async (event: RouteEvent): Promise<string> => {
    await reachOf(event, open().db);
    return pathParameter(event, "id");
  };
  TOKENS.list.serve(gateway, async (event, read) => {
    const { user } = await read();
    const reach = await reachOf(event, open().db);
    if (user !== undefined) requireSelf(reach, user);
    return { tokens: await open().tokens.list({ user: user ?? reach?.user, reach }) };
  });
  TOKENS.create.serve(gateway, async (event, read) => {
    const { expires_at: expiresAt, ...input } = await read();
    await reachOf(event, open().db);
    return changed(await open().tokens.create(authorOf(event), { ...input, expiresAt }), 201);
  });
  TOKENS.import.serve(gateway, async (event, read) => {
    const { tokens: foreign } = await read();
    const all = foreign.map(({ expires_at: expiresAt, ...each }) => ({ ...each, expiresAt }));
    const { value, ended } = await open().tokens.import(authorOf(event), all);
    return changed({ value: { tokens: value }, ended }, 201);
  });
  TOKENS.show.serve(gateway, async (event) =>
    open().tokens.get(pathParameter(event, "id"), await reachOf(event, open().db)),
  );
  TOKENS.change.serve(gateway, async (event, read) => {
    const id = await idOfOwn(event);
    const { expires_at: expiresAt, ...input } = await read();
    return changed(await open().tokens.update(authorOf(event), id, { ...input, expiresAt }));
  });
  TOKENS.replace.serve(gateway, async (event) =>
    changed(await open().tokens.replace(authorOf(event), await idOfOwn(event)), 201),
  );
  TOKENS.revoke.serve(gateway, async (event) =>
    changed(await open().tokens.revoke(authorOf(event), await idOfOwn(event))),
  );
}
