import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { rightTo, useAbout } from "../../about.tsx";
import {
  matches,
  trafficOf,
  verdictOf,
  type CallRow,
  type ServerRow,
  type Traffic,
} from "../../model.ts";
import { Empty } from "../../parts/page.tsx";
import { Choice, Search } from "../../parts/search.tsx";
import { useAsk } from "../../query.ts";
import { useUrlState } from "../../kit/url-state.ts";
import { countOf } from "../../kit/words.ts";
import { Bulk } from "./actions.tsx";
import { Server } from "./server-row.tsx";

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

const NO_TRAFFIC: Traffic = { calls: 0, failed: 0, perMinute: 0, p95: 0 };

/** Every server, or those that are looked for. */
export function Servers({ rows }: { readonly rows: readonly ServerRow[] }): ReactNode {
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
            ["", "All states"],
            ["ok", "ready"],
            ["degraded", "degraded"],
            ["error", "failing"],
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
          No matching servers. <Link href="/servers">Show all</Link>
        </Empty>
      )}
      {traffic && (
        <p className="faint">Calls, p95 and failures are those of the last 15 minutes.</p>
      )}
    </>
  );
}
