import type { ReactNode } from "react";
import type { ServerRow } from "../../model.ts";
import { Act } from "../../parts/act.tsx";
import { countOf } from "../../kit/words.ts";

/** What can be done with one server besides switching it. */
export function ServerActions({ row }: { readonly row: ServerRow }): ReactNode {
  const params = { server: row.name };
  return (
    <>
      {row.breaker && row.breaker.state !== "closed" && (
        <Act
          route="POST /_meta/servers/:server/breaker/reset"
          params={params}
          what={`Close the circuit of ${row.name}`}
          label={`Close the circuit of ${row.name}`}
          tone="quiet"
        >
          Close circuit
        </Act>
      )}
      {row.enabled && row.transport !== "local" && (
        <Act
          route="POST /_meta/reinit/:server"
          params={params}
          what={`Restart ${row.name}`}
          label={`Restart ${row.name}`}
          tone="quiet"
          confirm="The gateway reconnects to this server. Its running calls are cancelled."
        >
          Restart
        </Act>
      )}
      {row.origin === "config" && (
        <Act
          route="DELETE /_meta/servers/:server"
          params={params}
          what={`Remove ${row.name}`}
          label={`Remove ${row.name}`}
          tone="quiet"
          confirm={`Its entry is removed from the config file. Clients lose ${countOf(row.tools.total, "tool")}.`}
          done={`${row.name} is removed.`}
        >
          Remove
        </Act>
      )}
    </>
  );
}

/** Switches many at once: all or none. */
export function Bulk(props: {
  readonly names: readonly string[];
  readonly onDone: () => void;
}): ReactNode {
  const { names, onDone } = props;
  const act = (enabled: boolean): ReactNode => (
    <Act
      route="POST /_meta/bulk"
      body={{ changes: names.map((server) => ({ server, enabled })) }}
      what={`Switch ${enabled ? "on" : "off"} ${countOf(names.length, "server")}`}
      {...(!enabled && { confirm: `Their tools can no longer be called: ${names.join(", ")}.` })}
      onDone={onDone}
    >
      {`Switch ${names.length} ${enabled ? "on" : "off"}`}
    </Act>
  );
  return (
    <>
      {act(true)}
      {act(false)}
    </>
  );
}
