import type { ReactNode } from "react";
import { useRight } from "../about.tsx";
import type { ServerRow } from "../model.ts";
import { Act } from "../parts/act.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Page } from "../parts/page.tsx";
import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { useUrlState } from "../kit/url-state.ts";
import { AddServer } from "./add-server.tsx";
import { Servers } from "./servers/list.tsx";

const ADD: Route = "POST /_meta/servers";

/** Every server: its state and why, what goes through it, and its switch. */
export function ServersPage(): ReactNode {
  const servers = useAsk<{ servers: readonly ServerRow[] }>("GET /_meta/servers");
  const [adds, setAdds] = useUrlState("add");
  const right = useRight(ADD);
  return (
    <Page
      title="Servers"
      actions={
        <>
          <Act
            route="POST /_meta/reinit"
            what="Restart all servers"
            confirm="The gateway reconnects to every server. Running calls are cancelled."
            done="All servers were reconnected."
          >
            Restart all
          </Act>
          {right.isThere && (
            <button
              type="button"
              className="primary"
              data-effect="dialog"
              aria-disabled={right.reason !== undefined || undefined}
              title={right.reason}
              onClick={() => right.reason === undefined && setAdds("1")}
            >
              Add server
            </button>
          )}
        </>
      }
    >
      <Loaded query={servers} what="The list of servers">
        {({ servers: rows }) => <Servers rows={rows} />}
      </Loaded>
      {adds !== "" && right.isThere && right.reason === undefined && (
        <AddServer onClose={() => setAdds("")} />
      )}
    </Page>
  );
}
