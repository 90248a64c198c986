import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { useAbout, rightTo, useRight } from "../about.tsx";
import {
  matches,
  trafficOf,
  verdictOf,
  type CallRow,
  type ServerRow,
  type Traffic,
} from "../model.ts";
import { Act, Toggle } from "../parts/act.tsx";
import { Badge } from "../parts/badge.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Countdown } from "../parts/moment.tsx";
import { Empty, Page } from "../parts/page.tsx";
import { Choice, Search } from "../parts/search.tsx";
import { Words } from "../parts/text.tsx";
import { useAsk } from "../query.ts";
import type { Route } from "../request.ts";
import { useUrlState } from "../url-state.ts";
import { countOf, formatNumber, formatSpan } from "../words.ts";
import { AddServer } from "./add-server.tsx";

const ADD: Route = "POST /_meta/servers";
const ENABLE: Route = "POST /_meta/servers/:server/enable";
const DISABLE: Route = "POST /_meta/servers/:server/disable";

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
            confirm="Every connection is made anew; calls that run through it end."
            done="All servers are connected anew."
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

/** Calls of the last minutes by server; `undefined` where calls are not remembered. */
function useTraffic(): ReadonlyMap<string, Traffic> | undefined {
  const about = useAbout();
  const isKept = rightTo(about, "GET /_meta/history").isThere;
  const { data } = useAsk<{ entries: readonly CallRow[] }>(
    "GET /_meta/history",
    { limit: 1_000, brief: 1 },
    { enabled: isKept, every: 8_000 },
  );
  return data && trafficOf(data.entries, Date.now());
}

function Servers({ rows }: { readonly rows: readonly ServerRow[] }): ReactNode {
  const [search, setSearch] = useUrlState("q");
  const [state, setState] = useUrlState("state");
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const traffic = useTraffic();
  const canSwitch = rightTo(useAbout(), "POST /_meta/bulk");
  const shown = rows.filter(
    (row) =>
      matches(search, row.name, row.transport, verdictOf(row).word) &&
      (state === "" || verdictOf(row).tone === state),
  );
  const picked = shown.filter(({ name }) => chosen.has(name)).map(({ name }) => name);
  const pick = (names: readonly string[], isIn: boolean): void =>
    setChosen((before) => {
      const next = new Set(before);
      for (const name of names)
        if (isIn) next.add(name);
        else next.delete(name);
      return next;
    });
  if (rows.length === 0)
    return (
      <Empty>
        There is no server yet. <Link href="/servers?add=1">Add the first one</Link>, or write it
        into the config.
      </Empty>
    );
  return (
    <>
      <div className="row tools">
        <Search value={search} onChange={setSearch} label="Search servers" />
        <Choice
          label="State"
          value={state}
          onChange={setState}
          options={[
            ["", "every state"],
            ["ok", "ready"],
            ["degraded", "degraded"],
            ["error", "in trouble"],
            ["busy", "connecting"],
            ["off", "switched off"],
          ]}
        />
        <span className="faint grow" role="status">
          {shown.length === rows.length
            ? countOf(rows.length, "server")
            : `${shown.length} of ${countOf(rows.length, "server")}`}
        </span>
        {picked.length > 0 && <Bulk names={picked} onDone={() => setChosen(new Set())} />}
      </div>
      <div className="scroll" tabIndex={0} role="region" aria-label="Servers">
        <table className="stacked">
          <thead>
            <tr>
              {canSwitch.isThere && (
                <th className="narrow">
                  <input
                    type="checkbox"
                    data-effect="select"
                    aria-label="Choose all"
                    checked={picked.length > 0 && picked.length === shown.length}
                    onChange={({ target }) =>
                      pick(
                        shown.map(({ name }) => name),
                        target.checked,
                      )
                    }
                  />
                </th>
              )}
              <th>On</th>
              <th>Server</th>
              <th>State</th>
              <th>Transport</th>
              <th className="number">Tools</th>
              {traffic && (
                <>
                  <th className="number">Calls/min</th>
                  <th className="number">p95</th>
                  <th className="number">Failed</th>
                </>
              )}
              <th>
                <span className="hidden">What can be done</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map((row) => (
              <Server
                key={row.name}
                row={row}
                traffic={traffic && (traffic.get(row.name) ?? NO_TRAFFIC)}
                {...(canSwitch.isThere && {
                  pick: {
                    isIn: chosen.has(row.name),
                    onPick: (isIn: boolean) => pick([row.name], isIn),
                  },
                })}
              />
            ))}
          </tbody>
        </table>
      </div>
      {shown.length === 0 && (
        <Empty>
          No server fits. <Link href="/servers">Show all</Link>
        </Empty>
      )}
      {traffic && (
        <p className="faint">Calls, p95 and failures are those of the last 15 minutes.</p>
      )}
    </>
  );
}

const NO_TRAFFIC: Traffic = { calls: 0, failed: 0, perMinute: 0, p95: 0 };

function Server(props: {
  readonly row: ServerRow;
  readonly traffic: Traffic | undefined;
  readonly pick?: { readonly isIn: boolean; readonly onPick: (isIn: boolean) => void };
}): ReactNode {
  const { row, traffic, pick } = props;
  const { tone, word, reason } = verdictOf(row);
  return (
    <tr data-server={row.name}>
      {pick && (
        <td className="narrow">
          <input
            type="checkbox"
            data-effect="select"
            aria-label={`Choose ${row.name}`}
            checked={pick.isIn}
            onChange={({ target }) => pick.onPick(target.checked)}
          />
        </td>
      )}
      <td>
        <Toggle
          on={row.enabled}
          name={row.name}
          enable={ENABLE}
          disable={DISABLE}
          params={{ server: row.name }}
        />
      </td>
      <th scope="row">
        <Link href={`/servers/${encodeURIComponent(row.name)}`}>
          <Words>{row.name}</Words>
        </Link>
      </th>
      <td className="state">
        <Badge tone={tone}>{word}</Badge>
        {reason !== undefined && (
          <div className="reason">
            <Words>{reason}</Words>
            {row.nextRetryAt !== null && (
              <>
                {" "}
                Next attempt <Countdown to={row.nextRetryAt} />.
              </>
            )}
          </div>
        )}
      </td>
      <td className="nowrap">
        {row.transport}
        {row.protocolVersion !== null && <div className="reason">{row.protocolVersion}</div>}
      </td>
      <td className="number">
        {row.tools.enabled === row.tools.total
          ? row.tools.total
          : `${row.tools.enabled} / ${row.tools.total}`}
      </td>
      {traffic && (
        <>
          <td className="number">{formatNumber(traffic.perMinute)}</td>
          <td className="number">{traffic.calls === 0 ? "–" : formatSpan(traffic.p95)}</td>
          <td className="number">{traffic.failed}</td>
        </>
      )}
      <td>
        <div className="row end">
          <ServerActions row={row} />
        </div>
      </td>
    </tr>
  );
}

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
          confirm="Its connection is dropped and made anew; calls that run through it end."
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
          confirm={`Its entry is taken out of the config file. ${countOf(row.tools.total, "tool")} will no longer be on offer.`}
          done={`${row.name} is removed.`}
        >
          Remove
        </Act>
      )}
    </>
  );
}

/** Switches many at once: all or none. */
function Bulk(props: {
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
